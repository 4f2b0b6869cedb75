"""Dense units are fitted to the rows they hold: around them, and inside one another.

A bin of a column is shared by all clusters that meet there, so that a unit of such bins shows where
a cluster is, but not all of its features nor where it ends. Small units are enough to hit a
cluster; its features and ends are then taken from its rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bitsets import count, intersection_counts, pack
from subscape.core.types import BitArray, BoolArray, FloatArray
from subscape.finders.axis.boxes.free_cells import FreeCells
from subscape.finders.axis.boxes.refinement import (
    CONCENTRATION,
    Box,
    feature_scales,
    hold,
    refine_box,
    spread_box,
)
from subscape.finders.axis.boxes.selection import (
    beats_chance,
    covered_cells,
    irredundant,
    share_by_chance,
)
from subscape.finders.axis.grid.bins import BinGrid, Items, Subspace, UnitCluster
from subscape.finders.axis.grid.search import levelwise_search
from subscape.finders.axis.selection import Candidates, bits_of_share, information, interest
from subscape.finders.base import Watch

__all__ = ["fitted_boxes", "seed_subspaces", "telling_items", "without_unions"]


#: Most columns of the units to start from: three seldom hit two clusters at once ...
SEED_COLUMNS = 3
#: ... but two must do where more subspaces of two columns than this hold dense units.
MOST_SUBSPACES = 1000
#: Columns in which seeds are searched; the features of a cluster may be any.
MOST_COLUMNS = 200
#: Seeds whose rows are counted together.
BATCH = 256
#: A cluster holds at least this share of the rows.
LEAST_SHARE = 0.01
#: At least this share of a seed's rows must be new, and of a cluster inside another one.
NEW = 0.5
#: Bits by which a cluster inside another one has to be more than chance.
MARGIN = 10.0
#: Further features tried in vain before a cluster is taken to have none inside.
TRIALS = 2
#: A box is but the union of others if these lie in it and cover this share of its cells.
COVERED = 0.8


def telling_items(grid: BinGrid, items: Items) -> Items:
    """The dense bins of the columns that are least evenly spread, if there are many columns.

    Parameters
    ----------
    grid : BinGrid
        The table in bins.
    items : Items
        All dense bins.

    Returns
    -------
    Items
        Those of at most 200 columns, in the same order.
    """
    if grid.n_columns <= MOST_COLUMNS:
        return items
    bits = np.empty(grid.n_columns)
    for j, (edges, counts) in enumerate(zip(grid.edges, grid.counts, strict=True)):
        even = np.diff(edges) / (edges[-1] - edges[0])
        bits[j] = information(counts / grid.n_rows, even, grid.n_rows).sum()
    chosen = np.argsort(-bits, kind="stable")[:MOST_COLUMNS]
    kept = np.isin(items.column, chosen)
    return Items(items.column[kept], items.value[kept], items.least[kept])


def seed_subspaces(
    grid: BinGrid, items: Items, *, max_candidates: int, watch: Watch
) -> list[Subspace]:
    """Find the subspaces of few columns that hold dense units."""
    subspaces: list[Subspace] = []
    for max_dims in range(2, SEED_COLUMNS + 1):
        if len(subspaces) <= MOST_SUBSPACES:
            subspaces = levelwise_search(
                grid,
                items,
                max_dims=max_dims,
                prune=False,
                max_candidates=max_candidates,
                watch=watch,
            )
    return subspaces


def fitted_boxes(
    X: FloatArray,
    grid: BinGrid,
    items: Items,
    clusters: list[UnitCluster],
    found: Candidates,
    *,
    min_rows: int,
    watch: Watch,
) -> list[tuple[Box, Box]]:
    """Find boxes around dense units, with the features and the ends of the rows that they hold.

    Clusters of units are taken in order of the bits they save; those whose rows are in a box
    already, in the same columns, are left out. In each box, further features in which a part of its
    rows is dense give the clusters inside it.

    Parameters
    ----------
    X : (n, p) array
        The table.
    grid : BinGrid
        The same in bins.
    items : Items
        The dense bins.
    clusters : list of UnitCluster
        Clusters of dense units of few columns.
    found : Candidates
        What they tell, and their rows.
    min_rows : int
        Fewest rows of a cluster.
    watch : Watch
        Knows when the time is up.

    Returns
    -------
    list of (Box, Box)
        The boxes, and what each was before it was fitted. None is the union, or the intersection,
        of others.
    """
    score = interest(found, len(X))
    order = np.argsort(-score, kind="stable")
    order = order[score[order] > 0]
    search = _Search(X, grid, items, max(min_rows, int(LEAST_SHARE * len(X))))
    for first in range(0, len(order), BATCH):
        watch.step("boxes", first, len(order))
        if first and watch.out_of_time():
            break
        batch = order[first : first + BATCH].tolist()
        for i, rows in zip(batch, found.rows(batch), strict=True):
            if search.is_new(clusters[i].columns, rows, int(found.sizes[i])):
                search.around(clusters[i])
    staying = without_unions(X, search.boxes)
    boxes = [search.boxes[k] for k in staying]
    return [(boxes[k], search.seeds[staying[k]]) for k in irredundant(X, boxes)]


class _Search:
    """The boxes found so far, and the cells they use up."""

    def __init__(
        self,
        X: FloatArray,
        grid: BinGrid,
        items: Items,
        min_rows: int,
    ) -> None:
        self.X, self.grid, self.items = X, grid, items
        self.packed = items.pack(grid.bins, np.arange(grid.n_rows, dtype=np.int32))
        self.min_rows = min_rows
        self.scales = feature_scales(X)
        self.free = FreeCells(*X.shape)
        self.boxes: list[Box] = []
        self.seeds: list[Box] = []

    def is_new(self, columns: Subspace, rows: BitArray, size: int) -> bool:
        """Whether enough rows are in no box with one of the columns."""
        free = np.bitwise_and.reduce(self.free.by_feature[list(columns)], axis=0)
        return bool(count(rows & free) >= max(self.min_rows, NEW * size))

    def around(self, cluster: UnitCluster) -> None:
        """Fit a box to the rows of some units, and to the clusters inside it."""
        X, free = self.X, self.free
        seed = self._box_of(cluster.columns, cluster.units)
        eligible = free.rows_free_in(seed.features)
        box = self._refined(seed, eligible)
        found = int((eligible & hold(X, box)).sum())
        if not beats_chance(X, box, found, len(free.rows()), self.scales):
            return
        box = self._use(spread_box(X, box, self.scales), seed)
        # A box that was fitted to another cluster than it came from would come again.
        origin = hold(X, seed)
        again = origin & free.rows_free_in(seed.features)
        if 2 * again.sum() > (origin & eligible).sum():
            free.use(again, seed.features)
        self._inside(box)

    def _inside(self, outer: Box) -> None:
        """Find clusters that are a part of a box and have further features."""
        rows = hold(self.X, outer)
        within, size, n_rows = pack(rows), int(rows.sum()), len(self.X)
        counts = intersection_counts(self.packed, within)
        elsewhere = (count(self.packed) - counts + 1) / (n_rows - size + 2)
        bits = information(counts / size, elsewhere, size)
        bits[np.isin(self.items.column, outer.features)] = 0.0
        bits[counts < CONCENTRATION * elsewhere * size] = 0.0
        trials = 0
        for i in np.argsort(-bits, kind="stable"):
            if bits[i] <= math.log2(len(self.items)) + MARGIN or trials == TRIALS:
                return
            free = self.free.by_feature[self.items.column[i]]
            if count(self.packed[i] & within & free) < max(self.min_rows, NEW * counts[i]):
                continue
            trials += 1
            part = self._box_of((int(self.items.column[i]),), self.items.value[[[i]]])
            start = _joined(outer, part)
            inner = self._refined(start, rows)
            if self._is_more(inner, outer, rows):
                trials = 0
                self._inside(self._use(spread_box(self.X, inner, self.scales), start))

    def _is_more(self, inner: Box, outer: Box, rows: BoolArray) -> bool:
        """Whether a box inside another one has further features by more than chance."""
        new = ~np.isin(inner.features, outer.features)
        further = inner.features[new]
        members = rows & hold(self.X, inner)
        found, size = int(members.sum()), int(rows.sum())
        if found < self.min_rows or len(further) == 0 or 2 * (~new).sum() < len(outer.features):
            return False
        if (members & self.free.rows_free_in(further)).sum() < NEW * found:
            return False
        part = Box(further, inner.low[new], inner.high[new])
        expected = share_by_chance(self.X, ~rows, part, self.scales)
        saved = bits_of_share(found / size, expected, size)
        n_rows, n_columns = self.X.shape
        cost = len(further) * math.log2(n_columns) + 2 * math.log2(n_rows) + MARGIN
        return found >= CONCENTRATION * expected * size and saved > cost

    def _refined(self, seed: Box, eligible: BoolArray) -> Box:
        return refine_box(self.X, eligible, seed, self.scales, max(2, self.min_rows // 2))

    def _use(self, box: Box, seed: Box) -> Box:
        self.boxes.append(box)
        self.seeds.append(seed)
        self.free.use(hold(self.X, box), box.features)
        return box

    def _box_of(self, columns: Subspace, units: NDArray[np.integer]) -> Box:
        edges = [self.grid.edges[j] for j in columns]
        low = [limits[b] for limits, b in zip(edges, units.min(axis=0), strict=True)]
        high = [limits[b + 1] for limits, b in zip(edges, units.max(axis=0), strict=True)]
        return Box(np.array(columns), np.array(low), np.array(high))


def without_unions(table: FloatArray, boxes: list[Box]) -> list[int]:
    """Leave out the boxes that are but several others seen at once.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    boxes : list of Box
        The boxes found.

    Returns
    -------
    list of int
        The boxes that stay, in their order. A box goes if boxes with more features, whose rows
        are mostly in it, cover most of its cells.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.refinement import Box
    >>> from subscape.finders.axis.mafia.fitted_units import without_unions
    >>> table = np.random.default_rng(0).uniform(size=(500, 2))
    >>> left = Box(np.arange(2), np.array([0.0, 0.0]), np.array([0.5, 1.0]))
    >>> right = Box(np.arange(2), np.array([0.5, 0.0]), np.array([1.0, 1.0]))
    >>> both = Box(np.array([1]), np.zeros(1), np.ones(1))
    >>> without_unions(table, [both, left, right]), without_unions(table, [both, left])
    ([1, 2], [0, 1])
    """
    inside = [hold(table, box) for box in boxes]
    staying = list(range(len(boxes)))
    for k in sorted(staying, key=lambda k: len(boxes[k].features)):
        finer = [
            other
            for other in staying
            if len(boxes[other].features) > len(boxes[k].features)
            and (inside[other] & inside[k]).sum() >= COVERED * inside[other].sum()
        ]
        covered = covered_cells(boxes, inside, k, finer)
        if len(covered) == 0 or covered.mean() >= COVERED:
            staying.remove(k)
    return staying


def _joined(a: Box, b: Box) -> Box:
    """The intersection of boxes that have no feature in common."""
    features = np.concatenate([a.features, b.features])
    order = np.argsort(features)
    low, high = np.concatenate([a.low, b.low]), np.concatenate([a.high, b.high])
    return Box(features[order], low[order], high[order])
