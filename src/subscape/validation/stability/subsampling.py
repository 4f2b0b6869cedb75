"""Stability by plain resampling: cluster samples of the table and see how much the results differ.

After A. Patrikainen, *Methods for Comparing Subspace Clusterings* (licentiate's thesis, Helsinki
University of Technology, 2005), section 6.2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray
from subscape.runs.store import Run, RunStore

from .clusters import RECOVERED, ClusterStability, cluster_stability
from .comparison import Comparison, Metric, Sampled, check_place, distance, distances_within
from .curves import StabilityCurve, bootstrap_pairs, counted, ends_of, mean_of
from .resampling import (
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

#: Distances this close to the smallest one are ties, even if no draw ever differs.
TIE = 0.01

RULE = (
    "the smallest mean distance between samples; of settings within one standard error of it "
    "whose clusters all come back, the one with most clusters; one cluster of all rows is no choice"
)


@dataclass(frozen=True, eq=False, repr=False)
class ResamplingStability(StabilityCurve):
    """A :class:`StabilityCurve` that knows its samples, and all distances between all runs.

    Attributes
    ----------
    samples : list of Sample
    wholes : list of Run
        One per setting, of the whole table; empty if ``reference`` was False.
    compare : str
    comparison : Comparison

    See Also
    --------
    resampling_stability : Makes it.
    subscape.plots.StabilityCurveDisplay : As a picture.
    """

    samples: list[Sample] = field(default_factory=list)
    wholes: list[Run] = field(default_factory=list)
    compare: str = "common"
    comparison: Comparison = field(default_factory=Comparison)

    def all_distances(self, order: str = "sample") -> tuple[FloatArray, list[str]]:
        """The matrix of the distances between all runs that found something, with their names.

        Parameters
        ----------
        order : {"sample", "parameter"}
            Whether the runs of a sample, or those of a setting, stand together (Fig. 6.5).

        Returns
        -------
        distances, names
            A symmetric array of shape (runs, runs), and a name for each run.
        """
        if order not in ("sample", "parameter"):
            raise SubscapeError(f'order must be "sample" or "parameter", got {order!r}')
        labels, places = self.labels, [
            (g, s) for g in range(len(self.settings)) for s in range(len(self.samples))
        ]  # fmt: skip
        if order == "sample":
            places.sort(key=lambda place: (place[1], place[0]))
        members, names = [], []
        for g, s in places:
            run = self.runs[g][s]
            if run.clustering is not None and run.clustering.n_clusters:
                members.append(Sampled.of_run(run))
                names.append(f"sample {s}: {labels[g]}")
        return distances_within(members, self.comparison, self.compare), names

    def effects(self) -> dict[str, float]:
        """Mean distance between samples at equal settings, and between settings in one sample.

        Returns
        -------
        dict of str to float
        """
        between_settings = [
            distance(
                Sampled.of_run(self.runs[g][s]), Sampled.of_run(self.runs[h][s]),
                self.comparison, self.compare,
            )
            for s in range(len(self.samples))
            for g in range(len(self.settings))
            for h in range(g)
        ]  # fmt: skip
        return {
            "sample": float(mean_of(self.values)),
            "parameter": float(mean_of(np.array(between_settings or [np.nan]))),
        }


def resampling_stability(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_samples: int = 10,
    sampling: str = "rows",
    share: float = 0.8,
    measure: Metric = "clustering_error",
    compare: str = "common",
    mass: str | None = None,
    overlap: str | None = None,
    reference: bool = True,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> ResamplingStability:
    """Cluster samples of a table, for each setting of a finder, and compare the results [1]_.

    The statistic is the mean distance between the clusterings of two samples; small is stable. A
    finder that raises on a sample, or finds nothing in it, is counted: a failed run is left out,
    nothing beside something counts as distance 1, and nothing twice says nothing.

    Parameters
    ----------
    finder : estimator
    X : array-like of shape (n_rows, n_features)
    grid : mapping of parameter names to lists of values, or list of settings, optional
        Default: the finder as it is.
    n_samples : int, default=10
        All pairs of samples are compared.
    sampling : {"rows", "columns", "both"}, default="rows"
    share : float, default=0.8
        Of the rows or columns in a sample (the thesis takes 0.9 of both).
    measure : str or callable, default="clustering_error"
        Any measure of :mod:`subscape.measures` that compares two clusterings; scores count by how
        much they miss their best value.
    compare : {"common", "union"}, default="common"
        Compare two samples on the rows and features that both have, or over all that either has:
        what one sample lacks is then in no cluster there, which sets a floor to the distance.
    mass, overlap
        As in :func:`subscape.measures.clustering_error`.
    reference : bool, default=True
        Cluster the whole table too, once per setting, to see which of its clusters come back.
    random_state : int, Generator or None, default=0
        Of the samples and, by sample, of the finder; the same for all settings.
    store, n_jobs, progress
        As in :func:`run_all`.

    Returns
    -------
    ResamplingStability

    See Also
    --------
    cluster_stability : Which clusters come back.
    subscape.plots.StabilityCurveDisplay : As a picture.
    choose : Several criteria at once.

    References
    ----------
    .. [1] A. Patrikainen, M. Meila, "Comparing subspace clusterings", IEEE TKDE 18(7), 2006,
       doi:10.1109/TKDE.2006.106; the experiment is section 6.2 of the thesis of that name (2005).

    Examples
    --------
    >>> from subscape.finders import SSPC
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import resampling_stability
    >>> X, truth = planted_axes(150, 10, n_clusters=3, dims=5, random_state=0)
    >>> found = resampling_stability(SSPC(n_init=2), X, {"n_clusters": [2, 3, 4]}, n_samples=4)
    >>> found.best
    {'n_clusters': 3}
    >>> found.clusters[1].recovered
    array([1., 1., 1.])
    """
    whole_number(n_samples, "n_samples", 2)
    settings = settings_of(finder, grid)
    place, comparison = check_place(compare), Comparison(measure, mass, overlap).check()
    shape = table_of(X, "resampling_stability").shape
    drawing, seeds = seeds_from(random_state, n_samples + 1)
    samples = subsamples(shape, n_samples, sampling=sampling, share=share, random_state=drawing)
    everything = [Sample(None, None)] if reference else []
    work = Work(store, n_jobs, progress)
    # The whole table comes last, so that the seeds of the samples don't depend on it.
    runs = run_grid(finder, X, settings, samples + everything, seeds[: len(samples) + reference],
                    work)  # fmt: skip
    sampled = [row[:n_samples] for row in runs]
    distances = np.stack(
        [
            distances_within([Sampled.of_run(run) for run in row], comparison, place)
            for row in sampled
        ]
    )
    pairs = np.triu_indices(n_samples, 1)
    replicates = distances[:, pairs[0], pairs[1]]
    draws = bootstrap_pairs(distances)
    low, high = ends_of(draws)
    counts = counted(sampled)
    values = mean_of(replicates)
    trivial = np.array([is_trivial(row) for row in sampled])
    clusters = _recovered(runs, n_samples, comparison, place) if reference else None
    told = counted([row[n_samples:] for row in runs])["n_clusters"] if reference else np.nan
    told = np.where(np.isnan(told), counts["n_clusters"], told)
    intact = np.array([is_intact(one) for one in clusters or [None] * len(settings)])
    return ResamplingStability(
        method="resampling",
        settings=settings,
        values=values,
        replicates=replicates,
        low=low,
        high=high,
        better="low",
        chosen=most_stable(np.where(trivial, np.nan, values), draws, told, intact),
        rule=RULE,
        runs=sampled,
        distances=distances,
        clusters=clusters,
        draws=draws,
        samples=samples,
        wholes=[row[n_samples] for row in runs] if reference else [],
        compare=place,
        comparison=comparison,
        **counts,
    )


def is_trivial(runs: Sequence[Run]) -> bool:
    """Whether all rows are one cluster in every run, which is stable and says nothing."""
    found = [run.clustering for run in runs if run.clustering is not None]
    return bool(found) and all(c.n_clusters == 1 and c.coverage == 1 for c in found)


def is_intact(clusters: ClusterStability | None) -> bool:
    """Whether every cluster comes back; as far as is known."""
    if clusters is None:
        return True
    known = clusters.stability[~np.isnan(clusters.stability)]
    return bool((known >= RECOVERED).all())


def most_stable(
    values: FloatArray, draws: FloatArray, n_clusters: FloatArray, intact: BoolArray
) -> int | None:
    """The smallest value; of those no worse by more than chance and intact, most clusters.

    A few rows that happen to be left over make a cluster that hardly changes the distance between
    samples, but does not come back.
    """
    if np.isnan(values).all():
        return None
    best = int(np.nanargmin(values))
    spread = float(np.nanstd(draws[:, best])) if np.isfinite(draws[:, best]).any() else 0.0
    ties = np.flatnonzero((values <= values[best] + max(spread, TIE)) & intact)
    said = np.nan_to_num(n_clusters)
    return int(max(ties, key=lambda g: (said[g], -values[g]), default=best))


def _recovered(
    runs: list[list[Run]], n_samples: int, comparison: Comparison, place: str
) -> list[ClusterStability | None]:
    found: list[ClusterStability | None] = []
    for row in runs:
        whole = row[n_samples].clustering
        if whole is None or whole.n_clusters == 0:
            found.append(None)
            continue
        found.append(
            cluster_stability(
                whole, row[:n_samples], measure=comparison.measure, compare=place,
                mass=comparison.mass, overlap=comparison.overlap,
            )
        )  # fmt: skip
    return found
