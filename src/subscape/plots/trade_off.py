"""Are alternatives different and good? Quality against dissimilarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.measures.compactness.dq import DQScore, dq_measure

from .canvas import axes, cluster_colours

#: Lines of equal DQ that are drawn.
LEVELS = (0.2, 0.4, 0.6, 0.8)


class TradeOffDisplay:
    """Quality of alternatives against their dissimilarity to what is known.

    The upper right corner is good; points on a grey line have the same DQ.

    Use :meth:`from_alternatives` to make one.

    Parameters
    ----------
    scores : dict of DQScore
        Dissimilarity, quality and DQ by name.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after ``plot``

    See Also
    --------
    subscape.measures.dq_measure : The numbers.
    """

    def __init__(self, scores: dict[str, DQScore]) -> None:
        self.scores = scores

    @classmethod
    def from_alternatives(
        cls,
        X: ArrayLike,
        given: Any,
        alternatives: Mapping[str, Any] | Sequence[Any],
        *,
        ax: Any = None,
        title: str | None = None,
        **index: str,
    ) -> TradeOffDisplay:
        """Score some alternatives and draw them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        given : label vector, SubspaceClustering, or a list of them
            What is known.
        alternatives : mapping of names to clusterings, or a sequence of clusterings
            Label vectors, clusterings or fitted finders.
        ax : matplotlib axes, optional
        title : str, optional
        **index : str
            ``separation`` and ``diameter`` of :func:`subscape.measures.dq_measure`.

        Returns
        -------
        TradeOffDisplay
            Drawn, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from subscape.finders import COALA
        >>> from subscape.datasets import planted_views
        >>> from subscape.plots import TradeOffDisplay
        >>> X, (known, hidden) = planted_views(120, 4, n_clusters=(2, 2), random_state=0)
        >>> found = {"COALA": COALA().fit(X, given=known), "known": known, "hidden": hidden}
        >>> display = TradeOffDisplay.from_alternatives(X, known, found)
        >>> {name: round(score.dissimilarity, 1) for name, score in display.scores.items()}
        {'COALA': 0.7, 'known': 0.0, 'hidden': 0.7}
        """
        named = (
            alternatives if isinstance(alternatives, Mapping) else dict(enumerate(alternatives, 1))
        )
        scores = {
            str(name): dq_measure(X, given, alternative, **index)
            for name, alternative in named.items()
        }
        return cls(scores).plot(ax=ax, title=title)

    def plot(self, *, ax: Any = None, title: str | None = None) -> TradeOffDisplay:
        """Draw into ``ax`` or a new figure.

        Returns
        -------
        TradeOffDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes(ax, (5.4, 4.8))
        for level in LEVELS:
            # DQ is a harmonic mean: quality falls as level * x / (2 x - level).
            x = np.linspace(level / (2 - level), 1, 50)
            ax.plot(x, level * x / (2 * x - level), color="#cccccc", linewidth=1, zorder=0)
            ax.annotate(f"DQ {level:g}", (1, level / (2 - level)), fontsize="x-small",
                        color="#888888", ha="right", va="bottom")  # fmt: skip
        colours = cluster_colours(len(self.scores))
        for (name, score), colour in zip(self.scores.items(), colours, strict=True):
            ax.scatter(score.dissimilarity, score.quality, color=colour[None], s=40,
                       label=name.replace("$", r"\$"))  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_xlabel("dissimilarity to what is known (1 - Jaccard)")
        ax.set_ylabel("quality (generalised Dunn, g / (1 + g))")
        if self.scores:
            ax.legend(frameon=False, fontsize="small", loc="lower left")
        if title:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
