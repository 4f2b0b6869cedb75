"""Checks that every consensus method passes: answers to bad ensembles and odd tables."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning
from subscape.core.types import FloatArray, IntArray

from .finders import example_table, fixed_seed, require, same
from .parameters import check_refused

Check = Callable[[Any], None]

#: Name -> check; filled by the decorator below.
CONSENSUS_CHECKS: dict[str, Check] = {}


#: Features in which each of the three groups of the example table is tight.
MASKS = np.array([[0 <= j - k < 3 for j in range(6)] for k in range(3)])


def consensus_check(function: Check) -> Check:
    """Add a check to the suite."""
    CONSENSUS_CHECKS[function.__name__.removeprefix("check_")] = function
    return function


def check_consensus(method: Any) -> None:
    """Run all checks on a consensus method (an estimator with ``fit(ensemble, X)``).

    Parameters
    ----------
    method : estimator
        It is cloned for every check.

    Raises
    ------
    AssertionError
        Naming the check and what was wrong.

    See Also
    --------
    check_finder : The same for finders.
    check_measure : The same for measures.
    """
    for name, check in CONSENSUS_CHECKS.items():
        try:
            check(clone(method))
        except Exception as error:
            raise AssertionError(
                f"{type(method).__name__} fails the check {name!r}: {error}"
            ) from error


def example_members(kind: str = "axis") -> list[SubspaceClustering]:
    """Four clusterings of :func:`example_table` that nearly agree, each cluster in its features."""
    return [_member(_labels(seed), kind) for seed in range(4)]


def _labels(seed: int) -> IntArray:
    labels = np.arange(90) % 3
    rng = np.random.default_rng(seed)
    labels[rng.choice(90, 4, replace=False)] = rng.integers(0, 3, 4)
    return labels


def _member(labels: IntArray, kind: str) -> SubspaceClustering:
    if kind == "oriented":
        bases = [np.eye(6)[:, mask] for mask in MASKS]
        return SubspaceClustering.from_labels(labels, bases=bases)
    return SubspaceClustering.from_labels(labels, masks=MASKS)


def merged(method: Any, members: Any, X: Any = None, **parameters: Any) -> Any:
    """A clone fitted with a fixed seed; lost clusters and budgets may be warned about."""
    method = clone(method).set_params(**fixed_seed(method), **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DroppedClusterWarning)
        return method.fit(members, X)


def _expect(error: Any, method: Any, members: Any, X: Any = None) -> str:
    try:
        merged(method, members, X)
    except error as caught:
        if len(str(caught)) < 20:
            raise AssertionError(f"the message is too short to help: {caught}") from None
        return str(caught)
    raise AssertionError("no error was raised")


# -- what is no ensemble --------------------------------------------------------------------------


@consensus_check
def check_no_ensemble(method: Any) -> None:
    X = example_table()
    _expect(ValueError, method, [], X)
    for given in (None, 3, "abc"):
        message = _expect(TypeError, method, given, X)
        require("list of clusterings" in message, f"say what an ensemble is: {message}")
    message = _expect(TypeError, method, _labels(0), X)
    require("list" in message, f"say that one label vector is put into a list: {message}")


@consensus_check
def check_members_of_other_tables(method: Any) -> None:
    members, X = example_members(), example_table()
    message = _expect(ValueError, method, [*members, _labels(0)[:-1]], X)
    require("90" in message and "89" in message, f"name both numbers of rows: {message}")
    wide = SubspaceClustering.from_labels(_labels(0), n_features=7)
    message = _expect(ValueError, method, [*members, wide], X)
    require("6" in message and "7" in message, f"name both numbers of features: {message}")


@consensus_check
def check_more_clusters_than_rows(method: Any) -> None:
    method.set_params(n_clusters=8)
    message = _expect(ValueError, method, [[0, 1, 2, 0, 1], [0, 1, 1, 0, 2]], np.eye(5))
    require("8" in message and "5" in message, f"name both numbers, not: {message}")


@consensus_check
def check_parameters_out_of_range(method: Any) -> None:
    check_refused(method, example_members(), example_table())


# -- what is no table -----------------------------------------------------------------------------


@consensus_check
def check_no_rows_columns_or_table(method: Any) -> None:
    members = example_members()
    for X in (np.empty((0, 6)), np.empty((90, 0)), example_table()[:-1], example_table()[:, :-1]):
        _expect(ValueError, method, members, X)
    require("2D" in _expect(ValueError, method, members, np.arange(90.0)), "1-D: say 2D array")


@consensus_check
def check_infinite_and_missing(method: Any) -> None:
    members, X = example_members(), example_table()
    X[3, 2] = X[4, 2] = np.inf
    message = _expect(ValueError, method, members, X)
    require("2 values" in message and "column 2" in message, f"count and place, not: {message}")
    X[3, 2] = X[4, 2] = np.nan
    message = _expect(ValueError, method, members, X)
    require("2 values" in message and "impute" in message, f"say how to impute: {message}")


@consensus_check
def check_text_complex_and_sparse(method: Any) -> None:
    members, X = example_members(), example_table().astype(object)
    X[:, 1] = "red"
    message = _expect((ValueError, TypeError), method, members, X)
    require("column 1" in message, f"name the text column: {message}")
    _expect((ValueError, TypeError), method, members, example_table() + 1j)
    message = _expect((ValueError, TypeError), method, members, sparse.csr_array(example_table()))
    require("sparse" in message, f"say that sparse input is not taken: {message}")


@consensus_check
def check_a_missing_table(method: Any) -> None:
    try:
        found = merged(method, example_members())
    except ValueError as error:
        require("fit(ensemble, X)" in str(error), f"say how to pass the table: {error}")
    else:
        require(found.labels_.shape == (90,), "labels_ must be 1-D, one per row")


@consensus_check
def check_oriented_members(method: Any) -> None:
    """They vote on rows; who needs more asks for the table, or says who can do without."""
    for X in (None, example_table()):
        try:
            found = merged(method, example_members("oriented"), X)
        except (ValueError, TypeError) as error:
            require("fit(ensemble, X)" in str(error) or "oriented" in str(error), str(error))
        else:
            require(found.labels_.shape == (90,), "labels_ must be 1-D, one per row")


# -- results --------------------------------------------------------------------------------------


@consensus_check
def check_result(method: Any) -> None:
    X = example_table()
    found = merged(method, example_members(), X)
    require(isinstance(found.clustering_, SubspaceClustering), "clustering_ is no clustering")
    require(found.clustering_.shape == X.shape, f"clustering_ is over {found.clustering_.shape}")
    require(found.labels_.shape == (90,) and found.labels_.dtype.kind == "i", "integer labels")
    same(found.labels_, found.clustering_.labels(), "labels_ and clustering_.labels()")
    require(found.n_iter_ >= 1, "n_iter_ must be at least 1")
    told = found.clustering_.provenance
    require(told["algorithm"] == type(method).__name__, "provenance names the method")
    require(told["members"] == 4, "provenance numbers the members")


@consensus_check
def check_members_that_agree(method: Any) -> None:
    member = _member(np.arange(90) % 3, "axis")
    for members in ([member], [member] * 3):
        found = merged(method, members, example_table(), n_clusters=3)
        groups = set(zip(found.labels_.tolist(), member.labels().tolist(), strict=True))
        parts = {label for label, _ in groups}
        are_kept = len(groups) == len(parts) == 3
        require(are_kept, f"{len(members)} equal members are not what comes out")


@consensus_check
def check_one_row_one_cluster(method: Any) -> None:
    found = merged(method, [[0], [0]], np.array([[1.0, 2.0, 3.0]]), n_clusters=1)
    require(found.labels_.tolist() == [0], "a single row is a cluster")


@consensus_check
def check_everything_is_noise(method: Any) -> None:
    members = [np.where(np.arange(90) == i, 0, -1) for i in range(5)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = clone(method).fit(members, example_table())
    require((found.labels_ == -1).all(), "rows that most members leave out are noise")
    require(found.clustering_.n_clusters == 0, "there is no cluster")
    require(any(w.category is DroppedClusterWarning for w in caught), "warn about it")


@consensus_check
def check_overlaps_and_shares(method: Any) -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 90).T
    soft = SubspaceClustering(shares, MASKS)
    overlapping = SubspaceClustering(shares > 0.2, MASKS)
    found = merged(method, [soft, overlapping, *example_members()], example_table())
    require(found.labels_.shape == (90,), "members may be soft, and clusters may share rows")


# -- odd tables, memory, order, parallel runs ------------------------------------------------------


@consensus_check
def check_constant_column(method: Any) -> None:
    X = example_table()
    X[:, 4] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        merged(method, example_members(), X)
        merged(method, example_members(), np.ones_like(X))


@consensus_check
def check_extreme_scales(method: Any) -> None:
    X, members = example_table(), example_members()
    plain = merged(method, members, X).labels_
    for scale in (1e200, 1e-200):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                scaled = merged(method, members, X * scale).labels_
        except ValueError as error:
            require("scale" in str(error), f"say how to rescale: {error}")
        else:
            same(scaled, plain, f"values times {scale:g}")


@consensus_check
def check_memory_layouts(method: Any) -> None:
    X, members = np.round(example_table() * 64) / 64, example_members()
    plain = merged(method, members, X).labels_
    for what, table in _layouts(X):
        same(merged(method, members, table).labels_, plain, what)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.npy")
        np.save(path, X)
        mapped = np.load(path, mmap_mode="r")
        same(merged(method, members, mapped).labels_, plain, "memory-mapped input")
        del mapped
    whole = np.round(X).astype(np.int64)
    same(merged(method, members, whole).labels_,
          merged(method, members, whole.astype(float)).labels_, "integers")  # fmt: skip
    before = X.copy()
    merged(method, members, X)
    require(np.array_equal(X, before), "fit changed its table")


def _layouts(X: FloatArray) -> list[tuple[str, Any]]:
    frozen = X.copy()
    frozen.flags.writeable = False
    return [
        ("read-only input", frozen),
        ("Fortran order", np.asfortranarray(X)),
        ("strided input", np.repeat(X, 2, axis=1)[:, ::2]),
        ("objects that are numbers", X.astype(object)),
        ("float32", X.astype(np.float32)),
    ]


@consensus_check
def check_same_bits(method: Any) -> None:
    X, members = example_table(), example_members()
    first = merged(method, members, X).clustering_
    require(merged(method, members, X).clustering_ == first, "two fits with one seed differ")
    if "n_jobs" in method.get_params():
        for n_jobs in (1, 2):
            again = merged(method, members, X, n_jobs=n_jobs).clustering_
            require(again == first, f"n_jobs={n_jobs} changes the result")
    copies = [clone(method).set_params(**fixed_seed(method)) for _ in range(3)]
    with warnings.catch_warnings(), ThreadPoolExecutor(3) as pool:
        warnings.simplefilter("ignore")
        for done in pool.map(lambda copy: copy.fit(members, X), copies):
            require(done.clustering_ == first, "fits in threads differ")


@consensus_check
def check_names(method: Any) -> None:
    pandas = __import__("pandas")
    frame = pandas.DataFrame(example_table(), columns=list("abcdef"))
    members = [member.with_names(feature_names=list("abcdef")) for member in example_members()]
    found = merged(method, members, frame)
    require(found.clustering_.feature_names == tuple("abcdef"), "keep the column names")
    message = _expect(ValueError, method, members, frame[list("badcef")])
    require("another order" in message, f"say that the order is another: {message}")


@consensus_check
def check_budget_and_progress(method: Any) -> None:
    known = method.get_params()
    if "max_time" in known:
        found = merged(method, example_members(), example_table(), max_time=1e-9)
        require(found.labels_.shape == (90,), "a cut search must still give its best so far")
    if "progress" in known:
        steps: list[Any] = []
        merged(method, example_members(), example_table(), progress=steps.append)
        require(len(steps) > 0, "progress was never called")
        require(all(s.algorithm == type(method).__name__ for s in steps), "steps name the method")
