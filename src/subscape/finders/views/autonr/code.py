"""How many bits it takes to write a table down with the help of some views.

In a view, a row is written as its cluster and its distance from the centre, by a normal
distribution that the clusters share; in the noise space by a normal distribution around the mean.
Nothing is written more exactly than it was rounded, nor than a hundredth of the largest variance.
Parameters cost half the logarithm of the number of rows each. What is the same for all views, the
precision of the values, is left out, so only differences mean something.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray
from subscape.finders.views.nrkmeans.steps import Solution

#: Share of the largest variance of any direction that counts as rounding: structure that is so much
#: smaller than the rest of the table would otherwise count as much as the rest.
SMALLEST_VARIANCE = 0.01


class ViewCode:
    """Lengths of descriptions of one table, in bits.

    Parameters
    ----------
    X : (n, p) array
        Centred; fewer columns than rows.
    grain : (p, p) array, optional
        Covariance of the rounding of the values: nothing is written down more exactly than that.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.autonr.code import ViewCode
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(300) % 2
    >>> X = np.column_stack([8.0 * labels, np.zeros(300)]) + rng.normal(size=(300, 2))
    >>> code = ViewCode(X - X.mean(axis=0))
    >>> saved = [code.gain(np.eye(2)[:, [j]], labels, 2) for j in (0, 1)]
    >>> bool(saved[0] > 100), bool(saved[1] < 0)
    (True, True)
    """

    def __init__(self, X: NDArray[np.floating], grain: FloatArray | None = None) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        table = np.asarray(X, dtype=np.float64)
        covariance = table.T @ table / self.n_rows
        if grain is not None:
            covariance = covariance + grain
        floor = SMALLEST_VARIANCE * float(np.linalg.eigvalsh(covariance)[-1])
        self.floor = np.eye(self.n_features) * floor + (0.0 if grain is None else grain)
        self.covariance = covariance + np.eye(self.n_features) * floor
        self.inverse = np.linalg.inv(self.covariance)
        self.per_parameter = 0.5 * np.log2(max(self.n_rows, 2))
        self.plain = self._normal(self.covariance)

    def _normal(self, covariance: FloatArray) -> float:
        """Bits of all rows by a normal distribution of this covariance (log 2πe left out)."""
        if covariance.shape[0] == 0:
            return 0.0
        return 0.5 * self.n_rows * float(np.linalg.slogdet(covariance)[1]) / np.log(2.0)

    def total(self, solution: Solution) -> float:
        """Bits of the table by these views and the noise space they leave."""
        bases = np.concatenate(solution.bases, axis=1)
        # The determinant over a complement, from that over the whole and the inverse.
        noise = self.plain + self._normal(bases.T @ self.inverse @ bases)
        taken, bits = 0, noise
        for j, basis in enumerate(solution.bases):
            m = basis.shape[1]
            counts, factor = solution.groups.counts[j], solution.groups.factors[j] @ basis
            bits += self._normal(self._inside(basis, factor)) + self.labels(counts)
            bits += self.parameters(len(counts), m, self.n_features - taken)
            taken += m
        return bits

    def gain(self, basis: FloatArray, labels: NDArray[np.integer], k: int) -> float:
        """Bits saved by clusters in this subspace, the rest of the space being left alone."""
        inside = np.asarray(self.X @ basis.astype(self.X.dtype), dtype=np.float64)
        counts = np.bincount(labels, minlength=k)
        sums = np.array([np.bincount(labels, column, minlength=k) for column in inside.T]).T
        return self.gain_of(basis, sums, counts)

    def gain_of(self, basis: FloatArray, sums: FloatArray, counts: NDArray[np.integer]) -> float:
        """As :meth:`gain`, from the sums of the rows of each cluster inside the subspace."""
        factor = sums / np.sqrt(np.maximum(counts, 1))[:, None]
        plain = self._normal(basis.T @ self.covariance @ basis)
        written = self._normal(self._inside(basis, factor)) + self.labels(counts)
        return plain - written - self.parameters(len(counts), basis.shape[1], self.n_features)

    def _inside(self, basis: FloatArray, factor: FloatArray) -> FloatArray:
        """Covariance inside the clusters of a view, never below the grain."""
        within = basis.T @ self.covariance @ basis - factor.T @ factor / self.n_rows
        floor = basis.T @ self.floor @ basis
        values, vectors = np.linalg.eigh(within - floor)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T + floor

    def labels(self, counts: NDArray[np.integer] | Sequence[int]) -> float:
        """Bits to say to which cluster each row belongs."""
        full = np.asarray(counts, dtype=np.float64)
        full = full[full > 0]
        return float(-(full * np.log2(full / full.sum())).sum())

    def parameters(self, k: int, m: int, free: int) -> float:
        """Bits of k centres in m directions that were chosen among ``free`` ones."""
        return self.per_parameter * (m * (k - 1) + m * (free - m) + k)


def rounding(X: NDArray[np.floating]) -> FloatArray:
    """Variance of the rounding of each column: values a fixed step apart are that uncertain.

    >>> import numpy as np
    >>> from subscape.finders.views.autonr.code import rounding
    >>> rounding(np.array([[0.0, 0.3], [1.0, 0.1], [3.0, 0.1]])) * 12
    array([1.  , 0.04])
    """
    steps = np.diff(np.sort(np.asarray(X, dtype=np.float64), axis=0), axis=0)
    steps = np.where(steps > 0, steps, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(steps), np.square(steps) / 12.0, 0.0)
