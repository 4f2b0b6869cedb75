"""Packed sets of rows of any table: only a bit for each row comes from where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import BitArray

from .bitsets import WORD
from .row_blocks import Blocks

__all__ = ["rows_where"]


def rows_where(
    table: Blocks,
    flags: Callable[..., NDArray[np.bool_]],
    n_sets: int,
    reads: Sequence[Any] = (),
) -> BitArray:
    """Sets of rows, packed as :func:`subscape.arrays.bitsets.pack` does; one pass.

    Parameters
    ----------
    table : Blocks
        Where it lies on a cluster, the flags are computed there, and a bit for each comes here.
    flags : callable
        Given a block of rows, says for each set which of these rows are in it.
    n_sets : int
        How many sets there are.
    reads : sequence of row values
        Their rows of the block are given to ``flags``, too.

    Returns
    -------
    (n_sets, ceil(n_rows / 64)) array of uint64

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.row_bits import rows_where
    >>> rows_where(as_blocks(np.arange(4.0)[:, None]), lambda block: block.T > 1, 1)
    array([[12]], dtype=uint64)
    """
    octets = np.zeros((n_sets, -(-len(table) // WORD) * 8), np.uint8)
    if n_sets == 0:
        return octets.view(np.dtype("<u8")).astype(np.uint64, copy=False)

    def packed_flags(block: NDArray[Any], rows: slice, *own: Any) -> tuple[int, int, NDArray[Any]]:
        return rows.start, len(block), np.packbits(flags(block, *own), 1, "little")

    parts = table.collect(packed_flags, reads=reads)
    for start, size, packed in parts:
        first, shift = divmod(start, 8)
        if shift:
            # Blocks begin anywhere within an octet.
            inside = np.unpackbits(packed, axis=1, count=size, bitorder="little")
            packed = np.packbits(np.pad(inside, ((0, 0), (shift, 0))), 1, "little")
        octets[:, first : first + packed.shape[1]] |= packed
    return octets.view(np.dtype("<u8")).astype(np.uint64, copy=False)
