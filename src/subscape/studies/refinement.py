"""Whether a finer grouping should be reported instead of a coarser one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .candidates import both, novelty
from .residuals import without
from .separation import Judge

if TYPE_CHECKING:
    from .views import Consensus

FloatArray = NDArray[np.float64]

#: Information that a finer grouping may lack of a coarser one, and that independent ones may share.
SLACK = 0.1
#: A refinement must gain, per nat that it adds, this share of what the coarser grouping gains.
MARGINAL = 0.15
#: A grouping that two independent ones make up must gain this share of what they gain together;
#: true products gain less, because they need more parameters.
AS_GOOD = 0.97
#: If an independent grouping leaves at most this share of what a refinement adds unexplained, the
#: refinement may be a mixture; then it must stand out so much better than that grouping, without
#: the directions of the coarse one.
UNEXPLAINED = 0.5
BETTER = 1.1


def best_refinement(
    coarse: int, views: Sequence[Consensus], allowed: Sequence[int], rest: FloatArray
) -> int:
    """The view to report instead of a coarse one: itself, or a refinement, step by step.

    Each step goes to the finer grouping that gains most per nat that it adds. Two independent
    groupings together refine each of them, and so does a mixture of one with parts of the other.
    These are no refinements: each of the two is reported by itself. A product gains less than its
    factors together, and a mixture, without the directions of the coarse grouping, stands out no
    more than the other grouping alone.

    Parameters
    ----------
    coarse : int
        Place of the coarse view.
    views : sequence of Consensus
    allowed : sequence of int
        Places of the views that may be reported.
    rest : array
        The table without the directions of views that are reported already.

    Returns
    -------
    int
        Place of the view to report.
    """
    here = Judge(rest)
    gain = [here(view.labels).gain for view in views]
    while True:
        step = _next_step(coarse, views, allowed, rest, gain)
        if step is None:
            return coarse
        coarse = step


def _next_step(
    coarse: int,
    views: Sequence[Consensus],
    allowed: Sequence[int],
    rest: FloatArray,
    gain: Sequence[float],
) -> int | None:
    base = views[coarse]
    least = MARGINAL * gain[coarse] / base.entropy
    rates = {
        d: (gain[d] - gain[coarse]) / (views[d].entropy - base.entropy)
        for d in allowed
        if d != coarse and _refines(views[d], base)
    }
    finer = sorted((d for d in rates if rates[d] >= least), key=lambda d: -rates[d])
    if not finer:
        return None
    beyond = Judge(without(rest, base.basis))
    others = [e for e, view in enumerate(views) if novelty(view.labels, base.labels) >= 1 - SLACK]

    def is_mixed(d: int) -> bool:
        """Whether a finer grouping is the coarse one, crossed with an independent one."""
        added = novelty(views[d].labels, base.labels)
        for e in others:
            crossed = both(base.labels, views[e].labels)
            if novelty(views[d].labels, crossed) > UNEXPLAINED * added:
                continue
            if novelty(views[e].labels, views[d].labels) <= SLACK:
                if gain[d] < AS_GOOD * (gain[coarse] + gain[e]):
                    return True
            elif beyond(views[d].labels).gain <= BETTER * beyond(views[e].labels).gain:
                return True
        return False

    return next((d for d in finer if not is_mixed(d)), None)


def _refines(fine: Consensus, coarse: Consensus) -> bool:
    wider = fine.entropy > coarse.entropy + SLACK
    return wider and novelty(coarse.labels, fine.labels) <= SLACK
