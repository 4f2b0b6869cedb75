"""What the finders by self-expression share: all but the coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import xlogy
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.arrays.blocks import Blocks, as_blocks, one_blas_thread
from subscape.arrays.device.array_api import to_numpy
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, SharedFlatWarning, SubscapeError, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch
from subscape.finders.oriented.flats import Flat, bases_of, squared_residuals
from subscape.finders.oriented.intrinsic_dims import bic_scores, many_bic_scores
from subscape.finders.oriented.kflats.rows import group_means, place
from subscape.finders.oriented.one_flat import may_be_one, warn_of
from subscape.finders.sampling import places_to_search

from .affinity import (
    FEW_CELLS,
    MOST_BY_GAP,
    Spectrum,
    affinity,
    are_components,
    eigengap,
    parts,
    same_parts,
    spectrum,
    visits,
    without_links,
)
from .written_flats import WRITERS, groups_on_written_flats

#: Cells of what is computed at a time: rows of a block by all rows that are searched. As many as a
#: processor's cache holds, or they are fetched from memory again and again.
CELLS = 2**20
#: Rounds of refinement, at most.
ROUNDS = 30
#: A flat of dimension q is fitted to at least so many times q rows.
ROWS_PER_DIMENSION = 3
#: Parts of the graph, per cluster, that are joined to clusters.
PIECES = 3
#: Rows lie on a flat if no more than this share of their variance is off it. Where rows lie on no
#: flats, which of them are one says nothing.
OFF_THE_FLAT = 0.05
#: Rows are on a flat, but for rounding, if this share of their squared lengths is off it; the
#: smallest that eigenvalues of products can tell.
ON_THE_FLAT = 1e-12
#: Directions that parts are compared in, at most.
MOST_DIRECTIONS = 50
#: Rows that lie in a subspace but for this are written in its coordinates.
OUTSIDE = 1e-12
#: Rows shorter than this share of the longest are rows of zeros.
NOTHING = 1e-12

Block = tuple[IndexArray, IndexArray, FloatArray]


class SelfExpressionFinder(SubspaceFinder):
    """Base of the finders that write every row as a combination of others.

    A subclass implements :meth:`_express`. The rest is shared: rows of length 1, a graph of who
    expresses whom, its spectral parts, and a flat fitted to each part.
    """

    _kind = "oriented"
    _centred = False
    _streams = True
    _tells_two_rows = True
    _beside = ("labels_", "centres_")
    #: The largest coefficient of each row counts 1 in the graph.
    _scaled_rows: ClassVar[bool] = True

    #: Constraints of the parameters that all have.
    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"eigengap"})],
        "affine": ["boolean"],
        "noise": [Interval(Real, 0, 1, closed="left")],
        "flat_dim": [Interval(Integral, 0, None, closed="left"), None],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "refine": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.Generator],
        "progress": [callable, "boolean", None],
    }

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.flat_dim is not None and self.flat_dim >= n_features and self.flat_dim > 1:
            raise SubscapeError(
                f"flat_dim={self.flat_dim} fills a table of {n_features} features: every row would "
                f"be on the flat. Use at most {n_features - 1}"
            )

    def _express(self, U: FloatArray, watch: Watch) -> sparse.csr_array:
        """(m, m) coefficients of every row in terms of the others, the diagonal empty.

        ``U`` has rows of length 1, no two of them equal.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement _express")

    def _written(
        self, U: FloatArray, n_cells: int, watch: Watch
    ) -> tuple[sparse.csr_array, sparse.csr_array | None]:
        """The coefficients, and what is off in some of the first cells of every row, if any may be.

        Asked instead of :meth:`_express`; without coordinates of the rows' span where cells count.
        """
        return self._express(U, watch), None

    # -- the phases --------------------------------------------------------------------------------

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        rng = np.random.default_rng(seed)
        k = self._k() if self._most_clusters() is not None else None
        if X.shape[1] == 1 and not self.affine and k != 1:
            warnings.warn(
                "one column that varies: all rows lie on one line through the origin, and clusters "
                "along it say nothing of flats; affine=True parts them by their values",
                SharedFlatWarning,
                stacklevel=5,
            )
        places = places_to_search(len(X), k or MOST_BY_GAP, self.search_rows, rng)
        rows = _rows(X, places)
        cells_count = bool(getattr(self, "wrong_cells", 0))
        nodes = distinct_directions(rows, self.affine, as_they_are=cells_count)
        with one_blas_thread():
            coefficients, wrong = self._written(nodes.directions, X.shape[1], watch)
            if wrong is not None:
                rows, nodes = set_right(rows, nodes, wrong)
            split = self._split(coefficients, nodes.directions, k, rng, watch)
            spreads = Spreads(rows, self.affine)
            start = self._fitted(spreads, nodes, split.labels)
            before, n_iter = self._everywhere(X, start, places), 1
            after = before
            if self.refine:
                best = self._best(spreads, nodes, split, start, rng, watch)
                if self._says_something(spreads, best):
                    ended = best.parts._replace(labels=_replaced(rows, nodes.is_zero, best.parts))
                    after, n_iter = self._everywhere(X, ended, places), best.n_iter
            own = after.labels if places is None else after.labels[places]
            warn_of(on_one_flat(spreads, after._replace(labels=own)), 5)
        return Found(
            after.clustering(X.shape[1]),
            n_iter,
            {
                "flat_dims_": np.array([flat.dim for flat in after.flats], np.int64),
                "coefficients_": coefficients,
                "expressed_rows_": nodes.first if places is None else places[nodes.first],
                "eigenvalues_": split.eigenvalues,
                **(
                    {}
                    if wrong is None
                    else {"wrong_": sparse.csr_array(wrong * nodes.lengths[:, None])}
                ),
            },
            unrefined=before.clustering(X.shape[1]) if self.refine else None,
        )

    def _everywhere(self, X: FloatArray | Blocks, found: Parts, places: IndexArray | None) -> Parts:
        """Clusters of the searched rows, with all rows, in the order of their first ones."""
        labels, flats = found
        if places is not None:
            labels = self._all_rows(X, flats, places, labels)
        return _renumbered(labels, flats)

    def _closest(self, rows: FloatArray, flats: list[Flat]) -> tuple[IndexArray, FloatArray]:
        """The closest flat of each row, and how far it is; by their lengths if linear."""
        residuals = squared_residuals(rows, flats)
        far = residuals.min(axis=1)
        if not self.affine:
            length = np.einsum("ij,ij->i", rows, rows)
            far /= np.where(length > 0, length, 1.0)
        return residuals.argmin(axis=1), far

    def _fitted(self, spreads: Spreads, nodes: Nodes, labels: IndexArray) -> Parts:
        """Rows by the parts of the graph, each with its flat."""
        of_rows = labels[nodes.of_row]
        of_rows[nodes.is_zero] = UNPLACED
        flats = self._flats(spreads, of_rows)
        return Parts(_placed(spreads.rows, of_rows, flats), flats)

    def _best(
        self,
        spreads: Spreads,
        nodes: Nodes,
        split: Split,
        start: Parts,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Refined:
        """The refined clusters that describe the rows best, of several ways to begin."""
        ends = []
        for begun in self._beginnings(spreads, nodes, split, start, rng, watch):
            ends.append(self._refined(spreads, begun, watch))
            # Where all rows lie on their flats there is nothing to gain.
            if self._is_exact(spreads, ends[-1].parts):
                break
            # Parts that mix flats have too many dimensions; flats that hold all rows part none.
            dim = self._even_dim(spreads, len(begun.flats))
            if dim is not None and dim < self._common_dim(spreads, begun.labels):
                ends.append(self._refined(spreads, begun, watch, dim))
        return min(ends, key=lambda end: end.score)

    def _beginnings(
        self,
        spreads: Spreads,
        nodes: Nodes,
        split: Split,
        start: Parts,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Iterator[Parts]:
        """The parts of the graph, the flats that rows write, and parts that are joined."""
        # Where there are few rows, what they write is looked at in no time, and shows at once
        # whether they all lie on flats; of more rows it is cheaper to refine the parts first.
        last = len(nodes.directions) <= WRITERS and not self._is_exact(spreads, start)
        if not last:
            yield start
        written = self._written_parts(split, nodes.directions, rng, watch)
        if written is not None:
            yield self._fitted(spreads, nodes, written)
        if last:
            yield start
        pieces = self._joined_parts(split, nodes.directions, rng, watch)
        if pieces is not None:
            yield self._fitted(spreads, nodes, pieces)

    def _refined(
        self, spreads: Spreads, start: Parts, watch: Watch, first: int | None = None
    ) -> Refined:
        """Rows go to the closest flat and flats are fitted anew while that describes them better.

        The flats are of the dimension that is usual among the parts, or at ``first`` of another.
        As many rows are noise as before, the farthest ones; no cluster is given up.
        """
        rows = spreads.rows
        spared = int((start.labels < 0).sum())
        best, n_iter = start, 1
        dim = self._common_dim(spreads, start.labels)
        score = self._score(spreads, start.labels, dim)
        if all(flat.dim == dim for flat in start.flats) and self._is_exact(spreads, start):
            # No row can be closer to another flat, and none can be smaller.
            return Refined(start, score, n_iter)
        dim = dim if first is None else first
        now = start.labels
        while n_iter <= ROUNDS and not watch.out_of_time():
            flats = self._flats(spreads, now, dim)
            labels, far = self._closest(rows, flats)
            if spared:
                labels[np.argsort(far, kind="stable")[len(rows) - spared :]] = -1
            sizes = np.bincount(labels[labels >= 0], minlength=len(flats))
            if sizes.min() <= ROWS_PER_DIMENSION * dim:
                break
            n_iter += 1
            lower = min(dim, self._common_dim(spreads, labels))
            if np.array_equal(labels, now) and lower == dim:
                break
            now, dim = labels, lower
            new = self._score(spreads, now, dim)
            if new < score:
                best, score = Parts(now, flats), new
        best = Parts(best.labels, self._flats(spreads, best.labels))
        return Refined(best, score, n_iter)

    def _common_dim(self, spreads: Spreads, labels: IndexArray) -> int:
        """One dimension for all flats, so that none of them attracts rows by its size."""
        if self.flat_dim is not None:
            return self.flat_dim
        dims = sorted(int(each.dim_scores.argmin()) for each in spreads.of(labels))
        # The median; of two in the middle their mean, rounded down.
        middle = (dims[(len(dims) - 1) // 2] + dims[len(dims) // 2]) // 2
        return max(middle, 0 if self.affine else 1)

    def _even_dim(self, spreads: Spreads, k: int) -> int | None:
        """The dimension of each of k flats of one size that span the one that all rows lie on."""
        whole = spreads.common_flat_dim
        if self.flat_dim is not None or whole == spreads.rows.shape[1]:
            return None
        return max((whole + 1) // k - 1, 0) if self.affine else max(whole // k, 1)

    def _score(self, spreads: Spreads, labels: IndexArray, dim: int) -> float:
        """BIC of the rows around flats of one dimension, labels included; smaller is better."""
        total = 0.0
        for each in spreads.of(labels):
            total += float(each.dim_scores[min(dim, len(each.dim_scores) - 1)])
            total -= 2.0 * each.size * np.log(max(each.size, 1) / len(labels))
        return total

    def _says_something(self, spreads: Spreads, end: Refined) -> bool:
        """Whether flats, each of its likeliest dimension, describe rows better (BIC) than one does.

        If not, distances to them don't tell where a row belongs; who expresses whom tells more.
        """
        if self._is_exact(spreads, end.parts):
            return True
        labels = end.parts.labels
        apart = sum(float(each.dim_scores.min()) for each in spreads.of(labels))
        sizes = np.bincount(labels[labels >= 0])
        apart -= 2.0 * float(xlogy(sizes, sizes / sizes.sum()).sum())
        return apart < float(spreads.spread(labels >= 0).dim_scores.min())

    def _split(
        self,
        coefficients: sparse.csr_array,
        U: FloatArray,
        k: int | None,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Split:
        """Parts of the graph; -1 are rows that nobody needs, -2 rows that hang together nowhere."""
        m = coefficients.shape[0]
        labels = np.full(m, UNPLACED, np.intp)
        inside = np.ones(m, bool)
        spared = min(round(self.noise * m), m - 1)
        if spared:
            outside = np.argsort(visits(coefficients), kind="stable")[:spared]
            labels[outside], inside[outside] = -1, False
        graph = affinity(coefficients, self._scaled_rows)
        weights = graph if inside.all() else graph[:, inside]
        inside &= np.asarray(weights.sum(axis=1)).ravel() > 0
        kept = np.flatnonzero(inside)
        if not len(kept):
            # No row says anything about another: one after the other, as far as there are groups.
            labels[labels == UNPLACED] = 0
            return Split(labels, np.ones(1), coefficients)
        if len(kept) < m:
            graph = graph[kept][:, kept]
        found = spectrum(graph, max((k or MOST_BY_GAP) + 1, 2), self.regularization, rng)
        number = k or self._by_gap(found.values)
        labels[kept] = parts(found.vectors, number, self.n_init, rng, watch)
        graph_of = Graph(graph, kept, found, number)
        return Split(labels, found.values[: number + 1], coefficients, graph_of)

    def _written_parts(
        self, split: Split, U: FloatArray, rng: np.random.Generator, watch: Watch
    ) -> IndexArray | None:
        """Another way to begin: flats that rows write, those that most rows are near.

        None where there are fewer of them than clusters, or but one cluster to look for.
        """
        if split.graph is None or split.graph.number == 1:
            return None
        kept = split.graph.kept
        coefficients = split.coefficients
        if len(kept) < len(U):
            coefficients = sparse.csr_array(coefficients[kept][:, kept])
        other = split.labels.copy()
        own = rng.spawn(1)[0]  # what is drawn later stays as it is
        groups = groups_on_written_flats(U[kept], coefficients, split.graph.number, own)
        if groups.max(initial=-1) + 1 < split.graph.number:
            return None
        other[kept] = np.where(groups < 0, UNPLACED, groups)
        return other

    def _joined_parts(
        self, split: Split, U: FloatArray, rng: np.random.Generator, watch: Watch
    ) -> IndexArray | None:
        """Another way to begin: more parts than clusters, joined where they share a flat.

        None where it would be the same, or where the graph says clearly what its parts are.
        """
        if split.graph is None:
            return None
        graph, kept, found, number = split.graph
        if number == 1 or are_components(graph, split.labels[kept]):
            # Where the graph has just as many parts, nothing is to be joined.
            return None
        many = min(PIECES * number, len(kept))
        if len(found.values) < many:
            found = spectrum(graph, many, self.regularization, rng, precise=False)
        gap = eigengap(found.values)
        if gap.n_clusters == number and gap.is_clear:
            return None
        other = split.labels.copy()
        # Of few rows several starts take less time than a single careful one.
        starts = self.n_init if len(kept) * many <= FEW_CELLS else 1
        pieces = parts(found.vectors, many, starts, rng, watch)
        other[kept] = joined(U[kept], pieces, number, rng)
        return None if same_parts(split.labels, other) else other

    def _is_exact(self, spreads: Spreads, found: Parts) -> bool:
        """Whether every cluster lies on its flat, but for rounding."""
        return all(
            each.off(flat.dim) <= ON_THE_FLAT * each.off(0)
            for each, flat in zip(spreads.of(found.labels), found.flats, strict=True)
        )

    def _by_gap(self, values: FloatArray) -> int:
        gap = eigengap(without_links(values, self.regularization))
        sizes = f"gaps {gap.sizes[0]:.3g} and {gap.sizes[1]:.3g}"
        if not gap.is_clear:
            warnings.warn(
                f"the eigengap says {count(gap.n_clusters, 'cluster')}, but {gap.other} is nearly "
                f"as likely ({sizes}); compare n_clusters={gap.n_clusters} and {gap.other}",
                UserWarning,
                stacklevel=6,
            )
        elif gap.n_clusters == 1 and gap.other > 1:
            # Noise that links all flats looks like one cluster, too.
            warnings.warn(
                f"the eigengap says that all rows are 1 cluster; if they are not, {gap.other} is "
                f"the next likely number ({sizes}): try n_clusters={gap.other}",
                UserWarning,
                stacklevel=6,
            )
        return gap.n_clusters

    def _flats(self, spreads: Spreads, labels: IndexArray, common: int | None = None) -> list[Flat]:
        """The flat of each cluster, of the dimension asked for or the likeliest one."""
        flats, thin, rows = [], 0, spreads.rows
        for each in spreads.of(labels):
            dim = self.flat_dim if common is None else common
            if dim is None:
                dim = max(int(each.dim_scores.argmin()), 0 if self.affine else 1)
            dim = min(dim, rows.shape[1] - 1)
            flat = each.flat(dim)
            if self.flat_dim is not None and flat.dim < dim:
                thin += 1
                flat = completed(flat, rows, dim)
            flats.append(flat)
        if thin:
            warnings.warn(
                f"{count(thin, 'cluster')} of {len(flats)} with too few rows for a flat of "
                f"dimension flat_dim={self.flat_dim}: the directions that are missing are those of "
                "the whole table",
                UserWarning,
                stacklevel=6,
            )
        return flats

    def _all_rows(
        self, X: FloatArray | Blocks, flats: list[Flat], places: IndexArray, searched: IndexArray
    ) -> IndexArray:
        """Labels of all rows: those not searched go to their closest flat, the farthest to none."""
        labels, far = np.empty(len(X), np.intp), np.empty(len(X))
        with one_blas_thread():
            for at, block in as_blocks(_in_memory(X)):
                labels[at], far[at] = self._closest(block, flats)
        far[places] = -1.0
        spared = round(self.noise * (len(labels) - len(places)))
        if spared:
            labels[np.argsort(far, kind="stable")[len(labels) - spared :]] = -1
        labels[places] = searched
        return labels

    # -- what a fit leaves, and new rows -----------------------------------------------------------

    def _fit_to(self, table: Any) -> None:
        super()._fit_to(table)
        found = self.clustering_.n_clusters
        if self.affine or not found or (np.asarray(self.flat_dims_) == 0).any():
            self.centres_ = group_means(table, self.labels_, found)
        else:
            self.centres_ = np.zeros((found, table.shape[1]))
        if not self.affine and found:
            # A flat through the origin has the origin for a centre; a point is where it is.
            self.centres_[np.asarray(self.flat_dims_) > 0] = 0.0
        if found < (self._most_clusters() or 0) and getattr(self, "_n_distinct", None) is None:
            warnings.warn(
                f"{count(found, 'cluster')} instead of n_clusters={self.n_clusters}: the rows give "
                "no reason for more",
                DroppedClusterWarning,
                stacklevel=3,
            )

    def predict(self, X: ArrayLike) -> IntArray:
        """Number of the closest flat for each row; a tensor where ``X`` is one.

        Returns
        -------
        array of shape (n_rows,)
            From 0.
        """
        check_is_fitted(self)
        bases = bases_of(self.clustering_)
        return place(as_blocks(self._read_again(X)), to_numpy(self.centres_), bases)


# -- the rows that are expressed -------------------------------------------------------------------


#: Label of rows that are put to the closest flat at the end.
UNPLACED = -2


class Graph(NamedTuple):
    """Who expresses whom, of the rows that hang together."""

    weights: sparse.csr_array
    kept: IndexArray
    """Which rows these are."""
    spectrum: Spectrum
    number: int
    """Of its parts."""


class Split(NamedTuple):
    """Parts of the graph and its leading eigenvalues."""

    labels: IndexArray
    eigenvalues: FloatArray
    coefficients: sparse.csr_array
    graph: Graph | None = None
    """None where no row says anything about another."""


class Parts(NamedTuple):
    """Clusters of rows, each with its flat."""

    labels: IndexArray
    flats: list[Flat]

    def clustering(self, n_features: int) -> SubspaceClustering:
        bases = [flat.basis for flat in self.flats]
        spaces = OrientedSubspaces(bases, complement=True, n_features=n_features)
        return SubspaceClustering.from_labels(self.labels, bases=spaces)


class Refined(NamedTuple):
    """Clusters after their refinement, how well they describe the rows, and its rounds."""

    parts: Parts
    score: float
    n_iter: int


class Nodes(NamedTuple):
    """Rows without copies, at length 1."""

    directions: FloatArray
    """(m, r) array; in coordinates of the rows' span where that has fewer dimensions."""
    of_row: IndexArray
    """(n,) the direction of each row; rows of zeros have the first."""
    first: IndexArray
    """(m,) the first row of each direction."""
    is_zero: BoolArray
    """(n,) rows without a direction."""
    lengths: FloatArray
    """(m,) lengths before."""


def distinct_directions(rows: FloatArray, affine: bool, *, as_they_are: bool = False) -> Nodes:
    """Each distinct row once, at length 1; copies would express each other and nothing else.

    ``as_they_are``: in all features, also where the rows span fewer dimensions; cells may be off.

    ``affine``: the rows are centred and get a column of a constant, so that flats anywhere become
    flats through the origin, of one dimension more.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.base import distinct_directions
    >>> rows = np.array([[3.0, 4.0], [0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    >>> found = distinct_directions(rows, affine=False)
    >>> found.directions.tolist(), found.of_row[[0, 2, 3]].tolist(), found.is_zero.tolist()
    ([[0.6, 0.8], [0.0, 1.0]], [0, 0, 1], [False, True, False, False])
    """
    lengths = np.linalg.norm(rows, axis=1)
    is_zero = lengths <= NOTHING * lengths.max(initial=0.0)
    if affine or is_zero.all():
        is_zero = np.zeros(len(rows), bool)
    first, of_row = _first_alike(rows, is_zero)
    own = rows[first]
    if affine:
        own = own - own.mean(axis=0)
        squares = np.square(own).sum(axis=1)
        # Cells that are off make some rows far longer than most are.
        typical = np.sqrt(np.median(squares) if as_they_are else squares.mean()) or 1.0
        own = np.hstack([own, np.full((len(own), 1), typical)])
    own = own if as_they_are else in_their_span(own)
    length = np.linalg.norm(own, axis=1)
    length = np.where(length > 0, length, 1.0)
    return Nodes(own / length[:, None], of_row, first, is_zero, length)


def set_right(rows: FloatArray, nodes: Nodes, wrong: sparse.csr_array) -> tuple[FloatArray, Nodes]:
    """Rows and their directions without what is off in their cells.

    Parameters
    ----------
    rows : (n, p) array
    nodes : Nodes
    wrong : (m, p) sparse array
        What is off, where every node has length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.base import distinct_directions, set_right
    >>> rows = np.array([[6.0, 8.0], [0.0, 2.0]])
    >>> nodes = distinct_directions(rows, False, as_they_are=True)
    >>> right, found = set_right(rows, nodes, sparse.csr_array(np.array([[0.6, 0.0], [0.0, 0.0]])))
    >>> right.tolist(), found.directions.tolist()
    ([[0.0, 8.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]])
    """
    off, p = wrong.toarray(), rows.shape[1]
    right = rows - np.where(
        nodes.is_zero[:, None], 0.0, (off * nodes.lengths[:, None])[nodes.of_row]
    )
    directions = nodes.directions.copy()
    directions[:, :p] -= off
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    return right, nodes._replace(directions=directions / np.where(length > 0, length, 1.0))


def _first_alike(rows: FloatArray, is_zero: BoolArray) -> tuple[IndexArray, IndexArray]:
    """The first of each set of equal rows, without those of zeros, and for each row its set."""
    cells = (rows + 0.0).tobytes()  # -0 is 0
    width = len(cells) // max(len(rows), 1)
    number: dict[bytes, int] = {}
    first: list[int] = []
    of_row = np.zeros(len(rows), np.intp)
    for at in np.flatnonzero(~is_zero).tolist():
        found = number.setdefault(cells[at * width : (at + 1) * width], len(first))
        of_row[at] = found
        if found == len(first):
            first.append(at)
    return np.array(first, np.intp), of_row


def in_their_span(rows: FloatArray) -> FloatArray:
    """Rows in coordinates of what they span, if that has fewer dimensions than the table.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.base import in_their_span
    >>> in_their_span(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 0.0]])).shape
    (3, 2)
    """
    n, p = rows.shape
    if p > n:
        left, singular, _ = np.linalg.svd(rows, full_matrices=False)
        return np.asarray(left * singular)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    # What eigenvalues can tell, and whether the rows agree.
    basis = vectors[:, values > OUTSIDE * values.max(initial=0.0)]
    if basis.shape[1] in (0, p):
        return rows
    found = rows @ basis
    away = rows - found @ basis.T
    if np.abs(away).max() > OUTSIDE * np.abs(rows).max():
        return rows
    return found


def in_blocks(
    n_rows: int,
    express: Callable[[IndexArray], Block],
    watch: Watch,
    n_columns: int | None = None,
) -> sparse.csr_array:
    """Coefficients of all rows, a block of rows after the other.

    Parameters
    ----------
    n_rows : int
    express : callable
        Given some rows, returns (rows, columns, values) of their coefficients.
    watch : Watch
        When time is up the other rows have none.
    n_columns : int, optional
        What a row may be written with; by default the rows.
    """
    shape, found = (n_rows, n_columns or n_rows), list[Block]()
    for own in _blocks(n_rows):
        if found and watch.out_of_time():
            break
        found.append(express(own))
        watch.step("rows expressed", int(own[-1]) + 1, n_rows)
    rows, columns, values = (np.concatenate(part) for part in zip(*found, strict=True))
    if (rows[1:] < rows[:-1]).any():
        return sparse.csr_array((values, (rows, columns)), shape=shape)
    ends = np.zeros(n_rows + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=ends[1:])
    whole = sparse.csr_array((values, columns.astype(np.int32), ends), shape=shape)
    whole.sum_duplicates()
    return whole


def _blocks(n_rows: int) -> Iterator[IndexArray]:
    step = max(16, CELLS // n_rows)
    for start in range(0, n_rows, step):
        yield np.arange(start, min(start + step, n_rows))


def largest(weights: FloatArray, own: IndexArray, number: int) -> Block:
    """The largest entries of each row of a dense block, by magnitude; zeros are left out."""
    number = min(number, weights.shape[1])
    size = np.abs(weights)
    chosen = np.argpartition(-size, number - 1, axis=1)[:, :number]
    values = np.take_along_axis(weights, chosen, axis=1)
    rows = np.repeat(own, number).reshape(values.shape)
    keep = values != 0
    return rows[keep], chosen[keep], values[keep]


def _rows(X: FloatArray | Blocks, places: IndexArray | None) -> FloatArray:
    if places is None:
        return np.asarray(X.to_numpy() if isinstance(X, Blocks) else X, np.float64)
    return np.asarray(X.take(places) if isinstance(X, Blocks) else X[places], np.float64)


def _in_memory(X: FloatArray | Blocks) -> Any:
    return X.within_reach() if isinstance(X, Blocks) else X


def joined(U: FloatArray, pieces: IndexArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Pieces joined, two at a time, until k are left: those next whose rows share a flat best.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1; of wide ones, random directions are compared.
    pieces : (m,) array
    k : int
    rng : Generator

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.base import joined
    >>> U = np.repeat([[1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]], 5, axis=0)
    >>> joined(U, np.repeat([0, 1, 2], 5), 2, np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    """
    if U.shape[1] > MOST_DIRECTIONS:
        U = U @ rng.normal(size=(U.shape[1], MOST_DIRECTIONS)) / np.sqrt(U.shape[1])
    p, labels = U.shape[1], pieces.copy()
    number = int(pieces.max()) + 1
    sizes = np.bincount(pieces, minlength=number).astype(float)
    scatter = np.array([U[pieces == i].T @ U[pieces == i] for i in range(number)])

    def scores(scatters: FloatArray, sizes: FloatArray) -> FloatArray:
        values = np.maximum(np.linalg.eigvalsh(scatters)[:, ::-1], 0.0) / sizes[:, None]
        return many_bic_scores(values, sizes, p)[:, 1:].min(axis=1, initial=np.inf)

    alone = scores(scatter, np.maximum(sizes, 1.0))
    gain = np.full((number, number), np.inf)

    def compare(i: IndexArray, j: IndexArray) -> None:
        together = scores(scatter[i] + scatter[j], sizes[i] + sizes[j])
        # Two pieces too small for a flat of their own lose nothing when they are joined.
        apart = np.where(np.isfinite(alone[i] + alone[j]), alone[i] + alone[j], 0.0)
        loss = np.where(np.isfinite(together), together, 0.0) - apart
        gain[i, j] = gain[j, i] = loss

    left = np.flatnonzero(sizes > 0)
    first, second = np.triu_indices(len(left), 1)
    at_once = max(1, CELLS // p**2)
    for at in range(0, len(first), at_once):
        some = slice(at, at + at_once)
        compare(left[first[some]], left[second[some]])
    while len(left) > k:
        i, j = np.unravel_index(gain.argmin(), gain.shape)
        labels[labels == j] = i
        sizes[i] += sizes[j]
        scatter[i] += scatter[j]
        alone[i] = scores(scatter[i : i + 1], sizes[i : i + 1])[0]
        gain[j], gain[:, j] = np.inf, np.inf
        left = left[left != j]
        others = left[left != i]
        compare(np.full(len(others), i), others)
    return np.unique(labels, return_inverse=True)[1]


# -- flats -----------------------------------------------------------------------------------------


class Spread:
    """How rows spread around their mean, or around the origin.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.base import Spread
    >>> found = Spread(np.array([[2.0, 2.0], [-1.0, -1.0]]), affine=False)
    >>> np.abs(found.flat(1).basis).round(3).tolist()
    [[0.707], [0.707]]
    """

    def __init__(self, rows: FloatArray, affine: bool) -> None:
        n, p = rows.shape
        self.size = n
        self._centre = rows.mean(axis=0) if affine and n else np.zeros(p)
        away = rows - self._centre if affine else rows
        if n > p:
            values, vectors = np.linalg.eigh(away.T @ away)
            values, self._basis = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
            self._rank = p
        else:
            _, singular, basis = np.linalg.svd(away, full_matrices=False)
            values, self._basis = np.square(singular), basis.T
            self._rank = int((singular > singular.max(initial=0.0) * NOTHING).sum())
        self._values = values

    @cached_property
    def dim_scores(self) -> FloatArray:
        """BIC of the flats that the rows may lie near, by their dimension."""
        most = max(self.size // ROWS_PER_DIMENSION, 1)
        return bic_scores(self._values / max(self.size, 1), self.size, len(self._basis), most)

    @classmethod
    def many(cls, groups: list[FloatArray], affine: bool) -> list[Spread]:
        """Of several groups at once.

        >>> import numpy as np
        >>> from subscape.finders.selfexpression.base import Spread
        >>> rows = np.random.default_rng(0).normal(size=(9, 2))
        >>> one, other = Spread.many([rows[:5], rows[5:]], True)
        >>> other.off(1) == Spread(rows[5:], True).off(1)
        True
        """
        if not groups:
            return []
        p = groups[0].shape[1]
        if min(map(len, groups)) <= p:
            return cls._scored([cls(rows, affine) for rows in groups])
        nothing = np.zeros(p)
        centres = [rows.mean(axis=0) if affine else nothing for rows in groups]
        away = [rows - c for rows, c in zip(groups, centres, strict=True)] if affine else groups
        values, vectors = np.linalg.eigh(np.array([rows.T @ rows for rows in away]))
        values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]
        sizes = np.array([len(rows) for rows in groups])
        most = np.maximum(sizes // ROWS_PER_DIMENSION, 1)
        scores = many_bic_scores(values / sizes[:, None], sizes, p, most)
        found = []
        for k, centre in enumerate(centres):
            each = cls.__new__(cls)
            each.size, each._centre, each._rank = len(groups[k]), centre, p
            each._values, each._basis = values[k], vectors[k]
            each.dim_scores = scores[k][np.isfinite(scores[k])]
            found.append(each)
        return found

    @staticmethod
    def _scored(found: list[Spread]) -> list[Spread]:
        """The same, with the scores of their dimensions taken at once."""
        sizes = np.array([each.size for each in found])
        values = np.zeros((len(found), max(len(each._values) for each in found)))
        for each, line in zip(found, values, strict=True):
            line[: len(each._values)] = each._values
        values /= np.maximum(sizes, 1)[:, None]
        most = np.maximum(sizes // ROWS_PER_DIMENSION, 1)
        p = len(found[0]._basis)
        scores = many_bic_scores(values, sizes, p, most)
        limits = np.clip(np.minimum(most, (sizes - 1) // 2), 0, p - 1)
        for each, line, limit in zip(found, scores, limits, strict=True):
            each.dim_scores = line[: limit + 1]
        return found

    def off(self, dim: int) -> float:
        """Summed squared distance of the rows to the flat of this dimension."""
        return float(self._values[dim:].sum())

    def flat(self, dim: int) -> Flat:
        """The flat of this dimension that is closest; a smaller one of fewer rows."""
        return Flat(self._centre, np.ascontiguousarray(self._basis[:, : min(dim, self._rank)]))


class Spreads:
    """How the clusters of some rows spread; what was asked last is remembered."""

    def __init__(self, rows: FloatArray, affine: bool) -> None:
        self.rows, self._affine = rows, affine
        self._known: list[tuple[IndexArray, list[Spread]]] = []

    def spread(self, inside: BoolArray) -> Spread:
        """Of some rows."""
        return Spread(self.rows[inside], self._affine)

    @cached_property
    def common_flat_dim(self) -> int:
        """The dimension of the flat that all rows lie on; all features if they lie on none.

        One that leaves out a single direction may as well be the largest that was looked at.
        """
        found = Spread(self.rows, self._affine)
        dim, p = int(found.dim_scores.argmin()), self.rows.shape[1]
        lie = found.off(dim) <= OFF_THE_FLAT * found.off(0)
        return dim if lie and dim < p - 1 else p

    def renumbered(self, labels: IndexArray) -> list[Spread]:
        """Of every cluster, where the same ones may be known by other numbers."""
        for known, found in self._known:
            order = _other_numbers(known, labels, len(found))
            if order is not None:
                return [found[k] for k in order]
        return self.of(labels)

    def of(self, labels: IndexArray) -> list[Spread]:
        """Of every cluster."""
        for known, found in self._known:
            if np.array_equal(known, labels):
                return found
        number = int(labels.max(initial=-1)) + 1
        found = Spread.many([self.rows[labels == k] for k in range(number)], self._affine)
        # A round compares what is with what was.
        self._known = [*self._known[-1:], (labels.copy(), found)]
        return found


def _other_numbers(known: IndexArray, labels: IndexArray, k: int) -> IndexArray | None:
    """The number in ``known`` of each cluster of ``labels``; None if they are other clusters."""
    if not np.array_equal(known < 0, labels < 0) or int(labels.max(initial=-1)) + 1 != k:
        return None
    inside = labels >= 0
    order = np.full(k, -1)
    order[labels[inside]] = known[inside]
    same = np.array_equal(order[labels[inside]], known[inside])
    return order if same and np.array_equal(np.sort(order), np.arange(k)) else None


def on_one_flat(spreads: Spreads, found: Parts) -> list[tuple[int, int]]:
    """Pairs of clusters whose rows lie on one flat, which describes them better (BIC) than two.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.base import Parts, Spreads, on_one_flat
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(90, 1)) * np.repeat([[1, 1, 0], [0, 0, 1]], [60, 30], axis=0)
    >>> rows += 0.01 * rng.normal(size=rows.shape)
    >>> spreads, labels = Spreads(rows, False), np.repeat([0, 1, 2], 30)
    >>> flats = [each.flat(1) for each in spreads.of(labels)]
    >>> on_one_flat(spreads, Parts(labels, flats))
    [(0, 1)]
    """
    pairs = []
    own = spreads.renumbered(found.labels)
    for (i, first), (j, second) in combinations(enumerate(found.flats), 2):
        # Flats that have few directions in common need not be looked at.
        if not may_be_one(first.basis, second.basis):
            continue
        both = np.isin(found.labels, (i, j))
        together = spreads.spread(both)
        dim = int(together.dim_scores.argmin())
        variance = float(spreads.rows[both].var(axis=0).sum())
        if together.off(dim) > OFF_THE_FLAT * variance * together.size:
            continue
        sizes = np.array([own[i].size, own[j].size])
        labels = -2.0 * float(sizes @ np.log(sizes / sizes.sum()))
        apart = float(own[i].dim_scores.min() + own[j].dim_scores.min()) + labels
        if float(together.dim_scores[dim]) < apart:
            pairs.append((i, j))
    return pairs


def completed(flat: Flat, rows: FloatArray, dim: int) -> Flat:
    """A flat with further directions, in which the whole table spreads most."""
    away = rows - rows.mean(axis=0)
    away = away - (away @ flat.basis) @ flat.basis.T
    more = np.linalg.svd(away, full_matrices=False)[2][: dim - flat.dim].T
    basis = np.linalg.qr(np.hstack([flat.basis, more]))[0]
    return Flat(flat.centre, np.ascontiguousarray(basis[:, :dim]))


def _placed(rows: FloatArray, labels: IndexArray, flats: list[Flat]) -> IndexArray:
    """Labels with the rows that were not placed at their closest flats, ties where most are."""
    left = labels == UNPLACED
    if not left.any() or not flats:
        return labels
    order = np.argsort(-np.bincount(labels[labels >= 0], minlength=len(flats)), kind="stable")
    residuals = squared_residuals(rows[left], [flats[k] for k in order])
    labels = labels.copy()
    labels[left] = order[residuals.argmin(axis=1)]
    return labels


def _replaced(rows: FloatArray, again: BoolArray, found: Parts) -> IndexArray:
    """Labels, with some rows placed again."""
    return _placed(rows, np.where(again, UNPLACED, found.labels), found.flats)


def _renumbered(labels: IndexArray, flats: list[Flat]) -> Parts:
    """Clusters that have rows, in the order of their first rows."""
    used, first = np.unique(labels, return_index=True)
    order = [int(k) for k in used[np.argsort(first)] if k >= 0]
    number = np.full(len(flats) + 1, -1, np.int64)
    number[order] = np.arange(len(order))
    return Parts(number[labels], [flats[k] for k in order])
