"""A paragraph on what was done, to paste into a paper, with its references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from subscape.core.errors import count
from subscape.exploration.verdict import interval_words
from subscape.finders.catalogue import CATALOGUE, of_role
from subscape.version import __version__

from .wording import compared, number

#: What notes propose to their reader, which is nothing for a paper.
_ADVICE = re.compile(
    r"; (?:give it the role|if these are codes|without the signs|if it is one like).*", re.DOTALL
)

if TYPE_CHECKING:
    from subscape.exploration.study import Study, View


class Methods(NamedTuple):
    """Paragraph and numbered references."""

    paragraph: str
    references: list[str]


def methods(study: Study) -> Methods:
    """What was done with this table."""
    cited: list[str] = []

    def cite(name: str) -> str:
        reference = citation(name)
        if reference is None:
            return ""
        if reference not in cited:
            cited.append(reference)
        return f" [{cited.index(reference) + 1}]"

    sentences = [
        _what(study),
        *_table(study),
        *_search(study, cite),
        "The clusterings were compared as groupings of the rows by the clustering error"
        f"{cite('clustering error')} and grouped by average linkage, as in meta clustering"
        f"{cite('MetaClustering')}; the members of each group voted, cluster by cluster, about "
        "every row, which gave one view per group.",
        "Views are ranked by the information (nats per row) that telling their clusters apart "
        "gains, in the directions in which they differ and less the cost of the parameters, per "
        "nat that the cluster numbers themselves tell, and by how little they repeat views ranked "
        "before them.",
        *_chance(study),
        "Stability is the mean adjusted Rand index"
        f"{cite('adjusted Rand index')} between a view and what the same search finds on samples "
        "of the rows; replication is the agreement of two halves of the rows about the second.",
        "A feature belongs to a cluster by the Kullback-Leibler divergence of the cluster's rows "
        "from all rows in it; intervals hold the middle 90 % of a cluster's rows, and effect sizes "
        "are Cohen's d between a cluster and the other rows.",
        *_outcome(study),
    ]
    return Methods(" ".join(sentences), cited)


def _what(study: Study) -> str:
    settings = study.settings
    version = settings.get("version", __version__)
    told = [
        f"{word} {settings[key]}"
        for key, word in (("effort", "effort"), ("seed", "seed"))
        if settings.get(key) is not None
    ]
    with_what = f" ({', '.join(told)})" if told else ""
    text = (
        f"A table of {count(study.shape[0], 'row')} and {count(study.shape[1], 'feature')} was "
        f"explored with Subscape {version}{with_what}"
    )
    if 0 < len(study.searched_rows) < study.shape[0]:
        text += (
            f"; the search saw {count(len(study.searched_rows), 'row')} drawn at random, and the "
            "others were assigned to the clusters found"
        )
    return f"{text}."


def _table(study: Study) -> list[str]:
    told = (_ADVICE.sub("", note) for note in study.notes)
    return [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in told]


def _search(study: Study, cite: Callable[[str], str]) -> list[str]:
    names = list(dict.fromkeys(r.finder for r in study.results))
    if not names:
        return []
    baselines = of_role("baseline")
    plain = [n for n in names if n in baselines]
    own = [n for n in names if n not in baselines]
    parts = [_cited(own, cite)] if own else []
    if plain:
        parts.append(f"{'as baselines ' if own else ''}{_cited(plain, cite)}")
    text = f"{count(len(study.results), 'clustering')} came from {', and '.join(parts)}"
    if study.failures:
        text += f"; {count(len(study.failures), 'run')} failed"
    return [f"{text}."]


def _cited(names: Iterable[str], cite: Callable[[str], str]) -> str:
    words = [f"{name}{cite(name)}" for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _chance(study: Study) -> list[str]:
    if not study.chance:
        return []
    fitted = [view for view in study.views if view.is_fitted]
    ideas = max((view.n_ideas for view in study.views), default=1)
    text = [
        "Scores were compared with the best ones that a reduced search reached on each of "
        f"{count(len(study.chance), 'table')} drawn from a Gaussian copula, which keep the "
        "columns' distributions (those with several humps by the dip test are given one) and "
        "correlations but have no groups; a view counts as better than "
        f"chance from p ≤ {study.LEVEL:g}."
    ]
    if ideas > 1:
        text.append(f"p-values are multiplied by {ideas}, the number of ideas of a group tried.")
    if fitted:
        fewest = min(view.n_tables for view in fitted)
        text.append(
            f"Where none of the {count(fewest, 'table')} reached a score, its p-value is the "
            "probability that one more would, given these, by a Gumbel distribution fitted to "
            "their best scores (fitted tail; a gamma distribution for classes in levels, and an "
            "exponential tail where most of these scores are equal), "
            "unless a test of that tail's shape refuses it at the 1 % level, and then it is "
            "counted; the interval, of views, levels and clusters alike, holds it in 95 of 100 "
            "cases if the fitted law is the right one. "
            f"Counted, p is at most {ideas} in {fewest + 1}."
        )
    return text


def _outcome(study: Study) -> list[str]:
    honest = study.significant_views
    if not honest:
        more = [] if study.power is None else [study.power.words()]
        return ["No grouping was better than chance.", *more]
    told = [
        f"view {view.number} ({count(view.n_clusters, 'cluster')}, p {compared(view.p_value)}"
        f"{_by_fit(view)}, "
        f"stability {number(view.stability)})"
        for view in honest
    ]
    words = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return [f"Better than chance: {words}."]


def _by_fit(view: View) -> str:
    """That a p-value is from a fitted tail, with its interval."""
    if not view.is_fitted:
        return ""
    if view.p_interval is None:
        return " by the fitted tail"
    return f" by the fitted tail, 95 % interval {interval_words(view.p_interval)}"


# -- the papers behind what a study did, as they stand in a list of references ---------------------


#: Papers of methods that are no finders, with DOI; those of finders are in the catalogue.
METHODS = {
    "CloudSearch": (
        "C. Ding, T. Li. Adaptive dimension reduction using discriminant analysis and k-means "
        "clustering. ICML 2007",
        "10.1145/1273496.1273562",
    ),
    "clustering error": (
        "A. Patrikainen, M. Meilă. Comparing subspace clusterings. IEEE Transactions on Knowledge "
        "and Data Engineering 18(7), 2006",
        "10.1109/TKDE.2006.106",
    ),
    "adjusted Rand index": (
        "L. Hubert, P. Arabie. Comparing partitions. Journal of Classification 2, 1985",
        "10.1007/BF01908075",
    ),
}


def citation(name: str) -> str | None:
    """Reference of a finder or method, or None if it has none.

    >>> citation("P3C")
    'G. Moise, J. Sander, M. Ester. P3C: a robust projected clustering algorithm. ICDM 2006. \
doi:10.1109/ICDM.2006.123'
    """
    if name in METHODS:
        text, doi = METHODS[name]
        return f"{text}. doi:{doi}"
    return CATALOGUE[name].citation if name in CATALOGUE else None
