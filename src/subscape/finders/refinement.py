"""What the refinement of clusters has changed, in words."""

from __future__ import annotations

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import count

__all__ = ["changes_by_refinement"]


def changes_by_refinement(before: SubspaceClustering, after: SubspaceClustering) -> str:
    """Clusters, rows and dimensions of subspaces before and after.

    >>> import numpy as np
    >>> one = SubspaceClustering.from_labels([0, 0, -1, 1], n_features=3)
    >>> other = SubspaceClustering.from_labels([0, 0, 0, -1], masks=[[True, True, False]])
    >>> print(changes_by_refinement(one, other))
    2 clusters became 1
    rows in no cluster: 1 before, 1 after
    2 rows joined or left the clusters
    dimensions of the subspaces: 3, 3 before, 2 after
    """
    inside = [np.asarray(each.memberships.sum(axis=0)).ravel() > 0 for each in (before, after)]
    outside = [int((~rows).sum()) for rows in inside]
    changed = int((inside[0] != inside[1]).sum())
    dims = [_dims(each) for each in (before, after)]
    return "\n".join(
        [
            f"{count(before.n_clusters, 'cluster')} became {after.n_clusters}",
            f"rows in no cluster: {outside[0]} before, {outside[1]} after",
            f"{count(changed, 'row')} joined or left the clusters",
            f"dimensions of the subspaces: {dims[0]} before, {dims[1]} after",
        ]
    )


def _dims(clustering: SubspaceClustering) -> str:
    return ", ".join(f"{dim:g}" for dim in np.asarray(clustering.subspaces.dims)) or "none"
