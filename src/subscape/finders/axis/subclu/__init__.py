"""SUBCLU: density-connected sets in all subspaces."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "subclu": "SUBCLU",
    },
)
