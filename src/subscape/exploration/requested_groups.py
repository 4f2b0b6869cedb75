"""As many groups as somebody asks for, whatever they are worth."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from subscape.core.errors import SubscapeError, count
from subscape.core.types import IntArray
from subscape.parallel.threads import one_thread

from .assembly import AssessedView, make_view, rows_shown
from .candidates import groups_rows
from .information import canonical
from .plan import Entry, seed_of, tried_entries
from .study import Study
from .views import Consensus

if TYPE_CHECKING:
    from .exploration import Exploration

#: The fewest rows per group that can be asked for.
LEAST_ROWS_PER_GROUP = 2


def with_asked(job: Exploration, study: Study, n_clusters: int) -> Study:
    """The study with a grouping into so many clusters, marked as asked for.

    It is the first view cut there, where its tree has that level; else the clearest of what
    k-means, SubKMeans, LAC and a Gaussian mixture find with that number.

    Parameters
    ----------
    job : Exploration
        That the study is the result of.
    study : Study
    n_clusters : int
        At least 2.
    """
    check_asked(n_clusters, len(job.rows))
    finders: tuple[str, ...]
    titles: tuple[str, ...]
    labels, note = _cut(job, study, n_clusters)
    finders, titles = (), ()
    if labels is None:
        labels, finder, title = _found(job, n_clusters)
        finders, titles = (finder,), (title,)
        note = f"the clearest that could be found with {n_clusters} clusters, by {finder}"
    memberships = np.array([labels == k for k in range(int(labels.max()) + 1)])
    told = job.scorer(labels)
    view = Consensus(
        members=[], places=[], memberships=memberships, labels=labels,
        row_confidence=np.ones(len(labels)), score=told.score, gain=told.gain,
        entropy=told.entropy, basis=told.basis,
    )  # fmt: skip
    assessed = AssessedView(view, job.chance, n_ideas=1 + len(job.ideas), note=note)
    number = len(study.views) + 1
    made = make_view(job, number, assessed, rows_shown(job), study.is_provisional, everyone=True)
    return replace(study, asked=replace(made, finders=finders, titles=titles))


def check_asked(n_clusters: int, n_rows: int) -> None:
    """Refuse a number of clusters that cannot be had."""
    if not 2 <= n_clusters <= n_rows // LEAST_ROWS_PER_GROUP:
        raise SubscapeError(
            f"{count(n_clusters, 'group')} of {count(n_rows, 'row')} can't be had; ask for 2 to "
            f"{n_rows // LEAST_ROWS_PER_GROUP}"
        )


def _cut(job: Exploration, study: Study, n_clusters: int) -> tuple[IntArray | None, str]:
    """The first view at this level, if it has it."""
    if study.views and n_clusters in study.views[0].levels:
        first = study.views[0]
        how = (
            "as it is" if n_clusters == first.n_clusters else f"merged until {n_clusters} are left"
        )
        return first.at(n_clusters)[job.rows], f"view {first.number}, {how}"
    return None, ""


def _found(job: Exploration, n_clusters: int) -> tuple[IntArray, str, str]:
    """The clearest that the finders give with this number: labels, finder, and its title."""
    entries = tried_entries("asked", [n_clusters], (*job.Z.shape, 0))
    best: tuple[float, IntArray, Entry] | None = None
    for place, entry in enumerate(entries):
        finder = entry.make()
        if hasattr(finder, "random_state"):
            finder.set_params(random_state=seed_of(job.seed, 43, place))
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")
            try:
                labels = canonical(np.asarray(finder.fit_predict(job.Z)))
            except ValueError:
                # A finder that can't do with this table finds nothing in it.
                continue
        if len(np.unique(labels[labels >= 0])) != n_clusters:
            continue
        score = job.scorer(labels).score if groups_rows(labels) else -np.inf
        if best is None or score > best[0]:
            best = score, labels, entry
    if best is None:
        raise SubscapeError(f"no finder gives {count(n_clusters, 'group')} of this table")
    return best[1], best[2].finder, best[2].title()
