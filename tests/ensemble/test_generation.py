from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from subscape import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, UnsupportedKindError
from subscape.ensemble import generate
from subscape.ensemble.representations import REPRESENTATIONS, represent, softened
from subscape.finders import LAC, ORCLUS, PROCLUS
from subscape.measures import lac_weights

LAC3 = LAC(3, n_init=1, init="random")


def test_four_representations_in_turn():
    X = np.random.default_rng(0).random((100, 4))  # no gaps, so that soft memberships are soft
    for i, member in enumerate(generate(X, LAC3, 8, random_state=0)):
        rows, features = REPRESENTATIONS[i % 4].split("-")
        assert member.is_hard == (rows == "hard")
        assert member.kind == ("weighted" if features == "weighted" else "axis")
        assert member.provenance["representation"] == REPRESENTATIONS[i % 4]
        np.testing.assert_allclose(member.memberships.sum(axis=0), 1, atol=1e-5)


def test_members_differ_in_start_and_h(members):
    h = [member.provenance["parameters"]["h"] for member in members]
    seeds = [member.provenance["parameters"]["random_state"] for member in members]
    assert len(set(h)) == len(set(seeds)) == len(members)
    assert 1 / 11 <= min(h) < 0.2 and 0.5 < max(h) <= 1


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_same_bits_for_any_number_of_jobs(planted, members, n_jobs):
    again = generate(planted[0], LAC3, 24, random_state=0, n_jobs=n_jobs)
    assert again == members
    assert generate(planted[0], LAC3, 24, random_state=1, n_jobs=n_jobs) != members


def test_several_finders_as_they_find(planted):
    X, _ = planted
    found = generate(X, [LAC3, PROCLUS(3, avg_dims=3), ORCLUS(3)], 6, random_state=0)
    assert [member.kind for member in found] == ["weighted", "axis", "oriented"] * 2
    assert [m.provenance["algorithm"] for m in found] == ["LAC", "PROCLUS", "ORCLUS"] * 2
    assert found.metadata["finders"] == ["LAC", "PROCLUS", "ORCLUS"]


def test_parameters_are_drawn_as_told(planted):
    ways = {
        "n_clusters": (2, 4),
        "h": [0.2, 0.5],
        "max_iter": lambda rng: int(rng.integers(250, 300)),
    }
    drawn = [m.provenance["parameters"]
             for m in generate(planted[0], LAC3, 20, vary=ways, random_state=0)]  # fmt: skip
    assert {p["n_clusters"] for p in drawn} == {2, 3, 4}
    assert {p["h"] for p in drawn} == {0.2, 0.5}
    assert all(250 <= p["max_iter"] < 300 for p in drawn)


def test_names_of_columns_are_kept(planted):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(planted[0], columns=[f"c{j}" for j in range(8)])
    found = generate(frame, LAC3, 4, random_state=0)
    assert found[3].feature_names == tuple(f"c{j}" for j in range(8))
    assert (
        found[3].subspaces.masks.tolist()
        == generate(planted[0], LAC3, 4, random_state=0)[3].subspaces.masks.tolist()
    )


def test_members_of_noise_alone_are_left_out():
    X = np.random.default_rng(0).random((60, 3))

    class Moody(LAC):
        """Finds nothing every other time."""

        def fit(self, X, y=None):
            super().fit(X)
            if self.random_state % 2:
                self.clustering_ = SubspaceClustering.from_labels(np.full(len(X), -1), n_features=3)
            return self

    with pytest.warns(DroppedClusterWarning, match="of 12 left out"):
        found = generate(X, Moody(2, n_init=1), 12, representations=None, random_state=0)
    assert 0 < len(found) < 12

    class Blind(LAC):
        def fit(self, X, y=None):
            self.clustering_ = SubspaceClustering.from_labels(np.full(len(X), -1), n_features=3)
            return self

    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match="no member has a cluster"),
    ):
        warnings.simplefilter("ignore")
        generate(X, Blind(2, n_init=1), 3, representations=None, random_state=0)


class TestFlavours:
    def test_masks_become_weights_and_weights_masks(self, planted):
        X, truth = planted
        weighted = represent(X, truth, "hard-weighted")
        np.testing.assert_allclose(weighted.subspaces.weights, lac_weights(X, truth, scale="std"))
        equal = represent(X, weighted, "hard-equal")
        assert equal == truth.with_names(provenance=equal.provenance)

    def test_soft_memberships_keep_noise_out_and_prefer_the_own_cluster(self, planted):
        X, truth = planted
        labels = truth.labels().copy()
        labels[::10] = -1
        given = SubspaceClustering.from_labels(labels, masks=truth.subspaces.masks)
        soft = softened(X, given)
        np.testing.assert_array_equal(soft[:, ::10], 0)
        np.testing.assert_allclose(soft[:, labels >= 0].sum(axis=0), 1)
        assert (soft.argmax(axis=0)[labels >= 0] == labels[labels >= 0]).mean() > 0.95

    def test_hard_representations_of_soft_clusterings(self, planted):
        X, truth = planted
        soft = SubspaceClustering(softened(X, truth), truth.subspaces)
        hard = represent(X, soft, "hard-equal")
        assert hard.is_hard
        np.testing.assert_array_equal(hard.labels(), soft.labels())

    def test_oriented_subspaces_have_none(self, planted):
        with pytest.raises(UnsupportedKindError, match="representations=None"):
            generate(planted[0], ORCLUS(2), 2, representations=REPRESENTATIONS, random_state=0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"size": 0}, "size must be"),
        ({"size": True}, "size must be"),
        ({"finder": LAC}, "a finder such as"),
        ({"finder": []}, "no finders"),
        ({"representations": ["sour"]}, "unknown representation 'sour'"),
        ({"representations": []}, "no representations"),
        ({"vary": {"k": [2]}}, "no parameter 'k'"),
        ({"vary": {"h": (2, 1)}}, "must be a range"),
        ({"vary": {"h": (0.0, 1)}}, "logarithmic"),
        ({"vary": {"h": []}}, "no values"),
    ],
)
def test_bad_input(planted, arguments, text):
    with pytest.raises((ValueError, TypeError), match=text):
        generate(planted[0], **({"finder": LAC3, "size": 2} | arguments))


def test_bad_tables():
    with pytest.raises(ValueError, match="infinit"):
        generate([[1.0, np.inf], [0.0, 1.0]], LAC3, 2)
    with pytest.raises(ValueError, match="2D"):
        generate([1.0, 2.0], LAC3, 2)


class ByMissing(BaseEstimator):
    """Rows with a missing value, and the others."""

    def fit(self, X):
        self.clustering_ = SubspaceClustering.from_labels(np.isnan(X).any(axis=1).astype(int))
        return self


def test_tables_may_have_missing_values_if_the_finder_takes_them():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]])
    found = generate(X, ByMissing(), 2, random_state=0)
    assert [member.labels().tolist() for member in found] == [[1, 0, 1]] * 2
    with pytest.raises(ValueError, match="infinit"):
        generate(np.array([[1.0], [np.inf]]), ByMissing(), 2)


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "3"])
def test_sizes_that_are_none(size):
    with pytest.raises(ValueError, match="size must be a whole number of at least 1"):
        generate(np.eye(3), ByMissing(), size)
    assert len(generate(np.eye(3), ByMissing(), np.int64(1))) == 1


def test_memberships_fall_with_the_distance_in_units_of_the_usual_one():
    X = np.array([[0.0, 0.0], [2.0, 1.0], [8.0, 0.0], [10.0, 5.0], [5.0, 2.0], [0.0, 9.0]])
    labels = np.array([0, 0, 1, 1, 1, -1])
    weights = np.array([[0.75, 0.25], [0.5, 0.5]])
    given = SubspaceClustering.from_labels(labels, weights=weights)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    centres = np.array([Z[labels == k].mean(axis=0) for k in range(2)])
    costs = np.array([[(weights[k] * (z - centres[k]) ** 2).sum() for k in range(2)] for z in Z])
    usual = np.mean([costs[i, k] for i, k in enumerate(labels) if k >= 0])
    expected = np.exp(-costs / (2 * usual))
    expected /= expected.sum(axis=1, keepdims=True)
    assert expected.min() > 1e-4
    expected[5] = 0.0  # noise stays noise
    np.testing.assert_allclose(softened(X, given), expected.T, rtol=1e-6)
    # Two rows are so far from all others that neither has anything of the other.
    far = np.vstack([X, [[1e3, 0.0]] * 2])
    given = SubspaceClustering.from_labels([*labels, 2, 2], weights=[*weights, [1.0, 0.0]])
    soft = softened(far, given)
    assert (soft[2] > 0).tolist() == [False] * 6 + [True] * 2
    np.testing.assert_allclose(soft.sum(axis=0), [1.0] * 5 + [0.0] + [1.0] * 2)
    assert softened(X[[0, 0, 2]], SubspaceClustering.from_labels([0, 0, 1])).tolist() == [
        [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]
    ]  # fmt: skip
