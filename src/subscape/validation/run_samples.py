"""A finder and its table made ready for a sample: what they say of rows, columns and names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.compose import ColumnTransformer

from subscape.core.errors import SubscapeError
from subscape.core.foreign import library_of

from .run_columns import is_pipeline
from .run_records import Run


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
    and has a method ``parameters_in_sample``, as :class:`~subscape.algorithms.SSPC` has.
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
