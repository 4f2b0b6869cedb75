"""Subscape finds, compares, validates and combines clusterings that live in subspaces.

The names below are loaded when they are first used, so that ``import subscape`` costs next to
nothing:

>>> import subscape
>>> truth = subscape.SubspaceClustering.from_labels([0, 0, 1, 1], n_features=3)
>>> truth.n_clusters
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from subscape.lazy import lazy_names
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

__getattr__, __dir__, _ = lazy_names(
    __name__,
    {
        "core": (
            "AxisSubspaces OrientedSubspaces SubspaceClustering WeightedSubspaces assign describe"
        ),
        "exploration": "Study explore load_study",
        "files": "load save",
        "tables": "Table",
    },
    _SUBMODULES,
)
