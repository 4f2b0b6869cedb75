"""Evidence accumulation: link rows that many members join."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.utils._param_validation import StrOptions

from subscape.arrays.tanimoto import products
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray

from .base import COMMON
from .classic import MOST_ROWS, CutTask, RowMethod, by_row
from .members import Ensemble
from .metaclusters import cut
from .voting import Ballot

#: Rows that are joined at this height at most are in the same clusters of all members.
NEVER_APART = 1e-9


class EvidenceAccumulation(RowMethod):
    """Evidence accumulation: a dendrogram of the rows by how often members join them.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the number that lives longest, that is over the widest range of
        heights at which the dendrogram may be cut.
    linkage : {"average", "single", "complete"}, default="average"
        The paper has single and average linkage.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)

    See Also
    --------
    CSPA : Cuts the same graph instead of building a dendrogram.
    subscape.plots.CoassociationDisplay : The votes as a picture.
    generate : Makes an ensemble.

    Notes
    -----
    All pairs of rows are compared: 20,000 rows, which need 5 GB, are the most.

    Differences from the paper
    --------------------------
    - Complete ``linkage`` is ours; the paper has single and average.
    - The paper knows no noise: ``noise`` is ours. Joint votes of two rows are divided by the number
      of members that have both in clusters.

    References
    ----------
    A. L. N. Fred, A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 27, 2005, 835-850,
    doi:10.1109/TPAMI.2005.113.

    Examples
    --------
    >>> from subscape.ensemble import EvidenceAccumulation
    >>> members = [[0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]
    >>> EvidenceAccumulation().fit(members).labels_
    array([0, 0, 0, 1, 1])
    """

    _makes_clusters = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": COMMON["n_clusters"],
        "linkage": [StrOptions({"average", "single", "complete"})],
        "noise": COMMON["noise"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: str = "average",
        noise: str = "majority",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.noise = noise

    def _k(self, ensemble: Ensemble) -> int:
        return 0 if self.n_clusters is None else super()._k(ensemble)

    def _parts(self, task: CutTask) -> IndexArray:
        rows = task.rows
        if len(rows) > MOST_ROWS:
            raise SubscapeError(
                f"evidence accumulation compares all pairs of rows, and {len(rows):,} are too many;"
                " use HBGF or consensus_rows"
            )
        if len(rows) == 1:
            return np.zeros(1, np.intp)
        apart = squareform(1.0 - coassociation(task.cast, rows), checks=False)
        merges = linkage(apart, self.linkage)
        # Rows that all members join stay together, however many clusters are asked for.
        distinct = 1 + int((merges[:, 2] > NEVER_APART).sum())
        return cut(merges, min(distinct, task.k or longest_lived(merges[:, 2])))


def coassociation(cast: Ballot, rows: IndexArray) -> FloatArray:
    """Share of the members that join two rows, of those that have both in clusters."""
    joined = products(by_row(cast, rows))
    if cast.present is None:
        # Soft members join a row with itself by less than 1; every member has every row.
        both: Any = cast.memberships.sum(dtype=np.float64) / cast.memberships.shape[1]
    else:
        both = np.maximum(products(cast.present[:, rows].T), 1.0)
    joined /= both
    np.fill_diagonal(joined, 1.0)
    return np.clip(joined, 0.0, 1.0, out=joined)


def longest_lived(heights: FloatArray) -> int:
    """Number of clusters with the widest range of heights to cut at; ties to the fewest.

    >>> longest_lived(np.array([0.1, 0.2, 0.9]))
    2
    """
    tops = np.append(heights, 1.0)
    # Entry i is the range of i + 1 clusters: from the merge below to the merge above.
    ranges = (tops[1:] - tops[:-1])[::-1]
    return int(ranges.argmax()) + 1
