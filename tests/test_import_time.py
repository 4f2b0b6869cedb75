"""Starting must stay cheap: measured in fresh interpreters, the best of three runs."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import subscape

HEAVY = ["numpy", "scipy", "sklearn", "pyarrow", "narwhals", "pandas", "polars", "matplotlib"]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def loaded(code: str) -> list[str]:
    """Name the heavy packages that running the code has imported."""
    found = run(f"import sys\n{code}\nprint(*(m for m in {HEAVY!r} if m in sys.modules))")
    return found.split()


def test_import_subscape_loads_nothing_heavy():
    assert loaded("import subscape") == []


def test_command_line_help_loads_nothing_heavy():
    code = "from subscape.cli.main import cli\ncli(['--help'], standalone_mode=False)"
    assert not set(loaded(code)) & set(HEAVY)


def test_core_and_measures_leave_plots_and_data_frames_alone():
    found = loaded("import subscape.core, subscape.measures")
    assert not {"matplotlib", "pandas", "polars", "pyarrow"} & set(found)


def test_import_adds_little_to_sklearn():
    # Processor time, because a busy machine says nothing about the imports. What our modules need
    # of scikit-learn's own insides counts as scikit-learn's.
    code = (
        "import time, sklearn.base, sklearn.metrics.cluster\n"
        "start = time.process_time()\n"
        "import subscape, subscape.core, subscape.measures\n"
        "print(time.process_time() - start)"
    )
    assert any(float(run(code)) < 0.3 for _ in range(3))


def test_help_is_there_in_a_blink():
    def once() -> float:
        start = time.perf_counter()
        run("from subscape.cli.main import main; import sys; sys.argv[1:] = ['--help']; main()")
        return time.perf_counter() - start

    assert any(once() < 0.5 for _ in range(3))


@pytest.mark.parametrize("name", subscape.__all__)
def test_every_promised_name_is_there(name):
    assert getattr(subscape, name) is not None
    assert name in dir(subscape)


@pytest.mark.parametrize("name", sorted(subscape._SUBMODULES))
def test_every_submodule_is_there(name):
    assert getattr(subscape, name).__name__ == f"subscape.{name}"
    assert name in dir(subscape)


def test_lazy_names_are_those_of_core():
    from subscape import core

    assert subscape.SubspaceClustering is core.SubspaceClustering


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Clusterings'"):
        subscape.Clusterings  # noqa: B018
