"""Whether views are more than chance, come back, and hold in the other half of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.measures.labels.partitions import adjusted_rand_score
from subscape.parallel.local import Shared, in_order
from subscape.parallel.threads import one_thread
from subscape.runs.store import Run, Task
from subscape.validation.criteria import smallest_cluster
from subscape.validation.max_statistic import NullMaxima, gumbel_p_value
from subscape.validation.nulls import NullModel
from subscape.validation.stability.clusters import best_jaccard
from subscape.validation.valleys import CurveNull, is_bent

from .boxes import BoxScorer
from .candidates import groups_rows
from .clouds import climb, search_clouds
from .information import canonical
from .journal import Journal
from .plan import MOST_COLUMNS_BOXES, NUMBERS, Entry, Plan, seed_of
from .progress import Progress
from .rule import learn
from .separation import GroupingScorer, project_out
from .views import Consensus

#: Tables without groups have at most so many rows: with fewer, chance reaches farther.
MOST_NULL_ROWS = 2000
#: The same where finders of boxes, which are slow, are run.
MOST_BOX_ROWS = 1000
#: Each view is searched again on so many samples, of this share of the rows.
RESAMPLES = {"quick": 3, "normal": 6, "thorough": 12}
SAMPLE_SHARE = 0.7


def chance_entries(
    numbers: Sequence[int], n_columns: int = 2, *, boxes: bool = False
) -> list[Entry]:
    """Finders that are run on tables without groups beside the quick search for clouds.

    Those that group rows in ways of their own: by weights of the features, by unequal spreads.
    Where results are scored as boxes, also finders of these, and of groups they could be cut from.
    """
    entries = [Entry("LAC", {"n_clusters": k, "n_init": 2}) for k in numbers[:3]]
    entries += [
        Entry("GaussianMixture", {"n_components": k, "covariance_type": "diag", "reg_covar": 1e-3})
        for k in numbers[:2]
    ]
    if not boxes:
        return entries
    entries += [Entry("KMeans", {"n_clusters": k, "n_init": 3}) for k in numbers]
    if 2 <= n_columns <= MOST_COLUMNS_BOXES:
        entries += [Entry("MineClus"), Entry("P3C")]
    return entries


#: Models of tables without groups that were learned last: many tables are drawn from each.
_MODELS: dict[tuple[Any, ...], Any] = {}
MOST_MODELS = 8


def null_model(X: FloatArray, kind: str) -> Any:
    """The model of tables without groups like ``X``, learned once."""
    key = (X.shape, hash(X.tobytes()), kind)
    if key not in _MODELS:
        while len(_MODELS) >= MOST_MODELS:
            _MODELS.pop(next(iter(_MODELS)))
        _MODELS[key] = CurveNull(X) if kind == "curve" else NullModel(X, "unimodal")
    return _MODELS[key]


def null_score(
    X: FloatArray,
    entries: Sequence[Entry],
    seed: int,
    few_valued: IndexArray | None = None,
    boxes: bool = False,
    kind: str = "unimodal",
    numbers: Sequence[int] = (),
) -> tuple[float, float]:
    """Best score, of a grouping and of a cluster, on a table without groups like ``X``.

    ``few_valued`` are columns as for :class:`GroupingScorer`; with ``boxes``, they are scored so.
    The search is repeated on what is left when the best grouping is taken out, as on the table
    itself. Minus infinity if no finder could do with the table.
    """
    most = MOST_BOX_ROWS if boxes else MOST_NULL_ROWS
    if len(X) > most:
        # The same rows for all tables, so that their model is learned once.
        rng = np.random.default_rng(len(X))
        X = X[np.sort(rng.choice(len(X), most, replace=False))]
    with one_thread():
        table = null_model(X, kind).draw(np.random.SeedSequence(seed))
        scorer = GroupingScorer(table, few_valued)
        if scorer.Z.shape[1] < table.shape[1]:
            table = scorer.Z
        if boxes:
            scorer = BoxScorer(scorer)
        best, best_cluster, basis = _best(table, entries, scorer, seed, numbers)
        if basis is not None and basis.shape[1] < table.shape[1]:
            if len(basis) > table.shape[1]:
                basis = np.linalg.qr(scorer.directions.T @ basis)[0]
            more = _best(project_out(table, basis), entries, scorer, seed + 1, numbers)
            best, best_cluster = max(best, more[0]), max(best_cluster, more[1])
    return best, best_cluster


def _best(
    table: FloatArray,
    entries: Sequence[Entry],
    scorer: GroupingScorer,
    seed: int,
    numbers: Sequence[int] = (),
) -> tuple[float, float, FloatArray | None]:
    """Score of the best result and of its clearest cluster, and the directions that it is in."""
    best, chosen, basis = -np.inf, None, None
    if numbers:
        found, labels = search_clouds(table, numbers, scorer, np.random.default_rng(seed))
        if found is not None:
            best, chosen, basis = found.score, labels, found.basis
    for place, entry in enumerate(entries):
        finder = entry.make()
        if hasattr(finder, "random_state"):
            finder.set_params(random_state=seed_of(seed, place))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                labels = finder.fit_predict(table)
            except ValueError:
                # A finder that can't do with this table finds nothing in it.
                continue
        if not groups_rows(labels):
            continue
        verdict = scorer(labels)
        if verdict.score > best:
            best, chosen, basis = verdict.score, labels, verdict.basis
    if numbers and chosen is not None:
        found, chosen = climb(table, chosen, scorer)
        best, basis = found.score, found.basis
    # As in the table itself, where the clusters of a view are looked at, not those of all results.
    best_cluster = -np.inf if chosen is None else max(cluster_scores(chosen, scorer))
    return best, best_cluster, basis


def cluster_scores(labels: NDArray[Any], scorer: GroupingScorer) -> list[float]:
    """How clearly each cluster stands out from the one next to it.

    That is the gain that is lost when the two are merged, per nat that tells them apart. (Against
    all the rest together a cluster between two others would never stand out.)
    """
    n_clusters = int(labels.max(initial=-1)) + 1
    shares = np.bincount(labels[labels >= 0], minlength=n_clusters) / len(labels)
    whole = scorer(labels)
    if (shares > 0).sum() < 2:
        return [whole.score] * n_clusters
    seen = scorer.Z @ (scorer.directions.T @ whole.basis)
    seen = seen / np.maximum(seen.std(axis=0), 1e-300)
    # A cluster all of whose rows are in others, too, may have none that is called after it.
    far = np.full(seen.shape[1], np.inf)
    centres = np.array(
        [seen[labels == k].mean(axis=0) if shares[k] else far for k in range(n_clusters)]
    )
    scores = []
    for k in range(n_clusters):
        if not shares[k]:
            scores.append(-np.inf)
            continue
        away = np.square(centres - centres[k]).sum(axis=1)
        away[k] = np.inf
        nearest = int(away.argmin())
        merged = scorer(np.where(labels == k, nearest, labels)).gain
        both = shares[k] + shares[nearest]
        parts = np.array([shares[k], shares[nearest]]) / both
        told = -both * (parts * np.log(parts)).sum()
        scores.append(float((whole.gain - merged) / told))
    return scores


# -- again, on samples ----------------------------------------------------------------------------


def resampling_tasks(
    tasks: Sequence[Task], n_rows: int, effort: str, seed: int
) -> list[list[Task]]:
    """The searches to be repeated: for each sample of the rows, all of ``tasks``.

    The first two samples are the two halves of the rows.
    """
    return [
        [
            replace(task, rows=rows, seed=seed_of(seed, 7, s, place))
            for place, task in enumerate(tasks)
        ]
        for s, rows in enumerate(row_samples(n_rows, effort, seed))
    ]


def row_samples(n_rows: int, effort: str, seed: int) -> list[IndexArray]:
    """The two halves, then the samples; each in increasing order."""
    rng = np.random.default_rng([seed, 11])
    order = rng.permutation(n_rows)
    samples = [np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])]
    size = max(1, int(SAMPLE_SHARE * n_rows))
    for _ in range(RESAMPLES[effort]):
        samples.append(np.sort(rng.choice(n_rows, size, replace=False)))
    return samples


@dataclass(frozen=True, eq=False)
class ViewStability:
    """How a view came back.

    Attributes
    ----------
    stability : float
        Mean agreement (adjusted Rand index) of the view with what was found on samples.
    clusters : array
        For each cluster, the mean overlap (Jaccard) with its best match there.
    replication : float
        Agreement, on the second half of the rows, of what was found there with what the first
        half says about them.
    samples : tuple of (rows, labels)
        What was found on each sample.
    """

    stability: float
    clusters: FloatArray
    replication: float
    samples: tuple[tuple[IndexArray, IntArray], ...] = ()


def view_stability(
    view: Consensus, samples: Sequence[Sequence[Run]], X: FloatArray
) -> ViewStability:
    """Compare a view with what was found on each sample, the two halves first.

    On every sample the result that is most like the view counts, whichever run found it.
    """
    found = [_closest(runs, view) for runs in samples]
    agreements, overlaps = [], []
    for runs, labels in zip(samples[2:], found[2:], strict=True):
        if labels is None:
            agreements.append(0.0)
            overlaps.append(np.zeros(len(view.memberships)))
            continue
        rows = runs[0].rows
        agreements.append(_agreement(view.labels[rows], labels))
        overlaps.append(best_jaccard(view.memberships[:, rows], labels))
    replication = 0.0
    if found[0] is not None and found[1] is not None:
        rule = learn(X[samples[0][0].rows], found[0])
        foretold, _ = rule(X[samples[1][0].rows])
        replication = _agreement(foretold, found[1])
    return ViewStability(
        stability=float(np.mean(agreements)) if agreements else 0.0,
        clusters=np.mean(overlaps, axis=0) if overlaps else np.zeros(len(view.memberships)),
        replication=replication,
        samples=tuple(
            (np.asarray(runs[0].rows, dtype=np.intp), labels)
            for runs, labels in zip(samples[2:], found[2:], strict=True)
            if labels is not None
        ),
    )


def _closest(runs: Sequence[Run], view: Consensus) -> IntArray | None:
    """The labels that are most like the view among all that the runs of one sample found."""
    known = view.labels[runs[0].rows]
    options = [c.labels() for run in runs for c in run.clusterings if c.n_clusters]
    return max(options, key=lambda labels: _agreement(known, labels), default=None)


def _agreement(a: NDArray[Any], b: NDArray[Any]) -> float:
    # Noise is a group like any other here: who is in it should come back too.
    return float(adjusted_rand_score(canonical(a) + 1, canonical(b) + 1))


# -- the reduced portfolio on tables without groups, each one kept as soon as it is done -----------


#: Tables between two looks at the clock; always this many are made.
BATCH = 10
#: Numbers of clusters tried there.
MOST_NUMBERS = 5


def chance_maxima(
    X: FloatArray,
    plan: Plan,
    journal: Journal,
    progress: Progress,
    n_jobs: int | None,
    in_time: Callable[[], bool],
    few_valued: IndexArray | None = None,
    *,
    boxes: bool = False,
    scores: Sequence[float] = (),
) -> NullMaxima:
    """What the best result scores on tables like ``X`` that have no groups.

    Tables with one hump per column and, where a curve describes the numbers much better than a line
    does, tables whose rows lie along it: a gradient, bent or not, is no group. They are drawn in
    batches until more would not change the answer about any of ``scores``.

    ``few_valued`` are columns as for :class:`GroupingScorer`; with ``boxes``, results are
    scored as such, and finders of boxes join in.
    """
    numbers = [k for k in NUMBERS[plan.effort][:MOST_NUMBERS] if k <= max(2, len(X) // 5)]
    entries = chance_entries(numbers, X.shape[1], boxes=boxes)
    bends = not boxes and (few_valued is None or not len(few_valued)) and is_bent(X)
    kinds = ("unimodal", "curve") if bends else ("unimodal",)
    quick = () if boxes else tuple(numbers)
    table = Shared(X)
    found: dict[str, list[Any]] = {kind: [] for kind in kinds}
    for start in range(0, plan.n_null, BATCH):
        if start and not journal.decide(f"null tables from {start}", in_time):
            break
        places = range(start, min(start + BATCH, plan.n_null))
        names = {(kind, i): f"null {i}" if kind == "unimodal" else f"curve {i}"
                 for kind in kinds for i in places}  # fmt: skip
        todo = [each for each in names if names[each] not in journal]
        calls = [
            (table, entries, seed_of(plan.seed, 13, i), few_valued, boxes, kind, quick)
            for kind, i in todo
        ]
        results = in_order(null_score, calls, n_jobs, what="table without groups")
        for done, (each, score) in enumerate(zip(todo, results, strict=True), 1):
            outcome = list(score) if np.isfinite(score).all() else None
            journal.decide(names[each], lambda outcome=outcome: outcome)
            progress.tell("tables without groups", "chance", start + done, plan.n_null)
        for each, name in names.items():
            outcome = journal.decide(name, list)
            if outcome is not None:  # tables on which no finder worked say nothing
                found[each[0]].append(outcome)
        maxima = _as_maxima(found)
        if scores and all(maxima.is_clear(score) for score in scores):
            break
    return _as_maxima(found)


def _as_maxima(found: dict[str, list[Any]]) -> NullMaxima:
    plain, bent = found["unimodal"], found.get("curve", [])
    return NullMaxima(
        tuple(s[0] for s in plain), tuple(s[1] for s in plain),
        tuple(s[0] for s in bent), tuple(s[1] for s in bent),
    )  # fmt: skip


#: Tables without groups for the test within a group.
N_WITHIN = 10


def pieces_p_value(X: FloatArray, groups: IntArray, pieces: IntArray, seed: int) -> float:
    """Probability that clusters within groups are but the pieces that any cut makes of these.

    Each group that holds several of them is searched by itself, as are tables without groups like
    it: normal clouds that run into each other stand out, pieces of one curved group don't. The
    smallest p-value counts, times the number of groups that hold several clusters; 1 if none does.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    groups, pieces : labels
    seed : int
    """
    found: list[float] = []
    for k in np.unique(groups[groups >= 0]):
        rows = np.flatnonzero((groups == k) & (pieces >= 0))
        names, sizes = np.unique(pieces[rows], return_counts=True)
        large = names[sizes >= max(smallest_cluster(len(X)), 0.05 * len(rows))]
        rows = rows[np.isin(pieces[rows], large)]
        if len(large) < 2 or len(rows) < 20:
            continue
        part = X[rows] - X[rows].mean(axis=0)
        part = part[:, part.std(axis=0) > 0]
        part = part / part.std(axis=0)
        score = GroupingScorer(part)(pieces[rows]).score
        numbers = sorted({2, 3, min(len(large), 6), min(len(large) + 1, 6)})
        kinds = ("unimodal", "curve") if is_bent(part) else ("unimodal",)
        maxima = {
            kind: [
                null_score(part, (), seed_of(seed, 17, int(k), i), kind=kind, numbers=numbers)[0]
                for i in range(N_WITHIN)
            ]
            for kind in kinds
        }
        found.append(max(gumbel_p_value(score, each) for each in maxima.values()))
    return min(1.0, len(found) * min(found)) if found else 1.0
