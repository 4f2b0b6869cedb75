"""Labels numbered anew: which are few, and the numbers that sorting gives."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.arrays.numbering import are_few, from_zero


@pytest.mark.parametrize(
    ("labels", "few"),
    [
        ([-1, 0, 1], True), ([-2, 0, 1], False), ([0, 1, 2], True), ([0, 1, 3], False),
        ([-1], True), ([0], True), ([1], False), ([], True),
    ],
)  # fmt: skip
def test_few_labels_are_whole_numbers_below_the_number_of_rows(labels, few):
    assert are_few(np.array(labels, np.int64)) is few
    assert are_few(np.array(labels, np.int32)) is few
    assert not are_few(np.array(labels, float)) and not are_few(np.array(labels).astype(str))
    assert not are_few(np.array(labels).astype(np.uint8))


@pytest.mark.parametrize(
    "labels",
    [[-1, 0, 1], [-2, 0, 1], [2, 2, 0], [7, -1, 3, 7], [-1, -1], [5], [0.5, -1.0], [True, False]],
)
def test_numbers_are_those_of_sorting(labels):
    expected = np.unique(np.array(labels), return_inverse=True)[1]
    assert from_zero(np.array(labels)).tolist() == expected.tolist()
    assert from_zero(np.array([], int)).tolist() == []
