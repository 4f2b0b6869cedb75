"""Passes of LAC, KFlats, SRE, ADCO and label tables on a device against their own rooflines.

Part of gpu.py. Every pass goes through the array API: what is made of a block is written to the
device's memory and read again, which the roofline does not count.
"""

from __future__ import annotations

import os
import time

import numpy as np
import torch

from subscape.arrays.blocks import as_blocks
from subscape.arrays.contingency import count_pairs
from subscape.arrays.device.counts import count_in_bins_on_device, count_pairs_on_device
from subscape.arrays.device.moments import moments_on_device
from subscape.arrays.device.sums import one_hot
from subscape.arrays.device.weighted_kmeans import nearest_weighted_on_device
from subscape.arrays.weighted_kmeans import nearest_weighted
from subscape.finders import LAC, KFlats
from subscape.finders.base import Watch
from subscape.finders.oriented.flats import Flat
from subscape.finders.oriented.kflats.descent import FlatsFit, finish_on_all_rows
from subscape.finders.oriented.kflats.rows import closest_flats_on_device, flat_sums_on_device
from subscape.measures import DensityProfile, intersection_table, sre
from subscape.measures.flats.fitting import Part, covariance_of

K, FLAT_DIM, BINS, LABELS = 5, 2, 10, 20


def on_two_cores(function):
    """What ``function`` returns, run on two cores."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[:2]))
    try:
        return function()
    finally:
        os.sched_setaffinity(0, set(cores))


class Setting:
    """A table with clusters, on the device and (fewer rows) in memory."""

    def __init__(self, device, quick):
        self.n, self.p = (20_000, 20) if quick else (10**7, 100)
        self.n_few = 5_000 if quick else 200_000
        generator = torch.Generator(device=device).manual_seed(5)
        rng = np.random.default_rng(5)
        self.centres = rng.normal(size=(K, self.p)) * 3
        self.weights = rng.dirichlet(np.ones(self.p), K)
        self.bases = [np.linalg.qr(rng.normal(size=(self.p, FLAT_DIM)))[0] for _ in range(K)]
        self.labels = torch.randint(K, (self.n,), device=device, generator=generator)
        self.X = torch.randn((self.n, self.p), device=device, generator=generator)
        middles = torch.as_tensor(self.centres, dtype=torch.float32, device=device)
        for part in range(0, self.n, 2**20):
            self.X[part : part + 2**20] += middles[self.labels[part : part + 2**20]]
        self.table = as_blocks(self.X)
        self.host = self.X[: self.n_few].cpu().numpy()
        self.wide = self.host.astype(np.float64)
        self.host_labels = self.labels[: self.n_few].cpu().numpy()


def passes(device, quick, seconds, bandwidth, rate):
    """Lines of the page."""
    here = Setting(device, quick)
    n, p = here.n, here.p
    lines = [
        f"## Passes through the array API, {n:,} × {p} float32, {K} clusters",
        "",
        "Rooflines count the table once (twice for a profile: ranges, then bins), labels, and the "
        "operations of scores, sums and, for flats and SRE, half of the products of all columns; "
        f"two cores: {here.n_few:,} rows, scaled.",
        "",
        "| | ms | roofline, ms | ratio | two cores, ms | ratio |",
        "|---|---|---|---|---|---|",
    ]

    def measured(host, less):
        return seconds(host, device, 3) - (0.0 if less is None else seconds(less, device, 3))

    def row(name, there, bytes_, operations, host, less=None):
        floor = max(bytes_ / bandwidth, operations / rate)
        took = seconds(there, device, 5)
        line = f"| {name} | {took * 1e3:.2f} | {floor * 1e3:.2f} | {took / floor:.1f} "
        if host is None:
            lines.append(line + "| | |")
            return
        cpu = on_two_cores(lambda: measured(host, less))
        cpu *= n / here.n_few
        lines.append(line + f"| {cpu * 1e3:.0f} | {cpu / took:.0f} |")

    nothing = np.zeros(K)
    row(
        "LAC, assign and sum",
        lambda: nearest_weighted_on_device(here.table, here.centres, here.weights, nothing),
        4 * n * p + 8 * n,
        4 * n * p * K + 3 * n * p,
        lambda: nearest_weighted(here.wide, here.centres, here.weights, nothing),
    )
    flats = [Flat(c, b) for c, b in zip(here.centres, here.bases, strict=True)]
    half = n * p * (p + 1)
    begin, dims = FlatsFit(flats, np.zeros(0, np.int64), 0.0, 0), [FLAT_DIM] * K
    watch = Watch("KFlats", None, None)
    row(
        f"KFlats, {K} flats of dimension {FLAT_DIM}, assign and sum",
        lambda: flat_sums_on_device(
            here.table, closest_flats_on_device(here.table, here.centres, here.bases).labels, K
        ),
        4 * n * p + 8 * n,
        2 * n * p * K * (1 + FLAT_DIM) + half,
        # Assigning and summing up is what a second step adds.
        lambda: finish_on_all_rows(here.wide, here.wide[:500], begin, dims, 0, 2, watch),
        lambda: finish_on_all_rows(here.wide, here.wide[:500], begin, dims, 0, 1, watch),
    )
    rows = [torch.nonzero(here.labels == k)[:, 0].int().cpu().numpy() for k in range(K)]
    few = [Part(np.flatnonzero(here.host_labels == k).astype(np.int32), None) for k in range(K)]
    row(
        "SRE, sums of all clusters (row numbers come from main memory)",
        lambda: [moments_on_device(here.table, each, None, True) for each in rows],
        4 * n * p + 4 * n,
        half,
        lambda: [covariance_of(here.host, part) for part in few],
    )
    of_host = here.labels.cpu().numpy()
    row(
        "`sre(X, labels, flat_dims=2)`, everything",
        lambda: sre(here.X, of_host, flat_dims=FLAT_DIM),
        4 * n * p + 4 * n,
        half,
        lambda: sre(here.host, here.host_labels, flat_dims=FLAT_DIM),
    )
    profile = DensityProfile.of(here.host, here.host_labels, BINS)
    limits, starts = profile.bins.limits
    row(
        f"ADCO, count {BINS} bins",
        lambda: count_in_bins_on_device(
            here.table, limits, starts, lambda part: one_hot(here.labels[part], K), K, False
        ),
        4 * n * p + 4 * n,
        0,
        None,
    )
    row(
        "`DensityProfile.of(X, labels)`, everything",
        lambda: DensityProfile.of(here.X, of_host, BINS),
        8 * n * p + 4 * n,
        0,
        lambda: DensityProfile.of(here.host, here.host_labels, BINS),
    )
    a, b = (torch.randint(LABELS, (n,), device=device, dtype=torch.int32) for _ in range(2))
    few_a, few_b = a[: here.n_few].cpu().numpy(), b[: here.n_few].cpu().numpy()
    row(
        f"pairs of {LABELS} × {LABELS} labels",
        lambda: count_pairs_on_device(a, b, LABELS, LABELS),
        8 * n,
        0,
        lambda: count_pairs(few_a, few_b, LABELS, LABELS),
    )
    row(
        "`intersection_table(a, b)`, everything",
        lambda: intersection_table(a, b),
        8 * n,
        0,
        lambda: intersection_table(few_a, few_b),
    )
    return [*lines, "", *fits(here), *agreement(here)]


def fits(here):
    """Whole fits on the device, starts on a sample in main memory included."""
    finders = (
        LAC(K, random_state=0),
        KFlats(K, flat_dim=FLAT_DIM, n_init=2, n_swaps=2, random_state=0),
    )
    parts = []
    for finder in finders:
        begin = time.perf_counter()
        finder.fit(here.X)
        took = time.perf_counter() - begin
        parts.append(f"{type(finder).__name__} {took:.1f} s ({finder.n_iter_} steps)")
    return [f"Whole fits, KFlats with n_init=2 and n_swaps=2: {', '.join(parts)}.", ""]


def agreement(here):
    """Labels and scores in float64 beside NumPy's."""
    few = here.X[:20_000].double()
    host = few.cpu().numpy()
    given = here.labels[:20_000].cpu().numpy()
    differ = []
    for finder in (
        LAC(K, random_state=0),
        KFlats(K, flat_dim=FLAT_DIM, n_init=2, n_swaps=2, random_state=0),
    ):
        there, of_numpy = finder.fit(few).labels_.cpu().numpy(), finder.fit(host).labels_
        differ.append(int((there != of_numpy).sum()))
    ours, theirs = sre(few, given, flat_dims=2).total, sre(host, given, flat_dims=2).total
    same = DensityProfile.of(few, given) == DensityProfile.of(host, given)
    return [
        f"In float64 on 20,000 of the rows {differ[0]} labels of LAC and {differ[1]} of KFlats "
        f"differ from NumPy's, SRE by {abs(ours - theirs) / theirs:.0e}; the density profiles are "
        f"{'the same' if same else 'different'}.",
        "",
    ]
