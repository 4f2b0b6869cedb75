"""Finders that write every row as a combination of others: rows of one flat need only each other.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ensc": "EnSC",
        "lsr": "LSR",
        "ssc": "SSC",
        "tsc": "TSC",
    },
)
