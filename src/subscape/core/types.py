"""Aliases for hints, and arrays of torch, cupy and others: told apart, and copied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Positions in other arrays.
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
#: Sets as packed bits, 64 to a word.
BitArray = NDArray[np.uint64]

#: Libraries whose arrays stay where they are.
LIBRARIES = ("torch", "cupy", "array_api_strict")


def is_device_array(array: Any) -> bool:
    """Whether this is an array that does not belong to NumPy but follows the standard.

    >>> import array_api_strict, numpy as np
    >>> from subscape.core.types import is_device_array
    >>> [is_device_array(x) for x in (array_api_strict.zeros(2), np.zeros(2), [0, 1])]
    [True, False, False]
    """
    return library_of(array) in LIBRARIES and hasattr(array, "shape")


def off_device(array: Any) -> Any:
    """An array of another library as one of NumPy; anything else as it is.

    >>> import array_api_strict
    >>> from subscape.core.types import off_device
    >>> off_device(array_api_strict.asarray([1, 2])), off_device(["a", None])
    (array([1, 2]), ['a', None])
    """
    return to_numpy(array) if is_device_array(array) else array


def library_of(array: Any) -> str:
    """Name of the package that the class of an array comes from."""
    return type(array).__module__.partition(".")[0]


def to_numpy(array: Any) -> NDArray[Any]:
    """The values in the memory of the computer.

    >>> import array_api_strict
    >>> from subscape.core.types import to_numpy
    >>> to_numpy(array_api_strict.asarray([1, 2]))
    array([1, 2])
    """
    if not is_device_array(array):
        return np.asarray(array)
    library = library_of(array)
    if library == "torch":
        return np.asarray(array.detach().cpu().numpy())
    if library == "cupy":
        return np.asarray(array.get())
    return np.from_dlpack(array.to_device(array.__array_namespace__().Device("CPU_DEVICE"))).copy()
