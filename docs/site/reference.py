"""The reference: a page for every public name, made of the ``__all__`` of every public package."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import subscape
from subscape.finders.catalogue import CATALOGUE

#: Packages in the order of the page; a new one is listed at the end by itself.
ORDER = (
    "subscape", "subscape.exploration", "subscape.finders", "subscape.finders.catalogue", "subscape.measures",
    "subscape.validation", "subscape.ensemble", "subscape.plots", "subscape.report", "subscape.datasets",
    "subscape.tables", "subscape.files", "subscape.core", "subscape.core.plugins", "subscape.runs", "subscape.tl",
    "subscape.pl", "subscape.testing",
)  # fmt: skip
#: Guides of packages, for their pages.
GUIDES = {
    "subscape.exploration": "docs/explore", "subscape.finders": "docs/which",
    "subscape.finders.catalogue": "docs/catalogue", "subscape.measures": "docs/measures/subspaces",
    "subscape.validation": "docs/validation/significance", "subscape.ensemble": "docs/ensemble",
    "subscape.datasets": "docs/datasets", "subscape.tables": "docs/table", "subscape.files": "docs/files",
    "subscape.report": "docs/page", "subscape.core.plugins": "docs/plugins", "subscape.runs": "docs/scale",
}  # fmt: skip


def packages() -> list[str]:
    """The public packages: those with an ``__all__``."""
    names = ["subscape", *(f"subscape.{name}" for name in subscape._SUBMODULES)]
    public = [name for name in names if getattr(importlib.import_module(name), "__all__", None)]
    return [*ORDER, *(name for name in public if name not in ORDER)]


def names_of(package: str) -> list[str]:
    """Public names of a package that are no modules and no dunders."""
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if not name.startswith("__")]
    return sorted(
        (name for name in names if not isinstance(getattr(module, name), ModuleType)), key=str.lower
    )


def everything() -> dict[str, Any]:
    """Full name -> object, of all that is public."""
    return {
        f"{package}.{name}": getattr(importlib.import_module(package), name)
        for package in packages()
        for name in names_of(package)
    }


def write(folder: Path) -> None:
    """Write the reference."""
    folder.mkdir(parents=True)
    listed = "\n   ".join(packages())
    folder.joinpath("index.rst").write_text(
        "API reference\n=============\n\nEvery public name. What is not listed here may change at any time "
        "(:doc:`/docs/project/deprecation`).\n\n.. toctree::\n   :hidden:\n\n   " + listed + "\n\n"
        + "\n".join(_lines(package) for package in packages())
    )  # fmt: skip
    for package in packages():
        folder.joinpath(f"{package}.rst").write_text(_package(package))
        for name in names_of(package):
            folder.joinpath(f"{package}.{name}.rst").write_text(_page(package, name))


def _lines(package: str) -> str:
    links = " · ".join(f":doc:`{name} <{package}.{name}>`" for name in names_of(package))
    return f":doc:`{package} <{package}>`\n   {links}\n"


def _package(package: str) -> str:
    names = names_of(package)
    guide = f"The guide: :doc:`/{GUIDES[package]}`.\n\n" if package in GUIDES else ""
    rows = "\n".join(
        f"   * - :doc:`{name} <{package}.{name}>`\n     - {_first(getattr(importlib.import_module(package), name))}"
        for name in names
    )
    hidden = "\n   ".join(f"{package}.{name}" for name in names)
    return (
        f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n   :no-index:\n   :no-members:\n\n{guide}"
        f".. list-table::\n   :widths: 30 70\n\n{rows}\n\n.. toctree::\n   :hidden:\n\n   {hidden}\n"
    )


def _page(package: str, name: str) -> str:
    value = getattr(importlib.import_module(package), name)
    full = f"{package}.{name}"
    head = f"{name}\n{'=' * len(name)}\n\n"
    # What two packages offer is indexed once.
    again = "   :no-index:\n" if full != first_home(value, full) else ""
    if inspect.isclass(value):
        body = f".. autoclass:: {full}\n{again}   :members:\n   :inherited-members: {_library_bases(value)}\n"
    elif callable(value):
        body = f".. autofunction:: {full}\n{again}"
    else:
        body = f".. py:data:: {full}\n\n   {_constant(package, name)}\n"
    return head + body + _see_also(package, name) + _gallery(full, value)


@functools.cache
def _homes() -> dict[int, str]:
    homes: dict[int, str] = {}
    for full, value in everything().items():
        homes.setdefault(id(value), full)
    return homes


def first_home(value: Any, full: str) -> str:
    """The first full name that something is offered under."""
    return _homes().get(id(value), full)


def _library_bases(cls: type) -> str:
    """Bases whose members are not repeated: those of other packages."""
    outside = [base.__name__ for base in cls.__mro__ if not base.__module__.startswith("subscape")]
    return ", ".join(dict.fromkeys(outside))


def _constant(package: str, name: str) -> str:
    value = getattr(importlib.import_module(package), name)
    size = f" with {len(value)} entries" if hasattr(value, "__len__") else ""
    return f"A {type(value).__name__}{size}."


def _first(value: Any) -> str:
    """The first sentence of a docstring, as plain text of a table's cell."""
    text = inspect.getdoc(value) if callable(value) else None
    plain = re.sub(r"\s*\[\d+\]_", "", " ".join((text or "").split("\n\n")[0].split()))
    return plain or "A constant."


def _see_also(package: str, name: str) -> str:
    """Guide and neighbours: those of the same module, or finders of the same kind."""
    entry = CATALOGUE.get(name) if package in ("subscape.finders", "subscape.ensemble") else None
    others = names_of(package)
    if entry is not None:
        near = [
            other
            for other in others
            if other != name
            and other in CATALOGUE
            and (CATALOGUE[other].role, CATALOGUE[other].kind) == (entry.role, entry.kind)
        ]
    else:
        home = getattr(getattr(importlib.import_module(package), name), "__module__", None)
        near = [
            other
            for other in others
            if other != name
            and getattr(getattr(importlib.import_module(package), other), "__module__", "") == home
        ]
    links = [f":doc:`{other} <{package}.{other}>`" for other in near[:12]]
    links.append(f"all of :doc:`{package} <{package}>`")
    guide = guide_of(name) or GUIDES.get(package)
    if guide:
        links.insert(0, f"the guide (:doc:`/{guide}`)")
    return f"\n.. rst-class:: beside\n\nSee also: {', '.join(links)}\n"


def guide_of(name: str) -> str | None:
    """The guide page of a finder."""
    docs = Path(__file__).parents[1]
    wanted = {"FastDOC": "doc"}.get(name, name.lower())
    for guide in sorted([*docs.glob("finders/*.md"), *docs.glob("alternatives/*.md")]):
        if guide.stem.replace("_", "") == wanted:
            return f"docs/{guide.parent.name}/{guide.stem}"
    return None


def _gallery(full: str, value: Any) -> str:
    if not callable(value):
        return ""
    return f"\n.. minigallery:: {full}\n   :add-heading: Examples that use it\n"
