"""A quick search for clouds: k-means with many starts at once, then rows by their likeliest cloud.

The table and tables without groups are searched in the same way. Numbers of clusters from a ladder,
each from several starts, run in one kernel; the best are then moved uphill on the very score that
they are compared by: every row goes to the cloud that describes it best in the directions that tell
the clouds apart (classification EM), as long as the score grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from subscape.arrays.kmeans_starts import kmeans_labels, labels_along
from subscape.arrays.numbering import from_zero
from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.validation.criteria import smallest_cluster

from .information import canonical
from .separation import (
    SMALLEST,
    GroupingScorer,
    Separation,
    in_earnest,
    principal_directions,
    separations,
)
from .slices import merged_slices

#: Starts for every number of clusters, and rounds of k-means.
STARTS = 3
ROUNDS = 15
#: Columns, and principal directions, along which clusters are looked for, and numbers of these.
MOST_LINES = 6
ALONG = (2, 3, 4, 5)
#: Shares of the rows in a dense middle.
MIDDLES = (0.5, 0.8)
#: Steps uphill on the score, and the labellings of a table that take them.
STEPS = 6
MOST_UPHILL = 6
#: Labellings, the best over one normal distribution, whose slices are merged; and the best of all.
MOST_MERGED = 2
#: A step counts if the score grows by more.
LEAST_STEP = 1e-9
#: Columns that vary by a smaller share of their values are constant.
CONSTANT = 1e-12
#: Groupings that a search hands on.
MOST_KEPT = 10


class Clouds(NamedTuple):
    """What was found in a table.

    Attributes
    ----------
    labellings : int array of shape (m, n)
        Many groupings, the best of them by the gain over one hump first.
    score, normal_score : float
        The largest score, by the gain over one hump and over one normal distribution.
    """

    labellings: IntArray
    score: float
    normal_score: float


def ladder(n_rows: int, most: int = 40) -> list[int]:
    """Numbers of clusters that are tried in a table of so many rows: at least eight rows for each.

    >>> ladder(150), ladder(26)
    ([2, 3, 4, 5, 6, 8, 11, 15], [2, 3])
    """
    numbers = [2, 3, 4, 5, 6, 8, 11, 15, 21, 29, 40]
    return [k for k in numbers if k <= min(most, max(2, n_rows // 8))]


def search_clouds(
    Z: FloatArray, numbers: Sequence[int], scorer: GroupingScorer, rng: np.random.Generator
) -> Clouds:
    """Search a table for clouds.

    Parameters
    ----------
    Z : array of shape (n_rows, d)
        What is searched; the scorer may see the table in another way.
    numbers : sequence of int
        Numbers of clusters to begin with.
    scorer : GroupingScorer
    rng : Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(90, 3)) + np.repeat([[0.0], [9.0], [18.0]], 30, axis=0)
    >>> found = search_clouds(Z, [2, 3, 4], GroupingScorer(Z), rng)
    >>> len(np.unique(found.labellings[0])), bool(found.score > 0.5)
    (3, True)
    """
    sizes = np.repeat(np.asarray(numbers, dtype=np.int64), STARTS)
    chances = rng.random((len(sizes), int(sizes.max())))
    labels = kmeans_labels(np.ascontiguousarray(Z), sizes, chances, ROUNDS)
    lines, line_sizes = _along_lines(Z, rng)
    labels = np.vstack([labels, lines, *_middles(Z)])
    sizes = np.concatenate([sizes, line_sizes, [2] * len(MIDDLES)])
    judged, judged_normal = _scores(scorer, labels, sizes)
    starts = np.unique([*_best_of_each(judged, sizes), *_best_of_each(judged_normal, sizes)])
    climbed, score, normal_score = uphill(scorer, labels[starts])
    # Starts that end in the same groups are one: between them, rounding would choose.
    ends = {canonical(each).tobytes(): place for place, each in enumerate(climbed)}
    kept = list(ends.values())
    climbed, score, normal_score = climbed[kept], score[kept], normal_score[kept]
    best = {int(score.argmax()), *np.argsort(-normal_score, kind="stable")[:MOST_MERGED].tolist()}
    merged = np.array([_without_slices(scorer, climbed[place]) for place in sorted(best)])
    again = separations(scorer.Y, merged, int(merged.max()) + 1)
    everything = np.vstack([climbed, merged, labels])
    scores = np.concatenate([score, again.score, judged])
    normal_scores = np.concatenate([normal_score, again.normal_score, judged_normal])
    order = np.argsort(-scores, kind="stable")
    return Clouds(everything[order], float(scores.max()), float(normal_scores.max()))


def _scores(
    scorer: GroupingScorer, labels: IntArray, sizes: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Scores over one hump and over one normal distribution.

    Few clusters are told apart in few directions, which are found among as many: those of many
    clusters are looked for by themselves.
    """
    scores = np.empty((2, len(labels)))
    for part in (sizes <= max(ALONG), sizes > max(ALONG)):
        if part.any():
            found = separations(scorer.Y, labels[part], int(sizes[part].max()))
            scores[:, part] = found.score, found.normal_score
    return scores[0], scores[1]


def _without_slices(scorer: GroupingScorer, labels: IntArray) -> IntArray:
    """Labels from 0 on, with clusters merged that are slices of one another."""
    return merged_slices(scorer, from_zero(labels))


def _along_lines(Z: FloatArray, rng: np.random.Generator) -> tuple[IntArray, IndexArray]:
    """k-means along single columns and principal directions, of which the flattest are taken.

    Groups that one direction shows, and all others blur, are seen there: several clouds of equal
    size have less weight in the tails than one.
    """
    seen = [_in_spreads(Z)]
    if Z.shape[1] > 1:
        turned = Z @ principal_directions(Z - Z.mean(axis=0), min(Z.shape[1], MOST_LINES))
        seen.append(_in_spreads(turned))
    sizes = np.array([k for k in ALONG if k <= max(2, len(Z) // 8)], dtype=np.int64)
    chosen = []
    for columns in seen:
        weight = np.square(np.square(columns - columns.mean(axis=0))).mean(axis=0)
        chosen.append(columns[:, np.argsort(weight, kind="stable")[:MOST_LINES]])
    lines = np.concatenate(chosen, axis=1)
    chances = rng.random((lines.shape[1], len(sizes), int(sizes.max())))
    return labels_along(lines, sizes, chances, ROUNDS), np.tile(sizes, lines.shape[1])


def _in_spreads(columns: FloatArray) -> FloatArray:
    """The columns in units of their standard deviations, without those in which no rows differ.

    Along what was taken out of a table rounding is left, which is nothing to be searched; if no
    rows differ anywhere, the columns are all there is.
    """
    spread = columns.std(axis=0)
    least = np.maximum(CONSTANT * np.abs(columns).max(axis=0, initial=0.0), SMALLEST * spread.max())
    differ = spread > least
    return columns[:, differ] / spread[differ] if differ.any() else columns


def _best_of_each(scores: FloatArray, sizes: IntArray) -> list[int]:
    """The best labelling of each number of clusters, the best first; at most a few."""
    chosen: dict[int, int] = {}
    for place in np.argsort(-scores, kind="stable"):
        chosen.setdefault(int(sizes[place]), int(place))
    return list(chosen.values())[:MOST_UPHILL]


def _middles(Z: FloatArray) -> list[IntArray]:
    """A dense middle and all the rest: what any table with long tails shows."""
    size = np.square(_in_spreads(Z)).sum(axis=1)
    return [(size > edge).astype(np.int64) for edge in np.quantile(size, MIDDLES)]


def uphill(scorer: GroupingScorer, labels: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Put every row where it is described best, as long as the score grows; many labellings.

    Returns the labels and their scores, over one hump and over one normal distribution.
    """
    n_groups = int(labels.max()) + 1
    found = separations(scorer.Y, labels, n_groups)
    best = labels.copy()
    scores, normal_scores = found.score, found.normal_score
    fewest = smallest_cluster(labels.shape[1])
    for _ in range(STEPS):
        moved = found.likeliest()
        found = separations(scorer.Y, moved, n_groups)
        sizes = found.shares * labels.shape[1]
        large = ((sizes == 0) | (sizes >= fewest)).all(axis=1)
        better = (found.score > scores + LEAST_STEP) & large
        if not better.any():
            break
        best[better] = moved[better]
        scores = np.where(better, found.score, scores)
        normal_scores = np.where(better, found.normal_score, normal_scores)
    return best, scores, normal_scores


def climb(
    Z: FloatArray, labels: NDArray[Any], scorer: GroupingScorer, found: Separation | None = None
) -> tuple[Separation, IntArray]:
    """Put every row where it is described best, as long as the score grows."""
    groups, n_clusters = in_earnest(labels)
    before = scorer(labels) if found is None else found
    best, scores, _ = uphill(scorer, groups[None])
    if not scores[0] > before.score:
        return before, np.asarray(labels, dtype=np.int64)
    moved = np.where(best[0] == n_clusters, -1, best[0])
    return scorer(moved), moved


def table_searched(X: FloatArray, scorer: GroupingScorer) -> FloatArray:
    """The columns of a table, or as many principal directions as the scorer sees, if fewer.

    Levels are searched as they are; only the scorer blurs them.
    """
    centred = X - X.mean(axis=0)
    most = scorer.Z.shape[1]
    return centred if most >= X.shape[1] else centred @ principal_directions(centred, most)


class CloudSearch(BaseEstimator):
    """The quick search as a run of the plan: ``clusterings_`` are the groupings it found.

    Parameters
    ----------
    most : int, default=40
        Clusters at most; the ladder ends there.
    few_valued : tuple of int
        Columns that take few values; see :class:`GroupingScorer`.
    random_state : int
    """

    def __init__(
        self, most: int = 40, few_valued: tuple[int, ...] = (), random_state: int = 0
    ) -> None:
        self.most = most
        self.few_valued = few_valued
        self.random_state = random_state

    def fit(self, X: FloatArray, y: Any = None) -> CloudSearch:
        """Search a table.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : ignored
        """
        X = np.asarray(X, dtype=np.float64)
        few: IndexArray = np.asarray(self.few_valued, dtype=np.intp)
        scorer = GroupingScorer(X, few)
        found = search_clouds(
            table_searched(X, scorer),
            ladder(len(X), self.most),
            scorer,
            np.random.default_rng(self.random_state),
        )
        kept: dict[bytes, IntArray] = {}
        seen: set[bytes] = set()
        for labels in found.labellings:
            numbers = from_zero(labels)
            if numbers.tobytes() in seen:
                continue
            seen.add(numbers.tobytes())
            numbers = _without_slices(scorer, numbers)
            if numbers.max(initial=0) > 0:
                kept.setdefault(numbers.tobytes(), numbers)
            if len(kept) == MOST_KEPT:
                break
        self.clusterings_ = [
            SubspaceClustering.from_labels(labels, n_features=X.shape[1])
            for labels in kept.values()
        ]
        return self
