"""Views side by side, coloured by every clustering."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.datasets import planted_views
from subscape.finders import NrKMeans
from subscape.plots import ViewsDisplay
from subscape.plots.canvas import cluster_colours
from subscape.plots.views import MOST_ROWS, common_basis, plane_of


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def found():
    X, truths = planted_views(200, 6, n_clusters=(3, 2), random_state=0)
    return X, truths, NrKMeans((3, 2, 1), random_state=0).fit(X)


def test_columns_are_views_and_rows_are_colourings(found):
    X, _, finder = found
    display = ViewsDisplay.from_clusterings(X, finder, names=["age", "habit"])
    assert display.axes_.shape == (2, 2)
    centred = X - X.mean(axis=0)
    for j in range(2):
        for i in range(2):
            (points,) = display.axes_[i, j].collections
            shown = np.asarray(points.get_offsets())
            np.testing.assert_allclose(shown, centred @ display.planes[j].directions)
            colours = points.get_facecolors()[:, :3]
            expected = cluster_colours(finder.clusterings_[i].n_clusters)[
                finder.label_matrix_[:, i]
            ]
            np.testing.assert_allclose(colours, expected)
    assert display.axes_[0, 1].get_title() == "in the directions of habit"
    assert display.axes_[1, 0].get_ylabel() == "coloured by habit"


def test_the_plane_is_the_leading_part_of_the_view(found):
    X, _, finder = found
    plane = plane_of(X, finder.clusterings_[0], np.arange(200))
    np.testing.assert_allclose(
        np.abs(plane.directions.T @ finder.components_[0]), np.eye(2), atol=1e-6
    )
    assert plane.separating == 2
    # A view of one dimension: the second direction shows spread outside of it.
    plane = plane_of(X, finder.clusterings_[1], np.arange(200))
    assert plane.separating == 1
    np.testing.assert_allclose(plane.directions.T @ plane.directions, np.eye(2), atol=1e-9)
    display = ViewsDisplay.from_clusterings(X, finder)
    assert any("outside the view" in text.get_text() for text in display.axes_[-1, 1].texts)


def test_any_kind_of_clustering(found):
    X, truths, finder = found
    labels = truths[0].labels()
    axis = SubspaceClustering.from_labels(labels, masks=np.eye(6, dtype=bool)[:3])
    weighted = SubspaceClustering.from_labels(labels, weights=np.full((3, 6), 1 / 6))
    lines = [np.eye(6)[:, [k]] for k in range(3)]
    oriented = SubspaceClustering.from_labels(labels, bases=lines)
    given = [labels, axis, weighted, oriented, finder]
    display = ViewsDisplay.from_clusterings(X, given)
    assert display.axes_.shape == (5, 5)
    assert common_basis(axis).shape == (6, 3)
    # Only the first three features count for the axis-aligned one.
    assert not display.planes[1].directions[3:].any()
    np.testing.assert_allclose(np.abs(common_basis(oriented).T @ np.eye(6)[:, :3]).sum(), 3)


def test_noise_is_grey_and_all_noise_still_draws(found):
    X, _, _ = found
    labels = np.where(np.arange(200) < 20, -1, np.arange(200) % 2)
    display = ViewsDisplay.from_clusterings(X, [labels, np.full(200, -1)])
    colours = display.axes_[0, 0].collections[0].get_facecolors()
    np.testing.assert_allclose(colours[:20, :3], 0.75)
    assert display.planes[1].separating == 0


def test_many_rows_are_thinned_and_names_are_text():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(MOST_ROWS * 2, 2)), columns=["$a$", "b"])
    frame["$a$"] += 9 * (np.arange(len(frame)) % 2)
    display = ViewsDisplay.from_clusterings(frame, [np.arange(len(frame)) % 2])
    assert len(display.labels) == MOST_ROWS
    assert r"\$a\$" in display.axes_[0, 0].get_xlabel()
    display.figure_.canvas.draw()


def test_what_can_not_be_drawn(found):
    X, _, finder = found
    with pytest.raises(
        ValueError, match="clustering 0 has 200 rows and 6 features, the table 199 and 6"
    ):
        ViewsDisplay.from_clusterings(X[1:], finder)
    with pytest.raises(ValueError, match="no clusterings"):
        ViewsDisplay.from_clusterings(X, [])
