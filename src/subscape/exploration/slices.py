"""Clusters that are slices of one another: merged, as long as that describes the rows better."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.validation.hump_likelihood import NORMAL, description_length, merged_groups

from .separation import SMALLEST_SPREAD, GroupingScorer, in_earnest, seen_apart

#: Clusters next to one, by distance of their centres, that it may be a slice of.
NEIGHBOURS = 4
#: Nats per row that densities with one hump, and turned directions, save at most over normal ones.
MOST_SAVED = 0.5


def merged_slices(scorer: GroupingScorer, labels: IntArray) -> IntArray:
    """Merge clusters that describe the rows no better than they would together.

    A grouping by many clusters is told apart in many directions, and in these each cluster has
    spreads of its own. Slices of a cluster bring new directions in which the others are narrow, and
    so gain without telling anything. Here the directions stay the same: two clusters next to each
    other are one if one density (in each of its own principal directions a normal one or any other
    with one hump, whichever describes it better) is cheaper than two, by BIC.

    Parameters
    ----------
    scorer : GroupingScorer
        Of the table.
    labels : int array of shape (n_rows,)
        From 0 on, every number taken.

    Returns
    -------
    int array
        From 0 on; the same labels where nothing is merged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(120, 3)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    >>> sliced = np.repeat([0, 1], 60) + np.where((Z[:, 1] > 9) & (Z[:, 0] > 5), 1, 0)
    >>> len(np.unique(sliced)), len(np.unique(merged_slices(GroupingScorer(Z), sliced)))
    (3, 2)
    """
    # Searches end in the same groupings again and again.
    known, name = scorer.merged, _name(labels)
    if name not in known:
        merged = _merged_once(scorer, labels)
        # Fewer clusters are told apart in fewer directions.
        known[name] = labels if merged is labels else merged_slices(scorer, merged)
    return known[name]


def _merged_once(scorer: GroupingScorer, labels: IntArray) -> IntArray:
    n_groups = int(labels.max()) + 1
    if n_groups < 3:
        return labels
    seen = seen_apart(scorer.Y, labels)
    merged = merged_groups(np.ascontiguousarray(seen), labels, NEIGHBOURS, SMALLEST_SPREAD)
    return labels if int(merged.max()) + 1 == n_groups else merged


def is_sliced(scorer: GroupingScorer, labels: IntArray, others: Sequence[IntArray]) -> bool:
    """Whether some coarser grouping describes the rows more cheaply in this one's own directions.

    Parameters
    ----------
    scorer : GroupingScorer
        Of the table.
    labels : int array of shape (n_rows,)
        -1 is noise.
    others : sequence of int arrays
        The groupings that it is compared with.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(120, 3)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    >>> two = np.repeat([0, 1], 60)
    >>> sliced = two + np.where((Z[:, 1] > 9) & (Z[:, 0] > 5), 1, 0)
    >>> is_sliced(GroupingScorer(Z), sliced, [two]), is_sliced(GroupingScorer(Z), two, [sliced])
    (True, False)
    """
    groups, n_clusters, name = _told_apart(scorer, labels)
    every = [_told_apart(scorer, one) for one in others]
    # The same groupings are compared after every step of a search.
    known = scorer.sliced
    pairs = {
        (name, other): one
        for one, k, other in every
        if 1 < k < n_clusters
        and not (k + 1 == n_clusters and _is_a_cluster(one == k, groups, n_clusters))
    }
    todo = {pair: one for pair, one in pairs.items() if pair not in known}
    if todo and not any(known.get(pair, False) for pair in pairs):
        seen = seen_apart(scorer.Y, groups)
        own = _length(seen, groups)
        for pair, one in todo.items():
            known[pair] = (
                _rough_length(seen, one) <= own + MOST_SAVED * len(groups)
                and _length(seen, one) <= own
            )
            if known[pair]:
                break
    return any(known.get(pair, False) for pair in pairs)


def _is_a_cluster(noise: BoolArray, groups: IntArray, n_clusters: int) -> bool:
    """Whether rows that are in no cluster are one of another grouping, which is no finer then.

    They are if the two share more than half of all their rows, which no second cluster can.
    """
    shared = np.bincount(groups[noise], minlength=n_clusters)[:n_clusters]
    sizes = np.bincount(groups, minlength=n_clusters)[:n_clusters]
    return bool((2 * shared > noise.sum() + sizes - shared).any())


def _told_apart(scorer: GroupingScorer, labels: IntArray) -> tuple[IntArray, int, bytes]:
    """Groups in earnest, how many are clusters, and their name."""
    key = np.asarray(labels).tobytes()
    if key not in scorer.earnest:
        groups, n_clusters = in_earnest(labels)
        scorer.earnest[key] = groups, n_clusters, _name(groups)
    return scorer.earnest[key]


def _name(labels: IntArray) -> bytes:
    return hashlib.blake2b(labels.tobytes(), digest_size=16).digest()


def _rough_length(seen: FloatArray, labels: IntArray) -> float:
    """The same with normal clouds along the given directions: no less, and quickly known."""
    counts = np.maximum(np.bincount(labels), 1)[:, None]
    sums = np.array([np.bincount(labels, weights=column) for column in seen.T]).T
    squares = np.array([np.bincount(labels, weights=column**2) for column in seen.T]).T
    spreads = np.sqrt(np.maximum(squares / counts - np.square(sums / counts), SMALLEST_SPREAD**2))
    told = -(counts * np.log(counts / len(labels))).sum()
    return float(told + (counts * (np.log(spreads) + NORMAL)).sum())


def _length(seen: FloatArray, labels: IntArray) -> float:
    """Nats that describe all rows, each by its group."""
    numbers, sizes = np.unique(labels, return_counts=True)
    told = -(sizes * np.log(sizes / len(labels))).sum()
    told += 0.5 * (len(numbers) - 1) * np.log(len(labels))
    return float(told + sum(_cost(seen, np.flatnonzero(labels == k)) for k in numbers))


def _cost(seen: FloatArray, rows: IntArray) -> float:
    """Nats that describe the rows of one cluster, with those of the parameters."""
    return description_length(seen[rows], SMALLEST_SPREAD)
