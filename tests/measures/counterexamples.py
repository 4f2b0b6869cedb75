"""Clusterings that break what a measure does not promise; see ``tests/measures/properties.py``.

Where rows alone make the point, label vectors stand for clusterings in a single feature.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from subscape.core import AxisSubspaces, SubspaceClustering
from subscape.measures import clustering_error, rnia
from subscape.measures.registry import MEASURES

# Examples 1 to 4 of the thesis (A.1.2 and A.1.3): C is A with a tiny cluster that B does not have.
FOUR = [0, 1, 2, 3]
A = SubspaceClustering.from_clusters([([0, 1], FOUR)], (3, 6))
B = SubspaceClustering.from_clusters([([1, 2], FOUR)], (3, 6))
C = SubspaceClustering.from_clusters([([0, 1], FOUR), ([0, 1], [5])], (3, 6))

ONE, HALVES = [0, 0, 0, 0], [0, 0, 1, 1]
WITHOUT_FIRST, WITHOUT_LAST = [-1, 0, 0, 0], [0, 0, 0, -1]
#: Two partitions of nine rows that say nothing about each other, and two rows in no cluster.
BY_ROW = [0, 0, 0, 1, 1, 1, 2, 2, 2, -1, -1]
BY_COLUMN = [0, 1, 2, 0, 1, 2, 0, 1, 2, -1, -1]

TWICE = SubspaceClustering(np.ones((2, 3), bool), AxisSubspaces(np.ones((2, 2), bool)))

POSITIVE, SYMMETRIC, TRIANGLE = "positive", "symmetric", "triangle inequality"
PENALTY, BACKGROUND = "penalty for non-intersecting area", "background independent"
SCALE, COPY = "scale invariant", "copy invariant"
COVERAGE, ORDINARY = "multiple cluster coverage penalty", "handles ordinary clusterings"

#: (measure, property it lacks) -> arguments of the property's function.
COUNTEREXAMPLES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("rnia", POSITIVE): (ONE, HALVES),
    ("rnia", COVERAGE): (ONE, HALVES),
    ("rnia", ORDINARY): (ONE, HALVES),
    ("variation_of_information", TRIANGLE): (A, C, B),
    ("variation_of_information", PENALTY): (A, B, C, B),
    ("variation_of_information", SCALE): (ONE, WITHOUT_LAST, 2),
    ("rand_distance", TRIANGLE): (A, C, B),
    ("rand_distance", PENALTY): (A, B, C, B),
    ("rand_distance", SCALE): (ONE, WITHOUT_LAST, 2),
    ("rand_distance", COPY): (ONE, WITHOUT_LAST),
    ("vi_with_area", TRIANGLE): ([0, 1, 0, 1], [0, -1, -1, 0], [0, 1, 1, 0]),
    # More than one nat per shared cell: cells that cost only one make it better.
    ("vi_with_area", PENALTY): (BY_ROW, BY_COLUMN, [*BY_ROW[:9], 3, 3], BY_COLUMN),
    ("four_class_rand_distance", TRIANGLE): (
        [-1, -1, 0, 0, -1, -1], [-1, -1, -1, -1, 0, 0], [0, 1, 0, 1, -1, -1],
    ),
    ("four_class_rand_distance", PENALTY): (
        [-1, -1, 0, 0, -1, -1], [0, 0, 1, 1, -1, -1], [-1, -1, 0, 0, 1, 1], [0, 0, 1, 1, -1, -1],
    ),
    ("four_class_rand_distance", SCALE): (ONE, WITHOUT_LAST, 2),
    ("four_class_rand_distance", COPY): (ONE, WITHOUT_LAST),
    # The same cluster twice explains no more and no less than once.
    ("e4sc_score", POSITIVE): (TWICE, TWICE.select([0])),
    ("e4sc_score", TRIANGLE): ([0, 0, -1, 0], ONE, [0, -1, 0, 0]),
    # What shares nothing at all can grow for free.
    ("e4sc_score", PENALTY): (
        [0, 0, 1, 1, -1, -1], [0, 0, -1, -1, -1, -1],
        [0, 0, 1, 1, 1, 1], [0, 0, -1, -1, -1, -1],
    ),
    ("object_f1_score", POSITIVE): (HALVES, ONE),
    ("object_f1_score", SYMMETRIC): (HALVES, ONE),
    ("object_f1_score", TRIANGLE): ([-1, 0, 0, -1], ONE, [0, 0, -1, 0]),
    ("object_f1_score", PENALTY): (
        [0, -1, 0, 0, -1, -1], [0, 0, 0, 0, -1, -1],
        [0, -1, 0, 0, 1, 1], [0, 0, 0, 0, -1, -1],
    ),
    ("object_f1_score", COVERAGE): (ONE, HALVES),
    ("object_f1_score", ORDINARY): (HALVES, ONE),
    ("object_entropy_score", POSITIVE): (HALVES, ONE),
    ("object_entropy_score", SYMMETRIC): (HALVES, ONE),
    ("object_entropy_score", TRIANGLE): ([0, -1, -1, 0], ONE, WITHOUT_FIRST),
    ("object_entropy_score", PENALTY): (
        [0, 0, 0, 0, -1, -1], [-1, 0, 0, 0, -1, -1],
        [0, 0, 0, 0, -1, -1], [-1, 0, 0, 0, 0, 0],
    ),
    ("object_entropy_score", BACKGROUND): ([0, -1, 0, -1], HALVES, 1, 0),
    ("object_entropy_score", COPY): (ONE, HALVES),
    ("object_entropy_score", COVERAGE): (ONE, HALVES),
    ("object_entropy_score", ORDINARY): (HALVES, ONE),
    ("object_accuracy_score", POSITIVE): (HALVES, ONE),
    ("object_accuracy_score", SYMMETRIC): (HALVES, ONE),
    ("object_accuracy_score", TRIANGLE): (
        [0, 0, 0, 0, -1, 0, -1], [0, 0, 0, 0, -1, -1, 0], [-1, 0, 0, 0, 1, -1, 1],
    ),
    ("object_accuracy_score", PENALTY): (
        [0, 0, 0, -1, -1, -1], [0, 0, 0, -1, -1, -1],
        [0, 0, 0, -1, 1, 1], [0, 0, 0, -1, -1, -1],
    ),
    ("object_accuracy_score", BACKGROUND): (WITHOUT_LAST, ONE, 1, 0),
    ("object_accuracy_score", SCALE): ([0, -1, -1, 0], [0, -1, 0, 0], 2),
    ("object_accuracy_score", COPY): ([0, -1, 0, 0], [0, 0, -1, -1]),
    ("object_accuracy_score", COVERAGE): (ONE, HALVES),
    ("object_accuracy_score", ORDINARY): (HALVES, ONE),
    ("object_coverage_score", POSITIVE): (HALVES, ONE),
    ("object_coverage_score", SYMMETRIC): (ONE, WITHOUT_LAST),
    ("object_coverage_score", PENALTY): (
        [0, 0, -1, -1], [0, 0, -1, -1], [0, 0, 1, 1], [0, 0, -1, -1],
    ),
    ("object_coverage_score", BACKGROUND): (ONE, ONE, 1, 0),
    ("object_coverage_score", COVERAGE): (ONE, HALVES),
    ("object_coverage_score", ORDINARY): (ONE, HALVES),
    # A row that both leave out agrees, and so does a row that a cluster without partner takes in.
    ("label_error", PENALTY): (
        [-1, -1, -1, 0, 0], [0, 1, -1, 0, 1], [-1, -1, 0, 0, 0], [0, 1, -1, 0, 1],
    ),
    ("label_error", BACKGROUND): (ONE, WITHOUT_LAST, 1, 0),
    ("label_error", SCALE): ([0, 1, 1, 0], WITHOUT_LAST, 2),
    ("label_rand_distance", BACKGROUND): (ONE, WITHOUT_LAST, 1, 0),
    ("label_rand_distance", SCALE): (ONE, WITHOUT_LAST, 2),
    ("label_rand_distance", COPY): (ONE, WITHOUT_LAST),
    ("mirkin_distance", SCALE): (ONE, WITHOUT_LAST, 2),
    ("mirkin_distance", COPY): (ONE, WITHOUT_LAST),
    ("label_vi", BACKGROUND): (ONE, WITHOUT_LAST, 1, 0),
    ("label_vi", SCALE): (ONE, WITHOUT_LAST, 2),
    ("label_rand_score", BACKGROUND): (ONE, WITHOUT_LAST, 1, 0),
    ("label_rand_score", SCALE): (ONE, WITHOUT_LAST, 2),
    ("label_rand_score", COPY): (ONE, WITHOUT_LAST),
    ("label_jaccard_score", SCALE): (ONE, HALVES, 2),
    ("fowlkes_mallows_score", TRIANGLE): ([0, 0, -1, -1], HALVES, [-1, -1, 0, 0]),
    ("fowlkes_mallows_score", SCALE): (ONE, HALVES, 2),
    ("hubert_gamma_score", TRIANGLE): ([0, 0, -1, -1], HALVES, [-1, -1, 0, 0]),
    ("adjusted_rand_score", TRIANGLE): ([0, 0, -1, -1], HALVES, [-1, -1, 0, 0]),
    ("normalized_mutual_info_score", TRIANGLE): (
        [-1, 0, 0, -1], [0, 0, -1, -1], [0, 0, -1, 0],
    ),
    ("adjusted_mutual_info_score", TRIANGLE): (WITHOUT_LAST, [-1, 0, 0, -1], WITHOUT_FIRST),
    ("adjusted_mutual_info_score", PENALTY): (
        [0, 1, 0, 0, 1, 0, -1, -1], [0, 0, -1, -1, 1, 1, -1, -1],
        [0, 1, 0, 0, 1, 0, 2, 2], [0, 0, -1, -1, 1, 1, -1, -1],
    ),
    ("v_measure_score", TRIANGLE): ([-1, -1, 0, 0], [-1, 0, 0, -1], WITHOUT_LAST),
    **{
        (name, lacking): ([0, 0, -1, -1], [0, 0, 0, -1], *more)
        for name in (
            "hubert_gamma_score", "adjusted_rand_score", "normalized_mutual_info_score",
            "adjusted_mutual_info_score", "v_measure_score",
        )
        for lacking, more in ((BACKGROUND, (1, 0)), (SCALE, (2,)), (COPY, ()))
    },
}  # fmt: skip


def lines(*angles: float) -> list[SubspaceClustering]:
    """One row in the line at each of these angles in the plane."""
    return [
        SubspaceClustering.from_labels([0], bases=[[[np.cos(angle)], [np.sin(angle)]]])
        for angle in angles
    ]


def _cos2_cuts_corners(measure: Any) -> bool:
    squared = partial(measure, overlap="cos2")
    a, b, c = lines(0.0, 0.1, 0.2)
    return squared(a, c) > squared(a, b) + squared(b, c) + 0.03


def _stays_at_one(measure: Any) -> bool:
    a, b, larger = [0, 0, -1, -1], [-1, -1, 0, 0], [0, 0, 1, -1]
    return bool(measure(a, b) == measure(larger, [-1, -1, -1, 0]) == 1)


def _one_cell_vanishes(name: str) -> bool:
    entry = MEASURES[name]
    best = entry.low if entry.is_distance else entry.high
    pair = ([0, -1], [-1, 0]) if entry.on == "cells" else ([0, 0, 1], [0, 0, -1])
    return bool(entry.function(*pair) == best)


#: (measure, property it has) -> whether the property really ends where the registry says.
CAVEATS: dict[tuple[str, str], bool] = {
    ("clustering_error", TRIANGLE): _cos2_cuts_corners(clustering_error),
    ("rnia", TRIANGLE): _cos2_cuts_corners(rnia),
    ("clustering_error", PENALTY): _stays_at_one(clustering_error),
    ("rnia", PENALTY): _stays_at_one(rnia),
    **{
        (name, POSITIVE): _one_cell_vanishes(name)
        for name in (
            "variation_of_information", "rand_distance", "four_class_rand_distance", "label_error",
            "label_rand_distance", "mirkin_distance", "label_vi", "label_rand_score",
            "label_jaccard_score", "fowlkes_mallows_score", "hubert_gamma_score",
            "adjusted_rand_score", "normalized_mutual_info_score", "adjusted_mutual_info_score",
            "v_measure_score",
        )
    },
}  # fmt: skip
