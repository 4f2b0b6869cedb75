"""Clusterings on disk: the ``.subscape`` file, and the formats of others.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "archive": "load load_all load_prototypes save",
        "formats": "read_clusterings read_together write_clusterings",
    },
)
