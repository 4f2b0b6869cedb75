"""Finders of alternatives to clusterings that are already known.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cib": "CIB",
        "coala": "COALA",
        "condens": "CondEns",
        "maximus": "MAXIMUS",
        "metaclustering": "MetaClustering",
        "residual_kmeans": "ResidualKMeans",
    },
)
