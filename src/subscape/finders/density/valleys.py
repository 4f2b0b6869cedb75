"""How deep and how sure the valleys of low density are that part the groups of a labelling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import BoolArray, FloatArray, IndexArray

from .graph import DensityGraph, Field, density_graph, highest_levels, scales

__all__ = ["HillMerge", "Merged", "Pass", "Valleys", "merge_without_valley", "valley_score"]

#: Places of the links between two clusters.

#: Rows count as far as they stand out from the valley by more than so many standard errors.
NOISE = 1.0
#: Share of a cluster's rows, the densest, whose mean is its height; and of the rows along a valley,
#: the densest, whose mean is the height of the pass.
UPPER = 0.5
#: What sorting rows by an estimate makes of its noise: the upper half of normal numbers has a mean
#: of 0.8, and hills are drawn around it.
SORTED = 0.8
#: Chance valleys in units of what theory gives, in generated tables: of rows along curves (rings,
#: parabolas), where every way from end to end leads through the lowest place, and of rows in clouds
#: (normal, uniform; 2 to 5 columns), where ways lead around it.
ALONG_CURVES, IN_CLOUDS = 1.45, 0.9
#: Borders of hills run along low places, so that longer ones, in neighbourhoods, prove no more.
LONGEST = 3.0
#: Rows lie along curves up to the first dimension, or if a smaller share of the dimension is left
#: at large scales; in clouds from the second on. In generated tables the share is at most 0.65
#: along curves, at least 0.85 in one cloud, and at least 0.7 in several.
DIMS = (1.5, 1.9)
FULLNESS = (0.65, 0.8)


class Pass(NamedTuple):
    """The highest pass between two neighbouring clusters.

    Attributes
    ----------
    first, second : int
        The clusters' labels.
    depth : float
        How far the pass lies below the lower of the two peaks, in nats of density.
    z : float
        The same in standard errors.
    sure : bool
        Whether chance alone makes no valley as deep.
    """

    first: int
    second: int
    depth: float
    z: float
    sure: bool


class Valleys(NamedTuple):
    """Result of :func:`valley_score`.

    Attributes
    ----------
    gain : float
        Nats per row by which the density of the rows describes them better than the density
        without valleys between the clusters.
    entropy : float
        Nats per row that the cluster's number itself tells.
    k : int
        Rows in a neighbourhood, at the scale at which the gain is largest.
    passes : tuple of Pass
        Between neighbouring clusters, at that scale, the shallowest first.
    """

    gain: float
    entropy: float
    k: int
    passes: tuple[Pass, ...]

    @property
    def parted(self) -> bool:
        """Whether all neighbouring clusters are parted by sure valleys."""
        return bool(self.passes) and all(each.sure for each in self.passes)


class HillMerge(NamedTuple):
    """Two clusters that no sure valley parts; the merged one keeps the smaller label.

    Attributes
    ----------
    kept, gone : int
        Labels.
    sureness : float
        How sure the valley was, at the scale that shows it best: 1 would have been enough.
    """

    kept: int
    gone: int
    sureness: float


class Merged(NamedTuple):
    """Result of :func:`merge_without_valley`.

    Attributes
    ----------
    labels : int array of shape (n_rows,)
        Numbered from 0; noise stays -1.
    order : tuple of Merge
        What was merged, first to last.
    """

    labels: IndexArray
    order: tuple[HillMerge, ...]


def valley_score(
    X: ArrayLike | DensityGraph,
    labels: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    columns: Sequence[int] | None = None,
    k: int | None = None,
) -> Valleys:
    """How deep the valleys between given groups are, in nats per row.

    Let f be the density of the rows, and g the density that is nearest below f among those that
    can be walked from any cluster to the highest without going down: where two clusters meet at a
    pass of density s, the one that costs less is levelled to s. The gain is the log likelihood of
    the rows under f less that under g, scaled to a density,

        mean(log f - log g) + log(mean(g / f)),

    which is never negative. As the density is estimated from k neighbours, the difference of two
    logarithms has a standard error of the root of 2 / k; clusters are levelled to one standard
    error above the pass, so that bumps of the estimate count for nothing.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns) or DensityGraph
        Columns on scales that can be compared.
    labels : array-like of shape (n_rows,)
        -1 is noise: passes may lead through noise, but it is no cluster.
    directions : array-like of shape (n_columns, d), optional
        Look at the rows' coordinates along these directions.
    columns : sequence of int, optional
        Look at these columns.
    k : int, optional
        Rows in a neighbourhood. By default several are tried, and the largest gain is given.

    Returns
    -------
    Valleys

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(500, noise=0.06, random_state=0)
    >>> valley_score(X, moon).parted, valley_score(X, X[:, 0] > 0.5).parted
    (True, False)
    """
    graph = _looked_at(X, directions, columns, k)
    return valleys_of(graph, np.asarray(labels), None if k is None else (k,))


def valleys_of(
    graph: DensityGraph, labels: NDArray[Any], ks: Sequence[int] | None = None
) -> Valleys:
    """The same for a graph that is at hand."""
    known = DensityGroups(graph, labels)
    best: Valleys | None = None
    for k in ks or graph.scales:
        field = graph.field(k)
        found = known.valleys(field)
        if best is None or found.gain > best.gain:
            best = found
    assert best is not None
    return best


def merge_without_valley(
    X: ArrayLike | DensityGraph,
    labels: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    columns: Sequence[int] | None = None,
) -> Merged:
    """Merge neighbouring clusters until a sure valley parts each two that are left.

    The least sure valley goes first. It is looked for at several scales (neighbourhood sizes), and
    the one that shows it best counts.

    Parameters
    ----------
    X, labels, directions, columns
        As in :func:`valley_score`.

    Returns
    -------
    Merged

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 400)
    >>> X = np.column_stack([t, t**2]) + rng.normal(0, 0.05, (400, 2))
    >>> merged = merge_without_valley(X, KMeans(6, random_state=0).fit_predict(X))
    >>> int(merged.labels.max()) + 1, len(merged.order)
    (1, 5)
    """
    graph = _looked_at(X, directions, columns)
    known = DensityGroups(graph, np.asarray(labels))
    order = known.merge([graph.field(k) for k in graph.scales])
    return Merged(known.numbered(), order)


def threshold(graph: DensityGraph, field: Field, length: float) -> float:
    """Depth, in nats, that chance valleys reach at most.

    On even ground heights scatter by one over the root of k, and about m = n / k of them are as
    good as independent. A valley that is one neighbourhood long (a curve is cut) may be the lowest
    of m heights, which is the root of 2 log m below the mean; the mean of one that is w
    neighbourhoods long scatters less by the root of w. Hills are drawn where the estimate is high,
    which raises their upper half by 0.8 more. In clouds chance valleys are shallower: there are
    ways around the lowest places.

    Parameters
    ----------
    graph : DensityGraph
    field : Field
    length : float
        Of the valley, in neighbourhoods.

    Examples
    --------
    >>> import numpy as np
    >>> graph = density_graph(np.random.default_rng(0).normal(size=(500, 2)))
    >>> round(threshold(graph, graph.field(20), 1.0), 2)
    0.67
    """
    cells = max(graph.n_rows / field.k, 2.0)
    lowest = np.sqrt(2 * np.log(cells) / np.clip(length, 1.0, LONGEST))
    factor = _factor(graph.dims, graph.fullness)
    return float(factor * (SORTED + lowest) / np.sqrt(field.k))


@lru_cache(maxsize=64)
def _factor(dims: float, fullness: float) -> float:
    """Chance valleys of rows of that dimension, compared with those along curves."""
    ends = (ALONG_CURVES, IN_CLOUDS)
    return float(max(np.interp(dims, DIMS, ends), np.interp(fullness, FULLNESS, ends)))


def _looked_at(
    X: ArrayLike | DensityGraph,
    directions: ArrayLike | None,
    columns: Sequence[int] | None,
    k: int | None = None,
) -> DensityGraph:
    if isinstance(X, DensityGraph):
        return X
    table = np.asarray(X, dtype=np.float64)
    if columns is not None:
        table = table[:, list(columns)]
    if directions is not None:
        table = table @ np.asarray(directions, dtype=np.float64)
    return density_graph(table, None if k is None else (*scales(len(table)), k))


class DensityGroups:
    """A labelling on a graph: which links lead from group to group, and how deep they lie."""

    def __init__(self, graph: DensityGraph, labels: NDArray[Any]) -> None:
        labels = labels.astype(np.intp)
        self.graph = graph
        self.given = labels >= 0
        self.names, inside = np.unique(labels[self.given], return_inverse=True)
        self.parts = np.full(len(labels), -1, dtype=np.intp)
        self.parts[self.given] = inside.ravel()
        if not len(self.names):
            self.parts[:] = 0
        elif not self.given.all():
            self._fill()
        self.fits = self._fitting()

    def _fill(self) -> None:
        """Noise goes to the cluster of the nearest row that has one, step by step."""
        while (self.parts < 0).any():
            rows = np.flatnonzero(self.parts < 0)
            seen = self.parts[self.graph.neighbours[rows]]
            has = (seen >= 0).any(axis=1)
            if not has.any():
                self.parts[rows] = 0
                return
            nearest = np.argmax(seen[has] >= 0, axis=1)
            self.parts[rows[has]] = seen[has][np.arange(int(has.sum())), nearest]

    def _fitting(self) -> BoolArray:
        """Rows of which no other cluster has more neighbours: single strays make no pass."""
        n, count = self.graph.n_rows, max(len(self.names), 1)
        seen = self.parts[self.graph.neighbours[:, : self.graph.n_near]]
        votes = np.bincount((np.arange(n)[:, None] * count + seen).ravel(), minlength=n * count)
        votes = votes.reshape(n, count)
        return np.asarray(votes[np.arange(n), self.parts] + 1 >= votes.max(axis=1))

    def numbered(self) -> IndexArray:
        """Labels from 0; noise is -1."""
        labels = np.full(self.graph.n_rows, -1, dtype=np.intp)
        labels[self.given] = np.unique(self.parts[self.given], return_inverse=True)[1].ravel()
        return labels

    def height(self, field: Field, part: int) -> float:
        """Mean log density of the denser half of a cluster's rows."""
        rows = np.flatnonzero((self.parts == part) & self.given & self.fits)
        if not len(rows):
            rows = np.flatnonzero((self.parts == part) & self.given)
        return _upper(field.values[rows])

    def borders(self) -> dict[tuple[int, int], IndexArray]:
        """For each two neighbouring clusters, the links between them, and their ends."""
        graph = self.graph
        ends = self.parts[graph.links]
        across = ends[:, 0] != ends[:, 1]
        clean = self.fits[graph.links[:, 0]] & self.fits[graph.links[:, 1]]
        if graph.n_bridges:  # few, and the only way
            clean[len(clean) - graph.n_bridges :] = True
        which = np.flatnonzero(across & clean)
        low, high = ends[which].min(axis=1), ends[which].max(axis=1)
        codes = low * len(self.names) + high
        order = np.argsort(codes, kind="stable")
        codes, starts = np.unique(codes[order], return_index=True)
        found = np.split(which[order], starts[1:]) if len(codes) else []
        return {
            divmod(int(code), len(self.names)): links
            for code, links in zip(codes, found, strict=True)
        }

    def valley(self, field: Field, border: IndexArray) -> tuple[float, float]:
        """Level of the pass across a border, and the length of the valley in neighbourhoods."""
        # Each row on the border by its highest link.
        levels = highest_levels(self.graph.links, border, field.links, self.graph.n_rows)
        return _upper(levels), max(1.0, len(levels) / (2 * self.graph.n_near))

    def merge(self, fields: Sequence[Field], enough: float = 1.0) -> tuple[HillMerge, ...]:
        """Merge clusters that no sure valley parts, the least sure one first."""
        heights = [[self.height(f, c) for c in range(len(self.names))] for f in fields]
        borders = self.borders()

        def judged(pair: tuple[int, int]) -> float:
            told = []
            for field, height in zip(fields, heights, strict=True):
                level, length = self.valley(field, borders[pair])
                depth = min(height[pair[0]], height[pair[1]]) - level
                told.append(depth / threshold(self.graph, field, length))
            return max(told)

        sureness = {pair: judged(pair) for pair in borders}
        order: list[HillMerge] = []
        while sureness:
            a, b = min(sureness, key=lambda pair: sureness[pair])
            if not sureness[a, b] < enough:
                break
            order.append(HillMerge(int(self.names[a]), int(self.names[b]), sureness[a, b]))
            self.parts[self.parts == b] = a
            for field, height in zip(fields, heights, strict=True):
                height[a] = self.height(field, a)
            del borders[a, b], sureness[a, b]
            for pair in [pair for pair in borders if b in pair]:
                other = pair[0] if pair[1] == b else pair[1]
                new = (min(a, other), max(a, other))
                old = borders.get(new, np.zeros(0, np.intp))
                borders[new] = np.concatenate([old, borders.pop(pair)])
                del sureness[pair]
            for pair in borders:
                if a in pair:
                    sureness[pair] = judged(pair)
        return tuple(order)

    def valleys(self, field: Field) -> Valleys:
        """The score at one scale."""
        if len(self.names) < 2:
            return Valleys(0.0, 0.0, field.k, ())
        shares = np.bincount(self.parts[self.given]) / self.given.sum()
        shares = shares[shares > 0]
        entropy = float(-(shares * np.log(shares)).sum())
        heights = [self.height(field, c) for c in range(len(self.names))]
        told, passes = [], []
        for (a, b), border in self.borders().items():
            level, length = self.valley(field, border)
            depth = min(heights[a], heights[b]) - level
            enough = threshold(self.graph, field, length)
            names = int(self.names[a]), int(self.names[b])
            told.append(
                Pass(*names, float(depth), float(depth / field.error), bool(depth >= enough))
            )
            passes.append((level, a, b))
        told.sort(key=lambda each: each.z)
        gain = self._gain(field, sorted(passes, reverse=True))
        return Valleys(gain, entropy, field.k, tuple(told))

    def _gain(self, field: Field, passes: Sequence[tuple[float, int, int]]) -> float:
        parts = np.where(self.given, self.parts, -1)
        level = field.values.copy()
        members = [np.flatnonzero(parts == c) for c in range(len(self.names))]
        root = list(range(len(self.names)))

        def find(c: int) -> int:
            while root[c] != c:
                c = root[c]
            return c

        for height, a, b in passes:
            one, other = find(a), find(b)
            if one == other:
                continue
            ground = height + NOISE * field.error
            costs = [np.maximum(level[members[c]] - ground, 0).sum() for c in (one, other)]
            cheaper = members[one if costs[0] <= costs[1] else other]
            level[cheaper] = np.minimum(level[cheaper], ground)
            members[one] = np.concatenate([members[one], members[other]])
            root[other] = one
        lost = field.values - level
        return float(lost.mean() + np.log(np.exp(-lost).mean()))


def _upper(values: FloatArray) -> float:
    """Mean of the upper half of some numbers.

    >>> _upper(np.array([1.0, 2.0, 3.0, 4.0]))
    3.5
    """
    count = max(1, int(np.ceil(UPPER * len(values))))
    if count < len(values):
        values = np.partition(values, len(values) - count)[-count:]
    return float(values.mean())
