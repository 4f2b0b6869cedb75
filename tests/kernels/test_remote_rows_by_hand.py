"""Entries per row that stay with workers, with a client that does everything here."""

from __future__ import annotations

import itertools

import dask
import numpy as np
import pytest

from subscape import SubspaceClustering
from subscape.arrays.remote import passes, rows
from subscape.arrays.remote.rows import RemoteRows, change_rows, each_row, fold_rows, packed
from subscape.finders.oriented.kflats.rows import spare_farthest


class Client:
    def submit(self, function, *given, pure):
        assert pure is False
        return function(*given)

    def get(self, graph, keys, sync):
        tasks = {key: task for layer in graph.layers.values() for key, task in dict(layer).items()}
        return list(dask.get(tasks, list(keys)))


@pytest.fixture
def client(monkeypatch):
    for module in (passes, rows):
        monkeypatch.setattr(module, "awaited", lambda client, answers: answers)
    return Client()


VALUES = np.array([3, -1, 0, 2, 2, 5, -1])
BOUNDS = (0, 3, 5, 7)


def pieces(found):
    return [part.tolist() for part in found.pieces]


def test_entries_by_piece(client):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    assert pieces(found) == [[3, -1, 0], [2, 2], [5, -1]]
    assert (found.shape, found.ndim, len(found), found.dtype) == ((7,), 1, 7, VALUES.dtype)
    assert found.fresh is None and found.to_numpy().tolist() == VALUES.tolist()
    pairs = RemoteRows.of(np.arange(14.0).reshape(7, 2), client, BOUNDS)
    assert (pairs.shape, pairs.ndim, pairs.width) == ((7, 2), 2, (2,))


def test_entries_that_nobody_has_written(client):
    found = RemoteRows(client, BOUNDS, np.int32, 4, (2,))
    assert found.fresh == (np.int32, 4, (2,)) and found.pieces is None
    assert found.to_numpy().tolist() == [[4, 4]] * 7 and found.pieces is None
    assert found.cut((0, 7)).pieces is None and found.cut((0, 7)).fill == 4
    assert [part.shape for part in found.made()] == [(3, 2), (2, 2), (2, 2)]
    assert {part.dtype for part in found.pieces} == {np.dtype(np.int32)} and found.fresh is None
    assert RemoteRows(client, BOUNDS, float).to_numpy().tolist() == [0.0] * 7


@pytest.mark.parametrize(
    "bounds", [(0, 7), (0, 3, 7), (0, 1, 2, 3, 4, 5, 6, 7), (0, 4, 7), (0, 2, 6, 7), (0, 5, 7)]
)
def test_pieces_that_begin_elsewhere(client, bounds):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    other = found.cut(bounds)
    assert other.bounds == bounds and found.cut(BOUNDS) is found
    assert pieces(other) == [VALUES[a:b].tolist() for a, b in itertools.pairwise(bounds)]
    assert pieces(found) == [[3, -1, 0], [2, 2], [5, -1]]


@pytest.mark.parametrize("row", range(7))
def test_one_entry_is_written_and_read(client, row):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    copy = found.copy()
    found.put(row, (), 99)
    assert found.get(row) == 99 and copy.get(row) == VALUES[row]
    expected = VALUES.copy()
    expected[row] = 99
    assert found.to_numpy().tolist() == expected.tolist()
    assert copy.to_numpy().tolist() == VALUES.tolist()
    wide = RemoteRows.of(np.zeros((7, 3)), client, BOUNDS)
    wide.put(row, 2, 1.5)
    assert np.argwhere(wide.to_numpy()).tolist() == [[row, 2]]


def test_many_pieces_come_in_order(client):
    values = np.arange(23)
    found = RemoteRows.of(values, client, tuple(range(24)))
    assert found.to_numpy().tolist() == values.tolist()
    assert found[3:5].tolist() == [3, 4]
    wide = RemoteRows.of(np.arange(14).reshape(7, 2), client, BOUNDS)
    column = wide[:, 1]
    assert isinstance(column, RemoteRows) and column.to_numpy().tolist() == list(range(1, 14, 2))
    assert wide.to_dask().compute().tolist() == np.arange(14).reshape(7, 2).tolist()
    assert wide.to_dask(np.float32).dtype == np.float32


def test_sums_over_pieces(client):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    assert fold_rows(lambda rows, own: int(own.sum()), found) == VALUES.sum()
    assert fold_rows(lambda rows, own: [(rows.start, len(own))], found) == [(0, 3), (3, 2), (5, 2)]
    assert fold_rows(lambda rows, own: [len(own)], found, step=2) == [2, 1, 2, 2]
    both = fold_rows(lambda rows, a, b: int((a * b).sum()), found, found.cut((0, 7)))
    assert both == (VALUES**2).sum()


def test_entries_are_computed_and_changed(client):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    doubled = each_row(lambda rows, own: 2 * own, found, dtype=np.int16)
    assert doubled.dtype == np.int16 and doubled.to_numpy().tolist() == (2 * VALUES).tolist()
    wide = each_row(lambda rows, own: np.c_[own, own], found, dtype=int, width=(2,))
    assert wide.shape == (7, 2) and wide.to_numpy()[:, 1].tolist() == VALUES.tolist()

    def add(rows, own, out):
        out += own

    target = RemoteRows.of(np.full(7, 100), client, (0, 7))
    change_rows(add, found, changes=target)
    assert target.bounds == BOUNDS and target.to_numpy().tolist() == (VALUES + 100).tolist()


def test_numbers_of_clusters(client):
    found = RemoteRows.of(VALUES, client, BOUNDS)
    assert found.sizes(2).tolist() == [1, 0, 2, 1, 0, 1]
    assert found.sizes(9).tolist() == [1, 0, 2, 1, 0, 1, 0, 0, 0]
    renumbered = found.renumbered(np.array([7, 0, 8, 9, 0, 6]))
    assert renumbered.to_numpy().tolist() == [9, -1, 7, 8, 8, 6, -1]
    assert renumbered.dtype == np.int32


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([-128, 127], np.int8), ([-129, 0], np.int16), ([0, 128], np.int16),
        ([-32768, 32767], np.int16), ([0, 32768], np.int32), ([0, 2**31 - 1], np.int32),
        ([0, 2**31], np.int64), ([-(2**31), 0], np.int32),
    ],
)  # fmt: skip
def test_small_numbers_travel_in_few_bytes(values, kind):
    part = np.array(values)
    sent = packed(part)
    assert sent.values.dtype == kind and sent.others is None
    out = np.empty_like(part)
    sent.unpacked(out)
    assert out.tolist() == values


@pytest.mark.parametrize(("n_others", "is_short"), [(0, True), (7, True), (8, False), (10, False)])
def test_ones_do_not_travel_where_most_are(n_others, is_short):
    part = np.ones(10)
    part[:n_others] = 0.25
    sent = packed(part)
    assert (sent.others is not None) is is_short
    assert len(sent.values) == (n_others if is_short else 10)
    out = np.zeros(10)
    sent.unpacked(out)
    assert out.tolist() == part.tolist()
    assert packed(np.ones((3, 2))).others is None and packed(np.zeros(0, int)).values.dtype == int


def test_clusterings_whose_numbers_lie_elsewhere(client):
    found = SubspaceClustering.from_labels(RemoteRows.of(VALUES, client, BOUNDS))
    # Clusters 1 and 4 have no rows; one feature stands for all that nobody named.
    assert found.shape == (7, 1) and found.sizes.tolist() == [1, 2, 1, 1]
    assert found.labels().tolist() == [2, -1, 0, 1, 1, 3, -1]
    named = SubspaceClustering.from_labels(
        RemoteRows.of(VALUES, client, BOUNDS), feature_names=["a", "b"]
    )
    assert named.n_features == 2 and named.subspaces.masks.all()
    masks = np.eye(6, 4, dtype=bool) | (np.arange(4) == 3)
    given = SubspaceClustering.from_labels(RemoteRows.of(VALUES, client, BOUNDS), masks=masks)
    assert given.subspaces.masks.tolist() == masks[[0, 2, 3, 5]].tolist()
    with pytest.raises(ValueError, match="the largest label is 5, but there are 2 subspaces"):
        SubspaceClustering.from_labels(
            RemoteRows.of(VALUES, client, BOUNDS), masks=np.ones((2, 4), bool)
        )
    with pytest.raises(ValueError, match="n_features=3, but the subspaces span 4"):
        SubspaceClustering.from_labels(
            RemoteRows.of(VALUES, client, BOUNDS), masks=masks, n_features=3
        )
    noise = RemoteRows.of(np.full(7, -1), client, BOUNDS)
    assert SubspaceClustering.from_labels(noise).n_clusters == 0


@pytest.mark.parametrize(
    ("spared", "kept"),
    [
        # Of the equally far ones the last go first.
        (1, [0, 1, 2, 3, 4, 6]), (2, [0, 2, 3, 4, 6]), (3, [0, 2, 3, 4]), (4, [0, 2, 3]),
        (5, [0, 3]), (6, [3]), (7, []),
    ],
)  # fmt: skip
def test_the_farthest_rows_are_spared_wherever_they_lie(client, spared, kept):
    near = np.array([1.0, 5.0, 3.0, 0.5, 3.0, 5.0, 3.0])
    expected = np.where(np.isin(np.arange(7), kept), 2, -1)
    here = np.full(7, 2, np.int32)
    spare_farthest(here, near, spared)
    assert here.tolist() == expected.tolist()
    there = RemoteRows.of(np.full(7, 2, np.int32), client, BOUNDS)
    spare_farthest(there, RemoteRows.of(near, client, BOUNDS), spared)
    assert there.to_numpy().tolist() == expected.tolist()
