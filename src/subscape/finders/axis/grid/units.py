"""Units of a grid: count the rows in them, enumerate the dense ones, join neighbours.

An *item* is one bin of one column, given as the packed set of the rows in it (see
:mod:`subscape.arrays.bitsets`); a *unit* is a set of items of different columns, and its rows are
those in all of its items. A unit is *dense* if it has as many rows as each of its items asks for.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subscape.arrays.backend import compiled
from subscape.arrays.bitsets import WORD, count, pack
from subscape.core.types import BitArray, BoolArray, IntArray

__all__ = [
    "ClosedUnits",
    "Refined",
    "closed_units",
    "count_units",
    "face_components",
    "pack_items",
    "refine_units",
]


#: Entries of the temporary array in which the NumPy version of count_units intersects sets.
CHUNK = 1 << 22


@compiled("_units")
def pack_items(
    bins: NDArray[np.uint16],
    rows: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.int32],
) -> BitArray:
    """Pack the rows of each item.

    Parameters
    ----------
    bins : (p, n) array of uint16
        The bin of every row in every column.
    rows : (r,) array of int32
        The rows to look at; row ``rows[i]`` becomes bit ``i``.
    column, value : (m,) array of int32
        The column and the bin of each item; no two items are equal.

    Returns
    -------
    (m, ceil(r / 64)) array of uint64
        The packed rows of each item.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.units import pack_items
    >>> bins = np.array([[0, 1, 1], [2, 2, 2]], dtype=np.uint16)
    >>> every = np.arange(3, dtype=np.int32)
    >>> pack_items(bins, every, np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    array([[6],
           [7]], dtype=uint64)
    """
    packed = np.empty((len(column), -(-len(rows) // WORD)), dtype=np.uint64)
    for j in np.unique(column):
        items = np.flatnonzero(column == j)
        packed[items] = pack(bins[j, rows] == value[items, None])
    return packed


class Refined(NamedTuple):
    """The dense units of a subspace with one more column, and the rows in them."""

    rows: NDArray[np.int32]
    unit: NDArray[np.int32]  # the unit of each of the rows
    parent: NDArray[np.int32]  # the unit that each unit refines
    value: NDArray[np.int32]  # its bin in the new column
    counts: IntArray


@compiled("_units")
def refine_units(
    bins: NDArray[np.uint16],
    rows: NDArray[np.int32],
    unit: NDArray[np.int32],
    unit_least: IntArray,
    bin_least: IntArray,
) -> Refined:
    """Cut units by the bins of one more column and keep the dense ones.

    Parameters
    ----------
    bins : (n,) array of uint16
        The bin of every row in the new column.
    rows, unit : (r,) array of int32
        The rows in dense units so far, and the unit of each of them.
    unit_least : (u,) array of int64
        Fewest rows that each unit so far asks for.
    bin_least : (b,) array of int64
        Fewest rows that each bin of the new column asks for; positive.

    Returns
    -------
    Refined
        The rows that are left, their units, and for each unit its parent, its bin and its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.units import refine_units
    >>> rows = np.arange(4, dtype=np.int32)
    >>> found = refine_units(np.array([0, 1, 1, 1], dtype=np.uint16), rows,
    ...                      np.zeros(4, dtype=np.int32), np.array([2]), np.array([2, 2]))
    >>> found.rows, found.value, found.counts
    (array([1, 2, 3], dtype=int32), array([1], dtype=int32), array([3]))
    """
    n_bins = len(bin_least)
    key = unit.astype(np.int64) * n_bins + bins[rows]
    counts = np.bincount(key, minlength=len(unit_least) * n_bins)
    dense = np.flatnonzero(counts >= np.maximum(unit_least[:, None], bin_least).ravel())
    number = np.full(len(counts), -1, dtype=np.int32)
    number[dense] = np.arange(len(dense), dtype=np.int32)
    refined = number[key]
    kept = refined >= 0
    return Refined(
        rows[kept],
        refined[kept],
        (dense // n_bins).astype(np.int32),
        (dense % n_bins).astype(np.int32),
        counts[dense].astype(np.int64),
    )


@compiled("_units")
def count_units(items: BitArray, units: NDArray[np.int32]) -> IntArray:
    """Count the rows of each unit.

    Parameters
    ----------
    items : (m, w) array of uint64
        The packed rows of each item.
    units : (u, k) array of int32
        The items of each unit. Fastest if units with the same first items follow each other.

    Returns
    -------
    (u,) array of int64
        How many rows are in all items of the unit.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bitsets import pack
    >>> from subscape.finders.axis.grid.units import count_units
    >>> items = pack([[True, True, False], [True, True, True], [False, True, True]])
    >>> count_units(items, np.array([[0, 1], [0, 2]], dtype=np.int32))
    array([2, 1])
    """
    n_units, size = units.shape
    counts = np.empty(n_units, dtype=np.int64)
    step = max(1, CHUNK // max(1, size * items.shape[1]))
    for first in range(0, n_units, step):
        rows = np.bitwise_and.reduce(items[units[first : first + step]], axis=1)
        counts[first : first + step] = count(rows)
    return counts


class ClosedUnits(NamedTuple):
    """Dense units that no further item contains, in the order in which they are met."""

    starts: IntArray  # (u + 1,): where the items of each unit begin
    items: NDArray[np.int32]
    counts: IntArray
    maximal: BoolArray  # no dense unit has more items
    n_counted: int  # units whose rows were counted
    complete: bool  # False if a limit ended the search


@compiled("_units")
def closed_units(
    items: BitArray,
    least: IntArray,
    root: int,
    max_counted: int,
    seconds: float,
) -> ClosedUnits:
    """Enumerate the closed dense units whose first item is ``root``.

    A unit is closed if every item that contains all its rows belongs to it, or would make it
    sparse. The dense units of a cluster in ``d`` columns number ``2 ** d``, the closed ones of
    them are few, and every dense unit has the rows of a closed one. The search extends units item
    by item and drops a unit that an earlier item contains: it is met elsewhere (Uno et al. 2004,
    LCM version 2).

    Parameters
    ----------
    items : (m, w) array of uint64
        The packed rows of each item, in descending order of ``least``; no rows but those of the
        root need to be there. Items of the same column must not share rows.
    least : (m,) array of int64
        Fewest rows that a dense unit with this item may have; positive.
    root : int
        The first item of the units.
    max_counted : int
        Most units whose rows are counted.
    seconds : float
        Longest time to search.

    Returns
    -------
    ClosedUnits
        The closed units (with ``root``), their counts, and whether the search was complete.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bitsets import pack
    >>> from subscape.finders.axis.grid.units import closed_units
    >>> items = pack([[True, True, True, False], [True, True, False, False],
    ...               [True, True, False, False]])
    >>> found = closed_units(items, np.full(3, 2), 0, 100, 60.0)
    >>> np.split(found.items, found.starts[1:-1]), found.counts
    ([array([0], dtype=int32), array([0, 1, 2], dtype=int32)], array([3, 2]))
    """
    search = _Search(items, least, root, max_counted, time.monotonic() + seconds)
    rows = items[root]
    size = int(count(rows))
    if size >= least[root]:
        others = np.array([k for k in range(len(items)) if k != root], dtype=np.int64)
        search.visit([root], rows, size, root, others)
    starts = np.cumsum([0, *(len(unit) for unit in search.units)]).astype(np.int64)
    return ClosedUnits(
        starts,
        np.array([k for unit in search.units for k in unit], dtype=np.int32),
        np.array(search.counts, dtype=np.int64),
        np.array(search.maximal, dtype=bool),
        search.n_counted,
        search.complete,
    )


class _Search:
    """The depth-first search of :func:`closed_units`."""

    def __init__(
        self,
        items: BitArray,
        least: IntArray,
        root: int,
        max_counted: int,
        deadline: float,
    ) -> None:
        self.items, self.least, self.root = items, least, root
        self.minimum = int(least[root])
        self.max_counted, self.deadline = max_counted, deadline
        self.units: list[list[int]] = []
        self.counts: list[int] = []
        self.maximal: list[bool] = []
        self.n_counted = 0
        self.complete = True

    def visit(
        self, unit: list[int], rows: BitArray, size: int, last: int, others: IntArray
    ) -> None:
        """Close the unit, report it, and extend it by each item after ``last``.

        ``others`` are the items that share enough rows with the unit before its last item came in.
        """
        if self.n_counted + len(others) > self.max_counted or time.monotonic() > self.deadline:
            self.complete = False
            return
        self.n_counted += len(others)
        shared = count(self.items[others] & rows)
        # Items asking for more rows than the root belong to the branches of earlier roots: they
        # tell whether the unit is closed or maximal here, but a sparser extension may be closed.
        asked = np.maximum(self.least[others], self.minimum)
        contained = others[(shared == size) & (asked <= size)]
        earlier = contained[contained < last]
        if (self.least[earlier] <= self.minimum).any():
            return
        closure = contained[contained > last].tolist()
        unit = unit + closure
        dense = shared >= asked
        dense[np.isin(others, closure)] = False
        if not len(earlier):
            self.units.append(sorted(unit))
            self.counts.append(size)
            self.maximal.append(not dense.any())
        remaining = others[dense]
        for item in remaining[remaining > last].tolist():
            narrower = self.items[item] & rows
            self.visit(
                [*unit, item], narrower, int(count(narrower)), item, remaining[remaining != item]
            )


@compiled("_units")
def face_components(units: NDArray[np.int32]) -> NDArray[np.int32]:
    """Group units of one subspace that hang together by common faces.

    Two units are neighbours if they are one step apart in one column and equal in all others.

    Parameters
    ----------
    units : (u, d) array of int32
        The bin of each unit in each column; no two units are equal.

    Returns
    -------
    (u,) array of int32
        The group of each unit, numbered in the order of their first units.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.units import face_components
    >>> face_components(np.array([[0, 0], [5, 5], [0, 1], [1, 2]], dtype=np.int32))
    array([0, 1, 0, 2], dtype=int32)
    """
    n_units, n_columns = units.shape
    left, right = [], []
    for j in range(n_columns):
        order = np.lexsort(np.column_stack([units[:, j], np.delete(units, j, axis=1)]).T)
        step = np.diff(units[order], axis=0)
        touch = np.flatnonzero((np.abs(step).sum(axis=1) == 1) & (step[:, j] == 1))
        left.append(order[touch])
        right.append(order[touch + 1])
    pairs = (np.concatenate(left), np.concatenate(right))
    graph = coo_array((np.ones(len(pairs[0])), pairs), shape=(n_units, n_units))
    labels = connected_components(graph, directed=False)[1]
    _, first = np.unique(labels, return_index=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[labels]
