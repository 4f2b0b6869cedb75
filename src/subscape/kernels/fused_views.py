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
#: multiprocessor: the fastest on an H200, and of those as fast the one with the shortest sums.
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
    if requested() == "numpy" or type(X).__module__.partition(".")[0] != "torch":
        return None
    # Here, since both take long to import.
    import torch

    from subscape.kernels import _triton_views

    if _triton_views.triton is None:
        return None

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

    from subscape.kernels._triton_views import pass_over_rows, triton

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
        pass_over_rows[(n_programs,)](
            packed, torch.from_numpy(small).to(device), old, labels, sums, n,
            p=packed.shape[1] // 2, BLOCK=BLOCK, P=width, K=height, S=len(sizes), STAGES=STAGES,
            num_warps=WARPS,
        )  # fmt: skip
    # In two stages: one would leave most of the device idle.
    sums = sums.view(-1, PROGRAMS, height, width + 2).sum(dim=1, dtype=torch.float64)
    found = sums.sum(dim=0).cpu().numpy()
    counts = np.rint(found[:total, width]).astype(np.int64)
    return labels, np.array(found[:total, :p]), counts, int(np.rint(found[0, width + 1]))
