"""Names of a package that are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package needs to offer names without importing their modules.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    homes : mapping from module to names
        Modules relative to the package, each with its names, separated by blanks.
    modules : names
        Modules of the package that are there without being imported by the user.

    Returns
    -------
    tuple
        The package's ``__getattr__``, ``__dir__`` and ``__all__``.

    Examples
    --------
    >>> get, names, public = lazy_names("os", {"path": "join split"})
    >>> get("join")("a", "b") in ("a/b", "a\\\\b"), public
    (True, ['join', 'split'])
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *home, *modules})

    return load, names, sorted(home)
