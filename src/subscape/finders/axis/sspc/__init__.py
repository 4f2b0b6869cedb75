"""SSPC: projected clusters, helped by labelled rows and features."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "sspc": "SSPC",
    },
)
