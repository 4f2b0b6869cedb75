"""The flats that the clusters of a table spread along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import (
    Blocks,
    as_blocks,
    check_blocks,
    device_twin,
    is_source,
)
from subscape.arrays.device.blocks import DeviceBlocks, same_device
from subscape.arrays.device.moments import moments_on_device
from subscape.arrays.remote.blocks import RemoteBlocks, labels_beside
from subscape.arrays.row_values import Listed, first_rows, fold_rows
from subscape.core.checks import check_names, check_table
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.memberships import DistantMemberships
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.tables.table import Table

#: Up to so many rows or features a flat comes from a dense decomposition; see `_leading`.
WIDEST_DENSE = 2000


class PassPlan(NamedTuple):
    """Dimension of every cluster's flat; the relevant features where flats are axis-aligned."""

    dims: IntArray
    masks: BoolArray | None

    def mask(self, k: int) -> BoolArray | None:
        return None if self.masks is None else self.masks[k]


class FittedFlat(NamedTuple):
    """The flat of dimension ``dim`` that reconstructs some rows best.

    ``basis`` has one column per direction that matters: fewer than ``dim`` where so many rows span
    fewer directions, none where the flat is spanned by ``features`` (axis-aligned, or everything).
    """

    moments: PartMoments
    dim: int
    basis: FloatArray
    values: FloatArray
    features: IndexArray | None
    residual: float

    def feature_losses(self) -> FloatArray:
        """Mean squared residual of every feature."""
        left = self.moments.variances - np.square(self.basis) @ self.values
        if self.features is not None:
            left[self.features] = 0.0
        return np.maximum(left, 0.0)


# -- reading the arguments ----------------------------------------------------------------------


def numbers(X: Any, who: str) -> NDArray[Any]:
    """``X`` as a 2-D array of numbers, without a pass over it where it is one already.

    The sums that follow tell whether all values were finite; see :func:`refuse_bad_sums`.
    """
    if is_source(X) and not isinstance(X, np.memmap):
        return as_blocks(X).to_numpy()
    if isinstance(X, Table):
        X = X.to_numpy()
    plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    if plain and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return X
    return np.asarray(check_table(X, who))


def streamed(X: Any, who: str) -> Numbers:
    """As :func:`numbers`, but a table in files or chunks stays there and is read in blocks."""
    return as_blocks(X) if is_source(X) else numbers(X, who)


def refuse_bad_sums(X: Any, who: str, moments: Iterable[PartMoments]) -> None:
    """Name what is wrong with the table if sums of its squares are not finite or have vanished."""
    squares = np.array([part.square for part in moments])
    if not np.isfinite(squares).all() or not squares.any():
        if is_source(X):
            check_blocks(as_blocks(X), who)
            return
        check_table(X.to_numpy() if isinstance(X, Table) else X, who)


def clustering_of(given: Any, table: Numbers, X: Any = None) -> SubspaceClustering:
    """``given`` as a clustering of the table; a label vector takes all its features.

    ``X`` is what the table was read from: where both have names they must be the same.
    """
    same_device(table, labels=given)
    given = labels_beside(table, given)
    whole = isinstance(given, SubspaceClustering) or hasattr(given, "clustering_")
    if whole or np.ndim(given) != 1:
        clustering = as_clustering(given)
    else:
        clustering = SubspaceClustering.from_labels(given, n_features=table.shape[1])
    if clustering.shape != table.shape:
        raise ShapeMismatchError(
            f"the table has {table.shape[0]} rows x {table.shape[1]} features, the clustering "
            f"{clustering.n_rows} x {clustering.n_features}; score it on the table that was "
            "clustered"
        )
    check_names(X, clustering.feature_names, clustering.row_names)
    return clustering


def parts_of(clustering: SubspaceClustering) -> list[AnyPart]:
    """Rows of each cluster."""
    members = clustering.members
    if isinstance(members, DistantMemberships):
        sizes = members.sizes()
        return [DistantPart(members.distant, k, int(sizes[k])) for k in range(len(sizes))]
    return [
        Part(
            members.rows(k),
            None if members.is_hard else members.weights(k).astype(np.float64),
        )
        for k in range(members.n_clusters)
    ]


def noise_part(clustering: SubspaceClustering) -> AnyPart:
    """Rows in no cluster."""
    members = clustering.members
    if isinstance(members, DistantMemberships):
        return DistantPart(members.distant, -1, members.n_rows - int(members.indptr[-1]))
    lonely = np.flatnonzero(clustering.members.clusters_per_row() == 0)
    return Part(lonely.astype(np.int32), None)


def planned_flats(clustering: SubspaceClustering, flat_dims: Any = None) -> PassPlan:
    """Which flats to fit: those the clustering implies, or such of the dimensions given."""
    p, number = clustering.n_features, clustering.n_clusters
    if flat_dims is None:
        masks = relevant_features(clustering)
        if masks is None:
            return PassPlan(p - clustering.subspaces.dims.astype(np.int64), None)
        return PassPlan(p - masks.sum(axis=1), masks)
    given = np.asarray(flat_dims)
    whole = given.dtype.kind in "iu" or (
        given.dtype.kind == "f" and bool(np.all(given == np.floor(given)))
    )
    if not whole or given.ndim > 1:
        raise SubscapeError(
            f"flat_dims must be a whole number, or one for each cluster; got {flat_dims!r}"
        )
    if given.ndim == 1 and len(given) != number:
        raise SubscapeError(
            f"flat_dims has {len(given)} entries for {count(number, 'cluster')}; give one for "
            "each, or a single number for all"
        )
    dims = np.broadcast_to(given, (number,)).astype(np.int64)
    if given.size and (given.min() < 0 or given.max() > p):
        raise SubscapeError(
            f"flat_dims must lie between 0 (a point) and the {p} features of the table; got "
            f"{given.min()} to {given.max()}"
        )
    return PassPlan(dims, None)


def relevant_features(clustering: SubspaceClustering) -> BoolArray | None:
    """Masks of an axis-aligned or weighted clustering, None for oriented ones.

    Of weights the heaviest features are taken, as many as the weights have dims (the exponential
    of their entropy, rounded): just the mask where weights are even on some features.
    """
    spaces = clustering.subspaces
    if isinstance(spaces, AxisSubspaces):
        return spaces.masks
    if isinstance(spaces, WeightedSubspaces):
        many = np.clip(np.rint(spaces.dims), 1, spaces.n_features)
        order = np.argsort(-spaces.weights, axis=1, kind="stable")
        ranks = np.argsort(order, axis=1, kind="stable")
        return np.asarray(ranks < many[:, None])
    return None


# -- flats --------------------------------------------------------------------------------------


def fit_flat(table: Numbers, part: AnyPart, dim: int, mask: BoolArray | None = None) -> FittedFlat:
    """The flat of this dimension through the mean that leaves the smallest squared residual.

    Parameters
    ----------
    table : array of shape (n_rows, n_features)
    part : Part
    dim : int
        Dimension of the flat (l).
    mask : bool array, optional
        Relevant features: the flat is then spanned by the others.
    """
    return fit_flats(table, [part], [dim], None if mask is None else mask[None])[0]


def fit_flats(
    table: Numbers,
    parts: Sequence[AnyPart],
    dims: Sequence[int] | IntArray,
    masks: BoolArray | None = None,
) -> list[FittedFlat]:
    """:func:`fit_flat` for several parts, with as few passes over the table as it takes."""
    p = table.shape[1]
    oriented = [masks is None and dim not in (0, p) for dim in dims]
    products = [
        full and _by_covariance(part.n_rows, p, int(dim))
        for full, part, dim in zip(oriented, parts, dims, strict=True)
    ]
    flats = []
    for k, sums in enumerate(sums_of(table, parts, products)):
        dim, moments = int(dims[k]), sums.moments()
        if oriented[k]:
            values, basis, residual = _leading(table, parts[k], dim, sums, products[k])
            flats.append(FittedFlat(moments, dim, basis, values, None, residual))
            continue
        off = np.full(p, dim == 0) if masks is None else masks[k]
        features = np.flatnonzero(~off) if dim else None
        residual = float(moments.variances[off].sum())
        flats.append(FittedFlat(moments, dim, np.zeros((p, 0)), np.zeros(0), features, residual))
    return flats


def _by_covariance(m: int, p: int, dim: int) -> bool:
    """Whether a flat of m rows comes from their (p, p) covariance."""
    many = min(dim, p, m - 1)
    return many >= 1 and m > p and not _is_huge(m, p, many)


def _is_huge(m: int, p: int, many: int) -> bool:
    return min(m, p) > WIDEST_DENSE and many <= min(m, p) // 20


def spectrum_of(table: Numbers, part: AnyPart) -> tuple[PartMoments, FloatArray]:
    """Mean and variances of the columns, and all variances along the main directions, descending.

    Directions in which so many rows can't differ are left out: their variances are 0.
    """
    p, m = table.shape[1], part.n_rows
    if m <= p:
        moments = moments_of(table, part)
        rows = _rows(table, part, moments.mean)
        scatter = rows @ rows.T / moments.weight
    else:
        moments, scatter = covariance_of(table, part)
    if not np.isfinite(scatter).all():
        return moments, np.full(len(scatter), np.nan)
    return moments, np.maximum(np.linalg.eigvalsh(scatter)[::-1], 0.0)


def _leading(
    table: Numbers, part: AnyPart, dim: int, sums: Sums, products: bool
) -> tuple[FloatArray, FloatArray, float]:
    """Largest variances, their directions, and the sum of all other variances."""
    p, m = table.shape[1], part.n_rows
    many = min(dim, p, m - 1)
    moments = sums.moments()
    if many < 1:
        return np.zeros(0), np.zeros((p, 0)), float(moments.variances.sum())
    if _is_huge(m, p, many):
        values, basis = _lanczos(table, part, moments, many)
        return values, basis, max(float(moments.variances.sum() - values.sum()), 0.0)
    if products:
        covariance = sums.covariance()
        if not np.isfinite(covariance).all():
            return _unfit(p)
        values, vectors = np.linalg.eigh(covariance)
        values, basis = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    else:
        rows = _rows(table, part, moments.mean)
        if not np.isfinite(rows).all():
            return _unfit(p)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        values = np.maximum(values[::-1], 0.0) / moments.weight
        basis = np.linalg.qr(rows.T @ vectors[:, : -many - 1 : -1])[0]
    # The small variances are summed rather than subtracted from the total: fewer digits are lost.
    return values[:many], basis[:, :many], float(values[many:].sum())


def _unfit(p: int) -> tuple[FloatArray, FloatArray, float]:
    """What a table with infinite or missing values gets, until the caller has said so."""
    return np.zeros(0), np.zeros((p, 0)), np.nan


def _rows(table: Numbers, part: AnyPart, centre: FloatArray) -> FloatArray:
    """All rows of a part, centred, times the root of their memberships."""
    rows = table.take(part.rows, axis=0).astype(np.float64) - centre
    return rows if part.memberships is None else rows * np.sqrt(part.memberships)[:, None]


def _lanczos(
    table: Numbers, part: AnyPart, moments: PartMoments, many: int
) -> tuple[FloatArray, FloatArray]:
    """A few leading directions of a table that is both long and wide: no (p, p) array."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    p = table.shape[1]
    if not np.isfinite(moments.variances).all() or not moments.variances.any():
        return np.zeros(0), np.zeros((p, 0))

    def product(vectors: FloatArray) -> FloatArray:
        result = np.zeros_like(vectors, dtype=np.float64)
        for block, memberships in blocks(table, part):
            block -= moments.mean
            along = block @ vectors
            if memberships is not None:
                along = (along.T * memberships).T
            result += block.T @ along
        return result / moments.weight

    operator = LinearOperator((p, p), matvec=product, matmat=product, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=p)
    values, vectors = eigsh(operator, k=many, which="LA", v0=start, tol=1e-10)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


# -- first and second moments of the rows of each cluster, summed in blocks of rows ----------------


#: A table in memory, or one that is read in blocks of rows.
Numbers = NDArray[Any] | Blocks

#: Cells of one block of rows: small enough for the cache, so that a pass reads the table once.
BLOCK_CELLS = 200_000
#: Cells of the blocks and sums that are gathered in one pass over a table that is not in memory.
PASS_CELLS = 2**25


class Part(NamedTuple):
    """Rows of a cluster (or of the noise) and their memberships; None where all of them are 1."""

    rows: NDArray[np.int32]
    memberships: FloatArray | None

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> float:
        """Number of rows, or their summed memberships."""
        return float(len(self.rows) if self.memberships is None else self.memberships.sum())

    @property
    def first(self) -> int:
        """The first row."""
        return int(self.rows[0])


class WholePart(NamedTuple):
    """All rows of a table."""

    n_rows: int
    memberships: None = None
    first: int = 0

    @property
    def rows(self) -> NDArray[np.int32]:
        return np.arange(self.n_rows, dtype=np.int32)

    @property
    def weight(self) -> float:
        return float(self.n_rows)


class DistantPart(NamedTuple):
    """Rows of a cluster, or of the noise (−1), whose numbers lie on other machines."""

    codes: Any
    number: int
    n_rows: int
    memberships: None = None

    @property
    def rows(self) -> NDArray[np.int32]:
        """Their numbers, brought here."""
        number = self.number
        found = fold_rows(
            lambda rows, own: Listed([np.flatnonzero(own == number) + rows.start]),
            self.codes,
            step=len(self.codes),
        )
        return np.concatenate(found.entries).astype(np.int32)

    @property
    def weight(self) -> float:
        return float(self.n_rows)


#: Some rows of a table, wherever their numbers lie.
AnyPart = Part | WholePart | DistantPart


class PartMoments(NamedTuple):
    """Weight, mean and (with 1 / weight) variance of every column of some rows."""

    weight: float
    mean: FloatArray
    variances: FloatArray

    @property
    def square(self) -> float:
        """Mean squared length of the rows: not finite where some value isn't."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.variances.sum() + np.square(self.mean).sum())


def blocks(table: Numbers, part: AnyPart) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """Rows of a part as float64, and their memberships, block by block.

    A block may be written to, and is overwritten by the next one.
    """
    if isinstance(table, Blocks):
        for _, block, memberships in _dealt(table, [part]):
            yield block, memberships
        return
    rows, p = part.rows, table.shape[1]
    step = _step(p)
    # Neighbouring rows are sliced: fetching them one by one costs as much as the sums.
    run = len(rows) > 0 and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
    room = np.empty((min(step, len(rows)), p))
    direct = table.dtype == np.float64
    for start in range(0, len(rows), step):
        chosen = rows[start : start + step]
        block = room[: len(chosen)]
        if run:
            block[:] = table[chosen[0] : chosen[-1] + 1]
        elif direct:
            # Row numbers are in range; saying so spares NumPy a copy through a buffer.
            np.take(table, chosen, axis=0, out=block, mode="clip")
        else:
            block[:] = table.take(chosen, axis=0)
        memberships = part.memberships
        yield block, None if memberships is None else memberships[start : start + step]


def _step(p: int) -> int:
    return max(64, BLOCK_CELLS // p)


def _dealt(
    table: Blocks, parts: Sequence[AnyPart]
) -> Iterator[tuple[int, FloatArray, FloatArray | None]]:
    """Number of the part, block and memberships, for all parts in one pass over the table.

    Each part has the blocks that :func:`blocks` makes of a table in memory, so that sums over
    them have the same bits.
    """
    p = table.shape[1]
    step = _step(p)
    rooms = [np.empty((min(step, len(part.rows)), p)) for part in parts]
    done = np.zeros(len(parts), np.int64)
    ends = [len(part.rows) for part in parts]
    if not any(ends):
        return
    for span, rows in table:
        # A number of another type would have all row numbers converted, block after block.
        stop = np.int32(span.stop)
        for k, part in enumerate(parts):
            first, last = int(done[k]), int(np.searchsorted(part.rows, stop))
            while first < last:
                begin = first % step
                chosen = part.rows[first : min(last, first - begin + step)]
                many = len(chosen)
                rooms[k][begin : begin + many] = rows.take(chosen - span.start, axis=0)
                first += many
                if begin + many == step or first == len(part.rows):
                    memberships = part.memberships
                    whole = slice(first - begin - many, first)
                    yield (
                        k,
                        rooms[k][: begin + many],
                        None if memberships is None else memberships[whole],
                    )
            done[k] = last
        if done.tolist() == ends:
            break


class Sums:
    """First and second moments of a part, while its blocks come in."""

    def __init__(self, part: AnyPart, p: int, products: bool) -> None:
        self._weight = part.weight
        self._shift: FloatArray | None = None
        self._first, self._second = np.zeros(p), np.zeros(p)
        self._full = products
        self._products = np.zeros((p, p) if products else (0, 0))

    def begin(self, shift: FloatArray) -> None:
        """Sums about a point among the rows lose no digits to a large offset."""
        self._shift = shift

    def add(self, first: FloatArray, second: FloatArray) -> None:
        """Take up the sums over the rows of a block, in place."""
        self._first += first
        total = self._products if self._full else self._second
        total += second

    def add_on_device(self, table: DeviceBlocks, part: Part) -> None:
        """All rows of a part of a table on a device."""
        if len(part.rows) == 0:
            return
        found = moments_on_device(table, part.rows, part.memberships, self._full)
        self._shift, self._first = found.shift, found.first
        if self._full:
            self._products = found.second
        else:
            self._second = found.second

    def moments(self) -> PartMoments:
        """Mean and variance of every column."""
        if self._shift is None:
            p = len(self._first)
            return PartMoments(0.0, np.zeros(p), np.zeros(p))
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._first / self._weight
            second = np.diag(self._products) if self._full else self._second
            variances = np.maximum(second / self._weight - np.square(off), 0.0)
            return PartMoments(self._weight, self._shift + off, variances)

    def covariance(self) -> FloatArray:
        """(p, p) covariance with 1 / weight."""
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._first / self._weight
            return np.asarray(self._products / self._weight - np.outer(off, off))


def sums_on_device(
    table: DeviceBlocks, parts: Sequence[Part], products: Sequence[bool]
) -> Iterator[Sums]:
    """:func:`sums_of` where the table lies, one part after the other."""
    for part, full in zip(parts, products, strict=True):
        sums = Sums(part, table.shape[1], full)
        with np.errstate(over="ignore", invalid="ignore"):
            sums.add_on_device(table, part)
        yield sums


class PartSums:
    """What the rows of some parts in a block add up to: first and second moments about a point.

    Parameters
    ----------
    members : callable
        Given the slice that a block is, and what lies beside it: for each part that has rows there
        its number, these rows within the block, and their memberships or None.
    products : sequence of bool
        Of which parts all products are summed.
    shifts : list of arrays or None
        The points; where they are None, the mean of the first rows that come is taken.
    """

    def __init__(
        self,
        members: Callable[..., Iterable[Chosen]],
        products: Sequence[bool],
        shifts: list[FloatArray | None],
    ) -> None:
        self._members, self._products, self.shifts = members, products, shifts

    def __call__(self, block: NDArray[Any], rows: slice, *beside: Any) -> list[PartSum]:
        found = []
        with np.errstate(over="ignore", invalid="ignore"):
            for k, inside, memberships in self._members(rows, *beside):
                own = (block if inside is None else block.take(inside, axis=0)).astype(np.float64)
                shift = self.shifts[k]
                if shift is None:
                    shift = self.shifts[k] = own.mean(axis=0)
                own -= shift
                ones = np.ones(len(own)) if memberships is None else memberships
                first = ones @ own
                if not self._products[k]:
                    found.append((k, first, ones @ np.square(own, out=own)))
                    continue
                if memberships is not None:
                    own *= np.sqrt(memberships)[:, None]
                found.append((k, first, own.T @ own))
        return found


class SumsOfParts:
    """The sums of some parts, which take up those of one block after the other, in place."""

    def __init__(self, sums: list[Sums]) -> None:
        self.sums = sums

    def fresh(self) -> SumsOfParts:
        """A copy."""
        return SumsOfParts(deepcopy(self.sums))

    def __add__(self, found: list[PartSum]) -> SumsOfParts:
        for k, first, second in found:
            self.sums[k].add(first, second)
        return self


#: Number of a part, its rows in a block (None for all), and their memberships.
Chosen = tuple[int, "NDArray[Any] | None", "FloatArray | None"]
#: Number of a part, and the first and second moments of its rows in a block.
PartSum = tuple[int, FloatArray, FloatArray]


class LocalParts:
    """The rows of parts whose numbers are in memory."""

    def __init__(self, parts: Sequence[AnyPart]) -> None:
        self._parts = parts

    def __call__(self, span: slice) -> Iterator[Chosen]:
        # Numbers of another type would have all row numbers converted, block after block.
        ends = np.array([span.start, span.stop], np.int32)
        for k, part in enumerate(self._parts):
            if isinstance(part, WholePart):
                yield k, None, None
                continue
            first, last = np.searchsorted(part.rows, ends)
            if first < last:
                inside, given = part.rows[first:last] - ends[0], part.memberships
                yield k, inside, None if given is None else given[first:last]


class RemoteParts:
    """The rows of parts by what lies beside them: cluster numbers, or a column of memberships."""

    def __init__(self, columns: list[int | None], soft: bool) -> None:
        self._columns, self._soft = columns, soft

    def __call__(self, span: slice, *beside: NDArray[Any]) -> Iterator[Chosen]:
        for k, column in enumerate(self._columns):
            if column is None:
                yield k, None, None
                continue
            (own,) = beside
            inside = np.flatnonzero(own[:, column] if self._soft else own == column)
            if len(inside):
                yield k, inside, own[inside, column] if self._soft else None


def _remote_parts(parts: Sequence[AnyPart], n_rows: int) -> tuple[RemoteParts, tuple[Any, ...]]:
    """How workers tell which rows are in which part, and what has to lie beside these for it."""
    distant = [part for part in parts if isinstance(part, DistantPart)]
    here = [part for part in parts if isinstance(part, Part)]
    if distant:
        columns = [each.number if isinstance(each, DistantPart) else None for each in parts]
        return RemoteParts(columns, soft=False), (distant[0].codes,)
    if not here:
        return RemoteParts([None] * len(parts), soft=False), ()
    numbers = iter(range(len(here)))
    columns = [next(numbers) if isinstance(each, Part) else None for each in parts]
    codes, beside = np.full(n_rows, -1, np.int32), None
    if all(each.memberships is None for each in here):
        for k, each in enumerate(here):
            codes[each.rows] = k
        if sum(each.n_rows for each in here) == np.count_nonzero(codes >= 0):
            beside = codes
    if beside is not None:
        return RemoteParts(columns, soft=False), (beside,)
    weights = np.zeros((n_rows, len(here)))
    for k, each in enumerate(here):
        weights[each.rows, k] = 1.0 if each.memberships is None else each.memberships
    return RemoteParts(columns, soft=True), (weights,)


@device_twin(sums_on_device)
def sums_of(table: Numbers, parts: Sequence[AnyPart], products: Sequence[bool]) -> Iterator[Sums]:
    """Sums of every part, in one pass for as many parts as find room."""
    p, whole = table.shape[1], as_blocks(table)
    at_once = max(1, PASS_CELLS // (p + p * p * any(products)))
    for i in range(0, len(parts), at_once):
        group, full = parts[i : i + at_once], products[i : i + at_once]
        sums = [Sums(part, p, full[k]) for k, part in enumerate(group)]
        present = [k for k, part in enumerate(group) if part.n_rows]
        shifts: list[FloatArray | None] = [None] * len(group)
        stats = PartSums(LocalParts(group), full, shifts)
        beside: tuple[Any, ...] = ()
        if present and isinstance(whole, RemoteBlocks):
            members, beside = _remote_parts(group, len(whole))
            beside = tuple(whole.placed(each) for each in beside)
            shifts = _first_means(whole, group, members, beside)
            stats = PartSums(members, full, shifts)
        if present:
            start = SumsOfParts(sums)
            total: Any = whole.fold(stats, reads=beside, start=start)
            sums = total.sums
        for k in present:
            sums[k].begin(stats.shifts[k])  # type: ignore[arg-type]
        yield from sums


def _first_rows(parts: Sequence[AnyPart]) -> dict[int, int]:
    """The first row of each part that has any; those that lie elsewhere are asked for together."""
    distant = [part for part in parts if isinstance(part, DistantPart)]
    # Of rows in no cluster the number is -1.
    number = 2 + max((part.number for part in distant), default=-1)
    found = first_rows(distant[0].codes, number, lowest=-1) if distant else np.empty(0, np.intp)
    return {
        k: int(found[part.number + 1]) if isinstance(part, DistantPart) else part.first
        for k, part in enumerate(parts)
        if part.n_rows
    }


def _first_means(
    table: RemoteBlocks, parts: Sequence[AnyPart], members: RemoteParts, beside: tuple[Any, ...]
) -> list[FloatArray | None]:
    """Mean of the rows of each part in the first block that has any."""
    first = _first_rows(parts)

    def means(block: NDArray[Any], rows: slice, *own: Any) -> dict[int, FloatArray]:
        return {
            k: (block if inside is None else block.take(inside, axis=0))
            .astype(np.float64)
            .mean(axis=0)
            for k, inside, _ in members(rows, *own)
            if rows.start <= first[k] < rows.stop
        }

    shifts: list[FloatArray | None] = [None] * len(parts)
    with np.errstate(over="ignore", invalid="ignore"):
        for found in table.at_rows(means, list(first.values()), reads=beside):
            for k, shift in found.items():
                shifts[k] = shift
    return shifts


def moments_of(table: Numbers, part: AnyPart) -> PartMoments:
    """Mean and variance of every column."""
    return next(sums_of(table, [part], [False])).moments()


def covariance_of(table: Numbers, part: AnyPart) -> tuple[PartMoments, FloatArray]:
    """Mean, variances and the (p, p) covariance with 1 / weight; memory O(p²)."""
    sums = next(sums_of(table, [part], [True]))
    return sums.moments(), sums.covariance()
