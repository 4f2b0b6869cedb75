"""What each finder can do: for the command line, the portfolio of the main job, and the tests."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

import subscape.algorithms as algorithms


@dataclass(frozen=True)
class Finder:
    """What is known about a finder.

    Attributes
    ----------
    name : str
    kind : {"axis", "weighted", "oriented", "cocluster"}
        The subspaces it finds.
    sentence : str
        What it looks for.
    needs_k : bool
        Whether the number of clusters must be given.
    overlapping : bool
        Whether its clusters may share rows (by default or by a parameter).
    partitions : bool
        Whether every row ends up in a cluster.
    missing, nominal, sparse : bool
        What input it takes beyond dense numbers.
    predict : bool
        Whether it puts new rows into its clusters.
    random : bool
        Whether its result depends on ``random_state``.
    cost : str
        How its time grows: rows n, features p, clusters k, dims of a cluster d.
    doi : str
    exclusions : dict
        Checks of scikit-learn that its model does not fit, with the reason.
    """

    name: str
    kind: str
    sentence: str
    needs_k: bool
    cost: str
    doi: str
    overlapping: bool = False
    partitions: bool = False
    missing: bool = False
    nominal: bool = False
    sparse: bool = False
    predict: bool = False
    random: bool = True
    exclusions: dict[str, str] = field(default_factory=dict)

    def make(self, **parameters: Any) -> Any:
        """A new estimator with these parameters."""
        return getattr(algorithms, self.name)(**parameters)


_ENTRIES = (
    Finder(
        "PROCLUS", "axis", "k medoids, each with the features in which its rows are close",
        needs_k=True, predict=True, doi="10.1145/304182.304188",
        cost="n (k d + p); searches on a sample of fixed size",
    ),
    Finder(
        "LAC", "weighted", "k centres, each with its own feature weights",
        needs_k=True, partitions=True, predict=True, doi="10.1007/s10618-006-0060-8",
        cost="n p k per round",
    ),
    Finder(
        "KFlats", "oriented", "k lines, planes or flats, each row with the closest one",
        needs_k=True, partitions=True, predict=True, doi="10.1023/A:1008324625522",
        cost="n p k q per round, flats of dimension q",
        exclusions={"check_clustering": "its blobs are round, and lines through two of them fit"},
    ),
    Finder(
        "ORCLUS", "oriented", "k clusters, each tight in its own rotated directions",
        needs_k=True, partitions=True, doi="10.1145/342009.335383",
        cost="15 k n p^2 + (15 k)^2 p^3",
        exclusions={"check_clustering": "its blobs have two features and are tight in both"},
    ),
    Finder(
        "SubKMeans", "oriented", "k-means clusters and the subspace in which they differ",
        needs_k=True, partitions=True, predict=True, doi="10.1145/3097983.3097989",
        cost="n p k per round",
    ),
    Finder(
        "ITCC", "cocluster", "row and column groups that keep their mutual information",
        needs_k=True, cost="nnz + (n + p) k l per round", doi="10.1145/956750.956764",
        overlapping=True, partitions=True, sparse=True,
        exclusions={"check_clustering": "uses negative values, which a distribution can't have"},
    ),
)  # fmt: skip

#: Name -> finder.
FINDERS: dict[str, Finder] = {entry.name: entry for entry in _ENTRIES}


def find(name: str) -> Finder:
    """The entry of a finder, whatever the case of the letters.

    >>> find("itcc").kind
    'cocluster'
    """
    by_letters = {key.lower(): entry for key, entry in FINDERS.items()}
    entry = by_letters.get(name.lower())
    if entry is None:
        close = difflib.get_close_matches(name.lower(), by_letters, n=1)
        hint = f" Did you mean {by_letters[close[0]].name}?" if close else ""
        raise ValueError(f"unknown finder {name!r}.{hint} Known are: {', '.join(sorted(FINDERS))}")
    return entry
