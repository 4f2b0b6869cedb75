"""Subscape finds, compares, validates and combines clusterings that live in subspaces.

The names below are loaded when they are first used, so that ``import subscape`` costs next to
nothing:

>>> import subscape
>>> truth = subscape.SubspaceClustering.from_labels([0, 0, 1, 1], n_features=3)
>>> truth.n_clusters
2
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subscape.core import (
        AxisSubspaces,
        OrientedSubspaces,
        SubspaceClustering,
        Table,
        WeightedSubspaces,
        assign,
        describe,
        load,
        save,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "AxisSubspaces",
    "OrientedSubspaces",
    "SubspaceClustering",
    "Table",
    "WeightedSubspaces",
    "__version__",
    "assign",
    "describe",
    "explore",
    "load",
    "save",
]

_SUBMODULES = frozenset(
    {
        "algorithms",
        "alternatives",
        "core",
        "datasets",
        "ensemble",
        "kernels",
        "measures",
        "plots",
        "report",
        "studies",
        "validation",
    }
)
_HOME = {name: "subscape.core" for name in __all__ if name != "__version__"}
_HOME["explore"] = "subscape.studies"


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"subscape.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'subscape' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
