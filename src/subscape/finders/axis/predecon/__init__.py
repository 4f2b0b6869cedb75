"""PreDeCon: density clusters whose rows prefer some features."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "predecon": "PreDeCon",
    },
)
