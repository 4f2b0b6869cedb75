"""What makes two runs the same run: a stable name for a fit."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Hexadecimal digits of a name: 96 bits, so that a million runs don't collide.
DIGITS = 24


def fingerprint(X: Any, feature_names: tuple[str, ...] | None = None) -> str:
    """A short name of a table's contents: type, shape, every value, and the features' names.

    Parameters
    ----------
    X : array or sparse matrix
    feature_names : tuple of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.validation import fingerprint
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X))
    True
    >>> fingerprint(X) == fingerprint(X + 1e-12)
    False
    """
    digest = hashlib.blake2b(digest_size=DIGITS // 2)
    if sparse.issparse(X):
        table = sparse.csr_array(X, copy=True)
        table.sum_duplicates()
        parts = [table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data]
    else:
        table = np.asarray(X)
        parts = [_values(table)]
    digest.update(json.dumps([*map(int, table.shape), table.dtype.str, feature_names]).encode())
    for part in parts:
        _update(digest, part)
    return digest.hexdigest()


def _values(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers or text that stand for the values of an array of any type."""
    if array.dtype.kind in "mM":
        return array.view(np.int64)
    if array.dtype.hasobject:
        # The bytes of the array itself are addresses.
        return np.frombuffer(json.dumps(list(map(repr, array.ravel().tolist()))).encode(), np.uint8)
    return array


def _update(digest: Any, array: NDArray[Any]) -> None:
    """Feed an array by blocks of rows, so that a strided or mapped one is never copied whole."""
    rows = max(1, 2**24 // max(1, array[:1].nbytes)) if len(array) else 1
    for start in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[start : start + rows]).data)


def run_id(identity: Mapping[str, Any]) -> str:
    """The name of a run, from everything its result depends on."""
    text = json.dumps(identity, sort_keys=True, allow_nan=True)
    return hashlib.blake2b(text.encode(), digest_size=DIGITS // 2).hexdigest()


def class_name(thing: Any) -> str:
    """Where a class or function lives and what it is called."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def seeds_of(finder: Any) -> dict[str, Any]:
    """Every ``random_state`` of an estimator and of those inside it, by the parameter's name."""
    given = finder.get_params(deep=True)
    return {
        name: value
        for name, value in sorted(given.items())
        if name.rpartition("__")[2] == "random_state"
    }


@functools.cache
def environment() -> dict[str, str]:
    """Version and kernels, on which the bits of a result depend."""
    from subscape import __version__
    from subscape.kernels.backend import active

    return {"version": __version__, "kernels": active()}
