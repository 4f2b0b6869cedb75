"""What messages of the library say of parameters, in the words of the command line."""

from __future__ import annotations

import re

_VALUES = re.compile(r"""\b(delimiter|encoding|decimal|format|mass|overlap|null)=(["'])(.*?)\2""")
_MISSING = re.compile(r"\bmissing=(-?\d\S*)")
_OPEN = re.compile(r"\b(delimiter|encoding|decimal|format)=")
_WORDS = (
    ("pass force=True (--force)", "pass --force"),
    ("header=False", "--no-header"),
    ("header=True", "--header"),
    ("ragged='pad'", "--ragged pad"),
    ("limits=Limits.lifted()", "--trusted"),
    ("by limits=Limits(columns=…)", "by --trusted"),
    ("by limits=Limits(line=…)", "by --trusted"),
    ("(sheet=…)", "(--sheet)"),
    ("(columns=…)", "(--columns)"),
    ("(roles=…, --columns)", "(--columns)"),
    ("(layer=…)", "(--layer)"),
    ("(normalize='none' leaves them)", "(--normalize none leaves them)"),
    ("normalize='log'", "--normalize log"),
    ("hvg=2000", "--hvg 2000"),
    ("leave out normalize and hvg, or use_rep", "leave out --normalize and --hvg, or --use-rep"),
    ("give layer or use_rep", "give --layer or --use-rep"),
    ("layer and use_rep are for", "--layer and --use-rep are for"),
    ("pass the table, fit(ensemble, X)", "pass the table, --table FILE"),
    (
        "restrict() and embed() bring clusterings to one table",
        "In Python, restrict() and embed() bring clusterings to one table",
    ),
)


def as_options(message: str, command: str = "") -> str:
    """A message with options instead of parameters, as the command has them.

    >>> as_options("say delimiter=';', or encoding=…; header=False reads it as data")
    "say --delimiter ';', or --encoding …; --no-header reads it as data"
    >>> as_options('say mass="unit" to scale every subspace to mass 1')
    'say --mass unit to scale every subspace to mass 1'
    >>> as_options("n_clusters=9 is more than 5", "consensus")
    '-k 9 is more than 5'
    """
    if command == "consensus":  # elsewhere it is given by that name, as -p n_clusters=9
        message = message.replace("n_clusters=", "-k ")
    for words, instead in _WORDS:
        message = message.replace(words, instead)
    message = _MISSING.sub(r"--na \1", _VALUES.sub(_option, message))
    return _OPEN.sub(r"--\1 ", message)


def _option(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    return f"--{name} {value if value.isalnum() else sign + value + sign}"
