"""One thread of BLAS and OpenMP, so that sums have the same bits on every machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class _BlasThreads:
    """How many are inside :func:`one_blas_thread`, and what to go back to."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.usual: list[int] | None = None


_threads = _BlasThreads()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread while inside, also where several threads come and go."""
    # The number is the process's: the first one in lowers it and the last one out puts it back, or
    # one of them would go back to what another had lowered.
    with _threads.lock:
        if _threads.inside == 0:
            libraries = _blas_libraries()
            if _threads.usual is None:
                _threads.usual = [library.num_threads for library in libraries]
            for library in libraries:
                _set_threads(library, 1)
        _threads.inside += 1
    try:
        yield
    finally:
        with _threads.lock:
            _threads.inside -= 1
            if _threads.inside == 0:
                _restore_threads()


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of BLAS and of OpenMP while inside; safe where calls share a process."""
    # OpenMP keeps its number by thread, so callers can't get into each other's way.
    with one_blas_thread(), _libraries().limit(limits=1, user_api="openmp"):
        yield


def _restore_threads() -> None:
    libraries, usual = _blas_libraries(), _threads.usual or []
    for library, number in zip(libraries, usual, strict=True):
        _set_threads(library, number)
    # Where that could not be done it is tried again when the next one leaves.
    if [library.num_threads for library in libraries] == usual:
        _threads.usual = None


def _set_threads(library: Any, number: int) -> None:
    # threadpoolctl 3.8 listens only to the thread that asked first, and says nothing to others: a
    # fit in another thread would go on with many. Who is inside is counted here: all may ask.
    forget = getattr(library, "clear_controlling_thread", None)
    if forget is not None:
        forget(force=True)
    library.set_num_threads(number)
    if forget is not None:
        forget(force=True)


@cache
def _libraries() -> Any:
    # Looking for them takes milliseconds, a pass over a small table microseconds. All of them are
    # loaded once SciPy and scikit-learn are.
    import scipy.linalg  # noqa: F401
    import sklearn.cluster  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _blas_libraries() -> list[Any]:
    return [lib for lib in _libraries().lib_controllers if lib.user_api == "blas"]
