"""``subscape explore`` on a table as an office exports it, and how what was misread is repaired."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from tests.tables.business import business_export

from subscape.cli.columns_file import read_columns
from subscape.exploration.study import load_study
from subscape.measures import adjusted_rand_score
from subscape.tables import Table


@pytest.fixture
def export(tmp_path):
    made = business_export(120)
    (tmp_path / "kunden.csv").write_bytes(made.content)
    return made


def edited(path, changes):
    """Write other things about some columns into a ``columns.csv``."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row.update(changes.get(row["column"], {}))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_what_was_misread_is_repaired_by_the_file_of_columns(run, tmp_path, export):
    first = run("explore", "kunden.csv", "--check", "-o", "s")
    assert first.exit_code == 0, first.output
    assert "column 'Paket' looks like numbers and is not used as such" in first.stdout
    path = tmp_path / "s" / "columns.csv"
    assert read_columns(str(path))["Umsatz"].unit == "EUR"
    edited(path, {
        "Paket": {"role": "numeric", "unit": "kg"},
        "Umsatz": {"transform": "log"},
        "Seit": {"role": "numeric", "dates": "mdy"},
        "Aktiv": {"role": "numeric", "order": "Nein|ja"},
    })  # fmt: skip
    again = run("explore", "kunden.csv", "--check", "-o", "s", "--columns", "s/columns.csv")
    assert again.exit_code == 0, again.output
    assert "'Paket' looks like" not in again.stdout
    kept = read_columns(str(path))
    assert kept["Paket"].unit == "kg" and kept["Seit"].dates == "mdy"
    assert kept["Umsatz"].transform == "log" and kept["Aktiv"].order == ("Nein", "ja")
    table = Table.read(tmp_path / "kunden.csv", columns=kept)
    np.testing.assert_allclose(table.values("Umsatz"), np.log(export.values["Umsatz"]))
    odd = np.arange(120) % 2 == 1
    np.testing.assert_array_equal(table.values("Paket")[odd], np.arange(120)[odd] % 9 + 1)
    assert np.isnan(table.values("Paket")[~odd]).all()


def test_a_spreadsheet_may_save_the_file_of_columns_in_its_dialect(tmp_path):
    text = "column;role;order\r\nGröße;numeric;S|M|L\r\n'=x;ignore;\r\n"
    (tmp_path / "c.csv").write_bytes(text.encode("cp1252"))
    said = read_columns(str(tmp_path / "c.csv"))
    assert said["Größe"].order == ("S", "M", "L") and said["=x"].role == "ignore"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("column,colour\nUmsatz,red\n", "must have the columns 'column' and 'role'"),
        ("column,role,colour\nUmsatz,,red\n", "has the columns 'colour', which say nothing"),
        ("column,role\nUmsatz,\nUmsatz,\n", "line 3: column 'Umsatz' stands there twice"),
        ("column,role,transform\nUmsatz,,cube\n", "no transform 'cube'"),
        ("column,role\nUmsats,numeric\n", "did you mean 'Umsatz'"),
    ],
)
def test_a_bad_file_of_columns(run, tmp_path, export, text, said):
    (tmp_path / "columns.csv").write_text(text)
    refused = run("explore", "kunden.csv", "--columns", "columns.csv", "-o", "s")
    assert refused.exit_code == 2 and said in refused.stderr
    assert not (tmp_path / "s").exists()


def test_the_groups_are_found_and_what_is_not_used_is_said_above_them(run, tmp_path, export):
    done = run("explore", "kunden.csv", "--effort", "quick", "--jobs", "1", "-o", "s")
    assert done.exit_code == 0, done.output
    study = load_study(tmp_path / "s")
    assert max(adjusted_rand_score(export.groups, v.labels) for v in study.views) > 0.9
    place = done.stdout.index("Not used: column 'Paket' looks like numbers")
    assert "the unit to keep (--columns)" in done.stdout and "columns=" not in done.stdout
    assert place < done.stdout.index(study.verdict.splitlines()[0])


def test_new_rows_are_read_as_the_explored_ones_were(run, tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    lines = [f"{10 ** (group[i] * 3 + rng.random()):.3f} g,{'low' if group[i] else 'high'}"
             for i in range(60)]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["w,size", *lines, ""]))
    (tmp_path / "c.csv").write_text(
        "column,role,order,transform\nw,,,log\nsize,numeric,low|high,\n"
    )
    done = run("explore", "t.csv", "--effort", "quick", "--jobs", "1", "-o", "s",
               "--columns", "c.csv")  # fmt: skip
    assert done.exit_code == 0, done.output
    view = load_study(tmp_path / "s").views[0]
    told = run("predict", "s", "t.csv", "--view", "1")
    assert told.exit_code == 0, told.output
    found = [int(row["view_1"]) for row in csv.DictReader(told.stdout.splitlines())]
    assert adjusted_rand_score(view.labels, found) == 1.0
    assert adjusted_rand_score(group, found) == 1.0


def test_options_of_the_command_line(run, tmp_path):
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("a,b\n" + rows + "-999\n")
    refused = run("explore", "t.csv", "--check")
    assert refused.exit_code == 2 and "say --ragged pad" in refused.stderr
    told = run("explore", "t.csv", "--check", "--ragged", "pad", "--na", "-999")
    assert told.exit_code == 0, told.output
    assert "2 missing cells" in told.stdout and "1 row of another length" in told.stdout


def test_control_characters_do_not_reach_the_terminal(run, tmp_path):
    rows = "".join(f"{i % 7},\x1b[2Jlevel{i % 2}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("a\x1b[31m,b\n" + rows)
    told = run("explore", "t.csv", "--check")
    assert told.exit_code == 0 and "\x1b" not in told.output and "a�[31m" in told.output
    refused = run("explore", "\x1b[31m.csv")
    assert refused.exit_code == 2 and "\x1b" not in refused.output
    done = run("explore", "t.csv", "--effort", "quick", "--jobs", "1", "-o", "s")
    assert done.exit_code == 0 and "\x1b" not in done.output
