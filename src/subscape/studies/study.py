"""What an exploration found: views, the runs behind them, and how they were judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core import SubspaceClustering, Table
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import card

from .explanation import FeatureFact
from .new_rows import new_rows, read_as_explored
from .preparation import Recipe
from .rule import Rule
from .verdict import probability, verdict

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """One way to group the rows.

    Attributes
    ----------
    number : int
        Rank, from 1.
    clustering : SubspaceClustering
        Over all rows and features of the table, in its original columns; the largest cluster
        first.
    row_confidence : array of shape (n_rows,)
        How sure each row is where it is, from 0 to 1: votes of the runs for rows that were
        searched, probability under the view's rule for the others.
    finders : tuple of str
        Finders that found it, the best first.
    run_ids, titles : tuple of str
        Their runs, and finder with parameters, the best first.
    score : float
        How clearly it stands out: nats per row gained by telling the clusters apart, per nat that
        the cluster's number tells.
    p_value : float
        Probability that the search finds something as clear in a table without groups.
    stability : float
        Agreement (adjusted Rand index) with what is found on samples of the rows.
    replication : float
        Agreement of the two halves of the rows about the second half.
    cluster_stability, cluster_p_values : arrays of shape (n_clusters,)
    facts : tuple, per cluster, of tuples of FeatureFact
        The features of every cluster, the most telling first (of wide tables the first 1000).
    descriptions : tuple of str
        Every cluster in words.
    coordinates : array of shape (n_shown, 2)
        The shown rows (``Study.shown_rows``) in the two directions that tell the clusters apart
        best.
    loadings : array of shape (n_features, 2)
        How much each feature takes part in these directions; numbers with their sign.
    missing_redundancy : float
        How much of the grouping is explained by which cells are missing, from 0 to 1.
    rule : Rule
        For rows that were not searched and for new ones.
    """

    number: int
    clustering: SubspaceClustering
    row_confidence: FloatArray
    finders: tuple[str, ...]
    run_ids: tuple[str, ...]
    titles: tuple[str, ...]
    score: float
    p_value: float
    stability: float
    replication: float
    cluster_stability: FloatArray
    cluster_p_values: FloatArray
    facts: tuple[tuple[FeatureFact, ...], ...]
    descriptions: tuple[str, ...]
    coordinates: FloatArray
    loadings: FloatArray
    missing_redundancy: float
    rule: Rule

    @property
    def labels(self) -> NDArray[np.int64]:
        """The cluster of each row, -1 for none."""
        return self.clustering.labels()

    @property
    def n_clusters(self) -> int:
        return self.clustering.n_clusters

    @property
    def is_explained_by_missing(self) -> bool:
        """Whether the grouping mostly says which cells are missing."""
        return self.missing_redundancy > 0.5

    def telling_features(self, most: int = 4) -> list[str]:
        """The features that tell most about the clusters, over all of them."""
        sums: dict[str, float] = {}
        for size, listed in zip(self.clustering.sizes, self.facts, strict=True):
            for fact in listed:
                if fact.is_own:
                    told = float(size) * fact.information
                    sums[fact.feature] = sums.get(fact.feature, 0.0) + told
        return sorted(sums, key=lambda name: -sums[name])[:most]

    def _repr_html_(self) -> str:
        head = ["cluster", "rows", "stability", "p", "where"]
        lines = [
            [
                k, float(self.clustering.sizes[k]), float(self.cluster_stability[k]),
                float(self.cluster_p_values[k]), self.descriptions[k].partition("; ")[2],
            ]
            for k in range(self.n_clusters)
        ]  # fmt: skip
        return card("View", repr(self).removeprefix("View "), head, lines, noun="cluster")

    def __repr__(self) -> str:
        return (
            f"View {self.number}: {count(self.n_clusters, 'cluster')}, "
            f"{probability(self.p_value)}, stability {self.stability:.2f}, "
            f"found by {', '.join(self.finders[:4])}"
        )


@dataclass(frozen=True)
class Result:
    """One clustering that a run found.

    Attributes
    ----------
    name : str
        Run and place within it.
    finder, title : str
    n_clusters : int
    score : float
    seconds : float
    view : int
        Number of the view it belongs to; 0 for none.
    x, y : float
        Its place on the map of all results: near ones are alike.
    """

    name: str
    finder: str
    title: str
    n_clusters: int
    score: float
    seconds: float
    view: int
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Study:
    """All views of a table, ranked.

    Attributes
    ----------
    views : tuple of View
    results : tuple of Result
        Every clustering that some run found, in the order of the plan.
    distances : array of shape (n_results, n_results)
        Clustering error between them, as groupings of rows.
    failures : tuple of (str, str)
        Runs that failed: finder with parameters, and why.
    between_views : array of shape (n_views, n_views)
        Share of information that two views have in common (0 = independent, 1 = the same).
    table_schema : tuple of dict
        Name, role, kind and note of each column of the table.
    shape : tuple of int
        Rows and features of the table.
    feature_names : tuple of str
    row_names : tuple of str or None
    searched_rows, shown_rows : int arrays
        Rows that were searched, and those of them in the pictures.
    chance : tuple of float
        Best score on each table without groups.
    notes : tuple of str
        What was done with the table, in sentences.
    settings : dict
        Effort, seed, time, rows searched, versions.
    recipes : tuple of Recipe
        How the searched columns are made from a table's.
    truth : tuple of dict
        For each known grouping that was given for comparison: its name, and per view ARI and NMI.
    is_provisional : bool
        Whether the exploration was stopped before its end.
    """

    views: tuple[View, ...]
    results: tuple[Result, ...]
    distances: FloatArray
    failures: tuple[tuple[str, str], ...]
    between_views: FloatArray
    table_schema: tuple[dict[str, Any], ...]
    shape: tuple[int, int]
    feature_names: tuple[str, ...]
    row_names: tuple[str, ...] | None
    searched_rows: NDArray[np.intp]
    shown_rows: NDArray[np.intp]
    chance: tuple[float, ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    recipes: tuple[Recipe, ...]
    truth: tuple[dict[str, Any], ...] = ()
    is_provisional: bool = False
    folder: str | None = field(default=None, compare=False)

    #: Views with a larger p-value are no better than chance.
    LEVEL = 0.01

    @property
    def honest_views(self) -> tuple[View, ...]:
        """Views that are better than chance."""
        return tuple(view for view in self.views if view.p_value <= self.LEVEL)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        return verdict(self)

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, number: int) -> View:
        """A view by its number, from 1."""
        if not 1 <= number <= len(self.views):
            raise SubscapeError(f"views are numbered 1 to {len(self.views)}, there is no {number}")
        return self.views[number - 1]

    def label_matrix(self) -> NDArray[np.int64]:
        """Labels of all rows, one column per view."""
        if not self.views:
            return np.empty((self.shape[0], 0), dtype=np.int64)
        return np.column_stack([view.labels for view in self.views])

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster of each view."""
        records = []
        for view in self.views:
            for k in range(view.n_clusters):
                own = [fact.feature for fact in view.facts[k] if fact.is_own]
                records.append(
                    {
                        "view": view.number,
                        "cluster": k,
                        "rows": int(view.clustering.sizes[k]),
                        "share": float(view.clustering.sizes[k] / self.shape[0]),
                        "stability": float(view.cluster_stability[k]),
                        "p_value": float(view.cluster_p_values[k]),
                        "view_stability": view.stability,
                        "view_p_value": view.p_value,
                        "features": ", ".join(own[:10]),
                        "description": view.descriptions[k],
                    }
                )
        return records

    def to_frame(self) -> Any:
        """The clusters of all views as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame.from_records(self.to_records())

    def predict(self, X: Any, view: int = 1) -> NDArray[np.int64]:
        """The clusters of new rows in one view.

        Parameters
        ----------
        X : table, data frame, path or array with the columns of the table that was explored
            Columns are found by name and read as they were in that table: nominal levels by
            their text, else by their value (1 is a spelling of the level 01, and of True among
            True and False). How many values match no level is told by a warning.
        view : int, default=1
            Number of the view.

        Returns
        -------
        array of int
            Cluster numbers, -1 for rows in none.
        """
        return self[view].rule(self.prepared(X))[0]

    def prepared(self, X: Any) -> FloatArray:
        """New rows in the columns that were searched."""
        found = new_rows(self.recipes, as_table(X, self.feature_names, self.table_schema))
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return found.X

    def write_anndata(self, adata: Any, key_added: str = "subscape") -> None:
        """Write the views into the AnnData object that was explored, in place.

        View 1 becomes ``adata.obs["subscape_view1"]`` (clusters as categories, missing for rows in
        none), ``adata.obs["subscape_view1_confidence"]``, ``adata.obsm["subscape_view1"]``
        (memberships, one column per cluster) and ``adata.varm["subscape_view1"]`` (how relevant
        each variable is to each cluster); ``adata.uns["subscape"]`` has the verdict, the trust in
        every view, the clusters in words, and how they were found. What an earlier study wrote
        under the same key is replaced.

        Parameters
        ----------
        adata : AnnData
            Rows are found by their names, else by order; rows that were not explored get no
            cluster. Where the features that were explored are no variables of the object
            (``use_rep``), their relevance is in ``uns``.
        key_added : str, default="subscape"
            How all names begin.

        Examples
        --------
        >>> import anndata
        >>> import numpy as np
        >>> from subscape.testing.studies import planted_study
        >>> study = planted_study(60, n_clusters=(3, 2))  # or subscape.explore(adata)
        >>> adata = anndata.AnnData(np.zeros(study.shape))
        >>> study.write_anndata(adata)
        >>> list(adata.obs["subscape_view1"].cat.categories)
        ['0', '1', '2']
        >>> adata.obsm["subscape_view2"].shape
        (60, 2)
        """
        from .annotation import annotate

        annotate(self, adata, key_added)

    def save(self, folder: Any) -> Any:
        """Write the study into a folder; see :func:`load_study`."""
        from .storage import save_study

        return save_study(self, folder)

    def __repr__(self) -> str:
        lines = [self.verdict, *(f"  {view!r}" for view in self.views)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ["view", "clusters", "p", "stability", "tells most", "found by"]
        lines = [
            [
                view.number, view.n_clusters, float(view.p_value), float(view.stability),
                ", ".join(view.telling_features()), ", ".join(view.finders[:4]),
            ]
            for view in self.views
        ]  # fmt: skip
        return card("Study", self.verdict, head, lines, noun="view")


def as_table(
    X: Any,
    names: tuple[str, ...] | None = None,
    schema: Sequence[Mapping[str, Any]] = (),
) -> Table:
    """A table of whatever was given; plain arrays get the names of the features.

    Files and frames are read by the ``schema`` of a table that was explored, if there is one.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, (np.ndarray, list, tuple)):
        array = np.asarray(X)
        fits = names is not None and array.ndim == 2 and array.shape[1] == len(names)
        return Table.from_array(array, feature_names=names if fits else None)
    return read_as_explored(X, schema)
