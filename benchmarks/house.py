"""The house in numbers: files, lines, cycles, modules with one importer, crossings of packages.

    python benchmarks/house.py

Prints those lines of the table *Before and after* in `docs/decisions/0010-the-second-tree.md` that
can be counted, for the tree as it is. A crossing is a call from a function of one package to one of
another, each pair of packages counted once, while a small call runs with compiled kernels.
"""

from __future__ import annotations

import ast
import os
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
from tests.test_house import SOURCE, cycles, imports, modules, public_homes, shards


def docstring_lines(tree: ast.AST) -> int:
    """Lines of the docstrings, also of those below attributes."""
    return sum(
        node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str) and node.end_lineno is not None
    )  # fmt: skip


def code_lines(text: str, docstrings: int) -> int:
    """Lines that are neither empty, nor comments, nor docstrings."""
    told = [line.strip() for line in text.splitlines()]
    empty_in_docstrings = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            part = told[node.lineno - 1 : node.end_lineno]
            empty_in_docstrings += sum(not line or line.startswith("#") for line in part)
    plain = sum(bool(line) and not line.startswith("#") for line in told)
    return plain - (docstrings - empty_in_docstrings)


def floors_from_the_top() -> list[str]:
    """The packages, the highest first, as the contract has them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (each["layers"] for each in contract["tool"]["importlinter"]["contracts"]
                 if each["type"] == "layers")  # fmt: skip
    return [name.strip("()") for name in layers]


def crossings(work: Callable[[], Any]) -> tuple[int, int]:
    """Packages on the path of a call, and pairs of them between which functions are called."""
    floors = floors_from_the_top()
    packages: set[str] = set()
    pairs: set[tuple[str, str]] = set()

    def package(frame: FrameType | None) -> str | None:
        if frame is None or not frame.f_code.co_filename.startswith(str(SOURCE) + os.sep):
            return None
        parts = Path(frame.f_code.co_filename).relative_to(SOURCE).parts
        return parts[0] if len(parts) > 1 else None

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        here, before = package(frame), package(frame.f_back)
        if here is not None:
            packages.add(here)
            # What was handed down and is called back is no crossing upwards.
            if before is not None and floors.index(before) < floors.index(here):
                pairs.add((before, here))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(packages), len(pairs)


def main() -> None:
    """Count and print."""
    warnings.simplefilter("ignore")
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules().items()}
    docs = {name: docstring_lines(ast.parse(text)) for name, text in texts.items()}
    code = sum(code_lines(text, docs[name]) for name, text in texts.items())
    total = sum(len(text.splitlines()) for text in texts.values())
    graph = imports(hints=False)
    times = Counter(target for targets in graph.values() for target in targets)
    classes: dict[str, set[str]] = {}
    for name, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, set()).add(name)
    several = [name for name, homes in classes.items() if len(homes) > 1]
    alone = shards()
    print(f"| Python files | {len(texts)} |")
    print(f"| lines (code, docstrings) | {total:,} ({code:,}, {sum(docs.values()):,}) |")
    print(f"| groups of modules that import each other, at run time | {len(cycles(graph))} |")
    print(f"| … with type hints | {len(cycles(imports(hints=True)))} |")
    print(f"| modules with one importer, all | {sum(times[name] == 1 for name in graph)} |")
    lines = sum(len(texts[name].splitlines()) for name in alone)
    print(f"| … that are private and no command (lines) | {len(alone)} ({lines:,}) |")
    private = sum(name.startswith("_") for name in several)
    print(
        f"| class names in two or more modules | {len(several)}, of which {private} are private |"
    )

    from subscape import explore
    from subscape.datasets import planted_axes, planted_views
    from subscape.finders import PROCLUS, NrKMeans
    from subscape.measures import clustering_error

    X, truth = planted_axes(200, 6, n_clusters=3, dims=3, random_state=0)
    other = PROCLUS(3, random_state=0).fit(X).clustering_
    views = planted_views(200, 6, n_clusters=(3, 2), random_state=0).X
    calls: dict[str, Callable[[], Any]] = {
        "`clustering_error`": lambda: clustering_error(truth, other),
        "`PROCLUS.fit`": lambda: PROCLUS(3, random_state=0).fit(X),
        "`NrKMeans.fit`": lambda: NrKMeans((3, 2), random_state=0).fit(views),
        "`explore`": lambda: explore(np.array(X), effort="quick", random_state=0, n_jobs=1),
    }
    for name, work in calls.items():
        work()  # what is loaded when first used is loaded
        print(
            f"| packages on the path of {name} / calls | {' / '.join(map(str, crossings(work)))} |"
        )


if __name__ == "__main__":
    public_homes()
    main()
