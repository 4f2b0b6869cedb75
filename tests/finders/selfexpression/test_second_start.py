"""The second start of the refinement: only where the first leaves something to gain."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.finders import SSC
from subscape.finders.selfexpression.base import SelfExpressionFinder
from subscape.measures import adjusted_rand_score


def union(seed, noise):
    """Three flats of dimension 4 in 6 dimensions, 100 rows each."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(6, 4)))[0] for _ in range(3)]
    X = np.vstack([rng.normal(size=(100, 4)) @ basis.T for basis in bases])
    return X + noise * rng.normal(size=X.shape), np.repeat(np.arange(3), 100)


@pytest.mark.parametrize(("noise", "asked"), [(0.0, 0), (0.05, 1)])
def test_only_where_rows_are_off_the_flats(monkeypatch, noise, asked):
    calls = []
    usual = SelfExpressionFinder._joined_parts

    def counted(self, *args):
        calls.append(1)
        return usual(self, *args)

    monkeypatch.setattr(SelfExpressionFinder, "_joined_parts", counted)
    X, truth = union(0, noise)
    finder = SSC(3, random_state=0).fit(X)
    assert len(calls) == asked
    if not noise:
        # Only the true flats leave nothing of the rows.
        assert adjusted_rand_score(truth, finder.labels_) == 1.0


def test_a_further_start_would_find_the_same(monkeypatch):
    X, _ = union(1, 0.0)
    once = SSC(3, random_state=0).fit(X).labels_
    monkeypatch.setattr(SelfExpressionFinder, "_is_exact", lambda self, spreads, found: False)
    np.testing.assert_array_equal(once, SSC(3, random_state=0).fit(X).labels_)
