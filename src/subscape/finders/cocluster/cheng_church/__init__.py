"""ChengChurch: biclusters whose rows rise and fall together."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cheng_church": "ChengChurch",
    },
)
