"""Finders whose clusters weight the features instead of choosing some.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ewkm": "EWKM",
        "lac": "LAC",
        "sparse_kmeans": "SparseKMeans",
    },
)
