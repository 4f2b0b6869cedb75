"""Points in two or three dimensions with the flats that their clusters spread along."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.errors import SubscapeError
from subscape.core.indexing import positions
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.measures.flats.encoding import EncodedCluster, encode
from subscape.measures.flats.fitting import clustering_of, numbers

from .canvas import axes, cluster_colours, feature_names, pyplot

#: More points than this are thinned out evenly.
MOST_POINTS = 10_000
NOISE_COLOUR = "#bbbbbb"


class Viewpoint(NamedTuple):
    """How features become two or three coordinates, and what those are called."""

    centre: FloatArray
    directions: FloatArray
    names: list[str]

    def of(self, points: FloatArray) -> FloatArray:
        return np.asarray((points - self.centre) @ self.directions)


class FlatsDisplay:
    """Rows as points, and every cluster's flat: a cross, a segment or a patch over its rows.

    Of flats with more than two dimensions the two widest are drawn. Tables with more than three
    features are seen along their first three principal directions, unless features are chosen.

    Use :meth:`from_clustering` to make one.

    Parameters
    ----------
    points : array of shape (n_points, 2 or 3)
    labels : array of shape (n_points,)
        Cluster of each point, -1 for noise.
    patches : list of arrays of shape (1, 2 or 4 corners, 2 or 3)
        One per cluster.
    names : list of str
        Names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.finders.KFlats : Finds flats.
    CellsDisplay : Clusters in some of the features.
    """

    def __init__(
        self,
        points: FloatArray,
        labels: IntArray,
        patches: list[FloatArray],
        names: list[str],
    ) -> None:
        self.points = points
        self.labels = labels
        self.patches = patches
        self.names = names

    @classmethod
    def from_clustering(
        cls,
        X: ArrayLike,
        clustering: Any,
        *,
        features: Sequence[Any] | None = None,
        flat_dims: Any = None,
        ax: Any = None,
        title: str | None = None,
        legend: bool = True,
    ) -> FlatsDisplay:
        """Draw a table and the flats of its clusters.

        Parameters
        ----------
        X, clustering, flat_dims
            As in :func:`subscape.measures.sre`.
        features : sequence of two or three positions or names, optional
            The features to look at.
        ax : matplotlib axes, optional
            With ``projection="3d"`` for three dimensions.
        title : str, optional
        legend : bool, default=True

        Returns
        -------
        FlatsDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.datasets import planted_oriented
        >>> from subscape.plots import FlatsDisplay
        >>> X, truth = planted_oriented(3, ((1, 60), (2, 60)), random_state=0)
        >>> display = FlatsDisplay.from_clustering(X, truth)
        >>> [patch.shape for patch in display.patches]
        [(2, 3), (4, 3)]
        """
        table = numbers(X, "FlatsDisplay")
        given = clustering_of(clustering, table, X)
        encoded = encode(table, given, flat_dims)
        view = chosen_view(np.asarray(table, dtype=np.float64), given, features)
        patches = [view.of(corners(part)) for part in encoded.clusters[: given.n_clusters]]
        keep = np.arange(len(table))
        if len(keep) > MOST_POINTS:
            keep = np.linspace(0, len(table) - 1, MOST_POINTS).astype(np.intp)
        labels = given.members.codes()[keep].astype(np.int64)
        shown = cls(view.of(np.asarray(table[keep], dtype=np.float64)), labels, patches, view.names)
        return shown.plot(ax=ax, title=title, legend=legend)

    def plot(
        self, *, ax: Any = None, title: str | None = None, legend: bool = True
    ) -> FlatsDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        FlatsDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        solid = self.points.shape[1] == 3
        if ax is None and solid:
            figure = pyplot().figure(figsize=(6.0, 5.0), layout="constrained")
            ax = figure.add_subplot(projection="3d")
        elif ax is None:
            ax = axes(None)
        elif solid != hasattr(ax, "zaxis"):
            raise SubscapeError(
                f"the points have {self.points.shape[1]} dimensions, the axes "
                f"{3 if hasattr(ax, 'zaxis') else 2}; make axes with projection='3d' for three"
            )
        noise = self.labels < 0
        if noise.any():
            ax.scatter(*self.points[noise].T, s=6, color=NOISE_COLOUR, label="noise")
        colours = cluster_colours(len(self.patches))
        for k, (patch, colour) in enumerate(zip(self.patches, colours, strict=True)):
            ax.scatter(*self.points[self.labels == k].T, s=8, color=colour, label=str(k + 1))
            self._patch(ax, patch, colour)
        for axis, name in zip("xyz", self.names, strict=False):
            getattr(ax, f"set_{axis}label")(name.replace("$", r"\$"))
        if title:
            ax.set_title(title)
        if legend and 0 < len(self.patches) <= 24:
            ax.legend(title="cluster", frameon=False, fontsize="small", loc="upper left",
                      bbox_to_anchor=(1.02, 1))  # fmt: skip
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _patch(self, ax: Any, patch: FloatArray, colour: FloatArray) -> None:
        if len(patch) == 1:
            ax.scatter(*patch.T, s=120, marker="x", color=colour * 0.6, linewidths=2)
        elif len(patch) == 2:
            ax.plot(*patch.T, color=colour * 0.6, linewidth=2)
        elif self.points.shape[1] == 3:
            from mpl_toolkits.mplot3d.art3d import Poly3DCollection

            ax.add_collection3d(Poly3DCollection([patch], alpha=0.25, facecolor=colour))
        else:
            ax.fill(*patch.T, color=colour, alpha=0.2, linewidth=0)


def corners(cluster: EncodedCluster) -> FloatArray:
    """The flat's patch over its rows: a point, both ends of a segment, or four corners in turn.

    >>> import numpy as np
    >>> from subscape.measures import encode
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0], [3.0, 3.0]])
    >>> np.sort(corners(encode(X, [0, 0, 0], flat_dims=1).clusters[0]), axis=0).round(6) + 0.0
    array([[0., 0.],
           [3., 3.]])
    """
    coordinates = cluster.coordinates
    if not coordinates.size:
        return cluster.origin[None, :]
    widest = np.argsort(-coordinates.var(axis=0), kind="stable")[:2]
    if cluster.basis is not None:
        directions = cluster.basis[widest]
    else:
        directions = _units(cluster.features[widest], len(cluster.origin))  # type: ignore[index]
    ends = np.array([coordinates[:, widest].min(axis=0), coordinates[:, widest].max(axis=0)])
    if len(widest) == 1:
        places = ends
    else:
        places = np.array([(ends[i, 0], ends[j, 1]) for i, j in product((0, 1), repeat=2)])
        places = places[[0, 1, 3, 2]]  # around the rectangle
    return np.asarray(cluster.origin + places @ directions)


def chosen_view(table: FloatArray, clustering: Any, features: Sequence[Any] | None) -> Viewpoint:
    """The features asked for, all of up to three, or the first three principal directions."""
    p = table.shape[1]
    names = feature_names(clustering)
    if features is None and p <= 3:
        features = range(p)
    if features is not None:
        chosen = positions(list(features), p, clustering.feature_names, "feature")
        if not 1 <= len(chosen) <= 3:
            raise SubscapeError(f"choose two or three features to look at, not {len(chosen)}")
        directions = _units(chosen, p).T
        labels = [names[j] for j in chosen]
        if len(chosen) == 1:
            # A single feature is drawn along a line.
            directions = np.concatenate([directions, np.zeros((p, 1))], axis=1)
            labels.append("")
        return Viewpoint(np.zeros(p), directions, labels)
    main = encode(table, np.zeros(len(table), np.int64), 3).clusters[0]
    basis = main.basis.T  # type: ignore[union-attr]
    room = 3 - basis.shape[1]
    directions = np.concatenate([basis, np.zeros((p, room))], axis=1)
    return Viewpoint(main.origin, directions, [f"principal direction {i + 1}" for i in range(3)])


def _units(features: IndexArray, p: int) -> FloatArray:
    """Unit vectors of these features, one per row."""
    vectors = np.zeros((len(features), p))
    vectors[np.arange(len(features)), features] = 1.0
    return vectors
