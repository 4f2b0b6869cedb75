"""What other packages add without a fork: finders and measures, by entry points.

A package that depends on Subscape names what it adds in its ``pyproject.toml``, and that is all::

    [project.entry-points."subscape.finders"]
    MyFinder = "my_package.finders:ENTRY"       # a subscape.finders.catalogue.Entry

    [project.entry-points."subscape.measures"]
    my_measure = "my_package.measures:ENTRY"    # a subscape.measures.registry.Measure
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["PluginWarning", "plugins"]


class PluginWarning(UserWarning):
    """Something that another package adds can't be used."""


def plugins(group: str, kind: type[T], taken: Iterable[str] = ()) -> dict[str, T]:
    """What installed packages add to a group, by name; what is wrong with one is warned of once.

    Parameters
    ----------
    group : {"subscape.finders", "subscape.measures"}
    kind : type
        What an entry point must lead to; it has a ``name``.
    taken : names that can't be had, because they are ours

    Returns
    -------
    dict

    See Also
    --------
    subscape.finders.catalogue.everything : All finders, those of other packages too.

    Examples
    --------
    >>> from subscape.core.plugins import plugins
    >>> plugins("subscape.finders.nobody_adds_to_this", object)
    {}
    """
    wanted: Any = kind
    return dict(_loaded(group, wanted, frozenset(taken)))


@functools.cache
def _loaded(group: str, kind: type, taken: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=group), key=lambda each: (each.name, _giver(each))):
        try:
            entry = point.load()
        # Whatever an import of somebody else's module may raise: ours goes on without it.
        except Exception as error:
            _refuse(point, f"it can't be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(entry, kind):
            what = f"{kind.__module__}.{kind.__qualname__}"
            _refuse(point, f"it leads to a {type(entry).__name__} and not to a {what}")
            continue
        name = str(getattr(entry, "name", point.name))
        if name.lower() in {each.lower() for each in (*taken, *found)}:
            _refuse(point, f"the name {name} is taken")
            continue
        found[name] = entry
    return found


def _giver(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"


def _refuse(point: EntryPoint, why: str) -> None:
    warnings.warn(
        f"{point.name} of {_giver(point)} ({point.group}) is left out: {why}",
        PluginWarning,
        stacklevel=4,
    )
