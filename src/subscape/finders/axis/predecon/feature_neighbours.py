"""Which features rows prefer, by their neighbours in single features, and the groups they form.

A neighbourhood in all features hardly knows the few that matter. Here the neighbours of a row are
found feature by feature; features in which these are the same rows, more than chance makes them,
are preferred together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from subscape.arrays.bitsets import intersection_counts, unpack
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.axis.boxes.neighbourhoods import run_sets, sort_features
from subscape.finders.axis.brevity import evenly_spaced
from subscape.finders.axis.selection import bits_of_share
from subscape.finders.base import Watch

__all__ = [
    "SHARED",
    "Preferences",
    "clusters_by_features",
    "connected_rows",
    "join_nearest",
    "row_preferences",
]


#: Features that are tried as the first of a pair; the pairs of thousands would be too many.
MOST_FIRSTS = 200
#: Rows between two looks at the clock.
BATCH = 200
#: Neighbours in common have to be this many times those expected of independent features, ...
SURPLUS = 1.2
#: ... by so many bits more than it takes to name the features and the row.
MARGIN = 6.0
#: A further feature keeps at least this share of the neighbours, ...
LEAST_KEPT = 0.3
#: ... at odds that are this many times those of the other rows.
ODDS = 3.0
#: Rows are linked if they agree in this share of the features of the one that prefers fewer.
AGREEMENT = 0.6
#: A feature belongs to a cluster if this share of its core rows prefer it.
SHARED = 0.5


class Preferences(NamedTuple):
    """What rows prefer."""

    preferred: BoolArray
    """(n, p): the features that each row prefers."""
    neighbours: BitArray
    """(n, w): packed sets of the rows that are near in all of these."""


def row_preferences(table: FloatArray, radius: float, watch: Watch) -> Preferences:
    """Find the features that each row prefers.

    The two features whose neighbours have the most in common, and then one by one those that keep
    clearly more of the common neighbours than of all rows.

    Parameters
    ----------
    table : (n, p) array
        The table.
    radius : float
        How close neighbours are in a single feature.
    watch : Watch
        Knows when the time is up.

    Returns
    -------
    Preferences
        Rows for which there is no such feature, or no time, have no neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.feature_neighbours import row_preferences
    >>> from subscape.finders.base import Watch
    >>> table = np.random.default_rng(0).uniform(size=(200, 5))
    >>> table[:40, 1:4] = 0.5 + 0.02 * table[:40, 1:4]
    >>> row_preferences(table, 0.05, Watch()).preferred[[0, 39, 40]].astype(int)
    array([[0, 1, 1, 1, 0],
           [0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0]])
    """
    n, p = table.shape
    preferred = np.zeros((n, p), dtype=bool)
    neighbours = np.zeros((n, -(-n // 64)), dtype=np.uint64)
    ordered = sort_features(table, radius)
    sizes = ordered.last - ordered.first
    for row in range(n):
        if row % BATCH == 0:
            watch.step("preferences", row, n)
            if row and watch.out_of_time():
                break
        near = run_sets(ordered.order, ordered.prefixes, ordered.first[row], ordered.last[row])
        features, inside = _common(near, sizes[row] / n, n)
        if features:
            preferred[row, features] = True
            neighbours[row] = inside
    return Preferences(preferred, neighbours)


def _common(near: BitArray, share: FloatArray, n_rows: int) -> tuple[list[int], BitArray]:
    """Features in which the neighbours are the same rows, and these rows."""
    p = len(near)
    firsts = evenly_spaced(p, MOST_FIRSTS)
    counts = np.array([intersection_counts(near, near[j]) for j in firsts], dtype=np.float64)
    expected = (share[firsts, None] * share) * n_rows
    surplus = (counts - expected) / np.sqrt(expected + 1)
    surplus[np.arange(len(firsts)), firsts] = 0.0
    line, second = divmod(int(surplus.argmax()), p)
    first, size = int(firsts[line]), counts[line, second]
    by_chance = share[first] * share[second]
    asked = 2 * math.log2(p) + math.log2(n_rows) + MARGIN
    if first == second or size < SURPLUS * by_chance * n_rows:
        return [], near[0]
    if bits_of_share(size / n_rows, by_chance, n_rows) <= asked:
        return [], near[0]
    features, inside = [first, second], near[first] & near[second]
    asked = math.log2(p) + MARGIN
    while len(features) < p:
        kept = intersection_counts(near, inside)
        expected = share * size
        surplus = (kept - expected) / np.sqrt(expected + 1)
        surplus[features] = 0.0
        surplus[kept < LEAST_KEPT * size] = 0.0
        best = int(surplus.argmax())
        lost, others = size - kept[best], share[best] * n_rows - kept[best]
        missing = n_rows - size - others
        if surplus[best] <= 0 or (kept[best] + 1) * missing < ODDS * (lost + 1) * others:
            break
        if bits_of_share(kept[best] / size, share[best], int(size)) <= asked:
            break
        features.append(best)
        inside = inside & near[best]
        size = float(kept[best])
    return features, inside


def connected_rows(
    found: Preferences, eligible: BoolArray, min_samples: int
) -> tuple[IntArray, BoolArray]:
    """Group the rows with enough neighbours that have them as neighbours, too.

    Parameters
    ----------
    found : Preferences
        What the rows prefer.
    eligible : (n,) array of bool
        Rows that may be cores.
    min_samples : int
        Neighbours that a core needs, itself included.

    Returns
    -------
    labels : (n,) array of int
        The group of each core, -1 for other rows.
    core : (n,) array of bool
        Rows with enough mutual neighbours that prefer mostly the same features.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.feature_neighbours import Preferences, connected_rows
    >>> from subscape.arrays.bitsets import pack
    >>> near = pack([[1, 1, 0], [1, 1, 0], [0, 1, 1]])
    >>> found = Preferences(np.ones((3, 2), dtype=bool), near)
    >>> connected_rows(found, np.ones(3, dtype=bool), 2)
    (array([ 0,  0, -1]), array([ True,  True, False]))
    """
    n = len(found.preferred)
    near = unpack(found.neighbours, n)
    wanted = found.preferred.astype(np.float32)
    dims = wanted.sum(axis=1)
    mutual = near & near.T
    mutual &= wanted @ wanted.T >= AGREEMENT * np.minimum(dims[:, None], dims)
    core = eligible & (mutual.sum(axis=1) >= min_samples)
    labels = np.full(n, -1, dtype=np.int64)
    left, right = np.nonzero(mutual[np.ix_(core, core)])
    n_cores = int(core.sum())
    if n_cores:
        links = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(n_cores, n_cores))
        labels[core] = connected_components(links, directed=False)[1]
    return labels, core


def join_nearest(
    table: FloatArray, cores: FloatArray, labels: IntArray, masks: BoolArray, radius: float
) -> IntArray:
    """Give rows to the cluster with the most features that has a core within reach.

    Parameters
    ----------
    table : (n, p) array
        The rows.
    cores : (c, p) array
        Core rows.
    labels : (c,) array of int
        The cluster of each of them.
    masks : (k, p) array of bool
        The features of the clusters; none: the cluster takes no rows.
    radius : float
        How far a core may be in each of the features.

    Returns
    -------
    (n,) array of int
        The cluster of each row, of equally many features that with the nearest core; -1 for rows
        out of reach.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.feature_neighbours import join_nearest
    >>> rows = np.array([[0.1, 0.9], [0.5, 0.52], [0.7, 0.1]])
    >>> cores, masks = np.array([[0.1, 0.1], [0.5, 0.5]]), np.array([[True, False], [True, True]])
    >>> join_nearest(rows, cores, np.arange(2), masks, 0.1)
    array([ 0,  1, -1])
    """
    joined = np.full(len(table), -1, dtype=np.int64)
    nearest = np.full(len(table), np.inf)
    most = np.zeros(len(table), dtype=np.int64)
    for k in np.flatnonzero(masks.any(axis=1)):
        features = np.flatnonzero(masks[k])
        tree = cKDTree(cores[np.ix_(labels == k, features)])
        # A little farther than the radius: the bound itself is left out.
        away, _ = tree.query(table[:, features], p=np.inf, distance_upper_bound=radius * (1 + 1e-9))
        more = (len(features) > most) | ((len(features) == most) & (away < nearest))
        better = np.isfinite(away) & more
        joined[better], nearest[better], most[better] = k, away[better], len(features)
    return joined


def clusters_by_features(
    table: FloatArray,
    places: IntArray,
    radius: float,
    min_samples: int,
    max_pref_dims: int | None,
    watch: Watch,
) -> tuple[IntArray, BoolArray, BoolArray]:
    """Group some rows by their neighbours in single features; others join those nearby.

    Parameters
    ----------
    table : (n, p) array
        The table.
    places : array of int
        The rows that are searched.
    radius : float
        How close neighbours are in a single feature.
    min_samples : int
        Neighbours among these rows that a core needs.
    max_pref_dims : int or None
        Searched rows that prefer more features are in no cluster.
    watch : Watch
        Knows when the time is up.

    Returns
    -------
    labels : (n,) array of int
        Cluster of each row, -1 for none.
    core : (n,) array of bool
        The core rows.
    preferred : (n, p) array of bool
        The features that each row prefers; of rows not searched those of their cluster.
    """
    n, p = table.shape
    sample = np.ascontiguousarray(table[places])
    found = row_preferences(sample, radius, watch)
    eligible = found.preferred.sum(axis=1) <= (max_pref_dims or p)
    own, core = connected_rows(found, eligible, min_samples)
    masks = np.zeros((int(own.max(initial=-1)) + 1, p), dtype=bool)
    for k, mask in enumerate(masks):
        mask[:] = found.preferred[own == k].mean(axis=0) >= SHARED
    labels = join_nearest(table, sample[core], own[core], masks, radius)
    labels[places[~eligible]] = -1
    labels[places[core]] = own[core]
    preferred = np.zeros((n, p), dtype=bool)
    preferred[labels >= 0] = masks[labels[labels >= 0]]
    preferred[places] = found.preferred
    cores = np.zeros(n, dtype=bool)
    cores[places[core]] = True
    return labels, cores, preferred
