"""Known groupings: given ones that shall not be found again, truths and Leiden to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from subscape.core.clustering import as_clustering
from subscape.core.convert import is_missing
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.density.leiden import Leiden, communities
from subscape.measures.labels.partitions import adjusted_rand_score, normalized_mutual_info_score
from subscape.parallel.seeds import seed_sequence
from subscape.tables.columns import parse_numbers
from subscape.tables.table import Table

#: What the names of Leiden's groupings begin with, and the resolutions that are usual.
LEIDEN = "Leiden, resolution"
RESOLUTIONS = (0.5, 1.0, 2.0)
#: Rows that Leiden looks at: the search for neighbours grows with their square.
MOST_LEIDEN_ROWS = 5_000


def known_groupings(
    known: Any, n_rows: int, what: str, row_names: Sequence[str] | None = None
) -> dict[str, IntArray]:
    """Label vectors by name, from whatever names groupings; checked against the table's rows.

    Clusterings and series whose rows have names are joined by them if the table's have names, too;
    all else by order.

    >>> {k: v.tolist() for k, v in known_groupings({"sex": ["f", "m", "f"]}, 3, "truth").items()}
    {'sex': [0, 1, 0]}
    >>> from subscape.core import SubspaceClustering
    >>> named = SubspaceClustering.from_labels([0, 1, 1], row_names=["a", "b", "c"])
    >>> known_groupings(named, 3, "truth", row_names=["c", "a", "b"])
    {'truth': array([1, 0, 1])}
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
        names = _names(labels)
        if names is not None and row_names is not None:
            numbers = numbers[_order(names, row_names, name)]
        if len(numbers) != n_rows:
            raise ShapeMismatchError(
                f"{name} has {count(len(numbers), 'row')}, the table {n_rows}; they are joined by "
                "order, so there must be one label per row"
            )
        if what == "given" and len(np.unique(numbers[numbers >= 0])) < 2:
            raise SubscapeError(f"{name} has fewer than two groups, so nothing can differ from it")
        found[name] = numbers
    return found


def _names(labels: Any) -> tuple[str, ...] | None:
    """The names of the rows, where somebody gave them."""
    if hasattr(labels, "labels") or hasattr(labels, "clustering_"):
        return as_clustering(labels).row_names
    index = labels.index if hasattr(labels, "iloc") else None
    # The running number of a series says nothing, as in a table.
    if index is None or type(index).__name__ == "RangeIndex" or not index.is_unique:
        return None
    return tuple(str(name) for name in index)


def _order(names: Sequence[str], row_names: Sequence[str], what: str) -> IndexArray:
    """Where the rows of the table are among those of a grouping."""
    place = {name: i for i, name in enumerate(names)}
    missing = [name for name in row_names if name not in place]
    if missing:
        raise ShapeMismatchError(
            f"{what} has no row for {len(missing)} of the table's {len(row_names)} rows, such as "
            f"{missing[0]!r}; its rows have names such as {names[0]!r}. Give the same names, or "
            "labels without names (an array), which are joined by order"
        )
    return np.array([place[name] for name in row_names], dtype=np.intp)


def _labels(labels: Any) -> IntArray:
    """Groups numbered from 0; -1 for rows in none: missing, or a negative whole number."""
    if hasattr(labels, "labels") or hasattr(labels, "clustering_"):
        return np.asarray(as_clustering(labels).labels())
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ShapeMismatchError(f"labels must be one vector, got shape {array.shape}")
    if array.dtype.kind in "iu":
        unknown = array < 0
    elif array.dtype.kind == "f":
        unknown = np.isnan(array)
        unknown |= array < 0 if _are_whole(array[~unknown]) else array == -1
    else:
        texts = ["" if _is_none(value) else str(value) for value in array.tolist()]
        array = np.array(texts)
        unknown = np.isin(array, ["", "nan", "-1"])
        numbers = parse_numbers(array[~unknown].tolist())
        if numbers is not None and _are_whole(numbers):
            unknown[~unknown] = numbers < 0
    found = np.full(len(array), -1, dtype=np.int64)
    if not unknown.all():
        found[~unknown] = np.unique(array[~unknown], return_inverse=True)[1]
    return found


def _is_none(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, Integral) and value < 0)


def _are_whole(numbers: FloatArray) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def leiden_groupings(
    table: Any, resolutions: Sequence[float] = RESOLUTIONS, *, random_state: Any = 0
) -> dict[str, IntArray]:
    """Leiden's communities of the rows at several resolutions, to compare views with.

    Parameters
    ----------
    table : Table, AnnData, path or data frame
        Whatever :meth:`subscape.Table.read` takes; its numbers are taken as they are.
    resolutions : sequence of float, default=(0.5, 1, 2)
    random_state : int, SeedSequence, Generator or None, default=0

    Returns
    -------
    dict of str to array of shape (n_rows,)
        Labels by name, as ``truth`` of :func:`subscape.explore` takes them. Of more than 5,000
        rows so many are drawn, and the others are -1. Empty where cells are missing.

    See Also
    --------
    subscape.finders.Leiden : The finder, with all its parameters.

    Examples
    --------
    >>> from subscape.datasets import planted_views
    >>> from subscape.exploration import leiden_groupings
    >>> X, (truth,) = planted_views(200, 6, n_clusters=(4,), separation=9, random_state=0)
    >>> {name: int(labels.max()) + 1 for name, labels in leiden_groupings(X, (0.1, 0.5)).items()}
    {'Leiden, resolution 0.1': 4, 'Leiden, resolution 0.5': 4}
    """
    X = (table if isinstance(table, Table) else Table.read(table)).to_numpy("onehot")
    drawing, fitting, *moving = seed_sequence(random_state).spawn(2 + len(resolutions))
    rows = np.arange(len(X))
    if len(rows) > MOST_LEIDEN_ROWS:
        drawn = np.random.default_rng(drawing).choice(len(X), MOST_LEIDEN_ROWS, replace=False)
        rows = np.sort(drawn)
    looked_at = X[rows]
    if len(rows) < 2 or not np.isfinite(looked_at).all():
        return {}
    looked_at = looked_at[:, np.ptp(looked_at, axis=0) > 0]
    if not looked_at.shape[1]:
        return {}
    # The graph is the same at all resolutions.
    graph = Leiden(max_iter=1, random_state=fitting).fit(looked_at).graph_
    found = {}
    for resolution, seed in zip(resolutions, moving, strict=True):
        labels = np.full(len(X), -1, np.int64)
        labels[rows] = communities(graph, float(resolution), seed)
        found[f"{LEIDEN} {resolution:g}"] = labels
    return found


def agreement(truth: IntArray, labels: IntArray) -> dict[str, float]:
    """ARI and NMI over the rows whose group is known; rows in no cluster are a group."""
    rows = truth >= 0
    if not rows.any():
        return {"ari": 0.0, "nmi": 0.0}
    a, b = truth[rows], labels[rows] + 1
    return {
        "ari": float(adjusted_rand_score(a, b)),
        "nmi": float(normalized_mutual_info_score(a, b)),
    }
