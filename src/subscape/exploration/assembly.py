"""From scored views to a study: all rows assigned, clusters explained, results mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.parallel import local
from subscape.validation.criteria import smallest_cluster
from subscape.validation.fitted_tails import Interval
from subscape.validation.max_statistic import SURE

from .assess import NullMaxima, ViewStability, cluster_scores
from .boxes import BoxScorer
from .candidates import Candidate, groupings, row_distances
from .explain import (
    FeatureEvidence,
    facts,
    feature_evidence,
    in_table_columns,
    own_features,
    sentence,
    shown_values,
)
from .ideas import IdeaView, is_version
from .information import redundancy
from .known_groupings import agreement
from .levels import Merge, merge_tree
from .new_rows import READ_AGAIN, like_before
from .parted_tables import BLOCK, PartedTable
from .power import Power, detectable
from .rule import Rule, learn, learn_neighbours
from .scorers import members
from .separation import principal_directions
from .study import NearMiss, Result, Study, View
from .verdict import joined
from .views import SAME, Consensus, in_order

if TYPE_CHECKING:
    from .protocols import SearchedTable as Exploration


#: Rows in the pictures.
MOST_SHOWN = 5000
#: Groupings that are no views and yet are told about.
MOST_NEAR_MISSES = 3


@dataclass(frozen=True, eq=False)
class AssessedView:
    """A view with what chance and samples say; nothing where these were not asked."""

    view: Consensus
    chance: NullMaxima | None = None
    again: ViewStability | None = None
    #: Where it follows another idea than clouds or boxes; how many ideas were tried; why this one.
    idea: IdeaView | None = None
    n_ideas: int = 1
    note: str = ""
    #: Whether its clusters are mere pieces of another view's groups, which no valley parts.
    are_pieces: bool = False

    @property
    def p_value(self) -> float:
        """Probability under chance, for all ideas that were tried (Bonferroni)."""
        if self.are_pieces:
            return 1.0
        if self.idea is not None:
            return min(1.0, self.n_ideas * self.idea.p_value)
        if self.chance is None:
            return float("nan")
        return min(1.0, self.n_ideas * self.chance.p_value(self.view.score, self.view.normal_score))

    @property
    def interval(self) -> Interval | None:
        """Where the p-value is (95 %); None if it was counted."""
        if self.are_pieces or not self.p_value < self.n_ideas / (self.n_tables + 1) - 1e-12:
            return None
        if self.idea is not None:
            found = self.idea.interval
        elif self.chance is None:
            found = None
        else:
            found = self.chance.interval(self.view.score, self.view.normal_score)
        return None if found is None else found.times(self.n_ideas)

    @property
    def n_tables(self) -> int:
        """Tables without groups, of the kind of which there are fewest, behind the p-value."""
        if self.idea is not None:
            return self.idea.n_tables
        if self.chance is None:
            return 0
        kinds = (self.chance.maxima, self.chance.curve_maxima)
        return min((len(maxima) for maxima in kinds if maxima), default=0)


def in_reading_order(views: Sequence[View]) -> list[int]:
    """Places of the views as they are read: sure ones first, and of these what can be claimed.

    A reader takes the first view for the answer. A view none of whose clusters can be claimed says
    that there are groups, but not which. Of the others those go first of which p-values are as sure
    as they get; where neither decides, views stay in their order.
    """
    return sorted(range(len(views)), key=lambda place: _doubts(views[place]))


def _doubts(view: View) -> tuple[bool, bool, bool]:
    """What speaks against taking a view for the answer, the gravest first."""
    if not view.p_value <= Study.LEVEL:
        return (True, False, False)
    return (False, not view.claimed_clusters.any(), not view.p_value < SURE)


def assemble(job: Exploration, outcome: Sequence[AssessedView], *, provisional: bool) -> Study:
    """The study of an exploration."""
    shown = rows_shown(job)
    placed = [_placed(job, one, provisional) for one in outcome]
    evidence = _evidence(job, placed, provisional)
    made = [
        _view(job, 0, one, its, told, shown)
        for one, its, told in zip(outcome, placed, evidence, strict=True)
    ]
    order = in_reading_order(made)
    views = tuple(replace(made[place], number=number) for number, place in enumerate(order, 1))
    ordered = [outcome[place] for place in order]
    between = np.eye(len(views))
    for i in range(1, len(views)):
        # Two at a time: of many rows the labels of all views take much memory.
        labels = views[i].labels
        for j in range(i):
            between[i, j] = between[j, i] = redundancy(labels, views[j].labels)
    everything = _everything(job, provisional)
    distances = row_distances(everything, job.compared_pairs)
    chance = None if provisional else job.chance
    drawn = shown_values(job.searched, [view.facts for view in views], shown)
    return Study(
        views=views,
        results=_results(everything, ordered, distances),
        distances=distances,
        failures=tuple(
            (str(run.note.get("title", run.id)), str(run.error)) for run in job.runs if not run.ok
        ),
        between_views=between,
        table_schema=tuple(
            {"name": c.name, "role": c.role, "kind": c.kind, "note": c.unused or c.note}
            | {key: value for key in READ_AGAIN if (value := getattr(c, key))}
            for c in job.table.schema
        ),
        shape=job.table.shape,
        feature_names=job.table.feature_names,
        row_names=job.table.row_names,
        searched_rows=job.rows,
        shown_rows=job.rows[shown],
        value_features=drawn[0],
        values=drawn[1],
        chance=() if chance is None else chance.maxima,
        curve_chance=() if chance is None else chance.curve_maxima,
        near_misses=_near_misses(job, everything, ordered, distances, provisional),
        power=None if chance is None else _power(job, chance),
        notes=(
            *job.table.notes,
            *job.ready.notes,
            *_how_judged(job),
            *_left_to_do(job, provisional),
        ),
        settings=_settings(job),
        recipes=job.ready.recipes,
        truth=tuple(
            {"name": name, "views": [agreement(known, view.labels) for view in views]}
            for name, known in job.truth.items()
        ),
        is_provisional=provisional,
        part_lengths=job.table.part_lengths if isinstance(job.table, PartedTable) else (),
        folder=None if job.folder is None else str(job.folder),
    )


def _how_judged(job: Exploration) -> list[str]:
    if not isinstance(job.scorer, BoxScorer):
        return []
    return [
        "groups that are each narrow in features of their own describe this table best, and all "
        "groupings are judged as such"
    ]


def _left_to_do(job: Exploration, provisional: bool) -> list[str]:
    if not provisional or len(job.rows) == job.table.n_rows:
        return []
    return [
        f"stopped before the {job.table.n_rows - len(job.rows)} rows that were not searched were "
        "put into clusters"
    ]


def _settings(job: Exploration) -> dict[str, Any]:
    from subscape.runs.identity import environment

    other = [] if job.scorers.boxes is None else ["boxes"]
    return {
        "effort": job.plan.effort,
        "seed": job.plan.seed,
        "time": job.time,
        "searched_rows": len(job.rows),
        "runs": len(job.runs),
        "null_tables": job.plan.n_null if job.chance is None else len(job.chance.maxima),
        "ideas": ", ".join(["clouds", *other, *job.ideas]),
        **({"not_run": job.plan.not_run_in_words()} if job.plan.not_run else {}),
        "source": str(job.table.source.get("path", "")),
        **{key: job.table.source[key] for key in ("library_size",) if key in job.table.source},
        **({"to_come": job.to_come} if job.to_come else {}),
        **({"left_out": joined(job.left_out)} if job.left_out else {}),
        **environment(),
    }


def rows_shown(job: Exploration) -> IndexArray:
    """Positions, among the rows that were searched, of those in the pictures."""
    n_rows = len(job.rows)
    if n_rows <= MOST_SHOWN:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([job.seed, 2]).choice(n_rows, MOST_SHOWN, replace=False))


def _everything(job: Exploration, provisional: bool) -> list[Candidate]:
    """Every grouping that some run found, also those that describe the table no better than none.

    Somebody who stops the search need not wait for more than is known already.
    """
    if provisional and job.candidates:
        return job.candidates
    known = {candidate.name: candidate for candidate in job.candidates}
    found = []
    for run, place, clustering, labels in groupings(list(job.runs)):
        one = known.get(f"{run.id}#{place}")
        if one is None:
            told = job.scorer(labels, members(clustering))
            one = Candidate(run, place, clustering, labels, told.score, told.gain, told.basis)
        found.append(one)
    return found


def _near_misses(
    job: Exploration,
    everything: Sequence[Candidate],
    outcome: Sequence[AssessedView],
    distances: FloatArray,
    provisional: bool,
) -> tuple[NearMiss, ...]:
    """The clearest groupings that are no views, nor versions of any; nor of each other."""
    chance = None if provisional else job.chance
    in_views = {member.name for one in outcome for member in one.view.members}
    chosen: list[int] = []
    for i in sorted(range(len(everything)), key=lambda i: (-everything[i].score, i)):
        one = everything[i]
        if one.name in in_views or (distances[i, chosen] < SAME).any():
            continue
        if any(is_version(one.labels, other.view.labels) for other in outcome):
            continue
        chosen.append(i)
        if len(chosen) == MOST_NEAR_MISSES:
            break
    alone = [_as_consensus(everything[i]) for i in chosen]
    stability = np.full(len(chosen), np.nan)
    # Where something is claimed, nobody waits for what is not.
    is_asked = not any(one.p_value <= Study.LEVEL for one in outcome) and chance is not None
    if is_asked and chosen and job.journal.decide("samples of candidates", job._in_time):
        stability = np.array([again.stability for again in job._again(alone)])
    n_ideas = 1 + len(job.ideas)
    misses = []
    for i, found, steady in zip(chosen, alone, stability, strict=True):
        one = everything[i]
        p = float("nan") if chance is None else min(1.0, n_ideas * chance.p_value(one.score))
        clustering, information = in_table_columns(
            job.searched, job.ready, found.memberships, found.memberships
        )
        told = clustering.sizes @ np.maximum(information, 0.0)
        best = [int(j) for j in np.argsort(-told, kind="stable")[:4] if told[j] > 0]
        misses.append(
            NearMiss(
                name=one.name,
                finder=one.finder,
                title=one.title,
                n_clusters=one.clustering.n_clusters,
                score=float(one.score),
                p_value=p,
                stability=float(steady),
                features=tuple(job.table.feature_names[j] for j in best),
                missing_redundancy=_told_by_missing(job, one.labels),
            )
        )
    return tuple(misses)


def _as_consensus(one: Candidate) -> Consensus:
    return Consensus(
        members=[one], places=[], memberships=one.clustering.memberships.toarray() > 0,
        labels=one.labels, row_confidence=np.ones(len(one.labels)), score=one.score, gain=one.gain,
        entropy=float("nan"), basis=one.basis,
    )  # fmt: skip


def _power(job: Exploration, chance: NullMaxima) -> Power | None:
    n_rows, n_directions = job.scorer.Z.shape
    return detectable(
        n_rows,
        n_directions,
        chance,
        n_ideas=1 + len(job.ideas),
        boxes=isinstance(job.scorer, BoxScorer),
        seed=job.seed,
    )


def make_view(
    job: Exploration,
    number: int,
    one: AssessedView,
    shown: IndexArray,
    provisional: bool,
    *,
    everyone: bool = False,
) -> View:
    """A view of the study: all rows assigned, its clusters explained.

    With ``everyone``, clusters that are too small to be seen are kept, too.
    """
    placed = _placed(job, one, provisional, everyone=everyone)
    return _view(job, number, one, placed, _evidence(job, [placed], provisional)[0], shown)


@dataclass(frozen=True, eq=False)
class _Placed:
    """The clusters of a view, the largest first, with all rows put into them.

    ``order`` has their places in the view, ``labels`` and ``memberships`` the rows searched,
    ``assigned`` all rows, ``information`` what each feature tells about each cluster.
    """

    order: IndexArray
    labels: IntArray
    memberships: BoolArray
    rule: Rule
    assigned: Any
    confidence: FloatArray
    clustering: SubspaceClustering
    information: FloatArray


def _placed(
    job: Exploration, one: AssessedView, provisional: bool, *, everyone: bool = False
) -> _Placed:
    found = one.view
    order = in_order(found) if everyone else _large_enough(found, len(job.rows))
    memberships = found.memberships[order]
    renumber = np.full(len(found.memberships) + 1, -1)
    renumber[order] = np.arange(len(order))
    labels = renumber[found.labels]
    if one.idea is None:
        rule = learn(job.X, labels, job.scorer)
    else:
        rule = learn_neighbours(job.X, labels, one.idea.basis, job.seed)
    assigned, confidence = _all_rows(
        job, memberships, found.row_confidence, None if provisional else rule
    )
    own = None
    if isinstance(job.scorer, BoxScorer) and one.idea is None:
        own = job.scorer.boxes(labels, memberships).own
    clustering, information = in_table_columns(job.table, job.ready, memberships, assigned, own)
    return _Placed(order, labels, memberships, rule, assigned, confidence, clustering, information)


def _evidence(
    job: Exploration, placed: Sequence[_Placed], provisional: bool
) -> list[FeatureEvidence | None]:
    """Which features tell the clusters of each view, by rows and values that did not make it."""
    if provisional:
        return [None] * len(placed)
    ready = local.Shared(job.ready)
    calls = [(ready, its.labels, its.information) for its in placed]
    return list(local.in_order(feature_evidence, calls, job.jobs, what="view"))


def _view(
    job: Exploration,
    number: int,
    one: AssessedView,
    placed: _Placed,
    told: FeatureEvidence | None,
    shown: IndexArray,
) -> View:
    found, order, labels = one.view, placed.order, placed.labels
    clustering, assigned = placed.clustering, placed.assigned
    listed = facts(
        job.searched, job.ready, clustering, placed.information, placed.memberships, told
    )
    again = one.again
    nothing = np.full(len(order), np.nan)
    n_own = (own_features(clustering) & job.ready.searched).sum(axis=1)
    basis = _two_directions(_telling_first(found.basis, job.X, labels), job.X)
    by_cluster = _cluster_p_values(job, one, labels, len(order))
    return View(
        number=number,
        clustering=clustering,
        row_confidence=placed.confidence,
        finders=one.idea.finders
        if one.idea is not None
        else tuple(dict.fromkeys(member.finder for member in found.members)),
        run_ids=tuple(dict.fromkeys(member.run.id for member in found.members)),
        titles=tuple(dict.fromkeys(member.title for member in found.members)),
        score=float(found.score),
        p_value=one.p_value,
        stability=float("nan") if again is None else again.stability,
        replication=float("nan") if again is None else again.replication,
        cluster_stability=nothing if again is None else again.clusters[order],
        cluster_p_values=np.array([p for p, _ in by_cluster]),
        cluster_p_intervals=tuple(interval for _, interval in by_cluster),
        facts=listed,
        descriptions=tuple(
            sentence(k, int(assigned[[k]].sum()), job.table.n_rows, listed[k], int(n_own[k]))
            for k in range(len(order))
        ),
        coordinates=job.X[shown] @ basis,
        loadings=_loadings(job, basis),
        missing_redundancy=_told_by_missing(job, labels),
        rule=placed.rule,
        idea=_idea(job, one),
        idea_note=one.note,
        merges=_merges(job, one, labels, order),
        n_tables=one.n_tables,
        n_ideas=one.n_ideas,
        p_interval=one.interval,
    )


def _large_enough(found: Consensus, n_rows: int) -> IndexArray:
    """Clusters from the largest to the smallest; those too small to be seen are noise."""
    order = in_order(found)
    large = found.memberships[order].sum(axis=1) >= smallest_cluster(n_rows)
    return order[large] if large.any() else order


def _idea(job: Exploration, one: AssessedView) -> str:
    if one.idea is not None:
        return one.idea.idea
    return "boxes" if isinstance(job.scorer, BoxScorer) else "clouds"


def _cluster_p_values(
    job: Exploration, one: AssessedView, labels: IntArray, n_clusters: int
) -> list[tuple[float, tuple[float, float] | None]]:
    """Of each cluster against the one next to it; for other ideas, of the view as a whole.

    Each with where it is (95 %), if it was read from a fitted tail.
    """
    if one.idea is not None or one.chance is None:
        return [(one.p_value, one.interval)] * n_clusters
    scores = cluster_scores(labels, job.scorer)
    # A cluster all of whose rows are in others, too, may have no row that is called after it.
    scores += [-np.inf] * (n_clusters - len(scores))
    return [
        _with_interval(
            one.chance.cluster_p_value(score), one.chance.cluster_interval(score), one.n_ideas
        )
        for score in scores
    ]


def _with_interval(
    p_value: float, found: Interval, n_ideas: int
) -> tuple[float, tuple[float, float] | None]:
    """A p-value for all ideas that were tried, and where it is if it was not counted."""
    fitted = found.low < found.high
    return min(1.0, n_ideas * p_value), found.times(n_ideas) if fitted else None


def _merges(
    job: Exploration, one: AssessedView, labels: IntArray, order: IndexArray
) -> tuple[Merge, ...]:
    """The tree of a view: its clusters merged step by step."""
    if one.again is None:
        return ()
    samples = one.again.samples
    if one.idea is not None:
        seen = job.X @ one.idea.basis
        back = np.append(order, -1)
        own_gain = one.idea.gain
        nested = one.idea.idea == "nested"
        return merge_tree(
            labels, seen, lambda given: own_gain(back[given]), None, samples, by_centres=nested
        )
    chance = one.chance

    def p_value(given: IntArray) -> tuple[float, tuple[float, float] | None]:
        if chance is None:
            return float("nan"), None
        score = job.compared(given).score
        return _with_interval(chance.p_value(score), chance.interval(score), one.n_ideas)

    seen = job.X @ one.view.basis
    return merge_tree(
        labels, seen, lambda given: job.scorer(given).gain, p_value, samples, by_centres=True
    )


def _all_rows(
    job: Exploration, memberships: BoolArray, confidence: FloatArray, rule: Rule | None
) -> tuple[BoolArray | sparse.csr_array, FloatArray]:
    """Memberships and confidence of every row of the table.

    Without a rule, rows that were not searched are in no cluster: putting in millions takes longer
    than somebody waits who wants to stop.
    """
    n_rows = job.table.n_rows
    if len(job.rows) == n_rows:
        return memberships, confidence
    if isinstance(job.table, PartedTable):
        return _rows_of_parts(job, job.table, memberships, confidence, rule)
    everyone = np.zeros((len(memberships), n_rows), dtype=bool)
    sure = np.zeros(n_rows)
    if rule is not None:
        for start in range(0, n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_rows))
            labels, sure[rows] = rule(like_before(job.ready.recipes, job.table.take(rows)))
            inside = labels >= 0
            everyone[labels[inside], rows[inside]] = True
    everyone[:, job.rows] = memberships
    sure[job.rows] = confidence
    return everyone, sure


def _rows_of_parts(
    job: Exploration,
    table: PartedTable,
    memberships: BoolArray,
    confidence: FloatArray,
    rule: Rule | None,
) -> tuple[sparse.csr_array, FloatArray]:
    """The same where the rows are in parts: they are put into clusters where they are."""
    if rule is None:
        labels, sure = np.full(table.n_rows, -1, np.int32), np.zeros(table.n_rows)
    else:
        labels, sure = table.assigned(job.ready.recipes, rule).here()
    labels[job.rows], sure[job.rows] = -1, confidence
    sizes = [int((labels == k).sum() + own.sum()) for k, own in enumerate(memberships)]
    starts = np.cumsum([0, *sizes])
    # Of many millions of rows every further copy is felt.
    indices = np.empty(starts[-1], np.int32)
    for k, searched in enumerate(memberships):
        own = np.concatenate([np.flatnonzero(labels == k), job.rows[searched]])
        indices[starts[k] : starts[k + 1]] = np.sort(own)
    del labels
    shape = (len(memberships), table.n_rows)
    return sparse.csr_array((np.ones(len(indices), bool), indices, starts), shape=shape), sure


def _telling_first(basis: FloatArray, X: FloatArray, labels: IntArray) -> FloatArray:
    """The directions along which the middles of the clusters lie apart, where all are in use.

    Such a basis has no order of its own: its first two directions are those of the first columns.
    """
    numbers = np.unique(labels[labels >= 0])
    if basis.shape[1] <= 2 or not np.array_equal(basis, np.eye(len(basis))) or len(numbers) < 2:
        return basis
    rows = [labels == number for number in numbers]
    middles = np.array([X[own].mean(axis=0) for own in rows])
    weights = np.array([own.sum() for own in rows], dtype=np.float64)
    apart = (middles - np.average(middles, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    return principal_directions(apart, min(2, len(numbers) - 1))


def _two_directions(basis: FloatArray, X: FloatArray) -> FloatArray:
    """The first two directions, with signs fixed; filled up by the widest of the others."""
    two = basis[:, :2]
    if two.shape[1] < 2 and X.shape[1] >= 2:
        rest = X - (X @ two) @ two.T
        missing = min(2 - two.shape[1], len(X))
        two = np.column_stack([two, principal_directions(rest - rest.mean(axis=0), missing)])
    if two.shape[1] < 2:
        two = np.column_stack([two, np.zeros((X.shape[1], 2 - two.shape[1]))])
    strongest = np.abs(two).argmax(axis=0)
    signs = np.sign(two[strongest, np.arange(2)])
    return two * np.where(signs == 0, 1.0, signs)


def _loadings(job: Exploration, basis: FloatArray) -> FloatArray:
    """How much each feature takes part in the directions; with a sign where it is a number."""
    ready = job.ready
    size = np.sqrt(ready.fold(np.square(basis.T)))
    numbers = np.zeros(basis.shape[0], dtype=bool)
    numbers[ready.numeric] = True
    signs = np.sign(ready.fold(np.where(numbers, basis.T, 0.0)))
    return (size * np.where(signs == 0, 1.0, signs)).T


def _told_by_missing(job: Exploration, labels: IntArray) -> float:
    """The most that the gaps of one feature, or their number, tell about the labels."""
    absent = job.ready.absent
    if not absent.any():
        return 0.0
    told = [redundancy(labels, absent[:, j]) for j in np.flatnonzero(absent.any(axis=0))]
    return float(max(*told, redundancy(labels, absent.sum(axis=1)), 0.0))


def _results(
    everything: Sequence[Candidate], outcome: Sequence[AssessedView], distances: FloatArray
) -> tuple[Result, ...]:
    home = {
        member.name: number for number, one in enumerate(outcome, 1) for member in one.view.members
    }
    places = _map(distances)
    return tuple(
        Result(
            name=candidate.name,
            finder=candidate.finder,
            title=candidate.title,
            n_clusters=candidate.clustering.n_clusters,
            score=float(candidate.score),
            seconds=float(candidate.run.seconds),
            view=home.get(candidate.name, 0),
            x=float(places[i, 0]),
            y=float(places[i, 1]),
        )
        for i, candidate in enumerate(everything)
    )


def _map(distances: FloatArray) -> FloatArray:
    """Places in the plane whose distances are about the given ones (classical scaling)."""
    n = len(distances)
    if n < 2:
        return np.zeros((n, 2))
    squares = np.square(distances)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    strongest = np.abs(top).argmax(axis=0)
    signs = np.sign(top[strongest, np.arange(top.shape[1])])
    top = top * np.where(signs == 0, 1.0, signs)
    return top if top.shape[1] == 2 else np.column_stack([top, np.zeros(n)])
