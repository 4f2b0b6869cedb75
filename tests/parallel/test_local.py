from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from subscape.core.errors import LostWorkerError
from subscape.parallel import local
from subscape.parallel.local import Lost, Shared, finished, in_order, processes_kept
from subscape.parallel.progress import Watch, best_of

CALLS = [(i, Shared(np.full(3, 10.0))) for i in range(6)]


def plus(number, table):
    return number + float(table[0])


def die_once(number, marker):
    if number == 2 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_at(number, deadly):
    if number == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def press_ctrl_c(number):
    os.kill(os.getpid(), signal.SIGINT)
    return number


def refuse(number):
    if number == 1:
        raise KeyError("one")
    return number


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_are_those_of_the_calls(n_jobs, threads):
    assert dict(finished(plus, CALLS, n_jobs, threads=threads)) == {i: 10.0 + i for i in range(6)}
    assert list(in_order(plus, CALLS, n_jobs, threads=threads)) == [10.0 + i for i in range(6)]
    assert list(in_order(plus, [], n_jobs, threads=threads)) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_call_raises_ends_it_all(n_jobs):
    with pytest.raises(KeyError, match="one"):
        list(in_order(refuse, [(i,) for i in range(5)], n_jobs))


def test_workers_never_hear_of_ctrl_c():
    # Those that others may have started in this process are none of ours.
    get_reusable_executor().shutdown(wait=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert list(in_order(press_ctrl_c, [(i,) for i in range(4)], 2)) == list(range(4))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_killed_process_costs_a_second_try(tmp_path):
    calls = [(i, str(tmp_path / "killed")) for i in range(5)]
    assert list(in_order(die_once, calls, 2)) == list(range(5))
    assert (tmp_path / "killed").exists()


def test_a_call_that_kills_its_process_twice_is_named():
    results = dict(finished(die_at, [(i, 4) for i in range(6)], 2))
    assert results.pop(4) == Lost(2, "the process")
    assert results == {i: i for i in (0, 1, 2, 3, 5)}
    with pytest.raises(
        LostWorkerError,
        match=r"table 2 of 3 can't be done: the process was killed twice .*n_jobs",
    ) as caught:
        list(in_order(die_at, [(i, 1) for i in range(3)], 2, what="table"))
    assert isinstance(caught.value, ValueError)


def kind_and_sum(table, _):
    return type(table).__name__, float(table.sum())


def test_tables_reach_workers_as_what_they_are(tmp_path):
    # Large ones come by a file, and would be read in blocks, as those are that lie in one.
    table = np.ones((1000, 300))
    for n_jobs in (1, 2):
        calls = [(table, i) for i in range(3)]
        assert list(in_order(kind_and_sum, calls, n_jobs)) == [("ndarray", 300_000.0)] * 3
    mapped = np.memmap(tmp_path / "table", dtype=float, mode="w+", shape=(1000, 300))
    mapped[:] = 1.0
    calls = [(mapped, i) for i in range(3)]
    assert list(in_order(kind_and_sum, calls, 2)) == [("memmap", 300_000.0)] * 3


@pytest.fixture
def pools(monkeypatch):
    """The pools that were begun and closed."""
    seen = {"begun": 0, "closed": 0}

    class Pool(local._Pool):
        def __init__(self, n_jobs):
            seen["begun"] += 1
            super().__init__(n_jobs)

        def close(self):
            seen["closed"] += 1
            super().close()

    monkeypatch.setattr(local, "_Pool", Pool)
    return seen


def test_rounds_of_calls_share_a_pool(pools):
    in_memory = Shared(np.full((200_000, 1), 7.0))
    with processes_kept():
        with processes_kept():
            first = list(in_order(kind_and_sum, [(in_memory, k) for k in range(3)], 2))
            assert first == [("ndarray", 1_400_000.0)] * 3
        assert pools == {"begun": 1, "closed": 0}
        assert list(in_order(kind_and_sum, [(in_memory, k) for k in range(3)], 2)) == first
        # Another number of processes, a pool of its own.
        list(in_order(plus, CALLS, 3))
        assert pools == {"begun": 2, "closed": 1}
    assert pools == {"begun": 2, "closed": 2}
    list(in_order(plus, CALLS, 2))
    assert pools == {"begun": 3, "closed": 3}


def test_a_pool_in_use_is_nobody_elses(pools):
    with processes_kept():
        outer = in_order(plus, CALLS, 2)
        assert next(outer) == 10.0
        assert list(in_order(plus, CALLS, 2)) == [10.0 + i for i in range(6)]
        assert pools == {"begun": 2, "closed": 1}
        assert list(outer) == [11.0, 12.0, 13.0, 14.0, 15.0]
        assert list(in_order(plus, CALLS, 2)) == [10.0 + i for i in range(6)]
    assert pools == {"begun": 2, "closed": 2}


@pytest.mark.filterwarnings("ignore:.*still being processed")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pool_in_which_something_went_wrong_is_not_kept(tmp_path, pools):
    with processes_kept():
        calls = [(i, str(tmp_path / "died")) for i in range(5)]
        assert list(in_order(die_once, calls, 2)) == list(range(5))
        assert pools["closed"] == 1 and (tmp_path / "died").exists()
        with pytest.raises(KeyError, match="one"):
            list(in_order(refuse, [(i,) for i in range(5)], 2))
        left = in_order(plus, CALLS, 2)
        next(left)
        left.close()
        closed = pools["closed"]
        assert closed >= 3
        assert list(in_order(plus, CALLS, 2)) == [10.0 + i for i in range(6)]
        assert pools["closed"] == closed
    assert pools["begun"] == pools["closed"]


def test_no_job_at_all_is_started_for_one_call():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert dict(finished(os.getpid, [()])) == {0: os.getpid()}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_starts_have_the_seeds_that_are_spawned(n_jobs):
    """Results that are published stay what they are: start i has the i-th child of the seed."""
    seen = []
    best_of(
        lambda child: seen.append(child.generate_state(2).tolist()),
        5, np.random.SeedSequence(7), Watch(), n_jobs, key=lambda none: 0,
    )  # fmt: skip
    children = np.random.SeedSequence(7).spawn(5)
    assert sorted(seen) == sorted(child.generate_state(2).tolist() for child in children)


TRACKED = """
import signal
from importlib import import_module
from subscape.parallel.local import TRACKERS, _deaf_workers

running = lambda: [import_module(name)._resource_tracker._pid is not None for name in TRACKERS]
before = running()
with _deaf_workers():
    inside = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
print(before, running(), inside, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is nothing to block")
def test_what_looks_after_workers_is_started_before_the_signal_is_blocked():
    done = subprocess.run(
        [sys.executable, "-c", TRACKED], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[False, False] [True, True] True False\n", done.stderr
