"""Commands and options that a message proposes are run: none of them may lead nowhere."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import subscape
from subscape.cli.main import COMMANDS, cli
from subscape.cli.wording import as_options
from subscape.files import save
from subscape.finders.catalogue import ROLES
from subscape.testing.studies import planted_study

SOURCES = Path(subscape.__file__).parent
#: Whatever of a message stands for a command: up to its quotation mark, or to the end.
COMMAND = re.compile(rf"\bsubscape ((?:{'|'.join(COMMANDS)}|COMMAND)\b[^'\n]*)")
#: Every command line in a message, and the test that runs it. Examples of help texts, of the README
#: and of the guides are run by test_examples.py.
RUN_BY = {
    ("cli/demo.py", "explore {shlex.quote(str(file))}"): "test_one_piece:test_the_demo_ends_with_a_"
    "command_that_runs_as_printed",
    ("cli/fit.py", "explore"): "test_where_a_finder_finds_nothing",
    ("cli/fit.py", "fit PROCLUS data.csv"): "test_a_finder_and_a_table_have_to_be_named",
    ("cli/inputs.py", "compare --list"): "test_the_list_of_measures",
    ("cli/inputs.py", "explore TABLE --check -o FOLDER"): "test_the_file_of_columns_as_help_says",
    ("cli/main.py", "COMMAND --help"): "test_every_command_has_help",
    ("cli/matrix.py", "compare --list"): "test_the_list_of_measures",
    ("finders/catalogue/__init__.py", "alternatives"): "test_the_command_of_every_role_runs",
    ("finders/catalogue/__init__.py", "consensus"): "test_the_command_of_every_role_runs",
    ("finders/catalogue/__init__.py", "explore"): "test_the_command_of_every_role_runs",
    ("finders/catalogue/__init__.py", "fit"): "test_the_command_of_every_role_runs",
    ("report/templates/tables.js", "rename"): "test_names_that_the_page_proposes_to_keep",
}

ROWS = [f"{i % 7},{i % 5 + (i % 2) * 9},{(i * 3) % 11}" for i in range(40)]


@pytest.fixture
def here(run):
    Path("t.csv").write_text("\n".join(["a,b,c", *ROWS, ""]))
    return run


def proposed(text, pattern):
    """The words of a message that match, as a shell would take them."""
    (found,) = re.findall(pattern, text)
    return shlex.split(found)


def test_the_list_of_measures(here):
    refused = here("compare", "t.csv#a", "t.csv#b", "--measure", "xyz")
    assert refused.exit_code == 2
    _, *command = proposed(refused.stderr, r"'(subscape [^']*)'")
    assert here(*command).exit_code == 0


def test_one_of_several_clusterings(here):
    refused = here("compare", "t.csv", "t.csv")
    (name,) = proposed(refused.stderr, r"such as (\S+)$")
    assert here("compare", name, name).exit_code == 0


def test_the_file_of_columns(here):
    told = here("explore", "t.csv", "--check")
    (words,) = re.findall(r"(--check -o FOLDER) writes columns.csv", told.stdout)
    options = words.replace("FOLDER", "s").split()
    told = here("explore", "t.csv", *options)
    option = proposed(told.stdout, r"pass  (--columns \S+)")
    assert here("explore", "t.csv", "--check", *option).exit_code == 0
    assert here("fit", "PROCLUS", "t.csv", "-p", "n_clusters=2", *option).exit_code == 0


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (lambda i, row: f"{row},{'xy'[i % 2]}", r"pass (--nominal \w+) to leave"),
        (lambda i, row: row.replace("0,", ",", 1) + f",{i % 3}", r"pass (--missing median)"),
        (lambda i, row: row + f",{i % 3}" * (i != 9), r"(--ragged pad)"),
    ],
)
def test_options_of_fit(here, change, pattern):
    rows = [change(i, row) for i, row in enumerate(ROWS)]
    Path("u.csv").write_text("\n".join(["a,b,c,d", *rows, ""]))
    command = ["fit", "PROCLUS", "u.csv", "-p", "n_clusters=2"]
    refused = here(*command)
    assert refused.exit_code == 2, refused.output
    options = proposed(refused.stderr, pattern)
    if options[0] == "--ragged":
        options += ["--missing", "median"]
    done = here(*command, *options)
    assert done.exit_code == 0, done.output


def test_a_file_that_is_there(here):
    command = ["fit", "PROCLUS", "t.csv", "-p", "n_clusters=2", "-o", "f.subscape"]
    assert here(*command).exit_code == 0
    refused = here(*command)
    assert refused.exit_code == 2
    assert here(*command, *proposed(refused.stderr, r"pass (--force)")).exit_code == 0


@pytest.mark.parametrize("finder", ["MAXIMUS", "ClusterBasedPCE", "KMeans"])
def test_a_finder_of_another_command_is_sent_there(here, finder):
    refused = here("choose", finder, "t.csv", "--grid", "n_clusters=2:3")
    assert refused.exit_code == 2
    _, command = proposed(refused.stderr, r"'(subscape \w+)' runs it")
    assert here(command, "--help").exit_code == 0


@pytest.mark.parametrize("given", [[], ["--grid", "-k", "2:10"]])
def test_a_range_to_choose_from(here, given):
    refused = here("choose", "PROCLUS", "t.csv", *given)
    assert refused.exit_code == 2
    *_, grid = proposed(refused.stderr, r"(?:such as|--grid) (\S+)$")
    few = ["--samples", "2", "--quiet"]
    assert here("choose", "PROCLUS", "t.csv", "--grid", grid, *few).exit_code == 0


def test_usage_errors_point_to_help_that_is_there(here):
    refused = here("explore", "t.csv", "--nonsense")
    _, *command = proposed(refused.stderr, r"Try '(subscape [^']*)'")
    assert here(*command).exit_code == 0


# -- every message of the sources ------------------------------------------------------------------


def texts_of(path):
    """The texts of a module that may be shown: all but docstrings, {…} for what is filled in."""
    tree = ast.parse(path.read_text())
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
            )


def in_messages():
    """File and command line of every message that proposes one."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        for text in texts_of(path):
            told = text.replace("{this_command()}", "subscape")
            if "Example" in text or "Switch it on" in text or text.startswith((".TH", ".SS")):
                continue
            for found in COMMAND.findall(told):
                yield name, re.split(r"\s{2,}|, ", found)[0].strip()
    for path in sorted((SOURCES / "report" / "templates").iterdir()):
        for command in re.findall(r"`subscape (\w+)", path.read_text()):
            yield path.relative_to(SOURCES).as_posix(), command


def test_every_command_of_a_message_is_run():
    assert set(in_messages()) == set(RUN_BY)
    for place in RUN_BY.values():
        module, _, name = place.rpartition(":")
        assert hasattr(importlib.import_module(f"tests.cli.{module or 'test_proposals'}"), name)


def test_a_new_message_would_be_seen(tmp_path):
    (tmp_path / "m.py").write_text(
        '"""Run subscape fit."""\n'
        "def f(x):\n"
        "    raise ValueError(f\"no {x}; 'subscape matrix {x} --plot a.png' draws them\")\n"
    )
    (text,) = texts_of(tmp_path / "m.py")
    assert COMMAND.findall(text) == ["matrix {x} --plot a.png"]


def test_options_of_messages_are_options_of_commands():
    known = {"--help", *(option for parameter in cli.params for option in parameter.opts)}
    for command in COMMANDS.values():
        module, _, function = command.place.partition(":")
        for parameter in getattr(importlib.import_module(module), function).params:
            known |= {*parameter.opts, *parameter.secondary_opts}
    told = {
        (path.name, option)
        for path in sorted(SOURCES.rglob("*.py"))
        for text in texts_of(path)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", as_options(text))
    }
    assert len(told) > 60
    assert sorted((name, option) for name, option in told if option not in known) == []


def test_where_a_finder_finds_nothing(here):
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.4g}" for x in row) for row in rng.random((60, 3))]
    Path("n.csv").write_text("\n".join(["a,b,c", *lines, ""]))
    told = here("fit", "PreDeCon", "n.csv", "-p", "eps=0.0001", "-p", "min_samples=30")
    assert told.exit_code == 0, told.output
    _, *command = proposed(told.stdout, r"'(subscape [^']*)' tries many")
    done = here(*command, "n.csv", "--effort", "quick", "--jobs", "1", "--quiet", "-o", "s")
    assert done.exit_code == 0, done.output


def test_a_finder_and_a_table_have_to_be_named(here):
    refused = here("fit", "PROCLUS")
    assert refused.exit_code == 2
    _, *command = proposed(refused.stderr, r"e\.g\.  (subscape .*)$")
    Path("t.csv").rename("data.csv")
    assert here(*command).exit_code == 0


def test_the_file_of_columns_as_help_says(here):
    for name in ("fit", "explore", "choose", "validate", "alternatives", "consensus"):
        told = " ".join(here(name, "--help").stdout.split())
        (line,) = re.findall(r"file that '(subscape [^']*)' writes", told)
    _, *command = shlex.split(line.replace("TABLE", "t.csv").replace("FOLDER", "f"))
    assert here(*command).exit_code == 0
    done = here("fit", "PROCLUS", "t.csv", "-p", "n_clusters=2", "--columns", "f/columns.csv")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(here, name):
    (line,) = re.findall(r"'(subscape COMMAND [^']*)' explains", here("--help").stdout)
    _, *command = shlex.split(line.replace("COMMAND", name))
    told = here(*command)
    assert told.exit_code == 0
    assert told.stdout.startswith(f"Usage: subscape {name} ")


@pytest.mark.parametrize("role", ROLES)
def test_the_command_of_every_role_runs(here, role):
    """With the least that it needs, behind its name."""
    Path("l.csv").write_text("\n".join("01"[i % 2] for i in range(40)) + "\n")
    needed = {
        "fit": ["PROCLUS", "t.csv", "-p", "n_clusters=2"],
        "alternatives": ["t.csv", "--given", "l.csv"],
        "consensus": ["l.csv", "l.csv"],
        "explore": ["t.csv", "--effort", "quick", "--jobs", "1", "--quiet", "-o", "s"],
    }
    _, command = ROLES[role][1].split()
    done = here(command, *needed[command])
    assert done.exit_code == 0, done.output


def test_names_that_the_page_proposes_to_keep(here):
    planted_study(60, n_clusters=(2,), results=()).save("a study")
    text = (SOURCES / "report" / "templates" / "tables.js").read_text()
    (line,) = re.findall(r"`(subscape rename [^`]*)`", text)
    # As the page fills it in: folder and names quoted for a shell.
    line = line.replace("${shellQuoted(data.folder)}", "'a study'")
    line = line.replace('${words.join(" ")}', "'1.1=old people'")
    _, *command = shlex.split(line)
    told = here(*command)
    assert told.exit_code == 0 and "view 1, cluster 1: old people" in told.stdout


# -- options that messages propose -----------------------------------------------------------------


def test_a_result_without_a_finder(here):
    Path("l.csv").write_text("\n".join("01"[i % 2] for i in range(40)) + "\n")
    refused = here("validate", "l.csv", "t.csv")
    assert refused.exit_code == 2
    options = proposed(refused.stderr, r"pass (--samples 0 --nulls 0) for")
    assert here("validate", "l.csv", "t.csv", *options).exit_code == 0
    (name,) = re.findall(r"name it with (--finder)", refused.stderr)
    few = ["--samples", "2", "--nulls", "2", "--quiet"]
    done = here("validate", "l.csv", "t.csv", name, "LAC", "-p", "n_clusters=2", *few)
    assert done.exit_code == 0, done.output


def test_subspaces_on_one_side_only(here):
    found = here("fit", "PROCLUS", "t.csv", "-p", "n_clusters=2", "-p", "avg_dims=2",
                 "-o", "f.subscape")  # fmt: skip
    assert found.exit_code == 0
    Path("l.csv").write_text("\n".join("01"[i % 2] for i in range(40)) + "\n")
    told = here("compare", "f.subscape", "l.csv")
    option = proposed(told.stdout, r"(--rows-only) compares rows alone")
    assert here("compare", "f.subscape", "l.csv", *option).exit_code == 0


def test_more_pairs_than_are_shown(here):
    labels = np.arange(60) // 2
    save("m.subscape", subscape.SubspaceClustering.from_labels(labels, n_features=1))
    told = here("compare", "m.subscape", "m.subscape")
    option = proposed(told.stdout, r"\((--json) has all\)")
    told = here("compare", "m.subscape", "m.subscape", *option)
    assert len(json.loads(told.stdout)["matches"]) == 30


def test_more_clusterings_than_fit(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    np.save("many.npy", np.random.default_rng(0).integers(0, 3, (30, 20)))
    told = here("matrix", "many.npy")
    line = re.findall(r"The whole matrix: (.*)$", told.stdout, re.MULTILINE)[0]
    for option in re.split(r", | or ", line):
        done = here("matrix", "many.npy", *shlex.split(option))
        assert done.exit_code == 0, done.output
    assert Path("distances.csv").exists() and Path("distances.png").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("alternatives", "t.csv", "-o", "o.subscape"),
        ("choose", "PROCLUS", "t.csv", "--grid", "n_clusters=2:2", "--samples", "2", "--quiet",
         "-o", "o.subscape"),
        ("consensus", "l.csv", "l.csv", "-o", "o.subscape"),
        ("convert", "l.csv", "o.subscape"),
        ("matrix", "l.csv", "l.csv", "-o", "o.csv"),
        ("validate", "l.csv", "t.csv", "--samples", "0", "--nulls", "0", "-o", "o.csv"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_a_file_that_is_there_is_replaced_as_the_message_says(here, command):
    Path("l.csv").write_text("\n".join("01"[i % 2] for i in range(40)) + "\n")
    assert here(*command).exit_code == 0
    refused = here(*command)
    assert refused.exit_code == 2, refused.output
    option = proposed(refused.stderr, r"(--force)\b")
    assert here(*command, *option).exit_code == 0


def test_a_study_that_is_there(here):
    command = ["explore", "t.csv", "--effort", "quick", "--jobs", "1", "--quiet", "-o", "s"]
    missing = here(*command, "--resume")
    assert missing.exit_code == 2 and "leave out --resume" in missing.stderr
    assert here(*command).exit_code == 0
    refused = here(*command)
    assert refused.exit_code == 2, refused.output
    for option in dict.fromkeys(re.findall(r"--(?:force|resume)", refused.stderr)):
        done = here(*command, option)
        assert done.exit_code == 0, done.output
