"""Colours of clusters and views: the same in every picture, by day and by night."""

from __future__ import annotations

from collections.abc import Iterable

from subscape.plots.canvas import HUES

#: Views have colours of their own, so that they are not taken for clusters.
VIEW_HUES = (
    "#332288", "#117733", "#b8475b", "#1f759c", "#a03c90", "#866700",
    "#237a6d", "#7a1f4d", "#45709f", "#994f00", "#5d6b1f", "#5f5a66",
)  # fmt: skip

#: On a dark page no colour is darker than this (relative luminance, 0 to 1).
DARKEST = 0.24


def palette_css() -> str:
    """The colours as variables of a style sheet: ``--k0`` … for clusters, ``--v0`` … for views."""
    by_day = _variables("k", HUES) + _variables("v", VIEW_HUES)
    by_night = _variables("k", map(lightened, HUES)) + _variables("v", map(lightened, VIEW_HUES))
    classes = "".join(
        f".{letter}{i}{{--c:var(--{letter}{i})}}"
        for letter, hues in (("k", HUES), ("v", VIEW_HUES))
        for i in range(len(hues))
    )
    return (
        f":root{{{by_day}}}{classes}"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{by_night}}}}}"
        f":root[data-theme=dark]{{{by_night}}}\n"
    )


def _variables(letter: str, hues: Iterable[str]) -> str:
    return "".join(f"--{letter}{i}:{hue};" for i, hue in enumerate(hues))


def lightened(hue: str) -> str:
    """The colour, mixed with white until it can be seen on black.

    >>> lightened("#ccbb44"), lightened("#332288")
    ('#ccbb44', '#8f85be')
    """
    rgb = [int(hue[i : i + 2], 16) for i in (1, 3, 5)]
    for white in range(0, 100, 5):
        mixed = "#" + "".join(f"{round(c + (255 - c) * white / 100):02x}" for c in rgb)
        if luminance(mixed) >= DARKEST:
            break
    return mixed


def luminance(hue: str) -> float:
    """Relative luminance as in WCAG 2, from 0 to 1.

    >>> luminance("#000000"), luminance("#ffffff")
    (0.0, 1.0)
    """
    shares = [int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
