"""Self-expression, mixtures of subspaces, sparse k-means: planted tables, digits, others' code.

    python benchmarks/schools.py           all sizes (some minutes)
    python benchmarks/schools.py --quick   small sizes (a minute)
    python benchmarks/schools.py --part mixtures
    python benchmarks/schools.py --size 30       random subspaces of 30 rows; the others stay

Parts: ``flats`` (5 random subspaces of dimension 6 in 9 and 100 dimensions, 30 to 5,000 rows each,
as in the papers of SSC by matching pursuit and of EnSC), ``images`` (scikit-learn's digits, planted
motions), ``mixtures`` (planted ones, beside scikit-learn's GaussianMixture), ``numbers`` (by BIC),
``shared`` (clusters on one flat), ``crabs``, ``features`` (sparse k-means), ``rows`` (seconds and
memory up to 10^5 rows), ``portfolio`` (what explore would find with these finders in its plan, on
tables of the folder that SUBSCAPE_BATTERY names).
The environment variable SUBSCAPE_SSC names a folder with the code of the authors of SSC and EnSC,
which is run beside ours if it is there; SUBSCAPE_CRABS the table of the R package's paper on HDDC,
with columns sp, sex, FL, RW, CL, CW and BD. Seconds are those of one processor.
Writes benchmarks/results/schools.md, part by part; parts that are not run stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import time
import tracemalloc
import types
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture

from subscape.core.errors import SharedFlatWarning
from subscape.finders import HDDC, LSR, MFA, MPPCA, SSC, TSC, EnSC, SparseKMeans
from subscape.measures import adjusted_rand_score

RESULTS = Path(__file__).parent / "results"

#: Tables of numbers without gaps.
BATTERY = ("pottery", "thyroid", "body", "wisconsin", "vowel", "movement_libras", "penbased")
#: Measures of the crabs.
CRABS = ("FL", "RW", "CL", "CW", "BD")


# -- tables ----------------------------------------------------------------------------------------


def union(p, d, k, size, seed, noise=0.0):
    """Rows of length 1 on k random subspaces of dimension d, and their labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(k):
        basis = np.linalg.qr(rng.normal(size=(p, d)))[0]
        scores = rng.normal(size=(size, d))
        rows.append(scores / np.linalg.norm(scores, axis=1, keepdims=True) @ basis.T)
    X = np.vstack(rows)
    X += noise * rng.normal(size=X.shape) / np.sqrt(p)
    order = rng.permutation(len(X))
    return X[order], np.repeat(np.arange(k), size)[order]


def motions(seed, bodies=3, points=60, frames=25, noise=0.002):
    """Trajectories of points on rigid bodies under an affine camera: flats of dimension 3."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for body in range(bodies):
        shape = rng.normal(size=(points, 3))
        turns = np.cumsum(0.05 * rng.normal(size=(frames, 3)), axis=0)
        path = np.cumsum(0.1 * rng.normal(size=(frames, 2)), axis=0)
        track = np.empty((points, frames, 2))
        for frame, (a, b, c) in enumerate(turns):
            ca, sa, cb, sb, cc, sc = (
                np.cos(a),
                np.sin(a),
                np.cos(b),
                np.sin(b),
                np.cos(c),
                np.sin(c),
            )
            first = [cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc]
            second = [cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc]
            camera = np.array([first, second])
            track[:, frame] = shape @ camera.T + path[frame]
        rows.append(track.reshape(points, -1))
        labels += [body] * points
    X = np.vstack(rows)
    return X + noise * X.std() * rng.normal(size=X.shape), np.array(labels)


def mixture(n, p, seed, k=3, d=3, apart=1.0, noise=1.0):
    """Normal clusters around flats of dimension d, the means ``apart`` standard deviations."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % k)
    means = apart * rng.normal(size=(k, p))
    X = means[labels] + noise * rng.normal(size=(n, p))
    for i in range(k):
        basis = np.linalg.qr(rng.normal(size=(p, d)))[0]
        rows = labels == i
        X[rows] += (rng.normal(size=(rows.sum(), d)) * np.linspace(6, 3, d)) @ basis.T
    return X, labels


def one_flat(seed, even, n=300, p=8):
    """Rows of one flat of dimension 1, 2 or 3."""
    rng = np.random.default_rng(seed)
    d = 1 + seed % 3
    basis = np.linalg.qr(rng.normal(size=(p, d)))[0]
    scores = rng.uniform(-5, 5, (n, d)) if even else 3 * rng.normal(size=(n, d))
    return scores @ basis.T + 0.1 * rng.normal(size=(n, p))


# -- measures --------------------------------------------------------------------------------------


def accuracy(truth, labels):
    size = max(truth.max(), labels.max()) + 1
    shared = np.zeros((size, size))
    np.add.at(shared, (truth, np.maximum(labels, 0)), labels >= 0)
    return float(shared[linear_sum_assignment(-shared)].sum() / len(truth))


def preserving(coefficients, truth):
    """Mean share of a row's coefficients, by magnitude, that are of its own subspace."""
    found = coefficients.tocoo()
    size = np.abs(found.data)
    own = size * (truth[found.row] == truth[found.col])
    total = np.bincount(found.row, size, len(truth))
    return float(np.mean(np.bincount(found.row, own, len(truth))[total > 0] / total[total > 0]))


def timed(finder, X):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder.fit(X)
    return time.process_time() - start


def warned(finder, X):
    """Whether a fit names clusters that lie on one flat."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        finder.fit(X)
    return any(issubclass(each.category, SharedFlatWarning) for each in told)


def authors():
    """Their finders by name; empty if their code is not there."""
    folder = os.environ.get("SUBSCAPE_SSC")
    if not folder or not Path(folder, "cluster", "selfrepresentation.py").exists():
        return {}
    # What they import to show progress, and a solver that is not used here.
    for name, content in (("progressbar", {"progressbar": iter}), ("spams", {})):
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__dict__.update(content)
            sys.modules[name] = module
    sys.path.insert(0, folder)
    from cluster.selfrepresentation import ElasticNetSubspaceClustering, SparseSubspaceClusteringOMP

    return {
        "SSC": lambda k, s: SparseSubspaceClusteringOMP(k, n_nonzero=6, thr=1e-6, random_state=s),
        "EnSC": lambda k, s: ElasticNetSubspaceClustering(k, gamma=50.0, random_state=s),
    }


# -- parts -----------------------------------------------------------------------------------------


def flats(quick, sizes=None):
    lines = [
        "## Random subspaces",
        "",
        "5 subspaces of dimension 6; accuracy, share of coefficients within the own subspace, "
        "seconds; means of 10 tables (30 rows each), 3 or 2 (1,038 and more). *unrefined*: the "
        "spectral step alone, as in the authors' code; *ratio*: their seconds by ours, "
        "with refinement and without. SSC with 6 coefficients and EnSC with `l1_ratio=1` on both "
        "sides; of more than 5,000 rows ours expresses 5,000.",
        "",
        "| dims | rows each | finder | accuracy | unrefined | preserving | seconds | unrefined s "
        "| authors' accuracy | authors' seconds | ratio | unrefined ratio |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    theirs = authors()
    settings = {"SSC": {"n_nonzero": 6, "tol": 1e-6}, "EnSC": {"l1_ratio": 1.0}}
    sizes = sizes or ((30, 100, 400) if quick else (30, 98, 320, 1038, 3373, 5000))
    X, _ = union(9, 6, 5, 30, 100)
    for name in theirs:  # what is imported and compiled once
        timed(theirs[name](5, 0), X.copy())
        timed({"SSC": SSC, "EnSC": EnSC}[name](5), X)
    for p in (9, 100):
        for size in sizes:
            draws = 10 if size == 30 else 2 if quick or size > 1000 else 3
            tables = [union(p, 6, 5, size, seed) for seed in range(draws)]
            for name, make in {"SSC": SSC, "EnSC": EnSC, "LSR": LSR, "TSC": TSC}.items():
                rows, other = [], []
                for X, truth in tables:
                    finder = make(5, random_state=0, **settings.get(name, {}))
                    seconds = timed(finder, X)
                    alone = make(5, random_state=0, refine=False, **settings.get(name, {}))
                    seconds_alone = timed(alone, X)
                    kept = preserving(finder.coefficients_, truth[finder.expressed_rows_])
                    found = [accuracy(truth, each.labels_) for each in (finder, alone)]
                    rows.append((*found, kept, seconds, seconds_alone))
                    # Theirs takes minutes beyond this.
                    if name in theirs and size <= (320 if name == "EnSC" else 2000):
                        peer = theirs[name](5, 0)
                        took = timed(peer, X.copy())
                        other.append((accuracy(truth, np.asarray(peer.labels_)), took))
                a, b, c, t, u = np.mean(rows, axis=0)
                beside = "– | – | – | –"
                if other:
                    theirs_a, theirs_t = np.mean(other, axis=0)
                    beside = (
                        f"{theirs_a:.3f} | {theirs_t:.3f} | {theirs_t / t:.1f} | {theirs_t / u:.1f}"
                    )
                lines.append(
                    f"| {p} | {size} | {name} | {a:.3f} | {b:.3f} | {c:.3f} | {t:.3f} | {u:.3f} | "
                    f"{beside} |"
                )
                print(lines[-1], flush=True)
    return lines


def images(quick):
    X, truth = load_digits(return_X_y=True)
    if quick:
        X, truth = X[:600], truth[:600]
    lines = ["## Images and motions", "", "| table | finder | accuracy | ARI | seconds |",
             "|---|---|---:|---:|---:|"]  # fmt: skip
    tables = [("digits", X, truth, 10, False)]
    for seed in range(3):
        Y, labels = motions(seed)
        tables.append((f"motions {seed}", Y, labels, 3, True))
    for table, Y, labels, k, affine in tables:
        for name, make in {"SSC": SSC, "EnSC": EnSC, "LSR": LSR, "TSC": TSC}.items():
            finder = make(k, affine=affine, random_state=0)
            seconds = timed(finder, Y)
            ari = adjusted_rand_score(labels, finder.labels_)
            lines.append(
                f"| {table} | {name} | {accuracy(labels, finder.labels_):.3f} | {ari:.3f} | "
                f"{seconds:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


def mixtures(quick):
    lines = [
        "## Mixtures",
        "",
        "Three clusters around flats of dimension 3; ARI and seconds, means of the draws. As many "
        "starts (5) and the same tolerance (`tol=1e-3` of the log-likelihood per row) for all; "
        "full covariances for GaussianMixture, and its defaults otherwise. *ratio*: its seconds "
        "by those of HDDC, MPPCA and MFA.",
        "",
        "| columns | rows | HDDC | MPPCA | MFA | GaussianMixture | HDDC s | MPPCA s | MFA s "
        "| GaussianMixture s | ratio |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    draws = 2 if quick else 5
    every, wide = [], []
    X, _ = mixture(60, 10, 100)
    for make in (HDDC, MFA, GaussianMixture):  # what is imported once
        timed(make(3), X)
    for p in (20, 200) if quick else (20, 50, 100, 200):
        for n in (100, 1000) if quick else (100, 300, 1000):
            found = []
            for seed in range(draws):
                X, labels = mixture(n, p, seed)
                settings = {"n_init": 5, "tol": 1e-3, "random_state": 0}
                finders = [make(3, **settings) for make in (HDDC, MPPCA, MFA)]
                peer = GaussianMixture(3, **settings)
                seconds = [timed(each, X) for each in (*finders, peer)]
                scores = [adjusted_rand_score(labels, each.labels_) for each in finders]
                scores.append(adjusted_rand_score(labels, peer.predict(X)))
                found.append((*scores, *seconds))
            every += found
            wide += found if p == 200 else []
            scores, seconds = np.split(np.mean(found, axis=0), 2)
            cells = [f"{each:.3f}" for each in (*scores, *seconds)]
            ratios = ", ".join(f"{each:.1f}" for each in seconds[3] / seconds[:3])
            lines.append(f"| {p} | {n} | {' | '.join(cells)} | {ratios} |")
            print(lines[-1], flush=True)
    means = np.mean(every, axis=0)[:4]
    of_all = np.sum(wide, axis=0)[4:]
    lines += [
        "",
        f"Mean ARI of all: HDDC {means[0]:.3f}, MPPCA {means[1]:.3f}, MFA {means[2]:.3f}, "
        f"GaussianMixture {means[3]:.3f}. All tables of 200 columns together: HDDC is "
        f"{of_all[3] / of_all[0]:.1f} times, MPPCA {of_all[3] / of_all[1]:.1f} times and MFA "
        f"{of_all[3] / of_all[2]:.1f} times as fast as GaussianMixture.",
    ]
    print(lines[-1], flush=True)
    return lines


def numbers(quick):
    lines = ["## Numbers of clusters"]
    draws = 5 if quick else 20
    for name, make in {"HDDC": HDDC, "MPPCA": MPPCA}.items():
        right = falls = 0
        for seed in range(draws):
            X, _ = mixture(400, 20, 100 + seed, k=1 + seed % 4, apart=2.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                finder = make([1, 2, 3, 4, 5], n_init=5, random_state=0).fit(X)
            right += finder.clustering_.n_clusters == 1 + seed % 4
            falls += int((np.diff(finder.history_) < -1e-8 * abs(finder.history_[-1])).any())
        lines.append("")
        lines.append(
            f"{name}: BIC names the number of clusters (1 to 4) right on {right} of {draws} "
            f"planted mixtures; the log-likelihood falls in {falls}."
        )
        print(lines[-1], flush=True)
    return lines


def shared(quick):
    lines = ["## One flat in parts"]
    named, of, alarms, planted = 0, 0, 0, 0
    for seed in range(2 if quick else 6):
        for make in (HDDC, MPPCA, MFA):
            for even in (False, True):
                of += 1
                named += warned(make(3, n_init=3, random_state=0), one_flat(seed, even))
            planted += 1
            alarms += warned(make(3, n_init=3, random_state=0), mixture(300, 20, seed)[0])
    lines.append("")
    lines.append(
        f"Three clusters of one flat (300 rows in 8 columns, normal or even): clusters that lie on "
        f"one flat are named in {named} of {of} fits; of planted mixtures (300 x 20) in {alarms} "
        f"of {planted}."
    )
    print(lines[-1], flush=True)
    return lines


def crabs_table(quick):
    lines = ["## Crabs"]
    crabs = os.environ.get("SUBSCAPE_CRABS")
    if crabs and Path(crabs).exists():
        cells = list(csv.DictReader(Path(crabs).read_text().splitlines()))
        X = np.array([[float(row[name]) for name in CRABS] for row in cells])
        truth = np.unique([row["sp"] + row["sex"] for row in cells], return_inverse=True)[1]
        lines += ["", "Crabs (200 x 5, species and sex make four groups), the worked example of "
                  "the R package's paper: model AkjBkQkDk, 20 starts. Its settings are the scree "
                  "test with threshold 0.2; ours are BIC by default. The package's documentation "
                  "calls four clusters the best; R itself is not run here, so log-likelihoods "
                  "stand without its own.", "",
                  "| dimensions by | accuracy with 4 clusters | dimensions | log-likelihood | BIC "
                  "| clusters of 1 to 8 by BIC |", "|---|---:|---|---:|---:|---:|"]  # fmt: skip
        for how in ("scree", "bic"):
            finder = HDDC(4, flat_dim=how, n_init=20, random_state=0).fit(X)
            several = HDDC(list(range(1, 9)), flat_dim=how, n_init=20, random_state=0).fit(X)
            lines.append(
                f"| {how} | {accuracy(truth, finder.labels_):.3f} | {finder.flat_dims_.tolist()} "
                f"| {finder.log_likelihood_:.1f} | {finder.bic_:.1f} "
                f"| {several.clustering_.n_clusters} |"
            )
            print(lines[-1], flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                accuracy(truth, HDDC(4, random_state=seed).fit(X).labels_) for seed in range(10)
            ]
        lines += [
            "",
            f"By default (10 starts), accuracies of ten seeds: "
            f"{', '.join(f'{each:.3f}' for each in found)}.",
        ]
        print(lines[-1], flush=True)
    return lines


def features(quick):
    lines = ["## Sparse k-means", "", "Three clusters of 120 rows that differ in 6 or 20 of the "
             "features by 2 standard deviations.", "",
             "| features | of them planted | F1 | ARI | seconds | objective falls |",
             "|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for p, planted in ((60, 6), (200, 20)) if quick else ((60, 6), (200, 20), (1000, 20)):
        found = []
        for seed in range(3 if quick else 10):
            rng = np.random.default_rng(seed)
            labels = rng.permutation(np.arange(120) % 3)
            X = rng.normal(size=(120, p))
            levels = rng.permuted(np.tile([-2.0, 0.0, 2.0], (planted, 1)), axis=1)
            X[:, :planted] += levels.T[labels]
            finder = SparseKMeans(3, random_state=0)
            seconds = timed(finder, X)
            right = np.count_nonzero(finder.features_ < planted)
            f1 = 2 * right / (len(finder.features_) + planted)
            falls = (np.diff(finder.history_) < -1e-9 * finder.history_[-1]).any()
            found.append((f1, adjusted_rand_score(labels, finder.labels_), seconds, falls))
        f1, ari, seconds, _ = np.mean(found, axis=0)
        falls = sum(bool(each[3]) for each in found)
        lines.append(f"| {p} | {planted} | {f1:.3f} | {ari:.3f} | {seconds:.2f} | {falls} |")
        print(lines[-1], flush=True)
    return lines


def rows(quick):
    lines = ["## Rows", "", "Five subspaces of dimension 6 in 20 dimensions (SSC, TSC), three "
             "clusters in 20 columns (HDDC, MPPCA, MFA); memory is the peak of what was allocated "
             "during the fit, beside the table itself (16 MB for 100,000 rows). SSC and TSC write "
             "5,000 rows by each other and put the others to the closest flat; the mixtures "
             "compare starts on 5,000 rows, and go on with all of them (`search_rows`); "
             "*batches*: with `batch_rows=5000`.", "",
             "| finder | rows | seconds | MB | accuracy |",
             "|---|---:|---:|---:|---:|"]  # fmt: skip
    makers = {"SSC": SSC, "TSC": TSC, "HDDC": HDDC, "MPPCA": MPPCA, "MFA": MFA,
              "MFA, batches": MFA}  # fmt: skip
    for name, make in makers.items():
        for n in (10_000, 30_000) if quick else (10_000, 30_000, 100_000):
            spaces = name in ("SSC", "TSC")
            X, truth = union(20, 6, 5, n // 5, 0) if spaces else mixture(n, 20, 0)
            settings = {} if spaces else {"n_init": 3}
            if name.endswith("batches"):
                settings["batch_rows"] = 5000
            finder = make(5 if spaces else 3, random_state=0, **settings)
            seconds = timed(finder, X)
            tracemalloc.start()
            timed(finder, X)
            peak = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
            lines.append(
                f"| {name} | {n} | {seconds:.2f} | {peak:.0f} | "
                f"{accuracy(truth, finder.labels_):.3f} |"
            )
            print(lines[-1], flush=True)
    return lines


def portfolio(quick):
    folder = os.environ.get("SUBSCAPE_BATTERY")
    lines = ["## In the plan of explore", ""]
    if not folder:
        return [*lines, "Not run: SUBSCAPE_BATTERY names no folder."]
    import subscape
    from subscape.exploration import plan

    usual = plan._oriented
    ways = {"as it is": (), "HDDC and MFA": ("HDDC", "MFA"), "EnSC and TSC": ("EnSC", "TSC")}

    def added(names):
        def oriented(n_rows, n_numeric, numbers, effort):
            entries = usual(n_rows, n_numeric, numbers, effort)
            if n_numeric < 3:
                return entries
            for name in names:
                own = {"affine": True} if name in ("EnSC", "TSC") else {"n_init": 5}
                entries += [
                    plan.Entry(name, {"n_clusters": k, **own}, columns="numeric") for k in numbers
                ]
            return entries

        return oriented

    lines += [
        "Explore at quick effort on tables of numbers with known classes: adjusted mutual "
        "information of the first sure view, and of the best listed one, with the classes; the "
        "clusters of all views; seconds. As it is, and with two further finders for every number "
        "of clusters of the plan.",
        "",
        f"| table | {' | '.join(ways)} | change |",
        "|---|---|---|---|---|",
    ]
    same = 0
    tables = BATTERY[:2] if quick else BATTERY
    for table in tables:
        with gzip.open(Path(folder, f"{table}.csv.gz"), "rt") as file:
            cells = list(csv.DictReader(file))
        columns = [name for name in cells[0] if not name.startswith("truth_")]
        X = np.array([[float(row[name]) for name in columns] for row in cells])
        known = next(name for name in cells[0] if name.startswith("truth_"))
        truth = np.unique([row[known] for row in cells], return_inverse=True)[1]
        told, found = [], []
        for names in ways.values():
            plan._oriented = added(names)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                study = subscape.explore(X, effort="quick", random_state=0, n_jobs=1)
            seconds = time.process_time() - start
            plan._oriented = usual
            labels = [np.asarray(view.labels) for view in study.views]
            sure = [np.asarray(view.labels) for view in study.significant_views]
            first = adjusted_mutual_info_score(truth, sure[0]) if sure else 0.0
            listed = max((adjusted_mutual_info_score(truth, each) for each in labels), default=0.0)
            sizes = ", ".join(str(len(set(each[each >= 0]))) for each in labels)
            told.append(f"{first:.2f}, {listed:.2f} ({sizes}), {seconds:.0f} s")
            found.append(labels)
        alike = [
            len(each) == len(found[0]) and all(map(np.array_equal, each, found[0]))
            for each in found[1:]
        ]
        same += all(alike)
        lines.append(f"| {table} | {' | '.join(told)} | {'no' if all(alike) else 'yes'} |")
        print(lines[-1], flush=True)
    out = ": they add nothing there, and stay out of the plan" if same == len(tables) else ""
    lines += ["", f"On {same} of {len(tables)} tables every view is the same, row by row{out}."]
    print(lines[-1], flush=True)
    return lines


PARTS = {
    "flats": flats, "images": images, "mixtures": mixtures, "numbers": numbers, "shared": shared,
    "crabs": crabs_table, "features": features, "rows": rows, "portfolio": portfolio,
}  # fmt: skip


def merged(sections, lines):
    """The section as it was, with new lines in place of those of the same sizes and finder."""

    def key(line):
        return tuple(line.split("|")[1:4]) if line.startswith("| ") else line

    new = {key(line): line for line in lines}
    return [new.get(key(line), line) for line in sections[lines[0][3:]].splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--part", action="append", choices=PARTS, help="this part only")
    parser.add_argument(
        "--size", type=int, action="append", help="random subspaces of so many rows only"
    )
    options = parser.parse_args()
    page = RESULTS / "schools.md"
    RESULTS.mkdir(exist_ok=True)
    size = "small sizes" if options.quick else "all sizes"
    title = f"# Self-expression, mixtures, sparse k-means ({size})"
    some = options.part or options.size
    old = page.read_text().split("\n## ")[1:] if some and page.exists() else []
    sections = {text.partition("\n")[0]: f"## {text.strip()}" for text in old}
    for part in ["flats"] if options.size else options.part or PARTS:
        if options.size:
            lines = merged(sections, flats(options.quick, options.size))
        else:
            lines = PARTS[part](options.quick)
        sections[lines[0].removeprefix("## ")] = "\n".join(lines)
        page.write_text("\n\n".join([title, *sections.values()]) + "\n")


if __name__ == "__main__":
    main()
