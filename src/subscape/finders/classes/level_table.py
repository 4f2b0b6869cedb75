"""Tables of levels and numbers as one matrix of indicators, and what a split of its rows tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray

#: A column with at most so many different values holds levels (grades from 1 to 10 do) ...
MOST_LEVELS = 10
#: ... if a level has so many rows on average.
ROWS_PER_LEVEL = 3
#: Jeffreys' prior of the shares of levels and of classes.
JEFFREYS = 0.5
#: Variance within a class over that of class means, a priori: means of classes are told apart by
#: about three spreads within them.
WITHIN = 0.1
LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class LevelTable:
    """A table as indicators of levels beside standardised numbers.

    Attributes
    ----------
    design : array of shape (n_rows, n_levels + 3 n_numbers)
        Indicators of all levels (zero where the cell is missing); then, of the numbers: presence,
        value and squared value (zero where missing).
    levelled, numbers : int arrays
        Columns of the table that hold levels, and those that hold numbers.
    values : tuple of arrays
        The levels of each of the first.
    starts : int array
        Where in ``design`` the indicators of each of them begin.
    centre, scale : arrays
        Of the numbers.
    """

    design: FloatArray
    levelled: IndexArray
    numbers: IndexArray
    values: tuple[FloatArray, ...]
    starts: IndexArray
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: ArrayLike, categorical: Any = "auto") -> LevelTable:
        """Read a table.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            NaN where a cell is missing.
        categorical : "auto", mask or list of column numbers, default="auto"
            Columns that hold codes of levels; the others hold numbers. "auto": those with at most
            10 different values, and at least 3 rows for each on average.

        Examples
        --------
        >>> table = LevelTable.of([[0, 1.5], [1, 2.5], [np.nan, 4.0], [0, 5.5]], categorical=[0])
        >>> table.levelled, table.numbers
        (array([0]), array([1]))
        >>> table.design[:3, :2]
        array([[1., 0.],
               [0., 1.],
               [0., 0.]])
        """
        X = np.asarray(X, dtype=np.float64)
        levelled = columns_of_levels(X, categorical)
        numbers = np.setdiff1d(np.arange(X.shape[1]), levelled)
        found = []
        for j in levelled:
            column = X[:, j]
            found.append(np.unique(column[~np.isnan(column)]))
        known = X[:, numbers]
        present = ~np.isnan(known)
        seen = np.maximum(present.sum(axis=0), 1)
        first = np.nanmin(np.where(present, known, np.inf), axis=0, initial=np.inf)
        first = np.where(np.isfinite(first), first, 0.0)
        known = np.where(present, known - first, 0.0)
        centre = known.sum(axis=0) / seen
        known = np.where(present, known - centre, 0.0)
        scale = np.sqrt(np.square(known).sum(axis=0) / seen)
        scale[scale == 0] = 1.0
        sizes = np.array([len(levels) for levels in found], dtype=np.intp)
        table = cls(
            design=np.empty((len(X), 0)),
            levelled=levelled,
            numbers=numbers,
            values=tuple(found),
            starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
            if len(sizes)
            else np.zeros(0, np.intp),
            centre=first + centre,
            scale=scale,
        )
        return table.like(X)

    def like(self, X: FloatArray) -> LevelTable:
        """Another table with the columns, levels and scales of this one.

        A level that this one doesn't have counts as missing.
        """
        n_levels, q = self.n_levels, len(self.numbers)
        design = np.zeros((len(X), n_levels + 3 * q))
        rows = np.arange(len(X))
        for j, start, levels in zip(self.levelled, self.starts, self.values, strict=True):
            if not len(levels):
                continue
            place = np.minimum(np.searchsorted(levels, X[:, j]), len(levels) - 1)
            here = levels[place] == X[:, j]
            design[rows[here], start + place[here]] = 1.0
        known = (X[:, self.numbers] - self.centre) / self.scale
        present = ~np.isnan(known)
        known[~present] = 0.0
        design[:, n_levels : n_levels + q] = present
        design[:, n_levels + q : n_levels + 2 * q] = known
        design[:, n_levels + 2 * q :] = np.square(known)
        return replace(self, design=design)

    def rows(self, which: Any) -> LevelTable:
        """Some of the rows."""
        return replace(self, design=self.design[which])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.design)

    @cached_property
    def n_levels(self) -> int:
        """Number of levels of all columns together."""
        return sum(len(levels) for levels in self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return len(self.levelled) + len(self.numbers)

    @cached_property
    def sizes(self) -> IndexArray:
        """Number of levels of each column with levels."""
        return np.array([len(levels) for levels in self.values], dtype=np.intp)

    @cached_property
    def of_level(self) -> IndexArray:
        """For each level the place of its column among those with levels."""
        return np.repeat(np.arange(len(self.values)), self.sizes)

    def sums(self, per_level: FloatArray) -> FloatArray:
        """Sums over the levels of each column (first axis)."""
        if not len(self.starts):
            return np.zeros((0, *per_level.shape[1:]))
        return np.asarray(np.add.reduceat(per_level, self.starts, axis=0))

    def in_order(self, per_column: FloatArray) -> FloatArray:
        """What was told of columns with levels, then of numbers, in the order of the table."""
        ordered = np.empty_like(per_column)
        ordered[..., np.concatenate([self.levelled, self.numbers])] = per_column
        return ordered


def columns_of_levels(X: FloatArray, categorical: Any) -> IndexArray:
    """Numbers of the columns that hold codes of levels.

    >>> columns_of_levels(np.array([[0, 0.1], [1, 0.2]] * 3), [1])
    array([1])
    """
    n_columns = X.shape[1]
    if isinstance(categorical, str):
        if categorical != "auto":
            raise SubscapeError(
                f"categorical must be 'auto', a mask or column numbers, got {categorical!r}"
            )
        few = [j for j in range(n_columns) if _are_levels(X[:, j])]
        return np.array(few, dtype=np.intp)
    given = np.asarray(categorical)
    if given.dtype == bool:
        if given.shape != (n_columns,):
            raise SubscapeError(
                f"categorical has shape {given.shape}; a mask needs one entry for each of the "
                f"{n_columns} columns"
            )
        return np.flatnonzero(given)
    columns = np.unique(given.astype(np.intp)) if given.size else np.zeros(0, np.intp)
    if len(columns) and not (columns[0] >= 0 and columns[-1] < n_columns):
        raise SubscapeError(f"categorical names a column beyond the {n_columns} of the table")
    return columns


def _are_levels(column: FloatArray) -> bool:
    present = column[~np.isnan(column)]
    for part in (present[:1000], present):
        n_values = len(np.unique(part))
        if n_values > MOST_LEVELS:
            return False
    return n_values * ROWS_PER_LEVEL <= len(present)


# -- what a split of the rows tells ---------------------------------------------------------------


class Told(NamedTuple):
    """What classes tell about each column: integrated log-likelihoods.

    ``alone`` is that of the column in one piece (n_columns); ``split`` that of its parts in the
    classes (n_columns x ...); in the order levels, numbers.
    """

    alone: FloatArray
    split: FloatArray

    @property
    def gains(self) -> FloatArray:
        """What the split tells of each column, which may as well not depend on the class."""
        gains = self.split - self.alone.reshape(-1, *[1] * (self.split.ndim - 1))
        return np.asarray(np.logaddexp(gains, 0.0) - np.log(2))


def told(table: LevelTable, counts: FloatArray) -> Told:
    """Integrated likelihoods of the columns in one piece and in classes.

    Shares of levels have Jeffreys' prior. Numbers are normal with the conjugate prior worth one
    row of variance and a tenth of a row of mean.

    Parameters
    ----------
    counts : array of shape (n_design, ..., n_classes)
        ``design.T @ memberships``.

    Examples
    --------
    >>> table = LevelTable.of(np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0))
    >>> halves = np.repeat(np.eye(2), 10, axis=0)
    >>> told(table, table.design.T @ halves).gains.round(1)
    array([11.4, 11.4])
    """
    split = evidence(table, counts).sum(axis=-1)
    alone = evidence(table, table.design.sum(axis=0)[:, None])[:, 0]
    return Told(alone, split)


def evidence(table: LevelTable, counts: FloatArray) -> FloatArray:
    """Integrated log-likelihood of each column (first axis) with these counts.

    The columns are in the order levels, numbers.
    """
    n_levels, q = table.n_levels, len(table.numbers)
    shape = counts.shape[1:]
    known = np.empty((table.n_columns, *shape))
    levels = counts[:n_levels]
    own = gammaln(levels + JEFFREYS) - gammaln(JEFFREYS)
    total = (table.sizes * JEFFREYS).reshape(-1, *[1] * len(shape))
    known[: len(table.values)] = table.sums(own)
    known[: len(table.values)] += gammaln(total) - gammaln(total + table.sums(levels))
    if q:
        n = counts[n_levels : n_levels + q]
        seen = np.maximum(n, 1e-12)
        mean = counts[n_levels + q : n_levels + 2 * q] / seen
        scatter = np.maximum(counts[n_levels + 2 * q :] - seen * np.square(mean), 0.0)
        prior = WITHIN / (1 + WITHIN)
        scatter = prior + scatter + WITHIN * n / (WITHIN + n) * np.square(mean)
        known[len(table.values) :] = (
            gammaln((n + 1) / 2)
            - gammaln(0.5)
            + 0.5 * np.log(prior)
            - 0.5 * (n + 1) * np.log(scatter)
            + 0.5 * np.log(WITHIN / (WITHIN + n))
            - 0.5 * n * np.log(np.pi)
        )
    return known


def labels_evidence(sizes: FloatArray) -> FloatArray:
    """Integrated log-likelihood of labels with classes of these sizes (last axis).

    >>> round(float(labels_evidence(np.array([10.0, 10.0]))), 1)
    -15.6
    """
    k = sizes.shape[-1]
    total = sizes.sum(axis=-1)
    own = (gammaln(sizes + JEFFREYS) - gammaln(JEFFREYS)).sum(axis=-1)
    return np.asarray(own + gammaln(k * JEFFREYS) - gammaln(total + k * JEFFREYS))


def memberships_of(labels: Sequence[int] | NDArray[Any]) -> FloatArray:
    """Memberships (rows x classes) of labels; noise, if any, is the last class.

    >>> memberships_of([3, 3, -1])
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    labels = np.asarray(labels)
    numbers = np.unique(labels[labels >= 0])
    inside = labels[:, None] == numbers
    if (labels < 0).any():
        inside = np.column_stack([inside, labels < 0])
    return inside.astype(np.float64)
