"""A clustering as coloured cells of the data matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.types import FloatArray, IndexArray

from .canvas import axes, cluster_colours, feature_names, ticks

#: More rows than this are thinned out evenly: no screen shows them anyway.
MOST_ROWS = 1500


class CellsDisplay:
    """Coloured cells of the data matrix, as in Fig. 6.1 of Patrikainen (2005).

    Each cluster colours the cells of its rows and features; the stronger the relevance and the
    membership, the stronger the colour. Cells of several clusters mix their colours. Rows are
    ordered so that clusters are seen, noise comes last.

    Use :meth:`from_clustering` to make one.

    Parameters
    ----------
    image : array of shape (rows shown, n_features, 3)
    row_order : array
        Rows of the table in the order of the picture.
    clustering : SubspaceClustering

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    FlatsDisplay : Clusters on flats.
    subscape.describe : The clusters in words.
    """

    def __init__(
        self,
        image: FloatArray,
        row_order: IndexArray,
        clustering: SubspaceClustering,
    ) -> None:
        self.image = image
        self.row_order = row_order
        self.clustering = clustering

    @classmethod
    def from_clustering(
        cls, clustering: Any, *, ax: Any = None, title: str | None = None, legend: bool = True
    ) -> CellsDisplay:
        """Draw a clustering.

        Parameters
        ----------
        clustering : SubspaceClustering, fitted finder or label vector
        ax : matplotlib axes, optional
        title : str, optional
        legend : bool, default=True
            Name the clusters beside the picture.

        Returns
        -------
        CellsDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.datasets import thesis_6_1
        >>> from subscape.plots import CellsDisplay
        >>> display = CellsDisplay.from_clustering(thesis_6_1(4, random_state=0).clustering)
        >>> display.image.shape
        (500, 20, 3)
        """
        given = as_clustering(clustering)
        order = row_order(given)
        if len(order) > MOST_ROWS:
            order = order[np.linspace(0, len(order) - 1, MOST_ROWS).astype(np.intp)]
        display = cls(cell_image(given, order), order, given)
        return display.plot(ax=ax, title=title, legend=legend)

    def plot(
        self, *, ax: Any = None, title: str | None = None, legend: bool = True
    ) -> CellsDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        CellsDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax, (4.8, 4.8))
        ax.imshow(self.image, aspect="auto", interpolation="nearest")
        names = feature_names(self.clustering)
        ticks(ax.xaxis, names, most=25, rotation=90 if sum(map(len, names)) > 24 else 0)
        ax.set_yticks([])
        ax.set_xlabel("features")
        ax.set_ylabel(f"{self.clustering.n_rows} rows, ordered by cluster")
        if title:
            ax.set_title(title)
        if legend and 0 < self.clustering.n_clusters <= 24:
            self._legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _legend(self, ax: Any) -> None:
        from matplotlib.patches import Patch

        sizes = self.clustering.sizes
        handles = [
            Patch(color=colour, label=f"{k}  ({size:g} rows)")
            for k, (colour, size) in enumerate(
                zip(cluster_colours(len(sizes)), sizes, strict=True), 1
            )
        ]
        ax.legend(handles=handles, title="cluster", loc="upper left", bbox_to_anchor=(1.01, 1),
                  frameon=False, fontsize="small")  # fmt: skip


def row_order(clustering: SubspaceClustering) -> IndexArray:
    """Rows ordered so that those of the same clusters stand together, noise last.

    >>> row_order(as_clustering([1, -1, 0, 1, 0])).tolist()
    [2, 4, 0, 3, 1]
    """
    if not clustering.is_hard:
        labels = clustering.labels()
        return np.argsort(np.where(labels < 0, clustering.n_clusters, labels), kind="stable")
    keys: list[Any] = []
    flipped = np.zeros(clustering.n_rows, bool)
    for k in range(clustering.n_clusters):
        inside = np.zeros(clustering.n_rows, bool)
        inside[clustering.members.rows(k)] = True
        # As in a Gray code: rows of two clusters stand where the two meet.
        keys.append(inside == flipped)
        flipped ^= inside
    noise = clustering.members.clusters_per_row() == 0
    return np.lexsort([*reversed(keys), noise])


def cell_image(clustering: SubspaceClustering, rows: IndexArray) -> FloatArray:
    """RGB picture of the cells of these rows: white where nothing is relevant."""
    relevance = clustering.subspaces.relevance
    if clustering.kind != "axis":
        top = relevance.max(axis=1, keepdims=True)
        relevance = relevance / np.where(top > 0, top, 1.0)
    members = clustering.memberships[:, rows].toarray().astype(np.float64)
    colours = cluster_colours(clustering.n_clusters)
    # Every cluster pulls a white cell towards its colour, in proportion to its share.
    weight = np.einsum("kr,kf->rf", members, relevance)
    mixed = np.einsum("kr,kf,kc->rfc", members, relevance, colours, optimize=True)
    strength = np.minimum(weight, 1.0)[..., None]
    mean = mixed / np.where(weight > 0, weight, 1.0)[..., None]
    return np.asarray(1.0 - strength + strength * mean)
