"""What each finder can do: for the command line, the portfolio of the main job, and the tests."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

import subscape.finders as finders


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
        return getattr(finders, self.name)(**parameters)


_ROUND = {"check_clustering": "its blobs are round and tight in both of their two features"}

_ENTRIES = (
    Finder(
        "CLIQUE", "axis", "connected dense cells of a grid, in whichever features they are dense",
        needs_k=False, overlapping=True, random=False, doi="10.1145/276304.276314",
        cost="n per candidate; candidates may explode with d",
    ),
    Finder(
        "DOC", "axis", "dense boxes, one after another, by random sampling",
        needs_k=False, overlapping=True, missing=True, predict=True, doi="10.1145/564691.564739",
        cost="n p per box; searches on a sample of fixed size",
    ),
    Finder(
        "DiSH", "axis", "subspace clusters inside subspace clusters",
        needs_k=False, overlapping=True, random=False, doi="10.1007/978-3-540-71703-4_15",
        cost="n^2 p / word size",
    ),
    Finder(
        "FastDOC", "axis", "dense boxes, as DOC, but only the most promising ones are looked at",
        needs_k=False, overlapping=True, missing=True, predict=True, doi="10.1145/564691.564739",
        cost="n p per box; searches on a sample of fixed size",
    ),
    Finder(
        "HARP", "axis", "a dendrogram of clusters that each have their own features",
        needs_k=False, predict=True, doi="10.1109/TKDE.2004.74",
        cost="n^2 p on a sample of fixed size, then n p k",
    ),
    Finder(
        "MAFIA", "axis", "boxes around dense cells of a grid that follows the data",
        needs_k=False, overlapping=True, random=False, doi="10.1137/1.9781611972719.7",
        cost="n p k; searches on a sample of fixed size",
    ),
    Finder(
        "MineClus", "axis", "dense boxes, one after another, by exact search",
        needs_k=False, overlapping=True, missing=True, predict=True,
        doi="10.1109/ICDM.2003.1251009", cost="n p per box; searches on a sample of fixed size",
    ),
    Finder(
        "P3C", "axis", "intervals that hold more rows than chance, combined into clusters",
        needs_k=False, overlapping=True, random=False, doi="10.1109/ICDM.2006.123",
        cost="n p + candidates n",
        exclusions={"check_clustering": "its 50 rows in two features show no significant interval"},
    ),
    Finder(
        "PROCLUS", "axis", "k medoids, each with the features in which its rows are close",
        needs_k=True, predict=True, doi="10.1145/304182.304188",
        cost="n (k d + p); searches on a sample of fixed size",
    ),
    Finder(
        "PreDeCon", "axis", "density clusters in which every row has its own preferred features",
        needs_k=False, random=False, doi="10.1109/ICDM.2004.10087",
        cost="n p k; searches on a sample of fixed size",
    ),
    Finder(
        "SSPC", "axis", "k clusters that are narrow in their own features, with or without help",
        needs_k=True, predict=True, doi="10.1109/ICDE.2005.96", cost="n p k per round",
    ),
    Finder(
        "SUBCLU", "axis", "density clusters in every subspace that has any",
        needs_k=False, overlapping=True, random=False, doi="10.1137/1.9781611972740.23",
        cost="n log n per subspace; subspaces may explode with d",
    ),
    Finder(
        "LAC", "weighted", "k centres, each with its own feature weights",
        needs_k=True, partitions=True, predict=True, doi="10.1007/s10618-006-0060-8",
        cost="n p k per round",
    ),
    Finder(
        "CASH", "oriented", "flats that many rows agree on, by the Hough transform",
        needs_k=False, random=False, doi="10.1137/1.9781611972788.69",
        cost="n per cell of parameter space",
    ),
    Finder(
        "COPAC", "oriented", "density clusters of rows with the same local flat",
        needs_k=False, random=False, doi="10.1137/1.9781611972771.37", cost="n^2 p + n p^3",
    ),
    Finder(
        "ERiC", "oriented", "flats that lie in flats, as lines in planes",
        needs_k=False, random=False, doi="10.1109/SSDBM.2007.21", cost="n^2 p + n p^3",
    ),
    Finder(
        "FourC", "oriented", "density clusters of rows that agree on a local flat",
        needs_k=False, random=False, doi="10.1145/1007568.1007620", cost="n^2 p + n p^3",
    ),
    Finder(
        "KFlats", "oriented", "k lines, planes or flats, each row with the closest one",
        needs_k=True, partitions=True, predict=True, doi="10.1023/A:1008324625522",
        cost="n p k q per round, flats of dimension q",
        exclusions={"check_clustering": "its blobs are round, and lines through two of them fit"},
    ),
    Finder(
        "LMCLUS", "oriented", "linear manifolds, found by random samples and histograms",
        needs_k=False, doi="10.1016/j.patcog.2007.01.020", cost="samples n p",
    ),
    Finder(
        "ORCLUS", "oriented", "k clusters, each tight in its own rotated directions",
        needs_k=True, partitions=True, doi="10.1145/342009.335383",
        cost="15 k n p^2 + (15 k)^2 p^3", exclusions=_ROUND,
    ),
    Finder(
        "SubKMeans", "oriented", "k-means clusters and the subspace in which they differ",
        needs_k=True, partitions=True, predict=True, doi="10.1145/3097983.3097989",
        cost="n p k per round",
    ),
    Finder(
        "ChengChurch", "cocluster", "biclusters whose rows and columns add up, one after another",
        needs_k=False, overlapping=True, missing=True, doi="10.1109/TCBB.2004.2",
        cost="n p per step",
        exclusions={"check_clustering": "two columns show no pattern across columns"},
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
