"""Stability of halves: cluster one part, carry it over to the other, compare with that one's own.

Lange et al., Clest and Prediction Strength do the same and differ in what they make of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.memberships import Memberships
from subscape.core.types import FloatArray
from subscape.measures.cells.distances import rnia
from subscape.runs.store import Run, RunStore

from .comparison import Comparison, Metric
from .curves import StabilityCurve, counted, curve_of, mean_of
from .resampling import (
    Grid,
    Split,
    Work,
    run_grid,
    seeds_from,
    settings_of,
    splits,
    table_of,
    whole_number,
)
from .transfer import Rule, carried_over, rule_of, rules_of

#: A setting is well predicted from this strength on (the paper says 0.8 to 0.9).
STRENGTH = 0.8


class Halves(NamedTuple):
    """On the test rows of a split: what the other part predicts, and what is found there."""

    predicted: SubspaceClustering | None
    found: SubspaceClustering | None


class Outcome(NamedTuple):
    """The halves of every setting and split, and all runs behind them."""

    halves: list[list[Halves]]
    runs: list[list[Run]]


class Samples(NamedTuple):
    """Splits of a table, and what a finder found in their parts with every setting."""

    table: FloatArray
    parts: list[Split]
    runs: list[list[Run]]

    def halves(self, rule: Rule) -> list[list[Halves]]:
        """What the rule makes of the first part of every split, beside the second."""
        return [
            [
                _halves(self.table, split, row[2 * i].clustering, row[2 * i + 1].clustering, rule)
                for i, split in enumerate(self.parts)
            ]
            for row in self.runs
        ]


def lange_stability(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_splits: int = 20,
    sampling: str = "rows",
    transfer: str | Rule | Sequence[str | Rule] = "prototype",
    measure: Metric = "clustering_error",
    baseline: str = "permuted",
    mass: str | None = None,
    overlap: str | None = None,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> StabilityCurve:
    """Stability index of Lange, Roth, Braun and Buhmann [1]_: small is stable.

    The rows are split in two halves, each is clustered, and the first clustering is carried over
    to the second half. The mean distance between the two (S) is divided by the distance that
    clusterings without information would have (R), since few clusters agree more easily.

    Parameters
    ----------
    finder, X, grid, measure, mass, overlap, random_state, store, n_jobs, progress
        As in :func:`resampling_stability`. With ``measure="label_error"`` and
        ``baseline="uniform"`` it is the paper's index, which sees rows only.
    n_splits : int, default=20
    sampling : {"rows", "both"}, default="rows"
        "both" also draws 80 % of the columns for each split.
    transfer : {"prototype", "neighbour", "discriminant", "tree", "best"}, callable or list, \
            default="prototype"
        How a clustering is carried over: each row to the cluster that explains it best in the
        cluster's subspace, to that of the nearest row, to the nearest mean in units of the
        deviation within clusters, by a decision tree, or ``rule(X, clustering, X_new)`` -> labels.
        It should suit the finder. Of several, or of all four ("best"), each setting keeps the one
        with the smallest index, as the paper proposes, since a poor classifier is no fault of the
        clustering.
    baseline : {"permuted", "uniform"}, default="permuted"
        Clusterings without information: both with their rows permuted, so that sizes and subspaces
        stay, or each row in a random cluster.

    Returns
    -------
    StabilityCurve
        ``values`` is S/R; ``details`` has "distance" (S), "baseline" (R) and, of several rules,
        the "transfer" that was kept. A setting that finds a single cluster everywhere is trivially
        stable and never chosen.

    See Also
    --------
    clest : Beside null tables.
    prediction_strength : Cluster by cluster.
    choose : Several criteria at once.

    References
    ----------
    .. [1] T. Lange, V. Roth, M. L. Braun, J. M. Buhmann, "Stability-based validation of clustering
       solutions", Neural Computation 16 (2004), doi:10.1162/089976604773717621.

    Examples
    --------
    >>> from subscape.finders import SSPC
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import lange_stability
    >>> X, truth = planted_axes(150, 10, n_clusters=3, dims=5, random_state=0)
    >>> lange_stability(SSPC(n_init=2), X, {"n_clusters": [2, 3, 4]}, n_splits=3).best
    {'n_clusters': 3}
    """
    if baseline not in ("permuted", "uniform"):
        raise SubscapeError(f'baseline must be "permuted" or "uniform", got {baseline!r}')
    compare = Comparison(measure, mass, overlap).check()
    settings = settings_of(finder, grid)
    work = Work(store, n_jobs, progress)
    rules = rules_of(transfer)
    samples = sampled_runs(finder, X, settings, n_splits, 0.5, sampling, random_state, work)
    found = [_index(samples.halves(rule), compare, baseline) for rule in rules.values()]
    # Where no rule gives a value, the first one stays.
    values = np.stack([mean_of(each.replicates) for each in found])
    kept = np.where(np.isnan(values), np.inf, values).argmin(axis=0)
    places = np.arange(len(settings))
    replicates, distances, level = (
        np.stack([getattr(each, name) for each in found])[kept, places]
        for name in ("replicates", "distance", "baseline")
    )
    details: dict[str, Any] = {"distance": distances, "baseline": level}
    if len(rules) > 1:
        details["transfer"] = np.array(list(rules), dtype=object)[kept]
    several = counted(samples.runs)["n_clusters"] > 1
    usable = np.where(several, mean_of(replicates), np.nan)
    return curve_of(
        "Lange et al.",
        settings,
        replicates,
        samples.runs,
        better="low",
        chosen=None if np.isnan(usable).all() else int(np.nanargmin(usable)),
        rule="the smallest normalised distance among settings with two clusters or more",
        details=details,
    )


class _Index(NamedTuple):
    """The stability index of every setting, by split, and what it is made of."""

    replicates: FloatArray
    distance: FloatArray
    baseline: FloatArray


def _index(halves: list[list[Halves]], compare: Comparison, baseline: str) -> _Index:
    distances = np.array([[compare(*pair) for pair in row] for row in halves])
    chance = np.random.default_rng(0)
    random = np.array(
        [[_uninformed(pair, baseline, chance, compare) for pair in row] for row in halves]
    )
    level = mean_of(random)
    replicates = distances / np.where(level > 0, level, np.nan)[:, None]
    return _Index(replicates, mean_of(distances), level)


def prediction_strength(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_splits: int = 10,
    sampling: str = "rows",
    transfer: str | Rule = "prototype",
    measure: str = "rows",
    threshold: float = STRENGTH,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> StabilityCurve:
    """Prediction strength of Tibshirani and Walther [1]_: large is stable.

    Of the pairs of rows that share a cluster of the test half, the share that the learning half's
    clustering puts together as well, for the worst cluster of the test half. Rows that either side
    calls noise are left out; clusters of one row are too.

    Parameters
    ----------
    finder, X, grid, random_state, store, n_jobs, progress
        As in :func:`resampling_stability`.
    n_splits, sampling, transfer
        As in :func:`lange_stability`; one rule only.
    measure : {"rows", "cells"}, default="rows"
        "rows" is the paper's: a pair counts if it is predicted to be together. "cells" sees
        subspaces: it counts by the share of their subspaces that the two clusters have in common,
        1 if these are the same, 0 if they share nothing.
    threshold : float, default=0.8
        The last setting of the grid whose mean plus one standard error reaches it is chosen: list
        the numbers of clusters in increasing order.

    Returns
    -------
    StabilityCurve
        ``details`` has "standard_error" and "coverage", the share of test rows that count.

    See Also
    --------
    lange_stability : By all rows at once.
    choose : Several criteria at once.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, "Cluster validation by prediction strength", Journal of
       Computational and Graphical Statistics 14 (2005), doi:10.1198/106186005X59243.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from subscape.validation import prediction_strength
    >>> X, _ = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> grid = {"n_clusters": [1, 2, 3, 4]}
    >>> prediction_strength(KMeans(n_init=3), X, grid, n_splits=3).best
    {'n_clusters': 3}
    """
    if measure not in ("rows", "cells"):
        raise SubscapeError(f'measure must be "rows" or "cells", got {measure!r}')
    settings = settings_of(finder, grid)
    work = Work(store, n_jobs, progress)
    outcome = split_runs(finder, X, settings, n_splits, 0.5, sampling, transfer, random_state, work)
    cells = measure == "cells"
    strengths = np.array([[strength(*pair, cells) for pair in row] for row in outcome.halves])
    covered = np.array([[_both_cover(*pair) for pair in row] for row in outcome.halves])
    values = mean_of(strengths)
    number = np.maximum((~np.isnan(strengths)).sum(axis=1), 1)
    error = mean_of(strengths, by=np.nanstd) / np.sqrt(number)
    good = np.flatnonzero(values + error >= threshold)
    return curve_of(
        "prediction strength",
        settings,
        strengths,
        outcome.runs,
        better="high",
        chosen=int(good[-1]) if len(good) else None,
        rule=f"the last setting with mean + standard error of at least {threshold:g}",
        details={"standard_error": error, "coverage": mean_of(covered)},
    )


# -- what the three share -------------------------------------------------------------------------


def split_runs(
    finder: Any, X: Any, settings: list[dict[str, Any]], n_splits: int, share: float,
    sampling: str, transfer: str | Rule, random_state: Any, work: Work,
) -> Outcome:  # fmt: skip
    rule = rule_of(transfer)
    found = sampled_runs(finder, X, settings, n_splits, share, sampling, random_state, work)
    return Outcome(found.halves(rule), found.runs)


def sampled_runs(
    finder: Any, X: Any, settings: list[dict[str, Any]], n_splits: int, share: float,
    sampling: str, random_state: Any, work: Work,
) -> Samples:  # fmt: skip
    """Both parts of every split clustered with every setting."""
    table = table_of(X, "stability")
    if hasattr(table, "tocsr"):
        raise TypeError("a clustering is carried over in dense tables only; pass X.toarray()")
    whole_number(n_splits, "n_splits", 1)
    drawing, seeds = seeds_from(random_state, 2 * n_splits)
    parts = splits(table.shape, n_splits, sampling=sampling, share=share, random_state=drawing)
    samples = [sample for split in parts for sample in split]
    return Samples(table, parts, run_grid(finder, X, settings, samples, seeds, work))


def _halves(
    table: FloatArray,
    split: Split,
    learned: SubspaceClustering | None,
    found: SubspaceClustering | None,
    rule: Rule,
) -> Halves:
    if learned is None or learned.n_clusters == 0:
        return Halves(learned and _nowhere(learned, len(split.test.rows)), found)  # type: ignore[arg-type]
    old, new = (
        table[sample.rows] if sample.columns is None else table[np.ix_(*sample)]  # type: ignore[arg-type]
        for sample in split
    )
    return Halves(carried_over(old, learned, new, rule), found)


def _nowhere(empty: SubspaceClustering, n_rows: int) -> SubspaceClustering:
    """The empty clustering, of other rows."""
    return SubspaceClustering(Memberships.from_rows([], n_rows), empty.subspaces)


def _uninformed(pair: Halves, how: str, rng: np.random.Generator, compare: Comparison) -> float:
    """Distance of two clusterings that know nothing of the rows."""
    if any(side is None or side.n_clusters == 0 for side in pair):
        return float("nan")
    return compare(*(_scrambled(side, how, rng) for side in pair if side is not None))


def _scrambled(
    clustering: SubspaceClustering, how: str, rng: np.random.Generator
) -> SubspaceClustering:
    if how == "permuted":
        return clustering.restrict(rng.permutation(clustering.n_rows))
    labels = rng.integers(0, clustering.n_clusters, clustering.n_rows)
    members = Memberships.from_codes(labels, clustering.n_clusters)
    used = np.flatnonzero(members.sizes())
    return SubspaceClustering(members.select(used), clustering.subspaces.select(used))


def strength(
    predicted: SubspaceClustering | None, found: SubspaceClustering | None, cells: bool = False
) -> float:
    """Share of the pairs of the worst cluster of ``found`` that are predicted to be together.

    With ``cells`` a pair counts by what the two clusters' subspaces have in common.

    >>> halves = [SubspaceClustering.from_labels(y) for y in ([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])]
    >>> strength(*halves)  # 1 pair of 3 in the cluster of three rows
    0.3333333333333333
    >>> one = SubspaceClustering.from_labels([0, 0, 0], masks=[[1, 1, 0]])
    >>> two = SubspaceClustering.from_labels([0, 0, 0], masks=[[0, 1, 1]])
    >>> strength(one, two), strength(one, two, cells=True)  # one of three features in common
    (1.0, 0.3333333333333333)
    """
    if predicted is None or found is None:
        return float("nan")
    a, b = predicted.labels(), found.labels()
    both = (a >= 0) & (b >= 0)
    worst = np.nan
    for j in np.unique(b[both]):
        sizes = np.bincount(a[both & (b == j)])
        size = int(sizes.sum())
        if size > 1:
            pairs = (sizes * (sizes - 1)).astype(np.float64)
            if cells:
                pairs = pairs * [
                    in_common(predicted, c, found, j) if number else 0.0
                    for c, number in enumerate(pairs)
                ]
            together = float(pairs.sum() / (size * (size - 1)))
            worst = together if np.isnan(worst) else min(worst, together)
    return float(worst)


def in_common(a: SubspaceClustering, i: int, b: SubspaceClustering, j: int) -> float:
    """Share of the subspaces of two clusters that both have, as one row's cells would be shared."""
    one, other = (
        SubspaceClustering(Memberships.from_rows([[0]], 1), side.subspaces.select(np.array([k])))
        for side, k in ((a, i), (b, j))
    )
    return 1 - float(rnia(one, other))


def _both_cover(predicted: SubspaceClustering | None, found: SubspaceClustering | None) -> float:
    if predicted is None or found is None:
        return float("nan")
    return float(np.mean((predicted.labels() >= 0) & (found.labels() >= 0)))
