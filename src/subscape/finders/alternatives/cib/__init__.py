"""CIB: the information bottleneck, conditioned on what is known."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cib": "CIB",
    },
)
