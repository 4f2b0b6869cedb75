"""Who is sure: how far the members of an ensemble agree with a consensus, row by row."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import count
from subscape.core.markup import records_card
from subscape.core.types import FloatArray, IntArray
from subscape.files.atomic import write_atomically
from subscape.files.labels import harmless
from subscape.measures.stacked_clusters import Stack, similarities, stack

from .members import Ensemble, check_same_table
from .voting import ballot

#: A member has a cluster if one of its own shares at least this much of their rows (Jaccard).
FOUND = 0.5


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far members agree with a consensus.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        The consensus.
    rows : array of shape (n_rows,)
        Share of the members voting on the row that have it in a cluster of theirs that stands for
        the row's consensus cluster; for noise, the share of all members that leave it out.
    second : array of shape (n_rows,)
        Number of the consensus cluster with the next most votes, -1 if it has none.
    second_share : array of shape (n_rows,)
        Its share of the votes.
    clusters : array of shape (n_clusters,)
        Mean agreement of the cluster's rows.
    found : array of shape (n_clusters,)
        Share of the members that have a cluster with half of the rows in common (Jaccard ≥ 0.5).
    similarity : array of shape (n_clusters,)
        Mean Tanimoto similarity to the most similar cluster of every member, in rows and features
        together; in rows only where subspaces are oriented.
    votes : array of shape (n_clusters, n_rows)
        Share of the voting members for every cluster.
    n_members : int
    row_names : tuple of str or None

    See Also
    --------
    agreement : Makes it.
    subscape.plots.AgreementDisplay : As a picture.
    """

    labels: IntArray
    rows: FloatArray
    second: IntArray
    second_share: FloatArray
    clusters: FloatArray
    found: FloatArray
    similarity: FloatArray
    votes: FloatArray
    n_members: int
    row_names: tuple[str, ...] | None = None

    @property
    def mean(self) -> float:
        """Mean agreement of the rows."""
        return float(self.rows.mean())

    def row_records(self) -> list[dict[str, Any]]:
        """One dictionary per row, ready for ``pandas.DataFrame``; the least sure come last.

        Returns
        -------
        list of dict
            Of row, cluster (from 0), agreement, second and second_share.
        """
        names: Any = self.row_names or range(len(self.labels))
        return [
            {
                "row": names[i],
                "cluster": int(self.labels[i]),
                "agreement": float(self.rows[i]),
                "second": int(self.second[i]),
                "second_share": float(self.second_share[i]),
            }
            for i in np.argsort(-self.rows, kind="stable")
        ]

    def cluster_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster, ready for ``pandas.DataFrame``.

        Returns
        -------
        list of dict
            Of cluster (from 0), rows, agreement, found and similarity.
        """
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.clusters))
        return [
            {
                "cluster": k,
                "rows": int(sizes[k]),
                "agreement": float(self.clusters[k]),
                "found": float(self.found[k]),
                "similarity": float(self.similarity[k]),
            }
            for k in range(len(self.clusters))
        ]

    def save(
        self, path: str | os.PathLike[str], table: str = "rows", *, force: bool = False
    ) -> Path:
        """Write a table as CSV.

        Parameters
        ----------
        path : path
        table : {"rows", "clusters"}, default="rows"
        force : bool, default=False
            Replace an existing file.

        Returns
        -------
        Path
            Where it was written.
        """
        if table not in ("rows", "clusters"):
            raise ValueError(f'table must be "rows" or "clusters", got {table!r}')
        records = self.row_records() if table == "rows" else self.cluster_records()
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(records[0] if records else ("cluster",))
        for record in records:
            writer.writerow([_cell(value) for value in record.values()])
        text = buffer.getvalue().encode()

        def write(stream: BinaryIO) -> None:
            stream.write(text)

        return write_atomically(path, write, force=force)

    def _head(self) -> str:
        who = count(self.n_members, "member agrees", "members agree")
        return f"{who} on {self.mean:.0%} of {'its' if self.n_members == 1 else 'their'} votes"

    def _repr_html_(self) -> str:
        return records_card("Agreement", self._head(), self.cluster_records(), noun="cluster")

    def __repr__(self) -> str:
        lines = [self._head()]
        lines += [
            f"cluster {k}: {r['rows']} rows, agreement {r['agreement']:.2f}, found by "
            f"{r['found']:.0%} of the members"
            for k, r in enumerate(self.cluster_records(), 1)
        ]
        return "\n".join(lines)


def agreement(consensus: Any, ensemble: Any) -> Agreement:
    """Say how far the members of an ensemble agree with a consensus, by row and by cluster.

    Every cluster of a member stands for the consensus cluster with which it shares most rows
    (Jaccard), so pieces of a split cluster agree with it.

    Parameters
    ----------
    consensus : SubspaceClustering, fitted consensus method or label vector
    ensemble : Ensemble or sequence of clusterings
        Members abstain on rows that are their noise.

    Returns
    -------
    Agreement

    See Also
    --------
    generate : Makes an ensemble.
    subscape.plots.AgreementDisplay : The agreement as a picture.
    subscape.measures.ensemble_ratio : One number for all of it.

    Examples
    --------
    >>> from subscape.ensemble import agreement
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, -1]]
    >>> found = agreement([0, 0, 0, 1, 1, 1], members)
    >>> found.rows.round(2)
    array([1.  , 1.  , 0.67, 1.  , 1.  , 1.  ])
    >>> found
    3 members agree on 94% of their votes
    cluster 1: 3 rows, agreement 0.89, found by 100% of the members
    cluster 2: 3 rows, agreement 1.00, found by 100% of the members
    """
    members = Ensemble.of(ensemble)
    ours = as_clustering(getattr(consensus, "clustering_", consensus), like=members[0])
    check_same_table(members[0], ours, "the consensus")
    side = "objects" if members.is_oriented or ours.kind == "oriented" else "both"
    theirs = stack(list(members), features=side == "both")
    labels = ours.labels()
    alike = np.zeros((0, int(theirs.starts[-1])))
    if ours.n_clusters:
        # A soft consensus decides by its largest memberships.
        decided = ours if ours.is_hard else _decided(ours, labels)
        alike = similarities(stack([decided], features=False), theirs, "objects")
    votes, absence = _votes(theirs, alike)
    agreed, second, share = _first_and_second(votes, labels, absence)
    best = projective = np.maximum.reduceat(alike, theirs.starts[:-1], axis=1)
    if side == "both" and ours.n_clusters:
        whole = similarities(stack([ours]), theirs)
        projective = np.maximum.reduceat(whole, theirs.starts[:-1], axis=1)
    return Agreement(
        labels=labels,
        rows=agreed,
        second=second,
        second_share=share,
        clusters=np.array([_mean(agreed[labels == j]) for j in range(ours.n_clusters)]),
        found=(best >= FOUND).mean(axis=1),
        similarity=projective.mean(axis=1),
        votes=votes,
        n_members=len(members),
        row_names=members.names["row_names"] or ours.row_names,
    )


def _decided(ours: SubspaceClustering, labels: IntArray) -> SubspaceClustering:
    """Every row in the cluster of its largest membership; a cluster that is no row's keeps its."""
    memberships = ours.memberships.toarray() > 0
    firsts = labels == np.arange(ours.n_clusters)[:, None]
    taken = firsts.any(axis=1)
    memberships[taken] = firsts[taken]
    return SubspaceClustering(memberships, ours.subspaces)


def _votes(theirs: Stack, alike: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of the voting members for every cluster and row, and of those that leave it out."""
    cast = ballot(theirs, "abstain")
    n, m = cast.memberships.shape[1], theirs.n_clusterings
    votes = np.zeros((len(alike), n))
    if len(alike):
        stands_for = np.where(alike.max(axis=0) > 0, alike.argmax(axis=0), -1)
        for j in range(len(alike)):
            votes[j] = cast.memberships[stands_for == j].sum(axis=0, dtype=np.float64)
    voters = np.full(n, m) if cast.voters is None else cast.voters
    return np.minimum(votes / np.maximum(voters, 1), 1.0), 1.0 - voters / m


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _first_and_second(
    votes: FloatArray, labels: IntArray, absence: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Votes for the own cluster, the next one, and its votes."""
    own, at = labels >= 0, np.arange(len(labels))
    agreed = absence.copy()
    agreed[own] = votes[labels[own], at[own]]
    others = votes.copy()
    others[labels[own], at[own]] = -1.0
    if not len(others):
        return agreed, np.full(len(labels), -1), np.zeros(len(labels))
    second = others.argmax(axis=0)
    share = np.maximum(others[second, at], 0.0)
    return agreed, np.where(share > 0, second, -1), share


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else harmless(str(value))
