"""KFlats: k-means with flats in the place of points."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "kflats": "KFlats",
    },
)
