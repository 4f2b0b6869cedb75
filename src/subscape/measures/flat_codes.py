"""Bits of rows and parameters of flats: the two codes behind the description length.

Values are sent to a step, so that each has the variance of rounding, step² / 12, on top of its own;
no variance is ever 0. What is off a flat is normal with the cluster's own variance. What is along a
flat, or in no cluster, is normal with one *background* that all clusters share; it is fitted to
just what it sends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .fitted_flats import FittedFlat, FloatArray, Moments

#: Bits of a nat.
NAT = float(np.log2(math.e))


class Coded(NamedTuple):
    """Bits for the rows and for the parameters of each cluster, for the noise and background."""

    data: FloatArray
    model: FloatArray
    noise: float
    background: float


def oriented_code(flats: list[FittedFlat], noise: Moments, table: Moments, step: float) -> Coded:
    """One variance off each flat and one background for all directions: rotations change nothing.

    Parameters
    ----------
    flats : list of FittedFlat
    noise, table : Moments
        Of the rows in no cluster, and of all rows.
    step : float
    """
    p = len(table.mean)
    rounding = step**2 / 12
    wide = float(table.variances.mean()) + rounding
    cells, squares, data, model = (np.zeros(len(flats) + 1) for _ in range(4))
    for k, flat in enumerate(flats):
        weight, off = flat.moments.weight, p - flat.dim
        away = flat.moments.mean - table.mean
        if flat.features is None:
            along = float(np.square(flat.basis.T @ away).sum())
            inside = float(flat.values.sum())
        else:  # the flat is the whole space
            along, inside = float(away @ away), float(flat.moments.variances.sum())
        cells[k] = weight * flat.dim
        squares[k] = weight * (inside + along + flat.dim * rounding)
        model[k] = np.log2(p + 1)
        if off:
            tight = flat.residual / off + rounding
            across = max(float(away @ away) - along, 0.0) / off
            data[k] = weight * off * 0.5 * np.log2(2 * np.pi * math.e * tight / step**2)
            model[k] += _log_variance_bits(weight, wide / rounding)
            model[k] += off * _offset_bits(weight, across, tight, wide)
            model[k] += off * float(_angle_bits(weight, flat.values, tight, p, flat.dim).sum())
    away = noise.mean - table.mean
    cells[-1] = noise.weight * p
    squares[-1] = noise.weight * (noise.variances.sum() + away @ away + p * rounding)
    back = squares.sum() / cells.sum() if cells.any() else wide
    data += 0.5 * (cells * np.log2(2 * np.pi * back / step**2) + NAT * squares / back)
    return Coded(data[:-1], model[:-1], float(data[-1]), (p + 1) * _half_log(table.weight))


def aligned_code(
    flats: list[FittedFlat],
    masks: NDArray[np.bool_],
    noise: Moments,
    table: Moments,
    step: FloatArray,
) -> Coded:
    """A variance per feature, in each cluster and in the background: scales change nothing.

    Parameters
    ----------
    flats : list of FittedFlat
    masks : bool array of shape (n_clusters, n_features)
        Relevant features.
    noise, table : Moments
        Of the rows in no cluster, and of all rows.
    step : array of shape (n_features,)
    """
    p = len(table.mean)
    rounding = np.square(step) / 12
    wide = table.variances + rounding
    groups = [*(flat.moments for flat in flats), noise]
    weights = np.array([group.weight for group in groups])[:, None]
    away = np.array([group.mean for group in groups]) - table.mean
    tight = np.array([group.variances for group in groups]) + rounding
    relevant = np.concatenate([masks, np.zeros((1, p), bool)])

    cells = weights * ~relevant
    total = cells.sum(axis=0)
    used = np.where(total > 0, total, 1.0)
    shift = (cells * away).sum(axis=0) / used
    squares = cells * (tight + np.square(away - shift))
    back = np.where(total > 0, squares.sum(axis=0) / used, wide)
    bits = cells * np.log2(2 * np.pi * back / rounding / 12) + NAT * squares / back
    own = weights * relevant * np.log2(2 * np.pi * math.e * tight / rounding / 12)
    data = 0.5 * (bits + own).sum(axis=1)

    model = np.array([np.log2(p + 1) + log_choose(p, int(mask.sum())) for mask in masks])
    for k, mask in enumerate(masks):
        weight = float(weights[k, 0])
        offsets = _offset_bits(weight, np.square(away[k, mask]), tight[k, mask], wide[mask])
        model[k] += float((offsets + _log_variance_bits(weight, (wide / rounding)[mask])).sum())
    return Coded(data[:-1], model, float(data[-1]), 2 * p * _half_log(table.weight))


def log_choose(n: int, k: int) -> float:
    """Bits to name k of n things."""
    return NAT * float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


# -- parameters ---------------------------------------------------------------------------------
# A parameter is sent in cells of width sqrt(12 / information), which lengthens the data by half a
# nat. It costs the logarithm of its range over that width, and never less than half log n.


def _half_log(weight: float) -> float:
    return 0.5 * float(np.log2(max(weight, 1.0)))


def _offset_bits(
    weight: float, away: FloatArray | float, tight: FloatArray | float, wide: FloatArray | float
) -> FloatArray:
    """Where a flat is across one direction, in a table of variance ``wide``; information n / v."""
    extra = np.log2(2 * np.pi * wide / (12 * tight)) + NAT * (1 + away / wide)
    return np.asarray(_half_log(weight) + 0.5 * np.maximum(extra, 0.0))


def _log_variance_bits(weight: float, ratio: FloatArray | float) -> FloatArray:
    """A variance between that of rounding and the table's, on a log scale; information n / 2."""
    extra = np.log2(np.maximum(np.log(ratio), 1.0)) - 0.5 * np.log2(24) + 0.5 * NAT
    return np.asarray(_half_log(weight) + np.maximum(extra, 0.0))


def _angle_bits(weight: float, along: FloatArray, tight: float, p: int, dim: int) -> FloatArray:
    """The angles of each direction of a flat against one direction off it.

    A turn by t moves rows off the flat by t times their spread along it: information n λ / v. The
    range is the volume of all flats, O(p) / (O(l) × O(p − l)), shared among its l (p − l) angles.
    """
    if not len(along):
        return np.zeros(0)
    volume = _log_rotations(p) - _log_rotations(dim) - _log_rotations(p - dim)
    extra = 0.5 * np.log2(np.maximum(along / (12 * tight), 1e-300))
    extra += NAT * (0.5 + volume / (dim * (p - dim)))
    return np.asarray(_half_log(weight) + np.maximum(extra, 0.0))


def _log_rotations(p: int) -> float:
    """Log volume of the orthogonal group, a product of spheres."""
    i = np.arange(1, p + 1)
    return float((np.log(2) + i / 2 * np.log(np.pi) - gammaln(i / 2)).sum())
