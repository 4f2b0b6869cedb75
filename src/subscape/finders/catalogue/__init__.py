"""The one catalogue of all finders, also of views, alternatives, consensus methods and baselines.

What commands, the portfolio of the main job, the page's references, the generated checks and the
docs know about finders, they read here; nothing else lists them. Classes are loaded when first
asked for, so that entries may describe those of higher floors, and of other packages.
"""

from __future__ import annotations

import difflib
from typing import Any

from subscape.core.errors import SubscapeError

from .axis import AXIS
from .baselines import BASELINES
from .consensus import CONSENSUS
from .entry import Entry
from .oriented import COCLUSTER, ORIENTED, WEIGHTED
from .rows import CLASSES, DENSITY
from .several import ALTERNATIVES, VIEWS

__all__ = ["CATALOGUE", "ROLES", "Entry", "entry_of", "find", "of_role"]

#: Role -> what its members are called, and the command that runs them.
ROLES = {
    "finder": ("a finder", "subscape fit"),
    "views": ("a finder of several views", "subscape fit"),
    "alternative": ("a finder of alternatives", "subscape alternatives"),
    "consensus": ("a consensus method", "subscape consensus"),
    "baseline": ("a baseline of scikit-learn", "subscape explore"),
}

#: Name -> entry; of each role the usual choice, or the alphabet, first.
CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entries in (
        AXIS, WEIGHTED, ORIENTED, COCLUSTER, CLASSES, DENSITY, VIEWS, ALTERNATIVES, CONSENSUS,
        BASELINES,
    )
    for entry in entries
}  # fmt: skip


def of_role(*roles: str) -> dict[str, Entry]:
    """Entries of these roles by name.

    >>> list(of_role("views"))
    ['AutoNR', 'NrKMeans']
    """
    return {name: entry for name, entry in CATALOGUE.items() if entry.role in roles}


def find(name: str, *roles: str) -> Entry:
    """The entry of a finder, whatever the case of the letters.

    Parameters
    ----------
    name : str
    *roles : str
        Entries of other roles are refused. None: all are welcome.

    Examples
    --------
    >>> find("itcc").kind
    'cocluster'
    """
    welcome = of_role(*(roles or ROLES))
    by_letters = {key.lower(): entry for key, entry in CATALOGUE.items()}
    entry = by_letters.get(name.lower())
    if entry is None:
        close = difflib.get_close_matches(name.lower(), map(str.lower, welcome), n=1)
        hint = f" Did you mean {by_letters[close[0]].name}?" if close else ""
        raise SubscapeError(
            f"unknown finder {name!r}.{hint} Known are: {', '.join(sorted(welcome))}"
        )
    if entry.name not in welcome:
        what, command = ROLES[entry.role]
        raise SubscapeError(f"{entry.name} is {what}; '{command}' runs it")
    return entry


def entry_of(cls: Any) -> Entry:
    """The entry of a class, or of the nearest class that it extends.

    >>> from subscape.finders import FastDOC
    >>> entry_of(FastDOC).name
    'FastDOC'
    """
    for base in cls.__mro__:
        entry = CATALOGUE.get(base.__name__)
        if entry is not None and base.__module__.startswith(entry.home):
            return entry
    raise SubscapeError(f"{cls.__name__} is not in the catalogue, so its paper is not known")
