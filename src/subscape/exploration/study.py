"""What an exploration found: views, the runs behind them, and how they were scored."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from subscape.arrays.row_values import handed_out
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import FileFormatError, SubscapeError, count
from subscape.core.markup import card
from subscape.core.plain_values import frame_of
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.files.archive import load, read_arrays, save
from subscape.files.atomic import write_atomically, write_text_atomically
from subscape.files.labels import harmless
from subscape.tables.columns import NOT_AS_NUMBERS
from subscape.tables.readers.boundary import guarded, parsed_json
from subscape.tables.table import Table
from subscape.validation.criteria import DISSOLVED, SIGNIFICANCE_LEVEL

from .explain import FeatureFact
from .levels import Merge, labels_at, recommended_level
from .new_rows import new_rows, read_as_explored
from .parted_tables import PartedTable, is_parted
from .power import Power
from .preparation import Recipe
from .rule import Rule
from .verdict import probability, verdict


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
    idea : {"clouds", "boxes", "classes", "shapes", "nested"}
        What a group is here: a cloud in some directions, narrow in features of its own, a class
        within which the columns are independent, or of any shape, parted by valleys or gaps.
    idea_note : str
        The same in words, with why the other ideas fit less.
    merges : tuple of Merge
        The clusters merged step by step, in the order that loses least.
    n_tables, n_ideas : int
        Tables without groups that it was held against, and ideas of a group that were tried: its
        p-value is multiplied by their number, and counting alone reaches no less than ``n_ideas /
        (n_tables + 1)``.
    p_interval : tuple of two float, or None
        Where that probability is (95 %), where it was read from a fitted tail.
    cluster_p_intervals : tuple, per cluster, of two float or None
        The same for the clusters; empty if nothing was fitted.
    names : tuple of str
        What somebody calls the clusters (:meth:`Study.renamed`); empty if nobody did.

    See Also
    --------
    Study : All views of a table.
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
    idea: str = "clouds"
    idea_note: str = ""
    merges: tuple[Merge, ...] = ()
    n_tables: int = 0
    n_ideas: int = 1
    p_interval: tuple[float, float] | None = None
    cluster_p_intervals: tuple[tuple[float, float] | None, ...] = ()
    names: tuple[str, ...] = ()

    def called(self, cluster: int) -> str:
        """What a cluster is called: the name that somebody gave it, else its number from 1.

        Returns
        -------
        str
            Such as ``cluster 2`` or ``cluster 2 (young)``.
        """
        return (self.names[cluster] if self.names else "") or str(cluster + 1)

    @property
    def is_fitted(self) -> bool:
        """Whether the p-value is smaller than counting tables can give: read from a fitted tail."""
        return self.n_tables > 0 and self.p_value < self.n_ideas / (self.n_tables + 1) - 1e-12

    @property
    def fitted_clusters(self) -> BoolArray:
        """Whether the p-value of each cluster is smaller than counting tables can give."""
        smallest = self.n_ideas / (self.n_tables + 1) - 1e-12
        return np.asarray((self.cluster_p_values < smallest) & (self.n_tables > 0))

    def cluster_interval(self, cluster: int) -> tuple[float, float] | None:
        """Where the p-value of a cluster is (95 %), if it was read from a fitted tail.

        Returns
        -------
        tuple of two float, or None
        """
        return self.cluster_p_intervals[cluster] if self.cluster_p_intervals else None

    @property
    def claimed_clusters(self) -> BoolArray:
        """The clusters that can be claimed, if the view can.

        Those that are better than chance and don't dissolve on samples of the rows; what was not
        tried speaks against none.
        """
        unlikely = ~(np.asarray(self.cluster_p_values) > SIGNIFICANCE_LEVEL)
        return np.asarray(unlikely & ~(np.asarray(self.cluster_stability) < DISSOLVED))

    @property
    def chance(self) -> str:
        """The p-value in words, with how it was got."""
        return probability(self.p_value, self.n_tables, self.n_ideas, self.p_interval)

    def at(self, n_clusters: int) -> IntArray:
        """The cluster of each row when clusters are merged until so many are left.

        Parameters
        ----------
        n_clusters : int
            From 2 to the number of clusters of the view; see :attr:`levels`.

        Returns
        -------
        array of int
            -1 for rows in none; the largest cluster is 0.
        """
        return labels_at(self.labels, self.merges, n_clusters)

    @property
    def levels(self) -> tuple[int, ...]:
        """Numbers of clusters at which the view can be cut, its own first."""
        return (self.n_clusters, *(merge.n_clusters for merge in self.merges))

    @property
    def recommended(self) -> int:
        """The most clusters that are better than chance and come back on samples."""
        return recommended_level(self.n_clusters, self.p_value, self.stability, self.merges)

    @property
    def labels(self) -> IntArray:
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
        """The features that tell most about the clusters, over all of them.

        Only those count that are sure for some cluster, if there are such.

        Returns
        -------
        list of str
            At most ``most`` names, the most telling first.
        """
        sums: dict[str, float] = {}
        # What one cluster lacks and others hardly have tells much in nats, and surely nothing.
        sure = any(fact.is_own and fact.is_sure for listed in self.facts for fact in listed)
        for size, listed in zip(self.clustering.sizes, self.facts, strict=True):
            for fact in listed:
                if fact.is_own and (fact.is_sure or not sure):
                    told = float(size) * fact.information
                    sums[fact.feature] = sums.get(fact.feature, 0.0) + told
        return sorted(sums, key=lambda name: -sums[name])[:most]

    def _repr_html_(self) -> str:
        head = ["cluster", "rows", "stability", "p", "where"]
        lines = [
            [
                k + 1, float(self.clustering.sizes[k]), float(self.cluster_stability[k]),
                float(self.cluster_p_values[k]), self.descriptions[k].partition("; ")[2],
            ]
            for k in range(self.n_clusters)
        ]  # fmt: skip
        return card("View", repr(self).removeprefix("View "), head, lines, noun="cluster")

    def __repr__(self) -> str:
        return (
            f"View {self.number}: {count(self.n_clusters, 'cluster')}, "
            f"{self.chance}, stability {self.stability:.2f}, "
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

    See Also
    --------
    Study : All results of a study.
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


@dataclass(frozen=True)
class NearMiss:
    """A grouping that some run found and that is no view.

    Attributes
    ----------
    name, finder, title : str
        As of its result.
    n_clusters : int
    score, p_value : float
        As of a view.
    stability : float
        NaN where samples were not tried.
    features : tuple of str
        Those that tell most about its clusters.
    missing_redundancy : float
        How much of it is explained by which cells are missing, from 0 to 1.
    """

    name: str
    finder: str
    title: str
    n_clusters: int
    score: float
    p_value: float
    stability: float
    features: tuple[str, ...] = ()
    missing_redundancy: float = 0.0


@dataclass(frozen=True, eq=False)
class Study:
    """All views of a table, ranked.

    Attributes
    ----------
    views : tuple of View
    results : tuple of Result
        Every clustering that some run found and that groups the rows, in the order of the plan;
        those with a score of at most 0 describe the table no better than one cloud does.
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
    chance, curve_chance : tuple of float
        Best score on each table without groups; and on those whose rows lie along a bent curve,
        where such were drawn.
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
    near_misses : tuple of NearMiss
        The clearest groupings that are no views, the clearest first.
    power : Power or None
        How strong a grouping would have had to be to be seen.
    asked : View or None
        The grouping into a number of clusters that somebody asked for, whatever it is worth; it is
        none of the views.
    value_features : tuple of str
    values : array of shape (n_shown, n_value_features)
        Values of the most telling numeric features, for the pictures of the shown rows.
    part_lengths : tuple of int
        Of a table in parts, the rows of each; labels are then kept in parts, too.

    See Also
    --------
    subscape.explore : Makes a study.
    subscape.load_study : Reads one from its folder.
    subscape.exploration.View : One way to group the rows.
    subscape.report.write_report : The page of a study.
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
    searched_rows: IndexArray
    shown_rows: IndexArray
    chance: tuple[float, ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    recipes: tuple[Recipe, ...]
    truth: tuple[dict[str, Any], ...] = ()
    is_provisional: bool = False
    near_misses: tuple[NearMiss, ...] = ()
    power: Power | None = None
    curve_chance: tuple[float, ...] = ()
    asked: View | None = None
    value_features: tuple[str, ...] = ()
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    part_lengths: tuple[int, ...] = ()
    folder: str | None = field(default=None, compare=False)

    #: Views with a larger p-value are no better than chance.
    LEVEL = SIGNIFICANCE_LEVEL

    @property
    def significant_views(self) -> tuple[View, ...]:
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

    def label_matrix(self) -> IntArray:
        """Labels of all rows, one column per view.

        Returns
        -------
        array of shape (n_rows, number of views)
            Labels from 0; -1 for rows in no cluster.
        """
        if not self.views:
            return np.empty((self.shape[0], 0), dtype=np.int64)
        return np.column_stack([view.labels for view in self.views])

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster of each view; clusters are counted from 1, as on the page.

        Returns
        -------
        list of dict
            Ready for ``pandas.DataFrame``.
        """
        records = []
        for view in self.views:
            for k in range(view.n_clusters):
                low, high = view.cluster_interval(k) or (None, None)
                own = [fact.feature for fact in view.facts[k] if fact.is_own]
                records.append(
                    {
                        "view": view.number,
                        "cluster": k + 1,
                        "name": view.names[k] if view.names else "",
                        "rows": int(view.clustering.sizes[k]),
                        "share": float(view.clustering.sizes[k] / self.shape[0]),
                        "stability": float(view.cluster_stability[k]),
                        "p_value": float(view.cluster_p_values[k]),
                        "p_value_is_fitted": bool(view.fitted_clusters[k]),
                        "p_value_low": low,
                        "p_value_high": high,
                        "claimed": bool(view.p_value <= self.LEVEL and view.claimed_clusters[k]),
                        "view_stability": view.stability,
                        "view_p_value": view.p_value,
                        "view_p_value_is_fitted": view.is_fitted,
                        "features": ", ".join(own[:10]),
                        "description": view.descriptions[k],
                    }
                )
        return records

    def to_frame(self, library: str = "pandas") -> Any:
        """The clusters of all views as a data frame of pandas, "polars" or "pyarrow".

        Returns
        -------
        data frame
            Of the library asked for, with the columns of :meth:`to_records`.
        """
        return frame_of(self.to_records(), library)

    def predict(self, X: Any, view: int = 1) -> IntArray:
        """The clusters of new rows in one view.

        Parameters
        ----------
        X : table, data frame, path or array with the columns of the table that was explored
            Columns are found by name and read as they were in that table: nominal levels by
            their text, else by their value (1 is a spelling of the level 01, and of True among
            True and False). How many values match no level is told by a warning. Tables in parts,
            such as a folder of Parquet files or a Dask array, are read in blocks.
        view : int, default=1
            Number of the view.

        Returns
        -------
        array of int
            Cluster numbers, -1 for rows in none. A Dask array where the rows lie on a cluster.
        """
        if is_parted(X):
            found = PartedTable.of(X).assigned(self.recipes, self[view].rule).labels
            return handed_out(found, np.int64)
        return self[view].rule(self.prepared(X))[0]

    def prepared(self, X: Any) -> FloatArray:
        """New rows in the columns that were searched.

        Returns
        -------
        array of shape (rows of X, columns searched)
        """
        size = self.settings.get("library_size")
        found = new_rows(self.recipes, as_table(X, self.feature_names, self.table_schema, size))
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return found.X

    def renamed(self, names: Mapping[tuple[int, int], str]) -> Study:
        """The same study with names for some of its clusters.

        Names are kept by :meth:`save`, and stand in ``labels.csv``, in the words about the
        clusters, on the page, and as categories in AnnData.

        Parameters
        ----------
        names : mapping from (view, cluster) to str
            Both counted from 1; an empty name takes one away.

        Returns
        -------
        Study

        Examples
        --------
        >>> from subscape.testing.studies import planted_study
        >>> study = planted_study(60, n_clusters=(3, 2)).renamed({(1, 2): "young"})
        >>> study[1].called(1), study[1].called(0)
        ('young', '1')
        >>> study[1].descriptions[1].partition(":")[0]
        'cluster 2 (young)'
        """
        given = {key: " ".join(str(name).split()) for key, name in names.items()}
        known = {view.number: view for view in all_views(self)}
        for number, cluster in given:
            if number not in known:
                raise SubscapeError(
                    f"there is no view {number}; the study has {count(len(self.views), 'view')}"
                )
            if not 1 <= cluster <= known[number].n_clusters:
                raise SubscapeError(
                    f"view {number} has {count(known[number].n_clusters, 'cluster')}, counted from "
                    f"1; there is no {cluster}"
                )
        views = tuple(_renamed(view, given) for view in self.views)
        asked = None if self.asked is None else _renamed(self.asked, given)
        return replace(self, views=views, asked=asked)

    def write_anndata(self, adata: Any, key_added: str = "subscape") -> None:
        """Write the views into the AnnData object that was explored, in place.

        View 1 becomes ``adata.obs["subscape_view1"]`` (clusters as categories, missing for rows in
        none), ``adata.obs["subscape_view1_confidence"]``, ``adata.obsm["subscape_view1"]``
        (memberships, one column per cluster) and ``adata.varm["subscape_view1"]`` (how relevant
        each variable is to each cluster); ``adata.uns["subscape"]`` has the verdict, the trust in
        every view, the clusters in words, and how they were found. The features of the clusters,
        with false discovery rates, are in ``adata.uns["subscape_view1_markers"]`` in the layout of
        scanpy's ``rank_genes_groups`` (``scanpy.pl.rank_genes_groups(adata,
        key="subscape_view1_markers")`` and its sisters draw them), and those of view 1 also where
        scanpy looks by itself, unless there is a table of somebody else. What an earlier study
        wrote under the same key is replaced.

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

    def write_labels(self, path: str | os.PathLike[str], *, levels: bool = False) -> Path:
        """Write the clusters of all rows as CSV, counted from 1; -1 for rows in none.

        Parameters
        ----------
        path : path
            Replaced if it is there.
        levels : bool, default=False
            Whether to add, for each view, the clusters at every level of its tree: ``view_1_at_3``
            is view 1 merged until 3 clusters are left.

        Returns
        -------
        Path
        """
        return write_atomically(
            path, lambda stream: write_labels(self, stream, levels=levels), force=True
        )

    def save(self, folder: Any) -> Any:
        """Write the study into a folder; see :func:`load_study`.

        Returns
        -------
        Path
            The folder.
        """
        return save_study(self, folder)

    @property
    def not_used(self) -> tuple[str, ...]:
        """What is said of each column that looks like numbers and is not used as such."""
        return tuple(note for note in self.notes if NOT_AS_NUMBERS in note)

    def __repr__(self) -> str:
        above = [f"Not used: {note}" for note in self.not_used]
        return "\n".join([*above, self.verdict, *(f"  {view!r}" for view in self.views)])

    def _repr_html_(self) -> str:
        head = ["view", "clusters", "p", "stability", "tells most", "found by"]
        lines = [
            [
                view.number, view.n_clusters, float(view.p_value), float(view.stability),
                ", ".join(view.telling_features()), ", ".join(view.finders[:4]),
            ]
            for view in self.views
        ]  # fmt: skip
        said = " ".join([*(f"Not used: {note}." for note in self.not_used), self.verdict])
        return card("Study", said, head, lines, noun="view")


def _renamed(view: View, given: Mapping[tuple[int, int], str]) -> View:
    """A view with names for its clusters; no two clusters have the same."""
    before = view.names or ("",) * view.n_clusters
    names = tuple(given.get((view.number, k + 1), old) for k, old in enumerate(before))
    twice = {name for name in names if name and names.count(name) > 1}
    if twice:
        raise SubscapeError(
            f"two clusters of view {view.number} would be called {min(twice)!r}; give each a name "
            "of its own"
        )
    words = []
    for k, (old, new, text) in enumerate(zip(before, names, view.descriptions, strict=True)):
        rest = text.removeprefix(f"cluster {k + 1}").removeprefix(f" ({old})" if old else "")
        words.append(f"cluster {k + 1}{f' ({new})' if new else ''}{rest}")
    return replace(view, names=names if any(names) else (), descriptions=tuple(words))


def as_table(
    X: Any,
    names: tuple[str, ...] | None = None,
    schema: Sequence[Mapping[str, Any]] = (),
    library_size: float | None = None,
) -> Table:
    """A table of whatever was given; plain arrays get the names of the features.

    Files and frames are read by the ``schema`` of a table that was explored, if there is one, and
    counts brought to its library size.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, (np.ndarray, list, tuple)):
        array = np.asarray(X)
        fits = names is not None and array.ndim == 2 and array.shape[1] == len(names)
        return Table.from_array(array, feature_names=names if fits else None)
    return read_as_explored(X, schema, normalize=library_size or "auto")


# -- A study in a folder: the views as clusterings, everything else as plain text and arrays -------


FORMAT = "subscape-study/1"
NAME = "study.json"

#: Rows written at a time.
BLOCK = 50_000
#: Arrays of a view that are kept in one file for all views.
VIEW_ARRAYS = ("row_confidence", "cluster_stability", "cluster_p_values", "coordinates", "loadings")
RULE_ARRAYS = ("basis", "centres", "spreads", "shares", "numbers")
#: What of a view is kept as it is, and as numbers that may be none.
VIEW_TEXTS = (
    "number", "finders", "run_ids", "titles", "descriptions", "idea", "idea_note", "n_tables",
    "n_ideas",
)  # fmt: skip
VIEW_NUMBERS = ("score", "p_value", "stability", "replication", "missing_redundancy")
STUDY_ARRAYS = ("distances", "between_views", "searched_rows", "shown_rows", "values")


def save_study(study: Study, folder: str | os.PathLike[str]) -> Path:
    """Write a study into a folder, file by file, each complete or not there.

    ``study.json`` is written last, so that a folder that has it is whole.
    """
    home = Path(folder)
    (home / "views").mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(study, name) for name in STUDY_ARRAYS}
    for view in all_views(study):
        save(home / "views" / f"view_{view.number}.subscape", view.clustering, force=True)
        arrays |= {f"view{view.number}_{name}": getattr(view, name) for name in VIEW_ARRAYS}
        arrays |= {f"rule{view.number}_{name}": getattr(view.rule, name) for name in RULE_ARRAYS}
    _write(home / "views" / "arrays.npz", lambda stream: np.savez_compressed(stream, **arrays))
    if study.part_lengths:
        write_label_parts(study, home / "labels")
    else:
        _write(home / "labels.csv", lambda stream: write_labels(study, stream))
    write_text_atomically(home / "clusters.csv", clusters_csv(study), force=True)
    timings = json.dumps({r.name: r.seconds for r in study.results})
    write_text_atomically(home / "timings.json", timings, force=True)
    write_text_atomically(home / NAME, _json(_as_plain(study)), force=True)
    return home


def load_study(folder: str | os.PathLike[str]) -> Study:
    """Read a study that was saved.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Study

    See Also
    --------
    explore : Makes a study.
    subscape.report.write_report : The page of a study.
    """
    home = Path(folder)
    path = home / NAME
    if not path.exists():
        unfinished = (home / "plan.json").exists()
        hint = "; it was begun but not finished, go on with --resume" if unfinished else ""
        raise FileNotFoundError(f"{home} holds no study ({NAME} is missing){hint}")
    kept = parsed_json(path.read_bytes(), str(path))
    with guarded(str(path), "file of a study"):
        if kept["format"] != FORMAT:
            raise FileFormatError(
                f"{path} has format {kept['format']!r}, this version reads {FORMAT!r}"
            )
        place = home / "views" / "arrays.npz"
        arrays = read_arrays(place, str(place))
        times = home / "timings.json"
        seconds = parsed_json(times.read_bytes(), str(times))
        return _from_plain(kept, arrays, seconds, home)


def _as_plain(study: Study) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "verdict": study.verdict,
        "views": [_plain_view(view) for view in study.views],
        "asked": None if study.asked is None else _plain_view(study.asked),
        "near_misses": [_plain(miss) for miss in study.near_misses],
        "power": None if study.power is None else vars(study.power),
        "results": [
            {k: v for k, v in vars(result).items() if k != "seconds"} for result in study.results
        ],
        "failures": study.failures,
        "table_schema": study.table_schema,
        "shape": study.shape,
        "feature_names": study.feature_names,
        "value_features": study.value_features,
        "row_names": study.row_names,
        "chance": study.chance,
        "curve_chance": study.curve_chance,
        "notes": study.notes,
        "settings": study.settings,
        **({"part_lengths": study.part_lengths} if study.part_lengths else {}),
        "recipes": [vars(recipe) for recipe in study.recipes],
        "truth": study.truth,
        "is_provisional": study.is_provisional,
    }


def _plain_view(view: View) -> dict[str, Any]:
    return {
        **{name: getattr(view, name) for name in VIEW_TEXTS},
        **{name: _number(getattr(view, name)) for name in VIEW_NUMBERS},
        "merges": [_plain(merge) for merge in view.merges],
        "p_interval": view.p_interval,
        "cluster_p_intervals": view.cluster_p_intervals,
        "names": view.names,
        "rule_agreement": view.rule.agreement,
        "facts": [[_plain(fact) for fact in listed] for listed in view.facts],
    }


def _json(kept: dict[str, Any]) -> str:
    """One entry per line: indented throughout, a wide table's study would take seconds."""
    lines = [f"{json.dumps(k)}: {json.dumps(kept[k], sort_keys=True)}" for k in sorted(kept)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(record: Any) -> dict[str, Any]:
    return {k: _number(v) if isinstance(v, float) else v for k, v in vars(record).items()}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _from_plain(
    kept: dict[str, Any], arrays: dict[str, Any], seconds: dict[str, float], home: Path
) -> Study:
    asked, power = kept["asked"], kept["power"]
    return Study(
        views=tuple(_read_view(entry, arrays, home) for entry in kept["views"]),
        asked=None if asked is None else _read_view(asked, arrays, home),
        near_misses=tuple(_read_near_miss(miss) for miss in kept["near_misses"]),
        power=None if power is None else Power(**power),
        curve_chance=tuple(kept["curve_chance"]),
        results=tuple(
            Result(**result, seconds=float(seconds.get(result["name"], 0.0)))
            for result in kept["results"]
        ),
        **{name: arrays[name] for name in STUDY_ARRAYS if name in arrays},
        value_features=tuple(kept.get("value_features", ())),
        part_lengths=tuple(kept.get("part_lengths", ())),
        failures=tuple((str(a), str(b)) for a, b in kept["failures"]),
        table_schema=tuple(kept["table_schema"]),
        shape=(int(kept["shape"][0]), int(kept["shape"][1])),
        feature_names=tuple(kept["feature_names"]),
        row_names=None if kept["row_names"] is None else tuple(kept["row_names"]),
        chance=tuple(kept["chance"]),
        notes=tuple(kept["notes"]),
        settings=kept["settings"],
        recipes=tuple(_read_recipe(recipe) for recipe in kept["recipes"]),
        truth=tuple(kept["truth"]),
        is_provisional=bool(kept["is_provisional"]),
        folder=str(home),
    )


def _read_view(entry: dict[str, Any], arrays: dict[str, Any], home: Path) -> View:
    number = int(entry["number"])
    rule = Rule(
        **{name: arrays[f"rule{number}_{name}"] for name in RULE_ARRAYS},
        agreement=float(entry["rule_agreement"]),
    )
    told: dict[str, Any] = {name: entry[name] for name in VIEW_TEXTS}
    told = {name: tuple(v) if isinstance(v, list) else v for name, v in told.items()}
    told |= {name: _read_number(entry[name]) for name in VIEW_NUMBERS}
    return View(
        **told,
        clustering=load(home / "views" / f"view_{number}.subscape"),
        p_interval=_read_interval(entry.get("p_interval")),
        cluster_p_intervals=tuple(map(_read_interval, entry.get("cluster_p_intervals", ()))),
        names=tuple(entry.get("names", ())),
        facts=tuple(tuple(_read_fact(fact) for fact in listed) for listed in entry["facts"]),
        rule=rule,
        merges=tuple(_read_merge(merge) for merge in entry["merges"]),
        **{name: arrays[f"view{number}_{name}"] for name in VIEW_ARRAYS},
    )


def _read_interval(kept: Sequence[float] | None) -> tuple[float, float] | None:
    return None if kept is None else (float(kept[0]), float(kept[1]))


def _read_near_miss(kept: dict[str, Any]) -> NearMiss:
    numbers = {name: _read_number(kept[name]) for name in ("score", "p_value", "stability")}
    return NearMiss(**(kept | numbers | {"features": tuple(kept["features"])}))


def _read_number(kept: float | None) -> float:
    """A number that JSON can't hold is None there."""
    return float("nan") if kept is None else float(kept)


def _read_fact(kept: dict[str, Any]) -> FeatureFact:
    numbers = ("low", "high", "overall_low", "overall_high", "effect")
    if kept["level"] is None:
        kept = kept | {name: float("nan") for name in numbers if kept[name] is None}
    drawn = {name: tuple(kept.get(name, ())) for name in ("bars", "overall_bars")}
    return FeatureFact(**(kept | drawn))


def _read_merge(kept: dict[str, Any]) -> Merge:
    numbers = ("lost", "p_value", "stability")
    told = {name: _read_number(kept[name]) for name in numbers}
    return Merge(**(kept | told | {"p_interval": _read_interval(kept.get("p_interval"))}))


def _read_recipe(kept: dict[str, Any]) -> Recipe:
    levels = kept["levels"]
    return Recipe(**(kept | {"levels": None if levels is None else tuple(levels)}))


# -- tables for people ----------------------------------------------------------------------------


def all_views(study: Study) -> list[View]:
    """The views, and last the grouping that was asked for."""
    return [*study.views, *([] if study.asked is None else [study.asked])]


def column_of(study: Study, view: View) -> str:
    """The name of a view's column: ``view_1``, or ``asked_3`` for three that were asked for."""
    return f"asked_{view.n_clusters}" if view is study.asked else f"view_{view.number}"


def write_labels(study: Study, stream: BinaryIO, *, levels: bool = False) -> None:
    """One line per row: its name or number, and its cluster and confidence in every view.

    Rows and clusters are counted from 1, as on the page; -1 is no cluster. With ``levels``, also
    the clusters at the other levels of each view. While a study is provisional, these are the rows
    that were searched.
    """
    head = ["row"]
    merged: list[list[IntArray]] = []
    every_view = all_views(study)
    for view in every_view:
        name = column_of(study, view)
        lower = view.levels[1:] if levels else ()
        head += [name, *([f"{name}_name"] * bool(view.names)), f"{name}_confidence"]
        head += [f"{name}_at_{k}" for k in lower]
        merged.append([counted_from_1(view.at(k)) for k in lower])
    stream.write(_csv(head, []).encode())
    labels = [counted_from_1(view.labels) for view in every_view]
    every = study.searched_rows if study.is_provisional else np.arange(study.shape[0])
    for start in range(0, len(every), BLOCK):
        part = every[start : start + BLOCK]
        rows = part.tolist()
        names = study.row_names
        numbered = [i + 1 for i in rows]
        columns = [[harmless(names[i]) for i in rows] if names is not None else numbered]
        for numbers, lower_levels, view in zip(labels, merged, every_view, strict=True):
            own = numbers[part]
            columns.append(own.tolist())
            if view.names:
                called = np.array(["", *map(harmless, view.names)], dtype=object)
                columns.append(called[np.maximum(own, 0)].tolist())
            columns.append(np.round(view.row_confidence[part], 4).tolist())
            columns += [level[part].tolist() for level in lower_levels]
        stream.write(_csv(None, zip(*columns, strict=True)).encode())


def write_label_parts(study: Study, folder: Path) -> None:
    """The same as Parquet files, a part for each part of the table, in its order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    views = all_views(study)
    labels = [view.labels for view in views]
    start = 0
    for number, length in enumerate(study.part_lengths):
        rows = slice(start, start + length)
        columns: dict[str, Any] = {"row": np.arange(start + 1, start + length + 1)}
        for every, view in zip(labels, views, strict=True):
            name, own = column_of(study, view), counted_from_1(every[rows]).astype(np.int32)
            columns[name] = own
            if view.names:
                called = np.array(["", *view.names], dtype=object)
                columns[f"{name}_name"] = called[np.maximum(own, 0)]
            columns[f"{name}_confidence"] = view.row_confidence[rows]
        table = pa.table(columns)
        path = folder / f"part-{number:05}.parquet"
        _write(path, partial(pq.write_table, table))
        start += length


def counted_from_1(labels: IntArray) -> IntArray:
    """Labels as people read them: the first cluster is 1; -1 stays, for rows in none.

    >>> counted_from_1(np.array([0, 1, -1])).tolist()
    [1, 2, -1]
    """
    return np.where(labels >= 0, labels + 1, -1)


def clusters_csv(study: Study) -> str:
    """One line per view, cluster and feature; clusters are counted from 1."""
    has_names = any(view.names for view in study.views)
    head = [
        "view", "cluster", "rows", "stability", "p_value", "p_value_is_fitted", "p_value_low",
        "p_value_high", "feature", "own",
        "information", "low", "high", "effect", "effect_low", "effect_high", "q_value", "level",
        "share", "elsewhere", "imputed", *(["name"] * has_names),
    ]  # fmt: skip

    def lines() -> Any:
        for view in study.views:
            for k, listed in enumerate(view.facts):
                size = int(view.clustering.sizes[k])
                trust = [view.cluster_stability[k], view.cluster_p_values[k]]
                interval = view.cluster_interval(k) or (None, None)
                for fact in listed:
                    yield [
                        view.number, k + 1, size, *map(_short, trust),
                        int(view.fitted_clusters[k]), *map(_short, interval),
                        harmless(fact.feature), int(fact.is_own),
                        _short(fact.information), _short(fact.low), _short(fact.high),
                        _short(fact.effect), _short(fact.effect_low), _short(fact.effect_high),
                        _short(fact.q_value),
                        "" if fact.level is None else harmless(fact.level),
                        _short(fact.share), _short(fact.elsewhere), _short(fact.imputed),
                        *([harmless(view.names[k] if view.names else "")] * has_names),
                    ]  # fmt: skip

    return _csv(head, lines())


def _short(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.6g}"


def _csv(head: list[str] | None, lines: Any) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if head is not None:
        writer.writerow(head)
    writer.writerows(lines)
    return buffer.getvalue()


def _write(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    write_atomically(path, write, force=True)
