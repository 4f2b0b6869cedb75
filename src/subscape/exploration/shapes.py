"""Groups of any shape, told apart by valleys of low density or by gaps, and held against chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.density.density_tree import best_scale
from subscape.finders.density.gaps import gap_groups, widest_gap
from subscape.finders.density.graph import density_graph
from subscape.finders.density.subspaces import MOST_COLUMNS as MOST_COLUMNS_ALL_PAIRS
from subscape.finders.density.subspaces import (
    DensityView,
    density_views,
    screened_pairs,
    standardised,
)
from subscape.finders.density.valleys import valley_score
from subscape.parallel.threads import one_thread
from subscape.validation.criteria import SIGNIFICANCE_LEVEL, smallest_cluster
from subscape.validation.fitted_tails import Interval, largest
from subscape.validation.max_statistic import ENOUGH_REACHED, SURE, gumbel_p_value, tail_interval
from subscape.validation.nulls import NullModel
from subscape.validation.valleys import CurveNull, is_bent

from .information import canonical

#: Shapes are looked for in at most so many rows, and among so many columns; once again in more
#: rows, at twice the p-value, if they are neither sure nor hopeless then.
MOST_ROWS = 1000
MOST_AGAIN = 2000
UNDECIDED = (SIGNIFICANCE_LEVEL / 3, 0.2)
MOST_COLUMNS = 200
#: Sure groups are then drawn by so many rows: what parts two of them may be too narrow for fewer.
MOST_DRAWN = 4000
#: Groups by gaps are those by valleys if they agree as well as this (adjusted Rand index).
SAME = 0.95
#: Gaps are looked for in all columns together if they are no more than this, and in so many
#: principal directions.
MOST_TOGETHER = 10
PRINCIPAL = 3
#: Groups by valleys refine those by gaps if they tell this share of what the latter do.
REFINED = 0.9
#: A gap is at least this wide whatever chance does: links between groups are a fifth longer. Groups
#: are parted further, without a test of their own, by links that are half as long again.
LEAST_WIDTH = float(np.log(1.2))
SPLIT_WIDTH = float(np.log(1.5))
#: Tables without groups until the first decision.
FEWEST_TABLES = 10
#: Samples on which valleys and gaps are compared.
N_SAMPLES = 4


@dataclass(frozen=True, eq=False)
class ShapeScores:
    """How clearly the best shapes of a table stand out: by valleys, and by gaps."""

    valley: float
    gap: float
    view: DensityView | None
    #: Where the widest gap is seen: columns are multiplied by this.
    place: FloatArray | None


@dataclass(frozen=True, eq=False)
class Shapes:
    """Groups of any shape in a table.

    Attributes
    ----------
    labels : int array of shape (n_rows,)
        Of all rows given; one group where nothing was found.
    by : {"valleys", "gaps"}
        What parts the groups.
    basis : array of shape (n_columns, d)
        The directions in which they are seen, of standardised columns.
    columns : tuple of int
        The columns that take part.
    score : float
        Nats per row by which valleys are deeper, or the logarithm by which gaps are wider.
    p_value : float
        Probability that chance reaches this, times ``times``.
    maxima : dict of str to tuple of float
        What was found in tables without groups, by kind of table.
    times : int
        By what p-values are multiplied: valleys and gaps are looked for, and in large tables twice.
    """

    labels: IntArray
    by: str
    basis: FloatArray
    columns: tuple[int, ...]
    score: float
    p_value: float
    maxima: dict[str, tuple[float, ...]] = field(default_factory=dict)
    times: int = 2

    def interval(self) -> Interval:
        """Where the p-value is (95 %), if the tail that was fitted holds."""
        found = [tail_interval(self.score, maxima) for maxima in self.maxima.values() if maxima]
        if not found or not self.score > 0:
            return Interval(self.p_value, self.p_value)
        return largest(*found).times(self.times).holding(self.p_value)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max(initial=0)) + 1


def search_shapes(table: FloatArray) -> ShapeScores:
    """The clearest valleys and the widest gap of a standardised table."""
    views = density_views(table, most=1)
    view = views[0] if views else None
    places = _places(table, view)
    gaps = [_gap_score(table @ place) for place in places]
    best = int(np.argmax(gaps)) if gaps else -1
    return ShapeScores(
        valley=0.0 if view is None else float(view.valleys.gain),
        gap=gaps[best] if gaps else 0.0,
        view=view,
        place=places[best] if gaps else None,
    )


def _by_gaps(points: FloatArray) -> IntArray:
    """Groups parted by the clearest gap, and within them by gaps that are clear by themselves."""
    width = widest_gap(points, most_nats=float(np.log(2))).width
    return gap_groups(points, min(SPLIT_WIDTH, max(width, LEAST_WIDTH))).labels


def _gap_score(points: FloatArray) -> float:
    """Score of the clearest gap; 0 if it is too narrow to be one."""
    gap = widest_gap(points)
    return gap.score if gap.width >= LEAST_WIDTH else 0.0


def _places(table: FloatArray, view: DensityView | None) -> list[FloatArray]:
    p = table.shape[1]
    places = []
    if p <= MOST_TOGETHER:
        places.append(np.eye(p))
    if p > PRINCIPAL:
        _, _, axes = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
        places.append(axes[:PRINCIPAL].T)
    if view is not None and view.place.kind == "columns":
        places.append(view.place.basis)
    if p > MOST_COLUMNS_ALL_PAIRS:
        # Thin shapes have gaps where valleys are blurred: the pair least like a normal cloud, too.
        pair = screened_pairs(table, 1)[0]
        if view is None or view.place.columns != pair:
            places.append(np.eye(p)[:, pair])
    return places


def find_shapes(
    X: FloatArray,
    *,
    n_tables: int = 40,
    seed: int = 0,
    tell: Callable[[int, int], Any] | None = None,
    is_known: Callable[[IntArray], bool] | None = None,
) -> Shapes:
    """Search a table for groups of any shape, and hold them against tables without.

    Tables without groups keep either the correlations and one hump per column, or a bent curve
    along which the rows lie evenly; what is claimed must beat both. They are drawn until the answer
    is clear.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numbers without gaps; at most :data:`MOST_COLUMNS` columns.
    n_tables : int, default=40
        Tables of each kind, at most.
    seed : int
    tell : callable, optional
        Called with the number of tables done and their largest number.
    is_known : callable, optional
        Whether labels tell nothing new; if so, tables without groups are not asked, and the
        p-value is 1.

    Returns
    -------
    Shapes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> moons, truth = make_moons(300, noise=0.06, random_state=0)
    >>> found = find_shapes(moons)
    >>> found.n_groups, found.p_value < 0.01
    (2, True)
    """
    rng = np.random.default_rng([seed, 23])
    table = standardised(np.asarray(X, dtype=np.float64))
    looks = (MOST_ROWS,) if len(table) <= MOST_ROWS else (MOST_ROWS, MOST_AGAIN)
    with one_thread():
        seen: list[_Look] = []
        for most in looks:
            rows = _some(len(table), rng, most)
            searched = table[rows]
            best = search_shapes(searched)
            options = _options(searched, best)
            if is_known is not None and all(
                is_known(_for_all(table, rows, one.labels, one.basis)) for one in options
            ):
                nothing = np.zeros(len(table), dtype=np.int64)
                return Shapes(nothing, "valleys", options[0].basis, (), 0.0, 1.0)
            maxima = _null_scores(searched, best, n_tables, seed, tell)
            p_values = dict(zip(("valleys", "gaps"), _p_values(best, maxima), strict=True))
            times = 2 * len(looks)
            options = [
                replace(one, p_value=min(1.0, times * p_values[one.by]), times=times)
                for one in options
            ]
            chosen = _chosen(searched, options, rng, [each[0] for each in maxima.values()])
            seen.append(_Look(chosen, options, rows, maxima))
            if not UNDECIDED[0] < chosen.p_value <= UNDECIDED[1]:
                break
        found, options, rows, maxima = min(seen, key=lambda look: look.found.p_value)
        labels = found.labels
        valleys = _sure_valleys(options, found) if len(rows) < len(table) else None
        if valleys is not None:
            found = valleys
            rows, labels = _drawn(table, found.basis, rng)
    return replace(
        found,
        labels=_for_all(table, rows, labels, found.basis),
        maxima={kind: tuple(each[found.by == "gaps"]) for kind, each in maxima.items()},
    )


class _Look(NamedTuple):
    """What some rows of a table show."""

    found: Shapes
    options: list[Shapes]
    rows: IndexArray
    maxima: dict[str, tuple[list[float], list[float]]]


def _null_scores(
    table: FloatArray,
    best: ShapeScores,
    n_tables: int,
    seed: int,
    tell: Callable[[int, int], Any] | None,
) -> dict[str, tuple[list[float], list[float]]]:
    """Valleys and gaps of tables without groups, by kind of table, until the answer is clear."""
    if best.valley <= 0 and best.gap <= 0:
        return {}
    basis = best.view.place.basis if best.view is not None else best.place
    models: dict[str, Any] = {"unimodal": NullModel(table, "unimodal")}
    if basis is None or basis.shape[1] < 2 or is_bent(table @ basis):
        models["curve"] = CurveNull(table, basis)
    maxima: dict[str, tuple[list[float], list[float]]] = {kind: ([], []) for kind in models}
    for number in range(n_tables):
        for place, (kind, model) in enumerate(models.items()):
            drawn = standardised(model.draw(np.random.SeedSequence([seed, 29, number, place])))
            found = search_shapes(drawn)
            maxima[kind][0].append(found.valley)
            maxima[kind][1].append(found.gap)
        if tell is not None:
            tell(number + 1, n_tables)
        if _is_clear(best, maxima, number + 1):
            break
    return maxima


def _is_clear(
    best: ShapeScores, maxima: dict[str, tuple[list[float], list[float]]], done: int
) -> bool:
    reached = [
        max(sum(value >= score for value in each[which]) for each in maxima.values())
        for which, score in enumerate((best.valley, best.gap))
    ]
    if min(reached) >= ENOUGH_REACHED:
        return True
    return done >= FEWEST_TABLES and min(_p_values(best, maxima)) < SURE


def _p_values(
    best: ShapeScores, maxima: dict[str, tuple[list[float], list[float]]]
) -> tuple[float, float]:
    if not maxima:
        return 1.0, 1.0
    found = [
        max(gumbel_p_value(score, each[which]) for each in maxima.values()) if score > 0 else 1.0
        for which, score in enumerate((best.valley, best.gap))
    ]
    return found[0], found[1]


def _options(table: FloatArray, best: ShapeScores) -> list[Shapes]:
    """The groups by valleys and those by gaps, as far as there are any, with p-value 1."""
    options = []
    if best.view is not None:
        labels, place = _large(best.view.labels, len(table)), best.view.place
        options.append(Shapes(labels, "valleys", place.basis, place.columns, best.valley, 1.0))
    if best.place is not None and best.gap > 0:
        labels = _by_gaps(table @ best.place)
        columns = tuple(np.flatnonzero(np.abs(best.place).max(axis=1) > 1e-9).tolist())
        options.append(Shapes(labels, "gaps", best.place, columns, best.gap, 1.0))
    if not options:
        nothing = np.zeros(len(table), dtype=np.int64)
        options.append(Shapes(nothing, "valleys", np.eye(table.shape[1])[:, :2], (), 0.0, 1.0))
    return options


def _chosen(
    table: FloatArray,
    options: Sequence[Shapes],
    rng: np.random.Generator,
    chance: Sequence[Sequence[float]] = (),
) -> Shapes:
    """Valleys or gaps: what comes back better on samples if both are sure, else the surer one.

    Valleys that part groups of the gaps once more are taken if what this gains is by itself more
    than ``chance``, the valleys of tables without groups of each kind.
    """
    sure = [one for one in options if one.p_value <= SIGNIFICANCE_LEVEL and one.n_groups > 1]
    if len(sure) == 2:
        by_valleys, by_gaps = sure
        if (
            by_valleys.n_groups > by_gaps.n_groups
            and homogeneity_score(by_gaps.labels, by_valleys.labels) >= REFINED
            and _gains_more(table @ by_valleys.basis, by_gaps, by_valleys, chance)
        ):
            return by_valleys  # the same groups, and some of them parted once more
        if np.array_equal(canonical(by_valleys.labels), canonical(by_gaps.labels)):
            return min(sure, key=lambda one: one.p_value)
        return max(
            sure,
            key=lambda one: (round(_returns(table, one, rng), 1), one.n_groups, -one.p_value),
        )
    if sure:
        return sure[0]
    return min(options, key=lambda one: one.p_value)


def _gains_more(
    points: FloatArray, coarse: Shapes, fine: Shapes, chance: Sequence[Sequence[float]]
) -> bool:
    """Whether the valleys that finer groups have beyond coarser ones are more than chance."""
    more = fine.score - float(valley_score(points, coarse.labels).gain)
    return all(gumbel_p_value(more, each) <= SIGNIFICANCE_LEVEL for each in chance)


def _returns(table: FloatArray, found: Shapes, rng: np.random.Generator) -> float:
    """Agreement with what is found on a few samples of the rows."""
    agreements = []
    for _ in range(N_SAMPLES):
        rows = np.sort(rng.choice(len(table), int(0.7 * len(table)), replace=False))
        labels = shapes_again(standardised(table[rows]), found)
        agreements.append(adjusted_rand_score(found.labels[rows], labels))
    return float(np.mean(agreements))


def shapes_again(table: FloatArray, found: Shapes) -> IntArray:
    """The same search on other rows: by gaps where these were seen, else by valleys.

    Where groups were drawn by more rows than are searched, so they are again.
    """
    if found.by == "gaps":
        return _by_gaps(table @ found.basis)
    if len(table) > MOST_ROWS and found.p_value <= SIGNIFICANCE_LEVEL:
        rows, labels = _drawn(table, found.basis, np.random.default_rng(len(table)))
        return _for_all(table, rows, labels, found.basis)
    views = density_views(table, most=1)
    return views[0].labels.astype(np.int64) if views else np.zeros(len(table), dtype=np.int64)


def _large(labels: IntArray, n_rows: int) -> IntArray:
    """Labels from 0 without gaps in the numbers; groups that are too small are with the largest."""
    sizes = np.bincount(labels[labels >= 0]) if (labels >= 0).any() else np.zeros(1, int)
    kept = np.flatnonzero(sizes >= smallest_cluster(n_rows))
    if not len(kept):
        return np.zeros(len(labels), dtype=np.int64)
    number = np.full(len(sizes) + 1, int(np.flatnonzero(kept == sizes.argmax())[0]))
    number[kept] = np.arange(len(kept))
    return number[labels]


def _some(n_rows: int, rng: np.random.Generator, most: int = MOST_ROWS) -> IndexArray:
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


def _sure_valleys(options: Sequence[Shapes], found: Shapes) -> Shapes | None:
    """Groups parted by sure valleys, if they are those that were found."""
    for one in options:
        if one.by == "valleys" and one.p_value <= SIGNIFICANCE_LEVEL and one.n_groups > 1:
            same = one is found or adjusted_rand_score(one.labels, found.labels) >= SAME
            return one if same else None
    return None


def _drawn(
    table: FloatArray, basis: FloatArray, rng: np.random.Generator
) -> tuple[IndexArray, IntArray]:
    """Groups that valleys part, by more rows than were held against chance; and these rows."""
    rows = _some(len(table), rng, MOST_DRAWN)
    return rows, _large(best_scale(density_graph(table[rows] @ basis)).labels, len(rows))


def _for_all(table: FloatArray, rows: IndexArray, labels: IntArray, basis: FloatArray) -> IntArray:
    """Labels of all rows: those not searched are with the nearest one that was."""
    if len(rows) == len(table):
        return labels
    from scipy.spatial import cKDTree

    _, near = cKDTree(table[rows] @ basis).query(table @ basis)
    everyone = labels[near]
    everyone[rows] = labels
    return everyone
