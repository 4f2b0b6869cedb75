"""What the generators return, and how they read their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import count
from subscape.core.types import FloatArray, IntArray
from subscape.parallel.seeds import seed_sequence

RandomState = int | np.random.Generator | np.random.SeedSequence | None

#: How far sizes vary by default: between 0.75 and 1.25 of an equal share (15-25 % for five).
SIZE_JITTER = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Planted:
    """A generated table and the clustering planted in it; unpacks as ``X, truth = ...``.

    Attributes
    ----------
    X : float64 array of shape (n_rows, n_features)
    clustering : SubspaceClustering
        The truth: rows and subspace of every planted cluster.
    centers : float64 array of shape (n_clusters, n_features)
        Where each cluster lies. NaN in features that are irrelevant to an axis-aligned cluster;
        for a flat, one point on it.

    See Also
    --------
    planted_axes : Makes one.
    subscape.measures.clustering_error : How far a result is from the truth.
    """

    X: FloatArray
    clustering: SubspaceClustering
    centers: FloatArray

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.clustering))

    def __repr__(self) -> str:
        n, p = self.X.shape
        clusters = count(self.clustering.n_clusters, f"{self.clustering.kind} cluster")
        return f"Planted({n} x {p}, {clusters})"


@dataclass(frozen=True, eq=False, repr=False)
class PlantedViews:
    """A generated table and the clusterings planted in it; unpacks as ``X, truths = ...``.

    Attributes
    ----------
    X : float64 array of shape (n_rows, n_features)
        NaN where a value is missing.
    clusterings : tuple of SubspaceClustering
        The truths, one per view; all clusters of a view have the view's subspace.
    rotation : float64 array of shape (n_features, n_features)
        Orthogonal. Its first columns span the first view, the next ones the second, ..., the last
        ones the noise; without missing values ``X @ rotation`` is the table before the rotation.
    centers : tuple of float64 arrays of shape (n_clusters, n_features)
        The centres of each view's clusters, in the columns of ``X``.

    See Also
    --------
    planted_views : Makes one.
    """

    X: FloatArray
    clusterings: tuple[SubspaceClustering, ...]
    rotation: FloatArray
    centers: tuple[FloatArray, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.clusterings))

    def __repr__(self) -> str:
        n, p = self.X.shape
        clusters = ", ".join(str(truth.n_clusters) for truth in self.clusterings)
        return f"PlantedViews({n} x {p}, views of {clusters} clusters)"

    @property
    def label_matrix(self) -> NDArray[np.int32]:
        """True labels, one column per view."""
        return np.column_stack([truth.labels() for truth in self.clusterings])


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the random generator that ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def whole(value: Any, name: str, low: int, high: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int between ``low`` and ``high``, or say what is wrong with it."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {bounds}{why and f' ({why})'}, got {value}")
    return number


def real(value: Any, name: str, low: float, high: float = np.inf, *, below: bool = False) -> float:
    """Return ``value`` as a float in [low, high], or in [low, high) if ``below``."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not np.isfinite(number) or number < low or number > high or (below and number == high):
        if np.isinf(high):
            bounds = f"a finite number of at least {low:g}"
        else:
            bounds = f"at least {low:g} and {'less than' if below else 'at most'} {high:g}"
        raise ValueError(f"{name} must be {bounds}, got {value}")
    return number


def interval(value: Any, name: str, low: float, high: float, *, below: bool) -> tuple[float, float]:
    """Return a number or a (low, high) pair as a pair."""
    if isinstance(value, Real):
        value = (value, value)
    if np.ndim(value) != 1 or len(value) != 2:
        raise ValueError(f"{name} must be a number or a pair (low, high), got {value!r}")
    first, last = (real(end, name, low, high, below=below) for end in value)
    if first > last:
        raise ValueError(f"{name} must be a pair (low, high) with low <= high, got {value!r}")
    return first, last


def share_of_rows(total: int, shares: FloatArray) -> IntArray:
    """Split ``total`` rows by shares that add up to 1, the largest remainders rounded up."""
    exact = shares * total
    counts = np.floor(exact).astype(np.int64)
    # Rounded, so that equal shares tie exactly and the first ones get the odd rows.
    order = np.argsort(-np.round(exact - counts, 9), kind="stable")
    counts[order[: total - int(counts.sum())]] += 1
    return counts


def varied_sizes(total: int, k: int, jitter: float, rng: np.random.Generator) -> IntArray:
    """Draw ``k`` sizes within ``1 - jitter`` to ``1 + jitter`` of an equal share of the rows."""
    deviation = rng.uniform(-jitter, jitter, k)
    deviation -= deviation.mean()
    widest = np.abs(deviation).max()
    if widest > jitter:
        deviation *= jitter / widest
    return share_of_rows(total, (1 + deviation) / k)


def given_sizes(sizes: Any, total: int, k: int, name: str = "sizes") -> IntArray:
    """Read counts (integers that add up to ``total``) or shares (numbers that add up to 1)."""
    array = np.asarray(sizes)
    if array.ndim != 1 or len(array) != k:
        raise ValueError(f"{name} must hold {k} numbers, one per cluster, got {sizes!r}")
    if array.dtype.kind in "iu":
        if (array < 1).any():
            raise ValueError(f"{name} must be at least 1 row each, got {array.tolist()}")
        if array.sum() != total:
            raise ValueError(
                f"{name} add up to {array.sum()} rows, but {total} rows are in clusters: change "
                f"{name}, the number of rows or the noise (or give shares that add up to 1)"
            )
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must be counts (integers) or shares (floats), got {sizes!r}")
    if not np.isfinite(array).all() or (array <= 0).any() or abs(array.sum() - 1) > 1e-6:
        raise ValueError(
            f"{name} given as floats are shares: they must be positive and add up to 1, got "
            f"{array.tolist()} (sum {array.sum():g}); give integers for counts"
        )
    counts = share_of_rows(total, array / array.sum())
    if (counts < 1).any():
        raise ValueError(
            f"{name} leave cluster {int(np.argmin(counts))} without a row: {total} rows are too "
            "few for such a small share"
        )
    return counts


def shuffled_labels(counts: IntArray, n_rows: int, rng: np.random.Generator) -> IntArray:
    """Return labels 0..K-1 with these counts in random order; the rows left over get -1."""
    labels = np.full(n_rows, -1, dtype=np.int64)
    labels[: counts.sum()] = np.repeat(np.arange(len(counts)), counts)
    return rng.permutation(labels)


def memberships_of(labels: IntArray, n_clusters: int) -> sparse.csr_array:
    """Return the boolean (n_clusters, n_rows) memberships of labels, -1 being in no cluster."""
    rows = np.flatnonzero(labels >= 0)
    ones = np.ones(len(rows), dtype=bool)
    return sparse.csr_array((ones, (labels[rows], rows)), shape=(n_clusters, len(labels)))


def random_directions(n_features: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return ``n`` orthonormal columns whose span is uniformly distributed (Haar)."""
    Q, R = np.linalg.qr(rng.normal(size=(n_features, n)))
    # QR fixes no signs; taking R's diagonal positive makes Q uniform and independent of LAPACK.
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)
