"""Finders of several clusterings at once, each in a rotated subspace of its own.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "autonr": "AutoNR",
        "nrkmeans": "NrKMeans",
    },
)
