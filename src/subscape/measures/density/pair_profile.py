"""Density profiles over pairs of attributes: for clusters that single attributes can't tell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray

from .attributes import Levels, in_memory
from .bins import Bins
from .profile import DensityProfile, counts_of, placed


def pair_profile(
    X: Any,
    clustering: Any,
    bins: Any = 10,
    *,
    binning: str = "uniform",
    nominal: Iterable[Any] | None = None,
    missing: str = "error",
) -> DensityProfile:
    """Count the points of a clustering in the grid of every pair of attributes.

    The outlook of [1]_ (section 8): a profile of joint densities sees what single attributes do
    not, such as clusters in opposite corners of a square. It has about R²Q²/2 bins for R attributes
    of Q bins each, and counts become few, so that fewer bins are better.

    Parameters
    ----------
    X, clustering, bins, binning, nominal, missing
        As in :meth:`DensityProfile.of`; ``bins`` are those of the single attributes.

    Returns
    -------
    DensityProfile
        Its attributes are the pairs, ``"a & b"``, and its levels pairs of bins.

    See Also
    --------
    adco_similarity : Compares clusterings by where they lie.

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21(3), 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> from subscape.measures import DensityProfile, adco_similarity, pair_profile
    >>> X = [[0, 0], [1, 1], [0, 1], [1, 0]] * 2
    >>> groups = [0, 0, 1, 1] * 2, [0, 0, 0, 0, 1, 1, 1, 1]
    >>> adco_similarity(*(DensityProfile.of(X, labels, bins=2) for labels in groups))
    1.0
    >>> a, b = (pair_profile(X, labels, bins=2) for labels in groups)
    >>> adco_similarity(a, b), a.bins.names, a.counts.tolist()
    (0.5, ('x0 & x1',), [[2, 0, 0, 2], [0, 2, 2, 0]])
    """
    values, single, given = placed(X, clustering, bins, binning, nominal, missing)
    if single.n_attributes < 2:
        raise ValueError("pairs need a table of at least 2 attributes; use DensityProfile.of")
    codes = _codes(in_memory(values), single)
    texts = [_texts(single, j) for j in range(single.n_attributes)]
    parts: list[NDArray[Any]] = []
    names: list[str] = []
    levels: list[Levels | None] = []
    # One attribute with all later ones at a time: no more columns than the table has.
    for i in range(single.n_attributes - 1):
        later = range(i + 1, single.n_attributes)
        sizes = single.sizes[i + 1 :]
        block = Bins(
            tuple(f"{single.names[i]} & {single.names[j]}" for j in later),
            (None,) * len(later),
            tuple(tuple(f"{a} & {b}" for a, b in product(texts[i], texts[j])) for j in later),
        )
        cells = np.ascontiguousarray(codes[:, [i]] * sizes + codes[:, i + 1 :])
        parts.append(counts_of(cells, block, given.members))
        names += block.names
        levels += block.levels
    pairs = Bins(tuple(names), (None,) * len(names), tuple(levels))
    return DensityProfile(np.hstack(parts), pairs, given.members.sizes(), given.n_rows)


def _codes(values: NDArray[Any], bins: Bins) -> FloatArray:
    """The bin of every value; NaN where it is missing and has none."""
    limits, starts = bins.limits
    codes = np.empty(values.shape)
    for j in range(values.shape[1]):
        own = limits[starts[j] : starts[j + 1]]
        codes[:, j] = np.searchsorted(own, values[:, j].astype(np.float64), side="right")
        absent = np.isnan(values[:, j])
        codes[absent, j] = bins.sizes[j] - 1 if bins.missing_bin else np.nan
    return codes


def _texts(bins: Bins, j: int) -> list[str]:
    """Bins of an attribute in words that are exact, because pairs are told apart by them."""
    edge, level = bins.edges[j], bins.levels[j]
    if edge is None:
        texts = list(level or ())
    else:
        texts = [f"{k}: [{edge[k]!r}, {edge[k + 1]!r}]" for k in range(len(edge) - 1)]
    return texts + ["missing"] * bins.missing_bin
