"""Scores of tables in files and chunks: the bits of the same table in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from tests.table_sources import sources, write_parquet

from subscape.arrays import row_blocks as blocks_module
from subscape.arrays.blocks import as_blocks
from subscape.core import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.datasets import planted_axes, planted_oriented
from subscape.measures import (
    DensityProfile,
    adco_similarity,
    description_length,
    encode,
    feature_losses,
    loss_by_dim,
    pair_profile,
    sre,
)
from subscape.measures.flats import fitting as part_sums


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks, of other sizes than those that sums are made of."""
    monkeypatch.setattr(blocks_module, "CELLS", 400)
    monkeypatch.setattr(part_sums, "BLOCK_CELLS", 330)


def lines():
    X, truth = planted_oriented(4, ((1, 400), (2, 350), (1, 120)), noise=0.1, random_state=3)
    rows = np.random.default_rng(0).permutation(len(X))
    return X[rows].astype(np.float32), truth.restrict(rows=rows)


def boxes():
    X, truth = planted_axes(800, 5, n_clusters=3, dims=2, noise=0.1, random_state=1)
    return X.astype(np.float32), truth


def flat(result) -> bytes:
    """All numbers of a result, to the last bit."""
    fields = result if isinstance(result, tuple) else (result,)
    return b"".join(np.asarray(field, np.float64).tobytes() for field in fields)


SCORES = {
    "sre": sre,
    "sre, variance units": lambda X, c: sre(X, c, units="variance", noise="ignore"),
    "sre, planes": lambda X, c: sre(X, c, flat_dims=2),
    "description length": description_length,
    "description length, lines": lambda X, c: description_length(X, c, flat_dims=1),
    "feature losses": feature_losses,
    "loss by dim": loss_by_dim,
    "profile": lambda X, c: DensityProfile.of(X, c, bins=7).counts,
    "profile, quantiles": lambda X, c: DensityProfile.of(X, c, bins=5, binning="quantile").counts,
    "profile, mdl": lambda X, c: DensityProfile.of(X, c, binning="mdl").counts,
    "pair profile": lambda X, c: pair_profile(X, c, bins=3).counts,
}


@pytest.mark.parametrize("planted", [lines, boxes])
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_same_bits(planted, score, tmp_path):
    X, truth = planted()
    expected = flat(score(X, truth))
    for source in sources(X, tmp_path):
        assert flat(score(source, truth)) == expected


def test_same_bits_of_soft_memberships(tmp_path):
    X, _ = boxes()
    shares = np.random.default_rng(1).dirichlet([0.3, 0.3, 0.3], len(X)).T
    given = SubspaceClustering.from_labels(np.arange(len(X)) % 3, n_features=5)
    given = SubspaceClustering(shares, given.subspaces)
    given_as = list(sources(X, tmp_path))
    for score in (sre, lambda X, c: sre(X, c, flat_dims=2), description_length):
        expected = flat(score(X, given))
        for source in given_as:
            assert flat(score(source, given)) == expected
    counts = DensityProfile.of(X, given).counts
    np.testing.assert_array_equal(DensityProfile.of(da.from_array(X), given).counts, counts)


def test_few_clusters_at_a_time(monkeypatch, tmp_path):
    X, truth = lines()
    expected = flat(sre(X, truth))
    path = write_parquet(X, tmp_path / "t.parquet", 90)
    monkeypatch.setattr(part_sums, "PASS_CELLS", 1)
    assert flat(sre(path, truth)) == expected


def test_one_pass_for_all_clusters(monkeypatch, tmp_path):
    X, truth = lines()
    read = as_blocks(write_parquet(X, tmp_path / "t.parquet", 90))
    passes = []
    plain = type(read).__iter__
    monkeypatch.setattr(type(read), "__iter__", lambda self: passes.append(1) or plain(self))
    sre(read, truth)
    assert len(passes) == 1
    passes.clear()
    description_length(read, truth.labels() % 3)  # a pass for the table, one for the clusters
    assert len(passes) == 2
    passes.clear()
    DensityProfile.of(read, truth)
    assert len(passes) == 2


def test_profiles_are_compared(tmp_path):
    X, truth = boxes()
    path = write_parquet(X, tmp_path / "t.parquet", 100, list("abcde"))
    ours, other = DensityProfile.of(path, truth), DensityProfile.of(path, truth.labels()[::-1])
    assert ours.bins.names == tuple("abcde")
    assert adco_similarity(ours, ours) == 1.0 > adco_similarity(ours, other)
    again = DensityProfile.of(path, truth, bins=ours)
    assert again == ours


def test_what_needs_memory_reads_the_source(tmp_path):
    X, truth = lines()
    path = write_parquet(X, tmp_path / "t.parquet", 100)
    for ours, theirs in zip(encode(path, truth).clusters, encode(X, truth).clusters, strict=True):
        np.testing.assert_array_equal(ours.rows, theirs.rows)


class TestRefusals:
    @pytest.mark.parametrize("score", [sre, description_length, DensityProfile.of])
    @pytest.mark.parametrize("bad, message", [(np.inf, "infinity"), (np.nan, "NaN")])
    def test_bad_values(self, score, bad, message, tmp_path):
        X, truth = boxes()
        X[500, 3] = bad
        for source in sources(X, tmp_path):
            with pytest.raises(SubscapeError, match=message):
                score(source, truth)

    def test_missing_values_can_be_counted(self, tmp_path):
        X, truth = boxes()
        X[500, 3] = np.nan
        expected = DensityProfile.of(X, truth, missing="bin")
        for source in sources(X, tmp_path):
            counts = DensityProfile.of(source, truth, missing="bin").counts
            np.testing.assert_array_equal(counts, expected.counts)

    def test_bad_values_in_given_bins(self):
        X, truth = boxes()
        bins = DensityProfile.of(X, truth)
        X[500, 3] = np.nan
        with pytest.raises(SubscapeError, match="NaN"):
            DensityProfile.of(da.from_array(X), truth, bins=bins)

    def test_other_rows(self, tmp_path):
        X, truth = boxes()
        path = write_parquet(X[:-1], tmp_path / "t.parquet", 100)
        for score in (sre, description_length, DensityProfile.of):
            with pytest.raises(ShapeMismatchError, match="799 rows"):
                score(path, truth)

    def test_nominal_columns(self):
        X, truth = boxes()
        with pytest.raises(TypeError, match="need the table in memory"):
            DensityProfile.of(da.from_array(X), truth, nominal=[1])
