"""Options for text files whose delimiter, encoding or header are not what would be detected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " ", "\\t": "\t"}


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in (
        click.option("--no-header", is_flag=True,
                     help="The first line of a text file is data, not names."),
        click.option("--decimal", type=click.Choice([".", ","]),
                     help="Decimal sign of a text file, if not as detected."),
        click.option("--encoding", help="Encoding of a text file, if not as detected."),
        click.option("--delimiter", metavar="SIGN",
                     help="Delimiter of a text file, if not as detected: a sign, or comma, "
                     "semicolon, tab, pipe, blank."),
    ):  # fmt: skip
        command = option(command)
    return command


def of_text(options: Mapping[str, Any]) -> dict[str, Any]:
    """These options as :meth:`subscape.Table.read` takes them.

    >>> of_text({"delimiter": "tab", "encoding": None, "decimal": None, "no_header": True})
    {'delimiter': '\\t', 'encoding': None, 'decimal': None, 'header': False}
    """
    delimiter = options["delimiter"]
    return {
        "delimiter": _NAMES.get(delimiter, delimiter),
        "encoding": options["encoding"],
        "decimal": options["decimal"],
        "header": False if options["no_header"] else None,
    }
