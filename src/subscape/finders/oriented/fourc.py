"""4C: clusters that are connected by density along the same local directions."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found, SubspaceFinder, Watch
from subscape.finders.oriented.neighbours.pairs import (
    connect_pairs,
    pair_covariances,
    pairs_on_flats,
)
from subscape.finders.oriented.neighbours.search import ClosePairs, nearest_rows, pairs_within

from .attempts import Attempt, RowSample, ended, extended, sample_of, shortest
from .description import FlatDims
from .peeling import Ladder, peeled
from .span import one_point, span_of

#: Settings tried where none are given: rows that make a core, and shares of rows to be cores.
CORE_SIZES = (5, 10, 20, 40)
CORE_SHARES = (0.3, 0.5, 0.65, 0.8, 0.86, 0.92)
#: Radii grow by at most this factor from one setting to the next.
LARGEST_STEP = 2.0
#: In rounds fewer sizes do: 36 planted tables gave the same or better clusters than with four.
ROUND_SIZES = (5, 20)
#: Distances that differ by less than this share are equal: rounding must not part rows.
SLACK = 1e-9
#: Directions below this share of the widest are rounding.
ROUNDING = 1e-13
#: Directions of all rows are held at once up to so many numbers; beyond, row by row.
MOST_NUMBERS = 40_000_000


class FourCSetting(NamedTuple):
    """What a run of 4C is told."""

    eps: float
    min_samples: int


class Neighbourhoods(NamedTuple):
    """Pairs of rows that are correlation neighbours, and the local dimension of every row."""

    pairs: NDArray[np.int32]
    dims: IndexArray


class FourC(SubspaceFinder):
    """4C: computing correlation connected objects.

    DBSCAN with a distance that adapts to where the rows lie locally: the covariance of a row's ball
    (radius ``eps``) tells along which directions its neighbours are spread, and steps across these
    count ``kappa``-fold. Rows with enough such neighbours, seen from both ends, are cores; clusters
    are what cores connect. They follow lines, planes and flats, and end where their rows end.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    eps : float or "auto", default="auto"
        Radius of the balls, and the largest distance of neighbours. "auto" tries several, and
        keeps the one whose clusters describe the rows most briefly. With ``refine`` that is done in
        rounds: rows left as noise are searched again with radii of their own, because flats
        differ in density.
    min_samples : int or "auto", default="auto"
        Rows, itself included, that make a row a core (mu); "auto" as above.
    max_dim : int, optional
        Rows whose local flat has more dimensions than this are noise (lambda), and no cluster has
        a flat of more, refined or not; by default one less than the features.
    delta : float, default=0.1
        A local direction is strong if its variance is more than this share of the largest one's.
    kappa : float, default=50.0
        How much more steps across the strong directions count, in squared distances.
    absolute : bool, default=False
        Compare variances with ``delta`` itself instead of with a share.
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
        Dimension of each cluster's flat: by the shortest description, or the most frequent local
        dimension of its rows if ``refine`` is off.
    local_dims_ : array of shape (n_rows,)
        Number of strong directions around each row (its correlation dimension); -1 for rows
        outside the sample.
    eps_, min_samples_ : float, int
        The settings used; those of the first round if there were several.
    n_iter_ : int
        Number of settings tried in all rounds.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    COPAC : Rows parted by the dimension of their neighbourhood first.
    ERiC : Flats within flats.

    Differences from the paper
    --------------------------
    - ``refine``, the rounds and the choice of the settings (on a sample of ``search_rows``) are
      additions; as published, ``refine=False``.
    - The paper compares variances with a share of the largest: ``absolute`` is not in it.
    - Always: rows that several clusters reach go with their first core; the paper leaves them to
      the order of the search.
    - What that gains: mean CE 0.23 as published (eps=0.15, min_samples=5, max_dim=2), 0.00 by
      default, on five generated tables (two lines and a plane in four features, 5 % noise;
      ``benchmarks/published.py``).

    References
    ----------
    C. Böhm, K. Kailing, P. Kröger and A. Zimek, *Computing Clusters of Correlation Connected
    Objects*, SIGMOD 2004, doi:10.1145/1007568.1007620.

    Examples
    --------
    >>> from subscape.finders import FourC
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(3, ((1, 200), (2, 300)), random_state=0)
    >>> finder = FourC().fit(X)
    >>> finder.flat_dims_.tolist(), bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    ([1, 2], True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "min_samples": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_dim": [Interval(Integral, 0, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left")],
        "kappa": [Interval(Real, 1, None, closed="left")],
        "absolute": ["boolean"],
        "refine": ["boolean"],
        "search_rows": [Interval(Integral, 10, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        eps: float | str = "auto",
        min_samples: int | str = "auto",
        *,
        max_dim: int | None = None,
        delta: float = 0.1,
        kappa: float = 50.0,
        absolute: bool = False,
        refine: bool = True,
        search_rows: int = 2000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.max_dim = max_dim
        self.delta = delta
        self.kappa = kappa
        self.absolute = absolute
        self.refine = refine
        self.search_rows = search_rows
        self.max_time = max_time
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.max_dim is not None and self.max_dim > n_features:
            raise SubscapeError(
                f"max_dim={self.max_dim} is more than the {n_features} features of the table"
            )
        if not self.absolute and self.delta > 1:
            raise SubscapeError(
                f"delta={self.delta:g} is a share of the largest variance, at most 1; for a "
                "variance in the units of the table set absolute=True"
            )

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        span = span_of(X)
        max_dim = max(1, X.shape[1] - 1) if self.max_dim is None else int(self.max_dim)

        def attempt(rows: FloatArray, eps: float, size: int) -> Attempt:
            return self._attempt(rows, FourCSetting(eps, size), max_dim, watch)

        allowed = FlatDims(most=max_dim)
        asked = self.eps == "auto" or self.min_samples == "auto"
        sample = sample_of(span.rows, self.search_rows if asked else len(X))
        if asked and self.refine:

            def ladder(size: int) -> Ladder:
                return lambda rows: (attempt(rows, *s) for s in self._settings(rows, size))

            sizes = self._sizes(sample, ROUND_SIZES)
            ladders = [ladder(size) for size in sizes]
            chosen = peeled(sample.X, ladders, watch, allowed=allowed)
        else:
            tries = (
                attempt(sample.X, *setting)
                for size in self._sizes(sample, CORE_SIZES)
                for setting in self._settings(sample.X, size)
            )
            chosen = shortest(
                tries, sample.X, watch, refine=self.refine, pieces=True, allowed=allowed
            )
        best, end = chosen.attempt, chosen.refined
        eps, size = best.setting
        if not sample.is_all:
            if self.min_samples == "auto":
                size = round(size / sample.share)
            else:
                size = int(self.min_samples)
            if end is not None:
                end = extended(span.rows, sample, end.labels, size, watch, allowed)
                best = best._replace(local_dims=sample.spread(best.local_dims, len(X)))
            else:
                best = attempt(span.rows, eps, size)
        labels, dims, before = ended(chosen._replace(attempt=best, refined=end), sample, len(X))
        return span.found(
            labels, dims, chosen.tried, before,
            local_dims_=best.local_dims, eps_=eps, min_samples_=size,
        )  # fmt: skip

    def _one_cluster(self, table: Any) -> Found:
        found = one_point(super()._one_cluster(table))
        found.attributes.update(
            local_dims_=np.zeros(len(table), np.intp), eps_=self.eps,
            min_samples_=self.min_samples,
        )  # fmt: skip
        return found

    def _attempt(self, X: FloatArray, setting: FourCSetting, max_dim: int, watch: Watch) -> Attempt:
        """The clusters of the paper for one setting."""
        radius = setting.eps * (1 + SLACK)
        near = self._neighbourhoods(X, pairs_within(X, radius), radius, watch)
        flat = near.dims <= max_dim
        sizes = 1 + np.bincount(near.pairs.ravel(), minlength=len(X))
        reachable = near.pairs if flat.all() else near.pairs[flat[near.pairs].all(axis=1)]
        labels = connect_pairs(reachable, flat & (sizes >= setting.min_samples))
        dims = modal_dims(labels, near.dims)
        return Attempt(setting, labels, dims, setting.min_samples, near.dims)

    def _neighbourhoods(
        self, X: FloatArray, close: ClosePairs, radius: float, watch: Watch
    ) -> Neighbourhoods:
        n, p = X.shape
        if n * p * p > MOST_NUMBERS:
            return self._row_by_row(X, close, radius, watch)
        values, axes = np.linalg.eigh(pair_covariances(close.rows, close.pairs))
        dims = self._strong(values)
        mutual = pairs_on_flats(
            close.rows,
            close.pairs,
            np.ascontiguousarray(axes.transpose(0, 2, 1)),
            dims,
            float(self.kappa),
            radius,
        )
        kept = close._replace(pairs=close.pairs[mutual])
        return Neighbourhoods(kept.original(), dims[np.argsort(close.order)])

    def _row_by_row(
        self, X: FloatArray, close: ClosePairs, radius: float, watch: Watch
    ) -> Neighbourhoods:
        """The same with the directions of one row at a time, for wide tables."""
        n = len(X)
        pairs = close.original()
        graph = sparse.coo_array(
            (np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(n, n)
        ).tocsr()
        graph = (graph + graph.T + sparse.eye_array(n, dtype=bool, format="csr")).tocsr()
        dims = np.full(n, X.shape[1], np.intp)
        graph.data = np.zeros(len(graph.indices), bool)
        for i in range(n):
            if watch.out_of_time():
                break
            place = slice(graph.indptr[i], graph.indptr[i + 1])
            steps = X[graph.indices[place]] - X[i]
            centred = steps - steps.mean(axis=0)
            _, singular, directions = np.linalg.svd(centred, full_matrices=False)
            dims[i] = self._strong(np.square(singular)[None, ::-1] / len(steps))[0]
            along = np.square(steps @ directions[: dims[i]].T).sum(axis=1)
            lengths = np.square(steps).sum(axis=1)
            far = lengths + (self.kappa - 1) * np.maximum(lengths - along, 0.0)
            graph.data[place] = far <= radius * radius
        mutual = sparse.triu(graph.multiply(graph.T), 1).tocoo()
        kept = np.stack([mutual.row[mutual.data], mutual.col[mutual.data]], axis=1)
        return Neighbourhoods(kept.astype(np.int32), dims)

    def _strong(self, values: FloatArray) -> IndexArray:
        """Number of strong directions, from variances in ascending order."""
        widest = values[:, -1:]
        least = self.delta if self.absolute else self.delta * widest
        strong = (values > np.maximum(least, ROUNDING * widest)) & (widest > 0)
        return strong.sum(axis=1)

    def _sizes(self, sample: RowSample, candidates: tuple[int, ...]) -> list[int]:
        """How many rows may make a core in a sample."""
        if self.min_samples != "auto":
            return [max(1, round(int(self.min_samples) * sample.share))]
        return sorted({min(size, len(sample.X)) for size in candidates})

    def _settings(self, X: FloatArray, size: int) -> Iterator[FourCSetting]:
        """Settings to try on some rows, the smallest radius first; a single one if it is given."""
        if self.eps != "auto":
            yield FourCSetting(float(self.eps), size)
            return
        farthest = X[nearest_rows(X, min(size, len(X)))[:, -1]] - X
        radii = np.sqrt(np.square(farthest).sum(axis=1))
        steps = np.unique(np.quantile(radii, CORE_SHARES))
        if not steps.any():
            # Rows have copies enough: a radius below the distance of others will do.
            yield FourCSetting(max(float(np.abs(X).max()) * 1e-6, np.finfo(float).tiny), size)
        for radius in without_gaps(steps[steps > 0]):
            yield FourCSetting(float(radius), size)


def without_gaps(radii: FloatArray) -> FloatArray:
    """Ascending radii with others put in between where one is far above the one before."""
    jumps = radii[1:] / radii[:-1]
    parts = np.where(jumps > LARGEST_STEP, np.ceil(np.log(jumps) / np.log(LARGEST_STEP)), 1)
    between = [
        low * jump ** (np.arange(n) / n)
        for low, jump, n in zip(radii[:-1], jumps, parts.astype(int), strict=True)
    ]
    return np.concatenate([*between, radii[-1:]])


def modal_dims(labels: IndexArray, local: IndexArray) -> IndexArray:
    """The most frequent local dimension of each cluster's rows, the smaller in a tie."""
    k = int(labels.max(initial=-1)) + 1
    return np.array([np.bincount(local[labels == i]).argmax() for i in range(k)], dtype=np.intp)
