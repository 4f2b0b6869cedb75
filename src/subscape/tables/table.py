"""Table: the data with their names, roles and missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core.checks import frozen, same
from subscape.core.errors import SubscapeError, listing
from subscape.core.indexing import checked_names, positions
from subscape.core.types import FloatArray, IntArray

from . import profile as profiles
from .columns import (
    NOT_AS_NUMBERS,
    Column,
    WithSchema,
    as_labels,
    as_names,
    as_values,
    check_known,
    check_unique,
    recast,
)
from .encoding import Encoded, encode, missing_mask
from .parts import Wishes, parts_of_array

if TYPE_CHECKING:
    from .readers.boundary import Limits

Nominal = Literal["drop", "codes", "onehot"]


@dataclass(frozen=True, eq=False, repr=False)
class Table(WithSchema):
    """A table of data: numbers, nominal columns, names, roles and missing cells.

    A frozen value: its arrays are read-only, and every change gives a new table. Use
    :meth:`read` for files and data frames and :meth:`from_array` for plain arrays.

    Parameters
    ----------
    schema : sequence of Column
        Each column, in order.
    X : (n_rows, n_numeric) float64 array or sparse matrix
        The columns whose role is ``"numeric"``, in that order; NaN marks a missing cell.
    others : mapping from name to 1-D array
        Every other column: int32 codes into its levels (-1 = missing), or float64.
    index : sequence of str, optional
        Names of the rows. Without it, an id column names them.
    source : mapping, optional
        What was read and detected: file name, delimiter, encoding, rows.
    reading_notes : sequence of str, optional
        Sentences about the reading, shown first among the ``notes``.

    See Also
    --------
    subscape.explore : Finds the groupings of a table.
    subscape.exploration.prepare : Encodes, imputes and scales.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.from_array([[1.0, 2.0], [3.0, np.nan]], feature_names=["age", "income"])
    >>> table
    Table(2 rows x 2 columns: 2 numeric; 1 missing)
    >>> table.missing
    array([[False, False],
           [False,  True]])
    >>> table.notes[-1]
    "1 missing cell (25 % of the features) in 'income'"
    """

    schema: tuple[Column, ...]
    X: Any
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    index: tuple[str, ...] | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    reading_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "schema", tuple(self.schema))
        put(self, "source", MappingProxyType(dict(self.source)))
        put(self, "reading_notes", tuple(self.reading_notes))
        if not self.schema:
            raise SubscapeError("the table has no columns")
        check_unique(c.name for c in self.schema)
        put(self, "X", frozen(self.X if sparse.issparse(self.X) else np.asarray(self.X, float)))
        if self.X.ndim != 2 or self.X.shape[1] != len(self.numeric_names):
            raise SubscapeError(
                f"X has shape {self.X.shape}, but {len(self.numeric_names)} columns are numeric"
            )
        if self.n_rows == 0:
            raise SubscapeError("the table has no rows")
        rest = [c.name for c in self.schema if c.role != "numeric"]
        if set(rest) != set(self.others):
            odd = sorted(set(rest) ^ set(self.others))
            raise SubscapeError(f"the schema and the data disagree on columns {listing(odd)}")
        put(self, "others", MappingProxyType({k: frozen(self.others[k]) for k in rest}))
        if any(np.shape(data) != (self.n_rows,) for data in self.others.values()):
            raise SubscapeError(f"every column needs {self.n_rows} values, one per row")
        put(self, "index", checked_names(self.index, self.n_rows, "row"))

    # --- making one ---

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        roles: Mapping[str, str] | None = None,
        id: str | None = None,
        label: str | Sequence[str] | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
        encoding: str | None = None,
        ragged: Literal["refuse", "pad"] | None = None,
        missing: Any = None,
        columns: Mapping[str, Any] | None = None,
        sheet: str | None = None,
        layer: str | None = None,
        use_rep: str | None = None,
        normalize: Literal["auto", "log", "none"] | float = "none",
        hvg: int | None = None,
        limits: Limits | None = None,
    ) -> Table:
        """Read a file, a data frame, an AnnData object or an array.

        Parameters
        ----------
        source : path, data frame, AnnData, array or Table
            Files are told apart by content: delimited text (also packed by gzip, zip, zstd, bzip2
            or xz), workbooks (xlsx, ods, xls), Parquet, Feather, ARFF, NPY, h5ad. Frames: whatever
            narwhals knows (pandas, polars, pyarrow, …).
        roles : mapping from column name to role, optional
            Overrides detection; roles are "numeric", "nominal", "date", "id", "label", "ignore".
        id : str, optional
            The column that names the rows.
        label : str or sequence of str, optional
            Columns that hold known groups; they are kept aside and are no features.
        delimiter, decimal, encoding : str, optional
            For text files, instead of what would be detected.
        header : bool, optional
            For delimited text and workbooks, whether the first row holds the names.
        ragged : {"refuse", "pad"}, optional
            For delimited text, what becomes of rows that are shorter or longer than the header.
        missing : value or sequence of them, optional
            Cells that mean no value beside the usual ones, such as -999.
        columns : mapping from column name to mapping, optional
            What is known of columns: any of ``role``, ``unit``, ``order`` (levels, lowest first),
            ``transform`` ("log", "log1p", "sqrt", "square", "negate"), ``decimal``,
            ``dates`` ("dmy", "mdy", "ymd") and ``missing``.
        sheet : str, optional
            For workbooks, the sheet to read.
        layer, use_rep : str, optional
            For AnnData: this layer, or this entry of ``obsm``, instead of ``X``.
        normalize : {"none", "auto", "log"} or float
            For counts, such as of genes in cells: "log" takes log(1 + counts per the usual library
            size), the median sum of the rows; "auto" does so where an AnnData object holds counts.
            A number is that size. "none" leaves all numbers.
        hvg : int, optional
            Keep so many numeric columns, those that differ most between the rows
            (:func:`subscape.tables.expression.highly_variable`).
        limits : Limits, optional
            What a file may hold before it is refused; ``Limits.lifted()`` for files you trust.

        Returns
        -------
        Table

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "people.csv")
        ...     _ = path.write_text("age;height;class\\n31;1,72;a\\n44;1,65;b\\n?;1,80;a\\n")
        ...     table = Table.read(path)
        >>> table
        Table(3 rows x 3 columns: 2 numeric, 1 label; 1 missing)
        >>> table.source["delimiter"], table.source["decimal"]
        (';', ',')
        >>> table.labels()
        array([0, 1, 0])
        """
        from subscape.tables.readers.boundary import DEFAULT
        from subscape.tables.readers.layout import TextOptions
        from subscape.tables.readers.sources import read

        wanted = Wishes.of(roles, id, label, columns, missing)
        if isinstance(source, Table):
            given = (delimiter, decimal, header, encoding, ragged, columns, missing, sheet, layer,
                     use_rep, hvg)  # fmt: skip
            if any(option is not None for option in given) or normalize == "log":
                raise SubscapeError("a Table is read already: only roles, id and label apply")
            return source.with_roles(wanted.by_column())
        text = TextOptions(delimiter, decimal, header, encoding, ragged)
        parts = read(
            source,
            wanted,
            text,
            sheet=sheet,
            layer=layer,
            use_rep=use_rep,
            normalize=normalize,
            hvg=hvg,
            limits=limits or DEFAULT,
        )
        return cls(*parts).with_roles(wanted.by_column())

    @classmethod
    def from_array(
        cls,
        X: Any,
        feature_names: Iterable[str] | None = None,
        row_names: Iterable[str] | None = None,
    ) -> Table:
        """Table of an array or sparse matrix of numbers (copied unless it is read-only).

        Parameters
        ----------
        X : (n_rows, n_features) array-like or sparse matrix
            Integers, booleans and objects that are numbers become float64.
        feature_names : iterable of str, optional
            By default x0, x1, …
        row_names : iterable of str, optional

        Returns
        -------
        Table

        Examples
        --------
        >>> Table.from_array([[1, 2, 3], [4, 5, 6]]).feature_names
        ('x0', 'x1', 'x2')
        """
        if isinstance(X, str | bytes | PathLike) or hasattr(X, "columns"):
            raise TypeError("from_array takes an array; Table.read takes paths and data frames")
        names = None if feature_names is None else [str(name) for name in feature_names]
        return cls(*parts_of_array(X, names, None if row_names is None else tuple(row_names)))

    # --- reading it ---

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def nominal(self) -> dict[str, NDArray[np.int32]]:
        """Codes of each nominal column, by name: indices into its levels, -1 = missing."""
        return {c.name: self.others[c.name] for c in self.schema if c.role == "nominal"}

    @cached_property
    def row_names(self) -> tuple[str, ...] | None:
        """Names of the rows: the index, else the first id column without repeats, else None."""
        if self.index is not None:
            return self.index
        ids = (c for c in self.schema if c.role == "id")
        named = (tuple(as_names(c, self._data(c.name))) for c in ids)
        return next((names for names in named if len(set(names)) == self.n_rows), None)

    @cached_property
    def missing(self) -> Any:
        """Bool mask (n_rows, n_features) of the missing cells; sparse where ``X`` is sparse."""
        return missing_mask(self)

    @cached_property
    def profile(self) -> profiles.Profile:
        """Missing, infinite, constant and repeated values of each column, counted when asked."""
        return profiles.profile(self.schema, self.X, self.others)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know about this table, in sentences."""
        said = [*self.unused_numeric_notes, *self.reading_notes]
        said += profiles.remarks(self.schema, self.profile, self.n_rows)
        pairs = zip(self.schema, self.profile.duplicate_of, strict=True)
        copies = {column.name for column, first in pairs if first is not None}
        alone = not any(c.role == "nominal" for c in self.schema)
        said += profiles.remarks_on_values(self.numeric_names, self.X, copies, alone=alone)
        if "id" in self.roles.values() and self.row_names is None:
            said.append("the values of the id column repeat, so the rows have no names")
        return tuple(said)

    @property
    def unused_numeric_notes(self) -> tuple[str, ...]:
        """Of each column that looks like numbers and is not used as such, why; first of the notes.

        >>> import pyarrow as pa
        >>> table = Table.read(pa.table({"w": ["1 kg", "2 kg", "3 lb", "4 lb"]}))
        >>> print(table.unused_numeric_notes[0][:70])
        column 'w' looks like numbers and is not used as such: numbers in seve
        """
        return tuple(
            f"column {c.name!r} {NOT_AS_NUMBERS}: {c.unused}" for c in self.schema if c.unused
        )

    def column(self, name: str) -> Column:
        """Name, role and levels of one column.

        Returns
        -------
        Column
        """
        check_known([name], self._by_name)
        return self._by_name[name]

    def values(self, name: str) -> NDArray[Any]:
        """One column as it was read: float64, datetime64, or text with None where missing.

        Returns
        -------
        array of shape (n_rows,)
        """
        return as_values(self.column(name), self._data(name))

    def labels(self, name: str | None = None) -> IntArray:
        """Groups of one column as labels 0 … K-1; -1 where missing, and where the number is -1.

        They are numbered in the order of the levels, or of the numbers. Any column will do; by
        default it is the only one whose role is "label".

        Returns
        -------
        array of shape (n_rows,)
        """
        if name is None:
            known = [c.name for c in self.schema if c.role == "label"]
            if len(known) != 1:
                have = f"has {listing(known)}" if known else "has none"
                raise SubscapeError(f"say which column: of label columns, the table {have}")
            name = known[0]
        return as_labels(self.column(name), self._data(name))

    def encode(self, nominal: Nominal | None = None) -> Encoded:
        """Turn the features into numbers.

        Parameters
        ----------
        nominal : {"drop", "codes", "onehot"}, optional
            What becomes of nominal columns. "drop" leaves them out; "codes" numbers their levels;
            "onehot" makes one indicator column per level that occurs, scaled so that their
            variances add up to 1: the column then weighs like one standardised numeric column
            (so standardise the numeric columns only). By default they are an error.

        Returns
        -------
        Encoded
            ``X``, ``feature_names`` and ``origin``; a missing cell is NaN in all its columns.
        """
        return encode(self, nominal)

    def to_numpy(self, nominal: Nominal | None = None) -> FloatArray:
        """The features as a dense float64 array; ``nominal`` as in :meth:`encode`.

        Returns
        -------
        array of shape (n_rows, features as numbers)
            NaN where a value is missing.
        """
        X = self.encode(nominal).X
        return np.asarray(X.toarray() if sparse.issparse(X) else X)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        X = self.to_numpy()
        return X.astype(X.dtype if dtype is None else dtype, copy=bool(copy))

    # --- changing it ---

    def select(self, columns: str | Iterable[str]) -> Table:
        """Table of these columns, in this order.

        Returns
        -------
        Table
            With the same rows.
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        return self._rebuilt([self.column(name) for name in names], {})

    def take(self, rows: Any) -> Table:
        """Table of these rows: positions, names, a bool mask or a slice.

        Returns
        -------
        Table
            With the same columns.
        """
        rows = positions(rows, self.n_rows, self.row_names, "row")
        others = {name: data[rows] for name, data in self.others.items()}
        index = None if self.index is None else tuple(self.index[i] for i in rows)
        return replace(self, X=self.X[rows], others=others, index=index)

    def with_roles(self, roles: Mapping[str, str]) -> Table:
        """Table in which the named columns have other roles.

        Text becomes numeric where all of it are numbers; numbers become nominal, one level each.

        Parameters
        ----------
        roles : mapping from column name to role
            "numeric", "nominal", "date", "id", "label" or "ignore".

        Returns
        -------
        Table

        Examples
        --------
        >>> table = Table.from_array([[1, 80], [2, 81], [3, 80]], feature_names=["no", "zip"])
        >>> table.with_roles({"no": "id", "zip": "nominal"})
        Table(3 rows x 2 columns: 1 nominal, 1 id; 0 missing)
        """
        check_known(roles, self._by_name)
        schema, changed = list(self.schema), {}
        for j, column in enumerate(self.schema):
            if column.name in roles and roles[column.name] != column.role:
                data = self._data(column.name)
                schema[j], changed[column.name] = recast(column, data, roles[column.name])
        return self._rebuilt(schema, changed) if changed else self

    # --- inner workings ---

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {c.name: c for c in self.schema}

    def _data(self, name: str) -> NDArray[Any]:
        """The stored values of one column."""
        if name in self.others:
            return self.others[name]
        column = self.X[:, self.numeric_names.index(name)]
        return np.asarray(column.toarray().ravel() if sparse.issparse(column) else column)

    def _rebuilt(self, schema: Sequence[Column], changed: Mapping[str, NDArray[Any]]) -> Table:
        """The same rows under another schema; ``changed`` holds the data that were converted."""

        def data(name: str) -> NDArray[Any]:
            return changed[name] if name in changed else self._data(name)

        numeric = tuple(c.name for c in schema if c.role == "numeric")
        old = {name: j for j, name in enumerate(self.numeric_names)}
        if numeric == self.numeric_names:
            X = self.X
        elif all(name in old for name in numeric):
            X = self.X[:, [old[name] for name in numeric]]
        else:
            X = np.column_stack([data(name) for name in numeric])
            X = sparse.csr_array(X) if sparse.issparse(self.X) else X
        others = {c.name: data(c.name) for c in schema if c.role != "numeric"}
        return replace(self, schema=tuple(schema), X=X, others=others)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by the constructor, because unpickled arrays are writable.
        rest = (self.index, dict(self.source), self.reading_notes)
        return Table, (self.schema, self.X, dict(self.others), *rest)

    def __eq__(self, other: object) -> bool:
        """Same columns, rows and cells; the source does not matter."""
        if not isinstance(other, Table):
            return NotImplemented
        return (
            self.schema == other.schema
            and self.index == other.index
            and same(self.X, other.X)
            and all(same(self.others[name], other.others[name]) for name in self.others)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Table({profiles.summary(self.schema, self.profile, self.n_rows)})"

    def _repr_html_(self) -> str:
        return profiles.as_html(self.schema, self.profile, self.n_rows, self.notes)
