"""Slices that are one cluster, groups within groups, and curves that are no groups."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_axes
from subscape.exploration import explore
from subscape.exploration.assembly import _merges, in_reading_order
from subscape.exploration.assess import ViewStability, follows_curve
from subscape.exploration.boxes import BoxScorer
from subscape.exploration.ideas import line_view
from subscape.exploration.levels import labels_at, merge_tree
from subscape.exploration.nested import (
    Split,
    clearest,
    find_splits,
    split_again,
    steady_splits,
    undone,
)
from subscape.exploration.preparation import prepare
from subscape.exploration.select import choose_views, is_less_clear, over_normal
from subscape.exploration.separation import GroupingScorer
from subscape.exploration.slices import is_sliced, merged_slices
from subscape.exploration.study import as_table
from subscape.validation.max_statistic import NullMaxima
from subscape.validation.unimodality import dithered

NOTHING = np.zeros(0, dtype=np.intp)


def clouds(centres, n=60, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(centres)), n)
    return np.asarray(centres, dtype=float)[truth] + rng.normal(0, spread, (len(truth), 3)), truth


# -- slices ---------------------------------------------------------------------------------------


def test_slices_along_a_wide_column_are_merged_and_clouds_are_not():
    """One cluster is wide where the other is narrow: slicing it brings a direction, not a group."""
    rng = np.random.default_rng(0)
    X, truth = clouds([[0, 0, 0], [9, 0, 0]], n=100)
    X[truth == 0, 1] = rng.uniform(-9, 9, 100)
    sliced = np.where(truth == 1, 3, np.digitize(X[:, 1], [-3, 3]))
    scorer = GroupingScorer(X)
    assert adjusted_rand_score(merged_slices(scorer, sliced), truth) == 1.0
    assert is_sliced(scorer, sliced, [truth]) and not is_sliced(scorer, truth, [sliced])
    three, known = clouds([[0, 0, 0], [8, 0, 0], [0, 8, 0]])
    assert merged_slices(GroupingScorer(three), known) is known


@pytest.mark.parametrize("seed", range(4))
def test_clusters_narrow_in_features_of_their_own_are_not_cut(seed):
    X, truth = planted_axes(200, 6, n_clusters=3, dims=4, random_state=seed)
    study = explore(X, effort="quick", random_state=0, progress=False)
    assert study[1].n_clusters == 3 and study[1].p_value < 0.01
    assert adjusted_rand_score(truth.labels(), study[1].labels) > 0.95


def test_rounded_numbers_make_no_groups_of_their_values():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(0, 2, (500, 3)))
    values = (X[:, 0] - X[:, 0].min()).astype(int)
    assert GroupingScorer(X)(values).gain < 0.05
    spread = dithered(X - X.mean(axis=0))
    assert len(np.unique(spread[:, 0])) == 500
    assert np.abs(np.corrcoef(spread[:, 0], X[:, 0])[0, 1]) > 0.97
    exact = rng.normal(size=(50, 2))
    assert dithered(exact) is exact


# -- groups within groups -------------------------------------------------------------------------


def beaten(part, few, numbers, scores, seen, name):
    """Chance that never comes near."""
    low = tuple(np.linspace(0.0, 0.1, 10))
    return NullMaxima(low, low, normal_maxima=low)


def unbeaten(part, few, numbers, scores, seen, name):
    high = tuple(np.linspace(50.0, 60.0, 10))
    return NullMaxima(high, high, normal_maxima=high)


def test_a_cluster_that_is_two_is_split_if_chance_does_not_split_it():
    X, truth = clouds([[0, 0, 0], [14, 0, 0], [14, 14, 0]])
    coarse = np.minimum(truth, 1)
    labels, splits = find_splits(X, coarse, NOTHING, "quick", 0, beaten)
    assert adjusted_rand_score(labels, truth) > 0.97
    assert len(splits) == 1 and splits[0].n_groups == 2
    np.testing.assert_array_equal(splits[0].rows, np.flatnonzero(coarse == 1))
    same, none = find_splits(X, coarse, NOTHING, "quick", 0, unbeaten)
    np.testing.assert_array_equal(same, coarse)
    assert none == []
    rows = np.arange(0, 180, 2)
    again = split_again(X, rows, coarse[rows], splits, NOTHING, 0)
    assert adjusted_rand_score(again, truth[rows]) > 0.95


def test_a_large_group_is_split_only_where_valleys_part_it():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 600)
    arch = 4 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.2, (600, 2))
    far = rng.normal([20, 0], 1, (300, 2))
    X, coarse = np.r_[arch, far], np.repeat([0, 1], [600, 300])
    # Three clouds describe the arch better than one, and chance here gives nothing as good.
    found = clearest(arch, NOTHING, 0)
    assert found is not None and found.labels.max() > 0
    labels, splits = find_splits(X, coarse, NOTHING, "quick", 0, beaten)
    assert labels.tolist() == coarse.tolist() and splits == []
    # Of few rows no valley is sure, and clouds are all there is to go by.
    few = np.r_[arch[:250], far]
    labels, splits = find_splits(few, np.repeat([0, 1], [250, 300]), NOTHING, "quick", 0, beaten)
    assert len(splits[0].rows) == 250


def test_rows_in_no_cluster_stay_there():
    X, truth = clouds([[0, 0, 0], [14, 0, 0], [14, 14, 0]])
    coarse = np.minimum(truth, 1)
    coarse[::10] = -1
    labels, splits = find_splits(X, coarse, NOTHING, "quick", 0, beaten)
    assert splits and (labels[::10] == -1).all() and labels.max() == 2


def test_what_is_far_less_clear_is_split_if_chance_does_not_split_it():
    X, truth = clouds([[0, 0, 0], [60, 0, 0], [60, 3.5, 0]], n=200)
    coarse = np.minimum(truth, 1)
    found = clearest(X[coarse == 1], NOTHING, 0)
    assert found is not None and adjusted_rand_score(found.labels, truth[coarse == 1]) > 0.7
    # As one view the coarser is chosen where both are known ...
    whole = over_normal(GroupingScorer(X)(coarse))
    inner = over_normal(found.told)
    assert is_less_clear(inner.gain, inner.entropy, whole)
    (chosen,) = choose_views(GroupingScorer(X), [coarse, truth])
    assert chosen.place == 0
    # ... and what the cluster holds is asked of the cluster alone.
    labels, splits = find_splits(X, coarse, NOTHING, "quick", 0, beaten)
    assert [split.n_groups for split in splits] == [2]
    assert adjusted_rand_score(labels, truth) > 0.8
    assert find_splits(X, coarse, NOTHING, "quick", 0, unbeaten)[1] == []


def test_both_levels_are_there_however_far_apart_the_outer_groups_are():
    X, truth = clouds([[0, 0, 0], [6, 0, 0], [90, 0, 0], [90, 6, 0]], n=80)
    study = explore(X, effort="quick", random_state=0, progress=False)
    assert adjusted_rand_score(study[1].labels, truth) > 0.95
    assert adjusted_rand_score(study[1].at(2), truth // 2) == 1.0


def test_both_levels_of_a_hierarchy_are_there():
    X, truth = clouds([[0, 0, 0], [6, 0, 0], [20, 0, 0], [20, 6, 0]], n=80)
    study = explore(X, effort="quick", random_state=0, progress=False)
    view = study[1]
    assert adjusted_rand_score(view.labels, truth) > 0.95
    assert adjusted_rand_score(view.at(2), truth // 2) > 0.95


def test_clouds_are_merged_by_the_spread_within():
    X, truth = clouds([[0, 0, 0], [5, 0, 0], [40, 0, 0], [40, 7, 0]])
    merges = merge_tree(truth, X, lambda labels: 0.0, by_centres=True)
    assert [(m.first, m.second) for m in merges] == [(0, 1), (2, 3)]
    assert adjusted_rand_score(labels_at(truth, merges, 2), truth // 2) == 1.0


# -- curves ---------------------------------------------------------------------------------------


def curves():
    rng = np.random.default_rng(0)
    along = rng.uniform(-1, 1, 300)
    bent = np.column_stack([along, along**2]) + rng.normal(0, 0.05, (300, 2))
    ring, _ = make_circles(300, noise=0.03, factor=0.999, random_state=0)
    grows = rng.uniform(0, 1, (300, 1))
    funnel = np.c_[grows, grows + (0.02 + 0.5 * grows) * rng.normal(size=(300, 3))]
    return {"curve": bent, "ring": ring, "funnel": funnel}


def test_curves_and_rings_are_told_from_clouds():
    made = curves()
    numbers = [2, 3, 4, 5, 6, 8]
    assert follows_curve(made["curve"], numbers, 0) == "curve"
    assert follows_curve(made["ring"], numbers, 0) == "ring"
    three, _ = clouds([[0, 0, 0], [8, 0, 0], [4, 7, 0]])
    assert follows_curve(three, numbers, 0) is None
    assert follows_curve(np.random.default_rng(0).normal(size=(30, 2)), [2], 0) is None


@pytest.mark.parametrize("kind", ["curve", "ring", "funnel"])
def test_a_curve_is_no_grouping(kind):
    study = explore(curves()[kind], effort="quick", random_state=0, progress=False)
    assert not study.significant_views


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_two_bent_groups_are_two(make):
    X, truth = make(
        400, noise=0.05, random_state=0, **({} if make is make_moons else {"factor": 0.5})
    )
    study = explore(X, effort="quick", random_state=0, progress=False)
    assert study[1].idea == "shapes"
    assert adjusted_rand_score(study[1].labels, truth) > 0.98


def test_halves_of_rings_among_noise_are_no_groups_within_groups():
    rng = np.random.default_rng([3, 8])
    X, truth = make_circles(500, noise=0.05, factor=0.5, random_state=int(rng.integers(1 << 30)))
    X = np.column_stack([X, rng.normal(X.mean(), X.std(), (500, 8))])
    study = explore(X, effort="quick", random_state=0, progress=False)
    assert adjusted_rand_score(truth, study.significant_views[0].labels) == 1.0


def test_the_bends_of_a_wave_are_no_two_groups_seen_from_the_side():
    rng = np.random.default_rng(0)
    along = rng.random(400)
    wave = np.c_[4 * along, np.sin(2 * np.pi * along)] + rng.normal(0, 0.05, (400, 2))
    assert line_view(prepare(as_table(wave)), seed=0).p_value < 0.001  # two humps from the side
    study = explore(wave, effort="quick", random_state=0, progress=False)
    assert not study.significant_views


def test_boxes_are_merged_into_the_groups_that_lie_together():
    rng = np.random.default_rng(7)
    outer = np.repeat(np.arange(4), 120)
    inner = outer * 3 + rng.integers(3, size=480)
    far, near = (
        size * centres / np.linalg.norm(centres, axis=1, keepdims=True)
        for size, centres in ((16, rng.normal(size=(4, 11))), (5, rng.normal(size=(12, 11))))
    )
    X = far[outer] + near[inner] + rng.normal(size=(480, 11))
    # Two of the outer groups are found in two parts only.
    inner[inner == 5], inner[inner == 8] = 3, 6
    inner = np.unique(inner, return_inverse=True)[1]
    scorer = GroupingScorer(X - X.mean(axis=0))
    told = scorer(inner)
    job = SimpleNamespace(X=X, scorer=BoxScorer(scorer))
    one = SimpleNamespace(
        idea=None, chance=None, again=SimpleNamespace(samples=()), view=told, n_ideas=1
    )
    merges = _merges(job, one, inner, np.arange(10))
    assert adjusted_rand_score(labels_at(inner, merges, 4), outer) == 1.0


# -- which splits and views go first ---------------------------------------------------------------


def found_again(*labels):
    """What samples of all rows gave, as a ViewStability."""
    rows = np.arange(len(labels[0]))
    samples = tuple((rows, np.array(each)) for each in labels)
    return ViewStability(1.0, np.ones(1), 1.0, samples=samples)


def a_split(rows, n_groups=2):
    return Split(np.array(rows), n_groups, 0.001, np.zeros((2, 1)))


def test_a_split_whose_parts_dissolve_is_undone_if_the_whole_comes_back():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    split = a_split(range(8))
    before = found_again([0] * 8, [0] * 8)
    crossed = [0, 1, 0, 1, 0, 1, 0, 1]
    # Each part shares two rows of six with either half of a sample's: a Jaccard index of 1/3.
    assert steady_splits([split], labels, before, found_again(crossed, crossed)) == []
    assert steady_splits([split], labels, before, found_again(labels, labels)) == [split]
    # 1 and 1/3: the mean over the samples is 2/3, no less than a half.
    assert steady_splits([split], labels, before, found_again(labels, crossed)) == [split]
    # 1/3 for the parts, but no more for the whole.
    scattered = found_again([0, 1, 2, 3, 0, 1, 2, 3])
    assert steady_splits([split], labels, scattered, found_again(crossed)) == [split]
    assert steady_splits([split], labels, None, found_again(crossed)) == [split]
    assert steady_splits([split], labels, before, None) == [split]


def test_a_split_within_which_a_steady_one_is_shown_is_shown():
    labels = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    outer, inner = a_split(range(8)), a_split([4, 5, 6, 7])
    before = found_again([0] * 8)
    after = found_again([0, 3, 4, 5, 1, 1, 2, 2])
    # The parts of the outer one: 1/4, 1 and 1.
    assert steady_splits([outer, inner], labels, before, after) == [outer, inner]
    gone = found_again([0, 3, 4, 5, 1, 2, 1, 2])
    assert steady_splits([outer, inner], labels, before, gone) == []
    # The outer parts dissolve together, the inner ones come back.
    mixed = found_again([3, 4, 5, 6, 1, 1, 2, 7])
    assert steady_splits([outer, inner], labels, before, mixed) == [outer, inner]


def test_undone_splits_leave_noise_and_other_clusters():
    labels = np.array([-1, 3, 0, 2, 1, 2])
    assert undone(labels, [a_split([2, 3, 5])]).tolist() == [-1, 2, 0, 0, 1, 0]
    assert undone(labels, []).tolist() == labels.tolist()


def a_view(p_value, claimed=(True, False)):
    return SimpleNamespace(p_value=p_value, claimed_clusters=np.array(claimed))


def test_of_sure_views_those_go_first_of_which_a_cluster_can_be_claimed():
    views = {
        "chance": a_view(0.011),
        "no cluster": a_view(1e-6, [False, False]),
        "at the limit of sure": a_view(0.001),
        "no cluster, less sure": a_view(0.002, [False, False]),
        "at the level": a_view(0.01),
        "sure": a_view(0.0009),
        "unknown": a_view(float("nan"), [True, True]),
        "sure, too": a_view(1e-6),
    }
    order = in_reading_order(list(views.values()))
    assert [list(views)[place] for place in order] == [
        "sure",
        "sure, too",
        "at the limit of sure",
        "at the level",
        "no cluster",
        "no cluster, less sure",
        "chance",
        "unknown",
    ]


@pytest.mark.parametrize("seed", [0, 1])
def test_moons_that_nearly_touch_are_not_cut_into_pieces(seed):
    X, truth = make_moons(1000, noise=0.15, random_state=seed)
    study = explore(X * [2, 6], effort="quick", random_state=0, progress=False)
    assert study[1].p_value < 0.01 and study[1].n_clusters == 2
    assert adjusted_rand_score(truth, study[1].labels) > 0.9


def test_two_clouds_within_a_group_of_any_shape_are_two():
    """A disc of two clouds, parted in a further column, beside an arch."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 200)
    arch = 8 * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(200)])
    disc = np.repeat([[0, 0, -5], [0, 0, 5]], 100, axis=0)
    X = np.concatenate([arch, disc]) + rng.normal(0, 0.6, (400, 3))
    labels, splits = find_splits(
        X, np.repeat([0, 1], 200), NOTHING, "quick", 0, no_chance, np.eye(3)[:, :2]
    )
    assert [split.n_groups for split in splits] == [2]
    assert adjusted_rand_score(np.repeat([0, 1, 2], [200, 100, 100]), labels) > 0.99


def no_chance(*args):
    return NullMaxima((0.0, 0.01, -0.01, 0.0, 0.02, -0.02), ())
