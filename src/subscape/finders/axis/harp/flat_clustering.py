"""Read a flat clustering off a dendrogram of subspace clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from subscape.core.types import BoolArray, FloatArray, IntArray

from .agglomeration import Merges

#: A cluster narrower than 1 % of a column's spread is no better than one of 1 %.
LEAST_VARIANCE = 1e-4
#: A row is noise if the whole table's distribution is that much likelier to have made it.
NOISE_ODDS = 100.0
#: Most clusters joined at once.
LONGEST_CHAIN = 12
#: Rounds of putting rows into the cluster that describes them best.
ROUNDS = 10


class ClusterMoments(NamedTuple):
    """Rows, mean and variance of each cluster, in units of the columns' spread."""

    sizes: IntArray
    means: FloatArray
    variances: FloatArray


def moments(Z: FloatArray, labels: IntArray) -> ClusterMoments:
    """Moments of clusters 0, 1, …, none of them empty; a single row has variance 0."""
    order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    if not len(order):
        empty = np.empty((0, Z.shape[1]))
        return ClusterMoments(np.empty(0, np.int64), empty, empty)
    sizes = np.bincount(labels[order])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = Z[order]
    means = np.add.reduceat(rows, starts, axis=0) / sizes[:, None]
    rows = (rows - np.repeat(means, sizes, axis=0)) ** 2
    variances = np.add.reduceat(rows, starts, axis=0) / np.maximum(sizes - 1, 1)[:, None]
    return ClusterMoments(sizes, means, variances)


def resolution(Z: FloatArray) -> FloatArray:
    """Least variance worth telling apart in each column: that of rounding to its finest gap.

    A cluster can't be narrower than the column's values can tell, so that in columns of few
    values (counts, grades) sharing one of them is worth little.

    Examples
    --------
    >>> import numpy as np
    >>> grades, measured = np.array([-1.0, 0, 1, 1, -1]), np.array([-1.3, 0.2, 0.201, 1.2, -0.4])
    >>> resolution(np.column_stack([grades, measured])).round(4)
    array([0.0833, 0.0001])
    """
    gaps = np.diff(np.sort(Z, axis=0), axis=0)
    # Smaller gaps are rounding errors of the computer, not of the data.
    gaps[gaps <= 1e-9 * gaps.sum(axis=0)] = np.inf
    return np.maximum(gaps.min(axis=0) ** 2 / 12, LEAST_VARIANCE)


def feature_savings(
    sizes: IntArray | np.int64, variances: FloatArray, n_rows: int, finest: FloatArray
) -> FloatArray:
    """Nats saved by giving a cluster its own normal distribution in a feature.

    What the narrower distribution saves on the cluster's rows, less the price of its mean and
    variance, half the logarithm of the number of rows each.
    """
    narrower = -np.log(np.maximum(variances, finest))
    return 0.5 * (np.asarray(sizes) - 1)[..., None] * narrower - np.log(n_rows)


def savings(
    sizes: IntArray | np.int64, variances: FloatArray, n_rows: int, finest: FloatArray
) -> FloatArray:
    """Nats saved by describing rows as a cluster, with its best choice of features.

    The sum over the chosen features of :func:`feature_savings`, less the price of saying which
    features and which rows.

    Examples
    --------
    >>> import numpy as np
    >>> narrow, wide = [0.01, 1.0], [0.9, 1.0]
    >>> savings(np.array([50, 50]), np.array([narrow, wide]), 100, np.full(2, 1e-4)).round(1)
    array([ 71.8, -35.8])
    """
    p = variances.shape[-1]
    k = np.arange(p + 1)
    which = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1) + np.log(p + 1)
    each = -np.sort(-feature_savings(sizes, variances, n_rows, finest), axis=-1)
    total = np.concatenate([np.zeros((*each.shape[:-1], 1)), np.cumsum(each, axis=-1)], axis=-1)
    return (total - which).max(axis=-1) - sizes * np.log(n_rows / np.asarray(sizes))


def description(Z: FloatArray, labels: IntArray, finest: FloatArray) -> float:
    """Nats saved by all clusters together."""
    found = moments(Z, labels)
    return float(savings(found.sizes, found.variances, len(Z), finest).sum())


class HarpTree(NamedTuple):
    """A dendrogram by nodes: rows are nodes 0 … n-1, merge ``m`` makes node ``n + m``."""

    children: IntArray
    sizes: IntArray
    savings: FloatArray
    roots: IntArray


def tree(Z: FloatArray, merges: Merges, finest: FloatArray, n_rows: int) -> HarpTree:
    """Number the nodes of a dendrogram and weigh each of them as a cluster.

    ``n_rows`` is the number of rows of the whole table, of which ``Z`` may be a part.
    """
    n = len(Z)
    node = np.arange(n)
    means, variances, sizes = Z.copy(), np.zeros(Z.shape), np.ones(n, np.int64)
    children = np.empty((len(merges.left), 2), np.int64)
    all_sizes = np.ones(n + len(children), np.int64)
    worth = np.full(n + len(children), savings(np.int64(1), np.zeros(Z.shape[1]), n_rows, finest))
    for m, (i, j) in enumerate(zip(merges.left, merges.right, strict=True)):
        children[m] = node[i], node[j]
        node[i], node[j] = n + m, -1
        variances[i] = pooled(sizes[i], means[i], variances[i], sizes[j], means[j], variances[j])
        means[i] = (sizes[i] * means[i] + sizes[j] * means[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        all_sizes[n + m] = sizes[i]
        worth[n + m] = savings(sizes[i], variances[i], n_rows, finest)
    return HarpTree(children, all_sizes, worth, node[node >= 0])


def pooled(
    size: Any,
    mean: FloatArray,
    variance: FloatArray,
    sizes: Any,
    means: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    """Variances of the union of one group of rows with another, or with each of several."""
    a, b = size, np.asarray(sizes)[..., None]
    squares = (a - 1) * variance + (b - 1) * variances
    return (squares + a * b / (a + b) * (mean - means) ** 2) / (a + b - 1)


def level(merges: Merges, n_rows: int, n_clusters: int) -> IntArray:
    """Labels when the merging stops at ``n_clusters`` clusters, numbered by their first rows."""
    first = np.arange(n_rows)
    for i, j in zip(merges.left[: n_rows - n_clusters], merges.right, strict=False):
        first[first == j] = i
    return np.unique(first, return_inverse=True)[1]


def best_subtrees(nodes: HarpTree, n_clusters: int | None = None) -> IntArray:
    """Choose disjoint subtrees that save the most; rows outside of them are noise.

    Parameters
    ----------
    nodes : HarpTree
    n_clusters : int, optional
        Choose exactly this many; by default as many as pay.

    Returns
    -------
    (n,) int array
        The subtree of each row, -1 for noise; the largest subtree is 0.
    """
    n = len(nodes.sizes) - len(nodes.children)
    chosen = _all_that_pay(nodes, n) if n_clusters is None else _exactly(nodes, n, n_clusters)
    chosen.sort(key=lambda node: (-nodes.sizes[node], node))
    labels = np.full(n, -1)
    for k, node in enumerate(chosen):
        waiting = [node]
        while waiting:
            v = waiting.pop()
            if v < n:
                labels[v] = k
            else:
                waiting.extend(nodes.children[v - n].tolist())
    return labels


def _all_that_pay(nodes: HarpTree, n: int) -> list[int]:
    best = np.maximum(nodes.savings, 0)
    alone = nodes.savings > 0
    for m, (a, b) in enumerate(nodes.children.tolist()):
        apart = best[a] + best[b]
        alone[n + m] &= nodes.savings[n + m] > apart
        best[n + m] = max(best[n + m], apart)
    chosen, waiting = [], nodes.roots.tolist()
    while waiting:
        v = waiting.pop()
        if alone[v]:
            chosen.append(v)
        elif v >= n:
            waiting.extend(nodes.children[v - n].tolist())
    return chosen


def _exactly(nodes: HarpTree, n: int, n_clusters: int) -> list[int]:
    """Tree knapsack: ``best[v][k]`` is the most that ``k`` disjoint subtrees below ``v`` save."""
    best: list[FloatArray] = [np.array([0.0, worth]) for worth in nodes.savings[:n]]
    on_the_left: list[IntArray] = [np.array([0, -1])] * n
    # Trees that were never joined hang below nodes that may not be chosen themselves.
    children, roots = nodes.children.tolist(), nodes.roots.tolist()
    worth = nodes.savings[n:].tolist()
    while len(roots) > 1:
        children.append([roots.pop(), roots.pop()])
        worth.append(-np.inf)
        roots.append(n + len(children) - 1)
    for own, (a, b) in zip(worth, children, strict=True):
        left, right = best[a], best[b]
        most = min(n_clusters, len(left) + len(right) - 2)
        value, split = np.full(most + 1, -np.inf), np.zeros(most + 1, np.int64)
        for x in range(min(len(left), most + 1)):
            y = right[: most + 1 - x]
            here = value[x : x + len(y)]
            better = left[x] + y > here
            here[better] = (left[x] + y)[better]
            split[x : x + len(y)][better] = x
        if own >= value[1]:
            value[1], split[1] = own, -1
        best.append(value)
        on_the_left.append(split)
    chosen, waiting = [], [(roots[0], n_clusters)]
    while waiting:
        v, k = waiting.pop()
        if k == 0:
            continue
        x = int(on_the_left[v][k])
        if x < 0:
            chosen.append(v)
        else:
            a, b = children[v - n]
            waiting += [(a, x), (b, k - x)]
    return chosen


def relevance(found: ClusterMoments) -> FloatArray:
    """One minus the variance in units of the column's: how much narrower a cluster is."""
    return 1 - found.variances


def relevant_features(
    found: ClusterMoments, n_rows: int, finest: FloatArray, least: float
) -> BoolArray:
    """Features in which a cluster is narrow enough and, for its size, not by chance.

    A feature that is not narrow by chance saves more than it costs to name it among the others,
    the logarithm of their number. A cluster of one row is alike in all features; one without any
    relevant feature gets the two it is narrowest in.
    """
    worth = feature_savings(found.sizes, found.variances, n_rows, finest)
    return narrow_features(found, least, worth > np.log(worth.shape[1]))


def narrow_features(
    found: ClusterMoments, least: float, among: BoolArray | np.bool_ = np.True_
) -> BoolArray:
    """Features in which a cluster is narrow enough, among those that come into question.

    Examples
    --------
    >>> import numpy as np
    >>> variances = np.array([[0.1, 0.6, 1], [2, 2, 3]])
    >>> pair = ClusterMoments(np.array([9, 9]), np.zeros((2, 3)), variances)
    >>> narrow_features(pair, 0.3).tolist()
    [[True, True, False], [True, True, False]]
    """
    values = relevance(found)
    masks = (values >= least) & among
    masks[found.sizes == 1] = True
    for k in np.flatnonzero(~masks.any(axis=1)):
        masks[k, np.argsort(-values[k], kind="stable")[:2]] = True
    return masks


def log_odds(
    Z: FloatArray, found: ClusterMoments, masks: BoolArray, finest: FloatArray
) -> FloatArray:
    """Log likelihood of each row under each cluster, less that under the whole table.

    In its relevant features a cluster is normal, with the variance that a new row is expected to
    show; in the others it is like the table. Returns an (n, n_clusters) array.
    """
    sizes = found.sizes[:, None]
    widening = (sizes + 1) / sizes * np.maximum(sizes - 1, 1) / np.maximum(sizes - 3, 1)
    variances = np.maximum(found.variances * widening, finest)
    precision = masks / variances
    linear = precision * found.means
    constant = 0.5 * (masks * np.log(variances) + linear * found.means).sum(axis=1)
    return 0.5 * (Z * Z) @ (masks - precision).T + Z @ linear.T - constant


def place(odds: FloatArray) -> IntArray:
    """The cluster each row fits best, -1 if the whole table is far likelier to have made it."""
    best = odds.argmax(axis=1)
    best[odds.max(axis=1) < -np.log(NOISE_ODDS)] = -1
    return best


def reassign(
    Z: FloatArray, labels: IntArray, finest: FloatArray, least: float, *, at_least: int = 0
) -> IntArray:
    """Put rows into the cluster that describes them best until nothing changes.

    A cluster that loses all its rows is dropped, unless fewer than ``at_least`` would be left:
    then the labels stay as they were before that round.
    """
    for _ in range(ROUNDS):
        if labels.max() < 0:
            return labels
        found = moments(Z, labels)
        masks = relevant_features(found, len(Z), finest, least)
        new = place(log_odds(Z, found, masks, finest))
        kept = np.unique(new[new >= 0])
        if len(kept) < min(at_least, len(found.sizes)):
            return labels
        new = np.where(new < 0, -1, np.searchsorted(kept, new))
        if np.array_equal(new, labels):
            return labels
        labels = new
    return labels


class Action(NamedTuple):
    """Join clusters or, if only one is named, dissolve it into noise."""

    change: float
    clusters: tuple[int, ...]


def actions(found: ClusterMoments, n_rows: int, finest: FloatArray) -> list[Action]:
    """For each cluster its end, the best pair and the best longer union; the most saving first."""
    worth = savings(found.sizes, found.variances, n_rows, finest)
    result = [Action(float(-own), (a,)) for a, own in enumerate(worth)]
    for a in range(len(worth)):
        chain = _chain(found, worth, a, n_rows, finest)
        result += chain[:1]
        longer = max(chain[1:], default=None)
        if longer is not None and longer.change > max(chain[0].change, 0):
            result.append(longer)
    result.sort(key=lambda action: (-action.change, action.clusters))
    return result


def _chain(
    found: ClusterMoments, worth: FloatArray, a: int, n_rows: int, finest: FloatArray
) -> list[Action]:
    """Unions of 2, 3, … clusters, each the last one with the cluster that suits it best.

    A cluster cut into pieces in two features is worth joining only as a whole.
    """
    clusters, before = [a], worth[a]
    size, mean, variance = found.sizes[a], found.means[a], found.variances[a]
    chain = []
    others = np.delete(np.arange(len(worth)), a)
    while len(others) and len(clusters) < LONGEST_CHAIN:
        sizes, means, variances = found.sizes[others], found.means[others], found.variances[others]
        union = pooled(size, mean, variance, sizes, means, variances)
        after = savings(size + sizes, union, n_rows, finest)
        b = int((after - worth[others]).argmax())
        clusters.append(int(others[b]))
        before += worth[others[b]]
        mean = (size * mean + sizes[b] * means[b]) / (size + sizes[b])
        size, variance = size + sizes[b], union[b]
        others = np.delete(others, b)
        chain.append(Action(float(after[b] - before), tuple(sorted(clusters))))
    return chain


def refine(
    Z: FloatArray, labels: IntArray, finest: FloatArray, least: float, n_clusters: int | None = None
) -> IntArray:
    """Join and dissolve clusters while that saves, or until ``n_clusters`` are left.

    Rows move to the cluster that describes them best between the rounds. In a round every cluster
    takes part in one action at most; once nothing saves, the least harmful one is taken alone.
    """
    target = 1 if n_clusters is None else n_clusters
    while True:
        labels = reassign(Z, labels, finest, least, at_least=target)
        n_left = int(labels.max()) + 1
        if n_left <= target:
            return labels
        name = np.arange(n_left)
        touched: set[int] = set()
        for change, clusters in actions(moments(Z, labels), len(Z), finest):
            if n_left == target or (change <= 0 and (n_clusters is None or touched)):
                break
            fewer = max(len(clusters) - 1, 1)
            if not touched.intersection(clusters) and n_left - fewer >= target:
                touched.update(clusters)
                name[list(clusters)] = clusters[0] if len(clusters) > 1 else -1
                n_left -= fewer
        if not touched:
            return labels
        labels = np.where(labels < 0, -1, name[labels])
        kept = np.unique(labels[labels >= 0])
        labels = np.where(labels < 0, -1, np.searchsorted(kept, labels))
