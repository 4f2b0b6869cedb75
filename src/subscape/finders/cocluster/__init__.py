"""Finders that group rows and columns together.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cheng_church": "ChengChurch",
        "itcc": "ITCC",
    },
)
