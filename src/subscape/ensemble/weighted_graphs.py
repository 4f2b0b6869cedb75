"""Weighted cluster ensembles of Domeniconi and Al-Razgan: WSPA and WBPA."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from subscape.arrays.weighted_kmeans import weighted_costs
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.measures.stacked_clusters import Stack

from .classic import CutTask, RowMethod, star
from .graphs import bipartite_parts, factor_parts
from .members import Ensemble


class _WeightedMethod(RowMethod):
    """Both methods look at how near a row lies to the clusters of every member."""

    _needs_table = True

    def _table(self, ensemble: Ensemble, X: Any) -> FloatArray | None:
        if ensemble.is_oriented:
            raise SubscapeError(
                f"{type(self).__name__} weights features, and some members are oriented; leave "
                "them out, or use CSPA or HBGF, which look at rows only"
            )
        return super()._table(ensemble, X)


class WSPA(_WeightedMethod):
    """WSPA: cut the graph of rows that lie near to the same clusters.

    For every member a row has a vector of how near it lies to its clusters, measured with the
    clusters' feature weights. Two rows are alike by the mean cosine of these vectors.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        Normalised cut, or METIS as in the paper, which makes parts of nearly equal size and
        compares all pairs of rows; it needs ``pip install subscape[graph]``.
    noise : {"majority", "abstain"}, default="majority"
        A row is noise in the consensus if more than half of the members leave it out, or only if
        all do. Nearness is defined for noise, too, so nobody abstains.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    WBPA : The graph between rows and clusters.
    CSPA : By memberships alone.
    generate : Makes an ensemble.

    Notes
    -----
    The paper's third method, WSBPA, has the mean feature weights, which the consensus of all
    methods here has.

    Differences from the paper
    --------------------------
    - The paper cuts the graph with METIS (``partitioner="metis"``).
    - The paper knows no noise: ``noise`` is ours.
    - Always: distances are measured in columns scaled to standard deviation 1, since the paper's
      formula depends on the units.
    - What that gains: mean 1 − NMI in rows 0.21 as published (n_clusters=4), 0.00 by default, on
      five generated tables (20 LAC clusterings of 200 x 8 with four clusters;
      ``benchmarks/published.py``).

    References
    ----------
    C. Domeniconi, M. Al-Razgan, "Weighted cluster ensembles: methods and analysis", ACM
    Transactions on Knowledge Discovery from Data 2(4), 2009, doi:10.1145/1460797.1460800.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.ensemble import WSPA
    >>> X = np.array([[0.0, 1.0], [0.1, 3.0], [0.2, 2.0], [5.0, 1.0], [5.1, 3.0], [5.2, 2.0]])
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> WSPA(2, random_state=0).fit(members, X).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        clusters = task.clusters
        near = nearness(task.X, clusters)[task.rows]
        lengths = np.sqrt(np.add.reduceat(np.square(near), clusters.starts[:-1], axis=1))
        near /= lengths[:, clusters.owners] * np.sqrt(clusters.n_clusterings)
        if self.partitioner == "spectral":
            return factor_parts(near, task.k, task.rng)
        return task.metis_of_pairs(near)


class WBPA(_WeightedMethod):
    """WBPA: cut the graph between rows and clusters, linked by how near they lie.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        Normalised cut, or METIS as in the paper, which makes parts of nearly equal size and needs
        ``pip install subscape[graph]``.
    noise : {"majority", "abstain"}, default="majority"
        A row is noise in the consensus if more than half of the members leave it out, or only if
        all do. Nearness is defined for noise, too, so nobody abstains.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    WSPA : The graph of rows.
    HBGF : By memberships alone.
    generate : Makes an ensemble.

    Differences from the paper
    --------------------------
    - The paper cuts the graph with METIS (``partitioner="metis"``).
    - The paper knows no noise: ``noise`` is ours.
    - Always: distances are measured in columns scaled to standard deviation 1, as for
      :class:`WSPA`.
    - What that gains: mean 1 − NMI in rows 0.19 as published (n_clusters=4), 0.00 by default, on
      five generated tables (20 LAC clusterings of 200 x 8 with four clusters;
      ``benchmarks/published.py``).

    References
    ----------
    C. Domeniconi, M. Al-Razgan, ACM Transactions on Knowledge Discovery from Data 2(4), 2009,
    doi:10.1145/1460797.1460800.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.ensemble import WBPA
    >>> X = np.array([[0.0, 1.0], [0.1, 3.0], [0.2, 2.0], [5.0, 1.0], [5.1, 3.0], [5.2, 2.0]])
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> WBPA(2, random_state=0).fit(members, X).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        links = sparse.csr_array(nearness(task.X, task.clusters)[task.rows])
        if self.partitioner == "metis":
            return task.metis(star(links))
        return bipartite_parts(links, task.k, task.rng)[0]


def nearness(X: FloatArray, clusters: Stack) -> FloatArray:
    """How near each row lies to each cluster; the shares of every member sum to 1.

    With d the weighted distances to the centres of a member's k clusters and D the largest of
    them, the share of cluster l is ``(D - d_l + 1) / (k D + k - Σ d)``.

    Parameters
    ----------
    X : (n, p) array
    clusters : Stack

    Returns
    -------
    (n, c) array
    """
    table = X - X.mean(axis=0)
    spread = np.sqrt(np.square(table).mean(axis=0))
    table = np.ascontiguousarray(table / np.where(spread > 0, spread, 1.0))
    centres = np.asarray(clusters.memberships.astype(np.float64) @ table) / clusters.sizes[:, None]
    weights = np.ascontiguousarray(clusters.weights)
    distances = np.sqrt(weighted_costs(table, np.ascontiguousarray(centres), weights))
    starts, owners = clusters.starts[:-1], clusters.owners
    far = np.maximum.reduceat(distances, starts, axis=1)
    near = far[:, owners] - distances + 1.0
    return np.asarray(near / np.add.reduceat(near, starts, axis=1)[:, owners])
