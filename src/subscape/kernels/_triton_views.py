"""The kernel of :mod:`subscape.kernels.fused_views`; imported only where a GPU is used."""

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
        high_sums = tl.zeros((K, P), dtype=tl.float32)
        low_sums = tl.zeros((K, P), dtype=tl.float32)
        counts = tl.zeros((K,), dtype=tl.int32)
        changed = tl.zeros((BLOCK,), dtype=tl.int32)
        for start in tl.range(program * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES):
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
