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


#: Libraries of data frames that results can be given in.
FRAMES = ("pandas", "polars", "pyarrow")


def frame_of(records: list[dict[str, Any]], library: str = "pandas") -> Any:
    """Records as a data frame, or a sentence on how to get one.

    Parameters
    ----------
    records : list of dict
    library : {"pandas", "polars", "pyarrow"}

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Examples
    --------
    >>> frame_of([{"cluster": 1, "rows": 50}], "pyarrow").column_names
    ['cluster', 'rows']
    """
    if library not in FRAMES:
        raise SubscapeError(f"library={library!r} is not one of {', '.join(FRAMES)}")
    try:
        frames = importlib.import_module(library)
    except ImportError:
        raise ImportError(
            f"to_frame needs {library}: pip install {library}, or take to_records()"
        ) from None
    if library == "pyarrow":
        return frames.Table.from_pylist(records)
    return frames.DataFrame(records)
