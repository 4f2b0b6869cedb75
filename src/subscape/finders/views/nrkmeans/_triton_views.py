"""The kernel of ``fused_kernel``, imported only where a GPU is used."""

from __future__ import annotations

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

__all__ = ["triton"]

if triton is not None:

    @triton.jit
    def pass_over_rows(
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
        totals = tl.zeros((P, K), dtype=tl.float32)
        counts = tl.zeros((BLOCK, K), dtype=tl.int32)
        changed = tl.zeros((BLOCK,), dtype=tl.int32)
        for start in tl.range(program * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES):
            rows = start + tl.arange(0, BLOCK)
            there = rows < n
            # First of all, so that nobody waits for it later.
            before = tl.load(old + rows, mask=there, other=0)
            place = x + rows[:, None].to(tl.int64) * (2 * p) + columns[None, :]
            mask = there[:, None] & (columns < p)[None, :]
            high = tl.load(place, mask=mask, other=0.0)
            low = tl.load(place + p, mask=mask, other=0.0)
            fine = tl.dot(high, low_weights)
            fine = tl.dot(low, high_weights, fine)
            scores = tl.dot(high, high_weights) + fine * (1.0 / 2048.0) + offsets[None, :]
            members = tl.zeros((BLOCK, K), dtype=tl.int32)
            # The labels of a row in all views side by side, a byte each.
            after = tl.zeros((BLOCK,), dtype=before.dtype)
            for view in tl.static_range(S):
                mine = views == view
                own = tl.where(mine[None, :], scores, float("inf"))
                least = tl.min(own, axis=1)
                # Of equal scores the first; a view's clusters lie side by side.
                best = tl.min(tl.where(own == least[:, None], clusters[None, :], K), axis=1)
                first = tl.min(tl.where(mine, clusters, K), axis=0)
                members += (clusters[None, :] == best[:, None]).to(tl.int32)
                after |= (best - first).to(before.dtype) << (8 * view)
            tl.store(labels + rows, after, mask=there)
            moved = tl.where(there, before ^ after, 0)
            for view in tl.static_range(S):
                changed += ((moved >> (8 * view)) & 255 != 0).to(tl.int32)
            members = tl.where(there[:, None], members, 0)
            counts += members
            shares = members.to(tl.float16)
            # Added outside of the matrix units, which cut off what they can't hold: over many
            # blocks that would move all sums towards zero.
            fine_sums = tl.dot(tl.trans(low), shares) * (1.0 / 2048.0)
            totals += tl.dot(tl.trans(high), shares, fine_sums)
        mine = sums + program.to(tl.int64) * K * (P + 2) + clusters
        tl.store(mine[None, :] + columns[:, None] * K, totals)
        tl.store(mine + P * K, tl.sum(counts, axis=0).to(tl.float32))
        all_changed = tl.sum(changed, axis=0).to(tl.float32)
        tl.store(mine + (P + 1) * K, tl.where(clusters == 0, all_changed, 0.0))
