"""Mean and covariance of the rows of a component, as far as a model asks for them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from subscape.core.types import FloatArray

#: Rows whose membership is below this don't count.
LEAST_SHARE = 1e-12


class Moments:
    """Weighted mean and covariance (with 1 / n) of rows, either spelled out or by its products.

    Parameters
    ----------
    size : float
        Sum of the memberships.
    mean : (p,) array
    rows : (m, p) array, optional
        Rows, centred and multiplied by the square roots of their shares: the covariance is
        ``rows.T @ rows``.
    matrix : (p, p) array, optional
        The covariance itself, if there are no rows.
    """

    def __init__(
        self,
        size: float,
        mean: FloatArray,
        rows: FloatArray | None = None,
        matrix: FloatArray | None = None,
    ) -> None:
        self.size, self.mean = size, mean
        self._rows, self._matrix = rows, matrix

    @classmethod
    def of(cls, X: FloatArray, memberships: FloatArray) -> Moments:
        """Of rows in memory.

        >>> import numpy as np
        >>> from subscape.finders.mixtures.moments import Moments
        >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [9.0, 9.0]])
        >>> found = Moments.of(X, np.array([1.0, 1.0, 0.0]))
        >>> found.size, found.mean.tolist(), found.diagonal.round(9).tolist()
        (2.0, [1.0, 1.0], [1.0, 0.0])
        """
        kept = np.flatnonzero(memberships > LEAST_SHARE)
        shares = memberships[kept]
        size = float(shares.sum())
        if size <= 0:
            return cls(0.0, np.zeros(X.shape[1]), np.zeros((0, X.shape[1])))
        rows = X[kept]
        mean = shares @ rows / size
        rows -= mean
        rows *= np.sqrt(shares / size)[:, None]
        return cls(size, mean, rows)

    @property
    def n_features(self) -> int:
        return len(self.mean)

    @cached_property
    def matrix(self) -> FloatArray:
        """(p, p) covariance."""
        if self._matrix is None:
            assert self._rows is not None
            return self._rows.T @ self._rows
        return self._matrix

    @cached_property
    def diagonal(self) -> FloatArray:
        """(p,) variances."""
        if self._rows is None:
            return np.diagonal(self.matrix).copy()
        return np.einsum("ij,ij->j", self._rows, self._rows)

    def times(self, V: FloatArray) -> FloatArray:
        """The covariance times some vectors."""
        if self._rows is None:
            return self.matrix @ V
        return self._rows.T @ (self._rows @ V)

    def leading(self, number: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, descending, and (p, number) eigenvectors; exact.

        Of fewer rows than features there are as many eigenvalues as rows; the others are 0.
        """
        values, vectors = self._decomposed
        number = len(values) if number is None else min(number, len(values))
        return values, np.ascontiguousarray(vectors[:, :number])

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray]:
        if self._rows is not None and len(self._rows) < self.n_features:
            _, singular, right = np.linalg.svd(self._rows, full_matrices=False)
            return np.square(singular), right.T
        values, vectors = np.linalg.eigh(self.matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
