"""Figure of Merit: does a clustering predict the feature that it has not seen?"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsText
from subscape.core.types import FloatArray
from subscape.runs.store import RunStore, Task, run_all
from subscape.validation.stability.resampling import seeds_from, table_of


@dataclass(frozen=True, eq=False)
class FigureOfMerit(ShownAsText):
    """What :func:`figure_of_merit` returns; small is good.

    Attributes
    ----------
    by_feature : array of shape (n_features,)
        Root mean squared deviation of each feature from the means of the clusters found without it;
        NaN where the finder failed or, in subspaces, where no cluster has the feature.
    failures : tuple of str

    See Also
    --------
    figure_of_merit : Makes it.
    """

    by_feature: FloatArray
    failures: tuple[str, ...] = field(default=())

    @property
    def aggregate(self) -> float:
        """Sum over the features, as in the paper."""
        return float(np.nansum(self.by_feature))

    @property
    def mean(self) -> float:
        """Mean over the features, as in the thesis; comparable if features are left out."""
        known = self.by_feature[~np.isnan(self.by_feature)]
        return float(known.mean()) if len(known) else float("nan")

    def __repr__(self) -> str:
        features = count(len(self.by_feature), "feature")
        return f"figure of merit {self.aggregate:.4g} over {features}, {self.mean:.4g} on average"


def figure_of_merit(
    finder: Any,
    X: ArrayLike,
    *,
    adjusted: bool = True,
    squared: bool = False,
    space: str = "full",
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    progress: Any = None,
) -> FigureOfMerit:
    """Figure of Merit of Yeung, Haynor and Ruzzo [1]_: leave one feature out, and predict it.

    The finder searches the table without a feature; then the feature should vary little within the
    clusters. All features are left out in turn.

    Parameters
    ----------
    finder : estimator
    X : array-like of shape (n_rows, n_features)
        At least two features, of comparable units.
    adjusted : bool, default=True
        Divide by the root of (n - k) / n, since more clusters (k) always vary less.
    squared : bool, default=False
        Mean squares, as the thesis of Patrikainen (2005) prints them, instead of Yeung's roots of
        these; adjusted by (n - k) / n itself.
    space : {"full", "subspace"}, default="full"
        "subspace": a feature counts only for those rows in whose cluster it is relevant when the
        whole table is searched: a subspace cluster says nothing about other features.
    store, n_jobs, random_state, progress
        As in :func:`significance`.

    Returns
    -------
    FigureOfMerit

    See Also
    --------
    choose : Several criteria at once.
    prediction_strength : Rows left out instead of features.

    Notes
    -----
    Rows in no cluster count as one more cluster.

    References
    ----------
    .. [1] K. Y. Yeung, D. R. Haynor, W. L. Ruzzo, "Validating clustering for gene expression data",
       Bioinformatics 17 (2001), doi:10.1093/bioinformatics/17.4.309.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from subscape.validation import figure_of_merit
    >>> X = load_iris().data
    >>> merits = [figure_of_merit(KMeans(k, n_init=2), X).aggregate for k in (1, 2, 3)]
    >>> merits[0] > merits[1] > merits[2]
    True
    """
    if space not in ("full", "subspace"):
        raise SubscapeError(f"space must be 'full' or 'subspace', got {space!r}")
    table = np.asarray(table_of(X, "figure_of_merit"), np.float64)
    n, p = table.shape
    if p < 2:
        raise SubscapeError("figure_of_merit leaves out a feature and needs at least two")
    _, (seed,) = seeds_from(random_state, 1)
    every = np.arange(p)
    tasks = [Task(finder, X, columns=np.delete(every, j), seed=seed) for j in range(p)]
    if space == "subspace":
        tasks.append(Task(finder, X, seed=seed))
    runs = run_all(tasks, store, n_jobs, progress)
    failures = tuple(run.error for run in runs if run.error is not None)
    if len(failures) == len(runs) or (space == "subspace" and runs[-1].clustering is None):
        raise SubscapeError(f"the finder fails on the table: {failures[0]}")
    weights = np.ones((n, p))
    if space == "subspace":
        whole = runs[-1].clustering
        weights = np.asarray(whole.memberships.T @ whole.subspaces.relevance)  # type: ignore[union-attr]
    merits = np.array(
        [_merit(table[:, j], run.clustering, weights[:, j], adjusted) for j, run in
         enumerate(runs[:p])]
    )  # fmt: skip
    return FigureOfMerit(np.square(merits) if squared else merits, failures)


def _merit(
    column: FloatArray,
    clustering: SubspaceClustering | None,
    weights: FloatArray,
    adjusted: bool,
) -> float:
    if clustering is None or weights.sum() <= 0:
        return float("nan")
    groups = clustering.labels() + 1
    sizes = np.bincount(groups)
    means = np.bincount(groups, column) / np.maximum(sizes, 1)
    squares = np.square(column - means[groups])
    merit = float(np.sqrt(weights @ squares / weights.sum()))
    used = int((sizes > 0).sum())
    if not adjusted:
        return merit
    return (
        merit / float(np.sqrt((len(column) - used) / len(column)))
        if used < len(column)
        else (float("nan"))
    )
