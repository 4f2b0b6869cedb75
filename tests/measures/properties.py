"""The properties of Table 4.1 of Patrikainen (2005), as functions that look for a violation.

Every function takes the registry entry of a measure and a few clusterings and says whether they
break the property. Scores are read as distances: their best value minus the score.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from tests.strategies import random_axis, random_oriented, random_weighted

from subscape.core import (
    AxisSubspaces,
    OrientedSubspaces,
    SubspaceClustering,
    WeightedSubspaces,
    as_clustering,
)
from subscape.measures.registry import Measure

#: What counts as a difference; principal angles cost half of the digits.
SLACK = 1e-6

#: Options under which every kind can be compared and keeps its properties.
OPTIONS: dict[str, dict[str, str]] = {
    "oriented": {"overlap": "trace"},
    "oriented overlapping": {"overlap": "trace"},
    "mixed": {"overlap": "trace", "mass": "unit"},
}


def takes_options(entry: Measure) -> bool:
    """Whether a measure for every kind says by options how they are compared."""
    return "mixed" in entry.kinds and bool(
        {"overlap", "options"} & set(inspect.signature(entry.function).parameters)
    )


class Distance:
    """A measure as a distance, with the options that a kind of clustering needs."""

    def __init__(self, entry: Measure, kind: str = "axis") -> None:
        self.entry = entry
        self.options = OPTIONS.get(kind, {}) if takes_options(entry) else {}
        self.farthest = entry.high - entry.low

    def __call__(self, a: Any, b: Any) -> float:
        value = self.entry.function(a, b, **self.options)
        return float(value if self.entry.is_distance else self.entry.high - value)

    def same(self, a: SubspaceClustering, b: SubspaceClustering) -> bool:
        """Whether the measure is meant to see no difference."""
        if self.entry.on == "rows":
            return as_rows(a).isclose(as_rows(b))
        return a.isclose(b, 1e-6) if a.kind == b.kind else same_operators(a, b)


def as_rows(clustering: SubspaceClustering) -> SubspaceClustering:
    members = clustering.memberships.toarray()
    return SubspaceClustering(members, AxisSubspaces(np.ones((len(members), 1), bool)))


def operators(clustering: SubspaceClustering) -> np.ndarray:
    """Unit-mass operators with the memberships in front, one vector per cluster."""
    parts = []
    for k, members in enumerate(clustering.memberships.toarray().astype(float)):
        operator = clustering.subspaces.operator(k)
        parts.append(np.concatenate([members, (operator / np.trace(operator)).ravel()]))
    return np.array(parts)


def same_operators(a: SubspaceClustering, b: SubspaceClustering) -> bool:
    left, right = operators(a), list(operators(b))
    for one in left:
        match = next((i for i, two in enumerate(right) if np.allclose(one, two, atol=1e-6)), None)
        if match is None:
            return False
        right.pop(match)
    return True


# -- what the properties do to clusterings ---------------------------------------------------------


def scaled(c: SubspaceClustering, times: int) -> SubspaceClustering:
    """Every row and every column ``times`` times."""
    members = np.repeat(c.memberships.toarray(), times, axis=1)
    spaces: Any = c.subspaces
    if isinstance(spaces, OrientedSubspaces):
        wide = [np.kron(basis, np.eye(times)) for basis in spaces.bases]
        p = c.n_features * times
        return SubspaceClustering(
            members, OrientedSubspaces(wide, spaces.is_complement, n_features=p)
        )
    if isinstance(spaces, WeightedSubspaces):
        weights = np.repeat(spaces.weights, times, axis=1) / times
        return SubspaceClustering(members, WeightedSubspaces(weights))
    return SubspaceClustering(members, AxisSubspaces(np.repeat(spaces.masks, times, axis=1)))


def doubled(c: SubspaceClustering) -> SubspaceClustering:
    """The clustering and a copy of it on rows and columns of its own."""
    shape = (2 * c.n_rows, 2 * c.n_features)
    rows, columns = np.arange(c.n_rows), np.arange(c.n_features)
    here = c.embed(rows, columns, shape=shape)
    there = c.embed(rows + c.n_rows, columns + c.n_features, shape=shape)
    return joined(here, there)


def joined(a: SubspaceClustering, b: SubspaceClustering) -> SubspaceClustering:
    """The clusters of both."""
    members = sparse.vstack([a.memberships, b.memberships])
    one: Any = a.subspaces
    two: Any = b.subspaces
    if isinstance(one, OrientedSubspaces):
        spaces: Any = OrientedSubspaces([*one.bases, *two.bases], one.is_complement)
    elif isinstance(one, WeightedSubspaces):
        spaces = WeightedSubspaces(np.concatenate([one.weights, two.weights]))
    else:
        spaces = AxisSubspaces(np.concatenate([one.masks, two.masks]))
    return SubspaceClustering(members, spaces)


def grown(c: SubspaceClustering, extra: int, rng: np.random.Generator) -> SubspaceClustering:
    """Some of the last ``extra`` rows, in no cluster so far, put into an old or a new one."""
    rows = c.n_rows - extra + np.flatnonzero(rng.random(extra) < 0.7)
    if len(rows) < 2:
        rows = c.n_rows - extra + np.arange(2)
    like = int(rng.integers(c.n_clusters))
    members = c.memberships.toarray()
    if rng.random() < 0.5:
        members[like, rows] = members.dtype.type(1)
        return SubspaceClustering(members, c.subspaces)
    fresh = np.zeros((1, c.n_rows), members.dtype)
    fresh[0, rows] = 1
    return joined(c, SubspaceClustering(fresh, c.subspaces.select(np.array([like]))))


# -- the properties --------------------------------------------------------------------------------


def breaks_positive(d: Distance, a: Any, b: Any) -> bool:
    if d(a, a) > SLACK or d(a, b) < -SLACK:
        return True
    return (d(a, b) <= SLACK) != d.same(as_clustering(a), as_clustering(b))


def breaks_symmetry(d: Distance, a: Any, b: Any) -> bool:
    return abs(d(a, b) - d(b, a)) > SLACK


def breaks_triangle(d: Distance, a: Any, b: Any, c: Any) -> bool:
    """The way from a to c over b is shorter."""
    return d(a, c) > d(a, b) + d(b, c) + SLACK


def breaks_permutation(
    d: Distance, a: SubspaceClustering, b: SubspaceClustering, order_a: Any, order_b: Any
) -> bool:
    return abs(d(a, b) - d(a.select(order_a), b.select(order_b))) > SLACK


def breaks_penalty(d: Distance, a: Any, b: Any, larger_a: Any, larger_b: Any) -> bool:
    """Cells that one side only covers were added, and the distance did not grow.

    As long as it could: clusterings that share nothing are as far apart as can be.
    """
    before = d(a, b)
    return before < d.farthest - SLACK and d(larger_a, larger_b) <= before + 1e-12


def breaks_background(d: Distance, a: Any, b: Any, rows: int, columns: int) -> bool:
    a, b = as_clustering(a), as_clustering(b)
    shape = (a.n_rows + rows, a.n_features + columns)
    return abs(d(a, b) - d(a.embed(shape=shape), b.embed(shape=shape))) > SLACK


def breaks_scale(d: Distance, a: Any, b: Any, times: int) -> bool:
    a, b = as_clustering(a), as_clustering(b)
    return abs(d(a, b) - d(scaled(a, times), scaled(b, times))) > SLACK


def breaks_copy(d: Distance, a: Any, b: Any) -> bool:
    a, b = as_clustering(a), as_clustering(b)
    return abs(d(a, b) - d(doubled(a), doubled(b))) > SLACK


def breaks_coverage(d: Distance, one: Any, several: Any) -> bool:
    """One cluster, and clusters of equal size that cover the same cells."""
    return min(d(one, several), d(several, one)) <= SLACK


def breaks_ordinary(d: Distance, a: Any, b: Any) -> bool:
    """Partitions of the same rows in all features must be told apart."""
    return (d(a, b) <= SLACK) != d.same(as_clustering(a), as_clustering(b))


BREAKS: dict[str, Callable[..., bool]] = {
    "positive": breaks_positive,
    "symmetric": breaks_symmetry,
    "triangle inequality": breaks_triangle,
    "label permutation invariant": breaks_permutation,
    "penalty for non-intersecting area": breaks_penalty,
    "background independent": breaks_background,
    "scale invariant": breaks_scale,
    "copy invariant": breaks_copy,
    "multiple cluster coverage penalty": breaks_coverage,
    "handles ordinary clusterings": breaks_ordinary,
}


# -- what they are tried on -----------------------------------------------------------------------


def random_clustering(
    rng: np.random.Generator, shape: tuple[int, int], kind: str, entry: Measure
) -> SubspaceClustering:
    """A clustering of the kind whose clusters have at least two cells (two rows)."""
    if kind == "mixed":
        kind = str(rng.choice(sorted(entry.kinds - {"mixed"})))
    makers: dict[str, Callable[[], SubspaceClustering]] = {
        "axis": lambda: random_axis(rng, shape),
        "weighted": lambda: random_weighted(rng, shape),
        "oriented": lambda: random_oriented(rng, shape, complement=False),
        "overlapping": lambda: random_axis(rng, shape, disjoint=False),
        "oriented overlapping": lambda: random_oriented(
            rng, shape, row_disjoint=False, complement=False
        ),
        "soft": lambda: random_weighted(rng, shape, soft=True),
    }
    while True:
        drawn = makers[kind]()
        keep = np.flatnonzero(cells(drawn, entry.on) >= 2)
        if len(keep):
            return drawn.select(keep)


def cells(c: SubspaceClustering, on: str) -> np.ndarray:
    """How many cells (rows) each cluster has."""
    rows = np.diff(c.members.indptr)
    return rows if on == "rows" else c.sizes * c.subspaces.mass


def between(
    rng: np.random.Generator, a: SubspaceClustering, c: SubspaceClustering, on: str
) -> SubspaceClustering:
    """Some clusters of either side, without rows in two of them unless a side has such rows."""
    if a.kind != c.kind:
        return a
    both = joined(a, c)
    chosen = both.select(rng.permutation(both.n_clusters)[: rng.integers(1, both.n_clusters + 1)])
    members = chosen.memberships.toarray()
    if a.is_row_disjoint and c.is_row_disjoint:
        members &= np.cumsum(members, axis=0) == 1
    alive = np.flatnonzero(members.any(axis=1))
    chosen = SubspaceClustering(members[alive], chosen.subspaces.select(alive))
    keep = np.flatnonzero(cells(chosen, on) >= 2)
    return chosen.select(keep) if len(keep) else a


def random_arguments(
    name: str, rng: np.random.Generator, kind: str, entry: Measure
) -> tuple[Any, ...]:
    """Arguments for the function of a property, after the distance."""
    shape = (int(rng.integers(3, 9)), int(rng.integers(2, 6)))
    if name == "handles ordinary clusterings":
        return tuple(random_partition(rng, shape) for _ in range(2))
    if name == "multiple cluster coverage penalty":
        return equal_parts(rng)
    a, b = (random_clustering(rng, shape, kind, entry) for _ in range(2))
    if name == "triangle inequality":
        return a, between(rng, a, b, entry.on), b
    if name == "label permutation invariant":
        return a, b, rng.permutation(a.n_clusters), rng.permutation(b.n_clusters)
    if name == "penalty for non-intersecting area":
        extra = int(rng.integers(2, 5))
        a, b = (c.embed(shape=(shape[0] + extra, shape[1])) for c in (a, b))
        if rng.random() < 0.5:
            return a, b, grown(a, extra, rng), b
        return a, b, a, grown(b, extra, rng)
    if name == "background independent":
        return a, b, int(rng.integers(0, 3)), int(rng.integers(1, 3))
    if name == "scale invariant":
        return a, b, 2
    return a, b


def random_partition(rng: np.random.Generator, shape: tuple[int, int]) -> SubspaceClustering:
    """Every row in one of a few clusters of at least two rows, in all features."""
    while True:
        labels = rng.integers(0, rng.integers(1, 4), shape[0])
        if (np.unique(labels, return_counts=True)[1] > 1).all():
            return SubspaceClustering.from_labels(labels, n_features=shape[1])


def equal_parts(rng: np.random.Generator) -> tuple[SubspaceClustering, SubspaceClustering]:
    """One cluster, and two or three of equal size that cover the same cells."""
    parts, each, dims = (int(number) for number in rng.integers(2, 4, 3))
    shape = (parts * each + int(rng.integers(0, 3)), dims + int(rng.integers(0, 2)))
    labels = np.full(shape[0], -1)
    labels[: parts * each] = np.repeat(np.arange(parts), each)
    masks = np.arange(shape[1]) < dims
    return (
        SubspaceClustering.from_labels(np.minimum(labels, 0), masks=masks[None]),
        SubspaceClustering.from_labels(labels, masks=np.tile(masks, (parts, 1))),
    )
