"""Do the tests notice? Small changes of the code, each with the tests that are about it.

    python benchmarks/mutants.py --packages exploration report --sample 25

Of all places where one of the changes below can be made, a sample is drawn with a fixed seed. Each
is made in a copy of the tree, and tests are run on it until one fails: those that call the changed
function, quick ones first, of each kind a few (benchmarks/results/calls.json, which `make calls`
renews; tests that it doesn't know are run once before), then the golden record, then others of
their files and of those that name the module, as long as the time allows. A change that all of them
pass survives: either nothing that anybody could notice has changed (write that down in
docs/mutants.md), or a test is missing (write it). Nothing in the working tree is touched. Every run
is forked from a process that has loaded NumPy, SciPy and scikit-learn already.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import functools
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from called import is_about, is_of_package, various
from in_memory import ENDLESS, NOT_IN_MEMORY, Quick

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "subscape"
TESTS = ROOT / "tests"
#: Which tests call what, as benchmarks/called.py wrote it last.
CALLED = ROOT / "benchmarks" / "results" / "calls.json"
#: What stands for an outcome that was not waited for: the machine may be busy.
TIME = "time"
#: What pytest says where even the fixtures cannot be loaded.
BROKEN = "ImportError while loading conftest"
#: The golden record compares all of a result to the bit: asked before other tests that take longer.
GOLDEN = "tests/golden/"
QUICK, OWN_QUICK = 0.1, 0.5
#: Tests that are asked in memory take no longer, each and all together.
LONGEST_IN_MEMORY, ALL_IN_MEMORY = 2.0, 6.0
#: More tests than these that have the name of what is changed say nothing by it.
MOST_NAMED = 100
#: Tests that are asked whatever time they take; the first one of a file pays for its fixtures.
FEWEST_ASKED = 5
#: Loaded once, for all runs.
LOADED = ("numpy", "scipy.stats", "scipy.optimize", "scipy.cluster.hierarchy", "sklearn.cluster",
          "sklearn.mixture", "sklearn.utils.estimator_checks", "pyarrow.csv",
          "pyarrow.parquet", "pandas", "hypothesis", "pytest", "click.testing")  # fmt: skip
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
#: What makes a change the same one, wherever it stands.
SAME = ("function", "kind", "before", "after")
#: Calls whose two arguments may change places.
SYMMETRIC = {"max", "min", "maximum", "minimum", "fmax", "fmin", "array_equal", "isclose", "gcd",
             "hypot", "logaddexp", "logical_and", "logical_or", "is_version"}  # fmt: skip


#: Calls to which a number and its opposite are the same.
EVEN = {"abs", "fabs", "square", "norm", "cos"}


class Mutant(NamedTuple):
    """One change: where, of which kind, and what stands there instead."""

    path: str
    function: str
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
    for node, function in _code(ast.parse(text)):
        start = begins[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        stop = begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        before = text.encode()[start:stop].decode()
        for kind, changed in _changes(node):
            after = ast.unparse(changed)
            after = after if isinstance(node, ast.stmt) else f"({after})"
            line = node.lineno  # type: ignore[attr-defined]
            where = str(path.relative_to(SOURCE))
            found.append(Mutant(where, function, line, start, stop, kind, before, after))
    return found


def _code(tree: ast.AST, scope: str = "", inside: bool = False) -> Iterator[tuple[ast.AST, str]]:
    """Statements and expressions, each with the function that it is in.

    No hints, no texts, nothing that only type checkers read.
    """
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not inside:
        scope = f"{scope}.{tree.name}".lstrip(".")
        inside = not isinstance(tree, ast.ClassDef)
    # What only checks, or only says which line a warning points at.
    if isinstance(tree, ast.keyword) and tree.arg in ("strict", "stacklevel"):
        return
    if isinstance(tree, ast.Call) and tree.args and _name(tree) in EVEN:
        # Of a difference only its size counts there.
        tree.args[0].is_even = isinstance(getattr(tree.args[0], "op", None), ast.Sub)  # type: ignore[attr-defined]
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
                yield child, scope if inside else ""
            yield from _code(child, scope, inside)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    new = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        new.ops[0] = FLIPPED[type(node.ops[0])]()  # type: ignore[attr-defined]
        yield "comparison", new
    elif isinstance(node, ast.BinOp) and type(node.op) in EXCHANGED:
        new.op = EXCHANGED[type(node.op)]()  # type: ignore[attr-defined]
        yield "operator", new
        differ = ast.dump(node.left) != ast.dump(node.right)
        if differ and type(node.op) in (ast.Sub, ast.Div) and not getattr(node, "is_even", False):
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
        name = _name(node)
        swaps = len(node.args) == 2 and not node.keywords and not _has_star(node)
        if swaps and name not in SYMMETRIC and ast.dump(node.args[0]) != ast.dump(node.args[1]):
            other = copy.deepcopy(node)
            other.args.reverse()
            yield "swapped", other
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not _is_no(node.value):
        yield "returns nothing", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and type(node.op) in EXCHANGED:
        new.op = EXCHANGED[type(node.op)]()  # type: ignore[attr-defined]
        yield "operator", new


def _name(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _is_no(node: ast.expr) -> bool:
    """Nothing, or False, which to whoever asks is the same answer."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _has_star(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


# -- which tests -----------------------------------------------------------------------------------


class Calls:
    """Which tests call a function, from what `benchmarks/called.py` wrote."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self.of: dict[str, set[str]] = {}
        for path in paths:
            content = json.loads(path.read_text(encoding="utf-8"))
            names = content["tests"]
            self.seconds.update(zip(names, content["seconds"], strict=True))
            for function, numbers in content["called"].items():
                self.of.setdefault(function, set()).update(names[i] for i in numbers)

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that may notice a change, in the order in which they are asked."""
        prefix = f"{mutant.path}:"
        if mutant.function:
            first = self.of.get(prefix + mutant.function, set())
        else:  # a constant: whatever is of the same module
            own = (tests for key, tests in self.of.items() if key.startswith(prefix))
            first = set().union(*own)
        names = names_of(mutant)
        named = {test for test in self.seconds if mentions(test, names)}
        if len(named) > MOST_NAMED:  # a word such as "fit" says nothing
            named &= first
        files = {test.partition("::")[0] for test in first} | set(_naming(mutant.path))
        rest = {test for test in self.seconds if test.partition("::")[0] in files}
        if not mutant.function:
            first = first | rest
        listed = self._telling_first(various(first | named, self.seconds), mutant.path, named)
        return [*listed, *various(rest - first - named, self.seconds)]

    def _telling_first(self, tests: list[str], path: str, named: set[str]) -> list[str]:
        """Those that name what is changed or are about its module, quick ones first.

        Then quick ones of its package, any others, the golden record, and all that take longer.
        """

        def rank(test: str) -> int:
            file, is_quick = test.partition("::")[0], self.seconds[test] < OWN_QUICK
            if test in named and is_quick:
                return 0
            if is_quick and is_about(file, path):
                return 1
            if test in named:
                return 2
            if self.seconds[test] < QUICK:
                return 3 if is_of_package(file, path) else 4
            return 5 if test.startswith(GOLDEN) else 6

        return sorted(tests, key=rank)

    def add(self, other: Calls) -> None:
        """Tests that were not known."""
        self.seconds |= other.seconds
        for function, tests in other.of.items():
            self.of.setdefault(function, set()).update(tests)

    def keep(self, there: set[str]) -> None:
        """Forget all other tests."""
        self.seconds = {test: each for test, each in self.seconds.items() if test in there}
        self.of = {function: tests & there for function, tests in self.of.items()}


def names_of(mutant: Mutant) -> set[str]:
    """What a test would call it: the constant that is changed, or the function."""
    if mutant.function:
        own = mutant.function.split(".")
        return {own[-2] if own[-1].startswith("__") and len(own) > 1 else own[-1]}
    tree = ast.parse((SOURCE / mutant.path).read_text(encoding="utf-8"))
    return {
        target.id for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)
        if node.lineno <= mutant.line <= (node.end_lineno or 0)
        for whole in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(whole) if isinstance(target, ast.Name)
    }  # fmt: skip


def mentions(test: str, names: set[str]) -> bool:
    """Whether the text of a test has one of some names."""
    file, _, name = test.partition("[")[0].partition("::")
    return bool(names & _words_of_tests(file).get(name, set()))


@functools.cache
def _words_of_tests(file: str) -> dict[str, set[str]]:
    """All words in the text of each test of a file."""
    path = ROOT / file
    if not file.startswith("tests/") or not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            if isinstance(each, ast.FunctionDef):
                prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
                own = lines[each.lineno - 1 : each.end_lineno]
                found[prefix + each.name] = set(re.findall(r"\w+", "\n".join(own)))
    return found


def _naming(path: str) -> list[str]:
    """The module itself, whose examples are tests, and the files of tests that name it."""
    parts = Path(path).with_suffix("").parts
    dotted = "subscape." + ".".join(parts)
    named = [
        str(file.relative_to(ROOT)) for file in sorted(TESTS.rglob("test_*.py"))
        if dotted in file.read_text(encoding="utf-8")
        or is_about(str(file.relative_to(ROOT)), path)
    ]  # fmt: skip
    return [f"src/subscape/{path}", *named]


class House:
    """A copy of the tree in which changes are made."""

    def __init__(self, calls: Calls, seconds: float, way: str = "both") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name)
        self.calls = calls
        self.seconds = seconds
        #: Changes in memory, in files, or in files where nothing in memory noticed them.
        self.way = way
        self._quick: Quick | None = None
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
        compiled = [str(path.relative_to(ROOT)) for path in SOURCE.rglob("*.so")]
        for name in (*done.stdout.splitlines(), *compiled):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        for name in LOADED:
            importlib.import_module(name)

    def renew_calls(self, mutants: Sequence[Mutant], with_new: bool = True) -> None:
        """Forget tests that are gone, and note what new ones call: the file of calls may be old.

        New tests are looked for in files that have known ones, or that name a changed module.
        """
        wanted = {test for mutant in mutants for test in self.calls.tests(mutant)}
        files = {test.partition("::")[0] for test in wanted}
        files.update(file for mutant in mutants for file in _naming(mutant.path))
        there = self._there = sorted(file for file in files if (self.root / file).exists())
        output, _ = self._asked(["--collect-only", "-q", *there], 600)
        found = {line for line in output.splitlines() if "::" in line}
        if len(found & wanted) < len(wanted) / 2:
            raise RuntimeError(f"most tests are not there any more:\n{output[-2000:]}")
        new = sorted(found - set(self.calls.seconds))
        self.calls.keep(found)
        if new and with_new:
            print(f"{len(new)} new tests are run once, to see what they call", flush=True)
            noted = self.root / "new.json"
            noting = ["-p", "benchmarks.called", "--called", str(noted)]
            output, _ = self._asked(["-q", *noting, *new], 3600)
            if not noted.exists():
                raise RuntimeError(f"what new tests call is not known:\n{output[-2000:]}")
            self.calls.add(Calls([noted]))

    def notices(self, mutant: Mutant) -> tuple[str, int]:
        """What notices a change, and how many tests were asked.

        The name of the test, a time limit, or nothing ("").
        """
        tests, expected = [], 0.0
        for test in self.calls.tests(mutant):
            expected += self.calls.seconds[test]
            if len(tests) >= FEWEST_ASKED and expected > self.seconds:
                break
            tests.append(test)
        target = self.root / "src" / "subscape" / mutant.path
        text = target.read_bytes()
        changed = text[: mutant.start] + mutant.after.encode() + text[mutant.stop :]
        by = "" if self.way == "file" else self._in_memory(mutant, changed)
        if by == NOT_IN_MEMORY:
            by = ""
            if self.way == "memory":
                tests, expected = self._quick_ones(mutant)
        elif by or self.way == "memory":
            return by, len(tests)
        by = self._in_file(target, changed, tests, expected)
        while (test := by.partition(" ")[2].partition(" - ")[0]) in tests and self._is_odd(test):
            tests.remove(test)
            by = self._in_file(target, changed, tests, expected)
        return by, len(tests)

    def _in_file(self, target: Path, changed: bytes, tests: Sequence[str], expected: float) -> str:
        text = target.read_bytes()
        target.write_bytes(changed)
        try:
            self._forget(target)
            return self._run(tests, expected)
        finally:
            target.write_bytes(text)
            self._forget(target)

    def _is_odd(self, test: str) -> bool:
        """Whether a test fails without any change, too: then it says nothing."""
        return self._run([test], 60.0) != ""

    def _in_memory(self, mutant: Mutant, changed: bytes) -> str:
        """The quick test that notices a change, or nothing."""
        if self._quick is None:
            output = self.root / "collected.txt"
            self._quick = Quick(lambda: self._enter(output), [*self._options(), *self._there])
        tests, expected = self._quick_ones(mutant)
        module = ".".join(("subscape", *Path(mutant.path).with_suffix("").parts))
        return self._quick.notices(module.removesuffix(".__init__"), changed, tests, expected)

    def _quick_ones(self, mutant: Mutant) -> tuple[list[str], float]:
        """The tests that are asked in memory, and how long they take."""
        tests, expected = [], 0.0
        for test in self.calls.tests(mutant):
            seconds = self.calls.seconds[test]
            if seconds < LONGEST_IN_MEMORY:
                expected += seconds
                tests.append(test)
            if expected > min(ALL_IN_MEMORY, self.seconds):
                break
        return tests, expected

    def end(self) -> None:
        """No more changes."""
        if self._quick is not None:
            self._quick.end()
            self._quick = None

    @staticmethod
    def _forget(target: Path) -> None:
        """Remove what Python compiled of a file: two changes may have one time and one size."""
        for path in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            path.unlink()

    def _run(self, tests: list[str], expected: float) -> str:
        if not tests:
            return ""
        output, code = self._asked(["-x", "-q", *tests], 30 + 5 * expected)
        if code is None:
            return TIME
        if code == -signal.SIGXCPU:
            return ENDLESS
        if code == 0:
            return ""
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if not failed and BROKEN in output:  # nothing can be imported any more
            return BROKEN
        if not failed and code in (3, 4) and "INTERNALERROR" not in output:
            raise RuntimeError(f"pytest ended with {code}:\n{output}")
        return failed[0][:200] if failed else f"exit {code}"

    def _asked(self, arguments: list[str], seconds: float) -> tuple[str, int | None]:
        """What pytest says about the copy, and its exit code; None where it took too long."""
        output = self.root / "output.txt"
        child = os.fork()
        if child == 0:
            self._be_asked(arguments, output, seconds)
        # Ten times as long as it may compute: others may use the machine.
        until = time.monotonic() + 10 * seconds
        done, status = 0, 0
        while not done and time.monotonic() < until:
            time.sleep(0.05)
            done, status = os.waitpid(child, os.WNOHANG)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # also whatever the tests started
        if not done:
            os.waitpid(child, 0)
        said = output.read_text(encoding="utf-8", errors="replace")
        return said, os.waitstatus_to_exitcode(status) if done else None

    def _be_asked(self, arguments: list[str], output: Path, seconds: float) -> None:
        """Run pytest on the copy, in the child."""
        import pytest

        self._enter(output)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 30))
        code = 3
        try:
            code = int(pytest.main([*self._options(), *arguments]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _enter(self, output: Path) -> None:
        """Work in the copy from now on, and say what there is to say into a file."""
        os.setsid()
        stream = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        os.chdir(self.root)
        os.environ["PYTHONPATH"] = str(self.root / "src")
        sys.path[:] = [str(self.root / "src"), str(self.root), *sys.path[1:]]

    def _options(self) -> list[str]:
        return ["-p", "no:cacheprovider", "--rootdir", str(self.root),
                "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip


# -- which changes ---------------------------------------------------------------------------------


def drawn(packages: list[str], n: int, seed: int, modules: Sequence[str] = ()) -> list[Mutant]:
    """Changes at random places, none twice on a line, the packages in turn.

    With ``modules``, only in files of these names.
    """
    rng = random.Random(seed)
    found = {
        package: [
            m for path in sorted((SOURCE / package).rglob("*.py"))
            if not modules or path.stem in modules
            for m in places(path)
        ]
        for package in packages
    }  # fmt: skip
    sample: dict[tuple[str, int], Mutant] = {}
    for mutants in found.values():
        rng.shuffle(mutants)
    while len(sample) < n and any(found.values()):
        for mutants in found.values():
            while mutants and len(sample) < n:
                mutant = mutants.pop()
                if (mutant.path, mutant.line) not in sample:
                    sample[mutant.path, mutant.line] = mutant
                    break
    return list(sample.values())


def survivors(results: list[dict[str, Any]]) -> list[Mutant]:
    """The changes that nothing noticed, where they are now: the code may have moved."""
    found = []
    for result in results:
        if result["noticed_by"] not in ("", TIME):
            continue
        alike = [
            mutant for mutant in places(SOURCE / result["path"])
            if all(getattr(mutant, name) == result[name] for name in SAME)
        ]  # fmt: skip
        found += sorted(alike, key=lambda mutant: abs(mutant.line - result["line"]))[:1]
    return found


def main() -> None:
    """Make the changes, one after the other, and count those that are noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    packages = sorted(p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists())
    parser.add_argument("--packages", nargs="+", default=packages, choices=packages)
    parser.add_argument("--modules", nargs="+", default=[], help="only these of the packages")
    parser.add_argument(
        "--called", type=Path, nargs="+", default=[CALLED], help="of benchmarks/called"
    )
    parser.add_argument("--sample", type=int, default=60, help="changes in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the tests of a change")
    parser.add_argument("--floor", type=float, default=0.0, help="share that must be noticed")
    parser.add_argument("--json", type=Path, help="where to write every change and its outcome")
    parser.add_argument(
        "--in-memory", action="store_true", help="ask quick tests alone; --again asks the others"
    )
    parser.add_argument(
        "--known-tests", action="store_true", help="leave out tests that no such file knows"
    )
    parser.add_argument("--again", type=Path, help="only the survivors of such a file")
    options = parser.parse_args()
    if options.again is None:
        sample = drawn(options.packages, options.sample, options.seed, options.modules)
    else:
        sample = survivors(json.loads(options.again.read_text(encoding="utf-8")))
    way = "memory" if options.in_memory else "both" if options.again is None else "file"
    house = House(Calls(options.called), options.seconds, way)
    house.renew_calls(sample, with_new=not options.known_tests)
    results = []
    for number, mutant in enumerate(sample, 1):
        began = time.monotonic()
        by, asked = house.notices(mutant)
        results.append(mutant._asdict() | {"noticed_by": by, "asked": asked})
        print(
            f"{number}/{len(sample)} {mutant.path}:{mutant.line} {mutant.function} {mutant.kind}: "
            f"{mutant.before[:70]!r} -> {mutant.after[:70]!r}  "
            f"{by or 'SURVIVES'}  {asked} tests, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        if options.json is not None:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    house.end()
    # A change whose tests take too long may never end, or the machine is busy: nobody knows.
    known = [result for result in results if result["noticed_by"] != TIME]
    for package in options.packages:
        own = [result for result in known if result["path"].startswith(package + os.sep)]
        if own:
            print(f"{package}: {sum(bool(r['noticed_by']) for r in own)} of {len(own)} noticed")
    noticed = sum(bool(result["noticed_by"]) for result in known)
    print(
        f"all: {noticed} of {len(known)} noticed; {len(results) - len(known)} took too long to tell"
    )
    if noticed < options.floor * len(known):
        sys.exit(f"fewer than the floor of {options.floor:.0%} are noticed")


if __name__ == "__main__":
    main()
