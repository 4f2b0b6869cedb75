"""SSC by orthogonal matching pursuit: every row from the few others that explain it best."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Watch

from .base import Block, SelfExpressionFinder, in_blocks
from .pursuit import DEPENDENT, coefficients_of, take_atoms

#: What is left of a squared length of 1 beside cells that have all of it.
CANCELLED = 1e-12


class SSC(SelfExpressionFinder):
    """SSC: sparse subspace clustering, by orthogonal matching pursuit.

    Rows that lie on flats through the origin can be written as combinations of a few other rows of
    the same flat [1]_. Each row takes the row most like it, then the one most like what is left,
    and so on [2]_; a row that others take is linked to them, and the parts of this graph are the
    clusters. A flat is fitted to each of them.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    n_clusters : int or "eigengap", default=3
        Number of flats (n). "eigengap": where the eigenvalues of the graph fall most, 20 at most;
        a warning says so if another number is nearly as likely, or if it is one cluster.
    n_nonzero : int, default=10
        Rows that a row is written with, at most (k_max).
    tol : float, default=0.01
        Share of its squared length that may be left of a row that is explained; the larger, the
        more noise is allowed for (epsilon squared).
    wrong_cells : int, default=0
        Cells of a row that may be grossly wrong, at most (E, the outlying entries of [1]_): what is
        off in a cell is written by a column that has nothing but this cell, and taken away before
        flats are fitted. For tables of many columns.
    affine : bool, default=False
        Look for flats anywhere, not through the origin only.
    noise : float, default=0.0
        Share of the rows to leave out as noise: those that the others need least, by a walk from
        row to row [3]_; in the refinement those farthest from all flats.
    flat_dim : int or None
        Dimension of the flats that are fitted; None: of each the likeliest, by BIC.
    regularization : float, default=0.1
        Weak links of every row with all others, as a share of the mean degree, so that a few rows
        that hang together by themselves are not taken for a flat.
    refine : bool, default=True
        Afterwards rows go to the closest flat and flats of one dimension are fitted anew, as in
        K flats, as long as that describes the rows better (BIC); it also begins with flats that
        rows write, and is kept if flats say more of the rows than one group does.
    n_init : int, default=10
        Starts of the k-means that reads the clusters off the eigenvectors.
    search_rows : int, "auto" or None, default="auto"
        Rows that are written by each other, drawn at random; the others go to the closest flat.
        "auto": 5000, or 500 per cluster if that is more. None: all rows.
    max_time : float or None
        Seconds after which no further rows are expressed.
    random_state : int, RandomState, Generator or None
    progress : callable, True or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat.
    centres_ : array of shape (n_clusters, n_features)
        A point on each flat; the origin unless ``affine``.
    coefficients_ : sparse array of shape (m, m)
        How the m distinct rows that were searched are written by each other.
    expressed_rows_ : array of shape (m,)
        Which rows of the table these are.
    eigenvalues_ : array
        The leading eigenvalues of the graph, one more than there are clusters.
    wrong_ : sparse array of shape (m, n_features)
        What is off in the cells of these rows, over the columns that vary; with ``wrong_cells``.
    n_iter_ : int
        Rounds of the refinement.

    See Also
    --------
    EnSC : With an elastic net.
    LSR : In closed form.
    TSC : By correlations alone.
    KFlats : Flats fitted to rows.

    Notes
    -----
    Copies of a row are expressed once; they would express each other and nothing else. Rows of
    zeros lie on every flat through the origin; they go where most rows are. Wrong cells are
    set right in the rows that are written by each other; the others of a long table, and new rows,
    go to the flat closest to them as they are.

    Differences from the paper
    --------------------------
    - By default more may be left of a row (``tol=1e-6`` as published), since real rows are noisy.
    - The weak links (``regularization=0`` as published), a sample of long tables
      (``search_rows=None``), the refinement (``refine=False``), ``noise``, and the flats
      (``flat_dim``) are additions; so are wrong cells in matching pursuit (``wrong_cells``), which
      [1]_ has in its convex program.
    - Always: the largest coefficient of each row counts 1 in the graph; ``affine`` appends a
      constant column to the centred rows instead of asking for coefficients that sum to 1.
    - What that gains: mean 1 − NMI in rows 0.90 as published (n_clusters=4, n_nonzero=2), 0.04 by
      default, on five generated tables (four planes of 60 rows in nine features, noise of .05;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] E. Elhamifar, R. Vidal, "Sparse subspace clustering: algorithm, theory, and
       applications", IEEE Transactions on Pattern Analysis and Machine Intelligence 35, 2013,
       doi:10.1109/TPAMI.2013.57.
    .. [2] C. You, D. P. Robinson, R. Vidal, "Scalable sparse subspace clustering by orthogonal
       matching pursuit", CVPR 2016, doi:10.1109/CVPR.2016.425.
    .. [3] C. You, D. P. Robinson, R. Vidal, "Provable self-representation based outlier detection
       in a union of subspaces", CVPR 2017, doi:10.1109/CVPR.2017.460.

    Examples
    --------
    >>> from subscape.finders import SSC
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(9, ((2, 100), (3, 100)), noise=0.0, random_state=0)
    >>> finder = SSC(n_clusters=2, affine=True, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SelfExpressionFinder._shared_constraints,
        "n_nonzero": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "wrong_cells": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int | str = 3,
        *,
        n_nonzero: int = 10,
        tol: float = 0.01,
        wrong_cells: int = 0,
        affine: bool = False,
        noise: float = 0.0,
        flat_dim: int | None = None,
        regularization: float = 0.1,
        refine: bool = True,
        n_init: int = 10,
        search_rows: int | str | None = "auto",
        max_time: float | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.tol = tol
        self.wrong_cells = wrong_cells
        self.affine = affine
        self.noise = noise
        self.flat_dim = flat_dim
        self.regularization = regularization
        self.refine = refine
        self.n_init = n_init
        self.search_rows = search_rows
        self.max_time = max_time
        self.random_state = random_state
        self.progress = progress

    def _express(self, U: FloatArray, watch: Watch) -> sparse.csr_array:
        room = Room(U)

        def pursued(own: IndexArray) -> Block:
            return pursuit(U, own, self.n_nonzero, self.tol, room)

        return in_blocks(len(U), pursued, watch)

    def _written(
        self, U: FloatArray, n_cells: int, watch: Watch
    ) -> tuple[sparse.csr_array, sparse.csr_array | None]:
        if not self.wrong_cells:
            return super()._written(U, n_cells, watch)
        m, most = len(U), min(int(self.wrong_cells), n_cells - 1)
        atoms = np.vstack([U, np.eye(n_cells, U.shape[1])])
        room = Room(atoms)

        def pursued(own: IndexArray) -> Block:
            return pursuit(atoms, own, self.n_nonzero, self.tol, room, m, most)

        found = in_blocks(m, pursued, watch, m + n_cells)
        return sparse.csr_array(found[:, :m]), sparse.csr_array(found[:, m:])

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        super().check_parameters(n_rows, n_features)
        if self.wrong_cells >= n_features:
            raise SubscapeError(
                f"wrong_cells={self.wrong_cells}: all cells of a row of "
                f"{count(n_features, 'feature')} might be wrong. Use at most {n_features - 1}"
            )


class Room:
    """Likenesses of rows with all others, in one array that is used again and again.

    Which row is most like another needs no more than single precision.
    """

    def __init__(self, U: FloatArray) -> None:
        self._columns = np.ascontiguousarray(U.T, np.float32)
        self._cells = np.empty(0, np.float32)

    def likenesses(self, rows: FloatArray) -> Any:
        """(b, m) magnitudes of the products of some rows with all rows of the table."""
        shape = len(rows), self._columns.shape[1]
        if self._cells.size < shape[0] * shape[1]:
            self._cells = np.empty(shape[0] * shape[1], np.float32)
        found = self._cells[: shape[0] * shape[1]].reshape(shape)
        np.matmul(rows.astype(np.float32), self._columns, out=found)
        return np.abs(found, out=found)


def pursuit(
    U: FloatArray,
    own: IndexArray,
    n_nonzero: int,
    tol: float,
    room: Room | None = None,
    n_rows: int | None = None,
    wrong_cells: int = 0,
) -> Block:
    """Coefficients of some rows by orthogonal matching pursuit over all the others, at once.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1; behind the first ``n_rows`` of them one for each cell that may be wrong.
    own : (b,) array
        The rows to express.
    n_nonzero : int
    tol : float
    room : Room, optional
        For several calls with the same rows.
    n_rows : int, optional
        By default all.
    wrong_cells : int
        Cells that each row is written with, at most; what may be left is then a share of the row
        without them.

    Returns
    -------
    rows, columns, values

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.ssc import pursuit
    >>> U = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> rows, columns, values = pursuit(U, np.array([1]), 2, 1e-6)
    >>> columns.tolist(), values.round(3).tolist()
    ([2, 0], [0.8, 0.6])
    """
    m = len(U) if n_rows is None else n_rows
    n_nonzero = min(n_nonzero, m - 1)
    most = n_nonzero + wrong_cells
    b, p = len(own), U.shape[1]
    chosen = np.zeros((b, most), np.intp)
    basis = np.zeros((b, most, p))
    # Chosen rows in terms of the basis, one under the other; the identity where there is none.
    triangle = np.tile(np.eye(most), (b, 1, 1))
    along = np.zeros((b, most))
    left = U[own].copy()
    todo = np.arange(b)
    room = room or Room(U)
    # Cells that were taken, and what the rows are without them.
    has_cells, n_cells, without = len(U) > m, np.zeros(b, np.intp), np.ones(b)
    for step in range(most):
        like = room.likenesses(left[todo])
        each = np.arange(len(todo))
        like[each, own[todo]] = -1.0
        if has_cells:
            like[n_cells[todo] == wrong_cells, m:] = -1.0
            like[step - n_cells[todo] == n_nonzero, :m] = -1.0
        best = like.argmax(axis=1)
        useful = like[each, best] > DEPENDENT
        todo, best = todo[useful], best[useful]
        if has_cells:
            cells = np.flatnonzero(best >= m)
            n_cells[todo[cells]] += 1
            without[todo[cells]] -= np.square(U[own[todo[cells]], best[cells] - m])
        state = chosen, basis, triangle, along, left
        todo = take_atoms(U, todo, best, step, -1.0 if has_cells else tol, *state)
        if has_cells:
            rest = np.square(left[todo]).sum(axis=1)
            todo = todo[rest > tol * np.maximum(without[todo], CANCELLED)]
        if not len(todo):
            break
    if not most:
        return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)
    values = coefficients_of(triangle, along)
    keep = values != 0
    rows = np.repeat(own, most).reshape(values.shape)
    return rows[keep], chosen[keep], values[keep]
