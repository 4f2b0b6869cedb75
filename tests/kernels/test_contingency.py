from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from subscape.arrays.contingency import count_pairs

VERSIONS = [count_pairs, count_pairs.reference]


@st.composite
def labellings(draw):
    n = draw(st.integers(0, 40))
    n_a, n_b = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    types = st.sampled_from([np.int32, np.int64])
    a = draw(arrays(draw(types), n, elements=st.integers(-2, n_a - 1)))
    b = draw(arrays(draw(types), n, elements=st.integers(-2, n_b - 1)))
    return a, b, n_a, n_b


@given(labellings())
def test_both_versions_count_like_a_loop(case):
    a, b, n_a, n_b = case
    expected = [
        [sum(x == i and y == j for x, y in zip(a, b, strict=True)) for j in range(n_b)]
        for i in range(n_a)
    ]
    expected = np.array(expected, dtype=np.int64).reshape(n_a, n_b)
    for version in VERSIONS:
        found = version(a, b, n_a, n_b)
        assert found.dtype == np.int64
        assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_read_only_and_strided_labels(version):
    labels = np.array([[0, 1], [1, 1], [-1, 0]], dtype=np.int32)
    labels.flags.writeable = False
    assert_array_equal(version(labels[:, 0], labels[:, 1], 2, 2), [[0, 1], [0, 1]])


@pytest.mark.parametrize("version", VERSIONS)
def test_labels_of_different_length_are_refused(version):
    with pytest.raises(ValueError, match="3 and 2 rows"):
        version(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), 1, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_labels_beyond_the_last_cluster_are_refused(version):
    with pytest.raises(ValueError, match="up to 0 and 2, but there are 1 and 2 clusters"):
        version(np.array([0, 0]), np.array([1, 2]), 1, 2)
    # Also where the other label is noise, so that a wrong number of clusters never goes unseen.
    with pytest.raises(ValueError, match="up to 4 and -1, but there are 1 and 1 clusters"):
        version(np.array([4]), np.array([-1]), 1, 1)
