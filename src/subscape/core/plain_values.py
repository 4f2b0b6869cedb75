"""Plain values: what JSON can hold, and so what a file can keep; records as data frames."""

from __future__ import annotations

import importlib
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


def without_nan(value: Any) -> Any:
    """Plain values with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def frame_of(records: list[dict[str, Any]]) -> Any:
    """A pandas data frame, or a sentence on how to get one."""
    try:
        pd = importlib.import_module("pandas")
    except ImportError:
        raise ImportError(
            "to_frame needs pandas: pip install pandas, or take to_records()"
        ) from None
    return pd.DataFrame(records)
