"""Sampled flats and the histograms of distances from them: is there a group of rows close by?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.types import FloatArray, IndexArray
from subscape.finders.oriented.flats import Flat, fitted_flat, squared_residuals

from .valleys import minimum_error_cuts

#: Distances computed in one go.
BLOCK = 2_000_000
#: Flats are ranked on so many rows, and the best few are fitted to the rows they separate.
RANKING_ROWS = 1000
FINALISTS = 5
FITS = 2
#: A quarter of the flats go through a row and some of its neighbours: this share of the rows.
#: Half of them are fitted to these neighbours, or to so many times the rows that a flat takes.
NEIGHBOURHOOD = 0.1
NEAREST = 4
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


class Ranking(NamedTuple):
    """How clearly each of several flats separates rows, and the distance at which it cuts."""

    goodness: FloatArray
    thresholds: FloatArray


class FlatSeparation(NamedTuple):
    """A flat, the distance within which rows belong to it, and how clearly they are apart."""

    flat: Flat
    threshold: float
    goodness: float


def best_separation(
    X: FloatArray, dim: int, n_samples: int, criterion: Criterion, rng: np.random.Generator
) -> FlatSeparation | None:
    """The flat of this dimension that separates its rows most clearly; None if none does.

    Flats through sampled rows and flats fitted to neighbourhoods are ranked on some of the rows;
    the best are fitted to the rows they separate, ranked again, and the first measured on all rows.
    """
    ranked = X if len(X) <= RANKING_ROWS else X[rng.choice(len(X), RANKING_ROWS, replace=False)]
    centres, bases = candidate_flats(ranked, dim, n_samples, rng)
    if not len(centres):
        return None
    fewer = criterion._replace(min_size=max(2, criterion.min_size * len(ranked) // len(X)))
    goodness, reach = rank_flats(ranked, centres, bases, fewer)
    chosen = np.argsort(-goodness, kind="stable")[:FINALISTS]
    chosen = chosen[goodness[chosen] > -np.inf]
    if not len(chosen):
        return None
    goodness, reach = goodness[chosen], reach[chosen]
    finalists = [Flat(centres[i], bases[i]) for i in chosen]
    best = FlatSeparation(finalists[0], float(reach[0]), float(goodness[0]))
    for _ in range(FITS):
        finalists = [_fitted(ranked, *pair) for pair in zip(finalists, reach, strict=True)]
        goodness, reach = _judged(ranked, finalists, fewer)
        i = int(goodness.argmax())
        if goodness[i] > best.goodness:
            best = FlatSeparation(finalists[i], float(reach[i]), float(goodness[i]))
    if ranked is X:
        return best
    again = [best.flat, _fitted(X, best.flat, best.threshold)]
    goodness, reach = _judged(X, again, criterion)
    i = int(goodness.argmax())
    if goodness[i] == -np.inf:
        return None
    return FlatSeparation(again[i], float(reach[i]), float(goodness[i]))


def best_sampled(
    X: FloatArray, dim: int, n_samples: int, criterion: Criterion, rng: np.random.Generator
) -> FlatSeparation | None:
    """The same among flats through rows drawn at random, by all rows, and nothing fitted."""
    centres, bases = sampled_flats(X, dim, n_samples, rng, local=False)
    if not len(centres):
        return None
    goodness, reach = rank_flats(X, centres, bases, criterion)
    i = int(goodness.argmax())
    if goodness[i] == -np.inf:
        return None
    return FlatSeparation(Flat(centres[i], bases[i]), float(reach[i]), float(goodness[i]))


def _judged(X: FloatArray, flats: list[Flat], criterion: Criterion) -> Ranking:
    centres = np.array([flat.centre for flat in flats])
    return rank_flats(X, centres, np.array([flat.basis for flat in flats]), criterion)


def _fitted(X: FloatArray, flat: Flat, reach: float) -> Flat:
    """The flat fitted to the rows within reach of it; itself if they are too few."""
    near = squared_residuals(X, [flat])[:, 0] < reach**2
    return fitted_flat(X[near], flat.dim) if near.sum() > flat.dim + 1 else flat


def candidate_flats(
    X: FloatArray, dim: int, n_samples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Centres and bases of flats through rows and, as many, of flats fitted to neighbourhoods."""
    n_fitted = n_samples // 2
    parts = [sampled_flats(X, dim, n_samples - n_fitted, rng)]
    for size in (NEAREST * (dim + 1), int(NEIGHBOURHOOD * len(X))):
        if dim + 1 < size < len(X):
            parts.append(neighbourhood_flats(X, dim, n_fitted // 2, size, rng))
    centres, bases = zip(*parts, strict=True)
    return np.concatenate(centres), np.concatenate(bases)


def sampled_flats(
    X: FloatArray, dim: int, n_samples: int, rng: np.random.Generator, *, local: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Centres (m, p) and bases (m, p, dim) of flats through rows; degenerate ones are left out.

    With ``local``, half of them go through a row and some of its neighbours.
    """
    n = len(X)
    if n <= dim:
        return np.zeros((0, X.shape[1])), np.zeros((0, X.shape[1], dim))
    # Drawn with replacement: a flat through one row twice is degenerate, and left out below.
    some = rng.integers(n, size=(n_samples, dim + 1))
    close = max(2 * dim, int(NEIGHBOURHOOD * n))
    if local and close < n:
        half = some[::2]
        near = _nearest(X, half[:, 0], close)
        picked = rng.integers(close, size=(len(half), dim))
        half[:, 1:] = np.take_along_axis(near, picked, axis=1)
    centres = X[some[:, 0]]
    steps = (X[some[:, 1:]] - centres[:, None]).transpose(0, 2, 1)
    bases, triangles = np.linalg.qr(steps)
    lengths = np.abs(np.einsum("mii->mi", triangles))
    proper = lengths.min(axis=1) > DEGENERATE * np.abs(X).max()
    return centres[proper], bases[proper]


def neighbourhood_flats(
    X: FloatArray, dim: int, n_samples: int, size: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Centres (m, p) and bases (m, p, dim) of flats fitted to the nearest rows of some rows."""
    near = X[_nearest(X, rng.integers(len(X), size=n_samples), size)]
    centres = near.mean(axis=1)
    near -= centres[:, None]
    if size > X.shape[1]:
        values, axes = np.linalg.eigh(near.transpose(0, 2, 1) @ near)
        bases, squares = axes[:, :, : -dim - 1 : -1], values[:, -dim]
    else:
        _, singular, right = np.linalg.svd(near, full_matrices=False)
        bases, squares = right[:, :dim].transpose(0, 2, 1), np.square(singular[:, dim - 1])
    proper = squares > np.square(DEGENERATE * np.abs(X).max())
    return centres[proper], np.ascontiguousarray(bases[proper])


def _nearest(X: FloatArray, rows: IndexArray, size: int) -> IndexArray:
    """The nearest rows, in no order, of some rows."""
    apart = np.einsum("ij,ij->i", X, X) - 2 * (X[rows] @ X.T)
    return np.argpartition(apart, size - 1, axis=1)[:, :size]


def rank_flats(
    X: FloatArray, centres: FloatArray, bases: FloatArray, criterion: Criterion
) -> Ranking:
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
    return Ranking(goodness, thresholds)
