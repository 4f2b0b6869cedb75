"""MAFIA: dense units of a grid whose bins follow the data."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from subscape.algorithms.axis.grid import (
    Grid,
    Items,
    UnitCluster,
    joined,
    make_grid,
)
from subscape.algorithms.axis.grid_finder import GridFinder, clusters_of_all_units
from subscape.algorithms.axis.unit_search import closed_search, levelwise_search
from subscape.algorithms.base import Watch
from subscape.core.errors import SubscapeError
from subscape.kernels.discretize import adaptive_edges

__all__ = ["MAFIA"]


class MAFIA(GridFinder):
    """Clusters are connected dense cells of a grid whose bins follow the data.

    Each column is cut where its histogram changes: neighbouring windows of similar height are one
    bin. A bin is dense if it holds ``alpha`` times the rows that evenly spread values would put
    into it, and a unit (one bin in each of some columns) if it holds as many rows as each of its
    bins asks for. Dense units of the same columns that share a face form a cluster, described by
    few boxes [1]_. Rows and features may be in several clusters, and rows in none.

    By default only clusters that tell something new are reported, and only closed units (which no
    further bin contains) are searched; that is not in the paper. ``report="maximal"`` is the
    paper's result.

    Parameters
    ----------
    alpha : float, default=0.4
        Rows of a dense bin, as multiple of those that evenly spread values would put there. With
        the paper's 1.5, a cluster of wide bins must hold more rows than many clusters have.
    beta : float, default=0.65
        Windows are merged if their heights differ by at most this share of the larger one.
    flat_alpha : float, optional
        ``alpha`` of columns in which all windows are merged; by default 1.5 times ``alpha``.
    n_fine_bins : int, default=100
        Bars of the fine histogram of a column.
    n_windows : int, default=10
        Windows of neighbouring bars; the height of a window is that of its highest bar. Few are
        best for bell-shaped clusters, whose slopes would be bins of their own; for clusters with
        sharp edges, many say more exactly where these are.
    n_flat_bins : int, default=5
        Equal bins of a column in which all windows are merged.
    min_rows : int, default=5
        A dense unit has at least this many rows, whatever ``alpha``. For small tables.
    report : {"nonredundant", "maximal", "all"}, default="nonredundant"
        "nonredundant" takes clusters by the bits they save against independent columns, and leaves
        out those that repeat others; "maximal" takes clusters of units that are in no dense unit
        with more columns; "all" takes the clusters of all dense units in all subspaces.
    max_clusters : int, optional
        Report at most so many clusters, the most interesting ones.
    max_dims : int, optional
        Most features of a cluster.
    max_candidates : int, default=50_000_000
        Most units whose rows are counted; then the search ends with a warning.
    max_time : float, optional
        Seconds after which the search ends with the best so far, with a warning.
    progress : callable or bool, optional
        Called with a :class:`~subscape.algorithms.base.Step`; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        The clusters, most interesting first.
    labels_ : (n_rows,) array of int
        The first cluster of each row; -1 for rows in none.
    boxes_ : list of (b, d, 2) arrays
        For each cluster its boxes: lower and upper limits in each of its ``d`` features, in the
        order of the features. Lower limits belong to a box, upper ones don't.
    units_ : list of (u, d) arrays
        For each cluster the bins of its units.
    unit_counts_ : list of (u,) arrays
        For each cluster the rows in its units.
    interest_ : array
        Bits that each cluster saves.
    n_iter_ : int
        Most features of a cluster that was found.

    See Also
    --------
    CLIQUE : bins of equal width and one threshold for all units.

    Notes
    -----
    Candidate units come from pairs that agree in all but the last bin and are checked for all
    their parts, which gives the same dense units as joining any two that agree in all but one.

    References
    ----------
    .. [1] S. Goil, H. Nagesh and A. Choudhary, "MAFIA: Efficient and scalable subspace clustering
       for very large data sets", Technical Report CPDC-TR-9906-010, Northwestern University, 1999;
       H. Nagesh, S. Goil and A. Choudhary, "Adaptive grids for clustering massive data sets",
       SDM 2001. https://doi.org/10.1137/1.9781611972719.7

    Examples
    --------
    >>> from subscape.algorithms import MAFIA
    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import clustering_error
    >>> X, truth = planted_axes(1000, 10, n_clusters=3, dims=4, random_state=0)
    >>> finder = MAFIA().fit(X)
    >>> finder.clustering_.n_clusters, round(clustering_error(finder.clustering_, truth), 2)
    (3, 0.03)
    >>> finder.describe(0).split(" and ")
    ['0.299526 <= x4 < 0.399258', '0.100185 <= x5 < 0.299895', '0.500272 <= x8 < 0.69999',
     '0.49929 <= x9 < 0.599127']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GridFinder._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, 1, closed="neither")],
        "flat_alpha": [Interval(Real, 0, None, closed="neither"), None],
        "n_fine_bins": [Interval(Integral, 2, 65535, closed="both")],
        "n_windows": [Interval(Integral, 2, None, closed="left")],
        "n_flat_bins": [Interval(Integral, 2, None, closed="left")],
        "min_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 0.4,
        beta: float = 0.65,
        *,
        flat_alpha: float | None = None,
        n_fine_bins: int = 100,
        n_windows: int = 10,
        n_flat_bins: int = 5,
        min_rows: int = 5,
        report: str = "nonredundant",
        max_clusters: int | None = None,
        max_dims: int | None = None,
        max_candidates: int = 50_000_000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.flat_alpha = flat_alpha
        self.n_fine_bins = n_fine_bins
        self.n_windows = n_windows
        self.n_flat_bins = n_flat_bins
        self.min_rows = min_rows
        self.report = report
        self.max_clusters = max_clusters
        self.max_dims = max_dims
        self.max_candidates = max_candidates
        self.max_time = max_time
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if max(self.n_windows, self.n_flat_bins) > self.n_fine_bins:
            raise SubscapeError(
                f"n_windows={self.n_windows} and n_flat_bins={self.n_flat_bins} must not be more "
                f"than n_fine_bins={self.n_fine_bins}, from which they are made"
            )

    def _grid(self, X: NDArray[np.float64]) -> Grid:
        n_rows = len(X)
        columns = [
            adaptive_edges(
                column,
                n_fine=self.n_fine_bins,
                n_windows=self.n_windows,
                tolerance=self.beta,
                n_flat=self.n_flat_bins,
            )
            for column in X.T
        ]
        least = []
        for column in columns:
            alpha = (self.flat_alpha or 1.5 * self.alpha) if column.flat else self.alpha
            width = np.diff(column.edges) / (column.edges[-1] - column.edges[0])
            exceeded = np.floor(alpha * n_rows * width).astype(np.int64)
            least.append(np.maximum(exceeded + 1, self.min_rows))
        return make_grid(X, [column.edges for column in columns], least)

    def _clusters(self, grid: Grid, items: Items, watch: Watch) -> list[UnitCluster]:
        if self.report == "all" or self.max_dims is not None:
            subspaces = levelwise_search(
                grid,
                items,
                max_dims=self.max_dims,
                prune=False,
                max_candidates=self.max_candidates,
                watch=watch,
            )
            return clusters_of_all_units(grid, subspaces, watch)
        found = closed_search(
            grid,
            items,
            only_informative=self.report == "nonredundant",
            max_candidates=self.max_candidates,
            watch=watch,
        )
        if self.report == "nonredundant":
            return clusters_of_all_units(grid, found.subspaces, watch)
        return [
            cluster
            for columns, (units, counts) in sorted(found.terminal.items())
            for cluster in joined(columns, units, counts)
        ]
