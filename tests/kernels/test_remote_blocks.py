"""Passes over tables on a cluster, against the same passes over the table in memory."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.remote import cluster, remote_sources
from tests.table_sources import write_parquet

from subscape.arrays import row_blocks
from subscape.arrays.blocks import as_blocks, fold
from subscape.arrays.remote import blocks as remote_blocks
from subscape.arrays.remote import passes
from subscape.arrays.remote.blocks import RemoteBlocks
from subscape.arrays.remote.passes import Cut, dealt
from subscape.arrays.remote.rows import packed
from subscape.arrays.row_values import (
    each_row,
    equal_rows,
    farthest_row,
    first_rows,
    fold_rows,
    order_statistics,
    put_entry,
    row_counts,
)
from subscape.arrays.sources import ParquetSource
from subscape.core.errors import (
    FileFormatError,
    LostWorkerError,
    ShapeMismatchError,
    SubscapeError,
)
from subscape.parallel import distributed as place
from subscape.parallel.distributed import is_on_worker
from subscape.version import __version__


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(row_blocks, "CELLS", 500)
    monkeypatch.setattr(ParquetSource, "cells_together", 800)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made:
        yield made


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(1003, 5)).astype(np.float32) + 100


LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any)


@given(LENGTHS, st.integers(1, 50), st.integers(0, 60))
@settings(deadline=None)
def test_stretches_hold_every_row_once_and_begin_with_a_block(lengths, step, wanted):
    cut = Cut.of(lengths, step, wanted)
    starts = np.cumsum([0, *lengths])
    rows = [
        starts[piece.chunk] + np.arange(piece.first, piece.stop)
        for stretch in cut.stretches
        for piece in stretch.pieces
    ]
    np.testing.assert_array_equal(np.concatenate(rows), np.arange(sum(lengths)))
    assert all(stretch.start % step == 0 for stretch in cut.stretches)
    for stretch in cut.stretches:
        inside = sum(piece.stop - piece.first for piece in stretch.pieces)
        assert inside == stretch.stop - stretch.start > 0


def test_rows_of_files_are_dealt_out_evenly():
    """A row group can't be parted, so stretches are of one or two here; both have 15 in all."""
    cut = Cut.of([100] * 30, 1, 3000 / 18)
    assert set(cut.lengths) == {100, 200}
    assert len(cut.stretches) == 18
    dealt_to = np.array(dealt(cut.lengths, {"a": 1, "b": 1}))
    for worker in "ab":
        assert np.sum(np.array(cut.lengths)[dealt_to == worker]) == 1500


def test_neighbouring_stretches_are_summed_by_one_call():
    groups = passes._summed_together([*"aaaaaabb", None, None])
    assert [list(each) for each in groups] == [[0, 1, 2, 3], [4, 5], [6, 7], [8], [9]]


def test_stretches_of_many_columns_are_short(client, tmp_path, monkeypatch):
    """Their blocks have statistics that fill the memory: p² numbers for each cluster."""
    monkeypatch.setattr(ParquetSource, "cells_together", 10**6)
    longest = {}
    for width in (5, 15):
        table = np.random.default_rng(0).normal(size=(1003, width))
        there = as_blocks(write_parquet(table, tmp_path / f"{width}.parquet", 20))
        longest[width] = max(there._cut.lengths) * width
    # 500 / 15² are 2 blocks; 4 calls for each of two threads would be of 1881 cells.
    assert longest[15] <= 3 * 500
    assert longest[5] >= 1003 / 8 * 5


def test_every_worker_has_its_share(client, table, tmp_path, monkeypatch):
    """Wherever the labels lie that a first pass over one worker's share has made."""
    told = []

    def noted(*arguments, places, **options):
        told.append(places)
        return visit_all(*arguments, places=places, **options)

    visit_all = remote_blocks.visit_all
    monkeypatch.setattr(remote_blocks, "visit_all", noted)
    there = as_blocks(write_parquet(table, tmp_path / "one.parquet", 50))
    labels = there.mapped(lambda block, rows: block.argmax(axis=1), np.int32)
    there.fold(lambda block, rows, own: 0, reads=(labels,))
    places, lengths = np.array(told[0]), np.array(there._cut.lengths)
    assert told == [told[0]] * 2
    rows = [lengths[places == worker].sum() for worker in client.ncores()]
    assert sum(rows) == 1003
    assert abs(rows[0] - rows[1]) <= 100

    def who(block, rows):
        from distributed import get_worker

        time.sleep(0.02)
        return get_worker().address

    assert set(there.collect(who)) == set(client.ncores())


def test_function_with_much_that_it_holds_on_to(client, table, tmp_path):
    """It goes to every worker once, not with every call."""
    weights = np.random.default_rng(1).normal(size=(5, 5000))
    assert weights.nbytes > passes.WITH_EACH_CALL
    expected = as_blocks(table).fold(
        lambda block, rows: block @ weights[:, :3] @ np.ones(3) @ block
    )
    for source in remote_sources(table, tmp_path):
        found = as_blocks(source).fold(
            lambda block, rows: block @ weights[:, :3] @ np.ones(3) @ block
        )
        np.testing.assert_array_equal(found, expected)


def test_only_the_blocks_that_are_asked_for(client, table, tmp_path):
    for source in remote_sources(table, tmp_path):
        there = as_blocks(source)
        assert there.at_rows(lambda block, rows: rows.start, [1002, 320, 500, 399]) == [
            300,
            500,
            1000,
        ]
        np.testing.assert_array_equal(there.take([477]), table[[477]])


def test_passes(client, table, tmp_path):
    here = as_blocks(table)
    rows = [1002, 3, 500, 3, 0]
    for source in remote_sources(table, tmp_path):
        there = as_blocks(source)
        assert isinstance(there, RemoteBlocks)
        for name in ("low", "high", "finite"):
            np.testing.assert_array_equal(getattr(there.ranges, name), getattr(here.ranges, name))
        np.testing.assert_array_equal(there.means, here.means)
        np.testing.assert_array_equal(there.column_squares(), here.column_squares())
        assert there.square == here.square
        moved = there.recentred(here.ranges.low, here.means).map(np.abs)
        same = here.recentred(here.ranges.low, here.means).map(np.abs)
        product = fold(lambda block, rows: block.T @ block, moved)
        np.testing.assert_array_equal(product, fold(lambda block, rows: block.T @ block, same))
        np.testing.assert_array_equal(there.take(rows), table[rows])
        np.testing.assert_array_equal(there.select([4, 1]).to_numpy(), table[:, [4, 1]])
        np.testing.assert_array_equal(there.column(2), table[:, 2])
        spans = [(part.start, part.stop) for part, _ in there]
        assert spans == [(part.start, part.stop) for part, _ in here]


def test_sums_of_any_kind_keep_their_order(client, table):
    there = as_blocks(da.from_array(table, chunks=(97, 5)))
    starts = there.collect(lambda block, rows: rows.start)
    assert starts == list(range(0, 1003, 100))
    text = there.fold(lambda block, rows: f"{rows.start} ", start="from ")
    assert text == "from " + "".join(f"{start} " for start in starts)


def test_row_values(client, table):
    here, there = as_blocks(table), as_blocks(da.from_array(table, chunks=(97, 5)).persist())
    labels = there.mapped(lambda block, rows: block.argmax(axis=1) - 1, np.int32)
    expected = table.argmax(axis=1) - 1
    np.testing.assert_array_equal(labels.to_numpy(), expected)
    np.testing.assert_array_equal(labels.to_dask(np.int64).compute(), expected)
    np.testing.assert_array_equal(row_counts(labels, 6), row_counts(expected, 6))
    np.testing.assert_array_equal(first_rows(labels, 6), first_rows(expected, 6))
    np.testing.assert_array_equal(
        first_rows(labels, 4, lowest=-1),
        [(np.append(expected, label) == label).argmax() for label in range(-1, 3)],
    )
    assert equal_rows(labels, labels.copy())
    # In blocks of another size, where another number of columns is looked at.
    narrow = there.select([0])
    total = narrow.fold(lambda block, rows, own: block[own == 1].sum(axis=0), reads=(labels,))
    other = here.select([0])
    np.testing.assert_array_equal(
        total, other.fold(lambda block, rows, own: block[own == 1].sum(axis=0), reads=(expected,))
    )
    before = labels.copy()
    put_entry(labels, 345, 77)
    assert labels.get(345) == 77
    assert before.get(345) == expected[345]
    assert not equal_rows(labels, before)
    assert farthest_row(lambda rows, own: own.astype(float), labels) == (77.0, 345)
    doubled = each_row(lambda rows, own: 2 * own, before, dtype=np.int64)
    np.testing.assert_array_equal(doubled.to_numpy(), 2 * expected)
    step = here.block_rows
    away = there.mapped(lambda block, rows: np.abs(block[:, 0] / 3), np.float64)
    total = fold_rows(lambda rows, own: float(own.sum()), away, step=step)
    assert total == fold_rows(
        lambda rows, own: float(own.sum()), np.abs(table[:, 0] / np.float32(3)).astype(float),
        step=step,
    )  # fmt: skip
    with pytest.raises(ShapeMismatchError, match="1003 rows, what lies beside it 5"):
        there.fold(lambda block, rows, own: 0, reads=(np.zeros(5),))


ENTRIES = st.one_of(
    hnp.arrays(st.sampled_from([np.int32, np.int64, np.uint8, np.uint64]), st.integers(0, 20)),
    hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-130, 130)),
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=1, max_dims=2, min_side=0),
        elements=st.sampled_from([1.0, 1.0, 1.0, 0.5, np.nan, np.inf, -0.0]),
    ),
    hnp.arrays(bool, st.integers(0, 20)),
)


@given(ENTRIES)
@example(np.array([128], np.uint8))
@example(np.array([40000], np.uint16))
@settings(deadline=None)
def test_entries_come_out_as_they_were_packed(part):
    found = np.empty_like(part)
    passes_on = packed(part)
    passes_on.unpacked(found)
    assert found.tobytes() == part.tobytes()
    assert passes_on.values.nbytes <= part.nbytes


def test_confidence_and_labels_travel_in_few_bytes():
    sure = np.where(np.arange(8000) % 10 == 0, 0.9, 1.0)
    there = packed(sure)
    assert there.values.nbytes + there.others.nbytes == 800 * 8 + 1000
    assert packed(np.full(8000, 7, np.int32)).values.nbytes == 8000


@given(
    st.lists(st.floats(0, 1e300) | st.sampled_from([0.0, 1.0, 5e-324]), min_size=1, max_size=60),
    st.data(),
)
@settings(deadline=None)
def test_order_statistics_are_those_of_sorted_values(values, data):
    labels = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    )
    values = np.array(values)
    ranks = {
        int(k): data.draw(st.integers(0, int((labels == k).sum()) - 1)) for k in np.unique(labels)
    }
    found = order_statistics(values, labels, ranks)
    assert found == {k: np.sort(values[labels == k])[rank] for k, rank in ranks.items()}


def test_chunk_of_another_type(client, table):
    def odd(block, block_info=None):
        late = block_info[0]["chunk-location"][0] == 3
        return block.astype(np.float64) / 3 if late else block

    array = da.from_array(table, chunks=(97, 5)).map_blocks(odd, dtype=np.float32)
    with pytest.raises(SubscapeError, match=r"holds float64, but the table says .* float32"):
        _ = as_blocks(array).means


def test_part_that_can_not_be_read(client, table, tmp_path):
    for i in range(5):
        write_parquet(table[i * 200 : i * 200 + 200], tmp_path / f"part-{i}.parquet", 50)
    there = as_blocks(tmp_path)
    whole = (tmp_path / "part-3.parquet").read_bytes()
    (tmp_path / "part-3.parquet").write_bytes(whole[:100] + b"\xff" * 900 + whole[1000:])
    with pytest.raises(FileFormatError, match=r"part-3\.parquet is no readable Parquet file"):
        there.to_numpy()


def test_what_a_function_raises_comes_back(client, table):
    def refuse(block, rows):
        raise SubscapeError(f"row {rows.start} is odd")

    with pytest.raises(SubscapeError, match="row 0 is odd"):
        as_blocks(da.from_array(table, chunks=(2000, 5))).fold(refuse)


def test_worker_without_memory(client, table):
    def too_much(block, rows):
        return np.empty(2**46)

    with pytest.raises(
        MemoryError, match=r"rows 0 to 1002 \(.*allocate.*\); give each worker more"
    ):
        as_blocks(da.from_array(table, chunks=(2000, 5))).fold(too_much)


def test_other_build_on_a_worker_is_refused(client, table, monkeypatch):
    def build():
        return ("1.0", "numpy") if is_on_worker() else ("1.0", "cython")

    monkeypatch.setattr(passes, "build", build)
    with pytest.raises(SubscapeError, match=r"kernels of cython.* with those of numpy"):
        _ = as_blocks(da.from_array(table, chunks=(97, 5))).means


def test_workers_are_asked_before_any_work(client, table, monkeypatch):
    monkeypatch.setattr(place, "_CHECKED", set())
    monkeypatch.setattr(place, "WORKER_VERSION", "__import__('no_such_package')")
    with pytest.raises(
        SubscapeError, match=r"would not give the same results.* there is none.*install subscape=="
    ):
        as_blocks(da.from_array(table, chunks=(97, 5)))


def test_scheduler_that_stops_answering(client, table, monkeypatch):
    """A pass that it was given never ends: it is asked for its workers, and given ten seconds."""

    class Silent:
        status = "running"

        def ncores(self):
            time.sleep(60)

    monkeypatch.setattr(place, "LOOK", 0.1)
    monkeypatch.setattr(place, "ANSWER", 0.3)
    began = time.monotonic()
    with pytest.raises(LostWorkerError, match=r"not answered for 0\.3 s; look whether"):
        place._next(queue.SimpleQueue(), Silent())
    assert time.monotonic() - began < 5


def test_workers_that_do_not_answer(table, monkeypatch):
    class Silent:
        status = "running"

        def ncores(self):
            return {"tcp://127.0.0.1:1": 1}

        def run(self, function, *arguments, on_error):
            time.sleep(60)

    monkeypatch.setattr(place, "ANSWER", 0.3)
    with pytest.raises(SubscapeError, match=r"can't be asked what they run \(no answer within"):
        place._check_workers(Silent(), "tcp://127.0.0.1:1", None)


def test_worker_that_dies_while_it_is_asked(monkeypatch):
    """It runs no other build: those that are left are asked again."""

    class Dying:
        status = "running"
        asked = 0

        def ncores(self):
            return {"tcp://127.0.0.1:1": 1}

        def run(self, function, *arguments, on_error):
            self.asked += 1
            answer = function(*arguments)
            dead = {"tcp://127.0.0.1:2": ConnectionResetError("closed")}
            return {"tcp://127.0.0.1:1": answer} | (dead if self.asked in still else {})

    still, client = (1, 3, 4), Dying()
    place._check_workers(client, "tcp://127.0.0.1:9", lambda: "cython")
    assert client.asked == 5
    still, client = range(10**6), Dying()
    monkeypatch.setattr(place, "ANSWER", 0.3)
    with pytest.raises(SubscapeError, match=r"can't be asked what they run \(closed\); look"):
        place._check_workers(client, "tcp://127.0.0.1:9", None)


def test_workers_may_take_longer_to_load_the_libraries(monkeypatch):
    class Slow:
        status = "running"

        def ncores(self):
            return {"tcp://127.0.0.1:1": 1}

        def run(self, function, *arguments, on_error):
            if function is eval:
                return {"tcp://127.0.0.1:1": __version__}
            time.sleep(0.5)
            return {"tcp://127.0.0.1:1": function()}

    monkeypatch.setattr(place, "ANSWER", 0.2)
    place._check_workers(Slow(), "tcp://127.0.0.1:1", lambda: "cython")
    monkeypatch.setattr(place, "PATIENCE", 0.3)
    with pytest.raises(
        SubscapeError, match=r"can't be asked what they run \(no answer within 0\.3"
    ):
        place._check_workers(Slow(), "tcp://127.0.0.1:1", lambda: "cython")


def test_chunks_of_unknown_size(client, table):
    array = da.from_array(table, chunks=(97, 5))
    with pytest.raises(SubscapeError, match=r"unknown size.*compute_chunk_sizes"):
        as_blocks(array[array[:, 0] > 100])


# -- workers that are processes, and die -----------------------------------------------------------


@pytest.fixture(scope="module")
def processes():
    with warnings.catch_warnings():
        # Of the cluster itself: ports in use, sockets closed late.
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

        settings = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(n_workers=2, **settings) as started, Client(started):
            yield started


@pytest.fixture
def both(processes):
    from distributed import default_client

    default_client().wait_for_workers(2, timeout=60)
    return processes


def slowly(block, rows, own):
    time.sleep(0.05)
    return float((own * block[:, 1]).sum())


def test_worker_killed_in_the_middle(both, table):
    """What it held is made again by the other one, to the same bits."""
    there = as_blocks(da.from_array(table, chunks=(97, 5)).persist())
    near = there.mapped(lambda block, rows: block[:, 0] * 2, np.float64)
    victim, killed = next(iter(both.workers.values())).process.pid, []
    timer = threading.Timer(0.2, lambda: killed.append(os.kill(victim, signal.SIGKILL)))
    timer.start()
    total = there.fold(slowly, np.float64, reads=(near,))
    timer.join()
    assert killed == [None]
    doubled = (table[:, 0] * np.float32(2)).astype(np.float64)
    assert total == as_blocks(table).fold(slowly, np.float64, reads=(doubled,))


def test_stretch_under_which_all_workers_die(both, table, monkeypatch):
    monkeypatch.setattr(both.scheduler, "allowed_failures", 1)

    def die(block, rows):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(LostWorkerError, match=r"killed twice .* give each worker more"):
        as_blocks(da.from_array(table, chunks=(2000, 5))).fold(die)


def test_client_that_disconnects(both, table):
    from distributed import Client

    with Client(both) as client:
        there = as_blocks(da.from_array(table, chunks=(97, 5)))
        near = there.mapped(lambda block, rows: block[:, 0], np.float64)
        timer = threading.Timer(0.2, client.close)
        timer.start()
        with pytest.raises(LostWorkerError, match="lost"):
            there.fold(slowly, np.float64, reads=(near,))
        timer.join()


def page_faults(size):
    import resource

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    np.ones(size)
    before = faults()
    for _ in range(20):
        np.ones(size)
    return faults() - before


@pytest.mark.skipif(sys.platform != "linux", reason="an option of the GNU C library")
def test_workers_use_the_memory_of_a_block_again(both, table):
    """Their own setting gives it back after every block, and its pages are made anew."""
    from distributed import default_client

    as_blocks(da.from_array(table, chunks=(97, 5))).fold(lambda block, rows: 0)
    told = default_client().run(passes.keep_freed_memory)
    assert list(told.values()) == [True, True]
    # 1 MB, 256 pages: 20 times given back they would be 5120 faults. Larger arrays have huge pages.
    found = default_client().submit(page_faults, 2**17, pure=False).result()
    assert found < 1000


def test_memory_of_this_process_is_left_alone(monkeypatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert not passes.keep_freed_memory.__wrapped__()


@pytest.mark.parametrize(("answers", "is_told"), [((1, 1), True), ((1, 0), False), ((0, 1), False)])
def test_freed_memory_is_kept_if_the_library_takes_both_options(monkeypatch, answers, is_told):
    asked, left = [], list(answers)

    def mallopt(option, value):
        asked.append((option, value))
        return left.pop(0)

    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "0")
    library = SimpleNamespace(mallopt=mallopt)
    monkeypatch.setattr(passes, "ctypes", SimpleNamespace(CDLL=lambda name: library))
    assert passes.keep_freed_memory.__wrapped__() is is_told
    # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
    assert asked == [(-3, 32 << 20), (-1, 64 << 20)][: len(asked)] and len(asked) >= 1
    monkeypatch.setattr(passes, "ctypes", SimpleNamespace(CDLL=lambda name: SimpleNamespace()))
    assert passes.keep_freed_memory.__wrapped__() is False
