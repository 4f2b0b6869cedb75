"""LSR: every row from all others by ridge regression, in closed form."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Watch

from .base import Block, SelfExpressionFinder, in_blocks, largest


class LSR(SelfExpressionFinder):
    """LSR: subspace clustering by least squares regression.

    Every row is written as a combination of all others, by ridge regression [1]_. Rows of one flat
    get the larger coefficients, and alike rows like ones; the largest of each row make a graph,
    whose parts are the clusters. There is a closed form, so this is the quickest of its kind, and
    it needs flats that are independent of each other: far fewer dimensions in all than features.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    n_clusters : int or "eigengap", default=3
        Number of flats (k). "eigengap": where the eigenvalues of the graph fall most, 20 at most;
        a warning says so if another number is nearly as likely, or if it is one cluster.
    ridge : float, default=0.01
        Weight of the squared coefficients, with rows of length 1 (lambda).
    n_nonzero : int or None, default=50
        Coefficients that are kept of each row, the largest ones. None: all of them, which takes a
        full array of all searched rows by all.
    affine : bool, default=False
        Look for flats anywhere, not through the origin only.
    noise : float, default=0.0
        Share of the rows to leave out as noise: those that the others need least, by a walk from
        row to row [2]_; in the refinement those farthest from all flats.
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
    n_iter_ : int
        Rounds of the refinement.

    See Also
    --------
    SSC : With few rows each.
    TSC : By correlations alone.

    Differences from the paper
    --------------------------
    - Only the largest coefficients are kept (``n_nonzero=None`` as published); so are the weak
      links (``regularization=0``), a sample of long tables (``search_rows=None``), the refinement
      (``refine=False``), ``noise``, and the flats (``flat_dim``) additions.
    - Always: rows have length 1, and no row expresses itself (the paper's first variant); the
      largest coefficient of each row counts 1 in the graph; ``affine`` appends a constant column
      to the centred rows.
    - What that gains: mean 1 − NMI in rows 0.05 as published (n_clusters=4), 0.04 by default, on
      five generated tables (four planes of 60 rows in nine features, noise of .05;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] C.-Y. Lu, H. Min, Z.-Q. Zhao, L. Zhu, D.-S. Huang, S. Yan, "Robust and efficient subspace
       segmentation via least squares regression", ECCV 2012, doi:10.1007/978-3-642-33786-4_26.
    .. [2] C. You, D. P. Robinson, R. Vidal, "Provable self-representation based outlier detection
       in a union of subspaces", CVPR 2017, doi:10.1109/CVPR.2017.460.

    Examples
    --------
    >>> from subscape.finders import LSR
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(9, ((2, 100), (3, 100)), noise=0.0, random_state=0)
    >>> finder = LSR(n_clusters=2, affine=True, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SelfExpressionFinder._shared_constraints,
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters: int | str = 3,
        *,
        ridge: float = 0.01,
        n_nonzero: int | None = 50,
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
        self.ridge = ridge
        self.n_nonzero = n_nonzero
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
        smooth = regression(U, self.ridge)
        number = len(U) if self.n_nonzero is None else self.n_nonzero

        def regressed(own: IndexArray) -> Block:
            return largest(ridge_coefficients(U, smooth, own), own, number)

        return in_blocks(len(U), regressed, watch)


def regression(U: FloatArray, ridge: float) -> FloatArray:
    """(p, m) regression of every direction on all rows: ``(ridge I + U^T U)^-1 U^T``."""
    scatter = U.T @ U
    scatter[np.diag_indices_from(scatter)] += ridge
    return np.asarray(np.linalg.solve(scatter, U.T), np.float64)


def ridge_coefficients(U: FloatArray, smooth: FloatArray, own: IndexArray) -> FloatArray:
    """(b, m) coefficients of some rows by ridge regression on the others, 0 for themselves.

    What a regression without the row gives follows from the one with all rows: the coefficients
    divided by what its own one leaves.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.lsr import regression, ridge_coefficients
    >>> U = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> ridge_coefficients(U, regression(U, 0.5), np.array([0])).round(3).tolist()
    [[0.0, 0.667, 0.0]]
    """
    coefficients = U[own] @ smooth
    at = np.arange(len(own))
    itself = coefficients[at, own]
    # 1 - itself is at least ridge / (1 + ridge), since rows have length 1.
    coefficients /= (1.0 - itself)[:, None]
    coefficients[at, own] = 0.0
    return coefficients
