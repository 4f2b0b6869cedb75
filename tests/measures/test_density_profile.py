"""Density profiles: what is counted where, for every kind of clustering, attribute and bin."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape import SubspaceClustering
from subscape.core import AxisSubspaces
from subscape.core.errors import FileFormatError, ShapeMismatchError
from subscape.measures import Bins, DensityProfile, adco_similarity
from subscape.measures.density.profile import _clusters_of_rows
from subscape.tables import Table


def brute_counts(X, memberships, edges):
    """Counts of numeric columns, value by value."""
    blocks = []
    for j, edge in enumerate(edges):
        block = np.zeros((len(memberships), len(edge) - 1))
        for r, value in enumerate(X[:, j]):
            place = min(max(sum(e <= value for e in edge) - 1, 0), len(edge) - 2)
            block[:, place] += memberships[:, r]
        blocks.append(block)
    return np.hstack(blocks)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["uniform", "quantile", "mdl"]))
def test_counts_are_the_points_of_the_bins(seed, binning):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(30, 3)), int(rng.integers(0, 3)))
    labels = rng.integers(-1, 3, 30)
    labels[0] = 0
    profile = DensityProfile.of(X, labels, bins=int(rng.integers(1, 9)), binning=binning)
    used = np.unique(labels[labels >= 0])
    memberships = np.array([labels == k for k in used], float)
    np.testing.assert_array_equal(profile.counts, brute_counts(X, memberships, profile.bins.edges))
    assert profile.is_hard
    np.testing.assert_array_equal(profile.sizes, memberships.sum(axis=1))
    for j in range(3):
        np.testing.assert_array_equal(profile.attribute(j).sum(axis=1), profile.sizes)
        assert profile.bins.edges[j][0] == X[:, j].min()
        assert profile.bins.edges[j][-1] == X[:, j].max()
    assert profile.vector.shape == (profile.n_clusters * profile.bins.total,)
    np.testing.assert_array_equal(profile.density, profile.counts.sum(axis=0))
    assert profile.square == pytest.approx(np.square(profile.counts).sum())


def test_overlapping_and_soft_clusterings_count_by_membership():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    soft = rng.uniform(0, 1, (3, 40)).astype(np.float32) * (rng.random((3, 40)) < 0.7)
    spaces = AxisSubspaces(np.ones((3, 2), bool))
    for members in (soft, soft > 0):
        clustering = SubspaceClustering(members, spaces)
        profile = DensityProfile.of(X, clustering, bins=4)
        expected = brute_counts(X, np.asarray(members, float), profile.bins.edges)
        np.testing.assert_allclose(profile.counts, expected, atol=1e-7)
        assert profile.is_hard == (members.dtype == bool)
        order = rng.permutation(40)
        turned = SubspaceClustering(members[:, order], spaces)
        # Bit by bit: the order of the rows must never make profiles differ.
        again = DensityProfile.of(X[order], turned, bins=4)
        np.testing.assert_array_equal(again.counts, profile.counts)


def test_what_lies_beside_rows_is_cluster_by_row():
    told = [each.tolist() for each in _clusters_of_rows(np.array([2, -1, 0]))]
    assert told == [[0, 1, 1, 2], [2, 0], []]
    # Rows 0 and 2 are in two clusters and in one; whoever counts once needs no units.
    hard = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert [each.tolist() for each in _clusters_of_rows(hard)] == [[0, 2, 2, 3], [0, 2, 1], []]
    soft = [each.tolist() for each in _clusters_of_rows(np.array([[2, 0], [2, 2]]))]
    assert soft == [[0, 1, 3], [0, 0, 1], [2, 2, 2]]


def test_subspaces_and_their_features_do_not_matter():
    X = np.random.default_rng(0).normal(size=(12, 5))
    labels = np.repeat([0, 1], 6)
    masks = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 0, 0]], bool)
    some = SubspaceClustering.from_labels(labels, masks=masks)
    assert DensityProfile.of(X, some) == DensityProfile.of(X, labels)


def test_equal_frequency_bins_hold_equally_many_and_keep_ties_together():
    X = np.random.default_rng(0).lognormal(size=(1000, 1))
    profile = DensityProfile.of(X, np.zeros(1000, int), bins=10, binning="quantile")
    np.testing.assert_array_equal(profile.counts, [[100] * 10])
    tied = np.repeat([1.0, 2.0, 3.0], [80, 15, 5])[:, None]
    profile = DensityProfile.of(tied, np.zeros(100, int), bins=10, binning="quantile")
    assert (profile.counts > 0).all()
    assert profile.counts.sum() == 100


def test_mdl_bins_separate_the_clusters():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 50)
    X = np.column_stack([rng.normal(10 * labels, 1), rng.normal(size=150)])
    profile = DensityProfile.of(X, labels, binning="mdl")
    assert profile.bins.sizes.tolist() == [3, 1]
    np.testing.assert_array_equal(profile.attribute(0), 50 * np.eye(3))


def test_given_bins_by_position_and_name_and_values_beyond_them():
    X = np.array([[-5.0, 1.0], [0.5, 2.0], [9.0, 3.0]])
    edges = [[0, 1, 2], [0, 2, 4]]
    profile = DensityProfile.of(X, [0, 0, 0], bins=edges)
    assert profile.counts.tolist() == [[2, 1, 1, 2]]
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = DensityProfile.of(frame, [0, 0, 0], bins=dict(zip("ba", edges[::-1], strict=True)))
    assert named.counts.tolist() == profile.counts.tolist()
    assert named.bins.names == ("a", "b")


def test_nominal_columns_of_arrays_frames_and_tables():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", None]})
    labels = [0, 0, 1, 1]
    profile = DensityProfile.of(frame, labels, bins=2, missing="bin")
    assert profile.bins.labels == (
        "size [1, 2.5)", "size [2.5, 4]", "size missing",
        "colour = blue", "colour = red", "colour missing",
    )  # fmt: skip
    assert profile.counts.tolist() == [[2, 0, 0, 1, 1, 0], [0, 2, 0, 0, 1, 1]]
    table = Table.read(frame)
    assert DensityProfile.of(table, labels, bins=2, missing="bin") == profile
    objects = frame.to_numpy()
    again = DensityProfile.of(objects, labels, bins=2, missing="bin")
    np.testing.assert_array_equal(again.counts, profile.counts)
    numbers = np.array([[7], [8], [7], [10]])
    codes = DensityProfile.of(numbers, labels, nominal=[0])
    assert codes.bins.levels == (("7", "8", "10"),)
    assert codes.counts.tolist() == [[1, 1, 0], [1, 0, 1]]
    assert DensityProfile.of(numbers, labels, nominal=[True]) == codes
    assert DensityProfile.of(numbers, labels, nominal=["x0"]) == codes


def test_new_levels_are_added_behind_the_known_ones():
    first = DensityProfile.of([["b"], ["c"]], [0, 0])
    second = DensityProfile.of([["a"], ["c"], ["c"]], [0, 0, 0], bins=first)
    assert second.bins.levels == (("b", "c", "a"),)
    assert second.counts.tolist() == [[0, 2, 1]]
    # Levels are told apart by name, not by place.
    plain = DensityProfile.of([["a"], ["c"], ["c"]], [0, 0, 0])
    assert adco_similarity(first, plain) == adco_similarity(first, second) == 2 / 5


def test_common_bins_of_different_tables():
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=(50, 3)), rng.normal(2, 3, size=(80, 3))
    bins = Bins.common([one, other], 5)
    both = np.vstack([one, other])
    assert bins == Bins.of(both, 5)
    a = DensityProfile.of(one, np.zeros(50, int), bins=bins)
    b = DensityProfile.of(other, np.zeros(80, int), bins=bins)
    together = DensityProfile.of(both, np.zeros(130, int), bins=5)
    np.testing.assert_array_equal(a.counts + b.counts, together.counts)
    cut = Bins.common([one, other], binning="mdl", labels=[np.zeros(50, int), np.ones(80, int)])
    assert cut == Bins.of(both, binning="mdl", labels=np.repeat([0, 1], [50, 80]))


def test_missing_values_are_refused_kept_or_left_out():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 6.0]])
    with pytest.raises(ValueError, match=r"2 values in 'x0', 'x1'.*missing='bin'"):
        DensityProfile.of(X, [0, 0, 1])
    kept = DensityProfile.of(X, [0, 0, 1], bins=2, missing="bin")
    assert kept.counts.tolist() == [[1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 1, 0]]
    left = DensityProfile.of(X, [0, 0, 1], bins=2, missing="ignore")
    assert left.counts.tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]
    assert left.sizes.tolist() == [2, 1]
    with pytest.raises(ValueError, match="NaN"):
        DensityProfile.of(X, [0, 0, 1], bins=left)
    assert DensityProfile.of(X, [0, 0, 1], bins=left, missing="ignore") == left
    assert DensityProfile.of(X, [0, 0, 1], bins=kept) == kept
    # A profile with bins for missing values and one without can be compared.
    assert 0 < adco_similarity(left, kept) < 1
    whole = DensityProfile.of(np.full((2, 1), np.nan), [0, 1], missing="ignore")
    assert whole.counts.tolist() == [[0], [0]]


def test_constant_attributes_have_one_bin():
    X = np.column_stack([np.arange(6.0), np.full(6, 3.0)])
    for binning in ("uniform", "quantile", "mdl"):
        profile = DensityProfile.of(X, [0, 0, 0, 1, 1, 1], binning=binning)
        assert profile.bins.sizes[1] == 1
        assert profile.attribute(1).tolist() == [[3], [3]]


def test_one_row_one_cluster_and_no_cluster():
    assert DensityProfile.of([[4.0]], [0]).counts.tolist() == [[1]]
    nothing = DensityProfile.of(np.arange(4.0)[:, None], [-1] * 4, bins=2)
    assert nothing.counts.shape == (0, 2)
    assert DensityProfile.from_dict(json.loads(json.dumps(nothing.to_dict()))) == nothing


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_units_do_not_matter(scale):
    X = np.random.default_rng(0).normal(size=(300, 4))
    labels = np.arange(300) % 3
    plain = DensityProfile.of(X, labels)
    np.testing.assert_array_equal(DensityProfile.of(X * scale, labels).counts, plain.counts)


def test_layout_type_and_protection_of_the_table_do_not_matter():
    X = np.random.default_rng(0).integers(0, 50, (60, 4)).astype(np.float64)
    labels = np.arange(60) % 3
    plain = DensityProfile.of(X, labels)
    locked = X.copy()
    locked.flags.writeable = False
    wide = np.zeros((120, 8))
    wide[::2, ::2] = X
    for same in (X.astype(np.float32), X.astype(int), X.astype(object), np.asfortranarray(X),
                 wide[::2, ::2], locked, X.tolist(), np.ma.masked_array(X)):  # fmt: skip
        np.testing.assert_array_equal(DensityProfile.of(same, labels).counts, plain.counts)
    assert (locked == X).all()


def test_a_large_offset_keeps_the_bins():
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    labels = np.arange(200) % 2
    moved = (X.astype(np.float64) + 1e4).astype(np.float32)
    gap = DensityProfile.of(X, labels).counts - DensityProfile.of(moved, labels).counts
    assert np.abs(gap).sum() <= 8  # a few values cross a limit when they are rounded


def test_it_is_a_value(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3))
    soft = np.random.default_rng(1).uniform(0.1, 1, (2, 50))
    spaces = AxisSubspaces(np.ones((2, 3), bool))
    for i, clustering in enumerate([np.arange(50) % 3, SubspaceClustering(soft, spaces)]):
        profile = DensityProfile.of(X, clustering)
        with pytest.raises(ValueError, match="read-only"):
            profile.counts[0, 0] = 5
        with pytest.raises(AttributeError):
            profile.n_rows = 3
        assert pickle.loads(pickle.dumps(profile)) == profile
        assert not pickle.loads(pickle.dumps(profile)).counts.flags.writeable
        restored = DensityProfile.load(profile.save(tmp_path / f"{i}.json"))
        assert restored == profile
        assert hash(restored) == hash(profile)
        assert restored.is_hard == profile.is_hard
        assert adco_similarity(restored, profile) == 1.0
        assert profile != DensityProfile.of(X + 1, clustering)
        assert profile != "profile"
        with pytest.raises(FileExistsError):
            profile.save(tmp_path / f"{i}.json")
        profile.save(tmp_path / f"{i}.json", force=True)
    assert profile.select([1]).counts.tolist() == profile.counts[[1]].tolist()


def test_open_ended_bins_can_be_kept(tmp_path):
    edges = [[-np.inf, 0.1, 2, np.inf]]
    profile = DensityProfile.of([[-9.0], [1.0], [0.1], [1e9]], [0, 0, 1, 1], bins=edges)
    assert profile.counts.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert DensityProfile.load(profile.save(tmp_path / "open.json")) == profile


def test_bad_files_are_refused(tmp_path):
    profile = DensityProfile.of([[1.0], [2.0]], [0, 1])
    path = profile.save(tmp_path / "a.json")
    text = path.read_text()
    for broken, why in (
        (text[:-9], "truncated"),
        ("\x80\x04", "no JSON"),
        ("[1]", "format is None"),
        (text.replace("profile/1", "profile/2"), "profile/2"),
        (text.replace('"n_rows": 2', '"rows": 2'), "damaged"),
        (text.replace('"sizes": [1, 1]', '"sizes": [1]'), "damaged"),
        (text.replace('"sizes": [1, 1]', '"sizes": [1, -1]'), "damaged"),
        (text.replace('"missing_bin"', '"missing"'), "damaged"),
    ):
        path.write_text(broken)
        with pytest.raises(FileFormatError, match=why):
            DensityProfile.load(path)
    path.write_text(text)
    with pytest.raises(FileFormatError, match="max_bytes"):
        DensityProfile.load(path, max_bytes=10)


def test_stratified_samples():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 2))
    labels = np.repeat([0, 1, 2], [300, 150, 50])
    profile = DensityProfile.of(X, labels, bins=5)
    sample = profile.sampled(101, random_state=1)
    assert sample.sizes.tolist() == [61, 30, 10]
    assert sample.n_rows == 101
    assert (sample.counts <= profile.counts).all()
    for j in range(2):
        np.testing.assert_array_equal(sample.attribute(j).sum(axis=1), sample.sizes)
    assert sample == profile.sampled(101, random_state=1)
    assert sample != profile.sampled(101, random_state=2)
    assert profile.sampled(500, random_state=0).counts.tolist() == profile.counts.tolist()
    assert not profile.sampled(0).counts.any()
    mean = np.mean([profile.sampled(50, random_state=i).counts for i in range(400)], axis=0)
    np.testing.assert_allclose(mean, profile.counts / 10, atol=0.6)
    with pytest.raises(ValueError, match="501"):
        profile.sampled(501)
    with pytest.raises(ValueError, match="-1"):
        profile.sampled(-1)


def test_samples_of_profiles_with_missing_values_and_of_soft_ones():
    X = np.array([[1.0], [np.nan], [np.nan], [2.0]])
    profile = DensityProfile.of(X, [0] * 4, bins=2, missing="ignore")
    drawn = {tuple(profile.sampled(2, random_state=i).counts[0]) for i in range(60)}
    assert drawn == {(0, 0), (1, 0), (0, 1), (1, 1)}
    soft = SubspaceClustering(np.full((1, 4), 0.5), AxisSubspaces(np.ones((1, 1), bool)))
    with pytest.raises(TypeError, match="scaled"):
        DensityProfile.of([[1.0]] * 4, soft).sampled(1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bins": 0}, "from 1"),
        ({"bins": -3}, "from 1"),
        ({"bins": 10**9}, "from 1"),
        ({"binning": "equal"}, "uniform, quantile, mdl"),
        ({"missing": "drop"}, "error, bin, ignore"),
        ({"bins": [[0, 1]]}, "1 attribute"),
        ({"bins": [[0, 1], [3, 2]]}, "ascending"),
        ({"bins": [[0, 1], [2]]}, "at least 2 edges"),
        ({"bins": [[0, 1], ["a", "b"]]}, "no numbers"),
        ({"bins": [[0, 1], [0, np.nan]]}, "ascending"),
        ({"nominal": ["age"]}, "age"),
        ({"nominal": [7]}, "position"),
        ({"nominal": [True]}, "1 entries for 2"),
    ],
)
def test_bad_options(options, why):
    with pytest.raises(ValueError, match=why):
        DensityProfile.of(np.eye(2), [0, 1], **options)


@pytest.mark.parametrize("bins", ["uniform", 2.5, True, None])
def test_bins_that_are_none(bins):
    with pytest.raises(TypeError, match="number of bins"):
        DensityProfile.of(np.eye(2), [0, 1], bins=bins)


def test_bad_tables():
    for X, kind, why in (
        (np.empty((0, 2)), ValueError, "0 sample"),
        (np.empty((2, 0)), ValueError, "0 feature"),
        (np.ones(2), ValueError, "2D"),
        (np.array([[1.0], [np.inf]]), ValueError, "infinity"),
        (np.array([[1j], [1]]), ValueError, "Complex"),
        (np.array([["2020-01-01"], ["2020-01-02"]], "datetime64[D]"), TypeError, "dates"),
        (np.array([[1e308], [-1e308]]), ValueError, "too far"),
    ):
        with pytest.raises(kind, match=why):
            DensityProfile.of(X, [0, 1])
    from scipy import sparse

    with pytest.raises(TypeError, match="toarray"):
        DensityProfile.of(sparse.eye_array(2), [0, 1])
    twice = pd.DataFrame(np.eye(2), columns=["a", "a"])
    with pytest.raises(ValueError, match="more than once: 'a'"):
        DensityProfile.of(twice, [0, 1])
    given_ = DensityProfile.of(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        DensityProfile.of(np.array([[1.0, np.inf]]), [0], bins=given_)


def test_clusterings_and_bins_of_other_tables():
    X = np.eye(3)
    with pytest.raises(ShapeMismatchError, match=r"3 rows.*2.*restrict"):
        DensityProfile.of(X, [0, 1])
    profile = DensityProfile.of(X, [0, 1, 1])
    with pytest.raises(ShapeMismatchError, match="only the bins has 'x2'"):
        DensityProfile.of(X[:, :2], [0, 1, 1], bins=profile)
    frame = pd.DataFrame(X, columns=["x1", "x0", "x2"])
    with pytest.raises(ShapeMismatchError, match="order"):
        DensityProfile.of(frame, [0, 1, 1], bins=profile)
    with pytest.raises(ValueError, match="'x0' is numeric in the bins"):
        DensityProfile.of(X, [0, 1, 1], bins=profile, nominal=[0])
    with pytest.raises(ValueError, match="needs labels"):
        Bins.of(X, binning="mdl")
    with pytest.raises(ShapeMismatchError, match="3 rows"):
        Bins.of(X, binning="mdl", labels=[0, 1])
    with pytest.raises(ValueError, match="no tables"):
        Bins.common([])


def test_bins_and_profiles_made_by_hand_are_checked():
    with pytest.raises(ValueError, match="at least one attribute"):
        Bins([], [])
    with pytest.raises(ValueError, match="either edges"):
        Bins(["a"], [None])
    with pytest.raises(ValueError, match="level twice"):
        Bins(["a"], [None], [("x", "x")])
    with pytest.raises(ValueError, match="one for each"):
        Bins(["a", "b"], [[0, 1]])
    bins = Bins(["a"], [[0, 1, 2]])
    assert bins.block(-1) == bins.block("a") == slice(0, 2)
    with pytest.raises(ValueError, match="'b'"):
        bins.block("b")
    for counts, sizes, why in (
        ([[1, 2, 3]], [6], "2 bins"),
        ([[1, 2]], [3, 1], "sizes of shape"),
        ([[1, -2]], [3], "not negative"),
        ([[1, np.nan]], [3], "finite"),
    ):
        with pytest.raises(ValueError, match=why):
            DensityProfile(np.array(counts), bins, np.array(sizes), 3)
    with pytest.raises(TypeError, match="numbers"):
        DensityProfile(np.array([["a", "b"]]), bins, np.array([1]), 1)
    with pytest.raises(TypeError, match="Bins"):
        DensityProfile(np.eye(2), [[0, 1]], np.ones(2), 2)
