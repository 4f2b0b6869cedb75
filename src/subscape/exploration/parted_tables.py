"""Tables in parts, which are explored without being read into memory: Parquet folders, Dask.

Roles and profile come from passes over all rows, the rows to search are taken out, and all rows are
put into clusters where they are: in blocks here, or by the workers of a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, as_blocks
from subscape.arrays.lazy_tables import is_lazy_table
from subscape.arrays.row_values import brought
from subscape.arrays.sources import ParquetSource, parquet_files
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IntArray
from subscape.tables import profile as profiles
from subscape.tables.columns import Column, WithSchema, as_labels, check_known, recast
from subscape.tables.roles import Habits, may_be_aside, type_column
from subscape.tables.table import Table

from .new_rows import like_before
from .preparation import Recipe
from .rule import Rule

__all__ = ["PartedTable", "is_parted"]

#: Rows that are put into clusters at a time, here and on workers: so many, the bits are the same.
BLOCK = 50_000


def is_parted(X: Any) -> bool:
    """Whether this is a folder of Parquet files, a URL, a table of Dask, or another lazy one."""
    if isinstance(X, str) and "://" in X:
        return True
    if isinstance(X, (str, os.PathLike)):
        path = Path(X)
        return path.is_dir() and bool(parquet_files(path))
    from_dask = type(X).__module__.split(".")[0] == "dask"
    return is_lazy_table(X) or (from_dask and hasattr(X, "chunks"))


@dataclass(frozen=True, eq=False, repr=False)
class PartedTable(WithSchema):
    """A table of numbers in parts; what an exploration asks of it is what it asks of a ``Table``.

    Parameters
    ----------
    blocks : Blocks
        All columns.
    schema : tuple of Column
    source : mapping
        Where it comes from.
    part_lengths : tuple of int
        Rows of each part: file, partition or chunk.

    See Also
    --------
    subscape.Table : A table in memory.
    """

    blocks: Blocks
    schema: tuple[Column, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    part_lengths: tuple[int, ...] = ()

    #: Rows are numbered: their names would have to come here.
    row_names = None
    unused_numeric_notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any) -> PartedTable:
        """The table of a folder, a URL, a Dask array or data frame, or another lazy table.

        Examples
        --------
        >>> import dask.array as da
        >>> table = PartedTable.of(da.ones((30, 2), chunks=(20, 2)))
        >>> table.shape, table.part_lengths, table.feature_names
        ((30, 2), (20, 10), ('x0', 'x1'))
        """
        if isinstance(X, (str, os.PathLike)) and "://" not in str(X):
            files = ParquetSource(X, nulls=True)
            blocks, lengths = as_blocks(files), tuple(files.part_lengths)
        else:
            blocks = as_blocks(X)
            lengths = tuple(int(n) for n in getattr(blocks.source, "lengths", (len(blocks),)))
        names = blocks.names or tuple(f"x{j}" for j in range(blocks.shape[1]))
        about: dict[str, Any] = {"path": str(X)} if isinstance(X, (str, os.PathLike)) else {}
        about |= {"format": "parts", "rows": len(blocks)}
        found = cls(blocks, tuple(Column(name) for name in names), about, lengths)
        return replace(found, schema=tuple(found._typed(j) for j in range(len(names))))

    def _typed(self, j: int) -> Column:
        """What a column is for, as in a table in memory."""
        name = self.schema[j].name
        if self.counts[j].n_missing == self.n_rows:
            return Column(name, "ignore", note="has no values")
        if not may_be_aside(name):
            return Column(name)
        import pyarrow as pa

        cells = pa.chunked_array([pa.array(self._column(j))])
        typed = type_column(name, cells, Habits())
        return Column(name) if typed is None else typed.column

    def _column(self, j: int) -> FloatArray:
        return np.asarray(self.blocks.column(j), np.float64)

    # -- as of a table in memory ------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        return len(self.blocks)

    @property
    def nominal(self) -> dict[str, Any]:
        return {}

    def column(self, name: str) -> Column:
        check_known([name], self.roles)
        return self.schema[self._place(name)]

    def _place(self, name: str) -> int:
        return [c.name for c in self.schema].index(name)

    def values(self, name: str) -> FloatArray:
        """One column, which comes here."""
        check_known([name], self.roles)
        return self._column(self._place(name))

    def labels(self, name: str) -> IntArray:
        """Groups of one column, which comes here."""
        return as_labels(self.column(name), self.values(name))

    def with_roles(self, roles: Mapping[str, str]) -> PartedTable:
        """The table in which columns have other roles; numbers stay numbers."""
        check_known(roles, self.roles)
        levels = [name for name, role in roles.items() if role == "nominal"]
        if levels:
            raise SubscapeError(
                f"column {levels[0]!r} of a table in parts can't be nominal: its columns are "
                "numbers. Read the table with Table.read where it fits into memory"
            )
        nothing = np.empty(0)
        schema = tuple(
            recast(c, nothing, roles[c.name])[0] if roles.get(c.name, c.role) != c.role else c
            for c in self.schema
        )
        return replace(self, schema=schema)

    def take(self, rows: Any) -> Table:
        """These rows, in memory."""
        return in_memory(self.blocks.take(rows), self.schema, self.source)

    @cached_property
    def counts(self) -> list[profiles.ColumnCounts]:
        """What was counted in every column; one pass."""
        known = vars(self.blocks.source).setdefault("_column_counts", [])
        if not known:
            known += self.blocks.fold(lambda block, rows: _Counted.of(block), np.float64).columns
        return known

    @cached_property
    def profile(self) -> profiles.Profile:
        return profiles.profile_of(self.schema, self.counts)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know about this table, in sentences."""
        said = profiles.remarks(self.schema, self.profile, self.n_rows)
        pairs = zip(self.schema, self.profile.duplicate_of, strict=True)
        copies = {column.name for column, first in pairs if first is not None}
        numeric = [j for j, c in enumerate(self.schema) if c.role == "numeric"]
        if numeric:
            rows = np.arange(0, self.n_rows, profiles.step_for((self.n_rows, len(numeric))))
            part = np.array(self.blocks.take(rows)[:, numeric], np.float64)
            said += profiles.remarks_on_part(self.numeric_names, part, self.n_rows, copies)
        if "id" in self.roles.values():
            said.append("the table is in parts: its rows are numbered, and not called by their id")
        return tuple(said)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of all contents."""
        whole = blake2b(digest_size=12)
        for column, counts in zip(self.schema, self.counts, strict=True):
            whole.update(repr((column.name, column.role, self.n_rows)).encode())
            whole.update(counts.digest)
        return whole.hexdigest()

    def __repr__(self) -> str:
        return f"PartedTable({profiles.summary(self.schema, self.profile, self.n_rows)})"

    # -- all rows ---------------------------------------------------------------------------------

    def assigned(self, recipes: Sequence[Recipe], rule: Rule) -> Assigned:
        """Row values: what a rule says of every row, and how sure it is; one pass."""
        table = self.blocks.in_steps(BLOCK)
        schema = self.schema

        def put(block: FloatArray, rows: slice, labels: Any, sure: Any) -> int:
            known = like_before(recipes, in_memory(block, schema))
            labels[:], sure[:] = rule(known)
            return 0

        labels, sure = table.row_values(np.int32, -1), table.row_values(np.float64)
        table.fold(put, np.float64, writes=(labels, sure))
        return Assigned(labels, sure)


class Assigned(NamedTuple):
    """Row values, on a cluster where the rows are there."""

    labels: Any
    sure: Any

    def here(self) -> tuple[NDArray[np.int32], FloatArray]:
        """Both in memory."""
        return brought(self.labels), brought(self.sure)


def in_memory(
    block: NDArray[Any], schema: tuple[Column, ...], source: Mapping[str, Any] | None = None
) -> Table:
    """Some rows of all columns as a table in memory."""
    block = np.asarray(block, np.float64)
    numeric = [j for j, column in enumerate(schema) if column.role == "numeric"]
    others = {c.name: block[:, j].copy() for j, c in enumerate(schema) if c.role != "numeric"}
    # Sums depend on how the numbers lie, and those of a table in memory lie row by row.
    return Table(schema, np.ascontiguousarray(block[:, numeric]), others, source=source or {})


class _Counted:
    """Counts of columns, added up over the blocks."""

    def __init__(self, columns: list[profiles.ColumnCounts]) -> None:
        self.columns = columns

    @classmethod
    def of(cls, block: FloatArray) -> _Counted:
        return cls(profiles.count_columns(block))

    def __add__(self, other: _Counted) -> _Counted:
        return _Counted([a.joined(b) for a, b in zip(self.columns, other.columns, strict=True)])
