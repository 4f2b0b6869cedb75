"""Values that stand for none."""

from __future__ import annotations

from typing import Any


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas and NumPy have for it.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    try:
        return value is None or bool(value != value)  # NaN alone differs from itself.
    except TypeError:  # pandas.NA refuses to be compared.
        return True
    except ValueError:  # An array in a cell is compared element by element.
        return False
