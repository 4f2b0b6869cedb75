from __future__ import annotations

import csv

import numpy as np
import pytest
from tests.strategies import random_oriented

from subscape import SubspaceClustering
from subscape.ensemble import ClusterBasedPCE, agreement


def test_shares_of_the_members_that_agree(flipped):
    copies, truth = flipped
    found = agreement(truth, copies)
    for i in (0, 50, 199):
        votes = []
        for copy in copies:
            mine = copy == copy[i]
            jaccard = [(mine & (truth == k)).sum() / (mine | (truth == k)).sum() for k in range(5)]
            votes.append(np.argmax(jaccard) == truth[i])
        assert found.rows[i] == pytest.approx(np.mean(votes))
    for k in range(5):
        assert found.clusters[k] == pytest.approx(found.rows[truth == k].mean())
    np.testing.assert_array_equal(found.found, 1.0)
    assert found.n_members == 20
    assert found.mean == pytest.approx(found.rows.mean())


def test_pieces_of_a_split_cluster_agree_with_it():
    found = agreement([0, 0, 0, 0, 1, 1], [[0, 0, 1, 1, 2, 2]])
    np.testing.assert_array_equal(found.rows, 1.0)


def test_the_second_choice():
    members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
    found = agreement([0, 0, 1, 1], members)
    np.testing.assert_array_equal(found.second, [-1, 1, -1, -1])
    assert found.second_share[1] == pytest.approx(1 / 3)


def test_abstentions_and_noise():
    members = [[0, 0, 1, 1, -1], [0, -1, 1, 1, -1], [0, 0, 1, 1, 1]]
    found = agreement([0, 0, 1, 1, -1], members)
    np.testing.assert_allclose(found.rows, [1, 1, 1, 1, 2 / 3])
    empty = agreement(SubspaceClustering.from_labels([-1] * 5), members)
    assert empty.votes.shape == (0, 5)
    np.testing.assert_allclose(empty.rows, [0, 1 / 3, 0, 0, 2 / 3])
    assert empty.cluster_records() == []


def test_a_cluster_that_shares_no_row_stands_for_none():
    """The member's second cluster lies in the noise of the consensus: it votes for nobody."""
    found = agreement([0, 0, 0, -1, -1], [[0, 0, -1, 1, 1]])
    np.testing.assert_array_equal(found.votes, [[1, 1, 0, 0, 0]])
    np.testing.assert_array_equal(found.rows, [1, 1, 0, 0, 0])


def test_similarity_sees_subspaces():
    a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    swapped = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[0, 1], [1, 0]])
    found = agreement(a, [a, swapped])
    np.testing.assert_allclose(found.rows, 1)
    np.testing.assert_allclose(found.similarity, 0.5)


def test_oriented_members_count_by_rows():
    rng = np.random.default_rng(0)
    oriented = random_oriented(rng, (9, 3))
    found = agreement(oriented, [oriented, oriented.rows_only()])
    np.testing.assert_allclose(found.similarity, 1)


def test_soft_consensus_and_fitted_methods(members):
    hard = ClusterBasedPCE(3, random_state=0).fit(members)
    soft = ClusterBasedPCE(3, assignment="soft", random_state=0).fit(members)
    first, second = agreement(hard, members), agreement(soft, members)
    assert first.mean > 0.8
    assert second.mean == pytest.approx(first.mean, abs=0.05)
    assert "24 members agree on" in repr(first)


def test_tables_can_be_written(tmp_path):
    names = ["a", "=1+1", "c", "d"]
    c = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2, row_names=names)
    found = agreement(c, [c, [0, 1, 1, 1]])
    assert [r["row"] for r in found.row_records()][-1] == "=1+1"  # the least sure come last
    with found.save(tmp_path / "rows.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[-1] == {"row": "'=1+1", "cluster": "0", "agreement": "0.5", "second": "1",
                        "second_share": "0.5"}  # fmt: skip
    with found.save(tmp_path / "clusters.csv", "clusters").open() as stream:
        clusters = list(csv.DictReader(stream))
    assert [row["rows"] for row in clusters] == ["2", "2"]
    with pytest.raises(FileExistsError):
        found.save(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="table must be"):
        found.save(tmp_path / "x.csv", "columns")


def test_another_table_is_refused():
    with pytest.raises(ValueError, match="rows"):
        agreement([0, 1], [[0, 1, 1]])


def test_half_of_a_cluster_is_enough_to_have_found_it():
    # Of four rows, one member has two together (Jaccard 1/2), another has no more than one.
    consensus = [0, 0, 0, 0, 1, 1]
    found = agreement(consensus, [[0, 0, 1, 2, 3, 3], [0, 1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(found.found, [0.5, 1.0])
