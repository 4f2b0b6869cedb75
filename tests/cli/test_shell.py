"""Completion in a shell, and the manual page."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from subscape.cli.main import COMMANDS, cli


def completed(*words):
    """What bash is offered for the last word."""
    line = ["subscape", *words]
    environment = {
        **os.environ,
        "_SUBSCAPE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    code = "from subscape.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return [line.split(",", 1)[1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_every_shell(shell):
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_SUBSCAPE_COMPLETE={shell}_complete" in done.output
    assert "%(" not in done.output


def test_another_shell_is_refused():
    done = CliRunner().invoke(cli, ["completion", "cmd"])
    assert done.exit_code == 2
    assert "'cmd' is not one of 'bash', 'zsh', 'fish'" in done.output


def test_commands_options_and_finders_are_completed():
    assert completed("com") == ["compare", "completion"]
    assert completed("fit", "pro") == ["PROCLUS"]
    assert "--effort" in completed("explore", "--eff")


def manual():
    return CliRunner().invoke(cli, ["man"]).output


def test_the_manual_has_every_command_and_option():
    page = manual()
    context = click.Context(cli)
    for name in COMMANDS:
        assert f'.SS "subscape {name} ' in page
        for parameter in cli.get_command(context, name).params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert max(parameter.opts, key=len).replace("-", r"\-") in page


def test_the_manual_is_made_of_known_macros_only():
    macros = set(re.findall(r"^[.'](\S+)", manual(), re.MULTILINE))
    assert macros == {"TH", "SH", "SS", "B", "PP", "TP", "nf", "fi"}


def test_the_manual_can_be_written_to_a_file(tmp_path):
    done = CliRunner().invoke(cli, ["man", "-o", str(tmp_path / "subscape.1")])
    assert done.exit_code == 0
    assert (tmp_path / "subscape.1").read_text() == manual()


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "subscape", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout == CliRunner().invoke(cli, ["--help"], prog_name="subscape").output
