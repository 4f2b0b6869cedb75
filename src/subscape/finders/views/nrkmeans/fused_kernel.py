"""One step of Nr-Kmeans on a CUDA GPU with a single pass over the rows.

By matrix products the table is read twice, and the scores are written and read. This kernel, in
Triton, which comes with torch, reads each row once. For the matrix units a value is kept as two
half floats, ``high + low / 2048``: as many bytes as a float32 and all but two of its bits. It
serves float32 tensors of torch; whatever it does not serve is done by
:func:`subscape.finders.views.nrkmeans.device_rows.product_step`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subscape.arrays.backend import requested
from subscape.core.types import FloatArray, IntArray

__all__ = ["PackedTable", "halves", "packed_halves"]

#: Wider tables and more clusters don't fit into the registers of a multiprocessor, the labels of
#: more views not into a word.
MOST_COLUMNS, MOST_CLUSTERS, MOST_IN_BYTE, MOST_VIEWS = 128, 32, 127, 8
#: Larger values, and products of them, might leave the range of half floats.
LARGEST = 512.0
#: Values in a row of the packed table come in multiples of this: 16 bytes are read at a time.
ALIGNED = 8
#: Rows that are split into halves at a time.
PACKED_ROWS = 2**20
#: Shared memory of a multiprocessor that the kernel needs, in bytes.
SHARED = 2**17
#: Steps before one is recorded: the first compiles the kernel, and few don't pay for a recording.
UNRECORDED = 8
#: Rows that a program looks at together, its warps, the loads under way, and programs per
#: multiprocessor: the fastest on an H200.
BLOCK, WARPS, STAGES, PROGRAMS = 64, 4, 3, 2


class PackedTable:
    """The rows as half floats, and what every step needs again.

    A step always uses the same memory: the weights, the sums, and two sets of labels that take
    turns. On a GPU all that is sent, launched and fetched is therefore recorded, as a graph, and
    asked for by a single call from then on.

    Parameters
    ----------
    values : (n, 2 w) float16 tensor
        What is large of each value, then what is left of it, for w columns.
    n_columns : int
        Columns of the table, w at most.
    sizes : sequence of int
        Clusters of each view.
    """

    def __init__(self, values: Any, n_columns: int, sizes: Sequence[int]) -> None:
        import torch

        device, cuda = values.device, values.is_cuda
        self._values, self._sizes = values, tuple(sizes)
        self._width, self._height = _power_of_two(n_columns), _power_of_two(sum(sizes))
        shape = self._width + 2, self._height
        programs = PROGRAMS
        if cuda:
            programs *= torch.cuda.get_device_properties(device).multi_processor_count
        # What is small travels in one copy there and one back, from memory that stays in place.
        self._sent = torch.zeros(shape, dtype=torch.float32, pin_memory=cuda)
        self._sent[self._width + 1] = -1.0
        self._sent[self._width + 1, : sum(sizes)] = torch.from_numpy(
            np.repeat(np.arange(len(sizes), dtype=np.float32), sizes)
        )
        self._small = torch.zeros(shape, dtype=torch.float32, device=device)
        self._sums = torch.empty((programs, *shape), dtype=torch.float32, device=device)
        self._total = torch.empty(shape, dtype=torch.float64, device=device)
        self._found = torch.empty(shape, dtype=torch.float64, pin_memory=cuda)
        word = torch.int32 if len(sizes) <= 4 else torch.int64
        self._words = torch.zeros((2, values.shape[0]), dtype=word, device=device)
        self._graphs: list[Any] = [None, None]
        self._n_steps = 0

    def step(
        self, weights: FloatArray, offsets: FloatArray, old: Any
    ) -> tuple[Any, FloatArray, IntArray, int]:
        """Labels, sums, counts and number of changed labels; see ``view_step``.

        The labels lie in memory that the step after the next one writes to.
        """
        import torch

        p, total = weights.shape
        before = self._place(old)
        small = self._sent.numpy()
        small[:p, :total] = weights
        small[self._width, :total] = offsets
        if self._values.is_cuda:
            with torch.cuda.device(self._values.device):
                self._ask(before)
                torch.cuda.current_stream().synchronize()
        else:  # by Triton's interpreter
            self._run(before)
        found = self._found.numpy()
        counts = np.rint(found[self._width, :total]).astype(np.int64)
        sums = np.array(found[:p, :total].T, order="C")
        changed = int(np.rint(found[self._width + 1, 0]))
        return self._bytes(1 - before).T, sums, counts, changed

    def _bytes(self, which: int) -> Any:
        """(n, S) labels, of which each is a byte of a row's word."""
        import torch

        n = self._words.shape[1]
        return self._words[which].view(torch.int8).view(n, -1)[:, : len(self._sizes)]

    def _place(self, old: Any) -> int:
        """Which of the two sets the old labels are; they are copied where they are none."""
        for which in range(2):
            if old.data_ptr() == self._words[which].data_ptr():
                return which
        self._bytes(0).copy_(old.T)
        return 0

    def _ask(self, before: int) -> None:
        """Run a step on the GPU, from its graph if there is one."""
        import torch

        self._n_steps += 1
        if self._n_steps <= UNRECORDED:
            self._run(before)
            return
        if self._graphs[before] is None:
            graph = torch.cuda.CUDAGraph()
            # Other threads may go on with what they do on the GPU.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._run(before)
            self._graphs[before] = graph
        self._graphs[before].replay()

    def _run(self, before: int) -> None:
        import torch

        from ._triton_views import pass_over_rows

        self._small.copy_(self._sent, non_blocking=True)
        pass_over_rows[(self._sums.shape[0],)](
            self._values, self._small, self._words[before], self._words[1 - before], self._sums,
            self._values.shape[0], p=self._values.shape[1] // 2, BLOCK=BLOCK, P=self._width,
            K=self._height, S=len(self._sizes), STAGES=STAGES, num_warps=WARPS,
        )  # fmt: skip
        torch.sum(self._sums, dim=0, dtype=torch.float64, out=self._total)
        self._found.copy_(self._total, non_blocking=True)


def packed_halves(X: Any, sizes: Sequence[int]) -> PackedTable | None:
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
    >>> from subscape.finders.views.nrkmeans.fused_kernel import packed_halves
    >>> packed_halves(np.zeros((3, 2), np.float32), (2,)) is None
    True
    """
    if requested() == "numpy" or type(X).__module__.partition(".")[0] != "torch":
        return None
    # Here, since both take long to import.
    import torch

    from . import _triton_views

    narrow = X.shape[1] <= MOST_COLUMNS and sum(sizes) <= MOST_CLUSTERS
    few = max(sizes) <= MOST_IN_BYTE and len(sizes) <= MOST_VIEWS and X.shape[0] < 2**31 - 2**24
    single = X.is_cuda and X.dtype == torch.float32
    if _triton_views.triton is None or not (single and narrow and few):
        return None
    properties = torch.cuda.get_device_properties(X.device)
    shared = getattr(properties, "shared_memory_per_block_optin", 0)
    if properties.major < 8 or shared < SHARED or X.abs().amax() > LARGEST:
        return None
    try:
        return PackedTable(halves(X), X.shape[1], sizes)
    except torch.cuda.OutOfMemoryError:
        return None


def halves(X: Any) -> Any:
    """(n, 2 w) float16 tensor: what is large of each value, and 2048 times what is left of it."""
    import torch

    n, p = X.shape
    width = -(-p // ALIGNED) * ALIGNED
    packed = torch.zeros((n, 2 * width), dtype=torch.float16, device=X.device)
    for part in range(0, n, PACKED_ROWS):
        block = X[part : part + PACKED_ROWS]
        high = block.to(torch.float16)
        low = (block - high.to(torch.float32)) * 2048.0
        packed[part : part + PACKED_ROWS, :p] = high
        packed[part : part + PACKED_ROWS, width : width + p] = low.to(torch.float16)
    return packed


def _power_of_two(number: int) -> int:
    return max(16, 1 << (number - 1).bit_length())
