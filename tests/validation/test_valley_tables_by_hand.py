"""Which tables without valleys are drawn for each kind."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.validation import valleys
from subscape.validation.nulls import NullModel
from subscape.validation.valleys import CurveNull

TABLE = np.random.default_rng(0).normal(size=(60, 3)) * [1, 10, 100] + 5


@pytest.mark.parametrize(("kind", "closed"), [("curve", False), ("ring", True)])
def test_curves_and_rings(kind, closed):
    drawn = valleys._drawer(TABLE, kind, None)(3)
    np.testing.assert_array_equal(drawn, CurveNull(TABLE, None, closed=closed).draw(3))
    other = CurveNull(TABLE, None, closed=not closed).draw(3)
    assert drawn.shape == TABLE.shape and not np.array_equal(drawn, other)


@pytest.mark.parametrize("kind", ["gaussian", "unimodal"])
def test_tables_of_other_kinds_are_of_the_standardised_one(kind):
    drawn = valleys._drawer(TABLE, kind, None)(3)
    scaled = (TABLE - TABLE.mean(axis=0)) / TABLE.std(axis=0)
    np.testing.assert_allclose(drawn, NullModel(scaled, kind).draw(3))
    assert np.abs(drawn).max() < 8
