"""Several clusterings at once: NrKMeans and AutoNR beside ClustPy's, in one run and one thread.

    python benchmarks/nrkmeans.py                    everything; ClustPy's AutoNR takes minutes
    python benchmarks/nrkmeans.py --quick            a few sets of each, for CI; only printed
    python benchmarks/nrkmeans.py --only planted     one part; the others keep their last results

Writes benchmarks/results/nrkmeans.md. ClustPy 0.0.3 is needed for its side (``pip install --no-deps
clustpy``); without it only ours is run. Real tables come from the folder that SUBSCAPE_DATA names.
Seconds are those of the processor, so other jobs on the machine don't count. PEER_SETS=3 in the
environment runs ClustPy's AutoNR on 3 of the 10 sets only.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from subscape.datasets import load_real, planted_views
from subscape.finders import AutoNR, NrKMeans
from subscape.finders.views.nrkmeans.search import ViewSearch, random_start, seeded
from subscape.measures import adjusted_rand_score, normalized_mutual_info_score

try:
    import clustpy.alternative as peer
except ImportError:
    peer = None

RESULTS = Path(__file__).parent / "results" / "nrkmeans.md"
PLANTED = [(d, k) for d in (10, 30) for k in ((3, 3), (4, 3), (5, 4, 3))]
NUMBERS = [(4, 3), (3, 3), (5, 3), (3, 2), (4, 4)]
REAL = {
    "nrletters": (6, 4, 3, 1),
    "stickfigures": (3, 3, 1),
    "aloi_small": (2, 2, 1),
    "webkb": (4, 4, 1),
}
#: Of larger tables ClustPy is given 3 starts instead of 10.
MOST_PEER_ROWS = 5000
#: Wider tables are given to both sides as so many principal components.
MOST_FEATURES = 100


def timed(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def worst_view(truths, labels):
    """Adjusted Rand index of the worst view, views matched in the best way."""
    if labels.shape[1] < len(truths):
        return 0.0
    table = np.array([[adjusted_rand_score(t, column) for column in labels.T] for t in truths])
    rows, columns = linear_sum_assignment(-table)
    return table[rows, columns].min()


def missing():
    return ["ClustPy is not installed: its side was left out.", ""]


# -- the same start --------------------------------------------------------------------------------


def same_start(quick):
    """Both sides from the same rotation, dimensions and centres."""
    lines = ["## The same start", ""]
    if peer is None:
        return lines + missing()
    same = total = 0
    for seed in range(3 if quick else 20):
        d, sizes = PLANTED[seed % len(PLANTED)]
        X, _ = planted_views(1000, d, n_clusters=sizes, random_state=900 + seed)
        middle = X.mean(axis=0)
        task = ViewSearch.of(X - middle, sizes, True)
        rng = np.random.default_rng(seed)
        used = np.linalg.qr(rng.normal(size=(d, sum(sizes) - len(sizes))))[0]
        start = seeded(
            task, np.split(used, np.cumsum(sizes)[:-1] - np.arange(1, len(sizes)), 1), rng
        )
        rest = np.linalg.qr(used, mode="complete")[0][:, used.shape[1] :]
        dims = [*(b.shape[1] for b in start.bases), rest.shape[1]]
        centres = [c + middle for c in start.centres]
        ours = NrKMeans((*sizes, 1), init=(start.bases, centres), noise_space="rank").fit(X)
        theirs = peer.NrKmeans(
            [*sizes, 1],
            V_init=np.concatenate([used, rest], axis=1),
            m_init=dims,
            P_init=[np.array(each) for each in np.split(np.arange(d), np.cumsum(dims)[:-1])],
            cluster_centers_init=[*centres, middle[None]],
        ).fit(X)
        total += 1
        same += (
            worst_view(list(np.asarray(theirs.labels_).T[: len(sizes)]), ours.label_matrix_) == 1
        )
    text = (
        f"Same labels in all views: {same} of {total} starts (float64). Views begin with k − 1 "
        "dimensions: with more, ClustPy shares out directions that separate nothing by the sign of "
        "a rounding error."
    )
    return [*lines, text, ""]


# -- seconds per step ------------------------------------------------------------------------------


def per_step(quick):
    """One step of all views beside one step of k-means for each view."""
    n, d, sizes, steps = (10_000 if quick else 50_000), 30, (5, 4, 3), 10
    X, _ = planted_views(n, d, n_clusters=sizes, random_state=1)
    X = X - X.mean(axis=0)
    single = X.astype(np.float32)
    start = random_start(ViewSearch.of(X, sizes, True), np.random.default_rng(0))

    def each_step(run):
        """Seconds of a step; what does not depend on the number of steps cancels."""
        (first, done), (second, more) = (run(limit) for limit in (1, steps + 1))
        return (second - first) / max(more - done, 1)

    def ours(table):
        task = ViewSearch.of(table, sizes, True)

        def run(limit):
            spent, found = timed(lambda: task.run(start, limit))
            return spent, found.n_iter

        return each_step(run)

    def scikit(table):
        def run(limit, centres):
            model = KMeans(len(centres), init=centres.astype(table.dtype), n_init=1, tol=0.0)
            spent, found = timed(lambda: model.set_params(max_iter=limit).fit(table))
            return spent, found.n_iter_

        return sum(each_step(lambda limit, c=c: run(limit, c)) for c in start.centres)

    def theirs():
        used = np.concatenate(start.bases, axis=1)
        rest = np.linalg.qr(used, mode="complete")[0][:, used.shape[1] :]
        dims = [*(b.shape[1] for b in start.bases), rest.shape[1]]

        def run(limit):
            model = peer.NrKmeans(
                [*sizes, 1],
                V_init=np.concatenate([used, rest], axis=1),
                m_init=dims,
                P_init=[np.array(each) for each in np.split(np.arange(d), np.cumsum(dims)[:-1])],
                cluster_centers_init=[*start.centres, np.zeros((1, d))],
                max_iter=limit,
            )
            spent, found = timed(lambda: model.fit(X))
            return spent, found.n_iter_

        return each_step(run)

    rounds = 2 if quick else 5
    times = {"ours, float64": [], "ours, float32": [], "k-means, float64": [], "ClustPy": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(rounds):
            times["ours, float64"].append(ours(X))
            times["k-means, float64"].append(scikit(X))
            times["ours, float32"].append(ours(single))
            if peer is not None and turn < 2:
                times["ClustPy"].append(theirs())
    best = {name: 1000 * min(each) for name, each in times.items() if each}
    lines = [f"## Seconds per step, {n} x {d}, clusters {sizes}", "",
             "| side | ms per step | times ours (float64) |", "|---|---|---|"]  # fmt: skip
    lines += [
        f"| {name} | {ms:.2f} | {ms / best['ours, float64']:.2f} |" for name, ms in best.items()
    ]
    goal = "Goals: ClustPy at least 8, k-means (sum over the views, scikit-learn) at least 1."
    return [*lines, "", goal, ""]


# -- planted sets ----------------------------------------------------------------------------------


def planted(quick):
    """From defaults on planted sets: how often every view is found, and how long it takes."""
    number = 6 if quick else 40
    sides = {"ours": [], "ClustPy, n_init=10": []}
    for seed in range(number):
        d, sizes = PLANTED[seed % len(PLANTED)]
        X, truths = planted_views(1000, d, n_clusters=sizes, random_state=seed)
        spent, found = timed(
            lambda X=X, sizes=sizes: NrKMeans((*sizes, 1), random_state=0).fit(X).label_matrix_
        )
        sides["ours"].append((d, sizes, worst_view(truths, found), spent))
        if peer is not None:
            model = peer.NrKmeans([*sizes, 1], n_init=10, random_state=seed)
            spent, found = timed(lambda X=X, model=model: np.asarray(model.fit(X).labels_))
            found = found[:, : len(sizes)]
            sides["ClustPy, n_init=10"].append((d, sizes, worst_view(truths, found), spent))
    lines = [f"## {number} planted sets, 1000 rows, separation 6", "",
             "| side | features | clusters | every view's ARI > 0.9 | seconds per set |",
             "|---|---|---|---|---|"]  # fmt: skip
    for side, runs in sides.items():
        for d, sizes in PLANTED if runs else ():
            own = [(score, spent) for rd, rs, score, spent in runs if (rd, rs) == (d, sizes)]
            good = sum(score > 0.9 for score, _ in own)
            mean = np.mean([spent for _, spent in own])
            lines.append(f"| {side} | {d} | {sizes} | {good} of {len(own)} | {mean:.3f} |")
        if runs:
            good = sum(score > 0.9 for *_, score, _ in runs)
            mean = np.mean([spent for *_, spent in runs])
            lines.append(f"| **{side}** | all | | **{good} of {number}** | {mean:.3f} |")
    return [*lines, "", "Goals: at least 38 of 40, in less time than ClustPy.", ""]


# -- numbers of views and clusters -----------------------------------------------------------------


def numbers(quick):
    """AutoNR on 500 rows of 8 features: are the numbers right, and how long does it take."""
    total, of_peer = (3, 1) if quick else (10, int(os.environ.get("PEER_SETS", "10")))
    lines = ["## AutoNR, 500 x 8", "",
             "| set | clusters | ours | seconds | ClustPy | seconds | times ours |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    right = {"ours": 0, "ClustPy": 0}
    ratios = []
    for seed in range(total):
        sizes = NUMBERS[seed % len(NUMBERS)]
        X, truths = planted_views(500, 8, n_clusters=sizes, random_state=500 + seed)
        ours, model = timed(lambda X=X: AutoNR(random_state=0).fit(X))
        found = model.n_clusters_
        right["ours"] += sorted(found) == sorted((*sizes, 1)) and (
            worst_view(truths, model.label_matrix_) > 0.9
        )
        cells = f"| {seed} | {sizes} | {found} | {ours:.2f} "
        if peer is None or seed >= of_peer:
            lines.append(cells + "| | | |")
            continue
        theirs, model = timed(lambda X=X, seed=seed: peer.AutoNR(random_state=seed).fit(X))
        labels = np.asarray(model.labels_)
        counts = tuple(len(set(column[column >= 0].tolist())) for column in labels.T)
        right["ClustPy"] += sorted(counts) == sorted((*sizes, 1))
        ratios.append(theirs / ours)
        lines.append(f"{cells}| {counts} | {theirs:.1f} | {theirs / ours:.0f} |")
        print(lines[-1], flush=True)
    lines += ["", f"Right (numbers, and every view's ARI > 0.9): ours {right['ours']} of {total}."]
    if ratios:
        lines.append(
            f"ClustPy's numbers are right in {right['ClustPy']} of {len(ratios)}; it takes "
            f"{np.median(ratios):.0f} times as long (median, least {min(ratios):.0f})."
        )
    return [*lines, "", "Goals: 9 of 10, at least 20 times faster.", ""]


# -- real tables -----------------------------------------------------------------------------------


def real(quick):
    """Tables with several known groupings, both sides given the numbers of clusters."""
    lines = ["## Real tables with several truths", "",
             "NMI of each known grouping with the view that matches it best. Tables with more than "
             f"{2 * MOST_FEATURES} features are given to both sides as {MOST_FEATURES} principal "
             "components; features are not scaled. ClustPy has 10 starts, 3 on tables of more than "
             f"{MOST_PEER_ROWS} rows. AutoNR is told nothing.", "",
             "| table | truth | NrKMeans | ClustPy's NrKmeans | AutoNR | k-means on all features |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    times = []
    for name, sizes in REAL.items():
        try:
            table, truths, _ = load_real(name)
        except ValueError as error:
            lines.append(f"| {name} | {str(error)[:60]} | | | | |")
            continue
        X = table.to_numpy()
        if X.shape[1] > 2 * MOST_FEATURES:
            X = PCA(MOST_FEATURES, random_state=0).fit_transform(X)
        ours, model = timed(lambda X=X, sizes=sizes: NrKMeans(sizes, random_state=0).fit(X))
        auto_time, auto = timed(lambda X=X: AutoNR(random_state=0).fit(X))
        theirs, labels = np.nan, None
        if peer is not None and not (quick and len(X) > 2000):
            starts = 1 if quick else 10 if len(X) <= MOST_PEER_ROWS else 3
            other = peer.NrKmeans(list(sizes), n_init=starts, random_state=0)
            theirs, labels = timed(lambda X=X, other=other: np.asarray(other.fit(X).labels_))
        times.append(f"| {name} | {X.shape[0]} x {X.shape[1]} | {ours:.1f} | {theirs:.1f} | "
                     f"{auto_time:.1f} | {auto.n_clusters_} |")  # fmt: skip
        for truth_name, truth in truths.items():
            _, truth = np.unique(truth, return_inverse=True)
            k = int(truth.max()) + 1
            plain = KMeans(k, n_init=10, random_state=0).fit(X).labels_

            def best(columns, truth=truth):
                if columns is None:
                    return "–"
                scores = [normalized_mutual_info_score(truth, c) for c in columns.T]
                return f"{max(scores):.2f}"

            sides = (model.label_matrix_, labels, auto.label_matrix_, plain[:, None])
            cells = " | ".join(best(columns) for columns in sides)
            lines.append(f"| {name} | {truth_name} ({k}) | {cells} |")
    lines += ["", "| table | size | seconds NrKMeans | ClustPy | AutoNR | numbers by AutoNR |",
              "|---|---|---|---|---|---|", *times, ""]  # fmt: skip
    return lines


PARTS = {part.__name__: part for part in (same_start, per_step, planted, numbers, real)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few sets of each")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    for name, part in PARTS.items():
        if arguments.only and name not in arguments.only:
            continue
        start = time.perf_counter()
        text = "\n".join(part(arguments.quick))
        print(text)
        print(f"({name}: {time.perf_counter() - start:.0f} s)", flush=True)
        if arguments.quick:
            continue
        old = RESULTS.read_text() if RESULTS.exists() else ""
        kept = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n(?=<!-- |\Z)", old, flags=re.DOTALL))
        kept[name] = text
        sections = [f"<!-- {each} -->\n{kept[each]}\n" for each in PARTS if each in kept]
        RESULTS.write_text("# NrKMeans and AutoNR beside ClustPy\n\n" + "".join(sections))


if __name__ == "__main__":
    main()
