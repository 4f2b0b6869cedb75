"""Votes of clusterings about rows, counted by hand."""

from __future__ import annotations

import numpy as np

from subscape.ensemble.weighted_vote import _decided, confidence, labels_of

#: Two clusters, five rows: clear, clear, tied, mostly in none, in none.
VOTES = np.array([[1.0, 0.2, 0.4, 0.3, 0.0], [0.0, 0.7, 0.4, 0.1, 0.0]])


def test_most_votes_win_unless_more_are_for_none():
    found = _decided(VOTES, overlapping=False)
    np.testing.assert_array_equal(found, [[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]])
    # None has .5 and the first as many: whoever has as many as none has won.
    level = _decided(np.array([[0.5]]), overlapping=False)
    assert level.tolist() == [[True]]


def test_half_of_the_votes_are_enough_where_clusters_overlap():
    found = _decided(np.array([[0.5, 0.49, 0.9], [0.5, 0.1, 0.6]]), overlapping=True)
    np.testing.assert_array_equal(found, [[1, 0, 1], [1, 0, 1]])


def test_labels_are_the_clusters_with_most_votes():
    members = np.array([[1, 0, 1, 0, 0], [1, 1, 0, 0, 0]], dtype=bool)
    assert labels_of(members, VOTES).tolist() == [0, 1, 0, -1, -1]
    assert labels_of(np.zeros((0, 3), bool), np.zeros((0, 3))).tolist() == [-1, -1, -1]


def test_how_sure_a_row_is_where_it_is():
    members = _decided(VOTES, overlapping=False)
    np.testing.assert_allclose(confidence(VOTES, members), [1.0, 0.7, 0.4, 0.6, 1.0])
    over = np.array([[0.8], [0.7]])
    np.testing.assert_allclose(confidence(over, np.array([[True], [True]])), [0.8])
    np.testing.assert_allclose(confidence(over, np.zeros((2, 1), bool)), [0.0])
