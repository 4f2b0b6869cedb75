"""Tables 6 and 7 of the ADCO paper: snapshots of network connections. Part of ``adco_paper.py``."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from adco_layouts import rows_of

from subscape.datasets import load_real
from subscape.measures import Bins, DensityProfile, adco_matrix, adco_similarity
from subscape.plots import AdcoOverTimeDisplay

RESULTS = Path(__file__).parent / "results"
#: Table 6, points of 1000; the first takes what is left. KDD-F prints 18 % of snmpgetattack beside
#: 97.4 % of mailbomb: read as 1.8 %. Shares of 0.01 % are a single point.
SNAPSHOTS = {
    "KDD-A": {"normal": None, "snmpgetattack": 100, "named": 2, "xlock": 5, "smurf": 180,
              "neptune": 2},
    "KDD-B": {"normal": None, "snmpgetattack": 130, "warezmaster": 36, "xterm": 4},
    "KDD-C": {"mscan": None, "smurf": 270, "warezmaster": 110, "normal": 120,
              "buffer_overflow": 1, "neptune": 1},
    "KDD-D": {"neptune": None, "normal": 23, "snmpgetattack": 7},
    "KDD-E": {"warezmaster": None, "normal": 24, "snmpgetattack": 3},
    "KDD-F": {"mailbomb": None, "normal": 1, "snmpgetattack": 18, "portsweep": 1,
              "warezmaster": 6},
}  # fmt: skip
#: What F would be if it had been a second snapshot of neptune.
SECOND_D = {"neptune": None, "normal": 23, "snmpgetattack": 7}
#: Table 7, row by row.
PAPER_7 = (
    0.852, 0.627, 0.566, 0.682, 0.566, 0.499, 0.665, 0.813, 0.665, 0.418, 0.394, 0.418, 0.736,
    0.998, 0.759,
)  # fmt: skip


def snapshots(labels, names):
    """Rows of each snapshot: the earliest of each type that are not taken yet."""
    free = {name: list(np.flatnonzero(labels == i)) for i, name in enumerate(names)}
    found = {}
    for snapshot, mix in (SNAPSHOTS | {"second D": SECOND_D}).items():
        rest = 1000 - sum(number or 0 for number in mix.values())
        rows = []
        for name, number in mix.items():
            wanted = rest if number is None else number
            rows += free[name][:wanted]
            del free[name][:wanted]
        found[snapshot] = np.sort(rows)
    return found


def table_7(quick):
    del quick
    try:
        data = load_real("kdd99_corrected", source="folder")
    except ValueError as error:
        return ["## Table 7\n", f"Not run: {error}\n"]
    table, labels = data.table, data.labels["class"]
    names = next(c.levels for c in table.schema if c.role == "label")
    found = snapshots(labels, names)
    second = found.pop("second D")
    pairs = list(combinations(found, 2))
    upper = np.triu_indices(len(found), 1)
    every = np.concatenate(list(found.values()))
    columns, instead, drawn = {}, {}, None
    for title, bins in (
        ("range of the six snapshots", Bins.of(table.take(every))),
        ("range of the whole stream", Bins.of(table)),
        ("equal frequency", Bins.of(table.take(every), binning="quantile")),
    ):
        profiles = {
            name: DensityProfile.of(table.take(rows), labels[rows], bins=bins)
            for name, rows in found.items()
        }
        columns[title] = adco_matrix(list(profiles.values()))[upper]
        again = DensityProfile.of(table.take(second), labels[second], bins=bins)
        instead[title] = [adco_similarity(each, again) for each in list(profiles.values())[:5]]
        drawn = drawn or profiles
    display = AdcoOverTimeDisplay.from_profiles(drawn, title="snapshots of KDD 99")
    display.figure_.savefig(RESULTS / "adco_over_time.png", dpi=80)
    plt.close(display.figure_)
    rows = [
        [f"{a[-1]} - {b[-1]}", f"{paper:.3f}", *(f"{values[i]:.3f}" for values in columns.values())]
        for i, ((a, b), paper) in enumerate(zip(pairs, PAPER_7, strict=True))
    ]
    ranked = [np.argsort(np.argsort(v)) for v in (PAPER_7, *columns.values())]
    agreement = [np.corrcoef(ranked[0], other)[0, 1] for other in ranked[1:]]
    rows.append(["rank correlation with the paper", "", *(f"{v:.2f}" for v in agreement)])
    plain = np.array(["KDD-F" not in pair for pair in pairs])
    gaps = [np.abs(v - np.array(PAPER_7))[plain].max() for v in columns.values()]
    rows.append(["largest difference without F", "", *(f"{v:.3f}" for v in gaps)])
    text = (
        "## Tables 6 and 7: snapshots of a stream\n\nSix snapshots of 1000 connections with the "
        "paper's mixes of types, in the order of the file, without common points; clusters are "
        "the types. The paper does not say whose range the bins have. For A, B and C its "
        "values for F are those for D to three digits, and D and F are at 0.998, as if F had been "
        "a second snapshot like D. The second table puts such a one in place of F. "
        "![over time](adco_over_time.png)\n"
    )
    last = {
        pair[0]: value for pair, value in zip(pairs, PAPER_7, strict=True) if "F" in pair[1][-1]
    }
    beside = [
        [name[-1], f"{value:.3f}", *(f"{instead[title][i]:.3f}" for title in columns)]
        for i, (name, value) in enumerate(last.items())
    ]
    return [text, *rows_of(["pair", "paper", *columns], rows),
            *rows_of(["with F (ours: a second D)", "paper", *columns], beside)]  # fmt: skip
