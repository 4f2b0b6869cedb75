"""What makes two runs the same run: a stable name for a fit."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import inspect
import json
import pathlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import joblib
import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from subscape.core.clustering import SubspaceClustering
from subscape.core.memberships import Memberships
from subscape.core.subspaces import Subspaces
from subscape.core.types import is_device_array, to_numpy
from subscape.tables.table import Table

#: Hexadecimal digits of a name: 96 bits, so that a million runs don't collide.
DIGITS = 24


def fingerprint(X: Any, feature_names: tuple[str, ...] | None = None) -> str:
    """A short name of a table's contents: type, shape, every value, and the features' names.

    Parameters
    ----------
    X : array or sparse matrix
    feature_names : tuple of str, optional

    Returns
    -------
    str

    See Also
    --------
    RunStore : Where runs are found by it.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.runs import fingerprint
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
    from subscape.arrays.backend import active
    from subscape.version import __version__

    return {"version": __version__, "kernels": active()}


# -- plain values that stand for the parameters of a run, the same for the same things only --------


#: Parameters that change how a run is done, not what comes out.
INCIDENTAL = frozenset({"n_jobs", "progress", "verbose"})

#: Types whose text says all that they hold.
SPOKEN = (
    bytes, complex, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    decimal.Decimal, enum.Enum, fractions.Fraction, joblib.Memory, np.dtype, pathlib.PurePath,
    range, slice, type(Ellipsis), type(NotImplemented),
)  # fmt: skip

#: Keys that tell what was put into plain values; a mapping that has one is told as pairs.
MARKS = frozenset(
    {"array", "class", "columns", "index", "is", "items", "mask", "name", "of", "parameters",
     "partial", "scalar", "set", "values"}
)  # fmt: skip


class Naming:
    """Names things by what they hold, and remembers those that can't be named.

    Attributes
    ----------
    unnamed : list of str
        Where and what they are: functions that no module has under their name (lambdas, closures),
        methods bound to an object, objects that don't say what they hold.

    Examples
    --------
    >>> from functools import partial
    >>> naming = Naming()
    >>> naming.of(partial(max, 1)) == naming.of(partial(max, 2))
    False
    >>> naming.of({"key": [abs, lambda row: row[0]]}, "parameter func")
    {'key': ['builtins.abs', {'class': 'builtins.function', 'is': '<lambda>'}]}
    >>> naming.unnamed
    ['parameter func: the lambda <lambda>']
    """

    def __init__(self) -> None:
        self.unnamed: list[str] = []
        self._place = ""

    def parameters_of(self, finder: Any) -> dict[str, Any]:
        """Parameters of an estimator as plain values, without the incidental ones.

        >>> from subscape.finders import PROCLUS
        >>> Naming().parameters_of(PROCLUS(n_clusters=3, n_jobs=2))["n_clusters"]
        3
        """
        given = finder.get_params(deep=False)
        plain = {}
        for name in sorted(given.keys() - INCIDENTAL):
            value = given[name]
            # A generator has no name; runs that use one are never kept.
            loose = name == "random_state" and not isinstance(value, (int, np.integer, type(None)))
            place = f"parameter {name} of {type(finder).__name__}"
            plain[name] = class_name(value) if loose else self.of(value, place)
        return plain

    def class_of(self, thing: Any) -> str:
        """Name of the class of a thing, which should be one that a module has."""
        kind = type(thing)
        if not _is_importable(kind):
            self._note(f"the class {kind.__qualname__}, which no module has under this name")
        return class_name(kind)

    def of(self, value: Any, place: str = "") -> Any:
        """A plain value for anything."""
        before, self._place = self._place, place or self._place
        try:
            return self._plain(value)
        finally:
            self._place = before

    def _plain(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            inner = value.item()
            return repr(value) if isinstance(inner, np.generic) else self._plain(inner)
        ways: list[tuple[Any, Callable[[Any], Any]]] = [
            (np.ndarray, self._array),
            (Mapping, self._mapping),
            ((list, tuple), lambda items: [self._plain(item) for item in items]),
            ((set, frozenset), self._set),
            (type, self._function),
            (functools.partial, self._partial),
            (SPOKEN, lambda spoken: {"class": self.class_of(spoken), "is": repr(spoken)}),
            ((SubspaceClustering, Table, Memberships, Subspaces), self._frozen),
        ]
        for kind, told in ways:
            if isinstance(value, kind):
                return told(value)
        return self._object(value)

    def _object(self, value: Any) -> Any:
        if sparse.issparse(value):
            return {"array": fingerprint(value)}
        if is_device_array(value):
            return {"class": self.class_of(value), **self._array(to_numpy(value))}
        if hasattr(value, "get_params"):
            return {"class": self.class_of(value), "parameters": self.parameters_of(value)}
        if dataclasses.is_dataclass(value):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return {"class": self.class_of(value), "of": self._plain(fields)}
        if callable(value):
            return self._function(value)
        if type(value).__module__.partition(".")[0] == "pandas":
            return self._pandas(value)
        return self._frame(value)

    def _array(self, value: NDArray[Any]) -> dict[str, Any]:
        if isinstance(value, np.ma.MaskedArray):
            hidden = np.ma.getmaskarray(value)
            return {"mask": fingerprint(hidden), **self._array(value.filled())}
        if value.ndim == 0:
            return {"scalar": self._plain(value[()])}
        if value.dtype.hasobject:
            # Its bytes are addresses.
            return {"array": list(value.shape), "items": self._plain(value.ravel().tolist())}
        return {"array": fingerprint(value)}

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        if all(isinstance(key, str) for key in value) and MARKS.isdisjoint(value):
            return {str(key): self._plain(item) for key, item in value.items()}
        pairs = [[self._plain(key), self._plain(item)] for key, item in value.items()]
        return {"items": sorted(pairs, key=lambda pair: json.dumps(pair, sort_keys=True))}

    def _set(self, value: Any) -> dict[str, Any]:
        return {"set": sorted((self._plain(item) for item in value), key=repr)}

    def _partial(self, value: functools.partial[Any]) -> dict[str, Any]:
        given = [*value.args, dict(value.keywords)]
        return {"partial": self._plain(value.func), "of": self._plain(given)}

    def _frozen(self, value: Any) -> dict[str, Any]:
        parts = value.__reduce__()[1]
        if isinstance(value, (SubspaceClustering, Table)):
            parts = parts[:4]  # what is left out says where it comes from
        return {"class": class_name(value), "of": self._plain(parts)}

    def _pandas(self, value: Any) -> dict[str, Any]:
        told: dict[str, Any] = {"class": self.class_of(value)}
        if hasattr(value, "columns"):
            columns = [value.iloc[:, j] for j in range(value.shape[1])]
            told["columns"] = self._plain(list(value.columns))
            told["values"] = [self._pandas_values(column) for column in columns]
        elif hasattr(value, "__array__"):
            told["name"] = self._plain(getattr(value, "name", None))
            told["values"] = self._pandas_values(value)
        elif type(value).__name__ in ("NAType", "Interval", "Period"):
            told["is"] = repr(value)
        else:
            return self._nameless(value, f"an object of class {type(value).__name__}")
        if hasattr(value, "iloc"):
            told["index"] = self._plain(value.index)
        return told

    def _pandas_values(self, value: Any) -> Any:
        return [str(value.dtype), self._array(np.asarray(value))]

    def _frame(self, value: Any) -> Any:
        """Data frames and series of other libraries; all else can't be named."""
        told = nw.from_native(value, pass_through=True, eager_only=True, allow_series=True)
        if isinstance(told, nw.Series):
            columns = [told]
        elif isinstance(told, nw.DataFrame):
            columns = list(told.iter_columns())
        else:
            return self._nameless(value, f"an object of class {type(value).__name__}")
        return {
            "class": self.class_of(value),
            "columns": [[column.name, str(column.dtype)] for column in columns],
            "values": [self._array(column.to_numpy()) for column in columns],
        }

    def _function(self, value: Any) -> Any:
        if _is_importable(value):
            return class_name(value)
        called = str(getattr(value, "__name__", ""))
        known = (getattr(module, called, None) for module in (np, special))
        if any(one is value for one in known):
            # SciPy may wrap it so that it takes arrays of other libraries, too (SCIPY_ARRAY_API).
            inner = inspect.unwrap(value)
            return {"class": class_name(type(inner)), "is": repr(inner)}
        name = getattr(value, "__qualname__", None)
        if name is None:
            return self._nameless(value, f"an object of class {type(value).__name__}")
        if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
            return self._nameless(value, f"the bound method {name}", name)
        what = "lambda" if name.endswith("<lambda>") else type(value).__name__
        return self._nameless(value, f"the {what} {name}", name)

    def _nameless(self, value: Any, what: str, name: str = "") -> dict[str, str]:
        self._note(what)
        return {"class": class_name(type(value)), "is": name}

    def _note(self, what: str) -> None:
        self.unnamed.append(f"{self._place}: {what}" if self._place else what)


def _is_importable(thing: Any) -> bool:
    """Whether a module has this very function or class under its name."""
    found = sys.modules.get(getattr(thing, "__module__", None) or "")
    for part in getattr(thing, "__qualname__", "<none>").split("."):
        found = getattr(found, part, None)
    # A method of a class is made anew whenever it is asked for.
    return found is thing or (isinstance(thing, types.MethodType) and bool(found == thing))
