"""Pictures of clusterings and comparisons, one per file; each returns a Display.

Needs matplotlib (``pip install subscape[report]``). Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "adco_over_time": "AdcoOverTimeDisplay",
        "agreement": "AgreementDisplay",
        "cells": "CellsDisplay",
        "cluster_map": "ClusterMapDisplay",
        "cluster_stability": "ClusterStabilityDisplay",
        "coassociation": "CoassociationDisplay",
        "distance_matrix": "DistanceMatrixDisplay",
        "flats": "FlatsDisplay",
        "intersections": "IntersectionsDisplay",
        "loss_curve": "LossCurveDisplay",
        "null_distribution": "NullDistributionDisplay",
        "reconstruction_error": "ReconstructionErrorDisplay",
        "stability_curve": "StabilityCurveDisplay",
        "trade_off": "TradeOffDisplay",
        "views": "ViewsDisplay",
    },
)
