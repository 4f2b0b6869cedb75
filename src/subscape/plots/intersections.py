"""What two clusterings share, cluster by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.measures.cells.distances import Matching, best_matching, error_of, rnia_of
from subscape.measures.cells.overlap import Overlap, overlap_of

from .canvas import axes, ticks


class IntersectionsDisplay:
    """Heat map of the cluster intersection table, the best matching framed.

    Use :meth:`from_clusterings` to make one.

    Parameters
    ----------
    table : Overlap
        What :func:`subscape.measures.overlap_of` returns.
    matching : Matching

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.intersection_table : The numbers.
    """

    def __init__(self, table: Overlap, matching: Matching) -> None:
        self.table = table
        self.matching = matching

    @classmethod
    def from_clusterings(
        cls, a: Any, b: Any, *, names: tuple[str, str] = ("a", "b"), ax: Any = None, **options: Any
    ) -> IntersectionsDisplay:
        """Compare two clusterings.

        Parameters
        ----------
        a, b : SubspaceClustering or label vector
        names : pair of str
            What the two are called in the picture.
        ax : matplotlib axes, optional
        **options
            As in :func:`subscape.measures.clustering_error`.

        Returns
        -------
        IntersectionsDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import IntersectionsDisplay
        >>> display = IntersectionsDisplay.from_clusterings([0, 0, 1, 1], [1, 1, 1, 0])
        >>> display.matching.total
        3.0
        """
        table = overlap_of(a, b, **options)
        return cls(table, best_matching(table.table)).plot(names=names, ax=ax)

    def plot(
        self, *, names: tuple[str, str] = ("a", "b"), ax: Any = None, values: bool | None = None
    ) -> IntersectionsDisplay:
        """Draw into ``ax`` or a new figure; numbers are written where they fit.

        Returns
        -------
        IntersectionsDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        table = self.table.table
        height, width = table.shape
        ax = axes(ax, (min(10, 2.5 + 0.45 * width), min(9, 2.0 + 0.4 * height)))
        from matplotlib.patches import Rectangle

        image = ax.imshow(table, cmap="Blues", vmin=0, aspect="auto")
        for i, j in zip(self.matching.a, self.matching.b, strict=True):
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#cc3311", lw=2))
        if values is None:
            values = height * width <= 150
        if values:
            top = table.max(initial=0.0)
            for (i, j), value in np.ndenumerate(table):
                if value > 0:
                    colour = "white" if value > 0.6 * top else "black"
                    ax.text(j, i, f"{value:.4g}", ha="center", va="center", color=colour,
                            fontsize="small")  # fmt: skip
        ticks(ax.xaxis, [str(j + 1) for j in range(width)])
        ticks(ax.yaxis, [str(i + 1) for i in range(height)])
        ax.set_xlabel(f"clusters of {names[1]}")
        ax.set_ylabel(f"clusters of {names[0]}")
        ax.set_title(
            f"CE {error_of(self.table):.3f}, RNIA {rnia_of(self.table):.3f}", fontsize="medium"
        )
        ax.figure.colorbar(image, ax=ax, label="shared cells")
        self.ax_, self.figure_ = ax, ax.figure
        return self
