"""Classic ensembles on rows: CSPA, HGPA, MCLA and HBGF."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from subscape.arrays.tanimoto import projective_similarities
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found
from subscape.measures.stacked_clusters import Stack, stack
from subscape.parallel.progress import Watch

from .base import COMMON, ConsensusMethod, assembled, by_first_choice, knows_features
from .em import row_statistics
from .graphs import bipartite_parts, check_partitioner, factor_parts, metis_parts, spectral_parts
from .members import Ensemble
from .metaclusters import check_number
from .voting import Ballot, ballot, count_votes, winners

#: Dense pairs of more rows than this would take more than 6 GB.
MOST_ROWS = 20_000

#: METIS gets every pair of rows as an edge: 25 million of them.
MOST_METIS_ROWS = 5_000


class CutTask(NamedTuple):
    """What a method on rows is to part."""

    clusters: Stack
    cast: Ballot
    rows: IndexArray
    """Rows that are not noise."""
    X: Any
    """The table, if there is one."""
    k: int
    rng: np.random.Generator

    @property
    def links(self) -> sparse.csr_array:
        """(rows, clusters) votes of the rows, without clusters that have none of them."""
        return by_row(self.cast, self.rows)

    def metis(self, graph: Any, weights: IndexArray | None = None) -> IndexArray:
        """Parts of a graph whose first vertices are the rows, by METIS."""
        seed = int(self.rng.integers(2**31 - 1))
        return metis_parts(graph, self.k, seed, weights)[: len(self.rows)]

    def metis_of_pairs(self, factor: Any) -> IndexArray:
        """Parts by METIS of the graph of all pairs of rows, ``factor @ factor.T``."""
        if len(self.rows) > MOST_METIS_ROWS:
            raise SubscapeError(
                f"METIS would need all pairs of {len(self.rows):,} rows; use "
                'partitioner="spectral", or HBGF'
            )
        return self.metis(factor @ factor.T)


class RowMethod(ConsensusMethod):
    """Base of the methods that look at rows only: a subclass implements :meth:`_parts`.

    Feature weights of the consensus are the mean of those of the clusters its rows are in. Where
    members are oriented, or none says anything about features, they are estimated from the table;
    without one every cluster has all features.
    """

    _votes_on_features = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": COMMON["n_clusters"],
        "partitioner": [StrOptions({"spectral", "metis"})],
        "noise": COMMON["noise"],
        "random_state": COMMON["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        partitioner: str = "spectral",
        noise: str = "majority",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.partitioner = partitioner
        self.noise = noise
        self.random_state = random_state

    def _combine(
        self, ensemble: Ensemble, X: FloatArray | None, seed: np.random.SeedSequence, watch: Watch
    ) -> Found:
        check_partitioner(getattr(self, "partitioner", "spectral"))
        k = self._k(ensemble)
        clusters = stack(list(ensemble), features=not ensemble.is_oriented)
        cast = ballot(clusters, self.noise)
        rows = np.flatnonzero(~cast.noise)
        parts = self._parts(CutTask(clusters, cast, rows, X, k, np.random.default_rng(seed)))
        shown = int(parts.max()) + 1
        chosen = (parts == np.arange(shown)[:, None]).astype(np.float64)
        order = by_first_choice(chosen)
        memberships = np.zeros((shown, ensemble.n_rows))
        memberships[:, rows] = chosen[order]
        weights = None
        if knows_features(ensemble):
            about = row_statistics(cast, clusters.weights, rows)
            weights = np.asarray(memberships[:, rows] @ about.weights)
            sums = weights.sum(axis=1, keepdims=True)
            weights /= np.where(sums > 0, sums, 1.0)
        found = assembled(memberships, weights, X, ensemble.n_features, k or shown)
        return Found(found)

    def _parts(self, task: CutTask) -> IndexArray:
        """Part of each of the rows that are not noise."""
        raise NotImplementedError(f"{type(self).__name__} must implement _parts")


class CSPA(RowMethod):
    """CSPA: cut the graph of rows whose edges say how many members join them.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        Normalised cut, or METIS as in the paper, which makes parts of nearly equal size and
        compares all pairs of rows; it needs ``pip install subscape[graph]``.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    HGPA : Cuts a hypergraph of clusters instead.
    MCLA : Groups clusters instead of rows.
    generate : Makes an ensemble.

    Differences from the paper
    --------------------------
    - The paper cuts the graph with METIS (``partitioner="metis"``). The cut by the spectrum, our
      default, never spells out the pairs, and leaves parts of unequal size alone.
    - The paper knows no noise: ``noise`` is ours. How often two rows are joined is divided by the
      geometric mean of the numbers of members voting on each of them.
    - What that gains: mean 1 − NMI in rows 0.15 as published (n_clusters=4), 0.00 by default, on
      five generated tables (20 LAC clusterings of 200 x 8 with four clusters;
      ``benchmarks/published.py``).

    References
    ----------
    A. Strehl, J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple
    partitions", Journal of Machine Learning Research 3, 2002, 583-617,
    doi:10.1162/153244303321897735.

    Examples
    --------
    >>> from subscape.ensemble import CSPA
    >>> CSPA(2, random_state=0).fit([[0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).labels_
    array([0, 0, 0, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        cast, rows = task.cast, task.rows
        voters = task.clusters.n_clusterings if cast.voters is None else cast.voters[rows]
        scale = 1 / np.sqrt(np.full(len(rows), voters))
        factor = sparse.csr_array(task.links.multiply(scale[:, None]))
        if self.partitioner == "spectral":
            return factor_parts(factor, task.k, task.rng)
        return task.metis_of_pairs(factor)


class HGPA(RowMethod):
    """HGPA: cut the hypergraph whose edges are the clusters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        The normalised hypergraph Laplacian, or METIS on the graph with a weightless vertex in the
        middle of every hyperedge, which makes parts of nearly equal size and needs
        ``pip install subscape[graph]``. The paper uses HMETIS.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    CSPA : Cuts the graph of rows.
    MCLA : Groups clusters.
    generate : Makes an ensemble.

    Differences from the paper
    --------------------------
    - The paper cuts the hypergraph with HMETIS. ``partitioner="metis"`` comes nearest to it: METIS
      on the graph with a vertex in the middle of every hyperedge.
    - The paper knows no noise: ``noise`` is ours.
    - What that gains: mean 1 − NMI in rows 0.17 as published (n_clusters=4), 0.00 by default, on
      five generated tables (20 LAC clusterings of 200 x 8 with four clusters;
      ``benchmarks/published.py``).

    References
    ----------
    A. Strehl, J. Ghosh, Journal of Machine Learning Research 3, 2002, 583-617,
    doi:10.1162/153244303321897735.

    Examples
    --------
    >>> from subscape.ensemble import HGPA
    >>> HGPA(2, random_state=0).fit([[0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).labels_
    array([0, 0, 0, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        links = task.links
        if self.partitioner == "metis":
            weightless = np.repeat([1, 0], links.shape)
            return task.metis(star(links), weightless)
        sizes = np.asarray(links.sum(axis=0)).ravel()
        return factor_parts(links.multiply(1 / np.sqrt(sizes)[None, :]), task.k, task.rng)


class MCLA(RowMethod):
    """MCLA: group clusters with much the same rows, then put each row where most have it.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        How the clusters are grouped: by a normalised cut, or by METIS as in the paper, into groups
        of nearly equal size; it needs ``pip install subscape[graph]``.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    CSPA : Cuts the graph of rows.
    ClusterBasedPCE : Groups clusters by rows and features.
    generate : Makes an ensemble.

    Differences from the paper
    --------------------------
    - The paper groups clusters with METIS (``partitioner="metis"``).
    - The paper knows no noise: ``noise`` is ours.
    - Always: ties go to the group with more clusters that have the row, then to the first; the
      paper breaks them at random.
    - What that gains: mean 1 − NMI in rows 0.00 as published (n_clusters=4), 0.00 by default, on
      five generated tables (20 LAC clusterings of 200 x 8 with four clusters;
      ``benchmarks/published.py``).

    References
    ----------
    A. Strehl, J. Ghosh, Journal of Machine Learning Research 3, 2002, 583-617,
    doi:10.1162/153244303321897735.

    Examples
    --------
    >>> from subscape.ensemble import MCLA
    >>> MCLA(2, random_state=0).fit([[0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).labels_
    array([0, 0, 0, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        clusters, k = task.clusters, task.k
        check_number(int(clusters.starts[-1]))
        similarity = projective_similarities(clusters.memberships, None)
        owners = clusters.owners
        similarity[owners[:, None] == owners] = 0.0
        if self.partitioner == "metis":
            seed = int(task.rng.integers(2**31 - 1))
            groups = metis_parts(sparse.csr_array(similarity), k, seed)
        else:
            np.fill_diagonal(similarity, 1.0)
            groups = spectral_parts(similarity, k, task.rng)
        votes = count_votes(task.cast, clusters, groups, k)
        return winners(votes.shares[:, task.rows], votes.sums[:, task.rows])


class HBGF(RowMethod):
    """HBGF: cut the graph between rows and the clusters they are in.

    Rows and clusters are parted together, at a cost that grows with the rows only linearly.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the median number of the members.
    partitioner : {"spectral", "metis"}, default="spectral"
        Both are the authors' own choices. METIS makes parts of nearly equal size and needs
        ``pip install subscape[graph]``.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    CSPA : Cuts the graph of rows alone.
    WBPA : Links by how near rows lie to clusters.
    generate : Makes an ensemble.

    Differences from the paper
    --------------------------
    - None in how the graph is cut: both values of ``partitioner`` are the authors' own.
    - The paper knows no noise: ``noise`` is ours.

    References
    ----------
    X. Z. Fern, C. E. Brodley, "Solving cluster ensemble problems by bipartite graph partitioning",
    ICML 2004, doi:10.1145/1015330.1015414.

    Examples
    --------
    >>> from subscape.ensemble import HBGF
    >>> HBGF(2, random_state=0).fit([[0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).labels_
    array([0, 0, 0, 1, 1])
    """

    def _parts(self, task: CutTask) -> IndexArray:
        links = task.links
        if self.partitioner == "metis":
            return task.metis(star(links))
        return bipartite_parts(links, task.k, task.rng)[0]


def by_row(cast: Ballot, rows: IndexArray) -> sparse.csr_array:
    """(rows, clusters) votes of these rows, without clusters that have none of them."""
    links = sparse.csr_array(cast.memberships[:, rows].astype(np.float64).T)
    return links[:, np.flatnonzero(np.asarray(links.sum(axis=0)).ravel() > 0)]


def star(links: sparse.csr_array) -> sparse.csr_array:
    """The graph with rows and clusters as vertices and their links as edges."""
    return sparse.csr_array(sparse.block_array([[None, links], [links.T, None]]))
