"""The check suite for consensus methods: each fault is found by the check that is about it."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning
from subscape.ensemble import CSPA, EMPCE, MOEAPCE
from subscape.testing.consensus import CONSENSUS_CHECKS, MASKS, example_members, merged
from subscape.testing.finders import brief, example_table


def faulty(fit, base=CSPA):
    """A method whose ``fit(self, members, X, whole)`` is another; ``whole`` is the right one."""

    class Faulty(base):
        def fit(self, ensemble, X=None):
            fit(self, ensemble, X, super().fit)
            return self

    return brief(Faulty(n_clusters=3))


def right(self, members, X, whole):
    whole(members, X)


def says(message, error=None):
    """A fit that answers whatever is refused with one sentence."""

    def fit(self, members, X, whole):
        try:
            whole(members, X)
        except (ValueError, TypeError) as caught:
            raise (error or type(caught))(message) from None

    return fit


def accepts(wanted):
    """A fit that takes what it should refuse."""

    def fit(self, members, X, whole):
        if wanted(members, X):
            whole(example_members(), example_table())
        else:
            whole(members, X)

    return fit


def after(change, where=lambda self, members, X: True):
    """A fit after which something is changed."""

    def fit(self, members, X, whole):
        whole(members, X)
        if where(self, members, X):
            change(self)

    return fit


def put(name, value):
    def change(self):
        setattr(self, name, value(getattr(self, name)))

    return change


def in_the_middle(labels):
    labels = labels.copy()
    labels[len(labels) // 2] += 1
    return labels


def fewer(self):
    self.clustering_ = self.clustering_.select([0, 1])


def other_labels(where):
    return after(put("labels_", in_the_middle), where)


def told(**changes):
    def change(self):
        provenance = dict(self.clustering_.provenance) | changes
        self.clustering_ = self.clustering_.with_names(provenance=provenance)

    return change


def by_table(condition):
    return lambda self, members, X: X is not None and condition(X)


def scale_of(X):
    return float(np.abs(np.asarray(X, dtype=float)).max())


def counted(times):
    """A fit that is right for so many times, then wrong."""
    seen = []

    def later(self, members, X):
        seen.append(1)
        return len(seen) > times

    return after(fewer, later)


def greedy(self, members, X, whole):
    whole(members, X)
    if type(X) is np.ndarray and X.flags.writeable and X.dtype == float:
        X[0, 0] += 1.0


def divides(where):
    def fit(self, members, X, whole):
        if where(X):
            np.float64(1.0) / np.float64(0.0)
        whole(members, X)

    return fit


def constant(column):
    return lambda X: X is not None and np.ptp(X[:, column]) == 0 and X[0, column] == 7


def all_constant(X):
    return X is not None and (X == 1).all()


def not_told(self, members, X, whole):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedClusterWarning)
        whole(members, X)


def one_cluster(self):
    self.labels_ = 0 * self.labels_


def kind_of(members):
    return getattr(members[0], "kind", None) if isinstance(members, list) and members else None


def length_of(members):
    return len(members) if isinstance(members, (list, str)) else -1


def shape_of(X):
    return getattr(X, "shape", None)


def beside_noise(members):
    return any(np.ndim(m) == 1 and (np.asarray(m) == -1).sum() == 89 for m in members)


def is_soft(members):
    return isinstance(members[0], SubspaceClustering) and not members[0].is_hard


def named_in_order(self, members, X, whole):
    if hasattr(X, "columns"):
        X = X[sorted(X.columns)]
    whole(members, X)


def needs_names(message):
    def fit(self, members, X, whole):
        try:
            whole(members, X)
        except ValueError:
            raise ValueError(message) from None
        if X is None:
            raise ValueError(message)

    return fit


def refuses_oriented(message):
    def fit(self, members, X, whole):
        if kind_of(members) == "oriented":
            raise TypeError(message)
        whole(members, X)

    return fit


def at_any_scale(wrong):
    """A fit that takes every scale, and finds something else at some."""

    def fit(self, members, X, whole):
        whole(members, X / scale_of(X))
        if wrong(scale_of(X)):
            self.labels_ = in_the_middle(self.labels_)

    return fit


def refuses_extremes(message):
    def fit(self, members, X, whole):
        if X is not None and scale_of(X) > 1e99:
            raise ValueError(message)
        whole(members, X)

    return fit


LONG = "this is refused, for reasons that nobody names"
EMPTY = np.empty((0, 6)).shape, np.empty((90, 0)).shape

FAULTS = [
    ("no_ensemble", faulty(accepts(lambda m, X: length_of(m) == 0)), "no error was raised"),
    ("no_ensemble", faulty(accepts(lambda m, X: m is None)), "no error was raised"),
    ("no_ensemble", faulty(accepts(lambda m, X: isinstance(m, int))), "no error was raised"),
    ("no_ensemble", faulty(accepts(lambda m, X: isinstance(m, str))), "no error was raised"),
    ("no_ensemble", faulty(accepts(lambda m, X: isinstance(m, np.ndarray))), "no error"),
    ("no_ensemble", faulty(says("no")), "too short to help: no$"),
    ("no_ensemble", faulty(says("x" * 19)), "too short to help"),
    ("no_ensemble", faulty(says("x" * 20)), "say what an ensemble is"),
    ("members_of_other_tables", faulty(says(LONG + " 90")), "both numbers of rows"),
    ("members_of_other_tables", faulty(says(LONG + " 89")), "both numbers of rows"),
    ("members_of_other_tables", faulty(says("89 and 90 rows, and 6 columns")),
     "both numbers of features"),
    ("members_of_other_tables", faulty(accepts(lambda m, X: len(m) == 5 and np.ndim(m[4]) == 1)),
     "no error was raised"),
    ("members_of_other_tables", faulty(accepts(lambda m, X: len(m) == 5 and np.ndim(m[4]) != 1)),
     "no error was raised"),
    ("more_clusters_than_rows", faulty(says(LONG + " 8")), "name both numbers, not"),
    ("more_clusters_than_rows", faulty(says(LONG + " 5")), "name both numbers, not"),
    ("parameters_out_of_range", faulty(says(LONG)), "name the parameter, not"),
    ("no_rows_columns_or_table", faulty(says("1D or anything else")), "too short"),
    ("no_rows_columns_or_table", faulty(says(LONG)), "say 2D array"),
    *[("no_rows_columns_or_table", faulty(accepts(lambda m, X, s=s: shape_of(X) == s)), "no error")
      for s in ((0, 6), (90, 0), (89, 6), (90, 5), (90,))],
    ("infinite_and_missing", faulty(says(LONG + " 2 values")), "count and place, not"),
    ("infinite_and_missing", faulty(says(LONG + " column 2")), "count and place, not"),
    ("infinite_and_missing", faulty(says("2 values in column 2")), "say how to impute"),
    ("infinite_and_missing", faulty(accepts(lambda m, X: np.isnan(X).any())), "no error"),
    ("text_complex_and_sparse", faulty(says(LONG)), "name the text column"),
    ("text_complex_and_sparse", faulty(says(LONG + ", column 1")), "sparse input is not taken"),
    ("text_complex_and_sparse", faulty(accepts(lambda m, X: sparse.issparse(X))), "no error"),
    ("text_complex_and_sparse", faulty(accepts(lambda m, X: np.iscomplexobj(X))), "no error"),
    ("a_missing_table", faulty(needs_names(LONG)), "say how to pass the table"),
    ("a_missing_table", faulty(after(put("labels_", lambda v: v[1:]))), "1-D, one per row"),
    ("oriented_members", faulty(refuses_oriented(LONG)), LONG),
    ("oriented_members", faulty(after(put("labels_", lambda v: v[1:]))), "1-D, one per row"),
    ("result", faulty(after(put("clustering_", str))), "clustering_ is no clustering"),
    ("result", faulty(after(put("clustering_", lambda c: c.embed(shape=(90, 7))))),
     r"clustering_ is over \(90, 7\)"),
    ("result", faulty(after(put("labels_", lambda v: v[1:]))), "integer labels"),
    ("result", faulty(after(put("labels_", lambda v: v * 1.0))), "integer labels"),
    ("result", faulty(after(put("labels_", in_the_middle))), "1 of 90 labels differ"),
    ("result", faulty(after(put("n_iter_", lambda n: 0))), "n_iter_ must be at least 1"),
    ("result", faulty(after(told(algorithm="x"))), "provenance names the method"),
    ("result", faulty(after(told(members=3))), "provenance numbers the members"),
    ("members_that_agree", faulty(after(put("labels_", in_the_middle))), "are not what comes out"),
    ("members_that_agree", faulty(after(one_cluster)), "1 equal members are not"),
    ("members_that_agree", faulty(after(one_cluster, lambda self, m, X: len(m) == 3)),
     "3 equal members are not"),
    ("one_row_one_cluster", faulty(after(put("labels_", lambda v: v - 1))), "a single row is"),
    ("one_row_one_cluster", faulty(after(put("labels_", lambda v: np.append(v, 0)))), "a single"),
    ("everything_is_noise", faulty(after(put("labels_", lambda v: v + 1))), "leave out are noise"),
    ("everything_is_noise", faulty(after(put("labels_", in_the_middle))), "leave out are noise"),
    ("everything_is_noise", faulty(not_told), "warn about it"),
    ("everything_is_noise", faulty(after(put("clustering_", lambda c: example_members()[0]))),
     "there is no cluster"),
    ("overlaps_and_shares", faulty(after(put("labels_", lambda v: v[1:]))), "may be soft"),
    ("constant_column", faulty(divides(constant(4))), "divide by zero"),
    ("constant_column", faulty(divides(all_constant)), "divide by zero"),
    ("extreme_scales", faulty(at_any_scale(lambda scale: scale > 1e99)),
     r"values times 1e\+200: 1 of 90"),
    ("extreme_scales", faulty(at_any_scale(lambda scale: scale < 1e-99)),
     "values times 1e-200: 1 of 90"),
    ("extreme_scales", faulty(divides(lambda X: scale_of(X) < 1e-99)), "divide by zero"),
    ("extreme_scales", faulty(refuses_extremes("too far from anything")), "say how to rescale"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: not X.flags.writeable
                                                    and type(X) is np.ndarray))), "read-only"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: X.flags.f_contiguous))), "Fortran"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: not X.flags.forc))), "strided"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: X.dtype == object))), "objects"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: X.dtype == np.float32))), "float32"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: isinstance(X, np.memmap)))),
     "memory-mapped"),
    ("memory_layouts", faulty(other_labels(by_table(lambda X: X.dtype.kind == "i"))), "integers"),
    ("memory_layouts", faulty(greedy), "fit changed its table"),
    ("same_bits", faulty(counted(1)), "two fits with one seed differ"),
    ("same_bits", faulty(after(fewer, lambda self, m, X: self.n_jobs == 1), EMPCE),
     "n_jobs=1 changes the result"),
    ("same_bits", faulty(after(fewer, lambda self, m, X: self.n_jobs == 2), EMPCE),
     "n_jobs=2 changes the result"),
    ("same_bits", faulty(counted(2)), "fits in threads differ"),
    ("same_bits", faulty(counted(4)), "fits in threads differ"),
    ("names", faulty(after(put("clustering_", lambda c: c.with_names(feature_names="abcdeg")))),
     "keep the column names"),
    ("names", faulty(named_in_order), "no error was raised"),
    ("names", faulty(says(LONG)), "say that the order is another"),
    ("budget_and_progress", faulty(after(put("labels_", lambda v: v[1:])), EMPCE),
     "a cut search must still give"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "method", "match"),
    FAULTS,
    ids=[f"{check}-{match[:25]}" for check, _, match in FAULTS],
)
def test_every_fault_is_found(check, method, match):
    with pytest.raises((AssertionError, RuntimeWarning), match=match):
        CONSENSUS_CHECKS[check](method)


@pytest.mark.parametrize("check", CONSENSUS_CHECKS)
@pytest.mark.parametrize("base", [CSPA, EMPCE])
def test_what_is_right_passes(check, base):
    CONSENSUS_CHECKS[check](faulty(right, base))


def test_what_a_method_says_is_taken():
    CONSENSUS_CHECKS["a_missing_table"](faulty(needs_names("pass it: fit(ensemble, X)")))
    CONSENSUS_CHECKS["oriented_members"](faulty(refuses_oriented("no oriented ones")))
    CONSENSUS_CHECKS["oriented_members"](faulty(refuses_oriented("pass fit(ensemble, X)")))
    CONSENSUS_CHECKS["extreme_scales"](faulty(at_any_scale(lambda scale: False)))
    CONSENSUS_CHECKS["extreme_scales"](faulty(refuses_extremes("another scale is needed")))


def test_progress_that_is_silent_or_of_another_is_found():
    def silent(self, members, X, whole):
        self.set_params(progress=None)
        whole(members, X)

    def another(self, members, X, whole):
        say = self.progress
        if say is not None:
            self.set_params(progress=lambda step: say(step._replace(algorithm="another")))
        whole(members, X)

    with pytest.raises(AssertionError, match="progress was never called"):
        CONSENSUS_CHECKS["budget_and_progress"](faulty(silent, MOEAPCE))
    with pytest.raises(AssertionError, match="steps name the method"):
        CONSENSUS_CHECKS["budget_and_progress"](faulty(another, MOEAPCE))


# -- what the checks are made of -------------------------------------------------------------------


def test_the_example_ensemble():
    """Three groups in turn, four rows of each member at random, each group in three features."""
    members = example_members()
    plain = np.arange(90) % 3
    assert len(members) == 4
    for member in members:
        assert member.shape == (90, 6) and member.kind == "axis"
        assert member.subspaces.masks.tolist() == MASKS.tolist()
        assert 0 < (member.labels() != plain).sum() <= 4
    assert len({tuple(member.labels()) for member in members}) == 4
    assert MASKS.astype(int).tolist() == [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 0, 0],
                                          [0, 0, 1, 1, 1, 0]]  # fmt: skip


def test_the_example_ensemble_in_any_direction():
    for member, plain in zip(example_members("oriented"), example_members(), strict=True):
        assert member.kind == "oriented"
        assert np.array_equal(member.labels(), plain.labels())
        for k, mask in enumerate(MASKS):
            assert np.array_equal(np.abs(member.subspaces.bases[k]).sum(axis=1) > 0, mask)


class Noting(EMPCE):
    """Keeps what it is asked to merge."""

    asked: ClassVar[list] = []

    def fit(self, ensemble, X=None):
        self.asked.append((ensemble, X, self.get_params()))
        return super().fit(ensemble, X)


@pytest.fixture
def noted(monkeypatch):
    monkeypatch.setattr(Noting, "asked", [])

    def run(check):
        CONSENSUS_CHECKS[check](Noting(n_clusters=2, max_iter=2))
        return Noting.asked

    return run


def test_the_members_that_agree(noted):
    once, thrice = noted("members_that_agree")
    assert (len(once[0]), len(thrice[0])) == (1, 3)
    for members, X, parameters in (once, thrice):
        assert parameters["n_clusters"] == 3 and X.shape == (90, 6)
        assert all(np.array_equal(m.labels(), np.arange(90) % 3) for m in members)


def test_one_row(noted):
    ((members, X, parameters),) = noted("one_row_one_cluster")
    assert members == [[0], [0]] and X.shape == (1, 3) and parameters["n_clusters"] == 1


def test_members_that_leave_all_but_one_row_out(noted):
    ((members, X, _),) = noted("everything_is_noise")
    assert [np.flatnonzero(m == 0).tolist() for m in members] == [[0], [1], [2], [3], [4]]
    assert all((m == -1).sum() == 89 for m in members) and X.shape == (90, 6)


def test_soft_and_overlapping_members(noted):
    ((members, _, _),) = noted("overlaps_and_shares")
    soft, overlapping, *others = members
    assert not soft.is_hard and soft.memberships.sum(axis=0) == pytest.approx(np.ones(90))
    assert overlapping.is_hard and not overlapping.is_row_disjoint and len(others) == 4
    assert np.array_equal(overlapping.memberships.toarray() > 0, soft.memberships.toarray() > 0.2)


def test_constant_columns(noted):
    (_, one, _), (_, all_of_them, _) = noted("constant_column")
    assert [j for j in range(6) if np.ptp(one[:, j]) == 0] == [4] and one[0, 4] == 7
    assert (all_of_them == 1).all() and all_of_them.shape == (90, 6)


def test_layouts(noted):
    tables = [X for _, X, _ in noted("memory_layouts")]
    plain, frozen, fortran, strided, objects, single, mapped, whole, floats, again = tables
    for table in (frozen, fortran, strided, objects, single, mapped, again):
        assert np.array_equal(table.astype(float), plain)
    assert np.array_equal(plain * 64, np.round(plain * 64))
    assert np.abs(plain - example_table()).max() <= 0.5 / 64
    assert not frozen.flags.writeable and fortran.flags.f_contiguous and not strided.flags.forc
    assert objects.dtype == object and single.dtype == np.float32 and isinstance(mapped, np.memmap)
    assert whole.dtype == np.int64 and np.array_equal(whole, floats) and floats.dtype == float
    assert np.array_equal(whole, np.round(plain))


def test_processes_and_threads(noted):
    assert [each["n_jobs"] for *_, each in noted("same_bits")] == [None, None, 1, 2] + [None] * 3


def test_a_fixed_seed():
    assert merged(CSPA(3), example_members()).random_state == 0
    assert merged(CSPA(3, random_state=3), example_members()).random_state == 0
    assert merged(CSPA(3), example_members(), n_clusters=2).n_clusters == 2
