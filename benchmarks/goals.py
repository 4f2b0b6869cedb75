"""The numbers that the suite must show, and where each of them is measured.

A goal's number is the one that its benchmark recorded (``ratios.record``) or, where it writes a
page only, what ``read`` finds in that page. Each goal says which variant it is about and with which
settings. No number is the best of several by the truth, unless the paper's was, which is then said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pages import Page, first_number

#: A number, None if the page has none, or in words why there can be none.
Reader = Callable[[Page], float | str | None]


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
    settings: str = ""
    """Variant and settings of ours, and what the other side is told."""


def cell(column: str, **cells: str) -> Reader:
    return lambda page: page.number(column, **cells)


def said(pattern: str) -> Reader:
    return lambda page: page.text(pattern)


def worst(column: str, **cells: str) -> Reader:
    return lambda page: max(page.numbers(column, **cells), default=None)


def least(column: str, **cells: str) -> Reader:
    return lambda page: min(page.numbers(column, **cells), default=None)


SAME = "as published, same settings"


def beside_elki(finder: str, *tables: str, variant: str = SAME) -> Reader:
    """Their seconds over ours, on the first of some tables on which ELKI ends.

    A ratio of unequal work is refused in the page, and its reason is passed on. Where ELKI does
    not end, its result is not known, so there is no ratio, either; it is said how many times ours
    the seconds are that the processor worked on it.
    """

    def read_one(row: dict[str, str]) -> float | str | None:
        ratio, ours = first_number(row["ratio"]), first_number(row["seconds"])
        if row["ratio"].startswith("not comparable"):
            return row["ratio"]
        stopped = re.search(r"not finished .*?(\d+) s of the", row.get("ELKI seconds", ""))
        if ratio is None and ours and stopped:
            least = float(stopped.group(1)) / ours
            return f"at least {least:.1f}, its result is not known: {row['ELKI seconds']}"
        if ours is None:
            return f"ours did not end: {row['seconds']}"
        return ratio if ratio is not None else row.get("ELKI seconds") or None

    def read(page: Page) -> float | str | None:
        rows = [
            row for table in tables
            for row in page.find(finder=finder, table=table, variant=variant)
        ]  # fmt: skip
        ended = [row for row in rows if first_number(row["ELKI seconds"]) is not None]
        return read_one((ended or rows)[0]) if rows else None

    return read


def never(reason: str) -> Reader:
    """A goal that no measurement can answer."""
    return lambda page: reason


def gap_to_elki(column: str, variant: str, *names: str, **cells: str) -> Reader:
    """Ours less ELKI's in a column, the largest over some finders."""

    def read(page: Page) -> float | None:
        gaps = []
        for name in names:
            for row in page.find(finder=name, variant=variant, **cells):
                ours, theirs = first_number(row[column]), first_number(row[f"ELKI {column}"])
                if ours is not None and theirs is not None:
                    gaps.append(ours - theirs)
        return max(gaps, default=None)

    return read


TEXT, NEAR = "As in the text", "Near the figures"


def above_the_thesis(page: Page) -> float | None:
    """The CE of our defaults less the thesis' best of a grid, where that is largest."""
    gaps: list[float] = []
    for name in ("HARP", "PROCLUS", "FastDOC"):
        for dims in ("4 dims", "10 dims", "18 dims"):
            ours, theirs = (
                page.number(dims, title=TEXT, algorithm=name, variant=variant)
                for variant in ("default", "thesis")
            )
            if ours is None or theirs is None:
                return None
            gaps.append(ours - theirs)
    return max(gaps)


def largest_median(page: Page) -> float | None:
    found = [
        number
        for name in ("PROCLUS", "MineClus", "DOC")
        for row in page.find(algorithm=name, variant="default", title=TEXT)
        for column, text in row.items()
        if column.endswith("dims") and (number := first_number(text)) is not None
    ]
    return max(found, default=None)


def parameters_over_samples(page: Page) -> float | None:
    """Deviation of the distance to the truth over parameters by that over samples, the least."""
    found = []
    for row in page.find(distance="CE", variant="as published"):
        one, other = (
            first_number(row.get(f"deviation by {name}", "")) for name in ("parameter", "sample")
        )
        if one is not None and other:
            found.append(one / other)
    return min(found) if len(found) == 2 else None


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
    """Our default's CE less the better of ELKI's and OpenSubspace's of the same algorithm."""
    gaps = []
    for row in page.find(variant="default"):
        theirs = [first_number(row.get(c, "")) for c in ("ELKI CE", "OpenSubspace CE")]
        known = [value for value in theirs if value is not None]
        ours = first_number(row["CE"])
        if known and ours is not None:
            gaps.append(ours - min(known))
    return max(gaps, default=None)


def worse_than_mineclus(page: Page) -> float | None:
    """The CE of our default MineClus less OpenSubspace's, at most.

    Clusters of both share no rows. Where theirs is printed below what such clusters can reach, it
    was cut off there, and the bound takes its place.
    """
    gaps = []
    for row in page.find(finder="MineClus", variant="default"):
        ours, theirs = first_number(row["CE"]), first_number(row["OpenSubspace CE"])
        bound = page.number("bound of disjoint rows", set=row["set"])
        if ours is not None and theirs is not None:
            # Half of the last digit printed is rounding.
            reached = bound is not None and ours <= bound + 0.0005
            gaps.append(min(ours - theirs, 0.0) if reached else ours - theirs)
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


def mean_dq(title: str, column: str = "MAXIMUS") -> Reader:
    """MAXIMUS' mean DQ less COALA's, in one of the tables of Fig. 14."""

    def read(page: Page) -> float | str | None:
        sets = len(list(page.find(title=title))) - 1
        if 0 < sets < 13:
            return f"only {sets} of 13 sets were run"
        names = (column, "COALA, as published")
        ours, theirs = (page.number(c, title=title, data_set="mean") for c in names)
        return None if ours is None or theirs is None else ours - theirs

    return read


def slowest_thin(page: Page) -> float | None:
    """The slowest pass of each job by the seconds of the cheaper product, at most."""
    found = []
    for row in page.find(rows="10,000,000"):
        names = ("slowest pass to Xᵀ·X", "Xᵀ·X (s)", "X·B (s)")
        slowest, wide, thin = (first_number(row.get(name, "")) for name in names)
        if slowest is not None and wide is not None and thin:
            found.append(slowest * wide / thin)
    return max(found, default=None)


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


def sets_found(method: str) -> Reader:
    """In how many sets one method finds the planted number; only of all 20."""

    def read(page: Page) -> float | str | None:
        of = page.text(r"on (\d+) planted sets")
        if of is not None and of < 20:
            return f"only {of:g} of 20 sets were run"
        return page.number("planted number found", criterion=method)

    return read


#: Every method of the page has a goal: the best of them is known only by the truth.
COUNTING = ("Lange et al.", "Lange et al., best of 4 classifiers", "prediction strength",
            "prediction strength, cells", "Clest", "Model Explorer", "Levine and Domany",
            "Gap, full", "Gap, subspace")  # fmt: skip


#: Variant and settings of the other goals.
SETTINGS = {
    **dict.fromkeys((2,), "labels and clusterings, random; no finder"),
    **{3: "default", 4: "sre of given clusters, no finder", 5: "default"},
    **{6: "default, 200 members of LAC"},
    **{7: "default; SSPC(n_init=2), KMeans and LAC as the page says", 8: "explore, as it comes"},
    **{9: "default; search_rows as it comes"},
}
SPEED, LARGE = "finders_speed", "10000 x 50"
_TARGETS = (
    Target(2, "label_ce", "CE of labels, 10⁶ rows: times contingency_matrix + assignment",
           "<= 1.5", "compare"),
    Target(2, "distance_matrix", "96 × 96 CE distances: times faster than a loop over sets",
           ">= 20", "compare"),
    Target(2, "oriented_t", "T of 50 × 50 oriented clusters: times its product", "<= 3",
           "compare"),
    Target(2, "rnia_memory", "RNIA of overlapping clusterings of 10⁶ × 1,000: extra MB", "<= 500",
           "compare"),
    Target(3, "thesis", "median CE less the thesis' best of a grid, worst of HARP, PROCLUS, "
           "FastDOC at 4, 10, 18 dims", "<= 0", "thesis_ch6", above_the_thesis,
           settings="default, one setting, n_clusters=5 told; data as in the text"),
    Target(3, "medians", "median CE of PROCLUS, MineClus and DOC, largest over the dims",
           "<= 0.02", "thesis_ch6", largest_median,
           settings="default, one setting, n_clusters=5 told; data as in the text"),
    Target(3, "thesis_near", "mean difference from the thesis' nine figures", "<= 0.1",
           "thesis_ch6", said(r"figures near the figures: (\d\.\d+)"),
           settings="as published, best of a grid by the truth as in the thesis; 5 % wrong cells, "
           "columns 1 to 3 times as wide"),
    Target(3, "thesis_parameters", "deviation of the distance to the truth over parameters, by "
           "that over samples, the least of SSPC and PROCLUS", ">= 1", "thesis_ch6",
           parameters_over_samples,
           settings="as published, max_variance .05 to .95, avg_dims 10 to 90; Fig. 6.4"),
    Target(3, "peers_ce", "CE less ELKI's or OpenSubspace's of the same algorithm, at most",
           "<= 0.02", "opensubspace", worse_than_peers,
           settings="default, one setting, k and avg_dims told; theirs the best of a grid"),
    Target(3, "mineclus", "CE of MineClus less OpenSubspace's, at most", "<= 0", "opensubspace",
           worse_than_mineclus,
           settings="default, one setting, k and avg_dims told; theirs the best of a grid"),
    Target(3, "proclus_10", "PROCLUS, 10,000 × 50: times faster than ELKI", ">= 5", SPEED,
           beside_elki("PROCLUS", LARGE), settings=f"{SAME}: k = 10, l = 8, 3 seeds"),
    Target(3, "proclus_50", "PROCLUS, 50,000 × 50: times faster than ELKI", ">= 5", SPEED,
           beside_elki("PROCLUS", "50000 x 50"), settings=f"{SAME}: k = 10, l = 8, 3 seeds"),
    *(
        Target(3, name.lower(), f"{name}, 10,000 × 50: times faster than "
               "ELKI", ">= 10", SPEED, beside_elki(name, LARGE),
               settings=f"{SAME}: {told}")
        for name, told in (
            ("CLIQUE", "xi = 10, tau = .06, not pruned"), ("SUBCLU", "eps = .01, 300 rows"),
        )
    ),
    *(
        Target(3, name.lower(), f"{name}, 10,000 × 50, or 1,000 × 50 where ELKI doesn't end: times "
               "faster than ELKI", ">= 10", SPEED, beside_elki(name, LARGE, "1000 x 50"),
               settings=f"{SAME}: {told}")
        for name, told in (
            ("P3C", "threshold 1e-4"),
            ("DiSH", "eps = .02, mu = 2 % of the rows"),
        )
    ),
    Target(3, "doc", "DOC, 10,000 × 50: times faster than ELKI", ">= 10", SPEED,
           never("never the same work: around a seed the paper draws 8.5e9 samples of 7 rows, ELKI "
                 "1,728 of 2"), settings=f"{SAME}: alpha = .08, beta = .25, w = .05"),
    Target(3, "default_ce", "CE less ELKI's, at most over the finders of the page", "<= 0", SPEED,
           gap_to_elki("CE", "default", "PROCLUS", "CLIQUE", "SUBCLU", "DOC", "P3C", "DiSH",
                       "PreDeCon"),
           settings="default; ELKI with the settings of the page"),
    Target(3, "growth", "seconds of 10⁶ rows over 10⁴ rows, at most (PROCLUS, LAC, DOC, CLIQUE)",
           "<= 100", SPEED, growth),
    *(
        Target(4, name.lower(), f"{name}, 10,000 × 10: times faster than ELKI", ">= 10",
               "oriented", beside_elki(name, "10000 x 10"),
               settings=f"{SAME}, as the page lists them")
        for name in ("ORCLUS", "COPAC", "FourC", "ERiC")
    ),
    *(
        Target(4, name.lower(), f"{name}, 10,000 × 10, or {other} where ELKI doesn't end: times "
               "faster than ELKI", ">= 10", "oriented",
               beside_elki(name, "10000 x 10", other.replace(",", "").replace("×", "x")),
               settings=f"{SAME}, as the page lists them")
        for name, other in (("CASH", "10,000 × 3"), ("LMCLUS", "1,000 × 10"))
    ),
    Target(4, "orclus_50", "ORCLUS, 10,000 × 50: times faster than ELKI", ">= 10", "oriented",
           beside_elki("ORCLUS", "10000 x 50"), settings=f"{SAME}, as the page lists them"),
    Target(4, "copac_ce", "COPAC: CE less ELKI's, at most", "<= 0", "oriented",
           gap_to_elki("CE", SAME, "COPAC"), settings=f"{SAME}, as the page lists them"),
    Target(4, "oriented_default", "oriented finders: CE less ELKI's, at most over the page", "<= 0",
           "oriented", gap_to_elki("CE", "default", "ORCLUS", "COPAC", "FourC", "CASH", "LMCLUS",
                                   "ERiC"),
           settings="default; ELKI with the settings of the page"),
    Target(4, "sre", "SRE of 10⁶ × 50, 20 clusters: times a product per cluster", "<= 2",
           "oriented", cell("ratio", rows="1000000", clusters="20")),
    Target(4, "wine", "loss of Wine, one cluster, l = 8, less 0.01917", "<= 0.000005", "sre_paper",
           lambda page: _off(page, "Wine", "one cluster, l = 8 (LMCLUS)", 0.01917)),
    Target(4, "iris", "loss of Iris, one cluster, l = 3, less 0.00592", "<= 0.000005", "sre_paper",
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
    *(
        Target(5, key, f"MAXIMUS' mean DQ less COALA's, {words}", ">= 0", "alternatives_paper",
               mean_dq(f"DQ ({words})"),
               settings="MAXIMUS default; COALA as published, ω = 0.6 as the paper ran it")
        for key, words in (("dq", "mean distance"), ("dq_to_centroid", "to the other's centroid"),
                           ("dq_centroids", "centroids"))
    ),
    Target(5, "dq_published", "the paper's MAXIMUS: mean DQ less COALA's, to the other's centroid",
           ">= 0", "alternatives_paper",
           mean_dq("DQ (to the other's centroid)", "MAXIMUS, as published"),
           settings="both as published; COALA with ω = 0.6"),
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
    *(
        Target(7, f"counted_{number}", f"{method}: planted sets whose number is found, of 20",
               ">= 15", "stability", sets_found(method), "stability_methods",
               settings="SSPC(n_init=2), k = 2 to 8")
        for number, method in enumerate(COUNTING)
    ),
    Target(7, "alarms", "false alarms at 5 %, KMeans and LAC, 1,000 tables each: %", "<= 7",
           "significance", worst("clustering", tables="1000")),
    Target(7, "power", "planted sets of 500 × 20 that are significant, share", ">= 0.9",
           "significance", power),
    Target(7, "index_memory", "indices at 50,000 rows: peak MB of the process", "<= 1000",
           "indices", worst("peak MB (goal < 1,000)")),
    Target(7, "silhouette", "silhouette: times scikit-learn's, at most", "<= 2", "indices",
           worst("ratio (goal <= 2)")),
    Target(7, "counted_significance", "significance: planted sets whose number is found, of 20",
           ">= 15", "stability", sets_found("significance"), "stability_significance",
           settings="SSPC(n_init=2), k = 2 to 8, 19 tables without clusters"),
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
    *(
        Target(8, f"speed_{effort}_{name.split(',')[0].split(' x')[0]}",
               f"{name}, {effort}: processor time over that of a sweep of k-means and mixtures",
               f"<= {goal}", "explore_speed", cell("times", table=name, effort=effort))
        for name, *goals in (
            ("Iris, 150 x 4", 4, 12), ("500 x 10", 6, 12), ("5,000 x 50", 3, 6),
        )
        for effort, goal in zip(("quick", "normal"), goals, strict=True)
    ),
    Target(8, "first_page", "processor time until the first page over that of the sweep, at most",
           "<= 1.5", "explore_speed", worst("times (goal 1.5)")),
    *(
        Target(8, f"first_look_{name[:2].lower()}",
               f"{name} from the shell: seconds until the first look", "<= 3", "explore_speed",
               cell("first look, s (goal < 3)", table=name))
        for name in ("Iris, 150 x 4", "500 x 10", "5,000 x 50")
    ),
    Target(8, "kept_time", "--time 30, thorough, on tables up to 100,000 x 100: seconds, at most",
           "<= 33", "explore_speed", worst("seconds of the clock with --time 30 (goal <= 33)")),
    Target(8, "wide_seconds", "64 x 6,830, normal: seconds", "<= 30", "explore_speed",
           cell("seconds of the clock", table="64 x 6,830")),
    Target(8, "big_seconds", "100,000 x 100, normal, two cores: seconds", "<= 60",
           "explore_speed", cell("two jobs, s", table="100,000 x 100")),
    Target(8, "huge_seconds", "2,000,000 x 120 in Parquet files, normal, two cores: seconds",
           "<= 60", "explore_speed",
           cell("seconds of the clock", table="2,000,000 x 120, from Parquet files")),
    Target(8, "huge_files_memory", "2,000,000 x 120 in Parquet files: GB", "<= 2",
           "explore_speed",
           cell("peak memory, GB", table="2,000,000 x 120, from Parquet files")),
    Target(8, "two_cores", "one job's seconds over those of two, normal, at least", ">= 1.7",
           "explore_speed", least("times (goal 1.7)")),
    Target(9, "killed", "200 fits on a cluster with a worker killed: runs with the same bits",
           ">= 200", "many_fits"),
    *(
        Target(9, f"pass_{name}", f"{name}, 10⁷ × 50: seconds of a pass over reading and XᵀX",
               "<= 2", "scale", cell("ratio to Xᵀ·X", job=name, rows="10,000,000"))
        for name in ("NrKMeans", "LAC", "KFlats", "ORCLUS", "SubKMeans", "PROCLUS", "sre",
                     "description_length", "DensityProfile.of (ADCO)")
    ),
    *(
        Target(9, f"thin_{name}", f"{name}, 10⁷ × 50: seconds of a pass over reading and X·B, the "
               "cheaper product", "<= 2", "scale",
               cell("ratio to X·B", job=name, rows="10,000,000"))
        for name in ("NrKMeans", "LAC", "KFlats", "ORCLUS", "SubKMeans", "PROCLUS", "sre",
                     "description_length", "DensityProfile.of (ADCO)")
    ),
    Target(9, "slowest", "slowest single pass over reading and XᵀX, at most over the jobs",
           "<= 2", "scale", worst("slowest pass to Xᵀ·X", rows="10,000,000")),
    Target(9, "slowest_thin", "slowest single pass over reading and X·B, the cheaper product, at "
           "most over the jobs", "<= 2", "scale", slowest_thin),
    Target(9, "anonymous", "peak RssAnon at 10⁷ × 50, at most, MB", "<= 1000", "scale",
           worst("peak RssAnon (MB)", rows="10,000,000")),
    Target(9, "linear", "seconds per row at 10⁷ rows over those at 10⁶, at most", "<= 1.25",
           "scale", worst("growth per row", rows="10,000,000")),
    Target(9, "roofline", "NrKMeans on a GPU, 10⁷ × 100: step over the roofline", "<= 2", "gpu",
           said(r"a step \(assign, move, turn\) \| [\d.]+ \| ([\d.]+)")),
    Target(9, "tanimoto", "Tanimoto of 20,000 clusters on a GPU: times the bare product", "<= 2",
           "gpu", said(r"Tanimoto, memberships in float32 \| [\d.]+ \| [\d.]+ \| ([\d.]+)")),
)  # fmt: skip


#: Every goal with its settings; where none are its own, those of its topic.
TARGETS = tuple(
    target if target.settings else target._replace(settings=SETTINGS[target.topic])
    for target in _TARGETS
)


def _off(page: Page, table: str, finder: str, value: float) -> float | None:
    found = page.number("ours", table=table, finder=finder)
    return None if found is None else abs(found - value)
