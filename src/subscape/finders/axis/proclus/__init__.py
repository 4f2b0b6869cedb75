"""PROCLUS: projected clusters around medoids."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "proclus": "PROCLUS",
    },
)
