"""K flats: k-means with lines, planes or flats of any dimension in the place of points."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.arrays.blocks import Blocks, as_blocks, one_blas_thread
from subscape.arrays.device.array_api import to_numpy
from subscape.arrays.row_values import each_row, first_rows
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch, best_of, codes_of
from subscape.finders.oriented.flats import bases_of
from subscape.finders.sampling import child_after, rows_to_search

from .descent import FlatsFit, descend, finish_on_all_rows, seed_flat, swapped
from .rows import HeldFlatRows, group_means, place


class KFlats(SubspaceFinder):
    """K affine flats: each row belongs to the line, plane or flat it is closest to.

    Alternates between assigning rows to flats and fitting flats to rows, as k-means does with
    points; the summed squared distance never rises. Many starts, and swaps of the least useful flat
    to where rows fit worst, lead out of poor optima. The fast baseline for correlation clusters.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    The table may be a torch or cupy tensor: passes over all rows run on its device, and labels and
    centres are tensors there.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of flats (k).
    flat_dim : int or sequence of int, default=1
        Dimension of the flats (q), one for all or one each: 0 is k-means, 1 lines, 2 planes.
    noise : float, default=0.0
        Share of the rows to leave out as noise: those farthest from all flats, in every step.
    n_init : int, default=20
        Starts.
    n_swaps : int, default=10
        Swaps tried after each start.
    search_rows : int, "auto" or None, default="auto"
        Rows that starts and swaps are tried on, drawn at random; the best is then continued on all
        of them. "auto": 5000, or 500 per cluster if that is more. None: all rows, which are then
        held in memory.
    max_iter : int, default=100
        Steps per start or swap.
    max_time : float, optional
        Seconds after which no further start begins.
    random_state : int, RandomState, Generator or None
    n_jobs : int, optional
        Starts in parallel; the same result for any value.
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat.
    centres_ : array of shape (n_clusters, n_features)
        A point on each flat.
    inertia_ : float
        Summed squared distance of the clustered rows to their flats.
    n_iter_ : int

    See Also
    --------
    ORCLUS : Clusters tight in directions of their own.
    SSC : Rows that write each other.
    subscape.plots.FlatsDisplay : The flats as a picture.
    subscape.measures.sre : The error that it makes small.

    Notes
    -----
    With flats of unequal dimension the larger ones attract rows, since every row is closer to them.

    Differences from the paper
    --------------------------
    - The swaps and the ``noise`` share are additions (``n_swaps=0`` is as published), and so are
      starts on a sample (``search_rows=None``) and many of them (``n_init=1``).
    - What that gains: mean CE 0.53 as published (n_clusters=3, flat_dim=1), 0.46 by default, on
      five generated tables (two lines and a plane in four features, 5 % noise;
      ``benchmarks/published.py``).

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, *k-Plane Clustering*, Journal of Global Optimization 16
    (2000), doi:10.1023/A:1008324625522; P. Tseng, *Nearest q-Flat to m Points*, JOTA 105 (2000),
    doi:10.1023/A:1004678431677.

    Examples
    --------
    >>> from subscape.finders import KFlats
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(3, ((1, 200), (1, 200)), noise=0.0, random_state=0)
    >>> finder = KFlats(n_clusters=2, flat_dim=1, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    True
    >>> finder.flat_dims_
    array([1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "flat_dim": [Interval(Integral, 0, None, closed="left"), "array-like"],
        "noise": [Interval(Real, 0, 1, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_swaps": [Interval(Integral, 0, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }

    _kind = "oriented"
    _streams = True
    _beside = ("labels_", "centres_")

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        flat_dim: int | Sequence[int] = 1,
        noise: float = 0.0,
        n_init: int = 20,
        n_swaps: int = 10,
        search_rows: int | str | None = "auto",
        max_iter: int = 100,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.flat_dim = flat_dim
        self.noise = noise
        self.n_init = n_init
        self.n_swaps = n_swaps
        self.search_rows = search_rows
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        dims = self._dims(self.n_clusters)
        if max(dims) >= n_features and max(dims) > 1:
            raise SubscapeError(
                f"flat_dim={max(dims)} fills a table of {n_features} features: every row would be "
                f"on the flat. Use at most {n_features - 1}"
            )

    def _dims(self, k: int) -> list[int]:
        if isinstance(self.flat_dim, Integral):
            return [int(self.flat_dim)] * k
        dims = [int(dim) for dim in self.flat_dim]  # type: ignore[union-attr]
        if len(dims) != self.n_clusters or min(dims) < 0:
            raise SubscapeError(
                f"flat_dim has {len(dims)} entries for n_clusters={self.n_clusters}; give one "
                "number for all flats, or one (at least 0) for each"
            )
        return dims[:k]

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        k = self._k()
        dims = [min(dim, X.shape[1] - 1) for dim in self._dims(k)]
        rng = np.random.default_rng(child_after(seed, self.n_init))
        searched = rows_to_search(X, k, self.search_rows, rng)
        spared = round(self.noise * len(searched))

        def run_once(child: np.random.SeedSequence) -> FlatsFit:
            rng = np.random.default_rng(child)
            start = [seed_flat(searched, dim, rng) for dim in dims]
            fit = descend(HeldFlatRows(searched, dims, spared), start, self.max_iter)
            return swapped(searched, fit, dims, spared, self.max_iter, self.n_swaps, rng, watch)

        with one_blas_thread():
            best = best_of(run_once, self.n_init, seed, watch, self.n_jobs)
        if len(searched) < len(X):
            spared = round(self.noise * len(X))
            best = finish_on_all_rows(X, searched, best, dims, spared, self.max_iter, watch)
        first = first_rows(best.labels, len(best.flats))
        order = [int(k) for k in np.argsort(first, kind="stable") if first[k] < len(X)]
        number = np.full(len(best.flats), -1)
        number[order] = np.arange(len(order))
        labels = each_row(
            lambda rows, own: np.where(own >= 0, number[own], -1), best.labels, dtype=np.int64
        )
        flats = [best.flats[k] for k in order]
        bases = OrientedSubspaces(
            [flat.basis for flat in flats], complement=True, n_features=X.shape[1]
        )
        clustering = SubspaceClustering.from_labels(labels, bases=bases)
        attributes = {
            "flat_dims_": np.array([flat.dim for flat in flats]),
            "inertia_": best.cost,
        }
        return Found(clustering, best.n_iter, attributes)

    def _fit_to(self, table: Any) -> None:
        super()._fit_to(table)
        self.centres_ = group_means(table, codes_of(self.clustering_), self.clustering_.n_clusters)

    def predict(self, X: ArrayLike) -> IntArray:
        """Number of the closest flat for each row; a tensor where ``X`` is one.

        Returns
        -------
        array of shape (n_rows,)
            From 0.
        """
        check_is_fitted(self)
        bases = bases_of(self.clustering_)
        return place(as_blocks(self._read_again(X)), to_numpy(self.centres_), bases)
