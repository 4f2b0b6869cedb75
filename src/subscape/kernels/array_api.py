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

__all__ = [
    "device_of",
    "from_numpy",
    "in_smaller_blocks",
    "is_foreign",
    "shared_namespace",
    "slices",
    "to_numpy",
]

#: Libraries whose arrays stay where they are.
LIBRARIES = ("torch", "cupy", "array_api_strict")

T = TypeVar("T")


def is_foreign(array: Any) -> bool:
    """Whether this is an array that does not belong to NumPy but follows the standard.

    >>> import array_api_strict, numpy as np
    >>> from subscape.kernels.array_api import is_foreign
    >>> is_foreign(array_api_strict.zeros(2)), is_foreign(np.zeros(2)), is_foreign([0, 1])
    (True, False, False)
    """
    return type(array).__module__.partition(".")[0] in LIBRARIES and hasattr(array, "shape")


def shared_namespace(**arrays: Any) -> Any:
    """The functions of the library that the arrays belong to; all must lie on one device.

    Parameters
    ----------
    **arrays
        By their names, which an error repeats. None is left out.

    Examples
    --------
    >>> import array_api_strict
    >>> from subscape.kernels.array_api import shared_namespace
    >>> xp = shared_namespace(X=array_api_strict.zeros(2))
    >>> float(xp.sum(xp.ones(3)))
    3.0
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    strangers = [name for name, array in given.items() if not is_foreign(array)]
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

    >>> from subscape.kernels.array_api import slices
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
    return xp.asarray(np.ascontiguousarray(array), dtype=dtype, device=device_of(like))


def to_numpy(array: Any) -> NDArray[Any]:
    """The values in the memory of the computer.

    >>> import array_api_strict
    >>> from subscape.kernels.array_api import to_numpy
    >>> to_numpy(array_api_strict.asarray([1, 2]))
    array([1, 2])
    """
    if not is_foreign(array):
        return np.asarray(array)
    library = type(array).__module__.partition(".")[0]
    if library == "torch":
        return np.asarray(array.detach().cpu().numpy())
    if library == "cupy":
        return np.asarray(array.get())
    return np.from_dlpack(array.to_device(array.__array_namespace__().Device("CPU_DEVICE"))).copy()


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
    >>> from subscape.kernels.array_api import in_smaller_blocks
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
            if not _is_memory(error):
                raise
            if rows // 2 < least:
                raise MemoryError(
                    f"{what} does not fit into the device's memory, not even {rows} rows at a "
                    "time; free other arrays there, use float32, or pass a NumPy array"
                ) from error
        rows //= 2


def _is_memory(error: Exception) -> bool:
    # torch and cupy each have a class of their own, both of this name.
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__


def _home(array: Any) -> tuple[str, str]:
    if not is_foreign(array):
        return "numpy", "cpu"
    return type(array).__module__.partition(".")[0], str(device_of(array))


def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            'arrays of torch or cupy need array-api-compat: pip install "subscape[gpu]", or pass '
            "a NumPy array"
        ) from error
    return array_api_compat
