"""How well the best density with one hump describes a sample: the description without groups."""

from __future__ import annotations

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray

__all__ = ["hump_log_likelihood"]


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
