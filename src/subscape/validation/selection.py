"""Which setting of a finder: number of clusters, dims, or any other parameter."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsTable
from subscape.core.plain_values import without_nan
from subscape.core.prototypes import assign, describe
from subscape.core.types import FloatArray, IntArray
from subscape.measures.flats.description_length import description_length
from subscape.measures.flats.reconstruction import sre
from subscape.runs.identity import seeds_of
from subscape.runs.store import Run, RunStore
from subscape.validation.stability.comparison import Metric
from subscape.validation.stability.curves import (
    N_DRAWS,
    StabilityCurve,
    counted,
    mean_of,
    plain,
    setting_labels,
)
from subscape.validation.stability.resampling import (
    Grid,
    Sample,
    Work,
    run_grid,
    seeds_from,
    settings_of,
    subsamples,
    table_of,
    whole_number,
)
from subscape.validation.stability.subsampling import (
    RULE,
    is_intact,
    is_trivial,
    most_stable,
    resampling_stability,
)
from subscape.validation.stability.transfer import carried_over

from .criteria import FEWEST_NULL_TABLES, SIGNIFICANCE_LEVEL
from .max_statistic import max_statistic_test, robust_scale
from .null_test import significance

CRITERIA = ("stability", "sre", "description_length", "significance")


def choose(
    finder: Any,
    X: ArrayLike,
    grid: Grid,
    by: str = "stability",
    *,
    n_samples: int = 10,
    sampling: str = "rows",
    share: float = 0.8,
    n_null: int = FEWEST_NULL_TABLES,
    measure: Metric = "clustering_error",
    mass: str | None = None,
    overlap: str | None = None,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> Choice:
    """Choose among the settings of a finder, and say how sure the choice is.

    Parameters
    ----------
    finder : estimator
    X : array-like of shape (n_rows, n_features)
    grid : mapping of parameter names to lists of values, or list of settings
        For example ``{"n_clusters": range(2, 11), "avg_dims": [3, 6, 9]}``.
    by : {"stability", "sre", "description_length", "significance"}, default="stability"
        "stability": mean distance between the clusterings of two samples
        (:func:`resampling_stability`). "description_length": bits it takes to send the table
        (:func:`subscape.measures.description_length`), once each row is in the cluster, or the
        noise, where it costs least: the quickest and, where clusters are close to normal, the
        surest. "sre": reconstruction error with the paper's prices of clusters and
        dims (:func:`subscape.measures.sre`), which depend on the scale of the table.
        "significance": how much more evidence for its clusters than in null tables on which the
        finder runs at the same setting (:func:`significance`), with p-values corrected for the
        number of settings; none is chosen if none is significant.
    n_samples : int, default=10
        Samples behind "how sure"; for "stability" behind the criterion itself.
    n_null : int, default=99
        Null tables of "significance".
    sampling : {"rows", "columns", "both"}, default="rows"
        "stability" takes all; the others need "rows".
    share : float, default=0.8
        Of the rows or columns in a sample.
    measure, mass, overlap
        Of "stability", as in :func:`resampling_stability`.
    random_state, store, n_jobs, progress
        As in :func:`resampling_stability`.

    Returns
    -------
    Choice

    See Also
    --------
    resampling_stability : One of the criteria by itself.
    significance : Whether the choice is more than chance.

    Notes
    -----
    How sure: for "stability" the choice is made again from samples drawn with replacement from the
    samples; for "sre" and "description_length" on every sample alone; for "significance" with null
    tables drawn with replacement from the null tables. A choice that most of them
    share would hardly be another one for another sample of the same kind of data, which does not
    mean that it is right.

    Examples
    --------
    >>> from subscape.finders import PROCLUS
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import choose
    >>> X, truth = planted_axes(200, 10, n_clusters=4, dims=5, random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4, 5, 6]}
    >>> choice = choose(PROCLUS(avg_dims=5), X, grid, by="description_length", n_samples=3)
    >>> choice.best
    {'n_clusters': 4}
    >>> choice.clustering.n_clusters
    4
    """
    if by not in CRITERIA:
        raise SubscapeError(f"by must be one of {', '.join(CRITERIA)}; got {by!r}")
    work = Work(store, n_jobs, progress)
    if by == "stability":
        curve = resampling_stability(
            finder, X, grid, n_samples=n_samples, sampling=sampling, share=share, measure=measure,
            mass=mass, overlap=overlap, random_state=random_state, store=store, n_jobs=n_jobs,
            progress=progress,
        )  # fmt: skip
        return _by_stability(curve)
    if sampling != "rows":
        raise SubscapeError(
            f'by={by!r} can\'t compare scores of different columns; use sampling="rows", or '
            'by="stability"'
        )
    settings = settings_of(finder, grid)
    if by == "significance":
        return _by_significance(finder, X, settings, n_null, random_state, work)
    return _by_score(finder, X, settings, by, n_samples, share, random_state, work)


def _by_stability(curve: Any) -> Choice:
    trivial = np.array([is_trivial(row) for row in curve.runs])
    values = np.where(trivial, np.nan, curve.values)
    draws = np.where(trivial, np.nan, curve.draws)
    intact = np.array([is_intact(one) for one in curve.clusters])
    whole = counted([[run] for run in curve.wholes])
    first = [most_stable(draw, curve.draws, whole["n_clusters"], intact) for draw in draws]
    return Choice(
        by="stability",
        settings=curve.settings,
        values=values,
        wins=_shares(first, len(values)),
        chosen=curve.chosen,
        runner_up=_second(values, curve.chosen),
        n_clusters=whole["n_clusters"],
        n_failed=curve.n_failed + whole["n_failed"],
        n_empty=curve.n_empty + whole["n_empty"],
        rule=RULE,
        wholes=curve.wholes,
        curve=curve,
        details={"low": curve.low, "high": curve.high},
    )


# -- scores of one clustering ---------------------------------------------------------------------


def reconstruction(X: Any, clustering: SubspaceClustering) -> float:
    """The sum of reconstruction errors; unknown where nothing was found."""
    return sre(X, clustering).total if clustering.n_clusters else float("nan")


def _scored(
    table: FloatArray, run: Run, score: Callable[[Any, SubspaceClustering], float]
) -> float:
    if run.clustering is None:
        return float("nan")
    return score(table if run.rows is None else table[run.rows], run.clustering)


def _by_score(
    finder: Any, X: Any, settings: list[dict[str, Any]], by: str, n_samples: int, share: float,
    random_state: Any, work: Work,
) -> Choice:  # fmt: skip
    whole_number(n_samples, "n_samples", 0)
    table = table_of(X, "choose")
    drawing, seeds = seeds_from(random_state, n_samples + 1)
    samples = [Sample(None, None)]
    if n_samples:
        samples = [*subsamples(table.shape, n_samples, share=share, random_state=drawing), *samples]
    runs = run_grid(finder, X, settings, samples, seeds, work)
    # Not in the workers: runs are then the same as those of "stability", and shared by a store.
    scores = np.array([[_scored(table, run, SCORES[by]) for run in row] for row in runs])
    values = scores[:, -1]
    chosen = None if np.isnan(values).all() else int(np.nanargmin(values))
    first = [
        None if np.isnan(column).all() else int(np.nanargmin(column)) for column in scores.T[:-1]
    ]
    counts = counted(runs)
    return Choice(
        by=by,
        settings=settings,
        values=values,
        wins=_shares(first, len(values)),
        chosen=chosen,
        runner_up=_second(values, chosen),
        n_clusters=counted([row[-1:] for row in runs])["n_clusters"],
        n_failed=counts["n_failed"],
        n_empty=counts["n_empty"],
        rule=f"the smallest {by}",
        wholes=[row[-1] for row in runs],
        details={"mean_in_samples": mean_of(scores[:, :-1])} if n_samples else {},
    )


def _by_significance(
    finder: Any, X: Any, settings: list[dict[str, Any]], n_null: int, random_state: Any, work: Work
) -> Choice:
    whole_number(n_null, "n_null", 1)
    _, (seed,) = seeds_from(random_state, 1)
    wholes = [row[0] for row in run_grid(finder, X, settings, [Sample(None, None)], [seed], work)]
    counts = counted([[run] for run in wholes])
    evidence, p_values = (np.full(len(settings), np.nan) for _ in range(2))
    null: dict[int, FloatArray] = {}
    for g, setting in enumerate(settings):
        if not wholes[g].ok:
            continue
        # The same seed means the same null tables for all settings.
        tested = significance(
            clone(finder).set_params(**setting, **_unseeded(finder)), X, n_null=n_null,
            store=work.store, n_jobs=work.n_jobs, progress=work.progress, random_state=seed,
        )  # fmt: skip
        evidence[g], p_values[g], null[g] = tested.observed, tested.p_value, tested.null
    if len({len(values) for values in null.values()}) == 1:
        # The best of many settings is compared with the best of the same settings on each table.
        maxima = np.max(list(null.values()), axis=0)
        corrected = max_statistic_test(np.nan_to_num(evidence, nan=-np.inf), maxima)
        corrected = np.where(np.isnan(evidence), np.nan, np.maximum(corrected, p_values))
    else:
        corrected = np.minimum(1.0, p_values * len(settings))
    counting = np.where(corrected <= SIGNIFICANCE_LEVEL, evidence, np.nan)
    chosen = None if np.isnan(counting).all() else int(np.nanargmax(counting))
    return Choice(
        by="significance",
        settings=settings,
        values=evidence,
        wins=_shares(_first_under(null, evidence, counting), len(settings)),
        chosen=chosen,
        runner_up=_second(-evidence, chosen),
        n_clusters=counts["n_clusters"],
        n_failed=counts["n_failed"],
        n_empty=counts["n_empty"],
        rule="the most evidence, in robust standard deviations of null tables, among settings with "
        f"a corrected p-value of at most {SIGNIFICANCE_LEVEL:g}",
        wholes=wholes,
        better="high",
        details={"p_value": p_values, "corrected_p_value": corrected},
    )


def _unseeded(finder: Any) -> dict[str, None]:
    """A finder that gets another seed on every table."""
    return dict.fromkeys(seeds_of(finder))


def _first_under(
    null: dict[int, FloatArray], evidence: FloatArray, counting: FloatArray
) -> list[int | None]:
    """The first setting if other null tables had been drawn."""
    rng = np.random.default_rng(0)
    first: list[int | None] = []
    for _ in range(N_DRAWS):
        scaled = np.full(len(evidence), -np.inf)
        for g, values in null.items():
            drawn = rng.choice(values, len(values))
            scale = robust_scale(np.append(drawn, evidence[g])[:, None])
            scaled[g] = (evidence[g] - scale.centre[0]) / scale.width[0]
        scaled[np.isnan(counting)] = -np.inf
        first.append(int(np.argmax(scaled)) if np.isfinite(scaled).any() else None)
    return first


def _shares(first: list[int | None], number: int) -> FloatArray:
    """How often each setting is the first."""
    known = [g for g in first if g is not None]
    if not first:
        return np.full(number, np.nan)
    return np.bincount(np.array(known, dtype=np.intp), minlength=number) / len(first)


def _second(values: FloatArray, chosen: int | None) -> int | None:
    others = values.copy()
    if chosen is not None:
        others[chosen] = np.nan
    return None if np.isnan(others).all() else int(np.nanargmin(others))


# -- A choice among settings: ranked, with the runner-up and how sure it is ------------------------


@dataclass(frozen=True, eq=False)
class Choice(ShownAsTable):
    """What :func:`choose` returns: the settings of a finder, ranked, and how sure the first is.

    Attributes
    ----------
    by : str
        The criterion.
    settings : list of dict
    values : array of shape (n_settings,)
        The criterion; NaN where it can't be had.
    wins : array of shape (n_settings,)
        Share of the samples in which the setting would have been chosen.
    chosen, runner_up : int or None
        Positions of the first and the second.
    n_clusters : array of shape (n_settings,)
        Clusters found in the whole table.
    n_failed, n_empty : arrays of shape (n_settings,)
        Runs that failed and that found nothing.
    rule : str
    wholes : list of Run
        One per setting, of the whole table.
    better : {"low", "high"}
        Which values are good.
    curve : StabilityCurve or None
        All that is behind a choice by stability.
    details : dict of arrays of shape (n_settings,)

    See Also
    --------
    choose : Makes it.
    """

    by: str
    settings: list[dict[str, Any]]
    values: FloatArray
    wins: FloatArray
    chosen: int | None
    runner_up: int | None
    n_clusters: FloatArray
    n_failed: IntArray
    n_empty: IntArray
    rule: str
    wholes: list[Run] = field(repr=False)
    better: str = "low"
    curve: StabilityCurve | None = field(default=None, repr=False)
    details: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def best(self) -> dict[str, Any] | None:
        """Parameters of the chosen setting."""
        return None if self.chosen is None else dict(self.settings[self.chosen])

    @property
    def sure(self) -> float:
        """Share of the samples that agree with the choice; 0 if there is none."""
        return 0.0 if self.chosen is None else float(self.wins[self.chosen])

    @property
    def clustering(self) -> SubspaceClustering | None:
        """The clustering of the whole table at the chosen setting."""
        return None if self.chosen is None else self.wholes[self.chosen].clustering

    @property
    def labels(self) -> list[str]:
        """The settings in words."""
        return setting_labels(self.settings)

    def ranking(self) -> list[int]:
        """Settings from the best to the worst: the chosen one, then by value.

        Returns
        -------
        list of int
            Positions in ``settings``.
        """
        sign = 1 if self.better == "low" else -1
        order = np.lexsort((np.arange(len(self.values)), sign * self.values))
        first = [] if self.chosen is None else [self.chosen]
        return first + [int(g) for g in order if g != self.chosen]

    def sentence(self) -> str:
        """The choice in words.

        Returns
        -------
        str
        """
        if self.chosen is None:
            return f"{self.by} chooses none of {count(len(self.settings), 'setting')}"
        text = f"{self.by} chooses {self.labels[self.chosen]} (first in {self.sure:.0%} of samples)"
        if self.runner_up is None:
            return text
        second = f"{self.labels[self.runner_up]} ({self.wins[self.runner_up]:.0%})"
        return f"{text}; runner-up {second}"

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per setting, the best first.

        Returns
        -------
        list of dict
            Ready for ``pandas.DataFrame``.
        """
        records = []
        best = np.nan if self.chosen is None else self.values[self.chosen]
        for rank, g in enumerate(self.ranking()):
            record: dict[str, Any] = {"rank": rank + 1}
            record |= {name: plain(value) for name, value in self.settings[g].items()}
            record |= {
                self.by: float(self.values[g]),
                "behind": float(self.values[g] - best),
                "wins": float(self.wins[g]),
                "found_clusters": float(self.n_clusters[g]),
                "failed": int(self.n_failed[g]),
                "found_nothing": int(self.n_empty[g]),
            }
            record |= {name: float(column[g]) for name, column in self.details.items()}
            records.append(record)
        return records

    def to_dict(self) -> dict[str, Any]:
        """The records and the choice, as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        best = self.best
        return {
            "by": self.by,
            "rule": self.rule,
            "sentence": self.sentence(),
            "chosen": best and {name: plain(value) for name, value in best.items()},
            "sure": self.sure,
            "settings": without_nan(self.to_records()),
        }

    def __repr__(self) -> str:
        lines = [self.sentence()]
        for g in self.ranking()[:10]:
            value = f"{self.values[g]:.6g}" if np.isfinite(self.values[g]) else "unknown"
            lines.append(f"  {self.labels[g]}: {value}, first in {self.wins[g]:.0%}")
        hidden = len(self.settings) - 10
        return "\n".join([*lines, f"  and {hidden} more"] if hidden > 0 else lines)


# -- description length of a clustering once every row is where it costs least ---------------------


#: Rounds of moving rows and fitting clusters anew; most are settled after two or three.
ROUNDS = 5


def reassigned_description_length(
    X: Any, clustering: SubspaceClustering, rounds: int = ROUNDS
) -> float:
    """The fewest bits of the clustering as it is and after rows were moved to where they fit.

    A tight cluster that holds a single stray row has a large variance, and the bits for that hide
    what the clusters tell: more clusters then win only because they happen to have room for the
    strays. So rows are assigned anew, to the clusters or to the noise, subspaces staying as they
    are.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    clustering : SubspaceClustering

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import description_length
    >>> from subscape.validation.selection import reassigned_description_length
    >>> X, truth = planted_axes(120, 6, n_clusters=2, dims=3, noise=0.1, random_state=0)
    >>> labels = truth.labels()
    >>> labels[np.flatnonzero(labels < 0)[:2]] = 0
    >>> strays = SubspaceClustering.from_labels(labels, masks=truth.subspaces.masks)
    >>> description_length(X, strays).total - description_length(X, truth).total > 100
    True
    >>> abs(reassigned_description_length(X, strays) - reassigned_description_length(X, truth)) < 1
    True
    """
    best = description_length(X, clustering).total
    for _ in range(rounds):
        if clustering.n_clusters == 0:
            break
        moved = carried_over(X, clustering, X, _or_noise)
        if moved == clustering:
            break
        clustering = moved
        best = min(best, description_length(X, clustering).total)
    return best


def _or_noise(X: Any, clustering: SubspaceClustering, new: Any) -> IntArray:
    return assign(new, describe(X, clustering), noise=True)


#: Scores of one clustering that a choice can go by.
SCORES: dict[str, Callable[[Any, SubspaceClustering], float]] = {
    "description_length": reassigned_description_length,
    "sre": reconstruction,
}
