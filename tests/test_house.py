"""The walls of the house: no cycles, no shards without a name, every promised name, every floor."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "subscape"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Every module of the package by its name."""
    return {name_of(path): path for path in sorted(source.rglob("*.py"))}


@cache
def packages() -> tuple[str, ...]:
    return tuple(name for name, path in modules().items() if path.name == "__init__.py")


def imported(name: str, text: str, *, hints: bool) -> Iterator[str]:
    """What a module imports, anywhere in its text; with ``hints``, for type hints alone, too."""
    is_package = name in packages()
    tree = ast.parse(text)
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded and not hints:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = name.split(".")
                here = here[: len(here) - node.level + is_package]
                base = ".".join([*here, *base.split(".")] if base else here)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def imports(*, hints: bool) -> dict[str, set[str]]:
    """For each module those it imports; packages only pass names on and are left out."""
    known = set(modules()) - set(packages())
    return {
        name: {each for each in imported(name, modules()[name].read_text(), hints=hints)
               if each in known and each != name}
        for name in sorted(known)
    }  # fmt: skip


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, by taking away those that are in no cycle."""
    left = dict(graph)
    while True:
        inner = {name: {each for each in targets if each in left} for name, targets in left.items()}
        reached = set().union(*inner.values()) if inner else set()
        free = [name for name, targets in inner.items() if not targets or name not in reached]
        if not free:
            return _together(inner)
        left = {name: targets for name, targets in inner.items() if name not in free}


def _together(graph: dict[str, set[str]]) -> list[list[str]]:
    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    reached = {name: reach(name) for name in graph}
    groups = {
        tuple(sorted(each for each in reached[name] if name in reached[each]))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


@cache
def public_homes() -> frozenset[str]:
    """Modules whose names a package offers."""
    homes = set()
    for package in packages():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            homes.add(getattr(getattr(module, name), "__module__", None) or "")
    return frozenset(homes)


def shards() -> list[str]:
    """Modules that are imported once, offer nothing to users, and are no command."""
    graph = imports(hints=False)
    times = {name: sum(name in targets for targets in graph.values()) for name in graph}
    return [
        name for name, times_imported in times.items()
        if times_imported == 1 and name not in public_homes()
        and not name.startswith("subscape.cli.")
    ]  # fmt: skip


def named_in(text: str) -> set[str]:
    """Modules that the first column of a table on the page names."""
    cells = re.findall(r"^\| `([^|]*)` \|", text, flags=re.MULTILINE)
    return {f"subscape.{one}" for cell in cells for one in re.split(r"`, `", cell)}


# -- cycles ---------------------------------------------------------------------------------------


def test_cycles_are_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert cycles(graph) == [["a", "b", "c"]]


@pytest.mark.parametrize("hints", [False, True], ids=["run time", "with type hints"])
def test_no_modules_import_each_other(hints):
    assert cycles(imports(hints=hints)) == []


# -- shards ---------------------------------------------------------------------------------------


def test_modules_with_one_importer_are_concepts_of_the_architecture():
    missing = sorted(set(shards()) - named_in(ARCHITECTURE.read_text()))
    assert missing == [], (
        "join them to their importer, or say what they are in docs/architecture.md"
    )


def test_the_architecture_names_modules_that_are_there():
    gone = named_in(ARCHITECTURE.read_text()) - set(modules())
    assert gone == set()


def test_the_architecture_has_every_package():
    text = ARCHITECTURE.read_text()
    top = {name.split(".")[1] for name in packages() if name.count(".") == 1}
    assert {name for name in top if f"\n{name}/" not in text} == set()


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", packages())
def test_every_exported_name_is_there(package):
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
        assert name in dir(module)


@pytest.mark.parametrize("package", packages())
def test_every_exported_name_says_what_it_is(package):
    module = importlib.import_module(package)
    offered = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    assert [name for name, one in offered.items() if callable(one) and not one.__doc__] == []


@pytest.mark.parametrize("package", ["testing", "finders", "exploration", "runs", "plots"])
def test_packages_are_there_after_importing_subscape(package):
    # In a fresh interpreter: here others have imported it long ago.
    code = f"import subscape; assert subscape.{package}.__name__ == 'subscape.{package}'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_hides_a_function_of_its_package():
    hidden = [
        f"{package}.{name}"
        for package in packages()
        for name in getattr(importlib.import_module(package), "__all__", ())
        if f"{package}.{name}" in modules()
    ]
    assert hidden == []


# -- floors ---------------------------------------------------------------------------------------


def test_every_floor_is_in_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [contract] = settings["contracts"]
    floors = {layer.strip("()") for layer in contract["layers"]}
    there = {name.split(".")[1] for name in modules() if "." in name}
    assert contract["type"] == "layers" and contract["exhaustive"]
    assert "ignore_imports" not in contract
    assert floors == there
