"""Graphs cut into parts: by the spectrum, or by METIS."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from subscape.arrays.tanimoto import products
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.parallel.threads import one_thread

#: Added to degrees, as a share of their mean, so that parts that hang together nowhere stay finite.
TELEPORT = 1e-8

#: Matrices up to this size are decomposed directly, larger ones by iteration.
EXACT_BELOW = 3000

#: METIS wants whole numbers as weights: 1 becomes this.
WHOLE = 10_000


def spectral_parts(similarity: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Normalised cut of a graph given by its dense similarities.

    >>> S = np.kron(np.eye(2), np.ones((3, 3)))
    >>> parts = spectral_parts(S, 2, np.random.default_rng(0))
    >>> (parts == parts[0]).tolist()
    [True, True, True, False, False, False]
    """
    if k >= len(similarity):
        return np.arange(len(similarity))
    return parts_of(spectral_vectors(similarity, k, rng), k, rng)


def spectral_vectors(similarity: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """The k leading eigenvectors of the normalised graph, the first one last."""
    number = len(similarity)
    degrees = similarity.sum(axis=1)
    degrees += TELEPORT * max(degrees.mean(), 1e-300)
    scale = 1.0 / np.sqrt(degrees)
    with one_thread():
        return _leading(similarity * np.outer(scale, scale), min(k, number), rng)[1]


def parts_of(vectors: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Parts by the last k of the eigenvectors: k-means of the rows, scaled to length 1."""
    return _kmeans(_unit(vectors[:, -k:]), k, rng)


def bipartite_parts(links: Any, k: int, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    """Normalised cut of a graph between rows and clusters.

    Parameters
    ----------
    links : (n, c) sparse array
        Weights of the edges; every row and column needs one.
    k : int
    rng : Generator

    Returns
    -------
    parts of the rows and of the clusters
    """
    links = sparse.csr_array(links).astype(np.float64)
    n, c = links.shape
    of_rows, of_clusters = (np.asarray(links.sum(axis=axis)).ravel() for axis in (1, 0))
    left = 1.0 / np.sqrt(of_rows + TELEPORT * of_rows.mean())
    right = 1.0 / np.sqrt(of_clusters + TELEPORT * of_clusters.mean())
    scaled = sparse.csr_array(links.multiply(left[:, None]).multiply(right[None, :]))
    with one_thread():
        u, v = _top_vectors(scaled, min(k, n, c), rng)
    parts = _kmeans(_unit(np.concatenate([u, v])), k, rng)
    return parts[:n], parts[n:]


def factor_parts(factor: Any, k: int, rng: np.random.Generator) -> IndexArray:
    """Normalised cut of the graph with the similarities ``factor @ factor.T``, never spelled out.

    Parameters
    ----------
    factor : (n, c) sparse array, at least 0
    k : int
    rng : Generator
    """
    factor = sparse.csr_array(factor).astype(np.float64)
    degrees = np.asarray(factor @ np.asarray(factor.sum(axis=0)).ravel()).ravel()
    scale = 1.0 / np.sqrt(degrees + TELEPORT * degrees.mean())
    scaled = sparse.csr_array(factor.multiply(scale[:, None]))
    with one_thread():
        vectors = _top_vectors(scaled, min(k, *factor.shape), rng)[0]
    return parts_of(vectors, k, rng)


def metis_parts(
    graph: Any, k: int, seed: int = 0, vertex_weights: IndexArray | None = None
) -> IndexArray:
    """Parts of nearly equal size with the least weight between them, by METIS.

    Parameters
    ----------
    graph : symmetric (n, n) sparse array
        Weights of the edges, at most 1.
    k : int
    seed : int
    vertex_weights : (n,) array of whole numbers, optional
        What the sizes of the parts are counted in; every vertex counts 1 by default.
    """
    pymetis = metis()
    graph = sparse.coo_array(graph)
    off = (graph.row != graph.col) & (np.rint(graph.data * WHOLE) >= 1)
    whole = np.rint(graph.data[off] * WHOLE).astype(np.int64)
    plain = sparse.csr_array((whole, (graph.row[off], graph.col[off])), graph.shape)
    if k == 1 or plain.shape[0] <= k:
        return np.arange(plain.shape[0]) % k
    found = pymetis.part_graph(
        k,
        pymetis.CSRAdjacency(_whole(plain.indptr), _whole(plain.indices)),
        eweights=_whole(plain.data),
        vweights=None if vertex_weights is None else _whole(vertex_weights),
        options=pymetis.Options(seed=seed),
    )
    return np.asarray(found[1], np.intp)


def _whole(numbers: NDArray[Any]) -> NDArray[np.int32]:
    return np.ascontiguousarray(numbers, np.int32)


def metis() -> Any:
    """The module pymetis, or a sentence on how to get it."""
    try:
        import pymetis
    except ImportError:
        raise ImportError(
            "partitioner='metis' needs pymetis: pip install 'subscape[graph]', or use "
            "partitioner='spectral'"
        ) from None
    return pymetis


def check_partitioner(name: str) -> None:
    """Refuse an unknown partitioner, or METIS where it is not installed, before any work."""
    if name not in ("spectral", "metis"):
        raise SubscapeError(f'partitioner must be "spectral" or "metis", got {name!r}')
    if name == "metis":
        metis()


def _top_vectors(
    scaled: sparse.csr_array, k: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    c = scaled.shape[1]
    if c <= EXACT_BELOW:
        # Few clusters: the eigenvectors of a (c, c) matrix, exactly.
        values, v = _leading(products(sparse.csr_array(scaled.T)), k, rng)
        sizes = np.sqrt(np.maximum(values, 1e-12))
        return np.asarray(scaled @ v) / sizes, v
    state = np.random.RandomState(int(rng.integers(2**31 - 1)))
    u, _, vt = randomized_svd(scaled, k, n_iter=10, random_state=state)
    return u, vt.T


def _leading(matrix: FloatArray, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The k largest eigenvalues, ascending, and their vectors."""
    number = len(matrix)
    if number <= EXACT_BELOW or k > number // 2:
        found = eigh(matrix, subset_by_index=(number - k, number - 1))
    else:
        found = eigsh(matrix, k, which="LA", v0=rng.random(number))
    return found[0], found[1]


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _kmeans(points: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    state = int(rng.integers(2**31 - 1))
    with warnings.catch_warnings(), one_thread():
        # Fewer distinct points than parts: the caller says so in its own words.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(min(k, len(points)), n_init=20, random_state=state).fit(points)
    return np.asarray(found.labels_, np.intp)
