"""The page that shows a study, and its figures as files.

The figures need matplotlib (``pip install subscape[report]``), the page does not. Names are loaded
when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "figures": "write_figures",
        "page": "render write_report",
    },
)
