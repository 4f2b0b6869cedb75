from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_axes
from subscape.ensemble import generate
from subscape.finders import LAC


@pytest.fixture(scope="session")
def planted():
    """A table of three clusters in subspaces of their own."""
    X, truth = planted_axes(240, 8, n_clusters=3, dims=3, random_state=1)
    return X, truth


@pytest.fixture(scope="session")
def members(planted):
    """An ensemble of all four representations."""
    finder = LAC(3, n_init=1, init="random")
    return generate(planted[0], finder, 24, random_state=0)


@pytest.fixture
def flipped():
    """Copies of a truth with five clusters, 15 % of the labels wrong, and the truth."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 40)
    copies = []
    for _ in range(20):
        labels = rng.permutation(5)[truth]
        wrong = rng.random(200) < 0.15
        labels[wrong] = rng.integers(0, 5, wrong.sum())
        copies.append(labels)
    return copies, truth
