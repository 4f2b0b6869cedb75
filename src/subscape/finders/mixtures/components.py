"""The distributions of a mixture's components: densities, and the step of each model.

Every step raises the likelihood that rows with given memberships have, or leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from subscape.core.types import FloatArray
from subscape.finders.oriented.intrinsic_dims import many_bic_scores, scree_dim

from .moments import ManyMoments, Products, Spectrum, Table

LOG_2PI = float(np.log(2 * np.pi))


class Flat(NamedTuple):
    """A normal distribution spread along a flat, and equally in all directions across it."""

    mean: FloatArray
    basis: FloatArray
    """(p, d) directions of the flat."""
    along: FloatArray
    """(d,) variances along it (a)."""
    across: float
    """Variance in every direction across it (b)."""

    @property
    def dim(self) -> int:
        return int(self.basis.shape[1])

    @property
    def directions(self) -> FloatArray:
        return self.basis

    def log_densities(self, X: FloatArray) -> FloatArray:
        away = X - self.mean
        inside = away @ self.basis
        square = np.square(inside)
        left = np.maximum(np.einsum("ij,ij->i", away, away) - square.sum(axis=1), 0.0)
        p, d = self.basis.shape
        logs = np.log(self.along).sum() + (p - d) * np.log(self.across) + p * LOG_2PI
        return np.asarray(-0.5 * (square @ (1.0 / self.along) + left / self.across + logs))

    def covariance(self) -> FloatArray:
        """(p, p) array."""
        spread = (self.basis * (self.along - self.across)) @ self.basis.T
        spread[np.diag_indices_from(spread)] += self.across
        return spread


class Factors(NamedTuple):
    """A normal distribution made of a few factors, and noise of its own in every feature."""

    mean: FloatArray
    loadings: FloatArray
    """(p, q) array."""
    noise: FloatArray
    """(p,) variances."""

    @property
    def dim(self) -> int:
        return int(self.loadings.shape[1])

    @property
    def directions(self) -> FloatArray:
        left, singular, _ = np.linalg.svd(self.loadings, full_matrices=False)
        return np.ascontiguousarray(
            left[:, singular > 1e-12 * max(singular.max(initial=0), 1e-300)]
        )

    def _inner(self) -> tuple[FloatArray, FloatArray]:
        """Loadings by noise, and ``I + L^T N^-1 L``."""
        scaled = self.loadings / self.noise[:, None]
        inner = self.loadings.T @ scaled
        inner[np.diag_indices_from(inner)] += 1.0
        return scaled, inner

    def log_densities(self, X: FloatArray) -> FloatArray:
        away = X - self.mean
        scaled, inner = self._inner()
        lower = np.linalg.cholesky(inner)
        explained = np.linalg.solve(lower, (away @ scaled).T)
        square = np.square(away) @ (1.0 / self.noise) - np.square(explained).sum(axis=0)
        logs = np.log(self.noise).sum() + 2 * np.log(np.diagonal(lower)).sum()
        return np.asarray(-0.5 * (np.maximum(square, 0.0) + logs + len(self.mean) * LOG_2PI))

    def covariance(self) -> FloatArray:
        """(p, p) array."""
        spread = self.loadings @ self.loadings.T
        spread[np.diag_indices_from(spread)] += self.noise
        return spread


Component = Flat | Factors


def many_log_densities(products: Products, components: Sequence[Component]) -> FloatArray:
    """(n, k) log-densities of rows, by products for all components at once.

    The rows should be centred, so that little cancels.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.components import Flat, many_log_densities
    >>> from subscape.finders.mixtures.moments import Products, Table
    >>> X = np.array([[0.0, 1.0], [2.0, 0.5]])
    >>> flat = Flat(np.array([1.0, 0.0]), np.array([[1.0], [0.0]]), np.array([4.0]), 0.5)
    >>> found = many_log_densities(Products(Table(X)), [flat])
    >>> bool(np.allclose(found[:, 0], flat.log_densities(X)))
    True
    """
    if isinstance(components[0], Flat):
        flats = [each for each in components if isinstance(each, Flat)]
        return _flat_log_densities(products, flats)
    return _factor_log_densities(
        products.table, [each for each in components if isinstance(each, Factors)]
    )


def _flat_log_densities(products: Products, flats: list[Flat]) -> FloatArray:
    to_means = products.with_means(np.array([flat.mean for flat in flats]))
    inside = products.along([flat.basis for flat in flats])
    logs = products.table.lengths - 2.0 * to_means
    for left, flat, along in zip(logs, flats, inside, strict=True):
        p, d = flat.basis.shape
        left += flat.mean @ flat.mean
        if d:
            square = along - (flat.mean @ flat.basis)[:, None]
            np.square(square, out=square)
            left -= square.sum(axis=0)
        np.maximum(left, 0.0, out=left)
        left *= -0.5 / flat.across
        if d:
            left -= (0.5 / flat.along) @ square
        volume = np.log(flat.along).sum() + (p - d) * np.log(flat.across)
        left -= 0.5 * (volume + p * LOG_2PI)
    return np.asarray(logs.T)


def _factor_log_densities(table: Table, components: list[Factors]) -> FloatArray:
    parts = [each._inner() for each in components]
    means = np.array([each.mean for each in components])
    scaled_means = np.array([each.mean / each.noise for each in components])
    k, p = means.shape
    products = np.hstack([scaled_means.T, *(scaled for scaled, _ in parts)]).T @ table.X.T
    logs, at = products[:k], k
    logs *= -2.0
    logs += np.array([1.0 / each.noise for each in components]) @ table.squares.T
    for i, (each, (scaled, inner)) in enumerate(zip(components, parts, strict=True)):
        q = scaled.shape[1]
        inside, at = products[at : at + q], at + q
        inside -= (each.mean @ scaled)[:, None]
        lower = np.linalg.cholesky(inner)
        explained = solve_triangular(lower, inside, lower=True, check_finite=False)
        square = logs[i]
        square += each.mean @ scaled_means[i]
        square -= np.square(explained, out=explained).sum(axis=0)
        np.maximum(square, 0.0, out=square)
        square += np.log(each.noise).sum() + 2 * np.log(np.diagonal(lower)).sum() + p * LOG_2PI
        square *= -0.5
    return np.asarray(logs.T)


class FlatModel(NamedTuple):
    """How components around flats are fitted: what they share, and how wide they are at least.

    ``along`` is "kj" (a variance per direction), "k" (one per component) or "" (one for all),
    ``across`` "k" or ""; ``common_dim``: all flats have the same dimension.
    """

    along: str = "kj"
    across: str = "k"
    common_dim: bool = False
    how: str | int = "scree"
    """Dimensions by "scree", by "bic", or a number."""
    threshold: float = 0.2
    floor: float = 0.0

    @property
    def gains_from_new_starts(self) -> bool:
        """No: steps end at the leading eigenvectors, where a start begins."""
        return False

    @property
    def weighs_dims(self) -> bool:
        """Whether BIC of the mixture decides between two choices of every flat's own dimension."""
        return self.how == "bic" and not self.common_dim

    def dims(self, spectra: list[FloatArray], sizes: FloatArray, p: int) -> list[int]:
        """Dimension of each flat, from the eigenvalues of its rows."""
        if not isinstance(self.how, str):
            return [min(int(self.how), p - 1)] * len(spectra)
        if self.how == "bic" or self.common_dim:
            longest = max(map(len, spectra))
            values = np.array([_fill(each, longest) for each in spectra])
            scores = many_bic_scores(values, sizes, p)
            if not self.common_dim:
                return [int(d) for d in scores.argmin(axis=1)]
            if self.how == "bic":
                return [int(scores.sum(axis=0).argmin())] * len(spectra)
        dims = [
            min(scree_dim(values, self.threshold), p - 1, max(int(size - 1) // 2, 0))
            for values, size in zip(spectra, sizes, strict=True)
        ]
        if self.common_dim:
            return [round(float(np.average(dims, weights=sizes)))] * len(spectra)
        return dims

    def start(self, moments: ManyMoments, dims: list[int] | None = None) -> list[Flat]:
        """Components of the moments, by their leading eigenvectors; ``dims`` are chosen if None."""
        spectra, dims = begun(moments, self, dims)
        found = []
        for each, d in zip(spectra, dims, strict=True):
            basis = each.leading(d)
            found.append((_padded(basis, d), _fill(each.values[:d], d)))
        return self._shared(moments, found)

    def step(self, moments: ManyMoments, old: list[Flat]) -> list[Flat]:
        """Components whose directions are better than the old ones: the best within what these
        and the covariance times these span."""
        p = moments.n_features
        if max(flat.dim for flat in old) * 3 < p:
            return self._shared(moments, moments.improved([flat.basis for flat in old]))
        found = []
        for each, flat in zip(moments, old, strict=True):
            values, basis = each.leading(flat.dim)
            found.append((_padded(basis, flat.dim), _fill(values[: flat.dim], flat.dim)))
        return self._shared(moments, found)

    def _shared(
        self, moments: ManyMoments, found: list[tuple[FloatArray, FloatArray]]
    ) -> list[Flat]:
        """Variances, each component its own or one for several."""
        p, sizes = moments.n_features, moments.sizes
        dims = np.array([basis.shape[1] for basis, _ in found])
        sums = np.array([values.sum() for _, values in found])
        left = np.maximum(moments.totals - sums, 0.0)
        if self.across == "k":
            across = left / np.maximum(p - dims, 1)
        else:
            across = np.full(len(found), sizes @ left / max(sizes @ (p - dims), 1e-300))
        across = np.maximum(across, self.floor)
        flats = []
        for mean, (basis, values), b in zip(moments.means, found, across, strict=True):
            if self.along == "k":
                values = np.full(len(values), values.mean() if len(values) else 0.0)
            elif self.along == "":
                values = np.full(len(values), sizes @ sums / max(sizes @ dims, 1e-300))
            flats.append(Flat(mean, basis, np.maximum(values, b), float(b)))
        return flats

    def n_parameters(self, flats: list[Flat]) -> float:
        """Free parameters of the components, but for their means."""
        p = len(flats[0].mean)
        dims = np.array([flat.basis.shape[1] for flat in flats])
        turns = float((dims * (p - (dims + 1) / 2)).sum())
        along = {"kj": float(dims.sum()), "k": float(len(flats)), "": 1.0}[self.along]
        chosen = 1 if self.common_dim else len(flats)
        return turns + along + (len(flats) if self.across == "k" else 1) + chosen


class FactorModel(NamedTuple):
    """How components made of factors are fitted."""

    how: str | int = "bic"
    floor: float = 0.0

    @property
    def gains_from_new_starts(self) -> bool:
        """Yes: steps are slow, and a start from the same memberships may be ahead of them."""
        return True

    @property
    def weighs_dims(self) -> bool:
        """No: one number for all hardly depends on what a start mixes."""
        return False

    def dims(self, spectra: list[FloatArray], sizes: FloatArray, p: int) -> list[int]:
        """Number of factors, the same for all."""
        found = FlatModel(common_dim=True, how=self.how).dims(spectra, sizes, p)
        return [max(d, 1) for d in found] if p > 1 else found

    def start(self, moments: ManyMoments, dims: list[int] | None = None) -> list[Factors]:
        """Factors along the leading directions; ``dims``: their numbers, chosen if None."""
        spectra, dims = begun(moments, self, dims)
        found = []
        for k, (each, d) in enumerate(zip(spectra, dims, strict=True)):
            along = np.maximum(_fill(each.values[:d], d), self.floor)
            left = max(float(moments.totals[k]) - float(each.values[:d].sum()), 0.0)
            across = max(left / max(moments.n_features - d, 1), self.floor)
            basis = _padded(each.leading(d), d)
            loadings = basis * np.sqrt(np.maximum(along - across, self.floor))
            noise = moments.diagonals[k] - np.square(loadings).sum(axis=1)
            found.append(Factors(moments.means[k], loadings, np.maximum(noise, self.floor)))
        return found

    def step(self, moments: ManyMoments, old: list[Factors]) -> list[Factors]:
        """A step of the EM algorithm for factors, each with its memberships given."""
        parts = [factors._inner() for factors in old]
        # Scores of the factors are x @ back.
        backs = [
            np.asarray(np.linalg.solve(inner, scaled.T).T, np.float64) for scaled, inner in parts
        ]
        found = []
        for k, product in enumerate(moments.times(backs)):
            second = backs[k].T @ product + np.linalg.inv(parts[k][1])
            loadings = np.asarray(np.linalg.solve(second, product.T).T, np.float64)
            noise = moments.diagonals[k] - np.einsum("ij,ij->i", loadings, product)
            found.append(Factors(moments.means[k], loadings, np.maximum(noise, self.floor)))
        return found

    def n_parameters(self, found: list[Factors]) -> float:
        """Free parameters of the components, but for their means."""
        p, q = found[0].loadings.shape
        return len(found) * (p * q - q * (q - 1) / 2 + p)


def begun(
    moments: ManyMoments, model: FlatModel | FactorModel, dims: list[int] | None
) -> tuple[list[Spectrum], list[int]]:
    """Leading directions of every component, and how many of them to take.

    Where more are wanted than can be taken from a sketch, and for the scree test, which looks at
    all eigenvalues, they are exact.
    """
    p, sizes = moments.n_features, moments.sizes
    exact = model.how == "scree"
    spectra = [each.spectrum for each in moments] if exact else moments.spectra()
    wanted = dims or model.dims([each.values for each in spectra], sizes, p)
    if any(d > each.n_sure for d, each in zip(wanted, spectra, strict=True) if not each.is_exact):
        spectra = [each.spectrum for each in moments]
        wanted = dims or model.dims([each.values for each in spectra], sizes, p)
    return spectra, wanted


def likely_dims(moments: ManyMoments, model: FlatModel | FactorModel) -> list[int]:
    """The dimensions that a model chooses, by all eigenvalues unless a sketch says very few."""
    p, sizes = moments.n_features, moments.sizes
    if model.how == "bic":
        spectra = moments.spectra()
        dims = model.dims([each.values for each in spectra], sizes, p)
        if all(
            each.is_exact or 2 * d <= each.n_sure for d, each in zip(dims, spectra, strict=True)
        ):
            return dims
    return model.dims([each.eigenvalues for each in moments], sizes, p)


def _padded(basis: FloatArray, d: int) -> FloatArray:
    """A basis of d directions; those that the rows don't have are any."""
    p, have = basis.shape
    if have >= d:
        return basis
    fresh = np.random.default_rng(0).normal(size=(p, d - have))
    return np.ascontiguousarray(np.linalg.qr(np.hstack([basis, fresh]))[0])


def _fill(values: FloatArray, d: int) -> FloatArray:
    return np.concatenate([values, np.zeros(d - len(values))])
