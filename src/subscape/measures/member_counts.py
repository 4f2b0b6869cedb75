"""How many points of each cluster fall into each bin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.memberships import Memberships
from subscape.kernels.array_api import from_numpy
from subscape.kernels.bin_counts import count_in_bins
from subscape.kernels.blocks import Blocks
from subscape.kernels.device_blocks import DeviceBlocks, is_there
from subscape.kernels.device_counts import MOST_LIMITS, count_in_bins_there
from subscape.kernels.device_sums import one_hot

from .bins import Bins

#: Memberships are counted in units of 2**-30, so that sums are exact in any order of the rows.
UNIT = 2.0**-30


def counts_of(values: NDArray[Any] | Blocks, bins: Bins, members: Memberships) -> NDArray[Any]:
    """Points of each cluster in each bin: whole numbers where memberships are hard."""
    limits, starts = bins.limits
    if is_there(values) and np.diff(starts).max(initial=0) <= MOST_LIMITS:
        shares = _shares_there(values, members)
        settings = limits, starts, shares, members.n_clusters, bins.missing_bin
        counts = count_in_bins_there(values, *settings)
        return counts if members.is_hard else counts * UNIT
    row_starts, clusters, units = _by_row(members)
    counts = np.zeros((members.n_clusters, bins.total), np.int64)
    whole = slice(0, members.n_rows)
    for rows, block in values if isinstance(values, Blocks) else [(whole, values)]:
        inside = row_starts[rows.start : rows.stop + 1]
        entries = slice(int(inside[0]), int(inside[-1]))
        counts += count_in_bins(
            block,
            limits,
            starts,
            inside - inside[0],
            clusters[entries],
            units[entries],
            members.n_clusters,
            bins.missing_bin,
        )
    return counts if members.is_hard else counts * UNIT


def _shares_there(values: DeviceBlocks, members: Memberships) -> Callable[[slice], Any]:
    """How much a block of rows counts in each cluster, (rows, n_clusters), beside the table."""
    k, like = members.n_clusters, values.values
    each = members.clusters_per_row()
    if members.is_hard and each.max(initial=0) <= 1:
        codes = members.codes()
        return lambda rows: one_hot(from_numpy(codes[rows], like), k)
    row_starts, clusters, units = _by_row(members)

    def dense(rows: slice) -> Any:
        entries = slice(int(row_starts[rows.start]), int(row_starts[rows.stop]))
        block = np.zeros((rows.stop - rows.start, k), bool if members.is_hard else np.float64)
        place = np.repeat(np.arange(len(block)), each[rows])
        block[place, clusters[entries]] = True if members.is_hard else units[entries]
        return from_numpy(block, like)

    return dense


def _by_row(
    members: Memberships,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Clusters of each row, one row after the other, and how much they count in units."""
    each = members.clusters_per_row()
    starts = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    if members.values is None and (len(each) == 0 or each.max() <= 1):
        codes = members.codes()
        return starts, codes[codes >= 0], np.empty(0, np.int64)
    order = np.argsort(members.indices, kind="stable")
    clusters = members.clusters()[order]
    if members.values is None:
        return starts, clusters, np.empty(0, np.int64)
    units = np.rint(members.values[order].astype(np.float64) / UNIT).astype(np.int64)
    return starts, clusters, units
