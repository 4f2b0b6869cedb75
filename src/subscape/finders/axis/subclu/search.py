"""Density-connected sets in subspaces: all of them, or those grown from pairs of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bitsets import pack, unpack
from subscape.core.types import BitArray, BoolArray, FloatArray
from subscape.finders.axis.candidates import SEARCH, candidates, n_joins, too_many, used_up
from subscape.finders.axis.grid.bins import Subspace
from subscape.finders.axis.selection import bits_of_share, log2_choose
from subscape.finders.base import Watch

from .density import density_clusters

__all__ = [
    "Density",
    "DensityCluster",
    "Surprise",
    "complete_search",
    "grown_search",
    "only_maximal",
]


FEWEST_STEPS, MOST_STEPS = 3, 20
#: A cluster of which this share of the rows hangs together in more columns is not maximal.
SAME_ROWS = 0.9
REMEDY = "make eps smaller or min_samples larger"


class Density(NamedTuple):
    """What counts as dense."""

    columns: FloatArray
    """(p, n): the table, one line per column, in units of the radius."""
    radius: float
    min_samples: int
    order: float
    """Of the Minkowski distance: 1, 2 or infinity."""


class DensityCluster(NamedTuple):
    """A density-connected set in a subspace."""

    columns: Subspace
    rows: NDArray[np.int32]
    core: BoolArray
    """Which of the rows are core rows."""
    radius: float

    @property
    def cells(self) -> tuple[NDArray[np.int32], ...]:
        """Where it lies in a table with one line per column."""
        return np.ix_(np.array(self.columns, dtype=np.int32), self.rows)


class Surprise:
    """How many bits a density-connected set saves, judged by the box around it.

    Parameters
    ----------
    columns : (p, n) array
        The table, one line per column.
    """

    def __init__(self, columns: FloatArray) -> None:
        self.n_columns, self.n_rows = columns.shape
        self.columns = columns
        self.ascending = np.sort(columns, axis=1)
        # For every cell, how many values of its column are smaller, and how many are not larger.
        self.smaller = np.empty(columns.shape, dtype=np.int32)
        self.not_larger = np.empty(columns.shape, dtype=np.int32)
        for j in range(self.n_columns):
            self.smaller[j] = self.ascending[j].searchsorted(columns[j])
            self.not_larger[j] = self.ascending[j].searchsorted(columns[j], side="right")
        # Steps into which a column is cut to say where a box begins and ends: fewer for few rows.
        steps = min(MOST_STEPS, max(FEWEST_STEPS, math.isqrt(self.n_rows) // 2))
        self.bits_per_side = math.log2(steps * (steps + 1) / 2)

    def expected(self, cluster: DensityCluster) -> float:
        """Share of the rows expected in the box if columns were independent or rows spread evenly.

        The larger of the two; a single column has nothing to be independent of.
        """
        columns = list(cluster.columns)
        cells = cluster.cells
        values = self.columns[cells]
        low, high = self.ascending[columns, 0], self.ascending[columns, -1]
        evenly = float(((values.max(axis=1) - values.min(axis=1)) / (high - low)).prod())
        if len(columns) == 1:
            return evenly
        inside = self.not_larger[cells].max(axis=1) - self.smaller[cells].min(axis=1)
        return max(evenly, float((inside / self.n_rows).prod()))

    def cost(self, n_dims: int) -> float:
        """Bits to name the columns and the sides of the box."""
        return log2_choose(self.n_columns, n_dims) + n_dims * self.bits_per_side

    def interest(self, cluster: DensityCluster) -> float:
        """Bits saved."""
        share = len(cluster.rows) / self.n_rows
        bits = bits_of_share(share, self.expected(cluster), self.n_rows)
        return bits - self.cost(len(cluster.columns))


class _Found(NamedTuple):
    """The clusters of one subspace."""

    clusters: list[DensityCluster]
    n_rows: int
    """Rows of all its clusters together."""
    members: BitArray
    """Rows in any cluster."""
    cores: BitArray
    """Core rows of any cluster."""


def complete_search(
    space: Density,
    *,
    max_dims: int | None,
    max_candidates: int,
    watch: Watch,
    until: float = SEARCH,
    among: Sequence[int] | None = None,
) -> list[DensityCluster]:
    """Find all clusters in all subspaces.

    A cluster in a subspace lies within one cluster in each part of that subspace, and its core
    rows are core rows there. So a subspace is searched only if all parts with one column less
    have clusters, and only among the rows that are in clusters of all these parts.

    Parameters
    ----------
    space : Density
    max_dims : int or None
        Most columns of a subspace.
    max_candidates : int
        Most subspaces searched.
    watch : Watch
    until : float
        Share of the time after which to stop.
    among : sequence of int, optional
        The columns to combine; by default all.
    """
    level: dict[Subspace, _Found] = {}
    for column in range(len(space.columns)) if among is None else among:
        if (found := _search_within(space, (column,), None, None)) is not None:
            level[(column,)] = found
    everything = [cluster for found in level.values() for cluster in found.clusters]
    searched = len(space.columns)
    while level and (max_dims is None or len(next(iter(level))) < max_dims):
        sets = np.array(sorted(level), dtype=np.int32)
        if searched + n_joins(sets) > max_candidates:
            too_many(watch, max_candidates, "subspaces", REMEDY)
            break
        above: dict[Subspace, _Found] = {}
        subspaces = candidates(sets)
        for number, columns in enumerate(map(tuple, subspaces.tolist())):
            if number % 64 == 0:
                watch.step(f"subspaces of {len(columns)} columns", number, len(subspaces))
                if used_up(watch, until):
                    return everything
            found = _from_parts(space, columns, level)
            if found is not None:
                above[columns] = found
                everything += found.clusters
        searched += len(subspaces)
        level = above
    return everything


def grown_search(
    spaces: Sequence[Density],
    surprise: Surprise,
    *,
    max_dims: int | None,
    max_candidates: int,
    watch: Watch,
) -> list[DensityCluster]:
    """Find clusters in one or two columns, and grow the interesting ones.

    Growing adds the columns in which a cluster stays together and saves bits: all of them at
    once if that saves most, otherwise the better half, and so on. A pair of columns whose
    cluster is mostly covered by grown ones is not grown again.

    Parameters
    ----------
    spaces : sequence of Density
        The first one is for pairs of columns; clusters are grown in each of them.
    surprise : Surprise
        What makes a cluster interesting.
    max_dims : int or None
        Most columns of a cluster.
    max_candidates : int
        Most subspaces searched.
    watch : Watch
    """
    n_columns, n_rows = spaces[0].columns.shape
    max_dims = n_columns if max_dims is None else max_dims
    pairs = complete_search(
        spaces[0],
        max_dims=min(2, max_dims),
        max_candidates=max_candidates + n_columns,
        watch=watch,
        until=SEARCH / 2,
        among=_promising_columns(surprise, max_candidates, watch),
    )
    interest = np.array([surprise.interest(cluster) for cluster in pairs])
    everything = [pairs[i] for i in np.flatnonzero(interest > 0)]
    covered = np.zeros((n_columns, n_rows), dtype=bool)
    left = max_candidates
    for step, i in enumerate(np.argsort(-interest, kind="stable")):
        seed = pairs[i]
        if interest[i] <= 0:
            break
        watch.step("growing clusters", step, len(pairs))
        if len(seed.columns) == 1 or covered[seed.cells].mean() > 0.5:
            continue
        if left <= 0:
            too_many(watch, max_candidates, "subspaces", REMEDY)
            break
        if used_up(watch, SEARCH):
            break
        tries = [_grown(space, surprise, seed, max_dims) for space in spaces]
        left -= sum(grown.n_searched for grown in tries)
        everything += [grown.cluster for grown in tries]
        best = max(tries, key=lambda grown: grown.interest).cluster
        covered[best.cells] = True
    return everything


def only_maximal(clusters: list[DensityCluster], n_rows: int) -> list[DensityCluster]:
    """Drop clusters of which nearly all rows hang together in more columns too."""
    holders: dict[int, set[int]] = {}
    for number, cluster in enumerate(clusters):
        for column in cluster.columns:
            holders.setdefault(column, set()).add(number)
    flags = np.zeros(n_rows, dtype=bool)
    kept = []
    for cluster in clusters:
        flags[:] = False
        flags[cluster.rows] = True
        larger = (
            clusters[number]
            for number in set.intersection(*(holders[column] for column in cluster.columns))
            if len(clusters[number].columns) > len(cluster.columns)
        )
        if not any(flags[c.rows].sum() >= SAME_ROWS * len(cluster.rows) for c in larger):
            kept.append(cluster)
    return kept


def _promising_columns(surprise: Surprise, max_candidates: int, watch: Watch) -> list[int] | None:
    """The most uneven columns, as many as can be combined in pairs; None if that is all."""
    most = max(2, int(np.sqrt(2 * max_candidates)))
    if surprise.n_columns <= most:
        return None
    too_many(watch, max_candidates, "subspaces", REMEDY)
    shares = np.linspace(0, 1, 21)[1:-1]
    at = surprise.ascending[:, (shares * (surprise.n_rows - 1)).astype(np.int64)]
    low, high = surprise.ascending[:, :1], surprise.ascending[:, -1:]
    unevenness = np.abs((at - low) / (high - low) - shares).max(axis=1)
    return np.sort(np.argsort(-unevenness, kind="stable")[:most]).tolist()


class _Grown(NamedTuple):
    cluster: DensityCluster
    interest: float
    n_searched: int


def _grown(space: Density, surprise: Surprise, seed: DensityCluster, max_dims: int) -> _Grown:
    """Add columns to a cluster as long as that saves bits."""
    cluster, interest, n_searched = seed, surprise.interest(seed), 0
    untried = [j for j in range(len(space.columns)) if j not in seed.columns]
    while untried and len(cluster.columns) < max_dims:
        wider = {j: _best_within(space, surprise, cluster, [j]) for j in untried}
        n_searched += len(untried)
        better = {j: part for j, part in wider.items() if part is not None and part[0] > interest}
        if not better:
            break
        untried = sorted(better, key=lambda j: -better[j][0])
        interest, chosen = better[untried[0]]
        size = min(len(untried), max_dims - len(cluster.columns))
        while size > 1:
            part = _best_within(space, surprise, cluster, untried[:size])
            n_searched += 1
            if part is not None and part[0] > interest:
                interest, chosen = part
                break
            size //= 2
        cluster = chosen
        untried = [j for j in untried if j not in cluster.columns]
    return _Grown(cluster, interest, n_searched)


def _best_within(
    space: Density, surprise: Surprise, cluster: DensityCluster, further: Sequence[int]
) -> tuple[float, DensityCluster] | None:
    """The most interesting part of a cluster that stays together in further columns."""
    columns = tuple(sorted({*cluster.columns, *further}))
    possible = np.ones(space.columns.shape[1], dtype=bool)
    if cluster.radius == space.radius:
        possible[cluster.rows] = cluster.core
    return max(
        (
            (surprise.interest(part), part)
            for part in _clusters(space, columns, cluster.rows, possible)
        ),
        key=lambda entry: entry[0],
        default=None,
    )


def _from_parts(space: Density, columns: Subspace, level: dict[Subspace, _Found]) -> _Found | None:
    """Search a subspace within the clusters of its smallest part."""
    parts = [columns[:j] + columns[j + 1 :] for j in range(len(columns))]
    if any(part not in level for part in parts):
        return None
    found = [level[part] for part in parts]
    cores = np.bitwise_and.reduce([part.cores for part in found])
    if not cores.any():
        return None
    members = np.bitwise_and.reduce([part.members for part in found])
    smallest = min(found, key=lambda part: part.n_rows)
    return _search_within(space, columns, smallest.clusters, (members, cores))


def _search_within(
    space: Density,
    columns: Subspace,
    within: Sequence[DensityCluster] | None,
    limits: tuple[BitArray, BitArray] | None,
) -> _Found | None:
    """Find the clusters in some columns among the rows of given clusters."""
    n_rows = space.columns.shape[1]
    if within is None or limits is None:
        parts = [np.arange(n_rows, dtype=np.int32)]
        possible = np.ones(n_rows, dtype=bool)
    else:
        members, possible = (unpack(bits, n_rows) for bits in limits)
        parts = [cluster.rows[members[cluster.rows]] for cluster in within]
    clusters = [cluster for rows in parts for cluster in _clusters(space, columns, rows, possible)]
    if not clusters:
        return None
    in_any, core = np.zeros(n_rows, dtype=bool), np.zeros(n_rows, dtype=bool)
    for cluster in clusters:
        in_any[cluster.rows] = True
        core[cluster.rows[cluster.core]] = True
    total = sum(len(cluster.rows) for cluster in clusters)
    return _Found(clusters, total, pack(in_any), pack(core))


def _clusters(
    space: Density, columns: Subspace, rows: NDArray[np.int32], possible: BoolArray
) -> Iterator[DensityCluster]:
    """The clusters of some rows in some columns."""
    if len(rows) < space.min_samples:
        return
    dims = np.array(columns, dtype=np.int32)
    found = density_clusters(space.columns, rows, dims, possible, space.min_samples, space.order)
    for first, end in zip(found.starts[:-1], found.starts[1:], strict=True):
        rows, core = found.rows[first:end], found.core[first:end]
        yield DensityCluster(columns, rows, core, space.radius)
