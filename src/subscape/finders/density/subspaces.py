"""In which columns or directions of a table groups of any shape lie."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.spatial import cKDTree
from scipy.special import ndtri
from scipy.stats import multivariate_normal, rankdata

from subscape.core.types import FloatArray, IndexArray

from .density_tree import best_scale
from .graph import DensityGraph, density_graph, highest_hill, link_count
from .valleys import Valleys

__all__ = ["DensityView", "Place", "density_views", "screened_pairs", "stands_out"]


#: Up to so many columns all pairs are looked at; of more, so many pairs that depend on each other.
MOST_COLUMNS = 4
MOST_PAIRS = 10
#: Cells per column in which dependence is seen: with 100 rows each still holds about three.
CELLS = 6
#: Principal directions of which pairs are looked at.
PRINCIPAL = 4
#: All columns together are looked at if they are no more than this.
MOST_TOGETHER = 10
#: Rows for the first look, and places that are looked at closely; rows for that.
FIRST_ROWS = 300
CLOSE_LOOKS = 2
MOST_ROWS = 2000
#: Most columns that a place grows to.
MOST_GROWN = 4


class Place(NamedTuple):
    """Where to look.

    Attributes
    ----------
    basis : array of shape (n_columns, d)
        What standardised columns are multiplied by.
    columns : tuple of int
        The columns looked at; all of them for principal directions.
    kind : str
        "columns", "principal" or "all".
    """

    basis: FloatArray
    columns: tuple[int, ...]
    kind: str


class DensityView(NamedTuple):
    """Groups, and where they lie.

    Attributes
    ----------
    place : Place
    labels : int array of shape (n_rows,)
    valleys : Valleys
        Their depth there.
    """

    place: Place
    labels: IndexArray
    valleys: Valleys


def density_views(X: ArrayLike, *, most: int = 1) -> list[DensityView]:
    """Groups of any shape in a few columns or directions of a table, the clearest first.

    Pairs of columns (all, or of many those that depend on each other beyond correlation), pairs of
    principal directions scaled to equal spread, and the whole of narrow tables are looked at with
    few rows and one scale. The few in which most rows stand out from a valley are looked at
    closely, and pairs of columns grow by a column as long as valleys get deeper. A table without
    groups has to be searched in the same way to say what chance finds.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Without missing values.
    most : int, default=1
        Views to return at most. Those of one group are left out.

    Returns
    -------
    list of DensityView

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> moons, _ = make_moons(400, noise=0.06, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=(400, 4))
    >>> view, = density_views(np.c_[noise, moons])
    >>> view.place.columns, int(view.labels.max()) + 1
    ((4, 5), 2)
    """
    table = standardised(np.asarray(X, dtype=np.float64))
    rows = _some(len(table), FIRST_ROWS)
    glimpse = table[rows]
    places = list(_places(table))
    found = [(stands_out(glimpse @ place.basis), i) for i, place in enumerate(places)]
    found.sort(key=lambda each: (-each[0], each[1]))
    near = [places[i] for _, i in found[:CLOSE_LOOKS]]
    grown = [
        _grown(glimpse, places[i], score) for score, i in found[:2] if places[i].kind == "columns"
    ]
    near += [place for place in grown if len(place.columns) > 2]
    # Clouds that part in many columns a little are seen best in what spreads them most.
    always = [place for place in places if place.kind == "principal"][:1]
    always += [place for place in places if place.kind == "all"]
    near += [place for place in always if all(place is not other for other in near)]
    views = [_looked_at(table, place) for place in near]
    views = [view for view in views if view.valleys.gain > 0]
    views.sort(key=lambda view: -view.valleys.gain)
    return views[:most]


def stands_out(points: FloatArray) -> float:
    """A first impression of valleys: nats per row by which the best hill stands out, cheaply.

    At two scales, each hill that is met by a higher one counts by its rows times the depth of the
    pass below its upper half; the largest is given.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> cloud = rng.normal(size=(200, 2))
    >>> stands_out(cloud) < stands_out(np.r_[cloud, cloud + 7])
    True
    """
    n = len(points)
    ks = (min(8, n - 1), link_count(n))
    graph = density_graph(points, ks)
    return max(_impression(graph, k) for k in ks)


def _impression(graph: DensityGraph, k: int) -> float:
    field = graph.field(k)
    tops, parts = graph.hills(field.values)
    order = np.argsort(-field.links, kind="stable")
    best = highest_hill(
        graph.links, field.links, order, parts, field.values, len(tops), field.error
    )
    return best / graph.n_rows


def standardised(table: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1; constant ones are 0."""
    centred = table - table.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


def _places(table: FloatArray) -> Iterable[Place]:
    n, p = table.shape
    unit = np.eye(p)
    every = tuple(range(p))
    if p == 1:
        yield Place(unit, every, "all")
        return
    for a, b in screened_pairs(table):
        yield Place(unit[:, [a, b]], (a, b), "columns")
    values, vectors = eigh(table.T @ table / n)
    kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1][:PRINCIPAL]
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    for pair in combinations(range(len(kept)), 2):
        yield Place(scaled[:, pair], every, "principal")
    if len(kept) > 2:
        yield Place(scaled[:, :3], every, "principal")
    if 2 < p <= MOST_TOGETHER:
        yield Place(unit, every, "all")


def screened_pairs(table: FloatArray, most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """Pairs of columns to look at: all of few columns, else those with most to see.

    Ranks are put in cells of equal size, and the counts of pairs of cells are compared with those
    of normal columns of the same correlation.

    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> rng = np.random.default_rng(0)
    >>> circles, _ = make_circles(300, factor=0.5, noise=0.05, random_state=0)
    >>> screened_pairs(np.c_[rng.normal(size=(300, 18)), circles])[0]
    (18, 19)
    """
    n, p = table.shape
    pairs = list(combinations(range(p), 2))
    if p <= MOST_COLUMNS:
        return pairs
    ranks = rankdata(table, axis=0, method="ordinal") - 1
    cells = (ranks * CELLS // n).astype(np.intp)
    inside = np.zeros((n, p, CELLS), dtype=np.float32)
    inside[np.arange(n)[:, None], np.arange(p), cells] = 1
    flat = inside.reshape(n, -1)
    counts = (flat.T @ flat).reshape(p, CELLS, p, CELLS).transpose(0, 2, 1, 3)
    scores = np.corrcoef(ranks, rowvar=False)
    correlation = 2 * np.sin(np.pi / 6 * scores)
    grid, expected = _normal_cells()
    place = np.clip(np.searchsorted(grid, correlation), 1, len(grid) - 1)
    share = ((correlation - grid[place - 1]) / (grid[place] - grid[place - 1])).clip(0, 1)
    share = share[..., None, None]
    mean = n * ((1 - share) * expected[place - 1] + share * expected[place])
    excess = (np.square(counts - mean) / (mean + 1)).sum(axis=(2, 3))
    pairs.sort(key=lambda pair: -excess[pair])
    return pairs[:most]


@cache
def _normal_cells() -> tuple[FloatArray, FloatArray]:
    """Shares of the cells of two normal columns, by their correlation."""
    grid = np.linspace(-0.98, 0.98, 29)
    edges = np.r_[-9.0, ndtri(np.arange(1, CELLS) / CELLS), 9.0]
    corners = np.stack(np.meshgrid(edges, edges, indexing="ij"), axis=-1)
    shares = []
    for r in grid:
        below = multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf(corners)
        shares.append(np.diff(np.diff(below, axis=0), axis=1).clip(0))
    return grid, np.array(shares)


def _grown(glimpse: FloatArray, place: Place, score: float) -> Place:
    """A place with columns added as long as rows stand out more."""
    p = glimpse.shape[1]
    while len(place.columns) < min(MOST_GROWN, p) and p <= 3 * MOST_COLUMNS:
        tried = []
        for j in range(p):
            if j not in place.columns:
                columns = (*place.columns, j)
                tried.append((stands_out(glimpse[:, columns]), columns))
        best, columns = max(tried)
        if best <= score:
            break
        score = best
        place = Place(np.eye(p)[:, columns], columns, "columns")
    return place


def _looked_at(table: FloatArray, place: Place) -> DensityView:
    points = table @ place.basis
    n = len(points)
    if n <= MOST_ROWS:
        found = best_scale(density_graph(points))
        return DensityView(place, found.labels, found.valleys)
    rows = _some(n, MOST_ROWS)
    found = best_scale(density_graph(points[rows]))
    _, nearest = cKDTree(points[rows]).query(points)
    return DensityView(place, found.labels[nearest], found.valleys)


def _some(n: int, most: int) -> IndexArray:
    """At most so many rows, always the same."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
