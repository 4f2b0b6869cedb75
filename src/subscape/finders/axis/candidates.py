"""Candidates for a level-wise search: a set can only qualify if all its subsets do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import IndexArray
from subscape.finders.base import Watch

__all__ = [
    "SEARCH",
    "TURN_INTO_CLUSTERS",
    "candidates",
    "n_joins",
    "seconds_for",
    "too_many",
    "used_up",
]

Sets = NDArray[np.int32]

#: Seed of the numbers that stand for elements when sets are looked up.
_HASH_SEED = 20040422


def n_joins(sets: Sets) -> int:
    """Count the pairs of sets that agree in all elements but the last.

    Parameters
    ----------
    sets : (m, k) array of int32
        Sets in lexicographic order, the elements of each in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.candidates import n_joins
    >>> n_joins(np.array([[0, 1], [0, 2], [0, 3], [1, 2]]))
    3
    """
    sizes = np.diff(_runs(sets)).astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def candidates(sets: Sets, group: NDArray[np.integer] | None = None) -> Sets:
    """Join sets of ``k`` elements to sets of ``k + 1`` whose subsets are all among the given ones.

    Parameters
    ----------
    sets : (m, k) array of int32
        The sets that qualified, in lexicographic order, the elements of each in ascending order.
    group : array of int, optional
        The group of each element; a set may hold at most one element of a group.

    Returns
    -------
    (c, k + 1) array of int32
        The candidates, in lexicographic order. Subsets are looked up by a 64-bit hash, so once in
        a blue moon a candidate with a subset that did not qualify may slip in; none is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.candidates import candidates
    >>> candidates(np.array([[0, 1], [0, 2], [1, 2], [1, 3]], dtype=np.int32))
    array([[0, 1, 2]], dtype=int32)
    """
    left, right = _pairs(_runs(sets))
    if group is not None:
        differ = group[sets[left, -1]] != group[sets[right, -1]]
        left, right = left[differ], right[differ]
    joined = np.column_stack([sets[left], sets[right, -1]])
    if sets.shape[1] == 1 or len(joined) == 0:
        return joined
    rng = np.random.default_rng(_HASH_SEED)
    code = rng.integers(1 << 63, size=int(sets.max()) + 1, dtype=np.uint64)
    known = np.sort(np.bitwise_xor.reduce(code[sets], axis=1))
    # Leaving out one of the last two elements gives the two sets that were joined.
    for position in range(sets.shape[1] - 1):
        whole = np.bitwise_xor.reduce(code[joined], axis=1)
        subset = whole ^ code[joined[:, position]]
        place = np.minimum(np.searchsorted(known, subset), len(known) - 1)
        joined = joined[known[place] == subset]
    return joined


def _runs(sets: Sets) -> IndexArray:
    """Limits of the runs of sets with the same first elements."""
    if len(sets) == 0:
        return np.zeros(1, dtype=np.intp)
    changes = (sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(sets)]])


def _pairs(runs: IndexArray) -> tuple[IndexArray, IndexArray]:
    """All pairs ``i < j`` within each run, in lexicographic order."""
    if len(runs) < 2:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    position = np.arange(runs[-1])
    partners = np.repeat(runs[1:], np.diff(runs)) - position - 1
    left = np.repeat(position, partners)
    first = np.cumsum(partners) - partners
    right = np.arange(len(left)) - np.repeat(first, partners) + left + 1
    return left, right


# -- limits of searches that can explode: how much of the time each phase gets, and what to --------


#: Shares of ``max_time`` after which the search, and the making of clusters, must end; the rest is
#: for choosing among the clusters, so that a search cut short still has a result.
SEARCH, TURN_INTO_CLUSTERS = 0.5, 0.75


def used_up(watch: Watch, share: float) -> bool:
    """Whether a share of the time is over; notes that the search was cut short if so."""
    left = seconds_for(watch, share)
    if left > 0:
        return False
    watch.cut(f"stopped after max_time={watch.max_time:g} s; give it more time for a full search")
    return True


def seconds_for(watch: Watch, share: float) -> float:
    """Seconds left until a share of the time is over; infinite where there is no limit."""
    return float("inf") if watch.max_time is None else share * watch.max_time - watch.seconds


def too_many(watch: Watch, limit: int, what: str, remedy: str) -> None:
    """Note that the search stopped at its largest number of candidates."""
    watch.cut(
        f"stopped after max_candidates={limit} {what}; {remedy}, use fewer columns, or raise "
        "max_candidates"
    )
