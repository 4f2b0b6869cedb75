"""How well clusters come back, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from subscape.validation.stability import clusters
from subscape.validation.stability.clusters import best_jaccard


@pytest.mark.parametrize(
    ("members", "labels", "known"),
    [
        ([[1, 1, 0, 0]], [0, 0, 1, 1], [1.0]), ([[1, 0, 0, 0]], [0, 1, 1, 1], [1.0]),
        ([[1, 1, 0, 0]], [0, 0, 0, 1], [2 / 3]), ([[1, 1, 0, 0]], [0, 1, -1, -1], [0.5]),
        ([[1, 1, 0, 0], [0, 0, 1, 1]], [5, 5, -1, 5], [2 / 3, 0.25]),
        ([[1, 1, 1, 0]], [-1, -1, -1, 0], [0.0]), ([[1, 0, 0, 0]], [-1] * 4, [0.0]),
        ([[0, 0, 0, 0]], [0, 0, 1, 1], [0.0]),
    ],
)  # fmt: skip
def test_the_best_jaccard_index(members, labels, known):
    found = best_jaccard(np.array(members, bool), np.array(labels))
    np.testing.assert_allclose(found, known)


@pytest.mark.parametrize(
    ("pairs", "mean"),
    [((0.2, 0.4, 0.9), 0.5), ((0.2, np.nan, 0.4), 0.3), ((np.nan, np.nan, np.nan), np.nan)],
)
def test_the_mean_distance_of_runs_is_that_of_the_pairs_that_are_known(monkeypatch, pairs, mean):
    matrix = np.full((3, 3), 7.0)  # neither the diagonal nor what lies below it counts
    matrix[np.triu_indices(3, 1)] = pairs
    monkeypatch.setattr(clusters, "Sampled", SimpleNamespace(of_run=lambda run: run))
    monkeypatch.setattr(clusters, "distances_within", lambda members, *given: matrix)
    found = clusters.distance_between_runs(["a", "b", "c"])
    assert found == pytest.approx(mean, nan_ok=True)
