"""Many fits, in parallel, each kept in a file of its own as soon as it is done.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "identity": "fingerprint",
        "store": "RunStore run_all",
        "task": "Run Task",
    },
)
