"""What the ecosystem expects of every estimator of the catalogue, whoever adds the next one."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subscape.core.plain_values import FRAMES, frame_of
from subscape.datasets import planted_axes
from subscape.finders.catalogue import of_role
from subscape.testing.finders import brief

ESTIMATORS = of_role("finder", "views", "alternative", "consensus")
FINDERS = of_role("finder", "views", "alternative")
TRANSFORMERS = [name for name, entry in FINDERS.items() if hasattr(entry.load(), "transform")]
X = planted_axes(60, 4, n_clusters=2, dims=3, random_state=0).X + 1.0
NAMES = ["height", "weight", "age", "income"]
AS_FRAME = {
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


def seeded(name):
    made = brief(FINDERS[name].make())
    return made.set_params(random_state=0) if "random_state" in made.get_params() else made


def fit(estimator, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about clusters: the table is tiny
        return estimator.fit(table)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_clone_keeps_parameters_and_forgets_fits(name):
    entry = ESTIMATORS[name]
    made = entry.make()
    copy = clone(made)
    assert type(copy) is entry.load()
    assert repr(copy.get_params()) == repr(made.get_params())
    # Every parameter comes back as it was set: __init__ only assigns.
    for parameter, value in made.get_params(deep=False).items():
        assert copy.set_params(**{parameter: value}).get_params(deep=False)[parameter] is value
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]


@pytest.mark.parametrize("name", FINDERS)
def test_a_pipeline_ends_in_every_finder(name):
    made = seeded(name)
    if FINDERS[name].kind == "cocluster":  # these need positive values: no scaling
        chain = make_pipeline("passthrough", made)
    else:
        chain = make_pipeline(StandardScaler(), made)
    labels = fit(clone(chain), X)[-1].labels_
    alone = X if chain[0] == "passthrough" else StandardScaler().fit_transform(X)
    assert np.array_equal(labels, fit(clone(made), alone).labels_)


@pytest.mark.parametrize("routed", [True, False], ids=["routed", "by name"])
@pytest.mark.parametrize("name", of_role("views", "alternative"))
def test_what_is_known_reaches_the_end_of_a_pipeline(name, routed):
    """``given`` is what fits take beside the table; no finder takes weights of rows."""
    made, known = seeded(name), (X[:, 0] > np.median(X[:, 0])).astype(int)
    with sklearn.config_context(enable_metadata_routing=routed):
        if routed:
            made.set_fit_request(given=True)
            chain, sent = make_pipeline(StandardScaler(), made), {"given": known}
        else:
            chain = make_pipeline(StandardScaler(), made)
            sent = {f"{chain.steps[-1][0]}__given": known}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about clusters: the table is tiny
            found = chain.fit(X, **sent)[-1]
            alone = clone(made).fit(StandardScaler().fit_transform(X), given=known)
    assert [each.labels().tolist() for each in found.given_] == [known.tolist()]
    assert np.array_equal(found.labels_, alone.labels_)


@pytest.mark.parametrize("name", FINDERS)
def test_what_fits_take_beside_the_table_is_what_is_known(name):
    """Whoever adds weights of rows has to route them, and to test it above."""
    taken = set(inspect.signature(FINDERS[name].load().fit).parameters) - {"self", "X", "y"}
    assert taken == ({"given"} if FINDERS[name].role in ("views", "alternative") else set())


@pytest.mark.parametrize("library", AS_FRAME)
@pytest.mark.parametrize("name", FINDERS)
def test_data_frames_give_what_arrays_give_with_their_names(name, library):
    made = seeded(name)
    framed = fit(clone(made), AS_FRAME[library]())
    assert list(framed.feature_names_in_) == NAMES
    assert list(framed.clustering_.feature_names) == NAMES
    assert np.array_equal(framed.labels_, fit(clone(made), X).labels_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_give_the_data_frames_they_are_asked_for(name, library):
    table = AS_FRAME[library]()
    made = fit(seeded(name), table)
    plain = made.transform(table)
    framed = made.set_output(transform=library).transform(table)
    assert isinstance(framed, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library])
    assert list(framed.columns) == list(made.get_feature_names_out())
    assert np.allclose(framed.to_numpy(), plain)


def test_there_are_transformers():
    assert {"SubKMeans", "NrKMeans"} <= set(TRANSFORMERS)


@pytest.mark.parametrize("library", FRAMES)
def test_records_become_frames_of_any_library(library):
    records = [{"cluster": 1, "rows": 50, "name": "a"}, {"cluster": 2, "rows": 3, "name": "b"}]
    made = frame_of(records, library)
    assert type(made).__module__.split(".")[0] == library
    back = (
        made.to_pylist()
        if library == "pyarrow"
        else made.to_dict(
            **({"orient": "records"} if library == "pandas" else {"as_series": False})
        )
    )
    if library == "polars":
        back = [dict(zip(back, row, strict=True)) for row in zip(*back.values(), strict=True)]
    assert back == records


def test_a_library_of_frames_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="library='numpy' is not one of pandas, polars, pyarrow"):
        frame_of([], "numpy")
