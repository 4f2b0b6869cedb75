"""Sets of rows (or features) as packed bits: one bit per element, 64 to a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import BitArray, BoolArray, IntArray

from .backend import compiled

__all__ = ["count", "intersection_counts", "pack", "unpack"]

WORD = 64


def pack(flags: ArrayLike) -> BitArray:
    """Pack flags into words, the last axis 64 to a word; spare bits are 0.

    Parameters
    ----------
    flags : (..., n) array of bool
        Which elements are in the set.

    Returns
    -------
    (..., ceil(n / 64)) array of uint64
        Element ``i`` is bit ``i % 64`` of word ``i // 64``, on every machine.

    Examples
    --------
    >>> from subscape.arrays.bitsets import pack
    >>> pack([True, False, True])
    array([5], dtype=uint64)
    """
    flags = np.asarray(flags, dtype=bool)
    n = flags.shape[-1]
    octets = np.packbits(flags, axis=-1, bitorder="little")
    padded = np.zeros((*flags.shape[:-1], -(-n // WORD) * 8), dtype=np.uint8)
    padded[..., : octets.shape[-1]] = octets
    return padded.view(np.dtype("<u8")).astype(np.uint64, copy=False)


def unpack(words: BitArray, n: int) -> BoolArray:
    """Turn packed words back into ``n`` flags along the last axis.

    Parameters
    ----------
    words : (..., w) array of uint64
        Sets made by :func:`pack`.
    n : int
        How many elements there are; at most ``64 * w``.

    Returns
    -------
    (..., n) array of bool
        The flags.

    Examples
    --------
    >>> from subscape.arrays.bitsets import pack, unpack
    >>> unpack(pack([True, False, True]), 3)
    array([ True, False,  True])
    """
    if n > words.shape[-1] * WORD:
        raise ValueError(f"{words.shape[-1]} words hold {words.shape[-1] * WORD} bits, not {n}")
    octets = np.ascontiguousarray(words).astype(np.dtype("<u8"), copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=n, bitorder="little").astype(bool)


def count(words: BitArray) -> IntArray:
    """Count the elements of each packed set.

    Parameters
    ----------
    words : (..., w) array of uint64
        Sets made by :func:`pack`.

    Returns
    -------
    (...) array of int64
        The sizes of the sets.

    Examples
    --------
    >>> from subscape.arrays.bitsets import count, pack
    >>> count(pack([[True, False, True], [False, False, True]]))
    array([2, 1])
    """
    return _bits_per_word(words).sum(axis=-1, dtype=np.int64)


@compiled("_bitsets")
def intersection_counts(sets: BitArray, other: BitArray) -> IntArray:
    """Count how many elements each set shares with another one.

    Parameters
    ----------
    sets : (m, w) array of uint64
        Packed sets.
    other : (w,) array of uint64
        One packed set.

    Returns
    -------
    (m,) array of int64
        The sizes of the intersections.

    Examples
    --------
    >>> from subscape.arrays.bitsets import intersection_counts, pack
    >>> sets = pack([[True, False, True], [False, False, True]])
    >>> intersection_counts(sets, pack([True, True, False]))
    array([1, 0])
    """
    if sets.shape[1] != len(other):
        raise ValueError(f"sets of {sets.shape[1]} words against one of {len(other)} words")
    return count(sets & other)


def _bits_per_word(words: BitArray) -> NDArray[np.integer]:
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(words)
    return _bits_per_word_by_halves(words)


def _bits_per_word_by_halves(words: BitArray) -> BitArray:
    """Count bits in pairs, nibbles and bytes; for NumPy 1.26, which has no ``bitwise_count``."""
    pairs, nibbles = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    octets, ones = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
    one, two, four, top = (np.uint64(shift) for shift in (1, 2, 4, 56))
    words = words - ((words >> one) & pairs)
    words = (words & nibbles) + ((words >> two) & nibbles)
    words = (words + (words >> four)) & octets
    return (words * ones) >> top
