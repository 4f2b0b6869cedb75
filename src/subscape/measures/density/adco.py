"""ADCO: clusterings are alike if the points of their clusters lie alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, fsum, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from subscape.core.errors import EmptyClusteringError, SubscapeError
from subscape.core.markup import fields_card
from subscape.core.types import FloatArray, IndexArray

from .binning import check_choice
from .bins import Bins, refuse_attributes, united_levels
from .profile import DensityProfile

VARIANTS = ("containment", "cosine")
SIZES = ("as_is", "scaled", "sampled")
MATCHINGS = ("pairs", "merged", "weighted")
KERNELS = ("linear", "polynomial", "rbf")

#: Rounds in which the weights of all pairs are brought to their sums.
ROUNDS = 100

#: Above this, a similarity may be 1 but for rounding.
NEARLY = 1.0 - 1e-9


class ProfileMatch(NamedTuple):
    """What two profiles share.

    Attributes
    ----------
    similarity : float
        Sum of the products of counts over matched clusters (sim).
    square_a, square_b : float
        The similarity of each profile with itself.
    pairs : array of shape (n_pairs, 2)
        Matched clusters of the two sides.
    products : array of shape (n_clusters_a, n_clusters_b)
        Product of every pair of clusters (M).
    weights : array of shape (n_clusters_a, n_clusters_b) or None
        With ``matching="weighted"``, how much every pair counts.

    See Also
    --------
    match_profiles : Makes it.
    """

    similarity: float
    square_a: float
    square_b: float
    pairs: IndexArray
    products: FloatArray
    weights: FloatArray | None = None

    def _repr_html_(self) -> str:
        return fields_card(self)


def adco_similarity(
    a: DensityProfile,
    b: DensityProfile,
    *,
    variant: str = "containment",
    sizes: str = "as_is",
    matching: str = "pairs",
    kernel: str = "linear",
    random_state: Any = None,
) -> float:
    """Similarity of two clusterings by their density profiles, ADCO [1]_.

    Clusters are matched so that the products of their counts, summed over all bins, are largest;
    the sum is divided by the larger of the sums that each profile has with itself. 1 says that
    the profiles are the same but for the order of the clusters, 0 that no two clusters share a
    bin. The profiles may come from different data, if they were counted in the same bins.

    Parameters
    ----------
    a, b : DensityProfile
        Of the same attributes in the same bins. Levels of nominal attributes may differ.
    variant : {"containment", "cosine"}, default="containment"
        "containment": as above. "cosine": divided by the geometric mean of the two sums instead,
        so that the sizes of the data don't matter, only the direction of the profiles.
    sizes : {"as_is", "scaled", "sampled"}, default="as_is"
        Where one side has more points, its similarity is low for that alone. "sampled" draws as
        many points from it as the other has, each cluster in proportion; "scaled" takes the mean
        of such samples, which needs no chance.
    matching : {"pairs", "merged", "weighted"}, default="pairs"
        "pairs": clusters are matched one to one, and those left over count as not matched.
        "merged": the clusters of the side that has more join the cluster of the other side they
        have most in common with, and are then one cluster. "weighted": every pair of clusters
        contributes, by weights in proportion to their product that add up to one for each cluster
        of the side with fewer, and to the same for each of the other. Never more than "pairs"; a
        profile has 1 with itself only if its clusters share no bin.
    kernel : {"linear", "polynomial", "rbf"}, default="linear"
        Products of whole profiles; "polynomial" takes (product + 1)² and "rbf"
        exp(−‖difference‖² / larger square) instead. Both stretch the scale and keep the order.
    random_state : int, Generator or None
        For "sampled".

    Returns
    -------
    float
        From 0 to 1.

    See Also
    --------
    adco_distance : The metric.
    match_profiles : Which clusters belong together.

    Notes
    -----
    A cluster without points changes nothing. "scaled", "merged", "weighted" and "rbf" are ours; the
    paper names merging, weights for all pairs and kernels as an outlook, without formulas.

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21(3), 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import Bins, DensityProfile, adco_similarity
    >>> bins = Bins(["X", "Y"], [[0, 1, 2], [0, 1, 2]])
    >>> a = DensityProfile(np.array([[8, 0, 5, 3], [0, 6, 3, 3]]), bins, np.array([8, 6]), 14)
    >>> b = DensityProfile(np.array([[5, 2, 2, 5], [3, 4, 6, 1]]), bins, np.array([7, 7]), 14)
    >>> round(adco_similarity(a, b), 4), round(adco_similarity(a, b, variant="cosine"), 4)
    (0.7237, 0.8145)
    """
    check_choice("variant", variant, VARIANTS)
    check_choice("sizes", sizes, SIZES)
    check_choice("matching", matching, MATCHINGS)
    check_choice("kernel", kernel, KERNELS)
    found = match_profiles(a, b, sizes=sizes, matching=matching, random_state=random_state)
    product = _kernel(kernel, max(found.square_a, found.square_b))
    share = product(found.similarity, found.square_a + found.square_b)
    own_a = product(found.square_a, 2 * found.square_a)
    own_b = product(found.square_b, 2 * found.square_b)
    # Square roots first: the product of two squares can leave the range of float64.
    most = max(own_a, own_b) if variant == "containment" else sqrt(own_a) * sqrt(own_b)
    value = share / most
    if value > NEARLY and sizes == "as_is" and equivalent(*aligned(a, b)):
        return 1.0  # also where products of large or fractional counts were rounded
    return min(1.0, value)


def adco_distance(a: DensityProfile, b: DensityProfile) -> float:
    """Distance of two clusterings by their density profiles, the metric D′ of [1]_.

    0 if the profiles are the same but for the order of the clusters, otherwise 2 − ADCO, which
    lies between 1 and 2. Unlike 1 − ADCO it obeys the triangle inequality.

    Parameters
    ----------
    a, b : DensityProfile
        As in :func:`adco_similarity`. Profiles are the same if their counts are equal, not only
        nearly so.

    Returns
    -------
    float

    See Also
    --------
    adco_similarity : As a similarity.
    clustering_error : By cells instead of places.

    Notes
    -----
    The counterexample printed for the triangle inequality of 1 − ADCO satisfies it; (0, 3),
    (2, 1), (1, 2) is one. Clusters without points don't make profiles different. Memberships are
    counted in whole units, so that the order of the rows never makes them different.

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21(3), 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> from subscape.measures import DensityProfile, adco_distance
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> groups = [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]
    >>> a, b, c = (DensityProfile.of(X, labels, bins=2) for labels in groups)
    >>> adco_distance(a, b), adco_distance(a, c)
    (0.0, 1.5)
    """
    one, other = aligned(a, b)
    if equivalent(one, other):
        return 0.0
    return 2.0 - adco_similarity(a, b)


def match_profiles(
    a: DensityProfile,
    b: DensityProfile,
    *,
    sizes: str = "as_is",
    matching: str = "pairs",
    random_state: Any = None,
) -> ProfileMatch:
    """Find which clusters of two profiles belong together, and how much they share.

    Parameters
    ----------
    a, b, sizes, matching, random_state
        As in :func:`adco_similarity`.

    Returns
    -------
    ProfileMatch

    See Also
    --------
    adco_similarity : One number.
    match_clusters : By shared cells instead of places.

    Examples
    --------
    >>> from subscape.measures import DensityProfile, match_profiles
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> a, b = (DensityProfile.of(X, labels, bins=2) for labels in ([0, 0, 1, 1], [1, 1, 0, 0]))
    >>> found = match_profiles(a, b)
    >>> found.similarity, found.pairs.tolist()
    (8.0, [[0, 1], [1, 0]])
    """
    one, other = aligned(a, b)
    total_a, total_b = float(a.sizes.sum()), float(b.sizes.sum())
    if sizes == "sampled" and total_a != total_b:
        # Sampled before the attributes are aligned, which only adds empty bins.
        small = int(min(total_a, total_b))
        one, other = aligned(
            a.sampled(small, random_state) if total_a > total_b else a,
            b.sampled(small, random_state) if total_b > total_a else b,
        )
    elif sizes == "scaled" and total_a != total_b:
        one = one * min(1.0, total_b / total_a)
        other = other * min(1.0, total_a / total_b)
    for side, counts in (("first", one), ("second", other)):
        if not counts.any():
            raise EmptyClusteringError(
                f"the {side} profile is empty: no cluster has a point in any bin"
            )
    # One order of the two sides for both orders of the arguments, so that rounding is the same.
    turned = _key(other) < _key(one)
    products = (other @ one.T).T if turned else one @ other.T
    if matching == "merged" and products.shape[0] != products.shape[1]:
        return _merged(one, other, products)
    if matching == "weighted":
        weights = pair_weights(products.T).T if turned else pair_weights(products)
        return ProfileMatch(
            fsum((weights * products).ravel()),
            _square(one),
            _square(other),
            np.argwhere(weights > 0),
            products,
            weights,
        )
    if turned:
        columns, rows = linear_sum_assignment(products.T, maximize=True)
        order = np.argsort(rows)
        rows, columns = rows[order], columns[order]
    else:
        rows, columns = linear_sum_assignment(products, maximize=True)
    return ProfileMatch(
        fsum(products[rows, columns]),
        _square(one),
        _square(other),
        np.column_stack([rows, columns]),
        products,
    )


def pair_weights(products: FloatArray) -> FloatArray:
    """Weights of all pairs, in proportion to their products but for factors of rows and columns.

    They add up to one for each cluster of the side with fewer of them, and to the same for each of
    the other side, or to less where clusters have nothing in common with any other.

    Examples
    --------
    >>> import numpy as np
    >>> pair_weights(np.array([[9.0, 3.0], [1.0, 3.0]])).round(3).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> pair_weights(np.array([[5.0, 0.0, 0.0], [0.0, 2.0, 2.0]])).sum(axis=1).tolist()
    [0.6666666666666666, 1.0]
    """
    if products.shape[0] > products.shape[1]:
        return pair_weights(products.T).T
    some = np.ix_(products.any(axis=1), products.any(axis=0))
    if products[some].size < products.size:
        # Those that have nothing in common with any other are as if they were not there.
        weights = np.zeros_like(products)
        weights[some] = pair_weights(products[some]) if products[some].size else 0.0
        return weights
    share = products.shape[0] / products.shape[1]
    # Factors of rows don't matter: large counts stay in range.
    weights = products / np.maximum(products.max(axis=1, keepdims=True), np.finfo(float).tiny)
    for _ in range(ROUNDS):
        weights = _to_sum(_to_sum(weights, 0, share), 1, 1.0)
    # Where there is no solution, sums are kept from above.
    return np.asarray(weights * np.minimum(1, share / np.maximum(weights.sum(axis=0), share)))


def _to_sum(weights: FloatArray, axis: int, total: float) -> FloatArray:
    sums = weights.sum(axis=axis, keepdims=True)
    return np.asarray(weights * np.divide(total, sums, out=np.zeros_like(sums), where=sums > 0))


def adco_matrix(profiles: Sequence[DensityProfile], **options: Any) -> FloatArray:
    """Similarities of all pairs of profiles, such as the windows of a stream.

    Parameters
    ----------
    profiles : sequence of DensityProfile
        All in the same bins.
    **options
        Of :func:`adco_similarity`.

    Returns
    -------
    array of shape (n, n), 1 on the diagonal

    See Also
    --------
    adco_similarity : Of two.
    subscape.plots.AdcoOverTimeDisplay : Windows of a stream as a picture.

    Examples
    --------
    >>> from subscape.measures import DensityProfile, adco_matrix
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> groups = [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]
    >>> adco_matrix([DensityProfile.of(X, labels, bins=2) for labels in groups])
    array([[1. , 1. , 0.5],
           [1. , 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    if len(profiles) == 0:
        raise SubscapeError("no profiles given")
    matrix = np.eye(len(profiles))
    for i in range(len(profiles)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = adco_similarity(profiles[i], profiles[j], **options)
    return matrix


def aligned(a: DensityProfile, b: DensityProfile) -> tuple[FloatArray, FloatArray]:
    """Counts of two profiles as float64 with the same columns; refuses different bins."""
    for profile in (a, b):
        if not isinstance(profile, DensityProfile):
            raise TypeError(
                f"density profiles are compared, got a {type(profile).__name__}; make one with "
                "DensityProfile.of(X, clustering)"
            )
    one, other = a.bins, b.bins
    if one == other:
        return a.counts.astype(np.float64), b.counts.astype(np.float64)
    if one.names != other.names:
        refuse_attributes(one.names, other.names, "the first profile", "the second")
    for name, x, y in zip(one.names, one.edges, other.edges, strict=True):
        if (x is None) != (y is None):
            raise SubscapeError(
                f"attribute {name!r} is numeric in one profile, nominal in the other"
            )
        if x is not None and y is not None and not np.array_equal(x, y):
            raise SubscapeError(
                f"the profiles cut attribute {name!r} into different bins ({len(x) - 1} from "
                f"{x[0]:g} to {x[-1]:g}, and {len(y) - 1} from {y[0]:g} to {y[-1]:g}); make both "
                "with the same, e.g. bins=Bins.common([X_a, X_b]) or bins=the other profile"
            )
    united = Bins(
        one.names,
        one.edges,
        tuple(
            None if x is None or y is None else united_levels(x, y)
            for x, y in zip(one.levels, other.levels, strict=True)
        ),
        one.missing_bin or other.missing_bin,
    )
    return _spread(a, united), _spread(b, united)


def equivalent(one: FloatArray, other: FloatArray) -> bool:
    """Whether the same clusters occur as often on both sides; empty ones don't count."""
    # Adding 0 turns -0 into 0: rows are compared by their bytes.
    left, right = (side[side.any(axis=1)] + 0.0 for side in (one, other))
    if left.shape != right.shape:
        return False
    return sorted(row.tobytes() for row in left) == sorted(row.tobytes() for row in right)


def _spread(profile: DensityProfile, united: Bins) -> FloatArray:
    """Counts of a profile in the columns of bins that have all of its own."""
    own = profile.bins
    counts = np.zeros((profile.n_clusters, united.total))
    for j, level in enumerate(own.levels):
        block, target = profile.attribute(j), united.block(j)
        n_own = int(own.sizes[j]) - own.missing_bin
        if level is None:
            places = np.arange(n_own)
        else:
            position = {each: i for i, each in enumerate(united.levels[j] or ())}
            places = np.array([position[each] for each in level], dtype=np.intp)
        counts[:, target.start + places] = block[:, :n_own]
        if own.missing_bin:
            counts[:, target.stop - 1] = block[:, -1]
    return counts


def _merged(one: FloatArray, other: FloatArray, products: FloatArray) -> ProfileMatch:
    """Let the clusters of the larger side join those of the smaller one."""
    turned = len(one) > len(other)
    few, many = (other, one) if turned else (one, other)
    partner = (products.T if turned else products).argmax(axis=0)
    joined = np.zeros_like(few)
    np.add.at(joined, partner, many)
    pairs = np.column_stack([partner, np.arange(len(many))])
    similarity = fsum((few * joined).sum(axis=1))
    squares = (_square(few), _square(joined))
    if turned:
        return ProfileMatch(similarity, *squares[::-1], pairs[:, ::-1], products)
    return ProfileMatch(similarity, *squares, pairs, products)


def _key(counts: FloatArray) -> tuple[int, float, bytes]:
    return len(counts), _square(counts), counts.tobytes()


def _square(counts: FloatArray) -> float:
    return fsum(np.square(counts).sum(axis=1))


def _kernel(name: str, scale: float) -> Callable[[float, float], float]:
    """The product of two profiles in feature space, from their plain one and their squares' sum."""
    if name == "polynomial":
        return lambda product, squares: (product + 1.0) ** 2
    if name == "rbf":
        return lambda product, squares: exp(-max(0.0, squares - 2 * product) / scale)
    return lambda product, squares: product
