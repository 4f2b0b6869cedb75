"""Checks that every measure passes: what it promises, and what bad input is answered with."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.measures.registry import KINDS, PROPERTIES, Measure, find

Check = Callable[[Measure], None]
Pair = tuple[SubspaceClustering, SubspaceClustering]

#: Name -> check; filled by the decorator below.
MEASURE_CHECKS: dict[str, Check] = {}

#: What is told apart: principal angles cost half of the digits.
CLOSE = 1e-6


def measure_check(function: Check) -> Check:
    """Add a check to the suite."""
    MEASURE_CHECKS[function.__name__.removeprefix("check_")] = function
    return function


def check_measure(measure: str | Callable[..., float] | Measure) -> None:
    """Run all checks on a measure, a function of two clusterings.

    Parameters
    ----------
    measure : str, function or Measure
        Of the registry by name or itself. A function that is not in the registry is taken as a
        distance for every kind of clustering that promises nothing; to have its promises checked,
        pass a :class:`~subscape.measures.registry.Measure` that lists them.

    Raises
    ------
    AssertionError
        Naming the check and what was wrong.

    See Also
    --------
    check_finder : The same for finders.

    Examples
    --------
    >>> from subscape.measures import clustering_error
    >>> from subscape.testing import check_measure
    >>> check_measure(clustering_error)
    >>> check_measure(lambda a, b: float("nan"))
    Traceback (most recent call last):
        ...
    AssertionError: <lambda> fails the check 'values': two axis clusterings give nan
    """
    entry = measure if isinstance(measure, Measure) else find(measure)
    for name, check in MEASURE_CHECKS.items():
        try:
            check(entry)
        except Exception as error:
            raise AssertionError(f"{entry.name} fails the check {name!r}: {error}") from error


def example_pair(kind: str) -> Pair:
    """Two different clusterings of 12 rows and 5 features; of "mixed" kinds one each.

    >>> [c.kind for c in example_pair("mixed")]
    ['axis', 'weighted']
    """
    a, b = np.repeat([0, 1, 2], 4), np.repeat([0, 1, -1], [5, 5, 2])
    if kind in ("overlapping", "oriented overlapping", "soft"):
        members = [a == 0, (a == 1) | (a == 2), a != 1], [b == 0, b == 1, b >= 0]
    else:
        members = [a == k for k in range(3)], [b == k for k in range(2)]
    if kind == "soft":
        shares = np.linspace(0.2, 1.0, 12)
        members = [m * shares for m in members[0]], [m * shares[::-1] for m in members[1]]
    rng = np.random.default_rng(0)
    sides = []
    for side, which in enumerate(("axis", "weighted") if kind == "mixed" else (kind, kind)):
        number = len(members[side])
        if which.startswith("oriented"):
            bases = [np.linalg.qr(rng.normal(size=(5, 2)))[0] for _ in range(number)]
            spaces: Any = OrientedSubspaces(bases)
        elif which in ("weighted", "soft"):
            spaces = WeightedSubspaces(rng.dirichlet(np.ones(5), number))
        else:
            spaces = AxisSubspaces(np.eye(number, 5, side) + np.eye(number, 5, side + 1) > 0)
        sides.append(SubspaceClustering(np.array(members[side]), spaces))
    return sides[0], sides[1]


def _scored(entry: Measure, pair: tuple[Any, ...]) -> float:
    """The measure of a pair; mixed kinds need to say what their masses mean, if it asks."""
    try:
        return entry.function(*pair)
    except TypeError as error:
        if "mass=" not in str(error):
            raise
        return entry.function(*pair, mass="unit")


def _pairs(entry: Measure) -> Iterator[tuple[str, Pair]]:
    for kind in KINDS:
        if kind in entry.kinds:
            yield kind, example_pair(kind)


def _expect(entry: Measure, errors: Any, a: Any, b: Any) -> str:
    try:
        entry.function(a, b)
    except errors as caught:
        _require(len(str(caught)) >= 20, f"the message is too short to help: {caught}")
        return str(caught)
    raise AssertionError("no error was raised")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


# -- what it promises -----------------------------------------------------------------------------


@measure_check
def check_entry(entry: Measure) -> None:
    _require(entry.kinds <= set(KINDS), f"unknown kinds: {set(entry.kinds) - set(KINDS)}")
    unknown = entry.properties - set(PROPERTIES)
    _require(not unknown, f"unknown properties: {unknown}")
    _require(set(entry.caveats) <= entry.properties, "a caveat for a property it does not have")
    _require(entry.low < entry.high, f"an empty range: {entry.low} to {entry.high}")
    _require("axis" in entry.kinds, "every measure scores hard disjoint axis-aligned clusterings")


@measure_check
def check_values(entry: Measure) -> None:
    for kind, pair in _pairs(entry):
        value = _scored(entry, pair)
        _require(value == value, f"two {kind} clusterings give {value}")
        _require(type(value) is float, f"a {type(value).__name__} is returned, not a float")
        inside = entry.low - CLOSE <= value <= entry.high + CLOSE
        _require(inside, f"{value} for two {kind} clusterings is out of range")


@measure_check
def check_kinds_it_cannot_score(entry: Measure) -> None:
    for kind in KINDS:
        if kind not in entry.kinds:
            _expect(entry, TypeError, *example_pair(kind))


@measure_check
def check_identical_clusterings(entry: Measure) -> None:
    if "positive" not in entry.properties:
        return
    best = entry.low if entry.is_distance else entry.high
    for kind, pair in _pairs(entry):
        for one in pair:
            value = _scored(entry, (one, one))
            _require(abs(value - best) < CLOSE, f"{value} for a {kind} clustering and itself")
        _require(abs(_scored(entry, pair) - best) > CLOSE, f"two {kind} clusterings look the same")


@measure_check
def check_symmetry(entry: Measure) -> None:
    if "symmetric" in entry.properties:
        for kind, (a, b) in _pairs(entry):
            gap = abs(_scored(entry, (a, b)) - _scored(entry, (b, a)))
            _require(gap < CLOSE, f"{kind} clusterings in the other order differ by {gap:g}")


@measure_check
def check_order_of_clusters(entry: Measure) -> None:
    if "label permutation invariant" in entry.properties:
        for kind, (a, b) in _pairs(entry):
            turned = (
                a.select(np.arange(a.n_clusters)[::-1]),
                b.select(np.arange(b.n_clusters)[::-1]),
            )
            gap = abs(_scored(entry, (a, b)) - _scored(entry, turned))
            _require(gap < CLOSE, f"{kind} clusters in another order differ by {gap:g}")


@measure_check
def check_background(entry: Measure) -> None:
    if "background independent" in entry.properties:
        for kind, (a, b) in _pairs(entry):
            wider = a.embed(shape=(15, 7)), b.embed(shape=(15, 7))
            gap = abs(_scored(entry, (a, b)) - _scored(entry, wider))
            _require(gap < CLOSE, f"rows and columns in no {kind} cluster change it by {gap:g}")


@measure_check
def check_expectation(entry: Measure) -> None:
    if entry.expected is not None:
        mean = entry.expected(*example_pair("axis"))
        inside = entry.low - CLOSE <= mean <= entry.high + CLOSE
        _require(inside, f"the expectation under random labels is {mean}")


# -- what it takes --------------------------------------------------------------------------------


@measure_check
def check_label_vectors(entry: Measure) -> None:
    a, b = np.repeat([0, 1], [4, 3]), np.repeat([0, 1], [2, 5])
    expected = entry.function(*(SubspaceClustering.from_labels(side) for side in (a, b)))
    words = np.array(["left", "right"])
    for given in ((a.tolist(), b.tolist()), (a, words[b]), (words[a].tolist(), b.astype(float))):
        value = entry.function(*given)
        _require(abs(value - expected) < CLOSE, "label vectors are not read as clusterings")


@measure_check
def check_one_row_one_cluster(entry: Measure) -> None:
    value = entry.function([0], [0])
    _require(entry.low <= value <= entry.high, f"{value} for a single row")


@measure_check
def check_input_is_left_alone(entry: Measure) -> None:
    labels = np.array([0, 0, 1, 1, -1])
    labels.flags.writeable = False
    entry.function(labels, labels)
    for kind, pair in _pairs(entry):
        copies = [pickle.loads(pickle.dumps(side)) for side in pair]
        _scored(entry, pair)
        _require(list(pair) == copies, f"{kind} clusterings were changed")


@measure_check
def check_repeated_and_in_threads(entry: Measure) -> None:
    for kind, pair in _pairs(entry):
        first = _scored(entry, pair)
        with ThreadPoolExecutor(3) as pool:
            for value in pool.map(lambda _, pair=pair: _scored(entry, pair), range(3)):
                _require(value == first, f"{kind} clusterings give {value} after {first}")


# -- what it refuses ------------------------------------------------------------------------------


@measure_check
def check_different_rows(entry: Measure) -> None:
    message = _expect(entry, ValueError, np.zeros(4, int), np.zeros(5, int))
    _require("4" in message and "5" in message, f"name both numbers of rows, not: {message}")
    a, b = example_pair("axis")
    message = _expect(entry, ValueError, a, b.embed(shape=(13, 5)))
    _require("restrict" in message, f"offer restrict or embed, not: {message}")
    names = [f"row {i}" for i in range(12)]
    _expect(entry, ValueError, a.with_names(row_names=names), b.with_names(row_names=names[::-1]))


@measure_check
def check_different_features(entry: Measure) -> None:
    if entry.on == "rows":
        return
    a, b = example_pair("axis")
    message = _expect(entry, ValueError, a, b.embed(shape=(12, 6)))
    _require("restrict" in message, f"offer restrict or embed, not: {message}")
    named = a.with_names(feature_names="abcde"), b.with_names(feature_names="abcdf")
    message = _expect(entry, ValueError, *named)
    _require("'e'" in message and "'f'" in message, f"name the features, not: {message}")


@measure_check
def check_empty_clusterings(entry: Measure) -> None:
    noise, labels = np.full(4, -1), np.array([0, 0, 1, 1])
    for pair in ((noise, labels), (labels, noise), (noise, noise)):
        try:
            value = entry.function(*pair)
        except ValueError as error:
            _require("empty" in str(error), f"say that the clustering is empty, not: {error}")
        else:
            inside = entry.on == "rows" and entry.low <= value <= entry.high
            _require(inside, f"{value} for a clustering in which every row is noise")


@measure_check
def check_what_is_no_clustering(entry: Measure) -> None:
    labels = [0, 1, 1]
    for wrong in (3, [[0, 1, 1]], [0.5, 1, 1], [float("nan"), 1, 1], [], np.eye(3)):
        _expect(entry, (ValueError, TypeError), wrong, labels)
        _expect(entry, (ValueError, TypeError), labels, wrong)
    _expect(entry, (ValueError, TypeError), None, labels)


@measure_check
def check_unknown_options(entry: Measure) -> None:
    try:
        entry.function([0, 1], [0, 1], no_such_option=True)
    except TypeError:
        return
    raise AssertionError("an unknown option is ignored")
