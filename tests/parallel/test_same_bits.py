"""The same seed gives the same bits: by how many jobs, with how many threads of BLAS.

What is promised stands in docs/determinism.md. Every way of computing is a process of its own, as
libraries read the number of their threads when they are loaded.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FITS = """
import hashlib, json, sys, warnings
import numpy as np
from subscape import finders
from subscape.arrays.backend import active
from subscape.datasets import planted_axes, planted_views

warnings.simplefilter("ignore")
n_jobs = int(sys.argv[1])
boxes, _ = planted_axes(240, 8, n_clusters=3, dims=4, noise=0.1, random_state=1)
views, _ = planted_views(240, 8, n_clusters=(3, 2), random_state=2)

def digest(*arrays):
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()

found = {}
for name in sys.argv[2].split(","):
    X = views if name in ("NrKMeans", "SubKMeans", "KFlats", "ORCLUS", "FourC") else boxes
    finder = getattr(finders, name)()
    wanted = {"random_state": 0, "n_jobs": n_jobs, "n_init": 4}
    known = finder.get_params()
    finder.set_params(**{key: value for key, value in wanted.items() if key in known}).fit(X)
    every = getattr(finder, "clusterings_", None) or [finder.clustering_]
    found[name] = {
        "labels": digest(*(c.labels() for c in every)),
        "all": digest(*(a for c in every for a in (c.labels(), c.subspaces.relevance))),
    }
print(json.dumps({"kernels": active(), "found": found}))
"""

STUDY = """
import hashlib, json, sys, tempfile, warnings
from pathlib import Path
from tests.exploration.conftest import small_job
from subscape.datasets import planted_views

X, _ = planted_views(120, 6, n_clusters=(3, 2), random_state=1)
with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    small_job(X, folder=folder, n_jobs=int(sys.argv[1])).run()
    names = ("study.json", "labels.csv", "clusters.csv", "decisions.jsonl", "views/arrays.npz")
    print(json.dumps({n: hashlib.sha256(Path(folder, n).read_bytes()).hexdigest() for n in names}))
"""

#: One of every way to compute: compiled kernels, sums by BLAS, random starts, restarts in threads.
FINDERS = (
    "LAC,PROCLUS,SSPC,P3C,MineClus,CLIQUE,SUBCLU,PreDeCon,HARP,NrKMeans,SubKMeans,KFlats,ORCLUS,"
    "FourC,DensityTree,LatentClasses,Leiden"
)


@functools.cache
def computed(script: str, *arguments: object, threads: int = 1, kernels: str = "auto") -> object:
    """What a process prints that computes with so many threads and these kernels."""
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    place = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
        env=os.environ | numbers | {"PYTHONPATH": place, "SUBSCAPE_KERNELS": kernels},
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("n_jobs", "threads"), [(2, 1), (1, 2), (2, 2)])
def test_fits_have_the_same_bits(n_jobs, threads):
    alone = computed(FITS, 1, FINDERS)
    assert computed(FITS, n_jobs, FINDERS, threads=threads) == alone
    assert len(alone["found"]) == FINDERS.count(",") + 1


def test_numpy_kernels_give_the_same_labels():
    plain = computed(FITS, 1, FINDERS, kernels="numpy")
    assert plain["kernels"] == "numpy"
    labels = {name: found["labels"] for name, found in plain["found"].items()}
    compiled = computed(FITS, 1, FINDERS)["found"]
    assert labels == {name: found["labels"] for name, found in compiled.items()}


def test_studies_have_the_same_bytes():
    assert computed(STUDY, 2, threads=2) == computed(STUDY, 1)


def test_other_seeds_have_other_bits():
    """Or the digests would notice nothing."""
    other = computed(FITS.replace('"random_state": 0', '"random_state": 5'), 1, "PROCLUS")
    assert other["found"]["PROCLUS"] != computed(FITS, 1, FINDERS)["found"]["PROCLUS"]
