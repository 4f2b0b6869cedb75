"""Stability over the settings of a finder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subscape.core.types import FloatArray
from subscape.validation.stability.curves import StabilityCurve

from .canvas import axes, cluster_colours, ticks


class StabilityCurveDisplay:
    """Curves of a stability statistic with their intervals; the settings chosen are ringed.

    Use :meth:`from_curves` to make one.

    Parameters
    ----------
    curves : dict of StabilityCurve
        By name; all over the same settings.

    Attributes
    ----------
    places_ : array of shape (n_settings,)
        Where the settings are on the x axis: the parameter itself if a single number changes.
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.validation.resampling_stability : The numbers.
    subscape.validation.choose : Chooses by them.
    """

    def __init__(self, curves: dict[str, StabilityCurve]) -> None:
        self.curves = curves

    @classmethod
    def from_curves(
        cls,
        curves: StabilityCurve | Mapping[str, StabilityCurve],
        *,
        ax: Any = None,
        title: str | None = None,
        replicates: bool = True,
    ) -> StabilityCurveDisplay:
        """Draw one curve, or several that share their settings.

        Parameters
        ----------
        curves : StabilityCurve or mapping of names to them
        ax : matplotlib axes, optional
        title : str, optional
        replicates : bool, default=True
            Draw every replicate as a faint dot, if there is only one curve.

        Returns
        -------
        StabilityCurveDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import make_blobs
        >>> from subscape.plots import StabilityCurveDisplay
        >>> from subscape.validation import resampling_stability
        >>> X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> curve = resampling_stability(KMeans(n_init=3), X, {"n_clusters": [2, 3, 4]})
        >>> StabilityCurveDisplay.from_curves(curve).places_
        array([2., 3., 4.])
        """
        named = dict(curves) if isinstance(curves, Mapping) else {curves.method: curves}
        if not named:
            raise ValueError("no curves given")
        first = next(iter(named.values()))
        for name, curve in named.items():
            if curve.settings != first.settings:
                raise ValueError(f"the curve {name!r} is over other settings than the first one")
        return cls(named).plot(ax=ax, title=title, replicates=replicates)

    def plot(
        self, *, ax: Any = None, title: str | None = None, replicates: bool = True
    ) -> StabilityCurveDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        StabilityCurveDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax)
        first = next(iter(self.curves.values()))
        parameter, places = _places(first.settings)
        colours = cluster_colours(len(self.curves))
        for (name, curve), colour in zip(self.curves.items(), colours, strict=True):
            if replicates and len(self.curves) == 1:
                spots = np.repeat(places, curve.replicates.shape[1])
                ax.plot(spots, curve.replicates.ravel(), ".", color="#bbbbbb", markersize=4,
                        zorder=1)  # fmt: skip
            ax.fill_between(places, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
            ax.plot(places, curve.values, color=colour, marker="o", markersize=5, label=name)
            if curve.chosen is not None:
                ax.scatter(places[curve.chosen], curve.values[curve.chosen], s=170,
                           facecolor="none", edgecolor=colour, linewidth=1.8)  # fmt: skip
        if parameter is None:
            ticks(ax.xaxis, first.labels, rotation=90 if len(places) > 6 else 0)
        elif all(place.is_integer() for place in places):
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("setting" if parameter is None else parameter)
        single = len(self.curves) == 1
        directions = {curve.better for curve in self.curves.values()}
        word = {"low": "small is stable", "high": "large is stable"}
        direction = f" ({word[first.better]})" if len(directions) == 1 else ""
        ax.set_ylabel((first.method if single else "statistic") + direction)
        if not single:
            ax.legend(frameon=False, fontsize="small")
        if title:
            ax.set_title(title)
        self.places_, self.ax_, self.figure_ = places, ax, ax.figure
        return self


def _places(settings: list[dict[str, Any]]) -> tuple[str | None, FloatArray]:
    """The parameter that changes and its values, or the settings' positions if it isn't one."""
    positions = np.arange(len(settings), dtype=np.float64)
    names = {name for setting in settings for name in setting}
    changing = [
        name for name in names if len({repr(setting.get(name)) for setting in settings}) > 1
    ]
    if len(changing) != 1:
        return None, positions
    values = [setting.get(changing[0]) for setting in settings]
    if not all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        for value in values
    ):
        return None, positions
    return changing[0], np.array(values, dtype=np.float64)
