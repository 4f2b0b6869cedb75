"""Missing cells filled from the columns that go with theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Rounds at most; filled values that change less, in standard deviations, have settled.
ROUNDS = 30
SETTLED = 1e-3
#: Columns are told from each other with this share of their variance added as noise.
RIDGE = 0.02
#: Wider tables are filled from their principal directions.
MOST_COLUMNS = 1000
MOST_DIRECTIONS = 20


def fill(values: FloatArray) -> None:
    """Fill the missing cells of centred, scaled columns in place.

    Each missing cell takes what a linear regression on all other columns says, these with their
    own gaps filled; repeated until the values settle. Columns that go with no other are filled
    with their mean.

    >>> import numpy as np
    >>> x = np.linspace(-1.5, 1.5, 21)
    >>> table = np.column_stack([x, x, -x, x])
    >>> table[2, 1] = np.nan
    >>> fill(table)
    >>> bool(abs(table[2, 1] - x[2]) < 0.05)
    True
    """
    missing = np.isnan(values)
    values[missing] = 0.0
    n_rows, n_columns = values.shape
    if not missing.any() or n_columns < 2 or n_rows < 4:
        return
    gone = np.asarray(missing.any(axis=1))
    where = missing[gone]
    foretold = _by_regression if n_columns <= min(MOST_COLUMNS, n_rows) else _by_directions
    for _ in range(ROUNDS):
        before = values[missing]
        values[missing] = foretold(values, gone)[where]
        if np.abs(values[missing] - before).max() < SETTLED:
            break


def _by_regression(values: FloatArray, gone: NDArray[np.bool_]) -> FloatArray:
    """What the regression of every column on the others says about the rows with gaps."""
    covariance = values.T @ values / len(values)
    # The inverse holds all regressions at once: coefficients are its rows over its diagonal.
    ridge = RIDGE * max(float(np.trace(covariance)) / len(covariance), 1e-12)
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
    rows = values[gone]
    return rows - (rows @ inverse) / np.diag(inverse)


def _by_directions(values: FloatArray, gone: NDArray[np.bool_]) -> FloatArray:
    """What the principal directions, less the noise of the others, say about those rows."""
    squares, left = np.linalg.eigh(values @ values.T)
    rank = max(1, min(MOST_DIRECTIONS, len(values) // 4))
    noise = max(float(squares[:-rank].mean()), 0.0)
    top, left = squares[-rank:], left[:, -rank:]
    kept = np.clip(1.0 - noise / np.maximum(top, 1e-300), 0.0, 1.0)
    return (left[gone] * kept) @ (left.T @ values)
