"""A valley along a line: valid where there is none, found where there is one."""

import numpy as np
import pytest

from subscape.datasets import structureless
from subscape.validation import dip_statistic, split_test
from subscape.validation.valley_lines import DIPS, PROBABILITIES, dip_p_value


def test_p_values_of_the_dip_are_those_of_uniform_samples():
    rng = np.random.default_rng(1)
    for n in (60, 400):
        dips = [dip_statistic(rng.random(n)) for _ in range(250)]
        p = np.array([dip_p_value(dip, n) for dip in dips])
        for level in (0.05, 0.2, 0.5):
            assert np.mean(p <= level) <= level + 3 * np.sqrt(level / 250)
        assert np.mean(p <= 0.5) > 0.3
    sizes = np.linspace(0, 2, 100)
    falling = [dip_p_value(size / 10, 100) for size in sizes]
    assert (np.diff(falling) <= 1e-15).all() and falling[-1] < 1e-9
    assert len(DIPS) == len(PROBABILITIES) and falling[0] == 1.0


@pytest.mark.parametrize("kind", ["gaussian", "uniform", "lognormal", "t", "integer"])
def test_nothing_is_claimed_where_there_is_one_hump(kind):
    rng = np.random.default_rng(0)
    found = []
    for seed in range(25):
        if kind == "t":
            X = rng.standard_t(3, size=(150, 4))
        elif kind == "integer":
            X = rng.binomial(9, 0.3, size=(150, 4)).astype(float)
        else:
            X = structureless(kind, 150, 4, random_state=seed)
        found.append(split_test(X / X.std(axis=0), seed).p_value)
    assert np.mean(np.array(found) <= 0.05) <= 0.16
    assert min(found) > 0.001


@pytest.mark.parametrize("n_columns", [2, 20, 200])
def test_two_groups_are_parted(n_columns):
    rng = np.random.default_rng(0)
    truth = rng.random(240) < 0.4
    X = rng.normal(size=(240, n_columns))
    X[:, :2] += 5 * truth[:, None]
    found = split_test(X, 1)
    assert found.p_value < 0.01
    agreement = np.mean(found.labels == truth)
    assert max(agreement, 1 - agreement) > 0.97
    assert found.direction.shape == (n_columns,)
    again = split_test(X, 1)
    assert again.p_value == found.p_value and (again.labels == found.labels).all()


def test_tables_too_small_or_constant_say_nothing():
    assert split_test(np.ones((50, 3))).p_value == 1.0
    assert split_test(np.arange(10.0)[:, None]).p_value == 1.0


def test_probabilities_between_and_beyond_the_tabled_ones():
    for size, p in zip(DIPS, PROBABILITIES, strict=True):
        assert dip_p_value(size / 10, 100) == pytest.approx(p)
    last, least = DIPS[-1], PROBABILITIES[-1]
    for further in (0.1, 0.5):
        known = least * np.exp(-8 * ((last + further) ** 2 - last**2))
        assert dip_p_value((last + further) / 20, 400) == pytest.approx(known)
    between = np.sqrt(PROBABILITIES[0] * PROBABILITIES[1])
    assert dip_p_value((DIPS[0] + DIPS[1]) / 20, 100) == pytest.approx(between)


def test_counts_on_a_scale_of_uneven_steps_have_no_valleys_between_them():
    """The logarithms of 0, 1 and 2 lie farther apart than those of large counts."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        X = rng.normal(size=(300, 4))
        X[:, 1] = np.log1p(np.floor(rng.exponential(3, 300)))
        assert split_test(X / X.std(axis=0), seed).p_value > 0.05
    # Two groups of whole numbers with a wide gap between them are still two.
    X[:, 1] = np.round(rng.normal(0, 3, 300)) + 30 * (rng.random(300) < 0.4)
    assert split_test(X / X.std(axis=0), 0).p_value < 1e-3
