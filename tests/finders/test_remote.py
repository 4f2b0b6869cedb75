"""Finders on tables whose rows lie on a cluster: the bits of the same table in memory."""

from __future__ import annotations

from itertools import islice

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from tests.finders.test_streamed import FINDERS as STREAMED
from tests.remote import cluster, fitted, remote_sources

from subscape.arrays import row_blocks
from subscape.arrays.remote.blocks import RemoteBlocks
from subscape.arrays.sources import ParquetSource
from subscape.core.errors import ConstantFeatureWarning
from subscape.core.memberships import DistantMemberships
from subscape.datasets import planted_views
from subscape.finders import NrKMeans


def views():
    X, truths = planted_views(1500, 8, n_clusters=(3, 2), random_state=0)
    return (X + 5.0).astype(np.float32), truths[0]


BRIEF = {"n_clusters": (3, 2), "search_rows": 300, "n_init": 4, "random_state": 0}
FINDERS = {name: STREAMED[name] for name in STREAMED if "memory" not in name} | {
    "NrKMeans": (NrKMeans(**BRIEF), views),
    "NrKMeans, noise": (NrKMeans(**BRIEF, noise=True), views),
    "NrKMeans, many clusters": (
        NrKMeans(**BRIEF | {"n_clusters": (40, 1), "search_rows": 60, "max_iter": 5}), views,
    ),
}  # fmt: skip
#: Those that search all rows keep the table here.
LOCAL = ("LAC, soft", "LAC, all rows", "KFlats, all rows", "MineClus, all rows")
#: Rows may be in several clusters of these: the rows of each come here.
OVERLAPPING = (
    "MineClus, overlap",
    "P3C, overlap",
    *(name for name in FINDERS if name[:5] in ("CLIQU", "MAFIA")),
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(row_blocks, "CELLS", 1500)
    monkeypatch.setattr(ParquetSource, "cells_together", 2500)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made:
        yield made


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FINDERS)
def test_same_bits(name, client):
    finder, planted = FINDERS[name]
    X, _ = planted()
    expected = clone(finder).fit(X)
    there = clone(finder).fit(da.from_array(X, chunks=(271, -1)).persist())
    assert fitted(there) == fitted(expected)
    assert isinstance(there.labels_, np.ndarray if name in LOCAL + OVERLAPPING else da.Array)
    np.testing.assert_array_equal(
        there.clustering_.memberships.toarray(), expected.clustering_.memberships.toarray()
    )


@pytest.mark.parametrize("name", ["LAC", "KFlats", "PROCLUS", "SubKMeans", "NrKMeans", "MineClus"])
def test_new_rows_stay_there(name, client):
    finder, planted = FINDERS[name]
    X, _ = planted()
    there = da.from_array(X, chunks=(371, -1))
    finder = clone(finder).fit(there)
    placed = finder.predict(there)
    assert isinstance(placed, da.Array)
    np.testing.assert_array_equal(placed.compute(), finder.predict(X))
    if hasattr(finder, "transform"):
        inside = finder.transform(there)
        assert isinstance(inside, da.Array)
        np.testing.assert_allclose(inside.compute(), finder.transform(X), atol=1e-12)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_any_number_of_workers_and_any_chunks(n_workers, tmp_path):
    with cluster(n_workers):
        for name in ("LAC", "FastDOC", "MineClus, overlap", "CLIQUE", "MAFIA, units", "P3C"):
            finder, planted = FINDERS[name]
            X, _ = planted()
            expected = fitted(clone(finder).fit(X))
            folder = tmp_path / name
            folder.mkdir()
            # The first of them in every way; of the others, chunks and row groups that don't align.
            step = 1 if name == "LAC" else 2
            stop = None if name == "LAC" or n_workers == 3 else 2
            for source in islice(remote_sources(X, folder), step - 1, stop, step):
                assert fitted(clone(finder).fit(source)) == expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tables_are_not_brought_here(client, monkeypatch):
    """Sums, bits and a sample come, whatever the finder."""

    def refuse(table):
        raise AssertionError("the whole table came")

    monkeypatch.setattr(RemoteBlocks, "to_numpy", refuse)
    for name in (
        "DOC",
        "MineClus",
        "MineClus, overlap",
        "CLIQUE",
        "CLIQUE, all",
        "MAFIA, units",
        "P3C",
    ):
        finder, planted = FINDERS[name]
        clone(finder).fit(da.from_array(planted()[0], chunks=(271, -1)))


def test_labels_come_only_when_asked_for(client):
    finder, planted = FINDERS["KFlats"]
    X, _ = planted()
    found = clone(finder).fit(da.from_array(X, chunks=(271, -1))).clustering_
    members = found.members
    assert isinstance(members, DistantMemberships)
    assert found.sizes.sum() == len(X)
    assert found.is_hard
    assert members._brought is None
    assert members.rows(0).max() < len(X)
    assert members._brought is not None


@pytest.mark.parametrize("name", ["LAC", "KFlats", "NrKMeans"])
def test_constant_columns(name, client):
    finder, planted = FINDERS[name]
    X, _ = planted()
    X[:, 1] = 3.0
    with pytest.warns(ConstantFeatureWarning):
        expected = fitted(clone(finder).fit(X))
    with pytest.warns(ConstantFeatureWarning):
        found = clone(finder).fit(da.from_array(X, chunks=(271, -1)))
    assert fitted(found) == expected
    assert found.clustering_.n_features == X.shape[1]
