"""Numbers and names as the page writes them."""

from __future__ import annotations

import math
from typing import Any

from subscape.core.errors import count

__all__ = ["chance", "compared", "coordinate", "count", "grouped", "number", "share", "short"]

NOTHING = "–"


def chance(p: float | None) -> str:
    """A p-value.

    >>> chance(0.00004), chance(0.0312), chance(0.4), chance(float("nan"))
    ('< 0.001', '0.031', '0.40', '–')
    """
    if p is None or math.isnan(p):
        return NOTHING
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def compared(p: float | None) -> str:
    """A p-value with its sign.

    >>> compared(0.00004), compared(0.0312), compared(float("nan"))
    ('< 0.001', '= 0.031', 'unknown')
    """
    if p is None or math.isnan(p):
        return "unknown"
    return chance(p) if p < 0.001 else f"= {chance(p)}"


def share(value: float | None) -> str:
    """A share in percent.

    >>> share(0.254), share(0.0004), share(None)
    ('25 %', '< 1 %', '–')
    """
    if value is None or math.isnan(value):
        return NOTHING
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


def number(value: Any, places: int = 2, *, sign: bool = False) -> str:
    """A number with so many places; a real minus sign.

    >>> number(-1.234), number(0.5, 1, sign=True), number(float("inf"))
    ('−1.23', '+0.5', '–')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:+.{places}f}" if sign else f"{value:.{places}f}"
    if not any(c in "123456789" for c in text):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def grouped(value: int) -> str:
    """A whole number with thin spaces between the thousands.

    >>> grouped(12345) == "12\\u202f345"
    True
    """
    return f"{value:,}".replace(",", "\u202f")


def short(name: str, most: int = 24) -> str:
    """A name that fits; the beginning and the end tell names apart best.

    >>> short("a_very_long_name_of_some_column_2"), short("age")
    ('a_very_long_nam…column_2', 'age')
    """
    name = " ".join(str(name).split()) or "(no name)"
    if len(name) <= most:
        return name
    tail = most // 3
    return f"{name[: most - tail - 1]}…{name[-tail:]}"


def coordinate(value: float) -> str:
    """A coordinate in a drawing, in as few letters as will do.

    >>> coordinate(12.0), coordinate(3.14159)
    ('12', '3.1')
    """
    return f"{value:.1f}".rstrip("0").rstrip(".") or "0"
