"""Every finder of the registry: our checks, scikit-learn's, and what the registry says of it."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import subscape.finders as algorithms
from subscape.finders.registry import FINDERS, find
from subscape.testing.finders import FINDER_CHECKS, check_finder, example_table, fitted


def small(entry):
    """The finder with its defaults, but few starts: the checks are about answers, not quality."""
    finder = entry.make()
    known = finder.get_params()
    if "n_swaps" in known:
        return finder.set_params(n_swaps=1)
    return finder.set_params(n_init=2) if "n_init" in known else finder


def excluded(estimator):
    return FINDERS[type(estimator).__name__].exclusions


@pytest.mark.parametrize("check", FINDER_CHECKS)
@pytest.mark.parametrize("name", FINDERS)
def test_our_checks(name, check):
    FINDER_CHECKS[check](small(FINDERS[name]))


# One check needs an environment variable that must be set before SciPy is imported.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# The tables there are tiny; a cluster that finds no rows is dropped, and says so.
@pytest.mark.filterwarnings("ignore::subscape.core.DroppedClusterWarning")
@parametrize_with_checks(
    [small(entry) for entry in FINDERS.values()], expected_failed_checks=excluded
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_every_finder_is_in_the_registry():
    assert set(FINDERS) == set(algorithms.__all__)


@pytest.mark.parametrize("entry", FINDERS.values(), ids=FINDERS)
def test_the_registry_tells_the_truth(entry):
    finder = fitted(small(entry), example_table())
    found = finder.clustering_
    assert found.kind == {"cocluster": "axis"}.get(entry.kind, entry.kind)
    assert entry.doi.startswith("10.")
    assert entry.sparse == finder._accepts_sparse
    assert entry.missing == finder._accepts_missing
    assert entry.predict == hasattr(finder, "predict")
    assert entry.random == ("random_state" in finder.get_params())
    if entry.partitions:
        assert (finder.labels_ >= 0).all()
    if not entry.overlapping:
        assert found.is_row_disjoint
    if entry.needs_k:
        assert any("clusters" in name for name in finder.get_params())


def test_a_misspelt_finder_gets_a_hint():
    with pytest.raises(ValueError, match="Did you mean PROCLUS"):
        find("proklus")


def test_check_finder_names_the_check_that_fails():
    class Broken(algorithms.SubKMeans):
        def fit(self, X, y=None):
            super().fit(X, y)
            self.labels_ = np.zeros((len(self.labels_), 1), int)
            return self

    with pytest.raises(AssertionError, match="Broken fails the check 'result'"):
        check_finder(Broken(n_init=1))
