"""A table as offices export it: every kind of dirt in one file, and three groups underneath."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Columns that hold the groups, and what their cells are written like.
MEASURES = ("Umsatz", "Rabatt", "Gewicht", "Lieferzeit", "Saldo")


class Export(NamedTuple):
    """The bytes of a file, the values that its writer meant, and the groups of its rows."""

    content: bytes
    values: dict[str, np.ndarray]
    groups: np.ndarray
    ids: list[str]


def german(x: float, digits: int = 2) -> str:
    """A number with points for thousands and a decimal comma.

    >>> german(1234567.891)
    '1.234.567,89'
    """
    return f"{x:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def business_export(n_rows: int = 240, seed: int = 0) -> Export:
    """Customers in three groups, exported by a German office program.

    A title and a blank line before the header, a byte-order mark, semicolons, decimal commas,
    thousands, euros, per cent, kilograms glued on or not, brackets for negative amounts, dates as
    d.m.y, yes and no in four spellings, six signs for no value, quoted remarks with line breaks and
    semicolons, a name twice, a constant, a copy in another unit, a column in two units, long keys.
    """
    rng = np.random.default_rng(seed)
    groups = np.arange(n_rows) % 3
    centres = np.array([[120_000, 2.5, 40, 3, 800], [15_000, 18, 900, 12, -4_000],
                        [2_400_000, 9, 6_000, 30, 52_000]])  # fmt: skip
    X = centres[groups] * (1 + 0.04 * rng.normal(size=(n_rows, 5)))
    X = X.round(2)
    gone = rng.random(X.shape) < 0.03
    values = {name: np.where(gone[:, j], np.nan, X[:, j]) for j, name in enumerate(MEASURES)}
    values["Gewicht"] = values["Gewicht"].round(1)
    values["Lieferzeit"] = values["Lieferzeit"].round(0)
    marks = ["", "k.A.", "n/a", "-", "#N/A", "."]
    ids = [f"K{7000 + 13 * i}" for i in range(n_rows)]

    def cell(name: str, i: int) -> str:
        x = values[name][i]
        if np.isnan(x):
            return marks[i % len(marks)]
        if name == "Umsatz":
            return f"{german(x)} €" if i % 4 else f"€ {german(x)}"
        if name == "Rabatt":
            return f"{german(x)}%" if i % 2 else f"{german(x)} %"
        if name == "Gewicht":
            return f"{german(x, 1)}kg" if i % 3 else f"{german(x, 1)} kg"
        if name == "Lieferzeit":
            return f"{x:.0f}"
        return f"({german(-x)})" if x < 0 else german(x)

    header = ["Kundennr.", *MEASURES, "Seit", "Aktiv", "Mandant", "Umsatz in T€", "Paket",
              "Bemerkung", "Bemerkung", "Schlüssel"]  # fmt: skip
    lines = ["Auswertung Kunden;;;;;;;;;;;;;", "", ";".join(header)]
    words = ["ja", "Nein", "J", "nein"]
    for i in range(n_rows):
        thousands = "" if np.isnan(values["Umsatz"][i]) else german(values["Umsatz"][i] / 1000, 5)
        remark = f'"Termin am {i % 28 + 1}.; bitte ""sofort""\nRückruf Nr. {i} an die Zentrale"'
        row = [
            ids[i],
            *(cell(name, i) for name in MEASURES),
            f"{i % 28 + 1}.{i % 12 + 1}.20{10 + i % 14}",
            words[i % 4],
            "0815",
            thousands,
            f"{i % 9 + 1} kg" if i % 2 else f"{i % 7 + 1} lb",
            remark,
            "" if i % 5 else "wichtig" if i % 2 else "egal",
            str(2**62 + 977 * i),
        ]
        lines.append(";".join(row))
    content = "\r\n".join(lines) + "\r\n"
    return Export(b"\xef\xbb\xbf" + content.encode(), values, groups, ids)
