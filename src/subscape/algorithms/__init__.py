"""Finders: scikit-learn estimators that return a :class:`subscape.SubspaceClustering`.

Names are loaded when first used; :mod:`subscape.algorithms.registry` lists what each can do.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "CASH": "oriented.cash",
    "COPAC": "oriented.copac",
    "ERiC": "oriented.eric",
    "FourC": "oriented.fourc",
    "SUBCLU": "axis.subclu",
    "FastDOC": "axis.doc",
    "MAFIA": "axis.mafia",
    "CLIQUE": "axis.clique",
    "SSPC": "axis.sspc",
    "HARP": "axis.harp",
    "MineClus": "axis.mineclus",
    "DOC": "axis.doc",
    "PreDeCon": "axis.predecon",
    "P3C": "axis.p3c",
    "DiSH": "axis.dish",
    "ChengChurch": "cocluster.cheng_church",
    "KFlats": "oriented.kflats",
    "LAC": "weighted.lac",
    "LMCLUS": "oriented.lmclus",
    "ORCLUS": "oriented.orclus",
    "PROCLUS": "axis.proclus",
    "SubKMeans": "oriented.subkmeans",
    "ITCC": "cocluster.itcc",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.algorithms' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.algorithms.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
