"""What the flats of the clusters lose, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.types import FloatArray
from subscape.measures.flats.fitting import clustering_of, numbers
from subscape.measures.flats.reconstruction import feature_losses

from .canvas import axes, feature_names, ticks


class ReconstructionErrorDisplay:
    """Heat map of the reconstruction error of every feature in every cluster.

    Dark cells are features that the cluster's flat gives back; light ones are lost. Errors are
    shares of the feature's variance in the table: at 1 the table's mean would do as well.

    Use :meth:`from_clustering` to make one.

    Parameters
    ----------
    errors : array of shape (n_clusters, n_features)
        One row more, the last, where there is noise.
    names : list of str
        Names of the features.
    groups : list of str
        Names of the clusters.
    relative : bool
        Whether errors are shares of variances.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.feature_losses : The numbers.
    """

    def __init__(
        self, errors: FloatArray, names: list[str], groups: list[str], relative: bool
    ) -> None:
        self.errors = errors
        self.names = names
        self.groups = groups
        self.relative = relative

    @classmethod
    def from_clustering(
        cls,
        X: ArrayLike,
        clustering: Any,
        *,
        flat_dims: Any = None,
        relative: bool = True,
        ax: Any = None,
        title: str | None = None,
    ) -> ReconstructionErrorDisplay:
        """Draw the errors of a clustering.

        Parameters
        ----------
        X, clustering, flat_dims
            As in :func:`subscape.measures.sre`.
        relative : bool, default=True
            Divide by the variances of the features; False leaves squared units of the table.
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        ReconstructionErrorDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.datasets import planted_axes
        >>> from subscape.plots import ReconstructionErrorDisplay
        >>> X, truth = planted_axes(200, 6, n_clusters=2, dims=3, noise=0.1, random_state=0)
        >>> display = ReconstructionErrorDisplay.from_clustering(X, truth)
        >>> display.errors.shape
        (3, 6)
        """
        table = numbers(X, "ReconstructionErrorDisplay")
        given = clustering_of(clustering, table, X)
        errors = feature_losses(table, given, flat_dims)
        if relative:
            variances = np.asarray(table, dtype=np.float64).var(axis=0)
            errors = errors / np.where(variances > 0, variances, 1.0)
        groups = [str(k + 1) for k in range(given.n_clusters)]
        groups += ["noise"] * (len(errors) - len(groups))
        display = cls(errors, feature_names(given), groups, relative)
        return display.plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> ReconstructionErrorDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        ReconstructionErrorDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        number, p = self.errors.shape
        ax = axes(ax, (float(np.clip(0.3 * p, 4, 11)), float(np.clip(0.4 * number + 1.5, 2.4, 8))))
        # One outlying noise row must not make all other cells look alike.
        top = 1.0 if self.relative else None
        image = ax.imshow(self.errors, cmap="viridis", vmin=0, vmax=top, aspect="auto",
                          interpolation="nearest")  # fmt: skip
        ticks(ax.xaxis, self.names, rotation=90 if sum(map(len, self.names)) > 24 else 0)
        ticks(ax.yaxis, self.groups)
        ax.set_xlabel("features")
        ax.set_ylabel("cluster")
        label = "error / variance" if self.relative else "mean squared error"
        ax.figure.colorbar(image, ax=ax, label=label, extend="max" if self.relative else "neither")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
