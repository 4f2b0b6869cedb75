"""Which clusters come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subscape.validation.stability.clusters import DISSOLVED, RECOVERED, ClusterStability

from .canvas import axes, cluster_colours, ticks


class ClusterStabilityDisplay:
    """A bar per cluster: its mean Jaccard index with what reruns found, and each rerun as a dot.

    Bars that reach the upper line belong to clusters that come back; those below the lower line
    dissolve. Use :meth:`from_stability` to make one.

    Parameters
    ----------
    stability : ClusterStability
    names : list of str

    Attributes
    ----------
    order_ : array
        Clusters in the order of the picture.
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.validation.cluster_stability : The numbers.
    """

    def __init__(self, stability: ClusterStability, names: list[str]) -> None:
        self.stability = stability
        self.names = names

    @classmethod
    def from_stability(
        cls,
        stability: ClusterStability,
        *,
        names: Sequence[str] | None = None,
        sort: bool = False,
        ax: Any = None,
        title: str | None = None,
    ) -> ClusterStabilityDisplay:
        """Draw what :func:`subscape.validation.cluster_stability` found.

        Parameters
        ----------
        stability : ClusterStability
        names : sequence of str, optional
            Of the clusters; default: their numbers.
        sort : bool, default=False
            The most stable first.
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        ClusterStabilityDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import ClusterStabilityDisplay
        >>> from subscape.validation import cluster_stability
        >>> found = cluster_stability([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 2]])
        >>> ClusterStabilityDisplay.from_stability(found, sort=True).order_
        array([0, 1])
        """
        number = stability.n_clusters
        labels = [str(k + 1) for k in range(number)] if names is None else [str(n) for n in names]
        if len(labels) != number:
            raise ValueError(f"{len(labels)} names were given for {number} clusters")
        return cls(stability, labels).plot(sort=sort, ax=ax, title=title)

    def plot(
        self, *, sort: bool = False, ax: Any = None, title: str | None = None
    ) -> ClusterStabilityDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        ClusterStabilityDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        means = self.stability.stability
        order = np.arange(len(means))
        if sort:
            order = np.argsort(-np.nan_to_num(means, nan=-1.0), kind="stable")
        ax = axes(ax, (float(np.clip(1.5 + 0.5 * len(means), 4.5, 12.0)), 4.0))
        colours = cluster_colours(len(means))
        places = np.arange(len(means))
        ax.bar(places, np.nan_to_num(means[order]), color=colours[order], width=0.7, zorder=2)
        for place, k in zip(places, order, strict=True):
            values = self.stability.jaccard[:, k]
            values = values[~np.isnan(values)]
            if len(values):
                spread = np.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else np.zeros(1)
                ax.plot(place + spread, values, ".", color="#333333", markersize=4, zorder=3)
            else:
                ax.text(place, 0.02, "?", ha="center", va="bottom")
        for level, word in ((RECOVERED, "comes back"), (DISSOLVED, "dissolves below")):
            ax.axhline(level, color="#777777", linestyle=":", linewidth=1, zorder=1)
            ax.text(1.01, level, word, transform=ax.get_yaxis_transform(), va="center",
                    fontsize="small", color="#555555")  # fmt: skip
        ticks(ax.xaxis, [self.names[k] for k in order])
        ax.set_ylim(0, 1.03)
        ax.set_xlabel("cluster")
        ax.set_ylabel("Jaccard index of cells")
        if title:
            ax.set_title(title)
        self.order_, self.ax_, self.figure_ = order, ax, ax.figure
        return self
