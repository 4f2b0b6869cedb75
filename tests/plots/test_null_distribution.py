"""The picture shows the null tables and the observed values."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape.datasets import planted_axes
from subscape.finders import LAC
from subscape.plots import NullDistributionDisplay
from subscape.validation import significance


@pytest.fixture(scope="module")
def result():
    X, _ = planted_axes(80, 5, n_clusters=2, dims=3, random_state=0)
    return significance([LAC(2), LAC(3)], X, n_null=9, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_whole(result):
    display = NullDistributionDisplay.from_significance(result, title="is it real?")
    assert sum(bar.get_height() for bar in display.ax_.patches) == 9
    (line,) = display.ax_.lines
    assert line.get_xdata()[0] == result.observed
    assert display.ax_.get_title() == "is it real?"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["9 null tables", f"observed, best of all runs, p = {result.p_value:.3g}"]


def test_clusters_of_a_run(result):
    ax = plt.figure().add_subplot()
    display = NullDistributionDisplay.from_significance(result, clusters=True, run=1, ax=ax)
    assert display.ax_ is ax
    shown = [line.get_xdata()[0] for line in ax.lines]
    np.testing.assert_allclose(shown, result.cluster_observed[1])
    assert len(shown) == 3
