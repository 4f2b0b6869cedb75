"""What the texts of a column mean: numbers, dates, yes and no, or just texts.

A column is what almost all of its cells are. The rest becomes missing, counted and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from subscape.core.errors import count
from subscape.core.types import BoolArray, FloatArray, IntArray

from .angles import read_angles
from .dates import read_dates, read_periods, read_times
from .numbers import ALMOST_ALL, MANY, Numbers, examples, is_marked_number, read_numbers
from .parts import ColumnOptions

#: Texts that mean "no value" in any column of a text file.
MARKERS = frozenset(
    ["", "NA", "N/A", "n/a", "na", "N.A.", "n.a.", "#N/A", "#NA", "#NULL!", "#VALUE!", "#REF!",
     "#DIV/0!", "#NUM!", "#NAME?", "<NA>", "NaN", "nan", "NAN", "NULL", "null", "Null", "?",
     # of other languages of Excel, of databases, and of C's runtime under Windows
     "#NV", "#WERT!", "#BEZUG!", "#ZAHL!", "#N/D", "#VALEUR!", "#NOMBRE!", "#NOM?", "#NOMBRE?",
     "#VALORE!", "#RIF!", "#NOME?", "#\u00a1VALOR!", "#\u00a1REF!", "#\u00a1DIV/0!", "#\u00a1NUM!",
     "#\u00bfNOMBRE?", "#WAARDE!", "#N/B", "\\N", "(null)", "<null>", "[NULL]", "<NULL>", "(NULL)",
     "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
)  # fmt: skip
#: Texts that mean it where all else is a number or a date; elsewhere they may be levels.
_NO_VALUE = (
    ["-", "--", "---", "–", "—", ".", "..", "...", "*", "none", "nil", "missing", "unknown", "k.A.",
     "k. A.", "keine Angabe", "not available", "NaT", "\u2026", "n.d.", "nd", "n/d", "n.v.",
     "not applicable", "no data", "sin dato", "sin datos", "s/d", "non disponible", "(blank)",
     "(leer)", "(vide)", "TBD", "0000-00-00", "00.00.0000", "00/00/0000", "0000-00-00 00:00:00"]
)  # fmt: skip
AMONG_NUMBERS = frozenset(
    spelled
    for word in _NO_VALUE
    for spelled in (word, word.lower(), word.upper(), word.capitalize(), word.title())
)

_TRUTH = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("nein", "ja"), ("n", "j"),
    ("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"), ("no", "sí"), ("no", "si"),
    ("falso", "verdadero"), ("falso", "vero"), ("nej", "ja"), ("nee", "ja"), ("não", "sim"),
    ("off", "on"),
)  # fmt: skip
_FALSE = {false for false, _ in _TRUTH}
_TRUE = {true for _, true in _TRUTH}


class Meaning(NamedTuple):
    """What a column of texts is.

    Attributes
    ----------
    kind : {"number", "date", "text"}
    values : (n_levels,) float array
        The number or the day of each text, NaN where it is missing; empty for texts.
    unit : str
    note : str
        How it was read, where that is not plain.
    unused : str
        Why a column that looks like numbers is not read as such.
    culprit : str
        The first text that is not what the others are.
    """

    kind: Literal["number", "date", "text"]
    values: FloatArray
    unit: str = ""
    note: str = ""
    unused: str = ""
    culprit: str = ""


_NOTHING = np.empty(0)


def understand(
    levels: Sequence[str],
    counts: IntArray,
    *,
    decimal: str = ".",
    is_sure: bool = False,
    is_mixed: bool = False,
    asked: ColumnOptions | None = None,
) -> Meaning:
    """Find out what a column of texts is.

    Parameters
    ----------
    levels : sequence of str
        Its different texts, stripped.
    counts : (n_levels,) int array
        How many cells have each.
    decimal : {".", ","}
        The decimal sign of the rest of the file.
    is_sure : bool, default=False
        Whether that was said and not found out.
    is_mixed : bool, default=False
        Whether the file has numbers with either sign.
    asked : ColumnOptions, optional
        What was said about the column.

    Examples
    --------
    >>> import numpy as np
    >>> found = understand(["12 kg", "1,300 kg", "none"], np.array([30, 30, 1]))
    >>> found.kind, found.unit, found.values
    ('number', 'kg', array([  12., 1300.,   nan]))
    """
    asked = asked or ColumnOptions()
    gone = np.array([text in MARKERS or text in AMONG_NUMBERS for text in levels])
    if asked.missing:
        gone |= np.isin(np.array(levels, dtype=object), asked.missing)
    present = np.flatnonzero(~gone).tolist()
    if not len(present):
        return Meaning("text", _NOTHING)
    texts = [levels[i] for i in present]
    sizes = counts[present]
    total = int(sizes.sum())
    wants_number = asked.role == "numeric"

    def spread(values: FloatArray) -> FloatArray:
        out = np.full(len(levels), np.nan)
        out[present] = values
        return out

    dated = ""
    if not wants_number or asked.dates:
        days = read_dates(texts, sizes, asked.dates)
        forced = asked.role == "date" or bool(asked.dates)
        enough = 0 if forced else ALMOST_ALL
        if days is not None and sizes[days.good].sum() >= max(enough * total, 1):
            said = []
            if days.is_ambiguous:
                said.append(
                    f"day and month could be exchanged; read in the order {'/'.join(days.order)}"
                )
            if days.short_years:
                said.append("years of two digits lie in 1969–2068")
            said += _lost(texts, ~days.good, sizes, "no dates")
            odd = _first(texts, ~days.good)
            return Meaning("date", spread(days.values), note="; ".join(said), culprit=odd)
        if days is not None and sizes[days.good].sum() >= MANY * total:
            n = int(sizes[days.good].sum())
            dated = (
                f"{n} of {count(total, 'cell')} are dates{_in_order(days.order)}, {total - n} are "
                f"not: {examples(texts, ~days.good, sizes)}; the role date (columns=…) makes "
                f"{'that' if total - n == 1 else 'those'} missing"
            )
        periods = read_periods(texts)
        if sizes[periods.good].sum() >= max(enough * total, 1):
            said = [f"{periods.what}, as the day on which they begin"]
            if periods.short_years:
                said.append(
                    "two digits behind a month taken as a year in 1969–2068; the role nominal "
                    "keeps levels (columns=…)"
                )
            said += _lost(texts, ~periods.good, sizes, f"no {periods.what}")
            odd = _first(texts, ~periods.good)
            return Meaning("date", spread(periods.values), note="; ".join(said), culprit=odd)
    hours, are_times, how = read_times(texts)
    if sizes[are_times].sum() >= ALMOST_ALL * total:
        said = ["times, in hours", *filter(None, [how])]
        said += _lost(texts, ~are_times, sizes, "no times")
        odd = _first(texts, ~are_times)
        return Meaning("number", spread(hours), "h", "; ".join(said), culprit=odd)
    degrees, are_angles = read_angles(texts)
    if sizes[are_angles].sum() >= ALMOST_ALL * total:
        said = ["degrees, south and west negative"]
        said += _lost(texts, ~are_angles, sizes, "no degrees")
        odd = _first(texts, ~are_angles)
        return Meaning("number", spread(degrees), "°", "; ".join(said), culprit=odd)
    found = read_numbers(
        texts,
        sizes,
        decimal=asked.decimal or decimal,
        is_sure=is_sure or bool(asked.decimal),
        is_mixed=is_mixed,
        unit=asked.unit,
    )
    meaning = _as_numbers(found, texts, sizes, spread, asked)
    return meaning._replace(note=dated) if meaning.kind == "text" else meaning


def _in_order(order: str) -> str:
    return f" in the order {'/'.join(order)}" if order else ""


def _as_numbers(
    found: Numbers, texts: list[str], sizes: IntArray, spread: object, asked: ColumnOptions
) -> Meaning:
    assert callable(spread)
    total, n_good = int(sizes.sum()), int(sizes[found.good].sum())
    said = asked.role == "numeric" or (not asked.role and (asked.unit or asked.decimal))
    forced = bool(said) and n_good > 0
    if n_good and (n_good >= ALMOST_ALL * total or forced):
        told = [*found.said]
        if found.unit and not asked.unit:
            told.insert(0, f"in {found.unit}")
        kept = found.good | found.long
        if found.long.any():
            equal = int(found.long.sum()) - len(np.unique(found.values[found.long]))
            told.append(
                f"{count(int(sizes[found.long].sum()), 'whole number')} of 16 digits and more "
                f"rounded, {equal} different ones became equal"
            )
        strange = ~kept & ~found.other_sign & ~found.other_unit
        told += _lost(texts, strange, sizes, "no numbers")
        told += _lost(texts, ~kept & found.other_sign, sizes, how="with another decimal sign")
        told += _lost(texts, ~kept & found.other_unit, sizes, how="in another unit")
        odd = _first(texts, ~kept)
        return Meaning("number", spread(found.values), found.unit, "; ".join(told), "", odd)
    if found.long.any() and sizes[found.good | found.long].sum() >= ALMOST_ALL * total:
        unused = (
            "whole numbers of 16 digits and more are kept as text, because neighbours would become "
            "equal as numbers"
        )
        return Meaning("text", _NOTHING, unused=unused)
    if found.why_not:
        culprit = "" if found.culprit is None else texts[found.culprit]
        return Meaning("text", _NOTHING, unused=found.why_not, culprit=culprit)
    if n_good >= MANY * total and n_good > 1:
        others = int(sizes[~found.good].sum())
        unused = (
            f"{n_good} of {count(total, 'cell')} are numbers, {others} are not: "
            f"{examples(texts, ~found.good, sizes)}; give it the role numeric (columns=…), and "
            f"{'that is' if others == 1 else 'those are'} missing"
        )
        return Meaning("text", _NOTHING, unused=unused, culprit=_first(texts, ~found.good))
    marked = ~found.good & np.array([is_marked_number(text) for text in texts])
    n_marked = int(sizes[marked].sum())
    if n_marked > 1 and n_good + n_marked >= MANY * total:
        unused = (
            f"{n_marked} of {count(total, 'cell')} are numbers with other signs at them: "
            f"{examples(texts, marked, sizes)}; without the signs they are used"
        )
        return Meaning("text", _NOTHING, unused=unused, culprit=_first(texts, marked))
    return Meaning("text", _NOTHING)


def _first(texts: list[str], odd: BoolArray) -> str:
    return texts[int(np.argmax(odd))] if odd.any() else ""


def _lost(
    texts: list[str], odd: BoolArray, sizes: IntArray, what: str = "", how: str = ""
) -> list[str]:
    n = int(sizes[odd].sum())
    if not n:
        return []
    told = how or f"that {'is' if n == 1 else 'are'} {_singular(what, n)}"
    return [f"{count(n, 'cell')} {told} taken as missing: {examples(texts, odd, sizes)}"]


def _singular(what: str, n: int) -> str:
    return what[:-1] if n == 1 else what


def truth_words(levels: Sequence[str], counts: IntArray) -> list[str] | None:
    """For each text its word for yes or no, where there are more than two spellings of them.

    The word is the spelling of most cells.

    >>> truth_words(["Yes", "yes", "N", "no"], np.array([9, 1, 2, 5]))
    ['Yes', 'Yes', 'no', 'no']
    >>> truth_words(["yes", "no"], np.array([1, 1])) is None
    True
    """
    words = [level.lower() for level in levels]
    if len(levels) < 3 or not all(word in _FALSE or word in _TRUE for word in words):
        return None
    if not (any(w in _TRUE - _FALSE for w in words) and any(w in _FALSE - _TRUE for w in words)):
        return None
    best: dict[bool, str] = {}
    for i in sorted(range(len(levels)), key=lambda i: -int(counts[i])):
        best.setdefault(words[i] in _TRUE, levels[i])
    return [best[word in _TRUE] for word in words]
