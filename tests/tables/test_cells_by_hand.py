"""Numbers, dates and times as people write them, text by text."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from subscape.tables.dates import parse_day, read_dates, read_times
from subscape.tables.numbers import (
    _PLAINER,
    Number,
    examples,
    is_number,
    number_of,
    parse_number,
    plain_numbers,
    read_numbers,
)
from subscape.tables.texts import _lost as lost
from subscape.tables.texts import truth_words

NAN = np.nan

# -- numbers --------------------------------------------------------------------------------------


def test_wide_letters_and_other_figures_are_the_plain_ones():
    wide = "".join(chr(letter) for letter in range(0xFF01, 0xFF5F))
    assert wide.translate(_PLAINER) == "".join(chr(letter) for letter in range(0x21, 0x7F))
    # What comes before and behind them is none.
    assert "\uff00\uff5f".translate(_PLAINER) == "\uff00\uff5f"
    figures = "٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹ ०१२३४५६७८९"
    assert figures.translate(_PLAINER) == "0123456789 0123456789 0123456789"
    others = "\u065f\u066a\u06ef\u06fa\u0965\u0970"
    assert others.translate(_PLAINER) == others.replace("\u066a", "%")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("1", True), ("-1.5e-3", True), (".5", True), ("5.", True), ("inf", True), ("NaN", True),
        ("1,5", False), ("", False), ("1 ", False), ("999999999999999", True),
        ("1000000000000000", False), ("0000000000000001", True), ("-1234567890123456", False),
        ("1234567890123456.0", True), ("٣", False),
    ],
)  # fmt: skip
def test_numbers_that_float64_holds(text, known):
    assert is_number(text) is known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("12", ("12", False, "")), ("-12", ("12", True, "")), ("12-", ("12", True, "")),
        ("(12)", ("12", True, "")), ("+12", ("12", False, "")), ("− 12", ("12", True, "")),
        ("$ 1,200.50", None), ("€ 5", ("5", False, "EUR")), ("5 €", ("5", False, "EUR")),
        ("-€5", ("5", True, "EUR")), ("€-5", ("5", True, "EUR")), ("(€5)", ("5", True, "EUR")),
        ("5 kg", ("5", False, "kg")), ("5 Fr.", ("5", False, "CHF")), ("5%", ("5", False, "%")),
        ("1\u202f234,5 m²", ("1 234,5", False, "m²")), ("5 km/h", ("5", False, "km/h")),
        ("12,-- €", ("12", False, "EUR")), ("1\u2019234.5", ("1'234.5", False, "")),
        ("(12", None), ("12)", None), ("-12-", None), ("(-12)", None), ("€5 kg", None),
        ("--5", None), ("a5", None), ("5 6 kg", ("5 6", False, "kg")), ("kg", None), ("", None),
    ],
)  # fmt: skip
def test_parts_of_a_number(text, known):
    if text.startswith("$"):
        assert parse_number(text) == ("1,200.50", False, "$")
        return
    assert parse_number(text) == (None if known is None else Number(*known))


@pytest.mark.parametrize(
    ("core", "under_point", "under_comma"),
    [
        ("1.5", 1.5, None), ("1,5", None, 1.5), ("1,234", 1234, 1.234), ("1.234", 1.234, 1234),
        ("1,234.5", 1234.5, None), ("1.234,5", None, 1234.5), ("1'234'567", 1234567, 1234567),
        ("1 234", 1234, 1234), ("12,34,567", 1234567, None), ("0,234", None, 0.234),
        ("1234,567", None, 1234.567), ("1,234'567", None, None), ("1.5e-2", 0.015, None),
        ("1,5E3", None, 1500), (".5", 0.5, None), ("5.", 5, None), (".", None, None),
        ("1,23", None, 1.23), ("7", 7, 7),
    ],
)  # fmt: skip
def test_digits_under_a_decimal_sign(core, under_point, under_comma):
    assert number_of(core, ".") == under_point and number_of(core, ",") == under_comma


def test_texts_that_all_are_plain():
    assert plain_numbers(["+1", "-2.5", ".5", "1e3"]).tolist() == [1, -2.5, 0.5, 1000]
    for other in ("1,5", "x", "1234567890123456", "+-1", ""):
        assert plain_numbers(["1", other]) is None
    assert plain_numbers(["123456789012345"]) is not None


def read(texts, counts=None, **options):
    return read_numbers(texts, np.array([1] * len(texts) if counts is None else counts), **options)


def test_the_sign_of_most_cells_decides():
    found = read(["1.234,5", "2,5", "3.5"], [1, 1, 3])
    assert found.decimal == "." and found.good.tolist() == [False, False, True]
    assert np.isnan(found.values[:2]).all() and found.other_sign.tolist() == [True, True, False]
    assert found.why_not.startswith("numbers in two conventions: '1.234,5' beside '3.5'; give it")
    assert found.culprit == 0
    found = read(["2,5", "3.5"], [96, 4])
    assert found.decimal == "," and found.why_not == "" and found.values[0] == 2.5
    # Asked for, it is that one.
    found = read(["2,5", "3.5"], [96, 4], decimal=".", is_sure=True)
    assert found.decimal == "." and found.good.tolist() == [False, True]


def test_what_could_be_two_numbers():
    found = read(["1,234", "5 kg"])
    assert found.values.tolist() == [1234, 5]
    assert found.said[0] == "'1,234' could be two numbers and was read as 1234"
    found = read(["1,234"], decimal=",")
    assert found.values.tolist() == [1.234] and "read as 1.234" in found.said[0]
    assert read(["1.234", "5 kg"]).said == ("1 cell without the unit taken to be in it",)
    found = read(["1.234", "5 kg"], is_mixed=True)
    assert found.said[0] == "'1.234' could be two numbers and was read as 1.234"


def test_units():
    found = read(["1 kg", "2 KG", "3"], [5, 2, 3])
    assert found.unit == "kg" and found.good.all()
    assert found.said == ("3 cells without the unit taken to be in it",)
    found = read(["1 kg", "2 lb"], [96, 4])
    assert found.unit == "kg" and found.other_unit.tolist() == [False, True]
    assert np.isnan(found.values[1]) and found.why_not == ""
    found = read(["1 kg", "2 lb", "3"], [2, 2, 1])
    assert found.why_not == (
        "numbers in several units: kg (2), lb (2), none (1); give it the role numeric and the unit "
        "to keep (columns=…), and the others are missing"
    )
    assert found.culprit == 1
    assert read(["1 kg", "2 lb"], [1, 9], unit="kg").values[0] == 1
    # m and M are not the same, nor are shares percentages, but for 0.
    assert read(["1 mg", "2 Mg"]).other_unit.tolist() == [False, True]
    found = read(["5 %", "0.5", "0"], [9, 1, 1])
    assert found.other_unit.tolist() == [False, True, False] and found.said == ()
    # So many endings are no units.
    assert read([f"{i} {unit}" for i, unit in enumerate("abcdefg")]).why_not == ""


def test_long_and_endless_numbers():
    found = read(["12345678901234567", "-inf", "+Infinity", "5 kg", "x"])
    assert found.long.tolist() == [True, False, False, False, False]
    assert found.good.tolist() == [False, True, True, True, False]
    assert found.values[:4].tolist() == [1.2345678901234568e16, -np.inf, np.inf, 5]
    assert read(["(5)", "5-", "2 kg"]).values.tolist() == [-5, -5, 2]


def test_examples_are_those_of_most_cells():
    chosen = np.array([True, True, False, True, True])
    said = examples(["a", "b", "c", "d", "e" * 40], chosen, np.array([1, 2, 9, 2, 1]))
    assert said.startswith("'b', 'd', 'a'") and "'c'" not in said and "e" * 5 not in said
    only = examples(["e" * 40], np.array([True]), np.array([1]))
    assert only == repr("e" * 30)


# -- what a column of texts is --------------------------------------------------------------------


def test_cells_that_are_lost_are_counted():
    texts, sizes = ["a", "b"], np.array([1, 3])
    assert lost(texts, np.array([True, False]), sizes, "no numbers") == [
        "1 cell that is no number taken as missing: 'a'"
    ]
    assert lost(texts, np.array([True, True]), sizes, "no numbers") == [
        "4 cells that are no numbers taken as missing: 'b', 'a'"
    ]
    assert lost(texts, np.array([False, True]), sizes, how="in another unit") == [
        "3 cells in another unit taken as missing: 'b'"
    ]
    assert lost(texts, np.array([False, False]), sizes, "no numbers") == []


def test_words_for_yes_and_no():
    def told(levels, counts=None):
        return truth_words(levels, np.array([1] * len(levels) if counts is None else counts))

    assert told(["yes", "Yes", "no"], [1, 2, 1]) == ["Yes", "Yes", "no"]
    assert told(["ja", "Ja", "nein", "NEIN"], [2, 1, 1, 2]) == ["ja", "ja", "NEIN", "NEIN"]
    assert told(["t", "T", "F"]) == ["t", "t", "F"]
    for other in (["yes", "no"], ["yes", "no", "maybe"], ["yes", "Yes", "YES"], ["no", "No", "NO"]):
        assert told(other) is None


# -- dates ----------------------------------------------------------------------------------------


def day(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp() / 86400


@pytest.mark.parametrize(
    ("text", "order", "known"),
    [
        ("2024-02-29", "ymd", day(2024, 2, 29)), ("2023-02-29", "ymd", None),
        ("29.2.2024", "dmy", day(2024, 2, 29)), ("2/29/2024", "mdy", day(2024, 2, 29)),
        ("29.2.2024", "mdy", None), ("1.2.68", "dmy", day(2068, 2, 1)),
        ("1.2.69", "dmy", day(1969, 2, 1)), ("1.2.202", "dmy", None),
        ("3 Mar 2024", "ymd", day(2024, 3, 3)), ("March 3, 2024", "dmy", day(2024, 3, 3)),
        ("3 Foo 2024", "dmy", None), ("2024", "ymd", None),
        ("2024-01-02 03:04:05", "ymd", day(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02T03:04:05Z", "ymd", day(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02T03:04:05.5+02:00", "ymd", day(2024, 1, 2, 1, 4, 5, 500000)),
        ("2024-01-02T03:04-0130", "ymd", day(2024, 1, 2, 4, 34)),
        ("1/2/2024 12:30 am", "mdy", day(2024, 1, 2, 0, 30)),
        ("1/2/2024 12:30 PM", "mdy", day(2024, 1, 2, 12, 30)),
        ("1/2/2024 1:30 pm", "mdy", day(2024, 1, 2, 13, 30)),
        ("1/2/2024 13:30 pm", "mdy", None), ("1/2/2024 25:00", "mdy", None),
    ],
)  # fmt: skip
def test_days(text, order, known):
    assert parse_day(text, order) == pytest.approx(known, abs=1e-9)


def test_the_order_of_most_dates():
    def told(texts, counts=None, **more):
        return read_dates(texts, np.array([1] * len(texts) if counts is None else counts), **more)

    found = told(["1.2.2024", "13.2.2024", "x"])
    assert found.order == "dmy" and found.good.tolist() == [True, True, False]
    assert found.values[0] == day(2024, 2, 1) and np.isnan(found.values[2])
    assert not found.is_ambiguous and not found.short_years
    found = told(["1/2/2024", "1/13/2024", "13/1/2024"], [1, 1, 5])
    assert found.order == "dmy" and found.good.tolist() == [True, False, True]
    assert told(["1/2/2024"]).is_ambiguous and told(["1/2/2024"]).order == "dmy"
    assert not told(["2/2/2024"]).is_ambiguous  # the same in either order
    assert told(["1/2/2024"], order="mdy").values[0] == day(2024, 1, 2)
    assert not told(["1/2/2024"], order="mdy").is_ambiguous
    assert told(["3 Mar 2024"]).order == ""
    assert told(["1.2.24", "3.4.25"]).short_years and not told(["2024-02-01"]).short_years
    assert told(["x", "y"]) is None and told(["99.99.2024"]) is None
    assert told(["x"] * 50 + ["1.2.2024"]) is None  # the first fifty say what it is
    assert told(["x"] * 49 + ["1.2.2024"]) is not None


def test_times_of_day():
    values, good, said = read_times(
        ["7:30", "12:00 am", "12:15 PM", "1:15 pm", "13:00 pm", "0:00 am", "1:02:03", "1:02:03,5",
         "noon", "100:30"]
    )  # fmt: skip
    known = [7.5, 0, 12.25, 13.25, NAN, NAN, 1 + 2 / 60 + 3 / 3600, 1 + 2 / 60 + 3.5 / 3600, NAN]
    np.testing.assert_allclose(values[:9], known)
    assert good[:9].tolist() == [True] * 4 + [False] * 2 + [True] * 2 + [False]
    assert said == "'7:30' read as hours and minutes"
