"""A choice among settings: ranked, with the runner-up and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core import SubspaceClustering
from subscape.core.errors import count
from subscape.core.markup import ShownAsTable

from .curves import StabilityCurve, frame_of, plain, setting_labels, without_nan
from .runs import Run

FloatArray = NDArray[np.float64]


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
    """

    by: str
    settings: list[dict[str, Any]]
    values: FloatArray
    wins: FloatArray
    chosen: int | None
    runner_up: int | None
    n_clusters: FloatArray
    n_failed: NDArray[np.int64]
    n_empty: NDArray[np.int64]
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
        """Settings from the best to the worst: the chosen one, then by value."""
        sign = 1 if self.better == "low" else -1
        order = np.lexsort((np.arange(len(self.values)), sign * self.values))
        first = [] if self.chosen is None else [self.chosen]
        return first + [int(g) for g in order if g != self.chosen]

    def sentence(self) -> str:
        """The choice in words."""
        if self.chosen is None:
            return f"{self.by} chooses none of {count(len(self.settings), 'setting')}"
        text = f"{self.by} chooses {self.labels[self.chosen]} (first in {self.sure:.0%} of samples)"
        if self.runner_up is None:
            return text
        second = f"{self.labels[self.runner_up]} ({self.wins[self.runner_up]:.0%})"
        return f"{text}; runner-up {second}"

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per setting, the best first."""
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
        """The records and the choice, as plain values that JSON can hold."""
        best = self.best
        return {
            "by": self.by,
            "rule": self.rule,
            "sentence": self.sentence(),
            "chosen": best and {name: plain(value) for name, value in best.items()},
            "sure": self.sure,
            "settings": without_nan(self.to_records()),
        }

    def to_frame(self) -> Any:
        """The records as a pandas data frame."""
        return frame_of(self.to_records())

    def __repr__(self) -> str:
        lines = [self.sentence()]
        for g in self.ranking()[:10]:
            value = f"{self.values[g]:.6g}" if np.isfinite(self.values[g]) else "unknown"
            lines.append(f"  {self.labels[g]}: {value}, first in {self.wins[g]:.0%}")
        hidden = len(self.settings) - 10
        return "\n".join([*lines, f"  and {hidden} more"] if hidden > 0 else lines)
