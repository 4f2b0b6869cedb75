"""A finder together with clusterings that are known already, as one estimator for many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone


class KnowingFinder(BaseEstimator):
    """A finder that is told at every fit what is known; on a sample, of the rows in it.

    Parameters
    ----------
    finder : estimator
        With a ``fit(X, given=...)``, as finders of alternatives and of views have.
    given : sequence of label vectors
        Clusterings of the table's rows, −1 for rows in no cluster.

    Examples
    --------
    >>> from subscape.datasets import planted_views
    >>> from subscape.finders import COALA
    >>> X, (known, hidden) = planted_views(60, 4, n_clusters=(2, 2), random_state=0)
    >>> finder = KnowingFinder(COALA(), [known.labels()])
    >>> len(finder.fit(X).clusterings_)
    1
    >>> finder.parameters_in_sample(X.shape, None, [3, 5])["given"][0].shape
    (2,)
    """

    _row_parameters: ClassVar[tuple[str, ...]] = ("given",)
    _feature_parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, finder: Any, given: Sequence[ArrayLike]) -> None:
        self.finder = finder
        self.given = given

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find clusterings of ``X`` beside the known ones."""
        self.finder_ = clone(self.finder).fit(X, given=list(self.given))
        self.clusterings_ = self.finder_.clusterings_
        return self

    def parameters_in_sample(
        self,
        shape: tuple[int, int],
        feature_names: Sequence[str] | None = None,
        rows: ArrayLike | None = None,
        columns: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """What is known of the rows of a sample; see :class:`subscape.finders.SSPC`."""
        if rows is None:
            return {}
        return {"given": [np.asarray(labels)[np.asarray(rows)] for labels in self.given]}
