"""The check suite for finders: each fault of a finder is found by the check that is about it."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import FewDistinctRowsWarning
from subscape.finders import LAC, PROCLUS, ResidualKMeans
from subscape.testing.finders import FINDER_CHECKS, brief, example_table, fixed_seed, same
from subscape.testing.parameters import Odd, refused_values


def faulty(fit, base=LAC, **own):
    """A finder whose ``fit(self, X, whole, **known)`` is another; ``whole`` is the right one."""

    class Faulty(base):
        def fit(self, X, y=None, **known):
            fit(self, X, super().fit, **known)
            return self

    class FaultyOther(base):
        def fit(self, X, given=None):
            fit(self, X, super().fit, given=given)
            return self

    if base is ResidualKMeans:
        return FaultyOther(n_init=1)
    for name, value in own.items():
        setattr(Faulty, name, value)
    return Faulty(n_clusters=3, n_init=1)


def whole(self, X, fit, **known):
    fit(X, **known)


def says(message, error=ValueError):
    """A fit that answers every table that is refused with one sentence."""

    def fit(self, X, whole, **known):
        try:
            whole(X, **known)
        except (ValueError, TypeError):
            raise error(message) from None

    return fit


def accepts(refused):
    """A fit that takes tables which it should refuse."""

    def fit(self, X, whole, **known):
        whole(example_table() if refused(X) else X, **known)

    return fit


def with_labels(when, turned):
    """A fit that changes the labels of some tables."""

    def fit(self, X, whole, **known):
        whole(X, **known)
        if when(np.asarray(X) if not sparse.issparse(X) else X):
            self.labels_ = turned(self.labels_)

    return fit


def after(change):
    """A fit after which something is changed."""

    def fit(self, X, whole, **known):
        whole(X, **known)
        change(self)

    return fit


def in_the_middle(labels):
    labels = labels.copy()
    labels[len(labels) // 2] += 1
    return labels


LONG = "this is refused, for reasons that nobody names"


def shape_of(X):
    return np.shape(X) if not sparse.issparse(X) else X.shape


def made_by_another(clustering):
    told = dict(clustering.provenance) | {"algorithm": "another"}
    return SubspaceClustering(clustering.memberships, clustering.subspaces, provenance=told)


def set_attribute(name, value):
    return after(lambda self: setattr(self, name, value(getattr(self, name))))


class Repeating:
    """A fit that gives another result every time."""

    def __init__(self):
        self.times = 0

    def __call__(self, self_, X, whole):
        self.times += 1
        whole(X)
        if self.times % 2 == 0:
            self_.clustering_ = self_.clustering_.select([0, 1])
            self_.labels_ = in_the_middle(self_.labels_)


def other_where(condition):
    """Labels are otherwise where a condition on the finder and the table holds."""

    def fit(self, X, whole, **known):
        whole(X, **known)
        if condition(self, X):
            self.clustering_ = self.clustering_.select([0, 1])
            self.labels_ = in_the_middle(self.labels_)

    return fit


def greedy(self, X, whole):
    """Changes what it was given."""
    whole(X)
    if isinstance(X, np.ndarray) and X.flags.writeable and X.dtype == float:
        X[0, 0] += 1.0


def noisy(self, X, whole):
    """Divides by zero where values are tiny."""
    if np.abs(np.asarray(X, dtype=float)).max() < 1e-100:
        np.float64(1.0) / np.float64(0.0)
    whole(X)


def wide_matrix(self, X, whole):
    whole(X)
    if X.shape[1] == 4000:
        np.ones((X.shape[1], X.shape[1]))


def twice_told(self, X, whole):
    whole(X)
    if (np.ptp(np.asarray(X, float), axis=0) == 0).any():
        warnings.warn("a column is constant", UserWarning, stacklevel=2)


def untold(self, X, whole):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole(X)


def kept(fit):
    """A fit that leaves constants out all the same, whatever the finder says of them."""

    def wrapped(self, X, whole):
        self._drops_constant = True
        fit(self, X, whole)
        del self._drops_constant

    return wrapped


def few_untold(self, X, whole):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewDistinctRowsWarning)
        whole(X)


def relevant_everywhere(self, X, whole):
    whole(X)
    masks = np.ones(self.clustering_.subspaces.relevance.shape, bool)
    self.clustering_ = type(self.clustering_)(self.clustering_.memberships, masks)


def silent_progress(self, X, whole):
    self.set_params(progress=None)
    whole(X)


def strange_progress(self, X, whole):
    told = self.progress
    if told is not None:
        self.set_params(progress=lambda step: told(step._replace(algorithm="another")))
    whole(X)


def counted(times):
    """A fit that is right for so many times, then wrong."""
    seen = []

    def fit(self, X, whole):
        whole(X)
        seen.append(1)
        if len(seen) > times:
            self.labels_ = in_the_middle(self.labels_)

    return fit


def at_any_scale(wrong):
    """A fit that takes every scale, and finds something else at some."""

    def fit(self, X, whole):
        whole(np.asarray(X) / scale_of(X))
        if wrong(scale_of(X)):
            self.labels_ = in_the_middle(self.labels_)

    return fit


def no_rows(X):
    return shape_of(X) == (0, 3)


def no_columns(X):
    return shape_of(X) == (3, 0)


def is_sparse(X):
    return sparse.issparse(X)


def scale_of(X):
    return float(np.abs(np.asarray(X, dtype=float)).max())


def dense(self, X, whole):
    whole(X.toarray() if sparse.issparse(X) else X)


def dense_but_one(self, X, whole):
    whole(X.toarray() if sparse.issparse(X) else X)
    if sparse.issparse(X):
        self.labels_ = in_the_middle(self.labels_)


def two_mixed(self, X, whole):
    whole(X)
    if len(X) == 30 and len(np.unique(X, axis=0)) == 2:
        self.labels_ = np.zeros(30, int)


def halves(self, X, whole):
    whole(X)
    if len(X) == 30 and len(np.unique(X, axis=0)) == 2:
        self.labels_ = np.arange(30) % 2


def narrow(self, X):
    return self.labels_[:-1]


def any_columns(self, X):
    return np.zeros(len(X), int)


FAULTS = [
    ("no_rows_columns_or_table", faulty(says("no", ValueError)), "too short to help: no$"),
    ("no_rows_columns_or_table", faulty(says("x" * 19)), "too short"),
    ("no_rows_columns_or_table", faulty(says("x" * 20)), "say 2D array"),
    ("no_rows_columns_or_table", faulty(accepts(no_rows)), "no error was raised"),
    ("no_rows_columns_or_table", faulty(accepts(no_columns)), "no error was raised"),
    ("no_rows_columns_or_table", faulty(accepts(lambda X: np.ndim(X) == 1)), "no error"),
    ("more_clusters_than_rows", faulty(says(LONG + " 8")), "name both numbers, not"),
    ("more_clusters_than_rows", faulty(says(LONG + " 5")), "name both numbers, not"),
    ("more_clusters_than_rows", faulty(accepts(lambda X: len(X) == 5)), "no error"),
    ("infinite_and_missing", faulty(says(LONG + " 2 values")), "count and place, not"),
    ("infinite_and_missing", faulty(says(LONG + " column 2")), "count and place, not"),
    ("infinite_and_missing", faulty(says("2 values in column 2")), "say how to impute"),
    ("infinite_and_missing", faulty(accepts(lambda X: np.isinf(X).any())), "no error"),
    ("infinite_and_missing", faulty(accepts(lambda X: np.isnan(X).any())), "no error"),
    ("text_and_complex", faulty(says(LONG)), "name the text column"),
    ("text_and_complex", faulty(accepts(np.iscomplexobj)), "no error was raised"),
    ("text_and_complex", faulty(accepts(lambda X: X.dtype == object)), "no error was raised"),
    ("sparse", faulty(says(LONG, TypeError)), "say that sparse input is not taken"),
    ("sparse", faulty(dense), "no error was raised"),
    ("sparse", faulty(dense_but_one, _accepts_sparse=True), "sparse and dense: 1 of 90 labels"),
    ("result", faulty(set_attribute("clustering_", str)), "must be a SubspaceClustering"),
    ("result", faulty(set_attribute("clustering_", lambda c: c.embed(shape=(90, 7)))),
     r"clustering_ is over \(90, 7\), the table \(90, 6\)"),
    ("result", faulty(set_attribute("labels_", lambda v: v[:, None])), "1-D, one per row"),
    ("result", faulty(set_attribute("labels_", lambda v: v[1:])), "1-D, one per row"),
    ("result", faulty(set_attribute("labels_", lambda v: v * 1.0)), "must be integers"),
    ("result", faulty(set_attribute("labels_", in_the_middle)), "1 of 90 labels differ"),
    ("result", faulty(set_attribute("n_iter_", lambda n: 0)), "n_iter_ must be at least 1"),
    ("result", faulty(set_attribute("clustering_", made_by_another)),
     "provenance names the finder"),
    ("predict_refuses_other_columns", faulty(whole, predict=narrow), "one label per row"),
    ("predict_refuses_other_columns", faulty(whole, predict=any_columns), "predict accepts"),
    ("parameters_out_of_range", faulty(says(LONG), PROCLUS), "name the parameter, not"),
    ("one_row_one_cluster", faulty(set_attribute("labels_", lambda v: np.append(v, 0))),
     "a single row must get a label"),
    ("constant_column", faulty(twice_told), "warn once about the constant column, not 2 times"),
    ("constant_column", faulty(untold), "warn once about the constant column, not 0 times"),
    ("constant_column", faulty(relevant_everywhere), "counts as relevant"),
    ("identical_rows", faulty(set_attribute("labels_", lambda v: np.arange(len(v)) % 2)),
     "must form one cluster"),
    ("identical_rows", faulty(set_attribute("labels_", lambda v: v - 1)), "must form one cluster"),
    ("identical_rows", faulty(few_untold), "warn about it"),
    ("few_distinct_rows", faulty(two_mixed), "two distinct rows must not be one cluster"),
    ("few_distinct_rows", faulty(halves), "equal rows must get equal labels"),
    ("extreme_scales", faulty(at_any_scale(lambda scale: scale > 1e9)),
     r"values times 1e\+200: 1 of 90"),
    ("extreme_scales", faulty(at_any_scale(lambda scale: scale < 1e-9)),
     "values times 1e-200: 1 of 90"),
    ("extreme_scales", faulty(noisy), "divide by zero"),
    ("float32", faulty(with_labels(lambda X: X.dtype == np.float32 and scale_of(X) < 99,
                                   in_the_middle)), "^float32: 1 of 90 labels"),
    ("float32", faulty(with_labels(lambda X: X.dtype == np.float32 and scale_of(X) > 99,
                                   in_the_middle)), "float32 with a large offset: 1 of 90"),
    ("float32", faulty(with_labels(lambda X: scale_of(X) > 2**15, in_the_middle)),
     "a large offset: 1 of 90"),
    ("memory_layouts", faulty(with_labels(lambda X: not X.flags.writeable
                                          and X.base is None, in_the_middle)), "read-only input"),
    ("memory_layouts", faulty(with_labels(lambda X: X.flags.f_contiguous, in_the_middle)),
     "Fortran order"),
    ("memory_layouts", faulty(with_labels(lambda X: not X.flags.forc, in_the_middle)), "strided"),
    ("memory_layouts", faulty(with_labels(lambda X: X.dtype == object, in_the_middle)), "objects"),
    ("memory_layouts", faulty(other_where(lambda self, X: isinstance(X, np.memmap))),
     "memory-mapped input"),
    ("memory_layouts", faulty(greedy), "fit changed its input"),
    ("integers_and_booleans", faulty(with_labels(lambda X: X.dtype.kind == "i", in_the_middle)),
     "integers: 1 of 90"),
    ("integers_and_booleans", faulty(accepts(lambda X: X.dtype.kind == "b" and 1 / 0)), "division"),
    ("same_bits_for_any_n_jobs", faulty(Repeating()), "two fits with one seed differ"),
    ("same_bits_for_any_n_jobs", faulty(other_where(lambda self, X: self.n_jobs == 1)),
     "n_jobs=1 changes the result"),
    ("same_bits_for_any_n_jobs", faulty(other_where(lambda self, X: self.n_jobs == 2)),
     "n_jobs=2 changes the result"),
    ("fits_in_threads", faulty(counted(1)), "fits in threads: 1 of 90 labels differ"),
    ("fits_in_threads", faulty(counted(3)), "fits in threads: 1 of 90 labels differ"),
    ("feature_names", faulty(set_attribute("clustering_", lambda c: c.with_names(
        feature_names="abcdeg"))), "keep the column names"),
    ("budget", faulty(set_attribute("labels_", lambda v: v[1:])), "must still give its best"),
    ("progress", faulty(silent_progress), "progress was never called"),
    ("progress", faulty(strange_progress), "steps name the finder"),
    ("wide_table", faulty(wide_matrix), r"1[23]\d MB for 30 x 4000"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "finder", "match"),
    FAULTS,
    ids=[f"{check}-{match[:25]}" for check, _, match in FAULTS],
)
def test_every_fault_is_found(check, finder, match):
    with pytest.raises((AssertionError, RuntimeWarning, ZeroDivisionError), match=match):
        FINDER_CHECKS[check](finder)


@pytest.mark.parametrize("check", FINDER_CHECKS)
def test_what_is_right_passes(check):
    FINDER_CHECKS[check](faulty(whole))


def test_what_a_finder_says_that_it_does_is_not_held_against_it():
    """Missing values that are taken, constants that stay, tables that are too wide."""
    complete = faulty(accepts(lambda X: np.isnan(X).any()), _accepts_missing=True)
    FINDER_CHECKS["infinite_and_missing"](complete)
    FINDER_CHECKS["constant_column"](faulty(kept(untold), _drops_constant=False))
    FINDER_CHECKS["identical_rows"](faulty(kept(few_untold), _drops_constant=False))
    FINDER_CHECKS["wide_table"](faulty(wide_matrix, _handles_wide_tables=False))
    moved = faulty(with_labels(lambda X: scale_of(X) > 2**15, in_the_middle), _centred=False)
    FINDER_CHECKS["float32"](moved)
    FINDER_CHECKS["extreme_scales"](faulty(at_any_scale(lambda scale: False)))
    FINDER_CHECKS["extreme_scales"](faulty(refuses_extremes("another scale is needed here")))
    with pytest.raises(AssertionError, match="say how to rescale"):
        FINDER_CHECKS["extreme_scales"](faulty(refuses_extremes("too far from anything")))
    # Alternatives to two known groups may leave them together; two groups of noise are no merger.
    FINDER_CHECKS["few_distinct_rows"](
        faulty(with_labels(lambda X: len(X) == 30, lambda v: 0 * v - 1))
    )


def refuses_extremes(message):
    def fit(self, X, whole):
        if scale_of(X) > 1e99:
            raise ValueError(message)
        whole(X)

    return fit


# -- finders of alternatives -----------------------------------------------------------------------


def length(given):
    return len(given) if np.ndim(given) == 1 else None


def lenient(wanted):
    """Takes what is known wherever a condition holds."""

    def fit(self, X, whole, given=None):
        whole(X, given=np.arange(len(X)) % 3 if wanted(given) else given)

    return fit


def spoiling(self, X, whole, given=None):
    whole(X, given=given)
    given[1] = -1


def cut(self, X, whole, given=None):
    whole(X, given=given)
    if given is not None and -1 in given:
        self.labels_ = self.labels_[1:]


def says_of_given(message):
    def fit(self, X, whole, given=None):
        try:
            whole(X, given=given)
        except ValueError:
            raise ValueError(message) from None

    return fit


EVERY = "89 rows, 1 cluster, 0 clusters, it is empty, given clustering 1"


@pytest.mark.parametrize(
    ("fit", "match"),
    [
        (lenient(lambda given: np.shape(given) == (89,)), "no error was raised"),
        (lenient(lambda given: np.shape(given) == (90,) and not np.any(given)), "no error"),
        (lenient(lambda given: np.shape(given) == (90,) and (given == -1).all()), "no error"),
        (lenient(lambda given: np.shape(given) == (0,)), "no error was raised"),
        (lenient(lambda given: isinstance(given, list) and len(given) == 2), "no error"),
        (spoiling, "fit changed what was given"),
        (cut, "rows in no known cluster"),
        *[(says_of_given(EVERY.replace(word, "and")), f"say '{word}'")
          for word in ("89 rows", "1 cluster", "empty", "0 clusters", "given clustering 1")],
    ],
)  # fmt: skip
def test_faults_with_what_is_given_are_found(fit, match):
    finder = faulty(fit, ResidualKMeans)
    with pytest.raises(AssertionError, match=match):
        FINDER_CHECKS["given_clusterings"](finder)


def test_all_sentences_about_what_is_given_are_enough():
    FINDER_CHECKS["given_clusterings"](faulty(says_of_given(EVERY), ResidualKMeans))
    FINDER_CHECKS["given_clusterings"](faulty(whole))  # nothing can be given to it


class Noting(LAC):
    """Keeps the tables, parameters and results of all fits."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None):
        super().fit(X)
        self.fits.append((X, self.get_params(), self.labels_))
        return self


@pytest.fixture
def noted(monkeypatch):
    monkeypatch.setattr(Noting, "fits", [])

    def run(check, **parameters):
        FINDER_CHECKS[check](Noting(n_clusters=2, n_init=1).set_params(**parameters))
        return Noting.fits

    return run


def test_what_is_asked_of_a_finder(noted, monkeypatch):
    """The tables of the checks, and how often each is fitted."""
    (table, parameters, labels), *_ = noted("few_distinct_rows")
    assert parameters["n_clusters"] == 3 and table.shape == (30, 3)
    assert np.unique(table, axis=0).tolist() == [[1, 5, 2], [8, 1, 6]]
    assert (table[:15] == table[0]).all() and (table[15:] == table[15]).all()
    assert labels[0] != labels[-1]


def test_the_same_rows_for_all(noted):
    (table, *_), *_ = noted("identical_rows")
    assert table.tolist() == [[1, 2, 3, 4]] * 30


def test_one_row(noted):
    (table, parameters, _), *_ = noted("one_row_one_cluster")
    assert table.tolist() == [[1, 2, 3]] and parameters["n_clusters"] == 1


def test_a_constant_in_the_fifth_column(noted):
    (table, *_), *_ = noted("constant_column")
    assert (table[:, 4] == 7).all() and (np.ptp(table, axis=0) > 0).sum() == 5


def test_layouts(noted):
    """Seven times the same values, each in another way."""
    tables = [table for table, *_ in noted("memory_layouts")]
    assert len(tables) == 7
    assert all(np.array_equal(table.astype(float), tables[0]) for table in tables)
    plain, frozen, fortran, strided, objects, mapped, again = tables
    assert not frozen.flags.writeable and fortran.flags.f_contiguous
    assert not strided.flags.forc and objects.dtype == object
    assert isinstance(mapped, np.memmap) and again is plain


def test_numbers_with_few_digits(noted):
    """Halves of halves, six times, at most: float32 has them all, 32,768 further too."""
    plain, single, moved_single, moved = (table for table, *_ in noted("float32"))
    assert np.array_equal(plain * 64, np.round(plain * 64)) and not np.array_equal(
        plain * 32, np.round(plain * 32)
    )
    assert single.dtype == moved_single.dtype == np.float32 and moved.dtype == float
    for table in (single, moved_single - 2.0**15, moved - 2.0**15):
        assert np.array_equal(table, plain)


def test_whole_numbers(noted):
    whole, floats, flags = (table for table, *_ in noted("integers_and_booleans"))
    assert whole.dtype == np.int64 and floats.dtype == float and np.array_equal(whole, floats)
    assert np.abs(whole - 10 * example_table()).max() <= 0.5
    assert flags.dtype == bool and flags.shape == (40, 5) and 0.4 < flags.mean() < 0.6


def test_processes_and_threads(noted):
    jobs = [parameters["n_jobs"] for _, parameters, _ in noted("same_bits_for_any_n_jobs")]
    assert jobs == [None, None, 1, 2]
    Noting.fits.clear()
    assert len(noted("fits_in_threads")) == 4


def test_no_time_at_all(noted):
    ((table, parameters, _),) = noted("budget")
    assert parameters["max_time"] == 1e-9 and table.shape == (90, 6)


def test_a_wide_table(noted):
    ((table, parameters, _),) = noted("wide_table")
    assert table.shape == (30, 4000) and parameters["max_time"] == 10
    shifted = table[:15].mean(axis=0) - table[15:].mean(axis=0)
    assert shifted[:40].min() > 6 and np.abs(shifted[40:]).max() < 3
    assert table[15:].mean() == pytest.approx(10, abs=0.05)


def test_missing_values_are_fitted_where_they_are_taken(noted, monkeypatch):
    class Complete(Noting):
        _accepts_missing = True

        def fit(self, X, y=None):
            if np.isnan(X).any():
                self.fits.append(np.argwhere(np.isnan(X)).tolist())
                X = example_table()
            return super().fit(X)

    FINDER_CHECKS["infinite_and_missing"](Complete(n_clusters=3, n_init=1))
    assert Noting.fits[0] == [[3, 2], [4, 2]]


def test_counts_of_features_are_held_against_the_table():
    def fit(self, X, whole):
        try:
            whole(X)
        except ValueError as error:
            named = "avg_dims" in str(error) and self.avg_dims == X.shape[1] + 1
            raise ValueError("too many of them, says the table" if named else error) from None

    with pytest.raises(AssertionError, match="name avg_dims, which is more than the features"):
        FINDER_CHECKS["parameters_out_of_range"](faulty(fit, PROCLUS))


# -- what the checks are made of -------------------------------------------------------------------


def test_the_example_table():
    """Group k: every third row from k on, about 2 + 3 k in half of the columns, from k on."""
    X = example_table()
    assert X.shape == (90, 6) and X.min() > 0.9 and X.max() < 9
    for k in range(3):
        own = X[k::3]
        tight = [(j + k) % 6 for j in range(3)]
        assert own[:, tight].mean(axis=0) == pytest.approx(2 + 3 * k, abs=0.05)
        assert 0.03 < own[:, tight].std() < 0.07
        others = own[:, [j for j in range(6) if j not in tight]]
        assert others.mean() == pytest.approx(5, abs=0.5) and others.std() > 2
    assert example_table(10, 4).shape == (10, 4)
    assert np.array_equal(example_table(), example_table())


def test_less_work():
    assert brief(ResidualKMeans()).n_init == 2
    assert brief(LAC()).get_params()["n_init"] == 2

    class Swapping(LAC):
        def __init__(self, n_clusters=3, n_swaps=7, n_init=5):
            super().__init__(n_clusters, n_init=n_init)
            self.n_swaps = n_swaps

    assert isinstance(brief(Swapping()), Swapping)
    assert (brief(Swapping()).n_swaps, brief(Swapping()).n_init) == (1, 5)
    assert fixed_seed(LAC()) == {"random_state": 0}

    class Unseeded:
        def get_params(self):
            return {"n_clusters": 3}

    assert fixed_seed(Unseeded()) == {}


def test_labels_that_are_not_the_same():
    same(np.arange(3), np.arange(3), "all")
    with pytest.raises(AssertionError, match=r"^some: 2 of 3 labels differ$"):
        same(np.arange(3), np.array([0, 2, 1]), "some")


def test_every_parameter_is_tried_with_what_it_refuses():
    tried = [(name, value) for name, value in refused_values(LAC())]
    names = {name for name, _ in tried}
    assert {"n_clusters", "n_init", "max_iter", "max_time", "scale", "assignment"} <= names
    for name in names:
        assert any(isinstance(value, Odd) for own, value in tried if own == name)
    numbers = {name: value for name, value in tried if not isinstance(value, Odd)}
    assert numbers["n_clusters"] == 0 and numbers["n_init"] == 0 and numbers["max_time"] <= 0
