from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from subscape.cli import convert
from subscape.core import SubspaceClustering
from subscape.files import load, save
from subscape.files.formats import FORMATS, read_clusterings


@pytest.fixture
def clustering(run):
    made = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([2, 3], [2])], shape=(5, 3))
    save("c.subscape", made)
    return made


@pytest.mark.parametrize("between", ["c.true", "c.clu", "c.elki"])
def test_there_and_back(run, clustering, between):
    result = run("convert", "c.subscape", between)
    assert result.exit_code == 0
    assert result.stdout == (
        "c: 2 axis-aligned clusters, 5 rows x 3 features, 1 noise row, overlapping rows\n"
        f"Written: {between}\n"
    )
    assert run("convert", between, "back.subscape").exit_code == 0
    assert load("back.subscape") == clustering


def test_shape_where_the_file_does_not_tell(run):
    Path("c.true").write_text("DIM=3;\n1 1 0 2 0 1\n")
    assert run("convert", "c.true", "c.subscape", "--shape", "9,3").exit_code == 0
    assert load("c.subscape").shape == (9, 3)


def test_labels_drop_subspaces_with_a_warning(run, clustering):
    save("d.subscape", clustering.select([0]))
    with pytest.warns(UserWarning, match="labels hold no subspaces"):
        assert run("convert", "d.subscape", "d.csv").exit_code == 0
    assert Path("d.csv").read_text() == "row,label\n0,0\n1,0\n2,0\n3,-1\n4,-1\n"


def test_lossy_keeps_the_first_of_several_clusters(run, clustering):
    assert run("convert", "c.subscape", "c.csv", "--lossy").exit_code == 0
    assert Path("c.csv").read_text() == "row,label\n0,0\n1,0\n2,0\n3,1\n4,-1\n"


def test_several_clusterings(run, refused):
    Path("l.csv").write_text("row,one,two\na,0,1\nb,0,1\nc,1,1\n")
    assert run("convert", "l.csv", "l.subscape").exit_code == 0
    assert [c.labels().tolist() for c in load("l.subscape")] == [[0, 0, 1], [0, 0, 0]]
    assert run("convert", "l.subscape", "again.csv").exit_code == 0
    assert Path("again.csv").read_text() == "row,one,two\na,0,0\nb,0,0\nc,1,0\n"
    assert run("convert", "l.subscape#two", "two.subscape").exit_code == 0
    assert load("two.subscape").labels().tolist() == [0, 0, 0]
    assert "holds one clustering, not 2" in refused("convert", "l.subscape", "l.true")


def test_the_formats_offered_are_those_there_are():
    # Written twice, because importing the library would make --help slow.
    assert list(FORMATS) == list(convert.FORMATS)


def test_format_by_option(run, clustering):
    assert run("convert", "c.subscape", "c.txt", "--format", "elki").exit_code == 0
    assert read_clusterings("c.txt") == [clustering]


def test_bad_input(refused, clustering):
    Path("there.true").write_text("mine")
    oriented = SubspaceClustering.from_labels([0, 0], bases=[np.eye(3)[:, :1]])
    save("o.subscape", oriented)
    Path("cut.elki").write_text("# Cluster: a\n# Cluster size: 4\nID=1\n")
    Path("bad.subscape").write_text("no archive")
    for arguments, message in (
        (("c.subscape", "there.true"), "there.true exists; --force replaces it"),
        (("c.subscape", "c.subscape"), "c.subscape exists"),
        (("nope", "x.true"), "no such file: nope"),
        (("c.subscape", "x.doc"), "the suffix of x.doc names no format"),
        (("c.subscape", "no/x.true"), "the folder no does not exist"),
        (("c.subscape", "x.csv"), "labels can't hold rows in several clusters"),
        (("o.subscape", "x.true"), "can't hold oriented bases"),
        (("c.subscape", "x.subscape", "--format", "labels"), "can't be of format 'labels'"),
        (("cut.elki", "x.true"), "a should have 4 rows, but 1 are there"),
        (("bad.subscape", "x.true"), "not a .subscape file"),
        (("c.subscape", "x.true", "--shape", "9,3"), "is about 5 rows, not 9"),
    ):
        assert message in refused("convert", *arguments), arguments


def test_force_replaces(run, clustering):
    Path("c.true").write_text("mine")
    assert run("convert", "c.subscape", "c.true", "--force").exit_code == 0
    assert read_clusterings("c.true") == [clustering]
