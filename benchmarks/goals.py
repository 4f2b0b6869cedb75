"""The numbers that the suite must show, and where each of them is measured.

A goal's number is the one that its benchmark recorded (``ratios.record``) or, where it writes a
page only, what ``read`` finds in that page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pages import Page, first_number

Reader = Callable[[Page], float | None]


#: What the goals are about, in the order of the page.
TOPICS = {
    2: "Comparing clusterings",
    3: "Axis-aligned, weighted and co-clustering finders",
    4: "Oriented finders and SRE",
    5: "Several clusterings of one table",
    6: "Ensembles",
    7: "Validation",
    8: "Explore",
    9: "Scale",
}


class Target(NamedTuple):
    """One number that must keep a bound."""

    topic: int
    key: str
    what: str
    goal: str
    benchmark: str
    read: Reader | None = None
    page: str = ""
    """Without its ending; by default the benchmark's name."""


def cell(column: str, **cells: str) -> Reader:
    return lambda page: page.number(column, **cells)


def said(pattern: str) -> Reader:
    return lambda page: page.text(pattern)


def worst(column: str, **cells: str) -> Reader:
    return lambda page: max(page.numbers(column, **cells), default=None)


def beside_elki(finder: str, table: str) -> Reader:
    """Their seconds over ours; where ELKI ends nowhere in 240 s, those count as its seconds."""

    def read(page: Page) -> float | None:
        for row in page.find(finder=finder, table=table):
            ratio, ours = first_number(row["ratio"]), first_number(row["seconds"])
            if ratio is None and ours and "not finished after 240" in row.get("ELKI seconds", ""):
                return 240 / ours
            return ratio
        return None

    return read


def above_the_thesis(page: Page) -> float | None:
    """Our CE less the thesis', where that is largest; of nine draws at least."""
    gaps: list[float] = []
    if (page.text(r"(\d+) draws") or 0) < 9:
        return None
    for name in ("HARP", "PROCLUS", "FastDOC"):
        for dims in ("4 dims", "10 dims", "18 dims"):
            ours = page.number(dims, algorithm=name)
            theirs = page.number(dims, algorithm=f"{name}, thesis")
            if ours is None or theirs is None:
                return None
            gaps.append(ours - theirs)
    return max(gaps)


def largest_median(page: Page) -> float | None:
    if (page.text(r"(\d+) draws") or 0) < 9:
        return None
    found = [
        number
        for name in ("PROCLUS", "MineClus", "DOC")
        for row in list(page.find(algorithm=name))[:1]
        for column, text in row.items()
        if column.endswith("dims") and (number := first_number(text)) is not None
    ]
    return max(found, default=None)


def growth(page: Page) -> float | None:
    """Seconds of 10⁶ rows over those of 10⁴, at most."""
    ratios = []
    for name in ("PROCLUS", "LAC", "DOC", "CLIQUE"):
        for row in page.find(finder=name):
            few, many = (first_number(row.get(n, "")) for n in ("10000", "1000000"))
            if few and many:
                ratios.append(many / few)
    return max(ratios) if len(ratios) == 4 else None


def worse_than_peers(page: Page) -> float | None:
    """Our CE less the better of ELKI's and OpenSubspace's for the same algorithm, at most."""
    gaps = []
    for row in page.rows:
        if "ELKI CE" not in row:
            continue
        theirs = [first_number(row[c]) for c in ("ELKI CE", "OpenSubspace CE")]
        known = [value for value in theirs if value is not None]
        ours = first_number(row["CE"])
        if known and ours is not None:
            gaps.append(ours - min(known))
    return max(gaps, default=None)


def worse_than_mineclus(page: Page) -> float | None:
    """Our best CE of a set less OpenSubspace's MineClus there, at most."""
    gaps = []
    for row in page.rows:
        peer = first_number(row.get("OpenSubspace MineClus", ""))
        if peer is not None:
            text = row["best finder with the same knowledge"]
            gaps.append(float(text.split()[-1]) - peer)
    return max(gaps, default=None)


def seconds_of_sets(page: Page) -> float | None:
    ours = page.number("seconds per set", side="ours", features="all")
    theirs = page.number("seconds per set", side="ClustPy, n_init=10", features="all")
    return ours / theirs if ours and theirs else None


def mean_gain(ours: str, theirs: str) -> Reader:
    """Mean of a column less that of another."""

    def read(page: Page) -> float | None:
        pairs = [
            (a, b)
            for row in page.rows
            if ours in row and theirs in row
            for a, b in zip(row[ours].split(), row[theirs].split(), strict=False)
        ]
        values = [(first_number(a), first_number(b)) for a, b in pairs]
        gains = [a - b for a, b in values if a is not None and b is not None]
        return sum(gains) / len(gains) if gains else None

    return read


def mean_dq(title: str) -> Reader:
    """MAXIMUS' mean DQ less COALA's, in one of the tables of Fig. 14; of all 13 sets only."""

    def read(page: Page) -> float | None:
        if len(list(page.find(title=title))) < 14:
            return None
        ours, theirs = (page.number(c, title=title, data_set="mean") for c in ("MAXIMUS", "COALA"))
        return None if ours is None or theirs is None else ours - theirs

    return read


def power(page: Page) -> float | None:
    """Share of the planted sets in which something is significant."""
    shares = [
        [first_number(part) for part in row["sets significant"].split(" of ")]
        for row in page.rows
        if "sets significant" in row
    ]
    return sum(a for a, _ in shares) / sum(b for _, b in shares) if shares else None


def best_criterion(page: Page) -> float | None:
    found = [
        page.number("planted number found", criterion=name)
        for name in ("stability", "description_length")
    ]
    return min((value for value in found if value is not None), default=None)


SPEED, LARGE = "finders_speed", "10000 x 50"
TARGETS = (
    Target(2, "label_ce", "CE of labels, 10⁶ rows: times contingency_matrix + assignment",
           "<= 1.5", "compare"),
    Target(2, "distance_matrix", "96 × 96 CE distances: times faster than a loop over sets",
           ">= 20", "compare"),
    Target(2, "oriented_t", "T of 50 × 50 oriented clusters: times its product", "<= 3",
           "compare"),
    Target(2, "rnia_memory", "RNIA of overlapping clusterings of 10⁶ × 1,000: extra MB", "<= 500",
           "compare"),
    Target(3, "thesis", "best-of-grid CE less the thesis', worst of HARP, PROCLUS, FastDOC at 4, "
           "10, 18 dims", "<= 0", "thesis_ch6", above_the_thesis),
    Target(3, "medians", "median CE of PROCLUS, MineClus and DOC, largest over the dims",
           "<= 0.02", "thesis_ch6", largest_median),
    Target(3, "peers_ce", "CE less ELKI's or OpenSubspace's of the same algorithm, at most",
           "<= 0.02", "opensubspace", worse_than_peers),
    Target(3, "mineclus", "best CE with the same knowledge less OpenSubspace's MineClus, at most",
           "<= 0", "opensubspace", worse_than_mineclus),
    Target(3, "proclus_10", "PROCLUS, 10,000 × 50: times faster than ELKI", ">= 5", SPEED,
           beside_elki("PROCLUS", LARGE)),
    Target(3, "proclus_50", "PROCLUS, 50,000 × 50: times faster than ELKI", ">= 5", SPEED,
           beside_elki("PROCLUS", "50000 x 50")),
    *(
        Target(3, name.lower(), f"{name}, 10,000 × 50: times faster than ELKI (240 s where it "
               "does not end)", ">= 10", SPEED, beside_elki(name, LARGE))
        for name in ("CLIQUE", "SUBCLU", "DOC", "P3C", "DiSH")
    ),
    Target(3, "growth", "seconds of 10⁶ rows over 10⁴ rows, at most (PROCLUS, LAC, DOC, CLIQUE)",
           "<= 100", SPEED, growth),
    *(
        Target(4, name.lower(), f"{name}, 10,000 × 10: times faster than ELKI", ">= 10",
               "oriented", cell("ratio", finder=name, table="10000 x 10"))
        for name in ("ORCLUS", "COPAC", "FourC", "CASH", "LMCLUS", "ERiC")
    ),
    Target(4, "orclus_50", "ORCLUS, 10,000 × 50: times faster than ELKI", ">= 10", "oriented",
           cell("ratio", finder="ORCLUS", table="10000 x 50")),
    Target(4, "sre", "SRE of 10⁶ × 50, 20 clusters: times a product per cluster", "<= 2",
           "oriented", cell("ratio", rows="1000000", clusters="20")),
    Target(4, "wine", "loss of Wine, l = 8, less 0.01917", "<= 0.000005", "sre_paper",
           lambda page: _off(page, "Wine", "one cluster, l = 8 (LMCLUS)", 0.01917)),
    Target(4, "iris", "loss of Iris, l = 3, less 0.00592", "<= 0.000005", "sre_paper",
           lambda page: _off(page, "Iris", "one cluster, l = 3 (LMCLUS)", 0.00592)),
    Target(5, "same_start", "same labels as ClustPy from the same start, of 20", ">= 20",
           "nrkmeans", said(r"Same labels in all views: (\d+) of 20")),
    Target(5, "per_step", "NrKMeans step, 50,000 × 30: times faster than ClustPy", ">= 8",
           "nrkmeans", cell("times ours (float64)", side="ClustPy")),
    Target(5, "kmeans", "steps of scikit-learn's k-means over the views: times ours", ">= 1",
           "nrkmeans", cell("times ours (float64)", side="k-means, float64")),
    Target(5, "planted", "planted sets with every view found, of 40", ">= 38", "nrkmeans",
           cell("every view's ARI > 0.9", side="ours", features="all")),
    Target(5, "planted_time", "seconds for these over ClustPy's", "<= 1", "nrkmeans",
           seconds_of_sets),
    Target(5, "autonr", "AutoNR, 500 × 8: times faster than ClustPy", ">= 20", "nrkmeans",
           said(r"it takes (\d+) times as long")),
    Target(5, "autonr_right", "AutoNR right, of 10", ">= 9", "nrkmeans",
           said(r"ours (\d+) of 10")),
    Target(5, "truths", "NMI with known groupings less ClustPy's, mean", ">= 0", "nrkmeans",
           mean_gain("NrKMeans", "ClustPy's NrKmeans")),
    Target(5, "adco", "density profile of 10⁶ × 50: times one bincount", "<= 3", "adco_paper",
           said(r"DensityProfile\.of, equal-width bins \| [\d.]+ \| ([\d.]+)x")),
    Target(5, "similarity", "MAXIMUS: sets with similarity at most 1.1 of the certificate, of 80",
           ">= 80", "maximus", cell("similarity ≤ 1.1", sets="all")),
    Target(5, "inertia", "MAXIMUS: sets with inertia at most 1.3 of free k-means, of 80", ">= 80",
           "maximus", cell("inertia ≤ 1.3", sets="all")),
    Target(5, "xor", "MAXIMUS: the hidden factor of XOR data, of 10", ">= 9", "maximus",
           said(r"NMI > 0\.9 on (\d+) of 10")),
    Target(5, "maximus_seconds", "MAXIMUS, 5,000 × 40, K = 8, 10 bins: seconds, at most", "<= 10",
           "maximus", worst("CPU s", title="5,000 x 40, K = 8, 10 bins")),
    Target(5, "dq", "MAXIMUS' mean DQ less COALA's, mean distances", ">= 0",
           "alternatives_paper", mean_dq("DQ (mean distance)")),
    Target(5, "dq_centroids", "MAXIMUS' mean DQ less COALA's, centroids", ">= 0",
           "alternatives_paper", mean_dq("DQ (centroids)")),
    Target(6, "cb", "CB-PCE on Letter, 200 members: seconds", "<= 15", "pce_paper",
           cell("seconds", step="CB-PCE, whole")),
    Target(6, "cb_fcb", "CB-PCE over FCB-PCE", "<= 1.3", "pce_paper",
           said(r"CB over FCB ([\d.]+)")),
    Target(6, "distance_step", "distance step over its two products", "<= 2", "pce_paper",
           said(r"in blocks, ([\d.]+) spelled out")),
    Target(6, "memory", "memory of the fit, MB", "<= 1000", "pce_paper",
           said(r"beside the ensemble (\d+) MB")),
    Target(7, "numbers", "planted sets whose number is found by stability and by description "
           "length, of 20", ">= 17", "stability", best_criterion, "stability_planted"),
    Target(7, "alarms", "false alarms at 5 %, KMeans and LAC, 1,000 tables each: %", "<= 7",
           "significance", worst("clustering", tables="1000")),
    Target(7, "power", "planted sets of 500 × 20 that are significant, share", ">= 0.9",
           "significance", power),
    Target(7, "index_memory", "indices at 50,000 rows: peak MB of the process", "<= 1000",
           "indices", worst("peak MB (goal < 1,000)")),
    Target(7, "silhouette", "silhouette: times scikit-learn's, at most", "<= 2", "indices",
           worst("ratio (goal <= 2)")),
    Target(8, "views", "planted-views sets with every truth at ARI > 0.9, of 10", ">= 9",
           "explore", said(r"ARI > 0\.9 on (\d+) of 10"), "explore_planted"),
    Target(8, "yardstick", "NMI of known groupings less NrKmeans' told their numbers, mean",
           ">= 0", "explore", mean_gain("NMI per truth", "NrKmeans given the numbers"),
           "explore_real"),
    Target(8, "structureless", "groupings claimed in 100 tables without any", "<= 3", "explore",
           said(r"100 tables .* level in (\d+)"), "explore_structureless"),
    Target(8, "kill", "killed at 10 moments, resumed to the same study", ">= 10", "explore",
           said(r"at 10 random moments and resumed: the same study (\d+) times"), "explore_kill"),
    Target(8, "big_memory", "100,000 × 100: GB", "<= 2", "explore",
           cell("peak memory (GB)", **{"rows_x_columns": "100000 x 100"}), "explore_big"),
    Target(8, "huge_memory", "2,000,000 × 120: GB", "<= 4", "explore",
           cell("peak memory (GB)", **{"rows_x_columns": "2000000 x 120"}), "explore_big"),
    Target(9, "killed", "200 fits on a cluster with a worker killed: runs with the same bits",
           ">= 200", "many_fits"),
    *(
        Target(9, f"pass_{name}", f"{name}, 10⁷ × 50: seconds of a pass over reading and XᵀX",
               "<= 2", "scale", cell("ratio to Xᵀ·X", job=name, rows="10,000,000"))
        for name in ("NrKMeans", "LAC", "KFlats", "ORCLUS", "SubKMeans", "PROCLUS", "sre",
                     "description_length", "DensityProfile.of (ADCO)")
    ),
    Target(9, "anonymous", "peak RssAnon at 10⁷ × 50, at most, MB", "<= 1000", "scale",
           worst("peak RssAnon (MB)", rows="10,000,000")),
    Target(9, "linear", "seconds per row at 10⁷ rows over those at 10⁶, at most", "<= 1.25",
           "scale", worst("growth per row", rows="10,000,000")),
    Target(9, "roofline", "NrKMeans on a GPU, 10⁷ × 100: step over the roofline", "<= 2", "gpu",
           said(r"a step \(assign, move, turn\) \| [\d.]+ \| ([\d.]+)")),
    Target(9, "tanimoto", "Tanimoto of 20,000 clusters on a GPU: times the bare product", "<= 2",
           "gpu", said(r"Tanimoto, memberships in float32 \| [\d.]+ \| [\d.]+ \| ([\d.]+)")),
)  # fmt: skip


def _off(page: Page, table: str, finder: str, value: float) -> float | None:
    found = page.number("ours", table=table, finder=finder)
    return None if found is None else abs(found - value)
