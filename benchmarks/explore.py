"""The main job on tables with known groupings, and on tables without any.

    python benchmarks/explore.py                 everything
    python benchmarks/explore.py --quick         a few small tables
    python benchmarks/explore.py --part planted  one part: real, planted, boxes, mixed, missing,
                                                 structureless, kill, big, shapes, classes,
                                                 hierarchies, battery

For each known grouping the best match among the first eight views counts (ARI and NMI; clustering
error where the truth has subspaces); on shapes, classes, hierarchies and the battery the first
view that is better than chance counts. The search is told neither how many groups there are nor how
many groupings. Real tables come from the folders named by SUBSCAPE_DATA and SUBSCAPE_BATTERY; they
are skipped with a line where these are not set. Writes benchmarks/results/explore.md, part by part.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from subscape.datasets import load_real, planted_views, structureless
from subscape.exploration import explore
from subscape.measures import adjusted_rand_score, clustering_error, normalized_mutual_info_score
from subscape.tables import Table

RESULTS = Path(__file__).parent / "results"
FIRST = 8
#: NMI per truth of ClustPy's NrKmeans given the true numbers, best of ten starts.
YARDSTICK = {
    "nrletters": (0.85, 0.60, 0.86),
    "stickfigures": (1.0, 1.0),
    "aloi_small": (0.34, 0.34),
    "webkb": (0.09, 0.02),
}
BOXES = ("os_D05", "os_D20", "os_N30", "os_S2500")
MIXED = ("mushroom", "german_credit", "colic")
PLANTED = (
    (3, 2), (3, 3), (4, 3), (5, 3), (2, 2), (4, 3, 2), (5, 4, 3), (3, 3, 3), (4, 2), (3, 3, 2, 2),
)  # fmt: skip


def best_views(study, truth):
    """ARI and NMI of the view that is most like a truth."""
    known = truth >= 0
    scores = [(0.0, 0.0)]
    for view in study.views[:FIRST]:
        labels = view.labels[known]
        scores.append(
            (
                float(adjusted_rand_score(truth[known], labels + 1)),
                float(normalized_mutual_info_score(truth[known], labels + 1)),
            )
        )
    return max(scores)[0], max(scores, key=lambda pair: pair[1])[1]


def real(options):
    lines = ["| table | seconds | views | NMI per truth | NrKmeans given the numbers | ARI |"]
    lines.append("|---|---|---|---|---|---|")
    for name in wanted(("stickfigures",) if options.quick else YARDSTICK, options):
        try:
            data = load_real(name)
        except (ValueError, OSError) as error:
            lines.append(f"| {name} | skipped: {error} | | | | |")
            continue
        start = time.perf_counter()
        study = explore(numbers_of(data), effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        found = [best_views(study, truth) for truth in truths_of(data)]
        lines.append(
            f"| {name} | {seconds:.0f} | {len(study.significant_views)} of {len(study.views)} | "
            f"{listed(nmi for _, nmi in found)} | {listed(YARDSTICK[name])} | "
            f"{listed(ari for ari, _ in found)} |"
        )
        print(lines[-1], flush=True)
    return lines


def planted(options):
    lines = ["| clusters | seconds | better than chance | ARI per truth |", "|---|---|---|---|"]
    right = 0
    cases = PLANTED[:2] if options.quick else PLANTED
    for seed, numbers in enumerate(cases):
        X, truths = planted_views(
            600 if options.quick else 1000, 14, n_clusters=numbers, random_state=7000 + seed
        )
        start = time.perf_counter()
        study = explore(X, effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        found = [best_views(study, truth.labels())[0] for truth in truths]
        right += min(found) > 0.9
        lines.append(
            f"| {numbers} | {seconds:.0f} | {len(study.significant_views)} | {listed(found)} |"
        )
        print(lines[-1], flush=True)
    lines.append(f"\nEvery truth with ARI > 0.9 on {right} of {len(cases)} (goal: 9 of 10).")
    print(lines[-1], flush=True)
    return lines


def boxes(options):
    lines = ["| table | seconds | best CE (subspaces) | best CE (rows) | view |"]
    lines.append("|---|---|---|---|---|")
    for name in wanted(BOXES[:1] if options.quick else BOXES, options):
        try:
            data = load_real(name)
        except (ValueError, OSError) as error:
            lines.append(f"| {name} | skipped: {error} | | | |")
            continue
        truth = data.truth
        start = time.perf_counter()
        study = explore(numbers_of(data), effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        scores = []
        for view in study.views[:FIRST]:
            if view.clustering.kind == "axis" and view.n_clusters:
                whole = clustering_error(truth, view.clustering)
                rows = clustering_error(truth.rows_only(), view.clustering.rows_only())
                scores.append((whole, rows, view.number))
        best = min(scores, default=(1.0, 1.0, 0))
        rows = min((score[1] for score in scores), default=1.0)
        lines.append(f"| {name} | {seconds:.0f} | {best[0]:.3f} | {rows:.3f} | {best[2]} |")
        print(lines[-1], flush=True)
    return lines


def mixed(options):
    lines = ["| table | seconds | views better than chance | classes: best NMI | verdict |"]
    lines.append("|---|---|---|---|---|")
    for name in wanted(MIXED[2:] if options.quick else MIXED, options):
        try:
            data = load_real(name)
        except (ValueError, OSError) as error:
            lines.append(f"| {name} | skipped: {error} | | | |")
            continue
        start = time.perf_counter()
        study = explore(data.table, effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        nmi = [best_views(study, truth)[1] for truth in truths_of(data)]
        lines.append(
            f"| {name} | {seconds:.0f} | {len(study.significant_views)} of {len(study.views)} | "
            f"{listed(nmi)} | {study.verdict} |"
        )
        print(lines[-1], flush=True)
    return lines


def missing(options):
    lines = [
        "| missing | seconds | ARI per truth | flagged as explained by gaps |",
        "|---|---|---|---|",
    ]
    for at_random in (True, False):
        X, truths = planted_views(
            600, 14, n_clusters=(3, 3), missing=0.2, missing_at_random=at_random, random_state=7
        )
        start = time.perf_counter()
        study = explore(X, effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        found = [best_views(study, truth.labels())[0] for truth in truths]
        flagged = [view.number for view in study.views if view.is_explained_by_missing]
        how = "20 % at random" if at_random else "20 %, large values rather than small ones"
        lines.append(f"| {how} | {seconds:.0f} | {listed(found)} | {flagged or 'none'} |")
        print(lines[-1], flush=True)
    return lines


def without_groups(options):
    kinds = ("uniform", "gaussian", "lognormal")
    n_tables = 6 if options.quick else 100
    claimed = []
    for i in range(n_tables):
        kind = kinds[i % 3]
        X = structureless(kind, 200, 6, random_state=5000 + i)
        study = explore(X, effort="quick", n_jobs=options.jobs)
        if study.significant_views:
            claimed.append((kind, i, min(view.p_value for view in study.views)))
        if i % 10 == 9:
            print(f"  {i + 1} tables, {len(claimed)} claimed", flush=True)
    lines = [
        f"{n_tables} tables of 200 x 6 without groups: a grouping claimed at the 1 % level in "
        f"{len(claimed)} (goal: at most 3 of 100). {claimed or ''}"
    ]
    print(lines[0], flush=True)
    return lines


def kill(options):
    """Kill an exploration at random moments, resume, and compare with an uninterrupted one."""
    moments = 2 if options.quick else 10
    rng = np.random.default_rng(0)
    X, _ = planted_views(150, 5, n_clusters=(3, 2), random_state=0)
    same = 0
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch, "table.csv")
        np.savetxt(table, X, delimiter=",", header="a,b,c,d,e", comments="")

        def run(folder, *more):
            return [sys.executable, "-m", "subscape", "explore", str(table), "-o", str(folder),
                    "--effort", "quick", "--jobs", "2", *more]  # fmt: skip

        whole = Path(scratch, "whole")
        start = time.perf_counter()
        subprocess.run(run(whole), check=True, capture_output=True)
        seconds = time.perf_counter() - start
        for moment in range(moments):
            folder = Path(scratch, f"killed{moment}")
            process = subprocess.Popen(
                run(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            time.sleep(float(rng.uniform(1.0, 0.9 * seconds)))
            os.killpg(process.pid, 9)
            process.wait()
            subprocess.run(run(folder, "--resume"), check=True, capture_output=True)
            names = ("study.json", "labels.csv", "clusters.csv", "decisions.jsonl", "plan.json")
            same += all((folder / n).read_bytes() == (whole / n).read_bytes() for n in names)
    lines = [f"Killed (-9) at {moments} random moments and resumed: the same study {same} times."]
    print(lines[0], flush=True)
    return lines


def big(options):
    shapes = [(20_000, 30, 60)] if options.quick else [(100_000, 100, 300), (2_000_000, 120, 300)]
    lines = ["| rows x columns | --time | seconds | peak memory (GB) | ARI per truth |"]
    lines.append("|---|---|---|---|---|")
    for n_rows, n_columns, seconds in shapes:
        done = subprocess.run(
            [sys.executable, __file__, "--one-big", f"{n_rows},{n_columns},{seconds}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        failed = f"| {n_rows} x {n_columns} | {seconds} | failed: {done.stderr[-200:]} | | |"
        lines.append(failed if done.returncode else done.stdout.strip().splitlines()[-1])
        print(lines[-1], flush=True)
    return lines


def one_big(argument):
    import resource

    n_rows, n_columns, seconds = (int(part) for part in argument.split(","))
    X, truths = planted_views(n_rows, n_columns, n_clusters=(4, 3), random_state=1)
    labels = [truth.labels() for truth in truths]
    table = Table.from_array(frozen(X))
    del X
    start = time.perf_counter()
    study = explore(table, time=seconds, n_jobs=2)
    took = time.perf_counter() - start
    found = [best_views(study, truth)[0] for truth in labels]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {n_rows} x {n_columns} | {seconds} | {took:.0f} | {peak:.2f} | {listed(found)} |")


def first_view(study):
    """Labels of the first view that is better than chance; one group if there is none."""
    sure = study.significant_views
    return sure[0].labels if sure else np.zeros(study.shape[0], dtype=int)


def _spirals(n_rows, rng):
    along = np.sqrt(rng.uniform(0.1, 1, n_rows)) * 3 * np.pi
    which = np.arange(n_rows) % 2
    X = np.column_stack([np.cos(along + np.pi * which), np.sin(along + np.pi * which)])
    return X * along[:, None] / 3 + rng.normal(0, 0.1, (n_rows, 2)), which


def shapes(options):
    """Moons, circles and spirals, alone and among eight columns of noise."""
    from sklearn.datasets import make_circles, make_moons

    kinds = {
        "moons": lambda rng: make_moons(500, noise=0.06, random_state=int(rng.integers(1 << 30))),
        "circles": lambda rng: make_circles(
            500, noise=0.05, factor=0.5, random_state=int(rng.integers(1 << 30))
        ),
        "spirals": lambda rng: _spirals(500, rng),
    }
    n_draws = 1 if options.quick else options.draws
    lines = ["| shape | columns of noise | AMI >= .95 | AMI of each draw | seconds each |"]
    lines.append("|---|---|---|---|---|")
    for kind, make in kinds.items():
        for n_noise in (0, 8):
            found, start = [], time.perf_counter()
            for draw in range(n_draws):
                rng = np.random.default_rng([*options.seeds, draw, n_noise])
                X, truth = make(rng)
                X = np.column_stack([X, rng.normal(X.mean(), X.std(), (len(X), n_noise))])
                study = explore(X, effort=options.effort, n_jobs=options.jobs)
                found.append(adjusted_mutual_info_score(truth, first_view(study)))
            each = (time.perf_counter() - start) / n_draws
            right = sum(one >= 0.95 for one in found)
            lines.append(
                f"| {kind} | {n_noise} | {right} of {n_draws} | {listed(found)} | {each:.1f} |"
            )
            print(lines[-1], flush=True)
    return lines


def classes(options):
    """Planted latent classes: ARI of the first view beside that of the rule that knows all."""
    n_draws = 2 if options.quick else options.draws
    lines = ["| rows | columns | classes | gaps | ARI | of the Bayes rule | seconds |"]
    lines.append("|---|---|---|---|---|---|---|")
    right = 0
    for draw in range(n_draws):
        rng = np.random.default_rng([*options.seeds, 31, draw])
        n_rows = int(rng.integers(200, 601 if options.quick else 2001))
        n_levels, n_numbers = int(rng.integers(6, 23)), int(rng.integers(2, 9))
        n_classes, gaps = int(rng.integers(2, 7)), float(rng.choice([0, 0.1, 0.2]))
        X, truth, bayes = planted_classes(n_rows, n_levels, n_numbers, n_classes, gaps, rng)
        start = time.perf_counter()
        study = explore(X, effort=options.effort, n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        found = adjusted_rand_score(truth, first_view(study))
        best = adjusted_rand_score(truth, bayes)
        right += found >= 0.9 * best
        lines.append(
            f"| {n_rows} | {n_levels} + {n_numbers} | {n_classes} | {gaps:.0%} | {found:.2f} | "
            f"{best:.2f} | {seconds:.0f} |"
        )
        print(lines[-1], flush=True)
    lines.append(f"\nAt least .9 of the Bayes rule's in {right} of {n_draws} (goal: 9 of 10).")
    print(lines[-1], flush=True)
    return lines


def planted_classes(n_rows, n_levels, n_numbers, n_classes, gaps, rng):
    """A data frame of answers and numbers, its classes, and what the true model makes of it."""
    import pandas as pd

    truth = np.sort(rng.integers(n_classes, size=n_rows))
    told = np.zeros((n_rows, n_classes))
    columns = {}
    for j in range(n_levels):
        n_values = int(rng.integers(2, 6))
        chances = rng.dirichlet(np.full(n_values, 0.6), size=n_classes)
        values = np.array([rng.choice(n_values, p=chances[k]) for k in truth])
        missing = rng.random(n_rows) < gaps
        told += np.where(missing[:, None], 0.0, np.log(chances[:, values].T + 1e-12))
        columns[f"q{j + 1}"] = np.where(missing, None, np.array(list("abcde"))[values])
    for j in range(n_numbers):
        centres = rng.normal(0, 1, n_classes)
        values = centres[truth] + rng.normal(size=n_rows)
        missing = rng.random(n_rows) < gaps
        away = -0.5 * np.square(values[:, None] - centres)
        told += np.where(missing[:, None], 0.0, away)
        columns[f"x{j + 1}"] = np.where(missing, np.nan, values)
    told += np.log(np.bincount(truth, minlength=n_classes) / n_rows + 1e-12)
    return pd.DataFrame(columns), truth, told.argmax(axis=1)


def hierarchies(options):
    """Groups within groups: both levels among the levels of the first view."""
    n_draws = 2 if options.quick else options.draws
    lines = ["| draw | groups | groups within | clusters found | AMI outer | AMI inner |"]
    lines.append("|---|---|---|---|---|---|")
    right = 0
    for draw in range(n_draws):
        rng = np.random.default_rng([*options.seeds, 37, draw])
        n_outer, n_inner = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        n_columns = int(rng.integers(4, 12))
        outer = np.repeat(np.arange(n_outer), 120)
        inner = outer * n_inner + rng.integers(n_inner, size=len(outer))
        far = rng.normal(size=(n_outer, n_columns))
        far *= 16 / np.linalg.norm(far, axis=1, keepdims=True)
        near = rng.normal(size=(n_outer * n_inner, n_columns))
        near *= 5 / np.linalg.norm(near, axis=1, keepdims=True)
        X = far[outer] + near[inner] + rng.normal(size=(len(outer), n_columns))
        study = explore(X, effort=options.effort, n_jobs=options.jobs)
        sure = study.significant_views
        levels = [first_view(study)]
        if sure:
            view = sure[0]
            levels += [
                view.at(k) for k in range(view.n_clusters - len(view.merges), view.n_clusters)
            ]
        scores = [
            max(adjusted_mutual_info_score(truth, labels) for labels in levels)
            for truth in (outer, inner)
        ]
        right += min(scores) >= 0.9
        n_found = len(np.unique(levels[0]))
        lines.append(f"| {draw} | {n_outer} | {n_inner} | {n_found} | {listed(scores[:1])} | "
                     f"{listed(scores[1:])} |")  # fmt: skip
        print(lines[-1], flush=True)
    lines.append(f"\nBoth levels with AMI >= .9 in {right} of {n_draws} (goal: 9 of 10).")
    print(lines[-1], flush=True)
    return lines


def battery(options):
    """The tables of the battery beside what people would pick instead, by its own script."""
    folder = os.environ.get("SUBSCAPE_BATTERY")
    if not folder:
        return ["skipped: set SUBSCAPE_BATTERY to the folder of the tables"]
    import json

    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.jsonl"
        script = str(Path(folder) / "run.py")
        names = options.table or (["pottery", "shapes/hepta"] if options.quick else [])
        command = [sys.executable, script, str(out), "--effort", options.effort, *names]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        records = [json.loads(line) for line in out.read_text().splitlines()]
    peers = ("kmeans+silhouette", "mixture+bic", "hdbscan")
    lines = [f"| table | grouping | first | best sure | listed | {' | '.join(peers)} | seconds |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    ours, theirs = [], []
    for record in records:
        for truth, told in record["truths"].items():
            lines.append(
                f"| {record['table']} | {truth} ({told['k']}) | {told['first']:.2f} | "
                f"{told['significant']:.2f} | {told['listed']:.2f} | "
                f"{' | '.join(f'{told[peer]:.2f}' for peer in peers)} | {record['seconds']:.0f} |"
            )
            print(lines[-1], flush=True)
            if not record["table"].startswith("shapes/"):
                ours.append(told["first"])
                theirs.append([told[peer] for peer in peers])
    if ours:
        means = np.mean(theirs, axis=0)
        lines.append(
            f"\nTables, mean AMI: first view {np.mean(ours):.3f}; "
            + ", ".join(f"{peer} {mean:.3f}" for peer, mean in zip(peers, means, strict=True))
        )
        print(lines[-1], flush=True)
    return lines


def wanted(names, options):
    return [name for name in names if not options.table or name in options.table]


def frozen(X):
    X.flags.writeable = False
    return X


def numbers_of(data):
    return data.table


def truths_of(data):
    return list(data.labels.values())


def listed(values):
    return " ".join(f"{value:.2f}" for value in values)


PARTS = {
    "planted": planted,
    "real": real,
    "boxes": boxes,
    "mixed": mixed,
    "missing": missing,
    "structureless": without_groups,
    "kill": kill,
    "big": big,
    "shapes": shapes,
    "classes": classes,
    "hierarchies": hierarchies,
    "battery": battery,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--effort", default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seed",
        type=int,
        help="other draws of shapes, classes and hierarchies; no page is written",
    )
    parser.add_argument("--draws", type=int, default=10, help="of each of these")
    parser.add_argument(
        "--table", action="append", help="of real, boxes, mixed and battery; no page is written"
    )
    parser.add_argument("--one-big", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_big:
        one_big(options.one_big)
        return
    options.seeds = [] if options.seed is None else [options.seed]
    options.effort = options.effort or ("quick" if options.quick else "normal")
    RESULTS.mkdir(exist_ok=True)
    for name in options.part or (["planted", "missing"] if options.quick else PARTS):
        print(f"== {name}", flush=True)
        lines = PARTS[name](options)
        path = RESULTS / ("explore_quick.md" if options.quick else f"explore_{name}.md")
        whole = options.seed is None and options.draws == 10 and not options.table
        if whole and not options.quick:
            path.write_text(
                f"# explore: {name} (effort {options.effort})\n\n" + "\n".join(lines) + "\n"
            )


if __name__ == "__main__":
    main()
