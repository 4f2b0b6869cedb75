"""What tables without clusters give, and what the table gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.types import FloatArray
from subscape.validation.null_test import Significance

from .canvas import axes, cluster_colours


class NullDistributionDisplay:
    """Histogram of a statistic over null tables, with the observed values as lines.

    Use :meth:`from_significance` to make one.

    Parameters
    ----------
    null : array
        The statistic of each null table.
    observed : dict of floats
        Observed values by name.
    p_values : dict of floats
        Their p-values, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.validation.significance : The numbers.
    """

    def __init__(
        self,
        null: FloatArray,
        observed: dict[str, float],
        p_values: dict[str, float],
    ) -> None:
        self.null = null
        self.observed = observed
        self.p_values = p_values

    @classmethod
    def from_significance(
        cls,
        result: Significance,
        *,
        clusters: bool = False,
        run: int = 0,
        ax: Any = None,
        title: str | None = None,
    ) -> NullDistributionDisplay:
        """Draw the result of :func:`subscape.validation.significance`.

        Parameters
        ----------
        result : Significance
        clusters : bool, default=False
            Show the clusters of a run, beside the largest of each null table, instead of the whole.
        run : int, default=0
            Whose clusters.
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        NullDistributionDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.finders import P3C
        >>> from subscape.datasets import planted_axes
        >>> from subscape.plots import NullDistributionDisplay
        >>> from subscape.validation import significance
        >>> X, _ = planted_axes(100, 6, n_clusters=2, dims=3, random_state=0)
        >>> result = significance(P3C(), X, n_null=9, random_state=0)
        >>> display = NullDistributionDisplay.from_significance(result, clusters=True)
        >>> list(display.observed)
        ['cluster 1', 'cluster 2']
        """
        if clusters:
            names = [f"cluster {k + 1}" for k in range(len(result.cluster_observed[run]))]
            observed = dict(zip(names, result.cluster_observed[run].tolist(), strict=True))
            p_values = dict(zip(names, result.cluster_p_values[run].tolist(), strict=True))
            return cls(result.cluster_null, observed, p_values).plot(ax=ax, title=title)
        name = "observed" if len(result.clusterings) == 1 else "observed, best of all runs"
        display = cls(result.null, {name: result.observed}, {name: result.p_value})
        return display.plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> NullDistributionDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        NullDistributionDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax)
        bins = int(np.clip(np.sqrt(len(self.null)) * 1.5, 5, 40))
        ax.hist(self.null, bins=bins, color="#bbbbbb", edgecolor="white",
                label=f"{len(self.null)} null tables")  # fmt: skip
        for (name, value), colour in zip(
            self.observed.items(), cluster_colours(len(self.observed)), strict=True
        ):
            label = f"{name}, p = {self.p_values[name]:.3g}"
            ax.axvline(value, color=colour, linewidth=2, label=label)
        ax.set_xlabel("evidence, in robust standard deviations of null tables")
        ax.set_ylabel("null tables")
        if len(self.observed) <= 20:
            ax.legend(frameon=False, fontsize="small")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
