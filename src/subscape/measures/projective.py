"""Measures of projective clusterings: clusters with memberships of rows and weights of features.

What Gullo, Domeniconi and Tagarelli use to find and to judge the consensus of an ensemble [1]_.
Masks count as equal weights of the relevant features, and soft memberships as they are.

.. [1] F. Gullo, C. Domeniconi, A. Tagarelli, "Advancing data clustering via projective clustering
   ensembles", SIGMOD 2011, 733-744, doi:10.1145/1989323.1989400.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax, xlogy

from subscape.core.checks import check_names, check_table, constant_columns
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.core.types import FloatArray, IndexArray

from .pairwise import same_table
from .stacked_clusters import Stack, block_sums, shared_masses, similarities, stack

#: What a measure of projective clusterings looks at.
SIDES = ("both", "objects", "features")


def nmi_projective(a: Any, b: Any, on: str = "both") -> float:
    """Normalised mutual information of two projective clusterings, soft or hard (NMI_of).

    The shared mass of two clusters is the product of their memberships and of their feature
    weights, summed over all cells. On ``"objects"`` of hard partitions it is the usual NMI with
    the geometric mean of the entropies.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Axis-aligned or weighted; oriented ones only with ``on="objects"``.
    on : {"both", "objects", "features"}, default="both"
        Compare rows and features together (NMI_of), rows only (NMI_o) or features only (NMI_f).

    Returns
    -------
    float
        Large is alike. The shared masses of "both" and "features" don't add up to the sizes of
        the clusters, so values may leave [0, 1], and a clustering need not score 1 with itself.

    See Also
    --------
    clustering_error : By cells.
    psi_projective : Of a consensus and an ensemble.

    Notes
    -----
    The paper defines "both" and says that the others are derived similarly: for "features" every
    cluster has the same size. T runs over whole clusterings (the paper writes clusters). Rows in no
    cluster are left out: sizes are shares of all memberships. Two clusterings of one cluster each
    score 1, one of them beside a clustering of several scores 0.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400, section 4.1.3.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import nmi_projective
    >>> a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    >>> b = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[0, 1], [1, 0]])
    >>> round(nmi_projective(a, b, on="objects"), 12), round(nmi_projective(a, b), 12)
    (1.0, 0.0)
    """
    like = _pattern(a, b)
    return float(nmi_table(_one(a, like), _one(b, like), on)[0, 0])


def reference_gain(consensus: Any, ensemble: Any, reference: Any, on: str = "both") -> float:
    """How much closer a consensus is to a reference than its ensemble is on average (Θ, eq. 25).

    Parameters
    ----------
    consensus, reference : SubspaceClustering or label vector
        :func:`lac_weights` gives the classes of a table their feature weights.
    ensemble : sequence of SubspaceClustering or label vectors
    on : {"both", "objects", "features"}, default="both"
        As in :func:`nmi_projective`.

    Returns
    -------
    float
        NMI of the consensus with the reference less the mean NMI of the members with it.

    See Also
    --------
    ensemble_ratio : Against the ensemble itself.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape.measures import reference_gain
    >>> truth = [0, 0, 0, 1, 1, 1]
    >>> round(reference_gain(truth, [truth, [0, 0, 1, 1, 1, 1]], truth, on="objects"), 4)
    0.2604
    """
    like = _pattern(consensus, reference, ensemble)
    goal = _one(reference, like)
    members = nmi_table(_many(ensemble, like), goal, on)
    return float(nmi_table(_one(consensus, like), goal, on)[0, 0] - members.mean())


def ensemble_ratio(
    consensus: Any, ensemble: Any, on: str = "both", *, self_pairs: bool = False
) -> float:
    """How much more a consensus resembles its ensemble than its members do (Upsilon, eq. 26).

    Parameters
    ----------
    consensus : SubspaceClustering or label vector
    ensemble : sequence of at least two SubspaceClustering or label vectors
    on : {"both", "objects", "features"}, default="both"
        As in :func:`nmi_projective`.
    self_pairs : bool, default=False
        Count a member's similarity to itself among the pairs, too.

    Returns
    -------
    float
        Mean NMI of the consensus with the members over the mean NMI of two members. The paper calls
        it a coefficient of variation; it is a ratio.

    See Also
    --------
    reference_gain : Against a reference.
    psi_projective : The distance behind it.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape.measures import ensemble_ratio
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> round(ensemble_ratio([0, 0, 0, 1, 1, 1], members, on="objects"), 3)
    1.589
    """
    like = _pattern(consensus, ensemble)
    members = _many(ensemble, like)
    if len(members) < 2 and not self_pairs:
        raise SubscapeError(
            f"ensemble_ratio needs an ensemble of at least two members, got {len(members)}"
        )
    among = nmi_table(members, members, on)
    pairs = among if self_pairs else among[np.triu_indices(len(members), 1)]
    mean = float(pairs.mean())
    if mean == 0:
        raise SubscapeError("the members share nothing (mean NMI 0): there is nothing to divide by")
    return float(nmi_table(_one(consensus, like), members, on).mean() / mean)


def psi_objects(consensus: Any, ensemble: Any) -> float:
    """Distance of a consensus from an ensemble in rows alone (Ψ_o, eq. 3).

    Parameters
    ----------
    consensus : SubspaceClustering or label vector
    ensemble : a clustering, or a sequence of them
        Over several members the distances are summed.

    Returns
    -------
    float
        0 to the number of members. Each cluster is compared with the most similar one of the other
        side (Tanimoto), both ways.

    See Also
    --------
    psi_projective : Rows and features together.
    psi_features : Features alone.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape.measures import psi_objects
    >>> round(psi_objects([0, 0, 1, 1], [0, 1, 1, 1]), 4)
    0.4167
    """
    return _psi(consensus, ensemble, "objects")


def psi_features(consensus: Any, ensemble: Any) -> float:
    """Distance of a consensus from an ensemble in features alone (Ψ_f, eq. 3).

    Parameters
    ----------
    consensus, ensemble
        As in :func:`psi_objects`; axis-aligned or weighted.

    Returns
    -------
    float

    See Also
    --------
    psi_projective : Rows and features together.
    psi_objects : Rows alone.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import psi_features
    >>> a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    >>> psi_features(a, [a, SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2)])
    0.5
    """
    return _psi(consensus, ensemble, "features")


def psi_projective(consensus: Any, ensemble: Any) -> float:
    """Distance of a consensus from an ensemble in rows and features together (Ψ_of, eq. 5).

    Exact, at the cost of :func:`psi_objects`: the matrices that the paper compares have rank one.

    Parameters
    ----------
    consensus, ensemble
        As in :func:`psi_objects`; axis-aligned or weighted.

    Returns
    -------
    float

    See Also
    --------
    psi_objects : Rows alone.
    psi_features : Features alone.
    subscape.ensemble.ClusterBasedPCE : Makes it small.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400.

    Examples
    --------
    Swapped subspaces cost nothing on either side alone.

    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import psi_features, psi_objects, psi_projective
    >>> a = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    >>> b = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[0, 1], [1, 0]])
    >>> psi_objects(a, b), psi_features(a, b), psi_projective(a, b)
    (0.0, 0.0, 1.0)
    """
    return _psi(consensus, ensemble, "both")


def lac_weights(
    X: ArrayLike, clustering: Any, h: float = 0.2, *, scale: str | None = None
) -> FloatArray:
    """Feature weights of given groups of rows, by the rule of LAC.

    The narrower a group is in a feature, the larger the weight: ``exp(-variance / h)``, scaled to
    sum 1.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering or label vector
        Its rows count by their memberships; its subspaces are not looked at.
    h : float, default=0.2
        How evenly the weights are spread.
    scale : {"std", None}, default=None
        None takes variances as they are, as the formula is printed; the paper does not say how its
        tables were scaled. "std" measures them in units of the column's own, so that the units of
        the table don't matter; the consensus methods do that.

    Returns
    -------
    array of shape (n_clusters, n_features)
        Rows sum to 1; constant columns have weight 0.

    See Also
    --------
    subscape.finders.LAC : Finds the groups, too.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400, section 4.1.3.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import lac_weights
    >>> X = np.array([[0.0, 5.0], [0.1, -5.0], [5.0, 0.0], [-5.0, 0.1]])
    >>> lac_weights(X, [0, 0, 1, 1]).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    if not isinstance(h, Real) or not 0 < h < np.inf:
        raise SubscapeError(f"h must be a positive number, got {h!r}")
    if scale not in ("std", None):
        raise SubscapeError(f'scale must be "std" or None, got {scale!r}')
    table = np.asarray(check_table(X, "lac_weights"), np.float64)
    given = as_clustering(clustering)
    check_names(X, given.feature_names, given.row_names)
    if given.n_rows != len(table):
        raise ShapeMismatchError(
            f"the table has {len(table)} rows, the clustering {given.n_rows}; both must speak of "
            "the same rows"
        )
    constant = constant_columns(table)
    table = table - table[0]
    table -= table.mean(axis=0)
    if scale == "std":
        spread = np.sqrt(np.square(table).mean(axis=0))
        table /= np.where(constant | (spread == 0), 1.0, spread)
    exponents = np.empty((given.n_clusters, table.shape[1]))
    for k in range(given.n_clusters):
        rows, shares = given.members.rows(k), given.members.weights(k).astype(np.float64)
        part, shares = table[rows], shares / shares.sum()
        exponents[k] = shares @ np.square(part - shares @ part) / -h
    if not constant.all():
        exponents[:, constant] = -np.inf
    return np.asarray(softmax(exponents, axis=1))


# -- tables over whole ensembles ------------------------------------------------------------------


def _pattern(*given: Any) -> SubspaceClustering | None:
    """The first clustering among arguments and the members of ensembles: who has features."""
    for one in given:
        whole = getattr(one, "clustering_", one)
        if isinstance(whole, SubspaceClustering):
            return whole
        if isinstance(one, Sequence) and not isinstance(one, str) and len(one):
            found = None if np.isscalar(one[0]) else _pattern(*one)
            if found is not None:
                return found
    return None


def _one(given: Any, like: SubspaceClustering | None) -> list[SubspaceClustering]:
    """A single clustering as a list; a label vector takes the features of ``like``."""
    return [as_clustering(given, like=like)]


def _many(ensemble: Any, like: SubspaceClustering | None) -> list[SubspaceClustering]:
    """The members of an ensemble; one clustering is an ensemble of its own."""
    if isinstance(ensemble, SubspaceClustering) or hasattr(ensemble, "clustering_"):
        return _one(ensemble, like)
    members = list(ensemble)
    if not members:
        raise SubscapeError("the ensemble is empty: it needs at least one clustering")
    if np.isscalar(members[0]):  # one label vector
        return _one(ensemble, like)
    return [_one(member, like)[0] for member in members]


def _stacks(
    a: Sequence[SubspaceClustering], b: Sequence[SubspaceClustering], features: bool
) -> tuple[Stack, Stack]:
    checked = same_table([*a, *b])
    first = stack(checked[: len(a)], features=features)
    return first, first if a is b else stack(checked[len(a) :], features=features)


def nmi_table(
    a: Sequence[SubspaceClustering], b: Sequence[SubspaceClustering], on: str
) -> FloatArray:
    """NMI of every clustering of one list with every one of the other."""
    if on not in SIDES:
        raise SubscapeError(f'on must be "both", "objects" or "features", got {on!r}')
    first, second = _stacks(a, b, features=on != "objects")
    shared = shared_masses(first, second, on)
    log_a, entropy_a = _shares(first, on)
    log_b, entropy_b = _shares(second, on)
    starts = first.starts, second.starts
    total = block_sums(shared, *starts)
    surprise = xlogy(shared, shared) - shared * np.add.outer(log_a, log_b)
    safe = np.where(total > 0, total, 1.0)
    information = np.where(total > 0, block_sums(surprise, *starts) / safe - np.log(safe), 0.0)
    scale = np.sqrt(np.outer(entropy_a, entropy_b))
    alone = np.equal.outer(entropy_a > 0, entropy_b > 0)  # both of one cluster, if scale is 0
    return np.where(scale > 0, information / np.where(scale > 0, scale, 1.0), 1.0 * alone)


def _shares(given: Stack, on: str) -> tuple[FloatArray, FloatArray]:
    """Log of each cluster's share of its clustering, and the entropy of each clustering."""
    sizes = np.ones(given.starts[-1]) if on == "features" else given.sizes
    shares = sizes / np.add.reduceat(sizes, given.starts[:-1])[given.owners]
    return np.log(shares), -np.add.reduceat(xlogy(shares, shares), given.starts[:-1])


def _psi(consensus: Any, ensemble: Any, on: str) -> float:
    like = _pattern(consensus, ensemble)
    one = _one(consensus, like)
    first, second = _stacks(one, _many(ensemble, like), features=on != "objects")
    return float(psi_of(similarities(first, second, on), second.starts).sum())


def psi_of(similarity: FloatArray, starts: IndexArray) -> FloatArray:
    """ψ of one clustering and every member, from the similarities of all their clusters (eq. 6).

    Parameters
    ----------
    similarity : (K, c) array
        Of the K clusters of the one with all clusters of the members.
    starts : (m + 1,) array
        Where the members' clusters begin.

    Returns
    -------
    (m,) array
    """
    found = np.maximum.reduceat(similarity, starts[:-1], axis=1).mean(axis=0)
    kept = np.add.reduceat(similarity.max(axis=0), starts[:-1]) / np.diff(starts)
    return np.asarray(1.0 - (found + kept) / 2)
