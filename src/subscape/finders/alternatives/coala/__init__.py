"""COALA: average link that merges across known clusters."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "coala": "COALA",
    },
)
