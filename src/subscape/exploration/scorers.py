"""By which of two descriptions the groupings of a table are scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BoolArray

from .boxes import BoxScorer
from .separation import SLICED, GroupingScorer

#: Nats per row by which boxes must lead where clusters were not found in features of their own:
#: pieces of bent groups are narrow along columns, too (moons lead by .15, planted boxes by .7).
LEAD = 0.5


class GroupingScorers:
    """The scorers of a table, and which of them is the right one.

    Some tables are described better by clusters that are each narrow in a few features of their
    own (boxes), others by clusters that are told apart in a few directions, whatever they are in
    all others. Both are measured against the values and correlations of the columns, and the
    description by which some grouping gains most is the one by which all are scored: boxes
    by more where no finder of boxes found them. Boxes are not looked for in wide tables.

    Parameters
    ----------
    directions : GroupingScorer
        Of the table.
    """

    def __init__(self, directions: GroupingScorer) -> None:
        self.directions = directions
        self.boxes: BoxScorer | None = None
        #: Directions on the scale of boxes: columns as normal scores.
        self._scores: GroupingScorer | None = None
        if directions.has_columns and directions.Z.shape[1] > 1:
            self.boxes = BoxScorer(directions)
            self._scores = GroupingScorer(self.boxes.code.scores)

    def fitting(self, found: Iterable[tuple[NDArray[Any], SubspaceClustering]]) -> GroupingScorer:
        """The scorer for a table in which these groupings (labels, clusters) were found."""
        if self.boxes is None or self._scores is None:
            return self.directions
        found = list(found)
        by_boxes = [
            self.boxes.boxes(labels, members(clustering)).gain
            - (0.0 if _has_own_features(clustering) else LEAD)
            for labels, clustering in found
        ]
        most = max(by_boxes, default=0.0)
        if most <= 0:
            return self.directions
        # The clearest first: one that gains more is enough.
        order = sorted(found, key=lambda each: -self.directions(each[0]).gain)
        # Both without any comparison with slices.
        if any(self._scores(labels).over_normal - SLICED >= most for labels, _ in order):
            return self.directions
        return self.boxes


def _has_own_features(clustering: SubspaceClustering) -> bool:
    """Whether some cluster lies in some of the features only."""
    subspaces = clustering.subspaces
    return isinstance(subspaces, AxisSubspaces) and not bool(subspaces.masks.all())


def members(clustering: SubspaceClustering) -> BoolArray | None:
    """Memberships of a clustering whose rows may be in several clusters; else None."""
    if not clustering.is_hard or clustering.is_row_disjoint:
        return None
    return np.asarray(clustering.memberships.toarray() > 0)
