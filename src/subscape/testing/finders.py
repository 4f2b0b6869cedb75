"""Checks that every finder passes: what bad input and odd tables are answered with.

>>> from sklearn.utils.estimator_checks import parametrize_with_checks

runs scikit-learn's own checks; :func:`check_finder` runs ours, on top of them.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, FewDistinctRowsWarning, SharedFlatWarning
from subscape.core.types import FloatArray

from .parameters import check_refused

Check = Callable[[Any], None]

#: Parameters that number features: there can't be more of them than the table has.
FEATURE_COUNTS = ("avg_dims", "subspace_dim", "flat_dim", "enough_dims")

#: Name -> check; filled by the decorator below, in the order of the cases.
FINDER_CHECKS: dict[str, Check] = {}


def finder_check(function: Check) -> Check:
    """Add a check to the suite."""
    FINDER_CHECKS[function.__name__.removeprefix("check_")] = function
    return function


def check_finder(finder: Any) -> None:
    """Run all checks on a finder (an estimator with ``clustering_`` and ``labels_``).

    Parameters
    ----------
    finder : estimator
        It is cloned for every check.

    Raises
    ------
    AssertionError
        Naming the check and what was wrong.

    See Also
    --------
    check_consensus : The same for consensus methods.
    check_measure : The same for measures.
    """
    for name, check in FINDER_CHECKS.items():
        try:
            check(clone(finder))
        except Exception as error:
            raise AssertionError(
                f"{type(finder).__name__} fails the check {name!r}: {error}"
            ) from error


def example_table(n_rows: int = 90, n_features: int = 6) -> FloatArray:
    """Three well separated groups of positive values, each tight in half of the features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 9, size=(n_rows, n_features))
    half = n_features // 2
    for k in range(3):
        rows = np.arange(k, n_rows, 3)
        features = (np.arange(half) + k) % n_features
        X[np.ix_(rows, features)] = 2 + 3 * k + rng.normal(scale=0.05, size=(len(rows), half))
    return X


#: Parameters that say how much work is done; the checks are about answers, not about quality.
BRIEF = {"n_init": 2, "n_repeats": 2, "n_base": 20, "n_escapes": 0, "population": 4}


def brief(finder: Any) -> Any:
    """The finder with less work than by default.

    >>> from subscape.finders import CondEns
    >>> brief(CondEns())
    CondEns(n_init=2, n_repeats=2)
    """
    known = finder.get_params()
    if "n_swaps" in known:
        return finder.set_params(n_swaps=1)
    return finder.set_params(**{name: BRIEF[name] for name in BRIEF if name in known})


def fitted(finder: Any, X: Any, given: Any = None, **parameters: Any) -> Any:
    """A clone fitted to ``X``, with a fixed seed; budgets and lost clusters may be warned about."""
    finder = clone(finder).set_params(**fixed_seed(finder), **parameters)
    known = {} if given is None else {"given": given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DroppedClusterWarning)
        warnings.simplefilter("ignore", SharedFlatWarning)
        return finder.fit(X, **known)


def fixed_seed(finder: Any) -> dict[str, Any]:
    return {"random_state": 0} if "random_state" in finder.get_params() else {}


def _expect(
    error: type[Exception] | tuple[type[Exception], ...], finder: Any, X: Any, **known: Any
) -> str:
    try:
        clone(finder).fit(X, **known)
    except error as caught:
        if len(str(caught)) < 20:
            raise AssertionError(f"the message is too short to help: {caught}") from None
        return str(caught)
    raise AssertionError("no error was raised")


def same(a: NDArray[Any], b: NDArray[Any], what: str) -> None:
    if not np.array_equal(a, b):
        differing = int((np.asarray(a) != np.asarray(b)).sum())
        raise AssertionError(f"{what}: {differing} of {len(a)} labels differ")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


# -- cases 1-8: what is no table ------------------------------------------------------------------


@finder_check
def check_no_rows_columns_or_table(finder: Any) -> None:
    _expect(ValueError, finder, np.empty((0, 3)))
    _expect(ValueError, finder, np.empty((3, 0)))
    require("2D" in _expect(ValueError, finder, np.arange(5.0)), "1-D input: say 2D array")


@finder_check
def check_more_clusters_than_rows(finder: Any) -> None:
    wanted = finder.get_params().get("n_clusters")
    if not isinstance(wanted, int):
        return
    finder.set_params(n_clusters=8)
    message = _expect(ValueError, finder, example_table()[:5])
    require("8" in message and "5" in message, f"name both numbers, not: {message}")


@finder_check
def check_infinite_and_missing(finder: Any) -> None:
    X = example_table()
    X[3, 2] = X[4, 2] = np.inf
    message = _expect(ValueError, finder, X)
    require("2 values" in message and "column 2" in message, f"count and place, not: {message}")
    X[3, 2] = X[4, 2] = np.nan
    if getattr(finder, "_accepts_missing", False):
        fitted(finder, X)
        return
    message = _expect(ValueError, finder, X)
    require("2 values" in message and "impute" in message, f"say how to impute: {message}")


@finder_check
def check_text_and_complex(finder: Any) -> None:
    X = example_table().astype(object)
    X[:, 1] = "red"
    require("column 1" in _expect((ValueError, TypeError), finder, X), "name the text column")
    _expect((ValueError, TypeError), finder, example_table() + 1j)


@finder_check
def check_sparse(finder: Any) -> None:
    from scipy import sparse

    X = sparse.csr_array(example_table())
    if getattr(finder, "_accepts_sparse", False):
        same(fitted(finder, X).labels_, fitted(finder, X.toarray()).labels_, "sparse and dense")
        return
    message = _expect((ValueError, TypeError), finder, X)
    require("sparse" in message, f"say that sparse input is not taken: {message}")


# -- cases 9-12: shapes and parameters ------------------------------------------------------------


@finder_check
def check_result(finder: Any) -> None:
    X = example_table()
    finder = fitted(finder, X)
    found = finder.clustering_
    require(isinstance(found, SubspaceClustering), "clustering_ must be a SubspaceClustering")
    require(found.shape == X.shape, f"clustering_ is over {found.shape}, the table {X.shape}")
    require(finder.labels_.shape == (len(X),), "labels_ must be 1-D, one per row")
    require(finder.labels_.dtype.kind == "i", "labels_ must be integers")
    same(finder.labels_, found.labels(), "labels_ and clustering_.labels()")
    require(finder.n_iter_ >= 1, "n_iter_ must be at least 1")
    require(found.provenance["algorithm"] == type(finder).__name__, "provenance names the finder")


@finder_check
def check_predict_refuses_other_columns(finder: Any) -> None:
    if not hasattr(finder, "predict"):
        return
    X = example_table()
    finder = fitted(finder, X)
    require(finder.predict(X).shape == (len(X),), "predict gives one label per row")
    try:
        finder.predict(X[:, :-1])
    except ValueError:
        return
    raise AssertionError("predict accepts a table with another number of columns")


@finder_check
def check_parameters_out_of_range(finder: Any) -> None:
    X = example_table()
    check_refused(finder, X)
    before = finder.get_params()
    for name in [name for name in FEATURE_COUNTS if name in before]:
        finder.set_params(**{name: X.shape[1] + 1})
        message = _expect(ValueError, finder, X)
        require(name in message, f"name {name}, which is more than the features: {message}")
        finder.set_params(**{name: before[name]})


@finder_check
def check_given_clusterings(finder: Any) -> None:
    """What is known is of the same rows, and has clusters to differ from."""
    if "given" not in inspect.signature(finder.fit).parameters:
        return
    X = example_table()
    known = np.arange(len(X)) % 3
    for given, word in (
        (known[:-1], "89 rows"), (np.zeros(len(X), int), "1 cluster"), ([], "empty"),
        (np.full(len(X), -1), "0 clusters"), ([known, known[:-1]], "given clustering 1"),
    ):  # fmt: skip
        message = _expect(ValueError, finder, X, given=given)
        require(word in message, f"say {word!r}, not: {message}")
    given = known.copy()
    given[::7] = -1
    before = given.copy()
    found = fitted(finder, X, given=given)
    require(found.labels_.shape == (len(X),), "rows in no known cluster are rows all the same")
    require(np.array_equal(given, before), "fit changed what was given")


@finder_check
def check_one_row_one_cluster(finder: Any) -> None:
    if isinstance(finder.get_params().get("n_clusters"), (int, tuple)):
        finder.set_params(n_clusters=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder = fitted(finder, np.array([[1.0, 2.0, 3.0]]))
    require(finder.labels_.shape == (1,), "a single row must get a label")


# -- cases 13-18: degenerate and extreme tables ---------------------------------------------------


@finder_check
def check_constant_column(finder: Any) -> None:
    X = example_table()
    X[:, 4] = 7.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fitted(finder, X).clustering_
    if not getattr(finder, "_drops_constant", True):
        return
    require(not found.subspaces.relevance[:, 4].any(), "a constant column counts as relevant")
    told = [w for w in caught if "constant" in str(w.message)]
    require(len(told) == 1, f"warn once about the constant column, not {len(told)} times")


@finder_check
def check_identical_rows(finder: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        finder = fitted(finder, np.tile([1.0, 2.0, 3.0, 4.0], (30, 1)))
    if not getattr(finder, "_drops_constant", True):
        return
    require(set(finder.labels_) == {0}, "identical rows must form one cluster")
    require(any(w.category is FewDistinctRowsWarning for w in caught), "warn about it")


@finder_check
def check_few_distinct_rows(finder: Any) -> None:
    X = np.repeat([[1.0, 5.0, 2.0], [8.0, 1.0, 6.0]], 15, axis=0)
    if isinstance(finder.get_params().get("n_clusters"), int):
        finder.set_params(n_clusters=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(finder, X)
    one, other = set(found.labels_[:15].tolist()), set(found.labels_[15:].tolist())
    require(len(one) == len(other) == 1, "equal rows must get equal labels")
    # Alternatives differ from what is known, which may be just these two.
    if "given" not in inspect.signature(finder.fit).parameters:
        require(one != other or one == {-1}, "two distinct rows must not be one cluster")


@finder_check
def check_extreme_scales(finder: Any) -> None:
    X = example_table()
    plain = fitted(finder, X).labels_
    for scale in (1e200, 1e-200):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                scaled = fitted(finder, X * scale).labels_
        except ValueError as error:
            require("scale" in str(error), f"say how to rescale: {error}")
        else:
            same(scaled, plain, f"values times {scale:g}")


@finder_check
def check_float32(finder: Any) -> None:
    X = np.round(example_table() * 64) / 64  # exact in float32, with and without the offset
    plain = fitted(finder, X).labels_
    same(fitted(finder, X.astype(np.float32)).labels_, plain, "float32")
    if getattr(finder, "_centred", True):
        offset = 2.0**15
        moved = fitted(finder, (X + offset).astype(np.float32)).labels_
        same(moved, fitted(finder, X + offset).labels_, "float32 with a large offset")
        same(moved, plain, "a large offset")


# -- cases 19-26: memory, order, parallel runs -----------------------------------------------------


@finder_check
def check_memory_layouts(finder: Any) -> None:
    X = example_table()
    plain = fitted(finder, X).labels_
    frozen = X.copy()
    frozen.flags.writeable = False
    same(fitted(finder, frozen).labels_, plain, "read-only input")
    same(fitted(finder, np.asfortranarray(X)).labels_, plain, "Fortran order")
    wide = np.repeat(X, 2, axis=1)
    same(fitted(finder, wide[:, ::2]).labels_, plain, "strided input")
    same(fitted(finder, X.astype(object)).labels_, plain, "objects that are numbers")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.npy")
        np.save(path, X)
        mapped = np.load(path, mmap_mode="r")
        same(fitted(finder, mapped).labels_, plain, "memory-mapped input")
        del mapped
    before = X.copy()
    fitted(finder, X)
    require(np.array_equal(X, before), "fit changed its input")


@finder_check
def check_integers_and_booleans(finder: Any) -> None:
    X = np.round(example_table() * 10).astype(np.int64)
    same(fitted(finder, X).labels_, fitted(finder, X.astype(float)).labels_, "integers")
    fitted(finder, np.random.default_rng(0).random((40, 5)) < 0.5)


@finder_check
def check_same_bits_for_any_n_jobs(finder: Any) -> None:
    X = example_table()
    first = fitted(finder, X).clustering_
    require(fitted(finder, X).clustering_ == first, "two fits with one seed differ")
    if "n_jobs" in finder.get_params():
        for n_jobs in (1, 2):
            again = fitted(finder, X, n_jobs=n_jobs).clustering_
            require(again == first, f"n_jobs={n_jobs} changes the result")


@finder_check
def check_fits_in_threads(finder: Any) -> None:
    X = example_table()
    first = fitted(finder, X).labels_
    copies = [clone(finder).set_params(**fixed_seed(finder)) for _ in range(3)]
    # Filters are shared by all threads, so they are set once, around them.
    with warnings.catch_warnings(), ThreadPoolExecutor(3) as pool:
        warnings.simplefilter("ignore")
        for done in pool.map(lambda copy: copy.fit(X), copies):
            same(done.labels_, first, "fits in threads")


@finder_check
def check_feature_names(finder: Any) -> None:
    pandas = __import__("pandas")
    frame = pandas.DataFrame(example_table(), columns=list("abcdef"))
    found = fitted(finder, frame)
    require(found.clustering_.feature_names == tuple("abcdef"), "keep the column names")


@finder_check
def check_budget(finder: Any) -> None:
    if "max_time" not in finder.get_params():
        return
    finder = fitted(finder, example_table(), max_time=1e-9)
    require(finder.labels_.shape == (90,), "a cut search must still give its best so far")


@finder_check
def check_progress(finder: Any) -> None:
    if "progress" not in finder.get_params():
        return
    steps: list[Any] = []
    fitted(finder, example_table(), progress=steps.append)
    require(len(steps) > 0, "progress was never called")
    require(all(s.algorithm == type(finder).__name__ for s in steps), "steps name the finder")


@finder_check
def check_wide_table(finder: Any) -> None:
    """Case 24: 50 x 20,000; slow finders are asked for the shape only."""
    if not getattr(finder, "_handles_wide_tables", True):
        return
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(10, 1, size=(30, 4000))
    X[:15, :40] += 8
    parameters = {"max_time": 10.0} if "max_time" in finder.get_params() else {}
    tracemalloc.start()
    try:
        fitted(finder, X, **parameters)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    require(peak < 100e6, f"{peak / 1e6:.0f} MB for 30 x 4000: a (p, p) array has 128 MB")
