"""How sure the members of an ensemble are of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.types import FloatArray
from subscape.ensemble.agreements import Agreement
from subscape.ensemble.agreements import agreement as agreement_of

from .canvas import axes, cluster_colours


class AgreementDisplay:
    """Agreement per row: a curve for each cluster, from its surest row to its least sure.

    The area under a curve is the cluster's mean agreement; a curve that stays at the top and drops
    at its end is a cluster with a few stray rows, a low one is a cluster few members have.

    Use :meth:`from_ensemble` or :meth:`from_agreement` to make one.

    Parameters
    ----------
    agreement : Agreement

    Attributes
    ----------
    curves_ : dict
        Cluster -> agreement of its rows, falling; -1 are the noise rows.
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.ensemble.agreement : The numbers.
    """

    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.curves_: dict[int, FloatArray] = {}
        for label in np.unique(agreement.labels):
            own = agreement.rows[agreement.labels == label]
            self.curves_[int(label)] = np.sort(own)[::-1]

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, consensus: Any, *, ax: Any = None, title: str | None = None
    ) -> AgreementDisplay:
        """Draw how far an ensemble agrees with a consensus.

        Parameters
        ----------
        ensemble : Ensemble or sequence of clusterings
        consensus : SubspaceClustering, fitted consensus method or label vector
        ax : matplotlib axes, optional
        title : str, optional

        Returns
        -------
        AgreementDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.plots import AgreementDisplay
        >>> members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
        >>> AgreementDisplay.from_ensemble(members, [0, 0, 1, 1]).curves_[0].round(2)
        array([1.  , 0.67])
        """
        return cls.from_agreement(agreement_of(consensus, ensemble), ax=ax, title=title)

    @classmethod
    def from_agreement(
        cls, agreement: Agreement, *, ax: Any = None, title: str | None = None
    ) -> AgreementDisplay:
        """Draw an agreement that was computed before.

        Returns
        -------
        AgreementDisplay
            Drawn, with ``ax_`` and ``figure_``.
        """
        return cls(agreement).plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> AgreementDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        AgreementDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax, (6.4, 4.0))
        colours = cluster_colours(len(self.agreement.clusters))
        start, middles, names = 0, [], []
        clusters = sorted(label for label in self.curves_ if label >= 0)
        for label in [*clusters, *([-1] if -1 in self.curves_ else [])]:
            curve = self.curves_[label]
            colour = colours[label] if label >= 0 else "#bbbbbb"
            at = np.arange(start, start + len(curve) + 1)
            ax.fill_between(at, np.append(curve, curve[-1]), step="post", color=colour, alpha=0.55,
                            lw=0)  # fmt: skip
            ax.hlines(curve.mean(), at[0], at[-1], color=colour, lw=1.6)
            middles.append(start + len(curve) / 2)
            names.append("noise" if label < 0 else str(label + 1))
            start += len(curve)
        ax.set_xlim(0, start)
        ax.set_ylim(0, 1.02)
        ax.set_xticks(middles, names)
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel("rows by cluster, the surest first; the line is the mean of the cluster")
        ax.set_ylabel(f"share of {self.agreement.n_members} members that agree")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
