"""How well the best density with one hump describes a sample: the description without groups."""

from __future__ import annotations

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IntArray

__all__ = ["description_length", "hump_log_likelihood", "merged_groups", "rows_per_block"]

#: Entropy of a standard normal.
NORMAL = 0.5 * float(np.log(2 * np.pi * np.e))


@compiled("_hump_likelihood")
def hump_log_likelihood(
    values: FloatArray, n_block: int, least_width: float, price: float = 0.0
) -> FloatArray:
    """Mean log density of each row's values under the best density that rises, then falls.

    The sorted values are cut into blocks of ``n_block``, and the density is constant on each: of
    all such densities that rise up to one block and fall from there on, the likeliest (Grenander's
    estimate on either side of the top [1]_).

    Parameters
    ----------
    values : float64 array of shape (m, n)
        Each row a sample, sorted.
    n_block : int
        Values in a block; the last one may have more.
    least_width : float
        Blocks are taken to be at least so wide: tied values have no density.
    price : float, default=0
        Nats that every step of the density costs.

    Returns
    -------
    float64 array of shape (m,)

    References
    ----------
    .. [1] U. Grenander, "On the theory of mortality measurement, part II", Scandinavian Actuarial
       Journal 1956, doi:10.1080/03461238.1956.10414944.

    Examples
    --------
    >>> one = np.linspace(0.0, 1.0, 101)[None]
    >>> two = np.r_[np.linspace(0, 0.1, 50), np.linspace(0.9, 1, 51)][None]
    >>> hump_log_likelihood(one, 5, 1e-6).round(2), hump_log_likelihood(two, 5, 1e-6).round(2)
    (array([0.]), array([0.52]))
    """
    m, n = values.shape
    n_blocks = max(1, n // max(1, n_block))
    edges = np.minimum(np.arange(n_blocks + 1) * n_block, n - 1)
    edges[-1] = n - 1
    counts = np.full(n_blocks, float(n_block))
    counts[-1] = n - n_block * (n_blocks - 1)
    found = np.empty(m)
    for i, sample in enumerate(values):
        widths = np.maximum(np.diff(sample[edges]), least_width)
        rising = _monotone(counts, widths, n, price)
        falling = _monotone(counts[::-1], widths[::-1], n, price)[::-1]
        found[i] = (rising + falling).max() / n
    return found


def _monotone(counts: FloatArray, widths: FloatArray, n: int, price: float) -> FloatArray:
    """Log-likelihood of the best rising density on the first 0, 1, … blocks."""
    told = np.zeros(len(counts) + 1)
    pools: list[tuple[float, float, float]] = []
    for place, (count, width) in enumerate(zip(counts, widths, strict=True)):
        before = 0.0 if not pools else pools[-1][2]
        while pools and pools[-1][0] * width > count * pools[-1][1]:
            last = pools.pop()
            count, width = count + last[0], width + last[1]
            before = pools[-1][2] if pools else 0.0
        told_here = count * float(np.log(count / (n * width))) - price
        pools.append((count, width, before + told_here))
        told[place + 1] = pools[-1][2]
    return told


def rows_per_block(n_rows: int) -> int:
    """Rows in a block of a density with one hump; there are about twice the root of n blocks."""
    return max(2, round(float(np.sqrt(n_rows)) / 2))


@compiled("_hump_likelihood")
def description_length(values: FloatArray, least_spread: float) -> float:
    """Nats that describe the rows of one group, with those of the parameters (BIC).

    Direction by direction, along the columns or along the group's own principal directions,
    whichever is cheaper; in each by a normal density or by another one with one hump.

    Parameters
    ----------
    values : float64 array of shape (n, d)
        The rows, in a table whose spread is one in each direction.
    least_spread : float
        Spreads count as at least so large.

    Returns
    -------
    float

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> round(description_length(rows, 0.02) / 200, 1), round(2 * NORMAL, 1)
    (2.9, 2.8)
    """
    n, d = values.shape
    values = values - values.mean(axis=0)
    along = _along(values, 0, least_spread)
    if d > 1 and n > d:
        axes = np.linalg.eigh(values.T @ values)[1]
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(d)]
        turned = values @ np.where(largest < 0, -axes, axes)
        along = min(along, _along(turned, d * (d - 1) // 2, least_spread))
    return along


def _along(values: FloatArray, n_angles: int, least_spread: float) -> float:
    """The same direction by direction, with ``n_angles`` parameters more."""
    n, d = values.shape
    price = 0.5 * float(np.log(max(n, 2)))
    own = values.std(axis=0)
    spread = np.maximum(own, least_spread)
    normal = n * (np.log(spread) + 0.5 * np.square(own / spread) + NORMAL - 0.5)
    samples = np.sort(values.T / spread[:, None], axis=1)
    told = hump_log_likelihood.reference(samples, rows_per_block(n), least_spread, price)
    hump = n * (np.log(spread) - told)
    return float(np.minimum(normal, hump).sum() + price * (2 * d + n_angles))


@compiled("_hump_likelihood")
def merged_groups(
    values: FloatArray, labels: IntArray, n_neighbours: int, least_spread: float
) -> IntArray:
    """Groups next to each other as one, as long as one density is cheaper than two (BIC).

    The two that save most by it are merged first, and at least two groups are left.

    Parameters
    ----------
    values : float64 array of shape (n, d)
        The rows, as for :func:`description_length`.
    labels : int64 array of shape (n,)
        From 0 on.
    n_neighbours : int
        Groups next to one, by distance of their centres, that it may be merged with.
    least_spread : float
        Spreads count as at least so large.

    Returns
    -------
    int64 array of shape (n,)
        From 0 on; a merged group has the place of its first one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(120, 1)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    >>> sliced = np.repeat([0, 1], 60) + (rows[:, 0] > 9)
    >>> len(np.unique(sliced)), len(np.unique(merged_groups(rows, sliced, 4, 0.02)))
    (3, 2)
    """
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    parts = dict(enumerate(np.split(order, np.cumsum(sizes)[:-1])))
    parts = {k: rows for k, rows in parts.items() if len(rows)}
    cost = {
        k: description_length.reference(values[rows], least_spread) for k, rows in parts.items()
    }
    joint: dict[tuple[int, int], tuple[float, float]] = {}
    while len(parts) > 2:
        for i, j in _next_to(values, parts, n_neighbours, least_spread):
            if (i, j) not in joint:
                both = np.concatenate([parts[i], parts[j]])
                together = description_length.reference(values[both], least_spread)
                apart = cost[i] + cost[j] + _parted(len(parts[i]), len(parts[j]), len(labels))
                joint[i, j] = apart - together, together
        (i, j), (saved, together) = max(joint.items(), key=lambda each: (each[1][0], each[0]))
        if saved <= 0:
            break
        parts[i] = np.concatenate([parts[i], parts.pop(j)])
        cost[i] = together
        joint = {pair: each for pair, each in joint.items() if not {i, j} & set(pair)}
    merged = np.empty(len(labels), dtype=np.int64)
    for number, rows in enumerate(parts.values()):
        merged[rows] = number
    return merged


def _next_to(
    values: FloatArray, parts: dict[int, IntArray], n_neighbours: int, least_spread: float
) -> list[tuple[int, int]]:
    """Pairs of groups next to each other."""
    names = list(parts)
    centres = np.array([values[rows].mean(axis=0) for rows in parts.values()])
    spreads = np.array([values[rows].var(axis=0) for rows in parts.values()])
    scale = spreads[:, None] + spreads + least_spread**2
    away = (np.square(centres[:, None] - centres) / scale).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    close = np.argsort(away, axis=1, kind="stable")[:, : min(n_neighbours, len(names) - 1)]
    pairs = {
        (min(names[i], names[j]), max(names[i], names[j]))
        for i, near in enumerate(close.tolist())
        for j in near
    }
    return sorted(pairs)


def _parted(first: int, second: int, n_rows: int) -> float:
    """Nats that two numbers in the place of one cost, with that of their shares."""
    whole = first + second
    parts = -first * np.log(first / whole) - second * np.log(second / whole)
    return float(parts + 0.5 * np.log(n_rows))
