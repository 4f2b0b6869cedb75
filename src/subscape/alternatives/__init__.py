"""Several clusterings of one table: found at once, or as alternatives to a given one.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {
    "AutoNR": "autonr",
    "NrKMeans": "nrkmeans",
    "COALA": "coala",
    "MetaClustering": "metaclustering",
    "CIB": "cib",
    "CondEns": "condens",
    "MAXIMUS": "maximus",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'subscape.alternatives' has no attribute {name!r}")
    return getattr(importlib.import_module(f"subscape.alternatives.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
