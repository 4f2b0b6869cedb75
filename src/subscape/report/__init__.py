"""The page that shows a study, and its figures as files.

Needs Jinja2 and, for the figures, matplotlib (``pip install subscape[report]``). Names are loaded
when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {
    "render": "page",
    "write_report": "page",
    "write_figures": "figures",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.report' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.report.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
