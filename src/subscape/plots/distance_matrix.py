"""Distances among many clusterings: a matrix with its dendrogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from subscape.core.types import FloatArray
from subscape.measures.pairwise import pairwise_distances

from .canvas import cluster_colours, pyplot, shortened, ticks


class DistanceMatrixDisplay:
    """Matrix of distances among clusterings with their dendrogram (Patrikainen 2005, Fig. 6.5).

    Use :meth:`from_clusterings` or :meth:`from_distances` to make one.

    Parameters
    ----------
    distances : array of shape (n, n)
    names : list of str
    linkage : array of shape (n - 1, 4)
    groups : list of str, optional
        What each clustering belongs to (a sample, a setting). The matrix then keeps the given
        order, with lines between groups, and the dendrogram shows its leaves' groups by colour.

    Attributes
    ----------
    order_ : array
        Clusterings in the order of the picture.
    ax_, ax_dendrogram_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.pairwise_distances : The numbers.
    """

    def __init__(
        self,
        distances: FloatArray,
        names: list[str],
        linkage: FloatArray,
        groups: list[str] | None = None,
    ) -> None:
        self.distances = distances
        self.names = names
        self.linkage = linkage
        self.groups = groups

    @classmethod
    def from_clusterings(
        cls,
        clusterings: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        metric: Any = "clustering_error",
        method: str = "average",
        reorder: bool = True,
        groups: Sequence[str] | None = None,
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
        groups : sequence of str, optional
            What each clustering belongs to; keeps the given order, with lines between groups.

        Returns
        -------
        DistanceMatrixDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import DistanceMatrixDisplay
        >>> labels = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]]
        >>> display = DistanceMatrixDisplay.from_clusterings(labels, names=["x", "y", "z"])
        >>> float(display.distances.max())
        0.5
        """
        distances = pairwise_distances(clusterings, metric, **options)
        return cls.from_distances(
            distances, names=names, method=method, reorder=reorder, groups=groups
        )

    @classmethod
    def from_stability(
        cls, stability: Any, *, order: str = "sample", method: str = "single"
    ) -> DistanceMatrixDisplay:
        """Draw all distances between the runs of a resampling, as in the thesis' Fig. 6.5.

        Parameters
        ----------
        stability : ResamplingStability
            What :func:`subscape.validation.resampling_stability` returns.
        order : {"sample", "parameter"}
            Whether the runs of a sample, or those of a setting, stand together.
        method : str, default="single"
            Linkage of the dendrogram.

        Returns
        -------
        DistanceMatrixDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from subscape.datasets import structureless
        >>> from subscape.plots import DistanceMatrixDisplay
        >>> from subscape.validation import resampling_stability
        >>> X = structureless("uniform", 60, 2, random_state=0)
        >>> found = resampling_stability(KMeans(n_init=1), X, {"n_clusters": [2, 3]}, n_samples=3)
        >>> DistanceMatrixDisplay.from_stability(found, order="parameter").groups[:4]
        ['n_clusters=2', 'n_clusters=2', 'n_clusters=2', 'n_clusters=3']
        """
        distances, names = stability.all_distances(order)
        parts = [name.partition(": ") for name in names]
        groups = [part[0] if order == "sample" else part[2] for part in parts]
        return cls.from_distances(distances, names=names, method=method, groups=groups)

    @classmethod
    def from_distances(
        cls,
        distances: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        method: str = "average",
        reorder: bool = True,
        groups: Sequence[str] | None = None,
    ) -> DistanceMatrixDisplay:
        """Draw a matrix that was computed before.

        Returns
        -------
        DistanceMatrixDisplay
            Drawn, with ``ax_`` and ``figure_``.
        """
        matrix = np.asarray(distances, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"distances must be a square matrix, got shape {matrix.shape}")
        if not np.allclose(matrix, matrix.T, atol=1e-8, equal_nan=True):
            raise ValueError("distances must be symmetric")
        labels = [str(n) for n in (range(1, len(matrix) + 1) if names is None else names)]
        if len(labels) != len(matrix):
            raise ValueError(f"{len(labels)} names were given for {len(matrix)} clusterings")
        belongs = None if groups is None else [str(group) for group in groups]
        if belongs is not None and len(belongs) != len(matrix):
            raise ValueError(f"{len(belongs)} groups were given for {len(matrix)} clusterings")
        merges = np.empty((0, 4))
        if len(matrix) > 1:
            # What can't be compared (both found nothing) is as far apart as can be.
            filled = np.nan_to_num(matrix, nan=max(1.0, float(np.nanmax(matrix, initial=0.0))))
            np.fill_diagonal(filled, 0.0)
            merges = linkage(squareform(filled, checks=False), method, optimal_ordering=True)
        return cls(matrix, labels, merges, belongs).plot(reorder=reorder and belongs is None)

    def plot(self, *, reorder: bool = True, cmap: str = "viridis") -> DistanceMatrixDisplay:
        """Draw into a new figure.

        Returns
        -------
        DistanceMatrixDisplay
            This one, with ``ax_`` and ``figure_``.
        """
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
            if self.groups is not None:
                self._colour_leaves(top, tree["leaves"])
            elif reorder:
                order = np.array(tree["leaves"])
            else:
                top.clear()
                top.set_axis_off()
        shown = self.distances[np.ix_(order, order)]
        image = ax.imshow(shown, cmap=cmap, vmin=0, aspect="auto", interpolation="nearest")
        if self.groups is None:
            names = [self.names[i] for i in order]
            ticks(ax.xaxis, names, rotation=90)
            ticks(ax.yaxis, names)
        else:
            self._part(ax)
        figure.colorbar(image, ax=ax, label="distance")
        self.order_, self.ax_, self.ax_dendrogram_, self.figure_ = order, ax, top, figure
        return self

    def _runs(self) -> list[tuple[str, int, int]]:
        """Groups in the given order, each with where it begins and ends."""
        groups, found = self.groups or [], []
        start = 0
        for i in range(1, len(groups) + 1):
            if i == len(groups) or groups[i] != groups[start]:
                found.append((groups[start], start, i))
                start = i
        return found

    def _part(self, ax: Any) -> None:
        """Lines between groups, and their names instead of the clusterings'."""
        runs = self._runs()
        for _, start, _ in runs[1:]:
            for line in (ax.axhline, ax.axvline):
                line(start - 0.5, color="white", linewidth=0.8)
        middles = [(start + end - 1) / 2 for _, start, end in runs]
        step = max(1, -(-len(runs) // 40))
        for axis, rotation in ((ax.xaxis, 90), (ax.yaxis, 0)):
            names = [shortened(name) for name, _, _ in runs[::step]]
            axis.set_ticks(middles[::step], names, rotation=rotation)

    def _colour_leaves(self, top: Any, leaves: list[int]) -> None:
        """A strip below the dendrogram that shows the group of each leaf."""
        groups = self.groups or []
        distinct = list(dict.fromkeys(groups))
        colours = cluster_colours(len(distinct))
        strip = np.array([[colours[distinct.index(groups[leaf])] for leaf in leaves]])
        low, high = top.get_ylim()
        below = low - 0.08 * (high - low)
        top.imshow(strip, aspect="auto", extent=(0, 10 * len(leaves), below, low),
                   interpolation="nearest")  # fmt: skip
        top.set_ylim(below, high)
        if len(distinct) <= 12:
            from matplotlib.patches import Patch

            handles = [
                Patch(color=colour, label=shortened(name))
                for name, colour in zip(distinct, colours, strict=True)
            ]
            top.legend(handles=handles, fontsize="x-small", frameon=False, loc="upper left",
                       bbox_to_anchor=(1.0, 1.0))  # fmt: skip
