"""Colours, names, thinning and projections of pictures, worked out by hand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape import SubspaceClustering
from subscape.plots import (
    CellsDisplay,
    ClusterMapDisplay,
    CoassociationDisplay,
    DistanceMatrixDisplay,
    FlatsDisplay,
    IntersectionsDisplay,
)
from subscape.plots import cells as cells_module
from subscape.plots import cluster_map as map_module
from subscape.plots import coassociation as coassociation_module
from subscape.plots import flats as flats_module
from subscape.plots import views as views_module
from subscape.plots.canvas import (
    HUES,
    axes,
    cluster_colours,
    feature_names,
    shortened,
    ticks,
)
from subscape.plots.cells import cell_image, row_order
from subscape.plots.views import common_basis, plane_of


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# -- what all share -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "short"),
    [("a" * 20, "a" * 20), ("a" * 21, "a" * 19 + "…"), ("", ""), ("$x$", r"\$x\$"),
     ("$" * 25, r"\$" * 19 + "…")],
)  # fmt: skip
def test_names_have_twenty_letters_at_most(name, short):
    assert shortened(name) == short


def test_a_name_may_be_shorter():
    assert (shortened("abcd", 3), shortened("abc", 3)) == ("ab…", "abc")


@pytest.mark.parametrize(
    ("number", "most", "places"),
    [(40, 40, range(40)), (41, 40, range(0, 41, 2)), (80, 40, range(0, 80, 2)),
     (81, 40, range(0, 81, 3)), (3, 1, [0]), (1, 40, [0])],
)  # fmt: skip
def test_ticks_are_thinned_out(number, most, places):
    ax = axes()
    ticks(ax.xaxis, [f"n{i}" for i in range(number)], most, 30)
    assert ax.xaxis.get_ticklocs().tolist() == list(places)
    assert [each.get_text() for each in ax.xaxis.get_ticklabels()] == [f"n{i}" for i in places]
    assert {each.get_rotation() for each in ax.xaxis.get_ticklabels()} == {30}


def test_colours_repeat_darker():
    colours = cluster_colours(61)
    assert len(HUES) == 12 and colours.shape == (61, 3)
    first = [int(HUES[0][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    for turn, factor in enumerate((1, 0.75, 0.5, 0.4, 0.4)):
        np.testing.assert_allclose(colours[12 * turn], np.multiply(first, factor))
    assert cluster_colours(0).shape == (0, 3)


def test_axes_that_are_given_or_made():
    given = axes(figsize=(3, 2))
    assert given.figure.get_size_inches().tolist() == [3, 2]
    assert axes(given) is given and axes().figure.get_size_inches().tolist() == [6.0, 4.5]


def test_features_have_names_or_numbers():
    plain = SubspaceClustering.from_labels([0, 1], n_features=3)
    assert feature_names(plain) == ["0", "1", "2"]
    assert feature_names(plain.with_names(feature_names="abc")) == ["a", "b", "c"]


# -- cells ----------------------------------------------------------------------------------------


def test_cells_have_the_colours_of_their_clusters():
    given = SubspaceClustering.from_clusters([([0, 1], [0, 1]), ([1, 2], [1])], (4, 3))
    one, two = cluster_colours(2)
    white = np.ones(3)
    np.testing.assert_allclose(
        cell_image(given, np.arange(4)),
        [[one, one, white], [one, (one + two) / 2, white], [white, two, white], [white] * 3],
    )
    np.testing.assert_allclose(cell_image(given, np.array([2])), [[white, two, white]])


def test_weights_and_shares_are_pale():
    """A feature of half the largest weight, and a row with a quarter of a membership."""
    given = SubspaceClustering.from_labels([0], weights=[[0.5, 0.25, 0.25]])
    (colour,) = cluster_colours(1)
    pale = (1 + colour) / 2
    np.testing.assert_allclose(cell_image(given, np.array([0])), [[colour, pale, pale]])
    soft = SubspaceClustering(np.array([[1.0, 0.25]]), np.array([[True, False]]))
    expected = [[colour, np.ones(3)], [0.75 + 0.25 * colour, np.ones(3)]]
    np.testing.assert_allclose(cell_image(soft, np.arange(2)), expected)


def test_rows_of_two_clusters_stand_where_the_two_meet():
    given = SubspaceClustering.from_clusters([([0, 3], [0]), ([3, 1], [0])], (5, 1))
    assert row_order(given).tolist() == [0, 3, 1, 2, 4]
    soft = SubspaceClustering(np.array([[0.2, 0, 0.9], [0.8, 0, 0.1]]), np.ones((2, 1), bool))
    assert row_order(soft).tolist() == [2, 0, 1]


# -- many rows ------------------------------------------------------------------------------------


def test_rows_beyond_the_most_are_thinned_out_evenly(monkeypatch):
    assert (cells_module.MOST_ROWS, coassociation_module.MOST_ROWS) == (1500, 1000)
    labels = np.arange(9) // 3
    for module in (cells_module, coassociation_module):
        monkeypatch.setattr(module, "MOST_ROWS", 5)
    assert len(CellsDisplay.from_clustering(labels).row_order) == 5
    assert CellsDisplay.from_clustering(labels).row_order.tolist() == [0, 2, 4, 6, 8]
    found = CoassociationDisplay.from_ensemble([labels, labels], labels)
    assert found.row_order.tolist() == [0, 2, 4, 6, 8] and found.shares.shape == (5, 5)
    monkeypatch.setattr(cells_module, "MOST_ROWS", 9)
    assert CellsDisplay.from_clustering(labels).row_order.tolist() == list(range(9))


def test_clusters_beyond_the_most_are_thinned_out_evenly(monkeypatch):
    labels = [np.arange(6) // 2 for _ in range(3)]
    assert len(ClusterMapDisplay.from_ensemble(labels, labels[0]).places) == 9
    monkeypatch.setattr(map_module, "MOST_CLUSTERS", 4)
    found = ClusterMapDisplay.from_ensemble(labels, labels[0])
    # Of nine clusters those at 0, 2.67, 5.33 and 8: 0, 2, 5 and 8.
    assert found.stands_for.tolist() == [0, 2, 2, 2] and found.sizes.tolist() == [2] * 4


def test_points_beyond_the_most_are_thinned_out_evenly(monkeypatch):
    X = np.column_stack([np.arange(9.0), np.arange(9) % 2])
    assert flats_module.MOST_POINTS == 10_000
    monkeypatch.setattr(flats_module, "MOST_POINTS", 5)
    display = flats_module.FlatsDisplay.from_clustering(X, np.arange(9) // 5)
    assert display.labels.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(display.points[:, 0], [0, 2, 4, 6, 8])
    monkeypatch.setattr(flats_module, "MOST_POINTS", 9)
    assert len(flats_module.FlatsDisplay.from_clustering(X, np.arange(9) // 5).points) == 9


# -- views ----------------------------------------------------------------------------------------

#: Two groups six apart along the first column; the second spreads far, the third hardly.
TABLE = np.array([[0, 9, 0], [0, -9, 0], [6, 9, 0.1], [6, -9, 0.0]], dtype=float)


def test_a_plane_has_the_centres_in_its_first_direction():
    given = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0, 1]] * 2)
    plane = plane_of(TABLE, given, np.arange(4))
    assert plane.separating == 1
    # Centres differ by (6, 0.05) in the view; outside it the second column spreads most.
    direction = np.array([6, 0, 0.05]) / np.hypot(6, 0.05)
    np.testing.assert_allclose(np.abs(plane.directions[:, 0] @ direction), 1)
    np.testing.assert_allclose(np.abs(plane.directions[:, 1]), [0, 1, 0], atol=4e-3)
    np.testing.assert_allclose(np.abs(plane.points[:, 0]), 3, atol=0.02)
    np.testing.assert_allclose(np.abs(plane.points[:, 1]), 9, atol=0.02)
    middle = TABLE.mean(axis=0)
    np.testing.assert_allclose(plane.points, (TABLE - middle) @ plane.directions)


def test_the_middle_of_a_plane_is_that_of_the_rows_in_clusters():
    given = SubspaceClustering.from_labels([0, 0, 1, -1], masks=[[1, 0, 0]] * 2)
    plane = plane_of(TABLE, given, np.array([0, 3]))
    assert plane.points.shape == (2, 2)
    np.testing.assert_allclose(np.abs(plane.points[:, 0]), [2, 4])
    for nobody in ([-1] * 4, [0] * 4):
        alone = plane_of(TABLE, SubspaceClustering.from_labels(nobody, n_features=3), np.arange(4))
        assert alone.separating == 0
        np.testing.assert_allclose(np.abs(alone.directions[1, 0]), 1, atol=1e-3)


def test_the_subspace_of_a_clustering():
    masks = SubspaceClustering.from_labels([0, 1], masks=[[1, 0, 0], [0, 0, 1]])
    assert common_basis(masks).tolist() == [[1, 0], [0, 0], [0, 1]]
    one = np.array([[0.6], [0.8], [0.0]])
    same = SubspaceClustering.from_labels([0, 1], bases=[one, one.copy()])
    np.testing.assert_array_equal(common_basis(same), one)
    other = np.array([[0.0], [0.0], [1.0]])
    both = common_basis(SubspaceClustering.from_labels([0, 1], bases=[one, other]))
    assert both.shape == (3, 2)
    np.testing.assert_allclose(both @ both.T, one @ one.T + other @ other.T, atol=1e-12)
    # Two bases of one plane span no more than the plane.
    turned = np.eye(3)[:, :2] @ np.array([[0.6, -0.8], [0.8, 0.6]])
    plane = common_basis(SubspaceClustering.from_labels([0, 1], bases=[np.eye(3)[:, :2], turned]))
    assert plane.shape == (3, 2)
    np.testing.assert_allclose(np.abs(plane[2]), 0, atol=1e-12)


def test_directions_are_named_by_the_features_that_weigh_most():
    weights = np.array([[0.1, 1.0], [-0.7, 0.0], [0.5, 0.0], [0.0, 0.0]])
    plane = views_module.Plane(weights, np.zeros((2, 2)), 2)
    names = ["a", "b" * 13, "$c", "d"]
    shown = views_module.ViewsDisplay([plane], np.array([[0], [-1]]), ["v"], names)
    assert shown._axis_name(plane, 0) == rf"-0.70 {'b' * 12} +0.50 \$c …"
    assert shown._axis_name(plane, 1) == "+1.00 a"
    assert shown._axis_name(plane._replace(separating=1), 1) == "largest spread outside the view"
    colours = shown._colours(0)
    np.testing.assert_allclose(colours[0], cluster_colours(1)[0])
    np.testing.assert_allclose(colours[1], views_module.NOISE)
    noise = views_module.ViewsDisplay([plane], np.array([[-1], [-1]]), ["v"], names)
    np.testing.assert_allclose(noise._colours(0), [views_module.NOISE] * 2)


def test_one_clustering_has_nothing_to_merge():
    assert DistanceMatrixDisplay.from_distances(np.zeros((1, 1))).linkage.shape == (0, 4)
    assert DistanceMatrixDisplay.from_distances(1 - np.eye(2)).linkage.tolist() == [[0, 1, 1, 2]]


@pytest.mark.parametrize(("n", "has_legend"), [(0, False), (1, True), (24, True), (25, False)])
def test_flats_have_a_legend_up_to_two_dozen(n, has_legend):
    display = FlatsDisplay(np.zeros((3, 2)), np.full(3, -1), [np.zeros((1, 2))] * n, ["a", "b"])
    assert (display.plot().ax_.get_legend() is not None) is has_legend
    assert display.plot(legend=False).ax_.get_legend() is None


@pytest.mark.parametrize(("n_a", "written"), [(10, True), (11, False)])
def test_numbers_are_written_into_a_hundred_and_fifty_fields(n_a, written):
    rows = np.arange(165)
    display = IntersectionsDisplay.from_clusterings(rows % n_a, rows % 15)
    assert bool(display.ax_.texts) is written
    assert display.plot(values=True).ax_.texts and not display.plot(values=False).ax_.texts
