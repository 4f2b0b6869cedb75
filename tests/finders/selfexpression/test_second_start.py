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


def test_flats_that_hold_all_rows_are_not_the_last_word(monkeypatch):
    # Three planes that span six of twelve dimensions; parts that mix them lie on all six.
    rng = np.random.default_rng(0)
    bases = np.split(np.linalg.qr(rng.normal(size=(12, 6)))[0], 3, axis=1)
    X = np.vstack([rng.normal(size=(80, 2)) @ basis.T for basis in bases])
    X += 0.01 * rng.normal(size=X.shape)
    truth = np.repeat(np.arange(3), 80)
    finder, spreads = SSC(3, random_state=0), Spreads(X, False)
    assert spreads.common_flat_dim == 6
    assert finder._even_dim(spreads, 3) == 2
    assert SSC(3, affine=True)._even_dim(Spreads(X + 5.0, True), 3) == 1
    mixed = np.where(rng.random(240) < 0.4, rng.permutation(truth), truth)
    start = Parts(mixed, [each.flat(6) for each in spreads.of(mixed)])
    watch = Watch("SSC", None, None)
    stuck = finder._refined(spreads, start, watch)
    freed = finder._refined(spreads, start, watch, 2)
    assert stuck.score > freed.score
    assert [flat.dim for flat in freed.parts.flats] == [2, 2, 2]
    assert adjusted_rand_score(truth, freed.parts.labels) == 1.0
    # The search comes to it by itself, unless the dimension is given.
    tried = []
    usual = SelfExpressionFinder._refined

    def watched(self, spreads, start, watch, first=None):
        tried.append(first)
        return usual(self, spreads, start, watch, first)

    monkeypatch.setattr(SelfExpressionFinder, "_refined", watched)
    monkeypatch.setattr(SelfExpressionFinder, "_beginnings", lambda *args: iter([start]))
    for flat_dim, asked in ((None, [None, 2]), (6, [None])):
        tried.clear()
        found = SSC(3, flat_dim=flat_dim, random_state=0)._best(spreads, *[None] * 4, watch)
        assert tried == asked
    assert found.n_iter >= 1


def test_rows_that_fill_the_table_have_no_common_flat():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    assert Spreads(X, False).common_flat_dim == 5
    X[:, 4] *= 1e-3  # one direction less says nothing of the flats
    assert Spreads(X, False).common_flat_dim == 5
    X[:, 3] *= 1e-3
    assert Spreads(X, False).common_flat_dim == 3
