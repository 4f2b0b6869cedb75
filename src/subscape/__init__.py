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

from subscape.version import __version__

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering
    from subscape.core.oriented import OrientedSubspaces
    from subscape.core.prototypes import assign, describe
    from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
    from subscape.exploration.exploration import explore
    from subscape.exploration.study import Study, load_study
    from subscape.files.archive import load, save
    from subscape.tables.table import Table


__all__ = [
    "AxisSubspaces",
    "OrientedSubspaces",
    "Study",
    "SubspaceClustering",
    "Table",
    "WeightedSubspaces",
    "__version__",
    "assign",
    "describe",
    "explore",
    "load",
    "load_study",
    "save",
]

_SUBMODULES = (
    "arrays",
    "core",
    "datasets",
    "ensemble",
    "exploration",
    "files",
    "finders",
    "measures",
    "parallel",
    "pl",
    "plots",
    "report",
    "runs",
    "tables",
    "testing",
    "tl",
    "validation",
)
_HOME = {
    "core": (
        "AxisSubspaces OrientedSubspaces SubspaceClustering WeightedSubspaces assign describe"
    ),
    "exploration": "Study explore load_study",
    "files": "load save",
    "tables": "Table",
}
_PACKAGE = {name: package for package, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"subscape.{name}")
    if name not in _PACKAGE:
        raise AttributeError(f"module 'subscape' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"subscape.{_PACKAGE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
