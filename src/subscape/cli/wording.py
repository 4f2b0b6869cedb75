"""What messages of the library say of parameters, in the words of the command line."""

from __future__ import annotations

import re

_VALUES = re.compile(r"""\b(delimiter|encoding|decimal|format|mass|overlap|null)=(["'])(.*?)\2""")
_OPEN = re.compile(r"\b(delimiter|encoding|decimal|format)=")
_WORDS = (
    ("pass force=True (--force)", "pass --force"),
    ("header=False", "--no-header"),
    ("pass the table, fit(ensemble, X)", "pass the table, --table FILE"),
    ("n_clusters=", "-k "),
    (
        "restrict() and embed() bring clusterings to one table",
        "In Python, restrict() and embed() bring clusterings to one table",
    ),
)


def as_options(message: str) -> str:
    """A message with options instead of parameters.

    >>> as_options("say delimiter=';', or encoding=…; header=False reads it as data")
    "say --delimiter ';', or --encoding …; --no-header reads it as data"
    >>> as_options('say mass="unit" to scale every subspace to mass 1')
    'say --mass unit to scale every subspace to mass 1'
    """
    for words, instead in _WORDS:
        message = message.replace(words, instead)
    message = _VALUES.sub(_option, message)
    return _OPEN.sub(r"--\1 ", message)


def _option(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    return f"--{name} {value if value.isalnum() else sign + value + sign}"
