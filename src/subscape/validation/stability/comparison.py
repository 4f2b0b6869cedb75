"""Distances between clusterings of different samples of one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, SubscapeError
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.measures.cells.overlap import overlap_of
from subscape.measures.registry import find
from subscape.runs.store import Run

Metric = str | Callable[[Any, Any], float]

#: Where two clusterings are compared: on what both samples have, or on all that either has.
PLACES = ("common", "union")


class Comparison(NamedTuple):
    """A distance between clusterings; a score counts by how much it misses its best value."""

    measure: Metric = "clustering_error"
    mass: str | None = None
    overlap: str | None = None

    def __call__(self, a: SubspaceClustering | None, b: SubspaceClustering | None) -> float:
        """NaN if one side failed or both found nothing, 1 if one of them found nothing."""
        if a is None or b is None or (a.n_clusters == 0 and b.n_clusters == 0):
            return float("nan")
        if a.n_clusters == 0 or b.n_clusters == 0:
            return 1.0
        entry = find(self.measure)
        named = (("mass", self.mass), ("overlap", self.overlap))
        options = {name: value for name, value in named if value is not None}
        value = float(entry.function(a, b, **options))
        return value if entry.is_distance else entry.high - value

    def check(self) -> Comparison:
        """Refuse unknown names before any work is done."""
        find(self.measure)
        return self

    def need_unit_range(self, who: str) -> Comparison:
        """Refuse measures that are not between 0 and 1, where that is what counts."""
        entry = find(self.measure)
        known = not callable(self.measure) or np.isfinite(entry.high)
        if known and (entry.is_distance and entry.high != 1):
            raise SubscapeError(
                f"{who} needs a measure between 0 and 1, such as clustering_error; {entry.name} "
                f"goes up to {entry.high:g}"
            )
        return self


class Sampled(NamedTuple):
    """A clustering and where in the table its rows and columns are; None: all of them."""

    clustering: SubspaceClustering | None
    rows: IntArray | None
    columns: IntArray | None
    shape: tuple[int, int]

    @classmethod
    def of_run(cls, run: Run) -> Sampled:
        return cls(run.clustering, run.rows, run.columns, run.shape)

    def within(self, rows: Any, columns: Any) -> SubspaceClustering | None:
        """The clustering on some of its rows and columns, given by their place in the table."""
        if self.clustering is None:
            return None
        return quiet_restrict(
            self.clustering, _places(self.rows, rows), _places(self.columns, columns)
        )

    def embedded(self) -> SubspaceClustering | None:
        """The clustering in the whole table."""
        if self.clustering is None:
            return None
        return self.clustering.embed(self.rows, self.columns, shape=self.shape)


def quiet_restrict(clustering: SubspaceClustering, rows: Any, columns: Any) -> SubspaceClustering:
    """Restrict; clusters that are lost are what is to be found out, not worth a warning."""
    if rows is None and columns is None:
        return clustering
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedClusterWarning)
        return clustering.restrict(rows, columns)


def _places(own: IntArray | None, wanted: IntArray | None) -> Any:
    """Where in a sample those positions of the table are; None if it is all of it."""
    if wanted is None:
        return None
    if own is None:
        return wanted
    order = np.argsort(own, kind="stable")
    return order[np.searchsorted(own[order], wanted)]


def shared_places(a: Any, b: Any) -> IntArray | None:
    """Positions that two samples have in common, sorted."""
    if a is None or b is None:
        only = b if a is None else a
        return None if only is None else np.sort(only)
    return np.intersect1d(a, b)


def distance(a: Sampled, b: Sampled, compare: Comparison, place: str = "common") -> float:
    """Distance of two clusterings of samples; NaN where they have nothing in common."""
    if place == "union":
        return compare(a.embedded(), b.embedded())
    rows, columns = shared_places(a.rows, b.rows), shared_places(a.columns, b.columns)
    if any(side is not None and len(side) == 0 for side in (rows, columns)):
        return float("nan")
    return compare(a.within(rows, columns), b.within(rows, columns))


def check_place(place: str) -> str:
    """Refuse what is neither "common" nor "union"."""
    if place not in PLACES:
        raise SubscapeError(f'compare must be "common" or "union", got {place!r}')
    return place


def distances_within(members: Sequence[Sampled], compare: Comparison, place: str) -> FloatArray:
    """Symmetric matrix of all distances."""
    matrix = np.zeros((len(members), len(members)))
    for i, a in enumerate(members):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = distance(a, members[j], compare, place)
        if a.clustering is None or a.clustering.n_clusters == 0:
            matrix[i, i] = np.nan
    return matrix


def recovery(reference: SubspaceClustering, other: Sampled, compare: Comparison) -> FloatArray:
    """For every cluster of ``reference``, the Jaccard index of cells with its best match.

    NaN where the sample has none of the cluster's cells or the run failed; 0 where nothing was
    found.
    """
    found = np.full(reference.n_clusters, np.nan)
    if other.clustering is None:
        return found
    part, alive = _restricted(reference, other.rows, other.columns)
    if len(alive) == 0:
        return found
    found[alive] = 0.0
    mine = other.clustering
    if other.rows is not None or other.columns is not None:
        rows, columns = (
            None if side is None else np.argsort(side, kind="stable")
            for side in (other.rows, other.columns)
        )
        mine = quiet_restrict(mine, rows, columns)
    if mine.n_clusters == 0:
        return found
    shared = overlap_of(part, mine, mass=compare.mass, overlap=compare.overlap)
    union = shared.sizes_a[:, None] + shared.sizes_b[None, :] - shared.table
    found[alive] = (shared.table / np.where(union > 0, union, 1.0)).max(axis=1)
    return found


def _restricted(
    clustering: SubspaceClustering, rows: Any, columns: Any
) -> tuple[SubspaceClustering, IndexArray]:
    """A clustering on a sample (sorted), and which of its clusters are still there."""
    places = [None if side is None else np.sort(side) for side in (rows, columns)]
    kept = [
        k
        for k in range(clustering.n_clusters)
        if quiet_restrict(clustering.select([k]), *places).n_clusters
    ]
    alive = np.array(kept, dtype=np.intp)
    return quiet_restrict(clustering.select(alive), *places), alive
