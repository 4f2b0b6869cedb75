"""The clusters of an ensemble on a map: like ones lie close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from subscape.arrays.tanimoto import projective_similarities
from subscape.core.clustering import as_clustering
from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.ensemble.members import Ensemble, check_same_table
from subscape.measures.stacked_clusters import similarities, stack

from .canvas import axes, cluster_colours

#: More clusters than this are thinned out evenly.
MOST_CLUSTERS = 2000


class ClusterMapDisplay:
    """Clusters of clusters: every cluster of every member is a dot.

    Dots lie close together where clusters are alike in rows and features (classical scaling of
    their Tanimoto distances; in rows only where subspaces are oriented). Colours say for which
    cluster of the consensus a dot stands, sizes how many rows it has. The consensus itself is drawn
    as stars.

    Use :meth:`from_ensemble` to make one.

    Parameters
    ----------
    places : array of shape (clusters, 2)
    stars : array of shape (n_clusters, 2)
        Places of the consensus clusters: the middles of the dots that stand for them.
    stands_for : array of shape (clusters,)
        Consensus cluster of each dot.
    sizes : array of shape (clusters,)
        Rows of each dot.
    shown : float
        Share of the squared distances that the two axes show.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.ensemble.generate : Makes an ensemble.
    CoassociationDisplay : Rows instead of clusters.
    """

    def __init__(
        self,
        places: FloatArray,
        stars: FloatArray,
        stands_for: IndexArray,
        sizes: FloatArray,
        shown: float,
    ) -> None:
        self.places = places
        self.stars = stars
        self.stands_for = stands_for
        self.sizes = sizes
        self.shown = shown

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, consensus: Any, *, ax: Any = None, title: str | None = None
    ) -> ClusterMapDisplay:
        """Draw the clusters of an ensemble beside those of a consensus.

        Parameters
        ----------
        ensemble : Ensemble or sequence of clusterings
        consensus : SubspaceClustering, fitted consensus method or label vector
            With at least one cluster.
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        ClusterMapDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import ClusterMapDisplay
        >>> members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
        >>> ClusterMapDisplay.from_ensemble(members, [0, 0, 1, 1]).stands_for
        array([0, 1, 0, 1, 0, 1])
        """
        members = Ensemble.of(ensemble)
        given = as_clustering(getattr(consensus, "clustering_", consensus), like=members[0])
        check_same_table(members[0], given, "the consensus")
        if given.n_clusters == 0:
            raise SubscapeError("the consensus has no clusters: every row is noise")
        by_features = not members.is_oriented and given.kind != "oriented"
        theirs = stack(list(members), features=by_features)
        keep = np.arange(int(theirs.starts[-1]))
        if len(keep) > MOST_CLUSTERS:
            keep = keep[np.linspace(0, len(keep) - 1, MOST_CLUSTERS).astype(np.intp)]
        ours = stack([given], features=by_features)
        alike = similarities(ours, theirs, "both" if by_features else "objects")[:, keep]
        weights = theirs.weights[keep] if theirs.weights is not None else None
        table = projective_similarities(theirs.memberships[keep], weights)
        places, shown = _scaled(1.0 - table)
        stands_for = alike.argmax(axis=0)
        stars = np.array([_middle(places, alike[k], stands_for == k)
                          for k in range(given.n_clusters)])  # fmt: skip
        display = cls(places, stars, stands_for, theirs.sizes[keep], shown)
        return display.plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> ClusterMapDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        ClusterMapDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax, (5.6, 4.8))
        colours = cluster_colours(len(self.stars))
        area = 8 + 90 * self.sizes / self.sizes.max()
        for k, colour in enumerate(colours):
            own = self.stands_for == k
            ax.scatter(*self.places[own].T, s=area[own], color=colour, alpha=0.45, lw=0,
                       label=f"{k + 1}  ({own.sum()} clusters)")  # fmt: skip
        ax.scatter(*self.stars.T, s=190, marker="*", c=colours, edgecolors="black", zorder=3)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(f"alike clusters lie close together ({self.shown:.0%} of the squares shown)")
        if len(self.stars) <= 24:
            legend = ax.legend(title="stands for", loc="upper left", bbox_to_anchor=(1.01, 1),
                               frameon=False, fontsize="small")  # fmt: skip
            for handle in legend.legend_handles:
                handle.set_sizes([40])
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _scaled(distances: FloatArray) -> tuple[FloatArray, float]:
    """Two axes of classical scaling, and the share of the squared distances they show."""
    squares = np.square(distances)
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None]
                      + squares.mean())  # fmt: skip
    number = len(centred)
    total = float(np.maximum(np.trace(centred), 1e-300))
    values, vectors = eigh(centred, subset_by_index=(max(0, number - 2), number - 1))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    # The sign of an eigenvector is anybody's choice: the largest entry is made positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    places = np.zeros((number, 2))
    places[:, : len(values)] = vectors * np.sqrt(values)
    return places, min(float(values.sum()) / total, 1.0)


def _middle(places: FloatArray, alike: FloatArray, own: BoolArray) -> FloatArray:
    weights = np.where(own, alike, 0.0)
    if weights.sum() <= 0:
        weights = alike + 1e-12
    return np.asarray(weights @ places / weights.sum())
