"""HARP: a hierarchy of projected clusters, the safest merges first."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.core.checks import constant_columns
from subscape.core.clustering import SubspaceClustering
from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch

from .agglomeration import Merges, agglomerate, schedule
from .flat_clustering import (
    ClusterMoments,
    best_subtrees,
    description,
    level,
    log_odds,
    moments,
    narrow_features,
    place,
    reassign,
    refine,
    relevance,
    relevant_features,
    resolution,
    tree,
)

#: Merges between two looks at the clock.
PATIENCE = 64


class HARP(SubspaceFinder):
    """HARP: a dendrogram of clusters that each have their own features, and its best clusters.

    Every row starts as a cluster. A merge needs a number of features in which the two clusters
    are alike; at first all features have to be all but equal, then both demands are lowered step
    by step, so that the safest merges come first [1]_. The result is a dendrogram; flat clusters
    are read off it without being told how many there are. Deterministic.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters of the flat clustering. By default as many as shorten the description
        of the table; none, if it has no clusters.
    min_relevance : float or "stop", default=0.5
        A feature is relevant to a cluster that is narrower in it: one minus its variance there,
        in units of the column's, is at least this (R_min), and for the cluster's size not by
        chance. "stop": R_min is what it was lowered to when the merging stopped, as in the paper;
        for ``cut="level"`` without ``refine``.
    noise : bool, default=True
        Rows that look more like the table as a whole than like any cluster are left out; if
        false, every row goes to the cluster that it fits best.
    cut : {"savings", "level"}, default="savings"
        How flat clusters are read off the dendrogram: "savings" takes the subtrees that shorten
        the description of the table the most; "level" stops the merging when ``n_clusters``
        clusters are left, as the paper does (single odd rows count as clusters then).
    refine : bool, default=True
        Afterwards move rows to the cluster that describes them best and, with "savings", join or
        dissolve clusters while that shortens the description.
    n_steps : int or None, default=5
        Steps in which the demands are lowered. None: one per feature, as in the paper, which is
        faster but tears clusters of few features apart.
    search_rows : int or None, default=5000
        A larger table is sampled at random for the dendrogram, and the other rows are put into
        the clusters found. Time is quadratic in the number of rows in the dendrogram. None: never.
    max_time : float or None
        Seconds after which the merging stops.
    random_state : int, Generator, RandomState or None, default=0
        Draws the sample; fixed by default, so that the result is always the same.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Axis-aligned clusters, disjoint in rows.
    labels_ : array of shape (n_rows,)
        Cluster of each row, -1 for noise.
    linkage_ : array of shape (n_sampled - 1, 4)
        The dendrogram in SciPy's format, for ``scipy.cluster.hierarchy.dendrogram`` and
        ``SubspaceClustering.from_linkage``. The height of a merge is its number, since the scores
        need not fall from merge to merge.
    merges_ : Merges
        The merges one by one: the clusters (named by their first rows), the step, the score, and
        how many features were alike.
    thresholds_ : Schedule
        The demands at each step.
    sample_ : array of shape (n_sampled,)
        The rows of the dendrogram.
    relevance_ : array of shape (n_clusters, n_features)
        One minus the variance of each cluster in each feature, in units of the column's.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    PROCLUS : With a given number of clusters.
    DiSH : Clusters inside clusters.

    Differences from the paper
    --------------------------
    - The paper stops at a given number of clusters (``cut="level"`` and a number ``n_clusters``).
      By default subtrees are chosen by the length of the description (each cluster a normal
      distribution in its features, at the price of its parameters), which replaces that and the
      paper's removal of outliers and its test of features by histograms.
    - ``refine`` and ``noise`` are ours; the paper has neither (both false).
    - A feature must be at most half as wide as its column, and not by chance. In the paper R_min at
      the end of the merging decides (``min_relevance="stop"``), which adds features to clusters of
      few.
    - The demands are lowered in few steps; the paper has one per feature (``n_steps=None``).
    - A large table is sampled (``search_rows=None``: never).
    - Always: the merge score is the sum of the features' relevance to the pair, each side seen from
      the other's centre, since the paper's text leaves its exact form open; a union that no step
      allows is made last, the least different pair first, so that the dendrogram is always
      complete.
    - What that gains: mean CE 0.59 as published (n_clusters=4), 0.00 by default, on five generated
      tables (300 x 12, four clusters of four features, a tenth of noise;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] K. Y. Yip, D. W. Cheung, M. K. Ng, "HARP: a practical projected clustering algorithm",
       IEEE TKDE 16(11), 2004, 1387-1397, doi:10.1109/TKDE.2004.74.

    Examples
    --------
    >>> from subscape.finders.axis.harp.harp import HARP
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(200, 12, n_clusters=3, dims=5, noise=0.1, random_state=0)
    >>> finder = HARP().fit(X)
    >>> finder.clustering_ == truth
    True
    >>> finder.linkage_.shape
    (199, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "min_relevance": [Interval(Real, 0, 1, closed="both"), StrOptions({"stop"})],
        "noise": ["boolean"],
        "cut": [StrOptions({"savings", "level"})],
        "refine": ["boolean"],
        "n_steps": [Interval(Integral, 2, 10**6, closed="both"), None],
        "search_rows": [Interval(Integral, 2, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [object],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        min_relevance: float | str = 0.5,
        noise: bool = True,
        cut: str = "savings",
        refine: bool = True,
        n_steps: int | None = 5,
        search_rows: int | None = 5000,
        max_time: float | None = None,
        random_state: Any = 0,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_relevance = min_relevance
        self.noise = noise
        self.cut = cut
        self.refine = refine
        self.n_steps = n_steps
        self.search_rows = search_rows
        self.max_time = max_time
        self.random_state = random_state
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.cut == "level" and self.n_clusters is None:
            raise ValueError('cut="level" needs n_clusters; or use cut="savings" to find it')
        if self.min_relevance == "stop" and (self.cut != "level" or self.refine):
            raise ValueError(
                'min_relevance="stop" is where the merging stops: it needs cut="level" and '
                "refine=False; or give a number"
            )
        if self.search_rows is not None and (self.n_clusters or 1) > self.search_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the search_rows={self.search_rows} "
                "rows of the dendrogram"
            )

    def predict(self, X: ArrayLike) -> IntArray:
        """Put rows into the clusters by the rule of the fit.

        A row goes to the cluster that describes it best or, if ``noise`` is true and the table as
        a whole describes it far better, to none.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
            Cluster numbers, -1 for noise.
        """
        check_is_fitted(self, "linkage_")
        table = self._read_again(X)
        if not self._varying.any() or not self.clustering_.n_clusters:
            return np.full(len(table), 0 if self.clustering_.n_clusters else -1)
        Z = (table[:, self._varying].astype(np.float64) - self._means) / self._scales
        masks = self.clustering_.subspaces.relevance[:, self._varying] > 0
        return self._placed(Z, self._core, masks)

    def _search(self, table: Any, watch: Watch) -> Found:
        self._varying = ~constant_columns(table)
        self._means = table[:, self._varying].mean(axis=0, dtype=np.float64)
        return super()._search(table, watch)

    def _one_cluster(self, table: Any) -> Found:
        n_rows, n_features = table.shape
        right = np.arange(1, n_rows)
        alike = np.full(n_rows - 1, n_features)
        merges = Merges(0 * right, right, 0 * right, alike.astype(float), alike)
        fitted = self._hierarchy(merges, np.arange(n_rows))
        return (
            super()
            ._one_cluster(table)
            ._replace(attributes=fitted | {"relevance_": np.ones((1, n_features))})
        )

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        self._scales = scales(X)
        Z = X / self._scales
        self._finest = resolution(Z)
        n_clusters = None if self.n_clusters is None else self._k()
        rng = np.random.default_rng(seed)
        sample = self._sample(np.arange(len(Z)), rng)
        merges = self._merge(Z[sample], watch)
        if self.cut == "level":
            raw, labels = self._stopped(Z, sample, merges, n_clusters)
        else:
            raw, labels = self._worthwhile(Z, sample, merges, n_clusters, rng, watch)

        labels = renumbered(labels)
        core = moments(Z, labels)
        masks = self._relevant(core, len(Z), merges, n_clusters)
        if not len(core.sizes) and not self.noise:
            # Nothing pays as a cluster, but every row is to be in one.
            labels, masks = np.zeros(len(Z), np.int64), np.ones((1, Z.shape[1]), bool)
            core = moments(Z, labels)
        elif len(core.sizes) and (len(sample) < len(Z) or not self.noise):
            rest = np.flatnonzero(labels < 0)
            labels[rest] = self._placed(Z[rest], core, masks)
        self._core = core
        wide = np.zeros((len(masks), len(self._varying)))
        wide[:, self._varying] = relevance(core)
        return Found(
            SubspaceClustering.from_labels(labels, masks=masks),
            n_iter=len(merges.left),
            attributes=self._hierarchy(merges, sample) | {"relevance_": wide},
            unrefined=self._of_subtrees(Z, raw) if self.refine else None,
        )

    def _relevant(
        self, core: ClusterMoments, n_rows: int, merges: Merges, n_clusters: int | None
    ) -> BoolArray:
        """The features of each cluster."""
        if self.min_relevance == "stop":
            lowered = schedule(core.means.shape[1], self.n_steps).relevance
            # Merges that no step allows come after the last one.
            done = merges.step[: len(merges.step) + 1 - (n_clusters or 1)]
            last = min(int(done[-1]), len(lowered) - 1) if len(done) else 0
            return narrow_features(core, float(lowered[last]))
        return relevant_features(core, n_rows, self._finest, self._least)

    @property
    def _least(self) -> float:
        return float(self.min_relevance)

    def _of_subtrees(self, Z: FloatArray, labels: IntArray) -> SubspaceClustering:
        """Clusters as they were read off the dendrogram."""
        labels = renumbered(labels)
        masks = relevant_features(moments(Z, labels), len(Z), self._finest, self._least)
        return SubspaceClustering.from_labels(labels, masks=masks)

    def _stopped(
        self, Z: FloatArray, sample: IntArray, merges: Merges, n_clusters: int | None
    ) -> tuple[IntArray, IntArray]:
        """The clusters left when the merging stops at a given number of them, and refined."""
        labels = np.full(len(Z), -1)
        labels[sample] = level(merges, len(sample), n_clusters or 1)
        if not self.refine:
            return labels, labels
        least = n_clusters or 1
        return labels, reassign(Z, labels, self._finest, self._least, at_least=least)

    def _worthwhile(
        self,
        Z: FloatArray,
        sample: IntArray,
        merges: Merges,
        n_clusters: int | None,
        rng: np.random.Generator,
        watch: Watch,
    ) -> tuple[IntArray, IntArray]:
        """The clusters that shorten the description the most, and refined."""

        def everywhere(of_sample: IntArray) -> IntArray:
            labels = np.full(len(Z), -1)
            labels[sample] = of_sample
            return labels

        def improved(labels: IntArray, n_clusters: int | None = None) -> IntArray:
            return refine(Z, labels, self._finest, self._least, n_clusters)

        nodes = tree(Z[sample], merges, self._finest, len(sample))
        if not self.refine:
            raw = everywhere(best_subtrees(nodes, n_clusters))
            return raw, raw
        pieces = everywhere(best_subtrees(nodes))
        labels = improved(pieces)
        total = description(Z, labels, self._finest)
        # Among all rows a cluster of few features may be torn apart by others: look at the rows
        # left over alone, as long as that finds more.
        while not watch.out_of_time():
            rest = self._sample(np.flatnonzero(labels < 0), rng)
            if len(rest) < 2:
                break
            again = tree(Z[rest], self._merge(Z[rest], watch), self._finest, len(sample))
            found = best_subtrees(again)
            tried = labels.copy()
            tried[rest] = np.where(found < 0, -1, found + labels.max() + 1)
            tried = improved(tried)
            better = description(Z, tried, self._finest)
            if better <= total:
                break
            labels, total = tried, better
        if n_clusters is None:
            return pieces, labels
        raw = everywhere(best_subtrees(nodes, n_clusters))
        if labels.max() + 1 < n_clusters:
            labels = pieces if pieces.max() + 1 >= n_clusters else raw
        return raw, improved(labels, n_clusters)

    def _placed(self, Z: FloatArray, core: ClusterMoments, masks: BoolArray) -> IntArray:
        odds = log_odds(Z, core, masks, self._finest)
        return place(odds) if self.noise else odds.argmax(axis=1)

    def _hierarchy(self, merges: Merges, sample: IntArray) -> dict[str, Any]:
        return {
            "linkage_": linkage(merges, len(sample)),
            "merges_": merges,
            "thresholds_": schedule(max(int(self._varying.sum()), 1), self.n_steps),
            "sample_": sample,
        }

    def _sample(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        if self.search_rows is None or len(rows) <= self.search_rows:
            return rows
        return np.sort(rng.choice(rows, self.search_rows, replace=False))

    def _merge(self, Z: FloatArray, watch: Watch) -> Merges:
        def keep_going(n_merges: int) -> bool:
            if n_merges % PATIENCE:
                return True
            watch.step("merges", n_merges, len(Z) - 1)
            return not watch.out_of_time()

        return agglomerate(Z, self.n_steps, keep_going=keep_going)


def scales(X: FloatArray) -> FloatArray:
    """Standard deviations of centred columns, by way of a scale at which no square overflows."""
    largest = np.abs(X).max(axis=0)
    return largest * (X / largest).std(axis=0, ddof=1)


def renumbered(labels: IntArray) -> IntArray:
    """Number clusters by their first rows.

    >>> renumbered(np.array([3, -1, 1, 3]))
    array([ 0, -1,  1,  0])
    """
    found, first = np.unique(labels, return_index=True)
    order = found[np.argsort(first)]
    order = order[order >= 0]
    number = np.full(labels.max() + 2, -1)
    number[order] = np.arange(len(order))
    return number[labels]


def linkage(merges: Merges, n_rows: int) -> FloatArray:
    """SciPy's linkage matrix; the height of a merge is its number.

    If the merging was stopped early, the clusters left over are chained in the order of their
    first rows.
    """
    node, size = np.arange(n_rows), np.ones(n_rows)
    pairs = list(zip(merges.left.tolist(), merges.right.tolist(), strict=True))
    left_over = np.setdiff1d(np.arange(n_rows), merges.right)
    pairs += [(int(left_over[0]), j) for j in left_over[1:].tolist()]
    table = np.empty((len(pairs), 4))
    for m, (i, j) in enumerate(pairs):
        size[i] += size[j]
        table[m] = min(node[i], node[j]), max(node[i], node[j]), m + 1, size[i]
        node[i] = n_rows + m
    return table
