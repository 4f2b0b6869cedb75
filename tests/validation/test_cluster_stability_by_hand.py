"""How well clusters come back, by hand."""

from __future__ import annotations

import numpy as np
import pytest

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
