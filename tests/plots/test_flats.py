import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape import SubspaceClustering
from subscape.datasets import planted_axes, planted_oriented
from subscape.measures import feature_losses, loss_by_dim
from subscape.plots import FlatsDisplay, LossCurveDisplay, ReconstructionErrorDisplay
from subscape.plots.flats import MOST_POINTS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


class TestFlats:
    def test_patches_lie_in_their_flats_and_cover_the_rows(self):
        X, truth = planted_oriented(3, ((0, 40), (1, 40), (2, 60)), random_state=0)
        display = FlatsDisplay.from_clustering(X, truth)
        assert [len(patch) for patch in display.patches] == [1, 2, 4]
        for k, patch in enumerate(display.patches):
            rows = X[truth.members.rows(k)]
            middle = rows.mean(axis=0)
            across = (patch - middle) - (patch - middle) @ np.linalg.pinv(
                truth.subspaces.bases[k]
            ).T @ truth.subspaces.bases[k].T
            assert np.abs(across).max() < 0.05
            if len(patch) > 1:
                longest = np.linalg.norm(patch[:, None] - patch, axis=2).max()
                assert longest >= 0.95 * np.linalg.norm(rows[:, None] - rows, axis=2).max()
        np.testing.assert_array_equal(display.points, X)
        np.testing.assert_array_equal(display.labels, truth.labels())
        display.figure_.canvas.draw()

    def test_corners_go_around_the_rectangle(self):
        X, truth = planted_oriented(3, ((2, 60),), noise=0, random_state=1)
        patch = FlatsDisplay.from_clustering(X, truth).patches[0]
        sides = np.roll(patch, -1, axis=0) - patch
        assert abs(sides[0] @ sides[1]) < 1e-9 and abs(sides[1] @ sides[2]) < 1e-9

    @pytest.mark.parametrize("p", [1, 2])
    def test_flat_tables(self, p):
        X = np.random.default_rng(0).normal(size=(30, p))
        display = FlatsDisplay.from_clustering(X, np.arange(30) % 2, flat_dims=1)
        assert display.points.shape == (30, 2)
        assert [patch.shape for patch in display.patches] == [(2, 2), (2, 2)]
        whole = FlatsDisplay.from_clustering(X, [0] * 30, flat_dims=p)
        assert whole.patches[0].shape == ((4, 2) if p == 2 else (2, 2))
        display.figure_.canvas.draw()

    def test_wide_tables_are_seen_along_their_principal_directions(self):
        X, truth = planted_oriented(8, ((1, 50), (3, 50)), noise=0, random_state=0)
        display = FlatsDisplay.from_clustering(X, truth)
        variances = display.points.var(axis=0)
        expected = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1][:3]
        np.testing.assert_allclose(variances, expected)
        assert [len(patch) for patch in display.patches] == [2, 4]

    def test_chosen_features(self):
        names = ["a", "b", "c", "d$"]
        X = np.random.default_rng(0).normal(size=(20, 4))
        masks = [[1, 0, 1, 1], [1, 1, 1, 0]]
        found = SubspaceClustering.from_labels(np.arange(20) % 2, masks=masks, feature_names=names)
        display = FlatsDisplay.from_clustering(X, found, features=["d$", "b"], title="two")
        assert display.names == ["d$", "b"]
        np.testing.assert_array_equal(display.points, X[:, [3, 1]])
        # Cluster 0 spreads along b alone, cluster 1 along d$ alone.
        assert np.ptp(display.patches[0], axis=0) == pytest.approx([0, np.ptp(X[::2, 1])])
        assert np.ptp(display.patches[1], axis=0) == pytest.approx([np.ptp(X[1::2, 3]), 0])
        display.figure_.canvas.draw()

    def test_many_rows_are_thinned_out(self):
        X = np.zeros((MOST_POINTS + 5, 2))
        X[:, 0] = np.arange(len(X))
        assert len(FlatsDisplay.from_clustering(X, [0] * len(X)).points) == MOST_POINTS

    def test_given_axes(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        ax = plt.figure().add_subplot()
        assert FlatsDisplay.from_clustering(X, [0] * 10, ax=ax).ax_ is ax
        solid = np.random.default_rng(0).normal(size=(10, 3))
        with pytest.raises(ValueError, match="points have 3 dimensions, the axes 2"):
            FlatsDisplay.from_clustering(solid, [0] * 10, ax=ax)
        with pytest.raises(ValueError, match="two or three features"):
            FlatsDisplay.from_clustering(np.eye(5), [0] * 5, features=[0, 1, 2, 3])

    def test_everything_is_noise(self):
        display = FlatsDisplay.from_clustering(np.eye(3), [-1, -1, -1])
        assert display.patches == []
        display.figure_.canvas.draw()


class TestLossCurve:
    def test_curves(self):
        X, truth = planted_oriented(4, ((1, 50), (1, 50)), noise=0, random_state=0)
        display = LossCurveDisplay.from_clusterings(X, {"truth": truth, "x$": np.arange(100) % 2})
        np.testing.assert_array_equal(display.curves["truth"], loss_by_dim(X, truth))
        np.testing.assert_array_equal(display.one_cluster, loss_by_dim(X, np.zeros(100, int)))
        lines = display.ax_.get_lines()
        np.testing.assert_array_equal(lines[1].get_ydata(), display.curves["truth"])
        assert display.ax_.get_yscale() == "symlog"
        display.figure_.canvas.draw()

    def test_a_sequence_and_a_constant_table(self):
        display = LossCurveDisplay.from_clusterings(np.ones((4, 2)), [[0, 0, 1, 1]], title="flat")
        assert list(display.curves) == ["1"]
        display.figure_.canvas.draw()


class TestReconstructionError:
    def test_errors_are_shares_of_variance(self):
        X, truth = planted_axes(200, 6, n_clusters=2, dims=3, noise=0.1, random_state=0)
        display = ReconstructionErrorDisplay.from_clustering(X, truth)
        np.testing.assert_allclose(display.errors, feature_losses(X, truth) / X.var(axis=0))
        assert display.groups == ["1", "2", "noise"]
        irrelevant = ~truth.subspaces.masks
        assert (display.errors[:2][irrelevant] == 0).all()
        assert (display.errors[:2][~irrelevant] > 0).all()
        display.figure_.canvas.draw()

    def test_plain_errors_of_given_flats(self):
        X = np.random.default_rng(0).normal(size=(30, 3))
        display = ReconstructionErrorDisplay.from_clustering(
            X, np.zeros(30, int), flat_dims=1, relative=False, title="one"
        )
        np.testing.assert_array_equal(display.errors, feature_losses(X, [0] * 30, 1))
        assert display.groups == ["1"]
        display.figure_.canvas.draw()


# -- by numbers -----------------------------------------------------------------------------------

X = np.array(
    [[0, 1, 7], [1, 2, 3], [0, 2, 5], [6, 8, 4], [7, 9, 5], [6, 9, 4], [20, 4, 8]], dtype=float
)
LABELS = np.array([0, 0, 0, 1, 1, 1, -1])


def masked(masks):
    return SubspaceClustering.from_labels(LABELS, masks=masks)


def test_corners_of_rows_in_features_are_their_ends():
    # In its own features a cluster is at its mean; in the others it lies where its rows do.
    line, area = FlatsDisplay.from_clustering(X, masked([[1, 0, 1], [0, 1, 0]])).patches
    np.testing.assert_allclose(line, [[1 / 3, 1, 5], [1 / 3, 2, 5]])
    middle = 26 / 3
    np.testing.assert_allclose(
        area, [[6, middle, 4], [6, middle, 5], [7, middle, 5], [7, middle, 4]]
    )
    area, point = FlatsDisplay.from_clustering(X, masked([[0, 0, 1], [1, 1, 1]])).patches
    np.testing.assert_allclose(area, [[0, 1, 5], [0, 2, 5], [1, 2, 5], [1, 1, 5]])
    np.testing.assert_allclose(point, [[19 / 3, middle, 13 / 3]])
    # Of three free features the two that vary most.
    wide = np.column_stack([X, X[:, 0] * 3])
    truth = SubspaceClustering.from_labels(LABELS, masks=[[0, 1, 0, 0], [1, 1, 1, 0]])
    area, line = FlatsDisplay.from_clustering(wide, truth, features=[2, 3]).patches
    np.testing.assert_allclose(area, [[3, 0], [3, 3], [7, 3], [7, 0]])
    np.testing.assert_allclose(line, [[13 / 3, 18], [13 / 3, 21]])


def test_features_that_are_looked_at():
    truth = masked([[1, 0, 1], [0, 1, 0]])
    display = FlatsDisplay.from_clustering(X, truth, features=[2, 0])
    np.testing.assert_array_equal(display.points, X[:, [2, 0]])
    assert display.names == ["2", "0"] and display.ax_.get_xlabel() == "2"
    one = FlatsDisplay.from_clustering(X, truth, features=[1])
    np.testing.assert_array_equal(one.points, np.column_stack([X[:, 1], np.zeros(7)]))
    assert one.names == ["1", ""]
    three = FlatsDisplay.from_clustering(X, truth, features=[2, 1, 0])
    np.testing.assert_array_equal(three.points, X[:, [2, 1, 0]])
    for wrong in ([], [0, 1, 2, 2]):
        with pytest.raises(ValueError, match="feature"):
            FlatsDisplay.from_clustering(X, truth, features=wrong)


def test_fewer_principal_directions_than_three():
    line = np.arange(8.0)[:, None] * [[0.5, 0.5, 0.5, 0.5]]
    display = FlatsDisplay.from_clustering(line, np.arange(8) // 4, flat_dims=0)
    assert display.points.shape == (8, 3)
    assert np.abs(display.points[:, 0]).tolist() == pytest.approx(
        [3.5, 2.5, 1.5, 0.5, 0.5, 1.5, 2.5, 3.5]
    )
    np.testing.assert_allclose(display.points[:, 1:], 0, atol=1e-12)
    assert display.names == [f"principal direction {i}" for i in (1, 2, 3)]


def test_axes_must_have_as_many_dimensions_as_the_points():
    truth = masked([[1, 0, 1], [0, 1, 0]])
    flat, solid = plt.figure().add_subplot(), plt.figure().add_subplot(projection="3d")
    assert FlatsDisplay.from_clustering(X, truth, features=[0, 1], ax=flat).ax_ is flat
    assert FlatsDisplay.from_clustering(X, truth, ax=solid).ax_ is solid
    with pytest.raises(ValueError, match="the points have 3 dimensions, the axes 2"):
        FlatsDisplay.from_clustering(X, truth, ax=flat)
    with pytest.raises(ValueError, match="the points have 2 dimensions, the axes 3"):
        FlatsDisplay.from_clustering(X, truth, features=[0, 1], ax=solid)
