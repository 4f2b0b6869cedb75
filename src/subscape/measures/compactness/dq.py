"""The DQ measure: is an alternative clustering different and good at once?"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.clustering import as_clustering
from subscape.core.markup import fields_card
from subscape.measures.labels.pairs import label_jaccard_score

from .dunn import generalized_dunn

__all__ = ["DQScore", "dq_measure"]


class DQScore(NamedTuple):
    """How good an alternative is; all three are between 0 and 1, and large is good.

    Attributes
    ----------
    dissimilarity : float
        1 - Jaccard index with what is known, averaged over it.
    quality : float
        g / (1 + g) of the generalised Dunn index g.
    dq : float
        Their harmonic mean; 0 if one of them is 0.

    See Also
    --------
    dq_measure : Makes it.
    """

    dissimilarity: float
    quality: float
    dq: float

    def _repr_html_(self) -> str:
        return fields_card(self)


def dq_measure(
    X: ArrayLike,
    given: Any,
    alternative: Any,
    *,
    separation: str = "average",
    diameter: str = "centroid",
) -> DQScore:
    """Dissimilarity to known clusterings and quality, and their harmonic mean (eq. 15 of [1]_).

    The paper multiplies with the Jaccard index where its dissimilarity is meant, and its quality is
    not bounded by 1; here they are 1 - Jaccard and g / (1 + g).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    given : label vector, SubspaceClustering, fitted finder, or a list of them
        What is known; of a finder of several clusterings all of them.
    alternative : label vector, SubspaceClustering or fitted finder
        A clustering with fewer than 2 clusters has quality 0.
    separation, diameter : str
        Which generalised Dunn index: see :func:`subscape.measures.generalized_dunn`.

    Returns
    -------
    DQScore
        ``dissimilarity``, ``quality`` and ``dq``.

    See Also
    --------
    subscape.plots.TradeOffDisplay : Alternatives as a picture.
    subscape.finders.MAXIMUS : Finds alternatives.

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21, 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> from subscape.measures import dq_measure
    >>> X = [[0.0, 0.0], [0.0, 8.0], [6.0, 0.0], [6.0, 8.0]]
    >>> score = dq_measure(X, [0, 0, 1, 1], [0, 1, 0, 1], separation="centroid")
    >>> score.dissimilarity, round(score.quality, 3), round(score.dq, 3)
    (1.0, 0.571, 0.727)
    """
    found = as_clustering(alternative).labels()
    given = getattr(given, "clusterings_", given)
    several = isinstance(given, (list, tuple)) and len(given) > 0 and not np.isscalar(given[0])
    known = [as_clustering(each).labels() for each in (given if several else [given])]
    apart = 1.0 - float(np.mean([label_jaccard_score(each, found) for each in known]))
    quality = 0.0
    if len(np.unique(found[found >= 0])) >= 2:
        index = generalized_dunn(X, found, separation=separation, diameter=diameter)
        quality = 0.0 if math.isnan(index) else 1.0 if math.isinf(index) else index / (1 + index)
    both = apart + quality
    return DQScore(apart, quality, 2 * apart * quality / both if apart > 0 and quality > 0 else 0.0)
