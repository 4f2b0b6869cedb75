"""Any table by blocks of rows, so that one that doesn't fit into memory is read in passes.

What :mod:`subscape.arrays.row_blocks` says of arrays and files holds for tables on a device, too:
:func:`as_blocks` knows them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from subscape.core.checks import check_finite, check_magnitude, check_table
from subscape.core.types import FloatArray, is_device_array
from subscape.parallel.threads import one_blas_thread

from .device.blocks import DeviceBlocks, DeviceSource, is_on_device
from .lazy_tables import is_lazy_table, lazy_source
from .remote.blocks import remote_blocks
from .row_blocks import Blocks, Statistics, column_sums, ordered_sum, recentre, rows_per_block
from .sources import ArraySource, ParquetSource, Source, source_of

__all__ = [
    "Blocks",
    "as_blocks",
    "check_blocks",
    "column_means",
    "device_twin",
    "fold",
    "is_source",
    "one_blas_thread",
    "ordered_sum",
    "recentre",
    "rows_per_block",
]

Pass = TypeVar("Pass", bound=Callable[..., Any])


def is_source(X: Any) -> bool:
    """Whether ``X`` is read in blocks: a path, a memmap, a Dask array, a tensor, a lazy table."""
    if isinstance(X, (Blocks, np.memmap, str, os.PathLike)) or is_device_array(X):
        return True
    if is_lazy_table(X):
        return True
    return not isinstance(X, np.ndarray) and type(X).__module__.split(".")[0] == "dask"


def as_blocks(X: Any) -> Blocks:
    """A table as blocks of rows of a size that follows from its number of columns.

    Parameters
    ----------
    X : array, np.memmap, path of a Parquet file or folder, Dask array, tensor, or Blocks
        Numbers; float32 is read as such, everything else as float64. A folder is read in the order
        of its files' names. Also a data frame of Dask, a lazy frame of polars, a data set of
        pyarrow, and a URL that fsspec reads. What else can be made an array is. Where a Dask
        client is connected, Dask's tables and files are read by its workers.

    Returns
    -------
    Blocks

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> X = as_blocks(np.zeros((100_000, 20), np.float32))
    >>> X.shape, X.block_rows, [len(block) for _, block in X]
    ((100000, 20), 26214, [26214, 26214, 26214, 21358])
    """
    if isinstance(X, Blocks):
        return X
    if is_device_array(X):
        return DeviceBlocks(DeviceSource(X))
    source: Source | None
    source = X if isinstance(X, ParquetSource) else lazy_source(X) or source_of(X)
    if source is None:
        source = ArraySource(np.asarray(check_table(X, "as_blocks")))
    return remote_blocks(source) or Blocks(source)


def device_twin(twin: Callable[..., Any]) -> Callable[[Pass], Pass]:
    """Decorate a pass over a table that has a twin for tables on a device.

    The table comes first. The twin takes it as DeviceBlocks, the function as it was given. What
    the twin answers with ``NotImplemented`` is left to the function itself.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import device_twin
    >>> @device_twin(lambda X: "there")
    ... def place(X):
    ...     return "here"
    >>> place(np.zeros((1, 1))), place(xp.zeros((1, 1)))
    ('here', 'there')
    """

    def decorate(function: Pass) -> Pass:
        @wraps(function)
        def either(X: Any, *args: Any, **options: Any) -> Any:
            table = as_blocks(X) if is_device_array(X) else X
            found = twin(table, *args, **options) if is_on_device(table) else NotImplemented
            return function(table, *args, **options) if found is NotImplemented else found

        return cast(Pass, either)

    return decorate


def fold(
    stats: Callable[..., Statistics],
    X: Any,
    dtype: Any = np.float64,
    *,
    reads: Sequence[Any] = (),
    writes: Sequence[Any] = (),
) -> Statistics:
    """Sum statistics of the blocks of a table, in the order of the blocks.

    Parameters
    ----------
    stats : callable
        Given a block of rows as float64 and the slice of the table it is, returns an array, a
        number, or a tuple (also a named one) of these, or anything else that can be added. BLAS
        has one thread meanwhile. Where the rows lie on a cluster it runs there.
    X : whatever :func:`as_blocks` takes
    dtype : dtype or None
        What the blocks are converted to; None leaves them as they are.
    reads, writes : sequences of row values
        Arrays with an entry per row, or what :meth:`Blocks.row_values` made: ``stats`` is given
        their rows of the block too, and may change those of ``writes``.

    Returns
    -------
    What ``stats`` returns, summed over the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.blocks import fold
    >>> X = np.arange(200_000.0).reshape(-1, 2)
    >>> total, squares = fold(lambda block, rows: (block.sum(axis=0), block.T @ block), X)
    >>> total.tolist(), squares.shape
    ([9999900000.0, 10000000000.0], (2, 2))
    """
    return as_blocks(X).fold(stats, dtype, reads=reads, writes=writes)


def check_blocks(X: Blocks, who: str, *, missing: bool = False) -> None:
    """Refuse a table with values that can't be squared, or missing ones unless they are welcome.

    Says of bad values in which columns they are, and in which rows the first ones.
    """
    low, high, finite = X.ranges
    if not finite:
        names = None if X.names is None else list(X.names)
        for rows, block in X:
            where = f"{who} (see rows {rows.start} to {rows.stop - 1})"
            check_finite(block, names, where, missing)
    check_magnitude(np.concatenate([low, high]), who)


def column_means(X: Any, shift: FloatArray | None = None) -> FloatArray:
    """Mean of every column after ``shift`` was subtracted, NaN left out.

    >>> import numpy as np
    >>> from subscape.arrays.blocks import column_means
    >>> column_means(np.array([[1.0, np.nan], [3.0, 5.0]]))
    array([2., 5.])
    """
    table = as_blocks(X)
    shifted = table if shift is None else table.recentred(shift)
    total, present = fold(lambda block, rows: column_sums(block), shifted)
    return np.asarray(total / present)
