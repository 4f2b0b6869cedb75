from __future__ import annotations

import subprocess
import sys
import warnings

import click
import pytest
from click.testing import CliRunner

from subscape import __version__
from subscape.arrays import backend
from subscape.cli import main as module
from subscape.cli.main import COMMANDS, Subcommand, cli


def invoke(*arguments):
    return CliRunner().invoke(cli, arguments, prog_name="subscape")


def failing(error):
    @click.command()
    def fail():
        raise error

    return fail


@pytest.fixture
def fail_with(monkeypatch):
    """Add a subcommand ``fail`` that raises the error given."""

    def add(error):
        monkeypatch.setattr(module, "fail", failing(error), raising=False)
        monkeypatch.setitem(COMMANDS, "fail", Subcommand("subscape.cli.main:fail", "Fail."))

    return add


def test_help_lists_every_command_with_its_line():
    result = invoke("--help")
    assert result.exit_code == 0
    for name, command in COMMANDS.items():
        assert f"{name} " in result.output
        assert command.help in result.output


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Usage: subscape {name}")


def test_version_says_which_kernels_run():
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"subscape {__version__} (kernels: {backend.describe()})\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("7 rows, but 8 labels"), "7 rows, but 8 labels"),
        (TypeError("a Rand index needs masks"), "a Rand index needs masks"),
        (OSError("the disk is full"), "the disk is full"),
        (FileNotFoundError(2, "No such file", "a.csv"), "a.csv: No such file"),
        (ValueError(), "ValueError"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(fail_with, error, text):
    fail_with(error)
    result = invoke("fail")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {text}\n"
    assert result.stdout == ""


def test_traceback_on_request(fail_with):
    fail_with(ValueError("7 rows, but 8 labels"))
    result = invoke("--traceback", "fail")
    assert isinstance(result.exception, ValueError)
    assert result.exit_code != 0


def test_a_defect_keeps_its_traceback(fail_with):
    fail_with(KeyError("rows"))
    assert isinstance(invoke("fail").exception, KeyError)


def test_an_unknown_command_is_refused():
    result = invoke("comprae")
    assert result.exit_code == 2
    assert "No such command 'comprae'" in result.stderr


def test_warnings_are_one_line(fail_with, monkeypatch, capsys):
    @click.command()
    def warn():
        warnings.warn("column 'age' is constant", UserWarning, stacklevel=1)

    monkeypatch.setattr(module, "warn", warn, raising=False)
    monkeypatch.setitem(COMMANDS, "warn", Subcommand("subscape.cli.main:warn", "Warn."))
    monkeypatch.setattr(sys, "argv", ["subscape", "warn"])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit) as ended:
            module.main()
    assert ended.value.code == 0
    assert capsys.readouterr().err == "Warning: column 'age' is constant\n"


def test_python_m_subscape_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "subscape", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"subscape {__version__} (kernels: {backend.describe()})\n"


def test_a_bad_choice_of_kernels_is_bad_input(monkeypatch):
    monkeypatch.setenv("SUBSCAPE_KERNELS", "fortran")
    done = subprocess.run(
        [sys.executable, "-m", "subscape", "--version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: the environment variable SUBSCAPE_KERNELS is 'fortran'")
