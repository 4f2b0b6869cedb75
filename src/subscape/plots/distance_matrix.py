"""Distances among many clusterings: a matrix with its dendrogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from subscape.measures import pairwise_distances

from .canvas import pyplot, ticks


class DistanceMatrixDisplay:
    """Matrix of distances among clusterings with their dendrogram (Patrikainen 2005, Fig. 6.5).

    Use :meth:`from_clusterings` or :meth:`from_distances` to make one.

    Parameters
    ----------
    distances : array of shape (n, n)
    names : list of str
    linkage : array of shape (n - 1, 4)

    Attributes
    ----------
    order_ : array
        Clusterings in the order of the picture.
    ax_, ax_dendrogram_, figure_ : matplotlib objects, after ``plot``
    """

    def __init__(
        self, distances: NDArray[np.float64], names: list[str], linkage: NDArray[np.float64]
    ) -> None:
        self.distances = distances
        self.names = names
        self.linkage = linkage

    @classmethod
    def from_clusterings(
        cls,
        clusterings: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        metric: Any = "clustering_error",
        method: str = "average",
        reorder: bool = True,
        **options: Any,
    ) -> DistanceMatrixDisplay:
        """Compare clusterings with each other.

        Parameters
        ----------
        clusterings : sequence of SubspaceClustering or label vectors
        names : sequence of str, optional
        metric, **options
            As in :func:`subscape.measures.pairwise_distances`.
        method : str, default="average"
            Linkage of the dendrogram; the thesis uses "single".
        reorder : bool, default=True
            Order by the dendrogram; False keeps the given order.

        Examples
        --------
        >>> from subscape.plots import DistanceMatrixDisplay
        >>> labels = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]]
        >>> display = DistanceMatrixDisplay.from_clusterings(labels, names=["x", "y", "z"])
        >>> float(display.distances.max())
        0.5
        """
        distances = pairwise_distances(clusterings, metric, **options)
        return cls.from_distances(distances, names=names, method=method, reorder=reorder)

    @classmethod
    def from_distances(
        cls,
        distances: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        method: str = "average",
        reorder: bool = True,
    ) -> DistanceMatrixDisplay:
        """Draw a matrix that was computed before."""
        matrix = np.asarray(distances, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"distances must be a square matrix, got shape {matrix.shape}")
        if not np.allclose(matrix, matrix.T, atol=1e-8):
            raise ValueError("distances must be symmetric")
        labels = [str(i) for i in range(len(matrix))] if names is None else [str(n) for n in names]
        if len(labels) != len(matrix):
            raise ValueError(f"{len(labels)} names were given for {len(matrix)} clusterings")
        merges = np.empty((0, 4))
        if len(matrix) > 1:
            merges = linkage(squareform(matrix, checks=False), method, optimal_ordering=True)
        return cls(matrix, labels, merges).plot(reorder=reorder)

    def plot(self, *, reorder: bool = True, cmap: str = "viridis") -> DistanceMatrixDisplay:
        """Draw into a new figure."""
        number = len(self.distances)
        side = float(np.clip(3.0 + 0.12 * number, 4.0, 11.0))
        figure, (top, ax) = pyplot().subplots(
            2, 1, figsize=(side + 1.4, side + 1.2), height_ratios=(1, 4), layout="constrained"
        )
        order = np.arange(number)
        top.set_axis_off()
        if len(self.linkage):
            tree = dendrogram(self.linkage, ax=top, no_labels=True, color_threshold=0,
                              above_threshold_color="#444444")  # fmt: skip
            if reorder:
                order = np.array(tree["leaves"])
            else:
                top.clear()
                top.set_axis_off()
        shown = self.distances[np.ix_(order, order)]
        image = ax.imshow(shown, cmap=cmap, vmin=0, aspect="auto", interpolation="nearest")
        names = [self.names[i] for i in order]
        ticks(ax.xaxis, names, rotation=90)
        ticks(ax.yaxis, names)
        figure.colorbar(image, ax=ax, label="distance")
        self.order_, self.ax_, self.ax_dendrogram_, self.figure_ = order, ax, top, figure
        return self
