"""NrKMeans and AutoNR: our checks and scikit-learn's."""

from __future__ import annotations

import warnings

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from subscape.core import DroppedClusterWarning
from subscape.finders import AutoNR, NrKMeans
from subscape.testing.finders import FINDER_CHECKS

#: Few starts: the checks are about answers, not about quality.
FINDERS = {
    "one view": NrKMeans(3, n_init=2, n_escapes=1),
    "two views": NrKMeans((3, 2, 1), n_init=2, n_escapes=1),
    "no noise": NrKMeans((2, 2), n_init=2, n_escapes=0),
    "auto": AutoNR(n_init=2, n_escapes=0),
}


@pytest.mark.parametrize("check", FINDER_CHECKS)
@pytest.mark.parametrize("name", FINDERS)
def test_our_checks(name, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedClusterWarning)
        FINDER_CHECKS[check](clone(FINDERS[name]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::subscape.core.DroppedClusterWarning")
@parametrize_with_checks([FINDERS[name] for name in ("one view", "no noise", "auto")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
