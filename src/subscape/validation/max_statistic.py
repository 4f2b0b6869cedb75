"""p-values by the largest of many statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray

from .fitted_tails import (
    Interval,
    gumbel_holds,
    gumbel_interval,
    gumbel_tail,
    heap_p_value,
    largest,
    smallest,
)

#: The largest statistic of each of many tables.
Maxima = Sequence[float] | FloatArray

#: Nats by which maxima differ at least.
LEAST_SPREAD = 0.01

#: Tables without groups that may reach a score before no more are drawn (Besag and Clifford 1991,
#: doi:10.1093/biomet/78.2.301), and the p-value below which no more are needed.
ENOUGH_REACHED = 4
SURE = 1e-3


def max_statistic_test(observed: ArrayLike, null_maxima: ArrayLike) -> FloatArray:
    """p-values that hold for all statistics at once [1]_.

    Each observed statistic is compared with the largest one of every table without clusters. The
    chance that any p-value is at most α where there is nothing to find is then at most α, however
    many statistics there are and however they depend on each other.

    Parameters
    ----------
    observed : array-like
        Statistics, large where there is something.
    null_maxima : array-like of shape (n_null,)
        The largest statistic of each null table, all searched in the same way.

    Returns
    -------
    array of the shape of ``observed``
        (1 + null tables whose largest is at least as large) / (1 + null tables).

    See Also
    --------
    significance : Uses it for finders.

    References
    ----------
    .. [1] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993
       (single-step maximum).

    Examples
    --------
    >>> from subscape.validation import max_statistic_test
    >>> max_statistic_test([5.0, 1.0], [0.5, 0.9, 2.0, 0.1])
    array([0.2, 0.4])
    """
    values = np.asarray(observed, np.float64)
    maxima = np.sort(np.asarray(null_maxima, np.float64).ravel())
    if not len(maxima):
        raise SubscapeError("there is no null table to compare with")
    if np.isnan(maxima).any() or np.isnan(values).any():
        raise SubscapeError("statistics must be numbers, got NaN")
    # Sums over the same values in another order are the same statistic.
    tolerance = 1e-12 * np.maximum(np.abs(values), 1.0)
    below = np.searchsorted(maxima, values - tolerance, side="left")
    return np.asarray((1 + len(maxima) - below) / (1 + len(maxima)))


class Scale(NamedTuple):
    """Where statistics lie and how far they spread, column by column; robust."""

    centre: FloatArray
    width: FloatArray

    def __call__(self, statistics: ArrayLike) -> FloatArray:
        """Statistics in widths from the centre."""
        return np.asarray((np.asarray(statistics, np.float64) - self.centre) / self.width)


def robust_scale(statistics: ArrayLike) -> Scale:
    """The scale on which a statistic of several searches can be compared.

    The centre is the median over all tables, the observed one and the null tables alike, so that
    ranks among them stay fair. The width is the median absolute deviation or, if larger, the 90th
    percentile of the deviations, each divided by what it is for a standard normal: searches that
    mostly find nothing have no median deviation, and one table far off must not shrink itself. A
    width of less than half of that of the median search is taken as half of it.

    Parameters
    ----------
    statistics : array-like of shape (tables, searches)

    Returns
    -------
    Scale

    See Also
    --------
    max_statistic_test : Compares statistics on one scale.

    Examples
    --------
    >>> statistics = np.append(np.arange(20.0), 100.0)[:, None]
    >>> robust_scale(statistics)(statistics)[[0, 10, 19, 20], 0].round(1)
    array([-1.3,  0. ,  1.2, 12.1])
    """
    values = np.asarray(statistics, np.float64)
    centre = np.median(values, axis=0)
    away = np.abs(values - centre)
    width = np.maximum(np.median(away, axis=0) / 0.6745, np.quantile(away, 0.9, axis=0) / 1.6449)
    # At most one table in ten is different: only a mean can tell by how much.
    width = np.where(width > 0, width, 1.2533 * away.mean(axis=0))
    width = np.maximum(width, 0.5 * np.median(width))
    return Scale(centre, np.where(width > 0, width, 1.0))


@dataclass(frozen=True)
class NullMaxima:
    """What the best result scores on tables without groups.

    Attributes
    ----------
    maxima : tuple of float
        Best score on each table.
    cluster_maxima : tuple of float
        Best score of a single cluster against the rest on each.
    curve_maxima, curve_cluster_maxima : tuple of float
        The same on tables whose rows lie along a bent curve, where such were drawn.
    normal_maxima, curve_normal_maxima : tuple of float
        Best scores by the gain over one normal distribution, where these were asked for.
    """

    maxima: tuple[float, ...]
    cluster_maxima: tuple[float, ...]
    curve_maxima: tuple[float, ...] = ()
    curve_cluster_maxima: tuple[float, ...] = ()
    normal_maxima: tuple[float, ...] = ()
    curve_normal_maxima: tuple[float, ...] = ()

    def p_value(self, score: float, normal_score: float = -np.inf) -> float:
        """Probability that chance alone reaches this score.

        With a second score, that over one normal distribution, twice the smaller probability. What
        is claimed must beat every kind of table without groups, each by the one or the other.
        """
        found = (
            min(1.0, len(pairs) * min(gumbel_p_value(*pair) for pair in pairs))
            for pairs in self._kinds(score, normal_score)
        )
        return max(found, default=1.0)

    def _kinds(
        self, score: float, normal_score: float
    ) -> list[list[tuple[float, tuple[float, ...]]]]:
        """For each kind of table without groups, the scores and the maxima they are held to."""
        kinds = []
        for maxima, normal_maxima in (
            (self.maxima, self.normal_maxima),
            (self.curve_maxima, self.curve_normal_maxima),
        ):
            pairs = [(score, maxima)] if maxima else []
            if maxima and normal_maxima and normal_score > -np.inf:
                pairs.append((normal_score, normal_maxima))
            kinds += [pairs] if pairs else []
        return kinds

    def cluster_p_value(self, score: float) -> float:
        """The same for a single cluster; the maximum over all clusters is what it is held to.

        That the rows don't lie along one curve is what the view as a whole shows; of a cluster it
        is asked whether it and the one next to it have two humps.
        """
        return gumbel_p_value(score, self.cluster_maxima) if self.cluster_maxima else 1.0

    def cluster_interval(self, score: float) -> Interval:
        """Where the probability of a cluster is (95 %), if the tail that was fitted holds."""
        return (
            tail_interval(score, self.cluster_maxima) if self.cluster_maxima else Interval(1.0, 1.0)
        )

    def interval(self, score: float, normal_score: float = -np.inf) -> Interval:
        """Where the probability is (95 %), if the tail that was fitted holds."""
        found = [
            smallest(*(tail_interval(*pair) for pair in pairs)).times(len(pairs))
            for pairs in self._kinds(score, normal_score)
        ]
        return largest(*found) if found else Interval(1.0, 1.0)

    def is_clear(self, score: float, normal_score: float = -np.inf) -> bool:
        """Whether more tables would hardly change the answer: surely chance, or surely not."""
        reached = [
            min(sum(each >= own for each in maxima) for own, maxima in pairs)
            for pairs in self._kinds(score, normal_score)
        ]
        hopeless = max(reached, default=0) >= ENOUGH_REACHED
        return hopeless or self.p_value(score, normal_score) < SURE

    def of_kind(self, curve: bool) -> NullMaxima:
        """The same with the tables of one kind alone.

        >>> NullMaxima((1.0,), (2.0,), (3.0,), (4.0,)).of_kind(True).maxima
        (3.0,)
        """
        if curve:
            return NullMaxima(
                self.curve_maxima, self.curve_cluster_maxima, normal_maxima=self.curve_normal_maxima
            )
        return NullMaxima(self.maxima, self.cluster_maxima, normal_maxima=self.normal_maxima)

    def is_beaten(self, score: float, normal_score: float = -np.inf) -> bool:
        """Whether the scores are surely beyond these tables, so that more of them tell nothing.

        >>> NullMaxima((1.0, 2.0, 3.0), ()).is_beaten(90.0), NullMaxima((1.0,), ()).is_beaten(9.0)
        (True, False)
        """
        return self.p_value(score, normal_score) < SURE


def gumbel_p_value(score: float, maxima: Maxima) -> float:
    """Probability that a maximum reaches ``score``.

    Within the maxima seen it is their share (plus one, of all plus one). Beyond them it is read
    from the distribution that maxima tend to (Gumbel), as the probability that one more maximum
    is so far out, given those seen (:func:`~subscape.validation.fitted_tails.gumbel_tail`); where
    most maxima are the same, from the exponential tail of the others if that is larger. If the
    tail of the maxima is surely heavier than that
    (:func:`~subscape.validation.fitted_tails.gumbel_holds`), it is the share, too.

    >>> gumbel_p_value(0.0, [1.0, 2.0, 3.0])
    1.0
    >>> few, many = np.linspace(1.0, 3.0, 5), np.linspace(1.0, 3.0, 40)
    >>> bool(gumbel_p_value(6.0, few) > 0.01 > gumbel_p_value(6.0, many) > 0)
    True
    """
    values = np.asarray(maxima, dtype=np.float64)
    # Tables on which no finder worked say nothing; with fewer of them less can be claimed.
    values = values[np.isfinite(values)]
    if not len(values):
        return 1.0
    counted = (1 + int((values >= score).sum())) / (1 + len(values))
    if counted > 1 / (1 + len(values)) or len(values) < 3:
        return float(counted)
    spread = max(float(values.std(ddof=1)), LEAST_SPREAD)
    fitted = max(gumbel_tail(score, values, spread), heap_p_value(score, values))
    if not fitted < counted or not gumbel_holds(values):
        return float(counted)
    return float(fitted)


def tail_interval(score: float, maxima: Maxima) -> Interval:
    """Where the probability of :func:`gumbel_p_value` is (95 %), for a tail that was fitted.

    What was counted is given as it is.

    >>> tail_interval(2.0, [1.0, 2.0, 3.0])
    Interval(low=0.75, high=0.75)
    >>> found = tail_interval(9.0, [1.0, 2.0, 3.0, 2.5, 1.2, 1.9])
    >>> found.low < gumbel_p_value(9.0, [1.0, 2.0, 3.0, 2.5, 1.2, 1.9]) < found.high
    True
    """
    p_value = gumbel_p_value(score, maxima)
    values = np.asarray(maxima, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not p_value < 1 / (1 + len(values)):
        return Interval(p_value, p_value)
    spread = max(float(values.std(ddof=1)), LEAST_SPREAD)
    return gumbel_interval(score, values, spread).holding(p_value)
