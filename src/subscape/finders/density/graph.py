"""Neighbours, densities and passes between rows: what all of the density family is built on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import digamma

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray

__all__ = ["DensityGraph", "Field", "density_graph", "link_count", "scales", "spread_ties"]


#: Balls that hold log n rows just hang together where rows are spread evenly; twice that is safe.
LINKS_PER_LOG = 2.0
#: Steps of the ladder of scales, and the largest share of the rows in a neighbourhood.
SCALE_STEP = 1.6
LARGEST_SHARE = 1 / 8
#: Fewest rows in a neighbourhood: with fewer the estimate is off by more than half a nat.
FEWEST_NEIGHBOURS = 5
#: In more dimensions than this, or with fewer rows, all distances are quicker than a tree.
MOST_TREE_DIMS = 12
MOST_BRUTE_ROWS = 700
#: In so few dimensions a tree is always quicker.
FEW_DIMS = 3
#: So many rows are compared each with all others, where that is compiled.
MOST_COMPARED_ROWS = 2000
#: Distances held at a time.
BLOCK = 4_000_000
#: Parts that nothing links are linked where they are less than so many times as far apart as at
#: their nearest.
BRIDGE_REACH = 1.5


class Field(NamedTuple):
    """Log densities of the rows at one scale.

    Attributes
    ----------
    k : int
        Rows in a neighbourhood.
    dims : float
        Dimension of the rows at this scale: how fast balls fill up.
    values : array of shape (n_rows,)
        Log density of each row, but for a constant.
    links : array of shape (n_links,)
        Log density at which each link of the graph joins its two rows.
    """

    k: int
    dims: float
    values: FloatArray
    links: FloatArray

    @property
    def error(self) -> float:
        """Standard error of the difference of two log densities."""
        return float(np.sqrt(2 / self.k))


@dataclass(frozen=True, eq=False)
class DensityGraph:
    """Rows, their neighbours, and the links along which density is followed.

    Attributes
    ----------
    X : array of shape (n_rows, n_dims)
    neighbours, distances : arrays of shape (n_rows, most)
        The nearest other rows of each, nearest first.
    n_near : int
        Each row is linked to so many nearest rows.
    links : int array of shape (n_links, 2)
        Linked rows. The last ``n_bridges`` of them are the shortest bridges between parts of the
        graph that nothing else links.
    lengths : array of shape (n_links,)
    n_bridges : int
    scales : tuple of int
        Neighbourhood sizes that can be asked for.
    """

    X: FloatArray
    neighbours: IndexArray
    distances: FloatArray
    n_near: int
    links: IndexArray
    lengths: FloatArray
    n_bridges: int
    scales: tuple[int, ...]
    _fields: dict[int, Field] = field(default_factory=dict, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @cached_property
    def slopes(self) -> tuple[float, ...]:
        """Dimensions from each scale to the next, where a neighbourhood hangs together."""
        ks = [k for k in self.scales if k >= min(self.n_near, self.scales[-1])]
        logs = [np.log(self.distances[:, k - 1]).mean() for k in ks]
        return tuple(
            float(np.log(b / a) / max(far - near, 1e-9))
            for a, b, near, far in zip(ks, ks[1:], logs, logs[1:], strict=False)
        )

    @cached_property
    def dims(self) -> float:
        """Dimension of the rows at the scale at which it is lowest: about 1 along curves."""
        known = [self.field(k).dims for k in self.scales if k >= self.n_near]
        return min(known, default=self.field(self.scales[-1]).dims)

    @cached_property
    def fullness(self) -> float:
        """Share of the dimension at small scales that is left at large ones.

        About 1 in clouds; a curve that noise makes thick has many dimensions at small scales and
        one at large ones.
        """
        finest = max(self.field(k).dims for k in self.scales)
        return min([*self.slopes, self.dims]) / finest

    @cached_property
    def _logs(self) -> tuple[FloatArray, FloatArray]:
        """Logarithms of the distances, and of the lengths of the links."""
        return np.log(self.distances), np.log(self.lengths)

    def field(self, k: int) -> Field:
        """Log densities with ``k`` rows in a neighbourhood.

        The log density is ψ(k) - d log r, with r the distance to the k-th neighbour and d the
        dimension that the rows have at this scale, by the likelihood of the distances within it
        [1]_. So r counts rows, whatever the number of columns, and ψ(k) - d log r has a standard
        error of one over the root of k for rows along a curve, in a plane or in a cloud.

        References
        ----------
        .. [1] E. Levina, P. J. Bickel, "Maximum likelihood estimation of intrinsic dimension",
           NIPS 17 (2004); averaged as by D. J. C. MacKay and Z. Ghahramani (2005).
        """
        if k not in self._fields:
            logs, lengths = self._logs
            dims = 1 / max(float((logs[:, k - 1 : k] - logs[:, : k - 1]).mean()), 1e-9)
            dims = min(max(dims, 1.0), float(self.X.shape[1]))
            told = float(digamma(k))
            values = told - dims * logs[:, k - 1]
            levels = np.minimum(values[self.links[:, 0]], values[self.links[:, 1]])
            levels = np.minimum(levels, told - dims * lengths)
            self._fields[k] = Field(k, dims, values, levels)
        return self._fields[k]

    def hills(self, values: FloatArray) -> tuple[IndexArray, IndexArray]:
        """The rows at the tops of the hills, in order, and the hill that each row climbs."""
        return hills_climbed(self.links[: len(self.links) - self.n_bridges], values)

    def passes(
        self, parts: IndexArray, levels: FloatArray, use: BoolArray | None = None
    ) -> tuple[IndexArray, FloatArray]:
        """The highest link between each two parts (numbered from 0), highest first."""
        first, second = parts[self.links[:, 0]], parts[self.links[:, 1]]
        across = first != second
        if use is not None:
            across &= use
        low = np.minimum(first, second)[across]
        high = np.maximum(first, second)[across]
        levels = levels[across]
        order = np.argsort(-levels, kind="stable")
        codes = (low * (int(parts.max(initial=0)) + 1) + high)[order]
        _, places = np.unique(codes, return_index=True)
        chosen = order[np.sort(places)]
        return np.column_stack([low[chosen], high[chosen]]), levels[chosen]


def link_count(n_rows: int) -> int:
    """Number of nearest rows that each row is linked to.

    Evenly spread rows hang together if balls hold more than log n of them [1]_.

    References
    ----------
    .. [1] M. D. Penrose, "The longest edge of the random minimal spanning tree", Annals of Applied
       Probability 7 (1997), doi:10.1214/aoap/1034625335.

    >>> link_count(150), link_count(500), link_count(10_000)
    (11, 13, 19)
    """
    wanted = max(FEWEST_NEIGHBOURS, int(np.ceil(LINKS_PER_LOG * np.log(max(n_rows, 2)))))
    return max(1, min(wanted, n_rows - 1))


def scales(n_rows: int) -> tuple[int, ...]:
    """Neighbourhood sizes, from a few rows to an eighth of them.

    Narrow shapes need small ones, shallow valleys between broad groups large ones.

    >>> scales(500)
    (5, 8, 13, 20, 33, 52)
    """
    k, largest = float(min(FEWEST_NEIGHBOURS, max(n_rows - 1, 1))), LARGEST_SHARE * n_rows
    ladder = [round(k)]
    while k * SCALE_STEP <= largest:
        k *= SCALE_STEP
        ladder.append(round(k))
    return tuple(ladder)


def density_graph(X: ArrayLike, ks: Sequence[int] | None = None) -> DensityGraph:
    """The graph of a table's rows.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_dims)
        Finite; columns on scales that can be compared. At least three rows.
    ks : sequence of int, optional
        Neighbourhood sizes that will be asked for; by default :func:`scales`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> graph = density_graph(np.r_[rng.normal(size=(100, 2)), rng.normal(9, 1, (100, 2))])
    >>> graph.n_bridges > 0, 1.5 < graph.field(13).dims <= 2
    (True, True)
    """
    table = spread_ties(np.asarray(X, dtype=np.float64))
    n = len(table)
    n_near = link_count(n)
    ladder = tuple(sorted({min(k, n - 1) for k in (ks or scales(n))}))
    most = min(max(n_near, ladder[-1]), n - 1)
    distances, neighbours = nearest(table, most)
    floor = max(float(distances.max()), 1e-300) * 1e-9
    distances = np.maximum(distances, floor)
    links, lengths = distinct_links(neighbours, distances, n_near)
    over = _bridges(table, links)
    if len(over):
        reach = np.linalg.norm(table[over[:, 0]] - table[over[:, 1]], axis=1)
        links = np.concatenate([links, over])
        lengths = np.concatenate([lengths, np.maximum(reach, floor)])
    return DensityGraph(table, neighbours, distances, n_near, links, lengths, len(over), ladder)


def nearest(table: FloatArray, most: int) -> tuple[FloatArray, IndexArray]:
    """Distances to the nearest other rows, and which they are.

    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1)[1].ravel()
    array([1, 0, 1])
    """
    n, dims = table.shape
    if n <= MOST_COMPARED_ROWS and dims <= MOST_TREE_DIMS:
        return nearest_of_few(table, most)
    return _by_tree(table, most) if dims <= MOST_TREE_DIMS else _by_products(table, most)


@compiled("_graph")
def nearest_of_few(table: FloatArray, most: int) -> tuple[FloatArray, IndexArray]:
    """The same of so few rows that each may be compared with all others.

    >>> nearest_of_few(np.array([[0.0], [1.0], [3.0]]), 2)[0].tolist()
    [[1.0, 3.0], [1.0, 2.0], [2.0, 3.0]]
    """
    n, dims = table.shape
    by_tree = dims <= FEW_DIMS or n > MOST_BRUTE_ROWS
    return _by_tree(table, most) if by_tree else _by_products(table, most)


def _by_tree(table: FloatArray, most: int) -> tuple[FloatArray, IndexArray]:
    n = len(table)
    distances, places = cKDTree(table).query(table, k=most + 1)
    # The row itself comes first, or later among equal rows, or not at all.
    own = places == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return distances[~own].reshape(n, most), places[~own].reshape(n, most)


def _by_products(table: FloatArray, most: int) -> tuple[FloatArray, IndexArray]:
    n = len(table)
    squares = np.square(table).sum(axis=1)
    distances, places = np.empty((n, most)), np.empty((n, most), np.intp)
    step = max(1, BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        apart = squares - 2 * (table[rows] @ table.T)
        apart[np.arange(len(rows)), rows] = np.inf
        if most < n - 1:
            near = np.argpartition(apart, most, axis=1)[:, :most]
        else:
            near = np.argsort(apart, axis=1)[:, :most]
        exact = np.zeros(near.shape)
        for column in table.T:
            exact += np.square(column[near] - column[rows][:, None])
        order = np.argsort(exact, axis=1)
        places[rows] = np.take_along_axis(near, order, axis=1)
        distances[rows] = np.sqrt(np.take_along_axis(exact, order, axis=1))
    return distances, places


def spread_ties(table: FloatArray) -> FloatArray:
    """The table with equal values of a column spread evenly over their step of its scale.

    Steps of a scale are no valleys. A step reaches half way to the next value, but not farther
    than half the median distance of neighbouring values, so that gaps stay.

    >>> spread_ties(np.array([[0.0], [1.0], [2.5]])).ravel()
    array([0. , 1. , 2.5])
    >>> bool(np.abs(spread_ties(np.repeat([[0.0], [1.0]], 50, axis=0))[:50]).max() < 0.5)
    True
    """
    spread = table
    rng = np.random.default_rng(0)
    for j, column in enumerate(table.T):
        ordered = np.sort(column)
        if (ordered[1:] > ordered[:-1]).all():
            continue  # mostly, and known for less than which values there are
        if ordered[0] == ordered[-1]:
            continue
        if spread is table:
            spread = table.copy()
        spread[:, j] = ties_spread(column, ordered, rng.random(len(column)))
    return spread


@compiled("_graph")
def ties_spread(column: FloatArray, ordered: FloatArray, places: FloatArray) -> FloatArray:
    """One column with its equal values spread over their step.

    Parameters
    ----------
    column : array of shape (n_rows,)
        At least two values.
    ordered : array of shape (n_rows,)
        The same, rising.
    places : array of shape (n_rows,)
        Numbers from 0 to 1 that say where in its step each row goes.

    >>> ties_spread(np.array([2.0, 0.0, 2.0]), np.array([0.0, 2.0, 2.0]), np.array([0.5, 0.5, 0.0]))
    array([2., 0., 1.])
    """
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    gaps = np.diff(values)
    half = np.minimum(gaps, np.median(gaps)) / 2
    down, up = np.r_[half[0], half][inverse], np.r_[half, half[-1]][inverse]
    return np.where(counts[inverse] > 1, column + (places * (down + up) - down), column)


@compiled("_graph")
def distinct_links(
    neighbours: IndexArray, distances: FloatArray, n_near: int
) -> tuple[IndexArray, FloatArray]:
    """Links of each row to its nearest ones, each once, in order; and their lengths.

    Parameters
    ----------
    neighbours, distances : arrays of shape (n_rows, most)
        The nearest other rows of each, nearest first.
    n_near : int
        So many of them are linked.

    >>> links, lengths = distinct_links(np.array([[1], [0], [1]]), np.array([[1.0], [1], [3]]), 1)
    >>> links.tolist(), lengths.tolist()
    ([[0, 1], [1, 2]], [1.0, 3.0])
    """
    n = len(neighbours)
    rows = np.repeat(np.arange(n), n_near)
    others = neighbours[:, :n_near].ravel()
    low, high = np.minimum(rows, others), np.maximum(rows, others)
    _, kept = np.unique(low * n + high, return_index=True)
    return np.column_stack([low[kept], high[kept]]), distances[:, :n_near].ravel()[kept]


@compiled("_graph")
def hills_climbed(links: IndexArray, values: FloatArray) -> tuple[IndexArray, IndexArray]:
    """The rows at the tops of hills, in order, and for each row the hill that it climbs.

    Each row goes to the highest one that it is linked to, as long as that is higher; of equal rows
    the last one is.

    Parameters
    ----------
    links : int array of shape (n_links, 2)
    values : array of shape (n_rows,)

    >>> tops, parts = hills_climbed(np.array([[0, 1], [1, 2], [2, 3]]), np.array([5.0, 1, 2, 3]))
    >>> tops.tolist(), parts.tolist()
    ([0, 3], [0, 0, 1, 1])
    """
    n = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(n, np.intp)
    rank[order] = np.arange(n)
    highest = rank.copy()
    for here, there in (links.T, links.T[::-1]):
        np.maximum.at(highest, here, rank[there])
    up = order[highest]
    while (up[up] != up).any():
        up = up[up]
    tops, parts = np.unique(up, return_inverse=True)
    return tops, parts.ravel()


@compiled("_graph")
def highest_levels(
    links: IndexArray, border: IndexArray, levels: FloatArray, n_rows: int
) -> FloatArray:
    """For each row at an end of some links, in order, the highest level of these.

    >>> highest_levels(np.array([[0, 3], [1, 3]]), np.array([0, 1]), np.array([2.0, 5.0]), 5)
    array([2., 5., 5.])
    """
    border = border[np.argsort(levels[border], kind="stable")]
    # Later ones, which are higher, stay.
    first, second = np.full((2, n_rows), -np.inf)
    first[links[border, 0]] = levels[border]
    second[links[border, 1]] = levels[border]
    highest = np.maximum(first, second)
    return highest[highest > -np.inf]


@compiled("_graph")
def connected_parts(links: IndexArray, n_rows: int) -> tuple[int, IndexArray]:
    """How many parts links leave of rows, and the part of each, in the order of their first rows.

    >>> connected_parts(np.array([[0, 3], [1, 2]]), 5)
    (3, array([0, 1, 1, 0, 2]))
    """
    weights = np.ones(len(links), dtype=np.int8)
    graph = coo_matrix((weights, (links[:, 0], links[:, 1])), shape=(n_rows, n_rows))
    number, part = connected_components(graph, directed=False)
    return int(number), part.astype(np.intp)


@compiled("_graph")
def highest_hill(
    links: IndexArray,
    levels: FloatArray,
    order: IndexArray,
    parts: IndexArray,
    values: FloatArray,
    n_parts: int,
    error: float,
) -> float:
    """The most by which the rows of a hill stand out where it meets a higher or larger one.

    Parameters
    ----------
    links : int array of shape (n_links, 2)
    levels : array of shape (n_links,)
        Log density at which a link joins its rows.
    order : int array of shape (n_links,)
        The links, the highest first.
    parts : int array of shape (n_rows,)
        The hill of each row, from 0 on.
    values : array of shape (n_rows,)
        Log densities of the rows.
    n_parts : int
    error : float
        What a hill must rise above a pass to count.

    >>> links = np.array([[0, 1], [1, 2], [2, 3]])
    >>> levels, parts = np.array([5.0, 1.0, 4.0]), np.array([0, 0, 1, 1])
    >>> values = np.array([6.0, 5.0, 4.0, 5.0])
    >>> highest_hill(links, levels, np.array([0, 2, 1]), parts, values, 2, 0.5)
    6.0
    """
    root = list(range(n_parts))
    sizes = np.bincount(parts, minlength=n_parts).tolist()
    sums = np.bincount(parts, weights=values, minlength=n_parts).tolist()

    def find(c: int) -> int:
        while root[c] != c:
            c = root[c]
        return c

    best = 0.0
    for a, b, level in zip(*np.sort(parts[links[order]], axis=1).T, levels[order], strict=True):
        one, other = find(a), find(b)
        if one == other:
            continue
        ground = float(level) + error
        best = max(best, min(sums[c] - sizes[c] * ground for c in (one, other)))
        root[other] = one
        sizes[one] += sizes[other]
        sums[one] += sums[other]
    return best


@compiled("_graph")
def shortest_tree(apart: FloatArray, core: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Shortest tree of all rows, one row after the other (Prim): ends and lengths of its links.

    Parameters
    ----------
    apart : array of shape (n, n)
        Distances.
    core : array of shape (n,)
        No link of a row is shorter.

    >>> ends, lengths = shortest_tree(np.array([[0.0, 4, 1], [4, 0, 2], [1, 2, 0]]), np.zeros(3))
    >>> ends.tolist(), lengths.tolist()
    ([[0, 2], [2, 1]], [1.0, 2.0])
    """
    n = len(apart)
    ends = np.empty((n - 1, 2), dtype=np.intp)
    lengths = np.empty(n - 1)
    near = np.full(n, np.inf)
    to = np.zeros(n, dtype=np.intp)
    out = np.ones(n, dtype=bool)
    here = 0
    for step in range(n - 1):
        out[here] = False
        reach = np.maximum(np.maximum(apart[here], core), core[here])
        closer = out & (reach < near)
        near[closer], to[closer] = reach[closer], here
        here = int(np.where(out, near, np.inf).argmin())
        ends[step], lengths[step] = (to[here], here), near[here]
    return ends, lengths


def _bridges(table: FloatArray, links: IndexArray) -> IndexArray:
    """The shortest links that join the parts of a graph, as in Borůvka's algorithm.

    Two parts get several of them, one for each row of the one that the other is almost as near to.
    """
    n = len(table)
    found: set[tuple[int, int]] = set()
    while True:
        pairs = np.concatenate([links, np.array(sorted(found), dtype=np.intp).reshape(-1, 2)])
        n_parts, part = connected_parts(pairs, n)
        if n_parts == 1:
            return np.array(sorted(found), dtype=np.intp).reshape(-1, 2)
        largest = int(np.argmax(np.bincount(part)))
        for c in range(n_parts):
            if c == largest:
                continue  # it is reached from the others
            inside, outside = np.flatnonzero(part == c), np.flatnonzero(part != c)
            apart, place = cKDTree(table[outside]).query(table[inside])
            near = np.flatnonzero(apart <= BRIDGE_REACH * apart.min())
            for a, b in zip(inside[near].tolist(), outside[place[near]].tolist(), strict=True):
                found.add((min(a, b), max(a, b)))
