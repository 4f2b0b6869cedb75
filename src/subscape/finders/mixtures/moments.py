"""Mean and covariance of the rows of components, as far as a model asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr

from subscape.core.types import FloatArray

#: Rows whose membership is below this don't count.
LEAST_SHARE = 1e-12
#: Eigenvalues below this share of the largest are rounding.
ROUNDING = 1e-12
#: Covariances up to this size are decomposed; of larger ones the leading directions are enough to
#: begin with, since a decomposition would take longer than many steps.
DECOMPOSED_UP_TO = 50
#: Cosines below this are rounding.
RIGHT_ANGLE = 1e-13
#: Half of the directions of a sketch.
SKETCH = 10


class Spectrum(NamedTuple):
    """Eigenvalues of a covariance, descending, with the leading eigenvectors."""

    values: FloatArray
    turn: FloatArray
    """The eigenvectors; of few rows those of their products with each other."""
    is_exact: bool
    rows: FloatArray | None = None
    """These rows; the directions are spelled out as far as they are asked for."""

    @property
    def n_sure(self) -> int:
        """How many directions may be taken from it."""
        return len(self.values) if self.is_exact else self.turn.shape[1] // 2

    def leading(self, number: int) -> FloatArray:
        """(p, number) eigenvectors; fewer where the rows have no more."""
        turn = self.turn[:, :number]
        if self.rows is None:
            return np.ascontiguousarray(turn)
        return np.asarray((self.rows.T @ turn) / np.sqrt(self.values[: turn.shape[1]]))


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
        spectrum = self.spectrum
        return spectrum.values, spectrum.leading(len(spectrum.values) if number is None else number)

    @cached_property
    def spectrum(self) -> Spectrum:
        """All eigenvalues that are not 0 for want of rows, and their eigenvectors."""
        if self._rows is not None and len(self._rows) < self.n_features:
            values, left = np.linalg.eigh(self._rows @ self._rows.T)
            values, left = np.maximum(values[::-1], 0.0), left[:, ::-1]
            # Those of which nothing but rounding is left would not be at right angles.
            number = int((values > ROUNDING * values.max(initial=0.0)).sum())
            return Spectrum(values, left[:, :number], True, self._rows)
        values, vectors = np.linalg.eigh(self.matrix)
        return Spectrum(np.maximum(values[::-1], 0.0), vectors[:, ::-1], True)

    def sketched(self, start: FloatArray, total: float) -> Spectrum:
        """The leading directions, good enough to begin with.

        What the covariance makes of any directions, ``start``, and of that again, spans them; what
        is left of the ``total`` variance is spread evenly over the other directions.
        """
        assert self._rows is not None
        once = orthonormal(self.times(start))
        inside = self._rows @ once
        twice = beside(once, self._rows.T @ inside)
        inside = np.hstack([inside, self._rows @ twice])
        values, turn = leading_of(inside.T @ inside, inside.shape[1])
        rest = max(total - float(values.sum()), 0.0) / max(self.n_features - len(values), 1)
        values = np.concatenate([values, np.full(self.n_features - len(values), rest)])
        return Spectrum(values, np.hstack([once, twice]) @ turn, False)

    @cached_property
    def eigenvalues(self) -> FloatArray:
        """All eigenvalues that are not 0 for want of rows, descending; exact."""
        few = self._rows is not None and len(self._rows) < self.n_features
        matrix = self._rows @ self._rows.T if few and self._rows is not None else self.matrix
        return np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0)


class ManyMoments(Sequence[Moments]):
    """The moments of all components of a mixture."""

    def __init__(self, moments: list[Moments]) -> None:
        self._moments = moments
        self.sizes = np.array([each.size for each in moments])
        self.means = np.array([each.mean for each in moments])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, k: int) -> Moments:  # type: ignore[override]
        return self._moments[k]

    def __iter__(self) -> Iterator[Moments]:
        return (self[k] for k in range(len(self)))

    @property
    def n_features(self) -> int:
        return int(self.means.shape[1])

    @cached_property
    def totals(self) -> FloatArray:
        """(k,) sums of the variances."""
        return np.array([each.diagonal.sum() for each in self])

    @cached_property
    def diagonals(self) -> FloatArray:
        """(k, p) variances."""
        return np.array([each.diagonal for each in self])

    def times(self, vectors: list[FloatArray]) -> list[FloatArray]:
        """Each component's covariance times its (p, d) vectors."""
        return [each.times(V) for each, V in zip(self, vectors, strict=True)]

    def improved(self, bases: list[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """For every component as many directions as given, and the variances along them.

        They are the best within what the given ones, which must be orthonormal, and the covariance
        times these span.
        """
        found = []
        for each, basis in zip(self, bases, strict=True):
            wide = np.hstack([basis, beside(basis, each.times(basis))])
            values, turn = leading_of(wide.T @ each.times(wide), basis.shape[1])
            found.append((wide @ turn, values))
        return found

    def spectra(self) -> list[Spectrum]:
        """Of every component, exact or good enough to begin with."""
        return [each.spectrum for each in self]


def beside(basis: FloatArray, vectors: FloatArray) -> FloatArray:
    """Orthonormal directions at right angles with a basis; with it they span the vectors, too.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.moments import beside
    >>> found = beside(np.array([[1.0], [0.0]]), np.array([[3.0], [4.0]]))
    >>> np.abs(found).round(9).tolist()
    [[0.0], [1.0]]
    """
    vectors = orthonormal(vectors - basis @ (basis.T @ vectors))
    common = basis.T @ vectors
    if np.abs(common).max(initial=0.0) > RIGHT_ANGLE:  # they were hardly beside it
        vectors = orthonormal(vectors - basis @ common)
    return vectors


def orthonormal(vectors: FloatArray) -> FloatArray:
    """Orthonormal columns that span the given ones; some others for those that depend."""
    if not vectors.shape[1]:
        return vectors
    # As numpy.linalg.qr, which takes longer to look at a few columns than to turn them.
    packed, tau, _, _ = dgeqrf(vectors)
    return np.asarray(dorgqr(packed, tau)[0])


def leading_of(matrix: FloatArray, number: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues, descending, and their eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1][:number], 0.0), vectors[:, ::-1][:, :number]


class Table:
    """Rows in memory with what every step asks for."""

    def __init__(self, X: FloatArray) -> None:
        self.X = X

    @cached_property
    def lengths(self) -> FloatArray:
        """(n,) squared lengths of the rows."""
        return np.einsum("ij,ij->i", self.X, self.X)

    @cached_property
    def squares(self) -> FloatArray:
        """(n, p) squares."""
        return np.square(self.X)

    @cached_property
    def any_directions(self) -> FloatArray:
        """(p, s) directions to begin a sketch with."""
        return np.random.default_rng(0).normal(size=(self.X.shape[1], SKETCH))


class Products:
    """The rows of a table along some directions, kept from one step to the next.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        # The array is kept, too, so that no other can have its number.
        self._kept: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._means: tuple[FloatArray, FloatArray] | None = None

    def along(self, vectors: Sequence[FloatArray]) -> list[FloatArray]:
        """(d, n) products with each of some (p, d) arrays, one product for all that are new.

        They may not be changed.
        """
        new = {id(V): V for V in vectors if id(V) not in self._kept}
        found = dict(self._kept)
        if new:
            ends = np.cumsum([V.shape[1] for V in new.values()])[:-1]
            # The other way round, and for the table transposed, the product takes a third longer.
            together = np.ascontiguousarray((self.table.X @ np.hstack(list(new.values()))).T)
            for V, part in zip(new.values(), np.split(together, ends), strict=True):
                found[id(V)] = V, part
        return [found[id(V)][1] for V in vectors]

    def keep(self, vectors: Sequence[FloatArray], products: Sequence[FloatArray]) -> None:
        """Keep these for the next step, and no others."""
        self._kept = {id(V): (V, Y) for V, Y in zip(vectors, products, strict=True)}

    def keep_means(self, means: FloatArray, products: FloatArray) -> None:
        """Keep the (k, n) products with (k, p) means for the next step."""
        self._means = means, products

    def with_means(self, means: FloatArray) -> FloatArray:
        """(k, n) products with (k, p) means; these may not be changed, either."""
        if self._means is not None and np.array_equal(self._means[0], means):
            return self._means[1]
        return self.along([means.T])[0]


class RowMoments(ManyMoments):
    """The moments of components over the same rows, by products for all of them at once.

    No row is copied, and no covariance spelled out. The rows should be centred, so that little
    cancels.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.moments import Moments, Products, RowMoments, Table
    >>> X, shares = np.random.default_rng(0).normal(size=(9, 3)), np.full((9, 2), 0.5)
    >>> found, one = RowMoments(Products(Table(X)), shares), Moments.of(X, shares[:, 0])
    >>> bool(np.allclose(found.times([np.eye(3)] * 2)[0], one.matrix))
    True
    """

    def __init__(self, products: Products, memberships: FloatArray) -> None:
        self._products, self._table, self._memberships = products, products.table, memberships
        self.sizes = memberships.sum(axis=0)
        self._least = np.maximum(self.sizes, 1e-300)
        self._shares = np.ascontiguousarray((memberships / self._least).T)

    @property
    def n_features(self) -> int:
        return int(self._table.X.shape[1])

    @cached_property
    def means(self) -> FloatArray:  # type: ignore[override]
        """(k, p) array."""
        return self._shares @ self._table.X

    def __getitem__(self, k: int) -> Moments:  # type: ignore[override]
        return Moments.of(self._table.X, self._memberships[:, k])

    @cached_property
    def totals(self) -> FloatArray:
        found = self._shares @ self._table.lengths
        return np.maximum(found - np.einsum("ij,ij->i", self.means, self.means), 0.0)

    @cached_property
    def diagonals(self) -> FloatArray:
        return np.maximum(self._shares @ self._table.squares - np.square(self.means), 0.0)

    def times(self, vectors: list[FloatArray]) -> list[FloatArray]:
        return self._back(self._weighted(self._inside(self._products.along(vectors))))

    def improved(self, bases: list[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        old = self._products.along(bases)
        inside = self._inside(old)
        weighted = self._weighted(inside)
        more = [beside(*pair) for pair in zip(bases, self._back(weighted), strict=True)]
        # The next expectation asks for the means; with the others they take no pass of their own.
        *new, to_means = self._products.along([*more, self.means.T])
        self._products.keep_means(self.means, to_means)
        inside_new = self._inside(new)
        weighted_new = self._weighted(inside_new)
        found, kept = [], []
        for k, basis in enumerate(bases):
            d = basis.shape[1]
            within = np.empty((d + len(inside_new[k]),) * 2)
            within[:d, :d] = inside[k] @ weighted[k].T
            within[d:, :d] = inside_new[k] @ weighted[k].T
            within[:d, d:] = within[d:, :d].T
            within[d:, d:] = inside_new[k] @ weighted_new[k].T
            values, turn = leading_of(within, d)
            found.append((np.hstack([basis, more[k]]) @ turn, values))
            kept.append(turn[:d].T @ old[k] + turn[d:].T @ new[k])
        self._products.keep([basis for basis, _ in found], kept)
        return found

    def spectra(self) -> list[Spectrum]:
        p = self.n_features
        if min(p, len(self._table.X) // len(self)) <= DECOMPOSED_UP_TO:
            return super().spectra()
        # By the rows that have a share in each; at the start no row has one in several.
        parts = list(self)
        if "means" not in vars(self):
            self.means = np.array([part.mean for part in parts])
        each = zip(parts, self.totals, strict=True)
        return [part.sketched(self._table.any_directions, float(total)) for part, total in each]

    def _inside(self, products: list[FloatArray]) -> list[FloatArray]:
        """(d, n) rows from each mean, along each component's vectors; of products with these."""
        each = zip(products, self._shares, strict=True)
        return [Y - (Y @ share)[:, None] for Y, share in each]

    def _weighted(self, inside: list[FloatArray]) -> list[FloatArray]:
        return [Y * share for Y, share in zip(inside, self._shares, strict=True)]

    def _back(self, weighted: list[FloatArray]) -> list[FloatArray]:
        """(p, d) sums of the rows by (d, n) weights."""
        ends = np.cumsum([len(Y) for Y in weighted])
        # The means are sums of the rows, too: without a pass of their own.
        wanted = [] if "means" in vars(self) else [self._shares]
        sums = (self._table.X.T @ np.vstack([*weighted, *wanted]).T).T
        *parts, means = np.split(np.ascontiguousarray(sums), ends)
        if wanted:
            self.means = means
        return [part.T for part in parts]
