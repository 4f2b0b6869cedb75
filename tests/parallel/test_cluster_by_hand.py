"""Calls on a cluster, with a client, clocks and workers that are made up."""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import pytest
from sklearn.base import BaseEstimator

from subscape.core.errors import LostWorkerError, SubscapeError
from subscape.parallel import distributed, local
from subscape.parallel.distributed import Carried, Lost, Shared, from_cluster
from subscape.version import __version__


class Client:
    """Answers as it is told; each answer may be an error."""

    status = "running"

    def __init__(self, cores=None, said=None):
        self.cores = {"tcp://a": 2} if cores is None else cores
        self.said, self.asked, self.scheduler = said, [], SimpleNamespace(address="tcp://s:1")

    def ncores(self):
        if isinstance(self.cores, Exception):
            raise self.cores
        return self.cores

    def run(self, function, *arguments, on_error):
        assert on_error == "return"
        self.asked.append((function, arguments))
        said = self.said[min(len(self.asked), len(self.said)) - 1]
        if isinstance(said, Exception):
            raise said
        return said

    def wait_for_workers(self, number, timeout):
        self.asked.append(("wait", number, timeout))
        if self.cores == {}:
            raise TimeoutError("nobody came")


# -- what is sent ---------------------------------------------------------------------------------


class Telling(BaseEstimator):
    def __init__(self, progress=None, size=3):
        self.progress = progress
        self.size = size


def test_what_is_carried_is_unpickled_once_and_without_progress():
    telling = Telling(progress=print)
    carried = Carried((telling, [1, 2]))
    assert carried.content[0] is telling  # here it is the thing itself
    there = pickle.loads(pickle.dumps(carried))
    estimator, listed = there.content
    assert (estimator.progress, estimator.size, listed) == (None, 3, [1, 2])
    assert there.content[0] is estimator and telling.progress is print
    assert there.fresh()[0] is not there.fresh()[0]
    assert sys.getsizeof(carried) >= len(carried.__getstate__()) > 20
    assert carried.__sizeof__() == len(carried.__getstate__())


@pytest.mark.parametrize(("tries", "often"), [(2, "twice"), (3, "3 times"), (4, "4 times")])
def test_what_is_said_of_lost_calls(tries, often):
    said = str(Lost(tries, "the process"))
    assert said.startswith(f"the process was killed {often} while it ran") and "n_jobs" in said


def test_a_call_on_a_worker_brings_its_warnings():
    def careful(a, b):
        warnings.warn("b", stacklevel=1)
        warnings.warn("a", RuntimeWarning, stacklevel=1)
        warnings.warn("b", stacklevel=1)
        return a - b

    result, seen = distributed._call_on_worker(careful, 5, 3)
    assert result == 2
    assert [str(each) for each in seen] == ["RuntimeWarning: a", "UserWarning: b"]


# -- who answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "is_told"),
    [
        ("tcp://127.0.0.1:1", False), ("127.0.0.1:1", False), ("tcp://localhost:1", False),
        ("tcp://[::1]:1", False), ("tls://10.0.0.5:1", False), ("wss://10.0.0.5:1", False),
        ("inproc://10.0.0.5/1/1", False), ("tcp://10.0.0.5:1", True), ("10.0.0.5:1", True),
        ("ws://example.org:1", True), ("tcp://example.org:1", True),
    ],
)  # fmt: skip
def test_open_lines_are_told(address, is_told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        distributed._warn_of_strangers(address)
    assert [f"{address!r} is open" in str(each.message) for each in caught] == [True] * is_told


@pytest.mark.parametrize(
    ("address", "knocked"),
    [
        ("tcp://here:7", ("here", 7)), ("here:7", ("here", 7)), ("tls://here:7", ("here", 7)),
        ("inproc://here:7", None), ("tcp://here", None), ("tcp://:7", None), ("ws://here:7", None),
    ],
)  # fmt: skip
def test_doors_that_are_knocked_at(monkeypatch, address, knocked):
    asked = []

    def create_connection(place, seconds):
        asked.append((place, seconds))
        return SimpleNamespace(close=lambda: asked.append("closed"))

    monkeypatch.setattr(distributed, "socket", SimpleNamespace(create_connection=create_connection))
    distributed._knock(address, 2.5)
    assert asked == ([(knocked, 2.5), "closed"] if knocked else [])


def test_answers_in_time():
    assert distributed._within(5.0, lambda: 3) == 3
    with pytest.raises(KeyError, match="x"):
        distributed._within(5.0, lambda: {}["x"])
    with pytest.raises(TimeoutError, match="its own"):

        def own():
            raise TimeoutError("its own")

        distributed._within(5.0, own)
    never = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        distributed._within(0.05, never.wait)
    never.set()


def test_a_long_call_goes_on_while_the_scheduler_answers(monkeypatch):
    monkeypatch.setattr(distributed, "LOOK", 0.02)
    looks = []
    monkeypatch.setattr(distributed, "_look", lambda client: looks.append(client))

    def long():
        time.sleep(0.2)
        return 7

    assert distributed._while_answered("c", long) == 7 and len(looks) >= 2
    never = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
        distributed._while_answered("c", never.wait, 0.1)
    never.set()

    def silent(client):
        raise LostWorkerError("nobody")

    monkeypatch.setattr(distributed, "_look", silent)
    with pytest.raises(LostWorkerError, match="nobody"):
        distributed._while_answered("c", lambda: time.sleep(5.0))
    with pytest.raises(TimeoutError, match="its own"):

        def own():
            raise TimeoutError("its own")

        distributed._while_answered("c", own)


def test_looking_at_a_cluster():
    assert distributed._look(Client({"a": 2, "b": 3})) == {"a": 2, "b": 3}
    with pytest.raises(LostWorkerError, match="the scheduler has not answered for 10 s"):
        distributed.threads_of(Client(OSError("gone")))
    closed = Client()
    closed.status = "closed"
    with pytest.raises(LostWorkerError, match="the connection to the cluster was lost"):
        distributed._look(closed)


# -- workers --------------------------------------------------------------------------------------


def checked(said, kernels=None, cores=None):
    client = Client(cores, said)
    distributed._check_workers(client, "tcp://s:1", kernels)
    return client


def test_workers_of_this_version():
    client = checked([{"a": __version__, "b": __version__}])
    assert client.asked == [(eval, (distributed.WORKER_VERSION,))]
    assert eval(distributed.WORKER_VERSION) == __version__


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"a": __version__, "b": "0.0"}, r"1 worker of 2 at .* on b there is 0\.0; install"),
        ({"a": "0.0", "b": "0.0"}, r"2 workers of 2 at .* on a there is 0\.0"),
        ({"a": ImportError("no module")}, r"1 worker of 1 .* on a there is none \(no module\)"),
    ],
)
def test_workers_of_another_version_are_refused(said, match):
    with pytest.raises(SubscapeError, match=match):
        checked([said])


def test_workers_with_other_kernels_are_refused():
    versions = {"a": __version__, "b": __version__}
    client = checked([versions, {"a": "cython", "b": "cython"}], lambda: "cython")
    assert len(client.asked) == 2
    with pytest.raises(SubscapeError, match=r"1 worker of 2 .* kernels of cython, and on b those"):
        checked([versions, {"a": "cython", "b": "numpy"}], lambda: "cython")


def test_a_cluster_without_workers():
    with pytest.raises(SubscapeError, match="has no workers; start one with  dask worker tcp"):
        checked([{}], cores={})


def test_workers_that_cannot_be_asked():
    with pytest.raises(SubscapeError, match=r"can't be asked what they run \(gone\)"):
        checked([OSError("gone")])


def test_workers_that_die_while_they_are_asked(monkeypatch):
    now = SimpleNamespace(time=0.0)

    def sleep(seconds):
        now.time += seconds

    monkeypatch.setattr(
        distributed, "time", SimpleNamespace(monotonic=lambda: now.time, sleep=sleep)
    )
    client = checked([{"a": OSError("dead")}, {}, {"b": __version__}])
    assert len(client.asked) == 3 and now.time == pytest.approx(0.4)
    now.time = 0.0
    with pytest.raises(SubscapeError, match=r"\(dead\)"):
        checked([{"a": OSError("dead")}])
    assert 10.0 < now.time <= 10.4
    now.time = 0.0
    with pytest.raises(SubscapeError, match="there is none any more"):
        checked([{}])
    # Kernels may take longer: libraries are loaded first.
    now.time = 0.0
    with pytest.raises(SubscapeError, match=r"\(dead\)"):
        checked([{"a": __version__}, {"a": OSError("dead")}], lambda: "cython")
    assert 60.0 < now.time <= 60.4


def test_each_client_is_looked_at_once(monkeypatch):
    seen = []
    monkeypatch.setattr(distributed, "_check_workers", lambda *given: seen.append(given))
    one, other = Client(), Client()
    other.scheduler = None
    for client in (one, one, other):
        distributed.check_workers(client, str)
    assert seen == [(one, "tcp://s:1", str, 60.0), (other, "?", str, 60.0)]


def test_workers_are_waited_for_only_where_there_are_none():
    client = Client()
    distributed._wait(client, 3.0)
    assert client.asked == []
    client = Client({})
    client.wait_for_workers = lambda number, timeout: client.asked.append((number, timeout))
    distributed._wait(client, 3.0)
    assert client.asked == [(1, 3.0)]
    with pytest.raises(LostWorkerError, match="no worker of the cluster is left, and none came"):
        distributed._wait_for_workers(Client({}))


def test_the_next_call_that_ends(monkeypatch):
    done = queue.SimpleQueue()
    done.put(4)
    assert distributed._next(done, Client()) == 4
    monkeypatch.setattr(distributed, "LOOK", 0.01)
    monkeypatch.setattr(distributed, "PATIENCE", 0.03)
    with pytest.raises(LostWorkerError, match="no worker of the cluster is left"):
        distributed._next(done, Client({}))
    # Workers that come back begin the wait anew.
    answers = iter([{}, {}, {"a": 1}, {}, {}])
    seen = []

    def look(client):
        seen.append(next(answers))
        if len(seen) == 5:
            done.put(6)
        return seen[-1]

    monkeypatch.setattr(distributed, "_look", look)
    assert distributed._next(done, Client()) == 6 and len(seen) == 5


@pytest.mark.parametrize(
    ("n_jobs", "n_calls", "where"),
    [(None, 2, "there"), (2, 2, "there"), (-1, 3, "there"), (1, 2, "here"), (None, 1, "here"),
     (2, 0, "here")],
)  # fmt: skip
def test_who_does_calls_where_there_is_a_cluster(monkeypatch, n_jobs, n_calls, where):
    monkeypatch.setattr(local, "active_client", lambda: "client")

    def there(client, function, calls):
        assert client == "client"
        yield from ((i, "there") for i, _ in enumerate(calls))

    monkeypatch.setattr(local, "from_cluster", there)
    outcomes = list(local.finished(lambda: "here", [()] * n_calls, n_jobs))
    assert outcomes == [(i, where) for i in range(n_calls)]


def test_a_lost_call_is_an_error_where_it_has_a_name(monkeypatch):
    def lost(function, calls, n_jobs, threads):
        yield 1, Lost(2, "the process")

    monkeypatch.setattr(local, "_finished", lost)
    assert list(local.finished(len, [(), ()])) == [(1, Lost(2, "the process"))]
    with pytest.raises(LostWorkerError, match=r"^start 2 of 2 can't be done: the process was"):
        list(local.finished(len, [(), ()], what="start"))


# -- calls that are lost ---------------------------------------------------------------------------


def cluster(monkeypatch, answers):
    """Rounds of outcomes, each by the number of a call; what was asked in each round."""
    asked, rounds = [], iter(answers)

    def sent(client, function, calls):
        asked.append(sorted(calls))
        outcomes = next(rounds)
        yield from ((i, outcomes[i]) for i in calls)

    monkeypatch.setattr(distributed, "_sent", sent)
    return asked


def test_calls_whose_arguments_were_lost_are_sent_again(monkeypatch):
    gone = distributed._GONE
    asked = cluster(monkeypatch, [{0: "a", 1: gone, 2: gone}, {1: "b", 2: gone}, {2: "c"}])
    assert list(from_cluster(None, len, [(), (), ()])) == [(0, "a"), (1, "b"), (2, "c")]
    assert asked == [[0, 1, 2], [1, 2], [2]]
    asked = cluster(monkeypatch, [{0: gone, 1: "b"}, {0: gone}, {0: gone}])
    with pytest.raises(LostWorkerError, match=r"^1 call of 2 could not be done.* died 3 times"):
        list(from_cluster(None, len, [(), ()]))
    assert asked == [[0, 1], [0], [0]]


def test_calls_that_kill_workers_are_sent_once_more_alone(monkeypatch):
    lost = Lost(4, "a worker")
    asked = cluster(
        monkeypatch,
        [{0: lost, 1: "b", 2: lost, 3: lost}, {0: "a"}, {2: Lost(2, "x")}, {3: distributed._GONE}],
    )
    assert list(from_cluster(None, len, [()] * 4)) == [
        (1, "b"), (0, "a"), (2, Lost(6, "a worker")), (3, Lost(5, "a worker")),
    ]  # fmt: skip
    assert asked == [[0, 1, 2, 3], [0], [2], [3]]


def test_shared_arguments_are_themselves():
    one, other = Shared([1]), Shared([1])
    assert one == one and one != other and one.value == other.value
