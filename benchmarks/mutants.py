"""Do the tests notice? Small changes of the code, each with the tests that are about it.

    python benchmarks/mutants.py --packages exploration report --sample 25

Of all places where one of the changes below can be made, a sample is drawn with a fixed seed. Each
is made in a copy of the package, and the tests that are about the changed module are run on it:
its own examples and the tests that name it first, then all tests of its package. A change that all
of them pass survives: either nothing that anybody could notice has changed (write that down in
docs/mutants.md), or a test is missing (write it). Nothing in the working tree is touched.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "subscape"
TESTS = ROOT / "tests"
#: What stands for an outcome that was not waited for.
TIME = "time"
#: What a comparison becomes: the bound itself, or the other way round.
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
EXCHANGED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
OPPOSITE = {"max": "min", "min": "max", "argmax": "argmin", "argmin": "argmax", "any": "all",
            "all": "any", "maximum": "minimum", "minimum": "maximum"}  # fmt: skip


class Mutant(NamedTuple):
    """One change: where, of which kind, and what stands there instead."""

    path: str
    line: int
    start: int
    stop: int
    kind: str
    before: str
    after: str


def places(path: Path) -> list[Mutant]:
    """Every change that can be made in a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    found = []
    for node in _code(ast.parse(text)):
        start = begins[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        stop = begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        before = text.encode()[start:stop].decode()
        for kind, changed in _changes(node):
            after = ast.unparse(changed)
            after = after if isinstance(node, ast.stmt) else f"({after})"
            line = node.lineno  # type: ignore[attr-defined]
            found.append(
                Mutant(str(path.relative_to(SOURCE)), line, start, stop, kind, before, after)
            )
    return found


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Statements and expressions; no hints, no texts, nothing that only type checkers read."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.JoinedStr, ast.Raise)):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == "__repr__":
                continue
            if isinstance(child, (ast.stmt, ast.expr)):
                yield child
            yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    new = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        new.ops[0] = FLIPPED[type(node.ops[0])]()  # type: ignore[attr-defined]
        yield "comparison", new
    elif isinstance(node, ast.BinOp) and type(node.op) in EXCHANGED:
        new.op = EXCHANGED[type(node.op)]()  # type: ignore[attr-defined]
        yield "operator", new
        if isinstance(node.op, (ast.Sub, ast.Div)):
            other = copy.deepcopy(node)
            other.left, other.right = other.right, other.left
            yield "swapped", other
    elif isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()  # type: ignore[attr-defined]
        yield "and, or", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield "no sign", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if isinstance(node.value, int):
            yield "off by one", ast.Constant(node.value + 1)
        if node.value:
            yield "doubled", ast.Constant(node.value * 2)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "other truth", ast.Constant(not node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in OPPOSITE:
            new.func.attr = OPPOSITE[node.func.attr]  # type: ignore[attr-defined]
            yield "opposite", new
        elif isinstance(node.func, ast.Name) and node.func.id in OPPOSITE:
            new.func.id = OPPOSITE[node.func.id]  # type: ignore[attr-defined]
            yield "opposite", new
        if len(node.args) == 2 and not node.keywords and not _has_star(node):
            other = copy.deepcopy(node)
            other.args.reverse()
            yield "swapped", other
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "returns nothing", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and type(node.op) in EXCHANGED:
        new.op = EXCHANGED[type(node.op)]()  # type: ignore[attr-defined]
        yield "operator", new


def _has_star(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


# -- which tests -----------------------------------------------------------------------------------


def tests_of(path: str) -> list[list[str]]:
    """Tests about a module, in the order in which they are asked."""
    parts = Path(path).with_suffix("").parts
    package = parts[0]
    folder = TESTS / package
    files = sorted(folder.rglob("test_*.py")) if folder.is_dir() else []
    files = [file for file in files if "browser" not in file.name]
    dotted = "subscape." + ".".join(parts)
    named = [
        file for file in sorted(TESTS.rglob("test_*.py"))
        if dotted in (text := file.read_text(encoding="utf-8"))
        or f"from .{parts[-1]} import" in text
    ]  # fmt: skip
    likely = [file for file in files if file not in named and parts[-1] in file.stem]
    first = [str(file.relative_to(ROOT)) for file in (*named, *likely)]
    rest = [str(file.relative_to(ROOT)) for file in files if file not in (*named, *likely)]
    return [steps for steps in (["<doctests>", *first], rest) if steps]


class House:
    """A copy of the package in which changes are made."""

    def __init__(self, seconds: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.source = Path(self._folder.name) / "src"
        self.seconds = seconds
        shutil.copytree(
            SOURCE, self.source / "subscape", ignore=shutil.ignore_patterns("__pycache__", "*.c")
        )

    def notices(self, mutant: Mutant, only_first: bool) -> str:
        """What notices a change: the first failing step, a time limit, or nothing ("")."""
        target = self.source / "subscape" / mutant.path
        text = target.read_bytes()
        target.write_bytes(text[: mutant.start] + mutant.after.encode() + text[mutant.stop :])
        try:
            for number, files in enumerate(tests_of(mutant.path)):
                if number and only_first:
                    break
                outcome = self._run([str(target) if f == "<doctests>" else f for f in files])
                if outcome:
                    return outcome
            return ""
        finally:
            target.write_bytes(text)

    def _run(self, files: list[str]) -> str:
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        environment = os.environ | {"PYTHONPATH": str(self.source), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                [*command, "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), *files],
                cwd=ROOT, env=environment, capture_output=True, text=True, timeout=self.seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return TIME
        if done.returncode in (0, 5):  # 5: there are no tests
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0][:160] if failed else f"exit {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    packages = sorted(p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists())
    parser.add_argument("--packages", nargs="+", default=packages, choices=packages)
    parser.add_argument("--sample", type=int, default=60, help="changes in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of a change")
    parser.add_argument("--first", action="store_true", help="only tests that name the module")
    parser.add_argument("--floor", type=float, default=0.0, help="share that must be noticed")
    parser.add_argument("--json", type=Path, help="where to write every change and its outcome")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    found = {
        package: [m for path in sorted((SOURCE / package).rglob("*.py")) for m in places(path)]
        for package in options.packages
    }
    # As many of each package, and none twice on a line.
    drawn: dict[tuple[str, int], Mutant] = {}
    for package, mutants in found.items():
        rng.shuffle(mutants)
        share = -(-options.sample // len(found))
        for mutant in mutants:
            if sum(m.path.startswith(package + os.sep) for m in drawn.values()) >= share:
                break
            drawn.setdefault((mutant.path, mutant.line), mutant)
    sample = list(drawn.values())[: options.sample]
    house = House(options.seconds)
    results = []
    for number, mutant in enumerate(sample, 1):
        began = time.monotonic()
        by = house.notices(mutant, options.first)
        results.append(mutant._asdict() | {"noticed_by": by})
        print(
            f"{number}/{len(sample)} {mutant.path}:{mutant.line} {mutant.kind}: "
            f"{mutant.before[:50]!r} -> {mutant.after[:50]!r}  "
            f"{by or 'SURVIVES'}  {time.monotonic() - began:.0f} s",
            flush=True,
        )
        if options.json is not None:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    # A change that takes too long may never end, or the machine is busy: nobody knows.
    known = [result for result in results if result["noticed_by"] != TIME]
    for package in options.packages:
        own = [result for result in known if result["path"].startswith(package + os.sep)]
        if own:
            print(f"{package}: {sum(bool(r['noticed_by']) for r in own)} of {len(own)} noticed")
    print(f"{len(results) - len(known)} took too long to tell")
    noticed = sum(bool(result["noticed_by"]) for result in known) / max(len(known), 1)
    if noticed < options.floor:
        sys.exit(f"{noticed:.0%} are noticed, less than the floor of {options.floor:.0%}")


if __name__ == "__main__":
    main()
