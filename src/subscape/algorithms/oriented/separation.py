"""Sampled flats and the histograms of distances from them: is there a group of rows close by?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.valleys import minimum_error_cuts

from .flats import Flat, fitted_flat, squared_residuals

FloatArray = NDArray[np.float64]

#: Distances computed in one go.
BLOCK = 2_000_000
#: Flats are ranked on so many rows, and the best few are fitted to the rows they separate.
RANKING_ROWS = 1000
FINALISTS = 5
FITS = 2
#: Every other flat goes through a row and some of its neighbours: this share of the rows.
NEIGHBOURHOOD = 0.1
#: A direction shorter than this share of the longest adds none to a flat.
DEGENERATE = 1e-10
#: Distances below this share of the longest row are rounding: all rows are on the flat.
ROUNDING = 1e-7


class Criterion(NamedTuple):
    """How separations are judged."""

    n_bins: int
    """Bins of the histograms."""
    squared: bool
    """Discriminability squared, or its root."""
    min_size: int
    """Fewer rows close to a flat are no group."""


class Separation(NamedTuple):
    """A flat, the distance within which rows belong to it, and how clearly they are apart."""

    flat: Flat
    threshold: float
    goodness: float


def best_separation(
    X: FloatArray, dim: int, n_samples: int, criterion: Criterion, rng: np.random.Generator
) -> Separation | None:
    """The flat of this dimension that separates its rows most clearly; None if none does.

    Flats through ``dim + 1`` sampled rows are ranked on some of the rows; the best are fitted to
    the rows they separate, and compared on all rows.
    """
    ranked = X if len(X) <= RANKING_ROWS else X[rng.choice(len(X), RANKING_ROWS, replace=False)]
    centres, bases = sampled_flats(ranked, dim, n_samples, rng)
    if not len(centres):
        return None
    fewer = max(2, criterion.min_size * len(ranked) // len(X))
    goodness, thresholds = rank_flats(ranked, centres, bases, criterion._replace(min_size=fewer))
    chosen = np.argsort(-goodness, kind="stable")[:FINALISTS]
    chosen = chosen[goodness[chosen] > -np.inf]
    best: Separation | None = None
    finalists = [Flat(centres[i], bases[i]) for i in chosen]
    reach = thresholds[chosen]
    for again in range(1 + FITS):
        if again:
            finalists = [_fitted(ranked, *pair) for pair in zip(finalists, reach, strict=True)]
        if not finalists:
            break
        goodness, reach = rank_flats(
            X,
            np.array([flat.centre for flat in finalists]),
            np.array([flat.basis for flat in finalists]),
            criterion,
        )
        i = int(goodness.argmax())
        if goodness[i] > (-np.inf if best is None else best.goodness):
            best = Separation(finalists[i], float(reach[i]), float(goodness[i]))
    return best


def _fitted(X: FloatArray, flat: Flat, reach: float) -> Flat:
    """The flat fitted to the rows within reach of it; itself if they are too few."""
    near = squared_residuals(X, [flat])[:, 0] < reach**2
    return fitted_flat(X[near], flat.dim) if near.sum() > flat.dim + 1 else flat


def sampled_flats(
    X: FloatArray, dim: int, n_samples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Centres (m, p) and bases (m, p, dim) of flats through rows; degenerate ones are left out."""
    n = len(X)
    if n <= dim:
        return np.zeros((0, X.shape[1])), np.zeros((0, X.shape[1], dim))
    # Drawn with replacement: a flat through one row twice is degenerate, and left out below.
    some = rng.integers(n, size=(n_samples, dim + 1))
    close = max(2 * dim, int(NEIGHBOURHOOD * n))
    if close < n:
        local = some[::2]
        squares = np.einsum("ij,ij->i", X, X)
        near = np.argpartition(squares - 2 * (X[local[:, 0]] @ X.T), close - 1, axis=1)
        picked = rng.integers(close, size=(len(local), dim))
        local[:, 1:] = np.take_along_axis(near, picked, axis=1)
    centres = X[some[:, 0]]
    steps = (X[some[:, 1:]] - centres[:, None]).transpose(0, 2, 1)
    bases, triangles = np.linalg.qr(steps)
    lengths = np.abs(np.einsum("mii->mi", triangles))
    proper = lengths.min(axis=1) > DEGENERATE * np.abs(X).max()
    return centres[proper], bases[proper]


def rank_flats(
    X: FloatArray, centres: FloatArray, bases: FloatArray, criterion: Criterion
) -> tuple[FloatArray, FloatArray]:
    """Goodness of each flat's separation, and the distance at which it cuts."""
    (m, p, dim), n = bases.shape, len(X)
    n_bins, squared, least = criterion
    goodness, thresholds = np.full(m, -np.inf), np.zeros(m)
    lengths = np.einsum("ij,ij->i", X, X)
    rounding = ROUNDING * np.sqrt(lengths.max())
    size = max(1, BLOCK // (n * max(1, dim)))
    for start in range(0, m, size):
        some = slice(start, start + size)
        centre, basis = centres[some], bases[some]
        along = (X @ basis.transpose(1, 0, 2).reshape(p, -1)).reshape(n, -1, dim)
        along -= np.einsum("mp,mpd->md", centre, basis)
        apart = lengths[:, None] - 2 * (X @ centre.T) + np.einsum("mp,mp->m", centre, centre)
        apart -= np.einsum("nmd,nmd->nm", along, along)
        distances = np.sqrt(np.maximum(apart, 0.0)).T
        widest = distances.max(axis=1)
        scale = n_bins / np.where(widest > 0, widest, 1.0)
        places = np.minimum((distances * scale[:, None]).astype(np.intp), n_bins - 1)
        places += n_bins * np.arange(len(places))[:, None]
        histograms = np.bincount(places.ravel(), minlength=n_bins * len(places))
        cut = minimum_error_cuts(histograms.reshape(-1, n_bins), squared, least)
        goodness[some] = np.where(widest > rounding, cut.goodness, -np.inf)
        thresholds[some] = (cut.bins + 1) / scale
    return goodness, thresholds
