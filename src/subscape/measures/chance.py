"""How much of an agreement is chance: corrected measures and p-values under null models.

Three null models keep what a clustering looks like and destroy what it says:

"random labels"
    The rows are permuted; cluster sizes and subspaces stay.
"random subspaces"
    The rows stay; the features are permuted, for every cluster anew.
"both"
    Both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, UnsupportedKindError
from subscape.core.markup import fields_card
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import AxisSubspaces, Subspaces, WeightedSubspaces
from subscape.core.types import FloatArray
from subscape.measures.cells.overlap import matching_pair
from subscape.parallel.local import Shared, in_order
from subscape.parallel.seeds import seed_sequence

from .registry import Measure, find

NULL_MODELS = ("random labels", "random subspaces", "both")


class Expectation(NamedTuple):
    """Mean of a measure under a null model.

    ``standard_error`` is 0 and ``samples`` empty where the mean is known analytically.

    See Also
    --------
    expected : Makes it.
    """

    mean: float
    standard_error: float
    samples: FloatArray


class Corrected(NamedTuple):
    """A measure corrected for chance: 1 for identical clusterings, 0 for what chance gives.

    Attributes
    ----------
    value : float
        The corrected agreement.
    standard_error : float
        Of ``value``, from the sampled expectation.
    raw, expected : float
        The measure itself and its mean under the null model.

    See Also
    --------
    corrected : Makes it.
    """

    value: float
    standard_error: float
    raw: float
    expected: float

    def _repr_html_(self) -> str:
        return fields_card(self)


class PValue(NamedTuple):
    """How often the null model agrees at least as well.

    Attributes
    ----------
    value : float
        (1 + samples at least as alike) / (1 + samples): never 0.
    standard_error : float
        Of ``value``, from the number of samples.
    raw : float
        The measure itself.
    samples : array
        The measure on the samples, in the order of their seeds.

    See Also
    --------
    p_value : Makes it.
    """

    value: float
    standard_error: float
    raw: float
    samples: FloatArray

    def _repr_html_(self) -> str:
        return fields_card(self)


def corrected(
    measure: str | Callable[..., float],
    a: Any,
    b: Any,
    *,
    null: str = "random labels",
    n_samples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Corrected:
    """Correct a measure for chance (eq. 3.15 of Patrikainen, 2005).

    (q − E q) / (max q − E q), for distances with q = −d: 1 − d / E d. The expectation is analytic
    where one is known (pair counts and mutual information of labels under random labels), else the
    mean over samples of the null model, whose standard error is reported.

    Parameters
    ----------
    measure : str or callable
        A measure of :mod:`subscape.measures`, by name or itself. Other functions are taken as
        distances that are 0 for identical clusterings.
    a, b : SubspaceClustering or label vector
        ``b`` is the side that is randomised.
    null : {"random labels", "random subspaces", "both"}
    n_samples : int, default=200
    random_state : int, Generator or None
    n_jobs : int, optional
        The same numbers for any value.
    **options
        Passed on to the measure.

    Returns
    -------
    Corrected

    See Also
    --------
    expected : What chance gives.
    p_value : How often chance does as well.

    Examples
    --------
    >>> from subscape.measures import corrected
    >>> result = corrected("label_rand_distance", [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1])
    >>> round(result.value, 4), result.standard_error
    (0.3243, 0.0)
    """
    entry = find(measure)
    left, right = matching_pair(a, b)
    raw = float(entry.function(left, right, **options))
    expectation = expected(
        entry.function,
        left,
        right,
        null=null,
        n_samples=n_samples,
        random_state=random_state,
        n_jobs=n_jobs,
        **options,
    )
    best = entry.low if entry.is_distance else entry.high
    room = best - expectation.mean
    if room == 0:
        # Chance alone already agrees perfectly: there is nothing to correct.
        return Corrected(float(raw == best), 0.0, raw, expectation.mean)
    value = (raw - expectation.mean) / room
    slope = abs((raw - best) / room**2)
    return Corrected(value, slope * expectation.standard_error, raw, expectation.mean)


def p_value(
    measure: str | Callable[..., float],
    a: Any,
    b: Any,
    *,
    null: str = "random labels",
    n_samples: int = 999,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> PValue:
    """Probability that a null model agrees with ``a`` at least as well as ``b`` does.

    Parameters
    ----------
    measure, a, b, null, n_samples, random_state, n_jobs, **options
        As in :func:`corrected`.

    Returns
    -------
    PValue

    See Also
    --------
    expected : What chance gives on average.
    subscape.validation.significance : Whether a finder finds more than chance.

    Examples
    --------
    >>> from subscape.measures import p_value
    >>> labels = [0] * 10 + [1] * 10
    >>> p_value("clustering_error", labels, labels, n_samples=99, random_state=0).value
    0.01
    """
    entry = find(measure)
    left, right = matching_pair(a, b)
    raw = float(entry.function(left, right, **options))
    samples = _samples(entry, left, right, null, n_samples, random_state, n_jobs, options)
    # Rounding must not hide ties.
    slack = 1e-12 * max(1.0, abs(raw))
    alike = samples <= raw + slack if entry.is_distance else samples >= raw - slack
    value = (1 + int(alike.sum())) / (1 + len(samples))
    return PValue(value, float(np.sqrt(value * (1 - value) / (1 + len(samples)))), raw, samples)


def expected(
    measure: str | Callable[..., float],
    a: Any,
    b: Any,
    *,
    null: str = "random labels",
    n_samples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Expectation:
    """Mean of a measure under a null model, analytic where it is known.

    Parameters
    ----------
    measure, a, b, null, n_samples, random_state, n_jobs, **options
        As in :func:`corrected`.

    Returns
    -------
    Expectation

    See Also
    --------
    corrected : A measure corrected by it.
    p_value : How often chance does as well.

    Examples
    --------
    >>> from subscape.measures import expected
    >>> expected("label_rand_score", [0, 0, 1, 1], [0, 0, 1, 1]).mean.__round__(4)
    0.5556
    """
    entry = find(measure)
    left, right = matching_pair(a, b)
    analytic = entry.expected if null == "random labels" and not options else None
    if analytic is not None and left.is_row_disjoint and right.is_row_disjoint:
        return Expectation(float(analytic(left, right)), 0.0, np.empty(0))
    samples = _samples(entry, left, right, null, n_samples, random_state, n_jobs, options)
    error = float(samples.std(ddof=1) / np.sqrt(len(samples))) if len(samples) > 1 else np.inf
    return Expectation(float(samples.mean()), error, samples)


def randomised(
    clustering: SubspaceClustering, null: str, rng: np.random.Generator
) -> SubspaceClustering:
    """One draw of a null model.

    >>> import numpy as np
    >>> from subscape import SubspaceClustering
    >>> c = SubspaceClustering.from_labels([0, 0, 0, 1], masks=[[1, 0, 0], [1, 1, 0]])
    >>> drawn = randomised(c, "both", np.random.default_rng(0))
    >>> drawn.sizes, drawn.subspaces.dims
    (array([3, 1]), array([1., 2.]))
    """
    if null not in NULL_MODELS:
        raise SubscapeError(
            f"null must be one of {', '.join(map(repr, NULL_MODELS))}, got {null!r}"
        )
    members, subspaces = clustering.members, clustering.subspaces
    if null != "random subspaces":
        members = members.embed(rng.permutation(clustering.n_rows), clustering.n_rows)
    if null != "random labels":
        subspaces = _permuted(subspaces, rng)
    return SubspaceClustering(
        members,
        subspaces,
        feature_names=clustering.feature_names,
        row_names=clustering.row_names,
    )


def _permuted(subspaces: Subspaces, rng: np.random.Generator) -> Subspaces:
    p = subspaces.n_features
    if isinstance(subspaces, AxisSubspaces):
        return AxisSubspaces(rng.permuted(subspaces.masks, axis=1))
    if isinstance(subspaces, WeightedSubspaces):
        return WeightedSubspaces(rng.permuted(subspaces.weights, axis=1))
    if isinstance(subspaces, OrientedSubspaces):
        bases = [basis[rng.permutation(p)] for basis in subspaces.bases]
        return OrientedSubspaces(bases, subspaces.is_complement, n_features=p)
    raise TypeError(f"unknown subspaces {type(subspaces).__name__}")


def _samples(
    entry: Measure,
    a: SubspaceClustering,
    b: SubspaceClustering,
    null: str,
    n_samples: int,
    random_state: Any,
    n_jobs: int | None,
    options: dict[str, Any],
) -> FloatArray:
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise SubscapeError(f"n_samples must be a whole number of at least 1, got {n_samples!r}")
    children = seed_sequence(random_state).spawn(n_samples)
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        return np.array(_draw(entry.function, a, b, null, children, options))
    chunks = [children[i::workers] for i in range(workers)]
    both = Shared(a), Shared(b)
    calls = [(entry.function, *both, null, chunk, options) for chunk in chunks]
    parts = in_order(_draw, calls, n_jobs, what="part")
    samples = np.empty(n_samples)
    for i, part in enumerate(parts):
        samples[i::workers] = part
    return samples


def _draw(
    function: Callable[..., float],
    a: SubspaceClustering,
    b: SubspaceClustering,
    null: str,
    children: list[np.random.SeedSequence],
    options: dict[str, Any],
) -> list[float]:
    drawn = (randomised(b, null, np.random.default_rng(child)) for child in children)
    try:
        return [float(function(a, one, **options)) for one in drawn]
    except UnsupportedKindError as error:
        if null == "random labels" or b.is_row_disjoint:
            raise
        raise UnsupportedKindError(
            f"a draw of the null model {null!r} can't be scored: {error}. Clusters that share rows "
            "come to share cells when the features of each are permuted; use clustering_error or "
            "null='random labels'"
        ) from None
