"""COPAC: rows of equal local dimension that lie on each other's flats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found, SubspaceFinder, Watch
from subscape.finders.oriented.attempts import (
    Attempt,
    RowSample,
    ended,
    extended,
    sample_of,
    shortest,
)
from subscape.finders.oriented.neighbours.pairs import local_covariances
from subscape.finders.oriented.neighbours.search import nearest_rows
from subscape.finders.oriented.peeling import Ladder, peeled
from subscape.finders.oriented.span import one_point, span_of

from .flat_graph import count_mutual, grow_mutual

#: Settings tried where none are given: neighbours, explained variance, and radii in units of the
#: typical spread across the local flats.
NEIGHBOURS = (20, 40, 80)
EXPLAINED = (0.85, 0.9, 0.95, 0.8)
SPREADS = (1.5, 3.0, 6.0, 12.0)
#: Distances that differ by less than this share are equal: rounding must not part rows.
SLACK = 1e-9
#: Shares of variance are compared with this tolerance.
ROUNDING = 1e-12
#: Directions of all rows are held at once up to so many numbers.
MOST_NUMBERS = 150_000_000
#: Neighbours are not scaled up from a sample beyond this.
MOST_NEIGHBOURS = 300
#: Rows counted between looks at the clock.
BLOCK = 2000


class LocalFlats(NamedTuple):
    """Variances (n, p) in ascending order and directions (n, p, p), one per line, of every row."""

    values: FloatArray
    axes: FloatArray

    def dims(self, explained: float) -> IndexArray:
        """How many directions it takes to explain this share of the variance; 0 where none is."""
        totals = self.values.sum(axis=1)
        reached = np.cumsum(self.values[:, ::-1], axis=1)
        enough = reached < (explained - ROUNDING) * totals[:, None]
        return np.where(totals > 0, 1 + enough.sum(axis=1), 0)

    def spread(self, dims: IndexArray) -> float:
        """Typical distance of neighbours from the flats, for rows that have a proper one."""
        p = self.values.shape[1]
        across = np.where(np.arange(p) < p - dims[:, None], self.values, 0.0).sum(axis=1)
        proper = (dims < p) & (across > 0)
        return float(np.sqrt(np.median(across[proper]))) if proper.any() else 0.0


class COPACSetting(NamedTuple):
    """What a run of COPAC is told."""

    n_neighbors: int
    explained: float
    eps: float
    min_samples: int


class COPAC(SubspaceFinder):
    """COPAC: correlation partition clustering.

    The nearest neighbours of a row tell its local flat: as many main directions as it takes to
    explain most of their variance. Rows are parted by the dimension of their flats; two rows of a
    part are neighbours if each lies within ``eps`` of the other's flat, however far along it, and
    rows with enough neighbours connect as in DBSCAN. Clusters are whole lines, planes and flats:
    two pieces of one line, far apart, are one cluster.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Rows, itself included, that tell a row's flat (k); more than three per feature is a good
        choice. "auto" tries a few, and keeps what describes the rows most briefly; with ``refine``
        in rounds, each on the rows that the one before left as noise.
    eps : float or "auto", default="auto"
        Largest distance from each other's flats; "auto" as above.
    min_samples : int or "auto", default="auto"
        Rows, itself included, that make a row a core (mu); "auto" is half of ``n_neighbors``.
    explained_variance : float or "auto", default="auto"
        Share of the local variance that the flat must explain (alpha); "auto" as above.
    refine : bool, default=True
        Join the pieces of a flat and put every row where it fits best, noise included, as long as
        that shortens the description of the rows. False gives the clusters of the paper.
    search_rows : int, default=2000
        Settings are chosen on a sample of so many rows. With ``refine``, all rows then join its
        clusters where they fit; without, all rows are searched with the settings found.
    max_time : float, optional
        Seconds after which no further setting is tried.
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat: by the shortest description, or the local dimension of
        its rows if ``refine`` is off.
    local_dims_ : array of shape (n_rows,)
        Dimension of the flat around each row (its local correlation dimension);
        -1 for rows outside the sample.
    n_neighbors_, eps_, min_samples_, explained_variance_ : int, float, int, float
        The settings used; those of the first round if there were several.
    n_iter_ : int
        Number of settings tried in all rounds.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    ERiC : Flats within flats.
    FourC : Neighbours that agree on a flat, without parting the rows by dimension first.
    CASH : Without neighbourhoods.

    Differences from the paper
    --------------------------
    - ``refine``, the rounds and the choice of the settings (on a sample of ``search_rows``) are
      additions; as published, ``refine=False`` and ``explained_variance=0.85``.
    - Always: rows that several clusters reach go with their first core; rows whose neighbours are
      all identical are compared by their plain distance.
    - What that gains: mean CE 0.06 as published (n_neighbors=15, eps=0.05, min_samples=8), 0.00 by
      default, on five generated tables (two lines and a plane in four features, 5 % noise;
      ``benchmarks/published.py``).

    References
    ----------
    E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger and A. Zimek, *Robust, Complete, and Efficient
    Correlation Clustering*, SDM 2007, doi:10.1137/1.9781611972771.37.

    Examples
    --------
    >>> from subscape.finders import COPAC
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(3, ((1, 200), (2, 300)), random_state=0)
    >>> finder = COPAC().fit(X)
    >>> finder.flat_dims_.tolist(), bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    ([1, 2], True)
    """

    _tells_two_rows = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "eps": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "min_samples": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "explained_variance": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "refine": ["boolean"],
        "search_rows": [Interval(Integral, 10, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        eps: float | str = "auto",
        min_samples: int | str = "auto",
        *,
        explained_variance: float | str = "auto",
        refine: bool = True,
        search_rows: int = 2000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.eps = eps
        self.min_samples = min_samples
        self.explained_variance = explained_variance
        self.refine = refine
        self.search_rows = search_rows
        self.max_time = max_time
        self.progress = progress

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        span = span_of(X)
        given = (self.n_neighbors, self.eps, self.min_samples, self.explained_variance)
        sample = sample_of(span.rows, self.search_rows if "auto" in given else len(X))

        def tries(k: int) -> Ladder:
            return lambda rows: (
                self._attempt(rows, local, setting, watch)
                for setting, local in self._settings(rows, k, sample.share)
            )

        ladders = [tries(k) for k in self._sizes(sample)]
        if "auto" in given and self.refine:
            chosen = peeled(sample.X, ladders, watch)
        else:
            every = chain.from_iterable(ladder(sample.X) for ladder in ladders)
            chosen = shortest(every, sample.X, watch, refine=self.refine)
        best, end = chosen.attempt, chosen.refined
        setting = best.setting
        if not sample.is_all:
            setting = self._scaled(setting, sample)
            if end is not None:
                end = extended(span.rows, sample, end.labels, setting.min_samples, watch)
                best = best._replace(local_dims=sample.spread(best.local_dims, len(X)))
            else:
                local = local_flats(span.rows, setting.n_neighbors)
                best = self._attempt(span.rows, local, setting, watch)
        labels, dims, before = ended(chosen._replace(attempt=best, refined=end), sample, len(X))
        return span.found(
            labels, dims, chosen.tried, before,
            local_dims_=best.local_dims, n_neighbors_=setting.n_neighbors, eps_=setting.eps,
            min_samples_=setting.min_samples, explained_variance_=setting.explained,
        )  # fmt: skip

    def _attempt(
        self, X: FloatArray, local: LocalFlats, setting: COPACSetting, watch: Watch
    ) -> Attempt:
        """The clusters of the paper; rows need not agree on the directions of their flats."""
        return flat_clusters(X, local, setting, 1.0, watch)

    def _one_cluster(self, table: Any) -> Found:
        found = one_point(super()._one_cluster(table))
        found.attributes.update(
            local_dims_=np.zeros(len(table), np.intp), n_neighbors_=self.n_neighbors,
            eps_=self.eps, min_samples_=self.min_samples,
            explained_variance_=self.explained_variance,
        )  # fmt: skip
        return found

    def _sizes(self, sample: RowSample) -> list[int]:
        """How many rows may tell a flat in a sample."""
        n, p = sample.X.shape
        sizes = [max(size, p + 2) for size in NEIGHBOURS]
        if self.n_neighbors != "auto":
            # Numbers of rows that somebody chose are about the table, not about a sample of it.
            sizes = [round(int(self.n_neighbors) * sample.share)]
        return sorted({min(n, max(2, size)) for size in sizes})

    def _settings(
        self, X: FloatArray, k: int, share: float
    ) -> Iterator[tuple[COPACSetting, LocalFlats]]:
        """Settings to try on some rows, the smallest radius first, with the flats they ask for."""
        local = local_flats(X, min(k, len(X)))
        size = max(2, k // 2)
        if self.min_samples != "auto":
            size = max(1, round(int(self.min_samples) * share))
        shares = self._given(self.explained_variance, EXPLAINED)
        spreads = {explained: local.spread(local.dims(explained)) for explained in shares}
        for factor in SPREADS if self.eps == "auto" else (None,):
            for explained in shares:
                eps = float(self.eps) if factor is None else factor * spreads[explained]
                yield COPACSetting(k, explained, eps, size), local

    def _scaled(self, setting: COPACSetting, sample: RowSample) -> COPACSetting:
        """The same neighbourhoods among all rows as in the sample."""
        k, size = round(setting.n_neighbors / sample.share), self.min_samples
        if self.n_neighbors != "auto":
            k = int(self.n_neighbors)
        return setting._replace(
            n_neighbors=min(k, max(MOST_NEIGHBOURS, setting.n_neighbors)),
            min_samples=round(setting.min_samples / sample.share) if size == "auto" else int(size),
        )

    @staticmethod
    def _given(value: Any, candidates: Any) -> list[Any]:
        return list(candidates) if value == "auto" else [value]


def local_flats(X: FloatArray, k: int) -> LocalFlats:
    """Variances and directions of the k nearest rows of every row."""
    n, p = X.shape
    if n * p * p > MOST_NUMBERS:
        raise SubscapeError(
            f"the local directions of {n} rows in {p} dimensions take {8e-9 * n * p * p:.0f} GB: "
            "reduce the features first, e.g. with sklearn.decomposition.PCA, or fit a sample"
        )
    values, axes = np.linalg.eigh(local_covariances(X, nearest_rows(X, k)))
    return LocalFlats(np.maximum(values, 0.0), np.ascontiguousarray(axes.transpose(0, 2, 1)))


def flat_clusters(
    X: FloatArray, local: LocalFlats, setting: COPACSetting, delta: float, watch: Watch
) -> Attempt:
    """Clusters among the rows of each local dimension below p, with directions up to ``delta``."""
    n, p = X.shape
    labels = np.full(n, -1, np.intp)
    cluster_dims: list[np.intp] = []
    local_dims = local.dims(setting.explained)
    radius, enough = setting.eps * (1 + SLACK), setting.min_samples
    turn = delta * delta * (1 + SLACK) + SLACK
    for dim in np.unique(local_dims[local_dims < p]):
        rows = np.flatnonzero(local_dims == dim)
        if len(rows) < enough:
            continue
        part = np.ascontiguousarray(X[rows])
        across = np.ascontiguousarray(local.axes[rows, : p - dim])
        along = np.ascontiguousarray(local.axes[rows, p - dim if delta < 1 else p :])
        order = np.random.default_rng(0).permutation(len(rows))
        core = np.zeros(len(rows), bool)
        for start in range(0, len(rows), BLOCK):
            some = np.arange(start, min(start + BLOCK, len(rows)))
            counts = count_mutual(part, across, along, some, order, radius, turn, enough)
            core[some] = counts >= enough
            if watch.out_of_time():
                break
        found = grow_mutual(part, across, along, core, radius, turn)
        labels[rows] = np.where(found >= 0, found + len(cluster_dims), -1)
        cluster_dims += [dim] * (int(found.max(initial=-1)) + 1)
    return Attempt(setting, labels, np.array(cluster_dims, np.intp), enough, local_dims)
