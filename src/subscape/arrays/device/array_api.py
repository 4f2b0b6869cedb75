"""Arrays of other libraries, on a GPU or not, through the array API standard.

Kernels that take such arrays do their large products where the data lie. NumPy arrays never come
here: their path is the same as without this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError
from subscape.core.types import is_device_array, library_of, to_numpy

__all__ = [
    "beside",
    "device_of",
    "equal",
    "from_numpy",
    "in_smaller_blocks",
    "is_device_array",
    "is_memory_error",
    "shared_namespace",
    "slices",
    "tensor_twin",
    "to_numpy",
]

T = TypeVar("T")
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


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


def beside(found: Any, like: Any) -> Any:
    """An array, or a tuple of them, beside ``like``: copied there only if that is on a device.

    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.device.array_api import beside
    >>> beside(np.zeros(1), [0.0]), beside((np.zeros(1),), xp.zeros(1))
    (array([0.]), (Array([0.], dtype=array_api_strict.float64),))
    """
    if not is_device_array(like):
        return found
    if isinstance(found, tuple):
        return tuple(beside(each, like) for each in found)
    return found if is_device_array(found) else from_numpy(found, like)


def tensor_twin(twin: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """Decorate a function of arrays that has a twin for arrays of torch, cupy and the like.

    The twin is called with the same arguments if one of them is such an array. What it answers
    with ``NotImplemented`` is left to the function itself.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.device.array_api import tensor_twin
    >>> @tensor_twin(lambda a: "there")
    ... def place(a):
    ...     return "here"
    >>> place(np.zeros(1)), place(xp.zeros(1))
    ('here', 'there')
    """

    def decorate(function: Kernel) -> Kernel:
        @wraps(function)
        def either(*args: Any, **options: Any) -> Any:
            if any(is_device_array(each) for each in (*args, *options.values())):
                found = twin(*args, **options)
                if found is not NotImplemented:
                    return found
            return function(*args, **options)

        return cast(Kernel, either)

    return decorate


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
            "arrays of torch or cupy need array-api-compat: pip install 'subscape[gpu]', or pass "
            "a NumPy array"
        ) from error
    return array_api_compat
