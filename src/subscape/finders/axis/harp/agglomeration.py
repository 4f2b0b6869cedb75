"""Agglomeration whose merges first need many similar features and later make do with few."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IntArray

__all__ = ["Merges", "Schedule", "agglomerate", "meet", "schedule"]

#: Partner of a cluster whose best partner is gone: its key is then only a bound.
GONE = -1
#: Rows looked at between two questions whether to go on, before the first merge.
PATIENCE = 64


class Schedule(NamedTuple):
    """How the two thresholds loosen, step by step.

    Attributes
    ----------
    relevance : (n_steps,) array
        Least relevance of a feature to be selected, from 1 down to 0.
    n_dims : (n_steps,) int array
        Least number of selected features, from all of them down to 1.
    first_step : (n_features,) int array
        The first step at which 1, 2, … selected features are enough.
    """

    relevance: FloatArray
    n_dims: IntArray
    first_step: IntArray


class Merges(NamedTuple):
    """A dendrogram, one entry per merge in the order they were made.

    Attributes
    ----------
    left, right : (n_merges,) int array
        The clusters merged, each named by its first row; the union is called ``left``.
    step : (n_merges,) int array
        The step of the schedule; its number of steps for a merge that no step allows.
    score : (n_merges,) array
        The merge score.
    n_dims : (n_merges,) int array
        How many features were similar enough at that step.
    """

    left: IntArray
    right: IntArray
    step: IntArray
    score: FloatArray
    n_dims: IntArray


def schedule(n_features: int, n_steps: int | None = None) -> Schedule:
    """Lower both thresholds linearly in ``n_steps`` steps (one per feature, at least two).

    Examples
    --------
    >>> schedule(3).relevance, schedule(3).n_dims
    (array([1. , 0.5, 0. ]), array([3, 2, 1]))
    """
    last = max(n_features if n_steps is None else n_steps, 2) - 1
    steps = np.arange(last + 1, dtype=np.int64)
    n_dims = n_features - steps * (n_features - 1) // last
    first_step = np.searchsorted(-n_dims, -np.arange(1, n_features + 1)).astype(np.int64)
    return Schedule(1 - steps / last, n_dims, first_step)


@compiled("_merging")
def meet(
    means: FloatArray,
    variances: FloatArray,
    slot: int,
    others: IntArray,
    n_steps: int,
    first_step: IntArray,
    n_dims: IntArray,
    current: int,
    partner: IntArray,
    step: IntArray,
    score: FloatArray,
    selected: IntArray,
) -> None:
    """Let a cluster meet others: each side remembers the other if it is its best partner so far.

    Two clusters differ in a feature by the mean of their variances plus the squared distance of
    their means, in units of the whole column's variance; one minus that is the relevance of the
    feature to the pair. A pair is the better the earlier the step that allows it, then the larger
    its score (the sum of the selected features' relevance), then the more features are selected,
    then the smaller the partner's number. A pair that no step allows comes after all the others;
    its score sums the relevance of every feature.

    Parameters
    ----------
    means, variances : (n, p) array
        Statistics of each cluster, in units of the columns' standard deviations.
    slot : int
        The cluster.
    others : (m,) int array
        The clusters it meets; ``slot`` itself is passed over.
    n_steps : int
        Number of steps.
    first_step, n_dims : int arrays
        As in :class:`Schedule`.
    current : int
        The step reached; no pair is given an earlier one.
    partner, step, score, selected : (n,) arrays
        Best partner of each cluster and its key. Written to.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.harp.agglomeration import meet, schedule
    >>> rows = np.array([[0.0, 0.0], [0.1, 3.0], [0.1, 0.2]])
    >>> plan = schedule(2)
    >>> partner, step = np.full(3, -1), np.full(3, 3)
    >>> score, selected = np.full(3, -np.inf), np.zeros(3, int)
    >>> for i in range(2):
    ...     meet(rows, np.zeros((3, 2)), i, np.arange(i + 1, 3), 2, plan.first_step, plan.n_dims,
    ...          0, partner, step, score, selected)
    >>> partner, step
    (array([2, 2, 0]), array([1, 1, 1]))
    """
    others = others[others != slot]
    if not len(others):
        return
    gap = means[others] - means[slot]
    away = 0.5 * (variances[others] + variances[slot]) + gap * gap
    allowed_from = np.minimum(np.ceil(away * (n_steps - 1)), n_steps).astype(np.int64)
    when = np.maximum(np.sort(allowed_from, axis=1), first_step).min(axis=1)
    when = np.maximum(when, current)
    taken = allowed_from <= when[:, None]
    # Summed feature by feature, as the twin does: both then agree to the last bit.
    much = np.cumsum(np.where(taken, 1 - away, 0.0), axis=1)[:, -1]
    many = np.where(when < n_steps, taken.sum(axis=1), 0)

    best = np.lexsort((others, -many, -much, when))[0]
    mine = np.array([best]), np.array([slot]), others[best : best + 1]
    theirs = np.arange(len(others)), others, np.full(len(others), slot)
    for pick, who, whom in (mine, theirs):
        t, s, v = when[pick], much[pick], many[pick]
        tie = (t == step[who]) & (s == score[who])
        better = (t < step[who]) | ((t == step[who]) & (s > score[who]))
        better |= tie & (v > selected[who])
        better |= tie & (v == selected[who]) & (whom < partner[who])
        who = who[better]
        partner[who], step[who] = whom[better], t[better]
        score[who], selected[who] = s[better], v[better]


def agglomerate(
    Z: FloatArray,
    n_steps: int | None = None,
    *,
    keep_going: Callable[[int], bool] = lambda n_merges: True,
) -> Merges:
    """Merge the rows of ``Z`` into one cluster, always the pair that :func:`meet` ranks first.

    Memory is linear in the table: every cluster remembers its best partner only and looks for a
    new one when that one is gone.

    Parameters
    ----------
    Z : (n, p) array
        Rows in units of the columns' standard deviations.
    n_steps : int, optional
        Steps of the schedule, by default one per feature.
    keep_going : callable, optional
        Asked before every merge, with the number of merges made; False ends the search.

    Returns
    -------
    Merges

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.harp.agglomeration import agglomerate
    >>> merges = agglomerate(np.array([[0.0, 0.0], [5.0, 5.0], [0.1, 0.1], [5.0, 4.8]]))
    >>> merges.left, merges.right
    (array([0, 1, 0]), array([2, 3, 1]))
    """
    n, p = Z.shape
    plan = schedule(p, n_steps)
    last = len(plan.n_dims) - 1
    means, variances = Z.copy(), np.zeros(Z.shape)
    sizes = np.ones(n)
    partner, step = np.full(n, GONE, np.int64), np.full(n, last + 2, np.int64)
    score, selected = np.full(n, -np.inf), np.zeros(n, np.int64)
    alive = np.arange(n, dtype=np.int64)
    current = 0

    def look(slot: int, others: IntArray) -> None:
        meet(
            means,
            variances,
            slot,
            others,
            last + 1,
            plan.first_step,
            plan.n_dims,
            current,
            partner,
            step,
            score,
            selected,
        )

    for i in range(n - 1):
        if i % PATIENCE == 0 and not keep_going(0):
            break
        look(i, alive[i + 1 :])
    done: list[tuple[int, int, int, float, int]] = []
    while len(alive) > 1 and keep_going(len(done)):
        i = _first(alive, step, score, selected)
        if partner[i] == GONE:
            step[i], score[i], selected[i] = last + 2, -np.inf, 0
            look(i, alive)
            continue
        key = int(step[i]), float(score[i]), int(selected[i])
        i, j = sorted((i, int(partner[i])))
        current = min(key[0], last)
        done.append((i, j, *key))
        _unite(means, variances, sizes, i, j)
        alive = alive[alive != j]
        widowed = alive[(partner[alive] == i) | (partner[alive] == j)]
        partner[widowed] = GONE
        partner[i], step[i], score[i], selected[i] = GONE, last + 2, -np.inf, 0
        look(i, alive)
    left, right, steps, scores, n_dims = zip(*done, strict=True) if done else ([],) * 5
    return Merges(
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(steps, np.int64),
        np.array(scores, np.float64),
        np.array(n_dims, np.int64),
    )


def _first(
    alive: IntArray,
    step: IntArray,
    score: FloatArray,
    selected: IntArray,
) -> int:
    """The cluster with the best key; the first one among equals."""
    for key in (-step, score, selected):
        values = key[alive]
        alive = alive[values == values.max()]
    return int(alive[0])


def _unite(
    means: FloatArray,
    variances: FloatArray,
    sizes: FloatArray,
    i: int,
    j: int,
) -> None:
    """Put the statistics of the union of two clusters in the place of the first."""
    total = sizes[i] + sizes[j]
    gap = means[j] - means[i]
    squares = (sizes[i] - 1) * variances[i] + (sizes[j] - 1) * variances[j]
    variances[i] = (squares + sizes[i] * sizes[j] / total * gap * gap) / (total - 1)
    means[i] += sizes[j] / total * gap
    sizes[i] = total
