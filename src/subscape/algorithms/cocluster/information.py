"""The steps of information-theoretic co-clustering, as pure functions of tables and labels.

``P`` is the (row clusters, column clusters) table of block sums of a joint distribution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


class Coclusters(NamedTuple):
    """A pair of partitions with the information they keep, and the losses on the way."""

    rows: Labels
    columns: Labels
    information: float
    losses: list[float]

    @property
    def objective(self) -> float:
        return -self.information


def mutual_information(P: FloatArray) -> float:
    """I(row cluster; column cluster) of a table of probabilities, in nats."""
    rows, columns = P.sum(axis=1), P.sum(axis=0)
    return float(xlogy(P, P).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum())


def table_information(p: Any) -> float:
    """I(X; Y) of a dense or sparse joint distribution, in nats."""
    values = p.data if sparse.issparse(p) else np.asarray(p)
    rows, columns = (np.asarray(p.sum(axis=axis)).ravel() for axis in (1, 0))
    return float(xlogy(values, values).sum() - xlogy(rows, rows).sum()
                 - xlogy(columns, columns).sum())  # fmt: skip


def grouped(p: Any, labels: Labels, number: int) -> FloatArray:
    """Sums of the columns of ``p`` by column label: (n_rows, number)."""
    ones = sparse.csr_array(
        (np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), number)
    )
    result = p @ ones
    return np.asarray(result.toarray() if sparse.issparse(result) else result)


def block_sums(T: FloatArray, labels: Labels, number: int) -> FloatArray:
    """Sums of the rows of ``T`` by row label: (number, columns of T)."""
    P = np.zeros((number, T.shape[1]))
    np.add.at(P, labels, T)
    return P


def reassigned(T: FloatArray, labels: Labels, number: int) -> Labels:
    """Move every row to the cluster whose distribution over the column clusters is nearest.

    Nearest in Kullback-Leibler divergence; a row stays where it is if that is as near. A cluster
    that lacks a column cluster the row has is infinitely far.
    """
    P = block_sums(T, labels, number)
    totals = P.sum(axis=1)
    alive = totals > 0
    logs = np.zeros_like(P)
    np.log(P / np.where(alive, totals, 1.0)[:, None], out=logs, where=P > 0)
    scores = T @ logs.T
    scores[(T > 0).astype(np.float64) @ (P == 0).T > 0] = -np.inf
    scores[:, ~alive] = -np.inf
    stay = scores[np.arange(len(labels)), labels]
    best = scores.argmax(axis=1)
    slack = 1e-12 * np.maximum(1.0, np.abs(stay))
    moved = np.where(scores[np.arange(len(labels)), best] > stay + slack, best, labels)
    return _refilled(T, moved, number)


def _refilled(T: FloatArray, labels: Labels, number: int) -> Labels:
    """Give each empty cluster the row that fits its own cluster worst; a split loses nothing."""
    sizes = np.bincount(labels, minlength=number)
    if sizes.all() or len(labels) < number:
        return labels
    labels = labels.copy()
    for empty in np.flatnonzero(sizes == 0):
        misfit = _misfit(T, labels, number)
        misfit[np.bincount(labels, minlength=number)[labels] < 2] = -1.0
        labels[int(misfit.argmax())] = empty
    return labels


def _misfit(T: FloatArray, labels: Labels, number: int) -> FloatArray:
    """p(x) KL(p(y|x) ‖ q(y|its cluster)) over the column clusters."""
    P = block_sums(T, labels, number)
    own = P[labels]
    mass = T.sum(axis=1)
    ratio = T * P.sum(axis=1)[labels][:, None]
    bottom = own * mass[:, None]
    logs = np.zeros_like(T)
    np.log(ratio / np.where(bottom > 0, bottom, 1.0), out=logs, where=(T > 0) & (bottom > 0))
    return np.asarray((T * logs).sum(axis=1))


def best_single_move(T: FloatArray, labels: Labels, number: int) -> tuple[float, int, int]:
    """The move of one row that gains most information: (gain, row, cluster)."""
    P = block_sums(T, labels, number)
    mass = T.sum(axis=1)

    def worth(block: FloatArray) -> FloatArray:
        total = block.sum(axis=-1)
        return np.asarray(xlogy(block, block).sum(axis=-1) - xlogy(total, total))

    now = worth(P)
    left = worth(np.maximum(P[labels] - T, 0.0)) - now[labels]
    gains = worth(P[None, :, :] + T[:, None, :]) - now[None, :] + left[:, None]
    gains[np.arange(len(labels)), labels] = -np.inf
    gains[(np.bincount(labels, minlength=number)[labels] < 2) | (mass == 0)] = -np.inf
    row, cluster = np.unravel_index(int(gains.argmax()), gains.shape)
    return float(gains[row, cluster]), int(row), int(cluster)


def merged_rows(p: Any) -> tuple[Any, Labels]:
    """Sum equal rows and drop those without mass: the table, and the new place of each old row."""
    table: Any = sparse.csr_array(p) if sparse.issparse(p) else np.ascontiguousarray(p)
    mass = np.asarray(table.sum(axis=1)).ravel()
    places = np.full(len(mass), -1, np.int64)
    seen: dict[bytes, int] = {}
    for i in np.flatnonzero(mass > 0):
        if sparse.issparse(table):
            part = slice(table.indptr[i], table.indptr[i + 1])
            key = table.indices[part].tobytes() + table.data[part].tobytes()
        else:
            key = table[i].tobytes()
        places[i] = seen.setdefault(key, len(seen))
    kept = places >= 0
    join = sparse.csr_array(
        (np.ones(int(kept.sum())), (places[kept], np.flatnonzero(kept))),
        shape=(len(seen), len(mass)),
    )
    return join @ table, places


def balanced(length: int, number: int, rng: np.random.Generator) -> Labels:
    """Random labels with sizes as equal as they can be."""
    return rng.permutation(np.arange(length) % number)


def spread_out(p: Any, number: int, rng: np.random.Generator) -> Labels:
    """Labels by the nearest of far-apart rows: k-means++ seeding with the Hellinger distance.

    The square root of a row's conditional distribution is a unit vector; unlike the divergence,
    distances between those are finite where rows share no column.
    """
    mass = np.asarray(p.sum(axis=1)).ravel()
    roots: Any = sparse.csr_array(p) if sparse.issparse(p) else np.asarray(p)
    scale = 1.0 / np.where(mass > 0, mass, 1.0)
    if sparse.issparse(roots):
        roots = sparse.csr_array(
            (np.sqrt(roots.data * np.repeat(scale, np.diff(roots.indptr))), roots.indices,
             roots.indptr), shape=roots.shape)  # fmt: skip
    else:
        roots = np.sqrt(roots * scale[:, None])
    chosen = [int(rng.choice(len(mass), p=mass / mass.sum()))]
    near = np.full(len(mass), np.inf)
    labels = np.zeros(len(mass), np.int64)
    for k in range(number):
        seed = roots[[chosen[k]]]
        likeness = roots @ seed.T
        likeness = np.asarray(likeness.toarray() if sparse.issparse(likeness) else likeness).ravel()
        distance = np.maximum(0.0, 1.0 - likeness)
        closer = distance < near
        labels[closer], near = k, np.minimum(near, distance)
        weights = near * mass
        if k + 1 < number:
            total = weights.sum()
            pick = (
                rng.choice(len(mass), p=weights / total) if total > 0 else rng.integers(len(mass))
            )
            chosen.append(int(pick))
    return labels
