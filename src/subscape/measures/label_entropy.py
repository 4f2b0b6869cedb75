"""Entropies and mutual information of two labellings that have been counted, in nats."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.measures.label_table import IntArray, LabelTable

# Hoeffding: a hypergeometric count lies further than REACH * sqrt(draws) from its mean with
# probability below 2 * exp(-2 * REACH**2) = 1e-26, too little to show in a float64 sum.
REACH = 5.5


class Entropies(NamedTuple):
    """Entropy of each labelling, and what is left of each when the other is known."""

    a: float
    b: float
    a_given_b: float
    b_given_a: float


def entropies(table: LabelTable) -> Entropies:
    """Return the entropies of both labellings (eqs. 3.7 and 3.8 of the thesis)."""
    n, cells = table.n_rows, table.cells
    shares = cells.times * cells.rows / n
    # Every term is at least 0 and exactly 0 where the clusters agree, so nothing cancels.
    return Entropies(
        _entropy(table.sizes_a, table.singletons_a, n),
        _entropy(table.sizes_b, table.singletons_b, n),
        float(np.sum(shares * np.log(cells.size_b / cells.rows))),
        float(np.sum(shares * np.log(cells.size_a / cells.rows))),
    )


def mutual_information(table: LabelTable) -> float:
    """Return the mutual information of the two labellings."""
    n, cells = table.n_rows, table.cells
    ratios = n * cells.rows / (cells.size_a * cells.size_b)
    return max(0.0, float(np.sum(cells.times * cells.rows / n * np.log(ratios))))


def expected_mutual_information(table: LabelTable) -> float:
    """Return the mean mutual information over all shufflings of one labelling.

    Only the sizes of the clusters matter, so clusters of equal size (all the noise rows, for
    one) are computed once.
    """
    n = table.n_rows
    sizes_a, times_a = _distinct(table.sizes_a, table.singletons_a)
    sizes_b, times_b = _distinct(table.sizes_b, table.singletons_b)
    if len(sizes_a) > len(sizes_b):
        sizes_a, times_a, sizes_b, times_b = sizes_b, times_b, sizes_a, times_a
    return float(
        sum(
            times * np.sum(times_b * _expected_terms(int(size), sizes_b, n))
            for size, times in zip(sizes_a, times_a, strict=True)
        )
    )


def _entropy(sizes: IntArray, singletons: int, n: int) -> float:
    sizes = sizes[sizes > 0]
    return float(np.sum(sizes / n * np.log(n / sizes))) + singletons / n * math.log(n)


def _distinct(sizes: IntArray, singletons: int) -> tuple[IntArray, IntArray]:
    """Cluster sizes without repetition, and how often each occurs."""
    found, times = np.unique(sizes[sizes > 0], return_counts=True)
    return np.append(found, 1), np.append(times, singletons)


def _expected_terms(x: int, sizes: IntArray, n: int) -> NDArray[np.float64]:
    """Expected share of the mutual information of one cluster of x rows with one of each size.

    The number of rows they have in common, k, is hypergeometric. Its probabilities follow from
    the ratio of neighbours and the sum 1, within a window around the mean.
    """
    mean = x * sizes / n
    reach = np.ceil(REACH * np.sqrt(np.minimum(x, sizes))) + 1
    first = np.maximum(np.maximum(0, x + sizes - n), np.floor(mean - reach).astype(np.int64))
    last = np.minimum(np.minimum(x, sizes), np.ceil(mean + reach).astype(np.int64))
    k = (first[:, None] + np.arange((last - first).max() + 1)).astype(np.float64)
    y = sizes[:, None].astype(np.float64)
    inside = k <= last[:, None]
    steps = np.zeros_like(k)
    before, after, real = k[:, :-1], k[:, 1:], inside[:, 1:]
    np.divide(
        (x - before) * (y - before), after * (n - x - y + after), out=steps[:, 1:], where=real
    )
    np.log(steps, out=steps, where=steps > 0)
    log_weights = np.where(inside, np.cumsum(steps, axis=1), -np.inf)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    gains = np.zeros_like(k)
    np.log(n * k / (x * y), out=gains, where=inside & (k > 0))
    terms: NDArray[np.float64] = np.sum(weights * k / n * gains, axis=1)
    return terms
