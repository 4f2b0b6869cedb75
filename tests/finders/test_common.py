"""Every finder of the catalogue: our checks, scikit-learn's, and what the catalogue says of it."""

from inspect import signature

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import subscape.finders as algorithms
from subscape.finders.catalogue import CATALOGUE, of_role
from subscape.testing.finders import (
    FINDER_CHECKS,
    brief,
    check_finder,
    example_table,
    fitted,
)

FINDERS = of_role("finder", "views", "alternative")
#: What is expected to fail may also succeed, by the last bits of a sum, which other processors
#: round otherwise (SSC on round blobs). Scikit-learn can be told so since 1.8.
OPTIONS = signature(parametrize_with_checks).parameters
LENIENT = {"xfail_strict": False} if "xfail_strict" in OPTIONS else {}


def excluded(estimator):
    return FINDERS[type(estimator).__name__].exclusions


@pytest.mark.filterwarnings("ignore::subscape.core.DroppedClusterWarning")
@pytest.mark.filterwarnings("ignore::subscape.core.SharedFlatWarning")
@pytest.mark.parametrize("check", FINDER_CHECKS)
@pytest.mark.parametrize("name", FINDERS)
def test_our_checks(name, check):
    FINDER_CHECKS[check](brief(FINDERS[name].make()))


# One check needs an environment variable that must be set before SciPy is imported.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# The tables there are tiny; a cluster that finds no rows is dropped, and says so.
@pytest.mark.filterwarnings("ignore::subscape.core.DroppedClusterWarning")
@pytest.mark.filterwarnings("ignore::subscape.core.SharedFlatWarning")
@parametrize_with_checks(
    [brief(entry.make()) for entry in FINDERS.values()],
    expected_failed_checks=excluded,
    **LENIENT,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("entry", FINDERS.values(), ids=FINDERS)
def test_the_catalogue_tells_the_truth(entry):
    finder = fitted(brief(entry.make()), example_table())
    found = finder.clustering_
    assert found.kind == {"cocluster": "axis", "rows": "axis"}.get(entry.kind, entry.kind)
    assert entry.sparse == finder._accepts_sparse
    assert entry.missing == finder._accepts_missing
    assert entry.predict == hasattr(finder, "predict")
    if entry.role != "alternative":  # these may need a seed for their reference only
        assert entry.random == ("random_state" in finder.get_params())
    assert (entry.role != "finder") == hasattr(finder, "clusterings_") == ("given" in entry.takes)
    if entry.partitions:
        assert (finder.labels_ >= 0).all()
    if not entry.overlapping:
        assert found.is_row_disjoint
    if entry.needs_k:
        assert any("clusters" in name for name in finder.get_params())


def test_check_finder_names_the_check_that_fails():
    class Broken(algorithms.SubKMeans):
        def fit(self, X, y=None):
            super().fit(X, y)
            self.labels_ = np.zeros((len(self.labels_), 1), int)
            return self

    with pytest.raises(AssertionError, match="Broken fails the check 'result'"):
        check_finder(Broken(n_init=1))


def test_every_public_finder_is_in_the_catalogue():
    assert set(algorithms.__all__) == set(FINDERS) <= set(CATALOGUE)
