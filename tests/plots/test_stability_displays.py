from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from subscape.plots import ClusterStabilityDisplay, DistanceMatrixDisplay, StabilityCurveDisplay
from subscape.validation import (
    ClusterStability,
    cluster_stability,
    lange_stability,
    resampling_stability,
)

BLOBS = make_blobs(90, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)[0]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stability():
    return resampling_stability(KMeans(n_init=2), BLOBS, {"n_clusters": [2, 3, 5]}, n_samples=4)


def test_a_curve_is_drawn_with_interval_replicates_and_choice(stability):
    display = StabilityCurveDisplay.from_curves(stability, title="t")
    assert display.places_.tolist() == [2, 3, 5]
    dots, line = display.ax_.lines
    assert len(dots.get_xdata()) == stability.replicates.size
    assert line.get_ydata() == pytest.approx(stability.values)
    ring = display.ax_.collections[-1].get_offsets()
    assert ring.tolist() == [[3, stability.values[1]]]
    assert display.ax_.get_xlabel() == "n_clusters"
    assert "small" in display.ax_.get_ylabel()


def test_several_curves_share_their_settings(stability):
    other = lange_stability(KMeans(n_init=2), BLOBS, {"n_clusters": [2, 3, 5]}, n_splits=2)
    display = StabilityCurveDisplay.from_curves({"a": stability, "b": other})
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b"]
    short = lange_stability(KMeans(n_init=2), BLOBS, {"n_clusters": [2, 3]}, n_splits=2)
    with pytest.raises(ValueError, match="'b' is over other settings"):
        StabilityCurveDisplay.from_curves({"a": stability, "b": short})
    with pytest.raises(ValueError, match="no curves"):
        StabilityCurveDisplay.from_curves({})


def test_settings_that_are_no_number_are_named():
    grid = {"n_clusters": [2, 3], "init": ["random", "k-means++"]}
    found = resampling_stability(KMeans(n_init=2), BLOBS, grid, n_samples=2)
    display = StabilityCurveDisplay.from_curves(found)
    assert display.places_.tolist() == [0, 1, 2, 3]
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels[0].startswith("n_clusters=2, init=")


def test_bars_are_the_clusters_stability():
    found = cluster_stability([0, 0, 1, 1, 2, 2], [[0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 2, 2]])
    display = ClusterStabilityDisplay.from_stability(found, names=["a", "$b$", "c"], sort=True)
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert heights == sorted(found.stability, reverse=True)
    assert display.order_.tolist() == [0, 2, 1]
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="2 names"):
        ClusterStabilityDisplay.from_stability(found, names=["a", "b"])


def test_a_cluster_that_was_never_sampled_has_a_question_mark():
    found = ClusterStability(np.array([[1.0, np.nan], [0.8, np.nan]]), np.zeros(2))
    display = ClusterStabilityDisplay.from_stability(found)
    assert display.ax_.texts[0].get_text() == "?"


@pytest.mark.parametrize("order", ["sample", "parameter"])
def test_the_matrix_keeps_the_order_and_parts_the_groups(stability, order):
    display = DistanceMatrixDisplay.from_stability(stability, order=order)
    matrix, names = stability.all_distances(order)
    assert display.order_.tolist() == list(range(12))
    assert display.names == names
    assert np.asarray(display.ax_.images[0].get_array()) == pytest.approx(matrix)
    number = 4 if order == "sample" else 3
    assert len(display.ax_.lines) == 2 * (number - 1)
    shown = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert shown == list(dict.fromkeys(display.groups))
    assert len(display.linkage) == 11
    display.figure_.canvas.draw()


def test_groups_must_fit_and_unknown_distances_are_far():
    matrix = np.array([[0.0, 0.1, np.nan], [0.1, 0.0, 0.4], [np.nan, 0.4, 0.0]])
    display = DistanceMatrixDisplay.from_distances(
        matrix, groups=["a", "a", "b"], method="complete"
    )
    assert display.linkage[-1, 2] == 1
    with pytest.raises(ValueError, match="2 groups"):
        DistanceMatrixDisplay.from_distances(matrix, groups=["a", "b"])
