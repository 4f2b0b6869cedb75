"""The figures that Gullo, Domeniconi, Tagarelli (SIGMOD 2011) print, and ours beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pce_ensembles import PCE, SIDES

Records = list[dict[str, Any]]
Results = dict[str, Records]

#: Tables 3 and 4: MOEA, EM, CB, FCB in rows and features, in rows, in features.
PAPER_THETA = {
    "Iris": (.146, .168, .218, .185, .319, .228, .309, .297, .198, -.095, .139, .117),
    "Wine": (.136, .083, .275, .224, .201, .130, .272, .253, .152, .030, .211, .206),
    "Glass": (.105, .162, .158, .157, .092, .134, .180, .167, .048, .060, .001, .009),
    "Ecoli": (.164, .086, .211, .232, .245, .125, .223, .213, .042, .042, .023, .017),
    "Yeast": (.049, .021, .092, .095, .090, .066, .113, .110, .006, .090, .102, .010),
    "Segmentation": (.137, .144, .148, .141, .102, .206, .194, .185, .075, .079, .098, .150),
    "Abalone": (.116, .111, .134, .130, .141, .116, .185, .182, .093, .092, .123, .120),
    "Letter": (.111, .107, .141, .134, .146, .122, .188, .185, .092, .097, .131, .124),
    "Trace": (.097, .019, .125, .140, .032, .026, .154, .132, -.007, .114, .112, .115),
    "ControlChart": (.091, .204, .345, .276, .050, .011, .027, .051, .233, .416, .287, .283),
}  # fmt: skip
PAPER_UPSILON = {
    "Iris": (1.019, .914, .984, .989, 1.025, 1.004, 1.044, 1.039, .953, .906, .986, .977),
    "Wine": (.993, .960, 1.074, 1.072, 1.060, .991, 1.057, 1.056, 1.018, .952, 1.001, 1.001),
    "Glass": (1.023, .918, 1, 1.003, 1.114, .971, 1.064, 1.066, .979, .915, 1.004, 1.004),
    "Ecoli": (1.074, 1.052, 1.058, 1.015, 1.034, 1.023, 1.027, 1.028, .975, .924, .986, .992),
    "Yeast": (1.074, 1.050, 1.217, 1.189, 1.189, 1.182, 1.310, 1.297, .960, 1.021, 1.036, 1.037),
    "Segmentation": (1.008, .851, 1.305, 1.308, 1.367, 1.304, 1.788, 1.786, .971, .969, 1.032,
                     1.013),
    "Abalone": (1.044, 1.001, 1.068, 1.071, 1.121, 1.102, 1.208, 1.208, .982, .902, .980, .986),
    "Letter": (1.040, 1.001, 1.045, 1.088, 1.118, 1.099, 1.277, 1.274, .981, .891, 1.169, .998),
    "Trace": (1.170, 1.207, 1.196, 1.196, 1.325, 1.501, 1.503, 1.503, .949, .927, 1.062, 1.062),
    "ControlChart": (1.034, 1.006, 1.152, 1.152, 1.162, 1.237, 1.903, 1.903, 1.085, .577, 1.234,
                     1.234),
}  # fmt: skip
#: Table 5, total milliseconds of MOEA, EM, CB, FCB.
PAPER_TIMES = {
    "Iris": (17_223, 55, 13_235, 906), "Wine": (21_098, 184, 50_672, 993),
    "Glass": (61_700, 281, 110_583, 3_847), "Ecoli": (94_762, 488, 137_270, 4_911),
    "Yeast": (1_310_263, 1_477, 2_218_128, 56_704),
    "Segmentation": (1_250_732, 11_465, 6_692_111, 47_095),
    "Abalone": (13_245_313, 34_000, 19_870_218, 527_406),
    "Letter": (7_765_750, 54_641, 26_934_327, 271_064),
    "Trace": (86_179, 4_880, 2_589_899, 3_731),
    "ControlChart": (291_856, 2_313, 3_383_936, 12_439),
}  # fmt: skip
#: Of both tables: what is printed, and where its sign changes.
PRINTED = {"theta": (PAPER_THETA, 0.0), "upsilon": (PAPER_UPSILON, 1.0)}


def printed(part: str, name: str, method: str, side: str) -> float:
    """A figure of the paper; part is "theta" or "upsilon"."""
    table, _ = PRINTED[part]
    return table[name][4 * list(SIDES).index(side) + PCE.index(method)]


def per_ensemble(records: Records, method: str, part: str, side: str | None = None) -> np.ndarray:
    """A figure of a method, averaged over the runs on each ensemble."""
    runs = [record["methods"].get(method) for record in records]
    return np.array([
        np.mean([run[part] if side is None else run[part][side] for run in found if part in run])
        for found in runs if found
    ])  # fmt: skip


def mean(records: Records, method: str, part: str, side: str | None = None) -> float:
    values = per_ensemble(records, method, part, side)
    return float(values.mean()) if len(values) else float("nan")


def changed(records: Records, what: str, method: str, part: str, side: str) -> float | None:
    """A figure with one thing changed, mean over the ensembles where that was run."""
    found = [
        r["checks"][what][method][part][side]
        for r in records if method in r["checks"].get(what, {})
    ]  # fmt: skip
    return float(np.mean(found)) if found else None


def beside_paper(
    results: Results,
    part: str,
    value: Callable[[Records, str, str], float],
    form: Callable[[float], str],
) -> list[str]:
    """A table of the four methods: ours by records, method and side, the paper's in brackets."""
    heads = [f"{method} {side}" for side in SIDES for method in PCE]
    lines = ["| table | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    ours, theirs = [], []
    for name, records in results.items():
        ours.append([value(records, m, s) for s in SIDES for m in PCE])
        theirs.append([printed(part, name, m, s) for s in SIDES for m in PCE])
        cells = [f"{form(a)} ({form(b)})" for a, b in zip(ours[-1], theirs[-1], strict=True)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    pairs = zip(np.mean(ours, axis=0), np.mean(theirs, axis=0), strict=True)
    lines.append(
        "| **mean** | " + " | ".join(f"**{form(a)}** ({form(b)})" for a, b in pairs) + " |"
    )
    return [*lines, ""]


def all_methods(results: Results) -> list[str]:
    """Every method: absolute NMI, gain, resemblance, averaged over the tables."""
    every = list(results.values())
    names = list(dict.fromkeys(m for records in every for r in records for m in r["methods"]))
    lines = [
        "## All methods, mean over the tables", "",
        "| method | NMI_of | NMI_o | NMI_f | Theta_of | Theta_o | Theta_f | Upsilon_of | Upsilon_o "
        "| Upsilon_f | ARI | psi_of | tables |",
        "|---|" + "---|" * 12,
    ]  # fmt: skip
    for what in ("members", "hard members", "soft members"):
        own = [np.mean([np.mean([r[what][s] for r in rs]) for rs in every]) for s in SIDES]
        ari = np.mean([np.mean([r["members ari"] for r in rs]) for rs in every])
        lines.append(
            f"| one of the {what} | " + " | ".join(f"{v:.3f}" for v in own)
            + (" | 0 | 0 | 0 | 1 | 1 | 1 | " if what == "members" else " | " * 7)
            + (f"{ari:.3f}" if what == "members" else "") + f" | | {len(every)} |"
        )  # fmt: skip
    for method in names:
        there = [records for records in every if any(method in r["methods"] for r in records)]
        values = [np.mean([mean(r, method, part, s) for r in there])
                  for part in ("nmi", "theta", "upsilon") for s in SIDES]  # fmt: skip
        values += [np.mean([mean(r, method, part) for r in there]) for part in ("ari", "psi")]
        lines.append(f"| {method} | " + " | ".join(f"{v:.3f}" for v in values)
                     + f" | {len(there)} |")  # fmt: skip
    return [*lines, ""]


def by_table(results: Results) -> list[str]:
    """Absolute NMI_o of members and methods, table by table."""
    names = ["CB", "CB one vote", "FCB", "MOEA", "EM", "EM alpha 2", "CSPA", "HGPA", "MCLA", "HBGF",
             "EAC", "WSPA", "WBPA"]  # fmt: skip
    heads = ["table", "ensembles", "a member", *names]
    lines = ["## NMI in rows with the classes", "", "| " + " | ".join(heads) + " |",
             "|---" * len(heads) + "|"]  # fmt: skip
    for name, records in results.items():
        values = [np.mean([r["members"]["o"] for r in records])]
        values += [mean(records, method, "nmi", "o") for method in names]
        lines.append(f"| {name} | {len(records)} | " + " | ".join(f"{v:.3f}" for v in values)
                     + " |")  # fmt: skip
    return [*lines, ""]


def times(results: Results) -> list[str]:
    """Table 5."""
    lines = ["## Table 5: milliseconds from the finished ensemble to the consensus", "",
             "Processor time of one thread; the paper's in brackets (2011, four cores).", "",
             "| table | " + " | ".join(PCE) + " | members |", "|---|" + "---|" * 5]  # fmt: skip
    for name, records in results.items():
        ours = [1000 * mean(records, method, "seconds") for method in PCE]
        cells = [f"{a:,.0f} ({b:,})" for a, b in zip(ours, PAPER_TIMES[name], strict=True)]
        made = 1000 * np.mean([r["made"] for r in records])
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {made:,.0f} |")
    return [*lines, ""]
