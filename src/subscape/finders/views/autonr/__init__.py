"""AutoNR: Nr-Kmeans that finds the numbers of views and clusters itself."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "autonr": "AutoNR",
    },
)
