"""Rows and features may be named by position, mask, slice or name; here they become positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from subscape.core.types import IndexArray

from .errors import ShapeMismatchError, SubscapeError, listing


def positions(given: Any, length: int, names: tuple[str, ...] | None, what: str) -> IndexArray:
    """Return positions among ``length`` rows or features; None means all of them.

    >>> positions(["b", "a"], 3, ("a", "b", "c"), "feature")
    array([1, 0])
    >>> positions([True, False, True], 3, None, "row")
    array([0, 2])
    """
    if given is None:
        return np.arange(length)
    if isinstance(given, slice):
        return np.arange(length)[given]
    array = np.asarray(given)
    if array.size == 0:
        return np.empty(0, np.intp)
    if array.dtype.kind in "US" or (
        array.dtype == object and all(isinstance(item, str) for item in array.flat)
    ):
        return _by_name([str(item) for item in array.flat], names, what)
    if array.ndim != 1:
        raise SubscapeError(f"{what}s are given as a 1-D collection, got {array.ndim} dimensions")
    if array.dtype == bool:
        if len(array) != length:
            raise SubscapeError(f"a {what} mask has {len(array)} entries, there are {length}")
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}s are given by position, name or mask, got dtype {array.dtype}")
    wrapped = np.where(array < 0, array + length, array).astype(np.intp)
    outside = (wrapped < 0) | (wrapped >= length)
    if outside.any():
        raise SubscapeError(f"{what} {array[outside][0]} lies outside 0..{length - 1}")
    if len(np.unique(wrapped)) != len(wrapped):
        raise SubscapeError(f"{what}s must be distinct")
    return wrapped


def _by_name(wanted: list[str], names: tuple[str, ...] | None, what: str) -> IndexArray:
    if names is None:
        raise SubscapeError(f"this clustering has no {what} names; give {what} positions instead")
    place = {name: i for i, name in enumerate(names)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise ShapeMismatchError(f"unknown {what} names: {listing(unknown)}")
    return np.array([place[name] for name in wanted], np.intp)


def checked_names(given: Sequence[Any] | None, length: int, what: str) -> tuple[str, ...] | None:
    """Names as a tuple of distinct strings of the right length, or None."""
    if given is None:
        return None
    names = tuple(str(name) for name in given)
    if len(names) != length:
        raise ShapeMismatchError(f"{len(names)} {what} names were given for {length} {what}s")
    if len(set(names)) != length:
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise SubscapeError(f"{what} names must be distinct, repeated: {listing(twice)}")
    return names


def places(
    given: Any, length: int, names: tuple[str, ...] | None, total: int | None, what: str
) -> tuple[IndexArray, int, tuple[str, ...] | None]:
    """Where rows or features stand in a larger table: positions, its length and its names."""
    if given is not None and len(given) and all(isinstance(item, str) for item in given):
        larger = checked_names(given, len(given), what)
        if total is not None and total != len(given):
            raise ShapeMismatchError(f"{len(given)} {what} names for {total} {what}s")
        if names is None:
            raise SubscapeError(f"this clustering has no {what} names to look up; give positions")
        return positions(list(names), len(given), larger, what), len(given), larger
    if total is None:
        if given is not None:
            raise SubscapeError(f"pass shape= to say how many {what}s the larger table has")
        return np.arange(length), length, names
    if total < length:
        raise ShapeMismatchError(f"the larger table has {total} {what}s, this one {length}")
    at = np.arange(length) if given is None else positions(given, total, None, what)
    if len(at) != length:
        raise ShapeMismatchError(f"{len(at)} {what} positions were given for {length} {what}s")
    return at, total, names if total == length and given is None else None


def taken(names: tuple[str, ...] | None, keep: IndexArray) -> tuple[str, ...] | None:
    """The names at these positions."""
    return None if names is None else tuple(names[i] for i in keep)
