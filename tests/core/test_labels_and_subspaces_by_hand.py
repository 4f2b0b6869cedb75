"""What labels need of subspaces, and when two clusterings are close."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.core.convert import encode_labels, label_matrix
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.core.oriented import OrientedSubspaces, squared_cosines, trace_overlaps

MASKS = [[1, 0, 0], [0, 1, 1]]
WEIGHTS = [[1, 0, 0], [0, 0.5, 0.5]]


def test_features_that_are_said_must_be_those_of_the_subspaces():
    bases = [np.eye(3)[:, :1]] * 2
    assert SubspaceClustering.from_labels([0, 1], n_features=3, bases=bases).n_features == 3
    with pytest.raises(SubscapeError, match=r"different numbers of features: \[3, 4\]"):
        SubspaceClustering.from_labels([0, 1], n_features=4, bases=bases)
    for given in ({"masks": MASKS}, {"weights": WEIGHTS}):
        assert SubspaceClustering.from_labels([0, 1], n_features=3, **given).n_features == 3
        with pytest.raises(ShapeMismatchError, match=f"n_features=4, but the {next(iter(given))} "):
            SubspaceClustering.from_labels([0, 1], n_features=4, **given)


def test_features_without_subspaces():
    assert SubspaceClustering.from_labels([0, 1]).n_features == 1
    assert SubspaceClustering.from_labels([0, 1], n_features=4).n_features == 4
    named = SubspaceClustering.from_labels([0, 1], feature_names=["a", "b"])
    assert named.n_features == 2 and named.subspaces.masks.all()


def test_one_kind_of_subspace_is_given():
    with pytest.raises(SubscapeError, match="give one of masks and weights, not 2"):
        SubspaceClustering.from_labels([0, 1], masks=MASKS, weights=WEIGHTS)
    with pytest.raises(SubscapeError, match="give one of masks and weights and bases, not 3"):
        SubspaceClustering.from_labels([0, 1], masks=MASKS, weights=WEIGHTS, bases=[np.eye(3)] * 2)


def test_close_clusterings():
    one = SubspaceClustering.from_labels([0, 0, 1, 1], weights=[[0.5, 0.5], [0.25, 0.75]])

    def other(labels, weights):
        return SubspaceClustering.from_labels(labels, weights=weights)

    assert one.isclose(other([0, 0, 1, 1], [[0.5, 0.5], [0.25, 0.75]])) is True
    assert one.isclose(other([1, 1, 0, 0], [[0.25, 0.75], [0.5, 0.5]])) is True
    apart = other([0, 0, 1, 1], [[0.5 + 1e-6, 0.5 - 1e-6], [0.25, 0.75]])
    assert one.isclose(apart) is False and one.isclose(apart, atol=1e-5) is True
    assert one.isclose(other([0, 1, 1, 1], [[0.5, 0.5], [0.25, 0.75]])) is False
    # Of another shape, kind or number.
    assert one.isclose(other([0, 0, 1, 1, 1], [[0.5, 0.5], [0.25, 0.75]])) is False
    assert one.isclose(SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2)) is False
    assert one.isclose(other([0, 0, 0, 0], [[0.5, 0.5]])) is False


def test_equal_clusterings():
    def made(labels=(0, 0, 1), masks=MASKS, **more):
        return SubspaceClustering.from_labels(list(labels), masks=masks, **more)

    one = made()
    assert one == made(provenance={"a": 1}) and hash(one) == hash(made(provenance={"a": 1}))
    assert one == made((1, 1, 0), MASKS[::-1])
    for other in (
        made((0, 1, 1)), made((0, 0, 1, 1)), made(masks=[[1, 0, 1], [0, 1, 1]]),
        made(feature_names=["a", "b", "c"]), made(row_names=["r", "s", "t"]),
        SubspaceClustering.from_labels([0, 0, 1], weights=WEIGHTS),
        made((0, 0, 0), [[1, 0, 0]]),
    ):  # fmt: skip
        assert one != other
    assert one != "a clustering" and (one == 3) is False


@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_numbers_beyond_64_bits_are_no_labels(number):
    with pytest.raises(ValueError, match=f"labels go up to {number}; number the clusters"):
        encode_labels(np.array([0, number], dtype=np.uint64))
    assert encode_labels(np.array([0, 2**63 - 1], dtype=np.uint64)).names == (0, 2**63 - 1)


@pytest.mark.parametrize(
    ("labels", "codes", "names"),
    [
        ([1, 0, -1], [1, 0, -1], (0, 1)), ([2, 0, -5], [1, 0, -1], (0, 2)),
        ([3, 3], [0, 0], (3,)), ([-1, -2], [-1, -1], ()), ([10**6, 5], [1, 0], (5, 10**6)),
        # A few more numbers than rows are counted, many more are sorted.
        ([67, 5], [1, 0], (5, 67)), ([68, 5], [1, 0], (5, 68)),
    ],
)  # fmt: skip
def test_numbers_that_nobody_has_are_left_out(labels, codes, names):
    found = encode_labels(np.array(labels))
    assert (found.codes.tolist(), found.names) == (codes, names)


@pytest.mark.parametrize(
    "is_complement", [(False, False), (True, False), (False, True), (True, True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_what_flats_and_their_complements_share(is_complement, seed):
    """Projections spelled out: tr(PQ), and half of tr P + tr Q - |P - Q| with the nuclear norm."""
    rng = np.random.default_rng(seed)
    sides, projections = [], []
    for widths, complement in zip(((1, 2, 0), (3, 1)), is_complement, strict=True):
        bases = [np.linalg.qr(rng.normal(size=(4, width)))[0] for width in widths]
        sides.append(OrientedSubspaces(bases, complement=complement))
        flats = [basis @ basis.T for basis in bases]
        projections.append([np.eye(4) - flat if complement else flat for flat in flats])
    expected = np.array([[np.trace(P @ Q) for Q in projections[1]] for P in projections[0]])
    np.testing.assert_allclose(squared_cosines(*sides), expected, atol=1e-12)
    expected = [
        [(np.trace(P) + np.trace(Q) - np.linalg.norm(P - Q, "nuc")) / 2 for Q in projections[1]]
        for P in projections[0]
    ]
    np.testing.assert_allclose(trace_overlaps(*sides), expected, atol=1e-7)


def test_labels_of_several_clusterings_side_by_side():
    given = SubspaceClustering.from_labels([0, -1, 0])
    found = label_matrix([given, ["b", "a", "b"], [5, 5, 7]])
    # Each is numbered for itself.
    assert found.tolist() == [[0, 1, 0], [-1, 0, 0], [0, 1, 1]]
    assert label_matrix([[0, 1]], dtype=np.int32).dtype == np.int32
    for other in ([[0, 1], [0, 1, 1]], [[0, 1], [0, 1], [0]]):
        with pytest.raises(ShapeMismatchError, match=r"different numbers of rows: \[\d, \d\]"):
            label_matrix(other)
    with pytest.raises(SubscapeError, match="no clusterings given"):
        label_matrix([])
