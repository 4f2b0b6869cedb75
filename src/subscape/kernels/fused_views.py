"""One step of Nr-Kmeans on a CUDA GPU with a single pass over the rows.

By matrix products the table is read twice, and the scores are written and read. This kernel, in
Triton, which comes with torch, reads each row once. For the matrix units a value is kept as two
half floats, ``high + low / 2048``: as many bytes as a float32 and all but two of its bits. It
serves float32 tensors of torch; whatever it does not serve is done by
:func:`subscape.kernels.device_views.product_step`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.backend import requested

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

__all__ = ["fused_step", "packed_halves"]

#: Wider tables and more clusters don't fit into the registers of a multiprocessor.
MOST_COLUMNS, MOST_CLUSTERS, MOST_IN_BYTE = 128, 32, 127
#: Larger values, and products of them, might leave the range of half floats.
LARGEST = 512.0
#: Values in a row of the packed table come in multiples of this: 16 bytes are read at a time.
ALIGNED = 8
#: Rows that are split into halves at a time.
PACKED_ROWS = 2**20
#: Rows that a program looks at together, its warps, the loads under way, and programs per
#: multiprocessor; the fastest of 48 settings on an H200.
BLOCK, WARPS, STAGES, PROGRAMS = 64, 4, 3, 8


def packed_halves(X: Any, sizes: Sequence[int]) -> Any:
    """The table as two half floats per value, or None where the kernel does not serve it.

    Parameters
    ----------
    X : (n, p) array
        Scaled so that most values are about 1.
    sizes : sequence of int
        Clusters of each view.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.kernels.fused_views import packed_halves
    >>> packed_halves(np.zeros((3, 2), np.float32), (2,)) is None
    True
    """
    if triton is None or requested() == "numpy" or "torch" not in type(X).__module__:
        return None
    import torch

    narrow = X.shape[1] <= MOST_COLUMNS and sum(sizes) <= MOST_CLUSTERS
    single = X.is_cuda and X.dtype == torch.float32
    if not (single and narrow and max(sizes) <= MOST_IN_BYTE and X.shape[0] < 2**31 - 2**24):
        return None
    if torch.cuda.get_device_capability(X.device) < (8, 0) or X.abs().amax() > LARGEST:
        return None
    n, p = X.shape
    width = -(-p // ALIGNED) * ALIGNED
    try:
        packed = torch.zeros((n, 2 * width), dtype=torch.float16, device=X.device)
    except torch.cuda.OutOfMemoryError:
        return None
    for part in range(0, n, PACKED_ROWS):
        block = X[part : part + PACKED_ROWS]
        high = block.to(torch.float16)
        low = (block - high.to(torch.float32)) * 2048.0
        packed[part : part + PACKED_ROWS, :p] = high
        packed[part : part + PACKED_ROWS, width : width + p] = low.to(torch.float16)
    return packed


def fused_step(
    packed: Any,
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    sizes: Sequence[int],
    old: Any,
) -> tuple[Any, NDArray[np.float64], NDArray[np.int64], int]:
    """Labels, sums, counts and number of changed labels; see ``view_step``."""
    import torch

    (p, total), n, device = weights.shape, packed.shape[0], packed.device
    width, height = max(16, triton.next_power_of_2(p)), max(16, triton.next_power_of_2(total))
    # Everything small travels in one copy: weights, offsets, and the view of each cluster.
    small = np.zeros((width + 2, height), dtype=np.float32)
    small[:p, :total] = weights
    small[width, :total] = offsets
    small[width + 1] = -1.0
    small[width + 1, :total] = np.repeat(np.arange(len(sizes)), sizes)
    labels = torch.empty_like(old)
    n_programs = PROGRAMS * torch.cuda.get_device_properties(device).multi_processor_count
    sums = torch.empty((n_programs, height, width + 2), dtype=torch.float32, device=device)
    with torch.cuda.device(device):
        _pass_over_rows[(n_programs,)](
            packed, torch.from_numpy(small).to(device), old, labels, sums, n,
            p=packed.shape[1] // 2, BLOCK=BLOCK, P=width, K=height, S=len(sizes), STAGES=STAGES,
            num_warps=WARPS,
        )  # fmt: skip
    # In two stages: one would leave most of the device idle.
    sums = sums.view(-1, PROGRAMS, height, width + 2).sum(dim=1, dtype=torch.float64)
    found = sums.sum(dim=0).cpu().numpy()
    counts = np.rint(found[:total, width]).astype(np.int64)
    return labels, np.array(found[:total, :p]), counts, int(np.rint(found[0, width + 1]))


if triton is not None:

    @triton.jit
    def _pass_over_rows(
        x, small, old, labels, sums, n,
        p: tl.constexpr, BLOCK: tl.constexpr, P: tl.constexpr, K: tl.constexpr, S: tl.constexpr,
        STAGES: tl.constexpr,
    ):  # fmt: skip
        program = tl.program_id(0)
        columns = tl.arange(0, P)
        clusters = tl.arange(0, K)
        weights = tl.load(small + columns[:, None] * K + clusters[None, :])
        high_weights = weights.to(tl.float16)
        low_weights = ((weights - high_weights.to(tl.float32)) * 2048.0).to(tl.float16)
        offsets = tl.load(small + P * K + clusters)
        views = tl.load(small + (P + 1) * K + clusters)
        high_sums = tl.zeros((K, P), dtype=tl.float32)
        low_sums = tl.zeros((K, P), dtype=tl.float32)
        counts = tl.zeros((K,), dtype=tl.int32)
        changed = tl.zeros((BLOCK,), dtype=tl.int32)
        for start in tl.range(
            program * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES
        ):
            rows = start + tl.arange(0, BLOCK)
            there = rows < n
            place = x + rows[:, None].to(tl.int64) * (2 * p) + columns[None, :]
            mask = there[:, None] & (columns < p)[None, :]
            high = tl.load(place, mask=mask, other=0.0)
            low = tl.load(place + p, mask=mask, other=0.0)
            fine = tl.dot(high, low_weights)
            fine = tl.dot(low, high_weights, fine)
            scores = tl.dot(high, high_weights) + fine * (1.0 / 2048.0) + offsets[None, :]
            members = tl.zeros((BLOCK, K), dtype=tl.int32)
            for view in tl.static_range(S):
                mine = views == view
                own = tl.where(mine[None, :], scores, float("inf"))
                least = tl.min(own, axis=1)
                # Of equal scores the first; a view's clusters lie side by side.
                best = tl.min(tl.where(own == least[:, None], clusters[None, :], K), axis=1)
                first = tl.min(tl.where(mine, clusters, K), axis=0)
                members += ((clusters[None, :] == best[:, None]) & there[:, None]).to(tl.int32)
                label = (best - first).to(tl.int8)
                at = view * n.to(tl.int64) + rows
                before = tl.load(old + at, mask=there, other=0)
                changed += (there & (before != label)).to(tl.int32)
                tl.store(labels + at, label, mask=there)
            counts += tl.sum(members, axis=0)
            shares = tl.trans(members.to(tl.float16))
            high_sums = tl.dot(shares, high, high_sums)
            low_sums = tl.dot(shares, low, low_sums)
        mine = sums + program.to(tl.int64) * K * (P + 2) + clusters * (P + 2)
        tl.store(mine[:, None] + columns[None, :], high_sums + low_sums * (1.0 / 2048.0))
        tl.store(mine + P, counts.to(tl.float32))
        moved = tl.sum(changed, axis=0).to(tl.float32)
        tl.store(mine + P + 1, tl.where(clusters == 0, moved, 0.0))
