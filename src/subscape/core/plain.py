"""Plain values: what JSON can hold, and so what a file can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import SubscapeError


def plain_values(given: Mapping[str, Any] | None, what: str) -> dict[str, Any]:
    """A copy of a mapping in plain values; NumPy numbers and arrays become Python's.

    >>> plain_values({"seed": np.int64(3)}, "provenance")
    {'seed': 3}
    """
    try:
        text = json.dumps(dict(given or {}), allow_nan=False, default=_simpler)
    except (TypeError, ValueError) as error:
        raise SubscapeError(f"{what} must be plain values that JSON can hold: {error}") from None
    copied: dict[str, Any] = json.loads(text)
    return copied


def _simpler(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not plain")
