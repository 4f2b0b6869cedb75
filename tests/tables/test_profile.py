"""Counts per column, notes and pictures in text; how texts become numbers and dates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from tests.tables.tables import mixed

from subscape.tables import profile
from subscape.tables.columns import Column, parse_dates, parse_numbers
from subscape.tables.table import Table

NAN = np.nan


# --- counts and notes ---


@settings(deadline=None, max_examples=50)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, NAN, np.inf, -np.inf]),
    ),
    st.booleans(),
)
def test_profile_against_brute_force(X, as_sparse):
    table = Table.from_array(sparse.csr_array(X) if as_sparse else X)
    found = table.profile
    for j in range(X.shape[1]):
        column = X[:, j]
        present = column[~np.isnan(column)]
        finite = present[np.isfinite(present)]
        assert found.n_missing[j] == np.isnan(column).sum()
        assert found.n_infinite[j] == np.isinf(column).sum()
        # A column of one infinite value is not called constant: it needs another answer.
        constant = len(set(present.tolist())) <= 1 and not np.isinf(present).any()
        assert found.is_constant[j] == constant
        assert found.low[j] == finite.min() if finite.size else np.isnan(found.low[j])
        assert found.high[j] == finite.max() if finite.size else np.isnan(found.high[j])
        equal = [i for i in range(j) if np.array_equal(X[:, i], column, equal_nan=True)]
        expected = f"x{equal[0]}" if equal and not constant else None
        assert found.duplicate_of[j] == expected


def test_profile_over_blocks_of_rows(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4))
    X[:, 3] = X[:, 1]
    X[7, 0] = NAN
    whole = Table.from_array(X).profile
    monkeypatch.setattr("subscape.tables.profile.BLOCK_CELLS", 12)
    parts = Table.from_array(X).profile
    assert whole.duplicate_of == parts.duplicate_of == (None, None, None, "x1")
    for name in ("n_missing", "n_infinite", "low", "high", "is_constant"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_text_columns_repeat_each_other_if_they_group_alike():
    levels = ("a", "b", "c")
    schema = tuple(Column(name, "nominal", "text", levels) for name in ("p", "q", "r"))
    data = {"p": [0, 1, 1, -1], "q": [2, 0, 0, -1], "r": [0, 1, 1, 1]}
    others = {name: np.array(codes, dtype=np.int32) for name, codes in data.items()}
    assert Table(schema, np.empty((4, 0)), others).profile.duplicate_of == (None, "p", None)


def test_notes_say_it_in_words():
    X = np.array([[1.0, 5.0, 1.0, np.inf, NAN], [2.0, 5.0, 2.0, 0.0, NAN], [NAN, 5.0, NAN, 1, NAN]])
    notes = Table.from_array(X, feature_names=["a", "k", "b", "i", "e"]).notes
    assert "1 feature without any value: 'e'" in notes
    assert "1 feature with a single value: 'k'" in notes
    assert "1 repeated feature: 'b' repeats 'a'" in notes
    assert "1 infinite value in 'i'" in notes
    assert any("missing cells" in note and "'a', 'b'" in note for note in notes)
    assert Table.from_array([[1.0, 4.0], [2.0, 3.0]]).notes == ()


def test_a_table_without_features_says_so():
    notes = mixed().select(["who", "group"]).notes
    assert notes == ("no column is a feature: there is nothing to find clusters in",)


def test_html_is_escaped_and_short():
    evil = "</script><img src=x onerror=alert(1)>"
    column = Column(evil, "nominal", "text", ("<b>", "&"), note="<i>note</i>")
    table = Table((column,), np.empty((2, 0)), {evil: np.array([0, 1], dtype=np.int32)})
    html = table._repr_html_()
    assert "<img" not in html
    assert "<b>," not in html
    assert "<i>" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    wide = Table.from_array(np.eye(100))._repr_html_()
    assert "… and 70 more columns" in wide
    assert wide.count("<tr>") == 31
    assert "1970-01-01 to 2022-01-08" in mixed()._repr_html_()


# --- parsing ---


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["1", "+2", "-3.5", ".5", "5.", "1e-3", "INF", "-Infinity"],
            [1, 2, -3.5, 0.5, 5, 1e-3, np.inf, -np.inf],
        ),
        (["1", "-", "nan"], [1, NAN, NAN]),
        (["-", "nan"], None),
        (["1_000"], None),
        (["0x10"], None),
        (["1,5"], None),
        (["12345678901234567"], None),
        (["\u0661"], None),
        ([], None),
    ],
)
def test_parse_numbers(texts, expected):
    found = parse_numbers(texts)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)


def test_parse_numbers_with_a_decimal_comma():
    np.testing.assert_array_equal(parse_numbers(["1,5", "-2"], ","), [1.5, -2.0])


@pytest.mark.parametrize("text", ["2020-13-01", "31.02.2020", "2020", "20200101", "2020-01-01 x"])
def test_not_a_date(text):
    assert parse_dates([text]) is None


def test_dates_with_and_without_zone():
    days = parse_dates(["1970-01-01T01:00:00+01:00", "1969-12-31", "1970-01-01 06:00"])
    np.testing.assert_array_equal(days, [0.0, -1.0, 0.25])


def test_of_large_tables_every_so_many_rows_are_looked_at():
    cells = profile.BLOCK_CELLS
    assert profile.step_for((10, 3)) == profile.step_for((cells, 1)) == 1
    assert profile.step_for((cells, 7)) == 7


@pytest.mark.parametrize(
    ("n", "told"), [(1, "1 level: a"), (4, "4 levels: a, b, c, d"), (5, "5 levels: a, b, c, d, …")]
)
def test_the_first_four_levels_are_shown(n, told):
    column = Column("x", "nominal", "text", levels=tuple("abcde"[:n]))
    assert profile._range(column, None, 0) == told
