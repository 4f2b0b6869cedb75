"""Whether clusterings are real, stable, and of the right size.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {
    "ClusterScores": "evidence",
    "FigureOfMerit": "left_out",
    "figure_of_merit": "left_out",
    "GapCurve": "gap",
    "NullModel": "nulls",
    "Significance": "null_test",
    "dip": "humps",
    "gap_statistic": "gap",
    "max_statistic_test": "max_statistic",
    "null_table": "nulls",
    "Replication": "replication",
    "replicate": "replication",
    "robust_scale": "max_statistic",
    "score_clusters": "evidence",
    "significance": "null_test",
    "ClusterStability": "recovered",
    "ResamplingStability": "stability",
    "StabilityCurve": "curves",
    "cluster_stability": "recovered",
    "resampling_stability": "stability",
    "subsamples": "resampling",
    "lange_stability": "splitting",
    "clest": "reference_split",
    "prediction_strength": "splitting",
    "model_explorer": "overlapping_samples",
    "levine_domany": "overlapping_samples",
    "choose": "selection",
    "Choice": "choice",
    "Run": "runs",
    "RunStore": "runs",
    "Task": "runs",
    "fingerprint": "run_identity",
    "run_all": "runs",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.validation' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.validation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
