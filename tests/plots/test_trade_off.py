from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape.datasets import planted_views
from subscape.measures import dq_measure
from subscape.plots import TradeOffDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_points_are_the_scores():
    X, (known, hidden) = planted_views(100, 4, n_clusters=(2, 2), random_state=0)
    display = TradeOffDisplay.from_alternatives(
        X, known, {"hidden": hidden, "$ame": known}, title="two", separation="centroid"
    )
    expected = dq_measure(X, known, hidden, separation="centroid")
    assert display.scores["hidden"] == expected
    points = [tuple(each.get_offsets()[0]) for each in display.ax_.collections]
    np.testing.assert_allclose(points[0], expected[:2])
    assert points[1][0] == 0
    assert display.ax_.get_legend().texts[1].get_text() == r"\$ame"
    assert display.ax_.get_title() == "two"


def test_a_sequence_is_numbered_and_lines_have_one_dq():
    X, (known, hidden) = planted_views(60, 4, n_clusters=(2, 2), random_state=0)
    display = TradeOffDisplay.from_alternatives(X, known, [hidden, known.labels()])
    assert list(display.scores) == ["1", "2"]
    for line, level in zip(display.ax_.lines, (0.2, 0.4, 0.6, 0.8), strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(2 * x * y / (x + y), level)


def test_nothing_to_draw():
    assert TradeOffDisplay({}).plot().ax_.get_legend() is None
