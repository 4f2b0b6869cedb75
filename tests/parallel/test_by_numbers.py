"""Steps, time and restarts, and what a worker asks of its parent, with clocks and calls made up."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from subscape.parallel import local, orphans, progress
from subscape.parallel.local import Lost
from subscape.parallel.progress import Step, Watch, best_few_of, best_of
from subscape.parallel.seeds import child_seed, seed_sequence

# -- calls that are lost --------------------------------------------------------------------------


class TerminatedWorkerError(Exception):
    """By this name joblib says that a process was killed."""


@pytest.mark.parametrize("error", [TerminatedWorkerError(), KeyError("its own")])
def test_a_call_that_is_alone_can_only_lose_itself(monkeypatch, error):
    def raising(calls):
        raise error

    monkeypatch.setattr(local, "Parallel", lambda **options: raising)
    if isinstance(error, KeyError):
        with pytest.raises(KeyError, match="its own"):
            local._alone(pow, (2, 3))
    else:
        assert local._alone(pow, (2, 3)) == Lost(2, "the process")
    monkeypatch.setattr(local, "Parallel", lambda **options: lambda calls: iter([(0, 8)]))
    assert local._alone(pow, (2, 3)) == 8


@pytest.mark.parametrize(
    ("n_calls", "n_jobs", "threads", "on_worker", "where"),
    [
        (1, 2, False, False, "here"), (2, 2, False, False, "processes"),
        (2, 1, False, False, "here"), (2, None, False, False, "here"),
        (2, 2, True, False, "threads"), (1, 2, True, False, "here"),
        (2, 2, False, True, "here"), (2, 2, True, True, "here"), (0, 2, False, False, "here"),
    ],
)  # fmt: skip
def test_where_calls_are_made(monkeypatch, n_calls, n_jobs, threads, on_worker, where):
    made = []

    def of(place):
        return lambda *given, **options: made.append(place) or (lambda calls: iter(()))

    monkeypatch.setattr(local, "Parallel", of("threads"))
    monkeypatch.setattr(
        local, "_from_processes", lambda *given: made.append("processes") or iter(())
    )
    monkeypatch.setattr(local, "is_on_worker", lambda: on_worker)
    monkeypatch.setattr(local, "active_client", lambda: None)
    found = list(local.finished(pow, [(2, 3)] * n_calls, n_jobs, threads=threads))
    if where == "here":
        assert made == [] and found == [(i, 8) for i in range(n_calls)]
    else:
        assert made == [where] and found == []


def test_a_cluster_takes_all_but_one_call_and_one_job(monkeypatch):
    asked = []
    monkeypatch.setattr(local, "active_client", lambda: "client")
    monkeypatch.setattr(local, "from_cluster", lambda *given: asked.append(given) or iter(()))
    calls = [(2, 3), (3, 2)]
    for n_jobs in (2, None, -1):
        assert list(local.finished(pow, calls, n_jobs)) == []
    assert asked == [("client", pow, calls)] * 3
    assert list(local.finished(pow, calls, 1)) == [(0, 8), (1, 9)]
    assert list(local.finished(pow, calls[:1], 2)) == [(0, 8)] and len(asked) == 3


@pytest.mark.parametrize("error", [TerminatedWorkerError(), KeyError("its own")])
def test_calls_in_flight_are_tried_again_one_by_one(monkeypatch, error):
    closed = []

    class TwoBegin:
        def __init__(self, n_jobs):
            self.busy = False

        def __call__(self, calls):
            next(calls), next(calls)
            yield 1, "one"
            raise error

        def close(self):
            closed.append(self.busy)

    monkeypatch.setattr(local, "_Pool", TwoBegin)
    monkeypatch.setattr(local, "_alone", lambda function, call: ("alone", *call))
    found = local._from_processes(pow, [(2, 3), (3, 2)], 2)
    assert next(found) == (1, "one")
    if isinstance(error, KeyError):
        with pytest.raises(KeyError, match="its own"):
            next(found)
    else:
        assert list(found) == [(0, ("alone", 2, 3))]
    assert closed == [True]


# -- time -----------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now.time))
    return now


def test_time_that_is_left(clock):
    watch, free = Watch("A", max_time=2.0), Watch("A")
    clock.time = 101.5
    assert watch.seconds == 1.5 and watch.seconds_left() == 0.5 and not watch.out_of_time()
    assert free.seconds_left() is None and not free.out_of_time()
    # A copy in another process has what is left.
    copied = pickle.loads(pickle.dumps(watch))
    assert (copied.algorithm, copied.max_time, copied.seconds) == ("A", 0.5, 0.0)
    assert not watch.was_cut and watch.cuts == []
    clock.time = 102.0
    assert watch.out_of_time() and watch.out_of_time() and watch.was_cut
    assert watch.cuts == ["stopped after max_time=2 s; give it more time for a full search"]
    watch.cut("lost")
    watch.cut("lost")
    assert watch.cuts[1:] == ["lost"]
    with pytest.warns(ConvergenceWarning) as said:
        watch.close()
    assert [str(each.message) for each in said] == [
        f"A: {reason}. This is the best result so far." for reason in watch.cuts
    ]


def test_steps_are_told(clock):
    told = []
    watch = Watch("A", told.append)
    clock.time = 103.0
    watch.step()
    watch.step("starts", 2, 5)
    assert told == [Step("A", "", 0, None, 3.0), Step("A", "starts", 2, 5, 3.0)]
    Watch("A").step("nobody listens")


def test_a_bar_for_people(clock, monkeypatch):
    import tqdm.auto

    made = []

    class Bar(SimpleNamespace):
        def set_postfix_str(self, text):
            self.text = text

        def close(self):
            self.closed = True

    def tqdm_(**options):
        made.append(Bar(n=None, **options))
        return made[-1]

    monkeypatch.setattr(tqdm.auto, "tqdm", tqdm_)
    watch = Watch("A", True)
    watch.step("one", 1, 7)
    (bar,) = made
    assert (bar.desc, bar.total, bar.leave, bar.n, bar.text) == ("A", 7, False, 1, "one")
    watch.step("two", 3)
    assert (bar.total, bar.n, bar.text) == (7, 3, "two")
    watch.step("three", 4, 9)
    assert bar.total == 9 and made == [bar]
    watch.close()
    assert bar.closed


# -- starts ---------------------------------------------------------------------------------------


def few(keys, number, n_jobs=None, watch=None):
    """The best starts of some that have these keys, as their places."""
    children = np.random.SeedSequence(7).spawn(len(keys))
    place = {child.generate_state(1)[0]: i for i, child in enumerate(children)}

    def run_once(child):
        return place[child.generate_state(1)[0]]

    seed = np.random.SeedSequence(7)
    return best_few_of(
        run_once, len(keys), seed, watch or Watch(), n_jobs, lambda i: keys[i], number
    )


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize(
    ("keys", "number", "known"),
    [
        ([3, 1, 2], 1, [1]), ([3, 1, 2], 2, [1, 2]), ([3, 1, 2], 9, [1, 2, 0]),
        ([1, 1, 0, 0], 1, [2]), ([1, 1, 0, 0], 4, [2, 0]), ([5], 3, [0]),
        ([4, 3, 2, 1, 0], 3, [4, 3, 2]), ([0, 1, 2, 3], 2, [0, 1]),
    ],
)  # fmt: skip
def test_the_best_starts_first_and_of_equal_ones_the_first(keys, number, known, n_jobs):
    assert few(keys, number, n_jobs) == known


def test_the_best_start_by_its_objective():
    def run_once(child):
        return SimpleNamespace(objective=-float(child.generate_state(1)[0]))

    seeds = [child.generate_state(1)[0] for child in np.random.SeedSequence(3).spawn(4)]
    best = best_of(run_once, 4, np.random.SeedSequence(3), Watch())
    assert best.objective == -float(max(seeds))


def test_starts_are_counted():
    told = []
    few([3, 1, 2], 1, watch=Watch("A", told.append))
    assert [(step.message, step.done, step.total) for step in told] == [
        ("restarts", 1, 3), ("restarts", 2, 3), ("restarts", 3, 3)
    ]  # fmt: skip


def test_without_time_one_start_is_made(clock):
    watch = Watch(max_time=0.0)
    assert few([3, 2, 1], 3, watch=watch) == [0] and watch.was_cut
    assert few([3, 2, 1], 3, n_jobs=2, watch=Watch(max_time=0.0)) == [0]


def test_a_start_on_a_worker():
    watch = Watch(max_time=0.0)
    carried = SimpleNamespace(content=(lambda child: ("ran", child), watch))
    assert progress._start_on_device(carried, 0, "child") == ([("ran", "child")], [])
    done, cuts = progress._start_on_device(carried, 1, "child")
    assert done == [] and len(cuts) == 1
    carried = SimpleNamespace(content=(lambda child: ("ran", child), Watch()))
    assert progress._start_on_device(carried, 1, "child") == ([("ran", "child")], [])
    assert progress._carried(len, watch) is None  # there is no cluster


# -- workers without a parent ---------------------------------------------------------------------


@pytest.fixture
def process(monkeypatch):
    """A process whose numbers, signals, threads and end are made up."""
    made = SimpleNamespace(parent=5, lives=True, ended=[], threads=[], signals=0)

    def end(code):
        made.ended.append(code)
        raise SystemExit

    def kill(pid, number):
        assert number == 0
        if isinstance(made.lives, type):
            raise made.lives
        if not made.lives:
            raise ProcessLookupError

    def ask():
        made.signals += 1

    def thread(target, args, name, daemon):
        assert (name, daemon) == ("parent", True)
        return SimpleNamespace(start=lambda: made.threads.append((target, args)))

    system = SimpleNamespace(
        getpid=lambda: 9, getppid=lambda: made.parent, _exit=end, kill=kill
    )  # fmt: skip
    monkeypatch.setattr(orphans, "os", system)
    monkeypatch.setattr(orphans, "socket", SimpleNamespace(gethostname=lambda: "here"))
    monkeypatch.setattr(orphans, "_ask_for_signal", ask)
    monkeypatch.setattr(
        orphans, "threading", SimpleNamespace(Thread=thread, Lock=orphans.threading.Lock)
    )
    monkeypatch.setattr(orphans, "_watched", orphans._Watched())
    made.sys = SimpleNamespace(platform="linux")
    monkeypatch.setattr(orphans, "sys", made.sys)
    return made


def test_a_worker_is_tied_to_its_parent_once(process):
    orphans.end_with(orphans.Parent(5, "here", True))
    assert process.threads == [(orphans._wait, (5,))] and process.signals == 1
    orphans.end_with(orphans.Parent(5, "here", True))
    assert len(process.threads) == 1 and orphans._watched.pid == 5
    # The parent itself isn't.
    orphans.end_with(orphans.Parent(9, "here", True))
    assert len(process.threads) == 1 and not process.ended


@pytest.mark.parametrize(
    ("platform", "main", "signals", "watch"),
    [("linux", True, 1, "_wait"), ("linux", False, 0, "_wait"), ("darwin", True, 0, "_wait"),
     ("win32", True, 0, "_wait_on_windows")],
)  # fmt: skip
def test_how_a_parent_is_watched(process, platform, main, signals, watch):
    process.sys.platform = platform
    orphans.end_with(orphans.Parent(5, "here", main))
    assert process.signals == signals
    assert process.threads == [(getattr(orphans, watch), (5,))]


def test_a_worker_whose_parent_is_gone_before_it_begins_ends(process):
    process.parent, process.lives = 1, False
    # On another machine its number says nothing.
    orphans.end_with(orphans.Parent(5, "elsewhere", True))
    assert not process.ended
    with pytest.raises(SystemExit):
        orphans.end_with(orphans.Parent(5, "here", True))
    assert process.ended == [orphans.ORPHANED] and orphans._watched.pid is None
    # One that lives, or that somebody else owns, has let another process start this one.
    for lives in (True, PermissionError):
        process.lives = lives
        orphans.end_with(orphans.Parent(5, "here", True))
    assert len(process.ended) == 1 and not process.threads


def test_on_windows_nobody_is_asked_by_a_signal(process):
    process.lives = False
    assert orphans._lives(5) is False
    process.sys.platform = "win32"
    assert orphans._lives(5) is True


def test_waiting_ends_with_another_parent(process, monkeypatch):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        process.parent = 5 if len(slept) < 3 else 1

    monkeypatch.setattr(orphans, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(SystemExit):
        orphans._wait(5)
    assert slept == [0.5] * 3 and process.ended == [1]


@pytest.mark.parametrize("handle", [77, 0])
def test_on_windows_the_parent_is_waited_for_by_its_handle(process, monkeypatch, handle):
    asked = []
    kernel = SimpleNamespace(
        OpenProcess=lambda *given: asked.append(given) or handle,
        WaitForSingleObject=lambda *given: asked.append(given),
    )
    monkeypatch.setattr(orphans, "ctypes", SimpleNamespace(windll=SimpleNamespace(kernel32=kernel)))
    with pytest.raises(SystemExit):
        orphans._wait_on_windows(5)
    # SYNCHRONIZE, not inherited; INFINITE.
    assert asked == [(0x00100000, False, 5), (77, 0xFFFFFFFF)][: 1 + bool(handle)]
    assert process.ended == [orphans.ORPHANED]


def test_who_waits_for_a_worker():
    parent = orphans.Parent.here()
    assert parent == (os.getpid(), socket.gethostname(), True)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(orphans.Parent.here()))
    thread.start()
    thread.join()
    assert seen == [parent._replace(in_main_thread=False)]


# -- threads --------------------------------------------------------------------------------------


def test_one_thread_in_libraries():
    from threadpoolctl import threadpool_info

    from subscape.parallel import threads

    libraries = threads._blas_libraries()
    assert libraries and all(lib.user_api == "blas" for lib in libraries)
    assert {each.internal_api for each in libraries} == {
        each["internal_api"] for each in threadpool_info() if each["user_api"] == "blas"
    }
    for limited in (threads.one_thread, threads.one_blas_thread):
        with limited():
            assert {lib.num_threads for lib in libraries} == {1}


@pytest.mark.parametrize("listens", [True, False])
def test_the_number_of_threads_is_set_whoever_asked_first(listens):
    """threadpoolctl 3.8 is made to forget the thread that asks, before and after."""
    from subscape.parallel import threads

    asked = []
    library = SimpleNamespace(set_num_threads=lambda number: asked.append(number))
    if listens:
        library.clear_controlling_thread = lambda force: asked.append(("forget", force))
    threads._set_threads(library, 3)
    assert asked == ([("forget", True), 3, ("forget", True)] if listens else [3])


def test_threads_come_back_when_the_last_one_leaves(monkeypatch):
    from subscape.parallel import threads

    libraries = [SimpleNamespace(num_threads=number) for number in (4, 2)]
    for each in libraries:
        each.set_num_threads = partial(setattr, each, "num_threads")
    monkeypatch.setattr(threads, "_blas_libraries", lambda: libraries)
    monkeypatch.setattr(threads, "_threads", threads._BlasThreads())

    def now():
        return [each.num_threads for each in libraries]

    with threads.one_blas_thread():
        assert now() == [1, 1] and threads._threads.usual == [4, 2]
        with threads.one_blas_thread():
            assert now() == [1, 1] and threads._threads.inside == 2
        assert now() == [1, 1] and threads._threads.inside == 1
    assert now() == [4, 2] and threads._threads.usual is None and threads._threads.inside == 0
    # Where it cannot be put back, what was usual is kept for the next one.
    with threads.one_blas_thread():
        libraries[0].set_num_threads = lambda number: None
    assert now() == [1, 2] and threads._threads.usual == [4, 2]


def test_seeds():
    assert seed_sequence(5).entropy == 5 == seed_sequence(np.int32(5)).entropy
    known = np.random.default_rng(3).integers(0, 2**63, 2).tolist()
    assert seed_sequence(np.random.default_rng(3)).entropy == known
    known = np.random.RandomState(3).randint(0, 2**31 - 1, 4).tolist()
    assert seed_sequence(np.random.RandomState(3)).entropy == known
    given = np.random.SeedSequence(8)
    assert seed_sequence(given) is given
    assert seed_sequence(None).entropy != seed_sequence(None).entropy
    assert seed_sequence(0).entropy == 0 and seed_sequence(2**63 - 1).entropy == 2**63 - 1
    for wrong, said in ((-1, "at least 0"), (2**63, "at most"), (True, "must be None, an int")):
        with pytest.raises(ValueError, match=said):
            seed_sequence(wrong)


def test_children_by_place():
    seed = np.random.SeedSequence(7, pool_size=8)
    seed.spawn(2)
    third = child_seed(seed, 1)
    assert seed.n_children_spawned == 2
    known = seed.spawn(2)[1]
    assert (third.spawn_key, third.pool_size) == (known.spawn_key, known.pool_size) == ((3,), 8)
    assert third.generate_state(2).tolist() == known.generate_state(2).tolist()
