"""Which subspaces of a grid hold dense units: all of them, or those that say something new."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bitsets import count
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.axis.candidates import (
    SEARCH,
    candidates,
    n_joins,
    seconds_for,
    too_many,
    used_up,
)
from subscape.finders.axis.selection import information
from subscape.finders.base import Watch

from .bins import BinGrid, Items, Subspace
from .units import ClosedUnits, closed_units, count_units

__all__ = ["Units", "closed_search", "levelwise_search", "mdl_cut", "only_largest"]


REMEDY = "raise the density threshold"


class Units(NamedTuple):
    """Units by subspace: for each subspace the bins of its units and their rows."""

    subspaces: list[Subspace]
    """In lexicographic order."""
    terminal: dict[Subspace, tuple[NDArray[np.int32], IntArray]]
    """The units that no denser-dimensional unit refines, and their counts."""


def closed_search(
    grid: BinGrid, items: Items, *, only_informative: bool, max_candidates: int, watch: Watch
) -> Units:
    """Find the subspaces that hold closed dense units, depth first.

    A unit is closed if no further bin contains all its rows. A cluster in ``d`` columns has dense
    units in ``2 ** d`` subspaces, but closed ones in few, so that also clusters in many columns
    can be found; every dense unit has exactly the rows of a closed one in a larger subspace.

    With ``only_informative``, subspaces are left out in which no closed unit needs all of its
    bins, that is, where one of them is about as frequent among the rows of the others as among
    all rows: such a unit is a slice of another one along an irrelevant column.
    """
    found: set[bytes] = set()
    terminal: dict[bytes, list[tuple[NDArray[np.int32], int]]] = {}
    everything = items.pack(grid.bins, np.arange(grid.n_rows, dtype=np.int32))
    left = max_candidates
    for root in range(len(items)):
        watch.step("dense units", root, len(items))
        if used_up(watch, SEARCH):
            break
        column, value = items.column[root], items.value[root]
        rows = np.flatnonzero(grid.bins[column] == value).astype(np.int32)
        # No branch may use up the whole budget, so that the others are seen at all.
        share = left if root == len(items) - 1 else left // 2
        within = items.pack(grid.bins, rows)
        branch = closed_units(
            within,
            items.least,
            root,
            max(share, len(items)),
            seconds_for(watch, SEARCH),
        )
        left -= branch.n_counted
        if not branch.complete and not used_up(watch, SEARCH):
            too_many(watch, max_candidates, "units counted", REMEDY)
        columns, values = _by_column(items, branch.starts, branch.items)
        kept = np.ones(len(branch.counts), dtype=bool)
        if only_informative:
            kept = _needs_all_bins(branch, within, everything)
        for u in np.flatnonzero(kept):
            span = slice(branch.starts[u], branch.starts[u + 1])
            key = columns[span].tobytes()
            found.add(key)
            if branch.maximal[u]:
                unit = (values[span], int(branch.counts[u]))
                terminal.setdefault(key, []).append(unit)
        if left <= 0:
            break
    subspaces = {key: _subspace(key) for key in found}
    return Units(
        sorted(subspaces.values()),
        {
            subspaces[key]: (np.array([unit for unit, _ in units]), np.array([n for _, n in units]))
            for key, units in terminal.items()
        },
    )


def levelwise_search(
    grid: BinGrid,
    items: Items,
    *,
    max_dims: int | None,
    prune: bool,
    max_candidates: int,
    watch: Watch,
) -> list[Subspace]:
    """Find all subspaces that hold dense units, from few columns to many.

    With ``prune``, subspaces that cover few rows are dropped at every level from the second on,
    by :func:`mdl_cut`, and nothing is built upon them.
    """
    packed = items.pack(grid.bins, np.arange(grid.n_rows, dtype=np.int32))
    units = np.arange(len(items), dtype=np.int32)[:, None]
    found = [(int(column),) for column in np.unique(items.column)]
    counted = 0
    while len(units) and (max_dims is None or units.shape[1] < max_dims):
        watch.step("columns per unit", units.shape[1])
        counted += n_joins(units)
        if used_up(watch, SEARCH):
            break
        if counted > max_candidates:
            too_many(watch, max_candidates, "units counted", REMEDY)
            break
        units = candidates(units, items.column)
        counts = count_units(packed, units)
        dense = counts >= items.least[units].max(axis=1, initial=0)
        units, counts = units[dense], counts[dense]
        if len(units) == 0:
            break
        subspaces, which = np.unique(
            np.sort(items.column[units], axis=1), axis=0, return_inverse=True
        )
        if prune:
            coverage = np.bincount(which.ravel(), weights=counts).astype(np.int64)
            kept = coverage >= mdl_cut(coverage)
            units = units[kept[which.ravel()]]
            subspaces = subspaces[kept]
        found += [tuple(columns) for columns in subspaces.tolist()]
    return sorted(found)


def mdl_cut(coverage: IntArray) -> int:
    """Smallest coverage that a subspace must have to be kept, by minimum description length.

    Subspaces are sorted by the rows they cover and cut in two so that the code length of both
    parts, each stored as its rounded mean and the differences from it, is least.

    Parameters
    ----------
    coverage : (m,) array of int
        Rows covered by each subspace; at least one subspace.

    Returns
    -------
    int
        The coverage of the last subspace kept. Ties keep more; equal coverages stay together.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.grid.search import mdl_cut
    >>> mdl_cut(np.array([900, 20, 880, 910, 25, 22, 18]))
    880
    """
    descending = np.sort(coverage)[::-1].astype(np.float64)
    total = np.cumsum(descending)
    m = len(descending)
    best, cut = np.inf, descending[-1]
    for kept in range(1, m + 1):
        if kept < m and descending[kept] == descending[kept - 1]:
            continue
        length = _code_length(descending[:kept], total[kept - 1])
        if kept < m:
            length += _code_length(descending[kept:], total[-1] - total[kept - 1])
        if length <= best:
            best, cut = length, descending[kept - 1]
    return int(cut)


def only_largest(subspaces: list[Subspace]) -> list[Subspace]:
    """Keep the subspaces that are not part of another one, in the given order."""
    holders: dict[int, set[int]] = {}
    largest: set[Subspace] = set()
    for number, columns in enumerate(sorted(subspaces, key=len, reverse=True)):
        if not set.intersection(*(holders.get(column, set()) for column in columns)):
            largest.add(columns)
            for column in columns:
                holders.setdefault(column, set()).add(number)
    return [columns for columns in subspaces if columns in largest]


def _needs_all_bins(branch: ClosedUnits, within: BitArray, everything: BitArray) -> BoolArray:
    """Whether each bin of a unit is more frequent among the rows of its other bins than elsewhere.

    ``within`` holds the rows of the branch's first item only, ``everything`` all rows.
    """
    n_items = len(everything)
    share = count(everything) / count(np.bitwise_or.reduce(everything, axis=0))
    sizes = np.diff(branch.starts)
    kept = np.ones(len(sizes), dtype=bool)
    for size in np.unique(sizes[sizes > 1]):
        which = np.flatnonzero(sizes == size)
        units = branch.items[branch.starts[which, None] + np.arange(size)]
        for position in range(size):
            others = np.ascontiguousarray(np.delete(units, position, axis=1))
            # The first item of every unit is the branch's own.
            rows = count_units(within if position else everything, others)
            gain = information(branch.counts[which] / rows, share[units[:, position]], rows)
            kept[which] &= gain > np.log2(n_items)
    return kept


def _code_length(coverage: FloatArray, total: float) -> float:
    mean = np.ceil(total / len(coverage))
    # Nothing is needed for a difference of 0, of which the paper's logarithm is undefined.
    return float(np.log2(mean) + np.log2(np.maximum(np.abs(coverage - mean), 1.0)).sum())


def _by_column(
    items: Items, starts: IntArray, units: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Columns and bins of the units, each unit's in ascending order of the columns."""
    unit = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((items.column[units], unit))
    return items.column[units[order]], items.value[units[order]]


def _subspace(key: bytes) -> Subspace:
    return tuple(np.frombuffer(key, dtype=np.int32).tolist())
