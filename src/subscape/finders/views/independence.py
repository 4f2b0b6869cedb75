"""Directions along which a table falls into independent parts: where to start looking for views.

Views that tell nothing about each other are independent subspaces. Independent component analysis
(A. Hyvärinen, *Fast and robust fixed-point algorithms for independent component analysis*, IEEE
Trans. Neural Networks 10(3), 1999, doi:10.1109/72.761722) finds directions inside them, and
components that still depend on each other belong to the same view.
"""

from __future__ import annotations

import hashlib
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray

#: Components are looked for among so many directions of largest variance: few, where clusters that
#: are far apart show, and many, where they don't, but where chance looks like structure too.
DEPTHS = (10, 25, 60)
#: Steps of the fixed-point iteration, and when it has arrived. Components that differ from normal
#: ones are where they stay within twenty (planted views of 300 to 2,000 rows in 10 to 50 columns);
#: the others turn for ever.
MOST_STEPS, ARRIVED = 30, 1e-4
#: Rows per bin, per component, of the table that dependence is read off; and the most bins.
ROWS_PER_CELL, MOST_BINS = 10, 6
#: Standard deviations above chance at which two components depend on each other.
DEPENDENT = 6.0
#: What long tails count beside flatness: their kurtosis has no upper bound.
TAIL_WEIGHT = 1 / 3
#: Components of the last tables are kept, unless these are large: the same rows are searched for
#: several numbers of views and clusters, one after the other.
MOST_TABLES, MOST_CELLS = 8, 1 << 20
_LAST: dict[bytes, list[Components]] = {}
_LOCK = Lock()


class Components(NamedTuple):
    """Independent components of a table."""

    directions: FloatArray
    """(p, q) the direction in the table along which each component acts, of length 1."""
    shape: FloatArray
    """(q,) above 0 for flat or several-peaked components, below for peaked and long-tailed ones."""
    oddity: FloatArray
    """(q,) squared skewness and a quarter of the squared kurtosis: 0 for normal components."""
    groups: list[IndexArray]
    """Components that depend on each other."""


def components_by_depth(X: NDArray[np.floating]) -> list[Components]:
    """Independent components among few, more and many directions of largest variance."""
    p = X.shape[1]
    table = np.asarray(X, dtype=np.float64)
    name = b""
    if table.size <= MOST_CELLS:
        told = hashlib.blake2b(table.tobytes(), digest_size=16)
        # Products of the same numbers in another order of memory may differ in last bits.
        told.update(repr((table.shape, table.strides)).encode())
        name = told.digest()
        with _LOCK:
            if name in _LAST:
                return _LAST[name]
    axes = principal_axes(table)
    found = [_components(table, *axes, depth) for depth in sorted({min(p, d) for d in DEPTHS})]
    if name:
        with _LOCK:
            while len(_LAST) >= MOST_TABLES:
                _LAST.pop(next(iter(_LAST)))
            _LAST[name] = found
    return found


def principal_axes(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances of a centred table, rising, and the directions that have them."""
    variances, axes = np.linalg.eigh(table.T @ table / len(table))
    return variances, axes


def independent_components(X: NDArray[np.floating], depth: int = DEPTHS[-1]) -> Components:
    """Independent components of a centred table and how they hang together.

    Parameters
    ----------
    X : (n, p) array
    depth : int
        Only so many directions of largest variance are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.independence import independent_components
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.choice([-1.0, 1.0], 500), rng.uniform(-1, 1, 500)])
    >>> turned = (X - X.mean(axis=0)) @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> found = independent_components(turned)
    >>> strongest = np.abs(found.directions[:, found.shape.argmax()])
    >>> np.allclose(strongest, [0.8, 0.6], atol=0.05)
    True
    """
    table = np.asarray(X, dtype=np.float64)
    return _components(table, *principal_axes(table), depth)


def _components(
    table: FloatArray, variances: FloatArray, axes: FloatArray, depth: int
) -> Components:
    n = len(table)
    keep = np.flatnonzero(variances > 1e-10 * max(variances[-1], 0.0))[-depth:]
    roots, axes = np.sqrt(variances[keep]), axes[:, keep]
    white = table @ (axes / roots)
    # Begins at the directions in which long rows lie, where not all directions are alike.
    lengths = np.einsum("ij,ij->i", white, white)
    unmixing = np.linalg.eigh((white * lengths[:, None]).T @ white)[1]
    # Single precision is more than a start needs.
    rough, turned = white.astype(np.float32), unmixing.astype(np.float32)
    for _ in range(MOST_STEPS):
        bent = np.tanh(rough @ turned)
        target = rough.T @ bent / n
        np.square(bent, out=bent)
        target -= turned * (1 - bent.mean(axis=0))
        left, _, right = np.linalg.svd(target, full_matrices=False)
        step = left @ right
        moved = np.abs(np.einsum("ij,ij->j", step, turned)).min(initial=1.0)
        turned = step
        if moved > 1 - ARRIVED:
            break
    unmixing = np.linalg.qr(turned.astype(np.float64))[0]
    signals = white @ unmixing
    directions = (axes * roots) @ unmixing
    directions /= np.linalg.norm(directions, axis=0)
    skewness, kurtosis = _higher_moments(signals)
    oddity = np.square(skewness) + np.square(kurtosis) / 4
    shape = -kurtosis * np.where(kurtosis < 0, 1.0, TAIL_WEIGHT)
    return Components(directions, shape, oddity, dependent_groups(signals))


def _higher_moments(signals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Skewness and excess kurtosis of columns of mean 0 and variance 1."""
    squares = np.square(signals)
    skewness = np.mean(squares * signals, axis=0)
    return skewness, np.mean(np.square(squares, out=squares), axis=0) - 3.0


def dependent_groups(signals: FloatArray) -> list[IndexArray]:
    """Sets of columns connected by dependence, the set of the first column first.

    Two columns depend on each other if the counts of a table of their ranks differ from even ones
    far more than chance lets them.
    """
    n, q = signals.shape
    bins = int(np.clip(np.sqrt(n / ROWS_PER_CELL), 2, MOST_BINS))
    bin_of_rank = np.arange(n)[:, None] * bins // n
    ranks = np.empty((n, q), dtype=np.intp)
    np.put_along_axis(ranks, np.argsort(signals, axis=0), bin_of_rank, axis=0)
    indicator = np.zeros((n, q * bins), dtype=np.float32)
    indicator[np.arange(n)[:, None], np.arange(q) * bins + ranks] = 1.0
    counts = (indicator.T @ indicator).reshape(q, bins, q, bins)
    even = n / bins**2
    freedom = (bins - 1) ** 2
    above = (np.square(counts - even).sum(axis=(1, 3)) / even - freedom) / np.sqrt(2 * freedom)
    place = np.arange(q)
    for i, j in zip(*np.nonzero(np.triu(above > DEPENDENT, 1)), strict=True):
        place[place == place[j]] = place[i]
    return [np.flatnonzero(place == each) for each in np.unique(place)]
