"""Entries per row, such as labels and distances, that stay with the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.memberships import DistantCodes
from subscape.parallel.distributed import awaited

from .passes import Stretch, Visit, visit_all

__all__ = ["RemoteRows"]


class RemoteRows(DistantCodes):
    """An entry, or several, for each row of a table on a cluster.

    Parameters
    ----------
    client : distributed.Client
    bounds : sequence of int
        The first row of each piece, and the number of rows.
    dtype : dtype
    fill : number
        What all entries are, as long as nobody has written any.
    width : tuple of int
        Entries of a row.
    pieces : sequence of futures, optional
        Where the entries are.
    """

    def __init__(
        self,
        client: Any,
        bounds: Sequence[int],
        dtype: Any,
        fill: Any = 0,
        width: tuple[int, ...] = (),
        pieces: Sequence[Any] | None = None,
    ) -> None:
        self.client, self.bounds = client, tuple(bounds)
        self.dtype, self.fill, self.width = np.dtype(dtype), fill, tuple(width)
        self.pieces: list[Any] | None = None if pieces is None else list(pieces)

    @classmethod
    def of(cls, values: NDArray[Any], client: Any, bounds: Sequence[int]) -> RemoteRows:
        """Entries that are here, sent to the workers once."""
        parts = [np.ascontiguousarray(values[a:b]) for a, b in pairwise(bounds)]
        # As tasks: what is scattered could not be made again.
        sent = [client.submit(_same, part, pure=False) for part in parts]
        return cls(client, bounds, values.dtype, 0, values.shape[1:], sent)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bounds[-1], *self.width)

    @property
    def ndim(self) -> int:
        return 1 + len(self.width)

    def __len__(self) -> int:
        return self.bounds[-1]

    @property
    def fresh(self) -> tuple[Any, Any, tuple[int, ...]] | None:
        """What the workers make the entries of where there are none yet."""
        return (self.dtype, self.fill, self.width) if self.pieces is None else None

    def made(self) -> list[Any]:
        """The pieces; entries that nobody has written are made now."""
        if self.pieces is None:
            shapes = [(stop - start, *self.width) for start, stop in pairwise(self.bounds)]
            self.pieces = [
                self.client.submit(np.full, shape, self.fill, self.dtype, pure=False)
                for shape in shapes
            ]
        return self.pieces

    def cut(self, bounds: Sequence[int]) -> RemoteRows:
        """The same entries in pieces that begin elsewhere."""
        bounds = tuple(bounds)
        if bounds == self.bounds:
            return self
        if self.pieces is None:
            return RemoteRows(self.client, bounds, self.dtype, self.fill, self.width)
        ends = np.array(self.bounds[1:])
        pieces = []
        for start, stop in pairwise(bounds):
            first = int(np.searchsorted(ends, start, side="right"))
            last = int(np.searchsorted(self.bounds[:-1], stop))
            parts = []
            for i in range(first, last):
                begin, end = self.bounds[i], self.bounds[i + 1]
                inside = max(start - begin, 0), min(stop, end) - begin
                part = self.pieces[i]
                if inside != (0, end - begin):
                    part = self.client.submit(_slice, part, *inside, pure=False)
                parts.append(part)
            whole = parts[0] if len(parts) == 1 else self.client.submit(_joined, *parts, pure=False)
            pieces.append(whole)
        return RemoteRows(self.client, bounds, self.dtype, self.fill, self.width, pieces)

    def __getitem__(self, part: Any) -> Any:
        """One column, ``[:, j]``, or some rows as an array in memory."""
        if isinstance(part, tuple) and part[0] == slice(None):
            column = part[1]
            return each_row(lambda rows, own: own[:, column], self, dtype=self.dtype)
        return self.to_numpy()[part]

    def copy(self) -> RemoteRows:
        """The same entries: what is written to one of the two is not seen in the other."""
        return RemoteRows(self.client, self.bounds, self.dtype, self.fill, self.width, self.pieces)

    def put(self, row: int, place: Any, value: Any) -> None:
        """Write one entry; ``place`` is its column, () where there are none."""
        pieces = self.made()
        i = int(np.searchsorted(self.bounds, row, side="right")) - 1
        at = (row - self.bounds[i], *np.atleast_1d(place).astype(int).tolist())
        pieces = list(pieces)
        pieces[i] = self.client.submit(_with_entry, pieces[i], at, value, pure=False)
        self.pieces = pieces

    def get(self, row: int) -> Any:
        """The entries of one row."""
        i = int(np.searchsorted(self.bounds, row, side="right")) - 1
        found = self.client.submit(_entry, self.made()[i], row - self.bounds[i], pure=False)
        return awaited(self.client, [found])[0]

    def to_numpy(self) -> NDArray[Any]:
        """All entries in memory."""
        if self.pieces is None:
            return np.full(self.shape, self.fill, self.dtype)
        whole = np.empty(self.shape, self.dtype)
        # A few at a time, or there would be two of each.
        for first in range(0, len(self.pieces), 8):
            sent = [
                self.client.submit(packed, piece, pure=False)
                for piece in self.pieces[first : first + 8]
            ]
            for i, part in enumerate(awaited(self.client, sent), first):
                part.unpacked(whole[self.bounds[i] : self.bounds[i + 1]])
        return whole

    def to_dask(self, dtype: Any = None) -> Any:
        """All entries as a Dask array; they stay where they are."""
        import dask.array as da
        from dask.delayed import delayed

        parts = [
            da.from_delayed(delayed(piece), (stop - start, *self.width), dtype=self.dtype)
            for piece, (start, stop) in zip(self.made(), pairwise(self.bounds), strict=True)
        ]
        whole = da.concatenate(parts) if len(parts) > 1 else parts[0]
        return whole if dtype is None or self.dtype == dtype else whole.astype(dtype)

    # -- as cluster numbers ------------------------------------------------------------------------

    def sizes(self, n_clusters: int) -> NDArray[Any]:
        return fold_rows(
            lambda rows, own: _Counts(np.bincount(own[own >= 0], minlength=n_clusters)), self
        ).found

    def renumbered(self, numbers: NDArray[Any]) -> RemoteRows:
        return each_row(
            lambda rows, own: np.where(own >= 0, numbers[own], -1), self, dtype=np.int32
        )


class Packed(NamedTuple):
    """Entries as they travel: small numbers in few bytes, and no ones where most are ones."""

    values: NDArray[Any]
    others: NDArray[np.uint8] | None = None
    """A bit for each entry, set where it is among ``values``; None if all are."""

    def unpacked(self, out: NDArray[Any]) -> None:
        """Write the entries into ``out``."""
        if self.others is None:
            out[...] = self.values
        else:
            out[...] = 1
            out[np.unpackbits(self.others, count=len(out)).astype(bool)] = self.values


def packed(part: NDArray[Any]) -> Packed:
    """Entries for the way, from which the same bits come out again.

    >>> packed(np.array([3, -1, 4])).values.dtype
    dtype('int8')
    >>> packed(np.array([1.0, 0.7, 1.0])).values
    array([0.7])
    """
    if part.dtype.kind in "iu" and part.size:
        low, high = part.min(), part.max()
        for kind in (np.int8, np.int16, np.int32):
            limits = np.iinfo(kind)
            fewer = limits.bits < 8 * part.itemsize
            if fewer and limits.min <= low and high <= limits.max:
                return Packed(part.astype(kind))
    if part.dtype.kind == "f" and part.ndim == 1:
        # Confidence is a probability, which rounding often makes certain.
        others = part != 1
        if others.sum() < 0.8 * len(part):
            return Packed(part[others], np.packbits(others))
    return Packed(part)


def fold_rows(stats: Callable[..., Any], *values: RemoteRows, step: int | None = None) -> Any:
    """Sum of what is said of the entries of each piece, in steps of so many rows."""
    return _visited(stats, values, (), step)[0]


def change_rows(function: Callable[..., Any], *values: RemoteRows, changes: RemoteRows) -> None:
    """Let a function write into its rows of ``changes``, which come last."""
    placed = changes.cut(values[0].bounds) if values else changes
    _, (pieces,) = _visited(function, values, (placed,), None)
    changes.bounds, changes.pieces = placed.bounds, pieces


def each_row(
    function: Callable[..., Any],
    *values: RemoteRows,
    dtype: Any,
    width: tuple[int, ...] = (),
) -> RemoteRows:
    """Entries that are computed from others, row by row."""
    first = values[0]
    found = RemoteRows(first.client, first.bounds, dtype, 0, width)

    def write(rows: slice, *own: Any) -> int:
        *given, out = own
        out[:] = function(rows, *given)
        return 0

    _, (pieces,) = _visited(write, values, (found,), None)
    found.pieces = pieces
    return found


def _visited(
    function: Callable[..., Any],
    reads: Sequence[RemoteRows],
    writes: Sequence[RemoteRows],
    step: int | None,
) -> tuple[Any, list[list[Any]]]:
    first = reads[0]
    bounds = first.bounds
    stretches = [Stretch(start, stop, ()) for start, stop in pairwise(bounds)]
    longest = max(each.stop - each.start for each in stretches)
    visit = Visit(
        function, None, step or max(longest, 1), None, tuple(each.fresh for each in writes)
    )
    beside: list[Any] = [each.cut(bounds).made() for each in reads]
    beside += [each.pieces or [None] * len(stretches) for each in writes]
    return visit_all(first.client, visit, stretches, _nothing, beside)


def _nothing(stretch: Stretch) -> list[Any]:
    return []


class _Counts:
    """How often each number occurs; there may be more of them in one part than in another."""

    def __init__(self, found: NDArray[Any]) -> None:
        self.found = found

    def __add__(self, other: _Counts) -> _Counts:
        few, many = sorted((self.found, other.found), key=len)
        total = many.copy()
        total[: len(few)] += few
        return _Counts(total)


# -- on the workers --------------------------------------------------------------------------------


def _same(part: NDArray[Any]) -> NDArray[Any]:
    return part


def _slice(part: NDArray[Any], first: int, stop: int) -> NDArray[Any]:
    return part[first:stop]


def _joined(*parts: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate(parts)


def _with_entry(part: NDArray[Any], at: tuple[int, ...], value: Any) -> NDArray[Any]:
    changed = part.copy()
    changed[at] = value
    return changed


def _entry(part: NDArray[Any], row: int) -> Any:
    return part[row]
