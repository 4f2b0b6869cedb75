"""``subscape man``: the manual page, made of the help of all commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from subscape.version import __version__

EPILOG = """\b
Examples:
  subscape man | man -l -
  subscape man -o /usr/local/share/man/man1/subscape.1
"""


@click.command(epilog=EPILOG)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="A file instead of the terminal."
)
def man(output: str | None) -> None:
    """Print the manual page of all commands, for the program man."""
    from subscape.cli.main import cli

    page = manual(cli)
    if output is None:
        click.echo(page, nl=False)
    else:
        Path(output).write_text(page, encoding="utf-8")
        click.echo(f"written to {output}")


def manual(group: click.Group) -> str:
    """The page in the macros of man.

    Parameters
    ----------
    group : click.Group
        The command with its subcommands.

    Returns
    -------
    str
    """
    context = click.Context(group, info_name="subscape")
    lines = [
        f'.TH SUBSCAPE 1 "" "subscape {__version__}" "User Commands"',
        ".SH NAME",
        f"subscape \\- {troff(sentence(group).rstrip('.').lower())}",
        ".SH SYNOPSIS",
        ".B subscape",
        r"\fICOMMAND\fR [\fIOPTIONS\fR] \&...",
        ".SH DESCRIPTION",
        *paragraphs(group.help or ""),
        ".SH OPTIONS",
        *options(group, context),
        ".SH COMMANDS",
    ]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join(command.collect_usage_pieces(inner))
        lines += [f'.SS "subscape {name} {troff(usage)}"', *paragraphs(command.help or "")]
        lines += options(command, inner)
        lines += paragraphs(command.epilog or "")
    lines += [
        ".SH EXIT STATUS",
        "0 if all went well, 2 if the input or an option can't be used; the reason stands in one "
        "line on standard error.",
        ".SH ENVIRONMENT",
        ".TP",
        ".B SUBSCAPE_KERNELS",
        r"\&numpy, cython or auto: which kernels run.",
    ]
    return "\n".join(lines) + "\n"


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """One paragraph per option."""
    for parameter in command.get_params(context):
        record: Any = parameter.get_help_record(context)
        if record is None:
            continue
        names, text = record
        if text:  # arguments have none; the usage names them
            yield from (".TP", f".B {troff(names)}", troff(" ".join(text.split())))


def paragraphs(text: str) -> Iterator[str]:
    """A help text; what stands after ``\\b`` keeps its lines."""
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith("\b"):
            rest = block.lstrip().removeprefix("\b").strip("\n").splitlines()
            yield from (".PP", ".nf", *(troff(line) for line in rest), ".fi")
        elif block.strip():
            yield from (".PP", troff(" ".join(block.split())))


def sentence(command: click.Command) -> str:
    """The first sentence of the help."""
    return (command.help or "").strip().split("\n")[0]


def troff(text: str) -> str:
    """Text without the signs that steer troff.

    >>> troff("-k 4 (see a\\\\b)")
    '\\\\-k 4 (see a\\\\eb)'
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
