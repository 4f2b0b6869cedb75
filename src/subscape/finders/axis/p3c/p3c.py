"""P3C: projected clusters via cluster cores."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.arrays.bitsets import unpack
from subscape.arrays.blocks import Blocks, as_blocks
from subscape.arrays.row_bits import rows_where
from subscape.arrays.row_values import each_row, first_rows, fold_rows, is_distant, row_counts
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.memberships import DistantMemberships
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.finders.axis.selection import Ends
from subscape.finders.base import Found, SubspaceFinder, Watch, codes_of

from .cores import Evidence, Signature, exact_cores, greedy_cores
from .intervals import (
    EvenScale,
    IntervalBins,
    cluster_bins,
    concentrated_features,
    default_n_bins,
    even_scale,
    histograms,
    relevant_intervals,
)
from .mixture import Mixture, fit_mixture, irredundant

__all__ = ["P3C"]


#: A feature outside the core is relevant if this share of the rows, beyond chance, is in one
#: interval of it.
CONCENTRATION = 0.5


class P3C(SubspaceFinder):
    """P3C: find out how many projected clusters there are, and their rows and features.

    Intervals in which single features hold too many rows are combined to *cores*: sets of
    intervals, each of which holds more rows of the others than chance explains. Every core starts
    a cluster, and a mixture model gives it its rows. The number of clusters is found, not given.

    Parameters
    ----------
    alpha : float, default=0.001
        Significance level of the chi-square tests on bins, and the fraction of a cluster that may
        be taken for outliers.
    poisson_threshold : float or None
        An interval joins others only if as many rows by chance would have a smaller probability
        than this. By default 1e-6, or 1 / n² in tables of less than 1000 rows.
    min_effect : float, default=0.2
        ... and only if it keeps at least this share of their rows, beyond those expected by chance.
        Lower it to find clusters of less than 2 % of the rows; at 0.1, chance overlaps of clusters
        begin to look like clusters in large tables.
    n_bins : int or None
        Bins per feature; by default twice the cube root of the number of rows.
    min_dims : int, default=2
        Cores with fewer features are dropped. With 1, an interval that combines with no other is
        a cluster, too.
    min_cluster_size : int, default=5
        Clusters with fewer rows are dropped.
    background : {"auto", "uniform", "normal"}, default="auto"
        How values outside clusters are distributed in each feature. "auto" takes what leaves fewer
        bins that stick out.
    overlap : bool, default=False
        If true, a cluster holds all rows that fit it, be they in others too; otherwise every row
        goes to its most probable cluster.
    search : {"greedy", "exact"}, default="greedy"
        "greedy" grows cores until they contain every pair of intervals that belong together;
        "exact" looks at every combination, 2^d of them for a cluster with d features.
    max_rounds : int, default=10
        Cores are searched again among the rows in no cluster, so many times at most: large
        clusters with few features hide behind smaller ones inside them with more.
    max_iter : int, default=50
        Steps of the mixture model per round.
    tol : float, default=1e-4
        The mixture model is done when memberships change by less than this per row.
    max_candidates : int, default=100000
        Cores ("greedy") or combinations ("exact") after which a search stops.
    max_time : float or None
        Seconds after which the search stops with the best clusters so far.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Axis-aligned clusters, disjoint in rows unless ``overlap`` is true.
    labels_ : array of shape (n_rows,)
        Cluster of each row, -1 for outliers.
    low_, high_ : arrays of shape (n_clusters, n_features)
        Smallest and largest value of each cluster in its features; infinite in the others.
    cores_ : list of Core
        The core that each cluster grew from: its features, their intervals, its rows.
    n_iter_ : int
        Rounds of search.

    See Also
    --------
    MineClus : Dense boxes.
    MAFIA : Dense cells.

    Notes
    -----
    As in the paper: chi-square marking of bins, cores by Poisson tests, a mixture model that starts
    from the cores, outliers by squared Mahalanobis distance, and further features by a chi-square
    test on the cluster's rows.

    Differences from the paper
    --------------------------
    - Ours are the least effect, because with many rows chance overlaps of clusters become
      significant (the paper has none: ``min_effect=0``), the normal background
      (``background="uniform"``), the rounds (``max_rounds=1``), the least size
      (``min_cluster_size=1``), overlaps (``overlap``) and the greedy search for cores
      (``search="exact"``).
    - The paper's ``poisson_threshold`` is 1e-20.
    - Always: more bins than Sturges' rule, and intervals that reach one bin further; a mixture of
      clusters that are normal in their own features and even in others, with a background, instead
      of full covariances in all features; clusters covered by others are dropped; the features
      added must hold most of the rows in one interval, at a level corrected for the number of
      tests.
    - What that gains: mean CE 1.00 as published (nothing set), 0.00 by default, on five generated
      tables (300 x 12, four clusters of four features, a tenth of noise;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] G. Moise, J. Sander, M. Ester, "P3C: a robust projected clustering algorithm", ICDM 2006,
       414-425, doi:10.1109/ICDM.2006.123.
    .. [2] G. Moise, J. Sander, M. Ester, "Robust projected clustering", Knowledge and Information
       Systems 14(3), 2008, 273-298.

    Examples
    --------
    >>> from subscape.finders import P3C
    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import clustering_error
    >>> X, truth = planted_axes(600, 15, n_clusters=4, dims=5, noise=0.2, random_state=0)
    >>> finder = P3C().fit(X)
    >>> finder.clustering_.columns_only() == truth.columns_only()
    True
    >>> clustering_error(finder.clustering_, truth) < 0.01
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 0.5, closed="neither")],
        "poisson_threshold": [Interval(Real, 1e-300, 1, closed="left"), None],
        "min_effect": [Interval(Real, 0, 1, closed="left")],
        "n_bins": [Interval(Integral, 2, 65535, closed="both"), None],
        "min_dims": [Interval(Integral, 1, None, closed="left")],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "background": [StrOptions({"auto", "uniform", "normal"})],
        "overlap": ["boolean"],
        "search": [StrOptions({"greedy", "exact"})],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }
    _centred = False  # intervals are reported in the units of the table
    _streams = True
    _streams_devices = False

    def __init__(
        self,
        *,
        alpha: float = 0.001,
        poisson_threshold: float | None = None,
        min_effect: float = 0.2,
        n_bins: int | None = None,
        min_dims: int = 2,
        min_cluster_size: int = 5,
        background: str = "auto",
        overlap: bool = False,
        search: str = "greedy",
        max_rounds: int = 10,
        max_iter: int = 50,
        tol: float = 1e-4,
        max_candidates: int = 100_000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.alpha = alpha
        self.poisson_threshold = poisson_threshold
        self.min_effect = min_effect
        self.n_bins = n_bins
        self.min_dims = min_dims
        self.min_cluster_size = min_cluster_size
        self.background = background
        self.overlap = overlap
        self.search = search
        self.max_rounds = max_rounds
        self.max_iter = max_iter
        self.tol = tol
        self.max_candidates = max_candidates
        self.max_time = max_time
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.min_dims > n_features and self.min_dims != 2:
            raise SubscapeError(
                f"min_dims={self.min_dims} is more than the n_features={n_features} of the table"
            )

    def _search(self, table: Any, watch: Watch) -> Found:
        kept = np.flatnonzero(~self._constant(table))
        found = super()._search(table, watch)
        low, high = _extents(as_blocks(table), found.clustering)
        found_cores = found.attributes.get("cores_", [])
        cores = [core._replace(features=kept[core.features]) for core in found_cores]
        return found._replace(attributes={"low_": low, "high_": high, "cores_": cores})

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        table, alpha = as_blocks(X), self.alpha
        scale = even_scale(table, self.background, alpha, self.n_bins)
        # What fits into memory is scaled once, and not in every pass.
        scaled = table.map(scale)
        scaled = scaled if isinstance(X, Blocks) else as_blocks(scaled.to_numpy())
        mixture: Mixture | None = None
        cores: list[Core] = []
        outside = table.row_values(bool, True)
        n_outside, rounds = len(table), 0
        while rounds < self.max_rounds:
            watch.step("rounds", rounds, self.max_rounds)
            fresh = self._cores(table, scaled, scale, outside, n_outside, watch)
            rounds += 1
            if not fresh.cores:
                break
            mixture, cores = self._fitted(scaled, mixture, cores, fresh, watch)
            plain = mixture.plain
            still_outside = scaled.mapped(
                lambda block, rows, plain=plain: ~plain.inside(block, alpha).any(axis=0), bool
            )
            n_still = int(_count(still_outside, scaled))
            if not cores or watch.out_of_time() or n_still >= n_outside:
                break
            outside, n_outside = still_outside, n_still
        return self._found(scaled, mixture, cores, rounds)

    def _cores(
        self,
        table: Blocks,
        scaled: Blocks,
        scale: EvenScale,
        outside: Any,
        n_outside: int,
        watch: Watch,
    ) -> FreshCores:
        """Cores among the rows that are in no cluster yet."""
        if n_outside < self.min_cluster_size:
            return FreshCores([], NOWHERE, [], outside)
        n_bins = self.n_bins or default_n_bins(n_outside)
        found = relevant_intervals(scaled, self.alpha, n_bins, outside)
        threshold = self.poisson_threshold or max(1e-6, 1 / len(table) ** 2)
        evidence = Evidence(threshold, self.min_effect)
        search = greedy_cores if self.search == "greedy" else exact_cores
        signatures = search(found, evidence, self.max_candidates, watch)
        if self.min_dims == 1:
            combined = {i for signature in signatures for i in signature.intervals}
            alone = [i for i in range(len(found.features)) if i not in combined]
            signatures += [Signature((i,), found.rows[i]) for i in alone]
        signatures = [each for each in signatures if len(each.intervals) >= self.min_dims]
        if not signatures or found.where is None:
            return FreshCores([], NOWHERE, [], outside)
        where, intervals = found.where, [list(each.intervals) for each in signatures]
        features = [found.features[each] for each in intervals]
        ends = table.fold(_CoreEnds(scale, where, intervals, features), reads=(outside,))
        cores = [
            Core(own, each.low, each.high, np.flatnonzero(unpack(signature.rows, len(table))))
            for signature, own, each in zip(signatures, features, ends, strict=True)
        ]
        return FreshCores(cores, where, intervals, outside)

    def _fitted(
        self,
        scaled: Blocks,
        mixture: Mixture | None,
        cores: list[Core],
        fresh: FreshCores,
        watch: Watch,
    ) -> tuple[Mixture, list[Core]]:
        """The mixture with some more cores, less the clusters that turn out to be needless."""
        n_before = len(cores)
        cores = cores + fresh.cores
        beside = (fresh.outside,) if mixture is None else (fresh.outside, mixture.posterior)
        start = scaled.mapped(
            _Start(n_before, fresh.where, fresh.intervals), float, (len(cores),), reads=beside
        )
        features = [core.features for core in cores]
        fit = (self.alpha, self.max_iter, self.tol, watch)
        mixture = fit_mixture(scaled, features, start, *fit)
        while True:
            sizes = row_counts(_nearest(mixture.posterior), len(cores) + 1)
            staying = [
                k
                for k in irredundant(mixture, scaled, self.alpha)
                if sizes[k] >= self.min_cluster_size
            ]
            if len(staying) == len(cores):
                return mixture, cores
            cores = [cores[k] for k in staying]
            mixture = mixture.select(staying)
            mixture = fit_mixture(scaled, mixture.features, mixture.posterior, *fit)
            if watch.out_of_time():
                # Some may have lost their rows in this fit, which nobody looks at any more.
                sizes = row_counts(_nearest(mixture.posterior), len(cores) + 1)
                staying = [k for k in range(len(cores)) if sizes[k] >= self.min_cluster_size]
                return mixture.select(staying), [cores[k] for k in staying]

    def _found(
        self, scaled: Blocks, mixture: Mixture | None, cores: list[Core], rounds: int
    ) -> Found:
        shape, n_cores = scaled.shape, len(cores)
        if mixture is None or not cores:
            return Found(SubspaceClustering.from_clusters([], shape), rounds, {"cores_": []})
        labels = each_row(
            lambda rows, own: np.where(own == n_cores, -1, own),
            _nearest(mixture.posterior),
            dtype=np.int32,
        )
        # Only rows that are nobody else's: a cluster inside this one has more features.
        n_bins = [cluster_bins(int(size)) for size in row_counts(labels, n_cores)]
        counts = scaled.fold(_Histograms(n_bins), reads=(labels,))
        n_tests = n_cores * shape[1]
        masks = np.zeros((n_cores, shape[1]), bool)
        for mask, core, bins in zip(masks, cores, counts, strict=True):
            mask[:] = concentrated_features(bins, self.alpha / n_tests, CONCENTRATION)
            mask[core.features] = True
        # Numbered by their first rows, as the labels of other finders are.
        order = np.argsort(first_rows(labels, n_cores), kind="stable")
        if self.overlap:
            plain, alpha = mixture.plain, self.alpha
            packed = rows_where(scaled, lambda block: plain.inside(block, alpha), n_cores)
            members = [np.flatnonzero(unpack(rows, shape[0])) for rows in packed]
            order = np.array(sorted(range(n_cores), key=lambda k: members[k][0]))
        elif is_distant(labels):
            rank = np.argsort(order)
            numbered = each_row(
                lambda rows, own: np.where(own >= 0, rank[own], -1), labels, dtype=np.int32
            )
            clustering = SubspaceClustering.from_labels(numbered, masks=masks[order])
            return Found(clustering, rounds, {"cores_": [cores[k] for k in order]})
        else:
            members = [np.flatnonzero(labels == k) for k in range(n_cores)]
        clusters = [(members[k], np.flatnonzero(masks[k])) for k in order]
        clustering = SubspaceClustering.from_clusters(clusters, shape)
        return Found(clustering, rounds, {"cores_": [cores[k] for k in order]})


class Core(NamedTuple):
    """Intervals that belong together, in the units of the table."""

    features: IntArray
    low: FloatArray
    """Smallest value of the core's rows in each feature."""
    high: FloatArray
    rows: IntArray
    """Rows inside all intervals, of those that were in no cluster when the core was found."""


#: Where nothing was found.
NOWHERE = IntervalBins(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), 1)


class FreshCores(NamedTuple):
    """Cores that were found together, and how their rows are told where the rows are."""

    cores: list[Core]
    where: IntervalBins
    intervals: list[list[int]]
    """Of each core, which of the intervals."""
    outside: Any
    """Row values: rows that were in no cluster."""


@dataclass(frozen=True, eq=False)
class _CoreEnds:
    """Smallest and largest values of the rows of each core."""

    scale: EvenScale
    where: IntervalBins
    intervals: list[list[int]]
    features: list[IntArray]

    def __call__(self, block: FloatArray, rows: slice, outside: BoolArray) -> tuple[Ends, ...]:
        inside = self.where(self.scale(block), outside)
        found = []
        for intervals, features in zip(self.intervals, self.features, strict=True):
            values = block[np.ix_(inside[intervals].all(axis=0), features)]
            low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
            found.append(Ends(low, high))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Start:
    """Memberships to begin with: those before, and all of the rows of each fresh core."""

    n_before: int
    where: IntervalBins
    intervals: list[list[int]]

    def __call__(
        self, block: FloatArray, rows: slice, outside: BoolArray, *before: FloatArray
    ) -> FloatArray:
        inside = self.where(block, outside)
        start = np.zeros((self.n_before + len(self.intervals), len(block)))
        if before:
            start[: self.n_before] = before[0][:, :-1].T
        for k, intervals in enumerate(self.intervals, self.n_before):
            start[k] = inside[intervals].all(axis=0)
        # A row in several cores begins with a part in each.
        start /= np.maximum(start.sum(axis=0), 1.0)
        return start.T


@dataclass(frozen=True, eq=False)
class _Histograms:
    """The rows of each cluster in bins."""

    n_bins: list[int]

    def __call__(self, block: FloatArray, rows: slice, own: Any) -> tuple[IntArray, ...]:
        return tuple(histograms(block[own == k], bins) for k, bins in enumerate(self.n_bins))


def _nearest(posterior: Any) -> Any:
    """Row values: the likeliest cluster of each row; their number is the background."""
    return each_row(lambda rows, own: own.argmax(axis=1), posterior, dtype=np.int32)


def _count(flags: Any, table: Blocks) -> int:
    """How many rows have a flag."""
    return int(fold_rows(lambda rows, own: int(own.sum()), flags, step=table.block_rows))


def _extents(table: Blocks, clustering: SubspaceClustering) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest values of the clusters in their features."""
    shape = (clustering.n_clusters, clustering.n_features)
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    if not shape[0]:
        return low, high
    masks = cast(AxisSubspaces, clustering.subspaces).masks
    features = [np.flatnonzero(mask) for mask in masks]
    apart = isinstance(clustering.members, DistantMemberships) or clustering.is_row_disjoint
    reads = [codes_of(clustering)] if apart else list(clustering.memberships.toarray() > 0)

    def ends(block: FloatArray, rows: slice, *own: Any) -> tuple[Ends, ...]:
        found = []
        for k, columns in enumerate(features):
            values = block[np.ix_(own[0] == k if apart else own[k], columns)]
            low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
            found.append(Ends(low, high))
        return tuple(found)

    for k, each in enumerate(table.fold(ends, np.float64, reads=reads)):
        low[k, features[k]], high[k, features[k]] = each.low, each.high
    return low, high
