"""What similarity to known clusterings costs: the dual of placing rows within limits.

Rows shall go to clusters at the least cost, and the best matching of the new clusters with known
ones must not exceed a limit. The dual of this program has one price per pair of a known and a new
cluster, however many rows there are: it is solved for the prices by Newton's method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from subscape.core.types import FloatArray
from subscape.finders.alternatives.matching import Known
from subscape.finders.views.base import Watch

__all__ = ["Prices", "similarity_prices"]

#: Rows choose softly, at temperatures from the first (the second if prices are known already) to
#: the last, in units of what rows lose on the average in another than their nearest cluster.
HOT, WARM, COLD, COOLING = 0.3, 0.075, 1e-3, 4.0
#: The weight that keeps prices positive, relative to the temperature, over all prices.
BARRIER = 0.05
#: Newton steps at each temperature, and the gain at which they end.
MOST_STEPS, SETTLED = 30, 1e-7
#: Rows surer than this don't bend the objective.
SURE = 1e-7
#: A warm start keeps this share of the old prices; the rest is even, away from the bounds.
KEPT = 0.9


class Prices(NamedTuple):
    """Prices of similarity, and where rows go at these prices.

    Attributes
    ----------
    values : (n_known, k) array
        What a unit of overlap costs, for all known clusterings below each other.
    totals : (n_known_clusterings,) array
        What a unit of each limit costs; no row or column of its prices sums up to more.
    shares : (n, k) array
        Share of each row in each cluster, 0 or 1 but for few rows.
    """

    values: FloatArray
    totals: FloatArray
    shares: FloatArray


class _Dual:
    """The objective in units in which costs, overlaps and limits are about 1."""

    def __init__(self, costs: FloatArray, known: list[Known], limits: list[float]) -> None:
        losses = costs - costs.min(axis=1, keepdims=True)
        self.costs = losses / (float(losses.mean()) or 1.0)
        self.n, self.k = costs.shape
        pairs = zip(known, limits, strict=True)
        self.weights = np.hstack([each.weights * (self.n / limit) for each, limit in pairs])
        sizes = [each.n_clusters for each in known]
        #: The clustering of each known cluster, and whether it is of each clustering.
        self.owner = np.repeat(np.arange(len(known)), sizes)
        self.of = (np.arange(len(known))[:, None] == self.owner).astype(np.float64)
        self.even = 0.9 / np.maximum(sizes, self.k)

    def start(self) -> tuple[FloatArray, FloatArray]:
        totals = np.full(len(self.even), 0.1)
        return self.spread(totals), totals

    def spread(self, totals: FloatArray) -> FloatArray:
        """Even prices: the same for all clusters."""
        return np.tile((self.even * totals)[self.owner, None], (1, self.k))

    def free(self, prices: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is left of the totals in each row and in each column."""
        return totals[self.owner] - prices.sum(axis=1), totals[:, None] - self.of @ prices

    def value(self, prices: FloatArray, totals: FloatArray, heat: float, barrier: float) -> float:
        rows, columns = self.free(prices, totals)
        least = min(prices.min(), rows.min(), columns.min())
        if not least > 0:
            return -np.inf
        priced = self.costs + self.weights @ prices
        cheapest = priced.min(axis=1)
        softest = cheapest - heat * np.log(np.exp((cheapest[:, None] - priced) / heat).sum(axis=1))
        inside = np.log(prices).sum() + np.log(rows).sum() + np.log(columns).sum()
        return float(softest.mean() - totals.sum() + barrier * inside)

    def shares(self, prices: FloatArray, heat: float) -> FloatArray:
        priced = self.costs + self.weights @ prices
        shares = np.exp((priced.min(axis=1, keepdims=True) - priced) / heat)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def step(
        self, prices: FloatArray, totals: FloatArray, heat: float, barrier: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """Newton's step for prices and totals, and twice what it promises to gain."""
        q, k = prices.shape
        shares = self.shares(prices, heat)
        rows, columns = self.free(prices, totals)
        slope = self.weights.T @ shares / self.n
        slope += barrier * (1 / prices - 1 / rows[:, None] - (1 / columns)[self.owner])
        slope_totals = barrier * (self.of @ (1 / rows) + (1 / columns).sum(axis=1)) - 1
        bend = self._bend(shares, heat)
        at_rows, at_columns = barrier / rows**2, barrier / columns**2
        a, c = np.divmod(np.arange(q * k), k)
        group = self.owner[a]
        inner = bend[: q * k, : q * k]
        inner[np.arange(q * k), np.arange(q * k)] += barrier / prices.ravel() ** 2
        inner += np.where(a[:, None] == a, at_rows[a][:, None], 0.0)
        same = (c[:, None] == c) & (group[:, None] == group)
        inner += np.where(same, at_columns[group, c][:, None], 0.0)
        place = q * k + group
        cross = -(at_rows[a] + at_columns[group, c])
        bend[np.arange(q * k), place] = cross
        bend[place, np.arange(q * k)] = cross
        last = np.arange(q * k, len(bend))
        bend[last, last] = self.of @ at_rows + at_columns.sum(axis=1)
        bend[np.arange(len(bend)), np.arange(len(bend))] *= 1 + 1e-12
        uphill = np.concatenate([slope.ravel(), slope_totals])
        move = cho_solve(cho_factor(bend, check_finite=False), uphill, check_finite=False)
        return move[: q * k].reshape(q, k), move[q * k :], float(uphill @ move)

    def _bend(self, shares: FloatArray, heat: float) -> FloatArray:
        """How the rows bend the objective: the second derivatives, with room for the totals."""
        q, k = self.weights.shape[1], self.k
        live = np.flatnonzero(shares.max(axis=1) < 1 - SURE)
        shares, weights = shares[live], self.weights[live]
        size = q * k + len(self.even)
        whole = np.zeros((size, size))
        bend = whole[: q * k, : q * k].reshape(q, k, q, k)
        for i in range(k):
            for j in range(i, k):
                both = shares[:, i] * ((i == j) - shares[:, j])
                block = (weights * both[:, None]).T @ weights / (self.n * heat)
                bend[:, i, :, j] = block
                bend[:, j, :, i] = block
        return whole


def similarity_prices(
    costs: FloatArray,
    known: list[Known],
    limits: list[float],
    watch: Watch,
    before: Prices | None = None,
    *,
    same_costs: bool = False,
) -> Prices:
    """Prices of overlaps at which rows that go where it is cheapest keep the limits.

    A best matching is the largest sum of overlaps over all matrices of shares whose rows and
    columns add up to at most 1. A limit on it thus has as its prices such a matrix, times the price
    of the limit itself. Rows choose softly first and ever harder; so prices are found for all rows,
    in a number of steps that hardly depends on them.

    Parameters
    ----------
    costs : (n, k) array
        Cost of each row in each cluster.
    known : list of Known
    limits : list of float
        How similar to each known clustering the new one may be.
    watch : Watch
    before : Prices, optional
        For similar costs: where to start.
    same_costs : bool
        Whether these were for the same costs, at other limits.

    Returns
    -------
    Prices
        In units of their own: only the shares and another call have use for them.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.base import Watch
    >>> from subscape.finders.alternatives.matching import Known
    >>> known = Known(np.eye(2), np.repeat(np.eye(2), 50, axis=0), 50.0)
    >>> costs = np.repeat(1 - np.eye(2), 50, axis=0) + np.arange(100)[:, None] * [0, 0.001]
    >>> shares = similarity_prices(costs, [known], [75.0], Watch()).shares
    >>> bool(abs(shares[:50, 0].sum() + shares[50:, 1].sum() - 75) < 0.1)
    True
    """
    dual = _Dual(costs, known, limits)
    if before is None:
        heat, (prices, totals) = HOT, dual.start()
    else:
        heat, totals = COOLING * COLD if same_costs else WARM, before.totals
        prices = KEPT * before.values + (1 - KEPT) * dual.spread(totals)
    while True:
        barrier = BARRIER * heat / prices.size
        value = dual.value(prices, totals, heat, barrier)
        for _ in range(MOST_STEPS):
            try:
                move, moved_totals, gain = dual.step(prices, totals, heat, barrier)
            except LinAlgError:  # too flat: these prices have to do
                break
            if not gain > SETTLED:
                break
            length = 1.0
            while length > SETTLED:
                ahead = prices + length * move, totals + length * moved_totals
                there = dual.value(*ahead, heat, barrier)
                if there >= value + 1e-4 * length * gain:
                    break
                length /= 2
            else:
                break
            (prices, totals), value = ahead, there
            if watch.out_of_time():
                break
        if heat <= COLD or watch.out_of_time():
            return Prices(prices, totals, dual.shares(prices, heat))
        heat = max(heat / COOLING, COLD)
