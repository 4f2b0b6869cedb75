"""A finder and its table made ready for a sample: what they say of rows, columns and names."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import IntArray, library_of

from .task import Run


def speaks_of_table(finder: Any, run: Run) -> bool:
    """Whether parameters of a finder name rows or columns that this run sees at other places."""
    moved = []
    if run.rows is not None:
        moved.append("_row_parameters")
    if run.columns is not None or run.feature_names is not None:
        moved.append("_feature_parameters")
    if not moved:
        return False
    return any(_said(part, kind) for part, _ in _bound(finder) for kind in moved)


def for_sample(finder: Any, run: Run) -> Any:
    """The finder with what it knows of rows and columns of the table, said of the run's sample.

    A finder that has such parameters names them in ``_row_parameters`` and ``_feature_parameters``
    and has a method ``parameters_in_sample``, as :class:`~subscape.finders.SSPC` has.
    """
    if run.columns is not None and is_pipeline(finder):
        _refuse_positions([step for _, step in finder.steps])
    if not speaks_of_table(finder, run):
        return finder
    finder = clone(finder)
    for part, prefix in _bound(finder):
        names: Any = run.feature_names
        columns = run.columns
        if prefix:
            # Columns may be others there; names come with the table, if its steps keep them.
            if columns is not None and (said := _said(part, "_feature_parameters")):
                raise SubscapeError(
                    f"{said[0]} of {type(part).__name__} speaks of columns inside a pipeline, "
                    "which can't be found again in a sample of the table's columns; sample rows, "
                    f"leave {said[0]} out, or give the finder without other steps"
                )
            names = columns = None
        part.set_params(**part.parameters_in_sample(run.shape, names, run.rows, columns))
    return finder


def _refuse_positions(steps: list[Any]) -> None:
    """Refuse a ColumnTransformer that takes columns of the table by their places in it."""
    for step in steps:
        if isinstance(step, ColumnTransformer):
            for name, _, columns in step.transformers:
                listed = [columns] if isinstance(columns, str) else columns
                if callable(listed) or all(isinstance(one, str) for one in np.atleast_1d(listed)):
                    continue
                raise SubscapeError(
                    f"the ColumnTransformer takes the columns of {name!r} by position, which are "
                    "others in a sample of the table's columns; sample rows only"
                )
        if not isinstance(step, OneToOneFeatureMixin):
            return


def _bound(finder: Any) -> Iterator[tuple[Any, str]]:
    """The estimators in a finder, with their places in it, that may speak of rows or columns."""
    inside = finder.get_params(deep=True).items()
    for place, part in [("", finder), *inside]:
        if hasattr(part, "parameters_in_sample") and not isinstance(part, type):
            yield part, place


def _said(part: Any, kind: str) -> list[str]:
    return [name for name in getattr(part, kind, ()) if getattr(part, name) is not None]


def frame_library(X: Any) -> str | None:
    """The library of a data frame whose columns have names that pipelines can use."""
    library = library_of(X)
    if library not in ("pandas", "polars") or not hasattr(X, "columns"):
        return None
    return library if all(isinstance(name, str) for name in X.columns) else None


def as_given(part: Any, finder: Any, run: Run, library: str | None) -> Any:
    """The sample, as a data frame where the table was one and steps may ask for names."""
    if library is None or not is_pipeline(finder) or sparse.issparse(part):
        return part
    names = sampled_names(run)
    if library == "polars":
        import polars

        return polars.DataFrame(np.asarray(part), schema=names)
    import pandas

    return pandas.DataFrame(part, columns=names, copy=False)


def sampled_names(run: Run) -> list[str]:
    """Names of the features of a run's sample, of a table that has names."""
    names = run.feature_names or ()
    return list(names) if run.columns is None else [names[j] for j in run.columns]


# -- which columns of a table the last step of a pipeline sees, and its clusters over them ---------


def is_pipeline(finder: Any) -> bool:
    """Whether an estimator is a chain of steps, whose last finds the clusters."""
    return hasattr(finder, "steps") and len(finder.steps) > 0


def in_table_columns(
    found: Sequence[SubspaceClustering], finder: Any, n_features: int
) -> tuple[SubspaceClustering, ...]:
    """What the last step of a fitted pipeline found, over the columns of the pipeline's table.

    Columns that the steps select, scale or put into another order are put back. Where the last step
    sees others (mixtures of columns, a column twice, or what a function has made that doesn't say
    ``feature_names_out``), only the rows of the clusters are kept, over all features.

    Parameters
    ----------
    found : sequence of SubspaceClustering
        Over the columns that the last step has seen.
    finder : fitted pipeline
    n_features : int
        Of the table that the pipeline was fitted to.

    Examples
    --------
    >>> from sklearn.compose import ColumnTransformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from subscape.finders import PROCLUS
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(100, 8, n_clusters=2, dims=4, random_state=0)
    >>> turned = ColumnTransformer([("turned", "passthrough", list(range(8))[::-1])])
    >>> pipeline = make_pipeline(turned, PROCLUS(2, avg_dims=4, random_state=0)).fit(X)
    >>> (inside,) = in_table_columns([pipeline[-1].clustering_], pipeline, 8)
    >>> bool((inside.subspaces.masks == pipeline[-1].clustering_.subspaces.masks[:, ::-1]).all())
    True
    """
    columns = seen_columns([step for _, step in finder.steps[:-1]], n_features)
    return tuple(_put_back(clustering, columns, n_features) for clustering in found)


def _put_back(
    clustering: SubspaceClustering, columns: IntArray | None, n_features: int
) -> SubspaceClustering:
    if columns is not None and clustering.n_features == len(columns):
        if np.array_equal(columns, np.arange(n_features)):
            return clustering
        if columns.min() >= 0 and len(np.unique(columns)) == len(columns):
            return clustering.embed(features=columns, shape=(clustering.n_rows, n_features))
    return SubspaceClustering.from_labels(clustering.labels(), n_features=n_features)


def seen_columns(steps: Sequence[Any], n_features: int) -> IntArray | None:
    """The column of the table that each column behind some fitted transformers comes from.

    -1 where one comes from no column alone; None where nothing is known.

    >>> from sklearn.feature_selection import VarianceThreshold
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 5.0]])
    >>> seen_columns([VarianceThreshold().fit(X), StandardScaler().fit(X[:, 1:])], 3)
    array([1, 2])
    """
    columns = np.arange(n_features)
    for step in steps:
        kept = _kept(step, len(columns))
        if kept is None or (len(kept) and kept.max() >= len(columns)):
            return None
        columns = np.where(kept < 0, -1, columns[kept])
    return columns


def _kept(step: Any, n_features: int) -> IntArray | None:
    if step is None or isinstance(step, str):  # "passthrough"
        return np.arange(n_features)
    if hasattr(step, "steps"):
        return seen_columns([inner for _, inner in step.steps], n_features)
    if hasattr(step, "output_indices_"):
        return _kept_by_parts(step)
    if isinstance(step, SelectorMixin):
        return np.asarray(step.get_support(indices=True), np.int64)
    if isinstance(step, OneToOneFeatureMixin):
        return np.arange(n_features)
    return _kept_by_name(step, n_features)


def _kept_by_parts(step: Any) -> IntArray | None:
    """Of a ColumnTransformer, which hands parts of the columns to other transformers."""
    given = getattr(step, "_transformer_to_input_indices", None)
    if given is None:
        return None
    total = max((part.stop for part in step.output_indices_.values()), default=0)
    kept = np.full(total, -1, np.int64)
    for name, inner, _ in step.transformers_:
        part = step.output_indices_[name]
        if part.stop <= part.start:
            continue
        columns = np.asarray(given[name], np.int64)
        inside = _kept(inner, len(columns))
        if inside is not None and len(inside) == part.stop - part.start:
            kept[part] = np.where(inside < 0, -1, columns[inside])
    return kept


def _kept_by_name(step: Any, n_features: int) -> IntArray | None:
    """Of any other transformer, by the names that it gives to what it hands on."""
    function = getattr(step, "func", step)  # of a FunctionTransformer
    if function is None or (isinstance(function, np.ufunc) and function.nin == 1):
        return np.arange(n_features)
    # Names that no transformer makes up, as "pca0" is; the copy has forgotten the table's own.
    names = {f"\0column {j}\0": j for j in range(n_features)}
    stranger = copy.copy(step)
    vars(stranger).pop("feature_names_in_", None)
    try:
        handed_on = stranger.get_feature_names_out(np.array(list(names), dtype=object))
    except Exception:  # whatever a transformer of others raises, it doesn't say what it hands on
        return None
    return np.array([names.get(str(name), -1) for name in handed_on], np.int64)


class KnowingFinder(BaseEstimator):
    """A finder that is told at every fit what is known; on a sample, of the rows in it.

    Parameters
    ----------
    finder : estimator
        With a ``fit(X, given=...)``, as finders of alternatives and of views have.
    given : sequence of label vectors
        Clusterings of the table's rows, −1 for rows in no cluster.

    Examples
    --------
    >>> from subscape.datasets import planted_views
    >>> from subscape.finders import COALA
    >>> X, (known, hidden) = planted_views(60, 4, n_clusters=(2, 2), random_state=0)
    >>> finder = KnowingFinder(COALA(), [known.labels()])
    >>> len(finder.fit(X).clusterings_)
    1
    >>> finder.parameters_in_sample(X.shape, None, [3, 5])["given"][0].shape
    (2,)
    """

    _row_parameters: ClassVar[tuple[str, ...]] = ("given",)
    _feature_parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, finder: Any, given: Sequence[ArrayLike]) -> None:
        self.finder = finder
        self.given = given

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find clusterings of ``X`` beside the known ones."""
        self.finder_ = clone(self.finder).fit(X, given=list(self.given))
        self.clusterings_ = self.finder_.clusterings_
        return self

    def parameters_in_sample(
        self,
        shape: tuple[int, int],
        feature_names: Sequence[str] | None = None,
        rows: ArrayLike | None = None,
        columns: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """What is known of the rows of a sample; see :class:`subscape.finders.SSPC`."""
        if rows is None:
            return {}
        return {"given": [np.asarray(labels)[np.asarray(rows)] for labels in self.given]}
