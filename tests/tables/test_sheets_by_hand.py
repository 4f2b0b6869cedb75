"""Sheets of workbooks row by row, and what is counted of columns, on lists made for it."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest

from subscape.core.errors import FileFormatError
from subscape.tables import profile
from subscape.tables.profile import ColumnCounts
from subscape.tables.readers import workbook

# -- sheets ---------------------------------------------------------------------------------------


def sheet(*rows, start=1, gaps=()):
    """Rows with their numbers, where an empty one stands before each of ``gaps``."""
    numbered, line = [], start - 1
    for place, row in enumerate(rows):
        line += 1 + (place in gaps)
        numbered.append((line, list(row)))
    return numbered


def one_table(rows, first=0):
    notes = []
    kept = workbook._one_table(rows, first, "f", "s", notes)
    return [line for line, _ in kept], notes


def test_an_empty_column_between_two_tables():
    rows = sheet(["a", "b", "", "c"], [1, 2, "", 3])
    with pytest.raises(FileFormatError, match=r"'s' holds several tables side by side \(column C "):
        one_table(rows)
    with pytest.raises(FileFormatError, match=r"column AA between them is empty"):
        one_table(rows, first=24)
    # At an end there is nothing between.
    assert one_table(sheet(["", "a", "b"], ["", 1, 2])) == ([1, 2], [])
    assert one_table(sheet(["a", "b", ""], [1, 2, ""])) == ([1, 2], [])


DATA = (["a", "b"], [1, 2.5], [2, 3.5])


def test_names_that_come_again():
    rows = sheet(*DATA, ["a", "b"], [3, 4], ["a", "b"], [5, 6])
    assert one_table(rows) == ([1, 2, 3, 5, 7], [
        "the names of the columns come again in 2 rows (the first is row 4 of the sheet), left "
        "out there"
    ])  # fmt: skip
    left, said = one_table(sheet(*DATA, ["A", "b "]))
    assert left == [1, 2, 3] and "in 1 row (the first is row 4 of the sheet)" in said[0]
    assert one_table(sheet(["a", "b"], ["a", "b"], [1, 2])) == ([1, 2, 3], [])
    assert one_table(sheet(["T", ""], *DATA, ["a", "b"], [3, 4]))[0] == [1, 2, 3, 4, 6]


def test_a_second_table_below():
    other = (["c", "d"], [7, 8])
    with pytest.raises(FileFormatError, match=r"other \(the second begins at row 5\)"):
        one_table(sheet(*DATA, *other, gaps=[3]))
    # Under a title of its own.
    with pytest.raises(FileFormatError, match="begins at row 5"):
        one_table(sheet(*DATA, ["Second", ""], *other, gaps=[3]))
    with pytest.raises(FileFormatError, match="begins at row 14"):
        one_table(sheet(*DATA, *other, start=10, gaps=[3]))
    # Without a gap it is said.
    assert one_table(sheet(*DATA, *other)) == ([1, 2, 3, 4, 5], [
        "row 4 of the sheet has names where numbers stand above; if another table begins there, "
        "leave it in a sheet of its own"
    ])  # fmt: skip
    fine = (
        [*DATA, ["x", ""], [7, 8]],  # a remark
        [*DATA, ["NA", "-"], [7, 8]],  # missing
        [*DATA, ["c", "d"], ["e", "f"]],  # no numbers below
        [["a", "b"], [1, 2], ["c", "d"], [7, 8]],  # one number above is few
        [["a", "b"], ["x", 2], ["y", 3], ["c", "d"], ["z", 8]],  # one column of numbers
        [*DATA, ["c", "c"], [7, 8]],  # no names, as they are the same
    )
    for rows in fine:
        assert one_table(sheet(*rows))[1] == []
    for rows in (fine[0], fine[1], fine[2], fine[3]):
        assert one_table(sheet(*rows, gaps=[len(rows) - 2]))[1] == []
    with pytest.raises(FileFormatError, match="one below the other"):
        one_table(sheet(*fine[4], gaps=[3]))


def test_gaps_between_rows():
    rows = sheet(["a"], ["b"], ["c"], gaps=[2])
    assert [workbook._gap_above(rows, place) for place in range(3)] == [False, False, True]


def test_names_in_two_rows():
    rows = sheet(["x", "", "y"], ["a", "b", "c"], [1, 2, 3], [4, 5, 6])
    merged = [((0, 0), (0, 1))]
    assert workbook._names_above(rows, 0, merged) == 0 == workbook._names_above(rows, 1, merged)
    assert workbook._names_above(rows, 2, merged) is None
    assert workbook._names_above(rows, 0, []) is None
    assert workbook._names_above(rows, 0, [((1, 0), (1, 1))]) is None  # over another row
    assert workbook._names_above(rows, 0, [((0, 0), (1, 0))]) is None  # over two rows
    assert workbook._names_above(rows[:2], 0, merged) is None
    title = sheet(["x", "", ""], ["a", "b", "c"], [1, 2, 3], [4, 5, 6])
    assert workbook._names_above(title, 0, merged) is None
    apart = sheet(["x", "", "y"], ["a", "b", "c"], [1, 2, 3], [4, 5, 6], gaps=[1])
    assert workbook._names_above(apart, 0, merged) is None
    numbers = sheet(["x", "", "y"], ["a", 2, "c"], [1, 2, 3], [4, 5, 6])
    assert workbook._names_above(numbers, 0, merged) is None
    gap = sheet(["x", "", "y"], ["a", "", "c"], [1, 2, 3], [4, 5, 6])
    assert workbook._names_above(gap, 0, merged) == 0


def test_merged_cells_have_their_text_in_all_columns():
    row = ["x", "", "", "y", ""]
    spans = [((4, 2), (4, 4)), ((4, 5), (4, 9)), ((3, 2), (3, 6))]
    assert workbook._spread(row, 5, 2, spans) == ["x", "x", "x", "y", "y"]
    assert workbook._spread(row, 5, 0, [((4, 3), (4, 4))]) == ["x", "", "", "y", "y"]
    assert workbook._spread(row, 5, 2, [((4, 1), (4, 4)), ((4, 7), (4, 8))]) == row


@pytest.mark.parametrize(
    ("cells", "known"),
    [
        ([["a", "b"], [1, 2]], True), ([["a", "b"]], False), ([["a"], ["b"]], False),
        ([["a", ""], ["", "b"]], True), ([["", ""], ["a", "b"], ["", ""]], False),
        ([["a", ""], ["b", ""]], False),
    ],
)  # fmt: skip
def test_sheets_with_a_table(cells, known):
    assert workbook._is_table(cells) is known


@pytest.mark.parametrize(
    ("column", "known"), [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (702, "AAA")]
)
def test_columns_as_spreadsheets_call_them(column, known):
    assert workbook._letters(column) == known


# -- columns --------------------------------------------------------------------------------------


def test_counts_of_two_halves():
    a = ColumnCounts(1, 0, 2.0, 3.0, False, b"a")
    b = ColumnCounts(2, 0, -1.0, 2.5, False, b"b")
    both = a.joined(b)
    assert both == ColumnCounts(3, 0, -1.0, 3.0, False, blake2b(b"ab", digest_size=16).digest())
    assert len(both.digest) == 16 and b.joined(a).digest != both.digest
    flat = ColumnCounts(0, 0, 2.0, 2.0, True, b"c")
    nothing = ColumnCounts(5, 0, np.nan, np.nan, True, b"d")
    assert flat.joined(flat).is_constant and flat.joined(nothing).is_constant
    assert nothing.joined(nothing).is_constant and not flat.joined(a).is_constant
    assert flat.joined(nothing).low == 2.0 == nothing.joined(flat).high
    endless = ColumnCounts(0, 2, 2.0, 2.0, False, b"e")
    assert endless.joined(endless).n_infinite == 4 and not flat.joined(endless).is_constant


def near(X, copies=(), names="abcdefgh"):
    return profile.near_copies_in(names[: X.shape[1]], np.array(X), copies)


def test_near_copies():
    rng = np.random.default_rng(0)
    n = 400
    a, b, noise = rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    exact = profile.NEAR_COPY
    # In other units, with other signs, and just so near.
    assert near(np.column_stack([a, b, 3 - 1e6 * a])) == ["1 near copy: 'c' follows 'a'"]
    assert near(np.column_stack([b, a, 2 * a + 5, -a])) == [
        "2 near copies: 'c' follows 'b', 'd' follows 'b'"
    ]
    a -= a.mean()
    noise -= noise.mean()
    noise -= a * (a @ noise) / (a @ a)
    noise *= np.linalg.norm(a) / np.linalg.norm(noise)
    for r, known in ((exact + (1 - exact) / 10, 1), (exact - (1 - exact) / 10, 0)):
        other = r * a + np.sqrt(1 - r**2) * noise
        assert len(near(np.column_stack([a, b, other]))) == known
    # Not of columns that are said to be copies, or constant; nor in few rows.
    assert near(np.column_stack([a, a]), copies=["b"]) == []
    assert near(np.column_stack([a, np.zeros(n)])) == []
    assert near(np.column_stack([np.ones(n), a, 2 * a])) == ["1 near copy: 'c' follows 'b'"]
    few = profile.FEWEST_ROWS
    assert near(np.column_stack([a, a])[: few - 1]) == []
    assert len(near(np.column_stack([a, a])[:few])) == 1
    assert near(np.full((n, 2), np.nan)) == []


def test_near_copies_have_their_gaps_in_the_same_rows():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=300) + 50, rng.normal(size=300)
    a[:100] = np.nan
    assert near(np.column_stack([a, b, -a])) == ["1 near copy: 'c' follows 'a'"]
    endless = np.where(np.isnan(a), np.inf, a)
    assert near(np.column_stack([a, b, endless])) == ["1 near copy: 'c' follows 'a'"]
    full = np.where(np.isnan(a), 47.0, a)
    assert near(np.column_stack([a, b, full])) == []
    # A column with too few values says nothing.
    few = np.where(np.arange(300) < profile.FEWEST_ROWS - 1, b, np.nan)
    assert near(np.column_stack([few, few])) == []


def test_many_near_copies_are_counted():
    a = np.random.default_rng(0).normal(size=100)
    (said,) = near(np.column_stack([a] * 8))
    assert said.startswith("7 near copies: 'b' follows 'a', ") and said.endswith(" and 2 more")
    assert said.count("follows") == 5
    (said,) = near(np.column_stack([a] * 6))
    assert said.startswith("5 near copies: ") and said.count("follows") == 5
    assert "more" not in said


def test_every_how_many_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr(profile, "BLOCK_CELLS", 100)
    for shape, known in (((10, 10), 1), ((20, 10), 2), ((1, 1), 1), ((299, 1), 2), ((300, 1), 3)):
        assert profile.step_for(shape) == known
