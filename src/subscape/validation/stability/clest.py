"""Clest: stability of halves beside that in tables without clusters."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.parallel.seeds import seed_sequence
from subscape.runs.store import RunStore
from subscape.validation.nulls import NullModel

from .comparison import Comparison, Metric
from .curves import StabilityCurve, curve_of, mean_of
from .lange import split_runs
from .resampling import Grid, Work, settings_of, table_of, whole_number
from .transfer import Rule

#: How rare under the null, and how much better than it, a setting must be.
P_MAX, D_MIN = 0.05, 0.05


def clest(
    finder: Any,
    X: ArrayLike,
    grid: Grid | None = None,
    *,
    n_splits: int = 20,
    n_nulls: int = 20,
    null: str = "uniform",
    share: float = 2 / 3,
    sampling: str = "rows",
    transfer: str | Rule = "prototype",
    measure: Metric = "clustering_error",
    p_max: float = P_MAX,
    d_min: float = D_MIN,
    mass: str | None = None,
    overlap: str | None = None,
    random_state: Any = 0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
) -> StabilityCurve:
    """Clest of Dudoit and Fridlyand [1]_: similarity of halves beside that in null tables.

    A setting counts if the median similarity of its halves is significantly larger than in tables
    without clusters. Among those that count the largest difference wins; if none counts, there is
    one cluster (``chosen`` is None).

    Parameters
    ----------
    finder, X, grid, mass, overlap, random_state, store, n_jobs, progress
        As in :func:`resampling_stability`.
    n_splits, sampling, transfer
        As in :func:`lange_stability`.
    n_nulls : int, default=20
        Null tables, each with ``n_splits`` splits; costs that many times the runs.
    null : {"uniform", "copula", "permuted", "gaussian"}, default="uniform"
        As in :func:`null_table`; the paper's is "uniform".
    share : float, default=2/3
        Of the rows to learn from.
    measure : str or callable, default="clustering_error"
        Between 0 and 1; similarity is 1 less the distance. The paper's is
        "fowlkes_mallows_score", which sees rows only.
    p_max, d_min : float
        Largest p-value and smallest difference that count.

    Returns
    -------
    StabilityCurve
        ``values`` is the difference d; ``details`` has "similarity" (t), "null_similarity" (t0)
        and "p_value".

    See Also
    --------
    lange_stability : Without null tables.
    gap_statistic : By compactness.
    choose : Several criteria at once.

    References
    ----------
    .. [1] S. Dudoit, J. Fridlyand, "A prediction-based resampling method for estimating the number
       of clusters in a dataset", Genome Biology 3 (2002), doi:10.1186/gb-2002-3-7-research0036.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from subscape.validation import clest
    >>> X, _ = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4]}
    >>> clest(KMeans(n_init=3), X, grid, n_splits=5, n_nulls=5).best
    {'n_clusters': 3}
    """
    whole_number(n_nulls, "n_nulls", 1)
    compare = Comparison(measure, mass, overlap).need_unit_range("Clest")
    settings = settings_of(finder, grid)
    work = Work(store, n_jobs, progress)
    root = seed_sequence(random_state)
    own_seed, null_seed = root.spawn(2)
    model = NullModel(table_of(X, "clest"), null)
    options = (n_splits, share, sampling, transfer)
    outcome = split_runs(finder, X, settings, *options, own_seed, work)
    similarity = 1 - np.array([[compare(*pair) for pair in row] for row in outcome.halves])
    under_null = np.full((len(settings), n_nulls), np.nan)
    for b, child in enumerate(null_seed.spawn(n_nulls)):
        drawing, splitting = child.spawn(2)
        random = split_runs(finder, model.draw(drawing), settings, *options, splitting, work)
        values = 1 - np.array([[compare(*pair) for pair in row] for row in random.halves])
        under_null[:, b] = mean_of(values, by=np.nanmedian)
    observed = mean_of(similarity, by=np.nanmedian)
    level = mean_of(under_null)
    rare = mean_of(np.where(np.isnan(under_null), np.nan, under_null >= observed[:, None]))
    difference = observed - level
    counting = np.flatnonzero((rare <= p_max) & (difference >= d_min))
    return curve_of(
        "Clest",
        settings,
        similarity,
        outcome.runs,
        better="high",
        chosen=int(counting[np.argmax(difference[counting])]) if len(counting) else None,
        rule=f"the largest difference to the null among those with p <= {p_max:g} and a "
        f"difference of at least {d_min:g}",
        details={"similarity": observed, "null_similarity": level, "p_value": rare},
        by=np.nanmedian,
        level=level,
    )
