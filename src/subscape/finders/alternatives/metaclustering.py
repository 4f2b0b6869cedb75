"""Meta clustering: many k-means clusterings of weighted features, themselves clustered."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.views.base import Watch
from subscape.parallel.seeds import child_seed

from .base import COUNT, SHARED_CONSTRAINTS, AlternativeFinder, Alternatives, numbered, run_numbers

__all__ = ["MetaClustering", "clustering_differences"]

#: Rounds of a base k-means; local optima are welcome, they add variety.
BASE_ROUNDS = 30


class MetaClustering(AlternativeFinder):
    """Meta clustering: alternatives chosen among many clusterings of randomly weighted features.

    k-means runs many times, each time from another start and with other weights of the features,
    drawn from Zipf's law [1]_. The clusterings are clustered in turn by how many pairs of rows they
    treat differently, and each group of similar ones is represented by its medoid. Alternatives are
    the representatives farthest from what is known and from each other.

    Parameters
    ----------
    n_clusters : int, (int, int) or None, default=None
        Number of clusters, or a range to draw it from; None: as many as the first known clustering
        has.
    n_alternatives : int, default=1
        How many representatives to choose.
    n_base : int, default=200
        Number of k-means clusterings.
    n_meta : int, default=20
        Number of groups they are put into.
    zipf_max : float, default=1.5
        Largest exponent of Zipf's law; 0 weighs all features alike.
    pca_variance : float or None, default=None
        Weigh the principal components that hold this share of the variance, instead of the
        features.
    distance : {"rand", "ari"}, default="rand"
        How clusterings are compared: 1 - Rand, as in the paper, or 1 - ARI, which is better with
        many clusters.
    max_time : float or None
        Seconds after which no more k-means is started.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        k-means runs at the same time.
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
    representatives_ : array of shape (n_rows, n_groups)
        Labels of the medoid of each group, the most compact first.
    compactness_ : array of shape (n_groups,)
        Share of the variance of the standardised features that lies within their clusters.
    group_sizes_ : array of shape (n_groups,)
        Different base clusterings in each group.
    distances_ : array of shape (n_different, n_different)
        Distances of the different base clusterings.
    n_iter_ : int
        Number of base clusterings.

    See Also
    --------
    CondEns : Clusterings within the known clusters.
    MAXIMUS : Planned dissimilarity.
    subscape.measures.dq_measure : How good an alternative is.

    Differences from the paper
    --------------------------
    - The paper compares clusterings by ``distance="rand"``, as the default does; "ari" is ours.
    - Always: the paper shows all groups and knows no given clustering. Ours is the choice: among
      the more compact half of the representatives (or as many as are needed) the farthest from all
      that is known or chosen. Ours are also equal clusterings counted once, and weights that
      multiply squared differences, where the paper does not say what they multiply.

    References
    ----------
    .. [1] R. Caruana, M. Elhawary, N. Nguyen, C. Smith, "Meta clustering", ICDM 2006,
       doi:10.1109/ICDM.2006.103.

    Examples
    --------
    >>> from subscape.finders import MetaClustering
    >>> from subscape.datasets import planted_views
    >>> from subscape.measures import adjusted_rand_score
    >>> X, (known, hidden) = planted_views(200, 4, n_clusters=(2, 2), rotate=False, random_state=0)
    >>> finder = MetaClustering(random_state=0).fit(X, given=known)
    >>> adjusted_rand_score(known, finder.labels_) < 0.1
    True
    >>> finder.representatives_.shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_clusters": [COUNT, tuple, list, None],
        "n_base": [Interval(Integral, 1, 10**6, closed="both")],
        "n_meta": [COUNT],
        "zipf_max": [Interval(Real, 0, None, closed="left")],
        "pca_variance": [Interval(Real, 0, 1, closed="right"), None],
        "distance": [StrOptions({"rand", "ari"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int | tuple[int, int] | None = None,
        *,
        n_alternatives: int = 1,
        n_base: int = 200,
        n_meta: int = 20,
        zipf_max: float = 1.5,
        pca_variance: float | None = None,
        distance: str = "rand",
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters  # type: ignore[assignment]
        self.n_alternatives = n_alternatives
        self.n_base = n_base
        self.n_meta = n_meta
        self.zipf_max = zipf_max
        self.pca_variance = pca_variance
        self.distance = distance
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        """Refuse a range of cluster numbers that is none, or too large for the table."""
        super().check_parameters(n_rows, n_features)
        if self.n_alternatives > self.n_base:
            raise SubscapeError(
                f"n_alternatives={self.n_alternatives} can't be chosen from n_base={self.n_base} "
                "clusterings"
            )
        if not isinstance(self.n_clusters, Sequence):
            return
        whole = all(isinstance(each, Integral) for each in self.n_clusters)
        if (
            len(self.n_clusters) != 2
            or not whole
            or not 1 <= self.n_clusters[0] <= self.n_clusters[1]
        ):
            raise SubscapeError(
                f"n_clusters={self.n_clusters!r} is no range: pass (smallest, largest)"
            )
        if self.n_clusters[1] > n_rows:
            raise SubscapeError(
                f"n_clusters goes up to {self.n_clusters[1]}, the table has {n_rows} rows"
            )

    def _n_wanted(self, n_rows: int) -> int:
        if isinstance(self.n_clusters, Sequence):
            return int(self.n_clusters[0])
        return super()._n_wanted(n_rows)

    def _alternatives(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seeds: list[np.random.SeedSequence],
        watch: Watch,
    ) -> Alternatives:
        Z = X / X.std(axis=0)
        columns = Z if self.pca_variance is None else _components(Z, self.pca_variance)
        counts = self.n_clusters if isinstance(self.n_clusters, Sequence) else (n_clusters,) * 2

        def base(number: int) -> IntArray | None:
            if number >= self.n_alternatives and watch.out_of_time():
                return None
            labels = weighted_kmeans(columns, counts, self.zipf_max, child_seed(seeds[0], number))
            watch.step("base clusterings", number + 1, self.n_base)
            return labels

        made = run_numbers(base, self.n_base, self.n_jobs)
        different = list(
            {labels.tobytes(): labels for labels in made if labels is not None}.values()
        )
        distances = clustering_differences(different, self.distance)
        groups = _groups(distances, min(self.n_meta, len(different)))
        medoids = _medoids(distances, groups)
        loss = np.array([_within_share(Z, different[i]) for i in medoids])
        order = np.argsort(loss, kind="stable")
        medoids, loss = medoids[order], loss[order]
        candidates = [different[i] for i in medoids]
        chosen = _farthest(candidates, known, self.n_alternatives, self.distance)
        # Too few groups: the other base clusterings fill up.
        if len(chosen) < self.n_alternatives:
            rest = [labels for i, labels in enumerate(different) if i not in set(medoids)]
            before = known + chosen
            chosen += _farthest(rest, before, self.n_alternatives - len(chosen), self.distance)
        return Alternatives(
            chosen,
            sum(labels is not None for labels in made),
            {
                "representatives_": np.column_stack(candidates),
                "compactness_": loss,
                "group_sizes_": np.bincount(groups)[groups[medoids]],
                "distances_": distances,
            },
        )


def weighted_kmeans(
    Z: FloatArray,
    n_clusters: tuple[int, int],
    zipf_max: float,
    seed: np.random.SeedSequence,
) -> IntArray:
    """One k-means on columns weighted by ``rank ** -s``, with random ranks and a random ``s``."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(n_clusters[0], n_clusters[1] + 1))
    weights = (1.0 + rng.permutation(Z.shape[1])) ** -rng.uniform(0, zipf_max)
    start = np.random.RandomState(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few distinct rows: fewer clusters
        model = KMeans(k, init="random", n_init=1, max_iter=BASE_ROUNDS, random_state=start)
        return numbered(model.fit(Z * np.sqrt(weights)).labels_.astype(np.int64))


class _Pairs(NamedTuple):
    """Pairs of rows joined by each clustering, and by each two of them."""

    own: FloatArray
    both: FloatArray
    total: float


def clustering_differences(labellings: Sequence[IntArray], distance: str = "rand") -> FloatArray:
    """Distances of partitions to each other, from one matrix product.

    Parameters
    ----------
    labellings : sequence of m arrays of shape (n,)
        Clusters 0, 1, …, every row in one of them.
    distance : {"rand", "ari"}
        Share of the pairs of rows that one joins and the other separates, or 1 - ARI.

    Returns
    -------
    (m, m) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.metaclustering import clustering_differences
    >>> clustering_differences([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]).round(3)
    array([[0.   , 0.667],
           [0.667, 0.   ]])
    """
    pairs = _pairs(labellings)
    apart = pairs.own[:, None] + pairs.own - 2 * pairs.both
    if pairs.total == 0:
        return np.zeros_like(apart)
    if distance == "rand":
        return np.asarray(apart / pairs.total)
    expected = pairs.own[:, None] * pairs.own / pairs.total
    largest = (pairs.own[:, None] + pairs.own) / 2
    differs = apart > 0
    return np.where(
        differs, 1 - (pairs.both - expected) / np.where(differs, largest - expected, 1), 0
    )


def _pairs(labellings: Sequence[IntArray]) -> _Pairs:
    n = len(labellings[0])
    sizes = [int(labels.max()) + 1 for labels in labellings]
    starts = np.cumsum([0, *sizes])
    G = np.zeros((starts[-1], starts[-1]))
    # Blocks of rows keep the one-hot matrix small; counts are whole numbers, so any order is exact.
    step = max(1, 8_000_000 // int(starts[-1]))
    for first in range(0, n, step):
        block = slice(first, min(first + step, n))
        H = np.zeros((block.stop - first, starts[-1]))
        for labels, start in zip(labellings, starts[:-1], strict=True):
            H[np.arange(len(H)), start + labels[block]] = 1.0
        G += H.T @ H
    joined = np.add.reduceat(np.add.reduceat(G * (G - 1) / 2, starts[:-1], 0), starts[:-1], 1)
    return _Pairs(np.diag(joined).copy(), joined, n * (n - 1) / 2)


def _components(Z: FloatArray, share: float) -> FloatArray:
    """Principal components, as many as hold ``share`` of the variance, each of variance 1."""
    U, sizes, Vt = np.linalg.svd(Z, full_matrices=False)
    # The sign of a component is arbitrary: the largest loading is made positive.
    signs = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
    held = np.cumsum(sizes**2) / np.sum(sizes**2)
    kept = int(np.searchsorted(held, share * (1 - 1e-12))) + 1
    return U[:, :kept] * signs[:kept] * np.sqrt(len(Z))


def _groups(distances: FloatArray, n_groups: int) -> IndexArray:
    if len(distances) == 1:
        return np.zeros(1, np.intp)
    tree = linkage(squareform(distances, checks=False), "average")
    return cut_tree(tree, n_groups).ravel().astype(np.intp)


def _medoids(distances: FloatArray, groups: IndexArray) -> IndexArray:
    medoids = []
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        medoids.append(members[distances[np.ix_(members, members)].sum(axis=1).argmin()])
    return np.array(medoids)


def _within_share(Z: FloatArray, labels: IntArray) -> float:
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), Z.shape[1]))
    np.add.at(sums, labels, Z)
    return float(1 - (np.square(sums).sum(axis=1) / sizes).sum() / np.square(Z).sum())


def _farthest(
    candidates: list[IntArray],
    known: list[IntArray],
    number: int,
    distance: str,
) -> list[IntArray]:
    """Take, one by one, the candidate of the better half with the largest least distance."""
    eligible = candidates[: max(number, (len(candidates) + 1) // 2)]
    if not eligible:
        return []
    # Rows that a known clustering leaves out are one more cluster of it here.
    before = [labels - min(0, int(labels.min())) for labels in known]
    distances = clustering_differences([*before, *eligible], distance)
    chosen: list[int] = []
    for _ in range(min(number, len(eligible))):
        others = [*range(len(before)), *(len(before) + i for i in chosen)]
        nearest = distances[len(before) :][:, others].min(axis=1)
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return [eligible[i] for i in chosen]
