"""Ballots, votes and winners, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from subscape import SubspaceClustering
from subscape.ensemble.voting import ballot, count_votes, shared_mass, widened, winners
from subscape.measures.stacked_clusters import stack


def stacked(*members):
    return stack([SubspaceClustering.from_labels(each) for each in members], features=False)


def test_members_that_place_every_row():
    found = ballot(stacked([0, 0, 1], [0, 1, 1]))
    assert found.present is None and found.voters is None and not found.noise.any()
    assert found.memberships.toarray().astype(int).tolist() == [
        [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1],
    ]  # fmt: skip


def test_rows_that_members_leave_out():
    """The first row by one of three, the second by two, the third by all."""
    members = stacked([-1, -1, -1, 0], [0, -1, -1, 0], [0, 0, -1, 1])
    for rule, noise in (("majority", [0, 1, 1, 0]), ("abstain", [0, 0, 1, 0])):
        found = ballot(members, rule)
        assert found.noise.astype(int).tolist() == noise
        assert found.voters.tolist() == [2, 1, 0, 3]
    # Half of them is no majority.
    assert not ballot(stacked([0, 0], [-1, 0])).noise.any()


def test_a_row_in_several_clusters_of_a_member_has_one_vote():
    twice = SubspaceClustering.from_clusters([([0, 1], [0]), ([1, 2], [0])], (3, 1))
    plain = SubspaceClustering.from_labels([0, 0, 1])
    found = ballot(stack([twice, plain], features=False))
    assert found.memberships.toarray()[:2].tolist() == [[1, 0.5, 0], [0, 0.5, 1]]
    assert found.memberships.toarray()[2:].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert found.present is None
    soft = SubspaceClustering(np.array([[0.5, 0.2], [0.25, 0.0]]), np.ones((2, 1), bool))
    kept = ballot(stack([soft], features=False))
    np.testing.assert_allclose(kept.memberships.toarray(), [[0.5, 0.2], [0.25, 0]], atol=1e-7)


def test_votes_are_added_by_metacluster():
    clusters = stacked([0, 0, 1], [0, 1, 1], [0, 0, 0])
    groups = np.array([0, 1, 0, 1, 0])
    found = count_votes(ballot(clusters), clusters, groups, 2)
    assert found.sums.tolist() == [[3, 2, 1], [0, 1, 2]]
    assert found.shares.tolist() == [[1, 2 / 3, 1 / 3], [0, 0.5, 1]]
    np.testing.assert_allclose(found.counts, [[1, 2 / 3, 1 / 3], [0, 1 / 3, 2 / 3]])
    weighed = count_votes(ballot(clusters), clusters, groups, 2, [2, 1, 1])
    assert weighed.sums.tolist() == [[4, 3, 1], [0, 1, 3]]
    np.testing.assert_allclose(weighed.shares, [[1, 0.75, 0.25], [0, 1 / 3, 1]])
    np.testing.assert_allclose(weighed.counts, [[1, 0.75, 0.25], [0, 0.25, 0.75]])
    empty = count_votes(ballot(clusters), clusters, groups, 3)
    assert empty.shares[2].tolist() == [0, 0, 0]


def test_members_that_leave_a_row_out_do_not_count_there():
    clusters = stacked([0, -1], [0, 0], [1, 0])
    found = count_votes(ballot(clusters), clusters, np.array([0, 0, 0, 1]), 2)
    assert found.sums.tolist() == [[2, 2], [1, 0]]
    np.testing.assert_allclose(found.counts, [[2 / 3, 1], [1 / 3, 0]])
    nobody = stacked([-1, 0], [-1, 0])
    votes = count_votes(ballot(nobody), nobody, np.array([0, 0]), 1)
    assert votes.shares.tolist() == votes.counts.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("votes", "sums", "won"),
    [
        ([[0.5, 0.2], [0.4, 0.8]], [[1, 1], [9, 1]], [0, 1]),
        ([[0.5, 0.5], [0.5, 0.5]], [[1, 2], [3, 2]], [1, 0]),
        ([[0.0], [0.0]], [[0], [0]], [0]),
    ],
)
def test_ties_go_to_the_larger_sum_then_to_the_first(votes, sums, won):
    assert winners(np.array(votes), np.array(sums, float)).tolist() == won


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0])
def test_shares_of_least_cost(power):
    """Of all shares that sum to 1 none costs less: Lagrange's condition holds."""
    costs = np.array([[0.2, 1.0], [0.8, 3.0], [0.5, 0.5]])
    shares = shared_mass(costs, power)
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    marginal = shares ** (power - 1) * costs
    np.testing.assert_allclose(marginal, np.broadcast_to(marginal[0], marginal.shape))
    assert shared_mass(np.array([[0.0], [0.0], [1e-300]]), power).ravel().tolist() == [0.5, 0.5, 0]


def test_wider_numbers_at_the_same_places():
    given = sparse.csr_array(np.array([[0, 1.5], [2.5, 0]], np.float32))
    found = widened(given)
    assert found.dtype == np.float64 and found.toarray().tolist() == [[0, 1.5], [2.5, 0]]
    assert np.shares_memory(found.indices, given.indices)
