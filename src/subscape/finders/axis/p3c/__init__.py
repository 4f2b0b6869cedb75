"""P3C: projected clusters via cluster cores."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "p3c": "P3C",
    },
)
