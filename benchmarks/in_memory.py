"""Changes made in memory: what `benchmarks/mutants.py` asks quick tests about first.

Tests are collected once, in a process of their own. For each change that process forks; the child
gives the changed function its new code, or the constant its new value, runs tests until one fails,
and says which. That takes a tenth of the time of a run of pytest on changed files. Cases of the
golden record are computed in the child, and without the change in another one. What survives here
is made in a file afterwards, where all tests are asked.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import mmap
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

#: Values that can be told by what is written for them.
PLAIN = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, re.Pattern, np.ndarray)
#: What a child says that computed for too long.
ENDLESS = "endless"
#: What it says where the changed module can't be loaded.
BROKEN = "cannot be loaded"
#: What it says where the change is neither in a function's code nor in a plain value, such as the
#: options of a command: that takes a file.
NOT_IN_MEMORY = "not in memory"
#: What is said of a child that waits, and computes nothing, for so many seconds: a thread pool of
#: its parent's that a fork leaves behind without threads, most often.
WAITS, IDLE = "waits", 20.0
#: Tests whose cases are computed in a process of their own: here in the child, once with and once
#: without the change.
RECORDED = "::test_same_as_recorded["
#: Seconds of computing that a child may take beyond five times those that its tests did, and how
#: many times as long it may wait: others may use the machine.
ROOM = 20.0
PATIENCE = 10


def codes(code: CodeType) -> Iterator[CodeType]:
    """All functions that are defined in some code, at any depth."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes(each)


def put_in_place(path: Path, text: bytes) -> bool:
    """Give the functions of a loaded file the code that they have in a text; False if all had it.

    What is computed when a module is loaded stays as it is; see :func:`put_values`.
    """
    by_place: dict[tuple[str, int], list[CodeType]] = {}
    for code in codes(compile(text, str(path), "exec", dont_inherit=True)):
        by_place.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    changed = False
    for function in gc.get_objects():
        if not isinstance(function, FunctionType):
            continue
        old = function.__code__
        if old.co_filename != str(path):
            continue
        found = by_place.get((old.co_qualname, old.co_firstlineno), [])
        # Two lambdas on one line can't be told apart.
        if len(found) == 1 and found[0] != old and found[0].co_freevars == old.co_freevars:
            function.__code__ = found[0]
            changed = True
    return changed


class CannotBeLoadedError(Exception):
    """What a changed module ends in, and the module as it is does not."""


def put_values(module: ModuleType, old: bytes, new: bytes) -> bool:
    """Give a loaded module the constants and defaults of its changed text; False if none differ.

    Also where others have imported a constant. What they have computed of it stays as it is.
    """
    before = _loaded_again(module, old)
    try:
        after = _loaded_again(module, new)
    except Exception as error:
        raise CannotBeLoadedError(str(error)) from error
    return _replaced(vars(module), vars(before), vars(after), module.__name__)


def _loaded_again(module: ModuleType, text: bytes) -> ModuleType:
    again = ModuleType(module.__name__)
    for name in ("__file__", "__package__", "__path__"):
        if hasattr(module, name):
            setattr(again, name, getattr(module, name))
    sys.modules[module.__name__] = again
    try:
        exec(compile(text, str(module.__file__), "exec", dont_inherit=True), vars(again))
    finally:
        sys.modules[module.__name__] = module
    return again


def _replaced(live: Any, before: Any, after: Any, module: str) -> bool:
    changed = False
    for name in [*before]:
        if name.startswith("__") and name not in ("__init__", "__new__"):
            continue
        if name not in live or name not in after:
            continue
        kept, old, new = live[name], before[name], after[name]
        if isinstance(kept, type) and isinstance(new, type) and kept.__module__ == module:
            for each in [*vars(old)]:
                if _is_plain(vars(old)[each]) and _differ(vars(old)[each], vars(new).get(each)):
                    with contextlib.suppress(AttributeError):
                        setattr(kept, each, vars(new)[each])
                        changed = True
            changed |= _replaced(vars(kept), vars(old), vars(new), module)
        elif isinstance(kept, FunctionType) and isinstance(new, FunctionType):
            changed |= _with_defaults(kept, old, new)
        elif isinstance(live, dict) and _is_plain(old) and _differ(old, new):
            changed = True
            for each in [*sys.modules.values()]:
                if vars(each).get(name) is kept:
                    setattr(each, name, new)
    return changed


def _with_defaults(kept: FunctionType, old: FunctionType, new: FunctionType) -> bool:
    told = [[*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
            for each in (old, new)]  # fmt: skip
    if len(told[0]) != len(told[1]) or not any(
        _is_plain(a) and _differ(a, b) for a, b in zip(*told, strict=True)
    ):
        return False
    kept.__defaults__, kept.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    return True


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN)


def _differ(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) != (other.dtype, other.shape, other.tobytes())
    return repr(one) != repr(other)


def in_child(work: Callable[[], str], seconds: float) -> str:
    """What some work says in a forked process; "waits" where it does nothing, or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _speak(writing, work, seconds)
    os.close(writing)
    until = time.monotonic() + PATIENCE * (ROOM + seconds)
    said, computed, moved = b"", -2, time.monotonic()
    while time.monotonic() < min(until, moved + IDLE):
        if select.select([reading], [], [], 1.0)[0]:
            more = os.read(reading, 65536)
            if not more:
                break
            said += more
        now = ticks(child)
        if now != computed or now < 0:  # where nobody says, only the whole time is limited
            computed, moved = now, time.monotonic()
    else:
        said = f"{WAITS}\n".encode()
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # also whatever the tests started
    _, status = os.waitpid(child, 0)
    # A child that has spoken may have been killed before it could end.
    if not said and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return ENDLESS
    return said.decode().strip() if said else f"exit {os.waitstatus_to_exitcode(status)}"


def ticks(session: int) -> int:
    """What all processes of a session have computed up to now; -1 where it is not known."""
    total, known = 0, False
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total, known = total + sum(map(int, fields[11:15])), True
    return total if known else -1


def _speak(writing: int, work: Callable[[], str], seconds: float) -> NoReturn:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(ROOM + seconds) + 1, int(ROOM + seconds) + 30))
    try:
        said = work()
    except BaseException as error:
        said = f"ERROR {error!r}"[:200]
    os.write(writing, said.encode() + b"\n")
    os._exit(0)


def outcomes(item: Any) -> str:
    """What the cases of one test of the golden record give, as a short sum."""
    record, group = item.module.record, item.module.group
    family = item.nodeid.partition(RECORDED)[2].removesuffix("]")
    found = [record.outcome(name) for name in record.CASES if group(name) == family]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


class Session:
    """A plugin of pytest that answers questions instead of running all tests.

    Each line of ``questions`` is JSON: a module, its changed text, tests, and the seconds that they
    took. The answer is a line: the first test that fails, or nothing.
    """

    def __init__(self, questions: int, answers: int) -> None:
        self._questions = os.fdopen(questions, encoding="utf-8")
        self._answers = os.fdopen(answers, "w", encoding="utf-8", buffering=1)
        self._items: dict[str, Any] = {}
        self._sound: dict[str, bool] = {}
        #: The place of the test that a child is at, which it may not live to tell.
        self._at = mmap.mmap(-1, 4)
        #: What the cases of the golden record give without any change.
        self._recorded: dict[str, str] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Answer, until there are no more questions."""
        self._items = {item.nodeid: item for item in session.items}
        for line in self._questions:
            asked = json.loads(line)
            print(json.dumps(self._answer(**asked)), file=self._answers)
        return True

    def _answer(self, module: str, text: str, tests: Sequence[str], seconds: float) -> str:
        there = [test for test in tests if self._sound.get(test, test in self._items)]
        self._at[:] = bytes(4)
        for test in there:
            if RECORDED in test and test not in self._recorded:
                item = self._items[test]
                self._recorded[test] = in_child(lambda item=item: outcomes(item), 60.0)
        found = in_child(lambda: self._noticed(module, text, there), 5 * seconds)
        at = there[int.from_bytes(self._at[:], "little")] if there else ""
        if found == WAITS and at:  # that says nothing: ask the others
            there.remove(at)
            self._sound[at] = self._sound.get(at, True) and self._is_sound(at)
            return self._answer(module, text, there, seconds)
        if found.startswith("exit "):
            found = at
        # Only of a test that passes here without the change does it say something.
        if found in self._items and not self._is_sound(found):
            return self._answer(module, text, there, seconds)
        known = (ENDLESS, BROKEN, NOT_IN_MEMORY)
        return found if found in known or found in self._items else ""

    def _noticed(self, module: str, text: str, tests: Sequence[str]) -> str:
        from _pytest.runner import runtestprotocol

        if module:
            loaded = importlib.import_module(module)
            path = Path(str(loaded.__file__))
            changed = put_in_place(path, text.encode())
            try:
                if not changed and not put_values(loaded, path.read_bytes(), text.encode()):
                    return NOT_IN_MEMORY
            except CannotBeLoadedError:
                return BROKEN

        items = [self._items[test] for test in tests]
        for place, item in enumerate(items):
            self._at[:] = place.to_bytes(4, "little")
            if RECORDED in item.nodeid:
                if outcomes(item) != self._recorded[item.nodeid]:
                    return str(item.nodeid)
                continue
            following = items[place + 1] if place + 1 < len(items) else None
            reports = runtestprotocol(item, log=False, nextitem=following)
            if not all(report.passed for report in reports):
                return str(item.nodeid)
        return ""

    def _is_sound(self, test: str) -> bool:
        if test not in self._items:
            return False
        if test not in self._sound:
            alone = in_child(lambda: self._noticed("", "", [test]), 60.0)
            self._sound[test] = alone == ""
        return self._sound[test]


class Quick:
    """Where changes are asked about: a process in which tests were collected."""

    def __init__(self, prepare: Callable[[], None], arguments: Sequence[str]) -> None:
        asked, self._asking = os.pipe()
        self._answering, answers = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._asking)
            os.close(self._answering)
            self._serve(prepare, [*arguments], Session(asked, answers))
        os.close(asked)
        os.close(answers)
        self._questions = os.fdopen(self._asking, "w", encoding="utf-8", buffering=1)
        self._answers = os.fdopen(self._answering, encoding="utf-8")

    @staticmethod
    def _serve(prepare: Callable[[], None], arguments: list[str], session: Session) -> NoReturn:
        code = 3
        try:
            prepare()
            import pytest

            code = int(pytest.main(arguments, plugins=[session]))
        finally:
            sys.stdout.flush()
            os._exit(code)

    def notices(self, module: str, text: bytes, tests: Sequence[str], seconds: float) -> str:
        """The test that notices that a module has another text, or nothing."""
        asked = {"module": module, "text": text.decode(), "tests": [*tests], "seconds": seconds}
        print(json.dumps(asked), file=self._questions)
        line = self._answers.readline()
        if not line:
            raise RuntimeError("the tests could not be collected in memory")
        return str(json.loads(line))

    def end(self) -> None:
        """No more questions."""
        self._questions.close()
        self._answers.close()
        os.waitpid(self._child, 0)
