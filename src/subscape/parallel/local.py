"""Calls side by side: in threads, in other processes, or on a cluster, as joblib is told."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from subscape.core.checks import check_n_jobs
from subscape.core.errors import LostWorkerError

from .distributed import Lost, Shared, active_client, from_cluster, is_on_worker
from .orphans import Parent, end_with

__all__ = ["Lost", "Shared", "finished", "in_order", "processes_kept"]

#: What a pool of processes says when one of them was killed.
DEAD_WORKER = ("TerminatedWorkerError", "BrokenProcessPool")
#: Modules that start a process of their own when the first worker is started.
TRACKERS = ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker")


def finished(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    n_jobs: int | None = None,
    *,
    threads: bool = False,
    what: str | None = None,
) -> Generator[tuple[int, Any], None, None]:
    """Yield ``(i, function(*calls[i]))`` as they get done, in any order.

    A call whose worker is killed is tried again. What the function raises ends it all.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes find it.
    calls : sequence of tuples
        The arguments of each call; those that many have in common as :class:`Shared`.
    n_jobs : int, optional
        As for joblib. Under ``joblib.parallel_config(backend="dask")`` the whole cluster is used,
        unless it is 1.
    threads : bool
        Whether threads do as well as processes, where there is no cluster.
    what : str, optional
        What to name a call in the error when its workers were killed each time. Without it there
        is no error: :class:`Lost` stands for the result.

    Examples
    --------
    >>> from subscape.parallel.local import finished
    >>> sorted(finished(pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    outcomes = _finished(function, calls, n_jobs, threads)
    with closing(outcomes):
        for i, result in outcomes:
            if what is not None and isinstance(result, Lost):
                raise LostWorkerError(f"{what} {i + 1} of {len(calls)} can't be done: {result}")
            yield i, result


def _finished(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    threads: bool,
) -> Generator[tuple[int, Any], None, None]:
    check_n_jobs(n_jobs)
    client = None if n_jobs == 1 or len(calls) < 2 else active_client()
    if client is not None:
        yield from from_cluster(client, function, calls)
    elif len(calls) < 2 or is_on_worker() or effective_n_jobs(n_jobs) == 1:
        for i, call in enumerate(calls):
            yield i, function(*_plain(call))
    elif threads:
        runner = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator_unordered")
        yield from runner(delayed(_numbered)(i, function, *_plain(c)) for i, c in enumerate(calls))
    else:
        yield from _from_processes(function, calls, n_jobs)


def in_order(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    n_jobs: int | None = None,
    *,
    threads: bool = False,
    what: str = "call",
) -> Generator[Any, None, None]:
    """The results in the order of the calls, each as soon as those before it are there.

    Parameters are those of :func:`finished`.

    Examples
    --------
    >>> from subscape.parallel.local import in_order
    >>> list(in_order(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    early: dict[int, Any] = {}
    place = 0
    with closing(finished(function, calls, n_jobs, threads=threads, what=what)) as outcomes:
        for i, result in outcomes:
            early[i] = result
            while place in early:
                yield early.pop(place)
                place += 1


class _Pool:
    """One pool of processes for many rounds of calls, and the tables that went there by files."""

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self.busy = False
        # Tables are arguments of their own, which processes map instead of copying.
        self._runner = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        self._runner.__enter__()

    def __call__(self, calls: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        return self._runner(calls)

    def close(self) -> None:
        """Remove the files; the processes themselves are joblib's, and wait for other work."""
        self._runner.__exit__(None, None, None)


#: The pool that is kept, in a list that is empty while there is none; None where none is kept.
_KEPT: ContextVar[list[_Pool] | None] = ContextVar("kept pool of processes", default=None)


@contextmanager
def processes_kept() -> Iterator[None]:
    """Inside, rounds of calls share one pool of processes, begun when the first one needs it.

    Without that, every round writes its tables to files and waits a tenth of a second until they
    are gone.

    Examples
    --------
    >>> from subscape.parallel.local import in_order, processes_kept
    >>> with processes_kept():
    ...     [list(in_order(pow, [(2, k), (3, k)])) for k in (2, 3)]
    [[4, 9], [8, 27]]
    """
    if _KEPT.get() is not None:
        yield
        return
    kept: list[_Pool] = []
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)
        while kept:
            kept.pop().close()


@contextmanager
def _pool(n_jobs: int | None) -> Iterator[_Pool]:
    """The pool that is kept, if it has as many processes and nobody uses it, or one for now.

    One in which a process was killed, or calls were left undone, is not kept.
    """
    kept = _KEPT.get()
    if kept and kept[0].n_jobs != n_jobs and not kept[0].busy:
        kept.pop().close()
    if kept and kept[0].busy:
        kept = None
    with _deaf_workers():
        pool = kept[0] if kept else _Pool(n_jobs)
    if kept is not None and not kept:
        kept.append(pool)
    pool.busy = True
    try:
        yield pool
    except BaseException:
        if kept:
            kept.clear()
        pool.close()
        raise
    pool.busy = False
    if not kept:
        pool.close()


def _from_processes(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[int, Any]]:
    waiting = {i: _plain(call) for i, call in enumerate(calls)}
    parent = Parent.here()
    while waiting:
        begun: list[int] = []

        def todo(begun: list[int] = begun) -> Iterator[Any]:
            for i, call in list(waiting.items()):
                begun.append(i)
                yield delayed(_in_worker)(parent, i, function, _on_disk(call), *call)

        try:
            with _pool(n_jobs) as pool:
                with _deaf_workers():
                    outcomes = pool(todo())
                for i, result in outcomes:
                    del waiting[i]
                    yield i, result
        except Exception as error:
            if type(error).__name__ not in DEAD_WORKER:
                raise
            # Whichever of the calls in flight it was: alone, each can only harm itself.
            for i in [i for i in begun if i in waiting]:
                yield i, _alone(function, waiting.pop(i))


@contextmanager
def _deaf_workers() -> Iterator[None]:
    """Processes started here never hear of Ctrl-C.

    A terminal sends it to all of them; what a worker would say of it, wherever it stands, is noise,
    and whoever started it ends it. A blocked signal is handed down to a new process, from its first
    moment on, and to threads that start more of them later; in this process it only waits.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    for name in TRACKERS:
        # Up to Python 3.11 their start would unblock the signal.
        import_module(name).ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone(function: Callable[..., Any], call: tuple[Any, ...]) -> Any:
    """A call in a process of its own."""
    try:
        # With n_jobs=1 joblib would stay in this process.
        with _deaf_workers():
            outcomes = Parallel(n_jobs=2, backend="loky", return_as="generator")(
                [delayed(_in_worker)(Parent.here(), 0, function, _on_disk(call), *call)]
            )
        ((_, result),) = outcomes
    except Exception as error:
        if type(error).__name__ not in DEAD_WORKER:
            raise
        return Lost(2, "the process")
    return result


def _numbered(i: int, function: Callable[..., Any], *call: Any) -> tuple[int, Any]:
    return i, function(*call)


def _in_worker(
    parent: Parent, i: int, function: Callable[..., Any], on_disk: Sequence[int], *call: Any
) -> tuple[int, Any]:
    """The call, with arrays that only came here by a file as what they were: arrays in memory."""
    end_with(parent)
    parts = [
        part.view(np.ndarray) if isinstance(part, np.memmap) and place not in on_disk else part
        for place, part in enumerate(call)
    ]
    return i, function(*parts)


def _on_disk(call: Sequence[Any]) -> list[int]:
    """Which arguments are arrays that lie in a file, to be read in blocks."""
    return [place for place, part in enumerate(call) if isinstance(part, np.memmap)]


def _plain(call: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.value if isinstance(part, Shared) else part for part in call)
