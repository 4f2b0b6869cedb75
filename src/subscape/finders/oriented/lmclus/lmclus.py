"""LMCLUS: linear manifold clusters by sampled flats and histograms of the distances from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found, SubspaceFinder, Watch
from subscape.finders.oriented.attempts import Attempt, ended, sample_of, shortest
from subscape.finders.oriented.description import ROWS_PER_DIMENSION, FlatDims
from subscape.finders.oriented.flats import squared_residuals
from subscape.finders.oriented.peeling import peeled
from subscape.finders.oriented.span import one_point, span_of

from .separation import Criterion, best_sampled, best_separation

#: Sensitivities tried where none is given; with the root of the discriminability their roots. The
#: lax one finds what is hard to see, and cuts to pieces what is not.
STRICT = (6.0, 3.0)
LAX = 1.5
#: By default flats have at most so many dimensions.
MOST_DIMS = 10
#: The rows left at the end are a cluster if the variance across a flat is below this share of the
#: variance of an average direction.
LAST_RESIDUAL = 0.05


class LMCLUS(SubspaceFinder):
    """LMCLUS: linear manifold clustering by stochastic search.

    Flats through a few sampled rows, lines first, are judged by the histogram of the distances of
    all rows: a flat that holds a cluster has a heap of rows close by, parted from the others by a
    valley. The clearest valley cuts off the cluster, which is cut again until it is of one piece,
    and removed; then the search goes on among the others.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    max_dim : int, optional
        Largest dimension of a flat (K), refined or not. By default flats of one dimension less
        than the features, at most 10, are searched, and may grow when they are refined.
    sensitivity : float or "auto", default="auto"
        How clearly a flat must separate its rows (Gamma): depth of the valley times the
        discriminability of its sides. "auto" tries 6 and 3, and keeps the one whose clusters
        describe the rows most briefly; then rows left as noise are searched with 1.5. Without
        ``refine`` all three are tried on all rows.
    min_cluster_size : int, default=20
        Fewer rows are no cluster.
    n_clusters_hint : int, default=10
        Clusters to expect (S); the more, the more flats are sampled.
    sampling_error : float, default=1e-4
        How likely a cluster of average size may be missed by all samples.
    max_samples : int, default=200
        Most flats tried per dimension.
    sampling : {"neighbours", "rows"}, default="neighbours"
        "neighbours": half of the flats go through sampled rows, every other of these through
        neighbours, and half are fitted to neighbourhoods; they are ranked on up to 1,000 rows, and
        the best fitted to the rows they separate. "rows": all go through rows drawn at random, and
        are judged by all rows, as in the paper.
    n_bins : int, default=100
        Bins of the histograms.
    goodness : {"squared", "sqrt"}, default="squared"
        Discriminability as squared difference of means over the sum of variances, or its root.
    stop_at_first : bool, default=True
        Take the lowest dimension that separates rows. False goes on to higher ones within the
        rows cut off, as the paper does.
    n_init : int, default=3
        Searches per sensitivity; fewer if two of them have settled on the same best clusters.
    refine : bool, default=True
        Join the pieces of a flat and put every row where it fits best, noise included, as long as
        that shortens the description of the rows. False gives the clusters of the search.
    max_time : float, optional
        Seconds after which the search ends; what is left is noise.
    random_state : int, RandomState, Generator or None
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat: by the shortest description, or the one it was found
        with if ``refine`` is off.
    sensitivity_ : float
        The sensitivity used; that of the first round if there were several.
    n_iter_ : int
        Number of searches.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    KFlats : With a given number of flats.
    CASH : By the Hough transform.

    Notes
    -----
    The cut of the histograms is that of J. Kittler and J. Illingworth, *Minimum error
    thresholding*, Pattern Recognition 19 (1986), doi:10.1016/0031-3203(86)90030-0.

    Differences from the paper
    --------------------------
    - The paper goes on to higher dimensions within the rows cut off (``stop_at_first=False``), and
      searches once (``n_init=1``).
    - In the paper all flats go through rows drawn at random (``sampling="rows"``).
    - ``refine`` and the choice of the sensitivity are additions; as published, ``refine=False``.
    - Always: the rows left at the end may be a cluster.
    - What that gains: mean CE 0.83 as published (max_dim=2, sensitivity=1.0), 0.00 by default, on
      five generated tables (two lines and a plane in four features, 5 % noise;
      ``benchmarks/published.py``).

    References
    ----------
    R. Haralick and R. Harpaz, *Linear manifold clustering in high dimensional spaces by stochastic
    search*, Pattern Recognition 40 (2007), doi:10.1016/j.patcog.2007.01.020.

    Examples
    --------
    >>> from subscape.finders import LMCLUS
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(3, ((1, 200), (2, 300)), random_state=0)
    >>> finder = LMCLUS(random_state=0).fit(X)
    >>> finder.flat_dims_.tolist(), bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    ([1, 2], True)
    """

    _tells_two_rows = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_dim": [Interval(Integral, 1, None, closed="left"), None],
        "sensitivity": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "min_cluster_size": [Interval(Integral, 2, None, closed="left")],
        "n_clusters_hint": [Interval(Integral, 1, None, closed="left")],
        "sampling_error": [Interval(Real, 0, 1, closed="neither")],
        "max_samples": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"neighbours", "rows"})],
        "n_bins": [Interval(Integral, 5, 65535, closed="both")],
        "goodness": [StrOptions({"squared", "sqrt"})],
        "stop_at_first": ["boolean"],
        "n_init": [Interval(Integral, 1, 10**6, closed="both")],
        "refine": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.Generator],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        max_dim: int | None = None,
        *,
        sensitivity: float | str = "auto",
        min_cluster_size: int = 20,
        n_clusters_hint: int = 10,
        sampling_error: float = 1e-4,
        max_samples: int = 200,
        sampling: str = "neighbours",
        n_bins: int = 100,
        goodness: str = "squared",
        stop_at_first: bool = True,
        n_init: int = 3,
        refine: bool = True,
        max_time: float | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.max_dim = max_dim
        self.sensitivity = sensitivity
        self.min_cluster_size = min_cluster_size
        self.n_clusters_hint = n_clusters_hint
        self.sampling_error = sampling_error
        self.max_samples = max_samples
        self.sampling = sampling
        self.n_bins = n_bins
        self.goodness = goodness
        self.stop_at_first = stop_at_first
        self.n_init = n_init
        self.refine = refine
        self.max_time = max_time
        self.random_state = random_state
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.max_dim is not None and self.max_dim >= n_features > 1:
            raise SubscapeError(
                f"max_dim={self.max_dim}: a flat of {n_features} dimensions would be the whole "
                f"space; use at most {n_features - 1}"
            )

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        span = span_of(X)

        def attempt(rows: FloatArray, sensitivity: float) -> Attempt:
            rng = np.random.default_rng(seed.spawn(1)[0])
            return self._clusters(rows, sensitivity, rng, watch)

        if self.refine:
            allowed = FlatDims(most=self.max_dim)
            ladders = self._ladders(attempt, len(X))
            chosen = peeled(span.rows, ladders, watch, flat_first=False, allowed=allowed)
        else:
            sensitivities = self._sensitivities(STRICT) + self._sensitivities((LAX,))
            tries = (attempt(span.rows, sensitivity) for sensitivity in sensitivities)
            chosen = shortest(tries, span.rows, watch, refine=False)
        labels, dims, before = ended(chosen, sample_of(span.rows, len(X)), len(X))
        return span.found(labels, dims, chosen.tried, before, sensitivity_=chosen.attempt.setting)

    def _one_cluster(self, table: Any) -> Found:
        found = one_point(super()._one_cluster(table))
        found.attributes["sensitivity_"] = self.sensitivity
        return found

    def _ladders(
        self, attempt: Callable[[FloatArray, float], Attempt], n: int
    ) -> list[Callable[[FloatArray], Iterator[Attempt]]]:
        """Strict searches of all n rows, and lax ones of what they leave."""

        def strict(rows: FloatArray) -> Iterator[Attempt]:
            # What these find in all rows they find at once, until nothing is left to find.
            sensitivities = self._sensitivities(STRICT) if len(rows) == n else []
            empty = 0
            for sensitivity in sensitivities:
                tried = attempt(rows, sensitivity)
                yield tried
                empty = 0 if len(tried.dims) else empty + 1
                if empty == len(STRICT):
                    break

        def lax(rows: FloatArray) -> Iterator[Attempt]:
            for sensitivity in self._sensitivities((LAX,)):
                tried = attempt(rows, sensitivity)
                yield tried
                if not len(tried.dims):
                    break

        return [strict, lax] if self.sensitivity == "auto" else [lax]

    def _sensitivities(self, candidates: tuple[float, ...]) -> list[float]:
        """Sensitivities to search with, one after the other."""
        if self.sensitivity != "auto":
            return [float(self.sensitivity)] * self.n_init
        root = self.goodness == "sqrt"
        return [math.sqrt(value) if root else value for value in candidates] * self.n_init

    def _clusters(
        self, X: FloatArray, sensitivity: float, rng: np.random.Generator, watch: Watch
    ) -> Attempt:
        """Cut off one cluster after the other until no flat separates any."""
        labels = np.full(len(X), -1, np.intp)
        dims: list[int] = []
        left = np.arange(len(X))
        while len(left) >= self.min_cluster_size and not watch.out_of_time():
            rows, dim = self._next_cluster(X, left, sensitivity, rng, watch)
            if not len(rows):
                dim = self._last_dim(X[left])
                rows = left if dim is not None else rows
            if not len(rows):
                break
            labels[rows] = len(dims)
            dims.append(int(dim))  # type: ignore[arg-type]
            left = np.setdiff1d(left, rows, assume_unique=True)
            watch.step("rows in clusters", len(X) - len(left), len(X))
        return Attempt(sensitivity, labels, np.array(dims, np.intp), self.min_cluster_size)

    def _next_cluster(
        self,
        X: FloatArray,
        left: IndexArray,
        sensitivity: float,
        rng: np.random.Generator,
        watch: Watch,
    ) -> tuple[IndexArray, int | None]:
        """Rows of the next cluster among those left, and the dimension of its flat."""
        criterion = Criterion(self.n_bins, self.goodness == "squared", self.min_cluster_size)
        separation = best_sampled if self.sampling == "rows" else best_separation
        rows, found = left, None
        for dim in range(1, self._max_dim(X) + 1):
            while not watch.out_of_time():
                cut = separation(X[rows], dim, self._n_samples(dim), criterion, rng)
                if cut is None or cut.goodness <= sensitivity:
                    break
                near = rows[squared_residuals(X[rows], [cut.flat])[:, 0] < cut.threshold**2]
                if not self.min_cluster_size <= len(near) < len(rows):
                    break
                rows, found = near, dim
            if found is not None and self.stop_at_first:
                break
        return (rows, found) if found is not None else (left[:0], None)

    def _max_dim(self, X: FloatArray) -> int:
        """Flats below the dimension of the span of the rows."""
        wanted = MOST_DIMS if self.max_dim is None else int(self.max_dim)
        return min(wanted, max(1, X.shape[1] - 1))

    def _n_samples(self, dim: int) -> int:
        """Flats to sample: the first row fixes the cluster, each further one must be in it too."""
        hit = (1 / self.n_clusters_hint) ** dim
        if hit >= 1:
            return 1
        wanted = math.log(self.sampling_error) / math.log1p(-hit)
        return max(1, math.ceil(min(wanted, self.max_samples)))

    def _last_dim(self, X: FloatArray) -> int | None:
        """Dimension of the flat that holds all rows, if there is one."""
        n, p = X.shape
        centred = X - X.mean(axis=0)
        if n > p:
            values = np.linalg.eigvalsh(centred.T @ centred)[::-1]
        else:
            values = np.square(np.linalg.svd(centred, compute_uv=False))
            values = np.append(values, np.zeros(p - n))
        limit = LAST_RESIDUAL * values.mean()
        for dim in range(min(self._max_dim(X), n // ROWS_PER_DIMENSION) + 1):
            if dim < p and values[dim:].mean() <= limit:
                return dim
        return None
