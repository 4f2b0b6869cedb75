"""One table that is read in blocks: memory, seconds per pass, and growth with the rows.

    python benchmarks/scale.py            10⁵ and 10⁶ rows x 50 features, float32
    python benchmarks/scale.py --full     … and 10⁷ rows (2 GB in the folder for temp files)
    python benchmarks/scale.py --quick    10⁴ and 10⁵ rows

Every job runs in a process of its own, on one thread, from a file that was just written and so lies
in the page cache. A thread of it reads RssAnon, the memory that is not backed by the file, every 5
ms. A pass is one iteration over all blocks; beside every job, in the same process, the file is read
and multiplied once before and once after: X·B, with a (p, k) matrix, and Xᵀ·X, both in float64.
Seconds are those of the processor in the one thread that works: nothing waits for a disk, and other
work on the machine doesn't count.
Writes benchmarks/results/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from itertools import product
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from subscape.arrays.blocks import Blocks, as_blocks, fold
from subscape.finders import LAC, ORCLUS, PROCLUS, KFlats, NrKMeans, SubKMeans
from subscape.measures import DensityProfile, description_length, sre

RESULTS = Path(__file__).parent / "results"
FEATURES, CLUSTERS, FLAT_DIM = 50, 5, 2
VIEWS, VIEW_DIMS = (5, 4, 3), 4
ROWS_AT_ONCE = 100_000


def write_table(folder, n_rows):
    """Five clusters about planes, each tight in ten features; rows in random order."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (CLUSTERS, FEATURES))
    planes = rng.normal(0, 3, (CLUSTERS, FLAT_DIM, FEATURES))
    spread = np.ones((CLUSTERS, FEATURES))
    for k in range(CLUSTERS):
        tight = rng.choice(FEATURES, 10, replace=False)
        planes[k][:, tight] = 0
        spread[k, tight] = 0.1
    X = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, FEATURES)
    )
    labels = np.empty(n_rows, np.int64)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n_rows))
        number = rows.stop - rows.start
        group = labels[rows] = rng.integers(CLUSTERS, size=number)
        along = rng.normal(size=(number, FLAT_DIM))
        noise = rng.normal(size=(number, FEATURES)) * spread[group]
        X[rows] = centres[group] + np.einsum("nd,ndp->np", along, planes[group]) + noise
    X.flush()
    np.save(folder / "labels.npy", labels)


def write_views(folder, n_rows):
    """Three groupings of the rows, in four directions each; all directions turned."""
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    centres = [rng.normal(0, 4, (size, VIEW_DIMS)) for size in VIEWS]
    X = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, FEATURES)
    )
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n_rows))
        block = rng.normal(size=(rows.stop - rows.start, FEATURES))
        for j, centre in enumerate(centres):
            inside = slice(j * VIEW_DIMS, (j + 1) * VIEW_DIMS)
            block[:, inside] += centre[rng.integers(len(centre), size=len(block))]
        X[rows] = block @ turn
    X.flush()


def quiet(finder, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return finder.fit(X)


JOBS = {
    "LAC": lambda X, labels: quiet(LAC(CLUSTERS, random_state=0), X),
    "KFlats": lambda X, labels: quiet(
        KFlats(CLUSTERS, flat_dim=FLAT_DIM, n_init=5, random_state=0), X
    ),
    "SubKMeans": lambda X, labels: quiet(SubKMeans(CLUSTERS, random_state=0), X),
    "ORCLUS": lambda X, labels: quiet(
        ORCLUS(CLUSTERS, subspace_dim=FEATURES - FLAT_DIM, n_init=3, random_state=0), X
    ),
    "PROCLUS": lambda X, labels: quiet(PROCLUS(CLUSTERS, avg_dims=10, random_state=0), X),
    "sre": lambda X, labels: sre(X, labels, flat_dims=FLAT_DIM),
    "description_length": lambda X, labels: description_length(X, labels, flat_dims=FLAT_DIM),
    "DensityProfile.of (ADCO)": lambda X, labels: DensityProfile.of(X, labels),
    "NrKMeans": lambda X, labels: quiet(NrKMeans((*VIEWS, 1), random_state=0), X),
}
OF_VIEWS = ("NrKMeans",)


def anonymous_mb():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


class Peak:
    """Largest RssAnon while inside."""

    def __enter__(self):
        self.mb, self._ended = anonymous_mb(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._ended.wait(0.005):
            self.mb = max(self.mb, anonymous_mb())

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()


def timed_passes(n_rows, seconds):
    """Note how long every iteration over all rows takes, with what is done to the blocks."""
    plain = Blocks.__iter__

    def iterate(self):
        start, seen = time.thread_time(), 0
        try:
            for rows, block in plain(self):
                seen = rows.stop
                yield rows, block
        finally:
            if seen == n_rows:
                seconds.append(time.thread_time() - start)

    Blocks.__iter__ = iterate


def products(X):
    """Seconds for reading the table and multiplying it."""
    thin = np.random.default_rng(0).normal(size=(FEATURES, CLUSTERS))
    found = []
    for job in (lambda block, rows: (block @ thin).sum(), lambda block, rows: block.T @ block):
        start = time.thread_time()
        fold(job, X)
        found.append(time.thread_time() - start)
    return np.array(found)


def run_job(name, folder):
    X = np.load(folder / "X.npy", mmap_mode="r")
    labels = None if name in OF_VIEWS else np.load(folder / "labels.npy")
    products(as_blocks(X[:ROWS_AT_ONCE]))
    before = products(X)
    passes = []
    timed_passes(len(X), passes)
    with Peak() as peak:
        start = time.thread_time()
        JOBS[name](X, labels)
        seconds = time.thread_time() - start
    n_passes, per_pass, slowest = len(passes), float(np.mean(passes)), max(passes)
    thin, square = (before + products(X)) / 2
    report = {
        "mb": peak.mb,
        "seconds": seconds,
        "passes": n_passes,
        "per_pass": per_pass,
        "slowest": slowest,
        "thin": thin,
        "square": square,
    }
    print(json.dumps(report))


def measured(name, folder):
    done = subprocess.run(
        [sys.executable, __file__, "--job", name, str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def report(sizes, jobs):
    lines = [
        "# One big table\n\n",
        f"{FEATURES} features, float32, a memory-mapped file, {CLUSTERS} clusters (NrKMeans: views "
        f"of {', '.join(map(str, VIEWS))} clusters in a table of its own); one thread; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores "
        "(shared with other work). Seconds are processor time; the file lies in the page cache."
        "\n\n",
        "Ratios: seconds per pass over those for reading the file and multiplying it, X·B with a "
        f"({FEATURES}, {CLUSTERS}) matrix and Xᵀ·X. The rest of a fit is the search on 5,000 "
        "sampled rows (NrKMeans: 2,000).\n\n",
        row(["job", "rows", "peak RssAnon (MB)", "seconds", "passes", "s per pass",
             "X·B (s)", "Xᵀ·X (s)", "ratio to X·B", "ratio to Xᵀ·X", "slowest pass to Xᵀ·X",
             "growth per row"]),
        row(["---"] + ["---:"] * 11),
    ]  # fmt: skip
    last = {}
    tables = (
        (write_table, [name for name in jobs if name not in OF_VIEWS]),
        (write_views, [name for name in jobs if name in OF_VIEWS]),
    )
    for n_rows, (write, names) in product(sizes, tables):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            if names:
                write(folder, n_rows)
            for name in names:
                found = measured(name, folder)
                each = found["per_pass"]
                growth = "" if name not in last else f"{each / n_rows / last[name]:.2f}"
                last[name] = each / n_rows
                lines.append(
                    row([
                        name, f"{n_rows:,}", f"{found['mb']:.0f}", f"{found['seconds']:.2f}",
                        str(found["passes"]), f"{each:.3f}", f"{found['thin']:.3f}",
                        f"{found['square']:.3f}", f"{each / found['thin']:.2f}",
                        f"{each / found['square']:.2f}",
                        f"{found['slowest'] / found['square']:.2f}", growth,
                    ])
                )  # fmt: skip
                print(lines[-1], end="", flush=True)
    lines.append(
        "\nGrowth per row: seconds per pass and row against those of the line with fewer rows of "
        "the same job; 1 is linear.\n"
    )
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(JOBS))
    parser.add_argument("--job", nargs=2)
    given = parser.parse_args()
    if given.job:
        run_job(given.job[0], Path(given.job[1]))
        return
    sizes = [10**4, 10**5] if given.quick else [10**5, 10**6] + [10**7] * given.full
    text = report(sizes, given.only)
    if not given.quick and given.only == list(JOBS):
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "scale.md").write_text(text)


if __name__ == "__main__":
    main()
