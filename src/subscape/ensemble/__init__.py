"""One projective clustering out of many.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {
    "Agreement": "agreements",
    "CSPA": "classic",
    "ClusterBasedPCE": "cluster_based",
    "EMPCE": "em",
    "Ensemble": "members",
    "EvidenceAccumulation": "accumulation",
    "HBGF": "classic",
    "HGPA": "classic",
    "MCLA": "classic",
    "MOEAPCE": "moea",
    "RowConsensus": "rows",
    "WBPA": "weighted_graphs",
    "WSPA": "weighted_graphs",
    "agreement": "agreements",
    "consensus_rows": "rows",
    "generate": "generation",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.ensemble' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.ensemble.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
