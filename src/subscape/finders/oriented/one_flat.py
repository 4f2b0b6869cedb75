"""Clusters that may lie on one flat, and how that is said."""

from __future__ import annotations

import warnings

import numpy as np

from subscape.core.errors import SharedFlatWarning
from subscape.core.types import FloatArray

#: Share of its directions that a flat has in common with another (squared cosines) if they may be
#: one: rows with noise turn a flat a little, flats of their own lie farther apart.
MOST_COMMON = 0.9


def may_be_one(first: FloatArray, second: FloatArray) -> bool:
    """Whether two bases, (p, d) and (p, e), have most directions in common.

    >>> import numpy as np
    >>> from subscape.finders.oriented.one_flat import may_be_one
    >>> line, plane = np.eye(3)[:, :1], np.eye(3)[:, 1:]
    >>> may_be_one(line, np.eye(3)[:, :2]), may_be_one(line, plane)
    (True, False)
    """
    common = np.square(first.T @ second).sum()
    return bool(common >= MOST_COMMON * min(first.shape[1], second.shape[1]))


def warn_of(pairs: list[tuple[int, int]], stacklevel: int, further: str = "") -> None:
    """Say that more clusters were asked for than there are flats, and which of them are one.

    ``further``: what else may help.

    >>> import warnings
    >>> from subscape.finders.oriented.one_flat import warn_of
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_of([(0, 2)], 2)
    >>> str(told[0].message)[:39]
    'clusters that lie on one flat: 1 and 3.'
    """
    if pairs:
        named = ", ".join(f"{first + 1} and {second + 1}" for first, second in pairs[:3])
        more = ", …" if len(pairs) > 3 else ""
        warnings.warn(
            f"clusters that lie on one flat: {named}{more}. One describes the rows of both "
            f"better than two do; try fewer clusters (n_clusters){further}",
            SharedFlatWarning,
            stacklevel=stacklevel + 1,
        )
