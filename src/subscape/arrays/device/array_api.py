"""Arrays of other libraries, on a GPU or not, through the array API standard.

Kernels that take such arrays do their large products where the data lie. NumPy arrays never come
here: their path is the same as without this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError
from subscape.core.types import is_device_array, library_of, to_numpy

__all__ = [
    "device_of",
    "equal",
    "from_numpy",
    "in_smaller_blocks",
    "is_device_array",
    "is_memory_error",
    "shared_namespace",
    "slices",
    "to_numpy",
]

T = TypeVar("T")


def shared_namespace(**arrays: Any) -> Any:
    """The functions of the library that the arrays belong to; all must lie on one device.

    Parameters
    ----------
    **arrays
        By their names, which an error repeats. None is left out.

    Examples
    --------
    >>> import array_api_strict
    >>> from subscape.arrays.device.array_api import shared_namespace
    >>> xp = shared_namespace(X=array_api_strict.zeros(2))
    >>> float(xp.sum(xp.ones(3)))
    3.0
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    strangers = [name for name, array in given.items() if not is_device_array(array)]
    homes = {name: _home(array) for name, array in given.items()}
    if strangers or len(set(homes.values())) > 1:
        places = ", ".join(
            f"{name} on {library} {device}" for name, (library, device) in homes.items()
        )
        raise SubscapeError(
            f"the arrays lie on different devices ({places}); move them to one of them first, for "
            "example with array.to(device) in torch or numpy.asarray(array.cpu())"
        )
    return _compat().array_namespace(*given.values())


def slices(length: int, size: int) -> list[slice]:
    """Blocks of at most ``size`` places, in order; the standard wants bounds inside the array.

    >>> from subscape.arrays.device.array_api import slices
    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(at, min(at + size, length)) for at in range(0, length, size)]


def device_of(array: Any) -> Any:
    """Where the values of a foreign array lie."""
    return _compat().device(array)


def from_numpy(array: NDArray[Any], like: Any, dtype: Any = None) -> Any:
    """A copy of a NumPy array beside ``like``, of its library and on its device."""
    xp = _compat().array_namespace(like)
    # torch warns of arrays that must not be written to.
    ready = np.require(array, requirements=["C", "W"])
    return xp.asarray(ready, dtype=dtype, device=device_of(like))


def equal(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same values; two on a device are compared there.

    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.device.array_api import equal
    >>> equal(xp.asarray([1, 2]), xp.asarray([1, 3])), equal(xp.asarray([1]), np.array([1]))
    (False, True)
    """
    if is_device_array(a) and is_device_array(b):
        return a.shape == b.shape and bool(shared_namespace(a=a, b=b).all(a == b))
    return np.array_equal(to_numpy(a), to_numpy(b))


def in_smaller_blocks(work: Callable[[int], T], rows: int, least: int, what: str) -> T:
    """Do ``work(rows)``; where the device has no memory left, with half as many rows at a time.

    Parameters
    ----------
    work : callable
        Takes the rows that are worked on at a time; the result must not depend on them but for
        rounding.
    rows : int
        To begin with.
    least : int
        Rows below which it is given up.
    what : str
        What was done, for the message.

    Examples
    --------
    >>> from subscape.arrays.device.array_api import in_smaller_blocks
    >>> def work(rows):
    ...     if rows > 300:
    ...         raise MemoryError
    ...     return rows
    >>> in_smaller_blocks(work, 1000, 10, "the search")
    250
    """
    while True:
        try:
            return work(rows)
        except Exception as error:
            if not is_memory_error(error):
                raise
            if rows // 2 < least:
                raise MemoryError(
                    f"{what} does not fit into the device's memory, not even {rows} rows at a "
                    "time; free other arrays there, use float32, or pass a NumPy array"
                ) from error
        rows //= 2


def is_memory_error(error: Exception) -> bool:
    """Whether an error says that a device has no memory left."""
    # torch and cupy each have a class of their own, both of this name.
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__


def _home(array: Any) -> tuple[str, str]:
    if not is_device_array(array):
        return "numpy", "cpu"
    return library_of(array), str(device_of(array))


def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            'arrays of torch or cupy need array-api-compat: pip install "subscape[gpu]", or pass '
            "a NumPy array"
        ) from error
    return array_api_compat
