"""A quick search for clouds: k-means with many starts at once, then rows by their likeliest cloud.

On tables without groups a search has to reach as far as the whole portfolio does on the table, in
a fraction of its time. All numbers of clusters and all starts run in one product per round, and the
best are then moved uphill on the very score that they are compared by: every row goes to the cloud
that describes it best in the directions that tell the clouds apart (classification EM).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IntArray

from .separation import SMALLEST_SPREAD, GroupingScorer, Separation

#: Starts for every number of clusters, and rounds of k-means.
STARTS = 4
ROUNDS = 25
#: Shares of the rows in a dense middle.
MIDDLES = (0.5, 0.8)
#: Steps uphill on the score, and the labellings of a table that take them.
STEPS = 8
MOST_UPHILL = 8


def search_clouds(
    Z: FloatArray, numbers: Sequence[int], scorer: GroupingScorer, rng: np.random.Generator
) -> tuple[Separation | None, IntArray | None]:
    """The clearest clouds of a table, and how they are scored; None if there are none.

    Parameters
    ----------
    Z : array of shape (n_rows, d)
        What is searched; the scorer may see more of the table.
    numbers : sequence of int
        Numbers of clusters.
    scorer : GroupingScorer
    rng : Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(90, 3)) + np.repeat([[0.0], [9.0], [18.0]], 30, axis=0)
    >>> found, labels = search_clouds(Z, [2, 3, 4], GroupingScorer(Z), rng)
    >>> len(np.unique(labels)), bool(found.gain > 1)
    (3, True)
    """
    labellings = [*kmeans_starts(Z, numbers, rng), *_middles(Z)]
    judged = [(scorer(labels), labels) for labels in labellings]
    judged.sort(key=lambda each: -each[0].score)
    best: tuple[Separation | None, IntArray | None] = (None, None)
    tried: dict[int, int] = {}
    for found, labels in judged:
        k = int(labels.max()) + 1
        # Two of each number: a dense middle is no rival of two halves.
        if tried.get(k, 0) >= 2 or sum(tried.values()) >= MOST_UPHILL:
            continue
        tried[k] = tried.get(k, 0) + 1
        uphill = climb(Z, labels, scorer, found)
        if best[0] is None or uphill[0].score > best[0].score:
            best = uphill
    return best


def _middles(Z: FloatArray) -> list[IntArray]:
    """A dense middle and all the rest: what any table with long tails shows."""
    size = np.square(Z / np.maximum(Z.std(axis=0), 1e-300)).sum(axis=1)
    return [(size > np.quantile(size, share)).astype(np.int64) for share in MIDDLES]


def climb(
    Z: FloatArray, labels: NDArray[Any], scorer: GroupingScorer, found: Separation | None = None
) -> tuple[Separation, IntArray]:
    """Put every row where it is described best, as long as the score grows."""
    found = scorer(labels) if found is None else found
    best = found, np.asarray(labels, dtype=np.int64)
    for _ in range(STEPS):
        moved = _likeliest(scorer.Z @ (scorer.directions.T @ best[0].basis), best[1])
        if np.array_equal(moved, best[1]):
            break
        found = scorer(moved)
        if not found.score > best[0].score:
            break
        best = found, moved
    return best


def _likeliest(seen: FloatArray, labels: IntArray) -> IntArray:
    """The cloud under which each row is likeliest; noise (-1) is a cloud of its own."""
    numbers, inverse = np.unique(labels, return_inverse=True)
    member = np.zeros((len(numbers), len(labels)))
    member[inverse, np.arange(len(labels))] = 1.0
    sizes = member.sum(axis=1)
    centres = (member @ seen) / sizes[:, None]
    overall = np.maximum(seen.var(axis=0), 1e-300)
    spread = (member @ np.square(seen)) / sizes[:, None] - np.square(centres)
    spread = np.maximum(spread, SMALLEST_SPREAD**2 * overall)
    weights = 1.0 / spread
    # (x - c)^2 / v, summed over directions, as products.
    away = np.square(seen) @ weights.T - 2 * (seen @ (weights * centres).T)
    away += (weights * np.square(centres)).sum(axis=1)
    logs = np.log(sizes / len(labels)) - 0.5 * (away + np.log(spread).sum(axis=1))
    return np.asarray(numbers[logs.argmax(axis=1)], dtype=np.int64)


def kmeans_starts(
    Z: FloatArray, numbers: Sequence[int], rng: np.random.Generator, n_starts: int = STARTS
) -> list[IntArray]:
    """Labels of k-means for every number of clusters and start; all of them in one product a round.

    >>> Z = np.repeat([[0.0], [9.0]], 5, axis=0)
    >>> [labels.tolist() for labels in kmeans_starts(Z, [2], np.random.default_rng(0), 1)]
    [[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]]
    """
    n = len(Z)
    sizes = [k for k in numbers if 2 <= k <= n for _ in range(n_starts)]
    if not sizes:
        return []
    squares = np.square(Z).sum(axis=1)
    centres = np.concatenate([_spread_rows(Z, squares, k, rng) for k in sizes])
    ends = np.cumsum(sizes)
    starts = ends - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.full((len(sizes), n), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        away = np.square(centres).sum(axis=1) - 2 * (Z @ centres.T)
        nearest = np.stack([away[:, a:b].argmin(axis=1) for a, b in zip(starts, ends, strict=True)])
        moved = (nearest != labels).any(axis=1)
        labels = nearest
        if not moved.any():
            break
        member = np.zeros((len(centres), n))
        member[(labels + starts[:, None]).ravel(), np.tile(np.arange(n), len(sizes))] = 1.0
        counts = member.sum(axis=1)
        means = (member @ Z) / np.maximum(counts, 1.0)[:, None]
        # A centre without rows stays where it is.
        keep = (counts > 0) & moved[owner]
        centres[keep] = means[keep]
    return [_numbered(row) for row in labels]


def _spread_rows(
    Z: FloatArray, squares: FloatArray, k: int, rng: np.random.Generator
) -> FloatArray:
    """Rows far from each other, drawn by their squared distance from those drawn (k-means++)."""
    chosen = [int(rng.integers(len(Z)))]
    near = np.full(len(Z), np.inf)
    for _ in range(k - 1):
        row = Z[chosen[-1]]
        near = np.minimum(near, np.maximum(squares - 2 * (Z @ row) + row @ row, 0.0))
        total = near.sum()
        if not total > 0:
            chosen.append(int(rng.integers(len(Z))))
            continue
        chosen.append(int(np.searchsorted(np.cumsum(near), rng.random() * total)))
    return Z[np.minimum(chosen, len(Z) - 1)].copy()


def _numbered(labels: IntArray) -> IntArray:
    numbers, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(numbers))
    return rank[inverse]
