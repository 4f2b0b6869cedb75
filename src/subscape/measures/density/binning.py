"""Ways to cut the columns of a table into bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.arrays.bin_counts import ranges_of
from subscape.arrays.blocks import Blocks
from subscape.arrays.discretize import equal_width_edges
from subscape.core.checks import check_table
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing
from subscape.core.types import FloatArray

from .attributes import Attributes
from .mdl_cuts import mdl_cuts

BINNINGS = ("uniform", "quantile", "mdl")
MISSING = ("error", "bin", "ignore")
MOST_BINS = 2**20


def edges_of(
    found: Attributes, bins: Any, binning: str, labels: ArrayLike | None, missing: str
) -> tuple[FloatArray | None, ...]:
    """Limits of the bins of each numeric column of a table that was read; None for nominal ones.

    The parameters are those of :meth:`subscape.measures.Bins.of`.
    """
    check_choice("missing", missing, MISSING)
    low, high = _ranges(found, missing)
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        return _given(bins, found)
    if not 1 <= bins <= MOST_BINS:
        raise SubscapeError(f"bins must be a number from 1 to {MOST_BINS}, got {bins}")
    check_choice("binning", binning, BINNINGS)
    classes = _classes(labels, len(found.values)) if binning == "mdl" else None
    even = _equal_width(low, high, int(bins), found) if binning == "uniform" else None
    edges: list[FloatArray | None] = []
    for j, level in enumerate(found.levels):
        if level is not None:
            edges.append(None)
        elif not low[j] < high[j]:
            # One value, or none at all: there is nothing to cut.
            value = 0.0 if np.isnan(low[j]) else low[j]
            edges.append(np.array([value, value]))
        elif even is not None:
            edges.append(even[j])
        elif classes is not None:
            edges.append(np.array([low[j], *mdl_cuts(found.column(j), classes), high[j]]))
        else:
            edges.append(_equal_frequency(found.column(j), int(bins)))
    return tuple(edges)


def _ranges(found: Attributes, missing: str) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of every column; bad values are refused."""
    if not isinstance(found.values, Blocks):
        low, high, finite = ranges_of(found.values)
        if not finite:
            refuse_bad_values(found, missing)
        return low, high
    low, high, finite = found.values.ranges
    if not finite:
        for _, block in found.values:
            refuse_bad_values(found._replace(values=block), missing)
    return low, high


def check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices."""
    if given not in choices:
        raise SubscapeError(f"{name} must be one of {', '.join(choices)}; got {given!r}")


def refuse_bad_values(found: Attributes, missing: str) -> None:
    """Name the columns with infinite values and, unless they are welcome, missing ones."""
    if isinstance(found.values, Blocks):
        _ranges(found, missing)
        return
    values = found.values
    columns = dict(zip(found.names, range(len(found.names)), strict=True))
    infinite = [name for name, j in columns.items() if np.isinf(values[:, j]).any()]
    if infinite:
        check_table(_Named(values, found.names), "DensityProfile", missing=True)
    if missing != "error":
        return
    absent = [name for name, j in columns.items() if np.isnan(values[:, j]).any()]
    if absent:
        cells = int(np.isnan(values).sum())
        raise SubscapeError(
            f"Input X contains NaN ({count(cells, 'value')} in {listing(absent, 3)}); say "
            "missing='bin' to count missing values in a bin of their own, missing='ignore' to "
            "leave them out, or impute them first"
        )


class _Named:
    """An array that knows the names of its columns, for messages."""

    def __init__(self, values: NDArray[Any], names: tuple[str, ...]) -> None:
        self._values = values
        self.feature_names = names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._values, dtype=dtype)


def _given(bins: Any, found: Attributes) -> tuple[FloatArray | None, ...]:
    """Limits given for each attribute, by position or by name; nominal ones need none."""
    if isinstance(bins, str) or not isinstance(bins, Sequence | Mapping | np.ndarray):
        raise TypeError(
            "bins is a number of bins, Bins, a DensityProfile, or the limits of each attribute; "
            f"got {bins!r}. How to cut is said by binning="
        )
    if isinstance(bins, Mapping):
        bins = [bins.get(name) for name in found.names]
    if len(bins) != len(found.names):
        raise ShapeMismatchError(
            f"limits are given for {count(len(bins), 'attribute')}, the table has "
            f"{len(found.names)}"
        )
    return tuple(
        None if level is not None else edge for edge, level in zip(bins, found.levels, strict=True)
    )


def _classes(labels: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    if labels is None:
        raise SubscapeError("binning='mdl' needs labels: the classes that the bins shall separate")
    classes = np.asarray(labels)
    if classes.shape != (n_rows,):
        raise ShapeMismatchError(
            f"{n_rows} rows, but labels of shape {classes.shape}; give one label per row"
        )
    return classes


def _equal_width(low: FloatArray, high: FloatArray, n_bins: int, found: Attributes) -> FloatArray:
    far = np.flatnonzero(high / 2 - low / 2 > np.finfo(np.float64).max / 2)
    if len(far):
        raise SubscapeError(
            f"the values of {listing(found.names[j] for j in far)} are too far apart for float64; "
            "rescale them"
        )
    return equal_width_edges(low, high, n_bins)


def _equal_frequency(values: NDArray[Any], n_bins: int) -> FloatArray:
    """Limits at values themselves, so that no bin is empty and equal values stay together."""
    present = values[~np.isnan(values)].astype(np.float64)
    places = np.unique(np.arange(1, n_bins) * len(present) // n_bins)
    present.partition([0, *places, len(present) - 1])
    limits = np.unique(present[places])
    return np.array([present[0], *limits[limits > present[0]], present[-1]])
