"""Pictures of clusterings and comparisons, one per file; each returns a Display.

Needs matplotlib (``pip install subscape[report]``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cells import CellsDisplay
    from .distance_matrix import DistanceMatrixDisplay
    from .flats import FlatsDisplay
    from .intersections import IntersectionsDisplay
    from .loss_curve import LossCurveDisplay
    from .reconstruction_error import ReconstructionErrorDisplay

__all__ = [
    "CellsDisplay",
    "DistanceMatrixDisplay",
    "FlatsDisplay",
    "IntersectionsDisplay",
    "LossCurveDisplay",
    "ReconstructionErrorDisplay",
]

_HOME = {
    "CellsDisplay": "cells",
    "DistanceMatrixDisplay": "distance_matrix",
    "FlatsDisplay": "flats",
    "IntersectionsDisplay": "intersections",
    "LossCurveDisplay": "loss_curve",
    "ReconstructionErrorDisplay": "reconstruction_error",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.plots.{_HOME[name]}"), name)
