"""Dates and times as people write them, in the order that all cells of a column allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from subscape.core.types import BoolArray, FloatArray, IntArray

#: Zones by their letters, in hours from Greenwich.
_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
          "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "BST": 1, "MSK": 3,
          "JST": 9, "AEST": 10, "AEDT": 11}  # fmt: skip
_TIME = (
    r"(?:(?:[T ]|,\s*|\s+)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)"
    r"(?P<fraction>[.,]\d{1,9})?)?\s*(?:Uhr|h)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*"
    rf"(?P<zone>Z|(?:UTC|GMT)?[+-]\d{{1,2}}(?::?\d\d)?|UTC|GMT|{'|'.join(_ZONES)})?)?"
)
#: Year behind the time, as in messages of Unix: Thu Jan 5 10:00:00 CET 2023.
_YEAR_LAST = re.compile(
    r"(?P<day>(?:[^\W\d_]+,?\s+)?[^\W\d_]{3,10}\s+\d{1,2})\s+(?P<time>\d{1,2}:\d\d:\d\d)\s+"
    r"(?P<zone>(?:[A-Z]{3,4}|[+-]\d{4})\s+)?(?P<year>\d{4})"
)
_FIGURES = re.compile(
    rf"(?P<a>\d{{1,4}})(?P<sign>[-./])(?P<b>\d{{1,2}})(?P=sign)(?P<c>\d{{1,4}})\.?{_TIME}", re.ASCII
)
#: A day of the week before a date; what it is does not matter, because the date says it again.
_WEEKDAY = (
    r"(?:(?i:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|mié|"
    r"jue|vie|sáb|dom|gio|sab|mie)[^\W\d_]{0,8}\.?,?\s+)?"
)
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?[\s-]*(?:de\s+)?(?P<m>[^\W\d_]{{3,10}})\.?[\s,-]*"
    rf"(?:de\s+)?(?P<y>\d{{2,4}}){_TIME}"
)
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<m>[^\W\d_]{{3,10}})\.?[\s-]*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s,-]+(?P<y>\d{{2,4}}){_TIME}"
)
_YEAR = r"(?:1[89]|20)[0-9]{2}"
#: Months without a day; with a point, 1.2021 would be a number.
_MONTHLY = re.compile(
    rf"(?P<y>{_YEAR})[-/](?P<m>[01]?[0-9])|(?P<m2>[01]?[0-9])[-/](?P<y2>{_YEAR})|"
    rf"(?P<m3>[^\W\d_]{{3,10}})\.?[\s-]+(?P<y3>{_YEAR})|"
    r"(?P<m4>[^\W\d_]{3,10})\.?(?:\s|-|\s?['\u2019])(?P<y4>\d\d)"
)
#: Weeks of ISO 8601, and quarters.
_WEEKLY = re.compile(rf"(?P<y>{_YEAR})[-/ ]?(?:[WK]|[CK]W)(?P<w>[0-5]?[0-9])", re.IGNORECASE)
_QUARTERLY = re.compile(
    rf"(?P<y>{_YEAR})[-/ ]?Q(?P<q>[1-4])|(?:Q(?P<q2>[1-4])|(?P<q3>[1-4])Q)[-/ ]*(?P<y2>{_YEAR})",
    re.IGNORECASE,
)
#: 20241231: eight figures that are a day of these years.
_COMPACT = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.ASCII)
#: As many different whole numbers are days by chance in less than one of a million columns.
ENOUGH_DAYS = 5
_CLOCK = re.compile(
    r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?\s*(?:Uhr|h)?\s*([AaPp]\.?[Mm]\.?)?", re.ASCII
)
#: How far a zone is from UTC.
_OFFSET = re.compile(r"([+-])(\d{1,2}?):?(\d\d)?$", re.ASCII)
#: Days before a time, as Python, pandas and databases write durations.
_DAYS_AND_CLOCK = re.compile(
    r"([+-]?\d+)\s*d(?:ays?)?,?\s*([+-])?(\d{1,2}):([0-5]\d):([0-5]\d(?:[.,]\d+)?)", re.ASCII
)
#: Durations of ISO 8601, from days down.
_ISO_SPAN = re.compile(
    r"P(?:(\d+)D)?T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?", re.ASCII
)
#: Days, hours, minutes, seconds by their letters; at least one.
_SPAN = re.compile(
    r"(?=\d)(?:(\d+)\s*d(?:ays?)?)?\s*"
    r"(?:(\d+)\s*h(?:ours?|rs?|\.)?)?\s*(?:(\d+)\s*m(?:in(?:utes?|s|\.)?)?)?\s*"
    r"(?:(\d+(?:[.,]\d+)?)\s*s(?:ec(?:onds?|s|\.)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = (
    "jan januar january jänner janvier janv enero ene gennaio gen januari janeiro|"
    "feb februar february feber février fevrier févr fevr fév febrero febbraio februari fevereiro|"
    "mar märz maerz mär mrz march mars marzo maart mrt março|"
    "apr april avril avr abril abr aprile|may mai mayo maggio mag mei maj maio|"
    "jun juni june juin junio giugno giu junho|"
    "jul juli july juillet juil julio luglio lug julho|"
    "aug august août aout agosto ago augustus augusti|"
    "sep sept september septembre septiembre settembre set setembro|"
    "oct okt oktober october octobre octubre ottobre ott outubro out|"
    "nov november novembre noviembre novembro|"
    "dec dez dezember december décembre decembre déc diciembre dic dicembre dezembro"
)
_MONTH = {name: i for i, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()}
#: 2024年12月31日, as in China and Japan.
_CJK = re.compile(r"(\d{4})年\s*(\d{1,2})月\s*(\d{1,2})日")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Days(NamedTuple):
    """The texts of a column as dates.

    ``values`` are days since 1970-01-01, NaN where a text is no date; ``good`` says which are;
    ``order`` is "ymd", "dmy", "mdy" or "" if all are told by names of months; ``is_ambiguous``
    whether another order would fit as well; ``short_years`` whether years have two digits.
    """

    values: FloatArray
    good: BoolArray
    order: str
    is_ambiguous: bool
    short_years: bool


def parse_day(text: str, order: str) -> float | None:
    """One date in days since 1970-01-01, or None where it is none in this order.

    >>> parse_day("2.1.1970", "dmy"), parse_day("1/2/1970 12:00", "mdy"), parse_day("1970", "ymd")
    (1.0, 1.5, None)
    >>> parse_day("Jan 3, 1970", "dmy")
    2.0

    Years of four digits in front are followed by the month, whatever the order of the others.
    """
    text = _CJK.sub(r"\1-\2-\3", text)
    late = _YEAR_LAST.fullmatch(text)
    if late is not None:
        text = f"{late['day']} {late['year']} {late['time']} {(late['zone'] or '').strip()}".strip()
    found = _FIGURES.fullmatch(text)
    if found is None:
        found = _DAY_FIRST.fullmatch(text) or _MONTH_FIRST.fullmatch(text)
        if found is None or found["m"].lower() not in _MONTH:
            return None
        year, month, day = found["y"], _MONTH[found["m"].lower()], int(found["d"])
    else:
        order = "ymd" if len(found["a"]) == 4 else order
        figures = dict(zip(order, (found["a"], found["b"], found["c"]), strict=True))
        year, month, day = figures["y"], int(figures["m"]), int(figures["d"])
        if len(figures["d"]) > 2 or len(figures["m"]) > 2:
            return None
    if len(year) not in (2, 4):
        return None
    return _days(_full(year), month, day, found)


def _full(year: str) -> int:
    """A year of two digits lies between 1969 and 2068."""
    number = int(year)
    return number if len(year) == 4 else number + (2000 if number < 69 else 1900)


def _days(year: int, month: int, day: int, found: re.Match[str]) -> float | None:
    hour = int(found["hour"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"][0] in "pP" else 0)
    try:
        moment = datetime(
            year, month, day, hour, int(found["minute"] or 0), int(found["second"] or 0), tzinfo=UTC
        )
    except ValueError:
        return None
    seconds = (moment - _EPOCH) / timedelta(seconds=1)
    if found["fraction"]:
        seconds += float("0." + found["fraction"][1:])
    zone = _OFFSET.search(found["zone"] or "")
    if zone is not None:
        minutes = int(zone[2]) * 60 + int(zone[3] or 0)
        seconds -= (minutes if zone[1] == "+" else -minutes) * 60
    seconds -= 3600 * _ZONES.get(found["zone"] or "", 0)
    return seconds / 86400


def read_dates(levels: Sequence[str], counts: IntArray, order: str = "") -> Days | None:
    """Read the different texts of a column as dates; None if hardly any is one.

    The order of day, month and year is the one that most cells allow; of several, where years have
    two digits, the one with the fewest different years. Then years first come first, then days.

    >>> import numpy as np
    >>> found = read_dates(["12/31/2024", "01/02/2024"], np.array([1, 1]))
    >>> found.order, found.is_ambiguous
    ('mdy', False)
    """
    if not any(_looks_like_a_day(text) for text in levels[:50]):
        return None
    asked = (order,) if order else ("ymd", "dmy", "mdy")
    fits = {}
    for one in asked:
        values = [parse_day(text, one) for text in levels]
        good = np.array([value is not None for value in values])
        fits[one] = (int(counts[good].sum()), good, values)
    best = max(asked, key=lambda one: (fits[one][0], -_n_years(fits[one][2])))
    n, good, values = fits[best]
    if n == 0:
        return None
    in_figures = any(_FIGURES.fullmatch(text) for text in levels)
    unlike = [one for one in asked if one != best and fits[one][0] == n and fits[one][2] != values]
    short = any(
        len(found["a" if best == "ymd" else "c"]) == 2 and len(found["a"]) < 4
        for text in levels
        if (found := _FIGURES.fullmatch(text))
    )
    days = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return Days(days, good, best if in_figures else "", bool(unlike), short)


class Periods(NamedTuple):
    """The texts of a column as months, weeks or quarters.

    ``values`` are the days on which they begin, in days since 1970-01-01, NaN where a text is no
    period; ``good`` says which are; ``what`` is their name, such as "months"; ``short_years``
    whether years have two digits.
    """

    values: FloatArray
    good: BoolArray
    what: str
    short_years: bool = False


def read_periods(levels: Sequence[str]) -> Periods:
    """Months such as 2024-12 or Dec 2024, weeks such as 2024-W01, and quarters such as Q1 2024.

    >>> read_periods(["1970-02", "Feb 1970", "13/1970"])[0]
    array([31., 31., nan])
    >>> read_periods(["1970-W02", "1970-W54"])[0], read_periods(["Q2 1970"])[0]
    (array([ 4., nan]), array([90.]))
    """
    values = np.full(len(levels), np.nan)
    seen: dict[str, None] = {}
    short = [found for text in levels if (found := _MONTHLY.fullmatch(text)) and found["y4"]]
    # Of one word alone, such as Set 12, the figures are a number.
    one_word = len({found["m4"].lower() for found in short}) == 1
    for i, text in enumerate(levels):
        if one_word and (found := _MONTHLY.fullmatch(text)) and found["y4"]:
            continue
        for what, first_day in (("months", _month), ("weeks", _week), ("quarters", _quarter)):
            day = first_day(text)
            if day is not None:
                values[i] = (day.replace(tzinfo=UTC) - _EPOCH).days
                seen[what] = None
                break
    return Periods(values, ~np.isnan(values), " and ".join(seen), bool(short) and not one_word)


def _month(text: str) -> datetime | None:
    found = _MONTHLY.fullmatch(text)
    if found is None:
        return None
    name = (found["m3"] or found["m4"] or "").lower()
    month = _MONTH.get(name, 0) if name else int(found["m"] or found["m2"])
    year = _full(found["y"] or found["y2"] or found["y3"] or found["y4"])
    return datetime(year, month, 1) if 1 <= month <= 12 else None


def _week(text: str) -> datetime | None:
    found = _WEEKLY.fullmatch(text)
    try:
        return found and datetime.fromisocalendar(int(found["y"]), int(found["w"]), 1)
    except ValueError:  # no such week in that year
        return None


def _quarter(text: str) -> datetime | None:
    found = _QUARTERLY.fullmatch(text)
    if found is None:
        return None
    quarter = int(found["q"] or found["q2"] or found["q3"])
    return datetime(int(found["y"] or found["y2"]), 3 * quarter - 2, 1)


def compact_days(values: FloatArray) -> FloatArray | None:
    """Whole numbers such as 20241231 as days; None unless all are, and enough of them differ.

    >>> compact_days(np.array([19700101, 19700102, 19700103, 19700104, 19700105, np.nan]))
    array([ 0.,  1.,  2.,  3.,  4., nan])
    >>> compact_days(np.array([19700101.0, 20231399])) is None
    True
    """
    present = ~np.isnan(values)
    different, place = np.unique(values[present], return_inverse=True)
    if len(different) < ENOUGH_DAYS or different[0] < 19000101 or different[-1] > 20991231:
        return None
    days = [
        parse_day(f"{text[:4]}-{text[4:6]}-{text[6:]}", "ymd")
        for text in (f"{value:.15g}" for value in different)
        if _COMPACT.fullmatch(text)
    ]
    if len(days) < len(different) or any(day is None for day in days):
        return None
    out = np.full(len(values), np.nan)
    out[present] = np.array(days, dtype=np.float64)[place]
    return out


def _looks_like_a_day(text: str) -> bool:
    patterns = (_FIGURES, _YEAR_LAST)
    named = _month_in(text) or _CJK.match(text) is not None
    return named or any(pattern.fullmatch(text) for pattern in patterns)


def _n_years(days: Sequence[float | None]) -> int:
    """How many different years there are."""
    present = np.array([day for day in days if day is not None])
    return len(np.unique(np.floor(present).astype("datetime64[D]").astype("datetime64[Y]")))


def _month_in(text: str) -> bool:
    found = _DAY_FIRST.fullmatch(text) or _MONTH_FIRST.fullmatch(text)
    return found is not None and found["m"].lower() in _MONTH


class Times(NamedTuple):
    """Times and durations in hours.

    ``values`` are NaN where a text is none, ``good`` says which are some, ``said`` how those of two
    parts were read, which may be hours and minutes or minutes and seconds.
    """

    values: FloatArray
    good: BoolArray
    said: str


def read_times(levels: Sequence[str]) -> Times:
    """Times of day and durations such as 7:30, 1:15 pm, 1h 30m or PT1H30M, in hours.

    Figures with one letter, such as 5 h, are numbers in a unit, unless others have two. Where some
    are h:mm:ss, those of two parts are m:ss if they go beyond 23, and else h:mm.

    >>> read_times(["7:30", "1:15 pm", "1h 30m", "PT90M", "1 day, 1:30:00", "noon"]).values
    array([ 7.5 , 13.25,  1.5 ,  1.5 , 25.5 ,   nan])
    >>> read_times(["45:00", "1:15:00"]).values
    array([0.75, 1.25])
    """
    values = np.full(len(levels), np.nan)
    texts = [text.strip() for text in levels]
    spans = [_SPAN.fullmatch(text) for text in texts]
    several = any(found is not None and sum(map(bool, found.groups())) > 1 for found in spans)
    for i, text in enumerate(texts):
        found = (spans[i] if several else None) or _ISO_SPAN.fullmatch(text)
        if found is not None:
            values[i] = _hours(*found.groups())
            continue
        found = _DAYS_AND_CLOCK.fullmatch(text)
        if found is not None:
            clock = _hours(None, *found.groups()[2:])
            values[i] = 24 * int(found[1]) + (-clock if found[2] == "-" else clock)
    clocks = [_CLOCK.fullmatch(text) for text in levels]
    short = [found for found in clocks if found is not None and not found[3] and not found[4]]
    long = [int(found[1]) for found in clocks if found is not None and found[3]]
    are_minutes = (
        bool(short and long) and max(long) < 24 and 23 < max(int(found[1]) for found in short) < 60
    )
    for i, found in enumerate(clocks):
        if found is None:
            continue
        if are_minutes and not found[3] and not found[4]:
            values[i] = _hours(None, None, found[1], found[2])
            continue
        hours = int(found[1])
        if found[4]:
            if not 1 <= hours <= 12:
                continue
            hours = hours % 12 + (12 if found[4][0] in "pP" else 0)
        values[i] = _hours(None, str(hours), found[2], found[3])
    said = ""
    if short:
        what = "minutes and seconds" if are_minutes else "hours and minutes"
        said = f"{short[0][0]!r} read as {what}"
    return Times(values, ~np.isnan(values), said)


def _hours(*parts: str | None) -> float:
    """Hours of days, hours, minutes and seconds."""
    d, h, m, s = (float((part or "0").replace(",", ".")) for part in parts)
    return 24 * d + h + m / 60 + s / 3600
