"""Stretches of a table and what is done with them, without a cluster."""

from __future__ import annotations

import functools
import operator

import dask
import numpy as np
import pytest

from subscape.arrays.remote import passes
from subscape.arrays.remote.passes import Cut, Piece, Stretch, TableView, Visit, dealt, visit_all
from subscape.core.errors import SubscapeError
from subscape.parallel.distributed import Carried

# -- cut ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "step", "wanted", "bounds"),
    [
        ([5, 5], 4, 1, [0, 8, 10]), ([4, 4], 4, 1, [0, 4, 8]), ([1, 1, 1, 1], 4, 1, [0, 4]),
        ([10], 3, 1, [0, 10]), ([3, 3, 3], 1, 1, [0, 3, 6, 9]), ([2, 7, 1], 4, 1, [0, 4, 10]),
        # Of about eight rows each: the borders nearest to 8 and 16.
        ([3] * 8, 1, 8, [0, 9, 15, 24]), ([4] * 4, 2, 100, [0, 16]),
        ([4] * 4, 4, 4, [0, 4, 8, 12, 16]),
        ([6] * 4, 2, 9, [0, 12, 18, 24]),
    ],
)  # fmt: skip
def test_stretches_end_with_blocks_near_the_ends_of_chunks(lengths, step, wanted, bounds):
    cut = Cut.of(lengths, step, wanted)
    assert list(cut.bounds) == bounds and cut.step == step
    assert cut.lengths == np.diff(bounds).tolist()
    # All rows once, in order, each from its chunk.
    rows = [
        (piece.chunk, row)
        for each in cut.stretches
        for piece in each.pieces
        for row in range(piece.first, piece.stop)
    ]
    assert rows == [(c, r) for c, length in enumerate(lengths) for r in range(length)]
    assert all(piece.stop > piece.first for each in cut.stretches for piece in each.pieces)


def test_pieces_of_a_stretch():
    starts, ends = np.array([0, 5, 5, 9]), np.array([5, 5, 9, 12])
    assert list(passes._pieces(starts, ends, 3, 10)) == [
        Piece(0, 3, 5), Piece(2, 0, 4), Piece(3, 0, 1),
    ]  # fmt: skip
    assert list(passes._pieces(starts, ends, 5, 9)) == [Piece(2, 0, 4)]


@pytest.mark.parametrize(
    ("lengths", "threads", "who"),
    [
        ([5] * 4, {"a": 1, "b": 1}, "aabb"), ([5] * 4, {"a": 3, "b": 1}, "aaab"),
        ([5] * 4, {"b": 1, "a": 3}, "aaab"), ([9, 1, 1, 1], {"a": 1, "b": 1}, "abbb"),
        ([5] * 3, {"a": 2}, "aaa"), ([1] * 6, {"a": 1, "b": 1, "c": 1}, "aabbcc"),
    ],
)  # fmt: skip
def test_who_reads_each_stretch(lengths, threads, who):
    assert "".join(dealt(lengths, threads)) == who


@pytest.mark.parametrize(
    ("places", "groups"),
    [
        ("aaaaaa", [4, 2]), ("aaaa", [4]), ("aab", [2, 1]), ("abab", [1] * 4), ("", []),
        ([None] * 3, [1, 1, 1]), (["a", "a", None, "a"], [2, 1, 1]), ("aaaaab", [4, 1, 1]),
    ],
)  # fmt: skip
def test_neighbours_of_one_worker_are_summed_together(places, groups):
    found = list(passes._summed_together(list(places)))
    assert [len(each) for each in found] == groups
    assert [i for each in found for i in each] == list(range(len(places)))


# -- done -----------------------------------------------------------------------------------------

X = np.arange(20.0).reshape(10, 2)
VIEW = TableView(2, np.dtype(float), None, None, None)


def visit(function, view=VIEW, fresh=(), asked=None, step=3, kept=np.float64):
    return Visit(function, view, step, kept, fresh, asked)


def test_every_block_is_visited_with_its_rows():
    seen = []

    def note(block, place, values):
        seen.append((block.tolist(), place, values.tolist()))
        return len(block)

    outcome = passes._done(visit(note), 6, 13, [X[:4], X[4:7]], [np.arange(7)])
    assert outcome.parts == [3, 3, 1]
    assert [place for _, place, _ in seen] == [slice(6, 9), slice(9, 12), slice(12, 13)]
    assert [values for *_, values in seen] == [[0, 1, 2], [3, 4, 5], [6]]
    assert functools.reduce(operator.iadd, (block for block, *_ in seen), []) == X[:7].tolist()


def test_blocks_that_are_asked_for():
    seen = []

    def note(block, place):
        seen.append(place.start)
        return float(block[0, 0])

    wanted = visit(note, asked=frozenset({3, 6, 99}))
    assert passes._done(wanted, 0, 10, [X], []).parts == [6.0, 12.0]
    assert seen == [3, 6]


def test_values_without_a_table():
    def note(place, values):
        values += 1
        return place

    found = passes._done(visit(note, view=None, fresh=(None,)), 4, 9, [], [np.arange(5)])
    assert found.parts == [slice(4, 7), slice(7, 9)]
    assert found.written[0].tolist() == [1, 2, 3, 4, 5]


def test_values_that_are_written_are_fresh_or_copies():
    kept = np.arange(10)

    def note(block, place, read, old, new):
        old += 100
        new[:] = block[:, :1]
        assert read.tolist() == list(range(place.start, place.stop))

    fresh = (None, (np.int32, -1, (2,)))
    beside = [np.arange(10), kept, None]
    found = passes._done(visit(note, fresh=fresh), 0, 10, [X], beside)
    old, new = found.written
    assert kept.tolist() == list(range(10)) and old.tolist() == list(range(100, 110))
    assert new.dtype == np.int32 and new.tolist() == [[2 * i, 2 * i] for i in range(10)]
    blank = passes._done(visit(lambda *given: None, fresh=fresh), 0, 10, [X], beside)
    assert blank.written[1].tolist() == [[-1, -1]] * 10


def test_blocks_are_converted():
    def kind(block, place):
        return block.dtype

    assert set(passes._done(visit(kind, kept=np.float32), 0, 10, [X], []).parts) == {
        np.dtype(np.float32)
    }


def test_parts_are_added_in_order():
    def outcome(*parts):
        return passes.PieceOutcome(list(parts), [])

    assert passes._summed(Carried(None), outcome(1, 2), outcome(3)) == 6
    assert passes._summed(10, outcome(1)) == 11
    assert passes._parts(outcome(1, 2)) == [1, 2]
    assert passes._rows(passes.PieceOutcome([], ["a", "b"]), 1) == "b"


def count(block, place):
    return np.array([len(block), block.sum()])


def test_a_call_on_a_worker_of_another_build_is_refused(monkeypatch):
    how = Carried((visit(count), passes.build()))
    parts = passes._visited(how, 0, 10, 1, X).parts
    assert np.sum(parts, axis=0).tolist() == [10, X.sum()]
    for other in (("0.0", passes.build()[1]), (passes.build()[0], "others")):
        with pytest.raises(SubscapeError, match=f"client runs subscape {other[0]} with the"):
            passes._visited(Carried((visit(count), other)), 0, 10, 1, X)


def out_of_memory(block, place):
    raise MemoryError("64 MiB")


def test_a_worker_without_memory_names_the_rows():
    how = Carried((visit(out_of_memory), passes.build()))
    with pytest.raises(MemoryError, match=r"no memory left for rows 20 to 29 \(64 MiB\)"):
        passes._visited(how, 20, 30, 1, X)


# -- all of it, by the tasks that a cluster would be sent ------------------------------------------


class Client:
    """Does tasks here; keeps what was asked of whom."""

    def get(self, graph, keys, sync):
        assert sync is False
        self.layers = [
            (dict(layer), dict(layer.annotations or {})) for layer in graph.layers.values()
        ]
        self.tasks = {key: task for layer, _ in self.layers for key, task in layer.items()}
        return list(dask.get(self.tasks, list(keys)))


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(passes, "awaited", lambda client, answers: answers)
    return Client()


CUT = Cut.of([4, 3, 3], 2)


def rows_of(stretch):
    return [X[stretch.start : stretch.stop]]


@pytest.mark.parametrize("places", [None, ["a", "a", "b"], ["a", "b", "a"]])
def test_a_pass_over_a_table(client, places):
    stretches = CUT.stretches
    assert CUT.bounds == (0, 4, 8, 10)
    total, written = visit_all(
        client, visit(count, step=2), stretches, rows_of, [], places=places, start=None
    )
    assert total.tolist() == [10, X.sum()] and written == []
    more, _ = visit_all(
        client, visit(count, step=2), stretches, rows_of, [], places=places, start=np.array([5, 1])
    )
    assert more.tolist() == [15, X.sum() + 1]
    parts, _ = visit_all(
        client, visit(count, step=2), stretches, rows_of, [], places=places, collect=True
    )
    assert [part[0] for part in parts] == [2] * 5
    notes = [note for _, note in client.layers[1:]]
    assert {tuple(note.get("workers", ())) for note in notes} == (
        {("a",), ("b",)} if places else {()}
    )
    assert {note.get("priority") for note in notes} == {None, 1}
    assert all(note.get("allow_other_workers", not places) for note in notes)


def numbered(block, place, values, old):
    old += values
    return len(block)


def test_values_of_rows_stay_by_stretch(client):
    values = [np.arange(each.start, each.stop) for each in CUT.stretches]
    old = [np.full(each.stop - each.start, 100) for each in CUT.stretches]
    total, (written,) = visit_all(
        client, visit(numbered, step=2, fresh=(None,)), CUT.stretches, rows_of, [values, old]
    )
    assert total == 10
    assert np.concatenate(written).tolist() == list(range(100, 110))
    assert all((each == 100).all() for each in old)


def test_large_functions_go_to_each_worker_once(client, monkeypatch):
    places = ["a", "a", "b"]
    visit_all(client, visit(count, step=2), CUT.stretches, rows_of, [], places=places)
    few = len(client.tasks)
    monkeypatch.setattr(passes, "WITH_EACH_CALL", 10)
    total, _ = visit_all(client, visit(count, step=2), CUT.stretches, rows_of, [], places=places)
    assert total.tolist() == [10, X.sum()] and len(client.tasks) == few + 2


def test_tasks_that_are_there_already(client):
    graph = {"rows": (np.copy, X)}
    whole = (Stretch(0, 10, (Piece(0, 0, 10),)),)
    total, _ = visit_all(client, visit(count), whole, lambda stretch: ["rows"], [], graph=graph)
    assert total.tolist() == [10, X.sum()] and "rows" in client.layers[0][0]
