"""Check suites for finders and measures, ours and yours.

Both say what is wrong by an :class:`AssertionError`, so they run under any test runner.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "finders": "FINDER_CHECKS check_finder",
        "measures": "MEASURE_CHECKS check_measure",
    },
)
