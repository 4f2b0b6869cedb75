"""Finders that are fitted again, and rows that come later."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from subscape import SubspaceClustering, Table, finders
from subscape.datasets import planted_axes
from subscape.finders import CLIQUE, DOC, HARP, LAC, ORCLUS, PROCLUS, SSPC, SUBCLU, KFlats

NAMES = list("abcde")


@pytest.fixture(scope="module")
def X():
    X, _ = planted_axes(90, 5, n_clusters=3, dims=3, random_state=1)
    return X


@pytest.mark.parametrize(
    "finder",
    [DOC(3, random_state=0), HARP(3), LAC(3, random_state=0), PROCLUS(3, random_state=0),
     SSPC(3, random_state=0), KFlats(3, random_state=0),
     finders.NrKMeans((3, 1), random_state=0)],
    ids=lambda finder: type(finder).__name__,
)  # fmt: skip
class TestTablesToPredict:
    @pytest.mark.parametrize("make", [Table.from_array, pd.DataFrame], ids=["Table", "frame"])
    def test_columns_in_another_order_are_refused(self, X, finder, make):
        key = "feature_names" if make == Table.from_array else "columns"
        finder.fit(make(X, **{key: NAMES}))
        table = Table.from_array(X, feature_names=NAMES)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = finder.predict(table)
        frame = pd.DataFrame(X, columns=NAMES)
        np.testing.assert_array_equal(found, finder.predict(frame))
        with pytest.raises(ValueError, match="columns"):
            finder.predict(table.select(["e", "c", "a", "d", "b"]))


@pytest.mark.parametrize(
    "finder",
    [KFlats(2, random_state=0), CLIQUE(), SUBCLU(), ORCLUS(2, random_state=0),
     finders.COALA(2), finders.CIB(2, random_state=0),
     finders.MAXIMUS(2, random_state=0)],
    ids=lambda finder: type(finder).__name__,
)  # fmt: skip
def test_nothing_of_an_earlier_fit_is_left(X, finder):
    def attributes():
        return {name for name in vars(finder) if name.endswith("_")}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder.fit(np.ones((5, 3)))
        alone = attributes()
        finder.fit(X)
        finder.fit(np.ones((5, 3)))
    assert attributes() == alone


def test_minus_zero_is_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [5.0, 1.0], [5.0, 1.0]])
    with pytest.warns(UserWarning, match="3 distinct rows"):
        found = PROCLUS(4, avg_dims=2, random_state=0).fit(X)
    assert found.clustering_.n_clusters <= 3


class TestKnownClusterings:
    def test_rows_in_another_order_are_refused(self):
        rng = np.random.default_rng(0)
        rows = [f"r{i}" for i in range(40)]
        table = Table.from_array(rng.random((40, 2)), row_names=rows)
        labels = np.repeat([0, 1], 20)
        known = SubspaceClustering.from_labels(labels, row_names=rows)
        finders.COALA(2).fit(table, given=known)
        with pytest.raises(ValueError, match="rows of the table are in another order"):
            finders.COALA(2).fit(table, given=known.restrict(rows=np.r_[0:40:2, 1:40:2]))

    def test_an_earlier_one_is_forgotten(self, X):
        finder = finders.COALA().fit(X[:30], given=np.arange(30) % 5)
        with pytest.warns(UserWarning, match="distinct rows"):
            finder.fit(X[:2])
        assert finder.given_[0].n_rows == 2

    def test_one_that_is_made_has_all_features(self, X):
        wide = np.column_stack([X, np.ones(len(X))])
        with pytest.warns(UserWarning, match="constant"):
            found = finders.COALA(3).fit(wide)
        assert found.given_[0].shape == found.clusterings_[0].shape == wide.shape
