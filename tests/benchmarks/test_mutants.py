"""The changes that `make mutants` makes, and which tests it asks."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import called
import in_memory
import mutants
import pytest
from mutants import Calls, Mutant


def changes(text):
    """Every change of a piece of code, as code."""
    found = set()
    for node, _ in mutants._code(ast.parse(text)):
        found |= {(kind, ast.unparse(changed)) for kind, changed in mutants._changes(node)}
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", {("comparison", "a <= b")}),
        ("a is None", {("comparison", "a is not None")}),
        ("a - b", {("operator", "a + b"), ("swapped", "b - a")}),
        ("a * b", {("operator", "a / b")}),
        ("x = abs(a - b)", {("operator", "a + b")}),
        ("x = np.square(a - b)", {("operator", "a + b")}),
        ("x = abs(a / b)", {("operator", "a * b"), ("swapped", "b / a")}),
        ("a and b", {("and, or", "a or b")}),
        ("not a", {("no sign", "a")}),
        ("a = True", {("other truth", "False")}),
        ("a[3]", {("off by one", "4"), ("doubled", "6")}),
        ("a[0]", {("off by one", "1")}),
        ("np.argmax(a)", {("opposite", "np.argmin(a)"), ("dropped", "pass")}),
        ("x = f(a, b)", {("swapped", "f(b, a)")}),
        ("x = f(a, a)", set()),
        ("x = a / a", {("operator", "a * a")}),
        ("x = max(a, b)", {("opposite", "min(a, b)")}),
        ("zip(a, strict=True)", {("dropped", "pass")}),
        ("def f(a: int = 1) -> int: return a", {
            ("off by one", "2"), ("doubled", "2"), ("returns nothing", "return None"),
        }),
        ("def f(): return None", set()),
        ("def f() -> bool: return False", {("other truth", "True")}),
        ("raise ValueError(f'{a - 1}')", set()),
        ("if TYPE_CHECKING:\n    x = 1", set()),
    ],
)  # fmt: skip
def test_changes(text, expected):
    assert changes(text) == expected


def test_every_change_knows_its_function():
    text = "x = 1\nclass A:\n    y = 2\n    def f(self):\n        def g():\n            return 3\n"
    scopes = {ast.unparse(node): scope for node, scope in mutants._code(ast.parse(text))}
    assert (scopes["1"], scopes["2"], scopes["3"]) == ("", "", "A.f")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    (tmp_path / "source" / "core").mkdir(parents=True)
    (tmp_path / "source" / "core" / "x.py").write_text("LIMIT = 3\n")
    monkeypatch.setattr(mutants, "SOURCE", tmp_path / "source")
    content = {
        "tests": ["tests/a.py::slow", "tests/a.py::quick", "tests/b.py::one", "tests/a.py::other"],
        "seconds": [3.0, 0.1, 1.0, 2.0],
        "called": {"core/x.py:f": [0, 1], "core/x.py:g": [2], "core/y.py:f": [2]},
    }
    path = tmp_path / "calls.json"
    path.write_text(json.dumps(content))
    return path


def test_tests_that_call_a_function_are_asked_first_and_fastest_first(calls):
    def asked(function):
        return Calls([calls]).tests(Mutant("core/x.py", function, 1, 0, 1, "", "", ""))

    assert asked("f") == ["tests/a.py::quick", "tests/a.py::slow", "tests/a.py::other"]
    assert asked("g") == ["tests/b.py::one"]
    # A constant may matter to whatever is in the module.
    assert asked("") == [f"tests/{name}" for name in ("a.py::quick", "b.py::one", "a.py::other",
                                                      "a.py::slow")]  # fmt: skip
    some = Calls([calls])
    some.keep({"tests/a.py::slow"})
    assert some.tests(Mutant("core/x.py", "f", 1, 0, 1, "", "", "")) == ["tests/a.py::slow"]


def test_new_tests_are_asked_by_what_they_call(calls, tmp_path):
    new = tmp_path / "new.json"
    content = {"tests": ["tests/c.py::new"], "seconds": [0.01], "called": {"core/x.py:f": [0]}}
    new.write_text(json.dumps(content))
    known = Calls([calls])
    known.add(Calls([new]))
    asked = known.tests(Mutant("core/x.py", "f", 1, 0, 1, "", "", ""))
    assert asked[0] == "tests/c.py::new" and "tests/a.py::quick" in asked
    assert "tests/c.py::new" not in known.tests(Mutant("core/x.py", "g", 1, 0, 1, "", "", ""))


def test_changes_of_some_modules_alone():
    found = mutants.drawn(["runs", "files"], 12, 3, ["store", "archive"])
    assert {mutant.path for mutant in found} == {"runs/store.py", "files/archive.py"}


def test_the_fastest_tests_are_kept(calls, tmp_path, monkeypatch):
    output = tmp_path / "kept.json"
    monkeypatch.setattr("sys.argv", ["called.py", str(calls), "--most", "1", "-o", str(output)])
    called.main()
    kept = json.loads(output.read_text())
    # Also one that calls nothing: it may be about constants.
    assert kept["tests"] == ["tests/a.py::other", "tests/a.py::quick", "tests/b.py::one"]
    assert kept["called"] == {"core/x.py:f": [1], "core/x.py:g": [2], "core/y.py:f": [2]}


def test_tests_named_like_the_module_come_first_and_are_kept(tmp_path, monkeypatch):
    names = ["tests/a.py::quick", "tests/core/test_x_more.py::own", "tests/core/test_y.py::other",
             "tests/golden/test_golden.py::g", "tests/core/test_x.py::slow"]  # fmt: skip
    content = {"tests": names, "seconds": [0.01, 0.4, 0.2, 0.3, 0.9],
               "called": {"core/x.py:f": [0, 1, 2, 3, 4]}}  # fmt: skip
    path, output = tmp_path / "calls.json", tmp_path / "kept.json"
    path.write_text(json.dumps(content))
    asked = Calls([path]).tests(Mutant("core/x.py", "f", 1, 0, 1, "", "", ""))
    # Its own quick ones, other quick ones, the golden record, all others.
    assert asked == [names[1], names[0], names[3], names[2], names[4]]
    monkeypatch.setattr("sys.argv", ["called.py", str(path), "--most", "1", "-o", str(output)])
    called.main()
    # The quickest, the quickest of the package, and all with the name of the module.
    assert set(json.loads(output.read_text())["tests"]) == {*names[:3], names[4]}
    for file, module, is_about in (
        ("tests/core/test_x.py", "core/x.py", True), ("tests/core/test_x.py", "files/x.py", False),
        ("tests/core/x.py", "core/x.py", False), ("tests/core/test_y.py", "core/x.py", False),
        ("tests/finders/axis/test_x.py", "finders/axis/x.py", True),
        ("tests/finders/axis/test_x.py", "finders/axis/x/rows.py", True),
        ("tests/finders/axis/test_xy.py", "finders/axis/x/rows.py", False),
        ("tests/kernels/test_rows.py", "finders/axis/x/rows.py", True),
        ("src/subscape/core/x.py", "core/x.py", False), ("tests/test_x.py", "core/x.py", False),
    ):  # fmt: skip
        assert called.is_about(file, module) is is_about


def test_tests_that_name_what_is_changed_come_first(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.py").write_text("LIMIT, SIZES = 3, [\n    4, 5]\nOTHER: int = 6\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_y.py").write_text(
        "def test_a():\n    assert x.LIMIT == 3\ndef test_g():\n    assert LIMITS\n"
        "class TestF:\n    def test_f(self):\n        f(1)\n"
    )
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "TESTS", tmp_path / "tests")
    monkeypatch.setattr(mutants, "SOURCE", tmp_path / "src")
    mutants._words_of_tests.cache_clear()

    def names(function, line=1):
        return mutants.names_of(Mutant("x.py", function, line, 0, 1, "", "", ""))

    assert (names("f"), names("A.f"), names("A.__init__")) == ({"f"}, {"f"}, {"A"})
    assert names("", 1) == {"LIMIT", "SIZES"} == names("", 2) and names("", 3) == {"OTHER"}
    file = "tests/test_y.py"
    assert mutants.mentions(f"{file}::test_a[3]", {"LIMIT", "SIZES"})
    assert mutants.mentions(f"{file}::TestF::test_f", {"f"})
    for test in ("test_g", "test_gone", "TestF::test_a"):
        assert not mutants.mentions(f"{file}::{test}", {"LIMIT"})
    assert not mutants.mentions("src/subscape/x.py::subscape.x.f", {"f"})
    content = {"tests": [f"{file}::test_g", f"{file}::test_a"], "seconds": [0.01, 0.4],
               "called": {"x.py:f": [0, 1]}}  # fmt: skip
    (tmp_path / "calls.json").write_text(json.dumps(content))
    asked = Calls([tmp_path / "calls.json"]).tests(Mutant("x.py", "", 1, 0, 1, "", "", ""))
    assert asked == [f"{file}::test_a", f"{file}::test_g"]
    mutants._words_of_tests.cache_clear()


def test_what_is_not_in_memory_is_asked_in_a_file(monkeypatch, calls):
    said = []
    house = object.__new__(mutants.House)
    house.calls, house.seconds, house.way, house.root = Calls([calls]), 9.0, "memory", calls.parent
    target = calls.parent / "src" / "subscape" / "core" / "x.py"
    target.parent.mkdir(parents=True)
    target.write_text("a = 1\n")
    monkeypatch.setattr(house, "_in_memory", lambda mutant, changed: in_memory.NOT_IN_MEMORY)
    monkeypatch.setattr(house, "_run", lambda tests, expected: said.append(
        (tests, expected, target.read_text())) or "by")  # fmt: skip
    found = house.notices(Mutant("core/x.py", "f", 1, 4, 5, "", "1", "2"))
    # Of those that take less than two seconds, as in memory.
    assert found == ("by", 1) and said == [(["tests/a.py::quick"], 0.1, "a = 2\n")]
    assert target.read_text() == "a = 1\n"


def test_a_few_of_each_kind_come_first():
    names = [*(f"t.py::a[{i}]" for i in range(7)), "t.py::b"]
    seconds = dict.fromkeys(names, 0.1) | {"t.py::b": 0.3}
    asked = [test[6:] for test in called.various(names, seconds)]
    assert asked == ["a[0]", "a[1]", "a[2]", "a[3]", "a[4]", "b", "a[5]", "a[6]"]


def test_the_same_seed_draws_the_same_changes():
    first = mutants.drawn(["runs", "files"], 10, 3)
    assert (
        first == mutants.drawn(["runs", "files"], 10, 3) != mutants.drawn(["runs", "files"], 10, 4)
    )
    assert [m.path.split("/")[0] for m in first] == ["runs", "files"] * 5
    assert len({(m.path, m.line) for m in first}) == 10
    source = (mutants.SOURCE / first[0].path).read_bytes()
    assert source[first[0].start : first[0].stop].decode() == first[0].before


def test_survivors_are_found_again_where_they_are_now():
    first, second = mutants.drawn(["runs"], 2, 3)
    results = [
        first._asdict() | {"noticed_by": "", "line": first.line + 3, "start": 0},
        second._asdict() | {"noticed_by": "FAILED"},
        second._asdict() | {"noticed_by": "", "before": "something that is gone"},
    ]
    assert mutants.survivors(results) == [first]


def test_what_the_golden_record_calls_is_noted():
    noted = called.golden(["core"])
    ((test, seconds),) = noted.seconds.items()
    assert test == "tests/golden/test_golden.py::test_same_as_recorded[core]" and seconds > 0
    assert noted.tests["core/clustering.py:SubspaceClustering.__init__"] == {test}


def test_tests_that_are_gone_are_not_asked(monkeypatch, calls):
    """Also where new ones are not looked for: pytest would name them, and that notices nothing."""
    house = mutants.House.__new__(mutants.House)
    house.root, house.calls = mutants.ROOT, Calls([calls])
    said = "tests/a.py::quick\ntests/b.py::one\ntests/a.py::other\ntests/a.py::new\n"
    asked = []
    monkeypatch.setattr(
        mutants.House, "_asked", lambda self, given, seconds: (asked.append(given) or said, 0)
    )
    house.renew_calls([Mutant("core/x.py", "f", 1, 0, 1, "", "", "")], with_new=False)
    assert len(asked) == 1 and set(house.calls.seconds) == {
        "tests/a.py::quick", "tests/b.py::one", "tests/a.py::other",
    }  # fmt: skip


def test_a_change_after_which_nothing_can_be_imported_is_noticed(monkeypatch):
    house = mutants.House.__new__(mutants.House)
    said = "ImportError while loading conftest '/x/tests/conftest.py'.\nE   TypeError: no"
    monkeypatch.setattr(mutants.House, "_asked", lambda *given: (said, 4))
    assert house._run(["tests/a.py::one"], 1.0) == mutants.BROKEN
    monkeypatch.setattr(mutants.House, "_asked", lambda *given: ("usage: pytest", 4))
    with pytest.raises(RuntimeError, match="pytest ended with 4"):
        house._run(["tests/a.py::one"], 1.0)


MODULE = """
def f(x, more=1):
    def inner(y):
        return y * 2
    return inner(x) + more

class A:
    def g(self):
        return 3

LIMIT = 5
"""


def test_loaded_functions_get_new_code(tmp_path, monkeypatch):
    path = tmp_path / "changed_in_memory.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("changed_in_memory")
    kept, bound = module.f, module.A().g
    put = in_memory.put_in_place
    assert not put(path, MODULE.encode())
    assert not put(path, MODULE.replace("LIMIT = 5", "LIMIT = 6").encode())
    assert put(path, MODULE.replace("y * 2", "y / 2").encode()) and kept(4) == 3
    assert put(path, MODULE.replace("return 3", "return 4").encode()) and bound() == 4
    assert kept(4) == 9  # as it was again
    del sys.modules["changed_in_memory"]


def test_constants_and_defaults_get_new_values(tmp_path, monkeypatch):
    (tmp_path / "has_values.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\nTABLE = np.arange(9)\n"
        "LIMIT = 1000\nNAMES = ('a', 'b')\nOTHER = object()\n"
        "def f(x, more=7, *, last=8):\n    return x + more + last + LIMIT\n"
        "@dataclass\nclass A:\n    size: int = 3\n    KIND = 'x'\n"
    )
    (tmp_path / "imports_values.py").write_text("from has_values import LIMIT, f\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    module, other = map(importlib.import_module, ("has_values", "imports_values"))
    text = (tmp_path / "has_values.py").read_text()

    def put(before, after):
        return in_memory.put_values(module, text.encode(), text.replace(before, after).encode())

    kept = module.OTHER
    assert not put("none", "such") and module.OTHER is kept and other.f(1) == 1016
    assert put("1000", "2000") and other.LIMIT == module.LIMIT == 2000 and other.f(1) == 2016
    assert put("arange(9)", "arange(1, 10)") and module.TABLE[0] == 1
    assert not put("arange(9)", "arange(0, 9)")
    assert put("'b'", "'c'") and module.NAMES == ("a", "c") and module.LIMIT == 2000
    assert put("more=7", "more=17") and other.f(1) == 2026
    assert put("last=8", "last=9") and other.f(1) == 2017  # the other one is as it was
    assert put("size: int = 3", "size: int = 4") and module.A().size == 4
    assert put("KIND = 'x'", "KIND = 'y'") and module.A.KIND == "y"
    assert module.OTHER is kept and sys.modules["has_values"] is module
    for name in ("has_values", "imports_values"):
        del sys.modules[name]


SCRIPT = """
import os, sys
import in_memory
def prepare():
    os.chdir({folder!r})
    sys.path.insert(0, {folder!r})
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
quick = in_memory.Quick(prepare, ["-q", "-p", "no:cacheprovider", "--rootdir", {folder!r}, "-c",
                                  os.devnull, "test_it.py"])
def ask(before, after, *tests, seconds=1.0):
    text = open("{folder}/it.py").read().replace(before, after).encode()
    print(quick.notices("it", text, ["test_it.py::" + test for test in tests], seconds))
every = ["test_f", "test_g", "test_odd", "test_other"]
ask("x + 1", "x + 2", "test_g", "test_f")
ask("x + 1", "x + 2", "test_g")
ask("x + 1", "x + 1", *every[:2])
ask("x + 1", "x + 2", "test_odd")  # fails without the change
ask("x * 2", "x * 3", "test_f", "test_g", "gone")
ask("x + 1", "exit(3)", "test_f")
ask("x + 1", "__import__('os')._exit(0)", "test_g", "test_f")
ask("x + 1", "x + 2", "test_odd", "test_f")  # the other one says something
ask("LIMIT = 5", "LIMIT = 1 / 0", "test_g")
in_memory.ROOM, in_memory.PATIENCE, in_memory.IDLE = 1.0, 100, 1.5
quick.end()
quick = in_memory.Quick(prepare, ["-q", "-p", "no:cacheprovider", "--rootdir", {folder!r}, "-c",
                                  os.devnull, "test_it.py"])
ask("x + 1", "any(0 for _ in iter(int, 1))", "test_f", seconds=0.0)
ask("x * 2", "__import__('time').sleep(60) or x * 2", "test_g", "test_f")  # nobody knows
ask("f(x):\\n", "f(x):\\n    __import__('time').sleep(60 * (x == 5))\\n    x += 1\\n",
    "test_later", "test_f")  # the one waits, the other notices
quick.end()
"""


def test_quick_tests_are_asked_in_memory(tmp_path):
    (tmp_path / "it.py").write_text(
        "LIMIT = 5\ndef f(x):\n    return x + 1\ndef g(x):\n    return x * 2\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import it\ndef test_f():\n    assert it.f(1) == 2\n"
        "def test_g():\n    assert it.g(2) == 4\ndef test_odd():\n    assert it.f(1) == 7\n"
        "def test_later():\n    assert it.f(5) == 6\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(folder=str(tmp_path))],
        capture_output=True, text=True, check=True, timeout=300,
        cwd=Path(in_memory.__file__).parent,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "test_it.py::test_f", "", in_memory.NOT_IN_MEMORY, "", "test_it.py::test_g",
        "test_it.py::test_f",
        "test_it.py::test_f", "test_it.py::test_f", in_memory.BROKEN, in_memory.ENDLESS, "",
        "test_it.py::test_f",
    ]  # fmt: skip
