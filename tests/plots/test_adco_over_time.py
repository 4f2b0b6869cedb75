import matplotlib.pyplot as plt
import numpy as np
import pytest

from subscape.measures import Bins, DensityProfile, adco_similarity
from subscape.plots import AdcoOverTimeDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def windows():
    """A stream whose clusters jump after the third of five windows."""
    rng = np.random.default_rng(0)
    bins = Bins(["x0", "x1"], [np.linspace(-5, 15, 11)] * 2)
    made = {}
    for name, shift in zip("abcde", (0, 0, 0, 8, 8), strict=True):
        labels = np.arange(400) % 2
        X = rng.normal(shift, 1, (400, 2)) + 3 * labels[:, None]
        made[name] = DensityProfile.of(X, labels, bins=bins)
    return made


def test_the_jump_is_a_dip_and_stays_a_distance(windows):
    display = AdcoOverTimeDisplay.from_profiles(windows, title="stream")
    assert np.isnan(display.to_previous[0])
    assert int(np.nanargmin(display.to_previous)) == 3
    assert display.to_previous[[1, 2, 4]].min() > 0.9 > 0.4 > display.to_previous[3]
    assert display.to_reference[0] == 1.0
    assert display.to_reference[1:3].min() > 0.9 > 0.4 > display.to_reference[3:].max()
    drawn = display.ax_.get_lines()
    np.testing.assert_array_equal(drawn[0].get_ydata(), display.to_previous)
    np.testing.assert_array_equal(drawn[1].get_ydata(), display.to_reference)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == list("abcde")
    assert display.ax_.get_title() == "stream"


def test_reference_and_options(windows):
    _, ax = plt.subplots()
    display = AdcoOverTimeDisplay.from_profiles(windows, reference="d", ax=ax, variant="cosine")
    assert display.ax_ is ax
    assert display.to_reference[3] == 1.0
    expected = adco_similarity(windows["d"], windows["a"], variant="cosine")
    assert display.to_reference[0] == expected
    last = AdcoOverTimeDisplay.from_profiles(list(windows.values()), reference=-1)
    assert last.reference == 4
    assert AdcoOverTimeDisplay.from_profiles(windows, reference=-5).reference == 0
    assert last.names == ["0", "1", "2", "3", "4"]


def test_refusals(windows):
    with pytest.raises(ValueError, match="1 window"):
        AdcoOverTimeDisplay.from_profiles([windows["a"]])
    with pytest.raises(ValueError, match="'z'"):
        AdcoOverTimeDisplay.from_profiles(windows, reference="z")
    for number in (5, -6):
        with pytest.raises(ValueError, match=f"below 5, got {number}"):
            AdcoOverTimeDisplay.from_profiles(windows, reference=number)


def test_dollar_signs_are_no_mathematics(windows):
    named = {f"${name}$": profile for name, profile in windows.items()}
    AdcoOverTimeDisplay.from_profiles(named).figure_.canvas.draw()
