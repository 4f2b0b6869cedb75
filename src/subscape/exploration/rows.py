"""Which rows of a table are searched, and how many it takes."""

from __future__ import annotations

import numpy as np

from subscape.core.errors import SubscapeError, count
from subscape.core.types import IndexArray
from subscape.tables.table import Table

from .parted_tables import PartedTable

#: Groups in fewer rows can't be told from chance.
FEWEST_ROWS = 10
#: At most so many cells are searched, but always this many rows.
MOST_CELLS = 1_000_000
FEWEST_SEARCHED = 2000


def check_rows(table: Table | PartedTable) -> None:
    """Refuse a table with too few rows."""
    if table.n_rows < FEWEST_ROWS:
        raise SubscapeError(
            f"the table has {count(table.n_rows, 'row')}; to tell groups from chance it takes at "
            f"least {FEWEST_ROWS}. Are rows and columns exchanged (--transpose)?"
        )


def searched_rows(shape: tuple[int, int], most: int, seed: int) -> IndexArray:
    """Positions of the rows to search, in order: all, or a sample of at most ``most``.

    Of wide tables fewer are searched.

    >>> len(searched_rows((50_000, 100), 20_000, seed=0))
    10000
    """
    n_rows, n_features = shape
    most = min(most, max(FEWEST_SEARCHED, MOST_CELLS // max(n_features, 1)))
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, 1])
    return np.sort(rng.choice(n_rows, most, replace=False))
