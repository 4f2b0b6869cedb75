"""CASH: clusters on hyperplanes that many rows agree upon."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cash": "CASH",
    },
)
