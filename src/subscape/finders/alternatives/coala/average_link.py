"""Average-link agglomeration that prefers to merge what a known clustering keeps apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray

__all__ = ["ConstrainedMerges", "agglomerate_apart", "agglomerate_apart_by_scanning", "merge_apart"]

#: Merges made between two questions whether to go on.
PATIENCE = 64


class ConstrainedMerges(NamedTuple):
    """Merges in the order they were made.

    Attributes
    ----------
    left, right : (n_merges,) int array
        The clusters merged, each named by its first row; the union is called ``left``.
    height : (n_merges,) array
        Mean distance between the rows of the two clusters. It may fall from merge to merge.
    apart : (n_merges,) bool array
        True where the merge was taken because it joins nothing that the known clusterings join.
    """

    left: IntArray
    right: IntArray
    height: FloatArray
    apart: BoolArray


def agglomerate_apart(
    distances: FloatArray,
    masks: BitArray,
    n_clusters: int,
    omega: float,
    *,
    keep_going: Callable[[int], bool] = lambda n_merges: True,
) -> ConstrainedMerges:
    """Merge rows by average link, where possible across the clusters that are known.

    Every step weighs the nearest pair of clusters, at distance ``q``, against the nearest pair that
    has no known cluster in common, at distance ``d``: the first is merged if ``q < omega * d``, the
    second otherwise. Among pairs of equal distance the one with the smallest first cluster, then
    the smallest second one, is taken.

    Parameters
    ----------
    distances : (n * (n - 1) / 2,) array
        Distances of the rows, in the order of ``scipy.spatial.distance.pdist``. Overwritten.
    masks : (n, n_words) array
        For each row a set of known clusters, as bits. Overwritten.
    n_clusters : int
        Where to stop.
    omega : float
        How much nearer the nearest pair must be to be preferred; infinity: it always is.
    keep_going : callable, optional
        Asked every few merges, with the number of merges made; False ends the search.

    Returns
    -------
    ConstrainedMerges

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import pdist
    >>> from subscape.finders.alternatives.coala.average_link import agglomerate_apart
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.5, 0.0], [1.5, 1.0]])
    >>> known = np.array([[1], [1], [2], [2]], np.uint64)
    >>> merges = agglomerate_apart(pdist(X), known, 2, 0.6)
    >>> merges.left, merges.right, merges.apart
    (array([0, 1]), array([2, 3]), array([ True,  True]))
    """
    n = len(masks)
    merges = _empty(max(n - n_clusters, 0))
    state = _State(n)
    done = 0
    while done < len(merges.left) and keep_going(done):
        stop = min(done + PATIENCE, len(merges.left))
        merge_apart(
            distances, masks, state.sizes, state.alive, omega, done, stop, state.bounds,
            state.partners, *merges,
        )  # fmt: skip
        done = stop
    left, right, height, apart = merges
    return ConstrainedMerges(left[:done], right[:done], height[:done], apart[:done])


class _State:
    """What :func:`merge_apart` remembers from call to call.

    ``bounds`` and ``partners`` have one row for all pairs and one for the pairs that are apart:
    the distance of each cluster to its nearest partner of a larger number. A partner of -1 says
    that the bound is a lower one only, and that the cluster has to look again.
    """

    def __init__(self, n: int) -> None:
        self.sizes = np.ones(n)
        self.alive = np.arange(n, dtype=np.int64)
        self.bounds = np.full((2, n), -np.inf)
        self.partners = np.full((2, n), -1, np.int64)


def _empty(n_merges: int) -> ConstrainedMerges:
    return ConstrainedMerges(
        np.empty(n_merges, np.int64),
        np.empty(n_merges, np.int64),
        np.empty(n_merges),
        np.empty(n_merges, np.bool_),
    )


@compiled("_average_link")
def merge_apart(
    distances: FloatArray,
    masks: BitArray,
    sizes: FloatArray,
    alive: IntArray,
    omega: float,
    start: int,
    stop: int,
    bounds: FloatArray,
    partners: IntArray,
    left: IntArray,
    right: IntArray,
    height: FloatArray,
    apart: BoolArray,
) -> None:
    """Make the merges number ``start`` to ``stop - 1``; see :func:`agglomerate_apart`.

    A cluster remembers its nearest partner and looks for another only when it comes first in line
    and its partner is gone: mean distances to a union never fall below the nearer of its parts,
    so what is remembered stays a lower bound.

    Parameters
    ----------
    distances, masks, sizes, alive : arrays
        Distances of clusters (condensed), their known clusters, their sizes, and the clusters
        left: the first ``n - start`` entries of ``alive``, ascending. Written to.
    omega : float
    start, stop : int
    bounds, partners : (2, n) arrays
        Nearest partners among all pairs and among those apart. Written to.
    left, right, height, apart : (n_merges,) arrays
        Entries ``start`` to ``stop - 1`` are written.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.coala.average_link import merge_apart
    >>> left, right, height = np.empty(1, int), np.empty(1, int), np.empty(1)
    >>> apart = np.empty(1, bool)
    >>> merge_apart(np.array([2.0, 3.0, 1.0]), np.array([[1], [2], [2]], np.uint64), np.ones(3),
    ...             np.arange(3), 0.6, 0, 1, np.full((2, 3), -np.inf), np.full((2, 3), -1),
    ...             left, right, height, apart)
    >>> left, right, height, apart
    (array([1]), array([2]), array([1.]), array([False]))
    """
    n = len(masks)
    first = np.arange(n, dtype=np.int64)
    first = first * n - first * (first + 1) // 2 - first - 1  # of row i: j is at first[i] + j

    def look(kind: int, i: int, living: IntArray) -> None:
        others = living[np.searchsorted(living, i, side="right") :]
        if kind == 1:
            others = others[~(masks[others] & masks[i]).any(axis=1)]
        if not len(others):
            bounds[kind, i], partners[kind, i] = np.inf, n
            return
        near = distances[first[i] + others]
        best = int(near.argmin())
        bounds[kind, i], partners[kind, i] = near[best], others[best]

    def nearest(kind: int, living: IntArray) -> int:
        while True:
            i = int(living[bounds[kind, living].argmin()])
            if partners[kind, i] >= 0:
                return i
            look(kind, i, living)

    for step in range(start, stop):
        living = alive[: n - step]
        a = nearest(0, living)
        b = int(partners[0, a])
        taken = nearest(1, living)
        split = partners[1, taken] < n and not (
            np.isinf(omega) or bounds[0, a] < omega * bounds[1, taken]
        )
        if split:
            a, b = taken, int(partners[1, taken])
        left[step], right[step], height[step], apart[step] = a, b, bounds[int(split), a], split
        place = int(np.searchsorted(living, b))
        alive[place : n - step - 1] = alive[place + 1 : n - step].copy()
        living = alive[: n - step - 1]
        others = living[living != a]
        at_a = first[np.minimum(others, a)] + np.maximum(others, a)
        at_b = first[np.minimum(others, b)] + np.maximum(others, b)
        share = sizes[b] / (sizes[a] + sizes[b])
        near = distances[at_a]
        near = near + share * (distances[at_b] - near)
        distances[at_a] = near
        sizes[a] += sizes[b]
        masks[a] |= masks[b]
        below = others < a
        compatible = ~(masks[others] & masks[a]).any(axis=1)
        for kind in range(2):
            gone = others[(partners[kind, others] == a) | (partners[kind, others] == b)]
            partners[kind, gone] = -1
            partners[kind, a], bounds[kind, a] = -1, -np.inf
            fits = below & compatible if kind else below
            who, value = others[fits], near[fits]
            nearer = (value < bounds[kind, who]) | (
                (value == bounds[kind, who]) & (a < partners[kind, who])
            )
            partners[kind, who[nearer]], bounds[kind, who[nearer]] = a, value[nearer]


def agglomerate_apart_by_scanning(
    distances: FloatArray, masks: BitArray, n_clusters: int, omega: float
) -> ConstrainedMerges:
    """Do what :func:`agglomerate_apart` does, but look at all pairs before every merge.

    This is the textbook's way, in cubic time; it is here to check and to time the other one.

    Parameters
    ----------
    distances, masks, n_clusters, omega
        As for :func:`agglomerate_apart`; nothing is overwritten.

    Returns
    -------
    ConstrainedMerges

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.coala.average_link import agglomerate_apart_by_scanning
    >>> known = np.array([[1], [2], [2]], np.uint64)
    >>> agglomerate_apart_by_scanning(np.array([2.0, 3.0, 1.9]), known, 2, 0.6).right
    array([1])
    """
    n = len(masks)
    table = np.full((n, n), np.inf)
    table[np.triu_indices(n, 1)] = distances
    masks, sizes = masks.copy(), np.ones(n)
    shared = np.asarray((masks[:, None] & masks[None]).any(axis=2))
    merges = _empty(max(n - n_clusters, 0))
    for step in range(len(merges.left)):
        a, b = np.unravel_index(table.argmin(), table.shape)
        allowed = np.where(shared, np.inf, table)
        c, d = np.unravel_index(allowed.argmin(), table.shape)
        split = np.isfinite(allowed[c, d]) and not (
            np.isinf(omega) or table[a, b] < omega * allowed[c, d]
        )
        if split:
            a, b = c, d
        merges.left[step], merges.right[step] = a, b
        merges.height[step], merges.apart[step] = table[a, b], split
        to_a, to_b = np.minimum(table[a], table[:, a]), np.minimum(table[b], table[:, b])
        with np.errstate(invalid="ignore"):  # clusters that are gone lie at infinity
            merged = to_a + sizes[b] / (sizes[a] + sizes[b]) * (to_b - to_a)
        table[a, a + 1 :], table[:a, a] = merged[a + 1 :], merged[:a]
        table[b], table[:, b] = np.inf, np.inf
        table[np.isnan(table)] = np.inf
        sizes[a] += sizes[b]
        masks[a] |= masks[b]
        shared[a] = shared[:, a] = (masks & masks[a]).any(axis=1)
    return merges
