"""What is known about clusters before SSPC begins: labelled rows and labelled features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.indexing import positions
from subscape.core.types import BoolArray, IntArray

NOTHING = np.empty(0, np.int64)


class Hints(NamedTuple):
    """What is known about one cluster: some of its rows and of its features."""

    rows: IntArray
    dims: IntArray


def rows_by_cluster(given: Any, n_rows: int, n_clusters: int) -> list[IntArray]:
    """Labelled rows of each cluster, or what is wrong with them."""
    if given is None:
        return [NOTHING] * n_clusters
    if isinstance(given, Mapping):
        found = {
            _cluster(k, n_clusters, "labelled_rows"): _row_positions(rows, n_rows, k)
            for k, rows in given.items()
        }
    else:
        labels = np.asarray(given)
        if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
            raise SubscapeError(
                f"labelled_rows must be a dict {{cluster: rows}} or {n_rows} whole numbers, one "
                f"per row and -1 where nothing is known; got shape {labels.shape} of "
                f"{labels.dtype}"
            )
        if labels.max(initial=-1) >= n_clusters:
            raise SubscapeError(
                f"labelled_rows names cluster {labels.max()}, but n_clusters={n_clusters} are "
                f"numbered 0 to {n_clusters - 1}"
            )
        found = {k: np.flatnonzero(labels == k) for k in range(n_clusters)}
    every = np.concatenate([NOTHING, *found.values()])
    rows, times = np.unique(every, return_counts=True)
    if (times > 1).any():
        raise SubscapeError(
            f"labelled_rows puts {count(int((times > 1).sum()), 'row')} into two clusters: "
            f"{listing(rows[times > 1])}"
        )
    return [found.get(k, NOTHING) for k in range(n_clusters)]


def _row_positions(given: Any, n_rows: int, cluster: Any) -> IntArray:
    rows = np.asarray(given)
    if rows.size == 0:
        return NOTHING
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_rows:
        raise SubscapeError(
            f"labelled_rows of cluster {cluster} must be row numbers between 0 and {n_rows - 1}, "
            f"got {given!r}"
        )
    return np.unique(rows).astype(np.int64)


def dims_by_cluster(given: Any, n_features: int, n_clusters: int, names: Any) -> list[IntArray]:
    """Labelled features of each cluster, or what is wrong with them."""
    if given is None:
        return [NOTHING] * n_clusters
    if not isinstance(given, Mapping):
        if len(given) != n_clusters:
            raise SubscapeError(
                f"labelled_dims must be a dict {{cluster: features}} or n_clusters={n_clusters} "
                f"lists, got {len(given)}"
            )
        given = dict(enumerate(given))
    names = None if names is None else tuple(str(name) for name in names)
    result = [NOTHING] * n_clusters
    for k, features in given.items():
        if len(features):
            place = positions(features, n_features, names, "feature")
            result[_cluster(k, n_clusters, "labelled_dims")] = np.unique(place).astype(np.int64)
    return result


def in_sample(known: list[IntArray], sample: ArrayLike | None, size: int) -> dict[int, IntArray]:
    """Positions of each cluster in a sample of ``size`` rows or features; others are dropped.

    >>> in_sample([np.array([0, 7]), np.array([3])], np.array([3, 7, 9]), 10)
    {0: array([1]), 1: array([0])}
    """
    drawn = np.arange(size) if sample is None else np.asarray(sample)
    place = np.full(size, -1)
    place[drawn] = np.arange(len(drawn))
    found = {k: place[one] for k, one in enumerate(known)}
    return {k: one[one >= 0] for k, one in found.items() if (one >= 0).any()}


def _cluster(given: Any, n_clusters: int, where: str) -> int:
    if not isinstance(given, Integral) or not 0 <= int(given) < n_clusters:
        raise SubscapeError(
            f"{where} names cluster {given!r}, but n_clusters={n_clusters} are numbered 0 to "
            f"{n_clusters - 1}"
        )
    return int(given)


def matching(hints: list[Hints], labels: IntArray, masks: BoolArray) -> IntArray:
    """The number that each cluster should have to agree best with what is known.

    Shares of known rows count first, then shares of known features, then the old numbers.
    """
    agreement = 1e-6 * np.eye(len(hints))
    for k, hint in enumerate(hints):
        if len(hint.rows):
            found = labels[hint.rows]
            agreement[k] += np.bincount(found[found >= 0], minlength=len(hints)) / len(hint.rows)
        if len(hint.dims):
            agreement[k] += 1e-3 * masks[:, hint.dims].mean(axis=1)
    number, cluster = linear_sum_assignment(agreement, maximize=True)
    return number[np.argsort(cluster)]


def warn_if_contradicted(hints: list[Hints], labels: IntArray) -> None:
    """Say which clusters have moved away from most of their labelled rows."""
    lost = [
        k
        for k, hint in enumerate(hints)
        if len(hint.rows) and 2 * np.count_nonzero(labels[hint.rows] == k) < len(hint.rows)
    ]
    if lost:
        warnings.warn(
            f"most labelled rows of {count(len(lost), 'cluster')} ({listing(lost)}) ended up "
            "elsewhere: the data contradict them. Check them, or keep them with pin_labels=True",
            UserWarning,
            stacklevel=6,
        )
