"""``subscape fit``: the table around the search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from subscape.datasets import planted_axes, planted_views
from subscape.files import load
from subscape.finders.catalogue import of_role
from subscape.measures import adjusted_rand_score


@pytest.fixture
def gaps():
    """Write a table of named rows, of which three have gaps."""
    X, _ = planted_axes(90, 4, n_clusters=2, dims=3, random_state=1)
    lines = ["id,a,b,c,d"]
    for i, row in enumerate(X):
        cells = [f"{value:.6f}" for value in row]
        if i in (3, 40, 41):
            cells[2] = ""
        lines.append(f"p{i:02d},{','.join(cells)}")
    with open("gaps.csv", "w") as stream:
        stream.write("\n".join(lines) + "\n")
    return X


def test_rows_left_out_for_gaps_are_in_no_cluster(run, gaps):
    made = run("fit", "PROCLUS", "gaps.csv", "-p", "n_clusters=2", "-p", "avg_dims=3",
               "--missing", "drop", "-o", "r.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    (found,) = load("r.subscape")
    assert found.n_rows == 90 and found.row_names[3] == "p03"
    assert (found.labels()[[3, 40, 41]] == -1).all()
    assert found.provenance["reading"] == {"missing": "drop", "scale": "standard"}
    # And it can be validated without saying all that again.
    told = run("validate", "r.subscape", "gaps.csv", "--samples", 2, "--nulls", 0, "--quiet")
    assert told.exit_code == 0, told.output


def test_a_constant_column_is_named(run):
    noise = np.random.default_rng(0).random((40, 3))
    noise[:, 1] = 7
    np.savetxt("same.csv", noise, delimiter=",", header="a,same,b", comments="")
    with pytest.warns(UserWarning, match="not be reported as relevant: 'same'"):
        run("fit", "PROCLUS", "same.csv", "-p", "n_clusters=2")


def test_a_file_that_cannot_be_written_is_refused_before_the_search(run, refused, gaps):
    said = refused("fit", "PROCLUS", "gaps.csv", "--missing", "median", "-o", "found.xyz")
    assert "names no format" in said


def test_nothing_found_says_what_to_try(run):
    noise = np.random.default_rng(0).random((60, 3))
    np.savetxt("noise.csv", noise, delimiter=";", header="a;b;c", comments="")
    made = run("fit", "P3C", "noise.csv", "--delimiter", "semicolon")
    assert made.exit_code == 0, made.output
    assert "calls all rows noise" in made.output and "subscape explore" in made.output


def test_options_of_text_files_are_named_as_options(refused):
    with open("ragged.csv", "w") as stream:
        stream.write("a,b\n1,2\n3,4,5\n")
    assert "--delimiter" in refused("fit", "PROCLUS", "ragged.csv")


# -- several clusterings, and the paper's version -------------------------------------------------


@pytest.fixture
def views():
    """Write a table with two views, and the labels of the first."""
    X, (known, hidden) = planted_views(150, 6, n_clusters=(3, 2), random_state=0)
    np.savetxt("views.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    Path("known.csv").write_text("label\n" + "\n".join(map(str, known.labels())) + "\n")
    return X, known.labels(), hidden.labels()


def test_views_are_written_to_one_file(run, views):
    made = run("fit", "NrKMeans", "views.csv", "-p", "n_clusters=(3, 2, 1)", "-p", "n_init=4",
               "-o", "found.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert made.output.startswith("NrKMeans: 2 views")
    assert "view_2: SubspaceClustering(2 oriented clusters" in made.output
    first, second = load("found.subscape")
    assert adjusted_rand_score(first.labels(), views[1]) > 0.9
    assert adjusted_rand_score(second.labels(), views[2]) > 0.9
    assert second.provenance["reading"] == {"scale": "standard"}


def test_the_number_of_views_can_be_found(run, views):
    made = run("fit", "autonr", "views.csv", "-p", "max_views=1")
    assert made.exit_code == 0, made.output
    assert made.output.startswith("AutoNR: 1 view,")


@pytest.mark.parametrize("name", of_role("alternative"))
def test_alternatives_know_what_is_given(run, views, name):
    options = ["-p", "n_base=20"] if name == "MetaClustering" else []
    made = run("fit", name, "views.csv", "--given", "known.csv", "-p", "n_clusters=2", *options,
               "-o", "found.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    (found,) = load("found.subscape")
    assert found.provenance["given"] == ["known.csv"]
    assert adjusted_rand_score(found.labels(), views[1]) < 0.3


def test_who_does_what(run, refused, views):
    said = refused("fit", "PROCLUS", "views.csv", "--given", "known.csv")
    assert "can't make use of --given" in said and "MAXIMUS" in said
    assert "'subscape consensus' runs it" in refused("fit", "CSPA", "views.csv")
    listed = run("fit", "--list").output
    assert all(f"  {name} " in listed for name in of_role("finder", "views", "alternative"))


def test_as_published(run, refused, gaps):
    table = ("gaps.csv", "--missing", "median", "--as-published")
    made = run("fit", "PROCLUS", *table, "-p", "n_clusters=2", "-p", "avg_dims=3",
               "-o", "r.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    (found,) = load("r.subscape")
    assert found.provenance["parameters"]["noise"] == "spheres"
    assert found.provenance["parameters"]["refine"] is False
    assert "has no parameter 'refine'" in refused("fit", "PROCLUS", *table, "-p", "refine=True")
