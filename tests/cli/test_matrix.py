from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.files import save
from subscape.measures import medoid_index, pairwise_distances

LABELS = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1]]


@pytest.fixture
def three(run):
    """Three label vectors in two files."""
    Path("one.csv").write_text("\n".join(map(str, LABELS[0])) + "\n")
    rows = [f"{b},{c}" for b, c in zip(*LABELS[1:], strict=True)]
    Path("two.csv").write_text("\n".join(["label_b,label_c", *rows]) + "\n")


def test_distances_and_the_median(run, three):
    result = json.loads(run("matrix", "one.csv", "two.csv", "--json").stdout)
    assert result["names"] == ["one", "two#label_b", "two#label_c"]
    np.testing.assert_array_equal(result["distances"], pairwise_distances(LABELS))
    assert result["median"] == result["names"][medoid_index(LABELS)] == "one"
    assert result["measure"] == "clustering_error"


def test_the_table_for_people(run, three):
    lines = run("matrix", "one.csv", "two.csv").stdout.splitlines()
    assert lines == [
        "clustering_error (0 = identical) among 3 clusterings",
        "",
        "                   1      2      3",
        "1 one          0.000  0.167  0.333",
        "2 two#label_b  0.167  0.000  0.500",
        "3 two#label_c  0.333  0.500  0.000",
        "",
        "Median: one (mean distance 0.250 to the others)",
    ]


def test_many_clusterings_show_their_nearest(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    np.save("many.npy", rng.integers(0, 3, (30, 40)))
    lines = run("matrix", "many.npy").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    distances = pairwise_distances(list(np.load("many.npy").T))
    np.fill_diagonal(distances, 2)
    nearest = int(distances[7].argmin())
    (line,) = [line for line in lines if line.startswith("8 many#8 ")]
    number = nearest + 1
    assert line.split()[3:] == [str(number), f"many#{number}", f"{distances[7, nearest]:.3f}"]


def test_written_as_csv(run, three):
    Path("=evil.csv").write_text("1\n0\n0\n1\n1\n0\n")
    result = run("matrix", "one.csv", "=evil.csv", "-o", "d.csv")
    assert result.stdout.endswith("Written: d.csv\n")
    head, first, second = (line.split(",") for line in Path("d.csv").read_text().splitlines())
    assert head == ["", "one", "'=evil"]
    assert [row[0] for row in (first, second)] == ["one", "'=evil"]
    assert float(first[2]) == pairwise_distances([LABELS[0], [1, 0, 0, 1, 1, 0]])[0, 1]


@pytest.mark.parametrize(
    ("name", "start"), [("d.png", b"\x89PNG"), ("d.svg", b"<?xml"), ("d.PDF", b"%PDF")]
)
def test_plot(run, three, name, start):
    from matplotlib import pyplot

    pyplot.close("all")  # of whatever ran before in this process
    result = run("matrix", "one.csv", "two.csv", "--plot", name)
    assert result.exit_code == 0, result.output
    assert Path(name).read_bytes().startswith(start)
    assert pyplot.get_fignums() == []


def test_other_measures(run, refused, three):
    result = json.loads(run("matrix", "two.csv", "one.csv", "--measure", "vi", "--json").stdout)
    expected = pairwise_distances([LABELS[1], LABELS[2], LABELS[0]], "variation_of_information")
    np.testing.assert_allclose(result["distances"], expected)
    assert "is a similarity" in refused("matrix", "one.csv", "two.csv", "--measure", "ari")


def test_subspaces_count_unless_rows_only(run):
    for name, features in (("x", [0]), ("y", [1, 2])):
        clustering = SubspaceClustering.from_clusters([([0, 1], features)], shape=(4, 3))
        save(f"{name}.subscape", clustering)
    apart = json.loads(run("matrix", "x.subscape", "y.subscape", "--json").stdout)
    alike = json.loads(run("matrix", "x.subscape", "y.subscape", "--rows-only", "--json").stdout)
    assert apart["distances"][0][1] == 1
    assert alike["distances"][0][1] == 0


def test_nothing_is_written_where_one_output_cannot_be(refused, three):
    Path("d.csv").write_text("mine")
    Path("noise.csv").write_text("-1\n" * 6)
    Path("short.csv").write_text("0\n1\n")
    for arguments, message in (
        (("one.csv", "two.csv", "-o", "d.csv", "--plot", "d.png"), "d.csv exists; --force"),
        (("one.csv", "two.csv", "-o", "x.csv", "--plot", "d.csv"), "d.csv exists; --force"),
        (("one.csv", "two.csv", "-o", "x.csv", "--plot", "d.bmp"), "pictures end in .png"),
        (("one.csv", "two.csv", "-o", "no/x.csv"), "the folder no does not exist"),
        (("one.csv", "nope.csv", "-o", "x.csv"), "no such file: nope.csv"),
        (("one.csv",), "give at least two"),
        (("one.csv", "noise.csv"), "noise: no clusters, all rows are noise"),
        (("one.csv", "short.csv", "-o", "x.csv"), "one.csv about 6"),
        (("one.csv", "two.csv", "--measure", "ecks"), "unknown measure 'ecks'"),
    ):
        assert message in refused("matrix", *arguments), arguments


def test_force_replaces(run, three):
    Path("d.csv").write_text("mine")
    assert run("matrix", "one.csv", "two.csv", "-o", "d.csv", "--force").exit_code == 0
    assert Path("d.csv").read_text().startswith(",one,")


def test_plot_without_matplotlib(refused, three, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = refused("matrix", "one.csv", "two.csv", "--plot", "d.png", "-o", "d.csv")
    assert "pip install 'subscape[report]'" in message
