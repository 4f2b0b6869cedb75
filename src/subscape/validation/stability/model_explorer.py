"""Stability of overlapping samples: no clustering has to be carried over to rows it hasn't seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.runs.store import RunStore

from .comparison import Comparison, Metric, Sampled, distance
from .curves import StabilityCurve, curve_of, mean_of
from .resampling import (
    Grid,
    Sample,
    Work,
    run_grid,
    seeds_from,
    settings_of,
    subsamples,
    table_of,
    whole_number,
)

#: A pair of samples agrees if its similarity is above this, and a setting if this share does.
AGREES, OFTEN = 0.9, 0.9


def model_explorer(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_pairs: int = 20,
    sampling: str = "rows",
    share: float = 0.8,
    measure: Metric = "clustering_error",
    mass: str | None = None,
    overlap: str | None = None,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> StabilityCurve:
    """Model Explorer of Ben-Hur, Elisseeff and Guyon [1]_: similarity of pairs of samples.

    Two samples are clustered and compared on what they share, many times. The paper reads the
    number of clusters from the histograms: up to it, similarities pile up near 1.

    Parameters
    ----------
    finder, X, grid, sampling, share, mass, overlap, random_state, store, n_jobs, progress
        As in :func:`resampling_stability`.
    n_pairs : int, default=20
        Independent pairs of samples (the paper takes 100).
    measure : str or callable, default="clustering_error"
        Between 0 and 1; similarity is 1 less the distance. The paper's is
        "fowlkes_mallows_score", which sees rows only.

    Returns
    -------
    StabilityCurve
        ``replicates`` are the similarities; ``details`` has "share_above", that of the pairs
        above 0.9. Chosen is the last setting in which at least 90 % of the pairs are, and if there
        is none, the one after which the mean falls most: list numbers of clusters in increasing
        order. (The rule is ours; the paper leaves it to the eye.)

    See Also
    --------
    resampling_stability : By distances of clusterings.
    lange_stability : Halves of the rows.

    References
    ----------
    .. [1] A. Ben-Hur, A. Elisseeff, I. Guyon, "A stability based method for discovering structure
       in clustered data", Pacific Symposium on Biocomputing 7 (2002),
       doi:10.1142/9789812799623_0002.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from subscape.validation import model_explorer
    >>> X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model_explorer(KMeans(n_init=3), X, {"n_clusters": [2, 3, 4, 5]}, n_pairs=5).best
    {'n_clusters': 3}
    """
    whole_number(n_pairs, "n_pairs", 1)
    compare = Comparison(measure, mass, overlap).need_unit_range("model_explorer")
    settings = settings_of(finder, grid)
    shape = table_of(X, "model_explorer").shape
    drawing, seeds = seeds_from(random_state, 2 * n_pairs)
    samples = subsamples(shape, 2 * n_pairs, sampling=sampling, share=share, random_state=drawing)
    runs = run_grid(finder, X, settings, samples, seeds, Work(store, n_jobs, progress))
    similarity = 1 - np.array(
        [
            [
                distance(Sampled.of_run(row[2 * i]), Sampled.of_run(row[2 * i + 1]), compare)
                for i in range(n_pairs)
            ]
            for row in runs
        ]
    )
    above = mean_of(np.where(np.isnan(similarity), np.nan, similarity > AGREES))
    return curve_of(
        "Model Explorer",
        settings,
        similarity,
        runs,
        better="high",
        chosen=_last_agreeing(above, mean_of(similarity)),
        rule=f"the last setting with {OFTEN:.0%} of the pairs above {AGREES:g}, else the one "
        "before the steepest fall",
        details={"share_above": above},
    )


def _last_agreeing(above: FloatArray, values: FloatArray) -> int | None:
    good = np.flatnonzero(above >= OFTEN)
    if len(good):
        return int(good[-1])
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return None
    falls = values[known[:-1]] - values[known[1:]]
    return int(known[np.argmax(falls)]) if len(falls) else int(known[0])


def levine_domany(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_samples: int = 20,
    sampling: str = "rows",
    share: float = 2 / 3,
    pairs: str = "neighbours",
    n_neighbors: int = 10,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> StabilityCurve:
    """Figure of merit of Levine and Domany [1]_: do pairs of rows stay together, or apart?

    The whole table is clustered, and samples of it. The figure is the share of the pairs of
    neighbouring rows that a sample treats as the whole does. Its local maxima mark settings worth
    a look.

    Parameters
    ----------
    finder, X, grid, sampling, random_state, store, n_jobs, progress
        As in :func:`resampling_stability`.
    n_samples : int, default=20
    share : float, default=2/3
        Of the rows or columns in a sample.
    pairs : {"neighbours", "together"}, default="neighbours"
        Which pairs count: nearest neighbours in the full space, or those that share a cluster of
        the whole table's clustering (at most 50 partners per row, by position) – the better choice
        where the full space is no guide to who is near whom. (The paper says neighbours; how many
        is our choice.)
    n_neighbors : int, default=10

    Returns
    -------
    StabilityCurve
        ``details`` has "local_maximum", 1 where a setting is one (along the grid). The largest of
        them is chosen. Noise rows are together with none.

    See Also
    --------
    resampling_stability : By distances of clusterings.
    model_explorer : Pairs of samples.

    References
    ----------
    .. [1] E. Levine, E. Domany, "Resampling method for unsupervised estimation of cluster
       validity", Neural Computation 13 (2001), doi:10.1162/089976601753196030.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from subscape.validation import levine_domany
    >>> X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> levine_domany(KMeans(n_init=3), X, {"n_clusters": [2, 3, 4, 5]}, n_samples=5).best
    {'n_clusters': 3}
    """
    if pairs not in ("neighbours", "together"):
        raise SubscapeError(f'pairs must be "neighbours" or "together", got {pairs!r}')
    whole_number(n_samples, "n_samples", 1)
    whole_number(n_neighbors, "n_neighbors", 1)
    settings = settings_of(finder, grid)
    table = table_of(X, "levine_domany")
    if table.shape[0] < 2:
        raise SubscapeError("a table of one row has no pairs of rows")
    drawing, seeds = seeds_from(random_state, n_samples + 1)
    samples = subsamples(
        table.shape, n_samples, sampling=sampling, share=share, random_state=drawing
    )
    runs = run_grid(
        finder, X, settings, [*samples, Sample(None, None)], seeds, Work(store, n_jobs, progress)
    )
    near = _neighbours(table, n_neighbors) if pairs == "neighbours" else None
    merits = np.full((len(settings), n_samples), np.nan)
    for g, row in enumerate(runs):
        whole = row[-1].clustering
        if whole is None:
            continue
        chosen = _partners(whole) if near is None else near
        for s, (run, sample) in enumerate(zip(row[:-1], samples, strict=True)):
            if run.clustering is not None:
                merits[g, s] = merit(whole, run.clustering, sample.rows, chosen)
    values = mean_of(merits)
    peaks = _local_maxima(values)
    return curve_of(
        "Levine and Domany",
        settings,
        merits,
        runs,
        better="high",
        chosen=int(peaks[np.argmax(values[peaks])]) if len(peaks) else None,
        rule="the largest local maximum along the grid",
        details={"local_maximum": np.isin(np.arange(len(values)), peaks).astype(np.float64)},
    )


def merit(
    whole: SubspaceClustering,
    part: SubspaceClustering,
    rows: IntArray | None,
    pairs: IntArray,
) -> float:
    """Share of the pairs of rows on which a sample's clustering agrees with the whole table's.

    >>> a, b = (SubspaceClustering.from_labels(y) for y in ([0, 0, 1, 1], [0, 0, 1]))
    >>> merit(a, b, np.array([0, 2, 3]), np.array([[0, 1], [0, 2], [2, 3]]))
    0.0
    """
    place = np.arange(whole.n_rows)
    if rows is not None:
        place = np.full(whole.n_rows, -1)
        place[rows] = np.arange(len(rows))
    kept = pairs[(place[pairs] >= 0).all(axis=1)]
    if not len(kept):
        return float("nan")
    return float(np.mean(_together(whole, kept) == _together(part, place[kept])))


def _together(clustering: SubspaceClustering, pairs: IntArray) -> BoolArray:
    """Whether the rows of each pair share a cluster."""
    if clustering.is_row_disjoint:
        labels = clustering.labels()
        a, b = labels[pairs[:, 0]], labels[pairs[:, 1]]
        return np.asarray((a == b) & (a >= 0))
    members = clustering.members.to_scipy(np.float64).tocsc()
    left, right = members[:, pairs[:, 0]], members[:, pairs[:, 1]]
    return np.asarray(left.multiply(right).sum(axis=0)).ravel() > 0


def _neighbours(table: Any, number: int) -> IntArray:
    if np.isnan(table).any():
        raise SubscapeError(
            'nearest neighbours can\'t be told with values missing; use pairs="together", or '
            "impute them first"
        )
    number = min(number, len(table) - 1)
    near = NearestNeighbors(n_neighbors=number).fit(table).kneighbors(return_distance=False)
    return np.column_stack([np.repeat(np.arange(len(table)), number), near.ravel()])


def _partners(whole: SubspaceClustering, most: int = 50) -> IntArray:
    """Pairs of rows that share a cluster: each row with those that follow it in the cluster."""
    found = []
    for k in range(whole.n_clusters):
        rows = whole.members.rows(k)
        for step in range(1, min(most, len(rows) - 1) + 1):
            found.append(np.column_stack([rows, np.roll(rows, -step)]))
    return np.concatenate(found).astype(np.int64) if found else np.zeros((0, 2), np.int64)


def _local_maxima(values: FloatArray) -> IndexArray:
    padded = np.concatenate([[-np.inf], np.where(np.isnan(values), -np.inf, values), [-np.inf]])
    inner = padded[1:-1]
    return np.flatnonzero((inner >= padded[:-2]) & (inner > padded[2:]) & np.isfinite(inner))
