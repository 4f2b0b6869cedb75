"""From any file or data frame to a Table.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "columns": "Column",
        "encoding": "Encoded",
        "readers.boundary": "Limits",
        "table": "Table",
    },
)
