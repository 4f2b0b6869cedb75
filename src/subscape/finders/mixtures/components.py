"""The distributions of a mixture's components: densities, and the step of each model.

Every step raises the likelihood that rows with given memberships have, or leaves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.types import FloatArray
from subscape.finders.oriented.intrinsic_dims import bic_scores, scree_dim

from .moments import Moments

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

    def dims(self, moments: list[Moments]) -> list[int]:
        """Dimension of each flat, from the eigenvalues of its rows."""
        p = moments[0].n_features
        if not isinstance(self.how, str):
            return [min(int(self.how), p - 1)] * len(moments)
        spectra = [each.leading(0)[0] for each in moments]
        if self.how == "bic" or self.common_dim:
            scores = [
                bic_scores(values, each.size, p)
                for values, each in zip(spectra, moments, strict=True)
            ]
            if not self.common_dim:
                return [int(each.argmin()) for each in scores]
            least = min(map(len, scores))
            if self.how == "bic":
                return [int(sum(each[:least] for each in scores).argmin())] * len(moments)  # type: ignore[union-attr]
        dims = [
            min(scree_dim(values, self.threshold), p - 1, max(int(each.size - 1) // 2, 0))
            for values, each in zip(spectra, moments, strict=True)
        ]
        if self.common_dim:
            sizes = np.array([each.size for each in moments])
            return [round(float(np.average(dims, weights=sizes)))] * len(moments)
        return dims

    def start(self, moments: list[Moments], dims: list[int]) -> list[Flat]:
        """Components of the moments, by exact eigenvectors."""
        found = []
        for each, d in zip(moments, dims, strict=True):
            values, basis = each.leading(d)
            found.append((each, _padded(basis, d), _fill(values[:d], d)))
        return self._shared(found)

    def step(self, moments: list[Moments], old: list[Flat]) -> list[Flat]:
        """Components whose directions are better than the old ones: the best within what these
        and the covariance times these span."""
        found = []
        for each, flat in zip(moments, old, strict=True):
            d = flat.basis.shape[1]
            if 3 * d >= each.n_features:
                values, basis = each.leading(d)
                found.append((each, _padded(basis, d), _fill(values[:d], d)))
                continue
            wide = np.linalg.qr(np.hstack([flat.basis, each.times(flat.basis)]))[0]
            values, vectors = np.linalg.eigh(wide.T @ each.times(wide))
            basis = wide @ vectors[:, ::-1][:, :d]
            found.append((each, basis, np.maximum(values[::-1][:d], 0.0)))
        return self._shared(found)

    def _shared(self, found: list[tuple[Moments, FloatArray, FloatArray]]) -> list[Flat]:
        """Variances, each component its own or one for several."""
        p = found[0][0].n_features
        sizes = np.array([each.size for each, _, _ in found])
        dims = np.array([basis.shape[1] for _, basis, _ in found])
        sums = np.array([values.sum() for _, _, values in found])
        total = np.array([each.diagonal.sum() for each, _, _ in found])
        left = np.maximum(total - sums, 0.0)
        if self.across == "k":
            across = left / np.maximum(p - dims, 1)
        else:
            across = np.full(len(found), sizes @ left / max(sizes @ (p - dims), 1e-300))
        across = np.maximum(across, self.floor)
        flats = []
        for (each, basis, values), b in zip(found, across, strict=True):
            if self.along == "k":
                values = np.full(len(values), values.mean() if len(values) else 0.0)
            elif self.along == "":
                values = np.full(len(values), sizes @ sums / max(sizes @ dims, 1e-300))
            flats.append(Flat(each.mean, basis, np.maximum(values, b), float(b)))
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

    def dims(self, moments: list[Moments]) -> list[int]:
        """Number of factors, the same for all."""
        found = FlatModel(common_dim=True, how=self.how).dims(moments)
        return [max(d, 1) for d in found] if moments[0].n_features > 1 else found

    def start(self, moments: list[Moments], dims: list[int]) -> list[Factors]:
        """Factors along the leading directions."""
        plain = FlatModel(floor=self.floor).start(moments, dims)
        found = []
        for each, flat in zip(moments, plain, strict=True):
            loadings = flat.basis * np.sqrt(np.maximum(flat.along - flat.across, self.floor))
            noise = each.diagonal - np.square(loadings).sum(axis=1)
            found.append(Factors(each.mean, loadings, np.maximum(noise, self.floor)))
        return found

    def step(self, moments: list[Moments], old: list[Factors]) -> list[Factors]:
        """A step of the EM algorithm for factors, each with its memberships given."""
        found = []
        for each, factors in zip(moments, old, strict=True):
            scaled, inner = factors._inner()
            # Scores of the factors are x @ back.
            back = np.asarray(np.linalg.solve(inner, scaled.T).T, np.float64)
            product = each.times(back)
            second = back.T @ product + np.linalg.inv(inner)
            loadings = np.asarray(np.linalg.solve(second, product.T).T, np.float64)
            noise = each.diagonal - np.einsum("ij,ij->i", loadings, product)
            found.append(Factors(each.mean, loadings, np.maximum(noise, self.floor)))
        return found

    def n_parameters(self, found: list[Factors]) -> float:
        """Free parameters of the components, but for their means."""
        p, q = found[0].loadings.shape
        return len(found) * (p * q - q * (q - 1) / 2 + p)


def _padded(basis: FloatArray, d: int) -> FloatArray:
    """A basis of d directions; those that the rows don't have are any."""
    p, have = basis.shape
    if have >= d:
        return basis
    fresh = np.random.default_rng(0).normal(size=(p, d - have))
    return np.ascontiguousarray(np.linalg.qr(np.hstack([basis, fresh]))[0])


def _fill(values: FloatArray, d: int) -> FloatArray:
    return np.concatenate([values, np.zeros(d - len(values))])
