"""Whether views are more than chance, come back, and hold in the other half of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.measures.labels.partitions import adjusted_rand_score
from subscape.parallel.local import Shared, in_order
from subscape.parallel.threads import one_thread
from subscape.runs.store import Run, Task
from subscape.validation.criteria import SIGNIFICANCE_LEVEL
from subscape.validation.max_statistic import NullMaxima
from subscape.validation.nulls import NullModel
from subscape.validation.stability.clusters import best_jaccard
from subscape.validation.stability.resampling import halves_and_samples
from subscape.validation.valleys import LEAST_SPREAD, CurveNull, clouds_log_density, is_bent

from .boxes import BoxScorer
from .candidates import groups_rows
from .clouds import ladder, search_clouds, table_searched
from .information import canonical
from .journal import Journal
from .plan import MOST_CLUSTERS, Entry, Plan, seed_of, tried_entries
from .progress import Progress
from .rule import learn
from .separation import SMALLEST_SPREAD, GroupingScorer, project_out, separations
from .views import Consensus

#: Tables without groups have at most so many rows, and views are held against them on as many.
MOST_NULL_ROWS = {"quick": 1000, "normal": 1500, "thorough": 2000}
#: The same where finders of boxes, which are slow, are run.
MOST_BOX_ROWS = 1000
#: Each view is searched again on so many samples, of this share of the rows.
RESAMPLES = {"quick": 3, "normal": 6, "thorough": 12}
SAMPLE_SHARE = 0.7
#: Agreement of a view with what one finder found on a sample, from which another is not asked: it
#: could add the rest to 1 at most.
CAME_BACK = 0.95


def box_entries(numbers: Sequence[int], n_columns: int = 2) -> list[Entry]:
    """Finders that are run on tables without groups where results are scored as boxes.

    Those of boxes, and of groups that boxes could be cut from.
    """
    return tried_entries("chance boxes", numbers, (0, n_columns, n_columns))


#: Models of tables without groups that were learned last: many tables are drawn from each.
_MODELS: dict[tuple[Any, ...], Any] = {}
MOST_MODELS = 8


def null_model(X: FloatArray, kind: str, basis: FloatArray | None = None) -> Any:
    """The model of tables without groups like ``X``, learned once.

    ``basis`` is where a curve is seen, in standardised columns; by default in all of them.
    """
    key = (X.shape, hash(X.tobytes()), kind, None if basis is None else hash(basis.tobytes()))
    if key not in _MODELS:
        while len(_MODELS) >= MOST_MODELS:
            _MODELS.pop(next(iter(_MODELS)))
        _MODELS[key] = (
            # Levels are blurred before they are scored, so that it does not matter who has two.
            NullModel(X, "unimodal", exclusive=False)
            if kind == "unimodal"
            else CurveNull(X, basis, closed=kind == "ring")
        )
    return _MODELS[key]


def compared_rows(n_rows: int, effort: str, boxes: bool = False) -> IndexArray:
    """The rows on which views and tables without groups are compared: the same for all."""
    most = MOST_BOX_ROWS if boxes else MOST_NULL_ROWS[effort]
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


class NullScores(NamedTuple):
    """Best scores on a table without groups: of a grouping, of a cluster, over one normal."""

    score: float
    cluster: float
    normal: float


def null_score(
    X: FloatArray,
    seed: int,
    few_valued: IndexArray | None = None,
    *,
    kind: str = "unimodal",
    numbers: Sequence[int] = (),
    boxes: Sequence[Entry] = (),
    basis: FloatArray | None = None,
) -> NullScores:
    """Best scores on a table without groups like ``X``; see :func:`best_scores`."""
    with one_thread():
        table = null_model(X, kind, basis).draw(np.random.SeedSequence(seed))
        return best_scores(table, seed, few_valued, numbers=numbers, boxes=boxes)


def best_scores(
    table: FloatArray,
    seed: int,
    few_valued: IndexArray | None = None,
    *,
    numbers: Sequence[int] = (),
    boxes: Sequence[Entry] = (),
) -> NullScores:
    """Best scores that a quick search reaches, on any table.

    ``few_valued`` are columns as for :class:`GroupingScorer`. With ``boxes``, finders of these are
    run, and what they find is scored so. The search is repeated on what is left when the best
    grouping is taken out. Minus infinity if nothing could be found.
    """
    with one_thread():
        scorer = GroupingScorer(table, few_valued)
        searched = table_searched(table, scorer)
        if boxes:
            return _best_box(searched, boxes, BoxScorer(scorer), seed)
        best = NullScores(-np.inf, -np.inf, -np.inf)
        for place in range(2):
            found = search_clouds(searched, numbers, scorer, np.random.default_rng([seed, place]))
            labels = found.labellings[0]
            clusters = max(cluster_scores(labels, scorer))
            best = NullScores(*map(max, best, (found.score, clusters, found.normal_score)))
            basis = scorer.directions.T @ scorer(labels).basis
            if basis.shape[1] >= searched.shape[1]:
                break
            searched = project_out(searched, np.linalg.qr(basis)[0])
        return best


def _best_box(
    table: FloatArray, entries: Sequence[Entry], scorer: BoxScorer, seed: int
) -> NullScores:
    """Score of the best boxes, and of their clearest cluster."""
    best, chosen = -np.inf, None
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
        if groups_rows(labels) and scorer(labels).score > best:
            best, chosen = scorer(labels).score, labels
    # As in the table itself, where the clusters of a view are looked at, not those of all results.
    cluster = -np.inf if chosen is None else max(cluster_scores(chosen, scorer))
    return NullScores(best, cluster, -np.inf)


def cluster_scores(labels: NDArray[Any], scorer: GroupingScorer) -> list[float]:
    """How clearly each cluster stands out from the one next to it.

    That is the score of the two alone, along the line that tells them apart best. (Against all the
    rest together a cluster between two others would never stand out.)
    """
    n_clusters = int(labels.max(initial=-1)) + 1
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    whole = scorer(labels)
    if (sizes > 0).sum() < 2:
        return [whole.score] * n_clusters
    seen = scorer.Z @ (scorer.directions.T @ whole.basis)
    # A cluster all of whose rows are in others, too, may have none that is called after it.
    present = np.flatnonzero(sizes)
    centres = np.array([seen[labels == k].mean(axis=0) for k in present])
    left = np.concatenate(
        [seen[labels == k] - centre for k, centre in zip(present, centres, strict=True)]
    )
    within = left.T @ left / len(left)
    within += np.eye(len(within)) * max(SMALLEST_SPREAD**2 * float(np.trace(within)), 1e-300)
    inverse = np.linalg.inv(within)
    ways = centres[:, None] - centres
    away = ((ways @ inverse) * ways).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    scores = [-np.inf] * n_clusters
    for place, (k, nearest) in enumerate(zip(present.tolist(), away.argmin(axis=1), strict=True)):
        both = (labels == k) | (labels == present[nearest])
        along = seen[both] @ (inverse @ ways[place, nearest])
        along = (along - along.mean()) / max(float(along.std()), 1e-300)
        two = (labels[both] == k).astype(np.int64)
        scores[k] = float(separations(along[:, None], two[None], 2).score[0])
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
    drawing = np.random.SeedSequence([seed, 11])
    return halves_and_samples(n_rows, RESAMPLES[effort], share=SAMPLE_SHARE, random_state=drawing)


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
    halves : tuple of (rows, labels)
        The same of the two halves of the rows.
    """

    stability: float
    clusters: FloatArray
    replication: float
    samples: tuple[tuple[IndexArray, IntArray], ...] = ()
    halves: tuple[tuple[IndexArray, IntArray], ...] = ()


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
    known = [
        (np.asarray(runs[0].rows, dtype=np.intp), labels)
        for runs, labels in zip(samples, found, strict=True)
    ]
    return ViewStability(
        stability=float(np.mean(agreements)) if agreements else 0.0,
        clusters=np.mean(overlaps, axis=0) if overlaps else np.zeros(len(view.memberships)),
        replication=replication,
        samples=tuple((rows, labels) for rows, labels in known[2:] if labels is not None),
        halves=tuple((rows, labels) for rows, labels in known[:2] if labels is not None),
    )


def came_back(view: Consensus, runs: Sequence[Run]) -> bool:
    """Whether a view was found again on a sample, so that no other finder need be asked.

    Parameters
    ----------
    view : Consensus
    runs : sequence of Run
        On one sample.
    """
    found = _closest(runs, view) if runs else None
    return found is not None and _agreement(view.labels[runs[0].rows], found) >= CAME_BACK


def _closest(runs: Sequence[Run], view: Consensus) -> IntArray | None:
    """The labels that are most like the view among all that the runs of one sample found."""
    known = canonical(view.labels[runs[0].rows])
    best, closest = -np.inf, None
    for labels in _labels_of(runs):
        same = canonical(labels)
        if np.array_equal(known, same):
            return labels
        agreement = float(adjusted_rand_score(known + 1, same + 1))
        if agreement > best:
            best, closest = agreement, labels
    return closest


def _labels_of(runs: Sequence[Run]) -> list[IntArray]:
    return [c.labels() for run in runs for c in run.clusterings if c.n_clusters]


def _agreement(a: NDArray[Any], b: NDArray[Any]) -> float:
    # Noise is a group like any other here: who is in it should come back too.
    return float(adjusted_rand_score(canonical(a) + 1, canonical(b) + 1))


# -- the reduced portfolio on tables without groups, each one kept as soon as it is done -----------


#: Tables between two looks at the clock; always this many are made.
BATCH = 10
#: The same within a cluster.
FEW = 5
#: Times as many tables as planned are drawn, at most, while a p-value is within this factor of the
#: level.
MORE = {"quick": 2, "normal": 2, "thorough": 3}
CLOSE = 5.0
#: Held-out nats per row by which a curve must be better than one cloud to be a description, and
#: clouds than the curve for it to be none; what one row counts at most; groupings that are tried.
BETTER = 0.05
MUCH_BETTER = 0.3
FEWEST_ROWS_CURVE = 40
MOST_NATS = 5.0
MOST_DESCRIBED = 10
#: Numbers of clusters tried for boxes there.
BOX_NUMBERS = (2, 3, 4, 5, 6)


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
    scores: Sequence[tuple[float, float]] = (),
    numbers: Sequence[int] = (),
    basis: FloatArray | None = None,
    where: str = "",
    n_ideas: int = 1,
) -> NullMaxima:
    """What the best result scores on tables like ``X`` that have no groups.

    Tables with one hump per column and, where a curve describes the numbers much better than a line
    does, tables whose rows lie along it: a gradient, bent or not, is no group. They are drawn in
    batches until more would not change the answer about any of ``scores`` (over one hump, and over
    one normal distribution).

    ``few_valued`` are columns as for :class:`GroupingScorer`; with ``boxes``, results are
    scored as such, and finders of boxes are run. ``numbers`` of clusters are tried, by default
    those that the plan tries. ``basis`` is where the clearest view is seen: rows may lie along a
    curve there, too (or, of a view along one line, in the plane through it that looks most like a
    ring). ``where`` names a part of the table. p-values will be multiplied by ``n_ideas``.
    """
    X = X[compared_rows(len(X), plan.effort, boxes)]
    box_numbers = [k for k in BOX_NUMBERS if k <= max(2, len(X) // 5)]
    entries = tuple(box_entries(box_numbers, X.shape[1])) if boxes else ()
    if not numbers and not boxes:
        numbers = tuple(ladder(len(X), MOST_CLUSTERS[plan.effort]))
    batch = FEW if where else BATCH
    seen = None
    if not boxes and (few_valued is None or not len(few_valued)):
        name = f"{where} curve" if where else "curve"
        seen = journal.decide(name, lambda: seen_curve(X, basis, numbers, plan.seed))
    if seen and "plane" in seen and basis is not None:
        basis = plane_of(X, basis)
    basis = _in_units(X, basis) if seen and "view" in seen and basis is not None else None
    curve = "ring" if seen and "ring" in seen else "curve"
    kinds = ("unimodal", curve) if seen else ("unimodal",)
    table = Shared(X)
    found: dict[str, list[Any]] = {kind: [] for kind in kinds}
    prefix = f"{where} " if where else ""
    for start in range(0, MORE[plan.effort] * plan.n_null, batch):
        if start >= plan.n_null and not any(
            _is_close(n_ideas * _as_maxima(found).p_value(*each)) for each in scores
        ):
            break
        if start and not journal.decide(f"{prefix}null tables from {start}", in_time):
            break
        places = range(start, start + batch)
        names = {(kind, i): f"{prefix}{'null' if kind == 'unimodal' else 'curve'} {i}"
                 for kind in _undecided(found, scores) for i in places}  # fmt: skip
        todo = [each for each in names if names[each] not in journal]
        calls = [
            (table, seed_of(plan.seed, 13, i), few_valued, kind, tuple(numbers), entries, basis)
            for kind, i in todo
        ]
        results = in_order(_null_score, calls, n_jobs, what="table without groups")
        for done, (each, score) in enumerate(zip(todo, results, strict=True), 1):
            outcome = [float(x) for x in score] if score.score > -np.inf else None
            journal.decide(names[each], lambda outcome=outcome: outcome)
            most = max(plan.n_null, start + batch)
            progress.tell("tables without groups", "chance", start + done, most)
        for each, name in names.items():
            outcome = journal.decide(name, list)
            if outcome is not None:  # tables on which no finder worked say nothing
                found[each[0]].append(outcome)
        maxima = _as_maxima(found)
        if scores and all(maxima.is_clear(*score) for score in scores):
            break
    return _as_maxima(found)


def seen_curve(
    X: FloatArray, basis: FloatArray | None, numbers: Sequence[int], seed: int
) -> str | None:
    """Whether rows lie along a curve, and where: in the whole table, or where a view is seen."""
    if X.shape[1] > 1 and (curve := follows_curve(X, numbers, seed)):
        return f"{curve} in the table"
    if basis is not None and 2 <= basis.shape[1] < X.shape[1]:
        curve = follows_curve(X @ basis, numbers, seed)
        return f"{curve} in the view" if curve else None
    if basis is not None and basis.shape[1] == 1 and X.shape[1] > 2:
        curve = follows_curve(X @ plane_of(X, basis), numbers, seed)
        return f"{curve} in a plane through the view" if curve else None
    return None


def plane_of(X: FloatArray, basis: FloatArray) -> FloatArray:
    """A direction, and the one that varies least where rows lie far out along it.

    Two groups are seen along one line, and so are the halves of a ring: in this plane it is round.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    basis : array of shape (n_columns, 1)

    Returns
    -------
    array of shape (n_columns, 2)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 300)
    >>> X = np.column_stack([np.cos(angle), rng.normal(size=300), np.sin(angle)])
    >>> np.abs(plane_of(X, np.eye(3)[:, :1])[:, 1]).round(1) + 0.0
    array([0., 0., 1.])
    """
    centred = X - X.mean(axis=0)
    along = centred @ basis[:, 0]
    along /= max(float(along.std()), 1e-300)
    rest = centred - np.outer(along, along @ centred / len(X))
    variances, axes = np.linalg.eigh(rest.T @ rest / len(X))
    kept = variances > 1e-9 * max(float(variances[-1]), 1e-300)
    white = axes[:, kept] / np.sqrt(variances[kept])
    seen = rest @ white
    # How the squares of the rest go with those along the line; least for a ring.
    squares = (seen * (np.square(along) - 1.0)[:, None]).T @ seen
    other = white @ np.linalg.eigh(squares)[1][:, 0]
    return np.column_stack([basis[:, 0], other / max(float(np.linalg.norm(other)), 1e-300)])


def _in_units(X: FloatArray, basis: FloatArray) -> FloatArray:
    """Directions among columns as directions among standardised ones, as long in the rows."""
    turned = basis * _spread_of(X)[:, None]
    return np.asarray(turned / np.maximum((X @ basis).std(axis=0), 1e-300))


def follows_curve(X: FloatArray, numbers: Sequence[int], seed: int) -> str | None:
    """Which curve describes rows better than one cloud, as well as several: "curve" or "ring".

    (If it is bent beyond doubt, several clouds must be much better to count.)

    Then rows along a curve, bent or with noise that changes along it, are a description without
    groups that tables with one hump in each column don't cover. Each half of the rows is described
    by what the other half shows: one cloud; a curve with one hump along it; and the clouds of the
    quick search that are best by BIC, all with spreads of their own place and common correlations.
    (On 112 generated curves of seven kinds, clouds were better than the curve by at most 0.24 nats
    per row; on three or six clouds they mostly are by more than that, up to 1.6.)

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    numbers : sequence of int
        Numbers of clusters.
    seed : int
    """
    if len(X) < FEWEST_ROWS_CURVE:
        return None
    order = np.random.default_rng([seed, 23]).permutation(len(X))
    halves = order[: len(X) // 2], order[len(X) // 2 :]
    told = []
    for used, held in (halves, halves[::-1]):
        centre, spread = X[used].mean(axis=0), _spread_of(X[used])
        Z, new = np.ascontiguousarray((X[used] - centre) / spread), (X[held] - centre) / spread
        curves = [
            CurveNull(X[used], closed=closed).log_density(X[held]) for closed in (False, True)
        ]
        cloud = _described(Z, np.zeros(len(Z), dtype=np.int64), new)[1]
        told.append((Z, new, curves, cloud))
    # A ring only where it is surely better: an open curve that is taken for one has rows where the
    # tables along the ring have as many as anywhere else.
    closed = int(_is_better(np.concatenate([each[2][1] - each[2][0] for each in told]), BETTER))
    if not _is_better(np.concatenate([each[2][closed] - each[3] for each in told]), BETTER):
        return None
    gains = []
    for Z, new, curves, _ in told:
        sizes = [k for k in numbers if 8 * k <= len(Z)] or [2]
        found = search_clouds(Z, sizes, GroupingScorer(Z), np.random.default_rng(seed))
        described = [_described(Z, labels, new) for labels in found.labellings[:MOST_DESCRIBED]]
        gains.append(max(described, key=lambda each: each[0])[1] - curves[closed])
    gain = np.concatenate(gains)
    # Clouds in a row are described by a curve, too: it must be as good, or bent beyond doubt.
    bent = bool(closed) or is_bent(X)
    gain = np.clip(gain, -MOST_NATS, MOST_NATS)
    follows = not _is_better(gain, MUCH_BETTER) if bent else bool(gain.mean() <= 0)
    return ("ring" if closed else "curve") if follows else None


def _is_better(gains: FloatArray, least: float) -> bool:
    """Whether rows gain more than so much on average, by three standard errors from nothing."""
    gains = np.clip(gains, -MOST_NATS, MOST_NATS)
    return bool(gains.mean() > max(least, 3 * float(gains.std()) / np.sqrt(len(gains))))


def _spread_of(X: FloatArray) -> FloatArray:
    spread = X.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _described(Z: FloatArray, labels: IntArray, new: FloatArray) -> tuple[float, FloatArray]:
    """How cheaply clouds describe their own rows (BIC), and the log density of new ones."""
    numbers, places = np.unique(labels, return_inverse=True)
    centres = np.array([Z[places == k].mean(axis=0) for k in range(len(numbers))])
    spreads = np.array([Z[places == k].std(axis=0) for k in range(len(numbers))])
    spreads = np.maximum(spreads, LEAST_SPREAD)
    weights = np.bincount(places) / len(places)
    left = (Z - centres[places]) / spreads[places]
    told = clouds_log_density(Z, weights, centres, spreads, left).sum()
    told -= 0.5 * len(numbers) * (2 * Z.shape[1] + 1) * np.log(len(Z))
    return float(told), clouds_log_density(new, weights, centres, spreads, left)


def _is_close(p_value: float) -> bool:
    """Whether it is not clear yet on which side of the level a p-value lies."""
    return SIGNIFICANCE_LEVEL / CLOSE < p_value < CLOSE * SIGNIFICANCE_LEVEL


def _null_score(
    X: FloatArray,
    seed: int,
    few_valued: IndexArray | None,
    kind: str,
    numbers: Sequence[int],
    boxes: Sequence[Entry],
    basis: FloatArray | None,
) -> NullScores:
    return null_score(X, seed, few_valued, kind=kind, numbers=numbers, boxes=boxes, basis=basis)


def _undecided(found: dict[str, list[Any]], scores: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Kinds of tables that some score is not surely beyond: more of the others tell nothing."""
    maxima = _as_maxima(found)
    for kind, drawn in found.items():
        own = maxima.of_kind(kind != "unimodal")
        if not (drawn and scores and all(own.is_beaten(*score) for score in scores)):
            yield kind


def _as_maxima(found: dict[str, list[Any]]) -> NullMaxima:
    plain = found["unimodal"]
    bent = found.get("curve", []) or found.get("ring", [])
    return NullMaxima(
        tuple(s[0] for s in plain), tuple(s[1] for s in plain),
        tuple(s[0] for s in bent), tuple(s[1] for s in bent),
        tuple(s[2] for s in plain if s[2] > -np.inf), tuple(s[2] for s in bent if s[2] > -np.inf),
    )  # fmt: skip
