"""k-means on what known clusterings leave unexplained."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.core.types import FloatArray, IntArray
from subscape.finders.views.base import Watch

from .base import RESTART_CONSTRAINTS, Alternative, AlternativeFinder, numbered, run_numbers
from .maximus.placing import filled, squared_distances

__all__ = ["ResidualKMeans", "kmeans_clusters", "unexplained"]


class ResidualKMeans(AlternativeFinder):
    """k-means on the residuals: what is left of a table when the known clusters are taken off.

    The effects of all known clusters are fitted to the table, by least squares, and subtracted;
    clusters that the known ones explain are gone, and k-means finds others. The plainest way to an
    alternative, and hard to beat where known and hidden clusters add up; it makes no promise about
    how similar to the known ones the result is.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters; None: as many as the first known clustering has.
    n_alternatives : int, default=1
        How many to find; each one is known to the next.
    n_init : int, default=10
        Starts of k-means; the one with the least inertia, on the residuals, is taken.
    max_time : float or None
        Seconds after which no further alternative is looked for.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Starts at the same time; the result does not depend on it.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clusterings_ : tuple of SubspaceClustering
        The alternatives, over all features.
    label_matrix_ : array of shape (n_rows, n_alternatives)
    clustering_, labels_
        The first alternative.
    given_ : tuple of SubspaceClustering
        What they are alternatives to.
    explained_ : array of shape (n_alternatives,)
        Share of the variance of the table that the clusterings known to each alternative explain.
    residual_inertia_ : array of shape (n_alternatives,)
        Squared distances of the residuals to their cluster means.
    n_iter_ : int
        Rounds of k-means of the slowest alternative.

    See Also
    --------
    NrKMeans : Several clusterings at once.
    MAXIMUS : Planned dissimilarity.
    subscape.measures.dq_measure : How good an alternative is.

    Differences from the paper
    --------------------------
    - There is no paper: ``as_published`` is refused. The nearest relative projects every row away
      from the mean of its known cluster; here the means are subtracted, of all known clusterings at
      once.

    References
    ----------
    Y. Cui, X. Z. Fern, J. G. Dy, *Non-redundant Multi-view Clustering via Orthogonalization*,
    ICDM 2007, doi:10.1109/ICDM.2007.94, the nearest relative.

    Examples
    --------
    >>> from subscape.finders import ResidualKMeans
    >>> from subscape.datasets import planted_views
    >>> from subscape.measures import adjusted_rand_score
    >>> X, (known, hidden) = planted_views(300, 6, n_clusters=(3, 3), random_state=0)
    >>> finder = ResidualKMeans(random_state=0).fit(X, given=known)
    >>> adjusted_rand_score(hidden, finder.labels_) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = RESTART_CONSTRAINTS

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_alternatives: int = 1,
        n_init: int = 10,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_alternatives = n_alternatives
        self.n_init = n_init
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _alternative(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seed: np.random.SeedSequence,
        watch: Watch,
    ) -> Alternative:
        left = unexplained(X, known)
        model = fitted_kmeans(left, n_clusters, self.n_init, seed, self.n_jobs)
        labels = model.labels_.astype(np.int64)
        whole = float(np.square(X).sum())
        attributes = {
            "explained_": 1 - float(np.square(left).sum()) / whole if whole > 0 else 0.0,
            "residual_inertia_": float(model.inertia_),
        }
        return Alternative(numbered(labels), int(model.n_iter_), attributes)


def unexplained(X: FloatArray, known: list[IntArray]) -> FloatArray:
    """What is left of a table when the means of all known clusters are taken off, added up.

    >>> unexplained(np.array([[0.0], [2.0], [7.0], [9.0]]), [np.array([0, 0, 1, 1])]).ravel()
    array([-1.,  1., -1.,  1.])
    """
    indicators = [np.ones((len(X), 1))]
    for labels in known:
        indicators.append((labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64))
    H = np.hstack(indicators)
    effects, *_ = np.linalg.lstsq(H, X, rcond=None)
    return np.asarray(X - H @ effects)


def fitted_kmeans(
    X: FloatArray,
    n_clusters: int,
    n_init: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> KMeans:
    """The start with the least inertia; few distinct rows are no reason for a warning."""
    children = seed.spawn(n_init)

    def start(number: int) -> KMeans:
        state = np.random.RandomState(children[number].generate_state(4))
        return KMeans(n_clusters, n_init=1, random_state=state).fit(X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return min(run_numbers(start, n_init, n_jobs), key=lambda model: model.inertia_)


def kmeans_clusters(
    X: FloatArray,
    n_clusters: int,
    n_init: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> IntArray:
    """Labels of k-means; every cluster has a row."""
    model = fitted_kmeans(X, n_clusters, n_init, seed, n_jobs)
    return filled(model.labels_.astype(np.int64), squared_distances(X, model.cluster_centers_))
