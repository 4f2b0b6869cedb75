"""Progress, time budgets and restarts: what every long search shares."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from operator import itemgetter
from pickle import PicklingError
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from subscape.core.checks import check_n_jobs

from .distributed import Carried, Shared, active_client
from .local import finished
from .threads import one_blas_thread

Result = TypeVar("Result")

#: Starts that are sent to a cluster at a time.
MOST_SENT = 1000


class Step(NamedTuple):
    """What a progress callback is told."""

    algorithm: str
    message: str
    done: int
    total: int | None
    seconds: float


class Watch:
    """Reports progress and knows when the time is up.

    Parameters
    ----------
    algorithm : str
    progress : callable, True or None
        Called with a :class:`Step`; True shows a tqdm bar.
    max_time : float or None
        Seconds after which :meth:`out_of_time` says so.
    """

    def __init__(
        self,
        algorithm: str = "",
        progress: Callable[[Step], Any] | bool | None = None,
        max_time: float | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.max_time = max_time
        self._started = time.monotonic()
        self._cuts: list[str] = []
        self._bar: Any = None
        self._lock = threading.Lock()
        self._callback = self._show if progress is True else progress or None

    def __getstate__(self) -> dict[str, Any]:
        # A copy sent to a worker process keeps the time budget but can't report back.
        return {"algorithm": self.algorithm, "left": self.seconds_left()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["algorithm"], None, state["left"])  # type: ignore[misc]

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._started

    def seconds_left(self) -> float | None:
        return None if self.max_time is None else self.max_time - self.seconds

    def step(self, message: str = "", done: int = 0, total: int | None = None) -> None:
        """Report that ``done`` of ``total`` pieces of work are finished."""
        if self._callback is not None:
            with self._lock:
                self._callback(Step(self.algorithm, message, done, total, self.seconds))

    def out_of_time(self) -> bool:
        """True once ``max_time`` has passed; the caller then stops with the best so far."""
        if self.max_time is None or self.seconds < self.max_time:
            return False
        self.cut(f"stopped after max_time={self.max_time:g} s; give it more time for a full search")
        return True

    def cut(self, reason: str) -> None:
        """Note that the search was cut short; ``fit`` warns with the reason when it ends."""
        if reason not in self._cuts:
            self._cuts.append(reason)

    @property
    def was_cut(self) -> bool:
        return bool(self._cuts)

    @property
    def cuts(self) -> list[str]:
        """Why the search was cut short, each reason once."""
        return list(self._cuts)

    def close(self) -> None:
        """End the bar and warn about what was cut short."""
        if self._bar is not None:
            self._bar.close()
        for reason in self._cuts:
            warnings.warn(
                f"{self.algorithm}: {reason}. This is the best result so far.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _show(self, step: Step) -> None:
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(desc=self.algorithm, total=step.total, leave=False)
        if step.total is not None:
            self._bar.total = step.total
        self._bar.n = step.done
        self._bar.set_postfix_str(step.message)


def best_of(
    run_once: Callable[[np.random.SeedSequence], Result],
    n_init: int,
    seed: np.random.SeedSequence,
    watch: Watch,
    n_jobs: int | None = None,
    key: Callable[[Result], Any] = lambda result: result.objective,  # type: ignore[attr-defined]
) -> Result:
    """Run ``n_init`` starts from independent seeds and return the one with the smallest key.

    See :func:`best_few_of`.
    """
    return best_few_of(run_once, n_init, seed, watch, n_jobs, key, 1)[0]


def best_few_of(
    run_once: Callable[[np.random.SeedSequence], Result],
    n_init: int,
    seed: np.random.SeedSequence,
    watch: Watch,
    n_jobs: int | None,
    key: Callable[[Result], Any],
    number: int,
) -> list[Result]:
    """Run ``n_init`` starts from independent seeds and return those with the smallest keys.

    At most ``number`` of them, the best first; of starts with the same key one. Ties go to the
    earlier start, so the winners do not depend on ``n_jobs``. Starts run in threads, because the
    kernels release the interpreter lock, or on the cluster that joblib is told of. When the watch
    runs out of time, the starts not yet begun are left out (at least one always runs).
    """
    best: list[tuple[Any, int, Result]] = []
    lock = threading.Lock()
    n_finished = 0

    def take(index: int, result: Result) -> None:
        nonlocal n_finished
        rank = key(result)
        with lock:
            n_finished += 1
            same = next((each for each in best if each[0] == rank), None)
            if same is None or index < same[1]:
                kept = [each for each in best if each is not same]
                best[:] = sorted([*kept, (rank, index, result)], key=itemgetter(0))[:number]
        watch.step("restarts", n_finished, n_init)

    def start(index: int, child: np.random.SeedSequence) -> None:
        if index == 0 or not watch.out_of_time():
            take(index, run_once(child))

    def starts() -> Iterator[tuple[int, np.random.SeedSequence]]:
        # One seed at a time: a million of them would take more time than there may be.
        for index in range(n_init):
            if index and watch.out_of_time():
                return
            yield index, seed.spawn(1)[0]

    check_n_jobs(n_jobs)
    todo = starts()
    carried = None if n_init == 1 or n_jobs == 1 else _carried(run_once, watch)
    with one_blas_thread():
        if carried is not None:
            while calls := [(carried, *each) for each in islice(todo, MOST_SENT)]:
                for place, (done, cuts) in finished(_start_on_device, calls, n_jobs, what="start"):
                    for reason in cuts:
                        watch.cut(reason)
                    for result in done:
                        take(calls[place][1], result)
        elif n_init == 1 or effective_n_jobs(n_jobs) == 1:
            for index, child in todo:
                start(index, child)
        else:
            Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(start)(index, child) for index, child in todo
            )
    return [result for _, _, result in best]


def _carried(run_once: Callable[[Any], Any], watch: Watch) -> Shared | None:
    """What the starts need, to be sent to a cluster; None if there is none or it can't be sent."""
    if active_client() is None:
        return None
    try:
        return Shared(Carried((run_once, watch)))
    except (TypeError, PicklingError):
        # A progress callback that holds a file or a lock, say: threads of this process do.
        return None


def _start_on_device(
    carried: Carried, index: int, child: np.random.SeedSequence
) -> tuple[list[Any], list[str]]:
    """One start on a worker: its result, if there was time for it, and what cut it short."""
    run_once, watch = carried.content
    done = [] if index > 0 and watch.out_of_time() else [run_once(child)]
    return done, watch.cuts
