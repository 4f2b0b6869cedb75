"""What a study says of itself and writes, letter by letter."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.exploration import study as study_module
from subscape.exploration.explain import FeatureFact
from subscape.exploration.levels import Merge
from subscape.exploration.study import (
    _number,
    _plain,
    _read_fact,
    _read_interval,
    _read_merge,
    _read_near_miss,
    _read_number,
    _short,
    all_views,
    as_table,
    clusters_csv,
    column_of,
    counted_from_1,
    load_study,
    save_study,
    write_label_parts,
    write_labels,
)
from subscape.tables import Table
from subscape.testing.studies import planted_study


def fact(name, information=1.0, is_own=True, **fields):
    return FeatureFact(name, information, is_own, **fields)


@pytest.fixture(scope="module")
def planted():
    return planted_study(8, n_clusters=(2, 2), n_results=3)


@pytest.fixture
def tiny(planted):
    """Eight rows; a view of four and two rows, with two rows in none; and one of five and three."""
    first, second = planted.views
    one = SubspaceClustering.from_labels(np.array([0, 0, 0, 0, 1, 1, -1, -1]), n_features=3)
    other = SubspaceClustering.from_labels(np.array([0, 1, 0, 1, 0, 1, 0, 0]), n_features=3)
    arrays = {
        "cluster_stability": np.array([0.75, 0.5]), "cluster_p_values": np.array([0.01, 0.02]),
    }  # fmt: skip
    first = replace(
        first, clustering=one, number=1, p_value=0.004, stability=0.8125, names=(), n_tables=20,
        facts=(
            (fact("age", 2.0, low=1.0, high=2.5, effect=-0.123456789), fact("rent", 0.5, False)),
            (fact("=kind", 1 / 3, level="+a", share=0.5, elsewhere=0.25, imputed=0.125,
                  q_value=0.04, effect_low=-1.0, effect_high=np.nan),),
        ),
        row_confidence=np.arange(8) / 7, descriptions=("cluster 1: 4 rows; a", "cluster 2: 2 rows"),
        finders=("LAC", "EM", "Ward", "P3C", "DOC"), merges=(), **arrays,
    )  # fmt: skip
    second = replace(
        second, clustering=other, number=2, p_value=0.0101, stability=0.5, facts=((), ()),
        row_confidence=np.ones(8), descriptions=("cluster 1: 5 rows", "cluster 2: 3 rows"),
        merges=(), **arrays,
    )  # fmt: skip
    return replace(
        planted, views=(first, second), shape=(8, 3), row_names=None, is_provisional=False,
        searched_rows=np.array([1, 4, 6]), asked=None, part_lengths=(), settings={},
    )  # fmt: skip


def changed(study, **fields):
    return replace(study, views=(replace(study.views[0], **fields), *study.views[1:]))


# -- views ----------------------------------------------------------------------------------------


def test_which_clusters_are_claimed(tiny):
    view = replace(
        tiny.views[0],
        cluster_p_values=np.array([0.01, 0.0101, 0.001, np.nan, 0.5]),
        cluster_stability=np.array([0.5, 0.9, 0.4999, np.nan, 0.1]),
    )
    assert view.claimed_clusters.tolist() == [True, False, False, True, False]


def test_when_a_tail_was_fitted(tiny):
    view = replace(tiny.views[0], n_tables=19, n_ideas=2)
    for p, known in ((0.1, False), (0.1 - 1e-13, False), (0.1 - 1e-9, True), (np.nan, False)):
        assert replace(view, p_value=p).is_fitted == known
    assert not replace(view, p_value=1e-9, n_tables=0).is_fitted
    assert replace(view, p_value=0.4, n_tables=1, n_ideas=1).is_fitted


def test_names_levels_and_gaps_of_a_view(tiny):
    view = tiny.views[0]
    assert (view.called(0), view.called(1)) == ("1", "2")
    named = replace(view, names=("young", ""))
    assert (named.called(0), named.called(1)) == ("young", "2")
    merges = (Merge(0, 1, 0.5, 3, 0.1, 0.2), Merge(0, 1, 0.5, 2, 0.1, 0.2))
    assert replace(view, merges=merges).levels == (2, 3, 2) and view.levels == (2,)
    assert not replace(view, missing_redundancy=0.5).is_explained_by_missing
    assert replace(view, missing_redundancy=0.501).is_explained_by_missing


def test_features_that_tell_most_by_rows_and_nats(tiny):
    view = replace(
        tiny.views[0],
        facts=(
            (fact("a", 1.0), fact("b", 2.0), fact("c", 3.0, False), fact("d", 0.1), fact("e", 0.2)),
            (fact("a", 3.0), fact("f", 0.25), fact("g", 4.0, q_value=0.5)),
        ),
    )
    # Four and two rows: a 10, b 8, e .8, f .5, d .4.
    assert view.telling_features() == ["a", "b", "e", "f"]
    assert view.telling_features(5) == ["a", "b", "e", "f", "d"]
    unsure = tuple(tuple(replace(one, q_value=0.5) for one in listed) for listed in view.facts)
    assert replace(view, facts=unsure).telling_features() == ["a", "b", "g", "e"]


def test_a_view_in_one_line(tiny):
    assert repr(tiny.views[0]) == (
        f"View 1: 2 clusters, {tiny.views[0].chance}, stability 0.81, found by LAC, EM, Ward, P3C"
    )
    page = tiny.views[0]._repr_html_()
    for text in ("View", "1: 2 clusters", "0.75", "0.01"):
        assert text in page
    whole = tiny._repr_html_()
    assert "LAC, EM, Ward, P3C" in whole and "DOC" not in whole and "age" in whole
    assert repr(tiny).splitlines() == [tiny.verdict, *(f"  {view!r}" for view in tiny.views)]


# -- the study ------------------------------------------------------------------------------------


def test_views_by_number(tiny):
    assert [view.number for view in tiny] == [1, 2] and len(tiny) == 2
    assert tiny[1] is tiny.views[0] and tiny[2] is tiny.views[1]
    for number in (0, 3, -1):
        with pytest.raises(SubscapeError, match=f"numbered 1 to 2, there is no {number}"):
            tiny[number]
    assert tiny.significant_views == tiny.views[:1]
    assert changed(tiny, p_value=0.01).significant_views[0].p_value == 0.01
    assert changed(tiny, p_value=np.nan).significant_views == ()
    assert tiny.label_matrix().tolist() == [
        [0, 0], [0, 1], [0, 0], [0, 1], [1, 0], [1, 1], [-1, 0], [-1, 0],
    ]  # fmt: skip
    nothing = replace(tiny, views=())
    assert nothing.label_matrix().shape == (8, 0) and nothing.label_matrix().dtype == np.int64


def test_records_of_clusters(tiny):
    named = changed(tiny, names=("young", "old"))
    first, second, third, fourth = named.to_records()
    assert first == {
        "view": 1, "cluster": 1, "name": "young", "rows": 4, "share": 0.5, "stability": 0.75,
        "p_value": 0.01, "p_value_is_fitted": True, "p_value_low": None, "p_value_high": None,
        "claimed": True, "view_stability": 0.8125,
        "view_p_value": 0.004, "view_p_value_is_fitted": True,
        "features": "age", "description": "cluster 1: 4 rows; a",
    }  # fmt: skip
    assert (second["cluster"], second["share"], second["claimed"]) == (2, 0.25, False)
    assert (third["view"], third["claimed"], third["name"], third["features"]) == (2, False, "", "")
    assert fourth["cluster"] == 2 and fourth["rows"] == 3
    many = changed(tiny, facts=(tuple(fact(f"f{j}") for j in range(12)), ()))
    assert many.to_records()[0]["features"] == ", ".join(f"f{j}" for j in range(10))
    frame = named.to_frame()
    assert frame.to_dict("records") == named.to_records()


def test_names_of_clusters_are_given_and_taken_away(tiny):
    named = tiny.renamed({(1, 2): "  the\nold ", (1, 1): "young"})
    assert named.views[0].names == ("young", "the old") and named.views[1].names == ()
    assert named.views[0].descriptions == (
        "cluster 1 (young): 4 rows; a", "cluster 2 (the old): 2 rows",
    )  # fmt: skip
    again = named.renamed({(1, 1): ""})
    assert again.views[0].names == ("", "the old")
    assert again.views[0].descriptions[0] == "cluster 1: 4 rows; a"
    assert again.renamed({(1, 2): ""}).views[0].names == ()
    with pytest.raises(SubscapeError, match="two clusters of view 1 would be called 'x'"):
        tiny.renamed({(1, 1): "x", (1, 2): "x"})
    with pytest.raises(SubscapeError, match="there is no view 3; the study has 2 views"):
        tiny.renamed({(3, 1): "x"})
    for cluster in (0, 3):
        with pytest.raises(SubscapeError, match=f"has 2 clusters.*there is no {cluster}"):
            tiny.renamed({(1, cluster): "x"})
    asked = replace(tiny, asked=replace(tiny.views[0], number=3))
    assert asked.renamed({(3, 2): "x"}).asked.names == ("", "x")
    assert asked.renamed({(1, 2): "x"}).asked.names == ()


def test_what_is_a_table():
    table = Table.from_array(np.eye(2))
    assert as_table(table) is table
    X = np.arange(4.0).reshape(2, 2)
    for given in (X, X.tolist(), tuple(map(tuple, X))):
        assert as_table(given, ("a", "b")).feature_names == ("a", "b")
    assert as_table(X, ("a",)).feature_names == ("x0", "x1")


def test_new_rows_are_brought_to_the_same_size(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(
        study_module, "read_as_explored", lambda X, schema, normalize: asked.append(normalize)
    )
    as_table("path")
    as_table("path", library_size=3.5)
    assert asked == ["auto", 3.5]
    monkeypatch.setattr(study_module, "as_table", lambda *given: asked.append(given) or "table")
    found = SimpleNamespace(X="X", notes=("strange",))
    monkeypatch.setattr(study_module, "new_rows", lambda *given: asked.append(given) or found)
    study = replace(tiny, settings={"library_size": 4.5})
    with pytest.warns(UserWarning, match="strange"):
        assert study.prepared("path") == "X"
    assert asked[2] == ("path", study.feature_names, study.table_schema, 4.5)
    assert asked[3] == (study.recipes, "table")
    study = changed(study, rule=lambda X: (f"labels of {X}", "sure"))
    with pytest.warns(UserWarning, match="strange"):
        assert study.predict("path") == "labels of X"


# -- files ----------------------------------------------------------------------------------------


def labels_of(study, **options):
    stream = io.BytesIO()
    write_labels(study, stream, **options)
    return stream.getvalue().decode().splitlines()


def test_labels_are_written_without_levels_unless_asked(tiny, tmp_path):
    three = SubspaceClustering.from_labels(np.array([0, 0, 0, 1, 1, 2, -1, -1]), n_features=3)
    view = replace(tiny.views[0], clustering=three, merges=(Merge(0, 2, 0.5, 2),))
    study = replace(tiny, views=(view,))
    told = []
    for options in ({}, {"levels": True}):
        path = study.write_labels(tmp_path / "labels.csv", **options)
        told.append(path.read_text(encoding="utf-8").splitlines())
        assert told[-1] == labels_of(study, **options)
    assert "view_1_at_2" not in told[0][0] and "view_1_at_2" in told[1][0]


def test_labels_row_by_row(tiny, monkeypatch):
    lines = labels_of(tiny)
    assert lines[0] == "row,view_1,view_1_confidence,view_2,view_2_confidence"
    assert lines[1:] == [
        "1,1,0.0,1,1.0", "2,1,0.1429,2,1.0", "3,1,0.2857,1,1.0", "4,1,0.4286,2,1.0",
        "5,2,0.5714,1,1.0", "6,2,0.7143,2,1.0", "7,-1,0.8571,1,1.0", "8,-1,1.0,1,1.0",
    ]  # fmt: skip
    monkeypatch.setattr(study_module, "BLOCK", 3)
    assert labels_of(tiny) == lines
    stopped = replace(tiny, is_provisional=True)
    assert labels_of(stopped) == [lines[i] for i in (0, 2, 5, 7)]
    names = replace(stopped, row_names=("a", "=b", "c", "d", "e", "f", "g", "h"))
    assert [line.split(",")[0] for line in labels_of(names)] == ["row", "'=b", "e", "g"]


def test_labels_with_names_levels_and_what_was_asked(tiny):
    three = SubspaceClustering.from_labels(np.array([0, 0, 0, 1, 1, 2, -1, -1]), n_features=3)
    merges = (Merge(0, 2, 0.5, 2),)
    view = replace(
        tiny.views[0], clustering=three, names=("young", "", "=old"), merges=merges,
    )  # fmt: skip
    study = replace(tiny, views=(view,), asked=replace(tiny.views[1], number=2))
    lines = labels_of(study, levels=True)
    assert lines[0] == (
        "row,view_1,view_1_name,view_1_confidence,view_1_at_2,asked_2,asked_2_confidence"
    )
    at = counted_from_1(view.at(2))
    assert lines[1] == f"1,1,young,0.0,{at[0]},1,1.0"
    assert lines[4] == f"4,2,,0.4286,{at[3]},2,1.0"
    assert lines[6] == f"6,3,'=old,0.7143,{at[5]},2,1.0"
    assert lines[7] == "7,-1,,0.8571,-1,1,1.0"
    assert at[0] == at[5] != at[3]
    assert (
        labels_of(study)[0] == "row,view_1,view_1_name,view_1_confidence,asked_2,asked_2_confidence"
    )
    assert [column_of(study, one) for one in all_views(study)] == ["view_1", "asked_2"]
    assert all_views(tiny) == list(tiny.views)


def test_labels_of_parts(tiny, tmp_path):
    import pyarrow.parquet as pq

    study = replace(changed(tiny, names=("young", "")), part_lengths=(3, 5))
    write_label_parts(study, tmp_path / "deep" / "labels")
    files = sorted((tmp_path / "deep" / "labels").iterdir())
    assert [file.name for file in files] == ["part-00000.parquet", "part-00001.parquet"]
    first, second = (pq.read_table(file).to_pydict() for file in files)
    assert first == {
        "row": [1, 2, 3], "view_1": [1, 1, 1], "view_1_name": ["young"] * 3,
        "view_1_confidence": [0.0, 1 / 7, 2 / 7], "view_2": [1, 2, 1],
        "view_2_confidence": [1.0] * 3,
    }  # fmt: skip
    assert second["row"] == [4, 5, 6, 7, 8] and second["view_1"] == [1, 2, 2, -1, -1]
    assert second["view_1_name"] == ["young", "", "", "", ""]
    save_study(study, tmp_path / "s")
    assert not (tmp_path / "s" / "labels.csv").exists()
    assert len(list((tmp_path / "s" / "labels").iterdir())) == 2
    save_study(tiny, tmp_path / "t")
    assert (tmp_path / "t" / "labels.csv").read_text() == "\n".join([*labels_of(tiny), ""])
    assert not (tmp_path / "t" / "labels").exists()


def test_p_values_that_counting_cannot_give_are_called_fitted(tiny):
    # Of 19 tables counting gives 1 in 20 at least, and times two ideas that were tried.
    smaller = np.array([0.049, 0.05])
    view = changed(tiny, n_tables=19, n_ideas=1, cluster_p_values=smaller)
    assert view[1].fitted_clusters.tolist() == [True, False]
    assert [r["p_value_is_fitted"] for r in view.to_records()[:2]] == [True, False]
    view = changed(view, cluster_p_intervals=((0.001, 0.0625), None))
    assert [(r["p_value_low"], r["p_value_high"]) for r in view.to_records()[:2]] == [
        (0.001, 0.0625), (None, None),
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(clusters_csv(view))))
    assert {(row["cluster"], row["p_value_is_fitted"]) for row in rows if row["view"] == "1"} == {
        ("1", "1"), ("2", "0"),
    }  # fmt: skip
    assert {(r["p_value_low"], r["p_value_high"]) for r in rows if r["view"] == "1"} == {
        ("0.001", "0.0625"), ("", ""),
    }  # fmt: skip
    twice = changed(tiny, n_tables=19, n_ideas=2, cluster_p_values=smaller)
    assert twice[1].fitted_clusters.tolist() == [True, True]
    untested = changed(tiny, n_tables=0, cluster_p_values=smaller)
    assert not untested[1].fitted_clusters.any()


def test_clusters_feature_by_feature(tiny):
    rows = list(csv.reader(io.StringIO(clusters_csv(tiny))))
    assert rows == [
        ["view", "cluster", "rows", "stability", "p_value", "p_value_is_fitted", "p_value_low",
         "p_value_high", "feature", "own", "information", "low", "high", "effect", "effect_low",
         "effect_high", "q_value", "level", "share", "elsewhere", "imputed"],
        ["1", "1", "4", "0.75", "0.01", "1", "", "", "age", "1", "2", "1", "2.5", "-0.123457", "",
         "", "", "", "", "", "0"],
        ["1", "1", "4", "0.75", "0.01", "1", "", "", "rent", "0", "0.5", "", "", "", "", "", "", "",
         "", "", "0"],
        ["1", "2", "2", "0.5", "0.02", "1", "", "", "'=kind", "1", "0.333333", "", "", "", "-1", "",
         "0.04", "'+a", "0.5", "0.25", "0.125"],
    ]  # fmt: skip
    named = list(csv.reader(io.StringIO(clusters_csv(changed(tiny, names=("young", ""))))))
    assert [row[-1] for row in named] == ["name", "young", "young", ""]
    both = changed(tiny, names=("", ""))
    assert len(next(csv.reader(io.StringIO(clusters_csv(both))))) == 22


def test_numbers_as_they_are_kept():
    assert [_short(v) for v in (None, np.nan, np.inf, 0.0, 1234567.0)] == [
        "", "", "", "0", "1.23457e+06",
    ]  # fmt: skip
    assert [_number(v) for v in (1.5, np.nan, -np.inf)] == [1.5, None, None]
    assert np.isnan(_read_number(None)) and _read_number(2) == 2.0
    assert _read_interval(None) is None and _read_interval([1, 2]) == (1.0, 2.0)
    assert counted_from_1(np.array([0, 3, -1])).tolist() == [1, 4, -1]
    assert _plain(Merge(0, 2, np.nan, 3, 0.25)) == vars(Merge(0, 2, np.nan, 3, 0.25)) | {
        "lost": None, "p_value": 0.25, "stability": _plain(Merge(0, 2, 0.5, 3))["stability"],
        "p_interval": None,
    }  # fmt: skip


def test_what_was_kept_is_read():
    miss = {
        "name": "a", "finder": "b", "title": "c", "n_clusters": 2, "score": 0.5, "p_value": None,
        "stability": 0.25, "features": ["x"], "missing_redundancy": 0.125,
    }  # fmt: skip
    found = _read_near_miss(miss)
    assert (found.score, found.stability, found.features) == (0.5, 0.25, ("x",))
    assert np.isnan(found.p_value) and found.missing_redundancy == 0.125
    merge = _read_merge(vars(Merge(0, 1, 0.5, 2)) | {"p_value": None, "stability": 0.75})
    assert np.isnan(merge.p_value) and (merge.lost, merge.stability) == (0.5, 0.75)
    kept = vars(fact("x", low=None, high=2.0)) | {"bars": [1, 2], "overall_bars": [3]}
    found = _read_fact(kept)
    assert np.isnan(found.low) and np.isnan(found.effect) and found.high == 2.0
    assert (found.bars, found.overall_bars) == ((1, 2), (3,))
    assert found.bars_low is None and found.effect_low is None
    level = _read_fact(vars(fact("x", level="a")))
    assert level.low is None and level.effect is None and level.bars == ()


def test_a_folder_without_a_study(tiny, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no study \(study.json is missing\)$"):
        load_study(tmp_path)
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="begun but not finished, go on with --resume"):
        load_study(tmp_path)
    save_study(tiny, tmp_path)
    kept = json.loads((tmp_path / "study.json").read_text())
    assert kept["format"] == "subscape-study/1" and kept["verdict"] == tiny.verdict
    times = json.loads((tmp_path / "timings.json").read_text())
    assert times == {r.name: r.seconds for r in tiny.results} and len(times) == 3
    (tmp_path / "timings.json").write_text(json.dumps({tiny.results[0].name: 77}))
    again = load_study(tmp_path)
    assert [r.seconds for r in again.results] == [77.0, 0.0, 0.0]
    assert again.folder == str(tmp_path) and again.shape == (8, 3)
    text = (tmp_path / "study.json").read_text()
    assert text.startswith('{\n"asked": null,\n') and text.endswith("\n}\n")
    (tmp_path / "study.json").write_text(text.replace("subscape-study/1", "subscape-study/9"))
    with pytest.raises(SubscapeError, match="has format 'subscape-study/9', this version reads"):
        load_study(tmp_path)
