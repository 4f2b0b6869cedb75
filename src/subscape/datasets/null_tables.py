"""Tables without any clusters, to see what a method finds in nothing."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtr

from subscape.core.types import FloatArray

from .planted import RandomState, generator, real, whole

#: Hidden factors behind the correlations.
FACTORS = 3


def structureless(
    kind: Literal["uniform", "gaussian", "lognormal"] = "uniform",
    n_rows: int = 500,
    n_features: int = 10,
    *,
    correlation: float | None = None,
    random_state: RandomState = None,
) -> FloatArray:
    """Make a table with no clusters in it: every row comes from one smooth distribution.

    Features may be correlated: each is ``sqrt(correlation)`` times a random mixture of three
    hidden normal factors plus independent normal noise, of variance 1 in total, which is then
    given the distribution asked for. A method that reports clusters here reports chance.

    Parameters
    ----------
    kind : {"uniform", "gaussian", "lognormal"}, default="uniform"
        Distribution of each feature: uniform on [0, 1], standard normal, or the exponential of a
        standard normal (skewed, with far outliers).
    n_rows, n_features : int
        Shape of the table.
    correlation : float, optional
        Share of each feature's variance (on the normal scale) that the factors explain: the
        correlation that two features with the same mixture have. By default 0 for "uniform" and
        0.5 for the others.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    float64 array of shape (n_rows, n_features)

    See Also
    --------
    planted_axes : Tables with clusters.
    subscape.validation.null_table : A table without clusters that is otherwise like a given one.

    Examples
    --------
    >>> from subscape.datasets import structureless
    >>> X = structureless("lognormal", 100, 5, random_state=0)
    >>> X.shape, bool((X > 0).all())
    ((100, 5), True)
    """
    rng = generator(random_state)
    n = whole(n_rows, "n_rows", 1)
    p = whole(n_features, "n_features", 1)
    if kind not in ("uniform", "gaussian", "lognormal"):
        raise ValueError(f"kind must be 'uniform', 'gaussian' or 'lognormal', got {kind!r}")
    if correlation is None:
        correlation = 0.0 if kind == "uniform" else 0.5
    share = real(correlation, "correlation", 0.0, 1.0)
    mixtures = rng.normal(size=(FACTORS, p))
    mixtures /= np.linalg.norm(mixtures, axis=0)
    X = np.sqrt(share) * (rng.normal(size=(n, FACTORS)) @ mixtures)
    X += np.sqrt(1 - share) * rng.normal(size=(n, p))
    if kind == "uniform":
        return ndtr(X)
    return np.exp(X) if kind == "lognormal" else X
