"""Scores of tables whose rows lie on a cluster: the bits of the same table in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from tests.finders.test_streamed import FINDERS
from tests.remote import cluster, remote_sources

from subscape import SubspaceClustering
from subscape.arrays import row_blocks
from subscape.arrays.sources import ParquetSource
from subscape.measures import (
    DensityProfile,
    description_length,
    feature_losses,
    loss_by_dim,
    sre,
)

SCORES = (sre, description_length, feature_losses, loss_by_dim)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(row_blocks, "CELLS", 1500)
    monkeypatch.setattr(ParquetSource, "cells_together", 2500)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made:
        yield made


def bits(found) -> bytes:
    parts = found if isinstance(found, tuple) else (found,)
    return b"".join(np.asarray(part).tobytes() for part in parts)


def clusterings(X):
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, len(X))
    yield labels
    masks = rng.random((4, X.shape[1])) < 0.5
    masks[:, 0] = True
    yield SubspaceClustering.from_labels(labels, masks=masks)
    # The last cluster has fewer rows than the table columns, and begins late.
    rows = [np.arange(700), np.arange(500, 1200), np.arange(1300, 1303)]
    yield SubspaceClustering.from_clusters([(each, [0, 1]) for each in rows], shape=X.shape)
    yield SubspaceClustering(rng.dirichlet(np.ones(3), len(X)).T, np.ones((3, X.shape[1]), bool))


@pytest.mark.parametrize("which", range(4))
def test_same_bits(which, client, tmp_path):
    X, _ = FINDERS["KFlats"][1]()
    clustering = list(clusterings(X))[which]
    for source in list(remote_sources(X, tmp_path))[which % 2 :: 3]:
        for score in SCORES:
            assert bits(score(source, clustering)) == bits(score(X, clustering)), score
        found, expected = DensityProfile.of(source, clustering), DensityProfile.of(X, clustering)
        np.testing.assert_array_equal(found.counts, expected.counts)


def test_labels_that_lie_there(client):
    X, _ = FINDERS["LAC"][1]()
    labels = np.random.default_rng(1).integers(-1, 5, len(X))
    there, codes = da.from_array(X, chunks=(271, -1)), da.from_array(labels, chunks=100)
    for score in SCORES:
        assert bits(score(there, codes)) == bits(score(X, labels))
    assert DensityProfile.of(there, codes) == DensityProfile.of(X, labels)


def test_bins_by_quantiles(client):
    X, _ = FINDERS["LAC"][1]()
    labels = np.random.default_rng(1).integers(0, 3, len(X))
    there = da.from_array(X, chunks=(271, -1))
    found = DensityProfile.of(there, labels, binning="quantile")
    assert found == DensityProfile.of(X, labels, binning="quantile")
