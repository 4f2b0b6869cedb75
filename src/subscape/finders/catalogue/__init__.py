"""The one catalogue of all finders, also of views, alternatives, consensus methods and baselines.

What commands, the portfolio of the main job, the page's references, the generated checks and the
docs know about finders, they read here; nothing else lists them. Classes are loaded when first
asked for, so that entries may describe those of higher floors, and of other packages. Packages that
are installed add theirs by entry points (:mod:`subscape.core.plugins`); they are found, listed
and run like ours.
"""

from __future__ import annotations

import difflib
from typing import Any

from subscape.core.errors import SubscapeError
from subscape.core.plugins import plugins

from .axis import AXIS
from .baselines import BASELINES
from .consensus import CONSENSUS
from .entry import Entry
from .mixtures import MIXTURES
from .oriented import COCLUSTER, ORIENTED, WEIGHTED
from .rows import CLASSES, DENSITY
from .selfexpression import SELF_EXPRESSION
from .trial import EFFORTS, Trial
from .views import ALTERNATIVES, VIEWS

__all__ = [
    "CATALOGUE",
    "EFFORTS",
    "ROLES",
    "Entry",
    "Trial",
    "entry_of",
    "everything",
    "find",
    "of_role",
    "select",
    "tried_in",
]

#: Role -> what its members are called, and the command that runs them.
ROLES = {
    "finder": ("a finder", "subscape fit"),
    "views": ("a finder of several views", "subscape fit"),
    "alternative": ("a finder of alternatives", "subscape alternatives"),
    "consensus": ("a consensus method", "subscape consensus"),
    "baseline": ("a baseline of scikit-learn", "subscape explore"),
}

#: Name -> entry of ours; of each role the usual choice, or the alphabet, first.
CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entries in (
        AXIS, WEIGHTED, ORIENTED, SELF_EXPRESSION, MIXTURES, COCLUSTER, CLASSES, DENSITY,
        VIEWS, ALTERNATIVES, CONSENSUS, BASELINES,
    )
    for entry in entries
}  # fmt: skip


def everything() -> dict[str, Entry]:
    """All entries by name: ours, then those that installed packages add.

    Returns
    -------
    dict

    See Also
    --------
    select : Those with certain tags.
    of_role : Those of a role.

    Examples
    --------
    >>> list(everything())[0]
    'CLIQUE'
    """
    return {**CATALOGUE, **plugins("subscape.finders", Entry, CATALOGUE)}


def select(**tags: Any) -> dict[str, Entry]:
    """Entries whose tags are these, by name.

    Parameters
    ----------
    **tags
        Attributes of :class:`Entry` with the value wanted: ``role``, ``kind``, ``overlapping``,
        ``partitions``, ``missing``, ``nominal``, ``sparse``, ``predict``, ``random``, ``needs_k``.
        Of ``role`` and ``kind`` several will do; of ``needs`` and ``takes``, one member.

    Returns
    -------
    dict

    See Also
    --------
    find : By name.
    of_role : By role.

    Examples
    --------
    Which finders take a table with gaps, and need not be told how many clusters there are?

    >>> "DOC" in select(role="finder", missing=True, needs_k=False)
    True
    >>> all(entry.load() for entry in select(kind=("oriented", "weighted"), predict=True).values())
    True
    """
    known = {*Entry.__dataclass_fields__, "needs_k"} - {"name", "sentence", "exclusions", "trials"}
    for tag in tags:
        if tag not in known:
            raise SubscapeError(
                f"finders have no tag {tag!r}; they have {', '.join(sorted(known))}"
            )

    def fits(entry: Entry, tag: str, wanted: Any) -> bool:
        value = getattr(entry, tag)
        if tag in ("needs", "takes"):
            return wanted in value
        return value in wanted if isinstance(wanted, (tuple, list, set)) else value == wanted

    return {
        name: entry
        for name, entry in everything().items()
        if all(fits(entry, tag, wanted) for tag, wanted in tags.items())
    }


def of_role(*roles: str) -> dict[str, Entry]:
    """Entries of these roles by name.

    Returns
    -------
    dict of str to Entry
        In the order of the catalogue.

    See Also
    --------
    select : By any tag.

    Examples
    --------
    >>> list(of_role("views"))
    ['AutoNR', 'NrKMeans']
    """
    return {name: entry for name, entry in everything().items() if entry.role in roles}


def tried_in(rung: str) -> list[tuple[Entry, Trial]]:
    """The finders that ``explore`` tries in a rung of its plan, in their order, and how.

    Returns
    -------
    list of (Entry, Trial)

    See Also
    --------
    subscape.exploration.make_plan : The whole plan.

    Examples
    --------
    >>> [entry.name for entry, trial in tried_in("oriented")]
    ['KFlats', 'ORCLUS', 'COPAC', 'LMCLUS']
    """
    tried = [
        (entry, trial)
        for entry in everything().values()
        for trial in entry.trials
        if trial.rung == rung
    ]
    return sorted(tried, key=lambda each: each[1].rank)


def find(name: str, *roles: str) -> Entry:
    """The entry of a finder, whatever the case of the letters.

    Parameters
    ----------
    name : str
    *roles : str
        Entries of other roles are refused. None: all are welcome.

    Returns
    -------
    Entry
        A name that is none is refused with the one that may have been meant.

    See Also
    --------
    select : Entries by their tags.
    entry_of : By class.

    Examples
    --------
    >>> find("itcc").kind
    'cocluster'
    """
    welcome = of_role(*(roles or ROLES))
    by_letters = {key.lower(): entry for key, entry in everything().items()}
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

    Returns
    -------
    Entry

    See Also
    --------
    find : By name.

    Examples
    --------
    >>> from subscape.finders import FastDOC
    >>> entry_of(FastDOC).name
    'FastDOC'
    """
    known = everything()
    for base in cls.__mro__:
        entry = known.get(base.__name__)
        if entry is not None and base.__module__.startswith(entry.home):
            return entry
    raise SubscapeError(f"{cls.__name__} is not in the catalogue, so its paper is not known")
