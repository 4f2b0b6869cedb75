"""Finders that transform: names of the columns, and data frames where they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from subscape.datasets import planted_views
from subscape.finders import AutoNR, NrKMeans, SubKMeans
from subscape.finders.catalogue import CATALOGUE

FINDERS = {
    "SubKMeans": SubKMeans(3, n_init=2, random_state=0),
    "NrKMeans": NrKMeans([3, 2], n_init=1, random_state=0),
    "AutoNR": AutoNR(random_state=0),
}


@pytest.fixture(scope="module")
def table():
    X, _ = planted_views(200, 6, n_clusters=(3, 2), separation=8, random_state=0)
    return X


def test_all_finders_that_transform_are_here():
    assert set(FINDERS) == {name for name, e in CATALOGUE.items()
                            if e.home.startswith("subscape.finders")
                            and hasattr(e.load(), "transform")}  # fmt: skip


@pytest.mark.parametrize("name", FINDERS)
def test_columns_have_names(name, table):
    finder = clone(FINDERS[name]).fit(table)
    plain = finder.transform(table)
    names = finder.get_feature_names_out()
    assert isinstance(plain, np.ndarray)
    assert len(set(names)) == len(names) == plain.shape[1]
    for library in ("pandas", "polars"):
        framed = finder.set_output(transform=library).transform(table)
        assert type(framed).__module__.startswith(library)
        assert list(framed.columns) == list(names)
        assert (framed.to_numpy() == plain).all()
    assert (finder.fit_transform(table).to_numpy() == plain).all()


@pytest.mark.parametrize("name", ["NrKMeans", "AutoNR"])
def test_one_view_has_its_own_names(name, table):
    finder = clone(FINDERS[name]).fit(table)
    plain = [finder.transform(table, view=view) for view in (0, 1, -1, "noise")]
    finder.set_output(transform="pandas")
    framed = [finder.transform(table, view=view) for view in (0, 1, -1, "noise")]
    for one, other in zip(plain, framed, strict=True):
        assert (one == other.to_numpy()).all()
    together = [*framed[0].columns, *framed[1].columns]
    assert together == list(finder.get_feature_names_out())
    assert framed[0].columns[0] == "view0_0"
    assert all(name.startswith("noise_") for name in framed[3].columns)
