"""Two labellings of the same rows, read, checked and counted once.

Everything that :mod:`subscape.measures.labels.partitions` computes is a function of one
:class:`LabelTable`: which clusters share how many rows, and how many rows are noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.arrays.contingency import count_pairs
from subscape.arrays.device.array_api import tensor_twin
from subscape.arrays.device.counts import cross_table_on_device
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, UnsupportedKindError, count
from subscape.core.missing import is_missing
from subscape.core.types import FloatArray, IntArray, to_numpy

Noise: TypeAlias = Literal["singletons", "cluster", "drop"]


Labels: TypeAlias = ArrayLike | SubspaceClustering


class PairCounts(NamedTuple):
    """How two partitions treat the pairs of rows; the four add up to n(n-1)/2.

    Attributes
    ----------
    n11 : int
        Pairs together in both.
    n10 : int
        Pairs together in ``a``, apart in ``b``.
    n01 : int
        Pairs apart in ``a``, together in ``b``.
    n00 : int
        Pairs apart in both.

    See Also
    --------
    pair_counts : Makes them.
    """

    n11: int
    n10: int
    n01: int
    n00: int


class Cells(NamedTuple):
    """Non-empty intersections of two clusters; equal ones that involve noise stand together.

    ``rows`` is the size of the intersection, ``size_a`` and ``size_b`` those of the two clusters,
    ``times`` how many such intersections there are.
    """

    rows: FloatArray
    size_a: FloatArray
    size_b: FloatArray
    times: FloatArray


@dataclass(frozen=True, eq=False)
class LabelTable:
    """The confusion table of two partitions, without its zeros and without noise rows.

    Noise rows that count as clusters of one row each would make the table as long as the data.
    They are never laid out: ``lonely_a[i]`` says how many rows of cluster ``i`` of ``a`` are noise
    in ``b``, ``lonely_b`` the converse, ``both_noise`` how many rows are noise in both. All three
    are zero under the other rules for noise.

    Attributes
    ----------
    n_rows : int
        Rows compared.
    row, col, counts : arrays of equal length
        Cluster of ``a``, cluster of ``b``, and the number (above 0) of rows they share.
    sizes_a, sizes_b : arrays
        Cluster sizes.
    lonely_a, lonely_b : arrays
        Rows of each cluster that are clusters of their own on the other side.
    both_noise : int
        Rows that are clusters of their own on both sides.
    """

    n_rows: int
    row: IntArray
    col: IntArray
    counts: IntArray
    sizes_a: IntArray
    sizes_b: IntArray
    lonely_a: IntArray
    lonely_b: IntArray
    both_noise: int

    @cached_property
    def singletons_a(self) -> int:
        """Noise rows of ``a`` that count as clusters of their own."""
        return int(self.lonely_b.sum()) + self.both_noise

    @cached_property
    def singletons_b(self) -> int:
        """Noise rows of ``b`` that count as clusters of their own."""
        return int(self.lonely_a.sum()) + self.both_noise

    @cached_property
    def pairs(self) -> PairCounts:
        """Pairs of rows by where they are together; exact."""
        together = _pairs_within(self.counts)
        only_a = _pairs_within(self.sizes_a) - together
        only_b = _pairs_within(self.sizes_b) - together
        all_pairs = self.n_rows * (self.n_rows - 1) // 2
        return PairCounts(together, only_a, only_b, all_pairs - together - only_a - only_b)

    @property
    def identical(self) -> bool:
        """Whether the two partitions are the same."""
        return self.pairs.n10 == self.pairs.n01 == 0

    @cached_property
    def cells(self) -> Cells:
        """The table's non-zero entries, those of noise rows included."""
        ones_a, ones_b = np.ones(len(self.sizes_a)), np.ones(len(self.sizes_b))
        parts = [
            (self.counts, self.sizes_a[self.row], self.sizes_b[self.col], np.ones(len(self.row))),
            (ones_a, self.sizes_a, ones_a, self.lonely_a),
            (ones_b, ones_b, self.sizes_b, self.lonely_b),
            ([1], [1], [1], [self.both_noise]),
        ]
        rows, size_a, size_b, times = (
            np.concatenate(column).astype(np.float64) for column in zip(*parts, strict=True)
        )
        there = times > 0
        return Cells(rows[there], size_a[there], size_b[there], times[there])


class Crossing(NamedTuple):
    """Rows counted by cluster of ``a`` and of ``b``; number 0 is noise, clusters start at 1."""

    row: IntArray
    col: IntArray
    counts: IntArray
    a_values: Sequence[Any]
    b_values: Sequence[Any]


def label_table(a: Labels, b: Labels, noise: Noise) -> LabelTable:
    """Count two labellings against each other under a rule for noise."""
    if noise not in get_args(Noise):
        raise ValueError(f"noise={noise!r} is not known; choose 'singletons', 'cluster' or 'drop'")
    return table_of(cross(a, b), noise)


def cross(a: Labels, b: Labels) -> Crossing:
    """Read two labellings and count their rows in one pass."""
    a, b = (getattr(given, "clustering_", given) for given in (a, b))  # of fitted finders
    return _cross(a, b)


def _cross_on_device(a: Any, b: Any) -> Any:
    """:func:`cross` of labels that both lie on a device: only the table is copied."""
    found = cross_table_on_device(a, b, max(2**20, a.shape[0]))
    if found is None:
        return NotImplemented
    table = to_numpy(found.table)
    used = [np.flatnonzero(table.sum(axis=axis)[1:]) + 1 for axis in (1, 0)]
    a_values, b_values = (
        (places + (first - 1)).tolist()
        for places, first in zip(used, (found.first_a, found.first_b), strict=True)
    )
    table = table[np.ix_(*(np.append(0, places) for places in used))]
    row, col = np.nonzero(table)
    return Crossing(row, col, table[row, col], a_values, b_values)


@tensor_twin(_cross_on_device)
def _cross(a: Labels, b: Labels) -> Crossing:
    given_a, given_b = _read(a, "a"), _read(b, "b")
    if len(given_a) != len(given_b):
        raise ShapeMismatchError(
            f"a labels {count(len(given_a), 'row')} and b {count(len(given_b), 'row')}; both must "
            "label the same rows (restrict() or embed() bring clusterings to the same rows)"
        )
    _check_row_names(a, b)
    (codes_a, a_values), (codes_b, b_values) = _encode(given_a, "a"), _encode(given_b, "b")
    n_a, n_b = len(a_values) + 1, len(b_values) + 1
    # A table of many tiny clusters is nearly empty: sort the pairs that occur instead.
    if n_a * n_b <= max(2**20, len(codes_a)):
        table = count_pairs(codes_a, codes_b, n_a, n_b)
        row, col = np.nonzero(table)
        return Crossing(row, col, table[row, col], a_values, b_values)
    found, counts = np.unique(codes_a * n_b + codes_b, return_counts=True)
    row, col = np.divmod(found, n_b)
    return Crossing(row, col, counts.astype(np.int64), a_values, b_values)


def table_of(crossing: Crossing, noise: Noise) -> LabelTable:
    """Apply a rule for noise to counted rows."""
    row, col, counts = crossing.row, crossing.col, crossing.counts
    n_a, n_b = len(crossing.a_values) + 1, len(crossing.b_values) + 1
    no_rows = np.zeros(n_a, np.int64), np.zeros(n_b, np.int64)
    if noise == "cluster":
        lonely_a, lonely_b = no_rows
        both_noise = 0
    else:
        noisy_a, noisy_b = row == 0, col == 0
        lonely_a = _sums(row[noisy_b & ~noisy_a], counts[noisy_b & ~noisy_a], n_a)
        lonely_b = _sums(col[noisy_a & ~noisy_b], counts[noisy_a & ~noisy_b], n_b)
        both_noise = int(counts[noisy_a & noisy_b].sum())
        clustered = ~(noisy_a | noisy_b)
        row, col, counts = row[clustered], col[clustered], counts[clustered]
        if noise == "drop":
            if len(counts) == 0:
                rows = int(crossing.counts.sum())
                raise SubscapeError(
                    f"noise='drop' leaves nothing to compare: of {count(rows, 'row')}, every one "
                    "is noise in a or in b; use noise='singletons' or noise='cluster'"
                )
            (lonely_a, lonely_b), both_noise = no_rows, 0
    return LabelTable(
        n_rows=int(counts.sum() + lonely_a.sum() + lonely_b.sum()) + both_noise,
        row=row,
        col=col,
        counts=counts,
        sizes_a=_sums(row, counts, n_a) + lonely_a,
        sizes_b=_sums(col, counts, n_b) + lonely_b,
        lonely_a=lonely_a,
        lonely_b=lonely_b,
        both_noise=both_noise,
    )


def _pairs_within(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _sums(index: IntArray, values: IntArray, length: int) -> IntArray:
    # Sums of row counts stay below 2**53, where float64 is exact.
    return np.bincount(index, weights=values, minlength=length).astype(np.int64)


def _read(given: Labels, name: str) -> NDArray[Any]:
    """Return the label vector of a clustering or of anything like an array."""
    if isinstance(given, SubspaceClustering):
        given = _row_labels(given, name)
    try:
        labels = to_numpy(given)
    except ValueError as error:
        raise ValueError(
            f"{name} is no flat sequence of labels, one per row: {error}; labels that are "
            "sequences themselves need a one-dimensional array of objects"
        ) from error
    if labels.dtype.kind in "US" and labels.ndim == 1 and isinstance(given, Sequence):
        # NumPy turns the list ["x", -1] into two texts, but -1 should stay noise.
        mixed = not all(isinstance(label, str | bytes) for label in given)
        labels = np.fromiter(given, dtype=object, count=len(given)) if mixed else labels
    if labels.ndim != 1:
        raise ValueError(
            f"{name} has {labels.ndim} dimensions (shape {labels.shape}), but labels are one per "
            "row, in one dimension; of a label matrix pass one column at a time"
        )
    if len(labels) == 0:
        raise ValueError(f"{name} is empty; there must be at least one row to compare")
    return labels


def _row_labels(clustering: SubspaceClustering, name: str) -> NDArray[Any]:
    if clustering.is_row_disjoint or clustering.is_coclustering:
        return clustering.labels()
    if clustering.is_hard:
        crowded = int((clustering.members.clusters_per_row() > 1).sum())
        why = f"{name} has {count(crowded, 'row')} in more than one cluster"
        kept = "keep each such row in the first of its clusters"
    else:
        why, kept = f"{name} has soft memberships", "compare each row's largest membership"
    raise UnsupportedKindError(
        f"{why}, so its rows form no partition; use clustering_error or rnia (on rows_only() if "
        f"the subspaces should not count), or pass {name}.labels() to {kept}"
    )


def _check_row_names(a: Labels, b: Labels) -> None:
    names_a, names_b = getattr(a, "row_names", None), getattr(b, "row_names", None)
    if names_a is None or names_b is None or list(names_a) == list(names_b):
        return
    first = next(i for i, (x, y) in enumerate(zip(names_a, names_b, strict=True)) if x != y)
    raise ShapeMismatchError(
        f"a and b name different rows: row {first} is {names_a[first]!r} in a and "
        f"{names_b[first]!r} in b; bring them to the same rows and order with restrict()"
    )


def _encode(labels: NDArray[Any], name: str) -> tuple[IntArray, Sequence[Any]]:
    """Number the labels: 0 for noise, clusters from 1; and the label of each cluster."""
    kind = labels.dtype.kind
    if kind == "O":
        return _encode_objects(labels, name)
    if kind in "UST":
        texts, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64) + 1, texts.tolist()
    if kind == "b":
        labels = labels.astype(np.int8)
    elif kind == "f":
        labels = _whole_numbers(labels, name)
    elif kind not in "iu":
        raise TypeError(
            f"{name} has labels of type {labels.dtype}; labels are integers, texts or other "
            "hashable values"
        )
    lowest, highest = int(labels.min()), int(labels.max())
    if highest < 0:
        return np.zeros(len(labels), np.int64), []
    base = max(lowest, 0)
    if highest - base > 4 * len(labels) + 1024 or highest >= 2**62:
        return _encode_spread(labels)
    # One pass over a short range of integers is many times faster than sorting them.
    codes = labels.astype(np.int64)
    if lowest < 0:
        np.maximum(codes, -1, out=codes)
    codes -= base - 1
    used = np.bincount(codes, minlength=highest - base + 2)[1:] > 0
    values = base + np.flatnonzero(used)
    if not used.all():
        number = np.concatenate(([0], np.cumsum(used)))
        codes = number[codes]
    return codes, values.tolist()


def _encode_spread(labels: NDArray[Any]) -> tuple[IntArray, Sequence[Any]]:
    codes = np.zeros(len(labels), np.int64)
    clustered = labels >= 0
    values, numbers = np.unique(labels[clustered], return_inverse=True)
    codes[clustered] = numbers + 1
    return codes, values.tolist()


def _whole_numbers(labels: NDArray[Any], name: str) -> IntArray:
    missing = int(np.isnan(labels).sum())
    if missing:
        raise ValueError(
            f"{name} has {count(missing, 'label')} that {'is' if missing == 1 else 'are'} NaN; "
            "leave those rows out of both, or label them -1 if they are noise"
        )
    broken = np.flatnonzero(~(np.abs(labels) < 2.0**53) | (labels != np.floor(labels)))
    if len(broken):
        raise ValueError(
            f"{name} has {count(len(broken), 'label')} that {'is' if len(broken) == 1 else 'are'} "
            f"not a whole number, first {labels[broken[0]]} in row {broken[0]}; labels name "
            "clusters, so give integers or texts (were the arguments data instead of labels?)"
        )
    return labels.astype(np.int64)


def _encode_objects(labels: NDArray[Any], name: str) -> tuple[IntArray, Sequence[Any]]:
    missing = [i for i, label in enumerate(labels) if is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} has {count(len(missing), 'missing label')} (None, NaN or NA), first in row "
            f"{missing[0]}; leave those rows out of both, or label them -1 if they are noise"
        )
    if all(isinstance(label, Real | np.bool_) for label in labels):
        plain = np.array(labels.tolist())
        if plain.dtype != object:
            return _encode(plain, name)
    numbers: dict[Hashable, int] = {}
    codes = np.zeros(len(labels), np.int64)
    for i, label in enumerate(labels):
        try:
            if not (isinstance(label, Real) and label < 0):
                codes[i] = numbers.setdefault(label, len(numbers) + 1)
        except TypeError:
            raise TypeError(
                f"{name} has a label of type {type(label).__name__} in row {i}, which cannot be "
                "hashed; labels are integers, texts or other hashable values"
            ) from None
    return codes, list(numbers)
