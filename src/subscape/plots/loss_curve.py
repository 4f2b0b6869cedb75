"""How much is lost when clusters become flats, against the dimension of the flats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.types import FloatArray
from subscape.measures.flats.fitting import clustering_of, numbers
from subscape.measures.flats.reconstruction import loss_by_dim

from .canvas import axes, cluster_colours

#: Curves go linearly below this share of the largest loss, so that a loss of 0 has a place.
LINEAR_SHARE = 1e-6


class LossCurveDisplay:
    """Reconstruction loss against the dimension of the flats, as in Fig. 5 of the SRE paper.

    A bend says how many dimensions the clusters have. The dashed curve is the table as one cluster,
    which is its principal components: what a linear autoencoder loses at best. Losses of clusters
    add up, so that several clusters may lie above it.

    Use :meth:`from_clusterings` to make one.

    Parameters
    ----------
    curves : dict of arrays of shape (n_features + 1,)
        Loss for dimension 0, 1, ... by name.
    one_cluster : array of shape (n_features + 1,)
        The same for the table as one cluster.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.loss_by_dim : The numbers.
    """

    def __init__(self, curves: dict[str, FloatArray], one_cluster: FloatArray) -> None:
        self.curves = curves
        self.one_cluster = one_cluster

    @classmethod
    def from_clusterings(
        cls,
        X: ArrayLike,
        clusterings: Mapping[str, Any] | Sequence[Any],
        *,
        ax: Any = None,
        title: str | None = None,
    ) -> LossCurveDisplay:
        """Draw the curves of some clusterings of a table.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        clusterings : mapping of names to clusterings, or a sequence of clusterings
            Their rows matter, not their subspaces.
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        LossCurveDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.datasets import planted_oriented
        >>> from subscape.plots import LossCurveDisplay
        >>> X, truth = planted_oriented(4, ((1, 60), (1, 60)), noise=0, random_state=0)
        >>> display = LossCurveDisplay.from_clusterings(X, {"planted": truth})
        >>> display.curves["planted"].round(3)
        array([0.042, 0.   , 0.   , 0.   , 0.   ])
        """
        table = numbers(X, "LossCurveDisplay")
        named = clusterings if isinstance(clusterings, Mapping) else dict(enumerate(clusterings, 1))
        curves = {
            str(name): loss_by_dim(table, clustering_of(clustering, table, X))
            for name, clustering in named.items()
        }
        one_cluster = loss_by_dim(table, np.zeros(len(table), np.int64))
        return cls(curves, one_cluster).plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> LossCurveDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        LossCurveDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax)
        dims = np.arange(len(self.one_cluster))
        ax.plot(dims, self.one_cluster, color="#444444", linestyle="--", label="one cluster (PCA)")
        for (name, curve), colour in zip(
            self.curves.items(), cluster_colours(len(self.curves)), strict=True
        ):
            ax.plot(dims, curve, color=colour, marker="o", markersize=4,
                    label=name.replace("$", r"\$"))  # fmt: skip
        top = max([self.one_cluster.max(), *(curve.max() for curve in self.curves.values())])
        if top > 0:
            ax.set_yscale("symlog", linthresh=LINEAR_SHARE * top)
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("dimension of the flats")
        ax.set_ylabel("reconstruction loss")
        ax.legend(frameon=False, fontsize="small")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
