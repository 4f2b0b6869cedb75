"""Finders of arbitrarily oriented subspaces.

*Subspace* means the one in which the points of a cluster are alike; the flat they spread along is
``clustering_.complement()``, its dims are ``flat_dims_``. Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cash": "CASH",
        "copac": "COPAC",
        "eric": "ERiC",
        "fourc": "FourC",
        "kflats": "KFlats",
        "lmclus": "LMCLUS",
        "orclus": "ORCLUS",
        "subkmeans": "SubKMeans",
    },
)
