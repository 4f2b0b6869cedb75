"""``subscape fit``: the table around the search."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_axes
from subscape.files import load


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
