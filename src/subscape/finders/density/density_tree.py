"""Groups of any shape: hills of density that valleys part, with as many as stand out surely."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch

from .graph import DensityGraph, Field, density_graph, scales
from .valleys import DensityGroups, Valleys, valleys_of

__all__ = ["DensityTree", "Hill", "hills"]


#: Every other scale is a start; all of them judge.
STEP = 2
#: Hills that stand out by less than so many standard errors are bumps of the estimate.
BUMP = 1.0


class Hill(NamedTuple):
    """A hill of the density, and where it ends in a higher one.

    Attributes
    ----------
    top : int
        The row of largest density.
    peak : float
        Its log density.
    saddle : float
        Log density of the highest pass to a higher hill; -inf for the highest of all.
    into : int
        The top of that hill; -1 for the highest of all.
    z : float
        Peak above saddle, in standard errors.
    """

    top: int
    peak: float
    saddle: float
    into: int
    z: float


class Hills(NamedTuple):
    """Result of :func:`hills`: labels by falling peak, and the tree, deepest saddle last."""

    labels: IndexArray
    tree: tuple[Hill, ...]


def hills(graph: DensityGraph, field: Field, bump: float = BUMP) -> Hills:
    """The hills of a density, and the tree in which they merge.

    Rows climb to their highest neighbour [1]_, and hills meet at their highest pass. A hill that
    stands out by less than ``bump`` standard errors, or has fewer rows than a neighbourhood, is
    part of the one that it meets first.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(500, noise=0.06, random_state=0)
    >>> graph = density_graph(X)
    >>> 2 <= int(hills(graph, graph.field(13)).labels.max()) + 1 < 30
    True

    References
    ----------
    .. [1] F. Chazal, L. J. Guibas, S. Y. Oudot, P. Skraba, "Persistence-based clustering in
       Riemannian manifolds", Journal of the ACM 60 (2013), doi:10.1145/2535927.
    """
    tops, parts = graph.hills(field.values)
    peaks = field.values[tops]
    # The first of equal peaks is the higher one.
    order = np.argsort(-peaks, kind="stable")
    height = np.empty(len(tops), np.intp)
    height[order] = np.arange(len(tops))
    enough = bump * field.error
    whole, flat = list(range(len(tops))), list(range(len(tops)))
    sizes = np.bincount(parts).tolist()
    smallest = graph.n_near

    def find(root: list[int], c: int) -> int:
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    tree: list[Hill] = []
    pairs, levels = graph.passes(parts, field.links)
    for (a, b), level in zip(pairs.tolist(), levels.tolist(), strict=True):
        one, other = find(whole, a), find(whole, b)
        if one != other:
            high, low = (one, other) if height[one] < height[other] else (other, one)
            whole[low] = high
            z = (peaks[low] - level) / field.error
            tree.append(Hill(int(tops[low]), float(peaks[low]), level, int(tops[high]), float(z)))
        one, other = find(flat, a), find(flat, b)
        if one != other:
            high, low = (one, other) if height[one] < height[other] else (other, one)
            if peaks[low] - level < enough or min(sizes[low], sizes[high]) < smallest:
                flat[low] = high
                sizes[high] += sizes[low]
    first = int(order[0])
    tree.append(Hill(int(tops[first]), float(peaks[first]), -np.inf, -1, np.inf))
    roots = np.array([find(flat, c) for c in range(len(tops))])
    kept = np.unique(roots)
    kept = kept[np.argsort(height[kept])]
    number = np.empty(len(tops), np.intp)
    number[kept] = np.arange(len(kept))
    return Hills(number[roots][parts], tuple(tree))


class Scaled(NamedTuple):
    """Labels, tree and valleys at the scale at which the valleys tell most."""

    labels: IndexArray
    tree: tuple[Hill, ...]
    valleys: Valleys


def best_scale(
    graph: DensityGraph, ks: Sequence[int] | None = None, sureness: float = 1.0
) -> Scaled:
    """The groups that are left when hills without a sure valley between them are merged.

    Hills are those of several scales in turn, each two are parted by the scale that shows their
    valley best, and the groups whose valleys gain most are taken.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> int(best_scale(density_graph(rng.normal(size=(300, 2)))).labels.max())
    0
    """
    fields = [graph.field(k) for k in ks or graph.scales]
    best: Scaled | None = None
    seen: set[bytes] = set()
    for field in fields[::STEP]:
        found = hills(graph, field)
        groups = DensityGroups(graph, found.labels)
        groups.merge(fields, sureness)
        labels = groups.numbered()
        if labels.tobytes() in seen:
            continue
        seen.add(labels.tobytes())
        valleys = valleys_of(graph, labels, [each.k for each in fields])
        if best is None or valleys.gain > best.valleys.gain:
            best = Scaled(labels, found.tree, valleys)
    assert best is not None
    return best


class DensityTree(SubspaceFinder):
    """Clusters are hills of the density of the rows, of any shape, parted by valleys.

    The log density of a row is read from the distance to its k-th neighbour. Rows are linked to
    their nearest neighbours, and the density is lowered from the highest row to the lowest: linked
    rows form hills, which meet at passes [1]_ [2]_. Hills are merged until each two neighbours are
    parted by a valley that is deeper than chance makes them, at the neighbourhood size that shows
    it best (:func:`~.valleys.threshold`); how many there are comes out. Of the hills of
    several neighbourhood sizes those are taken whose valleys tell most
    (:func:`~.valleys.valley_score`).

    Parameters
    ----------
    n_neighbors : int, optional
        Rows in a neighbourhood. By default 5 and larger ones, up to an eighth of the rows.
    sureness : float, default=1
        Valleys must be so many times as deep as chance makes them.
    noise : bool, default=False
        Whether rows below the highest pass of their cluster are noise (-1).
    max_time : float, optional
        Accepted like that of other finders; the search is short.
    progress : callable or bool, optional
        Called with a :class:`~subscape.finders.base.Step`; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        The clusters, the densest first, over all features.
    labels_ : (n_rows,) array of int
    tree_ : tuple of Hill
        All hills, sure or not, with peaks and saddles, in the order in which they merge.
    valleys_ : Valleys
        What the valleys tell, and the passes between neighbouring clusters.
    log_density_ : (n_rows,) array
        But for a constant.
    n_neighbors_ : int
        Rows in a neighbourhood, as chosen.
    dims_ : float
        Dimension that the rows have at this scale.

    See Also
    --------
    subscape.validation.valley_test : Whether the valleys are more than chance.
    Leiden : Communities of neighbours.

    Differences from the paper
    --------------------------
    - The paper's user reads from the persistence diagram how deep valleys must be; here it is what
      chance makes of them, times ``sureness``.
    - Always: neighbourhoods of several sizes are tried, and those taken whose valleys tell most.

    Notes
    -----
    Columns are taken as they are: scale them first. With n rows of p columns all distances take
    n² p steps; up to 12 columns a tree takes about n log n. In many columns rows are far from each
    other, and valleys are seen better in a few directions.

    References
    ----------
    .. [1] F. Chazal, L. J. Guibas, S. Y. Oudot, P. Skraba, "Persistence-based clustering in
       Riemannian manifolds", Journal of the ACM 60 (2013), doi:10.1145/2535927.
    .. [2] K. Chaudhuri, S. Dasgupta, S. Kpotufe, U. von Luxburg, "Consistent procedures for cluster
       tree estimation and pruning", IEEE Transactions on Information Theory 60 (2014),
       doi:10.1109/TIT.2014.2361055.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, circle = make_circles(500, factor=0.5, noise=0.05, random_state=0)
    >>> tree = DensityTree().fit(X)
    >>> int(tree.labels_.max()) + 1, tree.valleys_.parted
    (2, True)
    >>> tree.predict([[0.5, 0.0], [1.0, 0.0]]) == tree.labels_[[circle.argmax(), circle.argmin()]]
    array([ True,  True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), None],
        "sureness": [Interval(Real, 0, None, closed="left")],
        "noise": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        sureness: float = 1.0,
        noise: bool = False,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.sureness = sureness
        self.noise = noise
        self.max_time = max_time
        self.progress = progress

    def _fit_to(self, table: Any) -> None:
        super()._fit_to(table)
        self._rows = np.array(table, dtype=np.float64)

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        n_rows, n_features = X.shape
        if n_rows < 4:
            one = SubspaceClustering.from_labels(np.zeros(n_rows, int), n_features=n_features)
            return Found(one, attributes=self._attributes((), None, np.zeros(n_rows), 1, 1.0))
        ks = None if self.n_neighbors is None else (min(int(self.n_neighbors), n_rows - 1),)
        watch.step("neighbours", 0, 2)
        graph = density_graph(X, None if ks is None else (*scales(n_rows), *ks))
        watch.step("hills and valleys", 1, 2)
        found = best_scale(graph, ks, self.sureness)
        field = graph.field(found.valleys.k)
        labels = found.labels
        if self.noise:
            labels = without_slopes(graph, field, labels)
        return Found(
            SubspaceClustering.from_labels(labels, n_features=n_features),
            attributes=self._attributes(
                found.tree, found.valleys, field.values, field.k, field.dims
            ),
        )

    @staticmethod
    def _attributes(
        tree: tuple[Hill, ...], valleys: Valleys | None, values: FloatArray, k: int, dims: float
    ) -> dict[str, Any]:
        return {
            "tree_": tree,
            "valleys_": Valleys(0.0, 0.0, k, ()) if valleys is None else valleys,
            "log_density_": values,
            "n_neighbors_": k,
            "dims_": dims,
        }

    def predict(self, X: ArrayLike) -> IntArray:
        """The label of the nearest row that was fitted.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        int array of shape (n_rows,)
        """
        check_is_fitted(self, "labels_")
        table = np.asarray(self._read_again(X), dtype=np.float64)
        _, place = cKDTree(self._rows).query(table)
        return np.asarray(self.labels_[place])


def without_slopes(graph: DensityGraph, field: Field, labels: IndexArray) -> IndexArray:
    """Labels of the rows that lie above all passes of their cluster; -1 for the others."""
    pairs, levels = graph.passes(labels, field.links)
    highest = np.full(int(labels.max(initial=0)) + 1, -np.inf)
    for side in (0, 1):
        np.maximum.at(highest, pairs[:, side], levels)
    return np.where(field.values >= highest[labels], labels, -1)
