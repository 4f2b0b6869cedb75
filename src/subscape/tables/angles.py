"""Degrees as maps have them: with minutes and seconds, and the half of the earth as a letter."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from subscape.core.types import BoolArray, FloatArray

_PART = r"\d{1,2}(?:[.,]\d+)?"
_ANGLE = re.compile(
    rf"(?P<sign>[+-])?\s*(?P<front>[NSEW])?\s*(?P<d>\d{{1,3}}(?:[.,]\d+)?)\s*[°º]\s*"
    rf"(?:(?P<m>{_PART})\s*['\u2019\u2032]\s*)?"
    rf"(?:(?P<s>{_PART})\s*(?:[\"\u201d\u2033]|''|\u2019\u2019)\s*)?(?P<back>[NSEW])?",
    re.ASCII,
)


def read_angles(levels: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """Degrees with minutes or with N, S, E, W, as decimal degrees; south and west are negative.

    Plain degrees, such as 20 °, are numbers in a unit. N and S are never beside E and W.

    >>> read_angles(["52°30'N", "33.5° S", "20°"])[0]
    array([ 52.5, -33.5,   nan])
    >>> read_angles(["52°30'N", "13°24'E"])[1]
    array([False, False])
    """
    values = np.full(len(levels), np.nan)
    axes = set()
    for i, text in enumerate(levels):
        found = _ANGLE.fullmatch(text.replace("\u2212", "-").strip())
        if found is None:
            continue
        half = found["front"] or found["back"]
        doubled = bool(found["front"] and found["back"]) or bool(found["sign"] and half)
        if doubled or not (half or found["m"]):
            continue
        d, m, s = (float((found[part] or "0").replace(",", ".")) for part in "dms")
        if m >= 60 or s >= 60:
            continue
        if half:
            axes.add(half in "NS")
        degrees = d + m / 60 + s / 3600
        values[i] = -degrees if found["sign"] == "-" or half in ("S", "W") else degrees
    if len(axes) > 1:
        values[:] = np.nan
    return values, ~np.isnan(values)
