"""PreDeCon: density-connected clusters whose rows prefer some features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.checks import constant_columns
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.finders.axis.brevity import evenly_spaced, nats_saved
from subscape.finders.base import Found, SubspaceFinder, Watch

from .feature_neighbours import SHARED, clusters_by_features
from .preferences import Neighbours, mutual_distances, neighbour_blocks, squared_deviations

__all__ = ["NeighbourGraph", "PreDeCon", "linked", "typical_radius"]


#: Settings tried by default: radii, by the share of all rows that they reach, and weights.
NEIGHBOURS = (0.06, 0.03, 0.12)
WEIGHTS = (20.0, 10.0, 5.0)
#: They are tried on at most so many rows.
SEARCH_ROWS = 2000
#: Radii in single features tried by default, and the rows on which they are.
RADII = (0.05, 0.025, 0.1)
FIRST_ROWS = 600
#: Default of min_samples there: this share of the rows.
LEAST_SHARE = 0.01
#: Default of min_samples: this share of those neighbours.
CORE_SHARE = 0.2
LEAST_NEIGHBOURS, LEAST_SAMPLES = 10, 4
#: Default variance: this share of the variance per feature of a typical neighbourhood.
TIGHTER = 0.8


class _Setting(NamedTuple):
    """A radius, by the share of all rows it reaches, and the weight of preferred features."""

    neighbours: float
    kappa: float


class _Run(NamedTuple):
    """What one setting gave: label, core or not, and preferred features of each row."""

    setting: _Setting
    rows: tuple[IntArray, BoolArray, BoolArray]
    eps: float
    delta: float
    min_samples: int


class PreDeCon(SubspaceFinder):
    """PreDeCon: DBSCAN in which every row has its own preferred features.

    A row prefers the features in which the rows around it deviate little from it. Distances from
    the row count these features more, so that neighbours have to agree with it there. Rows with
    enough neighbours by such distances are cores, and chains of cores are clusters [1]_.

    In the paper, the rows around a row are its neighbours in all features, who say little where few
    features matter. By default they are found feature by feature instead, and features are
    preferred in which they are the same rows, more than by chance; this is ours.

    Parameters
    ----------
    eps : float or None
        Radius (ε), in units of the features' ranges, or of the table if ``scale`` is false. By
        default, in single features, 0.05, 0.025 or 0.1 of the range; in all features the median
        distance to the neighbour at 6, 3 or 12 % of all rows; whichever gives clusters that
        describe the rows most briefly.
    min_samples : int or None
        Neighbours that a core row needs (μ), itself included. By default, with neighbours in single
        features, 1 % of the rows, in all features a fifth of the neighbours at which the radius was
        set (1.2 % of the rows if it reaches 6 %); at least 4.
    delta : float or None
        Largest mean squared deviation of the neighbours from a row in a feature that it prefers
        (δ). By default 0.8 times the mean over all features, of a typical row.
    kappa : float or None
        How much a squared difference in a preferred feature counts (κ). By default 20, 10 or 5,
        chosen together with the radius, on at most 2,000 rows.
    neighbourhoods : {"auto", "features", "all"}, default="auto"
        Neighbours in single features, or in all, as in the paper. "auto": in all if ``eps``,
        ``delta`` or ``kappa`` is given or if single features give no cluster. In single features
        ``delta`` and ``kappa`` do not matter: only preferred features count. At most 2,000 rows are
        then searched; other rows join the cluster that has a core nearby.
    max_pref_dims : int or None
        Rows that prefer more features than this are no cores and join no cluster (λ). By default
        there is no limit.
    scale : bool, default=True
        Divide every feature by its range first.
    max_time : float or None
        Seconds after which the search stops; rows not looked at are noise.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Axis-aligned clusters, disjoint in rows. Their features are those that at least half of
        their core rows prefer.
    labels_ : array of shape (n_rows,)
        Cluster of each row, -1 for noise.
    core_sample_indices_ : array
        The core rows of the clusters.
    preference_ : array of bool, shape (n_rows, n_features)
        The features that each row prefers.
    eps_, delta_, min_samples_, kappa_ : float, float, int and float
        The values used. With neighbours in single features ``delta_`` is NaN, ``kappa_`` infinite,
        and ``min_samples_`` about the rows searched.
    n_iter_ : int
        Number of settings tried.

    See Also
    --------
    SUBCLU : Density in every subspace.
    FourC : Directions instead of features.

    Differences from the paper
    --------------------------
    - In the paper the rows around a row are its neighbours in all features
      (``neighbourhoods="all"``), who say little where few features matter. By default they are
      found feature by feature.
    - Features are divided by their ranges first; as published they are not (``scale=False``).
    - The defaults, and the way to choose among them, are ours.
    - Always: the paper gives a cluster no features; the rule for them is ours, and clusters in
      which no feature is preferred by half of the core rows are left out. A row within reach of
      cores of several clusters joins the nearest core, so that the result does not depend on the
      order of the rows.
    - What that gains: mean CE 1.00 as published (eps=0.6, min_samples=10, delta=0.01, kappa=100.0,
      max_pref_dims=4), 0.00 by default, on five generated tables (300 x 12, four clusters of four
      features, a tenth of noise; ``benchmarks/published.py``).

    References
    ----------
    .. [1] C. Böhm, K. Kailing, H.-P. Kriegel, P. Kröger, "Density connected clustering with local
       subspace preferences", ICDM 2004, 27-34, doi:10.1109/ICDM.2004.10087.

    Examples
    --------
    Two groups that cross: each agrees in one feature and spreads along the other.

    >>> import numpy as np
    >>> from subscape.finders import PreDeCon
    >>> line = np.linspace(0, 1, 200)
    >>> X = np.vstack([np.c_[line, np.full(200, 0.31)], np.c_[np.full(200, 0.71), line]])
    >>> finder = PreDeCon(eps=0.1, min_samples=5, delta=0.002, kappa=1000).fit(X)
    >>> finder.clustering_.n_clusters, finder.clustering_.subspaces.masks.astype(int).tolist()
    (2, [[0, 1], [1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="neither"), None],
        "min_samples": [Interval(Integral, 2, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), None],
        "kappa": [Interval(Real, 1, None, closed="left"), None],
        "neighbourhoods": [StrOptions({"auto", "features", "all"})],
        "max_pref_dims": [Interval(Integral, 1, None, closed="left"), None],
        "scale": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        *,
        eps: float | None = None,
        min_samples: int | None = None,
        delta: float | None = None,
        kappa: float | None = None,
        neighbourhoods: str = "auto",
        max_pref_dims: int | None = None,
        scale: bool = True,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.delta = delta
        self.kappa = kappa
        self.neighbourhoods = neighbourhoods
        self.max_pref_dims = max_pref_dims
        self.scale = scale
        self.max_time = max_time
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.max_pref_dims is not None and self.max_pref_dims > n_features:
            raise SubscapeError(
                f"max_pref_dims={self.max_pref_dims} is more than the n_features={n_features} of "
                "the table"
            )
        if self.min_samples is not None and self.min_samples > n_rows:
            raise SubscapeError(
                f"min_samples={self.min_samples} is more than the {n_rows} rows of the table"
            )

    def _search(self, table: Any, watch: Watch) -> Found:
        kept = np.flatnonzero(~constant_columns(table))
        found = super()._search(table, watch)
        attributes = dict(found.attributes) or _of_one_cluster(len(table))
        preference = np.zeros(table.shape, dtype=bool)
        preference[:, kept] = attributes["preference_"]
        attributes["preference_"] = preference
        return found._replace(attributes=attributes)

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        table = X / np.ptp(X, axis=0) if self.scale else X
        # Sorted by values, so that sums and ties do not depend on the order of the rows.
        axis = int(np.ptp(table, axis=0).argmax())
        order = np.lexsort([*table.T[::-1], table[:, axis]])
        table = np.ascontiguousarray(table[order])
        chosen, tried = self._settled(table, axis, watch)
        places = np.empty(len(X), np.int64)
        places[order] = np.arange(len(X))
        labels, core, preferred = chosen.rows
        preferred = preferred[places]
        clustering, core = _with_features(labels[places], core[places], preferred)
        attributes = {
            "core_sample_indices_": np.flatnonzero(core),
            "preference_": preferred,
            "eps_": chosen.eps,
            "delta_": chosen.delta,
            "min_samples_": chosen.min_samples,
            "kappa_": chosen.setting.kappa,
        }
        return Found(clustering, tried, attributes)

    def _settled(self, table: FloatArray, axis: int, watch: Watch) -> tuple[_Run, int]:
        """The run to report, by neighbours in single features or in all."""
        given = any(value is not None for value in (self.eps, self.delta, self.kappa))
        if self.neighbourhoods == "features" or (self.neighbourhoods == "auto" and not given):
            chosen, tried = self._by_features(table, watch)
            if self.neighbourhoods == "features" or (chosen.rows[0] >= 0).any():
                return chosen, tried
        return self._chosen(table, axis, watch)

    def _by_features(self, table: FloatArray, watch: Watch) -> tuple[_Run, int]:
        """The run in single features whose clusters describe the rows most briefly."""
        places = evenly_spaced(len(table), SEARCH_ROWS)
        few = evenly_spaced(len(places), FIRST_ROWS)
        if self.eps is not None:
            return self._run_by_features(table, places, float(self.eps), watch), 1
        typical = float(np.median(np.ptp(table, axis=0)))
        runs: list[_Run] = []
        for share in RADII:
            runs.append(self._run_by_features(table[places], few, share * typical, watch))
            if watch.out_of_time():
                break
        best = max(runs, key=lambda run: _saved(table[places], *run.rows))
        if len(few) == len(table):
            return best, len(RADII)
        return self._run_by_features(table, places, best.eps, watch), len(RADII)

    def _run_by_features(
        self, table: FloatArray, places: IntArray, radius: float, watch: Watch
    ) -> _Run:
        """Clusters of some rows by their neighbours in single features, and rows near them."""
        if self.min_samples is None:
            min_samples = max(LEAST_SAMPLES, int(LEAST_SHARE * len(places)))
        else:
            min_samples = max(2, round(len(places) / len(table) * int(self.min_samples)))
        rows = clusters_by_features(table, places, radius, min_samples, self.max_pref_dims, watch)
        return _Run(_Setting(0.0, np.inf), rows, radius, np.nan, min_samples)

    def _chosen(self, table: FloatArray, axis: int, watch: Watch) -> tuple[_Run, int]:
        """The run whose clusters describe the rows most briefly, and how many were compared."""
        n = len(table)
        # Sorted rows, one of every few: the same ones whatever the order of the rows was.
        places = evenly_spaced(n, SEARCH_ROWS)
        sample = np.ascontiguousarray(table[places])
        shares = NEIGHBOURS if self.eps is None else NEIGHBOURS[:1]
        weights = WEIGHTS if self.kappa is None else (float(self.kappa),)
        settings = [_Setting(share, kappa) for share in shares for kappa in weights]
        best, most = None, -np.inf
        for setting in settings if len(settings) > 1 or len(sample) == n else []:
            run = self._run(sample, axis, setting, len(sample) / n, watch)
            saved = _saved(sample, *run.rows)
            if best is None or saved > most:
                best, most = run, saved
            if watch.out_of_time():
                break
        if best is not None and len(sample) == n:
            return best, len(settings)
        setting = settings[0] if best is None else best.setting
        return self._run(table, axis, setting, 1.0, watch), len(settings)

    def _run(
        self, table: FloatArray, axis: int, setting: _Setting, share: float, watch: Watch
    ) -> _Run:
        """PreDeCon with one setting, on all rows or a share of them."""
        eps = float(self.eps or typical_radius(table, setting.neighbours, LEAST_NEIGHBOURS))
        graph = NeighbourGraph(table, eps, axis, watch)
        preferred, delta = self._preferences(table, graph)
        if self.min_samples is None:
            neighbours = max(LEAST_NEIGHBOURS, int(setting.neighbours * len(table)))
            min_samples = max(LEAST_SAMPLES, int(CORE_SHARE * neighbours))
        else:
            min_samples = max(2, round(share * int(self.min_samples)))
        labels, core = self._connected(table, graph, preferred, min_samples, setting.kappa)
        return _Run(setting, (labels, core, preferred), eps, delta, min_samples)

    def _preferences(self, table: FloatArray, graph: NeighbourGraph) -> tuple[BoolArray, float]:
        """The features that each row prefers, and the largest variance of these."""
        variances = np.full(table.shape, np.inf)
        counts = np.zeros(len(table), np.int64)
        for block in graph.blocks("neighbourhoods"):
            rows = slice(block.start, block.start + len(block.counts))
            counts[rows] = block.counts
            sums = squared_deviations(table, block.start, block.indptr, block.indices)
            variances[rows] = sums / block.counts[:, None]
        delta = self.delta
        if delta is None:
            seen = counts > 0
            crowded = seen & (counts > LEAST_SAMPLES)
            typical = variances[crowded if crowded.any() else seen].mean(axis=1)
            delta = TIGHTER * float(np.median(typical)) if len(typical) else 0.0
        return variances <= delta, float(delta)

    def _connected(
        self,
        table: FloatArray,
        graph: NeighbourGraph,
        preferred: BoolArray,
        min_samples: int,
        kappa: float,
    ) -> tuple[IntArray, BoolArray]:
        """Clusters of core rows and the rows they reach, and which rows are cores."""
        most = self.max_pref_dims or table.shape[1]
        eligible = preferred.sum(axis=1) <= most
        counts = np.zeros(len(table), np.int64)

        def distances(block: Neighbours) -> FloatArray:
            return mutual_distances(
                table, preferred, kappa, graph.eps,
                block.start, block.indptr, block.indices,
            )  # fmt: skip

        for block in graph.blocks("cores"):
            near = np.isfinite(distances(block)).astype(np.int64)
            sums = np.append(0, np.cumsum(near))
            counts[block.start : block.start + len(block.counts)] = np.diff(sums[block.indptr])
        core = eligible & (counts >= min_samples)
        return linked(graph.blocks("clusters"), distances, core, eligible), core


def _with_features(
    labels: IntArray, core: BoolArray, preferred: BoolArray
) -> tuple[SubspaceClustering, BoolArray]:
    """Number the clusters by their first rows and find their features; drop those without any."""
    kept = []
    for label in _by_first_row(labels):
        rows = labels == label
        shares = preferred[rows & core].mean(axis=0)
        if (shares >= SHARED).any():
            kept.append((np.flatnonzero(rows), np.flatnonzero(shares >= SHARED)))
        else:
            core = core & ~rows
    return SubspaceClustering.from_clusters(kept, preferred.shape), core


def _by_first_row(labels: IntArray) -> IntArray:
    values, first = np.unique(labels, return_index=True)
    first = first[values >= 0]
    return labels[np.sort(first)]


def _saved(table: FloatArray, labels: IntArray, core: BoolArray, preferred: BoolArray) -> float:
    """Nats that the clusters save."""
    return nats_saved(table, _with_features(labels, core, preferred)[0])


def _of_one_cluster(n_rows: int) -> dict[str, Any]:
    """Attributes where all rows are identical."""
    return {
        "core_sample_indices_": np.arange(n_rows),
        "preference_": np.zeros((n_rows, 0), dtype=bool),
        "eps_": 0.0,
        "delta_": 0.0,
        "min_samples_": 1,
        "kappa_": 1.0,
    }


# -- neighbours of all rows block by block, and the groups that core rows form ---------------------


#: Neighbours are found once and kept if there are no more than this.
MOST_KEPT = 20_000_000
#: Rows of which the distances are measured to set the radius.
SAMPLE = 500


class NeighbourGraph:
    """Neighbours of all rows, block by block: kept if they are few, else found again."""

    def __init__(self, table: FloatArray, eps: float, axis: int, watch: Watch) -> None:
        self.table, self.eps, self.axis, self.watch = table, eps, axis, watch
        self._kept: list[Neighbours] | None = []
        self._complete = False

    def blocks(self, message: str) -> Iterator[Neighbours]:
        """Go through the blocks; stops when the time is up."""
        if self._complete and self._kept is not None:
            source: Iterable[Neighbours] = self._kept
        else:
            source = neighbour_blocks(self.table, self.eps, self.axis)
        size = 0
        for block in source:
            if not self._complete and self._kept is not None:
                size += len(block.indices)
                self._kept.append(block)
                if size > MOST_KEPT:
                    self._kept = None
            yield block
            self.watch.step(message, block.start + len(block.counts), len(self.table))
            if self.watch.out_of_time():
                self._kept = None
                return
        self._complete = True


def linked(
    blocks: Iterable[Neighbours],
    distances: Callable[[Neighbours], FloatArray],
    core: BoolArray,
    eligible: BoolArray,
) -> IntArray:
    """Connect cores that are near each other, and give other rows to their nearest core."""
    n = len(core)
    group = np.arange(n)
    host = np.full(n, -1, np.int64)
    for block in blocks:
        away = distances(block)
        owner = np.repeat(np.arange(len(block.counts)) + block.start, block.counts)
        near = np.isfinite(away)
        near &= core[block.indices]
        both = near & core[owner]
        group = _merged(group, owner[both], block.indices[both])
        border = near & ~core[owner] & eligible[owner]
        rows, cores, lengths = owner[border], block.indices[border], away[border]
        # The nearest core comes first among those of each row.
        best = np.lexsort((cores, lengths, rows))
        rows, first = np.unique(rows[best], return_index=True)
        host[rows] = cores[best][first]
    labels = np.full(n, -1, np.int64)
    labels[core] = group[core]
    reached = host >= 0
    labels[reached] = group[host[reached]]
    return labels


def _merged(group: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Groups, named by their first rows, after joining rows on the left with rows on the right."""
    n = len(group)
    rows = np.concatenate([np.arange(n), left])
    columns = np.concatenate([group, right])
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    _, joined = connected_components(graph, directed=False)
    _, first = np.unique(joined, return_index=True)
    return first[joined]


def typical_radius(table: FloatArray, share: float, least: int) -> float:
    """Median distance to the neighbour at a share of all rows, from a sample of rows.

    Parameters
    ----------
    table : (n, p) array
        The table.
    share : float
        Share of all rows that are nearer.
    least : int
        The neighbour counted at least.

    Returns
    -------
    float
        Positive, rounded to six digits.
    """
    n = len(table)
    rank = min(n - 1, max(least, int(share * n)))
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    norms = np.einsum("ij,ij->i", table, table)
    squares = norms[rows, None] - 2.0 * (table[rows] @ table.T) + norms
    squares[np.arange(len(rows)), rows] = 0.0
    ranked = np.sqrt(np.maximum(np.partition(squares, rank, axis=1)[:, rank], 0.0))
    # Copies of a row are at distance 0, up to the rounding of the products.
    ranked[ranked <= 1e-6 * ranked.max()] = 0.0
    typical = float(np.median(ranked))
    if typical == 0.0:
        # Most rows have copies: only these are neighbours.
        typical = float(ranked[ranked > 0].min(initial=1.0)) / 2
    # Six digits: some pair lies exactly at this distance, and rounding must not decide on it.
    return float(f"{typical:.6g}")
