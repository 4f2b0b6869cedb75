"""What did subspaces add? Which views plain clusterings of all features found, and which not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from subscape.core.errors import count
from subscape.studies.portfolio import BASELINES

if TYPE_CHECKING:
    from subscape.studies.study import Result, Study

#: How the baselines are called in sentences.
WORDS = {
    "KMeans": "k-means",
    "GaussianMixture": "a Gaussian mixture",
    "HDBSCAN": "HDBSCAN",
}


class Origin(NamedTuple):
    """Who found a view.

    Attributes
    ----------
    number : int
    plain, subspace : tuple of str
        Baselines and subspace finders with results of this view.
    closest : Result or None
        The baseline's result that is most like it, and how far it is.
    distance : float or None
    """

    number: int
    plain: tuple[str, ...]
    subspace: tuple[str, ...]
    closest: Result | None
    distance: float | None


def origins(study: Study) -> list[Origin]:
    """Who found each view."""
    plain = [i for i, r in enumerate(study.results) if r.finder in BASELINES]
    found = []
    for view in study.views:
        own = [i for i, r in enumerate(study.results) if r.view == view.number]
        names = list(dict.fromkeys(study.results[i].finder for i in own)) or list(view.finders)
        closest = distance = None
        if own and plain:
            best = max(own, key=lambda i: (study.results[i].score, -i))
            distances = np.asarray(study.distances)[best, plain]
            closest = study.results[plain[int(distances.argmin())]]
            distance = float(distances.min())
        found.append(
            Origin(
                view.number,
                tuple(name for name in names if name in BASELINES),
                tuple(name for name in names if name not in BASELINES),
                closest,
                distance,
            )
        )
    return found


def answer(study: Study) -> str:
    """What subspaces added, in a sentence or two."""
    tried = [name for name in BASELINES if any(r.finder == name for r in study.results)]
    if not tried:
        return "No baseline has a result to compare with."
    honest = {view.number for view in study.honest_views}
    who = _joined([WORDS[name] for name in tried])
    if not honest:
        return f"Neither {who} nor any finder of subspaces found more here than chance would give."
    hidden = [o.number for o in origins(study) if o.number in honest and not o.plain]
    if not hidden:
        return (
            f"Nothing that plain clustering had not seen: {who}, in all features at once, found "
            f"{'this grouping' if len(honest) == 1 else 'each of the groupings'} too. What "
            "subspaces add here is which features make the clusters."
        )
    known = len(honest) - len(hidden)
    seen = (
        f"found {known} of the {count(len(honest), 'grouping')}" if known else "found none of them"
    )
    only = _joined([str(n) for n in hidden])
    return (
        f"In all features at once, {who} {seen}; view{'s' * (len(hidden) > 1)} {only} "
        f"{'were' if len(hidden) > 1 else 'was'} found only by finders that look for subspaces."
    )


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
