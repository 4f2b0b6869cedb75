"""HARP: a hierarchy of projected clusters."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "harp": "HARP",
    },
)
