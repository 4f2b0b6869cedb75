"""Two hundred fits of a stability run: in one process, in several, on a cluster, with a death.

    python benchmarks/many_fits.py            2,000 x 30, as many workers as there are cores
    python benchmarks/many_fits.py --quick    300 x 10

A Dask cluster of worker processes on this machine; in the last row one of them is killed when 50
runs are done. Every way must give the same runs, bit by bit. Writes benchmarks/results/many_fits.md
(not with --quick).
"""

from __future__ import annotations

import argparse
import os
import signal
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import joblib
import numpy as np
from ratios import RESULTS, circumstances, record

from subscape.datasets import planted_axes
from subscape.finders import LAC
from subscape.parallel.local import finished
from subscape.runs import Task, run_all
from subscape.validation import subsamples

N_FITS = 200


def nothing(number):
    return number


def tasks(n_rows, n_features):
    X = planted_axes(n_rows, n_features, n_clusters=5, dims=5, random_state=0).X
    samples = subsamples(X.shape, N_FITS, random_state=0)
    return [
        Task(LAC(n_clusters=5, n_init=4), X, rows=sample.rows, seed=seed)
        for seed, sample in enumerate(samples)
    ]


def timed(todo, **options):
    start = time.perf_counter()
    runs = run_all(todo, **options)
    return time.perf_counter() - start, runs


def equal(runs, expected):
    """How many of the runs are the same as in one process, to the last bit."""
    return sum(
        a.ok
        and b.ok
        and a.clustering == b.clustering
        and np.array_equal(a.clustering.subspaces.weights, b.clustering.subspaces.weights)
        for a, b in zip(runs, expected, strict=True)
    )


class KillAt:
    """A progress callback that kills a worker when so many runs are done."""

    def __init__(self, cluster, done):
        self.cluster, self.done, self.killed = cluster, done, False

    def __call__(self, step):
        if step.done >= self.done and not self.killed:
            self.killed = True
            os.kill(next(iter(self.cluster.workers.values())).process.pid, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small table")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    from distributed import Client, LocalCluster

    shape = (300, 10) if options.quick else (2000, 30)
    todo = tasks(*shape)
    about = circumstances()
    lines = [
        "# Many fits",
        "",
        f"{N_FITS} fits of LAC (4 starts) on samples of {shape[0]} x {shape[1]}; "
        f"{about['machine']}; {about['versions']}.",
        "",
        "| where | workers | seconds | runs there | the same bits |",
        "|---|---:|---:|---:|---:|",
    ]

    def show(where, workers, seconds, runs):
        good = sum(run.ok for run in runs)
        same = equal(runs, expected)
        lines.append(f"| {where} | {workers} | {seconds:.1f} | {good} | {same} |")
        print(lines[-1], flush=True)
        return min(good, same)

    seconds, expected = timed(todo, n_jobs=1)
    show("this process", 1, seconds, expected)
    show("processes", options.workers, *timed(todo, n_jobs=options.workers))
    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, host="127.0.0.1",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):  # fmt: skip
        # The workers import everything at their first call.
        list(finished(nothing, [(i,) for i in range(options.workers)]))
        run_all(todo[: options.workers])
        show("cluster", options.workers, *timed(todo))
        client.wait_for_workers(options.workers)
        killer = KillAt(cluster, N_FITS // 4)
        complete = show(
            "cluster, one worker killed", options.workers, *timed(todo, progress=killer)
        )
        start = time.perf_counter()
        list(finished(nothing, [(i,) for i in range(N_FITS)]))
        each = (time.perf_counter() - start) / N_FITS
    lines += ["", f"A call that does nothing takes {1000 * each:.1f} ms on the cluster."]
    print(lines[-1])
    work = {"rows": shape[0], "columns": shape[1], "fits": N_FITS, "workers": options.workers}
    record("many_fits", "killed", complete if killer.killed else 0, quick=options.quick, work=work)
    if not options.quick:
        (RESULTS / "many_fits.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
