"""Axes, colours and names that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subscape.core.types import FloatArray

#: Twelve hues that stay apart for most colour-blind readers, light enough for black text.
HUES = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#ee8866", "#44aa99", "#999933", "#882255", "#77aadd", "#dd9944",
)  # fmt: skip


def pyplot() -> Any:
    """matplotlib.pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'subscape[report]'") from None
    return plt


def axes(ax: Any = None, figsize: tuple[float, float] = (6.0, 4.5)) -> Any:
    """The given axes, or those of a new figure."""
    return ax if ax is not None else pyplot().subplots(figsize=figsize, layout="constrained")[1]


def cluster_colours(number: int) -> FloatArray:
    """One RGB colour per cluster; hues repeat, darker, beyond twelve."""
    pyplot()  # says how to get matplotlib where it is missing
    from matplotlib.colors import to_rgb

    base = np.array([to_rgb(hue) for hue in HUES])
    rounds = np.arange(number) // len(HUES)
    return base[np.arange(number) % len(HUES)] * np.maximum(0.4, 1 - 0.25 * rounds)[:, None]


def ticks(axis: Any, names: Sequence[str], most: int = 40, rotation: float = 0) -> None:
    """Name the ticks of a matplotlib axis, thinned out if there are too many."""
    step = max(1, -(-len(names) // most))
    places = list(range(0, len(names), step))
    axis.set_ticks(places, [shortened(names[i]) for i in places], rotation=rotation)


def shortened(name: str, most: int = 20) -> str:
    """A name as a picture can hold it."""
    short = name if len(name) <= most else name[: most - 1] + "…"
    # Names are data: a dollar sign must not start mathematics.
    return short.replace("$", r"\$")


def feature_names(clustering: Any) -> list[str]:
    """Names of the features, or their positions."""
    return list(clustering.feature_names or [str(j) for j in range(clustering.n_features)])
