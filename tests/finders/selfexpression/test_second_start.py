"""The second start of the refinement: only where the first leaves something to gain."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.finders import SSC
from subscape.finders.selfexpression.base import Parts, SelfExpressionFinder, Spreads
from subscape.measures import adjusted_rand_score
from subscape.parallel.progress import Watch


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


@pytest.mark.parametrize(("n_each", "asked"), [(40, ["written"]), (100, ["refined"])])
def test_few_rows_begin_with_the_flats_that_rows_write(monkeypatch, n_each, asked):
    X, truth = union(2, 0.0)
    X, truth = (np.concatenate([each[i * 100 : i * 100 + n_each] for i in range(3)])
                for each in (X, truth))  # fmt: skip
    calls, looked = [], []
    written, refined = SelfExpressionFinder._written_parts, SelfExpressionFinder._refined

    def watched_written(self, *args):
        looked.append(1)
        return written(self, *args)

    def watched_refined(self, *args):
        calls.append("written" if looked else "refined")
        return refined(self, *args)

    monkeypatch.setattr(SelfExpressionFinder, "_written_parts", watched_written)
    monkeypatch.setattr(SelfExpressionFinder, "_refined", watched_refined)
    finder = SSC(3, random_state=0).fit(X)
    # One way is enough: it ends with all rows on their flats.
    assert calls == asked
    assert adjusted_rand_score(truth, finder.labels_) == 1.0


def test_rows_on_flats_too_large_are_refined_all_the_same():
    # A row of another flat lies on one that has a dimension more.
    X, truth = union(3, 0.0)
    labels = truth.copy()
    labels[0] = 1
    finder = SSC(3, random_state=0).fit(X)
    spreads = Spreads(X, False)
    flats = [each.flat(int(each.dim_scores.argmin())) for each in spreads.of(labels)]
    start = Parts(labels, flats)
    assert [flat.dim for flat in flats] == [4, 5, 4]
    assert finder._is_exact(spreads, start)
    found = finder._refined(spreads, start, Watch("SSC", None, None))
    assert adjusted_rand_score(truth, found.parts.labels) == 1.0
    assert [flat.dim for flat in found.parts.flats] == [4, 4, 4]
