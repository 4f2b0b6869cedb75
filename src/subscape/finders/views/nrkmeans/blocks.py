"""Nr-Kmeans over the rows of a long table, block by block.

A step is one pass: each block is assigned, and its sums are added to those of the blocks before.
Of all rows only the labels are held, a byte for each row and view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, ordered_sum
from subscape.core.types import FloatArray, IntArray

from .kernel import CellSums
from .steps import (
    Bases,
    Groups,
    Scoring,
    Solution,
    by_view,
    explained_scatter,
    nearest,
    summed_up,
    sums_of_rows,
    turn,
)


class BlockTable:
    """A table of many rows as the steps see it; iterating gives blocks with the rows they are.

    Parameters
    ----------
    blocks : Blocks
        Centred, most values about 1.
    lift : (p, r) array, optional
        Directions to look in; the features themselves by default.
    dtype : float32 or float64
        In which the rows are multiplied, that of the blocks by default; sums run in float64.
    """

    def __init__(self, blocks: Blocks, lift: FloatArray | None = None, dtype: Any = None) -> None:
        self.blocks, self.lift = blocks, lift
        self.dtype = np.dtype(blocks.dtype if dtype is None else dtype)
        self.shape = (len(blocks), blocks.shape[1] if lift is None else lift.shape[1])
        #: Asked after every step; True ends them.
        self.out_of_time: Callable[[], bool] = lambda: False

    def __iter__(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for rows, block in self.blocks:
            inside = block if self.lift is None else block @ self.lift
            yield rows, inside.astype(self.dtype, copy=False)

    def inside(self, basis: FloatArray) -> Projected:
        """The rows in some directions, block by block."""
        return Projected(self, basis)

    @cached_property
    def square(self) -> float:
        """Sum of the squares of all values; one pass."""
        return float(ordered_sum(_sum_of_squares(block) for _, block in self))

    def squares(self, directions: FloatArray) -> FloatArray:
        """Sum of the squares along each direction; one pass."""
        inside = self.inside(directions)
        return ordered_sum(np.einsum("ij,ij->j", block, block) for _, block in inside)


def _sum_of_squares(block: NDArray[Any]) -> float:
    return float(np.einsum("ij,ij->", block, block, dtype=np.float64))


class Projected:
    """The blocks of a table in some directions, in float64, any number of times."""

    def __init__(self, table: BlockTable, basis: FloatArray) -> None:
        self._table, self._basis = table, np.ascontiguousarray(basis, dtype=table.dtype)

    def __iter__(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows, block in self._table:
            yield rows, np.asarray(block @ self._basis, dtype=np.float64)


def iterate_in_blocks(
    table: BlockTable,
    bases: Bases,
    centres: tuple[FloatArray, ...],
    noise: bool,
    least: float,
    max_iter: int,
    turning: bool = True,
) -> Solution:
    """Assign, move and turn until no label changes; see ``view_kmeans.iterate``."""
    sizes = tuple(len(centre) for centre in centres)
    # A negative number, as long as there is no label.
    labels = np.full((table.shape[0], len(sizes)), -1, dtype=np.min_scalar_type(-max(sizes)))
    groups, moved = Groups((), (), ()), set[Moved]()
    steps, converged, lost = 0, False, False
    while steps < max_iter and not converged and not lost:
        if steps and table.out_of_time():
            break
        steps += 1
        step = pass_over(table, Scoring.of(bases, centres, table.dtype), sizes, labels)
        if step.n_changed == 0:
            converged = True
            break
        groups, before = summed_up(step.sums, step.counts), moved
        moved = refilled(table, bases, step, labels)
        if moved:
            groups = summed_up(step.sums, step.counts)
            # Rows that left their clusters empty and were put back: nothing has changed.
            converged = moved == before and step.n_changed == len(moved)
        if turning:
            bases = turn(bases, groups.factors, noise, least)
        centres, lost = groups.centres, any(basis.shape[1] == 0 for basis in bases)
    value = explained_scatter(bases, groups.factors)
    return Solution(labels, bases, groups, value, steps, converged)


class Step(NamedTuple):
    """What one pass adds up."""

    sums: list[FloatArray]
    """(k_j, p) for each view."""
    counts: list[IntArray]
    n_changed: int
    """Labels that differ from the ones before."""


def pass_over(
    table: BlockTable, by: Scoring, sizes: tuple[int, ...], labels: NDArray[np.signedinteger]
) -> Step:
    """Write the new labels over the old ones, and sum the rows of each cluster."""

    def one(rows: slice, block: NDArray[Any]) -> tuple[tuple[CellSums, ...], int]:
        new = nearest(block, by)
        n_changed = int(np.count_nonzero(new != labels[rows]))
        labels[rows] = new
        return sums_of_rows(block, new, sizes), n_changed

    parts, n_changed = ordered_sum(one(rows, block) for rows, block in table)
    return Step(*by_view(parts, sizes), n_changed)


class Moved(NamedTuple):
    """A row that was given to an empty cluster."""

    row: int
    view: int
    cluster: int


def refilled(
    table: BlockTable, bases: Bases, step: Step, labels: NDArray[np.signedinteger]
) -> set[Moved]:
    """Give every empty cluster the row that is farthest from its centre in that view.

    Changes the labels and the sums; takes a pass for every empty cluster.
    """
    moved = set()
    for j, basis in enumerate(bases):
        sums, counts = step.sums[j], step.counts[j]
        for empty in np.flatnonzero(counts == 0):
            centres = (sums / np.maximum(counts, 1)[:, None]) @ basis
            row, values = _farthest(table, basis, centres, counts, labels[:, j])
            if row < 0:
                break  # fewer distinct rows in this view than clusters
            old = labels[row, j]
            sums[old] -= values
            sums[empty] += values
            counts[old] -= 1
            counts[empty] += 1
            labels[row, j] = empty
            moved.add(Moved(row, j, int(empty)))
    return moved


def _farthest(
    table: BlockTable,
    basis: FloatArray,
    centres: FloatArray,
    counts: IntArray,
    own: NDArray[np.signedinteger],
) -> tuple[int, FloatArray]:
    """The row that is farthest from its centre, of clusters with several; -1 if none is away."""
    farthest, found, values = 0.0, -1, np.zeros(table.shape[1])
    turned = np.ascontiguousarray(basis, dtype=table.dtype)
    for rows, block in table:
        away = np.square(block @ turned - centres[own[rows]]).sum(axis=1)
        away[counts[own[rows]] < 2] = -1.0
        row = int(away.argmax())
        if away[row] > farthest:
            farthest, found = float(away[row]), rows.start + row
            values = block[row].astype(np.float64)
    return found, values
