"""What a table looks like: counts per column, sentences about them, and its pictures in text."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core.errors import count, listing
from subscape.core.markup import card
from subscape.core.types import BoolArray, FloatArray, IntArray

from .columns import ROLES, Column, as_dates

#: Cells looked at in one go, so that counting never copies the whole table.
BLOCK_CELLS = 1 << 21

#: Columns of which something is said one by one.
MOST_TOLD = 100

#: More columns than this of which the same is said are named together.
MOST_APART = 3

#: Columns that correlate at least so much say the same, up to rounding or a unit.
NEAR_COPY = 0.99999

#: With fewer rows, columns look alike by chance.
FEWEST_ROWS = 10

#: With fewer rows, nothing is said of numbers that may be codes.
FEWEST_FOR_A_CODE = 5

#: Numbers that mean no value in many files: nines, and where whole numbers of a computer end.
CODES = np.array(
    [sign * float("9" * digits) for digits in range(2, 11) for sign in (1, -1)]
    + [-(2.0**15), 2.0**15 - 1, 2.0**16 - 1, -(2.0**31), 2.0**31 - 1]
)

#: Columns listed in a notebook before the rest is only counted.
MOST_COLUMNS = 30


class Profile(NamedTuple):
    """Counts per column, in the order of the table's schema.

    Attributes
    ----------
    n_missing, n_infinite : (n_columns,) int array
    low, high : (n_columns,) float array
        Smallest and largest finite value of numbers and dates; NaN for text.
    is_constant : (n_columns,) bool array
        Whether all present values are equal (also where none is present).
    duplicate_of : tuple of (str or None)
        The first column that has the same values (for text: the same groups), if there is one.
    """

    n_missing: IntArray
    n_infinite: IntArray
    low: FloatArray
    high: FloatArray
    is_constant: BoolArray
    duplicate_of: tuple[str | None, ...]


class ColumnCounts(NamedTuple):
    """What is counted in one column."""

    n_missing: int
    n_infinite: int
    low: float
    high: float
    is_constant: bool
    digest: bytes

    def joined(self, later: ColumnCounts) -> ColumnCounts:
        """Counts of the rows of both; the digest is one of both digests, in this order."""
        infinite = self.n_infinite + later.n_infinite
        low, high = np.fmin(self.low, later.low), np.fmax(self.high, later.high)
        return ColumnCounts(
            self.n_missing + later.n_missing,
            infinite,
            float(low),
            float(high),
            infinite == 0 and bool(np.isnan(low) or low == high),
            blake2b(self.digest + later.digest, digest_size=16).digest(),
        )


def profile(columns: Sequence[Column], X: Any, others: Mapping[str, NDArray[Any]]) -> Profile:
    """Count missing, infinite, constant and repeated values of every column."""
    numeric = iter(_count_sparse(X) if sparse.issparse(X) else count_columns(X))
    counts = []
    for column in columns:
        if column.role == "numeric":
            counts.append(next(numeric))
        elif column.levels is None:
            counts += count_columns(others[column.name][:, None])
        else:
            counts.append(_count_codes(others[column.name]))
    return profile_of(columns, counts)


def profile_of(columns: Sequence[Column], counts: Sequence[ColumnCounts]) -> Profile:
    """The profile of columns in which this was counted."""
    first: dict[tuple[str, bytes], str] = {}
    duplicate_of: list[str | None] = []
    for column, stats in zip(columns, counts, strict=True):
        owner = first.setdefault((column.kind, stats.digest), column.name)
        duplicate_of.append(None if owner == column.name or stats.is_constant else owner)
    return Profile(
        np.array([c.n_missing for c in counts], dtype=np.int64),
        np.array([c.n_infinite for c in counts], dtype=np.int64),
        np.array([c.low for c in counts]),
        np.array([c.high for c in counts]),
        np.array([c.is_constant for c in counts], dtype=bool),
        tuple(duplicate_of),
    )


def count_columns(X: FloatArray) -> list[ColumnCounts]:
    """Counts of each column, in one pass over blocks of rows."""
    n, p = X.shape
    missing, infinite = np.zeros(p, dtype=np.int64), np.zeros(p, dtype=np.int64)
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    digests = [blake2b(digest_size=16) for _ in range(p)]
    step = max(1, BLOCK_CELLS // max(p, 1))
    for start in range(0, n, step):
        # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
        block = np.ascontiguousarray(X[start : start + step].T) + 0.0
        gone, unbounded = np.isnan(block), np.isinf(block)
        block[gone] = np.nan
        missing += gone.sum(axis=1)
        infinite += unbounded.sum(axis=1)
        finite = ~(gone | unbounded)
        low = np.minimum(low, np.min(block, axis=1, where=finite, initial=np.inf))
        high = np.maximum(high, np.max(block, axis=1, where=finite, initial=-np.inf))
        for digest, values in zip(digests, block, strict=True):
            digest.update(values.data)
    empty = low > high
    constant = (infinite == 0) & (empty | (low == high))
    low[empty] = high[empty] = np.nan
    return [
        ColumnCounts(
            int(missing[j]),
            int(infinite[j]),
            float(low[j]),
            float(high[j]),
            bool(constant[j]),
            digests[j].digest(),
        )
        for j in range(p)
    ]


def _count_sparse(X: Any) -> list[ColumnCounts]:
    by_column = sparse.csc_array(X)
    by_column.sum_duplicates()
    out = []
    for j in range(X.shape[1]):
        place = slice(by_column.indptr[j], by_column.indptr[j + 1])
        stored, rows = by_column.data[place], by_column.indices[place]
        implicit_zero = np.zeros(int(len(stored) < X.shape[0]))
        [stats] = count_columns(np.concatenate([stored, implicit_zero])[:, None])
        kept = stored != 0
        digest = blake2b(rows[kept].astype(np.int64).tobytes(), digest_size=16)
        digest.update((stored[kept] + 0.0).tobytes())
        out.append(stats._replace(digest=digest.digest()))
    return out


def _count_codes(codes: NDArray[np.int32]) -> ColumnCounts:
    # Codes renumbered by first appearance are equal for columns that group the rows alike.
    _, at, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(len(at), dtype=np.int32)
    order[np.argsort(at)] = np.arange(len(at), dtype=np.int32)
    renumbered = order[inverse]
    renumbered[codes < 0] = -1
    n_missing = int((codes < 0).sum())
    digest = blake2b(renumbered.tobytes(), digest_size=16).digest()
    return ColumnCounts(n_missing, 0, np.nan, np.nan, len(at) - (n_missing > 0) <= 1, digest)


def remarks(columns: Sequence[Column], stats: Profile, n_rows: int) -> list[str]:
    """Sentences about a table: guessed roles, empty, constant, repeated, infinite, missing."""
    alike: dict[str, list[str]] = {}
    for column in columns:
        alike.setdefault(column.note, []).append(column.name)
    told = [
        f"column {c.name!r}: {c.note}" if few else f"{_columns(alike[c.note])}: {c.note}"
        for c in columns
        if c.note and ((few := len(alike[c.note]) <= MOST_APART) or c.name == alike[c.note][0])
    ]
    notes = told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        notes.append(f"and of {len(told) - MOST_TOLD} more columns something was noted")
    features = [(j, c.name) for j, c in enumerate(columns) if c.is_feature]
    if not features:
        notes.append("no column is a feature: there is nothing to find clusters in")
    empty = [name for j, name in features if stats.n_missing[j] == n_rows]
    if empty:
        notes.append(f"{count(len(empty), 'feature')} without any value: {listing(empty)}")
    constant = [n for j, n in features if stats.is_constant[j] and stats.n_missing[j] < n_rows]
    if constant:
        notes.append(f"{count(len(constant), 'feature')} with a single value: {listing(constant)}")
    pairs = [
        f"{n!r} repeats {stats.duplicate_of[j]!r}" for j, n in features if stats.duplicate_of[j]
    ]
    if pairs:
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        notes.append(f"{count(len(pairs), 'repeated feature')}: {', '.join(pairs[:5])}{more}")
    infinite = [name for j, name in features if stats.n_infinite[j]]
    if infinite:
        total = sum(int(stats.n_infinite[j]) for j, _ in features)
        notes.append(f"{count(total, 'infinite value')} in {listing(infinite)}")
    partly = [name for j, name in features if 0 < stats.n_missing[j] < n_rows]
    if partly:
        total = sum(int(stats.n_missing[j]) for j, _ in features)
        share = 100 * total / (n_rows * len(features))
        notes.append(
            f"{count(total, 'missing cell')} ({share:.2g} % of the features) in {listing(partly)}"
        )
    return notes


def _columns(names: Sequence[str]) -> str:
    return f"{count(len(names), 'column')} ({listing(names)})"


def remarks_on_values(
    names: Sequence[str], X: Any, copies: Collection[str] = (), *, alone: bool = True
) -> list[str]:
    """Sentences about the values of numbers: codes for no value, empty rows, near copies.

    Every ``step_for(X.shape)``-th row is looked at. ``alone`` says that the numbers are all
    features that there are.
    """
    if sparse.issparse(X) or not X.size:
        return []
    part = np.array(X[:: step_for(X.shape)], dtype=np.float64)
    return remarks_on_part(names, part, X.shape[0], copies, alone=alone)


def remarks_on_part(
    names: Sequence[str],
    part: FloatArray,
    n_rows: int,
    copies: Collection[str] = (),
    *,
    alone: bool = True,
) -> list[str]:
    """The same of some of the ``n_rows`` rows of a table, which are written to."""
    said = [*far_ends(names, part), *_running(names, part)]
    empty = int(np.isnan(part).all(axis=1).sum()) if alone else 0
    if 0 < empty < len(part):
        said.append(f"{count(empty, 'row')} without any value among the features")
    if n_rows >= FEWEST_ROWS and part.shape[1] > 1:
        said += near_copies_in(names, part, copies)
    return said


def far_ends(names: Sequence[str], X: FloatArray) -> list[str]:
    """A sentence for each number that may be a code for no value, such as -999.

    It consists of nines, or is where a computer's whole numbers end; it is the smallest or the
    largest, stands there more than once, and lies farther from all others than they do from each
    other.

    >>> far_ends(["age"], np.array([[31.0], [44], [-999], [28], [-999]]))[0][:57]
    "-999 in 'age' lies far from all other values (28 to 44): "
    """
    if len(X) < FEWEST_FOR_A_CODE:
        return []
    finite = np.where(np.isfinite(X), X, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
    ends = np.stack([low, high])
    found: dict[float, list[tuple[str, float, float]]] = {}
    for end, j in zip(*np.nonzero(np.isin(ends, CODES)), strict=True):
        value, cells = ends[end, j], finite[:, j]
        others = cells[(cells != value) & ~np.isnan(cells)]
        if not len(others) or (cells == value).sum() < 2:
            continue
        least, most = float(others.min()), float(others.max())
        if min(abs(value - least), abs(value - most)) > most - least > 0:
            found.setdefault(float(value), []).append((names[j], least, most))
    said = []
    for value, where in found.items():
        _, least, most = where[0]
        span = f" ({least:.4g} to {most:.4g})" if len(where) == 1 else ""
        said.append(
            f"{value:.15g} in {listing([name for name, *_ in where])} lies far from all other "
            f"values{span}: if it means that there is none, say missing={value:.15g}"
        )
    return said


def _running(names: Sequence[str], X: FloatArray) -> list[str]:
    """A sentence about columns that rise from each row to the next, as times do.

    Of as many rows chance orders one column in more than a million like that.
    """
    if len(X) < FEWEST_ROWS:
        return []
    rising = np.ones(X.shape[1], dtype=bool)
    for start in range(0, len(X) - 1, FEWEST_ROWS):
        rising &= (np.diff(X[start : start + FEWEST_ROWS + 1], axis=0) > 0).all(axis=0)
        if not rising.any():
            return []
    which = [name for name, rises in zip(names, rising, strict=True) if rises]
    return [
        f"{listing(which)} {'rises' if len(which) == 1 else 'rise'} from each row to the next, as "
        "times and numbers of the rows do; if that is all, give "
        f"{'it' if len(which) == 1 else 'them'} the role ignore (columns=…)"
    ]


def step_for(shape: tuple[int, int]) -> int:
    """Every how many rows are looked at, of a table of this shape."""
    return max(1, shape[0] * shape[1] // BLOCK_CELLS)


def near_copies_in(
    names: Sequence[str], part: FloatArray, copies: Collection[str] = ()
) -> list[str]:
    """A sentence about columns that follow another one but for rounding, sign or unit.

    Missing cells may stand in both, in the same rows. Columns are compared by a few random
    projections, so that no pair is looked at that is not close: the work grows with the table, not
    with the square of its columns. Exact ``copies`` are said elsewhere and left out. The rows are
    written to.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> X[:, 2] = 32 + 1.8 * X[:, 0]
    >>> near_copies_in(["celsius", "x", "fahrenheit"], X)
    ["1 near copy: 'fahrenheit' follows 'celsius'"]
    """
    if part.shape[0] < FEWEST_ROWS or not np.isfinite(part).any():
        return []
    part[~np.isfinite(part)] = np.nan
    told = np.array([name not in copies for name in names])
    told &= (~np.isnan(part)).sum(axis=0) >= FEWEST_ROWS
    part = part[:, told]
    chosen = np.flatnonzero(told)
    # A copy has its gaps where the other column has them; there, both are as the mean.
    part -= np.nanmean(part, axis=0)
    part[np.isnan(part)] = 0.0
    largest = np.abs(part).max(axis=0)
    varies = largest > 0
    part, chosen = part[:, varies] / largest[varies], chosen[varies]
    if part.shape[1] < 2:
        return []
    part /= np.linalg.norm(part, axis=0)
    seen = part.T @ np.random.default_rng(0).normal(size=(part.shape[0], 4))
    seen *= np.where(seen[:, :1] < 0, -1.0, 1.0)
    order = np.argsort(seen[:, 0])
    reach = 8 * np.sqrt(2 - 2 * NEAR_COPY)
    pairs: dict[int, int] = {}
    for shift in range(1, min(64, len(order))):
        close = np.abs(seen[order[shift:]] - seen[order[:-shift]])
        if (close[:, 0] > reach).all():
            break
        for place in np.flatnonzero((close <= reach).all(axis=1)):
            a, b = sorted((int(order[place]), int(order[place + shift])))
            if b not in pairs and abs(float(part[:, a] @ part[:, b])) >= NEAR_COPY:
                pairs[b] = a
    said = [f"{names[chosen[b]]!r} follows {names[chosen[a]]!r}" for b, a in sorted(pairs.items())]
    if not said:
        return []
    more = f" and {len(said) - 5} more" if len(said) > 5 else ""
    return [f"{count(len(said), 'near copy', 'near copies')}: {', '.join(said[:5])}{more}"]


def summary(columns: Sequence[Column], stats: Profile, n_rows: int) -> str:
    """One line: rows, columns, how many of each role, missing cells among the features."""
    times = Counter(c.role for c in columns)
    roles = ", ".join(f"{times[role]} {role}" for role in ROLES if times[role])
    missing = sum(int(stats.n_missing[j]) for j, c in enumerate(columns) if c.is_feature)
    size = f"{count(n_rows, 'row')} x {count(len(columns), 'column')}"
    return f"{size}: {roles}; {missing} missing"


def as_html(columns: Sequence[Column], stats: Profile, n_rows: int, notes: Sequence[str]) -> str:
    """A small table with one line per column, and the notes."""
    lines = [
        (column.name, column.role, _range(column, stats, j), int(stats.n_missing[j]))
        for j, column in enumerate(columns)
    ]
    head = ("column", "role", "values", "missing")
    text = summary(columns, stats, n_rows)
    return card("Table", text, head, lines, notes=notes, most=MOST_COLUMNS, noun="column")


def _range(column: Column, stats: Profile, j: int) -> str:
    if column.levels is not None:
        shown = ", ".join(column.levels[:4]) + (", …" if len(column.levels) > 4 else "")
        return f"{count(len(column.levels), 'level')}: {shown}"
    ends = np.array([stats.low[j], stats.high[j]])
    if np.isnan(ends).any():
        return "none"
    low, high = as_dates(ends).astype("datetime64[D]") if column.kind == "date" else ends
    return f"{low} to {high}" if column.kind == "date" else f"{low:.4g} to {high:.4g}"
