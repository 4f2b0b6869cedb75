from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from tests.validation.finders import Halves

from subscape import SubspaceClustering
from subscape.datasets import planted_axes, planted_oriented
from subscape.finders import LAC, PROCLUS, KFlats
from subscape.measures import clustering_error, pairwise_distances, rnia
from subscape.runs import Task, run_all
from subscape.validation import cluster_stability, resampling_stability, subsamples
from subscape.validation.stability.comparison import Comparison, Sampled, distance, recovery
from subscape.validation.stability.curves import bootstrap_pairs
from subscape.validation.stability.resampling import halves_and_samples, settings_of, splits
from subscape.validation.stability.subsampling import most_stable

BLOBS = make_blobs(90, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)[0]
X, TRUTH = planted_axes(160, 8, n_clusters=3, dims=4, random_state=1)
FAST = PROCLUS(avg_dims=4, n_init=2)


# -- samples ------------------------------------------------------------------------------------


@given(
    st.integers(1, 40), st.integers(1, 12), st.sampled_from(["rows", "columns", "both"]),
    st.floats(0.05, 0.95), st.integers(0, 5),
)  # fmt: skip
def test_samples_have_their_share_once_each_and_sorted(n, p, sampling, share, seed):
    samples = subsamples((n, p), 4, sampling=sampling, share=share, random_state=seed)
    again = subsamples((n, p), 4, sampling=sampling, share=share, random_state=seed)
    for sample, same in zip(samples, again, strict=True):
        for positions, copy, size, kind in (
            (sample.rows, same.rows, n, "columns"),
            (sample.columns, same.columns, p, "rows"),
        ):
            if sampling == kind:
                assert positions is None
                continue
            assert (positions == copy).all()
            assert len(positions) == max(1, round(share * size))
            assert (np.diff(positions) > 0).all()
            assert 0 <= positions.min() <= positions.max() < size


@given(st.integers(2, 40), st.floats(0.1, 0.9), st.integers(0, 5))
def test_splits_part_the_rows(n, share, seed):
    for learning, test in splits((n, 5), 3, sampling="both", share=share, random_state=seed):
        assert sorted([*learning.rows, *test.rows]) == list(range(n))
        assert len(learning.rows) and len(test.rows)
        assert (learning.columns == test.columns).all()
        assert len(learning.columns) == 4


@given(st.integers(2, 40), st.integers(0, 4), st.integers(0, 5))
def test_halves_part_the_rows_and_samples_take_their_share(n, n_samples, seed):
    first, second, *samples = halves_and_samples(n, n_samples, random_state=seed)
    assert sorted([*first, *second]) == list(range(n))
    assert len(first) == n // 2 and len(samples) == n_samples
    for rows in (first, second, *samples):
        assert (np.diff(rows) > 0).all()
    for rows in samples:
        assert len(rows) == max(1, int(0.7 * n))
        assert 0 <= rows.min() <= rows.max() < n


@pytest.mark.parametrize(
    "options, cause",
    [
        (dict(sampling="cells"), "sampling"),
        (dict(share=0), "share"),
        (dict(share=1), "share"),
        (dict(n_samples=1), "n_samples"),
        (dict(n_samples=2.5), "n_samples"),
        (dict(compare="both"), "compare"),
        (dict(measure="nonsense"), "unknown measure"),
        (dict(grid={"n_clusters": 3}), "list the values"),
        (dict(grid={"n_clusters": []}), "empty"),
        (dict(grid={"nonsense": [1]}), "nonsense"),
    ],
)
def test_bad_options_are_refused_before_any_run(options, cause):
    finder = Halves(fault="interrupt", where=0, random_state=0)
    with pytest.raises(ValueError, match=cause):
        resampling_stability(finder, BLOBS, **options)


def test_a_grid_is_every_combination_and_a_list_is_taken_as_it_is():
    grid = {"n_clusters": range(2, 4), "fault": [None, "warn"]}
    assert settings_of(Halves(), grid) == [
        {"n_clusters": 2, "fault": None},
        {"n_clusters": 2, "fault": "warn"},
        {"n_clusters": 3, "fault": None},
        {"n_clusters": 3, "fault": "warn"},
    ]
    given = [{"n_clusters": 5}, {"fault": "warn"}]
    assert settings_of(Halves(), given) == given
    assert settings_of(Halves(), None) == [{}]


# -- distances ----------------------------------------------------------------------------------


def random_sampled(rng, shape=(12, 5)):
    rows = np.sort(rng.choice(shape[0], rng.integers(2, shape[0] + 1), replace=False))
    columns = np.sort(rng.choice(shape[1], rng.integers(1, shape[1] + 1), replace=False))
    k = int(rng.integers(1, 4))
    labels = rng.integers(-1, k, len(rows))
    labels[:k] = np.arange(min(k, len(rows)))[: len(labels[:k])]
    masks = rng.random((k, len(columns))) < 0.6
    masks[np.arange(k), rng.integers(0, len(columns), k)] = True
    k_used = labels.max() + 1
    found = SubspaceClustering.from_labels(labels, masks=masks[:k_used])
    return Sampled(found, rows, columns, shape)


def cells_of(sampled, keep_rows, keep_columns):
    """Clusters as sets of cells of the table."""
    clusters = []
    for k in range(sampled.clustering.n_clusters):
        one = sampled.clustering.cluster(k)
        rows = set(sampled.rows[one.rows]) & keep_rows
        columns = set(sampled.columns[one.features]) & keep_columns
        if rows and columns:
            clusters.append({(r, c) for r in rows for c in columns})
    return clusters


def brute_rnia(a, b):
    left, right = (set().union(*clusters) for clusters in (a, b))
    return len(left ^ right) / len(left | right)


@given(st.integers(0, 10_000))
def test_distances_at_common_cells_and_over_the_union_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    a, b = random_sampled(rng), random_sampled(rng)
    everything = (set(range(12)), set(range(5)))
    assert distance(a, b, Comparison("rnia"), "union") == pytest.approx(
        brute_rnia(cells_of(a, *everything), cells_of(b, *everything))
    )
    rows, columns = set(a.rows) & set(b.rows), set(a.columns) & set(b.columns)
    found = distance(a, b, Comparison("rnia"), "common")
    if not rows or not columns:
        assert np.isnan(found)
        return
    left, right = cells_of(a, rows, columns), cells_of(b, rows, columns)
    if not left and not right:
        assert np.isnan(found)
    elif not left or not right:
        assert found == 1
    else:
        assert found == pytest.approx(brute_rnia(left, right))


@given(st.integers(0, 10_000))
def test_recovery_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    other = random_sampled(rng)
    whole = random_sampled(rng)
    reference = whole.embedded()
    full = Sampled(reference, np.arange(12), np.arange(5), (12, 5))
    found = recovery(reference, other, Comparison())
    theirs = cells_of(other, set(range(12)), set(range(5)))
    for k in range(reference.n_clusters):
        single = full._replace(clustering=reference.select([k]))
        mine = cells_of(single, set(other.rows), set(other.columns))
        if not mine:
            assert np.isnan(found[k])
        else:
            best = max(len(mine[0] & t) / len(mine[0] | t) for t in theirs)
            assert found[k] == pytest.approx(best)


def test_rows_of_a_run_may_be_in_any_order():
    rows = np.array([5, 80, 3, 40, 41, 2, 60, 61])
    ahead, shuffled = run_all(
        [
            Task(Halves(), BLOBS, rows=np.sort(rows), seed=0),
            Task(Halves(), BLOBS, rows=rows, seed=0),
        ]
    )
    (whole,) = run_all([Task(Halves(), BLOBS, seed=0)])
    a, b = Sampled.of_run(ahead), Sampled.of_run(shuffled)
    assert distance(a, b, Comparison()) == 0
    both = cluster_stability(whole.clustering, [ahead, shuffled])
    assert (both.jaccard[0] == both.jaccard[1]).all()
    assert both.distances[0] == both.distances[1]


# -- which clusters come back -------------------------------------------------------------------


def test_cluster_stability_of_rows_is_hennigs():
    first = SubspaceClustering.from_labels([0, 0, 0, 0, 1, 1, 1, -1])
    again = SubspaceClustering.from_labels([0, 0, 0, 1, 1, 1, 1, 1])
    nothing = SubspaceClustering.from_labels([-1] * 8)
    found = cluster_stability(first, [first, again, nothing])
    assert found.jaccard.tolist() == [[1, 1], [3 / 4, 3 / 5], [0, 0]]
    assert found.recovered.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert found.dissolved.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert found.distances.tolist() == [0, clustering_error(first, again), 1]
    assert found.whole == pytest.approx(1 - found.distances.mean())
    assert [record["reruns"] for record in found.to_records()] == [3, 3]


def test_subspaces_count_not_only_rows():
    first = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1])], (4, 4))
    again = SubspaceClustering.from_clusters([([0, 1, 2], [1, 2])], (4, 4))
    assert cluster_stability(first, [again]).stability[0] == pytest.approx(1 / 3)
    assert cluster_stability(first.rows_only(), [again.rows_only()]).stability[0] == 1


def test_every_kind_of_subspace_and_plain_labels():
    table, truth = planted_oriented(4, ((1, 40), (2, 40)), noise=0, random_state=0)
    for finder in (KFlats(2, random_state=0), LAC(2, random_state=0)):
        found = finder.fit(table).clustering_
        stable = cluster_stability(found, [found, found])
        assert stable.stability == pytest.approx([1, 1])
        assert stable.whole == pytest.approx(1)
    assert cluster_stability(truth.labels(), [truth.labels()]).whole == 1


def test_a_cluster_that_no_sample_has_is_unknown():
    reference = SubspaceClustering.from_clusters([([0, 1, 2], [0]), ([88, 89], [0, 1])], (90, 2))
    runs = run_all([Task(Halves(), BLOBS, rows=np.arange(40 + s), seed=s) for s in range(3)])
    found = cluster_stability(reference, runs)
    assert np.isnan(found.stability[1]) and not np.isnan(found.stability[0])
    assert "never sampled" in repr(found)
    assert found.to_records()[1]["reruns"] == 0
    assert found.to_dict()["clusters"][1]["stability"] is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_failed_reruns_are_counted_and_left_out():
    runs = run_all([Task(Halves(fault="raise", where=1), BLOBS, seed=s) for s in range(3)])
    found = cluster_stability(runs[0].clustering, runs)
    assert found.n_failed == 1
    assert np.isnan(found.jaccard[1]).all() and np.isnan(found.distances[1])
    assert found.stability.tolist() == [1, 1]
    assert found.whole == 1
    assert "1 failed" in repr(found)


def test_without_reruns_or_with_those_of_another_table_nothing_is_said():
    with pytest.raises(ValueError, match="no reruns"):
        cluster_stability([0, 0, 1], [])
    (run,) = run_all([Task(Halves(), BLOBS, seed=0)])
    with pytest.raises(ValueError, match="90 x 2"):
        cluster_stability(SubspaceClustering.from_labels([0, 0, 1]), [run])


# -- plain resampling ---------------------------------------------------------------------------


def test_the_planted_number_is_the_most_stable_and_its_clusters_come_back():
    found = resampling_stability(FAST, X, {"n_clusters": [2, 3, 4]}, n_samples=5)
    assert found.best == {"n_clusters": 3}
    assert found.values[1] == min(found.values) < 0.1
    assert clustering_error(found.wholes[1].clustering, TRUTH) < 0.1
    assert (found.clusters[1].stability > 0.85).all()
    assert found.distances.shape == (3, 5, 5)
    pairs = np.triu_indices(5, 1)
    assert found.replicates == pytest.approx(found.distances[:, pairs[0], pairs[1]])
    assert found.values == pytest.approx(found.replicates.mean(axis=1))
    assert (found.low <= found.values + 1e-12).all() and (found.values <= found.high + 1e-12).all()


def test_every_distance_is_that_of_restricted_or_embedded_clusterings():
    options = dict(n_samples=3, sampling="both", share=0.7)
    for place in ("common", "union"):
        found = resampling_stability(Halves(), X, compare=place, **options)
        (row,) = found.runs
        for i in range(3):
            for j in range(i):
                if place == "union":
                    a, b = row[i].in_table()[0], row[j].in_table()[0]
                else:
                    rows = np.intersect1d(row[i].rows, row[j].rows)
                    columns = np.intersect1d(row[i].columns, row[j].columns)
                    a, b = (
                        run.clustering.restrict(
                            np.searchsorted(run.rows, rows), np.searchsorted(run.columns, columns)
                        )
                        for run in (row[i], row[j])
                    )
                assert found.distances[0, i, j] == pytest.approx(clustering_error(a, b))


def test_columns_alone_and_any_measure():
    found = resampling_stability(
        Halves(), X, {"n_clusters": [2, 3]}, n_samples=3, sampling="columns", measure="rnia"
    )
    assert all(run.rows is None and len(run.columns) == 6 for row in found.runs for run in row)
    a, b = found.runs[0][0], found.runs[0][1]
    both = np.intersect1d(a.columns, b.columns)
    left, right = (
        run.clustering.restrict(features=np.searchsorted(run.columns, both)) for run in (a, b)
    )
    assert found.distances[0, 0, 1] == pytest.approx(rnia(left, right))
    by_score = resampling_stability(Halves(), X, n_samples=3, measure="adjusted_rand_score")
    assert (by_score.values >= 0).all()
    own = resampling_stability(Halves(), X, n_samples=3, measure=lambda a, b: 0.25)
    assert own.values.tolist() == [0.25]


def test_all_distances_by_sample_and_by_parameter():
    found = resampling_stability(
        Halves(), X, {"n_clusters": [2, 3]}, n_samples=3, compare="union", sampling="both"
    )
    matrix, names = found.all_distances()
    assert names[:2] == ["sample 0: n_clusters=2", "sample 0: n_clusters=3"]
    members = [found.runs[g][s].in_table()[0] for s in range(3) for g in range(2)]
    assert matrix == pytest.approx(pairwise_distances(members))
    other, other_names = found.all_distances("parameter")
    assert other_names[:3] == [f"sample {s}: n_clusters=2" for s in range(3)]
    order = [names.index(name) for name in other_names]
    assert other == pytest.approx(matrix[np.ix_(order, order)])
    grid = matrix.reshape(3, 2, 3, 2)
    assert found.effects()["parameter"] == pytest.approx(
        np.mean([grid[s, 0, s, 1] for s in range(3)])
    )
    assert found.effects()["sample"] == pytest.approx(
        np.mean([grid[s, g, t, g] for g in range(2) for s in range(3) for t in range(s)])
    )
    with pytest.raises(ValueError, match="order"):
        found.all_distances("size")


def seeds_of_samples(n_samples, random_state=0):
    return [row.provenance["seed"] for row in resampling_stability(
        Halves(), BLOBS, n_samples=n_samples, random_state=random_state).runs[0]]  # fmt: skip


@pytest.mark.parametrize("fault", ["raise", "nothing"])
def test_one_bad_sample_is_counted_and_not_fatal(fault):
    struck = seeds_of_samples(4)[1]
    found = resampling_stability(Halves(fault=fault, where=struck), BLOBS, n_samples=4)
    good = resampling_stability(Halves(), BLOBS, n_samples=4)
    rest = np.ix_([0], [0, 2, 3], [0, 2, 3])
    assert found.distances[rest] == pytest.approx(good.distances[rest])
    others = found.distances[0, 1, [0, 2, 3]]
    if fault == "raise":
        assert found.n_failed.tolist() == [1] and found.n_empty.tolist() == [0]
        assert np.isnan(others).all()
        assert found.clusters[0].n_failed == 1
    else:
        assert found.n_failed.tolist() == [0] and found.n_empty.tolist() == [1]
        assert (others == 1).all()
        assert found.clusters[0].jaccard[1].tolist() == [0, 0]
    assert found.chosen == 0
    assert len(found.all_distances()[1]) == 3
    assert found.to_records()[0]["failed"] == (fault == "raise")
    json.dumps(found.to_dict(), allow_nan=False)
    assert "chosen" in repr(found)


def test_nothing_anywhere_is_no_choice():
    class Nothing(Halves):
        def fit(self, X, y=None):
            self.clustering_ = SubspaceClustering.from_labels(
                np.full(len(X), -1), n_features=X.shape[1]
            )
            return self

    found = resampling_stability(Nothing(), BLOBS, n_samples=3)
    assert found.chosen is None and found.best is None
    assert np.isnan(found.values).all()
    assert found.n_empty.tolist() == [3]
    assert found.clusters == [None]
    assert found.all_distances()[0].shape == (0, 0)


def test_a_finder_that_always_fails_is_an_error_with_its_cause():
    with pytest.raises(ValueError, match=r"Broken failed in every one of 4 runs.*KeyError"):
        resampling_stability(Broken(), BLOBS, n_samples=3)


class Broken(Halves):
    def fit(self, X, y=None):
        raise KeyError("x")


def test_a_setting_that_always_fails_is_reported_beside_the_others():
    found = resampling_stability(KMeans(n_init=1), BLOBS, {"n_clusters": [3, 89]}, n_samples=3)
    assert found.n_failed.tolist() == [0, 3]
    assert np.isnan(found.values[1])
    assert found.clusters[1] is not None  # the whole table has rows enough
    assert found.best == {"n_clusters": 3}


def test_one_cluster_of_all_rows_is_stable_and_no_choice():
    grid = {"n_clusters": [1, 2, 3]}
    found = resampling_stability(KMeans(n_init=3), BLOBS, grid, n_samples=3)
    assert found.values[0] == 0
    assert found.best == {"n_clusters": 3}
    alone = resampling_stability(KMeans(n_init=1), BLOBS, {"n_clusters": [1]}, n_samples=3)
    assert alone.chosen is None


def test_the_same_bits_for_any_n_jobs_and_from_a_store(tmp_path):
    grid = {"n_clusters": [2, 3]}
    first = resampling_stability(FAST, X, grid, n_samples=3)
    second = resampling_stability(FAST, X, grid, n_samples=3, n_jobs=2, store=tmp_path)
    steps = []
    third = resampling_stability(FAST, X, grid, n_samples=3, store=tmp_path, progress=steps.append)
    assert first.to_dict() == second.to_dict() == third.to_dict()
    assert [(step.message, step.done) for step in steps] == [("restored", 8)]
    longer = resampling_stability(
        FAST, X, {"n_clusters": [2, 3, 4]}, n_samples=3, store=tmp_path, progress=steps.append
    )
    assert steps[1].done == 8 and steps[-1].done == 12
    assert longer.values[:2].tolist() == first.values.tolist()


def test_a_data_frame_gives_the_same_and_exports_a_table():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    plain = resampling_stability(Halves(), X, {"n_clusters": [2, 3]}, n_samples=3)
    named = resampling_stability(Halves(), frame, {"n_clusters": [2, 3]}, n_samples=3)
    assert named.to_dict() == plain.to_dict()
    exported = named.to_frame()
    assert list(exported["n_clusters"]) == [2, 3]
    assert exported["chosen"].sum() == 1
    assert exported["value"].tolist() == pytest.approx(plain.values.tolist())
    clusters = named.clusters[1].to_frame()
    assert list(clusters["cluster"]) == [0, 1, 2]


def test_a_sample_drawn_twice_is_no_pair():
    distances = np.full((1, 3, 3), 0.5)
    distances[0][np.eye(3, dtype=bool)] = 0
    draws = bootstrap_pairs(distances)
    assert (draws == 0.5).all()
    distances[0, 0, 1:] = distances[0, 1:, 0] = np.nan  # the first sample failed
    draws = bootstrap_pairs(distances)
    assert set(draws[~np.isnan(draws)]) == {0.5}


def test_ties_go_to_most_clusters_if_all_of_them_come_back():
    values = np.array([0.3, 0.001, 0.004, 0.005, 0.2, np.nan])
    draws = np.tile(values, (4, 1))
    clusters = np.array([2, 3, 4, 4, 5, 9.0])
    everything = np.ones(6, bool)
    assert most_stable(values, draws, clusters, everything) == 2
    assert most_stable(values, draws, clusters, clusters < 4) == 1
    assert most_stable(values, draws, clusters, ~everything) == 1
    assert most_stable(values * np.nan, draws, clusters, everything) is None
    noisy = draws + np.array([[0.2], [-0.2], [0.2], [-0.2]])
    assert most_stable(values, noisy, clusters, everything) == 4


def test_each_part_of_a_split_has_a_row():
    for share, known in ((0.001, 1), (0.5, 5), (0.999, 9)):
        [(learning, test)] = splits((10, 4), 1, share=share, random_state=0)
        assert (len(learning.rows), len(test.rows)) == (known, 10 - known)
    [(learning, test)] = splits((2, 4), 1, share=0.9, random_state=0)
    assert len(learning.rows) == len(test.rows) == 1
