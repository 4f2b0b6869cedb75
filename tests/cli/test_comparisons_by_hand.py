"""How two clusterings are compared and files are named on the command line, by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import click
import numpy as np
import pytest

from subscape import SubspaceClustering
from subscape.cli import compare, inputs, matrix
from subscape.cli.compare import Match, Score, match, of_rows, score
from subscape.cli.inputs import ALIASES, HABITS, Shape, measure_name, suggestion
from subscape.files.formats import FileSource
from subscape.measures.chance import p_value
from subscape.measures.registry import MEASURES

A = SubspaceClustering.from_labels([0, 0, 0, 1, 1, -1], masks=[[1, 1, 0], [0, 1, 1]])
B = SubspaceClustering.from_labels([0, 0, 1, 1, 1, -1], masks=[[1, 1, 0], [0, 0, 1]])
ROWS = SubspaceClustering.from_labels([0, 0, 1, 1, 1, 1], n_features=3)


def source(clustering, name="a.csv", names=None):
    given = names is not None
    return FileSource(name, clustering, tuple(names or ()), given)


# -- scores ---------------------------------------------------------------------------------------


def test_scores_in_the_order_asked_for_each_once():
    scores, left_out = score([A, B], ("rnia", "ce", "rnia"), {}, None)
    assert [each.measure.name for each in scores] == ["rnia", "clustering_error"]
    assert left_out == {} and all(each.p is None for each in scores)
    # 6 + 4 and 4 + 3 cells, 4 shared by the first pair, 2 by the second.
    union = 4 + (2 + 2) + 0 + (4 - 2) + (3 - 2)
    assert scores[1].value == pytest.approx(1 - 6 / (10 + 7 - 6))
    assert union == 10 + 7 - 6


def test_usual_measures():
    overlapping = SubspaceClustering.from_clusters([([0, 1], [0]), ([1, 2], [0])], (3, 1))
    one = SubspaceClustering.from_labels([0], n_features=3)
    assert compare._usual([ROWS, ROWS]) == ("ari", "ce", "nmi")
    assert compare._usual([ROWS, A]) == ("ari", "ce", "rnia")
    for pair in ([overlapping, A], [A, overlapping], [one, one]):
        assert compare._usual(pair) == ("ce", "rnia")


def test_all_measures_say_why_some_are_left_out():
    assert score([A, B], ("all",), {}, None)[1] == {}
    overlapping = SubspaceClustering.from_clusters([([0, 1, 2], [0]), ([2, 3], [0, 1])], (6, 3))
    scores, left_out = score([A, overlapping], ("all",), {}, None)
    assert {each.measure.name for each in scores} | set(left_out) >= set(MEASURES)
    assert "variation_of_information" in left_out and "rand_distance" in left_out
    with pytest.raises(TypeError):
        score([A, overlapping], ("vi",), {}, None)


def test_options_that_a_measure_does_not_know():
    with pytest.raises(ValueError, match="adjusted_rand_score knows no --mass"):
        score([A, B], ("ari",), {"mass": "unit"}, None)
    (usual, *_), _ = score([A, B], (), {"mass": "unit"}, None)
    assert usual.measure.name == "adjusted_rand_score"
    measure = MEASURES["clustering_error"]
    assert compare._usable(measure, {"mass": "unit", "other": 1}, strict=False) == {"mass": "unit"}


def test_p_values_of_each_score():
    chance = {"null": "random labels", "n_samples": 19, "random_state": 0}
    scores, _ = score([A, B], ("ce", "ari"), {}, chance)
    assert all(0 < each.p.value <= 1 for each in scores)


def test_clusterings_of_other_features_are_compared_by_rows():
    other = SubspaceClustering.from_labels([0, 1, 1, 0, 0, 0], n_features=5)
    named = A.with_names(feature_names="abc")
    assert of_rows([A, B])[0] is A and of_rows([A, named])[0] is A
    same = [named, B.with_names(feature_names="abc")]
    assert of_rows(same) is same
    for pair in ([A, other], [named, B.with_names(feature_names="abd")]):
        found = of_rows(pair)
        assert [each.n_features for each in found] == [1, 1]
        assert [each.labels().tolist() for each in found] == [
            each.labels().tolist() for each in pair
        ]
    assert compare.is_full(ROWS) and not compare.is_full(A)


def test_clusters_that_correspond():
    found = match([A, B], {})
    # 4 of the 6 and of the 4 cells; 2 of 4 and of 3.
    assert found == [Match(0, 0, 4 / 6, 1.0), Match(1, 1, 2 / 4, 2 / 3)]
    equal = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=1)
    turned = SubspaceClustering.from_labels([1, 1, 0, 0], n_features=1)
    assert match([equal, turned], {}) == [Match(0, 1, 1.0, 1.0), Match(1, 0, 1.0, 1.0)]
    weighted = SubspaceClustering.from_labels([0] * 6, weights=[[0.5, 0.25, 0.25]])
    assert match([A, weighted], {}) is None and match([A, weighted], {"mass": "unit"}) is not None


# -- shown ----------------------------------------------------------------------------------------


def test_ranges_and_directions():
    ce, ari = MEASURES["clustering_error"], MEASURES["adjusted_rand_score"]
    assert (compare.range_of(ce), compare.direction_of(ce)) == ("0 to 1", "0 = identical")
    assert compare.direction_of(ari) == "1 = best"
    endless = replace(ce, high=np.inf, properties=frozenset())
    assert compare.range_of(endless) == "0 and up"
    assert compare.direction_of(endless) == "0 = no difference"


def test_the_table_of_scores(monkeypatch):
    ce = MEASURES["clustering_error"]
    monkeypatch.setenv("COLUMNS", "400")
    head, line = compare._scored([Score(ce, 0.123456, None)])
    assert head.split()[:4] == ["measure", "value", "range", "direction"]
    assert line.split()[:5] == ["clustering_error", "0.1235", "0", "to", "1"]
    assert (
        line.endswith(ce.sentence)
        and compare._scored([Score(ce, 12345.678, None)])[1].split()[1] == "12345.7"
    )
    monkeypatch.setenv("COLUMNS", "60")
    assert not compare._scored([Score(ce, 0.1, None)])[1].endswith(ce.sentence)
    p = p_value("clustering_error", A, B, null="random labels", n_samples=19, random_state=0)
    head, line = compare._scored([Score(ce, 0.1, p)])
    assert head.split()[2] == "p-value" and line.split()[2] == f"{p.value:.3g}"


def test_reasons_are_told_once():
    told = compare._left_out({
        "a": "a scores no weights; use b", "c": "c scores no weights: really", "d": "other",
    })  # fmt: skip
    assert told == ["Left out: a, c (scores no weights)", "Left out: d (other)"]


def test_the_comparison_in_words():
    sources = [source(A, "first.csv", "xy"), source(B, "second.csv")]
    scores, _ = score([A, B], ("ce",), {}, None)
    lines = compare.as_text(sources, [A, B], scores, {}, match([A, B], {}))
    assert lines[0].startswith("A  first.csv") and lines[1].startswith("B  second.csv")
    at = lines.index("Clusters that correspond, and the share of each that the other has too:")
    assert lines[at + 1].split() == ["A", "rows", "dims", "B", "rows", "dims", "of", "A", "of", "B"]
    assert lines[at + 2].split() == ["x", "3", "2", "1", "2", "2", "67%", "100%"]
    assert lines[at + 3].split() == ["y", "2", "2", "2", "3", "1", "50%", "67%"]
    assert len(lines) == at + 4
    told = compare.as_text([source(ROWS), source(A)], [ROWS, A], scores, {}, None)
    assert told[-1] == "A has all features in every cluster; --rows-only compares rows alone."
    told = compare.as_text([source(A), source(ROWS)], [A, ROWS], scores, {}, None)
    assert told[-1].startswith("B has all")
    plain = compare.as_text([source(ROWS)] * 2, [ROWS, ROWS], scores, {}, match([ROWS, ROWS], {}))
    assert "dims" not in "".join(plain) and not any("rows alone" in line for line in plain)


def test_clusters_without_a_partner_and_many():
    many = SubspaceClustering.from_labels(np.arange(30), n_features=1)
    few = SubspaceClustering.from_labels(np.zeros(30, int), n_features=1)
    lines = compare._matched([source(many), source(few)], [many, few], match([many, few], {}))
    assert lines[-1].startswith("Only in A: ") and lines[-1].endswith(" and 17 more")
    assert lines[-1].count(",") == 11
    lines = compare._matched([source(many), source(many)], [many, many], match([many, many], {}))
    assert lines[-1] == "… and 10 more pairs (--json has all)" and len(lines) == 3 + 20 + 1


def test_the_comparison_for_machines():
    scores, _ = score([A, B], ("ce",), {}, None)
    told = compare.as_json(
        [source(A, "a", "xy"), source(B, "b")], [A, B], scores, {"z": "no"}, match([A, B], {})
    )
    assert told["a"] == {"name": "a", "kind": "axis", "n_rows": 6, "n_features": 3,
                         "clusters": ["x", "y"]}  # fmt: skip
    assert told["b"]["clusters"] == ["0", "1"] and told["left_out"] == {"z": "no"}
    (measure,) = told["measures"]
    assert (measure["low"], measure["high"], measure["is_distance"]) == (0, 1, True)
    assert measure["value"] == scores[0].value and "p_value" not in measure
    assert told["matches"][0] == {"a": "x", "b": "0", "of_a": 4 / 6, "of_b": 1.0}
    assert compare.as_json([source(A), source(B)], [A, B], scores, {}, None)["matches"] is None


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "known"),
    [("1500,20", (1500, 20)), ("3x4", (3, 4)), ("3X4", (3, 4)), (" 3 , 4 ", (3, 4))],
)
def test_shapes(text, known):
    assert Shape().convert(text, None, None) == known
    assert Shape().convert(known, None, None) == known


@pytest.mark.parametrize("text", ["3", "3,4,5", "0,4", "3,0", "a,4", "-3,4", "1.5,2"])
def test_what_is_no_shape(text):
    with pytest.raises(click.BadParameter, match="is not rows,features, such as 1500,20"):
        Shape().convert(text, None, None)


def test_files_with_several_clusterings(tmp_path):
    several = [source(A, "f#one"), source(B, "f#two"), source(ROWS, "f#3")]
    assert inputs._chosen(several, "two", "f") is several[1]
    assert inputs._chosen(several, "1", "f") is several[0]
    assert inputs._chosen(several, "3", "f") is several[2]
    for wanted in ("0", "4", "four"):
        with pytest.raises(
            ValueError, match=f"f holds no clustering '{wanted}'; it has one, two, 3"
        ):
            inputs._chosen(several, wanted, "f")
    headed = A.with_names(provenance={"column": "kind"})
    assert inputs._chosen([source(headed, "f")], "kind", "f").clustering is headed
    with pytest.raises(ValueError, match=r"f holds 3 clusterings \(one, two, 3\).*such as f#one"):
        inputs.the_only(several, "f")
    assert inputs.the_only(several[:1], "f") is several[0]
    path = tmp_path / "odd#name.csv"
    path.write_text("x")
    assert inputs._split(str(path)) == (str(path), None)
    assert inputs._split("a#b#c") == ("a#b", "c") and inputs._split("a.csv") == ("a.csv", None)


def test_clusterings_of_noise_alone(capsys):
    noise = source(SubspaceClustering.from_labels([-1] * 4, n_features=2), "f#none")
    with pytest.raises(ValueError, match="f holds no clusters: all 4 rows are noise"):
        inputs.the_only([noise], "f")
    with pytest.raises(ValueError, match="all 4 rows are noise"):
        inputs.with_clusters([noise, noise], "f")
    whole = [source(A, "f#a"), source(B, "f#b")]
    assert inputs.with_clusters([whole[0], noise, whole[1]], "f") == whole
    assert capsys.readouterr().err == "note: left out, every row is noise: none\n"
    assert inputs.with_clusters(whole, "f") == whole and capsys.readouterr().err == ""
    assert inputs._listed(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert inputs._listed(list("abcdefghi")) == "a, b, c, d, e, f, g, h, …"


def test_rows_and_columns_are_brought_into_one_order():
    named = A.with_names(feature_names="abc", row_names="uvwxyz")
    assert inputs._names(named, "rows") == tuple("uvwxyz")
    assert inputs._names(named, "columns") == tuple("abc")
    turned = inputs._in_order(named, tuple("cab"), "columns")
    assert turned.feature_names == tuple("cab")
    assert turned.subspaces.masks.tolist() == named.subspaces.masks[:, [2, 0, 1]].tolist()
    rows = inputs._in_order(named, tuple("zyxwvu"), "rows")
    assert rows.labels().tolist() == named.labels()[::-1].tolist()
    for order in (None, tuple("abc"), tuple("abd")):
        assert inputs._in_order(named, order, "columns") is named
    assert inputs._in_order(A, tuple("abc"), "columns") is A


@pytest.mark.parametrize(("short", "name"), ALIASES.items())
def test_measures_by_their_short_names(short, name):
    assert measure_name(short) == measure_name(f" {short.upper()} ") == name
    assert measure_name(name.replace("_", "-")) == name


def test_a_measure_that_nobody_knows():
    with pytest.raises(ValueError, match=r"unknown measure 'rnai'\. Did you mean 'rnia'\?"):
        measure_name("rnai")
    assert suggestion("k", ["n_clusters"]) == " Did you mean 'n_clusters'?"
    assert suggestion("k", ["other"]) == "" and HABITS["seed"] == "random_state"
    assert suggestion("N-Clusters", ["n_clusters", "x"]) == " Did you mean 'n_clusters'?"


# -- matrices -------------------------------------------------------------------------------------

DISTANCES = np.array([[0, 0.25, 0.5], [0.25, 0, 0.125], [0.5, 0.125, 0]])


def test_a_matrix_that_fits_is_shown_whole(monkeypatch):
    names = ["a", "b" * 50, "c"]
    lines = matrix._as_text(DISTANCES, names, "rnia", 1)
    assert lines[0] == "rnia (0 = identical) among 3 clusterings" and lines[1] == ""
    assert lines[2].split() == ["1", "2", "3"]
    assert lines[3].split() == ["1", "a", "0.000", "0.250", "0.500"]
    assert lines[-1] == f"Median: {'b' * 50} (mean distance 0.188 to the others)"
    # Names of 32 letters with their number, and seven for each of the others: 53.
    wide = np.zeros((8, 8))
    names = ["x" * 40] * 7 + ["x" * 22]
    for columns, is_whole in ((88, True), (87, False)):
        size = SimpleNamespace(columns=columns)
        monkeypatch.setattr(matrix.shutil, "get_terminal_size", lambda size=size: size)
        lines = matrix._as_text(wide, names, "rnia", 0)
        assert any("-o distances.csv" in line for line in lines) is not is_whole
    monkeypatch.setattr(matrix.shutil, "get_terminal_size", lambda: SimpleNamespace(columns=20))
    assert not any("-o distances.csv" in line for line in matrix._as_text(
        wide[:6, :6], names[:6], "rnia", 0))  # fmt: skip


def test_what_is_nearest_to_each():
    assert matrix._nearest(DISTANCES, ["a", "b", "c"]) == [
        ("a", "0.375", "b", "0.250"), ("b", "0.188", "c", "0.125"), ("c", "0.312", "b", "0.125"),
    ]  # fmt: skip


def test_distances_as_csv():
    text = matrix._csv(DISTANCES, ["a", "=b", "c"])
    head, first, second, _ = text.splitlines()
    assert head.startswith(",a,") and head.endswith(",c") and not head.startswith(",a,=")
    assert first == "a,0.0,0.25,0.5" and second.endswith("=b,0.25,0.0,0.125")


def test_files_that_are_in_the_way(tmp_path):
    path = tmp_path / "d.csv"
    matrix._check_target(path, False)
    path.write_text("x")
    with pytest.raises(FileExistsError, match="exists; --force replaces it"):
        matrix._check_target(path, False)
    matrix._check_target(path, True)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        matrix._check_target(tmp_path / "no" / "d.csv", True)
    matrix._write(path, b"new", True)
    assert path.read_bytes() == b"new"


def test_clusters_over_all_features_have_no_column_of_dims():
    one = SubspaceClustering.from_labels([0, 0, 0, 1, 1], n_features=2)
    other = SubspaceClustering.from_labels([0, 0, 1, 1, 1], n_features=2)
    lines = compare._matched([source(one), source(other)], [one, other], match([one, other], {}))
    head, first, second = (line.split() for line in lines[2:5])
    assert head == ["A", "rows", "B", "rows", "of", "A", "of", "B"]
    assert sorted([first, second]) == [
        ["1", "3", "1", "2", "67%", "100%"], ["2", "2", "2", "3", "100%", "67%"],
    ]  # fmt: skip
