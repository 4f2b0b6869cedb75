"""Numbers as people write them: thousands signs, decimal commas, units, currencies, brackets.

How a column writes its numbers is decided by all its cells together: ``1,234`` alone is
ambiguous, beside ``0,5`` it is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from subscape.core.errors import count, listing
from subscape.core.types import BoolArray, FloatArray, IntArray

_CODES = (
    "EUR USD GBP CHF JPY CNY INR RUB KRW TRY UAH PLN CZK SEK NOK DKK HUF RON BGN AUD CAD NZD HKD "
    "SGD ZAR BRL MXN ARS CLP COP ILS THB IDR MYR PHP VND AED SAR EGP NGN"
)
_CURRENCY = (
    r"(?:US\$|CA\$|AU\$|HK\$|NZ\$|[ACR]\$|[€$£¥₹₽₩₺₴₪₫₱฿₦]|zł|Kč|kr\.?|S?Fr\.?|Rs\.?|"
    + "|".join(_CODES.split())
    + ")"
)
#: Letters of units: no fractions such as ½, which belong to the number.
_LETTER = r"[^\W\d_¼-¾⅐-⅟]"
_UNIT = rf"(?:%|‰|°\s?[A-Za-z]?|{_LETTER}{{1,12}}\.?(?:/{_LETTER}{{1,8}})?(?:[²³]|\^?[23])?)"
#: Fortran writes 1.5D+03, always with the sign.
_CORE = r"(?:[0-9](?:[0-9.,' ]*[0-9])?[.,]?|[.,][0-9]+)(?:[eE][+-]?[0-9]+|[dD][+-][0-9]{1,3})?"
_TOKEN = re.compile(
    rf"(?P<sign>[+-])?\s*(?P<currency>{_CURRENCY})?\s*(?P<open>\()?\s*(?P<inner>[+-])?\s*"
    rf"(?P<inside>{_CURRENCY})?\s*(?P<core>{_CORE})\s*(?P<minus>-)?\s*"
    rf"(?P<unit>{_CURRENCY}|{_UNIT})?\s*(?P<close>\))?\s*(?P<after>{_CURRENCY}|{_UNIT})?"
)
#: Blanks, signs and figures that mean the same as others: also the wide ones of Chinese, Japanese
#: and Korean writing, and the figures of Arabic, Persian and Hindi.
_PLAINER = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "−": "-", "–": "-"}
    | {"\u3000": " ", "\uffe5": "¥", "\uffe1": "£", "\uffe6": "₩"}
    | {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
    | {chr(zero + i): str(i) for zero in (0x660, 0x6F0, 0x966) for i in range(10)}
    | {"\u066b": ".", "\u066c": ",", "\u066a": "%"}
)
_POWERS = str.maketrans("EDd", "eee")
_MONEY = re.compile(_CURRENCY)
#: Signs before and behind a number that say something of it: about, less than, uncertain, quoted.
_MARKS = re.compile(r"^[~≈≃<>≤≥=*'\"\\^†‡\s]+|(?:\s*(?:±|\+/-).*|[*'\"^†‡?!+\s]+)$", re.DOTALL)
_TWO = re.compile(r"\d{1,4}\D{1,3}\d{1,4}\D{0,2}")
#: Two decimal numbers and more, such as coordinates, also in brackets behind a word.
_SEVERAL = re.compile(
    r"(?:[A-Za-z]*\s*[(\[]\s*)?(?:[+-]?\d+\.\d+(?:(?:\s*[,;/|]\s*|\s+)[+-]?\d+\.\d+)+|"
    r"[+-]?\d+,\d+(?:(?:\s*[;/|]\s*|\s+)[+-]?\d+,\d+)+)(?:\s*[)\]])?",
    re.ASCII,
)
#: Signs that multiply, so that a number without one is not in it.
_FACTORS = frozenset(["%", "‰", "k", "tsd", "bn", "mio", "Mio", "mln", "Mln", "mrd", "Mrd"])
_DASHED = re.compile(r"(?<=\d)(?:[.,]-{1,2}|/-$)")
#: Endings of the plural: with one of them, a unit of three letters and more is the same unit.
_PLURALS = ("s", "es", "e", "n", "en")
_AND_MORE = re.compile(
    rf"[+-]?\s*{_CORE}\s*(?:[(\[{{±×·;|/]|x\s*[0-9]).+|"
    rf"[(\[{{]\s*[+-]?\s*{_CORE}.*[)\]}}].*|"
    rf"[+-]?\s*{_CURRENCY}\s*[+-]?{_CORE}\s*{_LETTER}.*|"
    rf"[+-]?\s*{_CORE}\s*{_LETTER}{{1,8}}\.?\s*{_CURRENCY}",
    re.DOTALL,
)
_PLAIN = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE | re.ASCII
)
#: From 16 digits on, float64 no longer tells neighbouring integers apart: these are keys.
LONG_INTEGER = re.compile(r"[+-]?[1-9]\d{15,}", re.ASCII)

_GROUPS = r"[1-9]\d{{0,2}}([{signs}])\d{{3}}(?:\1\d{{3}})*"
_GROUPS_OF_POINT = _GROUPS.format(signs=",' ")
_GROUPS_OF_COMMA = _GROUPS.format(signs=".' ")
_WITH_POINT = re.compile(
    rf"(?:\d+|{_GROUPS_OF_POINT}|[1-9]\d?(?:,\d\d)+,\d{{3}})?"
    r"(?:\.\d*)?"
)
_WITH_COMMA = re.compile(rf"(?:\d+|{_GROUPS_OF_COMMA})?(?:,\d*)?")
_SAME = {"€": "EUR", "£": "GBP", "Fr": "CHF", "SFr": "CHF", "zł": "PLN", "Kč": "CZK"}

#: A column is what this share of its cells with a value are.
ALMOST_ALL = 0.95
#: From this share on, a column that is not used as numbers is said to look like numbers.
MANY = 0.5
#: With more different endings than this, they are no units: the cells are names such as 12A, 7F.
MOST_UNITS = 5


class Number(NamedTuple):
    """One cell: its digits as they stand, its sign, and the unit or currency at them."""

    core: str
    negative: bool
    unit: str


class Numbers(NamedTuple):
    """The texts of a column as numbers.

    Attributes
    ----------
    values : (n_levels,) float array
        NaN where a text is no number.
    good : (n_levels,) bool array
        Which texts are numbers.
    decimal : {".", ","}
    unit : str
        What stands at the numbers, if it is one thing.
    said : list of str
        How they were read, where that is not plain.
    why_not : str
        Why the column can't be read as numbers as a whole.
    long : (n_levels,) bool array
        Whole numbers of 16 digits and more: not good, but with a value.
    culprit : int or None
        The text that is to blame for ``why_not``.
    other_sign, other_unit : (n_levels,) bool array
        Texts that would be numbers under the other decimal sign, and numbers in another unit.
    """

    values: FloatArray
    good: BoolArray
    decimal: str = "."
    unit: str = ""
    said: tuple[str, ...] = ()
    why_not: str = ""
    long: BoolArray = np.zeros(0, dtype=bool)
    culprit: int | None = None
    other_sign: BoolArray = np.zeros(0, dtype=bool)
    other_unit: BoolArray = np.zeros(0, dtype=bool)


def is_number(text: str) -> bool:
    """Whether a text is a number that float64 holds as written."""
    return bool(_PLAIN.fullmatch(text)) and not LONG_INTEGER.fullmatch(text)


def parse_number(text: str) -> Number | None:
    """The parts of a cell that holds one number, or None.

    >>> parse_number("€ 1.200,50"), parse_number("(1,200)").negative, parse_number("3.5 cm").unit
    (Number(core='1.200,50', negative=False, unit='EUR'), True, 'cm')
    >>> parse_number("seven") is None
    True
    """
    text = _DASHED.sub("", text.translate(_PLAINER).strip())
    found = _TOKEN.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [found["sign"], found["inner"], found["minus"]]
    units = [found[part] for part in ("currency", "inside", "unit", "after") if found[part]]
    if sum(sign is not None for sign in signs) > 1 or len(units) > 1:
        return None
    if found["open"] and any(signs):
        return None
    if found["minus"] and units and not _MONEY.fullmatch(units[0]):
        return None  # 1 - never, 2023-Q2
    unit = units[0].rstrip(".").replace(" ", "") if units else ""
    return Number(found["core"], bool(found["open"]) or "-" in signs, _SAME.get(unit, unit))


def is_marked_number(text: str) -> bool:
    """Whether a cell is a number but for signs at it, which say more than the number does.

    >>> [is_marked_number(text) for text in ("~1200", "<0.5", "3.1**", "2.0 ± 0.1", "1.2", "1/2")]
    [True, True, True, True, False, False]
    """
    bare = _MARKS.sub("", text.translate(_PLAINER).strip())
    token = parse_number(bare) if bare and parse_number(text) is None else None
    return token is not None and any(number_of(token.core, sign) is not None for sign in ".,")


def is_two_numbers(text: str) -> bool:
    """Whether a cell holds two short numbers with signs between them, or several decimal ones.

    >>> cells = ("120/80", "52.5, -13.4", "2023-W01", "12-16", "10.0.0.1", "555-123456", "A12-3")
    >>> [is_two_numbers(text) for text in cells]
    [True, True, True, True, False, False, False]
    """
    return _TWO.fullmatch(text) is not None or _SEVERAL.fullmatch(text.strip()) is not None


def has_more_than_a_number(text: str) -> bool:
    """Whether a cell begins with a number, and more stands behind it or it lies in brackets.

    >>> cells = ("5.1 (4.2-6.0)", "[1.5, 2]", "3 × 10³", "2 x10^9/L", "$5M", "10.0.0.1", "+4 3 2")
    >>> [has_more_than_a_number(text) for text in cells]
    [True, True, True, True, True, False, False]
    """
    return _AND_MORE.fullmatch(text.translate(_PLAINER).strip()) is not None


def number_of(core: str, decimal: str) -> float | None:
    """The value of digits under a decimal sign, or None where they don't follow it.

    >>> number_of("1,234", "."), number_of("1,234", ","), number_of("1.5", ",")
    (1234.0, 1.234, None)
    """
    mantissa, e, power = core.translate(_POWERS).partition("e")
    pattern = _WITH_POINT if decimal == "." else _WITH_COMMA
    if not pattern.fullmatch(mantissa) or not any(sign.isdigit() for sign in mantissa):
        return None
    for sign in ("," if decimal == "." else ".") + "' ":
        mantissa = mantissa.replace(sign, "")
    try:
        return float(mantissa.replace(",", ".") + e + power)
    except ValueError:  # digits of another script
        return None


def plain_numbers(levels: Sequence[str]) -> FloatArray | None:
    """Texts that all are plain numbers, at the speed of arrow; None if one is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array(levels, type=pa.large_string())
    pattern = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
    if not pc.all(pc.match_substring_regex(texts, pattern)).as_py():
        return None
    if pc.any(pc.match_substring_regex(texts, r"^[+-]?[1-9][0-9]{15,}$")).as_py():
        return None
    texts = pc.utf8_ltrim(texts, "+")
    try:
        return np.asarray(texts.cast(pa.float64()), dtype=np.float64)
    except pa.ArrowInvalid:
        return None


def read_numbers(
    levels: Sequence[str],
    counts: IntArray,
    *,
    decimal: str = ".",
    is_sure: bool = False,
    is_mixed: bool = False,
    unit: str = "",
) -> Numbers:
    """Read the different texts of a column as numbers.

    Parameters
    ----------
    levels : sequence of str
        The different texts, without those that mean no value.
    counts : (n_levels,) int array
        How many cells have each.
    decimal : {".", ","}
        The decimal sign of the rest of the file, for what is ambiguous here.
    is_sure : bool, default=False
        Whether no other sign is possible.
    is_mixed : bool, default=False
        Whether the file has numbers with either sign.
    unit : str, optional
        The unit to keep; by default the one of most cells.

    Examples
    --------
    >>> import numpy as np
    >>> read_numbers(["1.234,50 €", "0,50 €"], np.array([1, 1])).values.tolist()
    [1234.5, 0.5]
    """
    fast = None if decimal == "," else plain_numbers(levels)
    if fast is not None:
        every = np.ones(len(levels), dtype=bool)
        return Numbers(fast, every, long=~every, other_sign=~every, other_unit=~every)
    parsed = [parse_number(text) for text in levels]
    endless = [_endless(text) for text in levels]
    under = {
        sign: [None if token is None else number_of(token.core, sign) for token in parsed]
        for sign in ".,"
    }
    cells = {
        sign: int(sum(n for value, n in zip(under[sign], counts, strict=True) if value is not None))
        for sign in ".,"
    }
    said: list[str] = []
    if not is_sure:
        decimal = _decided(under, cells, decimal, levels, said, is_mixed)
    long = np.array([t is not None and bool(LONG_INTEGER.fullmatch(t.core)) for t in parsed])
    values, good = np.full(len(levels), np.nan), np.zeros(len(levels), dtype=bool)
    units: list[str] = ["" if token is None else token.unit for token in parsed]
    for i, (value, token) in enumerate(zip(under[decimal], parsed, strict=True)):
        if endless[i] is not None:
            values[i], good[i] = endless[i], True
        elif value is not None and token is not None:
            values[i], good[i] = -value if token.negative else value, not long[i]
    other = "," if decimal == "." else "."
    foreign = [
        i for i in range(len(levels)) if under[decimal][i] is None and under[other][i] is not None
    ]
    total = int(counts.sum())
    why_not, culprit = "", None
    if foreign and counts[good].sum() < ALMOST_ALL * total:
        own = next((levels[i] for i in range(len(levels)) if good[i] and other not in levels[i]
                    and decimal in levels[i]), None)  # fmt: skip
        culprit = foreign[0]
        beside = "" if own is None else f" beside {own!r}"
        why_not = (
            f"numbers in two conventions: {levels[foreign[0]]!r}{beside}; give it the role numeric "
            "and its decimal sign (columns=…), and the others are missing"
        )
    chosen, odd = _one_unit(units, good, counts, values, unit, said)
    good &= ~odd
    if not why_not and odd.any() and counts[good].sum() < ALMOST_ALL * total:
        why_not, culprit = _mixed(units, odd | good, counts), int(np.argmax(odd))
    values[~(good | long)] = np.nan
    other_sign = np.zeros(len(levels), dtype=bool)
    other_sign[foreign] = True
    return Numbers(
        values, good, decimal, chosen, tuple(said), why_not, long, culprit, other_sign, odd
    )


def _endless(text: str) -> float | None:
    bare = text.strip().lstrip("+-").lower()
    if bare not in ("inf", "infinity"):
        return None
    return -np.inf if text.strip().startswith("-") else np.inf


def _decided(
    under: dict[str, list[float | None]],
    cells: dict[str, int],
    hint: str,
    levels: Sequence[str],
    said: list[str],
    is_mixed: bool,
) -> str:
    if cells["."] != cells[","]:
        return "." if cells["."] > cells[","] else ","
    unlike = [i for i in range(len(levels)) if under["."][i] != under[","][i]]
    if unlike:
        example = levels[unlike[0]]
        value = under[hint][unlike[0]]
        # A decimal point in every cell is what it looks like, unless the file says otherwise.
        plain = hint == "." and "." in example and "," not in example
        if value is not None and (is_mixed or not plain):
            meant = f"{value:.15g}"
            said.append(f"{example!r} could be two numbers and was read as {meant}")
    return hint


def _one_unit(
    units: Sequence[str],
    good: BoolArray,
    counts: IntArray,
    values: FloatArray,
    wanted: str,
    said: list[str],
) -> tuple[str, BoolArray]:
    """The unit of a column, and which texts are in another."""
    times: Counter[str] = Counter()
    spelled: dict[str, Counter[str]] = {}
    units = _in_singular(units)
    for unit, n in zip([u for u, g in zip(units, good, strict=True) if g], counts[good],
                       strict=True):  # fmt: skip
        times[_folded(unit)] += int(n)
        spelled.setdefault(_folded(unit), Counter())[unit] += int(n)
    named = Counter({unit: n for unit, n in times.items() if unit})
    none = np.zeros(len(units), dtype=bool)
    if not named:
        return wanted, none
    main = _folded(_SAME.get(wanted, wanted)) if wanted else named.most_common(1)[0][0]
    folded = np.array([_folded(unit) for unit in units], dtype=object)
    odd = good & (folded != main) & (folded != "")
    bare = good & (folded == "")
    if main in _FACTORS:
        # 0.187 beside 18.7% may be a share or a percentage, and 950 beside 1.2k is not 950,000;
        # only 0 is the same in both.
        odd |= bare & (values != 0)
    elif bare.any():
        n, n_named = int(counts[bare].sum()), named[main]
        if not wanted and n_named < MANY * (n + n_named):
            shown = spelled[main].most_common(1)[0][0]
            said.append(f"{shown!r} at {count(n_named, 'number')} left out, as no unit of the rest")
            return "", odd
        said.append(f"{count(n, 'cell')} without the unit taken to be in it")
    shown = wanted or spelled[main].most_common(1)[0][0]
    return shown, odd


def _in_singular(units: Sequence[str]) -> Sequence[str]:
    """The units, those that are the plural of another one among them as that one.

    >>> _in_singular(["year", "years", "Jahre", "m", "ms"])
    ['year', 'year', 'Jahre', 'm', 'ms']
    """
    there = {unit for unit in units if len(unit) > 2}
    singular = {one + end: one for one in there for end in _PLURALS if one + end in there}
    return [singular.get(unit, unit) for unit in units] if singular else units


def _folded(unit: str) -> str:
    """A unit without its case, unless a prefix such as m or M hangs on it."""
    return unit if unit[:1] in "mM" and len(unit) > 1 else unit.lower()


def _mixed(units: Sequence[str], good: BoolArray, counts: IntArray) -> str:
    times: Counter[str] = Counter()
    for unit, is_good, n in zip(units, good, counts, strict=True):
        if is_good:
            times[unit or "none"] += int(n)
    if len(times) > MOST_UNITS + 1:
        return ""
    listed = ", ".join(f"{unit} ({n})" for unit, n in times.most_common())
    return (
        f"numbers in several units: {listed}; give it the role numeric and the unit to keep "
        "(columns=…), and the others are missing"
    )


def examples(levels: Sequence[str], chosen: BoolArray, counts: IntArray, most: int = 3) -> str:
    """The chosen texts with most cells, quoted."""
    order = sorted(np.flatnonzero(chosen).tolist(), key=lambda i: (-int(counts[i]), levels[i]))
    return listing([levels[i][:30] for i in order], most)
