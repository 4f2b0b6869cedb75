"""COPAC: rows of equal local dimension on each other's flats."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "copac": "COPAC",
    },
)
