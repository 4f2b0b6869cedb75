from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import normalized_mutual_info_score
from tests.strategies import random_axis, random_oriented, random_weighted, seeds

from subscape import SubspaceClustering
from subscape.core.errors import EmptyClusteringError, ShapeMismatchError, UnsupportedKindError
from subscape.measures import (
    ensemble_ratio,
    lac_weights,
    nmi_projective,
    psi_features,
    psi_objects,
    psi_projective,
    reference_gain,
)


@given(seeds)
@settings(deadline=None, max_examples=40)
def test_nmi_of_partitions_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    expected = normalized_mutual_info_score(a, b, average_method="geometric")
    assert nmi_projective(a, b, on="objects") == pytest.approx(expected, abs=1e-10)


@given(seeds)
@settings(deadline=None, max_examples=40)
def test_measures_are_symmetric_and_ignore_the_order_of_clusters(seed):
    rng = np.random.default_rng(seed)
    a, b = random_weighted(rng, (9, 4), soft=True), random_axis(rng, (9, 4))
    shuffled = a.select(rng.permutation(a.n_clusters))
    for on in ("both", "objects", "features"):
        value = nmi_projective(a, b, on)
        assert nmi_projective(b, a, on) == pytest.approx(value, abs=1e-9)
        assert nmi_projective(shuffled, b, on) == pytest.approx(value, abs=1e-9)
    for psi in (psi_objects, psi_features, psi_projective):
        value = psi(a, b)
        assert 0 <= value <= 1
        assert psi(b, a) == pytest.approx(value, abs=1e-12)
        assert psi(shuffled, b) == pytest.approx(value, abs=1e-12)
        assert psi(a, a) == pytest.approx(0, abs=1e-9)


def test_rows_that_no_side_has_don_t_count():
    a, b = np.array([0, 0, 1, 1, 0]), np.array([0, 1, 1, 1, 0])
    wide = [np.append(x, [-1, -1]) for x in (a, b)]
    assert nmi_projective(*wide, on="objects") == pytest.approx(nmi_projective(a, b, on="objects"))


def test_trivial_clusterings():
    one, two = [0, 0, 0, 0], [0, 0, 1, 1]
    assert nmi_projective(one, one, on="objects") == 1
    assert nmi_projective(one, two, on="objects") == 0


def test_features_alone():
    a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 1, 0, 0], [0, 0, 1, 1]])
    b = SubspaceClustering.from_labels([0, 1, 1, 1], masks=[[1, 1, 0, 0], [0, 0, 1, 1]])
    assert nmi_projective(a, b, on="features") == pytest.approx(1)
    flat = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=4)
    assert nmi_projective(a, flat, on="features") == pytest.approx(0, abs=1e-12)


def test_labels_take_the_features_of_the_other_side():
    a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    labels = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2)
    assert psi_projective([0, 0, 1, 1], a) == psi_projective(labels, a) > 0
    assert psi_projective([0, 0, 1, 1], [a, a]) == 2 * psi_projective(labels, a)
    assert nmi_projective([0, 0, 1, 1], a) == nmi_projective(labels, a)
    assert reference_gain([0, 0, 1, 1], [a, a], a) == pytest.approx(nmi_projective(labels, a) - 1)


def test_oriented_subspaces_have_no_weights():
    rng = np.random.default_rng(0)
    oriented, axis = random_oriented(rng, (9, 4)), random_axis(rng, (9, 4))
    assert 0 <= psi_objects(oriented, axis) <= 1
    assert nmi_projective(oriented, oriented.rows_only(), on="objects") >= 0
    for call in (
        lambda: psi_projective(oriented, axis),
        lambda: nmi_projective(axis, oriented),
        lambda: ensemble_ratio(axis, [axis, oriented], on="features"),
    ):
        with pytest.raises(UnsupportedKindError, match="oriented"):
            call()


def test_bad_input():
    a = SubspaceClustering.from_labels([0, 0, 1], n_features=2)
    with pytest.raises(ValueError, match="on must be"):
        nmi_projective(a, a, on="rows")
    with pytest.raises(ValueError, match="ensemble is empty"):
        psi_objects(a, [])
    with pytest.raises(ValueError, match="at least two members"):
        ensemble_ratio(a, [a])
    with pytest.raises(ShapeMismatchError, match="different rows"):
        reference_gain(a, [a], SubspaceClustering.from_labels([0, 1], n_features=2))
    with pytest.raises(EmptyClusteringError):
        nmi_projective(a, SubspaceClustering.from_labels([-1, -1, -1], n_features=2))
    with pytest.raises(ValueError, match="share nothing"):
        apart = [SubspaceClustering.from_labels([0, 0, 1], masks=m)
                 for m in ([[1, 0], [1, 0]], [[0, 1], [0, 1]])]  # fmt: skip
        ensemble_ratio(a, apart)


def test_lac_weights_refuse_and_forgive():
    X = np.array([[0.0, 1.0, 5.0], [0.1, 9.0, 5.0], [7.0, 2.0, 5.0], [8.0, 2.1, 5.0]])
    weights = lac_weights(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(weights[:, 2], 0)  # constant
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(lac_weights(np.ones((4, 2)), [0, 0, 1, 1]), 0.5)
    np.testing.assert_allclose(lac_weights(X + 1e7, [0, 0, 1, 1]), weights, atol=1e-6)
    with pytest.raises(ValueError, match="h must be"):
        lac_weights(X, [0, 0, 1, 1], 0)
    with pytest.raises(ValueError, match="scale must be"):
        lac_weights(X, [0, 0, 1, 1], scale="range")
    with pytest.raises(ShapeMismatchError, match="4 rows"):
        lac_weights(X, [0, 1])


def test_psi_is_no_metric():
    """The way over a clustering with parts of both is shorter; doubled clusters cost nothing."""
    one, parts, stranger = (
        SubspaceClustering.from_clusters(clusters, (4, 2))
        for clusters in ([([0, 1, 2, 3], [0])], [([2], [0, 1]), ([0, 1, 3], [0])], [([2], [0, 1])])
    )
    assert psi_projective(one, stranger) == pytest.approx(0.875)
    assert psi_projective(one, parts) + psi_projective(parts, stranger) < 0.66
    doubled = SubspaceClustering.from_clusters([([0, 1], [0])] * 2, (4, 2))
    assert psi_projective(doubled, doubled.select([0])) == 0


def test_label_vectors_take_the_features_of_whoever_has_some():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (4, 12))
    members = [SubspaceClustering.from_labels(one, n_features=3) for one in labels[:3]]

    class Fitted:
        clustering_ = members[0]

    goal = SubspaceClustering.from_labels(labels[3], n_features=3)
    for on in ("objects", "both"):
        expected = reference_gain(members[0], members, goal, on)
        assert reference_gain(labels[0], members, labels[3], on) == expected
        assert reference_gain(Fitted(), members, labels[3], on) == expected
        assert nmi_projective(Fitted(), labels[3], on) == nmi_projective(members[0], goal, on)
        assert ensemble_ratio(Fitted(), members, on) == ensemble_ratio(members[0], members, on)
    assert psi_projective(labels[0], [Fitted(), goal]) == psi_projective(
        members[0], [*members[:1], goal]
    )
