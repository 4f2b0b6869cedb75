"""Whether a table has a valley along some line, decided by rows that did not choose the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.arrays.kmeans_starts import kmeans_labels
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.parallel.seeds import seed_sequence

from .unimodality import dip_statistic, dithered

__all__ = ["SplitTest", "split_test"]

#: Numbers of clusters of the k-means that suggests lines, starts of each, and rounds.
NUMBERS = (2, 3, 4)
STARTS = 3
ROUNDS = 15
#: Scatter within clusters is shrunk towards a ball by this share.
RIDGE = 0.05
#: Lines are looked for in at most so many principal directions, and one per ten rows.
MOST_DIRECTIONS = 30
ROWS_PER_DIRECTION = 10
#: Dips, times the root of n, that a sample of a uniform distribution (the least favourable one with
#: one hump) exceeds with these probabilities; from 3,999 samples of 200 values.
PROBABILITIES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
DIPS = (0.0, 0.281, 0.305, 0.326, 0.344, 0.363, 0.383, 0.406, 0.436, 0.481, 0.525, 0.576, 0.606,
        0.641, 0.72)  # fmt: skip
#: Fewer rows have no halves to speak of.
FEWEST_ROWS = 20
#: Points at which densities are compared, and the widest kernel.
GRID = 200
WIDEST = 1.5


@dataclass(frozen=True, eq=False)
class SplitTest:
    """Result of :func:`split_test`.

    Attributes
    ----------
    p_value : float
        Probability that a table with one hump along every line shows as deep a valley.
    direction : array of shape (n_columns,)
        The line, chosen by all rows.
    labels : int array of shape (n_rows,)
        On which side of the valley each row lies.

    See Also
    --------
    split_test : Makes it.
    """

    p_value: float
    direction: FloatArray
    labels: IntArray


def split_test(X: ArrayLike, random_state: Any = 0) -> SplitTest:
    """Test whether the rows of a table have more than one hump along some line.

    One half of the rows chooses a line: between two clusters of k-means, turned to where their
    scatter is smallest, the one with the largest dip. The other half is then tested along it by
    Hartigan's dip test [1]_. Nothing is fitted to the rows that are tested, so the p-value is valid
    for every table with one hump along every line, whatever its tails. The halves change places,
    and twice the smaller p-value counts.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Without missing values, on scales that can be compared.
    random_state : int, SeedSequence, Generator or None

    Returns
    -------
    SplitTest

    See Also
    --------
    dip_statistic : The statistic.
    valley_test : Valleys of any shape.

    References
    ----------
    .. [1] J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13
       (1985), doi:10.1214/aos/1176346577.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.validation import split_test
    >>> rng = np.random.default_rng(0)
    >>> cloud = rng.normal(size=(200, 5))
    >>> two = cloud + 6 * (rng.random((200, 1)) < 0.4)
    >>> split_test(cloud).p_value > 0.05, split_test(two).p_value < 0.001
    (True, True)
    """
    table = np.asarray(X, dtype=np.float64)
    n, p = table.shape
    nothing = SplitTest(1.0, np.zeros(p), np.zeros(n, dtype=np.int64))
    if n < FEWEST_ROWS:
        return nothing
    rng = np.random.default_rng(seed_sequence(random_state))
    seen, axes = _turned(dithered(table - table.mean(axis=0)))
    if not axes.shape[1]:
        return nothing
    order = rng.permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    found = []
    for chooses, tested in (halves, halves[::-1]):
        line = _widest_dip(seen[chooses], rng)
        found.append(dip_p_value(dip_statistic(seen[tested] @ line), len(tested)))
    line = _widest_dip(seen, rng)
    place = seen @ line
    labels = (place > _valley(place)).astype(np.int64)
    return SplitTest(min(1.0, 2 * min(found)), axes @ line, labels)


def _turned(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows in few principal directions, or as they are; and these directions."""
    n, p = centred.shape
    varies = np.flatnonzero(centred.std(axis=0) > 0)
    most = max(2, min(MOST_DIRECTIONS, n // ROWS_PER_DIRECTION))
    if len(varies) <= most:
        axes = np.eye(p)[:, varies]
        return centred[:, varies], axes
    _, _, turned = np.linalg.svd(centred, full_matrices=False)
    return centred @ turned[:most].T, turned[:most].T


def _widest_dip(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The line between two clusters along which the dip is largest."""
    sizes = np.repeat(np.array(NUMBERS, dtype=np.int64), STARTS)
    chances = rng.random((len(sizes), max(NUMBERS)))
    lines = []
    for labels in kmeans_labels(np.ascontiguousarray(rows), sizes, chances, ROUNDS):
        centres = np.array([rows[labels == k].mean(axis=0) for k in np.unique(labels)])
        rest = rows - centres[np.unique(labels, return_inverse=True)[1].ravel()]
        scatter = rest.T @ rest / len(rows)
        ball = max(RIDGE * float(np.trace(scatter)) / len(scatter), 1e-12)
        scatter += ball * np.eye(len(scatter))
        for i in range(1, len(centres)):
            lines += [np.linalg.solve(scatter, centres[i] - centres[j]) for j in range(i)]
    if not lines:
        return np.eye(rows.shape[1])[0]
    best = max(lines, key=lambda line: dip_statistic(rows @ line))
    return best / max(float(np.linalg.norm(best)), 1e-300)


def dip_p_value(dip: float, n: int) -> float:
    """Probability that a uniform sample of ``n`` values has as large a dip.

    Between the tabled ones by the logarithm of the probability, and beyond the last by the tail of
    a Brownian bridge, which falls with the square.

    >>> dip_p_value(0.5 / 10, 100) > 0.05, dip_p_value(1.0 / 10, 100) < 0.001
    (True, True)
    """
    size = dip * float(np.sqrt(n))
    if size <= DIPS[-1]:
        return float(np.exp(np.interp(size, DIPS, np.log(PROBABILITIES))))
    return float(PROBABILITIES[-1] * np.exp(-8 * (size**2 - DIPS[-1] ** 2)))


def _valley(values: FloatArray) -> float:
    """The lowest place between the two hills that are left last as the density is smoothed."""
    low, high = np.quantile(values, [0.02, 0.98])
    grid = np.linspace(low, high, GRID)
    sample = values if len(values) <= 1000 else np.quantile(values, np.linspace(0, 1, 1000))
    spread = float(values.std())
    narrow, wide = 0.02 * spread, WIDEST * spread
    for _ in range(12):
        middle = float(np.sqrt(narrow * wide))
        narrow, wide = (
            (middle, wide) if len(_hills(grid, sample, middle)[0]) >= 2 else (narrow, middle)
        )
    tops, density = _hills(grid, sample, narrow)
    if len(tops) < 2:
        return float(np.median(values))
    first, last = np.sort(tops[np.argsort(-density[tops])[:2]])
    return float(grid[first + int(np.argmin(density[first : last + 1]))])


def _hills(grid: FloatArray, sample: FloatArray, width: float) -> tuple[IndexArray, FloatArray]:
    density = np.exp(-0.5 * np.square((grid[:, None] - sample) / max(width, 1e-300))).sum(axis=1)
    inner = density[1:-1]
    return np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1, density
