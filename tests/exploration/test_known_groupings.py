"""Given and true groupings: joined to the table, and as labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from subscape.core import SubspaceClustering
from subscape.exploration import known_groupings as known_module
from subscape.exploration.known_groupings import known_groupings, leiden_groupings
from subscape.tables import Table

from .conftest import small_job

ROWS = ("a", "b", "c", "d")
LABELS = np.array([0, 0, 1, 2])
ORDER = [2, 0, 3, 1]


def named(labels, names):
    return SubspaceClustering.from_labels(labels, row_names=names)


@pytest.mark.parametrize("kind", ["clustering", "finder", "series"])
def test_rows_are_joined_by_name(kind):
    names = [ROWS[i] for i in ORDER]
    known = named(LABELS[ORDER], names)
    if kind == "finder":
        known = type("Fitted", (), {"clustering_": known})()
    elif kind == "series":
        known = pd.Series(LABELS[ORDER], index=names)
    (found,) = known_groupings({"k": known}, 4, "truth", ROWS).values()
    np.testing.assert_array_equal(found, LABELS)
    # More rows than the table has are no harm, without names the order counts.
    (found,) = known_groupings(known, 3, "truth", ROWS[1:]).values()
    np.testing.assert_array_equal(found, LABELS[1:])
    (found,) = known_groupings(known, 4, "truth").values()
    np.testing.assert_array_equal(found, np.unique(LABELS[ORDER], return_inverse=True)[1])


def test_without_names_the_order_counts():
    repeated = pd.Series(LABELS, index=["a", "a", "b", "b"])
    for known in (LABELS, pd.Series(LABELS), repeated, LABELS.tolist()):
        (found,) = known_groupings(known, 4, "truth", ROWS).values()
        np.testing.assert_array_equal(found, LABELS)


@pytest.mark.parametrize("names", [("a", "b", "c", "e"), ("1", "2", "3", "4")])
def test_other_names_are_refused(names):
    missing = [name for name in ROWS if name not in names]
    with pytest.raises(ValueError, match=f"truth has no row for {len(missing)} of the table's 4"):
        known_groupings(named(LABELS, names), 4, "truth", ROWS)
    with pytest.raises(ValueError, match=f"{missing[0]!r}.*{names[0]!r}"):
        known_groupings(pd.Series(LABELS, index=names), 4, "truth", ROWS)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.Series(["x", pd.NA, "y", "x"], dtype="string"), [0, -1, 1, 0]),
        (pd.Series([True, pd.NA, False, True], dtype="boolean"), [1, -1, 0, 1]),
        (pd.Series([3, pd.NA, 1, -2], dtype="Int64"), [1, -1, 0, -1]),
        (pd.Series(["x", None, np.nan, "y"], dtype=object), [0, -1, -1, 1]),
        ([-2, 4, -1, 2], [-1, 1, -1, 0]),
        ([-2.0, 4.0, np.nan, 2.0], [-1, 1, -1, 0]),
        (["-2", "4", "-1", "2"], [-1, 1, -1, 0]),
        (["-2", "4", "-1", "x"], [0, 1, -1, 2]),
        (np.array([-2, "x", -1, "y"], dtype=object), [-1, 0, -1, 1]),
        ([-2.5, 4.0, -1.0, 2.0], [0, 2, -1, 1]),
    ],
)
def test_rows_in_no_group(labels, expected):
    (found,) = known_groupings({"k": labels}, 4, "truth").values()
    assert found.tolist() == expected
    whole = np.array(expected)
    if isinstance(labels, list) and all(isinstance(value, int) for value in labels):
        np.testing.assert_array_equal(SubspaceClustering.from_labels(labels).labels(), whole)


def test_explorations_join_by_name(planted):
    X, truths = planted
    names = [f"r{i}" for i in range(len(X))]
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = named(truths[0].labels()[order], [names[i] for i in order])
    job = small_job(Table.from_array(X, row_names=names), truth=shuffled, given=[shuffled])
    np.testing.assert_array_equal(job.truth["truth"], truths[0].labels())
    np.testing.assert_array_equal(job.given["given 1"], truths[0].labels())


def blobs(n):
    return make_blobs(n, centers=3, n_features=8, cluster_std=0.5, random_state=0)


def test_leidens_communities_at_several_resolutions():
    X, truth = blobs(150)
    found = leiden_groupings(X, (0.2, 5.0))
    assert list(found) == ["Leiden, resolution 0.2", "Leiden, resolution 5"]
    coarse, fine = found.values()
    assert adjusted_rand_score(coarse, truth) == 1
    assert fine.max() > coarse.max()
    again = leiden_groupings(X, (0.2, 5.0))
    assert all(np.array_equal(found[name], again[name]) for name in found)


def test_leiden_looks_at_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(known_module, "MOST_LEIDEN_ROWS", 60)
    X, truth = blobs(150)
    (found,) = leiden_groupings(X, (0.2,)).values()
    drawn = found >= 0
    assert found.shape == (150,) and drawn.sum() == 60
    assert adjusted_rand_score(found[drawn], truth[drawn]) == 1


@pytest.mark.parametrize("X", [np.ones((20, 3)), np.where(np.eye(20), np.nan, 1.0), [[1.0, 2.0]]])
def test_leiden_says_nothing_where_it_cannot(X):
    assert leiden_groupings(np.asarray(X)) == {}
