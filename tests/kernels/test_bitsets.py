"""Packed sets: against plain flags, and the compiled kernel against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from subscape.arrays import bitsets
from subscape.arrays.bitsets import count, intersection_counts, pack, unpack

flags = arrays(bool, array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=150))


@given(flags)
def test_unpacking_gives_the_flags_back(given_flags):
    words = pack(given_flags)
    n = given_flags.shape[-1]
    assert words.dtype == np.uint64 and words.shape == (*given_flags.shape[:-1], -(-n // 64))
    np.testing.assert_array_equal(unpack(words, n), given_flags)
    np.testing.assert_array_equal(count(words), given_flags.sum(axis=-1))


def test_element_i_is_bit_i():
    words = pack(np.arange(130) % 64 == 3)
    np.testing.assert_array_equal(words, np.array([8, 8, 0], dtype=np.uint64))


def test_sets_may_be_views():
    table = np.zeros((4, 130), dtype=bool)
    table[::2, 5::7] = True
    words = np.asfortranarray(pack(table))
    np.testing.assert_array_equal(unpack(words[::2], 130), table[::2])


@given(st.integers(1, 200), st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_intersections_are_counted(n, m, seed):
    rng = np.random.default_rng(seed)
    sets, other = rng.random((m, n)) < 0.5, rng.random(n) < 0.5
    expected = (sets & other).sum(axis=1)
    for kernel in (intersection_counts, intersection_counts.reference):
        counts = kernel(pack(sets), pack(other))
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, expected)


def test_sets_of_another_length_are_refused():
    for kernel in (intersection_counts, intersection_counts.reference):
        with pytest.raises(ValueError, match="sets of 2 words against one of 1 words"):
            kernel(np.zeros((3, 2), dtype=np.uint64), np.zeros(1, dtype=np.uint64))


def test_more_flags_than_bits_are_refused():
    with pytest.raises(ValueError, match="hold 64 bits, not 65"):
        unpack(np.zeros(1, dtype=np.uint64), 65)


def test_old_numpy_counts_the_same(monkeypatch):
    words = np.random.default_rng(0).integers(0, 2**64, size=(5, 3), dtype=np.uint64)
    words[0] = [0, 2**64 - 1, 2**63]
    expected = [sum(int(word).bit_count() for word in line) for line in words]
    np.testing.assert_array_equal(count(words), expected)
    monkeypatch.setattr(bitsets, "_bits_per_word", bitsets._bits_per_word_by_halves)
    np.testing.assert_array_equal(count(words), expected)
