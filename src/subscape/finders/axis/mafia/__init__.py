"""MAFIA: dense units of a grid whose bins follow the data."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "mafia": "MAFIA",
    },
)
