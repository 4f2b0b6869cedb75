"""Several clusterings of one table, each in its own directions, coloured by every other one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.checks import check_names, check_table
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.oriented.centre_directions import leading_directions

from .canvas import cluster_colours, pyplot

#: More rows than this are thinned out evenly.
MOST_ROWS = 3000
#: Size of a panel in inches.
PANEL = 2.6
#: Colour of rows in no cluster.
NOISE = (0.75, 0.75, 0.75)


class Plane(NamedTuple):
    """Two directions to look at a clustering from."""

    directions: FloatArray
    """(p, 2) orthonormal."""
    points: FloatArray
    """(rows shown, 2)"""
    separating: int
    """How many of the two separate clusters; the others show spread only."""


class ViewsDisplay:
    """Scatter plots of several clusterings: one column per view, one row per colouring.

    A column shows the rows of the table in the two directions in which the clusters of one view
    differ most. Down the column the same points are coloured by each clustering in turn: on the
    diagonal the view's own clusters stand apart; elsewhere the colours mix if the two clusterings
    tell different things about the rows.

    Use :meth:`from_clusterings` to make one.

    Parameters
    ----------
    planes : sequence of Plane
    labels : array of shape (rows shown, n_clusterings)
    names : sequence of str
        Names of the clusterings.
    feature_names : sequence of str

    Attributes
    ----------
    axes_ : array of matplotlib axes, shape (n_clusterings, n_clusterings)
    figure_ : matplotlib figure

    See Also
    --------
    subscape.finders.NrKMeans : Finds views.
    subscape.report.write_report : The page of a study.
    """

    def __init__(
        self,
        planes: Sequence[Plane],
        labels: IntArray,
        names: Sequence[str],
        feature_names: Sequence[str],
    ) -> None:
        self.planes = list(planes)
        self.labels = labels
        self.names = list(names)
        self.feature_names = list(feature_names)

    @classmethod
    def from_clusterings(
        cls, X: ArrayLike, clusterings: Any, *, names: Sequence[str] | None = None
    ) -> ViewsDisplay:
        """Draw clusterings of the rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        clusterings : fitted finder with ``clusterings_``, or a sequence of clusterings
        names : sequence of str, optional
            Names of the clusterings; by default "view 1", "view 2", ...

        Returns
        -------
        ViewsDisplay
            Drawn, with ``axes_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.finders import NrKMeans
        >>> from subscape.datasets import planted_views
        >>> from subscape.plots import ViewsDisplay
        >>> X, _ = planted_views(200, 6, n_clusters=(3, 3), random_state=0)
        >>> finder = NrKMeans((3, 3, 1), random_state=0).fit(X)
        >>> display = ViewsDisplay.from_clusterings(X, finder)
        >>> display.axes_.shape
        (2, 2)
        """
        table = np.asarray(check_table(X, cls.__name__), dtype=np.float64)
        given = [
            as_clustering(each)
            if isinstance(each, SubspaceClustering) or hasattr(each, "clustering_")
            else SubspaceClustering.from_labels(each, n_features=table.shape[1])
            for each in getattr(clusterings, "clusterings_", clusterings)
        ]
        if not given:
            raise SubscapeError("there are no clusterings to draw")
        for place, clustering in enumerate(given):
            if clustering.shape != table.shape:
                n_rows, n_features = clustering.shape
                raise ShapeMismatchError(
                    f"clustering {place} has {count(n_rows, 'row')} and "
                    f"{count(n_features, 'feature')}, the table {len(table)} and {table.shape[1]}"
                )
            check_names(X, clustering.feature_names, clustering.row_names)
        shown = np.unique(np.linspace(0, len(table) - 1, MOST_ROWS).astype(np.intp))
        planes = [plane_of(table, clustering, shown) for clustering in given]
        labels = np.column_stack([clustering.labels()[shown] for clustering in given])
        if names is None:
            names = [f"view {j + 1}" for j in range(len(given))]
        columns: Iterable[Any] = getattr(X, "columns", range(table.shape[1]))
        features = [str(each) for each in given[0].feature_names or columns]
        return cls(planes, labels, names, features).plot()

    def plot(self) -> ViewsDisplay:
        """Draw into a new figure.

        Returns
        -------
        ViewsDisplay
            This one, with ``axes_`` and ``figure_``.
        """
        n_views = len(self.planes)
        self.figure_, self.axes_ = pyplot().subplots(
            n_views,
            n_views,
            figsize=(PANEL * n_views + 0.6, PANEL * n_views + 0.4),
            squeeze=False,
            sharex="col",
            sharey="col",
            layout="constrained",
        )
        # Names are data: a dollar sign must not start mathematics.
        names = [name.replace("$", r"\$") for name in self.names]
        for j, plane in enumerate(self.planes):
            for i, ax in enumerate(self.axes_[:, j]):
                ax.scatter(*plane.points.T, c=self._colours(i), s=6, linewidths=0)
                ax.set_xticks([])
                ax.set_yticks([])
                for side in ax.spines.values():
                    side.set_visible(i == j)
            self.axes_[0, j].set_title(f"in the directions of {names[j]}", fontsize="small")
            self.axes_[-1, j].set_xlabel(self._axis_name(plane, 0), fontsize="x-small")
            self.axes_[j, 0].set_ylabel(f"coloured by {names[j]}", fontsize="small")
            self.axes_[-1, j].annotate(
                f"up: {self._axis_name(plane, 1)}",
                (0.5, -0.16),
                xycoords="axes fraction",
                ha="center",
                va="top",
                fontsize="x-small",
                annotation_clip=False,
            )
        return self

    def _colours(self, i: int) -> FloatArray:
        labels = self.labels[:, i]
        palette = np.vstack([cluster_colours(int(labels.max(initial=0)) + 1), NOISE])
        return palette[labels]

    def _axis_name(self, plane: Plane, axis: int) -> str:
        """The features that weigh most in a direction."""
        weights = plane.directions[:, axis]
        if axis >= plane.separating:
            return "largest spread outside the view"
        largest = np.argsort(-np.abs(weights), kind="stable")[:2]
        parts = [f"{weights[f]:+.2f} {self.feature_names[f][:12]}" for f in largest if weights[f]]
        more = " …" if np.count_nonzero(np.abs(weights) > 1e-9) > len(parts) else ""
        # Names are data: a dollar sign must not start mathematics.
        return (" ".join(parts) + more).replace("$", r"\$")


def plane_of(table: FloatArray, clustering: SubspaceClustering, shown: IndexArray) -> Plane:
    """The two directions inside the clusters' subspaces in which their centres differ most.

    Where the clusters differ in one direction only, the second is the one of largest spread outside
    it.
    """
    labels = clustering.labels()
    inside = labels >= 0
    middle = table[inside].mean(axis=0) if inside.any() else table.mean(axis=0)
    centred = table - middle
    directions = np.zeros((table.shape[1], 0))
    k = clustering.n_clusters
    if k > 1:
        basis = common_basis(clustering)
        counts = np.bincount(labels[inside], minlength=k)
        sums = np.array([centred[labels == i].sum(axis=0) for i in range(k)])
        factor = sums @ basis / np.sqrt(np.maximum(counts, 1))[:, None]
        least = 1e-9 * float(np.square(factor).sum())
        directions = basis @ leading_directions(factor, least)[:, :2]
    separating = directions.shape[1]
    while directions.shape[1] < 2:
        rest = centred - (centred @ directions) @ directions.T
        _, _, right = np.linalg.svd(rest[shown], full_matrices=False)
        directions = np.column_stack([directions, right[0]])
    return Plane(directions, centred[shown] @ directions, separating)


def common_basis(clustering: SubspaceClustering) -> FloatArray:
    """Orthonormal directions of the subspace of a clustering, all clusters taken together."""
    spaces = clustering.subspaces
    if isinstance(spaces, OrientedSubspaces) and not spaces.is_complement:
        first = spaces.bases[0]
        if all(basis is first or np.array_equal(basis, first) for basis in spaces.bases):
            return np.asarray(first)
        every = np.concatenate(spaces.bases, axis=1)
        left, lengths, _ = np.linalg.svd(every, full_matrices=False)
        return np.asarray(left[:, lengths > 1e-9])
    relevant = np.flatnonzero(spaces.relevance.sum(axis=0) > 0)
    basis = np.zeros((clustering.n_features, len(relevant)))
    basis[relevant, np.arange(len(relevant))] = 1.0
    return basis
