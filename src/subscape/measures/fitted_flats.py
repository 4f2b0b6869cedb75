"""The flats that the clusters of a table spread along."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core import (
    AxisSubspaces,
    SubspaceClustering,
    Table,
    WeightedSubspaces,
    as_clustering,
)
from subscape.core.checks import check_names, check_table
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.kernels.blocks import as_blocks, check_blocks, is_source
from subscape.kernels.device_blocks import same_device

from .part_sums import (
    FloatArray,
    Moments,
    Numbers,
    Part,
    Sums,
    blocks,
    covariance_of,
    moments_of,
    sums_of,
)

#: Up to so many rows or features a flat comes from a dense decomposition; see `_leading`.
WIDEST_DENSE = 2000


class Plan(NamedTuple):
    """Dimension of every cluster's flat; the relevant features where flats are axis-aligned."""

    dims: NDArray[np.int64]
    masks: NDArray[np.bool_] | None

    def mask(self, k: int) -> NDArray[np.bool_] | None:
        return None if self.masks is None else self.masks[k]


class FittedFlat(NamedTuple):
    """The flat of dimension ``dim`` that reconstructs some rows best.

    ``basis`` has one column per direction that matters: fewer than ``dim`` where so many rows span
    fewer directions, none where the flat is spanned by ``features`` (axis-aligned, or everything).
    """

    moments: Moments
    dim: int
    basis: FloatArray
    values: FloatArray
    features: NDArray[np.intp] | None
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


def refuse_bad_sums(X: Any, who: str, moments: Iterable[Moments]) -> None:
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
    same_device(table, given)
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


def parts_of(clustering: SubspaceClustering) -> list[Part]:
    """Rows of each cluster."""
    members = clustering.members
    return [
        Part(
            members.rows(k),
            None if members.is_hard else members.weights(k).astype(np.float64),
        )
        for k in range(members.n_clusters)
    ]


def noise_part(clustering: SubspaceClustering) -> Part:
    """Rows in no cluster."""
    lonely = np.flatnonzero(clustering.members.clusters_per_row() == 0)
    return Part(lonely.astype(np.int32), None)


def planned_flats(clustering: SubspaceClustering, flat_dims: Any = None) -> Plan:
    """Which flats to fit: those the clustering implies, or such of the dimensions given."""
    p, number = clustering.n_features, clustering.n_clusters
    if flat_dims is None:
        masks = relevant_features(clustering)
        if masks is None:
            return Plan(p - clustering.subspaces.dims.astype(np.int64), None)
        return Plan(p - masks.sum(axis=1), masks)
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
    return Plan(dims, None)


def relevant_features(clustering: SubspaceClustering) -> NDArray[np.bool_] | None:
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


def fit_flat(
    table: Numbers, part: Part, dim: int, mask: NDArray[np.bool_] | None = None
) -> FittedFlat:
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
    parts: Sequence[Part],
    dims: Sequence[int] | NDArray[np.int64],
    masks: NDArray[np.bool_] | None = None,
) -> list[FittedFlat]:
    """:func:`fit_flat` for several parts, with as few passes over the table as it takes."""
    p = table.shape[1]
    oriented = [masks is None and dim not in (0, p) for dim in dims]
    products = [
        full and _by_covariance(len(part.rows), p, int(dim))
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


def spectrum_of(table: Numbers, part: Part) -> tuple[Moments, FloatArray]:
    """Mean and variances of the columns, and all variances along the main directions, descending.

    Directions in which so many rows can't differ are left out: their variances are 0.
    """
    p, m = table.shape[1], len(part.rows)
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
    table: Numbers, part: Part, dim: int, sums: Sums, products: bool
) -> tuple[FloatArray, FloatArray, float]:
    """Largest variances, their directions, and the sum of all other variances."""
    p, m = table.shape[1], len(part.rows)
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


def _rows(table: Numbers, part: Part, centre: FloatArray) -> FloatArray:
    """All rows of a part, centred, times the root of their memberships."""
    rows = table.take(part.rows, axis=0).astype(np.float64) - centre
    return rows if part.memberships is None else rows * np.sqrt(part.memberships)[:, None]


def _lanczos(
    table: Numbers, part: Part, moments: Moments, many: int
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
