"""Which functions of the package does each test call? A plugin of pytest.

    python -m pytest -p benchmarks.called --called calls.json [tests ...]
    python benchmarks/called.py --golden golden.json
    python benchmarks/called.py calls.json more.json --most 12 -o benchmarks/results/calls.json

The file lists, for every function (its file and its qualified name; what is defined within a
function counts as it), the tests during which it was called in this process, and how long every
test took. `benchmarks/mutants.py` asks those tests first. Works with pytest-xdist. Tests take about
twice as long while calls are noted, so the file is kept; a stale one costs time but no truth. As a
command it puts such files together and keeps quick tests of every function, of many kinds. The
golden record is compared in a process of its own: what its tests call is noted by ``--golden``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType

import pytest

ROOT = Path(__file__).parents[1]
#: Parameters of one test that come before others.
OF_EACH_KIND = 5
#: Only what lies below here is of interest.
SOURCE = str(ROOT / "src" / "subscape") + "/"


class Calls:
    """What was called by which test, and how long the tests took."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = defaultdict(set)  # by function
        self.seconds: dict[str, float] = defaultdict(float)  # by test
        self._running: set[CodeType] = set()

    def trace(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call; nothing within the called function is traced."""
        self._running.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what a test calls, its fixtures included."""
        with self.during(item.nodeid):
            return (yield)

    @contextlib.contextmanager
    def during(self, test: str) -> Iterator[None]:
        """Note what is called meanwhile as called by a test."""
        self._running = set()
        threading.settrace(self.trace)  # type: ignore[arg-type]
        sys.settrace(self.trace)  # type: ignore[arg-type]
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            for code in self._running:
                if code.co_filename.startswith(SOURCE):
                    name = code.co_qualname.split(".<locals>")[0]
                    self.tests[f"{code.co_filename[len(SOURCE) :]}:{name}"].add(test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test took; a controller of workers hears of all of them."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write it all, or hand it to the controller."""
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput["called"] = {key: sorted(own) for key, own in self.tests.items()}
        else:
            write(Path(config.getoption("called")), self.tests, self.seconds)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take what a worker saw."""
        for key, own in getattr(node, "workeroutput", {}).get("called", {}).items():
            self.tests[key].update(own)


def write(path: Path, tests: dict[str, set[str]], seconds: dict[str, float]) -> None:
    """Tests are numbered: most are named many times."""
    names = sorted(seconds)
    number = {name: i for i, name in enumerate(names)}
    content = {
        "tests": names,
        "seconds": [round(seconds[name], 2) for name in names],
        "called": {
            key: sorted(number[name] for name in own if name in number)
            for key, own in sorted(tests.items())
        },
    }
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write."""
    parser.addoption("--called", default=None, help="file for the functions that each test calls")


def pytest_configure(config: pytest.Config) -> None:
    """Begin, if asked to."""
    if config.getoption("called"):
        config.pluginmanager.register(Calls(), "called")


def various(tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """Tests in the order in which they are worth asking: quick ones, a few of each kind first.

    A test with many parameters would else leave no room for the one that is about a detail.
    """
    seen: dict[str, int] = defaultdict(int)
    ranked = []
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        kind = test.partition("[")[0]
        ranked.append((seen[kind] // OF_EACH_KIND, seconds[test], test))
        seen[kind] += 1
    return [test for *_, test in sorted(ranked)]


def is_about(file: str, module: str) -> bool:
    """Whether a file of tests has the name of a module of the same package, or of its folder.

    Tests of kernels lie in a folder of their own.

    >>> is_about("tests/core/test_prototypes.py", "core/prototypes.py")
    True
    >>> is_about("tests/finders/axis/test_proclus.py", "finders/axis/proclus/phases.py")
    True
    >>> is_about("tests/kernels/test_segmental.py", "finders/axis/proclus/segmental.py")
    True
    """
    parts, of = Path(module).with_suffix("").parts, Path(file)
    if not of.name.startswith("test_") or len(of.parts) < 3:
        return False
    if of.parts[1] not in (parts[0], "kernels"):
        return False
    words = f"{of.stem}_"
    return parts[-1] in of.stem or any(f"_{folder}_" in words for folder in parts[1:-1])


def is_of_package(file: str, module: str) -> bool:
    """Whether a file of tests, or of examples, is in the folder of a module's package.

    >>> is_of_package("tests/core/test_prototypes.py", "core/checks.py")
    True
    """
    folders, package = Path(file).parts[:-1], Path(module).parts[0]
    own = ("kernels",) if package == "arrays" else (package,)
    return folders[1:2] == own or folders[2:3] == (package,)


def golden(families: Sequence[str] = ()) -> Calls:
    """What the tests of the golden record call, by running its cases here."""
    place = ROOT / "tests" / "golden"
    sys.path.insert(0, str(place))
    import record  # type: ignore[import-not-found]
    import test_golden  # type: ignore[import-not-found]

    noted = Calls()
    for name, run in record.CASES.items():
        family = test_golden.group(name)
        if families and not family.startswith(tuple(families)):
            continue
        test = f"tests/golden/test_golden.py::test_same_as_recorded[{family}]"
        began = time.process_time()
        # An error is an outcome like any other.
        with warnings.catch_warnings(), noted.during(test), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            run()
        noted.seconds[test] += time.process_time() - began
    return noted


def near(tests: Iterable[str], function: str, is_near: Callable[[str, str], bool]) -> set[str]:
    """The tests whose files are near the module of a function."""
    module = function.partition(":")[0]
    return {test for test in tests if is_near(test.partition("::")[0], module)}


def main() -> None:
    """Put files together; of tests that are in several, the last file counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--golden", type=Path, help="write what the golden record calls, to here")
    parser.add_argument("--family", action="append", default=[], help="only of these cases")
    parser.add_argument("--most", type=int, default=12, help="tests of a function that are kept")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.golden is not None:
        noted = golden(options.family)
        write(options.golden, noted.tests, noted.seconds)
    if options.output is None:
        return
    seconds: dict[str, float] = {}
    tests: dict[str, set[str]] = defaultdict(set)
    for file in options.files:
        content = json.loads(file.read_text(encoding="utf-8"))
        names = content["tests"]
        seconds.update(zip(names, content["seconds"], strict=True))
        for function, numbers in content["called"].items():
            tests[function].update(names[i] for i in numbers)
    kept = {
        function: {
            *various(own, seconds)[: options.most],
            *various(near(own, function, is_of_package), seconds)[: options.most],
            *near(own, function, is_about),
        }
        for function, own in tests.items()
    }  # fmt: skip
    # Tests that call nothing may still hold constants against each other.
    asked = set().union(*kept.values(), set(seconds) - set().union(*tests.values()))
    write(options.output, kept, {test: seconds[test] for test in asked})


if __name__ == "__main__":
    main()
