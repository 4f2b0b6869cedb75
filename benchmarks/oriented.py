"""Finders of lines, planes and flats beside ELKI, and the time that SRE takes.

    python benchmarks/oriented.py             five draws, ELKI's slow runs end after 60 s
    python benchmarks/oriented.py --patient   … after 120 s
    python benchmarks/oriented.py --quick     one draw, small tables, no ELKI

Quality: planted lines and planes in 3-D and flats in 10-D, 10 % noise; ARI with noise as a class of
its own, and oriented CE. By default ORCLUS knows the number of clusters and a dimension, KFlats
those of all flats and the share of noise, the others nothing, one setting each; as published and
in ELKI every algorithm has the same grid, of which the best by ARI is shown for both. ELKI writes
hardly a flat; they are fitted to its clusters, with the dimension that it was told (ORCLUS), that
it names (COPAC, ERiC, CASH, LMCLUS), or of the planted flat that most rows come from (4C). ELKI's
COPAC writes its noise like a cluster.
Speed: 10,000 x 10 and 10,000 x 50; a ratio stands only where both sides had the same settings and
searched the same rows. SRE beside plain matrix products. Seconds are the processor's, one thread;
ours of a second fit, after one of a few hundred rows; ELKI's without start and parsing, or its own
by the clock where those are fewer.
Writes benchmarks/results/oriented.md, part by part; parts that are not run stay as they were.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import elki
import numpy as np
from pages import Page, Sections
from ratios import Ratio, Side, finder_work, peer_work, said_when
from sklearn.base import clone

from subscape import OrientedSubspaces, SubspaceClustering
from subscape.datasets import planted_oriented
from subscape.finders import CASH, COPAC, LMCLUS, ORCLUS, ERiC, FourC, KFlats
from subscape.measures import adjusted_rand_score, clustering_error, sre

RESULTS = Path(__file__).parent / "results"

TABLES = {
    "3-D: 2 lines, 1 plane": (3, ((1, 300), (1, 300), (2, 400))),
    "10-D: 2 lines, 2 planes, 1 of 3 dims": (
        10, ((1, 200), (1, 200), (2, 200), (2, 200), (3, 200)),
    ),
}  # fmt: skip
#: Five flats, 9,000 rows and a tenth of noise.
LARGE = (10, ((1, 1800), (1, 1800), (2, 1800), (2, 1800), (3, 1800)))
WIDE = (50, ((5, 900),) * 10)
#: Where ELKI does not end on the large table: fewer rows, fewer features.
FEW = (10, ((1, 180), (1, 180), (2, 180), (2, 180), (3, 180)))
LOW = (3, ((1, 2700), (1, 2700), (2, 3600)))


def ours(p, flats):
    """Our finders as they come; where something must be known, it is."""
    k, dim = len(flats), round(np.median([d for d, _ in flats]))
    return {
        "ORCLUS": ORCLUS(k, subspace_dim=p - dim, random_state=0),
        "KFlats": KFlats(k, flat_dim=[d for d, _ in flats], noise=0.1, random_state=0),
        "FourC": FourC(),
        "COPAC": COPAC(),
        "ERiC": ERiC(),
        "CASH": CASH(),
        "LMCLUS": LMCLUS(random_state=0),
    }


def elki_flags(p, flats):
    """Grids for ELKI's versions."""
    k, dim = len(flats), round(np.median([d for d, _ in flats]))
    return {
        "ORCLUS": [
            {"projectedclustering.k": k, "projectedclustering.l": p - dim, "orclus.seed": s}
            for s in range(3)
        ],
        "FourC": [
            {"dbscan.epsilon": e, "dbscan.minpts": m, "pca.filter.delta": 0.1,
             "predecon.kappa": 50, "predecon.lambda": max(d for d, _ in flats)}
            for e in (0.05, 0.1, 0.2) for m in (5, 10)
        ],
        "COPAC": [
            {"copac.knn": n, "dbscan.epsilon": e, "dbscan.minpts": 10}
            for n in (20, 40) for e in (0.02, 0.05)
        ],
        "ERiC": [
            {"eric.k": n, "dbscan.minpts": 10, "ericdf.delta": d, "ericdf.tau": t}
            for n in (20, 40) for d, t in ((0.1, 0.02), (0.3, 0.05))
        ],
        "CASH": [{"cash.minpts": 80, "cash.maxlevel": 6, "cash.jitter": j} for j in (0.05, 0.1)],
        "LMCLUS": [
            {"lmclus.minsize": 50, "lmclus.threshold": t, "lmclus.maxdim": min(3, p - 1),
             "lmclus.sampling-level": 30, "lmclus.seed": 0} for t in (1.0, 5.0)
        ],
    }  # fmt: skip


def with_flats(X, labels, truth, dims):
    """ELKI's clusters with flats fitted to them, of the dimensions given or else as planted."""
    planted, planted_dims = truth.labels(), X.shape[1] - truth.subspaces.dims.astype(int)
    bases = []
    for k, dim in enumerate(dims):
        if dim is None:
            origin = planted[labels == k]
            origin = origin[origin >= 0]
            dim = planted_dims[np.bincount(origin).argmax()] if len(origin) else 1
        away = X[labels == k] - X[labels == k].mean(axis=0)
        bases.append(np.linalg.svd(away, full_matrices=False)[2][:dim].T)
    return SubspaceClustering.from_labels(labels, bases=OrientedSubspaces(bases, complement=True))


def labels_of(run, n_rows):
    """Labels, and the dimension of each flat where ELKI names it."""
    labels, dims = np.full(n_rows, -1), []
    named = run.flat_dims or [None] * len(run.clusters)
    for (rows, _), dim in zip(run.clusters, named, strict=True):
        # Rows can be in two clusters; the later one has them.
        if len(rows):
            labels[rows] = len(dims)
            dims.append(dim)
    kept = np.unique(labels[labels >= 0])
    places = np.full(len(dims) + 1, -1)
    places[kept] = np.arange(len(kept))
    return places[labels], [dims[k] for k in kept]


def judged(labels, clustering, truth):
    """ARI and oriented CE."""
    error = clustering_error(clustering, truth) if clustering.n_clusters else 1.0
    return adjusted_rand_score(labels, truth.labels()), error


def best_of_elki(name, flags, X, truth, timeout):
    """ARI, CE and seconds of ELKI's best run; a remark if it has none."""
    best, note = None, ""
    for some in flags:
        run = elki.run(name, some, X, timeout=timeout)
        if run.seconds is None:
            note = run.note
            break
        labels, dims = labels_of(run, len(X))
        if labels.max() < 0:
            continue
        subspace = some.get("projectedclustering.l")
        if subspace:
            dims = [X.shape[1] - subspace] * len(dims)
        flats = with_flats(X, labels, truth, dims)
        score = (*judged(labels, flats, truth), run.seconds, some)
        if best is None or score[0] > best[0]:
            best = score
    return best, note or "no clusters"


SAME = "as published, same settings"


def told(name, flags, n_rows):
    """ELKI's flags by our names, and what stands fixed in ELKI's code."""
    named = elki.settings(name, flags)
    if name == "LMCLUS":
        named |= {"sampling_error": 0.2, "n_bins": 50, "max_samples": n_rows}
    return named


def published(name, flags, n_rows):
    """Ours as published, told what ELKI is told."""
    named = told(name, flags, n_rows)
    if name == "FourC":
        named["max_dim"] = int(named["max_dim"])
    finder = FINDERS[name].as_published(**named)
    seeded = "random_state" in finder.get_params()
    return finder.set_params(random_state=0) if seeded else finder


FINDERS = {"ORCLUS": ORCLUS, "FourC": FourC, "COPAC": COPAC, "ERiC": ERiC, "CASH": CASH,
           "LMCLUS": LMCLUS}  # fmt: skip


def measured(finder, X, truth, max_time=0):
    """ARI, CE and seconds of a fit; None for the seconds if its time was over."""
    if max_time and "max_time" in finder.get_params():
        finder.set_params(max_time=max_time)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        finder.fit(X)
        seconds = time.process_time() - start
    cut = any("best result so far" in str(w.message) for w in caught)
    return (*judged(finder.labels_, finder.clustering_, truth), None if cut else seconds)


def quality(draws, timeout):
    """Median ARI, CE and seconds over the draws, table by table."""
    yield "| table | finder | variant | ARI | CE | seconds | ELKI ARI | ELKI CE | ELKI seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for title, (p, flats) in TABLES.items():
        flags, found, theirs, notes = elki_flags(p, flats), {}, {}, {}
        for draw in range(draws):
            X, truth = planted_oriented(p, flats, noise=0.1, random_state=draw)
            for name, finder in ours(p, flats).items():
                found.setdefault((name, "default"), []).append(measured(finder, X, truth))
                if name not in flags:
                    continue
                grid = [
                    measured(published(name, some, len(X)), X, truth, 20) for some in flags[name]
                ]
                best = max(grid, key=lambda each: each[0])
                found.setdefault((name, "as published, best of the grid"), []).append(best)
                if timeout and name not in notes:
                    best, note = best_of_elki(name, flags[name], X, truth, timeout)
                    if best is None:
                        notes[name] = note
                    else:
                        theirs.setdefault(name, []).append(best[:3])
        for (name, variant), scores in found.items():
            cut = any(each[2] is None for each in scores)
            values = np.median([[np.nan if v is None else v for v in each] for each in scores], 0)
            cells = [f"{value:.3f}" for value in values[:2]]
            cells.append("cut at 20 s" if cut else f"{values[2]:.3f}")
            beside = ["", "", notes.get(name, "")]
            if theirs.get(name):
                beside = [f"{value:.3f}" for value in np.median(theirs[name], axis=0)]
            yield f"| {title} | {name} | {variant} | " + " | ".join(cells + beside) + " |"


HEADER = (
    "| finder | variant | table | ARI | CE | seconds | ELKI ARI | ELKI CE | ELKI seconds | ratio |"
)


def speed(scale, timeout, finders, old):
    """Seconds on 10,000 rows, as published and by default; a ratio where the work is the same.

    Finders that are not among the given ones keep their lines of the old page.
    """
    yield HEADER
    yield "|---|---|---|---|---|---|---|---|---|---|"
    jobs = [(name, LARGE) for name in ours(*LARGE)]
    jobs += [("ORCLUS", WIDE), ("KFlats", WIDE), ("LMCLUS", FEW), ("CASH", LOW)]
    columns = [name.strip() for name in HEADER.strip("|").split("|")]
    when, whens = said_when(), {}
    for name, (p, given) in jobs:
        if name not in finders:
            n_rows = round(sum(size for _, size in given) / 0.9)  # a tenth is noise
            for row in old.find(finder=name, table=f"{n_rows} x {p}"):
                if "ratio" in row:
                    yield "| " + " | ".join(row[column] for column in columns) + " |"
            whens[name] = old.line(f"- {name}, measured: ")
            continue
        whens[name] = f"- {name}, measured: ELKI at most {timeout} s. {when}"
        flats = tuple((dim, size // scale) for dim, size in given)
        X, truth = planted_oriented(p, flats, noise=0.1, random_state=0)
        some = elki_flags(p, flats).get(name, [{}])[-1]
        best, note = None, ""
        if timeout and name in FINDERS:
            best, note = best_of_elki(name, [some], X, truth, timeout)
        variants = {"default": ours(p, flats)[name]}
        if name in FINDERS:
            variants = {SAME: published(name, some, len(X)), **variants}
        named = told(name, some, len(X))
        for variant, finder in variants.items():
            # What is imported and compiled at first use is start, which ELKI's seconds lack, too.
            measured(clone(finder), *small_table(p, flats), timeout or 60)
            ari, error, seconds = measured(finder, X, truth, timeout or 60)
            beside, ratio = ["", "", note if name in FINDERS else ""], ""
            if best is not None:
                beside = [f"{value:.3f}" for value in best[:3]]
                if seconds is not None:
                    both = Ratio(
                        Side("ours", seconds, finder_work(finder, X.shape, named), 1 - ari),
                        Side("ELKI", best[2], peer_work(X.shape, named), 1 - best[0]),
                    )
                    ratio = f"{both.value:.1f}x" if both.is_comparable else str(both)
            took = "cut short" if seconds is None else f"{seconds:.2f}"
            cells = [f"{ari:.3f}", f"{error:.3f}", took, *beside, ratio]
            yield f"| {name} | {variant} | {len(X)} x {p} | " + " | ".join(cells) + " |"
    yield ""
    yield from (told for told in whens.values() if told)
    yield ""
    yield "Settings, by our names:"
    yield ""
    for name, (p, flats) in jobs:
        if name in FINDERS:
            n_rows = round(sum(size for _, size in flats) / 0.9)
            named = told(name, elki_flags(p, flats)[name][-1], n_rows)
            words = ", ".join(f"{key}={value}" for key, value in named.items())
            yield f"- {name}, {n_rows} x {p}: {words}"


def small_table(p, flats):
    """A table of the same kind, of a few hundred rows."""
    few = tuple((dim, 60) for dim, _ in flats)
    return planted_oriented(p, few, noise=0.1, random_state=1)


def sre_speed(scale):
    """SRE of a million rows in 50 features, 20 clusters, beside one product per cluster."""
    n, p, k = 1_000_000 // scale, 50, 20
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    labels = rng.integers(0, k, n)

    def products():
        return [(rows := X[labels == i]).T @ rows for i in range(k)]

    def scored():
        return sre(X, labels, flat_dims=10)

    def once(function):
        start = time.process_time()
        function()
        return time.process_time() - start

    # In turn, so that both meet the machine in the same mood.
    times = np.array([[once(products), once(scored)] for _ in range(3)]).min(axis=0)
    tracemalloc.start()
    scored()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield "| rows | features | clusters | X.T @ X per cluster | sre | ratio | memory, MB |"
    yield "|---|---|---|---|---|---|---|"
    yield (
        f"| {n} | {p} | {k} | {times[0]:.2f} s | {times[1]:.2f} s | {times[1] / times[0]:.2f} | "
        f"{peak / 2**20:.0f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one draw, small tables, no ELKI")
    parser.add_argument("--patient", action="store_true", help="give ELKI 120 s")
    parser.add_argument("--limit", type=int, help="give ELKI so many seconds")
    parser.add_argument("--parts", default="quality,speed,sre", help="comma-separated")
    parser.add_argument("--finders", help="these only in the part on speed, comma-separated")
    parser.add_argument("--draws", type=int, help="draws of each table")
    options = parser.parse_args()
    limit = options.limit or (120 if options.patient else 60)
    timeout = 0 if options.quick or not elki.available() else limit
    draws, scale = (1, 10) if options.quick else (5, 1)
    draws = options.draws or draws
    RESULTS.mkdir(exist_ok=True)
    old = Page.read(RESULTS / "oriented.md") or Page("")
    finders = options.finders.split(",") if options.finders else [*ours(*LARGE)]
    about = __doc__.partition("Quality: ")
    about = (about[1] + about[2]).partition("Writes")[0].strip().splitlines()
    head = ["# Finders of lines, planes and flats", "", *about]

    def all_quality():
        yield from (f"Medians over {draws} draw{'s' if draws > 1 else ''}.", "")
        yield from quality(draws, timeout)

    parts = {
        "quality": ("Quality", all_quality),
        "speed": ("Speed, one thread", lambda: speed(scale, timeout, finders, old)),
        "sre": ("SRE", lambda: sre_speed(scale)),
    }
    page = Sections(
        None if options.quick else RESULTS / "oriented.md", head, [t for t, _ in parts.values()]
    )
    for part in options.parts.split(","):
        title, measure = parts[part]
        page.measure(title, measure(), "" if part == "speed" else said_when())


if __name__ == "__main__":
    main()
