"""Pictures of clusterings and comparisons, one per file; each returns a Display.

Needs matplotlib (``pip install subscape[report]``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adco_over_time import AdcoOverTimeDisplay
    from .agreement import AgreementDisplay
    from .cells import CellsDisplay
    from .cluster_map import ClusterMapDisplay
    from .cluster_stability import ClusterStabilityDisplay
    from .coassociation import CoassociationDisplay
    from .distance_matrix import DistanceMatrixDisplay
    from .flats import FlatsDisplay
    from .intersections import IntersectionsDisplay
    from .loss_curve import LossCurveDisplay
    from .null_distribution import NullDistributionDisplay
    from .reconstruction_error import ReconstructionErrorDisplay
    from .stability_curve import StabilityCurveDisplay
    from .trade_off import TradeOffDisplay
    from .views import ViewsDisplay

__all__ = [
    "AdcoOverTimeDisplay",
    "AgreementDisplay",
    "CellsDisplay",
    "ClusterMapDisplay",
    "ClusterStabilityDisplay",
    "CoassociationDisplay",
    "DistanceMatrixDisplay",
    "FlatsDisplay",
    "IntersectionsDisplay",
    "LossCurveDisplay",
    "NullDistributionDisplay",
    "ReconstructionErrorDisplay",
    "StabilityCurveDisplay",
    "TradeOffDisplay",
    "ViewsDisplay",
]

_HOME = {
    "AdcoOverTimeDisplay": "adco_over_time",
    "AgreementDisplay": "agreement",
    "CellsDisplay": "cells",
    "ClusterMapDisplay": "cluster_map",
    "ClusterStabilityDisplay": "cluster_stability",
    "CoassociationDisplay": "coassociation",
    "StabilityCurveDisplay": "stability_curve",
    "DistanceMatrixDisplay": "distance_matrix",
    "FlatsDisplay": "flats",
    "IntersectionsDisplay": "intersections",
    "LossCurveDisplay": "loss_curve",
    "NullDistributionDisplay": "null_distribution",
    "ReconstructionErrorDisplay": "reconstruction_error",
    "TradeOffDisplay": "trade_off",
    "ViewsDisplay": "views",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.plots.{_HOME[name]}"), name)
