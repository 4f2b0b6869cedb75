"""Groups within groups: the clusters of a view merged step by step, the least loss first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.validation.criteria import SIGNIFICANCE_LEVEL, STABLE

#: Neighbours of a cluster that it may be merged with, by distance of the centres.
NEIGHBOURS = 4
#: Views of more clusters have no tree: it could not be read.
MOST_CLUSTERS = 40


@dataclass(frozen=True)
class Merge:
    """Two clusters of a view that become one.

    Attributes
    ----------
    first, second : int
        Clusters of the view; each stands for all that were merged into it before.
    lost : float
        Nats per row by which the rows are described worse than before.
    n_clusters : int
        Clusters that are left.
    p_value : float
        Of what is left, as for a view; NaN where that was not tested.
    stability : float
        Of what is left: agreement with what is found on samples, merged in the same way.
    p_interval : tuple of two float, or None
        Where that probability is (95 %), where it was read from a fitted tail.
    """

    first: int
    second: int
    lost: float
    n_clusters: int
    p_value: float = float("nan")
    stability: float = float("nan")
    p_interval: tuple[float, float] | None = None


def merge_tree(
    labels: IntArray,
    seen: FloatArray,
    gain: Callable[[IntArray], float],
    p_value: Callable[[IntArray], tuple[float, tuple[float, float] | None]] | None = None,
    samples: Sequence[tuple[IndexArray, IntArray]] = (),
    *,
    by_centres: bool = False,
) -> tuple[Merge, ...]:
    """Merge clusters until two are left, each time the two whose merging loses least.

    Clouds and boxes lose as the spread within clusters grows where they are told apart, in the
    units of the spread that they have before anything is merged (Ward [1]_; a box that holds two
    others may be narrow in nothing, whichever they are); other groups by what their own idea of a
    group says.

    Parameters
    ----------
    labels : int array of shape (n_rows,)
        -1 for rows in no cluster.
    seen : array of shape (n_rows, d)
        The rows where the clusters are told apart.
    gain : callable
        Nats per row that labels gain.
    p_value : callable, optional
        Of labels, with its interval if it was read from a fitted tail.
    samples : sequence of (rows, labels)
        What was found on samples.
    by_centres : bool, default=False
        Whether the groups are clouds or boxes.

    References
    ----------
    .. [1] J. H. Ward, "Hierarchical grouping to optimize an objective function", Journal of the
       American Statistical Association 58 (1963), doi:10.1080/01621459.1963.10500845.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.repeat([[0.0], [1.0], [9.0]], 10, axis=0)
    >>> spread = lambda labels: -sum(seen[labels == k].std() for k in np.unique(labels))
    >>> [(m.first, m.second) for m in merge_tree(np.repeat([0, 1, 2], 10), seen, spread)]
    [(0, 1)]
    """
    numbers = np.unique(labels[labels >= 0]).tolist()
    if not 3 <= len(numbers) <= MOST_CLUSTERS:
        return ()
    current = labels.copy()
    found = [(rows, _as_clusters(labels[rows], other)) for rows, other in samples]
    before = gain(current)
    merges: list[Merge] = []
    if by_centres:
        seen = _in_spreads(seen, labels, numbers)
    while len(numbers) > 2:
        centres = np.array([seen[current == k].mean(axis=0) for k in numbers])
        pairs = _near(centres)
        if not pairs:
            break
        if by_centres:
            sizes = np.array([(current == k).sum() for k in numbers])
            i, j = min(pairs, key=lambda pair: _ward(centres, sizes, *pair))
            after = gain(np.where(current == numbers[j], numbers[i], current))
        else:
            tried = [
                (gain(np.where(current == numbers[j], numbers[i], current)), -place)
                for place, (i, j) in enumerate(pairs)
            ]
            after, place = max(tried)
            i, j = pairs[-place]
        first, second = numbers[i], numbers[j]
        current = np.where(current == second, first, current)
        found = [(rows, np.where(own == second, first, own)) for rows, own in found]
        numbers.remove(second)
        agreement = [adjusted_rand_score(current[rows], own) for rows, own in found]
        p, interval = (float("nan"), None) if p_value is None else p_value(current)
        merges.append(
            Merge(
                first=int(first),
                second=int(second),
                lost=float(before - after),
                n_clusters=len(numbers),
                p_value=float(p),
                stability=float(np.mean(agreement)) if agreement else float("nan"),
                p_interval=interval,
            )
        )
        before = after
    return tuple(merges)


def _in_spreads(seen: FloatArray, labels: IntArray, numbers: Sequence[int]) -> FloatArray:
    """Rows in the units of the spread within clusters, direction by direction."""
    within = np.concatenate([seen[labels == k] - seen[labels == k].mean(axis=0) for k in numbers])
    spread = within.std(axis=0)
    return seen / np.where(spread > 0, spread, 1.0)


def _ward(centres: FloatArray, sizes: IntArray, i: int, j: int) -> float:
    """By how much the squared spread within clusters grows if two are merged."""
    weight = sizes[i] * sizes[j] / (sizes[i] + sizes[j])
    return float(weight * np.square(centres[i] - centres[j]).sum())


def _near(centres: FloatArray) -> list[tuple[int, int]]:
    apart = np.square(centres[:, None] - centres).sum(axis=-1)
    np.fill_diagonal(apart, np.inf)
    close = np.argsort(apart, axis=1)[:, :NEIGHBOURS]
    return sorted({(min(i, int(j)), max(i, int(j))) for i in range(len(centres)) for j in close[i]
                   if np.isfinite(apart[i, int(j)])})  # fmt: skip


def _as_clusters(labels: IntArray, other: IntArray) -> IntArray:
    """Other labels of the same rows under the numbers of the clusters that they share most with."""
    own = np.full(len(other), -1, dtype=np.int64)
    for k in np.unique(other[other >= 0]):
        inside = labels[other == k]
        inside = inside[inside >= 0]
        if len(inside):
            own[other == k] = np.bincount(inside).argmax()
    return own


def labels_at(labels: IntArray, merges: Sequence[Merge], n_clusters: int) -> IntArray:
    """Labels with so many clusters, merged in the order of the tree and numbered by size.

    >>> import numpy as np
    >>> labels_at(np.array([0, 0, 0, 1, 2, 2]), [Merge(0, 2, 0.1, 2)], 2)
    array([0, 0, 0, 1, 0, 0])
    """
    have = len(np.unique(labels[labels >= 0]))
    fewest = have - len(merges)
    if not fewest <= n_clusters <= have:
        raise SubscapeError(
            f"the view has {have} clusters, its tree goes down to {fewest}: there is no level of "
            f"{n_clusters}"
        )
    merged = labels.copy()
    for merge in merges[: have - n_clusters]:
        merged = np.where(merged == merge.second, merge.first, merged)
    numbers, sizes = np.unique(merged[merged >= 0], return_counts=True)
    place = {int(k): i for i, k in enumerate(numbers[np.argsort(-sizes, kind="stable")])}
    return np.array([place.get(int(k), -1) for k in merged], dtype=np.int64)


def recommended_level(
    n_clusters: int, p_value: float, stability: float, merges: Sequence[Merge]
) -> int:
    """The most clusters that are better than chance and come back; else those of the view.

    >>> recommended_level(4, 0.001, 0.6, [Merge(0, 1, 0.1, 3, 0.001, 0.9)])
    3
    """
    levels = [(n_clusters, p_value, stability)]
    levels += [(merge.n_clusters, merge.p_value, merge.stability) for merge in merges]
    for number, p, steady in levels:
        if steady >= STABLE and not p > SIGNIFICANCE_LEVEL:
            return number
    return n_clusters
