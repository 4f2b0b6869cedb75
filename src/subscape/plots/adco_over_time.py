"""How alike the clusterings of a stream's windows are, from window to window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray
from subscape.measures.density.adco import adco_similarity
from subscape.measures.density.profile import DensityProfile

from .canvas import axes, cluster_colours, ticks


class AdcoOverTimeDisplay:
    """ADCO of each window's clustering with the one before and with a fixed one.

    A dip of the first curve is a sudden change, a falling second curve a drift. The profiles are
    all that is needed, not the points of the windows.

    Use :meth:`from_profiles` to make one.

    Parameters
    ----------
    to_previous : array of shape (n_windows,)
        Similarity to the window before; NaN for the first.
    to_reference : array of shape (n_windows,)
        Similarity to the reference window.
    names : sequence of str
        Names of the windows.
    reference : int
        Position of the reference window.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.adco_matrix : The numbers.
    """

    def __init__(
        self,
        to_previous: FloatArray,
        to_reference: FloatArray,
        names: Sequence[str],
        reference: int,
    ) -> None:
        self.to_previous = to_previous
        self.to_reference = to_reference
        self.names = list(names)
        self.reference = reference

    @classmethod
    def from_profiles(
        cls,
        profiles: Mapping[str, DensityProfile] | Sequence[DensityProfile],
        *,
        reference: int | str = 0,
        ax: Any = None,
        title: str | None = None,
        **options: Any,
    ) -> AdcoOverTimeDisplay:
        """Compare profiles in the order of time and draw them.

        Parameters
        ----------
        profiles : mapping of names to profiles, or sequence of profiles
            At least two, all in the same bins.
        reference : int or str, default=0
            Position or name of the window that all others are compared with.
        ax : matplotlib axes, optional
        title : str, optional
        **options
            Of :func:`subscape.measures.adco_similarity`; for windows of different sizes say
            ``sizes="scaled"`` or ``variant="cosine"``.

        Returns
        -------
        AdcoOverTimeDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> import numpy as np
        >>> from subscape.measures import Bins, DensityProfile
        >>> from subscape.plots import AdcoOverTimeDisplay
        >>> rng = np.random.default_rng(0)
        >>> bins = Bins(["x0"], [np.linspace(-5, 15, 11)])
        >>> windows = [
        ...     DensityProfile.of(rng.normal(centre, 1, (100, 1)), np.zeros(100, int), bins=bins)
        ...     for centre in (0, 0, 10)
        ... ]
        >>> AdcoOverTimeDisplay.from_profiles(windows).to_previous.round(2)
        array([ nan, 0.99, 0.  ])
        """
        named = profiles if isinstance(profiles, Mapping) else dict(enumerate(profiles))
        names, windows = [str(name) for name in named], list(named.values())
        if len(windows) < 2:
            raise SubscapeError(
                f"{count(len(windows), 'window')} can't be compared over time; give at least 2"
            )
        if isinstance(reference, str):
            if reference not in names:
                raise SubscapeError(f"there is no window {reference!r} to compare with")
            reference = names.index(reference)
        if not -len(windows) <= reference < len(windows):
            raise SubscapeError(f"reference must be a window below {len(windows)}, got {reference}")
        reference %= len(windows)
        before = [np.nan] + [
            adco_similarity(windows[i - 1], windows[i], **options) for i in range(1, len(windows))
        ]
        fixed = [adco_similarity(windows[reference], window, **options) for window in windows]
        display = cls(np.array(before), np.array(fixed), names, reference)
        return display.plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> AdcoOverTimeDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        AdcoOverTimeDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax)
        places = np.arange(len(self.names))
        first, second = cluster_colours(2)
        ax.plot(places, self.to_previous, color=first, marker="o", label="with the window before")
        anchor = self.names[self.reference].replace("$", r"\$")
        ax.plot(places, self.to_reference, color=second, marker="s", markersize=4, linestyle="--",
                label=f"with window {anchor}")  # fmt: skip
        ax.set_ylim(0, 1.03)
        ticks(ax.xaxis, self.names, most=20, rotation=30 if len(self.names) > 8 else 0)
        ax.set_xlabel("window")
        ax.set_ylabel("similarity (ADCO)")
        ax.legend(frameon=False, fontsize="small")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
