"""Cheng and Church's biclusters: what a bicluster must satisfy, and planted ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from subscape.core import SubspaceClustering
from subscape.finders import ChengChurch
from subscape.finders.cocluster.cheng_church.cheng_church import _with_additions
from subscape.finders.cocluster.cheng_church.residues import block_residues, cross_residues
from subscape.measures import clustering_error


def planted(n_blocks=1, shape=(30, 20), noise=0.1, effect=0.4, seed=0, table=(200, 100)):
    """A table of standard normal numbers with blocks of row effects + column effects."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=table)
    rows, columns = rng.permutation(table[0]), rng.permutation(table[1])
    blocks = []
    for k in range(n_blocks):
        block = rows[k * shape[0] :][: shape[0]], columns[k * shape[1] :][: shape[1]]
        X[np.ix_(*block)] = (
            effect * rng.normal(size=(shape[0], 1))
            + effect * rng.normal(size=shape[1])
            + noise * rng.normal(size=shape)
        )
        blocks.append((np.sort(block[0]), np.sort(block[1])))
    return X, SubspaceClustering.from_clusters(blocks, table)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_block_is_recovered(seed):
    X, truth = planted(seed=seed)
    finder = ChengChurch(1, delta=1.5 * 0.1**2, random_state=0).fit(X)
    assert clustering_error(finder.clustering_, truth) < 0.05
    assert finder.clustering_.columns_only() == truth.columns_only()


@pytest.mark.parametrize("seed", range(3))
def test_number_and_delta_come_from_the_table(seed):
    X, truth = planted(3, (60, 15), seed=seed)
    finder = ChengChurch(random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 3
    assert 0.01 < finder.delta_ < 0.02
    assert clustering_error(finder.clustering_, truth) < 0.1


def test_nothing_to_find():
    tables = [np.random.default_rng(seed).normal(size=(150, 60)) for seed in range(10)]
    finders = [ChengChurch(random_state=0).fit(X) for X in tables]
    empty = [finder for finder in finders if finder.clustering_.n_clusters == 0]
    assert len(empty) >= 9
    assert (empty[0].labels_ == -1).all()
    assert ChengChurch(2, random_state=0).fit(tables[0]).clustering_.n_clusters == 2


def test_a_table_that_is_one_bicluster():
    rng = np.random.default_rng(0)
    X = 50 * rng.normal(size=(40, 1)) + 20 * rng.normal(size=12)
    finder = ChengChurch(random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 1
    assert finder.clustering_.coverage == 1
    assert finder.clustering_.subspaces.masks.all()
    assert finder.residues_.max() <= finder.delta_


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 0.8]), st.sampled_from([0.0, 0.1]),
    st.sampled_from([5, 1000]),
)  # fmt: skip
@settings(deadline=None, max_examples=30)
def test_biclusters_are_within_delta_and_cannot_be_extended(seed, delta, missing, min_multi):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 12))
    X[:9, :6] = rng.normal(size=6) + 0.1 * rng.normal(size=(9, 6))
    X[rng.random(X.shape) < missing] = np.nan
    finder = ChengChurch(3, delta=delta, min_multi=min_multi, random_state=0).fit(X)
    assert (finder.residues_ <= delta).all()
    for k in range(finder.clustering_.n_clusters):
        block = finder.clustering_.cluster(k)
        assert len(block.rows) >= 2
        assert len(block.features) >= 2
        residue = block_residues(X, block.rows, block.features).mean
        np.testing.assert_allclose(finder.residues_[k], residue, atol=1e-12)
    if finder.clustering_.n_clusters:
        first = finder.clustering_.cluster(0)
        around = cross_residues(X, first.rows, first.features, np.arange(25), np.arange(12))
        if not missing:
            assert (np.delete(around.rows, first.rows) > delta - 1e-12).all()
            assert (np.delete(around.columns, first.features) > delta - 1e-12).all()


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 2))
@settings(deadline=None, max_examples=30)
def test_additions_never_lead_beyond_delta(seed, delta):
    X = np.random.default_rng(seed).normal(size=(20, 10))
    rows, columns = np.arange(2), np.arange(2)
    if block_residues(X, rows, columns).mean > delta:
        return
    rows, columns = _with_additions(X, rows, columns, delta)
    assert block_residues(X, rows, columns).mean <= delta + 1e-12


def test_mirror_images_on_request():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    columns = 0.8 * rng.normal(size=12)
    X[:20, :12] = 0.3 * rng.normal(size=(20, 1)) + columns
    X[20:26, :12] = 0.3 * rng.normal(size=(6, 1)) - columns
    plain = ChengChurch(1, delta=0.02, random_state=0).fit(X)
    assert plain.clustering_.cluster(0).rows.tolist() == list(range(20))
    assert plain.inverted_[0].tolist() == []
    both = ChengChurch(1, delta=0.02, inverted_rows=True, random_state=0).fit(X)
    assert both.clustering_.cluster(0).rows.tolist() == list(range(26))
    assert both.inverted_[0].tolist() == list(range(20, 26))
    assert both.clustering_.cluster(0).features.tolist() == list(range(12))
    assert both.residues_[0] <= 0.02


def test_missing_values_are_left_out():
    X, truth = planted(seed=1)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    finder = ChengChurch(1, delta=1.5 * 0.1**2, random_state=0).fit(X)
    assert clustering_error(finder.clustering_, truth) < 0.1
    X[7] = np.nan
    X[:, 5] = np.nan
    finder = ChengChurch(2, delta=0.02, random_state=0).fit(X)
    assert not finder.clustering_.subspaces.masks[:, 5].any()
    assert finder.labels_[7] == -1


def test_biclusters_may_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 40))
    row_effects, column_effects = 0.3 * rng.normal(size=(100, 1)), 0.3 * rng.normal(size=40)
    X[:40, :15] = (row_effects + column_effects)[:40, :15]
    X[30:70, 12:30] = (row_effects + column_effects)[30:70, 12:30]
    finder = ChengChurch(2, delta=1e-6, random_state=0).fit(X)
    blocks = [finder.clustering_.cluster(k) for k in range(2)]
    rows = {(b.rows[0], b.rows[-1], len(b.rows)) for b in blocks}
    assert (30, 69, 40) in rows
    assert len(rows) == 2


def test_the_seed_decides():
    X, _ = planted(3, (60, 15), noise=0.3, seed=0)
    first = ChengChurch(6, delta=0.1, random_state=0).fit(X)
    again = ChengChurch(6, delta=0.1, random_state=0).fit(X)
    other = ChengChurch(6, delta=0.1, random_state=1).fit(X)
    assert first.clustering_ == again.clustering_
    assert first.clustering_ != other.clustering_
    # Nothing is random before the first bicluster is hidden.
    np.testing.assert_array_equal(
        first.clustering_.cluster(0).rows, other.clustering_.cluster(0).rows
    )


def test_levels_of_rows_and_columns_do_not_matter():
    X, _ = planted(seed=2)
    rng = np.random.default_rng(0)
    moved = X + 8 * rng.normal(size=(200, 1)) + 8 * rng.normal(size=100)
    plain = ChengChurch(1, delta=0.015, random_state=0).fit(X).clustering_
    assert ChengChurch(1, delta=0.015, random_state=0).fit(moved).clustering_ == plain
    scaled = ChengChurch(1, delta=0.015 * 64**2, random_state=0).fit(64 * X).clustering_
    assert scaled == plain


def test_the_order_of_rows_and_columns_does_not_matter():
    X, _ = planted(seed=2)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(200), rng.permutation(100)
    plain = ChengChurch(1, delta=0.015, random_state=0).fit(X).clustering_
    moved = ChengChurch(1, delta=0.015, random_state=0).fit(X[np.ix_(rows, columns)]).clustering_
    assert moved == plain.restrict(rows, columns)


def test_many_rows_are_deleted_at_once():
    X, truth = planted(1, (400, 20), table=(3000, 40), seed=0)
    finder = ChengChurch(1, delta=0.015, min_multi=100, random_state=0).fit(X)
    assert clustering_error(finder.clustering_, truth) < 0.1
    assert finder.clustering_.columns_only() == truth.columns_only()


def test_out_of_time():
    X, _ = planted()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = ChengChurch(5, delta=0.015, max_time=1e-9, random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 1


@pytest.mark.parametrize("mask_range", [(1, 0), (1,), [0, 1, 2]])
def test_a_mask_range_that_is_none(mask_range):
    with pytest.raises(ValueError, match="mask_range must be a pair"):
        ChengChurch(mask_range=mask_range).fit(np.eye(4))


def test_a_table_without_values():
    with pytest.raises(ValueError, match="no cell of the 3 x 4 table holds a value"):
        ChengChurch().fit(np.full((3, 4), np.nan))
