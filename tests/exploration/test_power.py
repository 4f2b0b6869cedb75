"""How strong a grouping would have had to be."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.exploration.power import Power, detectable, planted
from subscape.validation.max_statistic import NullMaxima


def maxima(centre: float) -> NullMaxima:
    values = tuple(np.random.default_rng(0).gumbel(centre, 0.03, 30))
    return NullMaxima(values, values)


def test_the_higher_chance_reaches_the_farther_groups_must_be_apart():
    found = [detectable(300, 6, maxima(centre)).two for centre in (-0.4, -0.1, 0.1)]
    assert found == sorted(found) and found[0] < found[-1]
    assert detectable(300, 6, maxima(3.0)).two is None


def test_several_ideas_cost_power():
    alone, beside = (detectable(300, 6, maxima(0.25), n_ideas=n) for n in (1, 1000))
    assert beside.two is None or beside.two >= alone.two


def test_nothing_to_compare_with():
    assert detectable(100, 3, NullMaxima((), ())) is None


def test_groups_are_as_far_apart_as_said():
    Z, labels = planted(30_000, 3, 3, 4.0, np.random.default_rng(0))
    spread = np.mean([Z[labels == k].std(axis=0)[0] for k in range(3)])
    first, second = (Z[labels == k].mean(axis=0)[0] for k in range(2))
    assert (second - first) / spread == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (Power(3.0, 3.0, 9, 2), "Two or three equal groups would have been seen here from 3 "),
        (Power(None, None, 9, 2), "Even two or three equal groups 6 standard deviations apart"),
        (Power(3.0, 4.0, 9, 2), "3 standard deviations between their middles on, three from 4 on"),
        (Power(None, 4.0, 9, 2), "Two equal groups would not have been seen here even at 6 "),
    ],
)  # fmt: skip
def test_words(power, words):
    assert words in power.words()
