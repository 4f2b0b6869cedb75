"""What the package computes, written down: small inputs, and digests of what comes out.

``python tests/golden/record.py`` compares the code with the record and prints every difference;
``--write`` records anew, ``--only GLOB`` takes only the cases whose name matches, and ``--exact``
compares floats bit for bit (otherwise to a relative 1e-9). ``--answer`` reads a JSON list of names
per line, and answers each with a line: the list of differences. With other versions of NumPy, SciPy
and scikit-learn than the record was made with (``MADE_WITH``), all is compared but for what
``BY_VERSION`` names.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fnmatch
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

#: The routines that every x86-64 processor of the last ten years has, instead of the fastest that
#: this one has. Their sums differ in the last bits, and by these a search may end elsewhere.
PINNED = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL "
    "AVX512_ICL AVX512_SPR",
}
if __name__ == "__main__":
    os.environ.update(PINNED)  # read when NumPy is imported
    warnings.simplefilter("ignore", ImportWarning)  # it knows, or has, not all of these

import numpy as np
from scipy import sparse

RECORD = Path(__file__).with_name("record.json")

#: The versions that the record was made with, with which it holds in all places.
MADE_WITH = {"numpy": "2.4", "scipy": "1.17", "scikit-learn": "1.9"}

#: What may be another value of the same type and shape with other versions: cases, places, and why.
BY_VERSION: tuple[tuple[str, str, str], ...] = (
    (
        "views/NrKMeans */other",
        r"(fitted\.components_\[1\]|turned)\.(sum|along)",
        "the space is the same, its basis is turned within it",
    ),
    (
        "alternatives/MAXIMUS/*/other",
        r".*",
        "another plan is taken, and the search goes on from there",
    ),
    (
        "studies/*",
        r"near_misses\[\d+\]\.name",
        "a run is named by all bits of the table that it searched",
    ),
    ("core/written/oriented", r"\.elki\[0\]", "directions are written with all their digits"),
    (
        "ensemble/weighted/agreement",
        r"clusters\[\d+\]|rows\.sum|second_share\.(along|sum)",
        "its steps end where they are small: eight digits are the same",
    ),
    ("measures/nmi_projective/pairs", r"soft", "as of weighted ensembles: eight digits"),
    (
        "measures/projective/all",
        r"weighted (ensemble_ratio|reference_gain)",
        "as of weighted ensembles: seven digits",
    ),
)

#: Where names are looked up, in this order; the only list that a change of paths has to touch.
PLACES = (
    "subscape",
    "subscape.core",
    "subscape.tables",
    "subscape.files",
    "subscape.datasets",
    "subscape.measures",
    "subscape.measures.registry",
    "subscape.finders",
    "subscape.finders.catalogue",
    "subscape.ensemble",
    "subscape.validation",
    "subscape.runs",
    "subscape.exploration",
    "subscape.arrays.blocks",
    "subscape.arrays.row_blocks",
)


def find(name: str) -> Any:
    """A public name of the package, wherever it lives."""
    return getattr(home(name), name)


@functools.cache
def home(name: str) -> Any:
    """The first of the places that has a name."""
    for place in PLACES:
        try:
            module = importlib.import_module(place)
            getattr(module, name)
        except (ImportError, AttributeError):
            continue
        return module
    raise LookupError(f"{name} is in none of {', '.join(PLACES)}")


# -- digests ---------------------------------------------------------------------------------------

#: Attributes that differ from run to run, or that name modules.
LEFT_OUT = {
    "id", "run_ids", "seconds", "provenance", "settings", "is_restored", "given_", "runs", "wholes",
    "progress", "store", "folder", "rule", "warnings", "note", "comparison",
    "unrefined_clustering_",
}  # fmt: skip
#: Arrays of at most so many numbers are written down as they are.
SHORT = 6


def sha(data: bytes) -> str:
    """The first 16 hexadecimal digits of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def digest(value: Any) -> Any:
    """A small value that JSON can hold, and that changes with the given one."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, str):
        return value if len(value) <= 120 else f"text {sha(value.encode())}"
    if isinstance(value, find("SubspaceClustering")):
        return of_clustering(value)
    if isinstance(value, find("Subspaces")):
        return of_subspaces(value)
    if sparse.issparse(value):
        return digest(value.toarray())
    if isinstance(value, np.ndarray):
        return of_array(value)
    if hasattr(value, "to_device"):
        return of_array(digestible(value))
    if isinstance(value, Mapping):
        return {str(key): digest(each) for key, each in value.items() if key not in LEFT_OUT}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {key: digest(getattr(value, key)) for key in value._fields if key not in LEFT_OUT}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {key: digest(getattr(value, key)) for key in names if key not in LEFT_OUT}
    if hasattr(value, "get_params"):
        return of_estimator(value)
    if isinstance(value, list | tuple) and len(value) > SHORT and all_arrays(value):
        shapes = sha(str([each.shape for each in value]).encode())
        return {"shapes": shapes, "all": of_array(np.concatenate([e.ravel() for e in value]))}
    if isinstance(value, list | tuple | find("Ensemble")):
        return of_list([digest(each) for each in value])
    return f"a {type(value).__name__}"


def all_arrays(values: Any) -> bool:
    """Whether all are arrays of numbers."""
    return all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in values)


def digestible(array: Any) -> np.ndarray:
    """An array of whatever library as one of NumPy's."""
    if isinstance(array, np.ndarray):
        return array
    return np.asarray(array.to_device(type(array.device)("CPU_DEVICE")))


def of_list(parts: list[Any]) -> Any:
    """A list as it is, or its hash where it is long and free of floats."""
    text = json.dumps(parts, sort_keys=True)
    if len(text) > 400 and not re.search(r"\d\.\d|\d[eE]-|NaN|Infinity", text):
        return f"list of {len(parts)} {sha(text.encode())}"
    return parts


def of_array(array: np.ndarray) -> Any:
    """Few numbers as they are; else shape, hash, and for floats two sums."""
    if array.dtype == object or array.dtype.kind in "UST":
        return of_list([digest(each) for each in array.ravel().tolist()])
    if array.ndim == 0:
        return digest(array.item())
    if array.size <= SHORT and array.ndim == 1:
        return array.tolist()
    shape = "x".join(map(str, array.shape))
    if array.dtype.kind in "biu":
        return f"{shape} {sha(np.ascontiguousarray(array, dtype=np.int64).tobytes())}"
    if array.dtype.kind == "M":
        return f"{shape} {sha(np.ascontiguousarray(array).view(np.int64).tobytes())}"
    flat = np.abs(np.ascontiguousarray(array, dtype=np.float64).ravel())
    finite = np.where(np.isfinite(flat), flat, 0.0)
    found = {
        "array": f"{shape} {array.dtype}",
        "bits": sha(np.ascontiguousarray(array).tobytes())[:8],
        "sum": math.fsum(finite),
        "along": math.fsum(finite * np.arange(1, len(flat) + 1)),
    }
    holes = int((~np.isfinite(flat)).sum())
    return {**found, "holes": holes} if holes else found


def of_subspaces(subspaces: Any) -> dict[str, Any]:
    """Masks exactly; of other subspaces their dims and how much each feature counts."""
    if subspaces.kind == "axis":
        return {"kind": "axis", "masks": of_array(np.asarray(subspaces.masks, dtype=bool))}
    return {
        "kind": subspaces.kind,
        "dims": of_array(np.asarray(subspaces.dims)),
        "relevance": of_array(np.asarray(subspaces.relevance)),
    }


def of_clustering(clustering: Any) -> dict[str, Any]:
    """Sizes, labels, memberships and subspaces of a clustering."""
    members = clustering.memberships.toarray()
    return {
        "k": clustering.n_clusters,
        "sizes": of_array(np.asarray(clustering.sizes)),
        "labels": sha(np.ascontiguousarray(clustering.labels(), dtype=np.int64).tobytes()),
        "members": of_array(members),
        "subspaces": of_subspaces(clustering.subspaces),
    }


def of_estimator(estimator: Any) -> dict[str, Any]:
    """Everything that was fitted."""
    found = {}
    for name, value in sorted(vars(estimator).items()):
        if name.startswith("_") or not name.endswith("_") or name in LEFT_OUT:
            continue
        if name == "clustering_" and hasattr(estimator, "clusterings_"):
            continue
        found[name] = digest(value)
    known = getattr(estimator, "clustering_", None)
    if (
        known is not None
        and "clustering_" in found
        and np.array_equal(digestible(estimator.labels_), known.labels())
    ):
        found["labels_"] = "as in the clustering"
    return found


# -- tables ----------------------------------------------------------------------------------------


@functools.cache
def planted(name: str) -> tuple[np.ndarray, Any]:
    """A table and what was planted in it: a clustering, a tuple of them, or None."""
    rng = np.random.default_rng(7)
    axes, oriented = find("planted_axes"), find("planted_oriented")
    views, cocluster = find("planted_views"), find("planted_cocluster")
    makers: dict[str, Callable[[], Any]] = {
        "boxes": lambda: axes(240, 8, n_clusters=3, dims=3, noise=0.05, random_state=1),
        "overlap": lambda: axes(
            200, 10, n_clusters=4, dims=4, overlap=0.2, background="normal", random_state=2
        ),
        "wide": lambda: axes(90, 20, n_clusters=3, dims=6, random_state=3),
        "flats": lambda: oriented(4, ((1, 80), (2, 110), (1, 60)), noise=0.05, random_state=4),
        "planes": lambda: oriented(3, ((1, 90), (2, 120)), noise=0.0, random_state=5),
        "views": lambda: views(240, 8, n_clusters=(3, 2), random_state=6),
        "columns": lambda: views(180, 6, n_clusters=(3, 2), rotate=False, random_state=7),
        "blocks": lambda: cocluster((70, 18), 3, 3, random_state=8),
        "counts": lambda: cocluster((60, 20), 3, 4, counts=True, random_state=9),
        "uniform": lambda: (find("structureless")("uniform", 150, 6, random_state=10), None),
        "skewed": lambda: (find("structureless")("lognormal", 120, 5, random_state=11), None),
        "bits": lambda: (
            (rng.random((140, 8)) < rng.random((3, 8))[np.arange(140) % 3]).astype(float),
            None,
        ),
    }
    if name == "float32":
        X, truth = planted("views")
        return X.astype(np.float32), truth
    if name == "holes":
        X, truth = planted("boxes")
        return np.where(rng.random(X.shape) < 0.05, np.nan, X), truth
    X, *known = makers[name]()
    return np.asarray(X), known[0]


def table(name: str) -> np.ndarray:
    """A table by name; a copy, so that no case can change it."""
    return planted(name)[0].copy()


def truth(name: str) -> Any:
    """The clustering planted in a table, the first of several."""
    known = planted(name)[1]
    return known[0] if isinstance(known, tuple) else known


@functools.cache
def kinds() -> dict[str, tuple[Any, Any]]:
    """Pairs of clusterings of every kind."""
    Clustering = find("SubspaceClustering")
    rng = np.random.default_rng(3)
    labels = [rng.integers(-1, 3, 60) for _ in range(2)]
    masks = [rng.random((3, 6)) < 0.5 for _ in range(2)]
    for mask in masks:
        mask[:, 0] = True
    weights = [rng.dirichlet(np.ones(6), 3) for _ in range(2)]
    bases = [[np.linalg.qr(rng.normal(size=(6, d)))[0] for d in (1, 2, 3)] for _ in range(2)]
    soft = [rng.dirichlet(np.ones(3), 60).T.round(3) for _ in range(2)]
    over = [rng.random((4, 60)) < 0.35 for _ in range(2)]
    whole = np.ones((3, 6), bool)
    axis = [Clustering.from_labels(a, masks=m) for a, m in zip(labels, masks, strict=True)]
    weighted = [Clustering.from_labels(a, weights=w) for a, w in zip(labels, weights, strict=True)]
    turned = [Clustering.from_labels(a, bases=b) for a, b in zip(labels, bases, strict=True)]
    many = [rng.random((4, 6)) < 0.6 for _ in range(2)]
    for mask in many:
        mask[:, 1] = True
    return {
        "axis": tuple(axis),
        "weighted": tuple(weighted),
        "oriented": tuple(turned),
        "rows": tuple(Clustering.from_labels(a, masks=whole) for a in labels),
        "soft": tuple(Clustering(s, m) for s, m in zip(soft, masks, strict=True)),
        "overlapping": tuple(Clustering(o, m) for o, m in zip(over, many, strict=True)),
        "cocluster": tuple(
            Clustering.from_coclustering(a % 3, rng.integers(0, 2, 6)) for a in labels
        ),
        "mixed": (axis[0], turned[1]),
        "axis-weighted": (axis[0], weighted[1]),
    }


@functools.cache
def sheet() -> np.ndarray:
    """The table behind :func:`kinds`."""
    rng = np.random.default_rng(4)
    return rng.normal(size=(60, 6)) + 2.0 * np.asarray(kinds()["axis"][0].labels())[:, None]


@functools.cache
def members(kind: str) -> Any:
    """An ensemble."""
    generate = find("generate")
    if kind == "weighted":
        finder = find("LAC")(3, n_init=1, init="random")
        return generate(table("boxes"), finder, 12, random_state=0)
    if kind == "axis":
        finder = find("PROCLUS")(3, avg_dims=3, n_init=1, max_no_improve=3)
        return generate(table("boxes"), finder, 8, random_state=0)
    finder = find("KFlats")(3, n_init=1, n_swaps=1)
    return generate(table("flats"), finder, 8, random_state=0)


ENSEMBLE_TABLES = {"weighted": "boxes", "axis": "boxes", "oriented": "flats"}

# -- cases -----------------------------------------------------------------------------------------

CASES: dict[str, Callable[[], Any]] = {}


def add(name: str, run: Callable[[], Any]) -> None:
    """A case; its name begins with its group, as in ``finders/LAC/...``."""
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = run


def named(group: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The decorated function is a case."""

    def keep(run: Callable[[], Any]) -> Callable[[], Any]:
        add(group, run)
        return run

    return keep


# Finder: tables, usual parameters, and other ones.
AXIS = ("boxes", "overlap", "bits", "uniform")
FLATS = ("flats", "planes", "uniform", "float32", "skewed")
FINDERS: dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]] = {
    "CLIQUE": (AXIS, {}, {"n_bins": 5, "report": "maximal", "prune": True, "max_dims": 3}),
    "DOC": ((*AXIS, "holes"), {}, {"n_clusters": 3, "refine": False, "overlap": True}),
    "DiSH": (AXIS, {}, {"search": "greedy", "overlap": True, "eps": 0.1}),
    "FastDOC": ((*AXIS, "holes"), {}, {"n_clusters": 3, "refine": False, "strict": True}),
    "HARP": (AXIS, {}, {"n_clusters": 3, "cut": "level", "refine": False, "noise": False}),
    "DensityTree": (
        ("columns", "views", "uniform"),
        {},
        {"n_neighbors": 8, "sureness": 0.3, "noise": True},
    ),
    "LatentClasses": (
        ("bits", "boxes", "holes"),
        {"n_init": 4},
        {"n_clusters": 3, "criterion": "bic", "n_init": 2},
    ),
    "Leiden": (
        ("boxes", "wide", "uniform"),
        {},
        {"n_neighbors": 8, "resolution": 2.0, "n_components": 3},
    ),
    "MAFIA": (
        ("boxes", "overlap", "wide", "uniform"),
        {},
        {"refine": False, "report": "maximal", "alpha": 1.5, "max_dims": 4},
    ),
    "MineClus": ((*AXIS, "holes"), {}, {"n_clusters": 3, "refine": False, "merge": True}),
    "P3C": (AXIS, {}, {"overlap": True, "search": "exact", "background": "uniform"}),
    "PROCLUS": (
        ("boxes", "overlap", "wide", "float32", "uniform", "skewed"),
        {"n_clusters": 3},
        {"n_clusters": 3, "avg_dims": 3, "noise": "spheres", "refine": False, "n_init": 2},
    ),
    "PreDeCon": (AXIS, {}, {"neighbourhoods": "all", "delta": 0.1, "kappa": 20.0, "eps": 0.8}),
    "SSPC": (
        ("boxes", "overlap", "wide", "uniform", "skewed"),
        {"n_clusters": 3, "n_init": 3},
        {"n_clusters": 3, "n_init": 2, "chance": 0.05, "max_variance": None, "grid_dims": 2},
    ),
    "SUBCLU": (
        ("boxes", "columns", "uniform"),
        {"max_dims": 4},
        {"metric": "chebyshev", "report": "maximal", "max_dims": 3},
    ),
    "LAC": (
        ("boxes", "views", "float32", "uniform", "skewed"),
        {"n_clusters": 3},
        {"n_clusters": 3, "objective": "lac", "scale": None, "assignment": "soft", "h": 0.3},
    ),
    "CASH": (
        ("flats", "planes", "uniform"),
        {"max_boxes": 500},
        {"refine": False, "adjust": False, "search": "greedy", "max_level": 4, "max_boxes": 300},
    ),
    "COPAC": (FLATS, {}, {"refine": False, "n_neighbors": 15, "explained_variance": 0.85}),
    "ERiC": (FLATS, {}, {"refine": False, "n_neighbors": 15, "delta": 0.2}),
    "FourC": (FLATS, {}, {"refine": False, "max_dim": 1, "absolute": True, "delta": 0.01}),
    "KFlats": (
        FLATS,
        {"n_clusters": 3, "n_init": 6, "n_swaps": 3},
        {"n_clusters": 2, "flat_dim": (1, 2), "noise": 0.05, "n_init": 3, "n_swaps": 0},
    ),
    "LMCLUS": (
        FLATS,
        {"max_samples": 60},
        {"refine": False, "goodness": "sqrt", "stop_at_first": False, "max_samples": 40},
    ),
    "ORCLUS": (
        FLATS,
        {"n_clusters": 3, "n_init": 2},
        {"n_clusters": 3, "n_init": 1, "subspace_dim": 2, "noise": True, "alpha": 0.7},
    ),
    "SubKMeans": (
        ("views", "columns", "float32", "uniform", "skewed"),
        {"n_clusters": 3},
        {"n_clusters": 4, "n_init": 2, "max_iter": 5},
    ),
    "EWKM": (("boxes",), {"n_clusters": 3}, {"n_clusters": 3, "gamma": 9.0, "scale": None}),
    "SparseKMeans": (("boxes",), {"n_init": 2}, {"bound": 1.5, "scale": None, "n_init": 2}),
    "HDDC": (("flats",), {"n_init": 3}, {"n_clusters": [2, 3], "model": "ABQkD", "n_init": 2}),
    "MFA": (("flats",), {"n_init": 2}, {"flat_dim": 1, "assignment": "soft", "n_init": 1}),
    "MPPCA": (("flats",), {"n_init": 3}, {"flat_dim": 1, "n_clusters": 2, "n_init": 2}),
    "EnSC": (("flats",), {"affine": True}, {"affine": True, "refine": False, "l1_ratio": 1.0}),
    "LSR": (("flats",), {"affine": True}, {"affine": True, "refine": False, "noise": 0.1}),
    "SSC": (("flats",), {"affine": True}, {"affine": True, "flat_dim": 1, "n_nonzero": 3}),
    "TSC": (("flats",), {"affine": True}, {"affine": True, "refine": False, "n_neighbors": 5}),
    "ChengChurch": (
        ("blocks", "holes", "counts"),
        {"n_clusters": 3},
        {"n_clusters": 4, "inverted_rows": True, "alpha": 1.5, "min_multi": 20},
    ),
    "ITCC": (
        ("counts", "bits"),
        {"n_init": 4},
        {"n_init": 2, "n_row_clusters": 4, "n_column_clusters": 2, "local_search": False},
    ),
}
#: Those with a rule for new rows.
PREDICTS = (
    "DOC", "FastDOC", "HARP", "MineClus", "PROCLUS", "SSPC", "LAC", "KFlats", "SubKMeans",
)  # fmt: skip


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """An estimator with a seed, where it takes one."""
    kind = find(name)
    seeded = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**{**seeded, **parameters})


def fitted(name: str, where: str, parameters: Mapping[str, Any]) -> Any:
    """A finder fitted to a table."""
    return build(name, parameters).fit(table(where))


def new_rows(name: str, where: str, parameters: Mapping[str, Any]) -> Any:
    """What becomes of rows that the finder has not seen."""
    X = table(where)
    finder = build(name, parameters).fit(X[:-40])
    found = {"seen": finder.predict(X[:-40]), "new": finder.predict(X[-40:])}
    if hasattr(finder, "transform"):
        found["turned"] = finder.transform(X[-40:])
    return found


for _name, (_tables, _usual, _other) in FINDERS.items():
    for _where in _tables:
        add(f"finders/{_name}/{_where}/usual", functools.partial(fitted, _name, _where, _usual))
        add(f"finders/{_name}/{_where}/other", functools.partial(fitted, _name, _where, _other))
    if _name in PREDICTS:
        for _where in _tables[:2]:
            add(f"predict/{_name}/{_where}", functools.partial(new_rows, _name, _where, _usual))

for _name, _how, _parameters in (
    ("MFA", "batches", {"search_rows": 60, "batch_rows": 40, "n_init": 2}),
    ("HDDC", "batches", {"search_rows": 60, "batch_rows": 40, "n_init": 2}),
    ("SSC", "wrong cells", {"affine": True, "wrong_cells": 1, "n_nonzero": 3}),
):
    add(f"finders/{_name}/flats/{_how}", functools.partial(fitted, _name, "flats", _parameters))

add(
    "finders/SSPC/boxes/labelled",
    lambda: fitted(
        "SSPC",
        "boxes",
        {
            "n_clusters": 3,
            "n_init": 2,
            "labelled_rows": {0: truth("boxes").cluster(0).rows[:4].tolist()},
            "labelled_dims": {1: truth("boxes").cluster(1).features[:2].tolist()},
            "pin_labels": True,
        },
    ),
)
for _way in ("nonredundant", "maximal", "all"):
    add(
        f"finders/SUBCLU/columns/{_way}",
        lambda way=_way: fitted("SUBCLU", "columns", {"report": way, "max_dims": 3}),
    )
for _init in ("kmeans++", "random"):
    add(
        f"finders/LAC/boxes/{_init}",
        lambda init=_init: fitted("LAC", "boxes", {"n_clusters": 4, "init": init, "n_init": 2}),
    )

ALTERNATIVES: dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]] = {
    "MAXIMUS": (
        ("views", "columns"),
        {"n_init": 3},
        {"n_clusters": 3, "n_alternatives": 2, "realise": "regions", "binning": "quantile",
         "init": "random", "integer": "milp", "n_init": 2},
    ),
    "ResidualKMeans": (
        ("views", "columns"), {"n_init": 3}, {"n_clusters": 3, "n_alternatives": 2, "n_init": 2},
    ),
    "COALA": (
        ("views", "columns", "bits"), {}, {"n_clusters": 3, "omega": 0.8, "n_alternatives": 2},
    ),
    "CIB": (
        ("views", "columns", "bits"),
        {"n_init": 3},
        {"n_clusters": 3, "features": "bins", "n_bins": 4, "coordination": 0.5, "n_init": 2},
    ),
    "CondEns": (
        ("views", "columns"),
        {"n_init": 5},
        {"n_clusters": 3, "n_repeats": 2, "extension": "plain", "consensus": "ib", "n_init": 3},
    ),
    "MetaClustering": (
        ("views", "columns"),
        {"n_base": 40, "n_meta": 8},
        {"n_clusters": (2, 4), "n_base": 30, "n_meta": 5, "n_alternatives": 2,
         "pca_variance": 0.9, "distance": "ari"},
    ),
}  # fmt: skip


def alternative(name: str, where: str, parameters: Mapping[str, Any], known: bool) -> Any:
    """An alternative to the planted clustering, or to the finder's own reference."""
    given = truth(where) if known else None
    if given is None and known:
        given = np.arange(len(table(where))) % 3
    return build(name, parameters).fit(table(where), given=given)


for _name, (_tables, _usual, _other) in ALTERNATIVES.items():
    for _where in _tables:
        for _how, _parameters, _known in (
            ("usual", _usual, True), ("other", _other, True), ("unknown", _usual, False),
        ):  # fmt: skip
            add(
                f"alternatives/{_name}/{_where}/{_how}",
                functools.partial(alternative, _name, _where, _parameters, _known),
            )

VIEW_FINDERS: dict[str, dict[str, dict[str, Any]]] = {
    "NrKMeans": {
        "usual": {"n_clusters": (3, 2, 1), "n_init": 4, "n_escapes": 1},
        "one": {"n_clusters": 3, "n_init": 2, "n_escapes": 0},
        "other": {"n_clusters": (3, 2), "n_init": 2, "noise_space": "rank", "noise": True},
    },
    "AutoNR": {
        "usual": {"n_init": 2, "n_escapes": 0},
        "other": {"max_views": 2, "max_clusters": 5, "n_init": 2, "noise": True},
    },
}


def views_of(name: str, where: str, parameters: Mapping[str, Any], known: bool) -> Any:
    """Views of a table, and where new rows go."""
    X = table(where)
    given = truth(where) if known else None
    finder = build(name, parameters).fit(X, given=given)
    return {
        "fitted": of_estimator(finder),
        "predicted": finder.predict(X[::3] + 0.1, view="all"),
        "turned": finder.transform(X[::3]),
    }


for _name, _settings in VIEW_FINDERS.items():
    for _where in ("views", "columns", "float32", "uniform"):
        for _how, _parameters in _settings.items():
            add(
                f"views/{_name} {_where}/{_how}",
                functools.partial(views_of, _name, _where, _parameters, False),
            )
    add(
        f"views/{_name} views/known",
        functools.partial(views_of, _name, "views", _settings["usual"], True),
    )

# -- big tables and tensors ------------------------------------------------------------------------

BRIEF = {"search_rows": 200, "n_init": 2, "random_state": 0}
BIG: dict[str, tuple[str, dict[str, Any]]] = {
    "LAC": ("boxes", {"n_clusters": 3, **BRIEF}),
    "KFlats": ("flats", {"n_clusters": 3, "n_swaps": 1, **BRIEF}),
    "SubKMeans": ("views", {"n_clusters": 3, **BRIEF}),
    "ORCLUS": ("flats", {"n_clusters": 3, "subspace_dim": 2, **BRIEF, "n_init": 1}),
    "PROCLUS": ("boxes", {"n_clusters": 3, **BRIEF}),
    "NrKMeans": ("views", {"n_clusters": (3, 2, 1), "n_escapes": 0, **BRIEF}),
}


@functools.cache
def big(name: str) -> np.ndarray:
    """A table with more rows than are searched."""
    if name == "boxes":
        X, _ = find("planted_axes")(900, 6, n_clusters=3, dims=3, noise=0.05, random_state=2)
    elif name == "flats":
        X, _ = find("planted_oriented")(4, ((2, 400), (1, 300), (2, 200)), random_state=1)
    else:
        X, _ = find("planted_views")(900, 6, n_clusters=(3, 2), random_state=0)
    return np.asarray(X) + 5.0


def streamed(name: str, source: str) -> Any:
    """A finder over a table that is read in small blocks."""
    where, parameters = BIG[name]
    X = big(where)
    module = home("CELLS")
    cells = module.CELLS
    module.CELLS = 700
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "X.npy"
            np.save(path, X)
            given: Any = np.load(path, mmap_mode="r")
            if source == "chunks":
                import dask.array as da

                given = da.from_array(X, chunks=(123, 3))
            finder = find(name)(**parameters).fit(given)
            found = of_estimator(finder)
            if hasattr(finder, "predict"):
                found["predicted"] = digest(finder.predict(given))
            del given
            return found
    finally:
        module.CELLS = cells


def on_device(name: str, dtype: str) -> Any:
    """A finder over an array of another library, on another device."""
    import array_api_strict as xp

    where, parameters = BIG[name]
    X = xp.asarray(big(where).astype(dtype), device=xp.Device("device1"))
    finder = find(name)(**parameters).fit(X)
    found = of_estimator(finder)
    if hasattr(finder, "predict"):
        found["predicted"] = digest(finder.predict(X))
    return found


for _name in BIG:
    for _source in ("memmap", "chunks"):
        add(f"streamed/{_name}/{_source}", functools.partial(streamed, _name, _source))
    for _dtype in ("float64", "float32"):
        add(f"device/{_name}/{_dtype}", functools.partial(on_device, _name, _dtype))

# -- ensembles -------------------------------------------------------------------------------------

CONSENSUS: dict[str, dict[str, dict[str, Any]]] = {
    **{
        name: {"usual": {}, "metis": {"n_clusters": 4, "partitioner": "metis", "noise": "abstain"}}
        for name in ("CSPA", "HGPA", "MCLA", "HBGF", "WSPA", "WBPA")
    },
    "EvidenceAccumulation": {
        "usual": {}, "other": {"n_clusters": 4, "linkage": "single", "noise": "abstain"},
    },
    "ClusterBasedPCE": {
        "usual": {},
        "paper": {"refine": False, "feature_rule": "paper", "vote": "count", "assignment": "soft"},
        **{
            way: {"metaclustering": way, "distance": "fast", "n_clusters": 3}
            for way in ("kmedoids", "spectral", "average", "complete", "weighted")
        },
    },
    "EMPCE": {
        "usual": {"n_init": 4},
        "other": {"n_clusters": 4, "alpha": 2.0, "assignment": "soft", "n_init": 2},
    },
    "MOEAPCE": {
        "usual": {"max_iter": 20},
        "other": {"n_clusters": 3, "couple": False, "assignment": "soft", "max_iter": 10,
                  "population": 10},
    },
}  # fmt: skip


def combined(name: str, kind: str, parameters: Mapping[str, Any]) -> Any:
    """The consensus of an ensemble, given the table too."""
    return build(name, parameters).fit(members(kind), table(ENSEMBLE_TABLES[kind]))


for _name, _settings in CONSENSUS.items():
    for _kind in ENSEMBLE_TABLES:
        for _how, _parameters in _settings.items():
            add(
                f"consensus/{_name}/{_kind}/{_how}",
                functools.partial(combined, _name, _kind, _parameters),
            )
for _kind in ENSEMBLE_TABLES:
    add(f"ensemble/{_kind}/members", lambda kind=_kind: list(members(kind)))
    add(
        f"ensemble/{_kind}/rows",
        lambda kind=_kind: find("consensus_rows")(members(kind), random_state=0),
    )
    add(
        f"ensemble/{_kind}/rows, 3",
        lambda kind=_kind: find("consensus_rows")(
            members(kind), 3, noise="abstain", random_state=0
        ),
    )
    add(
        f"ensemble/{_kind}/agreement",
        lambda kind=_kind: find("agreement")(members(kind)[0], members(kind)),
    )


def representations(kind: str) -> Any:
    """Ensembles of LAC with and without other representations, with varied parameters."""
    finder = find("LAC")(3, n_init=1, init="random")
    options = {
        "plain": {"representations": None},
        "equal": {"representations": ["hard-equal", "soft-equal"]},
        "varied": {"vary": {"n_clusters": (2, 5), "h": [0.2, 0.5]}},
    }[kind]
    return list(find("generate")(table("boxes"), finder, 4, random_state=1, **options))


for _kind in ("plain", "equal", "varied"):
    add(f"ensemble/generate/{_kind}", functools.partial(representations, _kind))

# -- measures --------------------------------------------------------------------------------------

PAIRED = (
    "adjusted_mutual_info_score", "adjusted_rand_score", "cell_pair_counts", "cell_scores",
    "clustering_error", "completeness_score", "confusion_table", "e4sc_score",
    "four_class_rand_distance", "fowlkes_mallows_score", "homogeneity_completeness_v_measure",
    "homogeneity_score", "hubert_gamma_score", "intersection_table", "label_error",
    "label_jaccard_score", "label_rand_distance", "label_rand_score", "label_vi",
    "match_clusters", "mirkin_distance", "mutual_info_score", "nmi_projective",
    "normalized_mutual_info_score", "object_accuracy_score", "object_coverage_score",
    "object_entropy_score", "object_f1_score", "overlap_of", "pair_counts", "partition_report",
    "rand_distance", "rnia", "v_measure_score", "variation_of_information", "vi_with_area",
    "wallace_scores",
)  # fmt: skip
WITH_TABLE = (
    "c_index", "calinski_harabasz_score", "davies_bouldin_index", "dunn_index", "generalized_dunn",
    "goodman_kruskal_gamma", "modified_hubert_gamma", "silhouette_samples", "silhouette_score",
)  # fmt: skip
PLAIN = ("compactness_report", "description_length", "feature_losses", "lac_weights",
         "loss_by_dim", "sre")  # fmt: skip


def attempt(run: Callable[[], Any]) -> Any:
    """The digest of what comes out, or the name of the error and its message."""
    try:
        return digest(run())
    except Exception as fault:
        return f"{type(fault).__name__}: {str(fault)[:16]}"


def compared(name: str, **options: Any) -> Any:
    """A measure of two clusterings, over pairs of every kind."""
    function = find(name)
    return {kind: attempt(lambda a=a, b=b: function(a, b, **options)) for kind, (a, b) in
            kinds().items()}  # fmt: skip


def scored(name: str, **options: Any) -> Any:
    """A score of a clustering of a table, over every kind."""
    function = find(name)
    return {kind: attempt(lambda a=a: function(sheet(), a, **options)) for kind, (a, _) in
            kinds().items()}  # fmt: skip


for _name in PAIRED:
    add(f"measures/{_name}/pairs", functools.partial(compared, _name))
for _name in ("clustering_error", "rnia", "variation_of_information", "cell_scores", "overlap_of"):
    add(f"measures/{_name}/trace", functools.partial(compared, _name, overlap="trace"))
    add(f"measures/{_name}/unit", functools.partial(compared, _name, mass="unit"))
    add(
        f"measures/{_name}/weighed",
        functools.partial(
            compared,
            _name,
            row_weights=np.arange(60) + 1.0,
            column_weights=np.arange(6) + 1.0,
        ),
    )
for _name in ("label_error", "label_rand_distance", "label_vi", "adjusted_rand_score",
              "adjusted_mutual_info_score", "partition_report"):  # fmt: skip
    for _noise in ("cluster", "drop"):
        add(f"measures/{_name}/noise {_noise}", functools.partial(compared, _name, noise=_noise))
for _average in ("min", "geometric", "max"):
    for _name in ("adjusted_mutual_info_score", "normalized_mutual_info_score"):
        add(
            f"measures/{_name}/{_average}",
            functools.partial(compared, _name, average_method=_average),
        )
for _on in ("objects", "features"):
    add(f"measures/nmi_projective/{_on}", functools.partial(compared, "nmi_projective", on=_on))
add("measures/vi_with_area/penalty", lambda: compared("vi_with_area", penalty=0.3))
add("measures/four_class_rand_distance/background", lambda: compared(
    "four_class_rand_distance", background=True))  # fmt: skip
for _name in WITH_TABLE:
    for _space in ("full", "subspace"):
        add(f"scores/{_name}/{_space}", functools.partial(scored, _name, space=_space))
for _name in PLAIN:
    add(f"scores/{_name}/plain", functools.partial(scored, _name))
for _one in ("single", "complete", "average", "centroid", "to_centroid", "hausdorff"):
    for _two in ("complete", "average", "centroid"):
        add(
            f"scores/generalized_dunn/{_one} {_two}",
            lambda one=_one, two=_two: {
                f"{kind} {space}": attempt(
                    lambda kind=kind, space=space: find("generalized_dunn")(
                        sheet(), kinds()[kind][0], separation=one, diameter=two, space=space
                    )
                )
                for kind in ("axis", "oriented")
                for space in ("full", "subspace")
            },
        )
add("scores/generalized_dunn/cityblock", lambda: scored("generalized_dunn", metric="cityblock"))
add("scores/modified_hubert_gamma/raw", lambda: scored("modified_hubert_gamma", normalized=False))
add("scores/davies_bouldin_index/r", lambda: scored("davies_bouldin_index", r=2, norm=1))
for _options in (
    {"alpha": 0.1, "beta": 0.9}, {"flat_dims": 1}, {"summary": "mean"}, {"units": "variance"},
    {"noise": "ignore"},
):  # fmt: skip
    add(
        f"scores/sre/{' '.join(f'{k} {v}' for k, v in _options.items())}",
        functools.partial(scored, "sre", **_options),
    )
add("scores/description_length/flat", lambda: scored("description_length", flat_dims=1))
add("scores/description_length/precise", lambda: scored("description_length", precision=0.01))
add("scores/lac_weights/raw", lambda: scored("lac_weights", h=0.5, scale=None))


@named("scores/encode/decoded")
def _encoded() -> Any:
    """Tables written as flats, and back."""
    found = {}
    for kind, (a, _) in kinds().items():
        found[kind] = attempt(lambda a=a: find("encode")(sheet(), a))
        found[f"{kind}, decoded"] = attempt(lambda a=a: find("decode")(find("encode")(sheet(), a)))
    return found


@named("scores/dq_measure/all")
def _dq() -> Any:
    """Dissimilarity and quality together."""
    pairs = kinds().items()
    return {
        kind: attempt(lambda a=a, b=b: find("dq_measure")(sheet(), a, b)) for kind, (a, b) in pairs
    }


for _name in ("clustering_error", "label_rand_distance", "label_vi", "adjusted_rand_score"):
    for _null in ("random labels", "random subspaces", "both"):
        for _way in ("corrected", "expected", "p_value"):
            add(
                f"chance/{_way}/{_name}, {_null}",
                lambda way=_way, name=_name, null=_null: {
                    kind: attempt(
                        lambda kind=kind: find(way)(
                            name, *kinds()[kind], null=null, n_samples=20, random_state=0
                        )
                    )
                    for kind in ("axis", "weighted", "oriented", "rows")
                },
            )


@functools.cache
def profiles(binning: str) -> list[Any]:
    """Density profiles of several clusterings over the same bins."""
    pairs = kinds()
    bins = find("Bins").of(
        sheet(), 5, binning=binning, labels=pairs["rows"][0].labels() if binning == "mdl" else None
    )
    chosen = [pairs["axis"][0], pairs["axis"][1], pairs["overlapping"][0], pairs["soft"][0]]
    return [find("DensityProfile").of(sheet(), each, bins) for each in chosen]


def described(profile: Any) -> Any:
    """A profile and what it is made of."""
    return {
        "counts": profile.counts,
        "vector": profile.vector,
        "sizes": profile.sizes,
        "edges": list(profile.bins.edges),
        "labels": list(profile.bins.labels),
        "square": profile.square,
    }


def adco(binning: str) -> Any:
    """Profiles and their similarities in every way."""
    a, b, *others = profiles(binning)
    found: dict[str, Any] = {"profile": attempt(lambda: described(a))}
    for n, other in enumerate((b, *others)):
        for variant in ("containment", "cosine"):
            for sizes in ("as_is", "scaled", "sampled"):
                for matching in ("pairs", "merged"):
                    found[f"{n} {variant} {sizes} {matching}"] = attempt(
                        lambda o=other, v=variant, s=sizes, m=matching: find("adco_similarity")(
                            a, o, variant=v, sizes=s, matching=m, random_state=0
                        )
                    )
        for kernel in ("polynomial", "rbf"):
            found[f"{n} {kernel}"] = attempt(
                lambda o=other, k=kernel: find("adco_similarity")(a, o, kernel=k)
            )
        found[f"{n} distance"] = attempt(lambda o=other: find("adco_distance")(a, o))
        found[f"{n} match"] = attempt(lambda o=other: find("match_profiles")(a, o))
    found["matrix"] = attempt(lambda: find("adco_matrix")(profiles(binning)))
    return found


for _binning in ("uniform", "quantile", "mdl"):
    add(f"adco/{_binning}/all", functools.partial(adco, _binning))


@named("adco/pair_profile/all")
def _pair_profiles() -> Any:
    """Profiles over pairs of attributes, missing values, nominal columns."""
    a = kinds()["axis"][0]
    holes = sheet().copy()
    holes[::7, 2] = np.nan
    round_ = np.round(sheet())
    return {
        "pairs": attempt(lambda: described(find("pair_profile")(sheet(), a, 3))),
        "holes": attempt(lambda: described(find("DensityProfile").of(holes, a, 4, missing="bin"))),
        "nominal": attempt(lambda: described(find("DensityProfile").of(round_, a, nominal=[0, 1]))),
        "common": attempt(
            lambda: list(find("Bins").common([sheet(), sheet() * 2.0], 4, binning="quantile").edges)
        ),
    }


def tree(seed: int, method: str) -> np.ndarray:
    """A dendrogram."""
    from scipy.cluster.hierarchy import linkage

    return linkage(np.random.default_rng(seed).normal(size=(30, 3)), method)


@named("measures/dendrograms/all")
def _dendrograms() -> Any:
    """Dendrogram measures."""
    a, b = tree(0, "average"), tree(1, "complete")
    distance, cophenetic = find("dendrogram_distance"), find("cophenetic_similarity")
    return {
        "error": attempt(lambda: distance(a, b)),
        "rnia": attempt(lambda: distance(a, b, measure="rnia")),
        "cophenetic": attempt(lambda: cophenetic(a, b)),
        "clustering": attempt(lambda: find("SubspaceClustering").from_linkage(a, n_features=3)),
    }


@named("measures/pairwise/all")
def _pairwise() -> Any:
    """Tables of distances, and medians."""
    found = {}
    for kind in ENSEMBLE_TABLES:
        several = list(members(kind))
        for metric in ("clustering_error", "rnia", "label_vi", "label_rand_distance"):
            found[f"{kind} {metric}"] = attempt(
                lambda s=several, m=metric: find("pairwise_distances")(s, m)
            )
            found[f"{kind} {metric}, unit"] = attempt(
                lambda s=several, m=metric: find("pairwise_distances")(s, m, mass="unit")
            )
            found[f"{kind} {metric}, medoid"] = attempt(
                lambda s=several, m=metric: find("medoid_index")(s, m)
            )
    return found


@named("measures/projective/all")
def _projective() -> Any:
    """How well a clustering stands for an ensemble."""
    found = {}
    for kind in ENSEMBLE_TABLES:
        several = list(members(kind))
        for name in ("psi_objects", "psi_features", "psi_projective", "ensemble_ratio"):
            found[f"{kind} {name}"] = attempt(lambda s=several, n=name: find(n)(s[0], s[1:]))
        found[f"{kind} reference_gain"] = attempt(
            lambda s=several: find("reference_gain")(s[0], s[1:], s[1])
        )
    return found


#: Role in the catalogue -> what is recorded of its entries.
TOLD = {
    "finder": "name kind sentence needs_k cost doi overlapping partitions missing nominal sparse "
    "predict random",
    "alternative": "name sentence cost doi random names_matter",
}


@named("measures/registry/all")
def _registry() -> Any:
    """What the registries say, and the known means under chance."""
    found: dict[str, Any] = {}
    a, b = kinds()["rows"]
    for name, entry in sorted(find("MEASURES").items()):
        mean = None if entry.expected is None else attempt(lambda e=entry: e.expected(a, b))
        found[name] = [
            entry.on, entry.is_distance, float(entry.low), float(entry.high), sorted(entry.kinds),
            len(entry.properties), sorted(entry.lacks), mean, attempt(
                lambda e=entry: e.function(a, b)),
        ]  # fmt: skip
    for role, told in TOLD.items():
        for name, entry in sorted(find("of_role")(role).items()):
            found[name] = {word: getattr(entry, word) for word in told.split()}
            found[name]["exclusions"] = dict(entry.exclusions)
    return found


# -- prototypes, tables ----------------------------------------------------------------------------


def where_they_lie(kind: str) -> Any:
    """Prototypes, their words, and rows put into them."""
    a, _ = kinds()[kind]
    prototypes = find("describe")(sheet(), a)
    new = sheet()[::2] + 0.2
    return {
        "prototypes": prototypes,
        "words": str(prototypes),
        "assigned": find("assign")(new, prototypes),
        "with noise": find("assign")(new, prototypes, noise=True),
        "without": find("assign")(new, prototypes, noise=False),
    }


for _kind in ("axis", "weighted", "oriented", "rows", "soft", "overlapping", "cocluster"):
    add(f"prototypes/{_kind}/all", functools.partial(where_they_lie, _kind))

for _name in ("boxes", "overlap", "wide", "flats", "planes", "views", "columns", "blocks", "counts",
              "uniform", "skewed", "bits", "holes", "float32"):  # fmt: skip
    add(f"tables/{_name}/planted", lambda name=_name: list(planted(name)))
add("tables/thesis/6_1", lambda: list(find("thesis_6_1")(random_state=0))[:2])
add("tables/thesis/6_2", lambda: list(find("thesis_6_2")(random_state=0))[:2])
add("tables/missing/views", lambda: list(
    find("planted_views")(100, 6, missing=0.1, random_state=0))[:2])  # fmt: skip
add("tables/gaussian/plain", lambda: find("structureless")(
    "gaussian", 80, 4, correlation=0.5, random_state=0))  # fmt: skip

# -- validation ------------------------------------------------------------------------------------


def quick(name: str = "LAC") -> Any:
    """A finder that takes little time."""
    if name == "PROCLUS":
        return find("PROCLUS")(3, avg_dims=3, n_init=1, max_no_improve=3, random_state=0)
    if name == "SubKMeans":
        return find("SubKMeans")(3, n_init=1, random_state=0)
    return find("LAC")(3, n_init=1, random_state=0)


GRID = {"n_clusters": [2, 3, 4]}
CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "resampling_stability": ("resampling_stability", {"n_samples": 4}),
    "resampling_stability, columns": (
        "resampling_stability", {"n_samples": 4, "sampling": "both", "compare": "union"},
    ),
    "lange_stability": ("lange_stability", {"n_splits": 4}),
    "lange_stability, neighbour": (
        "lange_stability",
        {"n_splits": 3, "transfer": "neighbour", "baseline": "uniform", "sampling": "both"},
    ),
    "prediction_strength": ("prediction_strength", {"n_splits": 4}),
    "clest": ("clest", {"n_splits": 3, "n_nulls": 3}),
    "clest, permuted": (
        "clest", {"n_splits": 2, "n_nulls": 2, "null": "permuted", "measure": "rnia"},
    ),
    "model_explorer": ("model_explorer", {"n_pairs": 4}),
    "model_explorer, rows": (
        "model_explorer", {"n_pairs": 3, "measure": "fowlkes_mallows_score", "sampling": "both"},
    ),
    "levine_domany": ("levine_domany", {"n_samples": 4}),
    "levine_domany, together": ("levine_domany", {"n_samples": 3, "pairs": "together"}),
}  # fmt: skip


def curve(name: str, finder: str, where: str) -> Any:
    """A stability method over a grid."""
    method, options = CURVES[name]
    found = find(method)(quick(finder), table(where), GRID, random_state=0, **options)
    records = found.to_records() if finder == "LAC" else None
    return {"curve": found, "records": records, "best": found.best}


for _name in CURVES:
    for _finder, _where in (("LAC", "boxes"), ("PROCLUS", "boxes"), ("SubKMeans", "columns")):
        add(
            f"validation/{_name}/{_finder} {_where}",
            functools.partial(curve, _name, _finder, _where),
        )

NULLS = ("copula", "unimodal", "permuted", "gaussian", "uniform", "aligned")
for _null in NULLS:
    for _where in ("boxes", "skewed", "bits"):
        add(
            f"nulls/{_null}/{_where}",
            lambda null=_null, where=_where: find("null_table")(table(where), null, 0),
        )
        add(
            f"nulls/{_null}/{_where}, shrunk",
            lambda null=_null, where=_where: [
                find("null_table")(table(where), null, 0, shrinkage=s) for s in (0.3, "ledoit_wolf")
            ],
        )
    add(
        f"significance/{_null}/boxes",
        lambda null=_null: find("significance")(
            quick(), table("boxes"), null=null, n_null=6, random_state=0
        ),
    )
    add(
        f"significance/{_null}/skewed",
        lambda null=_null: find("significance")(
            quick("SubKMeans"), table("skewed"), null=null, n_null=5, random_state=0,
            statistic="description_length",
        ),
    )  # fmt: skip
    add(
        f"gap/{_null}/columns",
        lambda null=_null: find("gap_statistic")(
            quick("SubKMeans"), table("columns"), range(1, 4), null=null, n_null=3, random_state=0
        ),
    )
add("gap/subspace/boxes", lambda: find("gap_statistic")(
    quick(), table("boxes"), range(1, 5), space="subspace", n_null=3, random_state=0))  # fmt: skip
for _finder, _where in (("LAC", "boxes"), ("SubKMeans", "columns")):
    add(
        f"validation/replicate/{_finder}",
        lambda finder=_finder, where=_where: find("replicate")(
            quick(finder), table(where), n_splits=3, n_null=4, random_state=0
        ),
    )
    for _space in ("full", "subspace"):
        add(
            f"validation/figure_of_merit/{_finder} {_space}",
            lambda finder=_finder, where=_where, space=_space: find("figure_of_merit")(
                quick(finder), table(where), space=space
            ),
        )
    for _by in ("stability", "sre", "description_length", "significance"):
        add(
            f"validation/choose/{_finder} {_by}",
            lambda finder=_finder, where=_where, by=_by: chosen(finder, where, by),
        )


def chosen(finder: str, where: str, by: str) -> Any:
    """A choice among settings, with its ranking and its sentence."""
    found = find("choose")(
        quick(finder), table(where), GRID, by, n_samples=3, n_null=4, random_state=0
    )
    return {
        "choice": found, "best": found.best, "sentence": attempt(lambda: found.sentence()),
        "sure": attempt(lambda: found.sure), "records": found.to_records(),
    }  # fmt: skip


@named("validation/clusters/all")
def _clusters() -> Any:
    """Recovered clusters, evidence for clusters, samples, tests, dips."""
    X, known = table("boxes"), truth("boxes")
    several = list(members("axis"))
    rng = np.random.default_rng(0)
    return {
        "stability": attempt(lambda: find("cluster_stability")(known, several)),
        "stability, union": attempt(
            lambda: find("cluster_stability")(known, several, compare="union")
        ),
        "scores": {
            kind: attempt(lambda a=a: find("score_clusters")(sheet(), a))
            for kind, (a, _) in kinds().items()
        },
        "scores of boxes": attempt(lambda: find("score_clusters")(X, known)),
        "samples": {
            way: attempt(
                lambda way=way: [
                    list(each) for each in find("subsamples")((40, 9), 3, sampling=way,
                                                              random_state=0)
                ]
            )
            for way in ("rows", "columns", "both")
        },
        "test": attempt(
            lambda: find("max_statistic_test")(rng.normal(size=9) + 1.0, rng.normal(size=40))
        ),
        "scale": attempt(lambda: find("robust_scale")(rng.normal(size=(30, 4)))),
        "dips": [
            find("dip_statistic")(column)
            for where in ("boxes", "columns", "skewed", "bits")
            for column in table(where).T
        ],
        "prints": [find("fingerprint")(table(where))[:12] for where in ("boxes", "bits")],
    }  # fmt: skip


@named("validation/runs/all")
def _runs() -> Any:
    """Runs on parts of a table, kept in a folder and restored."""
    Task, X = find("Task"), table("boxes")
    tasks = [
        Task(quick(), X, seed=1),
        Task(quick("PROCLUS"), X, rows=np.arange(0, 240, 2), seed=2),
        Task(quick("SubKMeans"), X, columns=[0, 2, 4, 6], seed=3),
    ]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        store = find("RunStore")(folder)
        for turn in ("made", "restored"):
            found[turn] = [
                [digest(run), digest(run.in_table()), run.is_restored]
                for run in find("run_all")(tasks, store)
            ]  # fmt: skip
    return found


# -- studies ---------------------------------------------------------------------------------------


def mixed() -> Any:
    """A data frame of numbers, names and gaps."""
    import pandas as pd

    rng = np.random.default_rng(5)
    group, other = rng.integers(0, 3, 150), rng.integers(0, 2, 150)
    numbers = rng.normal(size=(150, 5))
    numbers[:, :2] += 5.0 * np.eye(3)[group][:, :2]
    numbers[:, 2] += 6.0 * other
    numbers[:, 3] += 6.0 * other
    numbers[rng.random(numbers.shape) < 0.04] = np.nan
    frame = pd.DataFrame(numbers, columns=["a", "b", "c", "d", "e"])
    frame["colour"] = np.array(["red", "green", "blue"])[
        np.where(rng.random(150) < 0.9, group, rng.integers(0, 3, 150))
    ]
    frame["flag"] = rng.random(150) < 0.2 + 0.6 * other
    return frame


def spelled(outcome: Any, titles: Mapping[str, str]) -> Any:
    """The outcome of a decision; runs by finder and parameters, as their ids name modules."""
    if isinstance(outcome, list):
        return [spelled(each, titles) for each in outcome]
    return titles.get(outcome, "an unknown run") if isinstance(outcome, str) else digest(outcome)


def moons() -> np.ndarray:
    """Two crescents in two of three columns."""
    rng = np.random.default_rng(3)
    angle, upper = rng.uniform(0, np.pi, 160), np.arange(160) % 2 == 0
    place = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    height = np.where(upper, np.sin(angle), 0.4 - np.sin(angle))
    return np.column_stack([place, height, rng.normal(size=160)]) + rng.normal(0, 0.05, (160, 3))


def answers() -> Any:
    """A data frame of names alone, with two classes in it."""
    import pandas as pd

    rng = np.random.default_rng(4)
    kind = rng.random(180) < 0.4
    chance = np.where(kind[:, None], 0.85, 0.2)
    levels = np.where(rng.random((180, 6)) < chance, "yes", "no")
    levels[rng.random(levels.shape) < 0.03] = "perhaps"
    return pd.DataFrame(levels, columns=[f"q{j}" for j in range(6)])


def nested() -> np.ndarray:
    """Three groups, the first of which has two within it, of different sizes."""
    rng = np.random.default_rng(6)
    group = np.repeat([0, 1, 2], [100, 60, 40])
    X = rng.normal(size=(200, 4))
    X[:, 0] += 14.0 * (group == 1)
    X[:, 1] += 14.0 * (group == 2)
    X[:55, 2] += 5.0
    return X


def odd() -> np.ndarray:
    """Wrong cells, long tails, steps, a constant, gaps; a group that is far from round."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(170, 7))
    X[:60, :2] += 5.0
    X[:, 2] = np.exp(2.0 * X[:, 2])
    X[:, 3] = np.round(X[:, 3] * 2)
    X[:, 4] = 3.0
    X[:, 5] += X[:, 6]
    X[5, 0], X[9, 6] = -99.0, 1e9
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


#: Tables of studies, and how they are explored.
STUDIED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "views": (
        lambda: next(iter(find("planted_views")(150, 6, n_clusters=(3, 2), random_state=1))), {}
    ),
    "mixed": (mixed, {}),
    "boxes": (
        lambda: next(iter(find("planted_axes")(160, 7, n_clusters=3, dims=3, random_state=2))), {}
    ),
    "moons": (moons, {}),
    "answers": (answers, {}),
    "nested": (nested, {}),
    "odd": (odd, {}),
    "noise": (lambda: np.random.default_rng(8).normal(size=(120, 5)), {}),
    "a part": (
        lambda: next(iter(find("planted_views")(300, 5, n_clusters=(3, 2), random_state=3))),
        {"search_rows": 140},
    ),
    "known": (
        lambda: next(iter(find("planted_views")(150, 6, n_clusters=(3, 2), random_state=1))),
        {"given": np.arange(150) % 4, "truth": np.arange(150) % 3},
    ),
}  # fmt: skip


def studied(what: str) -> Any:
    """A study: its views, what it tried, and its decisions."""
    make, options = STUDIED[what]
    X = make()
    with tempfile.TemporaryDirectory() as folder:
        study = find("explore")(X, effort="quick", folder=folder, random_state=0, **options)
        made = [
            json.loads(line) for line in (Path(folder) / "decisions.jsonl").read_text().splitlines()
        ]
        back = find("load_study")(folder)
    titles = {each.name: each.title for each in study.results}
    views = [
        {
            **digest(view),
            "facts": [[digest(fact) for fact in facts[:4]] for facts in view.facts],
            "titles": of_list([digest(each) for each in view.titles]),
        }
        for view in study
    ]
    return {
        "views": views,
        "results": sha(json.dumps([digest(each.title) for each in study.results]).encode()),
        "result numbers": np.array(
            [[each.n_clusters, each.score, each.view, each.x, each.y] for each in study.results]
        ),
        "distances": study.distances,
        "failures": [list(each) for each in study.failures],
        "between": study.between_views,
        "chance": list(study.chance),
        "notes": list(study.notes),
        "verdict": study.verdict,
        "schema": list(study.table_schema),
        "predicted": [study.predict(X, view.number) for view in study],
        "decisions": {each["decision"]: spelled(each["outcome"], titles) for each in made},
        "loaded": [each.labels for each in back],
        **({} if what in ("views", "mixed", "boxes") else more_of(study)),
    }


def more_of(study: Any) -> dict[str, Any]:
    """What a study says beside its views."""
    kept = (
        "near_misses", "power", "truth", "recipes", "values", "value_features", "searched_rows",
        "shown_rows", "shape", "part_lengths",
    )  # fmt: skip
    return {name: digest(getattr(study, name)) for name in kept}


for _what in STUDIED:
    add(f"studies/{_what}/all", functools.partial(studied, _what))

# -- the page --------------------------------------------------------------------------------------


def flattened(value: Any) -> tuple[list[str], list[float]]:
    """All texts and all numbers of something nested, in order; of studies' parts only the name."""
    if isinstance(value, str) or value is None:
        return [str(value)], []
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return [], [float(value)]
    if isinstance(value, np.ndarray):
        return [f"{value.shape}"], [float(each) for each in value.ravel()]
    if isinstance(value, find("Study")):
        return ["study"], []
    if isinstance(value, find("View") | find("Result")):
        return [str(getattr(value, "title", ""))], [value.n_clusters, value.score]
    if isinstance(value, Mapping):
        value = [each for key in sorted(value) for each in (key, value[key])]
    texts, numbers = [f"({len(value)}"], []
    for each in value:
        more = flattened(each)
        texts += more[0]
        numbers += more[1]
    return texts, numbers


def of_page(value: Any) -> dict[str, Any]:
    """A part of the page, small: a hash of its texts, sums of its numbers."""
    texts, numbers = flattened(value)
    return {"texts": sha("\n".join(texts).encode()), "numbers": np.array([*numbers, *[0.0] * 7])}


@functools.cache
def shown(what: str) -> Any:
    """A study to show, made by hand."""
    from subscape.exploration.levels import Merge
    from subscape.exploration.study import NearMiss
    from subscape.testing.studies import empty_study, planted_study

    if what == "empty":
        return empty_study()
    if what == "odd":
        return planted_study(
            240, untidy=True, is_provisional=True, failures=(("CLIQUE()", "no memory"),),
            row_names=tuple(f"person {i}" for i in range(240)), searched_rows=np.arange(0, 240, 2),
            truth=({"name": "known", "views": [{"ari": a, "nmi": a / 2} for a in (0.9, 0.1, 0)]},),
        )  # fmt: skip
    if what == "large":
        names = tuple(f"column {j}" for j in range(60))
        study = planted_study(
            6000, n_clusters=(45,), n_results=420, failures=tuple((f"{i}", "") for i in range(70))
        )
        schema = tuple({"name": str(j), "role": "numeric", "note": ""} for j in range(160))
        view = dataclasses.replace(study.views[0], titles=tuple(f"run {i}" for i in range(35)))
        return dataclasses.replace(study, table_schema=schema, views=(view,), notes=names)
    study = planted_study(200)
    first, second, third = study.views
    merges = (Merge(1, 3, 0.0625, 3, 0.0021, 0.8125), Merge(0, 2, 0.4375, 2, 0.0032, 0.9375))
    first = dataclasses.replace(
        first, merges=merges, n_tables=40, n_ideas=2, p_value=1e-5,
        cluster_stability=np.array([0.98, 0.9, 0.9, 0.41]),
        cluster_p_values=np.array([1e-4, 1e-4, 0.2, 1e-4]),
    )  # fmt: skip
    second = dataclasses.replace(second, idea="shapes", idea_note="3 groups", n_tables=20)
    miss = NearMiss("ab#0", "LAC", "LAC(5)", 5, 0.0875, 0.23, 0.61, ("rent",), 0.75)
    return dataclasses.replace(
        study, views=(first, second, third), near_misses=(miss,), curve_chance=(0.01, 0.02),
        asked=dataclasses.replace(third, number=4, idea_note="view 1, merged", stability=np.nan),
        settings=study.settings | {"ideas": "clouds, shapes", "runs": 55},
    )  # fmt: skip


def page_of(what: str) -> Any:
    """Everything that the templates and scripts of a page are given."""
    from subscape.report.drawings import payload
    from subscape.report.palette import palette_css
    from subscape.report.template_context import template_context

    context = template_context(shown(what))
    cards = [card._asdict() for card in context.pop("cards")]
    del context["study"], context["honest"], context["doubtful"]
    found = {name: of_page(value) for name, value in context.items()}
    for number, card in enumerate(cards, 1):
        found |= {f"card {number} {name}": of_page(value) for name, value in card.items()}
    packed = payload(shown(what), embed_ids=True)
    found |= {f"payload {name}": of_page(value) for name, value in packed.items()}
    return {**found, "colours": of_page(palette_css())}


def figures_of(what: str) -> Any:
    """What the pictures that are written as files show: places, sizes, colours and words."""
    from subscape.report import figures

    study = shown(what)
    view = study.views[0]
    found = {}
    for name, figure in (
        ("scatter", figures.scatter(study, view)), ("cells", figures.cells(study, view)),
        ("features", figures.features(study, view)), ("map", figures.results_map(study)),
        ("distances", figures.distances(study)),
    ):  # fmt: skip
        parts: list[Any] = [figure.get_size_inches()]
        for ax in figure.axes:
            legend = ax.get_legend()
            parts += [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), ax.get_aspect()]
            parts += [[text.get_text() for text in legend.get_texts()] if legend else None]
            parts += [[spine.get_visible() for _, spine in sorted(ax.spines.items())]]
            parts += [[tick.get_text() for tick in axis.get_ticklabels()]
                      for axis in (ax.xaxis, ax.yaxis) if name == "features"]  # fmt: skip
            for dots in ax.collections:
                sizes = dots.get_sizes() if hasattr(dots, "get_sizes") else None
                parts += [np.asarray(dots.get_offsets()), sizes, dots.get_facecolor()]
                parts += [dots.get_linewidth(), dots.get_alpha(), str(dots.get_label())]
            for image in ax.images:
                parts += [np.ma.filled(image.get_array(), -1.0), image.get_clim()]
        found[name] = of_page(parts)
    return found


for _what in ("views", "odd", "large", "empty"):
    add(f"report/{_what}/page", functools.partial(page_of, _what))
for _what in ("views", "odd"):
    add(f"report/{_what}/figures", functools.partial(figures_of, _what))

# -- the language: clusterings, files, tables ------------------------------------------------------


def changed(kind: str) -> Any:
    """A clustering turned into others, and in words."""
    a, b = kinds()[kind]
    flags = ("is_hard", "is_partition", "is_row_disjoint", "is_disjoint", "is_coclustering")
    return {
        "words": repr(a),
        "html": sha(a._repr_html_().encode()),
        "flags": [getattr(a, flag) for flag in flags],
        "coverage": a.coverage,
        "cluster": a.cluster(1),
        "label matrix": attempt(lambda: find("label_matrix")([a, b])),
        "rows_only": attempt(a.rows_only),
        "columns_only": attempt(a.columns_only),
        "as_weighted": attempt(a.as_weighted),
        "as_oriented": attempt(a.as_oriented),
        "complement": attempt(a.complement),
        "select": attempt(lambda: a.select([1, 0])),
        "restrict": attempt(lambda: a.restrict(np.arange(30), [0, 1, 3])),
        "embed": attempt(lambda: a.embed(np.arange(60) + 5, np.arange(6) + 1, shape=(70, 8))),
        "equal": [a == b, a == a, a.isclose(b)],
    }


def written(kind: str) -> Any:
    """A clustering in a file of every format, and read back."""
    a, b = kinds()[kind]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".tsv", ".elki", ".true", ".clu", ".subscape"):
            path = Path(folder) / f"file{suffix}"

            def there(path: Path = path) -> Any:
                """Write, and read again."""
                find("write_clusterings")(path, a, lossy=True)
                text = "" if path.suffix == ".subscape" else sha(path.read_bytes())
                return [text, find("read_clusterings")(path)]

            found[suffix] = without(attempt(there), folder)
        path = Path(folder) / "both.subscape"
        find("save")(path, [a, b])
        found["loaded"] = attempt(lambda: find("load")(path))
        found["all alike"] = find("load_all")(path) == find("load")(path)
    return found


def without(value: Any, folder: str) -> Any:
    """The value, where messages name no folder."""
    return value.replace(folder, "(folder)") if isinstance(value, str) else value


for _kind in ("axis", "weighted", "oriented", "rows", "soft", "overlapping", "cocluster"):
    add(f"core/changed/{_kind}", functools.partial(changed, _kind))
    add(f"core/written/{_kind}", functools.partial(written, _kind))


@named("core/table/all")
def _tables_read() -> Any:
    """Tables from a frame, a file and an array."""
    frame, found = mixed(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        frame.to_csv(path, index=False)
        Table = find("Table")
        made = {"frame": Table.read(frame), "file": Table.read(path),
                "array": Table.from_array(table("holes"))}  # fmt: skip
        for name, each in made.items():
            found[name] = {
                "shape": list(each.shape),
                "names": list(each.feature_names),
                "roles": each.roles,
                "notes": list(each.notes),
                "numbers": attempt(lambda each=each: each.to_numpy("onehot")),
                "encoded": attempt(lambda each=each: each.encode("onehot")),
                "missing": attempt(lambda each=each: np.asarray(each.missing)),
                "profile": attempt(lambda each=each: each.profile),
                "words": repr(each),
                "taken": attempt(lambda each=each: each.take(np.arange(9)).to_numpy("onehot")),
                "prepared": attempt(lambda each=each: find("prepare")(each)),
            }
    return found


@named("nulls/model/draws")
def _draws() -> Any:
    """Several tables of one null model."""
    model = find("NullModel")(table("boxes"), "copula", shrinkage=0.1)
    return [attempt(lambda seed=seed: model.draw(seed)) for seed in (0, 1)]


# -- what parameters may be ------------------------------------------------------------------------


def may_be(constraint: Any) -> Any:
    """One of the things that a parameter may be, in words that are the same in every version."""
    from sklearn.utils._param_validation import Interval, StrOptions

    if isinstance(constraint, StrOptions):
        return sorted(constraint.options)
    if isinstance(constraint, Interval):
        ends = (constraint.left, constraint.right)
        low, high = ("" if end is None or math.isinf(end) else f"{end:g}" for end in ends)
        first = "[" if constraint.closed in ("left", "both") else "("
        last = "]" if constraint.closed in ("right", "both") else ")"
        return f"{constraint.type.__name__} {first}{low}, {high}{last}"
    return getattr(constraint, "__name__", str(constraint))


def ranges(name: str) -> dict[str, Any]:
    """Each parameter of an estimator: what it is by default, and all that it may be."""
    made = find(name)
    told = {}
    for parameter, default in sorted(inspect.signature(made).parameters.items()):
        listed = made._parameter_constraints[parameter]
        listed = [listed] if isinstance(listed, str) else listed
        told[parameter] = [repr(default.default), *map(may_be, listed)]
    return told


for _name in find("of_role")("finder", "views", "alternative", "consensus"):
    add(f"parameters/{_name}", functools.partial(ranges, _name))


# -- what functions take ---------------------------------------------------------------------------


def defaults_of(package: str) -> dict[str, Any]:
    """What each parameter of a package's functions and methods is by default."""
    module = importlib.import_module(f"subscape.{package}".removesuffix("."))
    told: dict[str, Any] = {}
    for name in sorted(module.__all__):
        one = getattr(module, name)
        if not callable(one) or (inspect.isclass(one) and issubclass(one, BaseException)):
            continue
        told[name] = defaults(one)
        for method, each in inspect.getmembers(one) if inspect.isclass(one) else ():
            own = getattr(each, "__module__", "") or ""
            if not method.startswith("_") and callable(each) and own.startswith("subscape."):
                told[f"{name}.{method}"] = defaults(each)
    return {name: each for name, each in told.items() if each}


def defaults(function: Any) -> dict[str, str]:
    """Its parameters that have a default that can be written down."""
    known = inspect.signature(function).parameters.values()
    return {
        each.name: repr(each.default)
        for each in known
        if each.default is not each.empty and " at 0x" not in repr(each.default)
    }


for _name in (
    "", "core", "datasets", "ensemble", "files", "measures", "plots", "report", "runs", "tables",
    "testing", "validation", "pl", "tl",
):  # fmt: skip
    add(f"defaults/{_name or 'subscape'}", functools.partial(defaults_of, _name))


# -- what commands take ----------------------------------------------------------------------------


def taken_by(command: str) -> dict[str, Any]:
    """Each argument and option of a command: what it may be, and what it is by default."""
    import click

    main = importlib.import_module("subscape.cli.main").cli
    found = main.get_command(click.Context(main), command)
    told = {}
    for parameter in found.params:
        kind, default = parameter.type, parameter.default
        says = isinstance(default, str | int | float) and not isinstance(default, bool)
        told[" ".join([*parameter.opts, *parameter.secondary_opts])] = {
            "kind": [parameter.param_type_name, kind.name, parameter.nargs],
            "choices": [str(each) for each in getattr(kind, "choices", ())],
            "range": [getattr(kind, each, None) for each in ("min", "max", "min_open", "max_open")],
            "default": repr(default) if says else None,
            "is_flag": bool(getattr(parameter, "is_flag", False)),
            "is_many": bool(getattr(parameter, "multiple", False)),
            "is_needed": parameter.required,
        }
    return {option: told[option] for option in sorted(told)}


for _name in sorted(importlib.import_module("subscape.cli.main").COMMANDS):
    add(f"commands/{_name}", functools.partial(taken_by, _name))


# -- what the check suites ask ---------------------------------------------------------------------


def asked_by(checks: Mapping[str, Any], checked: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """What each check of a suite hands over; what it thinks of the answer does not matter."""
    told = {}
    for name, check in checks.items():
        if name == "parameters_out_of_range":  # values that scikit-learn makes up of a set
            continue
        seen: list[Any] = []
        with contextlib.suppress(AssertionError):
            check(checked(seen))
        told[name] = sha(json.dumps(seen, sort_keys=True).encode())
    return told


def noting(name: str) -> Callable[[list[Any]], Any]:
    """An estimator that keeps all it is asked, and answers as it does."""

    def made(seen: list[Any]) -> Any:
        class Noting(find(name)):
            def fit(self, *handed: Any, **known: Any) -> Any:
                asked = {key: repr(value)[:9] for key, value in self.get_params().items()}
                seen.append([[digest(each) for each in handed], digest(known), asked])
                return super().fit(*handed, **known)

        return Noting(3)

    return made


@named("testing/checks of finders")
def _checks_of_finders() -> Any:
    """Of threads the order is anybody's, but all are given the same."""
    return asked_by(importlib.import_module("subscape.testing.finders").FINDER_CHECKS,
                    noting("LAC"))  # fmt: skip


@named("testing/checks of consensus methods")
def _checks_of_consensus() -> Any:
    """With a method that takes subspaces."""
    return asked_by(importlib.import_module("subscape.testing.consensus").CONSENSUS_CHECKS,
                    noting("CSPA"))  # fmt: skip


@named("testing/checks of measures")
def _checks_of_measures() -> Any:
    """With a measure that accepts everything and promises all."""
    known = find("MEASURES")["clustering_error"]
    promises = frozenset(importlib.import_module("subscape.measures.registry").PROPERTIES)

    def made(seen: list[Any]) -> Any:
        def function(a: Any, b: Any, **options: Any) -> float:
            seen.append([digest(a), digest(b), digest(options)])
            return 0.5

        return dataclasses.replace(known, function=function, properties=promises, caveats={})

    checks = importlib.import_module("subscape.testing.measures").MEASURE_CHECKS
    return asked_by(checks, made)


@named("testing/studies")
def _made_by_hand() -> Any:
    """Studies that no search had to find."""
    studies = importlib.import_module("subscape.testing.studies")
    return {
        "plain": digest(studies.planted_study(90)),
        "untidy": digest(studies.planted_study(90, n_clusters=(3, 2), untidy=True)),
        "empty": digest(studies.empty_study()),
    }


# -- running and comparing -------------------------------------------------------------------------


def outcome(name: str) -> Any:
    """What a case gives now, as it comes back from JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = digest(CASES[name]())
        except Exception as fault:
            found = {"error": f"{type(fault).__name__}: {str(fault)[:150]}"}
    return json.loads(json.dumps(found))


def differences(then: Any, now: Any, exact: bool = False, path: str = "") -> list[str]:
    """Where two outcomes differ, in words."""
    if isinstance(then, dict) and isinstance(now, dict):
        found = []
        for key in sorted({*then, *now}):
            if key == "bits" and "array" in then and not exact:
                continue
            here = f"{path}.{key}" if path else key
            if key not in now or key not in then:
                found.append(f"{here}: {'gone' if key in then else 'new'}")
            else:
                found += differences(then[key], now[key], exact, here)
        return found
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [
            each
            for i, (a, b) in enumerate(zip(then, now, strict=True))
            for each in differences(a, b, exact, f"{path}[{i}]")
        ]
    if isinstance(then, float) and isinstance(now, float):
        same = repr(then) == repr(now)
        if same or (not exact and math.isclose(then, now, rel_tol=1e-9, abs_tol=1e-12)):
            return []
    elif type(then) is type(now) and then == now:
        return []
    return [f"{path}: was {then!r}, is {now!r}"]


@functools.cache
def other_versions() -> bool:
    """Whether something that decides last bits is of another version than the record's."""
    return any(
        importlib.metadata.version(name).split(".")[:2] != version.split(".")
        for name, version in MADE_WITH.items()
    )


def faults(name: str, then: Any, now: Any, exact: bool = False) -> list[str]:
    """Differences of a case, without those that other versions may make."""
    places = [place for cases, place, _ in BY_VERSION if fnmatch.fnmatchcase(name, cases)]
    if other_versions() and places:
        then = with_free_places(then, now, re.compile("|".join(places)))
    return differences(then, now, exact)


def with_free_places(then: Any, now: Any, places: re.Pattern[str], path: str = "") -> Any:
    """The recorded outcome, and what is found now in places where any value of its type will do."""
    if isinstance(then, dict) and isinstance(now, dict):
        return {
            key: with_free_places(each, now.get(key), places, f"{path}.{key}" if path else key)
            for key, each in then.items()
        }
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [
            with_free_places(each, now[i], places, f"{path}[{i}]") for i, each in enumerate(then)
        ]
    free = type(then) is type(now) and places.fullmatch(path) and shape(then) == shape(now)
    return now if free else then


def shape(value: Any) -> str:
    """What the text of an array says before its hash."""
    return value.rpartition(" ")[0] if isinstance(value, str) else ""


def recorded() -> dict[str, Any]:
    """The record."""
    return json.loads(RECORD.read_text())


def as_text(record: Mapping[str, Any]) -> str:
    """The record as JSON, one case per line."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(record[name], sort_keys=True, separators=(',', ':'))}"
        for name in sorted(record)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def answer() -> None:
    """Compare cases as they are asked for, a list of names per line, until there are no more."""
    known, told = recorded(), sys.stdout
    sys.stdout = sys.stderr  # a case may print
    for line in sys.stdin:
        found = [
            f"{name}: {each}"
            for name in json.loads(line)
            for each in faults(name, known[name], outcome(name))
        ]
        print(json.dumps(found), file=told, flush=True)


def main() -> int:
    """Check the code against the record, or record anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="record anew")
    parser.add_argument("--only", metavar="GLOB", default="*", help="cases to take")
    parser.add_argument("--exact", action="store_true", help="compare floats bit for bit")
    parser.add_argument("--times", action="store_true", help="print what each case takes")
    parser.add_argument("--answer", action="store_true", help="compare the cases that are asked")
    options = parser.parse_args()
    if options.answer:
        answer()
        return 0
    if options.write and other_versions():
        print(f"note: the record was made with {MADE_WITH}, and what is added now is not")
    record = recorded() if RECORD.exists() else {}
    names = [name for name in CASES if fnmatch.fnmatch(name, options.only)]
    wrong = 0
    for name in names:
        began = time.perf_counter()
        now = outcome(name)
        if options.times:
            print(f"{time.perf_counter() - began:7.2f} s  {name}", flush=True)
        if options.write:
            record[name] = now
            if isinstance(now, dict) and set(now) == {"error"}:
                print(f"{name} fails: {now['error']}", flush=True)
            continue
        found = faults(name, record[name], now, options.exact) if name in record else ["new"]
        wrong += bool(found)
        for each in found:
            print(f"{name}: {each}", flush=True)
    if options.write:
        record = {name: record[name] for name in record if name in CASES}
        RECORD.write_text(as_text(record))
        print(f"recorded {len(names)} cases")
        return 0
    for name in record:
        if name not in CASES and fnmatch.fnmatch(name, options.only):
            wrong += 1
            print(f"{name}: no such case any more")
    print(f"{len(names)} cases, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
