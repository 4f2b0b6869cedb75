"""Set-up shared by all tests; warnings are made errors in pyproject.toml."""

from __future__ import annotations

import os
import sys

# Before anything imports matplotlib: no test opens a window.
os.environ["MPLBACKEND"] = "Agg"

from hypothesis import settings

# The same examples on every machine and in every run; HYPOTHESIS_PROFILE=search looks further.
settings.register_profile("subscape", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "subscape"))


def pytest_sessionfinish() -> None:
    """Write down what was covered: a worker that takes ten seconds to end is killed with it."""
    measuring = "coverage" in sys.modules and sys.modules["coverage"].Coverage.current()
    if measuring:
        measuring.save()
