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

from subscape.core.errors import SubscapeError

#: Parameters that change how a run is done, not what comes out.
INCIDENTAL = frozenset({"n_jobs", "progress", "verbose"})

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
        parts = [table]
    digest.update(json.dumps([*map(int, table.shape), table.dtype.str, feature_names]).encode())
    for part in parts:
        _update(digest, part)
    return digest.hexdigest()


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


def plain_parameters(finder: Any) -> dict[str, Any]:
    """Parameters of an estimator as plain values, without the incidental ones.

    >>> from subscape.algorithms import PROCLUS
    >>> plain_parameters(PROCLUS(n_clusters=3, n_jobs=2))["n_clusters"]
    3
    """
    given = finder.get_params(deep=False)
    plain = {}
    for name in sorted(given.keys() - INCIDENTAL):
        value = given[name]
        # A generator has no name; runs that use one are never kept.
        loose = name == "random_state" and not isinstance(value, (int, np.integer, type(None)))
        plain[name] = class_name(value) if loose else _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return {"array": fingerprint(value if sparse.issparse(value) else np.atleast_1d(value))}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((_plain(item) for item in value), key=repr)}
    if isinstance(value, type):
        return class_name(value)
    if isinstance(value, functools.partial):
        return {"partial": _plain(value.func), "of": _plain([*value.args, dict(value.keywords)])}
    if hasattr(value, "get_params"):
        return {"class": class_name(value), "parameters": plain_parameters(value)}
    if callable(value) and hasattr(value, "__qualname__"):
        return class_name(value)
    text = repr(value)
    if " at 0x" in text:
        raise SubscapeError(
            f"a parameter of type {class_name(value)} has no stable description, so the run can't "
            "be recognised later; give the class a __repr__ that says what it holds"
        )
    return {"class": class_name(value), "is": text}


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
