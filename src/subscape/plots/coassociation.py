"""Which rows the members of an ensemble join: a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.clustering import as_clustering
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.ensemble.accumulation import coassociation
from subscape.ensemble.members import Ensemble
from subscape.ensemble.voting import ballot
from subscape.measures.stacked_clusters import stack

from .canvas import axes, cluster_colours

#: More rows than this are thinned out evenly: no screen shows them anyway.
MOST_ROWS = 1000


class CoassociationDisplay:
    """Heat map of how many members put two rows into one cluster.

    Rows are ordered by the clusters of a consensus, and within a cluster the surest come first, so
    that agreed clusters are dark squares, and rows that belong to several make stripes.

    Use :meth:`from_ensemble` to make one.

    Parameters
    ----------
    shares : array of shape (rows shown, rows shown)
        Share of the members that have both rows in clusters and join them.
    row_order : array
        Rows of the table in the order of the picture.
    labels : array
        Consensus of the rows shown, -1 for noise.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.ensemble.EvidenceAccumulation : A consensus of these votes.
    AgreementDisplay : Agreement per row.
    """

    def __init__(
        self,
        shares: FloatArray,
        row_order: IndexArray,
        labels: IntArray,
    ) -> None:
        self.shares = shares
        self.row_order = row_order
        self.labels = labels

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, consensus: Any, *, ax: Any = None, title: str | None = None
    ) -> CoassociationDisplay:
        """Draw the rows of an ensemble in the order of a consensus.

        Parameters
        ----------
        ensemble : Ensemble or sequence of clusterings
        consensus : SubspaceClustering, fitted consensus method or label vector
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        CoassociationDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import CoassociationDisplay
        >>> members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
        >>> CoassociationDisplay.from_ensemble(members, [0, 0, 1, 1]).shares[0].round(2)
        array([1.  , 0.67, 0.  , 0.  ])
        """
        members = Ensemble.of(ensemble)
        given = as_clustering(getattr(consensus, "clustering_", consensus), like=members[0])
        labels = given.labels()
        order = np.argsort(np.where(labels < 0, given.n_clusters, labels), kind="stable")
        if len(order) > MOST_ROWS:
            order = order[np.linspace(0, len(order) - 1, MOST_ROWS).astype(np.intp)]
        cast = ballot(stack(list(members), features=False), "abstain")
        shares = coassociation(cast, order)
        # Within a cluster the rows that most members join with its others come first.
        inner = np.zeros(len(order))
        for label in np.unique(labels[order]):
            at = np.flatnonzero(labels[order] == label)
            inner[at] = shares[np.ix_(at, at)].mean(axis=1)
        place = np.lexsort((-inner, np.where(labels[order] < 0, given.n_clusters, labels[order])))
        order = order[place]
        display = cls(shares[np.ix_(place, place)], order, labels[order])
        return display.plot(ax=ax, title=title)

    def plot(
        self, *, ax: Any = None, title: str | None = None, cmap: str = "Blues"
    ) -> CoassociationDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        CoassociationDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax, (5.6, 4.8))
        image = ax.imshow(self.shares, cmap=cmap, vmin=0, vmax=1, interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="share of the members that join the rows")
        self._clusters(ax)
        ax.set_xticks([])
        ax.set_xlabel(f"{len(self.labels)} rows, by cluster of the consensus")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _clusters(self, ax: Any) -> None:
        """Frames around the clusters, and their numbers at the side."""
        from matplotlib.patches import Rectangle

        edges = np.flatnonzero(np.diff(self.labels)) + 1
        spans = list(zip([0, *edges], [*edges, len(self.labels)], strict=True))
        numbers = [int(self.labels[a]) for a, _ in spans]
        colours = cluster_colours(max(numbers) + 1)
        for (a, b), number in zip(spans, numbers, strict=True):
            if number >= 0:
                frame = Rectangle((a - 0.5, a - 0.5), b - a, b - a, fill=False, lw=1.5,
                                  ec=colours[number])  # fmt: skip
                ax.add_patch(frame)
        middles = [(a + b - 1) / 2 for a, b in spans]
        ax.set_yticks(middles, ["noise" if n < 0 else str(n + 1) for n in numbers])
