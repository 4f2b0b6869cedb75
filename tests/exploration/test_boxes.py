"""Groups that are each narrow in features of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from subscape.core import AxisSubspaces, SubspaceClustering
from subscape.datasets import planted_axes, planted_views, structureless
from subscape.exploration import Exploration
from subscape.exploration.assess import box_entries, null_score
from subscape.exploration.boxes import BoxCode, BoxScorer
from subscape.exploration.plan import Entry, Plan, Rung, seed_of
from subscape.exploration.scorers import GroupingScorers
from subscape.exploration.select import choose_views
from subscape.exploration.separation import GroupingScorer
from subscape.measures import clustering_error
from subscape.tables import Table


def boxes(seed, **options):
    options = {"n_clusters": 5, "dims": (3, 5), "noise": 0.1, "spread": (0.05, 0.12)} | options
    X, truth = planted_axes(options.pop("n_rows", 800), 10, random_state=seed, **options)
    return X, truth, truth.memberships.toarray() > 0


def labelled(labels):
    return labels == np.unique(labels[labels >= 0])[:, None]


@pytest.mark.parametrize("overlap", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_own_features_are_the_planted_ones(seed, overlap):
    X, truth, memberships = boxes(seed, overlap=overlap)
    told = BoxCode(X).told(memberships)
    np.testing.assert_array_equal(told.own, truth.subspaces.masks)


@pytest.mark.parametrize("overlap", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_the_planted_boxes_gain_most(seed, overlap):
    X, truth, memberships = boxes(seed, overlap=overlap)
    code = BoxCode(X)
    best = code.told(memberships).gain
    labels = truth.labels()
    halves = np.where(labels >= 0, 2 * labels + (X[:, 0] > np.median(X[:, 0])), -1)
    made = {
        "merged": np.vstack([memberships[0] | memberships[1], memberships[2:]]),
        "one less": memberships[1:],
        "split": labelled(halves),
        "mixed": np.array([np.roll(row, 40) for row in memberships]),
    }
    if overlap:
        made["disjoint"] = labelled(labels)
    for name, other in made.items():
        assert code.told(other).gain < best - 0.05, name


def test_gain_is_the_difference_of_two_code_lengths():
    X, _, memberships = boxes(4, overlap=0.1)
    code = BoxCode(X)
    told = code.told(memberships)
    scores, n, p = code.scores, *X.shape
    table = multivariate_normal(np.zeros(p), code.correlations)
    total = 0.0
    cells, counts = np.unique(memberships.T, axis=0, return_counts=True)
    for row, inside in zip(scores, memberships.T, strict=True):
        share = counts[(cells == inside).all(axis=1)][0] / n
        columns = np.flatnonzero(told.own[inside].any(axis=0))
        length = -np.log(share)
        for j in columns:
            k = min(
                (k for k in np.flatnonzero(inside) if told.own[k, j]),
                key=lambda k: told.widths[k, j],
            )
            length -= norm.logpdf(row[j], told.centres[k, j], np.sqrt(told.variances[k, j]))
        others = np.setdiff1d(np.arange(p), columns)
        # What the table says about the other columns, given these.
        before = table.logpdf(row)
        if len(columns):
            block = code.correlations[np.ix_(columns, columns)]
            given_those = multivariate_normal(np.zeros(len(columns)), block).logpdf(row[columns])
            length -= before - given_those if len(others) else 0.0
        else:
            length -= before
        total += -before - length
    dims = told.own.sum(axis=1)
    ways = [np.log(float(np.prod([(p - i) / (i + 1) for i in range(d)]))) for d in dims]
    price = 0.5 * np.log(n) * (2 * dims.sum() + len(counts) - 1) + np.sum(ways)
    price += len(dims) * np.log(p + 1)
    price += np.log(len(dims)) * np.maximum(cells.sum(axis=1) - 1, 0).sum()
    assert told.gain == pytest.approx((total - price) / n, abs=1e-9)


def test_columns_that_go_together_are_not_counted_twice():
    X, _, memberships = boxes(1)
    alone = BoxCode(X).told(memberships).gain
    rng = np.random.default_rng(0)
    # The same column again, with errors that are small beside the boxes.
    doubled = np.column_stack([X, X + 1e-3 * X.std(axis=0) * rng.normal(size=X.shape)])
    assert BoxCode(doubled).told(memberships).gain < alone


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_the_values_of_a_column_explain_nothing(seed):
    X, _, memberships = boxes(2)
    bent = np.arctan(X)
    bent[:, seed % 10] = np.exp(3 * X[:, seed % 10])
    expected = BoxCode(X).told(memberships)
    assert BoxCode(bent).told(memberships).gain == pytest.approx(expected.gain, abs=1e-6)
    # Two humps in one column are no evidence that rows belong together.
    rng = np.random.default_rng(seed)
    humps = rng.integers(0, 2, 400)
    table = np.column_stack([10 * humps + rng.normal(size=400), rng.normal(size=(400, 3))])
    assert BoxCode(table).told(labelled(humps)).gain < 0
    # … nor are values that are equal.
    steps = np.column_stack([humps, rng.normal(size=(400, 3))]).astype(float)
    assert BoxCode(steps).told(labelled(humps)).gain < 0


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "lognormal"])
def test_nothing_is_gained_where_there_is_nothing(kind):
    X = structureless(kind, 400, 6, random_state=1)
    code = BoxCode(X)
    for j in range(6):
        quarters = np.digitize(X[:, j], np.quantile(X[:, j], [0.25, 0.5, 0.75]))
        assert code.told(labelled(quarters)).gain < 0
    scorer = BoxScorer(GroupingScorer(X))
    for seed in range(2):
        score = null_score(X, seed, boxes=box_entries([3])).score
        assert score < 0
    assert scorer(np.full(400, -1)).gain <= 0


def test_a_column_without_spread_is_nobodys_own():
    X, _, memberships = boxes(0)
    told = BoxCode(np.column_stack([X, np.zeros(len(X))])).told(memberships)
    assert not told.own[:, -1].any()


def test_boxes_that_are_taken_out_tell_nothing_more():
    X, truth, memberships = boxes(3, overlap=0.1)
    scorer = BoxScorer(GroupingScorer(X))
    whole = scorer(truth.labels(), memberships)
    rest = scorer.rest([(truth.labels(), memberships)])
    assert whole.gain > 1
    assert rest(truth.labels(), memberships).gain < 0
    # The other boxes are still there without one of them.
    X, truth, memberships = boxes(3)
    scorer = BoxScorer(GroupingScorer(X))
    others = memberships[1:]
    first = np.where(memberships[0], 0, -1)
    before = scorer.code.told(others).gain
    assert scorer.rest([(first, None)]).code.told(others).gain > 0.9 * before > 0.5


def test_boxes_and_directions_are_told_apart():
    X, truth, _ = boxes(5, overlap=0.2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scorers = GroupingScorers(GroupingScorer(X))
    rng = np.random.default_rng(0)
    chance = SubspaceClustering.from_labels(
        rng.integers(0, 3, len(X)), masks=np.ones((3, X.shape[1]), dtype=bool)
    )
    assert scorers.fitting([(truth.labels(), truth)]) is scorers.boxes
    assert scorers.fitting([(chance.labels(), chance)]) is scorers.directions
    assert scorers.fitting([]) is scorers.directions
    for seed in range(3):
        X, truths = planted_views(600, 10, n_clusters=(4, 3), random_state=seed)
        scorers = GroupingScorers(GroupingScorer((X - X.mean(axis=0)) / X.std(axis=0)))
        product = 3 * truths[0].labels() + truths[1].labels()
        found = [truth.labels() for truth in truths] + [product]
        offered = [
            SubspaceClustering.from_labels(
                labels, masks=np.ones((labels.max() + 1, 10), dtype=bool)
            )
            for labels in found
        ]
        assert scorers.fitting(zip(found, offered, strict=True)) is scorers.directions
    assert GroupingScorers(GroupingScorer(rng.normal(size=(50, 20)))).boxes is None


def test_overlapping_boxes_are_chosen_with_their_overlap():
    X, truth, memberships = boxes(6, overlap=0.25)
    labels = truth.labels()
    cells = np.unique(memberships.T, axis=0, return_inverse=True)[1].ravel()
    options = [labels, cells, labels]
    members = [labelled(labels), labelled(cells), memberships]
    chosen = choose_views(BoxScorer(GroupingScorer(X)), options, memberships=members)
    assert [one.place for one in chosen] == [2]


def box_plan(n_rows, n_columns, n_numeric, *, effort="quick", seed=0):
    """A plan in which boxes can be found, beside other things."""
    first = [Entry("KMeans", {"n_clusters": k, "n_init": 3}, seed_of(seed, k)) for k in (3, 6)]
    second = [Entry("P3C"), Entry("MineClus", {"overlap": True}, seed_of(seed, 9))]
    rungs = (Rung("baselines", tuple(first)), Rung("axis-aligned", tuple(second)))
    return Plan("quick", int(seed), (n_rows, n_columns), rungs, rounds=0, n_null=5)


def test_explorations_report_boxes_in_their_features():
    X, truth, _ = boxes(7, n_rows=400, n_clusters=4, overlap=0.2, dims=4)
    study = Exploration(Table.from_array(X), plan=box_plan).run()
    (view,) = study.significant_views
    assert view.clustering.kind == "axis"
    assert clustering_error(truth, view.clustering) < 0.05
    assert not view.clustering.is_row_disjoint
    assert any("narrow in features of their own" in note for note in study.notes)
    masks = AxisSubspaces(view.clustering.subspaces.masks)
    assert sorted(masks.dims.tolist()) == sorted(truth.subspaces.dims.tolist())
