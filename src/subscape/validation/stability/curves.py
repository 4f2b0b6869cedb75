"""A statistic over the settings of a finder, with its replicates and how sure it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subscape.core.markup import ShownAsTable
from subscape.core.plain_values import without_nan
from subscape.core.types import FloatArray, IntArray
from subscape.runs.store import Run

from .clusters import ClusterStability

#: Bootstrap draws behind intervals and shares of wins; drawn with a seed of their own.
N_DRAWS = 500

#: The ends of the intervals.
INTERVAL = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class StabilityCurve(ShownAsTable):
    """What the stability methods return: one value per setting of the finder.

    Attributes
    ----------
    method : str
    settings : list of dict
        The parameters of each setting, in the order of the grid.
    values : array of shape (n_settings,)
        The statistic; NaN where no replicate could be had.
    replicates : array of shape (n_settings, n_replicates)
        What the statistic is the mean (Clest: the median) of, by split, pair or sample.
    low, high : arrays of shape (n_settings,)
        Interval of the statistic that holds 90 % of bootstrap draws of the replicates.
    better : {"low", "high"}
        Which values are good.
    chosen : int or None
        Position of the setting that the method's rule picks; None if it picks none.
    rule : str
        The rule in words.
    n_clusters : array of shape (n_settings,)
        Mean number of clusters found.
    n_failed, n_empty : arrays of shape (n_settings,)
        Runs in which the finder raised, and in which it found no cluster.
    details : dict of arrays of shape (n_settings,)
        Further columns that belong to the method (baselines, p-values, ...).
    runs : list of lists of Run
        By setting and sample.
    distances : array of shape (n_settings, n_samples, n_samples) or None
        Every distance between samples at equal settings, where the method has them.
    clusters : list of ClusterStability or None
        By setting: which clusters of the whole table come back; None where it wasn't asked for.
    draws : array of shape (n_draws, n_settings)
        The bootstrap draws of the values.

    See Also
    --------
    lange_stability : One of the methods that make it.
    subscape.plots.StabilityCurveDisplay : As a picture.

    Examples
    --------
    >>> from subscape.finders import SSPC
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import resampling_stability
    >>> X, truth = planted_axes(150, 10, n_clusters=3, dims=5, random_state=0)
    >>> curve = resampling_stability(SSPC(n_init=2), X, {"n_clusters": [2, 3, 4]}, n_samples=3)
    >>> curve.best
    {'n_clusters': 3}
    >>> [record["n_clusters"] for record in curve.to_records()]
    [2, 3, 4]
    """

    method: str
    settings: list[dict[str, Any]]
    values: FloatArray
    replicates: FloatArray
    low: FloatArray
    high: FloatArray
    better: str
    chosen: int | None
    rule: str
    n_clusters: FloatArray
    n_failed: IntArray
    n_empty: IntArray
    details: dict[str, Any] = field(default_factory=dict)
    runs: list[list[Run]] = field(default_factory=list, repr=False)
    distances: FloatArray | None = None
    clusters: list[ClusterStability | None] | None = None
    draws: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    @property
    def best(self) -> dict[str, Any] | None:
        """Parameters of the chosen setting."""
        return None if self.chosen is None else dict(self.settings[self.chosen])

    @property
    def labels(self) -> list[str]:
        """The settings in words: a parameter that all settings share is left out."""
        return setting_labels(self.settings)

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per setting.

        Returns
        -------
        list of dict
            Ready for ``pandas.DataFrame``.
        """
        records = []
        for g, setting in enumerate(self.settings):
            record = {name: plain(value) for name, value in setting.items()}
            record |= {
                "value": float(self.values[g]),
                "low": float(self.low[g]),
                "high": float(self.high[g]),
                "found_clusters": float(self.n_clusters[g]),
                "failed": int(self.n_failed[g]),
                "found_nothing": int(self.n_empty[g]),
            }
            record |= {name: plain(column[g]) for name, column in self.details.items()}
            records.append(record | {"chosen": g == self.chosen})
        return records

    def to_dict(self) -> dict[str, Any]:
        """Everything but the runs, as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        return {
            "method": self.method,
            "rule": self.rule,
            "better": self.better,
            "chosen": self.best and {name: plain(value) for name, value in self.best.items()},
            "settings": [without_nan(record) for record in self.to_records()],
            "replicates": [without_nan(row.tolist()) for row in self.replicates],
            "distances": self.distances is not None and without_nan(self.distances.tolist()),
            "clusters": self.clusters
            and [None if one is None else one.to_dict() for one in self.clusters],
        }

    def __repr__(self) -> str:
        lines = [f"{self.method} ({self.better} is good)"]
        for g, label in enumerate(self.labels):
            mark = " <- chosen" if g == self.chosen else ""
            failed = f", {self.n_failed[g]} failed" if self.n_failed[g] else ""
            lines.append(
                f"  {label}: {self.values[g]:.3f} [{self.low[g]:.3f}, {self.high[g]:.3f}]"
                f"{failed}{mark}"
            )
        return "\n".join(lines)


def setting_labels(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Settings in words; what all share is left out.

    >>> setting_labels([{"k": 2, "w": 1}, {"k": 3, "w": 1}])
    ['k=2', 'k=3']
    """
    first = settings[0] if settings else {}
    fixed = {
        name
        for name, value in first.items()
        if len(settings) > 1 and all(repr(s.get(name)) == repr(value) for s in settings)
    }
    return [
        ", ".join(f"{name}={value}" for name, value in setting.items() if name not in fixed)
        or "as given"
        for setting in settings
    ]


def plain(value: Any) -> Any:
    """A parameter's value as JSON has it, or else in words."""
    if isinstance(value, np.generic):
        value = value.item()
    simple = value is None or isinstance(value, (bool, int, float, str))
    return value if simple else repr(value)[:200]


def mean_of(values: FloatArray, axis: int = -1, by: Callable[..., Any] = np.nanmean) -> FloatArray:
    """Mean over what is known; NaN, without a warning, where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(by(values, axis=axis), dtype=np.float64)


def bootstrap(
    replicates: FloatArray, by: Callable[..., Any] = np.nanmean, n_draws: int = N_DRAWS
) -> FloatArray:
    """Values from replicates drawn with replacement, the same ones for all settings."""
    rng = np.random.default_rng(0)
    number = replicates.shape[1]
    picks = rng.integers(0, number, (n_draws, number))
    return np.stack([mean_of(replicates[:, pick], 1, by) for pick in picks])


def bootstrap_pairs(distances: FloatArray, n_draws: int = N_DRAWS) -> FloatArray:
    """Mean distances between samples drawn with replacement; a sample is never its own pair."""
    rng = np.random.default_rng(0)
    number = distances.shape[1]
    off = np.where(np.eye(number, dtype=bool), np.nan, distances)
    known, filled = ~np.isnan(off), np.nan_to_num(off)
    draws = np.full((n_draws, len(distances)), np.nan)
    for draw in draws:
        weights = _drawn(number, rng)
        total = np.einsum("i,gij,j->g", weights, known, weights)
        summed = np.einsum("i,gij,j->g", weights, filled, weights)
        np.divide(summed, total, out=draw, where=total > 0)
    return draws


def _drawn(number: int, rng: np.random.Generator) -> FloatArray:
    """How often each sample was drawn; at least two different ones, or there is no pair."""
    while True:
        weights = np.bincount(rng.integers(0, number, number), minlength=number)
        if (weights > 0).sum() > 1:
            return weights.astype(np.float64)


def ends_of(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The interval of each setting's draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanquantile(draws, INTERVAL, axis=0)
    return low, high


def counted(runs: Sequence[Sequence[Run]]) -> dict[str, Any]:
    """Clusters found, failures and empty results per setting."""
    found = np.array(
        [
            [np.nan if run.clustering is None else run.clustering.n_clusters for run in row]
            for row in runs
        ],
        dtype=np.float64,
    ).reshape(len(runs), -1)
    return {
        "n_clusters": mean_of(found),
        "n_failed": np.isnan(found).sum(axis=1),
        "n_empty": (found == 0).sum(axis=1),
    }


def curve_of(
    method: str,
    settings: list[dict[str, Any]],
    replicates: FloatArray,
    runs: list[list[Run]],
    *,
    better: str,
    chosen: int | None,
    rule: str,
    details: dict[str, FloatArray],
    by: Callable[..., Any] = np.nanmean,
    level: FloatArray | float = 0.0,
) -> StabilityCurve:
    """A curve whose values are the means (or what ``by`` makes) of the replicates, less a level."""
    draws = bootstrap(replicates, by) - level
    low, high = ends_of(draws)
    return StabilityCurve(
        method=method,
        settings=settings,
        values=mean_of(replicates, by=by) - level,
        replicates=replicates,
        low=low,
        high=high,
        better=better,
        chosen=chosen,
        rule=rule,
        details=details,
        runs=runs,
        draws=draws,
        **counted(runs),
    )
