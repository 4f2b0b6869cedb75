"""Finders of axis-aligned subspaces: each cluster has a set of relevant features.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "clique": "CLIQUE",
        "dish": "DiSH",
        "doc": "DOC FastDOC",
        "harp": "HARP",
        "mafia": "MAFIA",
        "mineclus": "MineClus",
        "p3c": "P3C",
        "predecon": "PreDeCon",
        "proclus": "PROCLUS",
        "sspc": "SSPC",
        "subclu": "SUBCLU",
    },
)
