"""What CLIQUE and MAFIA share: dense units of a grid become clusters, some are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.arrays.bitsets import unpack
from subscape.arrays.blocks import Blocks
from subscape.core.types import BitArray, FloatArray, IntArray
from subscape.finders.axis.candidates import TURN_INTO_CLUSTERS, used_up
from subscape.finders.axis.selection import (
    Candidates,
    interest,
    log2_choose,
    nonredundant,
    to_clustering,
)
from subscape.finders.base import Found, SubspaceFinder, Watch

from .bins import BinGrid, Items, Subspace, UnitCluster, clusters_in, dense_items

__all__ = [
    "GridFinder",
    "as_candidates",
    "box_text",
    "boxes_in_values",
    "clusters_of_all_units",
    "minimal_boxes",
]


class GridFinder(SubspaceFinder):
    """Base of the finders that look for dense units of a grid."""

    _centred = False  # limits of boxes are values of the table as it was given
    _streams = True
    _streams_devices = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "report": [StrOptions({"nonredundant", "maximal", "all"})],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_dims": [Interval(Integral, 1, None, closed="left"), None],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    report: str
    max_clusters: int | None
    max_dims: int | None
    max_candidates: int

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        grid = self._grid(X)
        items = dense_items(grid)
        clusters = self._clusters(grid, items, watch) if len(items) else []
        return self._reported(X, grid, items, clusters, watch)

    def _grid(self, X: FloatArray | Blocks) -> BinGrid:
        """Cut the columns into bins."""
        raise NotImplementedError

    def _clusters(self, grid: BinGrid, items: Items, watch: Watch) -> list[UnitCluster]:
        """Find the clusters to choose from."""
        raise NotImplementedError

    def describe(self, cluster: int) -> str:
        """Say in words where a cluster lies: boxes joined by "or", their sides by "and".

        Parameters
        ----------
        cluster : int
            Number of the cluster.

        Returns
        -------
        str
            The description, with the names of the features or ``x0``, ``x1``, …
        """
        check_is_fitted(self)
        names = self.clustering_.feature_names
        features = self.clustering_.cluster(cluster).features
        labels = [names[f] if names else f"x{f}" for f in features]
        return box_text(self.boxes_[cluster], labels)

    def _reported(
        self,
        X: FloatArray | Blocks,
        grid: BinGrid,
        items: Items,
        clusters: list[UnitCluster],
        watch: Watch,
    ) -> Found:
        """Choose among the clusters and describe the chosen ones."""
        found = as_candidates(grid, items, clusters)
        score = interest(found, grid.n_rows)
        if self.report == "nonredundant":
            chosen = nonredundant(X, found, self.max_clusters, watch)
        else:
            chosen = np.argsort(-score, kind="stable")[: self.max_clusters].tolist()
        # The last bin ends just above the largest value, so that no box holds its upper limits.
        limits = [np.append(edges[:-1], np.nextafter(edges[-1], np.inf)) for edges in grid.edges]
        boxes = [
            boxes_in_values(
                minimal_boxes(clusters[i].units), [limits[j] for j in clusters[i].columns]
            )
            for i in chosen
        ]
        clustering = to_clustering(
            [np.flatnonzero(unpack(found.rows([i])[0], grid.n_rows)) for i in chosen],
            [clusters[i].columns for i in chosen],
            X.shape,
        )
        return Found(
            clustering,
            n_iter=max((len(cluster.columns) for cluster in clusters), default=1),
            attributes={
                "boxes_": boxes,
                "units_": [clusters[i].units for i in chosen],
                "unit_counts_": [clusters[i].counts for i in chosen],
                "interest_": score[chosen],
            },
        )


def as_candidates(grid: BinGrid, items: Items, clusters: list[UnitCluster]) -> Candidates:
    """Clusters to choose from, with the bits it takes to say where they are."""
    first = np.concatenate([[0], np.cumsum([len(counts) for counts in grid.counts])])
    share = np.concatenate(grid.counts) / grid.n_rows
    width = np.concatenate([np.diff(edges) / (edges[-1] - edges[0]) for edges in grid.edges])
    bits = np.log2([len(counts) for counts in grid.counts])
    bins = [first[list(cluster.columns)] + cluster.units for cluster in clusters]
    # A cluster is more than independent columns and denser than evenly spread rows; a single column
    # has nothing to be independent of.
    expected = [
        max(width[cells].prod(axis=1).sum(), share[cells].prod(axis=1).sum() * (cells.shape[1] > 1))
        for cells in bins
    ]
    cost = [
        log2_choose(grid.n_columns, len(cluster.columns))
        + len(cluster.units) * bits[list(cluster.columns)].sum()
        for cluster in clusters
    ]
    return Candidates(
        [cluster.columns for cluster in clusters],
        np.array([cluster.counts.sum() for cluster in clusters], dtype=np.int64),
        np.array(expected, dtype=np.float64),
        np.array(cost, dtype=np.float64),
        _row_finder(grid, items, first, bins),
    )


def _row_finder(
    grid: BinGrid, items: Items, first: IntArray, bins: Sequence[NDArray[np.integer]]
) -> Callable[[Sequence[int]], BitArray]:
    """Packed rows of clusters, made when they are asked for: all at once would fill the memory."""
    packed = items.pack(grid.bins, np.arange(grid.n_rows, dtype=np.int32))
    item_of = np.full(first[-1], -1, dtype=np.int64)
    item_of[first[items.column] + items.value] = np.arange(len(items))

    def rows(batch: Sequence[int]) -> BitArray:
        result = np.zeros((len(batch), packed.shape[1]), dtype=np.uint64)
        for position, i in enumerate(batch):
            for unit in item_of[bins[i]]:
                result[position] |= np.bitwise_and.reduce(packed[unit], axis=0)
        return result

    return rows


def clusters_of_all_units(
    grid: BinGrid, subspaces: list[Subspace], watch: Watch
) -> list[UnitCluster]:
    """Clusters of the dense units of these subspaces, as far as the time allows."""

    def in_time() -> Iterator[Subspace]:
        for number, columns in enumerate(subspaces):
            if number % 64 == 0:
                watch.step("clusters of subspaces", number, len(subspaces))
                if number and used_up(watch, TURN_INTO_CLUSTERS):
                    return
            yield columns

    return list(clusters_in(grid, in_time()))


# -- describe a cluster of units by few boxes ------------------------------------------------------


Unit = tuple[int, ...]
Box = tuple[tuple[int, int], ...]


def minimal_boxes(units: NDArray[np.integer]) -> IntArray:
    """Cover units by boxes, none of which can grow or be left out.

    From every unit not covered yet, in lexicographic order, a box grows as far as the units allow,
    one column after the other. Then boxes that the others cover are removed, small ones first.

    Parameters
    ----------
    units : (u, d) array of int
        The bin of each unit in each column.

    Returns
    -------
    (b, d, 2) array of int
        First bin, and the one after the last, of each box in each column. The boxes may overlap;
        together they hold all the units and nothing else.

    Examples
    --------
    An L of three units is two boxes with the corner in common:

    >>> import numpy as np
    >>> from subscape.finders.axis.grid.finder import minimal_boxes
    >>> minimal_boxes(np.array([[0, 0], [0, 1], [1, 0]])).tolist()
    [[[0, 2], [0, 1]], [[0, 1], [0, 2]]]
    """
    if len(units) == 1:
        return np.stack([units, units + 1], axis=-1).astype(np.int64)
    members = {tuple(unit) for unit in units.tolist()}
    covers: dict[Unit, int] = dict.fromkeys(members, 0)
    boxes: list[Box] = []
    for unit in sorted(members):
        if covers[unit] == 0:
            box = _grown(unit, members)
            boxes.append(box)
            for inside in _units_of(box):
                covers[inside] += 1
    for box in sorted(boxes, key=lambda box: (_n_units(box), box)):
        held = list(_units_of(box))
        if min(covers[unit] for unit in held) > 1:
            boxes.remove(box)
            for unit in held:
                covers[unit] -= 1
    return np.array(boxes, dtype=np.int64).reshape(len(boxes), units.shape[1], 2)


def boxes_in_values(boxes: IntArray, edges: Sequence[FloatArray]) -> FloatArray:
    """Turn bins into values: the lower and upper limit of each box in each column.

    Parameters
    ----------
    boxes : (b, d, 2) array of int
        Boxes as :func:`minimal_boxes` gives them.
    edges : sequence of d arrays
        The limits of each column's bins.

    Returns
    -------
    (b, d, 2) array of float
        Lower and upper limits.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.finder import boxes_in_values
    >>> boxes_in_values(np.array([[[0, 2]]]), [np.array([0.0, 0.5, 1.0, 1.5])])
    array([[[0., 1.]]])
    """
    return np.stack([limits[boxes[:, j]] for j, limits in enumerate(edges)], axis=1)


def box_text(boxes: FloatArray, names: Sequence[str]) -> str:
    """Say in words which values a cluster has.

    Parameters
    ----------
    boxes : (b, d, 2) array of float
        The limits of the boxes.
    names : sequence of d str
        The names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.finder import box_text
    >>> box_text(np.array([[[0.0, 1.0], [2.0, 2.5]]]), ["age", "salary"])
    '0 <= age < 1 and 2 <= salary < 2.5'
    """
    terms = [
        " and ".join(
            f"{low:.6g} <= {name} < {high:.6g}"
            for name, (low, high) in zip(names, box.tolist(), strict=True)
        )
        for box in boxes
    ]
    return terms[0] if len(terms) == 1 else " or ".join(f"({term})" for term in terms)


def _grown(unit: Unit, members: set[Unit]) -> Box:
    """Extend a unit to lower and higher bins, column by column.

    One pass makes the box maximal: growing in a later column only makes earlier slabs larger.
    """
    box = [(position, position + 1) for position in unit]
    for j in range(len(box)):
        while _fits(box, j, box[j][0] - 1, members):
            box[j] = (box[j][0] - 1, box[j][1])
        while _fits(box, j, box[j][1], members):
            box[j] = (box[j][0], box[j][1] + 1)
    return tuple(box)


def _fits(box: list[tuple[int, int]], j: int, position: int, members: set[Unit]) -> bool:
    slab = [*box[:j], (position, position + 1), *box[j + 1 :]]
    return all(unit in members for unit in _units_of(slab))


def _units_of(box: Sequence[tuple[int, int]]) -> product[Unit]:
    return product(*(range(first, end) for first, end in box))


def _n_units(box: Box) -> int:
    return int(np.prod([end - first for first, end in box]))
