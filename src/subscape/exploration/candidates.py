"""Every grouping of the rows that some run found, scored in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import FloatArray, IntArray
from subscape.measures.cells.distances import clustering_error
from subscape.runs.store import Run

from .clouds import climb
from .information import canonical
from .scorers import GroupingScorers, members
from .separation import GroupingScorer

#: Groupings that leave more of the rows out are no grouping of the table.
LEAST_COVERAGE = 0.3
#: Groupings in which one cluster holds more of the rows tell nothing.
LARGEST_SHARE = 0.97
#: Scores of one grouping may differ by so much, from the order of sums.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Candidate:
    """One clustering of one run.

    Attributes
    ----------
    run : Run
    place : int
        Which of the run's clusterings.
    clustering : SubspaceClustering
        Over all searched rows and columns.
    labels : array
    score, gain : float
        See :class:`subscape.exploration.separation.Separation`.
    basis : array
        The directions that tell its clusters apart.
    """

    run: Run
    place: int
    clustering: SubspaceClustering
    labels: IntArray
    score: float
    gain: float
    basis: FloatArray

    @property
    def name(self) -> str:
        """Run and place: the candidate's stable name."""
        return f"{self.run.id}#{self.place}"

    @property
    def finder(self) -> str:
        """Name of the finder's class."""
        return str(self.run.provenance["finder"]).rpartition(".")[2]

    @property
    def title(self) -> str:
        """Finder and parameters, as the plan has them."""
        return str(self.run.note.get("title", self.finder))


class Grouped(NamedTuple):
    """A clustering that groups the rows, and where it comes from."""

    run: Run
    place: int
    clustering: SubspaceClustering
    labels: IntArray


def groupings(runs: Sequence[Run]) -> list[Grouped]:
    """The clusterings of the runs that group the rows at all, in order, without repeats."""
    found = []
    seen: set[bytes] = set()
    for run in runs:
        for place, clustering in enumerate(run.in_table()):
            if clustering.n_clusters == 0:
                continue
            labels = clustering.labels()
            if not groups_rows(labels):
                continue
            inside = members(clustering)
            key = canonical(labels).tobytes() + clustering.kind.encode()
            if inside is not None:
                key += np.packbits(inside).tobytes()
            if key not in seen:
                seen.add(key)
                found.append(Grouped(run, place, clustering, labels))
    return found


def fitting_scorer(found: Sequence[Grouped], scorers: GroupingScorers) -> GroupingScorer:
    """The scorer for a table in which this was found."""
    return scorers.fitting((each.labels, each.clustering) for each in found)


def scored(found: Sequence[Grouped], scorer: GroupingScorer) -> list[Candidate]:
    """What was found, as far as it describes the table better than no grouping."""
    candidates = []
    for run, place, clustering, labels in found:
        verdict = scorer(labels, members(clustering))
        if verdict.gain > 0:
            candidates.append(
                Candidate(
                    run, place, clustering, labels, verdict.score, verdict.gain, verdict.basis
                )
            )
    return candidates


def best_first(candidates: Sequence[Candidate]) -> list[int]:
    """Places of the candidates, the highest score first; of equal ones that found first.

    Several runs often end in the same rows. Which of them is called first decides whether a view
    counts as new, and must not hang on the last bits of their scores.
    """
    return sorted(range(len(candidates)), key=lambda i: (-round(candidates[i].score / ROUNDING), i))


def climbed(candidates: Sequence[Candidate], scorer: GroupingScorer, most: int) -> list[Candidate]:
    """Candidates whose rows are put where they are described best; the ``most`` clearest of them.

    Tables without groups are searched in the same way.
    """
    order = best_first(candidates)[:most]
    better = list(candidates)
    for i in order:
        old = candidates[i]
        found, labels = climb(scorer.Z, old.labels, scorer)
        if found.score > old.score and groups_rows(labels):
            clustering = SubspaceClustering.from_labels(
                canonical(labels), n_features=old.clustering.n_features
            )
            better[i] = replace(
                old, clustering=clustering, labels=clustering.labels(), score=found.score,
                gain=found.gain, basis=found.basis,
            )  # fmt: skip
    return better


def groups_rows(labels: NDArray[Any]) -> bool:
    """Whether enough rows are in clusters, and not nearly all of them in one."""
    sizes = np.bincount(labels[labels >= 0])
    return bool(
        len(sizes)
        and sizes.sum() >= LEAST_COVERAGE * len(labels)
        and sizes.max() <= LARGEST_SHARE * len(labels)
    )


#: What was compared, and how far it lies apart: clusterings by their numbers, which no others get
#: as long as these are held.
Compared = dict[tuple[int, int], tuple[SubspaceClustering, SubspaceClustering, float]]


def row_distances(candidates: Sequence[Candidate], known: Compared | None = None) -> FloatArray:
    """Clustering error between the candidates as groupings of rows.

    Parameters
    ----------
    candidates : sequence of Candidate
    known : dict, optional
        What was compared before, which is brought up to date: most of the candidates are compared
        again and again in the course of a search.
    """
    known = {} if known is None else known
    distances = np.zeros((len(candidates), len(candidates)))
    codes = [one.clustering.members.codes() for one in candidates]
    alone = [one.clustering.is_hard and one.clustering.is_row_disjoint for one in candidates]
    for i, j in combinations(range(len(candidates)), 2):
        one, other = candidates[i].clustering, candidates[j].clustering
        key = id(one), id(other)
        if key not in known:
            apart = (
                _error_of_codes(codes[i], codes[j])
                if alone[i] and alone[j]
                else float(clustering_error(_rows_only(one), _rows_only(other)))
            )
            known[key] = one, other, apart
        distances[i, j] = distances[j, i] = known[key][2]
    return distances


def _error_of_codes(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The same by labels, of which -1 is noise."""
    width = int(second.max(initial=-1)) + 2
    height = int(first.max(initial=-1)) + 2
    shared = np.bincount((first + 1) * width + second + 1, minlength=height * width)
    shared = shared.reshape(height, width)
    union = float(len(first) - shared[0, 0])
    table = shared[1:, 1:]
    rows, columns = linear_sum_assignment(table, maximize=True)
    return (union - float(table[rows, columns].sum())) / union if union else 0.0


def _rows_only(clustering: SubspaceClustering) -> SubspaceClustering:
    every = AxisSubspaces(np.ones((clustering.n_clusters, 1), dtype=bool))
    return SubspaceClustering(clustering.memberships, every)
