"""Cluster cores: combinations of intervals that hold more rows than chance, and can't be extended.

A signature is a set of intervals of different features. It is *solid* if each of its intervals
holds clearly more of the rows of the others than an even spread would put there; every part of a
core is solid, and nothing can be added to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from subscape.arrays.bitsets import count, intersection_counts
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.base import Watch

from .intervals import Intervals

__all__ = ["Evidence", "Signature", "exact_cores", "greedy_cores"]


class Signature(NamedTuple):
    """A set of intervals and the rows inside all of them."""

    intervals: tuple[int, ...]
    """Which ones, ascending."""
    rows: BitArray
    """The packed set of rows."""


class Evidence(NamedTuple):
    """What makes it credible that an interval belongs to others."""

    threshold: float
    """Largest probability of as many rows by chance (Poisson tail)."""
    effect: float
    """Least share of the rows, beyond chance, that the interval keeps."""

    def holds(self, kept: IntArray, rows: IntArray | int, width: FloatArray) -> BoolArray:
        """Whether intervals of these widths keep clearly more of the rows than expected."""
        expected = np.asarray(rows * width, dtype=np.float64)
        enough = (kept > 0) & (kept - expected >= self.effect * (rows - expected))
        tail = gammainc(np.maximum(kept, 1), expected)
        return enough & (tail < self.threshold)


def _surprise(kept: IntArray, expected: FloatArray) -> FloatArray:
    """Exponent of the Poisson tail: orders candidates where the tail itself is 0 in floats."""
    kept = np.maximum(kept, 1e-9)
    return kept * np.log(kept / np.maximum(expected, 1e-9)) - (kept - expected)


def greedy_cores(
    found: Intervals, evidence: Evidence, max_candidates: int, watch: Watch
) -> list[Signature]:
    """Grow cores from pairs of intervals until every solid pair is part of one.

    A core starts with the most surprising pair that is in no core yet and takes in the most
    surprising interval while the whole stays solid. Every core found is maximal; of cores that
    share all their pairs with others, some may be missed.

    Parameters
    ----------
    found : Intervals
    evidence : Evidence
    max_candidates : int
        Cores after which the search stops.
    watch : Watch

    Returns
    -------
    list of Signature
    """
    cores: list[Signature] = []
    homes: list[set[int]] = [set() for _ in found.features]
    for first, second in _solid_pairs(found, evidence, watch):
        if homes[first] & homes[second]:
            continue
        core = _grown(found, evidence, first, second)
        for interval in core.intervals:
            homes[interval].add(len(cores))
        cores.append(core)
        watch.step("cores", len(cores))
        if len(cores) >= max_candidates:
            watch.cut(
                f"stopped after max_candidates={max_candidates} cores; lower poisson_threshold, "
                "raise min_effect, or raise max_candidates"
            )
            break
        if watch.out_of_time():
            break
    return cores


def _solid_pairs(found: Intervals, evidence: Evidence, watch: Watch) -> Iterable[tuple[int, int]]:
    """Solid pairs of intervals, the most surprising first, ties by position."""
    pairs, strength = [], []
    width, support = found.width, found.support
    for i in range(len(found.features)):
        later = np.arange(i + 1, len(found.features))
        later = later[found.features[later] != found.features[i]]
        kept = intersection_counts(found.rows[later], found.rows[i])
        solid = evidence.holds(kept, support[i], width[later])
        solid &= evidence.holds(kept, support[later], np.full(len(later), width[i]))
        later, kept = later[solid], kept[solid]
        pairs.append(np.column_stack([np.full(len(later), i), later]))
        strength.append(
            np.minimum(
                _surprise(kept, support[i] * width[later]),
                _surprise(kept, support[later] * width[i]),
            )
        )
        if watch.out_of_time():
            break
    if not pairs:
        return []
    every, strengths = np.concatenate(pairs), np.concatenate(strength)
    return [(int(a), int(b)) for a, b in every[np.argsort(-strengths, kind="stable")]]


def _grown(found: Intervals, evidence: Evidence, first: int, second: int) -> Signature:
    """Extend a solid pair as far as it goes."""
    members = [first, second]
    rows = found.rows[first] & found.rows[second]
    # Line k holds the rows of the signature without its k-th interval.
    without = found.rows[[second, first]]
    closed = np.isin(found.features, found.features[members])
    width = found.width
    while True:
        size = int(count(rows))
        kept = intersection_counts(found.rows, rows)
        able = np.flatnonzero(~closed & evidence.holds(kept, size, width))
        order = np.argsort(-_surprise(kept[able], size * width[able]), kind="stable")
        for candidate in able[order]:
            alone = intersection_counts(without, found.rows[candidate])
            if evidence.holds(np.full(len(alone), kept[candidate]), alone, width[members]).all():
                break
            # What isn't solid with a part of a signature never is with more of it.
            closed[candidate] = True
        else:
            return Signature(tuple(sorted(members)), rows)
        without = np.vstack([without & found.rows[candidate], rows])
        rows = rows & found.rows[candidate]
        members.append(int(candidate))
        closed |= found.features == found.features[candidate]


def exact_cores(
    found: Intervals, evidence: Evidence, max_candidates: int, watch: Watch
) -> list[Signature]:
    """Find all cores, level by level: every solid signature is looked at.

    A cluster with d features has 2^d of them, so this is for few features.

    Parameters
    ----------
    found : Intervals
    evidence : Evidence
    max_candidates : int
        Solid signatures after which the search stops; the largest so far count as cores.
    watch : Watch

    Returns
    -------
    list of Signature
        Ordered by number of intervals, then by the intervals.
    """
    width = found.width
    level: dict[tuple[int, ...], BitArray] = {
        (i,): found.rows[i] for i in range(len(found.features))
    }
    cores: list[Signature] = []
    seen = 0
    while level:
        following: dict[tuple[int, ...], BitArray] = {}
        for left, right in _joins(level):
            signature = (*left, right[-1])
            parts = list(combinations(signature, len(signature) - 1))
            if found.features[left[-1]] == found.features[right[-1]]:
                continue
            if any(part not in level for part in parts):
                continue
            rows = level[left] & level[right]
            kept = np.full(len(parts), int(count(rows)))
            alone = np.array([int(count(level[part])) for part in parts])
            # combinations() leaves out the last interval first.
            if evidence.holds(kept, alone, width[list(signature[::-1])]).all():
                following[signature] = rows
                seen += 1
            if seen >= max_candidates or watch.out_of_time():
                break
        inner = {part for whole in following for part in combinations(whole, len(whole) - 1)}
        # Single intervals are no cores: whether they are kept is decided by who asks.
        cores += [
            Signature(signature, rows)
            for signature, rows in level.items()
            if signature not in inner and len(signature) > 1
        ]
        watch.step("signatures", seen)
        if seen >= max_candidates:
            watch.cut(
                f"stopped after max_candidates={max_candidates} signatures; use "
                "search='greedy', fewer columns, or raise max_candidates"
            )
        if seen >= max_candidates or watch.out_of_time():
            cores += [Signature(signature, rows) for signature, rows in following.items()]
            break
        level = following
    return cores


def _joins(
    level: dict[tuple[int, ...], BitArray],
) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of signatures that differ in the last interval only."""
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for signature in level:
        groups.setdefault(signature[:-1], []).append(signature)
    for group in groups.values():
        yield from combinations(sorted(group), 2)
