"""Whether a law fitted to a few maxima holds in its tail, and how sure p-values from it are."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from subscape.core.types import FloatArray

#: Chance that a law that holds is refused.
REFUSED = 0.01
#: Share of the cases in which an interval holds the probability.
SURENESS = 0.95
#: Samples drawn from a law to know what its statistics are; the same ones every time.
N_DRAWN = 2000
#: The same for its mean and spread, of which small p-values are made.
N_FORETOLD = 20_000
#: Fewer values above a heap of equal ones tell nothing about the law that they follow.
FEWEST_ABOVE = 5


class Interval(NamedTuple):
    """From where to where a probability is."""

    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """Both ends times a factor, at most 1.

        >>> Interval(0.1, 0.4).times(3)
        Interval(low=0.30000000000000004, high=1.0)
        """
        return Interval(min(1.0, factor * self.low), min(1.0, factor * self.high))

    def holding(self, p_value: float) -> Interval:
        """The same, wide enough for the value that is claimed."""
        return Interval(min(self.low, p_value), max(self.high, p_value))


def largest(*intervals: Interval) -> Interval:
    """Where the largest of several probabilities is.

    >>> largest(Interval(0.1, 0.2), Interval(0.0, 0.5))
    Interval(low=0.1, high=0.5)
    """
    return Interval(max(each.low for each in intervals), max(each.high for each in intervals))


def smallest(*intervals: Interval) -> Interval:
    """Where the smallest of several probabilities is."""
    return Interval(min(each.low for each in intervals), min(each.high for each in intervals))


def l_skewness(values: FloatArray) -> FloatArray:
    """Third L-moment by the second, along the last axis (Hosking 1990).

    It is 0.17 for Gumbel's law, 1/3 for the exponential one, and larger where the upper tail is
    heavier. Equal values have none, and 0 is returned.

    >>> float(l_skewness(np.array([1.0, 2.0, 3.0])))
    0.0
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    n = ordered.shape[-1]
    i = np.arange(n)
    first = ordered.mean(axis=-1)
    second = (ordered * i).mean(axis=-1) / (n - 1)
    third = (ordered * i * (i - 1)).mean(axis=-1) / ((n - 1) * (n - 2))
    spread = 2 * second - first
    told = 6 * third - 6 * second + first
    return np.asarray(np.divide(told, spread, out=np.zeros_like(spread), where=spread > 1e-300))


@lru_cache(maxsize=64)
def _drawn(law: str, n: int) -> FloatArray:
    rng = np.random.default_rng([n, 41])
    return rng.gumbel(size=(N_DRAWN, n)) if law == "gumbel" else rng.exponential(size=(N_DRAWN, n))


@lru_cache(maxsize=256)
def most_skewed(law: str, n: int) -> float:
    """L-skewness that a sample of ``n`` from a law exceeds with probability :data:`REFUSED`."""
    return float(np.quantile(l_skewness(_drawn(law, n)), 1 - REFUSED))


@lru_cache(maxsize=64)
def _moments(n: int) -> tuple[FloatArray, FloatArray]:
    """Means and spreads of samples from Gumbel's law: they do not depend on its parameters."""
    drawn = np.random.default_rng([n, 41]).gumbel(size=(N_FORETOLD, n))
    return drawn.mean(axis=1), drawn.std(axis=1, ddof=1)


def above_heap(values: FloatArray) -> FloatArray | None:
    """How far values are above the smallest, if several are equal to it; None if not.

    Searches that mostly find nothing score the same on most tables.

    >>> above_heap(np.array([0.0, 0.0, 0.25])), above_heap(np.array([0.0, 0.1, 0.2]))
    (array([0.25]), None)
    """
    least = values.min()
    above = values[values > least] - least
    return above if len(values) - len(above) > 1 else None


def gumbel_holds(values: FloatArray) -> bool:
    """Whether the upper tail of maxima is not surely heavier than Gumbel's.

    The test is that of Hosking, Wallis and Wood (1985, doi:10.1080/00401706.1985.10488049) of the
    shape of the law of maxima, one-sided: by the L-skewness, which has the same distribution
    whatever place and scale are. A lighter tail gives p-values that are too large, and is let be.
    Where several values are equal to the smallest, those above them are held against the
    exponential law instead; fewer than five of these can't be tested.

    >>> rng = np.random.default_rng(0)
    >>> gumbel_holds(rng.gumbel(size=40)), gumbel_holds(rng.pareto(1.0, size=40))
    (True, False)
    """
    above = above_heap(values)
    if above is not None:
        if len(above) < FEWEST_ABOVE:
            return True
        return bool(l_skewness(above) <= most_skewed("exponential", len(above)))
    if len(values) < 3:
        return True
    return bool(l_skewness(values) <= most_skewed("gumbel", len(values)))


def heap_p_value(score: float, values: FloatArray) -> float:
    """Probability of a score where most tables without groups give one and the same; else 0.

    The share of the tables above that heap (plus one, of all plus one), times the probability that
    one more draw from an exponential law is so far above the heap, given those seen (exact, if that
    is the law).

    >>> values = np.array([0.0] * 9 + [0.1])
    >>> round(heap_p_value(1.0, values), 6), heap_p_value(1.0, np.arange(9.0))
    (0.016529, 0.0)
    """
    above = above_heap(values)
    if above is None or not len(above):
        return 0.0
    share = (1 + len(above)) / (1 + len(values))
    away = max(score - float(values.min()), 0.0)
    return float(share * (1 + away / float(above.sum())) ** -len(above))


def gumbel_tail(score: float, values: FloatArray, spread: float) -> float:
    """Probability that one more maximum reaches a score, given those seen, if they follow Gumbel.

    ``(score - mean) / spread`` of one more draw and as many others has a distribution that depends
    on their number alone: the probability is that of reaching it. So it is right, whatever place
    and scale are, for few maxima as for many, and needs no other allowance for their being few
    (a prediction interval, as for normal samples by Student's t).

    Parameters
    ----------
    score : float
    values : array of shape (n,)
        Maxima.
    spread : float
        Their standard deviation, or the least that they are taken to have.

    Examples
    --------
    >>> seen = np.linspace(0.0, 1.0, 20)
    >>> few, many = gumbel_tail(2.0, seen[::4], 0.3), gumbel_tail(2.0, seen, 0.3)
    >>> 0 < many < few < 0.1
    True
    """
    reached = _reached(score, values, spread)
    return float(-np.expm1(-np.exp(-reached)).mean())


def _reached(score: float, values: FloatArray, spread: float) -> FloatArray:
    """Where a score lies in the standard law, for each of many samples like the one seen."""
    means, spreads = _moments(len(values))
    return np.asarray(means + (score - float(values.mean())) / spread * spreads)


def gumbel_interval(score: float, values: FloatArray, spread: float) -> Interval:
    """Where the probability is that a maximum reaches a score, if Gumbel's law holds.

    ``(score - mean) / spread`` is compared with the same of samples of the law itself, whose
    distribution depends on their number alone: the interval holds the probability in 95 of 100
    cases, however few maxima there are.

    >>> found = gumbel_interval(3.0, np.linspace(0.0, 1.0, 20), 0.3)
    >>> 0 < found.low < found.high < 0.01
    True
    """
    reached = _reached(score, values, spread)
    ends = np.quantile(reached, [(1 + SURENESS) / 2, (1 - SURENESS) / 2])
    low, high = -np.expm1(-np.exp(-ends))
    return Interval(float(low), float(high))


def standard_pearson(rng: np.random.Generator, shape: float, size: tuple[int, int]) -> FloatArray:
    """Draws of the gamma law with mean 0 and spread 1."""
    return (rng.standard_gamma(shape, size) - shape) / np.sqrt(shape)


def _beyond(away: FloatArray, shape: FloatArray) -> FloatArray:
    return np.asarray(gammaincc(shape, np.maximum(shape + away * np.sqrt(shape), 0.0)))


def pearson_holds(values: FloatArray) -> bool:
    """Whether values are not surely more skewed than any gamma law that is trusted.

    The gamma law takes its skewness from the values. It is trusted up to the exponential law; a
    sample of that or of a less skewed one is refused once in a hundred cases at most.

    >>> rng = np.random.default_rng(0)
    >>> pearson_holds(rng.gamma(4.0, size=40)), pearson_holds(rng.pareto(1.0, size=40))
    (True, False)
    """
    if len(values) < 3:
        return True
    return bool(l_skewness(values) <= most_skewed("exponential", len(values)))


def pearson_tail(score: float, values: FloatArray, spread: float, shape: float) -> float:
    """As :func:`gumbel_tail` for the gamma law, its shape taken as known.

    >>> seen = np.linspace(0.0, 1.0, 20)
    >>> bool(gumbel_tail(2.0, seen, 0.3) > pearson_tail(2.0, seen, 0.3, 50.0) > 0)
    True
    """
    reached = _reached_of_pearson(score, values, spread, shape)
    return float(_beyond(reached, np.full(len(reached), shape)).mean())


def _reached_of_pearson(
    score: float, values: FloatArray, spread: float, shape: float
) -> FloatArray:
    rng = np.random.default_rng([len(values), 47])
    drawn = standard_pearson(rng, shape, (N_DRAWN, len(values)))
    away = (score - float(values.mean())) / spread
    return np.asarray(drawn.mean(axis=1) + away * drawn.std(axis=1, ddof=1))


def pearson_interval(score: float, values: FloatArray, spread: float, shape: float) -> Interval:
    """As :func:`gumbel_interval` for the gamma law, its shape taken as known."""
    reached = _reached_of_pearson(score, values, spread, shape)
    ends = np.quantile(reached, [(1 + SURENESS) / 2, (1 - SURENESS) / 2])
    low, high = _beyond(ends, np.full(2, shape))
    return Interval(float(low), float(high))
