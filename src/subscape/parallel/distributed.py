"""Calls on a Dask cluster: what they share is sent once, and dead workers are made up for.

joblib's own way to Dask loses all calls whose arguments lay on a worker that died. Here the cluster
is the one that joblib was told of, but the calls are sent by ourselves.
"""

from __future__ import annotations

import asyncio
import io
import ipaddress
import math
import pickle
import queue
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn
from urllib.parse import urlsplit

from joblib import parallel_config
from joblib.parallel import get_active_backend

from subscape.core.errors import LostWorkerError, SubscapeError, count

from .recorded_warnings import Recorded, recorded_warnings
from .threads import one_thread

#: How often calls are sent that were lost together with the arguments they share.
MOST_SENT = 3
#: Seconds to wait for a worker when there is none.
PATIENCE = 60.0
#: Seconds between two looks at whether there are workers left.
LOOK = 5.0
#: Seconds to connect in.
CONNECT = 6.0
#: Seconds that a scheduler or a worker may take to answer a question that takes no work.
ANSWER = 10.0
#: What a worker is asked for its version: by this text alone, as it may not have the package.
WORKER_VERSION = "__import__('subscape.version', fromlist=['version']).__version__"


@dataclass(frozen=True, eq=False)
class Shared:
    """An argument that many calls have in common; a cluster gets it once, before the calls."""

    value: Any


@dataclass(frozen=True)
class Lost:
    """What stands for the result of a call whose workers died each time."""

    tries: int
    where: str

    def __str__(self) -> str:
        often = "twice" if self.tries == 2 else f"{self.tries} times"
        return (
            f"{self.where} was killed {often} while it ran, perhaps for want of memory; give each "
            "worker more, use fewer jobs (n_jobs) at a time, or a smaller table"
        )


class Carried:
    """Functions with all they hold on to, pickled once and unpickled once on each worker.

    Estimators go without their progress callback, which belongs to this process.
    """

    def __init__(self, content: Any) -> None:
        self._payload = _pickled(content)
        self._content = content

    def __getstate__(self) -> bytes:
        return self._payload

    def __setstate__(self, payload: bytes) -> None:
        self._payload, self._content = payload, None

    def __sizeof__(self) -> int:
        return len(self._payload)

    @property
    def content(self) -> Any:
        if self._content is None:
            # As Dask itself does with all that it moves; no file is ever read this way.
            self._content = pickle.loads(self._payload)
        return self._content

    def fresh(self) -> Any:
        """The content as a copy of its own, which others don't see."""
        return pickle.loads(self._payload)


def _pickled(content: Any) -> bytes:
    from cloudpickle import Pickler

    class Silent(Pickler):
        def reducer_override(self, obj: Any) -> Any:
            if hasattr(type(obj), "get_params") and getattr(obj, "progress", None) is not None:
                obj = copy(obj)
                obj.progress = None
                return obj.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            return super().reducer_override(obj)

    stream = io.BytesIO()
    Silent(stream, pickle.HIGHEST_PROTOCOL).dump(content)
    return stream.getvalue()


def active_client() -> Any:
    """The client of the cluster that joblib was told to use; None if there is none.

    None on the workers too: a call that waited there for other calls would take their place.
    """
    client = getattr(get_active_backend()[0], "client", None)
    return None if client is None or is_on_worker() else client


def table_client() -> Any:
    """The client of the cluster where tables lie; None if there is none, and on the workers.

    That is the one that joblib was told of or else the one that was made last.
    """
    client = active_client()
    if client is not None or "distributed" not in sys.modules or is_on_worker():
        return client
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    # One that is used from coroutines can't be waited for.
    return None if client.asynchronous or client.status != "running" else client


def is_on_worker() -> bool:
    """Whether this is a call that a worker of a cluster does."""
    if "distributed" not in sys.modules:
        return False
    from distributed.utils import thread_state

    return hasattr(thread_state, "execution_state")


@contextmanager
def connected(
    address: str, seconds: float = CONNECT, kernels: Callable[[], str] | None = None
) -> Iterator[Any]:
    """Everything with ``n_jobs`` runs on the Dask cluster at this address while inside.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``"tcp://10.0.0.5:8786"``.
    seconds : float
        How long to try.
    kernels : callable, optional
        Says which kernels run; workers on which it says something else are refused.
    """
    try:
        from distributed import Client
    except ImportError:
        raise SubscapeError(
            "a cluster takes the package distributed: pip install 'subscape[dask]'"
        ) from None

    def connect() -> Any:
        _knock(address, seconds)
        return Client(address, timeout=seconds, set_as_default=False)

    try:
        # Looking up a name, and an address where somebody listens but never answers, know no limit.
        client = _within(seconds, connect)
    except Exception as error:
        # Whatever answers at an address that is wrong can fail in any way.
        raise SubscapeError(
            f"the cluster at {address!r} can't be reached ({error}); is its scheduler running, and "
            "is this the address that it tells when it starts?"
        ) from None
    _warn_of_strangers(address)
    with client:
        _check_workers(client, address, kernels)
        _CHECKED.add(client)
        with parallel_config(backend="dask", client=client):
            yield client


def _knock(address: str, seconds: float) -> None:
    """Find out at once that nobody listens; Dask would go on trying."""
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if place.scheme not in ("tcp", "tls") or not place.hostname or place.port is None:
        return
    socket.create_connection((place.hostname, place.port), seconds).close()


def _warn_of_strangers(address: str) -> None:
    """A scheduler is trusted with code; on an open line that is whoever answers there.

    >>> _warn_of_strangers("tcp://127.0.0.1:8786")
    >>> _warn_of_strangers("tls://10.0.0.5:8786")
    """
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    host = place.hostname or ""
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    if place.scheme not in ("tls", "wss", "inproc") and not is_here:
        warnings.warn(
            f"the line to the cluster at {address!r} is open: a scheduler is trusted with code, so "
            "whoever answers there can run what they like in this process; use it within a network "
            "of your own, or a tls:// address with certificates",
            stacklevel=2,
        )


def _started(function: Callable[[], Any]) -> Future[Any]:
    """A function at work in a thread of its own, which is left to itself if it never returns."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:  # also asyncio's sort of a call that was given up
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def _within(seconds: float, function: Callable[[], Any]) -> Any:
    """What a function returns or raises, if that is soon enough; else it is left to itself."""
    outcome = _started(function)
    try:
        return outcome.result(seconds)
    except FutureTimeout:
        if outcome.done():
            raise
        raise TimeoutError(f"no answer within {seconds:g} s") from None


def _while_answered(client: Any, function: Callable[[], Any], seconds: float = math.inf) -> Any:
    """The same, but given up as soon as the scheduler doesn't answer any more."""
    outcome, waited = _started(function), 0.0
    while True:
        look = min(LOOK, seconds - waited)
        try:
            return outcome.result(look)
        except FutureTimeout:
            if outcome.done():
                raise
            waited += look
            if waited >= seconds:
                raise TimeoutError(f"no answer within {seconds:g} s") from None
            _look(client)


def _look(client: Any) -> dict[str, int]:
    """The threads of the workers, or an error if nobody tells them."""
    if client.status != "running":
        raise LostWorkerError("the connection to the cluster was lost") from None
    return threads_of(client)


def _check_workers(
    client: Any, address: str, kernels: Callable[[], str] | None, seconds: float = 2.0
) -> None:
    from subscape.version import __version__

    try:
        _wait(client, seconds)
    except (OSError, TimeoutError):
        raise SubscapeError(
            f"the cluster at {address!r} has no workers; start one with  dask worker {address}"
        ) from None
    versions = _told_by_workers(client, address, eval, WORKER_VERSION)
    other = {place: found for place, found in versions.items() if found != __version__}
    if other:
        place, found = next(iter(other.items()))
        there = f"none ({found})" if isinstance(found, Exception) else found
        raise SubscapeError(
            f"{count(len(other), 'worker')} of {len(versions)} at {address!r} would not give the "
            f"same results: this is subscape {__version__}, and on {place} there is {there}; "
            f"install subscape=={__version__} where the workers run, and start them again"
        )
    if kernels is None:
        return
    # Workers load the libraries first, which takes a while where much else is done.
    here, running = kernels(), _told_by_workers(client, address, kernels, seconds=PATIENCE)
    unlike = {place: found for place, found in running.items() if found != here}
    if unlike:
        place, found = next(iter(unlike.items()))
        raise SubscapeError(
            f"{count(len(unlike), 'worker')} of {len(running)} at {address!r} would not give the "
            f"same results: here run the kernels of {here}, and on {place} those of {found}; "
            "install the same build there, or set SUBSCAPE_KERNELS alike"
        )


def _told_by_workers(
    client: Any,
    address: str,
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float | None = None,
) -> dict[str, Any]:
    """What a function says on each worker, or the error that it raises there."""

    def ask() -> Any:
        return client.run(function, *arguments, on_error="return")

    wait = ANSWER if seconds is None else seconds
    deadline = time.monotonic() + wait
    while True:
        try:
            found = dict(_while_answered(client, ask, wait))
            dead = [answer for answer in found.values() if isinstance(answer, OSError)]
            if found and not dead:
                return found
            # Others come in the place of workers that die while they are asked.
            if time.monotonic() > deadline:
                raise dead[0] if dead else TimeoutError("there is none any more")
        except (OSError, TimeoutError) as error:
            raise SubscapeError(
                f"the workers at {address!r} can't be asked what they run ({error}); look whether "
                "they and the scheduler are alive, and start again those that are not"
            ) from None
        time.sleep(0.2)


#: Clients whose workers were asked what they run.
_CHECKED: weakref.WeakSet[Any] = weakref.WeakSet()


def check_workers(client: Any, kernels: Callable[[], str]) -> None:
    """Refuse a cluster whose workers would give other bits; each client is looked at once.

    Parameters
    ----------
    client : distributed.Client
    kernels : callable
        Says which kernels run.
    """
    if client not in _CHECKED:
        address = client.scheduler.address if client.scheduler is not None else "?"
        _check_workers(client, address, kernels, PATIENCE)
        _CHECKED.add(client)


# -- calls ----------------------------------------------------------------------------------------


def from_cluster(
    client: Any, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> Generator[tuple[int, Any], None, None]:
    """Yield ``(i, function(*calls[i]))`` as they get done, in any order.

    The scheduler gives the calls of a dead worker to others. Calls that it gives up, because
    several workers died under them, are sent once more, one at a time: alone, each can only harm
    itself. One that is given up again comes out as :class:`Lost`.
    """
    waiting = dict(enumerate(calls))
    given_up: dict[int, Lost] = {}
    for _ in range(MOST_SENT):
        for i, outcome in _sent(client, function, dict(waiting)):
            if outcome is _GONE:
                continue
            del waiting[i]
            if isinstance(outcome, Lost):
                given_up[i] = outcome
            else:
                yield i, outcome
        if not waiting:
            break
    else:
        raise LostWorkerError(
            f"{count(len(waiting), 'call')} of {len(calls)} could not be done: the workers that "
            f"held the data died {MOST_SENT} times; their logs may say why, most often memory is "
            "short"
        )
    for i, before in given_up.items():
        ((_, outcome),) = _sent(client, function, {i: calls[i]})
        if isinstance(outcome, Lost) or outcome is _GONE:
            again = outcome.tries if isinstance(outcome, Lost) else 1
            outcome = Lost(before.tries + again, before.where)
        yield i, outcome


#: What comes in the place of a result when the arguments were lost with a worker.
_GONE = object()


def _sent(
    client: Any, function: Callable[..., Any], calls: Mapping[int, tuple[Any, ...]]
) -> Generator[tuple[int, Any], None, None]:
    """Outcomes of calls that are sent now, each with its number."""
    from distributed import KilledWorker

    _wait_for_workers(client)
    options = getattr(get_active_backend()[0], "submit_kwargs", {})
    shared = {id(part): part for call in calls.values() for part in call if type(part) is Shared}
    try:
        there = {
            # In a list, because a list given alone would be sent piece by piece.
            name: _while_answered(
                client, partial(client.scatter, [part.value], broadcast=True, hash=False)
            )[0]
            for name, part in shared.items()
        }
    except OSError:
        # A worker died while it was sent to.
        yield from ((i, _GONE) for i in calls)
        return
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    futures = {}
    try:
        for i, call in calls.items():
            arguments = [there.get(id(part), part) for part in call]
            future = client.submit(_call_on_worker, function, *arguments, pure=False, **options)
            futures[i] = future
            future.add_done_callback(lambda _, i=i: finished.put(i))
        while futures:
            i = _next(finished, client)
            future = futures.pop(i)
            try:
                result, seen = future.result()
            except KilledWorker as death:
                yield i, Lost(death.allowed_failures + 1, "a worker of the cluster")
            except (CancelledError, asyncio.CancelledError):
                yield i, _GONE
            else:
                for warning in seen:
                    warnings.warn(warning.message, warning.category, stacklevel=5)
                yield i, result
    finally:
        if futures:
            client.cancel(list(futures.values()))


def awaited(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Results of calls that were sent, as long as there is anybody to do them.

    Raises
    ------
    LostWorkerError
        If the workers die under a call again and again, or the rows are lost with them.
    """
    from distributed import KilledWorker

    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i, future in enumerate(futures):
        future.add_done_callback(lambda _, i=i: finished.put(i))
    for _ in futures:
        future = futures[_next(finished, client)]
        if future.status == "error":
            break
    try:
        # All at once: they come side by side, straight from the workers where these can be reached.
        return list(_while_answered(client, partial(client.gather, list(futures))))
    except KilledWorker as death:
        raise LostWorkerError(
            f"a pass over the table can't be done: {Lost(death.allowed_failures + 1, 'a worker')}. "
            "What a worker needs is told in docs/scale.md"
        ) from None
    except (CancelledError, asyncio.CancelledError):
        raise LostWorkerError(
            "a pass over the table can't be done: the scheduler has lost it, or rows that can't be "
            "computed again (scattered ones, say) were lost with their worker"
        ) from None


def threads_of(client: Any) -> dict[str, int]:
    """How many threads the workers have, by their addresses."""
    try:
        return dict(_within(ANSWER, client.ncores))
    except (OSError, TimeoutError):
        _silent_scheduler()


@contextmanager
def on_worker() -> Iterator[None]:
    """One thread and no further calls while inside, as a worker does its calls."""
    with one_thread(), parallel_config(backend="threading", n_jobs=1):
        yield


def _wait_for_workers(client: Any) -> None:
    try:
        _wait(client, PATIENCE)
    except (OSError, TimeoutError):
        _no_worker()


def _wait(client: Any, seconds: float) -> None:
    """Until there is a worker; asked first, because a silent scheduler would be waited for."""
    if not _look(client):
        _while_answered(client, partial(client.wait_for_workers, 1, timeout=seconds))


def _next(finished: queue.SimpleQueue[int], client: Any) -> int:
    """The number of the next call that ends, as long as there is anybody to end it."""
    waited = 0.0
    while True:
        try:
            return finished.get(timeout=LOOK)
        except queue.Empty:
            waited = 0.0 if _look(client) else waited + LOOK
            if waited >= PATIENCE:
                _no_worker()


def _silent_scheduler() -> NoReturn:
    raise LostWorkerError(
        f"the scheduler has not answered for {ANSWER:g} s; look whether it is alive, and start the "
        "work again once it is: what is kept in a folder is not lost"
    ) from None


def _no_worker() -> None:
    raise LostWorkerError(
        f"no worker of the cluster is left, and none came within {PATIENCE:g} s"
    ) from None


def _call_on_worker(
    function: Callable[..., Any], *arguments: Any
) -> tuple[Any, tuple[Recorded, ...]]:
    """The call on its worker: one thread, as here, and what it warns of is brought back."""
    with on_worker(), recorded_warnings() as seen:
        result = function(*arguments)
    return result, tuple(sorted(seen, key=str))
