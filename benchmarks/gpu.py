"""On a GPU: a step of NrKMeans and passes of others by the roofline, Tanimoto by the bare product.

    python benchmarks/gpu.py                 on the first CUDA device, about 3 minutes
    python benchmarks/gpu.py --quick         small sizes, on the CPU where there is no GPU; printed
                                             (with TRITON_INTERPRET=1 the fused kernel is tried too)

Needs torch and array-api-compat. Writes gpu.md into the folder that OUT names, or else into
benchmarks/results/. The ceilings are measured in the same run: bandwidth by a copy (bytes read and
written), operations by a float32 product of two large matrices. The processor's side runs on two
cores with fewer rows, scaled to the same number.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "2")

import numpy as np
from threadpoolctl import threadpool_limits

try:
    import torch
except ImportError:
    torch = None
else:
    from gpu_passes import on_two_cores, passes

from subscape.arrays.tanimoto import intersections, projective_similarities
from subscape.finders import NrKMeans
from subscape.finders.views.nrkmeans.device_rows import (
    DeviceRows,
    no_labels,
    product_step,
    view_step,
)
from subscape.finders.views.nrkmeans.fused_kernel import PackedTable, halves
from subscape.finders.views.nrkmeans.kernel import cell_sums
from subscape.finders.views.nrkmeans.rotation import scoring
from subscape.finders.views.nrkmeans.steps import iterate
from subscape.measures import adjusted_rand_score

SIZES = (5, 4, 3)
#: Steps whose times are subtracted from each other: what a search does once drops out.
FEW, MANY, VERY_MANY = 5, 45, 205


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(function, device, repeats=5):
    """Median wall time after a warm-up."""
    function()
    times = []
    for _ in range(repeats):
        synchronize(device)
        start = time.perf_counter()
        function()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def machine(device):
    """Names and versions, as lines of the page."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        named = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
        processor = named[0].partition(":")[2].strip() if named else processor
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    return [
        f"Machine: {name}; {processor}, {os.cpu_count()} cores; torch {torch.__version__}, NumPy "
        f"{np.__version__}, Python {platform.python_version()}; the processor's kernels: "
        f"{'Cython' if cell_sums.twin else 'NumPy'}.",
        "",
    ]


def ceilings(device, quick):
    """Bytes per second of a copy, operations per second of a float32 product."""
    n, side = (10**6, 512) if quick else (10**9, 8192)
    source = torch.randn(n, device=device)
    target = torch.empty_like(source)
    bandwidth = 2 * 4 * n / seconds(lambda: target.copy_(source), device, 20)
    source = target = None
    matrix = torch.randn((side, side), device=device)
    rate = 2 * side**3 / seconds(lambda: matrix @ matrix, device, 5)
    return bandwidth, rate


def start_of(p, rng):
    """Random orthonormal views and centres."""
    turned = np.linalg.qr(rng.normal(size=(p, p)))[0]
    widths = [size - 1 for size in SIZES]
    bases = tuple(np.split(turned[:, : sum(widths)], np.cumsum(widths)[:-1], axis=1))
    return bases, tuple(rng.normal(size=(size, p)) for size in SIZES)


def per_step(table, start, device, repeats=5, many=MANY):
    """Seconds of one step, by the difference of a long and a short run from the same start."""

    def run(steps):
        found = iterate(table, *start, True, 1e-9, steps)
        if found.n_iter != steps:
            raise RuntimeError(f"{found.n_iter} steps instead of {steps}: another start is needed")

    times = []
    run(FEW)
    for _ in range(repeats):
        synchronize(device)
        marks = [time.perf_counter()]
        for steps in (FEW, many):
            run(steps)
            marks.append(time.perf_counter())
        times.append((marks[2] - marks[1] - (marks[1] - marks[0])) / (many - FEW))
    return float(np.median(times))


def planted(n, p, device, generator):
    """Three clusterings in directions of their own, noise in all others; and their labels."""
    rng = np.random.default_rng(1)
    turned = torch.as_tensor(np.linalg.qr(rng.normal(size=(p, p)))[0], device=device).float()
    X = torch.randn((n, p), device=device, generator=generator)
    labels, at = [], 0
    for size in SIZES:
        # Corners of a simplex: all clusters of a view are equally far from each other.
        corners = torch.eye(size, device=device) * 8.0
        own = torch.randint(size, (n,), device=device, generator=generator)
        X[:, at : at + size] += corners[own]
        labels.append(own)
        at += size
    return X @ turned.T, labels


def nrkmeans(device, quick, bandwidth, rate):
    n, p = (20_000, 20) if quick else (10**7, 100)
    generator = torch.Generator(device=device).manual_seed(0)
    X = torch.randn((n, p), device=device, generator=generator)
    start = start_of(p, np.random.default_rng(0))
    bytes_ = 4 * n * p + 2 * len(SIZES) * n
    operations = 2 * n * p * sum(SIZES) + len(SIZES) * n * p
    floor = max(bytes_ / bandwidth, operations / rate)
    table = DeviceRows(X)
    with threadpool_limits(1):  # as in a fit
        ours = per_step(table, start, device, many=MANY if quick else VERY_MANY)
    pass_ = step_alone(table, start, device)
    fused, table._packed = table.packed(SIZES) is not None, (SIZES, None)
    by_products = per_step(table, start, device, 3)
    rows = [
        ("roofline", floor),
        ("a step (assign, move, turn)", ours),
        ("its pass over the rows alone", pass_),
        ("a step by array-API products only", by_products),
    ]
    n_few = 5_000 if quick else 200_000
    host = X[:n_few].cpu().numpy()
    cpu = on_two_cores(lambda: per_step(host, start, device, 3)) * n / n_few
    rows.append((f"two cores, {n_few:,} rows scaled", cpu))
    lines = [
        f"## NrKMeans, {n:,} × {p} float32, k = {SIZES}",
        "",
        f"Counted: {bytes_ / 1e9:.2f} GB (the table once, labels of one byte read and written) and "
        f"{operations / 1e9:.1f} Gflop (scores, and one addition per value and view); "
        f"{bytes_ / bandwidth * 1e3:.2f} ms and {operations / rate * 1e3:.2f} ms at the measured "
        f"ceilings. One fused pass: {'yes' if fused else 'no'}.",
        "",
        "| | ms per step | of the roofline | of a step on the GPU |",
        "|---|---|---|---|",
    ]
    for name, value in rows:
        lines.append(f"| {name} | {value * 1e3:.2f} | {value / floor:.2f} | {value / ours:.1f} |")
    del X, table
    return [*lines, "", *agreement(device, quick), *whole_fit(n, p, device, generator)]


def step_alone(table, start, device):
    weights, offsets = scoring(*start)
    labels = [no_labels(table.values, SIZES)]

    def step():
        labels[0] = view_step(table, weights, offsets, SIZES, labels[0]).labels

    step()
    return seconds(step, device, 20)


def agreement(device, quick):
    """Labels and sums of the float32 step beside float64 on the same rows."""
    n, p = (5_000, 20) if quick else (10**6, 100)
    generator = torch.Generator(device=device).manual_seed(3)
    X = torch.randn((n, p), device=device, generator=generator)
    scores = scoring(*start_of(p, np.random.default_rng(4)))
    old = no_labels(X, SIZES)
    exact = product_step(X.double(), *scores, SIZES, old)
    table = DeviceRows(X)
    if os.environ.get("TRITON_INTERPRET"):
        table._packed = SIZES, PackedTable(halves(X), p, SIZES)
    found = view_step(table, *scores, SIZES, old)
    differ = int((found.labels != exact.labels).sum())
    off = np.abs(found.sums - exact.sums).max() / np.abs(exact.sums).max()
    return [
        f"Beside float64, on {n:,} rows without structure: {differ} of {old.numel():,} labels "
        f"differ, sums by at most {off:.0e} of the largest.",
        "",
    ]


def whole_fit(n, p, device, generator):
    X, truths = planted(n, p, device, generator)
    start = time.perf_counter()
    found = NrKMeans((*SIZES, 1), random_state=0).fit(X)
    took = time.perf_counter() - start
    some = slice(0, 200_000)
    scores = [
        adjusted_rand_score(truth[some].cpu().numpy(), found.label_matrix_[some, j].cpu().numpy())
        for j, truth in enumerate(truths)
    ]
    few = X[:20_000].double()
    there = NrKMeans((*SIZES, 1), random_state=0).fit(few).label_matrix_
    here = NrKMeans((*SIZES, 1), random_state=0).fit(few.cpu().numpy()).label_matrix_
    return [
        f"A whole fit of planted views of this size: {took:.1f} s with 16 starts and all escapes; "
        f"adjusted Rand index of the views {', '.join(f'{score:.4f}' for score in scores)}. In "
        f"float64 on 20,000 of the rows {int((there.cpu().numpy() != here).sum())} labels differ "
        "from NumPy's.",
        "",
    ]


def tanimoto(device, quick):
    c, n, p = (200, 1_000, 20) if quick else (20_000, 100_000, 50)
    generator = torch.Generator(device=device).manual_seed(2)
    weights = torch.rand((c, p), device=device, generator=generator)
    weights /= weights.sum(dim=1, keepdim=True)
    soft = torch.rand((c, n), device=device, generator=generator)
    lines = [
        f"## Clusters with each other, {c:,} clusters × {n:,} rows, {p} features",
        "",
        "| | seconds | bare product, s | ratio |",
        "|---|---|---|---|",
    ]

    def row(name, ours, bare):
        took, alone = seconds(ours, device, 2), seconds(bare, device, 2)
        lines.append(f"| {name} | {took:.2f} | {alone:.2f} | {took / alone:.2f} |")

    row(
        "Tanimoto, memberships in float32",
        lambda: projective_similarities(soft, weights),
        lambda: soft @ soft.T,
    )
    hard = soft < 0.1
    single = hard.float()
    soft = None
    row(
        "Tanimoto, hard memberships",
        lambda: projective_similarities(hard, weights),
        lambda: single @ single.T,
    )
    masks = weights > 1 / p
    row(
        "cells that two clusters share",
        lambda: intersections(hard, masks),
        lambda: single @ single.T,
    )
    return [*lines, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, only printed")
    quick = parser.parse_args().quick
    if torch is None:
        print("torch is not installed: nothing was measured.")
        return
    if not torch.cuda.is_available() and not quick:
        print("torch sees no CUDA device: nothing was measured; --quick runs on the processor.")
        return
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    bandwidth, rate = ceilings(device, quick)
    lines = [
        "# On a GPU",
        "",
        *machine(device),
        f"Measured ceilings: {bandwidth / 1e12:.2f} TB/s (copy), {rate / 1e12:.1f} Tflop/s "
        "(float32 product).",
        "",
        *nrkmeans(device, quick, bandwidth, rate),
        *passes(device, quick, seconds, bandwidth, rate),
        *tanimoto(device, quick),
    ]
    page = "\n".join(lines).rstrip() + "\n"
    print(page)
    if not quick:
        folder = Path(os.environ.get("OUT") or Path(__file__).parent / "results")
        (folder / "gpu.md").write_text(page)


if __name__ == "__main__":
    main()
