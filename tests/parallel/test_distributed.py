"""Two worker processes of a Dask cluster on this machine, one of which is killed now and then."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.exceptions import ConvergenceWarning
from tests.validation.finders import Halves

from subscape.arrays.backend import active
from subscape.cli.main import cli
from subscape.core.errors import LostWorkerError, SubscapeError
from subscape.datasets import planted_axes, planted_views
from subscape.ensemble import generate
from subscape.exploration import Exploration, make_plan
from subscape.finders import LAC, PROCLUS, SSPC
from subscape.measures.chance import p_value
from subscape.parallel import distributed as place
from subscape.parallel.distributed import (
    _knock,
    _warn_of_strangers,
    active_client,
    connected,
    from_cluster,
)
from subscape.parallel.local import Lost, Shared, finished, in_order
from subscape.runs import RunStore, Task, run_all
from subscape.tables import Table
from subscape.validation import resampling_stability
from subscape.version import __version__

X = planted_axes(400, 12, n_clusters=3, dims=5, random_state=3).X


@pytest.fixture(scope="module")
def dask_cluster():
    with warnings.catch_warnings():
        # Of the cluster itself: ports in use, sockets closed late.
        warnings.simplefilter("ignore")
        from distributed import LocalCluster

        with LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as started:
            yield started


@pytest.fixture
def cluster(dask_cluster):
    """The cluster with both its workers, and everything with ``n_jobs`` running on it."""
    from distributed import Client

    with Client(dask_cluster) as client:
        client.wait_for_workers(2, timeout=60)
        with joblib.parallel_config(backend="dask"):
            yield dask_cluster


def kill_worker(cluster, which=0):
    nanny = list(cluster.workers.values())[which]
    os.kill(nanny.process.pid, signal.SIGKILL)


class KillAt:
    """A progress callback that kills a worker when so many pieces are done."""

    def __init__(self, cluster, done):
        self.cluster, self.done, self.killed = cluster, done, False

    def __call__(self, step):
        if step.done >= self.done and not self.killed:
            self.killed = True
            kill_worker(self.cluster)


def same(a, b):
    """Equal to the last bit, cluster by cluster."""
    assert (a.memberships != b.memberships).nnz == 0
    for side in ("masks", "weights"):
        if hasattr(a.subspaces, side):
            np.testing.assert_array_equal(getattr(a.subspaces, side), getattr(b.subspaces, side))
    assert a == b
    return True


def where(_, table):
    time.sleep(0.05)
    return os.getpid(), float(table.sum())


def warn_or_raise(number):
    if number == 1:
        warnings.warn("odd", ConvergenceWarning, stacklevel=1)
    if number == 5:
        raise KeyError("five")
    return number


def die_at(number, table):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_calls_share_is_sent_once(cluster, monkeypatch):
    from distributed import Client

    sent = []
    scatter = Client.scatter
    monkeypatch.setattr(
        Client, "scatter", lambda self, data, **how: sent.append(how) or scatter(self, data, **how)
    )
    table = Shared(np.arange(5000.0))
    results = dict(finished(where, [(i, table) for i in range(12)]))
    assert sorted(results) == list(range(12))
    assert {total for _, total in results.values()} == {table.value.sum()}
    assert len({pid for pid, _ in results.values()}) == 2
    assert os.getpid() not in {pid for pid, _ in results.values()}
    assert len(sent) == 1
    sent.clear()
    run_all([Task(Halves(), X, seed=s) for s in range(6)])
    assert len(sent) == 1
    sent.clear()
    LAC(n_clusters=3, n_init=4, random_state=0).fit(X)
    assert len(sent) == 1


def test_data_that_died_with_its_workers_are_sent_again(cluster):
    table = Shared(np.arange(5000.0))
    found = finished(where, [(i, table) for i in range(30)])
    results = dict([next(found)])
    kill_worker(cluster, 0)
    kill_worker(cluster, 1)
    results.update(found)
    assert sorted(results) == list(range(30))
    assert {total for _, total in results.values()} == {table.value.sum()}


def test_warnings_and_errors_come_back(cluster):
    with pytest.warns(ConvergenceWarning, match="odd"):
        assert list(in_order(warn_or_raise, [(i,) for i in range(4)])) == [0, 1, 2, 3]
    with pytest.raises(KeyError, match="five"):
        list(in_order(warn_or_raise, [(i,) for i in (4, 5, 6)]))


def test_a_call_that_kills_every_worker_is_lost_and_no_other(cluster):
    client = active_client()
    allowed = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)

    def allow(number):
        client.run_on_scheduler(
            lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", number)
        )

    allow(0)
    try:
        results = dict(finished(die_at, [(i, Shared(X)) for i in range(8)]))
    finally:
        allow(allowed)
    assert results.pop(3) == Lost(2, "a worker of the cluster")
    assert results == {i: i for i in range(8) if i != 3}


def test_workers_do_not_wait_for_each_other(cluster):
    # A call that sent calls of its own to the cluster and waited for them could wait forever.
    calls = [(LAC(n_clusters=3, n_init=3, random_state=s),) for s in range(3)]
    for i, labels in finished(labels_of, calls):
        here = LAC(n_clusters=3, n_init=3, n_jobs=1, random_state=i).fit(X)
        np.testing.assert_array_equal(labels, here.labels_)


def labels_of(finder):
    with joblib.parallel_config(backend="dask"):
        assert active_client() is None
        return finder.fit(X).labels_


@pytest.mark.parametrize(
    "finder",
    [
        LAC(n_clusters=3, n_init=4, random_state=1),
        PROCLUS(n_clusters=3, n_init=4, random_state=1),
        SSPC(n_clusters=3, n_init=4, random_state=1),
    ],
    ids=lambda finder: type(finder).__name__,
)
def test_restarts_give_the_same_bits(cluster, finder):
    there = finder.fit(X).clustering_
    with joblib.parallel_config(backend="loky", n_jobs=1):
        same(finder.fit(X).clustering_, there)


def test_a_worker_killed_in_the_middle_of_a_fit(cluster):
    big = planted_axes(1500, 20, n_clusters=4, dims=6, random_state=0).X
    finder = PROCLUS(n_clusters=4, avg_dims=6, n_init=12, random_state=2)
    killer = KillAt(cluster, 2)
    there = finder.set_params(progress=killer).fit(big).clustering_
    assert killer.killed
    same(finder.set_params(progress=None, n_jobs=1).fit(big).clustering_, there)


def test_a_search_cut_short_says_so(cluster):
    finder = PROCLUS(n_clusters=3, n_init=5, max_time=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder.fit(X)


def test_an_ensemble_has_the_same_members(cluster):
    make = LAC(n_clusters=3, n_init=1)
    there = generate(X, make, size=8, random_state=4)
    here = generate(X, make, size=8, random_state=4, n_jobs=1)
    assert len(there) == len(here) == 8
    assert all(same(a, b) for a, b in zip(here, there, strict=True))


def test_the_null_model_of_a_measure_is_the_same(cluster):
    a, b = (
        LAC(n_clusters=3, n_init=1, n_jobs=1, random_state=s).fit(X).clustering_ for s in (0, 1)
    )
    options = dict(n_samples=20, random_state=0)
    there, here = (p_value("rnia", a, b, n_jobs=n, **options) for n in (None, 1))
    np.testing.assert_array_equal(there.samples, here.samples)
    assert there.value == here.value


def test_stability_of_200_fits_survives_a_killed_worker(cluster, tmp_path):
    finder, table = LAC(n_init=1, max_iter=10), X[:150]
    grid = {"n_clusters": list(range(2, 12)), "h": [0.1, 0.2, 0.4, 0.8]}
    options = dict(n_samples=5, reference=False, random_state=0)
    killer = KillAt(cluster, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        there = resampling_stability(
            finder, table, grid, store=tmp_path / "there", progress=killer, **options
        )
        here = resampling_stability(
            finder, table, grid, store=tmp_path / "here", n_jobs=1, **options
        )
    assert killer.killed
    runs, expected = RunStore(tmp_path / "there"), RunStore(tmp_path / "here")
    assert len(runs) == 200
    assert runs.ids() == expected.ids()
    for name in runs.ids():
        a, b = expected.read(name), runs.read(name)
        assert b.ok
        assert a.warnings == b.warnings
        same(a.clustering, b.clustering)
    np.testing.assert_array_equal(here.distances, there.distances)


def test_a_cluster_by_its_address(cluster):
    with connected(cluster.scheduler_address) as client:
        assert active_client() is client
        assert len({pid for _, (pid, _) in finished(where, [(i, X) for i in range(6)])}) == 2


def kernels_of_this_process():
    return str(os.getpid())


def test_workers_with_other_kernels_are_refused(cluster):
    refused = pytest.raises(SubscapeError, match=r"2 workers of 2 .* here run the kernels of")
    with refused, connected(cluster.scheduler_address, kernels=kernels_of_this_process):
        raise AssertionError("they differ")
    with connected(cluster.scheduler_address, kernels=active):
        pass


@pytest.mark.parametrize(
    "file, text, told",
    [
        ("__init__.py", "raise ImportError('not here')", r"there is none \(not here\)"),
        ("version.py", "__version__ = '0.0.1'", r"there is 0\.0\.1;"),
    ],
)
def test_workers_with_another_subscape_or_none(file, text, told, tmp_path):
    from distributed import Client, LocalCluster

    package = tmp_path / "subscape"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / file).write_text(text, encoding="utf-8")
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=":0") as empty:
        address = empty.scheduler_address
        worker = subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", address, "--no-nanny", "--nthreads", "1",
             "--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with Client(empty) as client:
                client.wait_for_workers(1, timeout=60)
            with pytest.raises(SubscapeError, match=told) as refused, connected(address):
                raise AssertionError("it would give other results")
            assert f"install subscape=={__version__}" in str(refused.value)
        finally:
            worker.terminate()
            worker.wait(20)


def test_a_cluster_that_cannot_be_reached():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        began = time.monotonic()
        refused = pytest.raises(SubscapeError, match=r"can't be reached .*refused.*scheduler")
        with refused, connected(address):
            raise AssertionError("nobody is there")
        # Somebody listens, but never answers.
        taken.listen()
        with pytest.raises(SubscapeError, match="can't be reached"), connected(address, 1.5):
            raise AssertionError("this is no scheduler")
        assert time.monotonic() - began < 10


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler without workers, by its own command: its process and its address."""
    told = tmp_path / "scheduler.json"
    started = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0",
         "--no-dashboard", "--scheduler-file", str(told)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield started, json.loads(told.read_text(encoding="utf-8"))["address"]
    finally:
        started.kill()
        started.wait(20)


def test_a_scheduler_that_falls_silent(scheduler, monkeypatch):
    """Whatever it is asked for: the sentence comes, as soon as it would have had to answer."""
    from distributed import Client

    process, address = scheduler
    monkeypatch.setattr(place, "LOOK", 0.2)
    monkeypatch.setattr(place, "ANSWER", 1.0)
    asked = {
        "which kernels": lambda: place.check_workers(client, active),
        "a pass": lambda: place.awaited(client, [waiting]),
        "calls": lambda: list(from_cluster(client, where, [(0, Shared(X))])),
        "results": lambda: place._while_answered(client, waiting.result),
    }
    with Client(address, set_as_default=False) as client:
        waiting = client.submit(abs, -1)
        os.kill(process.pid, signal.SIGSTOP)
        for each in asked.values():
            began = time.monotonic()
            with pytest.raises(LostWorkerError, match=r"scheduler has not answered for 1 s; look"):
                each()
            assert time.monotonic() - began < 10
        os.kill(process.pid, signal.SIGCONT)


def small_plan(*shape, **options):
    plan = make_plan(*shape, **options)
    rungs = tuple(replace(rung, entries=rung.entries[:2]) for rung in plan.rungs[:2])
    return replace(plan, rungs=rungs, rounds=1, n_null=4)


def test_an_exploration_finds_the_same(cluster, tmp_path):
    table = Table.read(planted_views(60, 4, n_clusters=(2,), separation=12, random_state=0).X)
    for name, n_jobs in (("here", 1), ("there", -1)):
        folder = tmp_path / name
        Exploration(
            table, effort="quick", plan=small_plan, n_jobs=n_jobs, folder=folder, random_state=0
        ).run()
    here, there = tmp_path / "here", tmp_path / "there"
    for name in ("labels.csv", "clusters.csv", "decisions.jsonl"):
        assert (here / name).read_bytes() == (there / name).read_bytes()
    assert RunStore(here).ids() == RunStore(there).ids()


def test_the_command_explore_works_on_a_cluster(dask_cluster, tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    np.savetxt(table, X[:40, :3], delimiter=",", header="a,b,c", comments="", fmt="%.6f")
    sent = []
    monkeypatch.setattr(
        "subscape.parallel.local.from_cluster",
        lambda client, function, calls: (
            sent.append(len(calls)) or from_cluster(client, function, calls)
        ),
    )
    result = CliRunner().invoke(
        cli,
        ["explore", str(table), "-o", str(tmp_path / "study"), "--effort", "quick",
         "--jobs", "2", "--cluster", dask_cluster.scheduler_address],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert sum(sent) >= 10
    assert (tmp_path / "study" / "report.html").exists()
    assert active_client() is None


def test_explore_says_that_there_is_no_cluster(tmp_path):
    began = time.monotonic()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = CliRunner().invoke(cli, ["explore", "table.csv", "--cluster", address])
    assert result.exit_code == 2
    assert f"the cluster at '{address}' can't be reached" in result.output
    assert time.monotonic() - began < 10


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(place, "PATIENCE", 0.5)
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=":0") as empty:
        refused = pytest.raises(SubscapeError, match="has no workers")
        with refused, connected(empty.scheduler_address):
            raise AssertionError("there is nobody to work")
        with (
            Client(empty) as client,
            joblib.parallel_config(backend="dask", client=client),
            pytest.raises(LostWorkerError, match="no worker of the cluster"),
        ):
            list(finished(where, [(0, X), (1, X)]))


@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.5:8786", "10.0.0.5:8786", "ws://cluster.example:1", "tcp://[fd00::1]:1"],
)
def test_an_open_line_to_a_scheduler_is_warned_of(address):
    with pytest.warns(UserWarning, match="a scheduler is trusted with code"):
        _warn_of_strangers(address)


@pytest.mark.parametrize(
    "address",
    [
        "tls://10.0.0.5:8786",
        "tcp://127.0.0.1:8786",
        "localhost:8786",
        "tcp://[::1]:1",
        "inproc://x/1",
    ],
)
def test_no_warning_of_ones_own_machine_or_a_closed_line(address):
    _warn_of_strangers(address)


@pytest.mark.parametrize(
    "address", ["inproc://10.0.0.5/1/1", "tcp://", "tcp://127.0.0.1", "ws://x:1"]
)
def test_only_doors_that_can_be_knocked_at_are(address):
    _knock(address, 0.1)


def test_nobody_behind_a_door_is_found_out_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        _knock(f"127.0.0.1:{port}", 5)
