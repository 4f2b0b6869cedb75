from __future__ import annotations

import inspect
import pickle
import sys
from types import ModuleType

import pytest

from subscape.arrays import backend
from subscape.arrays.backend import KERNELS, active, compiled, describe, load_all, requested

load_all()
TOPICS = sorted(KERNELS)


@pytest.fixture
def scratch(monkeypatch):
    """Kernels made in a test leave no trace in the registry."""
    monkeypatch.setattr(backend, "KERNELS", {})
    monkeypatch.setattr(backend, "_WHY_NUMPY", {})
    # Otherwise describe() would import the real kernels into the empty registry.
    monkeypatch.setattr(backend, "load_all", lambda: None)
    monkeypatch.delenv("SUBSCAPE_KERNELS", raising=False)
    return monkeypatch


@pytest.fixture
def twin(scratch):
    """A stand-in for an extension module with one function."""
    module = ModuleType("pretended")
    module.__name__ = f"{__name__.rpartition('.')[0]}._pretended"
    module.triple = lambda x: ("twin", 3 * x)
    scratch.setitem(sys.modules, module.__name__, module)
    return module


def triple(x):
    """Triple a number."""
    return ("reference", 3 * x)


def test_twin_runs_where_it_exists(twin):
    kernel = compiled("_pretended")(triple)
    assert kernel(2) == ("twin", 6)
    assert kernel(x=2) == ("twin", 6)
    assert kernel.reference(2) == ("reference", 6)
    assert kernel.twin is twin.triple
    assert active() == describe() == "cython"


def test_reference_runs_where_the_twin_was_not_built(scratch):
    kernel = compiled("_never_built")(triple)
    assert kernel(2) == ("reference", 6)
    assert kernel.twin is None
    assert active() == "numpy"
    assert describe() == "numpy, the compiled ones were not built"


def test_numpy_is_chosen_by_the_environment(twin, scratch):
    scratch.setenv("SUBSCAPE_KERNELS", "NumPy")
    kernel = compiled("_pretended")(triple)
    assert kernel(2) == ("reference", 6)
    assert kernel.twin is None
    assert describe() == "numpy, chosen by SUBSCAPE_KERNELS"


def test_cython_can_be_insisted_on(twin, scratch):
    scratch.setenv("SUBSCAPE_KERNELS", "cython")
    assert compiled("_pretended")(triple)(2) == ("twin", 6)
    with pytest.raises(ImportError, match=r"_never_built\.triple .*not built.*C compiler"):
        compiled("_never_built")(triple)


@pytest.mark.parametrize("value", ["", "  ", "auto", "AUTO"])
def test_auto_is_the_default(scratch, value):
    scratch.setenv("SUBSCAPE_KERNELS", value)
    assert requested() == "auto"


def test_an_unknown_choice_names_the_variable_and_the_choices(scratch):
    scratch.setenv("SUBSCAPE_KERNELS", "fortran")
    with pytest.raises(ValueError, match=r"SUBSCAPE_KERNELS is 'fortran'.*auto, numpy, cython"):
        compiled("_never_built")(triple)


def test_an_outdated_twin_is_not_used(twin):
    del twin.triple
    kernel = compiled("_pretended")(triple)
    assert kernel(2) == ("reference", 6)
    assert describe() == "numpy, the compiled ones are out of date"


def test_mixed_kernels_are_named(twin):
    def slow():
        pass

    compiled("_pretended")(triple)
    compiled("_never_built")(slow)
    assert active() == "mixed"
    assert describe() == "mixed, numpy for test_backend.slow: the compiled ones were not built"

    for letter in "abcd":
        slow.__name__ = letter
        compiled("_never_built")(slow)
    assert describe().startswith(
        "mixed, numpy for test_backend.a, test_backend.b, test_backend.c and 2 more: "
    )


def test_a_missing_dependency_of_a_twin_is_not_swallowed(scratch, tmp_path):
    (tmp_path / "_needy.py").write_text("import a_module_that_nobody_has")
    package = ModuleType("needy_package")
    package.__path__ = [str(tmp_path)]
    scratch.setitem(sys.modules, "needy_package", package)

    def kernel():
        pass

    kernel.__module__ = "needy_package.topic"
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
        compiled("_needy")(kernel)


@pytest.mark.parametrize("name", TOPICS)
def test_kernel_looks_like_its_reference(name):
    kernel = KERNELS[name]
    topic, _, function = name.partition(".")
    assert kernel.__name__ == function
    assert kernel.__module__.startswith("subscape.") and kernel.__module__.endswith(f".{topic}")
    assert kernel.__doc__ == kernel.reference.__doc__
    assert inspect.signature(kernel) == inspect.signature(kernel.reference)
    assert pickle.loads(pickle.dumps(kernel)) is kernel


@pytest.mark.parametrize("name", TOPICS)
def test_twin_takes_the_same_parameters(name):
    kernel = KERNELS[name]
    if kernel.twin is not None:
        ours = inspect.signature(kernel.reference).parameters.values()
        theirs = inspect.signature(kernel.twin).parameters.values()
        assert [p.name for p in theirs] == [p.name for p in ours]
        assert [p.default for p in theirs] == [p.default for p in ours]


def test_registry_is_not_empty():
    assert "contingency.count_pairs" in TOPICS


def test_all_kernels_are_those_of_the_package(monkeypatch):
    asked = []
    monkeypatch.setattr(backend.importlib, "import_module", asked.append)
    load_all()
    assert {name.partition(".")[0] for name in asked} == {"subscape"}
    assert {"subscape.arrays.contingency", "subscape.arrays.kmeans_starts"} <= set(asked)
    assert {KERNELS[name].reference.__module__ for name in TOPICS} == set(asked)
