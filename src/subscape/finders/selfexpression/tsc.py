"""TSC: every row linked to the rows most like it in direction."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Watch

from .base import Block, SelfExpressionFinder, in_blocks, largest

#: "auto": a row has this share of an even cluster's rows as neighbours, and at least so many.
SHARE, LEAST = 0.05, 3


class TSC(SelfExpressionFinder):
    """TSC: subspace clustering by thresholding.

    Every row is linked to the rows whose directions are most like its own, either way round [1]_;
    the parts of this graph are the clusters, and a flat is fitted to each of them. The simplest of
    its kind and robust to noise, as long as the flats are few and not too close to each other.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    n_clusters : int or "eigengap", default=3
        Number of flats (L). "eigengap": where the eigenvalues of the graph fall most, 20 at most;
        a warning says so if another number is nearly as likely, or if it is one cluster.
    n_neighbors : int or "auto", default="auto"
        Rows that each row is linked to (q). "auto": 5 % of an even cluster's rows, 3 at least.
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
    SSC : By matching pursuit.
    LSR : In closed form.

    Differences from the paper
    --------------------------
    - The weak links (``regularization=0`` as published), a sample of long tables
      (``search_rows=None``), the refinement (``refine=False``), ``noise``, and the flats
      (``flat_dim``) are additions. So is
      ``affine``, which appends a constant column to the centred rows.
    - Always: rows have length 1.
    - What that gains: mean 1 − NMI in rows 0.12 as published (n_clusters=4), 0.04 by default, on
      five generated tables (four planes of 60 rows in nine features, noise of .05;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] R. Heckel, H. Bölcskei, "Robust subspace clustering via thresholding", IEEE Transactions
       on Information Theory 61, 2015, doi:10.1109/TIT.2015.2472520.
    .. [2] C. You, D. P. Robinson, R. Vidal, "Provable self-representation based outlier detection
       in a union of subspaces", CVPR 2017, doi:10.1109/CVPR.2017.460.

    Examples
    --------
    >>> from subscape.finders import TSC
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(9, ((2, 100), (2, 100)), noise=0.0, random_state=0)
    >>> finder = TSC(n_clusters=2, affine=True, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    True
    """

    _scaled_rows = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SelfExpressionFinder._shared_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_clusters: int | str = 3,
        *,
        n_neighbors: int | str = "auto",
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
        self.n_neighbors = n_neighbors
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
        number = self.n_neighbors
        if isinstance(number, str):
            number = max(LEAST, round(SHARE * len(U) / (self._most_clusters() or 1)))
        number = min(int(number), max(len(U) - 1, 1))

        def linked(own: IndexArray) -> Block:
            return largest(likeness(U, own), own, number)

        return in_blocks(len(U), linked, watch)


def likeness(U: FloatArray, own: IndexArray) -> FloatArray:
    """(b, m) likeness of directions, ``exp(-2 angle)``; 0 with themselves and at right angles.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.tsc import likeness
    >>> likeness(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([0])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    cosines = np.abs(U[own] @ U.T)
    apart = cosines <= 0
    np.arccos(np.minimum(cosines, 1.0), out=cosines)
    like = np.exp(-2.0 * cosines, out=cosines)
    like[apart] = 0.0
    like[np.arange(len(own)), own] = 0.0
    return like
