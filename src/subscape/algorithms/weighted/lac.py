"""LAC: locally adaptive clustering, a k-means whose clusters weight the features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import softmax, xlogy
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.algorithms.base import Found, SubspaceFinder, Watch, best_of
from subscape.algorithms.numbering import by_first_row
from subscape.algorithms.sampling import rows_to_search
from subscape.algorithms.weighted.descent import Descent, Floats, Rows, descend, start_centres
from subscape.core import SubspaceClustering, WeightedSubspaces
from subscape.core.errors import SubscapeError
from subscape.kernels.array_api import is_foreign, shared_namespace, to_numpy
from subscape.kernels.blocks import Blocks, as_blocks, fold, one_blas_thread
from subscape.kernels.device_blocks import is_there
from subscape.kernels.device_weighted import column_squares_there, nearest_weighted_there
from subscape.kernels.weighted import nearest_weighted, weighted_costs

#: h by default, as a share of the typical variance of a column.
TYPICAL_H = 0.2
#: Soft memberships below this are taken for none.
LEAST_MEMBERSHIP = 1e-4


class LAC(SubspaceFinder):
    """LAC: clusters around centres, each with its own weights of the features.

    Like k-means, but distances are weighted, and the weights differ from cluster to cluster: the
    narrower a cluster is in a feature, the more the feature counts in it [1]_. An entropy term
    keeps the weights from gathering in one feature.

    The table may be a torch or cupy tensor: passes over all rows run on its device, and labels,
    centres and weights are tensors there.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of clusters (k).
    h : float or "auto", default="auto"
        How evenly the weights are spread: a small h favours few features, a large one treats all
        alike, as k-means does. In squared units of the columns, after scaling. "auto" is 0.2 times
        the median variance of the columns.
    scale : {"std", None}, default="std"
        Divide the columns by their standard deviations first, since one h serves them all.
    assignment : {"hard", "soft"}, default="hard"
        Whether ``clustering_`` has each row in one cluster, or in all of them with memberships that
        fall with the distance and sum to 1. The search is the same.
    objective : {"monotone", "lac"}, default="monotone"
        "monotone" counts the entropy term once per row, and rows are assigned with regard to it;
        the objective then never rises. "lac" is the scheme of the paper, which may cycle.
    init : {"kmeans++", "scattered", "random"} or array (n_clusters, n_features), default="kmeans++"
        Where to start: rows drawn far apart, the farthest rows (the paper's way, drawn to
        outliers), any rows, or the centres given.
    n_init : int, default=10
        Number of starts; the one with the smallest objective is kept.
    search_rows : int, "auto" or None, default="auto"
        Rows that the starts are compared on, drawn at random; the best is then continued on all of
        them. "auto": 5000, or 500 per cluster if that is more. None: all rows.
    max_iter : int, default=300
        Rounds per start.
    tol : float, default=1e-6
        A start ends when the objective falls by less than this share of the mean weighted distance.
    max_time : float or None
        Seconds after which the search stops with the best clusters so far.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Starts at the same time.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Weighted clusters; every row is in one of them (hard) or in several (soft).
    labels_ : array of shape (n_rows,)
        Cluster of each row.
    weights_ : array of shape (n_clusters, n_features)
        Weight of each feature in each cluster; rows sum to 1.
    cluster_centers_ : array of shape (n_clusters, n_features)
        Means of the clusters.
    scale_ : array of shape (n_features,)
        What the columns were divided by.
    h_ : float
        The h used.
    objective_ : float
        Mean over the rows of the weighted squared distance to the centre, plus h times the sum of
        ``w log w`` of their cluster's weights; on the scaled columns.
    history_ : list of float
        The objective after every round of the last descent.
    n_iter_ : int
        Rounds of the last descent.

    Notes
    -----
    Ours are: the monotone objective (the paper averages within clusters, which rewards clusters of
    one row), the scaling and the value of h, starts on a sample, and the choice between starts by
    the objective weighted with the cluster sizes, for "lac" too. A cluster that loses all rows gets
    the row that is worst placed. Soft memberships are proportional to ``exp(-cost / (2 s))`` with
    s the mean weighted squared distance of the rows to their centres; the paper has hard ones only.

    References
    ----------
    .. [1] C. Domeniconi, D. Gunopulos, S. Ma, B. Yan, M. Al-Razgan, D. Papadopoulos, "Locally
       adaptive metrics for clustering high dimensional data", Data Mining and Knowledge Discovery
       14, 2007, 63-97, doi:10.1007/s10618-006-0060-8.

    Examples
    --------
    >>> from subscape.algorithms.weighted import LAC
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(300, 10, n_clusters=3, dims=4, random_state=1)
    >>> finder = LAC(n_clusters=3, random_state=0).fit(X)
    >>> finder.clustering_.rows_only() == truth.rows_only()
    True
    >>> finder.weights_.sum(axis=1).round(6)
    array([1., 1., 1.])
    """

    _streams = True
    _beside = ("labels_", "weights_", "cluster_centers_", "scale_")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "h": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "scale": [StrOptions({"std"}), None],
        "assignment": [StrOptions({"hard", "soft"})],
        "objective": [StrOptions({"monotone", "lac"})],
        "init": [StrOptions({"kmeans++", "scattered", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [object],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        h: float | str = "auto",
        scale: str | None = "std",
        assignment: str = "hard",
        objective: str = "monotone",
        init: str | ArrayLike = "kmeans++",
        n_init: int = 10,
        search_rows: int | str | None = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.h = h
        self.scale = scale
        self.assignment = assignment
        self.objective = objective
        self.init = init
        self.n_init = n_init
        self.search_rows = search_rows
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if isinstance(self.init, str):
            return
        shape = np.shape(to_numpy(self.init))
        if shape != (self.n_clusters, n_features):
            raise SubscapeError(
                f"init has shape {shape}; centres to start from must have shape "
                f"(n_clusters, n_features) = ({self.n_clusters}, {n_features})"
            )
        if not np.isfinite(to_numpy(self.init).astype(np.float64)).all():
            raise SubscapeError("init holds NaN or infinity; give finite centres")

    def _checked(self, X: Any) -> Any:
        if is_foreign(X) and is_foreign(self.init):
            shared_namespace(X=X, init=self.init)
        return super()._checked(X)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Put rows into the clusters by the rule of the fit: the least weighted distance.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Of a tensor the cluster numbers are a tensor too.

        Returns
        -------
        array of shape (n_rows,)
            Cluster numbers.
        """
        check_is_fitted(self, "weights_")
        table = as_blocks(self._read_again(X))
        found, scale = to_numpy(self.cluster_centers_), to_numpy(self.scale_)
        origin = found.mean(axis=0)
        centres = (found - origin) / scale
        weights = np.ascontiguousarray(to_numpy(self.weights_))
        offsets = self._offsets(weights, self.h_)
        if is_there(table):
            moved = table.recentred(origin, factor=1.0 / scale).fleeting()
            return nearest_weighted_there(moved, centres, weights, offsets).labels
        placed = [
            nearest_weighted(block, centres, weights, offsets).labels
            for _, block in table.map(lambda block: (block - origin) / scale)
        ]
        return np.concatenate(placed).astype(np.int64)

    def _offsets(self, weights: Floats, h: float) -> Floats:
        """What each cluster adds to the distances of its rows."""
        if self.objective == "lac":
            return np.zeros(len(weights))
        return np.asarray(h * xlogy(weights, weights).sum(axis=1))

    def _prepared(self, table: Any) -> Any:
        prepared = super()._prepared(table)
        self._origin = _first_row(table) - _first_row(prepared)
        return prepared

    def _search(self, table: Any, watch: Watch) -> Found:
        """Search, and put what was found back into the units and columns of the table."""
        self._varying = ~self._constant(table)
        found = super()._search(table, watch)
        if not self._varying.any():
            return found
        given, varying, p = found.attributes, self._varying, table.shape[1]
        scale = np.ones(p)
        scale[varying] = given["scale_"]
        weights = np.zeros((len(given["weights_"]), p))
        weights[:, varying] = given["weights_"]
        centres = np.tile(_first_row(table), (len(weights), 1))
        centres[:, varying] = given["cluster_centers_"] * given["scale_"] + self._origin
        whole = {"weights_": weights, "cluster_centers_": centres, "scale_": scale}
        return found._replace(attributes=given | whole)

    def _one_cluster(self, table: Any) -> Found:
        p = table.shape[1]
        weights = np.full((1, p), 1.0 / p)
        fitted = {
            "weights_": weights,
            "cluster_centers_": _first_row(table)[None],
            "scale_": np.ones(p),
            "h_": 1.0 if self.h == "auto" else float(self.h),
            "objective_": 0.0,
            "history_": [0.0],
        }
        memberships = super()._one_cluster(table).clustering.memberships
        return Found(SubspaceClustering(memberships, WeightedSubspaces(weights)), 1, fitted)

    def _find(self, X: Rows, seed: np.random.SeedSequence, watch: Watch) -> Found:
        spread = np.sqrt(_column_squares(X) / len(X))
        scale = spread if self.scale == "std" else np.ones_like(spread)
        if self.scale == "std":
            X = _scaled(X, scale)
        h = TYPICAL_H * float(np.median(np.square(spread / scale))) if self.h == "auto" else self.h
        best = self._descend(X, float(h), scale, seed, watch)
        if isinstance(self.init, str):
            best = _renumbered(best)
        if not best.converged and not watch.was_cut:
            watch.cut(f"no convergence within max_iter={self.max_iter} rounds; raise max_iter")
        fitted = {
            "weights_": best.weights,
            "cluster_centers_": best.centres,
            "scale_": scale,
            "h_": float(h),
            "objective_": best.objective,
            "history_": best.history,
        }
        return Found(self._clustering(X, best, float(h)), len(best.history), fitted)

    def _descend(
        self,
        X: Rows,
        h: float,
        scale: Floats,
        seed: np.random.SeedSequence,
        watch: Watch,
    ) -> Descent:
        """The best of all starts."""
        k = self._k()
        settings: dict[str, Any] = {
            "balanced": self.objective == "monotone",
            "max_iter": self.max_iter,
            "tol": self.tol,
            "out_of_time": watch.out_of_time,
        }
        init = self.init
        if not isinstance(init, str):
            given = to_numpy(init).astype(np.float64)[:k, self._varying]
            return descend(X, (given - self._origin) / scale, h, **settings)
        rng = np.random.default_rng(seed.spawn(1)[0])
        searched = rows_to_search(X, k, self.search_rows, rng)

        def once(child: np.random.SeedSequence) -> Descent:
            rng = np.random.default_rng(child)
            return descend(searched, start_centres(searched, k, init, rng), h, **settings)

        with one_blas_thread():
            best = best_of(once, self.n_init, seed, watch, self.n_jobs)
        if len(searched) == len(X):
            return best
        return descend(X, best.centres, h, weights=best.weights, **settings)

    def _clustering(self, X: Rows, best: Descent, h: float) -> SubspaceClustering:
        if self.assignment == "hard":
            return SubspaceClustering.from_labels(best.labels, weights=best.weights)
        typical = fold(lambda block, rows: self._own_costs(block, rows, best), X) / len(X)
        if typical <= 0:
            return SubspaceClustering.from_labels(best.labels, weights=best.weights)
        offsets = self._offsets(best.weights, h)
        parts = []
        for _, block in as_blocks(X):
            costs = weighted_costs(block, best.centres, best.weights) + offsets
            memberships = softmax(-costs / (2 * typical), axis=1)
            memberships[memberships < LEAST_MEMBERSHIP] = 0.0
            memberships /= memberships.sum(axis=1, keepdims=True)
            parts.append(sparse.csr_array(memberships))
        return SubspaceClustering(sparse.vstack(parts).T, WeightedSubspaces(best.weights))

    @staticmethod
    def _own_costs(block: Floats, rows: slice, best: Descent) -> float:
        costs = weighted_costs(block, best.centres, best.weights)
        return float(costs[np.arange(len(block)), best.labels[rows]].sum())


def _column_squares(X: Rows) -> Floats:
    if is_there(X):
        return column_squares_there(X)
    return fold(lambda block, rows: np.einsum("ij,ij->j", block, block), X)


def _scaled(X: Rows, scale: Floats) -> Rows:
    if isinstance(X, Blocks):
        return X.scaled(1.0 / scale)
    return X * (1.0 / scale)


def _first_row(table: Any) -> Floats:
    return np.asarray(table.take([0], axis=0)[0], np.float64)


def _renumbered(found: Descent) -> Descent:
    order = by_first_row(found.labels)
    return found._replace(
        labels=np.argsort(order)[found.labels],
        centres=found.centres[order],
        weights=found.weights[order],
    )
