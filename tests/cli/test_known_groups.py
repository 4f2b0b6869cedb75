"""``--truth`` and ``--given``: how the lines of a file are joined to the rows of a table."""

import numpy as np
import pytest

from subscape.cli.explore import read_known, read_table


@pytest.fixture
def join(tmp_path):
    """Labels of a file beside a table with these ids and the numbers 0, 1, …"""

    def call(ids, content, id_column="id"):
        lines = [f"{name},{i}" for i, name in enumerate(ids)]
        (tmp_path / "t.csv").write_text("\n".join(["id,x", *lines]) + "\n")
        (tmp_path / "known.csv").write_text("\n".join(content) + "\n")
        table = read_table(str(tmp_path / "t.csv"), id_column=id_column)
        (labels,) = read_known(str(tmp_path / "known.csv"), table, "truth").values()
        return labels.tolist()

    return call


IDS = [f"p{i}" for i in range(12)]


def test_names_that_are_all_others_are_refused(join):
    with pytest.raises(ValueError, match=r"a line for none of the table's 12 rows.*'p0'.*'q11'"):
        join(IDS, ["id,group", *(f"q{i},{'ab'[i % 2]}" for i in range(11, -1, -1))])
    with pytest.raises(ValueError, match=r"no line for 1 rows of the table: 'p11'"):
        join(IDS, ["id,group", *(f"p{i},{'ab'[i % 2]}" for i in range(11)), "q,a"])


def test_names_are_the_same_in_any_spelling_of_a_number(join):
    ids = [f"{i:03}" for i in range(12)]
    reverse = [f"{i},{'ab'[i > 3]}" for i in range(11, -1, -1)]
    expected = [0] * 4 + [1] * 8
    assert join(ids, ["id,group", *reverse]) == expected
    assert join(ids, ["key,group", *reverse]) == expected
    literal = [f"{i:03},{'ab'[i > 3]}" for i in range(11, -1, -1)]
    assert join(ids, ["id,group", *literal]) == expected
    assert join(ids, ["id,group", *literal], id_column=None) == expected


def test_the_column_of_names_is_known_from_the_table(join):
    # Numbers with gaps: nothing in this file alone says that they are names.
    ids = [7 * i for i in range(12)]
    lines = [f"{7 * i},{'ab'[i > 3]}" for i in range(11, -1, -1)]
    assert join(ids, ["id,group", *lines]) == [0] * 4 + [1] * 8
    with pytest.raises(ValueError, match=r"names rows twice in 'id'"):
        join(ids, ["id,group", *lines[:-1], lines[0]])


def test_lines_without_names_are_joined_by_order(join):
    labels = ["a"] * 5 + ["b"] * 7
    assert join(IDS, ["group", *labels]) == [0] * 5 + [1] * 7
    with pytest.raises(ValueError, match="11 lines, the table 12 rows"):
        join(IDS, ["group", *labels[1:]])


def test_negative_numbers_are_no_groups(join):
    found = join(IDS, ["group", *map(str, [-2, -1, *[3] * 5, *[8] * 5])])
    assert found[:2] == [-1, -1]
    assert np.unique(found).tolist()[0] == -1 and len(np.unique(found)) == 3


def test_zero_is_a_group(join):
    found = join(IDS, ["group", *map(str, [-1, *[0] * 5, *[1] * 6])])
    assert found[0] == -1 and len(set(found[1:6])) == len(set(found[6:])) == 1
    assert found[1] >= 0 and found[6] >= 0 and found[1] != found[6]
    # A share below zero is a value like any other.
    found = join(IDS, ["group", *map(str, [*[-0.5] * 6, *[0.5] * 6])])
    assert min(found) >= 0 and len(set(found)) == 2


def test_the_labels_of_a_study_without_what_stands_beside_them(join):
    lines = [f"p{i},{1 + (i > 3)},{'young' if i > 3 else ''},{i / 12:.4f}" for i in range(12)]
    head = "row,view_1,view_1_name,view_1_confidence"
    assert join(IDS, [head, *lines]) == [0] * 4 + [1] * 8


def test_a_view_of_a_study_is_compared_by_its_name(run, tmp_path):
    lines = [f"{i + 1},{1 + (i > 3)},{i / 12:.4f}" for i in range(12)]
    (tmp_path / "labels.csv").write_text("\n".join(["row,view_1,view_1_confidence", *lines]) + "\n")
    (tmp_path / "truth.csv").write_text("\n".join(["ab"[i > 3] for i in range(12)]) + "\n")
    for name in ("labels.csv", "labels.csv#view_1", "labels.csv#1"):
        told = run("compare", name, "truth.csv", "--measure", "ari")
        assert told.exit_code == 0 and "1.0000" in told.stdout, told.output
