"""How fast are we, commit by commit: adds a line to results/track.jsonl.

Every case is timed beside a fixed piece of NumPy work, in processor time, and kept as a ratio:
machines differ and are busy, ratios hardly. The site draws the curves.

An older commit is timed by this script, too: unpack it elsewhere (``git archive``), build its
kernels there, and run ``PYTHONPATH=THERE/src python benchmarks/track.py --commit HASH``. Lines are
kept in the order of the commits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from subscape.datasets import planted_axes, planted_views
from subscape.finders import CLIQUE, LAC, PROCLUS, MineClus, NrKMeans
from subscape.measures import clustering_error, pairwise_distances, sre

KEPT = Path(__file__).with_name("results") / "track.jsonl"


def unit() -> None:
    """The work that everything is compared with: sorting and products of 10⁵ to 10⁶ numbers."""
    rng = np.random.default_rng(0)
    values = rng.random(300_000)
    np.sort(values)
    square = values[:90_000].reshape(300, 300)
    square @ square


def cases() -> dict[str, Callable[[], object]]:
    """Name -> what is timed; the data are made before."""
    X, truth = planted_axes(2000, 20, n_clusters=5, dims=6, random_state=0)
    views, _ = planted_views(1000, 10, n_clusters=(4, 3), random_state=0)
    rng = np.random.default_rng(0)
    a, b = rng.integers(20, size=(2, 200_000))
    results = [LAC(5, n_init=1, random_state=seed).fit(X).clustering_ for seed in range(12)]
    return {
        "clustering error of labels, 200,000 rows": lambda: clustering_error(a, b),
        "66 distances of clusterings": lambda: pairwise_distances(results),
        "SRE, 2,000 × 20": lambda: sre(X, truth.labels()),
        "PROCLUS, 2,000 × 20": lambda: PROCLUS(5, random_state=0).fit(X),
        "LAC, 2,000 × 20": lambda: LAC(5, random_state=0).fit(X),
        "MineClus, 2,000 × 20": lambda: MineClus(random_state=0).fit(X),
        "CLIQUE, 2,000 × 20": lambda: CLIQUE().fit(X),
        "NrKMeans, 1,000 × 10": lambda: NrKMeans((4, 3, 1), random_state=0).fit(views),
    }


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The least processor time of several runs."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Time all cases, and keep the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dry", action="store_true", help="print, but keep nothing")
    parser.add_argument("--commit", default="HEAD", help="whose code is imported")
    asked = parser.parse_args()
    commit, date, place = subprocess.run(
        ["git", "log", "-1", "--format=%h %cs %ct", asked.commit],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    ratios = {}
    for name, work in cases().items():
        work()  # what is loaded at the first call is not timed
        ratios[name] = round(seconds(work, asked.repeats) / seconds(unit, asked.repeats), 3)
        print(f"{name}: {ratios[name]}", flush=True)
    if not asked.dry:
        kept = [json.loads(line) for line in KEPT.read_text().splitlines()]
        kept = [each for each in kept if each["commit"] != commit]
        kept.append({"commit": commit, "date": date, "at": int(place), "ratios": ratios})
        kept.sort(key=lambda each: each["at"])
        KEPT.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in kept))


if __name__ == "__main__":
    main()
