"""Every measure with its range, direction, kinds and properties; the tests are derived from it.

The properties are those of Table 4.1 of Patrikainen (2005), with the corrections found since. A
measure *has* a property if all clusterings it can score obey it, provided that every cluster has at
least two cells (as in the thesis, where gaps are filled with one-cell clusters); for measures that
see rows only, cells are rows and two clusterings of the same rows are equal. Scores are read as
distances, their best value minus the score. A property that a measure lacks has a counterexample
among the tests, and so has every caveat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from subscape.core.plugins import plugins
from subscape.measures.cells.objects import (
    e4sc_score,
    object_accuracy_score,
    object_coverage_score,
    object_entropy_score,
    object_f1_score,
)
from subscape.measures.labels.counting import label_table
from subscape.measures.labels.information import entropies, expected_mutual_information

from .cells import distances as cells
from .cells import pairs as cell_pairs
from .labels import partitions

#: Properties of Table 4.1 that a test can check, in the thesis' order.
PROPERTIES = (
    "positive",
    "symmetric",
    "triangle inequality",
    "label permutation invariant",
    "penalty for non-intersecting area",
    "background independent",
    "scale invariant",
    "copy invariant",
    "multiple cluster coverage penalty",
    "handles ordinary clusterings",
)

#: The kinds of clusterings of the design's table of what can be compared.
KINDS = ("axis", "weighted", "oriented", "overlapping", "oriented overlapping", "soft", "mixed")


@dataclass(frozen=True)
class Measure:
    """What is known about a measure.

    Attributes
    ----------
    name : str
    function : callable of two clusterings
    on : {"cells", "rows"}
        Whether subspaces count.
    is_distance : bool
        Small is alike; otherwise large is alike.
    low, high : float
        Range of the values.
    kinds : frozenset of str
        What it can score beyond hard disjoint axis-aligned clusterings; see ``KINDS``.
    properties : frozenset of str
        The properties it has; see ``PROPERTIES``.
    sentence : str
        What it says, for the command line.
    expected : callable of two clusterings, optional
        Its mean under random labels, where that is known.
    caveats : dict
        Property it has -> where it ends.
    """

    name: str
    function: Callable[..., float]
    on: str
    is_distance: bool
    low: float
    high: float
    kinds: frozenset[str]
    properties: frozenset[str]
    sentence: str
    expected: Callable[[Any, Any], float] | None = None
    caveats: Mapping[str, str] = field(default_factory=dict)

    @property
    def lacks(self) -> tuple[str, ...]:
        """The properties it does not have."""
        return tuple(name for name in PROPERTIES if name not in self.properties)


def _expected_rand_distance(a: Any, b: Any) -> float:
    """Mean of 1 - Rand over all permutations of the rows of one side."""
    pairs = label_table(a, b, "singletons").pairs
    total = sum(pairs)
    joined_a, joined_b = pairs.n11 + pairs.n10, pairs.n11 + pairs.n01
    if total == 0:
        return 0.0
    return (joined_a + joined_b - 2 * joined_a * joined_b / total) / total


def _expected_mirkin(a: Any, b: Any) -> float:
    return _expected_rand_distance(a, b) * a.n_rows * (a.n_rows - 1)


def _expected_vi(a: Any, b: Any) -> float:
    table = label_table(a, b, "singletons")
    known = entropies(table)
    return known.a + known.b - 2 * expected_mutual_information(table)


EVERY_KIND = frozenset(KINDS)
#: Measures of rows score whatever has no row in two clusters.
ROW_DISJOINT = frozenset({"axis", "weighted", "oriented", "mixed"})
ALL_BUT = frozenset(PROPERTIES).difference

CELL_CAVEATS = {
    "triangle inequality": 'for oriented clusterings only with overlap="trace", not with "cos2"',
    "penalty for non-intersecting area": "while something is shared: two clusterings that share "
    "nothing are at distance 1 already",
}
ONE_CELL = {"positive": "a cluster of one cell equals the singleton that fills the gap without it"}
ONE_ROW = {"positive": "a cluster of one row equals noise"}

_ENTRIES = (
    Measure(
        "clustering_error", cells.clustering_error, "cells", True, 0, 1, EVERY_KIND,
        frozenset(PROPERTIES),
        "share of cells not covered alike after the best matching of clusters",
        caveats=CELL_CAVEATS,
    ),
    Measure(
        "rnia", cells.rnia, "cells", True, 0, 1, EVERY_KIND,
        ALL_BUT({"positive", "multiple cluster coverage penalty", "handles ordinary clusterings"}),
        "share of the covered cells that only one side covers",
        caveats=CELL_CAVEATS,
    ),
    Measure(
        "variation_of_information", cells.variation_of_information, "cells", True, 0, inf,
        frozenset({"axis", "weighted", "oriented"}),
        ALL_BUT({"triangle inequality", "penalty for non-intersecting area", "scale invariant"}),
        "information lost and gained between the two groupings of the cells, in nats",
        caveats=ONE_CELL,
    ),
    Measure(
        "rand_distance", cell_pairs.rand_distance, "cells", True, 0, 1, frozenset({"axis"}),
        ALL_BUT({
            "triangle inequality", "penalty for non-intersecting area", "scale invariant",
            "copy invariant",
        }),
        "share of pairs of cells that one side joins and the other separates",
        caveats=ONE_CELL,
    ),
    Measure(
        "vi_with_area", cells.vi_with_area, "cells", True, 0, inf,
        frozenset({"axis", "weighted", "oriented"}),
        ALL_BUT({"triangle inequality", "penalty for non-intersecting area"}),
        "information between the groupings of the shared cells, plus a penalty for the others",
    ),
    Measure(
        "four_class_rand_distance", cell_pairs.four_class_rand_distance, "cells", True, 0, 1,
        frozenset({"axis"}),
        ALL_BUT({
            "triangle inequality", "penalty for non-intersecting area", "scale invariant",
            "copy invariant",
        }),
        "share of pairs of cells in different classes (apart, together, half or all background)",
        caveats={"positive": "two clusterings of one cell each are at distance 0"},
    ),
    Measure(
        "e4sc_score", e4sc_score, "cells", False, 0, 1, EVERY_KIND,
        ALL_BUT({"positive", "triangle inequality", "penalty for non-intersecting area"}),
        "harmonic mean of how well found and true clusters explain each other",
    ),
    Measure(
        "object_f1_score", object_f1_score, "rows", False, 0, 1, EVERY_KIND,
        frozenset({
            "label permutation invariant", "background independent", "scale invariant",
            "copy invariant",
        }),
        "mean F1 of the rows that found clusters give to the true ones",
    ),
    Measure(
        "object_entropy_score", object_entropy_score, "rows", False, 0, 1, EVERY_KIND,
        frozenset({"label permutation invariant", "scale invariant"}),
        "1 - class entropy of the found clusters",
    ),
    Measure(
        "object_accuracy_score", object_accuracy_score, "rows", False, 0, 1, EVERY_KIND,
        frozenset({"label permutation invariant"}),
        "accuracy of a decision tree that sees only the found clusters",
    ),
    Measure(
        "object_coverage_score", object_coverage_score, "rows", False, 0, 1, EVERY_KIND,
        frozenset({
            "triangle inequality", "label permutation invariant", "scale invariant",
            "copy invariant",
        }),
        "share of the rows in some found cluster",
    ),
    Measure(
        "label_error", partitions.label_error, "rows", True, 0, 1, ROW_DISJOINT,
        ALL_BUT({
            "penalty for non-intersecting area", "background independent", "scale invariant",
        }),
        "share of the rows labelled differently after the best matching of clusters",
        caveats=ONE_ROW,
    ),
    Measure(
        "label_rand_distance", partitions.label_rand_distance, "rows", True, 0, 1, ROW_DISJOINT,
        ALL_BUT({"background independent", "scale invariant", "copy invariant"}),
        "share of pairs of rows that one labelling joins and the other separates",
        _expected_rand_distance,
        ONE_ROW,
    ),
    Measure(
        "mirkin_distance", partitions.mirkin_distance, "rows", True, 0, inf, ROW_DISJOINT,
        ALL_BUT({"scale invariant", "copy invariant"}),
        "number of ordered pairs of rows that the labellings treat differently",
        _expected_mirkin,
        ONE_ROW,
    ),
    Measure(
        "label_vi", partitions.label_vi, "rows", True, 0, inf, ROW_DISJOINT,
        ALL_BUT({"background independent", "scale invariant"}),
        "information lost and gained between two labellings, in nats",
        _expected_vi,
        ONE_ROW,
    ),
    Measure(
        "label_rand_score", partitions.label_rand_score, "rows", False, 0, 1, ROW_DISJOINT,
        ALL_BUT({"background independent", "scale invariant", "copy invariant"}),
        "share of pairs of rows that the labellings treat alike",
        lambda a, b: 1.0 - _expected_rand_distance(a, b),
        ONE_ROW,
    ),
    Measure(
        "label_jaccard_score", partitions.label_jaccard_score, "rows", False, 0, 1, ROW_DISJOINT,
        ALL_BUT({"scale invariant"}),
        "pairs of rows joined by both, among those joined by any",
        caveats=ONE_ROW,
    ),
    Measure(
        "fowlkes_mallows_score", partitions.fowlkes_mallows_score, "rows", False, 0, 1,
        ROW_DISJOINT, ALL_BUT({"triangle inequality", "scale invariant"}),
        "geometric mean of the two shares of joined pairs kept",
        caveats=ONE_ROW,
    ),
    *(
        Measure(
            name, getattr(partitions, name), "rows", False, low, 1, ROW_DISJOINT,
            ALL_BUT({
                "triangle inequality", "background independent", "scale invariant",
                "copy invariant", *lacking,
            }),
            sentence,
            caveats=ONE_ROW,
        )
        for name, low, sentence, lacking in (
            ("hubert_gamma_score", -1, "correlation of being joined, over pairs of rows", ()),
            ("adjusted_rand_score", -0.5, "Rand index corrected for chance", ()),
            ("normalized_mutual_info_score", 0, "mutual information over the mean entropy", ()),
            (
                "adjusted_mutual_info_score", -1, "mutual information corrected for chance",
                ("penalty for non-intersecting area",),
            ),
            ("v_measure_score", 0, "harmonic mean of homogeneity and completeness", ()),
        )
    ),
)  # fmt: skip

#: Name -> measure of ours.
MEASURES: dict[str, Measure] = {entry.name: entry for entry in _ENTRIES}


def everything() -> dict[str, Measure]:
    """All measures by name: ours, then those that installed packages add by entry points.

    Returns
    -------
    dict

    Examples
    --------
    >>> list(everything())[:2]
    ['clustering_error', 'rnia']
    """
    return {**MEASURES, **plugins("subscape.measures", Measure, MEASURES)}


def find(measure: str | Callable[..., float]) -> Measure:
    """The entry of a measure given by name or itself; other functions count as distances.

    >>> find("rnia").high
    1
    """
    if isinstance(measure, str):
        if measure in MEASURES:
            return MEASURES[measure]
        known = everything()
        if measure not in known:
            raise ValueError(f"unknown measure {measure!r}; known are {', '.join(sorted(known))}")
        return known[measure]
    for entry in everything().values():
        if entry.function is measure:
            return entry
    name = getattr(measure, "__name__", repr(measure))
    return Measure(name, measure, "cells", True, 0, inf, EVERY_KIND, frozenset(), "")


def distance(name: str) -> Callable[..., float]:
    """A distance by name."""
    entry = find(name)
    if not entry.is_distance:
        raise ValueError(f"{name} is a similarity; a distance is needed here")
    return entry.function
