"""OpenSubspace's texts line by line: what is a cluster, and what is not."""

from __future__ import annotations

import pytest

from subscape.core.errors import DroppedClusterWarning, FileFormatError
from subscape.files import read_clusterings


@pytest.fixture
def read(tmp_path):
    def of(text, name="t.true", **options):
        (tmp_path / name).write_text(text)
        (found,) = read_clusterings(tmp_path / name, **options)
        return found

    return of


def clusters(found):
    return [
        (found.cluster(k).rows.tolist(), found.cluster(k).features.tolist())
        for k in range(found.n_clusters)
    ]


def test_flags_size_and_rows(read):
    found = read("DIM=3;\n1 0 1 2 0 4\n0 1 0 3 1 2 3\n", shape=(6, 3))
    assert clusters(found) == [([0, 4], [0, 2]), ([1, 2, 3], [1])] and found.shape == (6, 3)


def test_the_first_size_ends_the_flags(read):
    # One feature, then 2 rows; 2 is no flag, so there are no two features with one row behind them.
    assert clusters(read("1 2 1 0\n1 1 2\n", shape=None)) == [([0, 1], [0]), ([2], [0])]


def test_rows_that_are_not_stated_end_with_the_last_one(read):
    assert read("DIM=2;\n1 1 2 0 4\n").shape == (5, 2)


@pytest.mark.parametrize(
    "line", ["2 0 1 1 0", "1 0 1", "1 0 1 3 0 1", "1 0 1 1 0 2", "1 0 1 2 0 -1", "1 x 1 1 0"]
)
def test_lines_that_are_no_clusters(read, line):
    with pytest.raises(FileFormatError, match=r"t\.true, line 3"):
        read(f"DIM=3;\n0 1 0 1 2\n{line}\n")


def test_clusters_without_rows_or_features(read):
    with pytest.warns(DroppedClusterWarning, match=r"1 cluster without.*left out \(line 2\)"):
        assert clusters(read("DIM=2;\n1 0 0\n0 1 1 3\n")) == [([3], [1])]
    with pytest.warns(DroppedClusterWarning, match=r"2 clusters without.*left out \(line 2, …\)"):
        assert clusters(read("DIM=2;\n1 0 0\n0 0 1 1\n0 1 1 3\n")) == [([3], [1])]


def test_a_row_that_is_listed_twice_is_in_the_cluster_once(read):
    assert read("DIM=2;\n1 0 3 0 1 1\n0 1 1 2\n").sizes.tolist() == [2, 1]
