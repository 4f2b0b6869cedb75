"""Plain tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], right: str = "", gap: str = "  ") -> list[str]:
    """Lines of cells under each other; ``right`` has an ``r`` for columns aligned right.

    >>> for line in columns([("measure", "value"), ("rnia", "0.5")], right="lr"):
    ...     print(line)
    measure  value
    rnia       0.5
    """
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return [
        gap.join(
            cell.rjust(width) if right[j : j + 1] == "r" else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short(text: str, most: int = 40) -> str:
    """A text of at most ``most`` letters, cut in its middle.

    >>> short("a_rather_long_name", 9)
    'a_ra…name'
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"
