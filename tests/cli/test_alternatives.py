from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from subscape.cli.finder_inputs import scaled
from subscape.datasets import planted_views
from subscape.files.formats import read_clusterings, read_together
from subscape.finders import ResidualKMeans
from subscape.finders.catalogue import of_role


@pytest.fixture
def views(run):
    """A table with row names, and the labels of one of its views, in another order."""
    X, (known, _) = planted_views(120, 4, n_clusters=(2, 2), random_state=0)
    names = [f"r{i:03}" for i in range(120)]
    lines = [f"{name},{','.join(map(str, row))}" for name, row in zip(names, X, strict=True)]
    Path("data.csv").write_text("\n".join(["id,a,b,c,d", *lines]) + "\n")
    order = np.random.default_rng(0).permutation(120)
    labels = [f"{names[i]},{known.labels()[i]}" for i in order]
    Path("named.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    Path("ordered.csv").write_text("\n".join(["label", *map(str, known.labels())]) + "\n")
    return SimpleNamespace(X=X, known=known.labels())


def test_rows_are_matched_by_name_or_by_order(run, views):
    for given in ("named.csv", "ordered.csv"):
        result = run(
            "alternatives", "data.csv", "--id", "id", "--given", given, "-o", f"to_{given}"
        )
        assert result.exit_code == 0, result.output
        assert f"alternatives to {given[:-4]}" in result.stdout
        (found,) = read_clusterings(f"to_{given}")
        assert found.row_names[:2] == ("r000", "r001")
        expected = ResidualKMeans(random_state=0).fit(
            scaled(views.X, "standard"), given=views.known
        )
        np.testing.assert_array_equal(found.labels(), expected.labels_)


@pytest.mark.parametrize("method", ["coala", *of_role("alternative")])
def test_every_method_writes_clusterings_and_labels(run, views, method):
    parameters = ["-p", "n_base=20"] if method == "MetaClustering" else []
    result = run("alternatives", "data.csv", "--id", "id", "-g", "named.csv", "-n", "2", "--method",
                 method, "-o", "found.subscape", "-o", "found.csv", *parameters)  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1].split()[-3:] == ["dissimilarity", "quality", "DQ"]
    assert [line.split()[0] for line in lines[2:4]] == ["1", "2"]
    kept, labels = read_together(["found.subscape", "found.csv"])
    assert [each.name for each in kept] == [
        "found.subscape#alternative_1", "found.subscape#alternative_2"
    ]  # fmt: skip
    for a, b in zip(kept, labels, strict=True):
        np.testing.assert_array_equal(a.clustering.labels(), b.clustering.labels())
    assert kept[0].clustering.feature_names == ("a", "b", "c", "d")


def test_without_a_given_one_k_means_is_the_reference(run, views):
    result = run("alternatives", "data.csv", "--id", "id", "-p", "n_clusters=2")
    assert "alternatives to k-means" in result.stdout


def test_files_that_do_not_fit_are_refused(refused, views):
    Path("short.csv").write_text("label\n0\n1\n")
    message = refused("alternatives", "data.csv", "--id", "id", "-g", "short.csv")
    assert "2 rows" in message and "120" in message
    lines = Path("named.csv").read_text().splitlines()
    Path("partly.csv").write_text("\n".join(lines[:-1]) + "\n")
    missing = lines[-1].split(",")[0]
    message = refused("alternatives", "data.csv", "--id", "id", "-g", "partly.csv")
    assert missing in message and "1 of the table's 120 rows" in message


def test_rows_that_are_left_out_have_labels_too(run, views):
    """Without names, labels are those of all rows of the table, not of the rows that are kept."""
    X = views.X.copy()
    lines = [",".join(map(str, row)) for row in X]
    for gap in (3, 50):
        lines[gap] = "," + lines[gap].partition(",")[2]
    Path("gaps.csv").write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    kept = np.delete(np.arange(120), [3, 50])
    arguments = ("alternatives", "gaps.csv", "--missing", "drop", "-g")
    result = run(*arguments, "ordered.csv", "-o", "found.csv")
    assert result.exit_code == 0, result.output
    (found,) = read_clusterings("found.csv")
    expected = ResidualKMeans(random_state=0).fit(
        scaled(X[kept], "standard"), given=views.known[kept]
    )
    np.testing.assert_array_equal(found.labels()[kept], expected.labels_)
    assert found.labels()[[3, 50]].tolist() == [-1, -1]
    Path("kept.csv").write_text("\n".join(["label", *map(str, views.known[kept])]) + "\n")
    result = run(*arguments, "kept.csv")
    assert result.exit_code == 2 and "kept has 118 rows, the table 120" in result.stderr
    named = [f"r{i:03},{line}" for i, line in enumerate(lines)]
    Path("gaps.csv").write_text("\n".join(["id,a,b,c,d", *named]) + "\n")
    result = run(*arguments, "named.csv", "--id", "id", "-o", "by_name.csv")
    assert result.exit_code == 0, result.output
    (by_name,) = read_clusterings("by_name.csv")
    np.testing.assert_array_equal(by_name.labels(), found.labels())


def test_nothing_is_overwritten_unasked(run, refused, views):
    Path("found.csv").write_text("mine")
    arguments = ("alternatives", "data.csv", "--id", "id", "-g", "named.csv", "-o", "found.csv")
    assert "--force" in refused(*arguments)
    assert run(*arguments, "--force").exit_code == 0
    assert Path("found.csv").read_text() != "mine"


def test_one_known_cluster_is_refused(refused, views):
    Path("one.csv").write_text("label\n" + "0\n" * 120)
    assert "1 cluster" in refused("alternatives", "data.csv", "--id", "id", "-g", "one.csv")
