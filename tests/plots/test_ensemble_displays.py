from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.strategies import random_oriented

from subscape import SubspaceClustering
from subscape.ensemble import agreement
from subscape.plots import AgreementDisplay, ClusterMapDisplay, CoassociationDisplay

TRUTH = np.repeat([0, 1, 2], 12)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def members():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(8):
        labels = np.where(rng.random(36) < 0.15, rng.integers(0, 3, 36), TRUTH)
        labels[rng.random(36) < 0.1] = -1
        found.append(labels)
    return found


class TestCoassociation:
    def test_shares_of_joined_rows_in_the_order_of_the_consensus(self, members):
        display = CoassociationDisplay.from_ensemble(members, TRUTH)
        np.testing.assert_array_equal(np.sort(display.row_order), np.arange(36))
        np.testing.assert_array_equal(display.labels, TRUTH[display.row_order])
        assert (np.diff(display.labels) >= 0).all()
        for i, j in ((0, 1), (5, 30), (20, 14)):
            a, b = display.row_order[[i, j]]
            both = [m[a] == m[b] for m in members if m[a] >= 0 and m[b] >= 0]
            assert display.shares[i, j] == pytest.approx(np.mean(both))

    def test_clusters_are_framed_and_noise_is_named(self, members):
        consensus = np.where(np.arange(36) < 3, -1, TRUTH)
        ax = CoassociationDisplay.from_ensemble(members, consensus, title="x").ax_
        assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "2", "3", "noise"]
        assert len(ax.patches) == 3
        assert ax.get_title() == "x"

    def test_many_rows_are_thinned_out(self, monkeypatch, members):
        monkeypatch.setattr("subscape.plots.coassociation.MOST_ROWS", 10)
        assert CoassociationDisplay.from_ensemble(members, TRUTH).shares.shape == (10, 10)


class TestClusterMap:
    def test_dots_stand_for_the_clusters_they_resemble(self, members):
        display = ClusterMapDisplay.from_ensemble(members, TRUTH)
        assert display.places.shape == (24, 2) and display.stars.shape == (3, 2)
        np.testing.assert_array_equal(display.stands_for, np.tile([0, 1, 2], 8))
        apart = np.linalg.norm(display.places[:, None] - display.stars, axis=2)
        np.testing.assert_array_equal(apart.argmin(axis=1), display.stands_for)
        assert 0.2 < display.shown <= 1
        legend = [t.get_text() for t in display.ax_.get_legend().get_texts()]
        assert legend == ["1  (8 clusters)", "2  (8 clusters)", "3  (8 clusters)"]

    def test_subspaces_keep_clusters_apart(self):
        a = SubspaceClustering.from_labels(TRUTH, masks=np.eye(3))
        b = SubspaceClustering.from_labels(TRUTH, masks=np.eye(3)[[1, 2, 0]])
        display = ClusterMapDisplay.from_ensemble([a, a, b, b], a)
        ax = display.plot().ax_
        assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0
        same = np.linalg.norm(display.places[0] - display.places[3])
        other = np.linalg.norm(display.places[:3, None] - display.places[6:9], axis=2)
        assert same == pytest.approx(0, abs=1e-6)
        assert other.max() > 0.1

    def test_oriented_members_and_few_clusters(self, monkeypatch):
        rng = np.random.default_rng(0)
        oriented = random_oriented(rng, (36, 3))
        assert len(ClusterMapDisplay.from_ensemble([oriented, TRUTH], TRUTH).stars) == 3
        alone = ClusterMapDisplay.from_ensemble([np.zeros(36, int)], np.zeros(36, int))
        np.testing.assert_allclose(alone.places, 0, atol=1e-9)
        monkeypatch.setattr("subscape.plots.cluster_map.MOST_CLUSTERS", 5)
        assert len(ClusterMapDisplay.from_ensemble([TRUTH] * 4, TRUTH).places) == 5

    def test_a_consensus_of_noise_is_refused(self, members):
        with pytest.raises(ValueError, match="every row is noise"):
            ClusterMapDisplay.from_ensemble(members, np.full(36, -1))


class TestAgreement:
    def test_curves_fall_and_cover_all_rows(self, members):
        consensus = np.where(np.arange(36) < 3, -1, TRUTH)
        display = AgreementDisplay.from_ensemble(members, consensus)
        assert sorted(display.curves_) == [-1, 0, 1, 2]
        assert sum(map(len, display.curves_.values())) == 36
        found = agreement(consensus, members)
        for label, curve in display.curves_.items():
            assert (np.diff(curve) <= 0).all()
            assert curve.mean() == pytest.approx(found.rows[consensus == label].mean())
        names = [t.get_text() for t in display.ax_.get_xticklabels()]
        assert names == ["1", "2", "3", "noise"]
        assert "8 members" in display.ax_.get_ylabel()

    def test_from_an_agreement(self, members):
        display = AgreementDisplay.from_agreement(agreement(TRUTH, members), title="x")
        assert display.ax_.get_title() == "x"


def test_rows_of_a_consensus_by_hand():
    """Clusters one after the other, in each the rows that most members join to the others first."""
    consensus = np.array([1, -1, 0, 1, 0, 0, -1, 1])
    members = [
        np.array([1, 0, 0, 1, 0, 2, 0, 1]),
        np.array([1, -1, 0, 1, 0, 0, 2, 0]),
        np.array([0, 2, 1, -1, 1, 1, 2, 2]),
    ]
    display = CoassociationDisplay.from_ensemble(members, consensus)

    def share(a, b):
        both = [m[a] == m[b] for m in members if m[a] >= 0 and m[b] >= 0]
        return np.mean(both) if both else 0.0

    rows = []
    for label in (0, 1, -1):
        own = np.flatnonzero(consensus == label)
        inner = [np.mean([share(a, b) for b in own]) for a in own]
        rows += [int(own[i]) for i in np.argsort(-np.array(inner), kind="stable")]
    assert display.row_order.tolist() == rows != sorted(rows)
    assert display.labels.tolist() == [0, 0, 0, 1, 1, 1, -1, -1]
    np.testing.assert_allclose(display.shares, [[share(a, b) for b in rows] for a in rows])


def test_places_on_the_map_are_those_of_classical_scaling():
    from subscape.plots.cluster_map import _middle, _scaled

    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [5.0, 2.0], [1.0, 3.0]])
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    places, shown = _scaled(apart)
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places, axis=2), apart, atol=1e-9)
    assert shown == pytest.approx(1)
    assert places[np.abs(places).argmax(axis=0), [0, 1]].min() > 0  # the largest points up
    assert places[:, 0].var() > places[:, 1].var()
    # With a third direction its share of the squares isn't shown.
    solid = np.column_stack([points, [0.0, 1.0, -1.0, 0.5, 0.5]])
    squares = np.linalg.svd(solid - solid.mean(axis=0))[1] ** 2
    _, shown = _scaled(np.linalg.norm(solid[:, None] - solid, axis=2))
    assert shown == pytest.approx(squares[:2].sum() / squares.sum())
    single, shown = _scaled(np.zeros((1, 1)))
    assert single.tolist() == [[0.0, 0.0]] and shown == 0.0
    own = np.array([True, False, True, False, False])
    weights = np.array([1.0, 5.0, 3.0, 1.0, 1.0])
    np.testing.assert_allclose(_middle(points, weights, own), [0.0, 0.75])
    np.testing.assert_allclose(_middle(points, weights * ~own, own), [26 / 7, 5 / 7], atol=1e-6)
