"""What a numeric table must be, and one way to make seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from subscape.core import SubscapeError
from subscape.core.checks import (
    LARGEST_INTEGER,
    check_names,
    check_table,
    column_names,
    constant_columns,
    same,
)
from subscape.core.errors import count, listing
from subscape.parallel.seeds import seed_sequence
from subscape.tables import Table


def checked(X, **options):
    return check_table(X, "PROCLUS", **options)


class TestShapes:
    """Cases 1 to 3 of what bad input is answered with."""

    def test_no_rows(self):
        with pytest.raises(SubscapeError, match=r"0 sample.*\(0, 3\).*by PROCLUS"):
            checked(np.empty((0, 3)))

    def test_no_columns(self):
        with pytest.raises(SubscapeError, match=r"0 feature.*\(3, 0\).*by PROCLUS"):
            checked(np.empty((3, 0)))
        with pytest.raises(SubscapeError, match="0 feature"):
            checked(pd.DataFrame(index=[1, 2]))

    @pytest.mark.parametrize("X", [[1.0, 2.0], 3.0, np.zeros((2, 2, 2)), None])
    def test_not_two_dimensions(self, X):
        with pytest.raises(SubscapeError, match=r"Expected 2D array, got \dD.*reshape\(-1, 1\)"):
            checked(X)

    def test_rows_of_different_lengths(self):
        with pytest.raises(ValueError, match="inhomogeneous"):
            checked([[1, 2], [3]])


class TestNotFinite:
    """Cases 5 and 6."""

    def test_infinity_with_its_count_and_columns(self):
        X = np.zeros((4, 6))
        X[0, 1:] = [np.inf, -np.inf, np.inf, np.inf, 0]
        with pytest.raises(
            SubscapeError, match=r"infinity \(4 values in 'column 1', .* and 1 more\); replace"
        ):
            checked(X, missing=True)
        frame = pd.DataFrame({"age": [1.0, np.inf], "dose": [0.0, 1.0]})
        with pytest.raises(SubscapeError, match=r"infinity \(1 value in 'age'\)"):
            checked(frame)

    def test_missing_with_its_count_and_columns(self):
        frame = pd.DataFrame({"age": [1.0, np.nan, np.nan], "dose": [0.0, 1.0, np.nan]})
        with pytest.raises(
            SubscapeError,
            match=r"NaN \(3 values in 'age', 'dose'\) and PROCLUS.*impute.*SimpleImputer",
        ):
            checked(frame)
        np.testing.assert_array_equal(checked(frame, missing=True), frame.to_numpy())

    @pytest.mark.parametrize(
        "X",
        [
            np.array([[None, 2], [3, 4]], dtype=object),
            pd.DataFrame({"a": pd.array([None, 3], dtype="Int64"), "b": [2.0, 4.0]}),
            pl.DataFrame({"a": [None, 3], "b": [2.0, 4.0]}),
            pa.table({"a": [None, 3], "b": [2.0, 4.0]}),
            np.ma.masked_array([[1, 2], [3, 4]], mask=[[True, False], [False, False]]),
        ],
    )
    def test_every_kind_of_missing(self, X):
        with pytest.raises(SubscapeError, match=r"NaN \(1 value in '(a|column 0)'\)"):
            checked(X)
        np.testing.assert_array_equal(checked(X, missing=True), [[np.nan, 2], [3, 4]])

    def test_sparse(self):
        with pytest.raises(SubscapeError, match="infinity"):
            checked(sparse.csr_array([[np.inf, 0.0]]), sparse=True)
        with pytest.raises(SubscapeError, match="NaN"):
            checked(sparse.csr_array([[np.nan, 0.0]]), sparse=True)


class TestNotNumbers:
    """Cases 7 and 8."""

    @pytest.mark.parametrize(
        "X",
        [
            pd.DataFrame({"n": [1, 2], "city": ["a", "b"]}),
            pd.DataFrame({"n": [1, 2], "city": pd.Categorical(["a", "b"])}),
            pd.DataFrame({"n": [1, 2], "city": ["1", "2"]}),
            pd.DataFrame({"n": [1, 2], "city": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
            pl.DataFrame({"n": [1, 2], "city": ["a", "b"]}),
            pa.table({"n": [1, 2], "city": ["a", "b"]}),
        ],
    )
    def test_text_columns_are_listed(self, X):
        with pytest.raises(TypeError, match=r"but 1 column holds text or dates: 'city'\. Drop"):
            checked(X)

    def test_names_that_are_numbers(self):
        with pytest.raises(TypeError, match=r"2 columns hold text or dates: '1', '2'"):
            checked(pd.DataFrame([[1, "a", "b"], [2, "c", "d"]]))

    def test_arrays(self):
        with pytest.raises(TypeError, match="'column 1'"):
            checked([[1.0, "a"], [2.0, "b"]])
        for X in ([["1", "2"]], np.array([["2020-01-01", "2020-01-02"]], "M8[D]")):
            with pytest.raises(TypeError, match="2 columns hold text or dates"):
                checked(X)
        with pytest.raises(TypeError, match=r"argument must be a string or a number.*'column 0'"):
            checked(np.array([[{"a": 1}, 2]], dtype=object))

    @pytest.mark.parametrize(
        "X",
        [np.array([[1j, 2]]), np.array([[1j, 2]], object), np.array([[np.complex64(1j)]], object)],
    )
    def test_complex(self, X):
        with pytest.raises(SubscapeError, match="Complex data not supported by PROCLUS"):
            checked(X)

    def test_sparse_complex(self):
        with pytest.raises(SubscapeError, match="Complex data not supported"):
            checked(sparse.csr_array([[1j, 0]]), sparse=True)

    def test_names_that_occur_twice(self):
        frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"])
        with pytest.raises(SubscapeError, match="must be unique, these are not: 'a'"):
            checked(frame)


class TestMagnitude:
    """Case 16: never infinity or a silent collapse."""

    @pytest.mark.parametrize("scale", [1e200, 1e307])
    def test_too_large(self, scale):
        X = np.full((20, 3), scale)
        with pytest.raises(SubscapeError, match=r"values up to 1e\+.*StandardScaler"):
            checked(X)
        with pytest.raises(SubscapeError, match="too large"):
            checked(sparse.csr_array(X), sparse=True)

    def test_too_small(self):
        with pytest.raises(SubscapeError, match=r"no larger than 1e-200.*StandardScaler"):
            checked(np.eye(3) * 1e-200)

    @pytest.mark.parametrize("scale", [1e99, 1e-99, 0.0])
    def test_just_right(self, scale):
        np.testing.assert_array_equal(checked(np.eye(3) * scale), np.eye(3) * scale)

    def test_whole_numbers_beyond_floats(self):
        with pytest.raises(SubscapeError, match="infinity"):
            checked([[10**400, 1]])


class TestConversions:
    """Cases 19 to 21."""

    plain = np.arange(6.0).reshape(3, 2)

    @pytest.mark.parametrize(
        "dtype", [bool, np.int8, np.uint16, np.int64, np.float16, "longdouble"]
    )
    def test_numbers_become_float64(self, dtype):
        found = checked(self.plain.astype(dtype))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, self.plain.astype(dtype).astype(float))

    def test_objects_that_are_numbers(self):
        X = np.array([[1, 2.5], [True, np.float32(4)]], dtype=object)
        np.testing.assert_array_equal(checked(X), [[1, 2.5], [1, 4]])

    def test_float32_stays(self):
        assert checked(self.plain.astype(np.float32)).dtype == np.float32

    def test_nothing_is_copied_or_changed_without_need(self):
        X = self.plain.copy()
        X.flags.writeable = False
        assert checked(X) is X
        fortran, strided = np.asfortranarray(self.plain), np.repeat(self.plain, 2, axis=1)[:, ::2]
        np.testing.assert_array_equal(checked(fortran), self.plain)
        np.testing.assert_array_equal(checked(strided), self.plain)

    def test_memory_maps(self, tmp_path):
        np.save(tmp_path / "X.npy", self.plain)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
        np.testing.assert_array_equal(checked(X), self.plain)

    @pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
    @pytest.mark.parametrize("wrap", [lambda frame: frame, Table.read])
    def test_frames(self, library, wrap):
        X = wrap(library({"a": [0, 2, 4], "b": [1.0, 3.0, 5.0]}))
        np.testing.assert_array_equal(checked(X), self.plain)
        assert column_names(X) == ["a", "b"]

    def test_arrays_have_no_names(self):
        assert column_names(self.plain) is None and column_names([[1]]) is None

    def test_sparse_only_where_it_is_taken(self):
        X = sparse.coo_array(self.plain.astype(int))
        found = checked(X, sparse=True)
        assert found.format == "csr" and found.dtype == np.float64
        np.testing.assert_array_equal(found.toarray(), self.plain)
        with pytest.raises(TypeError, match=r"PROCLUS does not take sparse.*toarray\(\)"):
            checked(X)


class TestConstantColumns:
    """Case 13."""

    def test_dense(self):
        X = np.array([[1.0, 2.0, -3.0], [1.0, 5.0, -3.0]])
        assert constant_columns(X).tolist() == [True, False, True]
        assert constant_columns(X[:1]).all()

    def test_missing_values_make_no_difference(self):
        nan = np.nan
        X = np.array([[1.0, nan, 1.0, nan], [nan, 2.0, 3.0, nan], [1.0, 2.0, 1.0, nan]])
        assert constant_columns(X).tolist() == [True, True, False, True]
        assert constant_columns(X[::-1]).tolist() == [True, True, False, True]

    def test_sparse(self):
        X = sparse.csr_array([[0.0, 1.0, 0.0, np.nan], [0.0, 1.0, 2.0, 1.0]])
        assert constant_columns(X).tolist() == [True, True, False, True]


class TestSeeds:
    def state(self, seed):
        return seed_sequence(seed).generate_state(4).tolist()

    def test_whole_numbers(self):
        assert self.state(7) == self.state(np.int64(7)) != self.state(8)

    def test_generators_move_on(self):
        one, other = np.random.default_rng(0), np.random.default_rng(0)
        assert self.state(one) == self.state(other)
        assert self.state(one) != self.state(np.random.default_rng(0))
        legacy = np.random.RandomState(0)
        assert self.state(legacy) != self.state(legacy)

    def test_nothing_is_fresh(self):
        assert self.state(None) != self.state(None)

    def test_children_are_independent_and_reproducible(self):
        first, second = seed_sequence(3).spawn(2)
        again = seed_sequence(3).spawn(2)
        assert first.generate_state(2).tolist() == again[0].generate_state(2).tolist()
        assert first.generate_state(2).tolist() != second.generate_state(2).tolist()

    def test_sequences_pass_through(self):
        given = np.random.SeedSequence(1)
        assert seed_sequence(given) is given

    @pytest.mark.parametrize("seed", [-1, 1.5, True, "1", [1]])
    def test_bad(self, seed):
        with pytest.raises(ValueError, match="random_state must be"):
            seed_sequence(seed)


class TestNames:
    X = np.arange(6.0).reshape(2, 3)

    @pytest.mark.parametrize("make", [
        lambda X, names: pd.DataFrame(X, columns=names),
        lambda X, names: pl.DataFrame(X, schema=names),
        lambda X, names: pa.table(dict(zip(names, X.T, strict=True))),
        lambda X, names: Table.from_array(X, feature_names=names),
    ])  # fmt: skip
    def test_columns_must_be_the_same_and_in_order(self, make):
        check_names(make(self.X, ["a", "b", "c"]), ("a", "b", "c"))
        with pytest.raises(
            SubscapeError, match="another order than in the clustering: 'c', 'b', 'a'"
        ):
            check_names(make(self.X, ["c", "b", "a"]), ("a", "b", "c"))
        with pytest.raises(SubscapeError, match="not those of the clustering"):
            check_names(make(self.X, ["a", "b", "d"]), ("a", "b", "c"))

    def test_what_has_no_names_is_not_checked(self):
        check_names(self.X, ("a", "b", "c"))
        check_names(pd.DataFrame(self.X), ("a", "b", "c"))
        check_names(pd.DataFrame(self.X, columns=["x", "y", "z"]), None)
        check_names("table.parquet", ("a", "b", "c"))

    def test_rows_of_tables_have_names(self):
        table = Table.from_array(self.X, row_names=["r", "s"])
        check_names(table, None, ("r", "s"))
        with pytest.raises(SubscapeError, match="rows of the table are in another order"):
            check_names(table, None, ("s", "r"))

    @pytest.mark.parametrize("dtype", [object, "str"])
    def test_the_index_of_a_frame_names_its_rows_if_it_is_text(self, dtype):
        def frame(names, dtype=dtype):
            return pd.DataFrame(self.X, index=pd.Index(names, dtype=dtype))

        check_names(frame(["r", "s"]), None, ("r", "s"))
        with pytest.raises(SubscapeError, match=r"rows of .* in another order.*'s', 'r'"):
            check_names(frame(["s", "r"]), None, ("r", "s"))
        with pytest.raises(SubscapeError, match="rows of the table are not those"):
            check_names(frame(["r", "t"]), None, ("r", "s"))
        # Numbers are no names, nor is an index of which one entry is none.
        check_names(frame([1, 2], int), None, ("r", "s"))
        check_names(frame(["r", 2], object), None, ("r", "s"))


class TestLargeIntegers:
    def test_what_float64_cannot_tell_apart_is_refused_by_name(self):
        X = np.column_stack([np.arange(5), 2**62 + np.arange(5)])
        for read in (lambda X: check_table(X, "LAC"), Table.from_array):
            with pytest.raises(SubscapeError, match=r"beyond 2\*\*53 in 'column 1' can't be told"):
                read(X)
        with pytest.raises(SubscapeError, match="'b' can't be told"):
            check_table(pd.DataFrame(X, columns=["a", "b"]), "LAC")

    @pytest.mark.parametrize("begin", [2**53 - 4, 2**62, -(2**62)])
    def test_what_stays_apart_is_taken(self, begin):
        X = (begin + np.arange(4) * (1 if begin < 2**53 and begin > 0 else 4096)).reshape(4, 1)
        np.testing.assert_array_equal(check_table(X, "LAC").astype(np.int64), X)

    def test_the_bound_itself(self):
        exact = np.array([[2**53 - 1], [2**53]])
        assert len(np.unique(check_table(exact, "LAC"))) == 2
        with pytest.raises(SubscapeError, match="told apart"):
            check_table(np.array([[2**53], [2**53 + 1]]), "LAC")
        with pytest.raises(SubscapeError, match="told apart"):
            check_table(np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64), "LAC")


def test_sparse_and_dense_are_never_the_same():
    dense, thin = np.eye(3), sparse.csr_array(np.eye(3))
    assert same(dense, dense.copy()) and same(thin, thin.copy())
    assert not same(dense, thin) and not same(thin, dense)
    assert not same(thin, sparse.csr_array(np.eye(4)))
    assert not same(thin, 2 * thin) and same(thin * np.nan, thin * np.nan)


def test_integers_are_those_that_c_holds():
    assert np.iinfo(np.int64).max == LARGEST_INTEGER


@pytest.mark.parametrize(
    ("names", "most", "told"),
    [
        ([], 2, ""), (["a"], 2, "'a'"), (["a", "b"], 2, "'a', 'b'"),
        (["a", "b", 3], 2, "'a', 'b' and 1 more"), (list("abcde"), 5, "'a', 'b', 'c', 'd', 'e'"),
        (range(4), 1, "'0' and 3 more"),
    ],
)  # fmt: skip
def test_names_are_listed_up_to_a_number(names, most, told):
    assert listing(names, most) == told
    assert most != 5 or listing(names) == told


def test_counted_nouns():
    assert [count(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert count(2, "axis", "axes") == "2 axes" and count(1, "axis", "axes") == "1 axis"
