"""Studies made by hand: every number of them is what was planted or said."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_views
from subscape.exploration.explain import histogram
from subscape.exploration.information import redundancy
from subscape.testing.studies import FEATURES, MOST_SHOWN, empty_study, planted_study


@pytest.fixture(scope="module")
def made():
    """A study of three views, and the table that it is of."""
    planted = planted_views(
        300, None, n_clusters=(4, 3, 2), dims=2, noise_dims=3, rotate=False, random_state=5
    )
    return planted_study(300, random_state=5), np.asarray(planted.X) * 3 + 40, planted


def test_the_views_are_the_planted_ones(made):
    study, X, planted = made
    assert [view.number for view in study] == [1, 2, 3]
    for view, truth in zip(study.views, planted.clusterings, strict=True):
        members = truth.memberships.toarray() > 0
        largest_first = np.argsort(-members.sum(axis=1), kind="stable")
        assert np.array_equal(view.clustering.memberships.toarray() > 0, members[largest_first])
        assert (np.diff(view.clustering.sizes) <= 0).all()
        assert np.array_equal(view.clustering.subspaces.masks, truth.subspaces.masks)
        assert view.row_confidence.tolist() == [0.97] * 300
        # The rule puts nearly all rows where they are.
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        assert (view.rule(scaled)[0] == view.labels).mean() > 0.95
    assert study.feature_names == FEATURES and study.shape == (300, 9)
    assert study.searched_rows.tolist() == study.shown_rows.tolist() == list(range(300))
    assert np.array_equal(
        study.values, X[:, [study.feature_names.index(name) for name in study.value_features]]
    )


def test_what_is_said_of_the_views(made):
    study, _, _ = made
    assert [view.score for view in study] == [1.4, 0.7, 1.4 / 3]
    assert [view.p_value for view in study] == pytest.approx([0.0004, 0.0008, 0.0012])
    assert [view.stability for view in study] == pytest.approx([0.94, 0.89, 0.84])
    assert [view.replication for view in study] == pytest.approx([0.93, 0.88, 0.83])
    assert [view.finders for view in study] == [
        ("NrKMeans", "LAC", "KMeans"), ("NrKMeans", "MineClus"), ("NrKMeans", "MineClus"),
    ]  # fmt: skip
    assert [view.run_ids for view in study] == [
        ("10ab", "11ab", "12ab"), ("20ab", "21ab"), ("30ab", "31ab"),
    ]  # fmt: skip
    assert study[1].titles[1] == "LAC(n_clusters=4)"
    assert study[1].cluster_stability.tolist() == pytest.approx(np.linspace(0.98, 0.7, 4))
    assert study[2].cluster_p_values == pytest.approx([0.0001, 0.01005, 0.02])
    assert all(view.missing_redundancy == 0 for view in study)
    assert study.between_views.shape == (3, 3)
    for i, a in enumerate(study):
        for j, b in enumerate(study):
            assert study.between_views[j, i] == redundancy(a.labels, b.labels)
    assert np.diff(study.chance).min() >= 0 and len(study.chance) == 40
    assert np.mean(study.chance) == pytest.approx(0.08 + 0.5772 * 0.02, abs=0.01)
    assert np.std(study.chance) == pytest.approx(0.02 * np.pi / np.sqrt(6), abs=0.01)


def test_coordinates_lie_along_two_own_features(made):
    study, X, _ = made
    for view in study:
        first, second = np.flatnonzero(view.clustering.subspaces.masks[0])[:2]
        assert view.loadings[first].tolist() == [0.9, 0.3]
        assert view.loadings[second].tolist() == [0.4, -0.8]
        assert np.count_nonzero(view.loadings) == 4
        assert np.allclose(view.coordinates, (X - X.mean(axis=0)) @ view.loadings)


def test_facts_are_those_of_the_table(made):
    study, X, _ = made
    for view in study:
        for k, facts in enumerate(view.facts):
            rows = view.clustering.memberships.toarray()[k] > 0
            told = [fact.information for fact in facts]
            assert told == sorted(told, reverse=True)
            for fact in facts:
                j = FEATURES.index(fact.feature)
                inside, outside, column = X[rows, j], X[~rows, j], X[:, j]
                ratio = inside.std() / column.std()
                away = (inside.mean() - column.mean()) / column.std()
                expected = -np.log(ratio) + (ratio**2 + away**2 - 1) / 2
                assert fact.information == pytest.approx(expected)
                assert fact.is_own == view.clustering.subspaces.masks[k, j]
                assert (fact.low, fact.high) == pytest.approx(np.quantile(inside, (0.05, 0.95)))
                assert (fact.overall_low, fact.overall_high) == pytest.approx(
                    np.quantile(column, (0.05, 0.95))
                )
                shift = (inside.mean() - outside.mean()) / outside.std()
                assert fact.effect == pytest.approx(shift)
                for name, value in histogram(column, rows).items():
                    assert np.array_equal(getattr(fact, name), value)


def test_results_lie_around_their_views(made):
    study, _, _ = made
    results = study.results
    assert len(results) == 40 and study.distances.shape == (40, 40)
    assert [result.name for result in results[:2]] == ["0000#0", "0001#0"]
    assert results[17].name == "0011#0" and results[17].seconds == pytest.approx(1.7)
    assert [result.view for result in results] == [(i // 6 + 1) % 4 for i in range(40)]
    assert [result.n_clusters for result in results] == [2 + i % 5 for i in range(40)]
    six = ("KMeans", "NrKMeans", "LAC", "MineClus", "GaussianMixture", "KFlats")
    assert tuple(result.finder for result in results[:6]) == six
    for i, result in enumerate(results):
        swapped = result.view > 1 and six[i % 6] in ("KMeans", "GaussianMixture")
        assert result.finder == ("LAC" if swapped else six[i % 6])
        assert result.title == f"{result.finder}(n_clusters={result.n_clusters})"
        assert 0.2 <= result.score <= 1.4
    assert any(result.finder == "LAC" and i % 6 in (0, 4) for i, result in enumerate(results))
    places = np.array([(result.x, result.y) for result in results])
    views = np.array([result.view for result in results])
    angle = 2 * np.pi * views / 4
    centres = 0.4 * np.column_stack([np.cos(angle), np.sin(angle)])
    away = np.abs(places - centres)
    assert away[views > 0].max() < 0.15 and 0.05 < away[views == 0].std() < 0.25
    assert np.hypot(*places[views == 1].mean(axis=0)) == pytest.approx(0.4, abs=0.05)
    gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    assert study.distances == pytest.approx(np.minimum(gaps, 1))
    assert (study.distances == study.distances.T).all() and study.distances.max() <= 1


def test_an_untidy_study_ends_with_a_doubtful_view():
    plain, study = planted_study(200), planted_study(200, untidy=True)
    for view, same in zip(study.views[:2], plain.views[:2], strict=True):
        assert view.p_value == same.p_value and np.array_equal(view.labels, same.labels)
    last = study[3]
    members = last.clustering.memberships.toarray() > 0
    before = plain[3].clustering.memberships.toarray() > 0
    left_out, twice = members.sum(axis=0) == 0, members.sum(axis=0) == 2
    # A fifth is taken out, then a tenth put into the first cluster.
    assert 20 < left_out.sum() <= 40 and 0 < twice.sum() <= 20
    assert (members[0] & ~before[0]).sum() + (before[0] & ~members[0]).sum() > 0
    assert (members[1] & ~before[1]).sum() == 0
    assert 32 <= (before[1] & ~members[1]).sum() + (before[0] & ~members[0]).sum() <= 40
    assert last.row_confidence.tolist() == np.where(left_out, 0.4, 0.97).tolist()
    assert (last.score, last.p_value, last.stability, last.replication) == (0.07, 0.31, 0.44, 0.31)
    assert last.missing_redundancy == 0.7
    for facts in last.facts:
        (level,) = [fact for fact in facts if fact.level is not None]
        assert (level.feature, level.level, level.is_own) == ("books", "often", True)
        assert (level.share, level.elsewhere, level.imputed) == (0.8, 0.15, 0.25)
    assert all(fact.level is None for view in study.views[:2] for own in view.facts for fact in own)


def test_names_sizes_and_changes():
    names = tuple(f"r{i}" for i in range(60))
    study = planted_study(
        60, n_clusters=(2, 2), feature_names=tuple("abcdefg"), row_names=names, n_results=7,
        notes=("hello",),
    )  # fmt: skip
    assert study.feature_names == tuple("abcdefg") and study.row_names == names
    assert study[1].clustering.row_names == names
    assert study.notes == ("hello",) and len(study.results) == 7
    assert study.settings == {"effort": "normal", "seed": 0, "version": "0.1.0"}
    assert [column["name"] for column in study.table_schema] == list("abcdefg")
    assert {column["role"] for column in study.table_schema} == {"numeric"}
    many = planted_study(50, n_clusters=(2, 2, 2, 2))
    assert many.feature_names == (*FEATURES, "x9", "x10")
    assert planted_study(50).results != planted_study(50, random_state=1).results


def test_of_many_rows_some_are_shown():
    study = planted_study(MOST_SHOWN + 200, n_clusters=(2, 2), n_results=2)
    assert MOST_SHOWN == 5000 and len(study.shown_rows) == MOST_SHOWN
    assert (np.diff(study.shown_rows) > 0).all() and study.shown_rows.max() < MOST_SHOWN + 200
    assert len(study[1].coordinates) == len(study.values) == MOST_SHOWN
    assert len(study.searched_rows) == MOST_SHOWN + 200


def test_a_study_that_found_nothing():
    study = empty_study(30)
    assert study.shape == (30, 7) and not study.views and not study.results
    assert study.distances.shape == study.between_views.shape == (0, 0) and study.settings == {}
    assert empty_study().shape == (50, 7)
