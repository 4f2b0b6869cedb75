"""Check suites for finders and measures, ours and yours.

Both say what is wrong by an :class:`AssertionError`, so they run under any test runner.
"""

from .finders import FINDER_CHECKS, check_finder
from .measures import MEASURE_CHECKS, check_measure

__all__ = ["FINDER_CHECKS", "MEASURE_CHECKS", "check_finder", "check_measure"]
