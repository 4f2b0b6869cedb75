"""What all consensus methods have in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from subscape import SubspaceClustering, Table
from subscape.core.errors import DroppedClusterWarning
from subscape.ensemble import (
    CSPA,
    EMPCE,
    HBGF,
    MOEAPCE,
    WSPA,
    ClusterBasedPCE,
    EvidenceAccumulation,
    agreement,
    consensus_rows,
    generate,
)
from subscape.ensemble.base import COMMON
from subscape.finders import ORCLUS
from subscape.finders.catalogue import of_role
from subscape.plots import ClusterMapDisplay
from subscape.testing import CONSENSUS_CHECKS, check_consensus
from subscape.testing.finders import brief

METHODS = of_role("consensus")


@pytest.mark.parametrize("check", CONSENSUS_CHECKS)
@pytest.mark.parametrize("name", METHODS)
def test_our_checks(name, check):
    CONSENSUS_CHECKS[check](brief(METHODS[name].make()))


def test_check_consensus_names_the_check_that_fails():
    class Broken(HBGF):
        def fit(self, ensemble, X=None):
            super().fit(ensemble, X)
            self.n_iter_ = 0
            return self

    with pytest.raises(AssertionError, match="Broken fails the check 'result'"):
        check_consensus(Broken())


ALL_NOISE = [[0, -1, -1, -1], [-1, 0, -1, -1], [-1, -1, 0, -1]]


@pytest.fixture(scope="module")
def oriented(planted):
    """A table with names, and oriented clusterings of it."""
    frame = pd.DataFrame(planted[0], columns=list("abcdefgh"))
    return frame, [ORCLUS(3, random_state=seed).fit(frame) for seed in range(2)]


class TestNamesOfTheTable:
    def test_columns_in_another_order_are_refused(self, oriented):
        frame, members = oriented
        with pytest.raises(ValueError, match="columns of the table are in another order"):
            ClusterBasedPCE(3).fit(members, frame[list("badcefgh")])
        with pytest.raises(ValueError, match="columns of the table are not those"):
            ClusterBasedPCE(3).fit(members, frame.rename(columns={"a": "z"}))

    def test_rows_in_another_order_are_refused(self, oriented):
        frame, members = oriented
        ids = [f"r{i}" for i in range(len(frame))]
        named = [member.clustering_.with_names(row_names=ids) for member in members]
        table = Table.from_array(frame.to_numpy(), feature_names=frame.columns, row_names=ids)
        fitted = ClusterBasedPCE(3).fit(named, table)
        assert fitted.clustering_.row_names == tuple(ids)
        with pytest.raises(ValueError, match="rows of the table are in another order"):
            ClusterBasedPCE(3).fit(named, table.take(np.arange(len(frame))[::-1]))

    def test_numbers_are_no_names(self, oriented):
        frame, members = oriented
        array = frame.to_numpy()
        plain = ClusterBasedPCE(3).fit(members, array).clustering_
        assert plain == ClusterBasedPCE(3).fit(members, pd.DataFrame(array)).clustering_

    def test_plain_labels_take_the_names_of_the_table(self, oriented, planted):
        labels = planted[1].labels()
        found = ClusterBasedPCE(3).fit([labels, labels], oriented[0]).clustering_
        assert found.feature_names == tuple("abcdefgh")


def test_fit_predict_uses_the_table(planted):
    X, truth = planted
    labels = [truth.labels()] * 2
    method = ClusterBasedPCE(3)
    np.testing.assert_array_equal(method.fit_predict(labels, X), method.fit(labels, X).labels_)
    assert method.clustering_.kind == "weighted"
    assert len(WSPA(3, random_state=0).fit_predict([truth, truth], X)) == len(X)


class TestAllRowsAreNoise:
    @pytest.mark.parametrize(
        "method, attributes",
        [
            (ClusterBasedPCE(2), ("metaclusters_", "support_")),
            (EMPCE(2), ("memberships_", "objective_", "history_")),
            (MOEAPCE(2), ("front_", "front_distances_", "hypervolumes_")),
        ],
    )
    def test_all_attributes_are_there(self, method, attributes):
        with pytest.warns(DroppedClusterWarning, match="every row is left out"):
            method.fit(ALL_NOISE)
        assert (method.labels_ == -1).all()
        for name in attributes:
            assert np.size(getattr(method, name)) in (0, 1, 3)

    def test_nothing_of_an_earlier_fit_is_left(self):
        method = ClusterBasedPCE(2).fit([[0, 0, 1, 1]] * 3)
        with pytest.warns(DroppedClusterWarning):
            method.fit(ALL_NOISE)
        assert method.support_.shape == (0, 4)
        np.testing.assert_array_equal(method.metaclusters_, [-1, -1, -1])

    def test_parameters_are_checked_all_the_same(self):
        with pytest.raises(ValueError, match="more than the 4 rows"):
            CSPA(99).fit(ALL_NOISE)


class TestEvidenceOfEqualRows:
    def test_rows_that_all_members_join_stay_together(self):
        with pytest.warns(DroppedClusterWarning, match="1 cluster, 2 were asked for"):
            found = EvidenceAccumulation(2).fit([[0] * 6] * 3)
        np.testing.assert_array_equal(found.labels_, 0)

    def test_there_are_no_more_clusters_than_different_rows(self):
        with pytest.warns(DroppedClusterWarning):
            found = EvidenceAccumulation(5).fit([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]])
        np.testing.assert_array_equal(found.labels_, [0, 0, 1, 1, 2, 2])


def test_level_votes_of_rows_in_several_clusters_stay_level():
    """A row in three clusters of one member gives each a third, as exactly as a third is."""
    spread = SubspaceClustering(np.ones((3, 3), bool), np.ones((3, 1), bool))
    from subscape.ensemble.voting import ballot, count_votes
    from subscape.measures.stacked_clusters import stack

    clusters = stack([spread, *([SubspaceClustering.from_labels([0, 1, 2])] * 2)], features=False)
    votes = count_votes(ballot(clusters), clusters, np.array([0, 1, 1, 2, 2, 0, 2, 2, 0]), 3)
    assert votes.sums[0, 1] == 1 / 3


class TestMessages:
    @pytest.mark.parametrize("given", [None, 3, "abc"])
    def test_what_is_no_list(self, given):
        with pytest.raises(TypeError, match="an ensemble is a list of clusterings"):
            HBGF(2).fit(given)
        with pytest.raises(TypeError, match="an ensemble is a list of clusterings"):
            consensus_rows(given)

    def test_a_label_vector_alone(self):
        with pytest.raises(TypeError, match="put it into a list"):
            HBGF(2).fit([0, 0, 1])

    @pytest.mark.parametrize("number", [2.5, "3", True])
    def test_numbers_of_clusters(self, number):
        with pytest.raises(TypeError, match="n_clusters must be a whole number"):
            consensus_rows([[0, 0, 1], [0, 1, 1]], number)

    def test_one_clustering_is_an_ensemble(self):
        one = SubspaceClustering.from_labels([0, 0, 1])
        np.testing.assert_array_equal(consensus_rows(one, 2, random_state=0).labels, [0, 0, 1])

    @pytest.mark.parametrize(
        "vary, text",
        [
            ({"h": 0.3}, "must be a range"),
            ({"h": "abc"}, "must be a range"),
            (3, "vary must be a mapping"),
        ],
    )
    def test_what_to_vary(self, planted, vary, text):
        with pytest.raises((TypeError, ValueError), match=text):
            generate(planted[0], size=2, vary=vary)

    def test_representations(self, planted):
        with pytest.raises(TypeError, match="representations must be names"):
            generate(planted[0], size=2, representations=3)

    def test_a_consensus_of_another_table(self, members):
        other = SubspaceClustering.from_labels(members[0].labels(), n_features=5)
        for call in (agreement, lambda c, e: ClusterMapDisplay.from_ensemble(e, c)):
            with pytest.raises(ValueError, match="the consensus is over 5 features, the first"):
                call(other, members)


def test_ranges_that_most_methods_have_in_common():
    time, number = COMMON["max_time"][0], COMMON["n_clusters"][0]
    assert [time.is_satisfied_by(value) for value in (0.0, 1e-9, 0.5, 1e9)] == [False] + [True] * 3
    assert [number.is_satisfied_by(value) for value in (0, 1, 2)] == [False, True, True]
