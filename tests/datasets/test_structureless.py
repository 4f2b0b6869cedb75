"""Null tables have the stated distributions and correlations, and no groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from subscape.datasets import structureless

DISTRIBUTIONS = {"uniform": "uniform", "gaussian": "norm", "lognormal": "lognorm"}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("correlation", [None, 0.0, 0.9])
def test_each_feature_has_its_distribution(kind, correlation):
    X = structureless(kind, 2000, 6, correlation=correlation, random_state=0)
    assert X.shape == (2000, 6)
    assert X.dtype == np.float64
    arguments = (1.0,) if kind == "lognormal" else ()
    for column in X.T:
        assert kstest(column, DISTRIBUTIONS[kind], args=arguments).pvalue > 1e-3


def test_correlations():
    def largest(kind, correlation):
        X = structureless(kind, 4000, 12, correlation=correlation, random_state=1)
        return np.abs(np.corrcoef(X.T) - np.eye(12)).max()

    assert largest("uniform", None) < 0.08
    assert largest("gaussian", 0.0) < 0.08
    assert 0.4 < largest("gaussian", None) < 0.54
    assert largest("gaussian", 1.0) > 0.85
    assert largest("lognormal", None) > 0.25
    assert 0.4 < largest("uniform", 0.5) < 0.54


def test_seeds():
    a, b, c = (structureless("gaussian", random_state=seed) for seed in (1, 1, 2))
    assert (a == b).all()
    assert (a != c).all()
    assert a.shape == (500, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(kind="cauchy"), "kind must be"),
        (dict(n_rows=0), "n_rows must be"),
        (dict(n_features=-1), "n_features must be"),
        (dict(correlation=1.5), "correlation must be"),
    ],
)
def test_bad_values_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        structureless(**arguments)
