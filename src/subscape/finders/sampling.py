"""Which rows of a long table the restarts look at, before all rows are passed over."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.arrays.blocks import Blocks
from subscape.core.types import FloatArray, IndexArray

#: Rows to look at by default, in all and per cluster.
SEARCH_ROWS, SEARCH_ROWS_PER_CLUSTER = 5000, 500


def child_after(seed: np.random.SeedSequence, n_init: int) -> np.random.SeedSequence:
    """The child that comes after those of the starts, which thereby stay what they were."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, n_init))


def rows_to_search(
    X: FloatArray | Blocks,
    k: int,
    wanted: Any,
    rng: np.random.Generator,
    least: int = 0,
) -> FloatArray:
    """The rows to search in memory: ``X`` itself where they are all of an array.

    Parameters
    ----------
    X : array or Blocks of float64
    k : int
        Number of clusters; there are at least as many rows.
    wanted : int, "auto" or None
        How many, drawn at random. "auto": 5000, or 500 per cluster if that is more. None: all.
    rng : Generator
    least : int
        Never fewer than this.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.sampling import rows_to_search
    >>> X = np.arange(20_000.0).reshape(-1, 1)
    >>> len(rows_to_search(X, 3, "auto", np.random.default_rng(0)))
    5000
    """
    rows = places_to_search(len(X), k, wanted, rng, least)
    if rows is None:
        return X.to_numpy() if isinstance(X, Blocks) else X
    return X.take(rows) if isinstance(X, Blocks) else X[rows]


def places_to_search(
    n_rows: int, k: int, wanted: Any, rng: np.random.Generator, least: int = 0
) -> IndexArray | None:
    """Which rows of a table to search, in their order; None if all. See :func:`rows_to_search`.

    >>> import numpy as np
    >>> from subscape.finders.sampling import places_to_search
    >>> places_to_search(3000, 2, "auto", np.random.default_rng(0)) is None
    True
    """
    if wanted == "auto":
        number = max(SEARCH_ROWS, SEARCH_ROWS_PER_CLUSTER * k)
    else:
        number = n_rows if wanted is None else max(int(wanted), k)
    number = max(number, least)
    if number >= n_rows:
        return None
    return np.sort(rng.choice(n_rows, number, replace=False))
