"""Whether a finer grouping should be reported instead of a coarser one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .candidates import novelty
from .residuals import without
from .separation import Judge

if TYPE_CHECKING:
    from .views import Consensus

FloatArray = NDArray[np.float64]

#: Information that a finer grouping may lack of a coarser one, and that independent ones may share.
SLACK = 0.1
#: A refinement must gain, per nat that it adds, this share of what the coarser grouping gains.
MARGINAL = 0.15
#: … and, without the directions of the coarser one, so many times what independent ones gain.
BETTER = 1.1


def best_refinement(
    coarse: int, views: Sequence[Consensus], allowed: Sequence[int], rest: FloatArray
) -> int:
    """The view to report instead of a coarse one: itself, or the refinement that gains most.

    Two independent groupings together refine each of them. To tell such a product from a true
    refinement, the directions of the coarse grouping are taken out: in what is left, a product
    stands out no more than the other grouping alone, a refinement does.

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
    base = views[coarse]
    here = Judge(rest)
    gain = {d: here(views[d].labels).gain for d in (coarse, *allowed)}
    finer = [d for d in allowed if d != coarse and _refines(views[d], base)]
    finer = [
        d
        for d in finer
        if gain[d] - gain[coarse]
        >= MARGINAL * gain[coarse] / base.entropy * (views[d].entropy - base.entropy)
    ]
    if not finer:
        return coarse
    beyond = Judge(without(rest, base.basis))
    independent = [
        beyond(view.labels).gain for view in views if novelty(view.labels, base.labels) >= 1 - SLACK
    ]
    bar = max(independent, default=0.0)
    sound = [d for d in finer if beyond(views[d].labels).gain > BETTER * bar]
    return max(sound, key=lambda d: gain[d], default=coarse)


def _refines(fine: Consensus, coarse: Consensus) -> bool:
    wider = fine.entropy > coarse.entropy + SLACK
    return wider and novelty(coarse.labels, fine.labels) <= SLACK
