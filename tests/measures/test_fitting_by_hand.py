"""Rows of parts in blocks, their sums, and how workers tell which rows are in which part."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.arrays.blocks import as_blocks
from subscape.measures.flats import fitting
from subscape.measures.flats.fitting import (
    DistantPart,
    LocalParts,
    Part,
    RemoteParts,
    Sums,
    WholePart,
    _by_covariance,
    _is_huge,
    _remote_parts,
    blocks,
    sums_of,
)

X = np.arange(60.0).reshape(20, 3)
ROWS = np.array([1, 2, 5, 9, 18], np.int32)
SHARES = np.array([1.0, 0.5, 0.25, 0.75, 0.125])
RUN = np.arange(4, 12, dtype=np.int32)


def part(rows, memberships=None):
    return Part(np.asarray(rows, np.int32), memberships)


@pytest.fixture(params=[64, 3, 1])
def step(request, monkeypatch):
    monkeypatch.setattr(fitting, "_step", lambda p: request.param)
    return request.param


@pytest.mark.parametrize(
    ("rows", "memberships"), [(ROWS, None), (ROWS, SHARES), (RUN, None), ([], None), ([19], None)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of", [np.asarray, as_blocks])
def test_rows_come_in_blocks_of_one_size(step, rows, memberships, dtype, of):
    found = [
        (block.copy(), shares)
        for block, shares in blocks(of(X.astype(dtype)), part(rows, memberships))
    ]
    assert [len(block) for block, _ in found] == [
        min(step, len(rows) - first) for first in range(0, len(rows), step)
    ]
    assert all(block.dtype == np.float64 for block, _ in found)
    if len(rows):
        assert np.vstack([block for block, _ in found]).tolist() == X[rows].tolist()
    given = [shares for _, shares in found]
    if memberships is None:
        assert given == [None] * len(found)
    else:
        assert np.concatenate(given).tolist() == memberships.tolist()


def test_blocks_have_as_many_rows_as_cells_allow():
    assert [fitting._step(p) for p in (1, 1000, 3125, 3126, 10**6)] == [200_000, 200, 64, 64, 64]


@pytest.mark.parametrize("products", [True, False])
def test_moments_of_all_parts_in_one_pass(products):
    parts = [part(ROWS), part(ROWS, SHARES), part([]), WholePart(20), part([7])]
    found = list(sums_of(X, parts, [products] * 5))
    for each, sums in zip(parts, found, strict=True):
        moments = sums.moments()
        if not each.n_rows:
            assert moments.weight == 0 and not moments.mean.any() and not moments.variances.any()
            continue
        shares = np.ones(each.n_rows) if each.memberships is None else each.memberships
        covariance = np.cov(X[each.rows].T, aweights=shares, ddof=0)
        assert moments.weight == shares.sum()
        np.testing.assert_allclose(moments.mean, shares @ X[each.rows] / shares.sum())
        np.testing.assert_allclose(moments.variances, np.diag(covariance), atol=1e-9)
        if products:
            np.testing.assert_allclose(sums.covariance(), covariance, atol=1e-9)
        length = moments.variances.sum() + np.square(moments.mean).sum()
        assert moments.square == pytest.approx(length)


def test_as_many_parts_at_once_as_find_room(monkeypatch):
    passes = []
    real = fitting.SumsOfParts
    monkeypatch.setattr(fitting, "SumsOfParts", lambda sums: passes.append(len(sums)) or real(sums))
    monkeypatch.setattr(fitting, "PASS_CELLS", 24)  # two times 3 + 9, or eight times 3
    parts = [part(ROWS)] * 5
    assert len(list(sums_of(X, parts, [False, True, False, False, False]))) == 5
    assert passes == [2, 2, 1]
    passes.clear()
    list(sums_of(X, parts, [False] * 5))
    assert passes == [5]


def test_parts_whose_rows_are_here():
    members = LocalParts([part(ROWS), WholePart(20), part(ROWS, SHARES), part([0])])
    found = [
        (k, None if inside is None else inside.tolist(), None if own is None else own.tolist())
        for k, inside, own in members(slice(2, 9))
    ]
    assert found == [(0, [0, 3], None), (1, None, None), (2, [0, 3], [0.5, 0.25])]
    assert [k for k, _, _ in members(slice(0, 1))] == [1, 3]


def told(members, span, *beside):
    return [
        (k, None if inside is None else inside.tolist(), None if own is None else own.tolist())
        for k, inside, own in members(span, *beside)
    ]


def test_workers_tell_parts_by_numbers_where_no_row_is_in_two():
    members, (codes,) = _remote_parts([part([1, 3]), WholePart(5), part([0])], 5)
    assert codes.tolist() == [2 - 1, 0, -1, 0, -1]
    assert told(members, slice(0, 5), codes) == [(0, [1, 3], None), (1, None, None), (2, [0], None)]
    assert told(members, slice(2, 3), codes[2:3]) == [(1, None, None)]


@pytest.mark.parametrize("shares", [None, np.array([0.5, 1.0])])
def test_workers_tell_parts_by_memberships_where_rows_are_shared(shares):
    members, (weights,) = _remote_parts([part([1, 3], shares), part([0, 3])], 4)
    own = [1.0, 1.0] if shares is None else [0.5, 1.0]
    assert weights.tolist() == [[0, 1], [own[0], 0], [0, 0], [own[1], 1]]
    assert told(members, slice(0, 4), weights) == [(0, [1, 3], own), (1, [0, 3], [1.0, 1.0])]


def test_workers_need_nothing_for_whole_tables_and_have_numbers_that_lie_there():
    members, beside = _remote_parts([WholePart(4)] * 2, 4)
    assert beside == () and told(members, slice(0, 4)) == [(0, None, None), (1, None, None)]
    codes = np.array([2, -1, 2, 0])
    members, beside = _remote_parts([DistantPart(codes, 2, 2), DistantPart(codes, -1, 1)], 4)
    assert beside[0] is codes
    assert told(members, slice(0, 4), codes) == [(0, [0, 2], None), (1, [1], None)]
    assert told(RemoteParts([0], soft=False), slice(0, 1), np.array([1])) == []


@pytest.mark.parametrize(
    ("m", "p", "dim", "by_covariance", "huge"),
    [
        (10, 3, 1, True, False), (3, 3, 1, False, False), (4, 3, 1, True, False),
        (1, 1, 1, False, False), (10, 3, 0, False, False), (2, 1, 1, True, False),
        (3000, 2001, 100, False, True), (3000, 2001, 101, True, False),
        (3000, 2000, 1, True, False), (2000, 3000, 1, False, False), (2001, 3000, 1, False, True),
    ],
)  # fmt: skip
def test_how_a_flat_is_found(m, p, dim, by_covariance, huge):
    assert _by_covariance(m, p, dim) is by_covariance
    assert _is_huge(m, p, min(dim, p, m - 1)) is huge


def test_sums_without_rows():
    sums = Sums(part([]), 2, products=True)
    assert sums.moments().weight == 0.0 and sums.moments().mean.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("number", "first"), [(2, 0), (-1, 1), (0, 3)])
def test_the_first_rows_of_parts_that_lie_elsewhere(number, first):
    codes = np.array([2, -1, 2, 0, -1])
    parts = [part(ROWS), DistantPart(codes, number, 1), WholePart(5), part([])]
    assert fitting._first_rows(parts) == {0: 1, 1: first, 2: 0}
    both = [DistantPart(codes, 0, 1), DistantPart(codes, 2, 2), DistantPart(codes, 1, 0)]
    assert fitting._first_rows(both) == {0: 3, 1: 0}
    assert fitting._first_rows([]) == {}
    rows = DistantPart(codes, number, 1).rows
    assert rows.tolist() == np.flatnonzero(codes == number).tolist() and rows.dtype == np.int32
