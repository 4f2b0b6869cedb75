"""Communities in the graph of nearest neighbours, by Leiden's three steps: move, refine, merge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import randomized_svd

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found, SubspaceFinder, Watch

from .graph import nearest

__all__ = ["Leiden", "communities", "modularity", "neighbour_graph", "principal_scores"]

#: How freely the refinement chooses among merges (the paper's theta), in units of link weight.
RANDOMNESS = 0.01
#: Gains below this share of a row's links are rounding.
ROUNDING = 1e-10
#: Up to so many rows or columns all principal components are computed, of which some are kept.
MOST_EXACT = 500
#: Pairs of rows whose neighbourhoods are compared at a time.
BLOCK = 200_000


class Leiden(SubspaceFinder):
    """Communities of rows: linked to each other more than chance links rows with so many links.

    Every row is linked to its nearest neighbours among the first principal components, and a link
    weighs the share of neighbours that its two rows have in common [2]_. Rows then move between
    communities as long as modularity grows; every community is refined into well-connected parts;
    the parts become the rows of a smaller graph, and so on [1]_. Communities hang together always,
    which those of the Louvain method need not.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours to which a row is linked.
    resolution : float, default=1
        Weight of what chance would link (gamma): larger values give more and smaller clusters.
    n_components : int or None, default=50
        Principal components in which neighbours are looked for; None, or as many as there are
        columns, takes the columns as they are.
    max_iter : int, default=20
        Times that all steps are repeated at most, each from the result before; they end when
        modularity has stopped growing.
    max_time : float, optional
        Seconds after which no further repetition begins.
    random_state : int, SeedSequence, Generator or None
        In which order rows are visited.
    progress : callable or bool, optional
        Called with a :class:`~subscape.finders.base.Step`; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        The clusters, the largest first, over all features.
    labels_ : (n_rows,) array of int
    modularity_ : float
        Of the clusters, with this resolution; 0 for a single one at resolution 1.
    graph_ : (n_rows, n_rows) sparse array
        Weights of the links.
    n_iter_ : int
        Repetitions that were needed.

    See Also
    --------
    DensityTree : Hills of the density.
    subscape.exploration.leiden_groupings : At several resolutions.

    Differences from the paper
    --------------------------
    - The paper begins with a graph; here it is made of ``n_neighbors`` and ``n_components``.
    - Always: the refinement's theta is 0.01 in units of link weight.
    - Always: repetitions end when modularity has stopped growing, after ``max_iter`` at the latest.

    Notes
    -----
    Columns are taken as they are: scale them first, or take logarithms of counts. There is no
    test whether there are groups at all: random rows have communities, too. Time grows with the
    links, n times ``n_neighbors``, after the search for neighbours.

    References
    ----------
    .. [1] V. A. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: guaranteeing
       well-connected communities", Scientific Reports 9 (2019), doi:10.1038/s41598-019-41695-z.
    .. [2] J. H. Levine and others, "Data-driven phenotypic dissection of AML reveals
       progenitor-like cells that correlate with prognosis", Cell 162 (2015),
       doi:10.1016/j.cell.2015.05.047.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, truth = make_blobs(300, centers=4, n_features=10, random_state=0)
    >>> found = Leiden(resolution=0.5, random_state=0).fit(X)
    >>> int(found.labels_.max()) + 1, round(found.modularity_, 2)
    (4, 0.87)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "resolution": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.SeedSequence],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        n_neighbors: int = 15,
        resolution: float = 1.0,
        n_components: int | None = 50,
        *,
        max_iter: int = 20,
        max_time: float | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.resolution = resolution
        self.n_components = n_components
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.progress = progress

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        for_scores, for_rows = seed.spawn(2)
        watch.step("neighbours", 0, self.max_iter + 1)
        scores = principal_scores(X, self.n_components, for_scores)
        graph = neighbour_graph(scores, int(self.n_neighbors))
        steps = 0

        def done(iteration: int) -> bool:
            nonlocal steps
            steps = iteration
            watch.step("communities", min(iteration, self.max_iter), self.max_iter + 1)
            return iteration >= self.max_iter or (iteration > 0 and watch.out_of_time())

        labels = communities(graph, float(self.resolution), for_rows, done)
        found = SubspaceClustering.from_labels(labels, n_features=X.shape[1])
        told = modularity(graph, labels, float(self.resolution))
        return Found(found, steps, attributes={"modularity_": told, "graph_": graph})


# -- the graph -------------------------------------------------------------------------------------


def principal_scores(
    X: FloatArray, n_components: int | None, seed: np.random.SeedSequence
) -> FloatArray:
    """The rows in their first principal components; as they are, where there are no fewer.

    Both on a scale on which the largest value is between 1/2 and 1.

    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> scores = principal_scores(X - X.mean(axis=0), 1, np.random.SeedSequence(0))
    >>> (8 * np.abs(scores)).round(6).ravel()
    array([5., 0., 5.])
    """
    # By a power of two, exactly, so that squares of very large or small values stay numbers.
    table = np.ldexp(X, -int(np.frexp(np.abs(X).max(initial=1e-300))[1]))
    if n_components is None or n_components >= min(table.shape):
        return np.ascontiguousarray(table)
    if min(table.shape) <= MOST_EXACT:
        left, lengths, _ = np.linalg.svd(table, full_matrices=False)
    else:
        state = int(seed.generate_state(1)[0])
        left, lengths, _ = randomized_svd(table, n_components, n_iter=7, random_state=state)
    return np.ascontiguousarray(left[:, :n_components] * lengths[:n_components])


def neighbour_graph(table: FloatArray, n_neighbors: int) -> csr_array:
    """Links between rows one of which is among the nearest of the other.

    A link weighs the share of the rows near either (these themselves included) that are near both.

    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0], [6.0]]), 1).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    n_rows = len(table)
    k = min(n_neighbors, n_rows - 1)
    if k < 1:
        return csr_array((n_rows, n_rows))
    _, near = nearest(table, k)
    rows = np.repeat(np.arange(n_rows), k)
    ones = np.ones(n_rows * k)
    near_of = coo_array((ones, (rows, near.ravel())), shape=(n_rows, n_rows)).tocsr()
    around = (near_of + csr_array(coo_array((np.ones(n_rows), (np.arange(n_rows),) * 2)))).tocsr()
    links = np.unique(np.sort(np.column_stack([rows, near.ravel()]), axis=1), axis=0)
    shared = np.concatenate(
        [
            around[part[:, 0]].multiply(around[part[:, 1]]).sum(axis=1)
            for part in np.array_split(links, len(links) // BLOCK + 1)
        ]
    )
    weights = shared / (2 * (k + 1) - shared)
    ends = (np.concatenate([links[:, 0], links[:, 1]]), np.concatenate([links[:, 1], links[:, 0]]))
    return csr_array(coo_array((np.tile(weights, 2), ends), shape=(n_rows, n_rows)))


def modularity(graph: Any, labels: ArrayLike, resolution: float = 1.0) -> float:
    """Share of the links within clusters, less what chance would link there.

    Parameters
    ----------
    graph : (n_rows, n_rows) sparse array
        Symmetric weights; an entry of the diagonal is a link of a row with itself, counted twice.
    labels : (n_rows,) array of int
    resolution : float, default=1
        Weight of what chance would link.

    Returns
    -------
    float

    Examples
    --------
    >>> two_pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> modularity(two_pairs, [0, 0, 1, 1])
    0.5
    """
    labels = np.asarray(labels)
    links = csr_array(graph).tocoo()
    total = float(links.data.sum())
    if total == 0:
        return 0.0
    within = float(links.data[labels[links.row] == labels[links.col]].sum())
    strengths = np.bincount(labels[links.row], links.data)
    return within / total - resolution * float((strengths / total) @ (strengths / total))


# -- moving, refining, merging ---------------------------------------------------------------------


class Nodes(NamedTuple):
    """A graph as lists, which are quicker than arrays one entry at a time."""

    links: list[list[tuple[int, float]]]
    strengths: list[float]
    share: float
    """Resolution over the sum of all strengths: what chance links, per product of strengths."""

    @classmethod
    def of(cls, graph: csr_array, share: float) -> Nodes:
        """The graph; links of a node with itself count for its strength only."""
        ends, weights, starts = graph.indices.tolist(), graph.data.tolist(), graph.indptr.tolist()
        links = [
            [(j, w) for j, w in zip(ends[a:b], weights[a:b], strict=True) if j != i]
            for i, (a, b) in enumerate(pairwise(starts))
        ]
        return cls(links, np.asarray(graph.sum(axis=1)).ravel().tolist(), share)


def communities(
    graph: csr_array,
    resolution: float,
    seed: np.random.SeedSequence,
    done: Callable[[int], bool] | None = None,
) -> IndexArray:
    """Labels of communities, the largest first, whose modularity no step here can raise further.

    >>> pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> communities(pairs, 1.0, np.random.SeedSequence(0))
    array([0, 0, 1, 1])
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(graph.shape[0])
    best, iteration = modularity(graph, labels, resolution), 0
    while not (done is not None and done(iteration)):
        tried = _once(graph, labels, resolution, rng)
        iteration += 1
        reached = modularity(graph, tried, resolution)
        if reached <= best + ROUNDING:
            break
        labels, best = tried, reached
    _, first, numbers, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(first), np.intp)
    place[np.lexsort((first, -sizes))] = np.arange(len(first))
    return place[numbers.ravel()]


def _once(
    graph: csr_array, labels: IndexArray, resolution: float, rng: np.random.Generator
) -> IndexArray:
    """All steps, from these labels to better ones."""
    total = float(graph.sum())
    if total == 0:
        return labels
    share = resolution / total
    member = np.arange(graph.shape[0])  # the node of the smaller graph that each row is part of
    while True:
        nodes = Nodes.of(graph, share)
        labels = _moved(nodes, labels, rng)
        n_nodes, n_labels = len(labels), int(labels.max()) + 1
        if n_labels == n_nodes:
            return labels[member]
        parts = _refined(nodes, labels, rng)
        if int(parts.max()) + 1 == n_nodes:  # nothing was merged: take the communities whole
            parts = labels
        member = parts[member]
        whole = np.empty(int(parts.max()) + 1, np.intp)
        whole[parts] = labels
        to_parts = csr_array(
            coo_array((np.ones(n_nodes), (np.arange(n_nodes), parts)), shape=(n_nodes, len(whole)))
        )
        graph = csr_array(to_parts.T @ graph @ to_parts)
        graph.sort_indices()
        labels = whole


def _moved(nodes: Nodes, labels: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Every node where it gains most; nodes are visited again when a neighbour has left them."""
    links, strengths, share = nodes
    own = labels.tolist()
    n_nodes = len(own)
    masses = np.bincount(labels, strengths, minlength=n_nodes).tolist()
    counts = np.bincount(labels, minlength=n_nodes).tolist()
    empty = [c for c in range(n_nodes - 1, -1, -1) if counts[c] == 0]
    queue = deque(rng.permutation(n_nodes).tolist())
    waiting = [True] * n_nodes
    while queue:
        v = queue.popleft()
        waiting[v] = False
        here, strength = own[v], strengths[v]
        weights: dict[int, float] = {here: 0.0}
        for u, w in links[v]:
            weights[own[u]] = weights.get(own[u], 0.0) + w
        chance = share * strength
        best = here
        gain = weights[here] - chance * (masses[here] - strength)
        limit = ROUNDING * strength
        for c, w in weights.items():
            if c != here and w - chance * masses[c] > gain + limit:
                best, gain = c, w - chance * masses[c]
        if gain < -limit and counts[here] > 1:  # alone it would lose nothing
            best = empty.pop()
        if best == here:
            continue
        own[v] = best
        masses[here] -= strength
        masses[best] += strength
        counts[here] -= 1
        counts[best] += 1
        if counts[here] == 0:
            masses[here] = 0.0
            empty.append(here)
        for u, _ in links[v]:
            if own[u] != best and not waiting[u]:
                waiting[u] = True
                queue.append(u)
    return np.unique(own, return_inverse=True)[1].ravel()


def _refined(nodes: Nodes, labels: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Well-connected parts of every community: single nodes join parts at random, where they gain.

    Better merges are likelier; nodes and parts that hang loosely on their community stay apart.
    """
    links, strengths, share = nodes
    whole = labels.tolist()
    n_nodes = len(whole)
    masses = np.bincount(labels, strengths).tolist()
    part, part_mass, alone = list(range(n_nodes)), list(strengths), [True] * n_nodes
    # Links of each part with the rest of its community.
    outside = [sum(w for u, w in links[v] if whole[u] == whole[v]) for v in range(n_nodes)]
    chances = rng.random(n_nodes).tolist()

    def well_connected(p: int, mass: float) -> bool:
        rest = mass - part_mass[p]
        return bool(outside[p] >= share * part_mass[p] * rest - ROUNDING * part_mass[p])

    for v in rng.permutation(n_nodes).tolist():
        mass = masses[whole[v]]
        if not alone[v] or not well_connected(v, mass):
            continue
        weights: dict[int, float] = {}
        for u, w in links[v]:
            if whole[u] == whole[v]:
                weights[part[u]] = weights.get(part[u], 0.0) + w
        options, gains = [v], [0.0]
        for p, w in weights.items():
            gain = w - share * strengths[v] * part_mass[p]
            if gain >= 0 and well_connected(p, mass):
                options.append(p)
                gains.append(gain)
        odds = np.exp((np.array(gains) - max(gains)) / RANDOMNESS).cumsum()
        chosen = options[int(np.searchsorted(odds, chances[v] * odds[-1], side="right"))]
        if chosen == v:
            continue
        part[v] = chosen
        part_mass[chosen] += strengths[v]
        outside[chosen] += outside[v] - 2 * weights[chosen]
        # A part is named by its first node, which may not leave it any more.
        alone[v] = alone[chosen] = False
    return np.unique(part, return_inverse=True)[1].ravel()
