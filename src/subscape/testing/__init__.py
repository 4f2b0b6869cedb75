"""Check suites for finders, consensus methods and measures, ours and yours.

They say what is wrong by an :class:`AssertionError`, so they run under any test runner.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "consensus": "CONSENSUS_CHECKS check_consensus",
        "finders": "FINDER_CHECKS check_finder",
        "measures": "MEASURE_CHECKS check_measure",
    },
)
