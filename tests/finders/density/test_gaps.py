"""Groups that gaps part: one gap after the other."""

import numpy as np

from subscape.finders.density.gaps import gap_groups, widest_gap

TWO = float(np.log(2))


def lines(hole):
    """Two parallel lines, eight steps apart; one has a hole of so many steps in its middle."""
    along = np.arange(150.0)
    broken = np.where(along < 75, along, along - 1 + hole)
    return np.r_[np.c_[along, 0 * along], np.c_[broken, 0 * broken + 8]]


def test_a_long_group_is_not_cut_where_it_is_thin():
    points = lines(hole=5)
    assert widest_gap(points).labels.max() == 2  # three groups at once
    one = widest_gap(points, most_nats=TWO)
    assert np.bincount(one.labels).tolist() == [150, 150]
    assert one.width > widest_gap(points).width
    assert np.bincount(gap_groups(points, one.width).labels).tolist() == [150, 150]


def test_groups_within_groups_are_parted_by_gaps_as_wide():
    groups = gap_groups(lines(hole=12), least=0.5)
    assert np.bincount(groups.labels).tolist() == [150, 75, 75]


def test_width_and_nats_of_a_gap():
    gap = widest_gap(lines(hole=1), most_nats=TWO)
    np.testing.assert_allclose(gap.entropy, TWO)
    np.testing.assert_allclose(gap.score, gap.width * TWO)
    # Links within are as long as the way to the fifth neighbour, three steps on either side; those
    # between are eight steps long.
    np.testing.assert_allclose(gap.width, np.log(8 / 3), atol=0.01)
