"""Scores, candidates, views."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from subscape.datasets import planted_views, structureless
from subscape.ensemble.weighted_vote import matched
from subscape.exploration.assess import cluster_scores, null_score
from subscape.exploration.information import canonical, joint_labels, novelty, redundancy
from subscape.exploration.plan import Entry
from subscape.exploration.rule import learn
from subscape.exploration.separation import GroupingScorer, project_out
from subscape.exploration.views import Consensus, ranked
from subscape.measures import homogeneity_score
from subscape.validation.max_statistic import NullMaxima, gumbel_p_value

labels = st.lists(st.integers(-1, 4), min_size=4, max_size=40).map(np.array)


def conditional_entropy(a, b):
    """H(a | b) by the definition."""
    total = 0.0
    for value in np.unique(b):
        inside = a[b == value]
        p = np.unique(inside, return_counts=True)[1] / len(inside)
        total += len(inside) / len(a) * -(p * np.log(p)).sum()
    return total


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(*[
    st.lists(st.integers(-1, 3), min_size=n, max_size=n).map(np.array)] * 2)))  # fmt: skip
@settings(deadline=None, max_examples=50)
def test_novelty_is_the_share_of_entropy_that_is_left(pair):
    a, b = pair
    whole = conditional_entropy(a, np.zeros(len(a)))
    expected = conditional_entropy(a, b) / whole if whole > 0 else 0.0
    assert novelty(a, b) == pytest.approx(expected, abs=1e-9)
    # Counted in another way, but to the bit the same.
    alike = homogeneity_score(a, b, noise="cluster")
    assert novelty(a, b) == min(max(1.0 - alike, 0.0), 1.0)
    assert 0 <= redundancy(a, b) <= 1
    assert redundancy(a, b) == pytest.approx(redundancy(b, a), abs=1e-9)


@given(labels, st.permutations(range(6)))
@settings(deadline=None, max_examples=50)
def test_canonical_labels_forget_the_numbering(found, renumbering):
    renamed = np.where(found < 0, -1, np.array(renumbering)[found])
    np.testing.assert_array_equal(canonical(found), canonical(renamed))
    assert len(np.unique(joint_labels(found, renamed))) == len(np.unique(found))


def test_true_groups_score_higher_than_random_and_mixed_ones():
    X, truths = planted_views(600, 10, n_clusters=(3, 3), random_state=1)
    scorer = GroupingScorer((X - X.mean(0)) / X.std(0))
    first, second = (truth.labels() for truth in truths)
    rng = np.random.default_rng(0)
    assert scorer(rng.permutation(first)).gain < 0
    coarse = np.where(first == 2, 1, first)
    assert scorer(first).gain > scorer(coarse).gain
    # A product tells more in all, but not more per nat.
    product = joint_labels(first, second)
    assert scorer(product).gain > scorer(first).gain
    better = max(scorer(first).normal_score, scorer(second).normal_score)
    assert scorer(product).normal_score < better


def test_cutting_a_normal_distribution_gains_nothing():
    X = structureless("gaussian", 500, 6, random_state=0)
    scorer = GroupingScorer((X - X.mean(0)) / X.std(0))
    halves = (X[:, 0] > np.median(X[:, 0])).astype(int)
    assert scorer(halves).gain < 0


def test_the_basis_is_orthonormal_and_tells_the_groups_apart():
    X, truths = planted_views(400, 8, n_clusters=(3, 2), random_state=2)
    scorer = GroupingScorer(X)
    found = scorer(truths[0].labels())
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(2), atol=1e-10)
    rest = GroupingScorer(project_out(X, found.basis))
    assert rest(truths[0].labels()).gain < 0.1 * found.gain
    assert rest(truths[1].labels()).gain > 0.8 * scorer(truths[1].labels()).gain


def consensus(labels, scorer):
    numbers = np.unique(labels[labels >= 0])
    memberships = labels == numbers[:, None]
    verdict = scorer(labels)
    return Consensus(
        [], [], memberships, labels, np.ones(len(labels)), verdict.score, verdict.gain,
        verdict.entropy, verdict.basis,
    )  # fmt: skip


def test_variants_of_better_views_are_left_out():
    X, truths = planted_views(800, 10, n_clusters=(4, 3), random_state=5)
    X = (X - X.mean(0)) / X.std(0)
    scorer = GroupingScorer(X)
    first, second = (truth.labels() for truth in truths)
    variants = [first // 2, first % 2, np.minimum(second, 1), joint_labels(first, second)]
    views = [consensus(each, scorer) for each in [*variants, first, second]]
    chosen = ranked(views, scorer)
    told = [view.labels for view in chosen]
    assert len(told) == 2
    for truth in (first, second):
        assert any(np.array_equal(canonical(truth), canonical(labels)) for labels in told)
    # A grouping that is known is not told again.
    (other,) = ranked(views, scorer, [first])
    np.testing.assert_array_equal(canonical(other.labels), canonical(second))


def test_votes_are_put_under_the_clusters_they_share_most_with():
    base = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=float)
    other = np.array([[0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]], dtype=float)
    np.testing.assert_array_equal(matched(base, other), [[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]])


def test_rules_put_rows_back():
    X, truths = planted_views(400, 8, n_clusters=(3, 2), separation=8, random_state=2)
    truth = truths[0].labels()
    rule = learn(X[:200], truth[:200])
    found, sure = rule(X[200:])
    assert (found == truth[200:]).mean() > 0.97
    assert ((sure > 1 / 3) & (sure <= 1)).all()


def test_tail_probabilities():
    # The quantiles of the distribution that maxima tend to, so that nothing is left to chance.
    maxima = 1.0 - 0.2 * np.log(-np.log((np.arange(30) + 0.5) / 30))
    steps = [gumbel_p_value(score, maxima) for score in np.linspace(0, 6, 50)]
    assert steps[0] == 1.0 and (np.diff(steps) <= 1e-12).all()
    assert gumbel_p_value(float(np.median(maxima)), maxima) == pytest.approx(0.5, abs=0.1)
    assert NullMaxima((), ()).p_value(3.0) == 1.0
    # Calibrated beyond what was seen: the 1 % point of the distribution itself.
    beyond = 1.0 - 0.2 * np.log(-np.log(0.999))
    assert 0.0005 < gumbel_p_value(beyond, maxima) < 0.01


def test_tables_on_which_no_finder_worked_are_no_evidence():
    X = structureless("gaussian", 40, 3, random_state=0)
    impossible = [Entry("KMeans", {"n_clusters": 50})]
    assert null_score(X, 0, boxes=impossible) == (-np.inf, -np.inf, -np.inf)
    assert gumbel_p_value(5.0, [-np.inf] * 30) == 1.0
    assert gumbel_p_value(5.0, [1.0, -np.inf, -np.inf]) == 0.5


def test_groups_that_one_column_shows_are_more_than_chance():
    # Petal length alone tells the setosas from the others; their correlation with petal width
    # would bring them back in tables that keep both columns' values.
    iris = load_iris()
    X = (iris.data - iris.data.mean(axis=0)) / iris.data.std(axis=0)
    maxima = [null_score(X, seed, numbers=[2, 3]) for seed in range(6)]
    told = GroupingScorer(X)((iris.target > 0).astype(int))
    assert told.score > 2 * max(each.score for each in maxima)
    assert told.normal_score > 2 * max(each.normal for each in maxima)


def test_a_cluster_between_two_others_stands_out():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 60)
    X = rng.normal(size=(240, 3))
    X[:, 0] += np.array([-8, 0, 8, 8.5])[labels]
    scores = cluster_scores(labels, GroupingScorer(X))
    # The last two are one.
    assert min(scores[:2]) > 0.5 and max(scores[2:]) < 0.1
    hidden = np.where(labels == 1, 5, labels)
    assert cluster_scores(hidden, GroupingScorer(X))[1] == -np.inf
    assert cluster_scores(hidden, GroupingScorer(X))[5] == pytest.approx(scores[1], rel=1e-12)
    assert cluster_scores(np.where(labels == 0, 0, -1), GroupingScorer(X)) == [
        GroupingScorer(X)(np.where(labels == 0, 0, -1)).score
    ]
