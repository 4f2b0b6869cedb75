import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape import SubspaceClustering
from subscape.datasets import planted_axes, planted_oriented
from subscape.measures import clustering_error, pairwise_distances
from subscape.plots import CellsDisplay, DistanceMatrixDisplay, IntersectionsDisplay
from subscape.plots.canvas import cluster_colours
from subscape.plots.cells import MOST_ROWS, row_order


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def overlapping():
    return planted_axes(
        120, 8, n_clusters=3, dims=3, overlap=0.2, noise=0.1, random_state=0
    ).clustering


class TestCells:
    def test_colours_mark_just_the_relevant_cells(self, overlapping):
        display = CellsDisplay.from_clustering(overlapping)
        coloured = (display.image < 1 - 1e-9).any(axis=2)
        cells = np.einsum(
            "kr,kf->rf", overlapping.memberships.toarray(), overlapping.subspaces.masks
        )
        np.testing.assert_array_equal(coloured, cells[display.row_order] > 0)

    def test_a_cell_of_one_cluster_has_its_colour(self):
        c = SubspaceClustering.from_labels([0, 1], masks=[[1, 0], [0, 1]])
        image = CellsDisplay.from_clustering(c).image
        np.testing.assert_allclose(image[0, 0], cluster_colours(2)[0])
        np.testing.assert_allclose(image[1, 1], cluster_colours(2)[1])
        np.testing.assert_allclose(image[0, 1], 1.0)

    def test_rows_of_two_clusters_stand_where_they_meet(self):
        c = SubspaceClustering.from_clusters([([4, 2, 0], [0]), ([2, 1], [1])], (5, 2))
        assert row_order(c).tolist() == [0, 4, 2, 1, 3]

    def test_every_cluster_of_a_partition_is_one_block(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(-1, 4, 200)
        ordered = labels[row_order(SubspaceClustering.from_labels(labels))]
        blocks = 1 + int((np.diff(ordered) != 0).sum())
        assert blocks == 5
        assert ordered[-1] == -1

    def test_weights_and_bases_fade(self):
        c = SubspaceClustering.from_labels([0, 0], weights=[[0.8, 0.2]])
        image = CellsDisplay.from_clustering(c).image
        assert image[0, 0].sum() < image[0, 1].sum() < 3
        CellsDisplay.from_clustering(planted_oriented(random_state=0).clustering)

    def test_many_rows_are_thinned_out(self):
        c = SubspaceClustering.from_labels(np.arange(10_000) % 3, n_features=2)
        assert CellsDisplay.from_clustering(c).image.shape == (MOST_ROWS, 2, 3)

    def test_everything_noise_still_draws(self):
        c = SubspaceClustering.from_labels([-1, -1], n_features=3)
        assert CellsDisplay.from_clustering(c).image.min() == 1.0

    def test_names_are_no_mathematics(self, tmp_path):
        c = SubspaceClustering.from_labels(
            [0, 1], feature_names=["$a_b", "a very long feature name"]
        )
        display = CellsDisplay.from_clustering(c, title="t")
        display.figure_.savefig(tmp_path / "x.png")
        assert display.ax_.get_title() == "t"

    def test_into_given_axes(self, overlapping):
        figure, ax = plt.subplots()
        assert CellsDisplay.from_clustering(overlapping, ax=ax).figure_ is figure


class TestIntersections:
    def test_the_matching_is_framed(self, overlapping):
        other = overlapping.select([2, 0, 1])
        display = IntersectionsDisplay.from_clusterings(overlapping, other)
        frames = sorted(
            (round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in display.ax_.patches
        )
        assert frames == [(0, 1), (1, 2), (2, 0)]
        assert f"CE {clustering_error(overlapping, other):.3f}" in display.ax_.get_title()

    def test_numbers_are_left_out_where_they_do_not_fit(self):
        labels = np.arange(400) % 20
        display = IntersectionsDisplay.from_clusterings(labels, labels)
        assert len(display.ax_.texts) == 0


class TestDistanceMatrix:
    def test_order_follows_the_dendrogram(self):
        labels = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 1], [0, 1, 0, 1, 0, 2]]
        display = DistanceMatrixDisplay.from_clusterings(labels, names=list("abcd"))
        np.testing.assert_allclose(display.distances, pairwise_distances(labels))
        halves = {frozenset(display.order_[:2].tolist()), frozenset(display.order_[2:].tolist())}
        assert halves == {frozenset({0, 2}), frozenset({1, 3})}

    def test_given_order(self):
        labels = [[0, 1], [0, 0], [1, 0]]
        display = DistanceMatrixDisplay.from_clusterings(labels, reorder=False)
        assert display.order_.tolist() == [0, 1, 2]

    def test_a_single_clustering(self):
        assert DistanceMatrixDisplay.from_distances([[0.0]]).order_.tolist() == [0]

    def test_bad_matrices(self):
        with pytest.raises(ValueError, match="square"):
            DistanceMatrixDisplay.from_distances(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="symmetric"):
            DistanceMatrixDisplay.from_distances([[0, 1], [2, 0]])
        with pytest.raises(ValueError, match="3 names were given for 2"):
            DistanceMatrixDisplay.from_distances(np.zeros((2, 2)), names="abc")
