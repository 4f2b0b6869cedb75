"""Clusters in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .errors import count
from .oriented import OrientedSubspaces
from .subspaces import AxisSubspaces

if TYPE_CHECKING:
    from .prototypes import Prototypes


def cluster_sentence(prototypes: Prototypes, k: int, most: int = 6) -> str:
    """``cluster 3: 214 rows; age in [31, 44], income in [2.1, 2.4]``."""
    size = prototypes.sizes[k]
    rows = count(int(size), "row") if float(size).is_integer() else f"{size:.1f} rows"
    parts = (
        _direction_parts(prototypes, k, most)
        if isinstance(prototypes.subspaces, OrientedSubspaces)
        else _interval_parts(prototypes, k, most)
    )
    return f"cluster {k}: {rows}; {', '.join(parts)}" if parts else f"cluster {k}: {rows}"


def interval_text(low: float, high: float) -> str:
    """An interval with just the digits that tell its ends apart.

    >>> interval_text(31.2, 43.9), interval_text(2.1, 2.4), interval_text(0.00012, 0.00034)
    ('[31, 44]', '[2.1, 2.4]', '[0.00012, 0.00034]')
    """
    width = high - low
    scale = width if width > 0 else abs(low)
    if scale == 0:
        return f"[{low:g}, {high:g}]"
    digits = 1 - math.floor(math.log10(scale))
    if digits > 12 or digits < -6:
        return f"[{low:.3g}, {high:.3g}]"
    places = max(digits, 0)
    return f"[{_trim(low, places)}, {_trim(high, places)}]"


def _trim(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _name(prototypes: Prototypes, feature: int) -> str:
    names = prototypes.feature_names
    return names[feature] if names else f"x{feature}"


def _interval_parts(prototypes: Prototypes, k: int, most: int) -> list[str]:
    relevance = prototypes.relevance[k]
    if isinstance(prototypes.subspaces, AxisSubspaces):
        features = np.flatnonzero(relevance)
    else:
        features = np.flatnonzero(relevance > relevance.mean() * (1 + 1e-9))
        if not len(features):
            return ["all features alike"]
    wide = np.maximum(prototypes.background_spread[features], 1e-300)
    tightness = prototypes.spread[k, features] / wide
    # The features that set the cluster apart come first: relevant, tight, far from the rest.
    order = np.lexsort((tightness, -relevance[features]))
    shown = [_interval(prototypes, k, f) for f in features[order[:most]]]
    hidden = len(features) - len(shown)
    return [*shown, f"and {count(hidden, 'more feature')}"] if hidden else shown


def _interval(prototypes: Prototypes, k: int, feature: int) -> str:
    name, low = _name(prototypes, feature), prototypes.low[k, feature]
    if math.isnan(low):
        return f"{name} unknown"
    return f"{name} in {interval_text(low, prototypes.high[k, feature])}"


def _direction_parts(prototypes: Prototypes, k: int, most: int) -> list[str]:
    subspaces = prototypes.subspaces
    basis = subspaces.bases[k]  # type: ignore[attr-defined]
    directions = [_combination(prototypes, basis[:, j]) for j in range(min(basis.shape[1], 3))]
    more = basis.shape[1] - len(directions)
    if more > 0:
        directions.append(f"{count(more, 'more direction')}")
    if subspaces.is_complement:  # type: ignore[attr-defined]
        if not directions:
            return ["all in one point"]
        return [f"spread along {' and '.join(directions)}"]
    if not directions:
        return ["alike in no direction"]
    return [f"alike in {' and '.join(directions)}"]


def _combination(prototypes: Prototypes, vector: np.ndarray) -> str:
    """The largest loadings of a direction, as ``0.71 a - 0.71 b``."""
    order = np.argsort(-np.abs(vector), kind="stable")
    strong = [int(j) for j in order[:4] if abs(vector[j]) >= 0.15] or [int(order[0])]
    sign = -1.0 if vector[strong[0]] < 0 else 1.0
    text = ""
    for j in strong:
        loading = sign * vector[j]
        joint = (" - " if loading < 0 else " + ") if text else ("-" if loading < 0 else "")
        text += f"{joint}{abs(loading):.2f} {_name(prototypes, j)}"
    return text + (" + …" if np.square(vector[strong]).sum() < 0.9 else "")
