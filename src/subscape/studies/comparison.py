"""Known groupings: given ones that shall not be found again, and truths to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core import as_clustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.measures import adjusted_rand_score, normalized_mutual_info_score


def known_groupings(known: Any, n_rows: int, what: str) -> dict[str, NDArray[np.int64]]:
    """Label vectors by name, from whatever names groupings; checked against the number of rows.

    >>> {k: v.tolist() for k, v in known_groupings({"sex": ["f", "m", "f"]}, 3, "truth").items()}
    {'sex': [0, 1, 0]}
    """
    if known is None:
        return {}
    if isinstance(known, Mapping):
        items = {str(name): labels for name, labels in known.items()}
    elif isinstance(known, (list, tuple)) and known and not np.isscalar(known[0]):
        items = {f"{what} {i + 1}": labels for i, labels in enumerate(known)}
    elif isinstance(known, np.ndarray) and known.ndim == 2:
        items = {f"{what} {i + 1}": labels for i, labels in enumerate(known.T)}
    else:
        items = {what: known}
    found = {}
    for name, labels in items.items():
        numbers = _labels(labels)
        if len(numbers) != n_rows:
            raise ShapeMismatchError(
                f"{name} has {count(len(numbers), 'row')}, the table {n_rows}; they are joined by "
                "order, so there must be one label per row"
            )
        if what == "given" and len(np.unique(numbers[numbers >= 0])) < 2:
            raise SubscapeError(f"{name} has fewer than two groups, so nothing can differ from it")
        found[name] = numbers
    return found


def _labels(labels: Any) -> NDArray[np.int64]:
    if hasattr(labels, "labels") or hasattr(labels, "clustering_"):
        return np.asarray(as_clustering(labels).labels())
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ShapeMismatchError(f"labels must be one vector, got shape {array.shape}")
    if array.dtype.kind in "iu":
        unknown = array == -1
    elif array.dtype.kind == "f":
        unknown = np.isnan(array) | (array == -1)
    else:
        array = np.array(["" if value is None else str(value) for value in array.tolist()])
        unknown = np.isin(array, ["", "nan", "-1"])
    numbers = np.full(len(array), -1, dtype=np.int64)
    if not unknown.all():
        numbers[~unknown] = np.unique(array[~unknown], return_inverse=True)[1]
    return numbers


def agreement(truth: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, float]:
    """ARI and NMI over the rows whose group is known; rows in no cluster are a group."""
    rows = truth >= 0
    if not rows.any():
        return {"ari": 0.0, "nmi": 0.0}
    a, b = truth[rows], labels[rows] + 1
    return {
        "ari": float(adjusted_rand_score(a, b)),
        "nmi": float(normalized_mutual_info_score(a, b)),
    }
