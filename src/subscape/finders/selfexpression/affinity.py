"""From coefficients to clusters: the graph of who expresses whom, and its spectral parts.

Nothing here is a dense array of all rows by all rows, but for graphs of at most 300 rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.arrays.kmeans_starts import kmeans_labels
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.parallel.progress import Watch
from subscape.parallel.threads import one_thread

#: Graphs up to this size are decomposed directly, larger ones by iteration.
EXACT_UP_TO = 300
#: Up to so many rows times groups k-means is done by a kernel, beyond by scikit-learn, which takes
#: longer to begin but less for each row.
FEW_CELLS = 5000
#: After so many starts of k-means the clock is looked at; their labels are in memory together.
STARTS_AT_ONCE = 100
#: Rounds of k-means, at most.
KMEANS_ROUNDS = 100
#: Steps of the walk that finds rows nobody needs.
WALK = 100
#: More clusters than this are not looked for by the eigengap.
MOST_BY_GAP = 20
#: The second largest gap may be this share of the largest before the number is called doubtful.
CLEAR_GAP = 0.5


def affinity(coefficients: sparse.csr_array, scaled: bool = True) -> sparse.csr_array:
    """Symmetric weights ``|C| + |C|^T``; ``scaled``: the largest of each row counts 1 first.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.affinity import affinity
    >>> affinity(sparse.csr_array(np.array([[0.0, -4.0], [0.5, 0.0]]))).toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    weights = sparse.csr_array(abs(coefficients))
    if scaled:
        filled = np.flatnonzero(np.diff(weights.indptr))
        largest = np.maximum.reduceat(weights.data, weights.indptr[filled]) if len(filled) else 0.0
        factor = np.zeros(weights.shape[0])
        factor[filled] = np.divide(1.0, largest, out=np.zeros(len(filled)), where=largest > 0)
        weights.data *= np.repeat(factor, np.diff(weights.indptr))
    return sparse.csr_array(weights + weights.T)


def visits(coefficients: sparse.csr_array) -> FloatArray:
    """How often a walk from row to row, by the coefficients, comes to each row.

    Rows of a flat are needed by the others of it, a row that lies on none is needed by nobody:
    the walk leaves it and hardly comes back (You, Robinson and Vidal, 2017).

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.affinity import visits
    >>> links = sparse.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [1, 1, 0]]))
    >>> bool(visits(links).argmin() == 2)
    True
    """
    n = coefficients.shape[0]
    weights = sparse.csr_array(abs(coefficients))
    total = np.asarray(weights.sum(axis=1)).ravel()
    factor = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    step = sparse.csr_array((sparse.diags_array(factor) @ weights).T)
    at, seen = np.full(n, 1.0 / n), np.zeros(n)
    for _ in range(WALK):
        at = step @ at
        seen += at
    return np.asarray(seen / WALK)


class Spectrum(NamedTuple):
    """The leading eigenvectors of a graph."""

    values: FloatArray
    """(k,) from 1 downwards; 1 − value is an eigenvalue of the normalised Laplacian."""
    vectors: FloatArray
    """(n, k) one column per value."""


def spectrum(
    weights: sparse.csr_array,
    k: int,
    regularization: float,
    rng: np.random.Generator,
    *,
    precise: bool = True,
) -> Spectrum:
    """Leading eigenvectors of the normalised graph.

    Parameters
    ----------
    weights : (n, n) symmetric sparse array
    k : int
    regularization : float
        Every row is linked to all others with this share of the mean degree in total, so that a
        few rows that hang together by themselves don't count as much as a whole flat. The links
        are never spelled out.
    rng : Generator
        For the vector that the iteration starts from.
    precise : bool
        Eigenvalues to about eight digits rather than five, in large graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.affinity import spectrum
    >>> two = sparse.csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    >>> spectrum(two, 3, 0.0, np.random.default_rng(0)).values.round(6).tolist()
    [1.0, 1.0, 0.0]
    """
    n = weights.shape[0]
    k = min(k, n)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    extra = regularization * float(degrees.mean())
    total = degrees + extra
    scale = np.divide(1.0, np.sqrt(total), out=np.zeros(n), where=total > 0)
    everywhere = scale * np.sqrt(extra / n)
    if n <= EXACT_UP_TO or k >= n - 1:
        dense = scale[:, None] * weights.toarray()
        dense *= scale
        dense += np.outer(everywhere, everywhere)
        values, vectors = eigh(
            dense, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False
        )
    else:
        diagonal = sparse.diags_array(scale)
        normalised = sparse.csr_array(diagonal @ weights @ diagonal)

        def product(v: FloatArray) -> FloatArray:
            return np.asarray(normalised @ v + everywhere * (everywhere @ v))

        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        try:
            values, vectors = eigsh(
                operator, k, which="LA", v0=rng.random(n) + 0.5, ncv=min(n, max(3 * k, 20)),
                tol=1e-4 if precise else 1e-3,
            )  # fmt: skip
        except ArpackNoConvergence:
            start = np.linalg.qr(rng.normal(size=(n, k)))[0]
            many = LinearOperator(
                (n, n), matvec=product, dtype=np.float64,
                matmat=lambda V: normalised @ V + np.outer(everywhere, everywhere @ V),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # its accuracy is enough for k-means
                values, vectors = lobpcg(many, start, largest=True, maxiter=200)
    order = np.argsort(-values, kind="stable")
    return Spectrum(np.minimum(values[order], 1.0), np.ascontiguousarray(vectors[:, order]))


def without_links(values: FloatArray, regularization: float) -> FloatArray:
    """Eigenvalues without the links of every row with all others, which part 1 from the next one.

    Exact where all rows have one degree; a gap that the links make is no sign of one cluster.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.affinity import without_links
    >>> without_links(np.array([1.0, 0.8, 0.4]), 0.25).tolist()
    [1.0, 1.0, 0.5]
    """
    found = np.minimum(values * (1.0 + regularization), 1.0)
    found[:1] = values[:1]
    return found


class Gap(NamedTuple):
    """The number of clusters by the eigengap, and how sure it is."""

    n_clusters: int
    other: int
    """The number with the second largest gap."""
    sizes: tuple[float, float]
    """The two gaps."""

    @property
    def is_clear(self) -> bool:
        return self.sizes[1] <= CLEAR_GAP * self.sizes[0]


def eigengap(values: FloatArray) -> Gap:
    """Where the eigenvalues fall most.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.affinity import eigengap
    >>> found = eigengap(np.array([1.0, 0.98, 0.95, 0.4, 0.35]))
    >>> found.n_clusters, found.is_clear
    (3, True)
    """
    falls = -np.diff(values)
    if not len(falls):
        return Gap(1, 1, (0.0, 0.0))
    order = np.argsort(-falls, kind="stable")
    second = order[1] if len(order) > 1 else order[0]
    size = float(falls[second]) if len(order) > 1 else 0.0
    return Gap(int(order[0]) + 1, int(second) + 1, (float(falls[order[0]]), size))


def parts(
    vectors: FloatArray, k: int, n_init: int, rng: np.random.Generator, watch: Watch
) -> IndexArray:
    """k groups of rows: k-means of their places in the leading eigenvectors, at length 1."""
    if k == 1:
        return np.zeros(len(vectors), np.intp)
    places = vectors[:, :k]
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    places = places / np.where(lengths > 0, lengths, 1.0)
    state = int(rng.integers(2**31 - 1))
    # A single start is left to scikit-learn, which draws centres with more care.
    if n_init > 1 and len(places) * k <= FEW_CELLS:
        draws = np.random.default_rng(state)

        def begun(number: int, done: int) -> tuple[float, IndexArray]:
            chances = draws.random((number, k))
            starts = kmeans_labels(places, np.full(number, k), chances, KMEANS_ROUNDS)
            spreads = spreads_within(places, starts)
            best = int(spreads.argmin())
            return float(spreads[best]), np.asarray(starts[best], np.intp)

        return _best_start(begun, n_init, watch)
    with warnings.catch_warnings(), one_thread():
        # Fewer distinct places than groups: fewer groups, which the caller says in its own words.
        warnings.simplefilter("ignore", ConvergenceWarning)

        def fitted(number: int, done: int) -> tuple[float, IndexArray]:
            means = KMeans(min(k, len(places)), n_init=number, random_state=state + done)
            return float(means.fit(places).inertia_), np.asarray(means.labels_, np.intp)

        return _best_start(fitted, n_init, watch)


def _best_start(
    some: Callable[[int, int], tuple[float, IndexArray]], n_init: int, watch: Watch
) -> IndexArray:
    """The labels of least spread, of as many starts as there is time for, but some in any case."""
    least, best = some(min(n_init, STARTS_AT_ONCE), 0)
    for done in range(STARTS_AT_ONCE, n_init, STARTS_AT_ONCE):
        if watch.out_of_time():
            break
        spread, labels = some(min(n_init - done, STARTS_AT_ONCE), done)
        if spread < least:
            least, best = spread, labels
    return best


def spreads_within(Z: FloatArray, labels: IntArray) -> FloatArray:
    """Sum of squared distances from the means of the groups, of rows of length 1.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.affinity import spreads_within
    >>> spreads_within(np.eye(2), np.array([[0, 0], [0, 1]])).tolist()
    [1.0, 0.0]
    """
    m, k = len(labels), int(labels.max()) + 1
    groups = (labels + k * np.arange(m)[:, None]).ravel()
    sums = np.zeros((m * k, Z.shape[1]))
    for j, column in enumerate(Z.T):
        sums[:, j] = np.bincount(groups, np.tile(column, m), minlength=m * k)
    sizes = np.maximum(np.bincount(groups, minlength=m * k), 1)
    within = (np.square(sums).sum(axis=1) / sizes).reshape(m, k)
    return np.asarray(len(Z) - within.sum(axis=1))


def are_components(graph: sparse.csr_array, labels: IndexArray) -> bool:
    """Whether groups are just the parts of a graph that hang together.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.affinity import are_components
    >>> two = sparse.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> are_components(two, np.array([1, 1, 0, 0])), are_components(two, np.array([0, 0, 0, 0]))
    (True, False)
    """
    return same_parts(connected_components(graph, directed=False)[1], labels)


def same_parts(a: IndexArray, b: IndexArray) -> bool:
    """Whether two labellings are the same but for the numbers.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.affinity import same_parts
    >>> same_parts(np.array([0, 0, 1]), np.array([2, 2, -1]))
    True
    """
    first, second = (np.unique(each, return_inverse=True)[1] for each in (a, b))
    number = int(first.max(initial=-1)) + 1
    if number != int(second.max(initial=-1)) + 1:
        return False
    return len(np.unique(first * number + second)) == number
