"""What a fit leaves behind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

#: Attributes that are set while the table is read.
READ = ("n_features_in_", "feature_names_in_")


def forget(estimator: Any, keep: Collection[str] = READ) -> None:
    """Drop the attributes of an earlier fit: the next one may have fewer.

    >>> from sklearn.base import BaseEstimator
    >>> estimator = BaseEstimator()
    >>> estimator.labels_, estimator.n_features_in_ = [0, 1], 3
    >>> forget(estimator)
    >>> vars(estimator)
    {'n_features_in_': 3}
    """
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in keep]:
        if not name.startswith("_"):
            delattr(estimator, name)
