"""The main job: every honest grouping of a table.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Exploration": "exploration",
    "FeatureFact": "explanation",
    "Interrupted": "exploration",
    "Result": "study",
    "Study": "study",
    "View": "study",
    "explore": "exploration",
    "load_study": "storage",
    "make_plan": "portfolio",
    "prepare": "preparation",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.studies' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.studies.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
