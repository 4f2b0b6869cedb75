"""Ensembles as in Gullo, Domeniconi, Tagarelli (SIGMOD 2011), and what every method makes of them.

Members are LAC as published (objective="lac"), a single start from random rows, as many clusters as
there are classes, h drawn evenly on a logarithmic scale, a quarter of each representation.
The feature weights of the classes are LAC's with h = 0.2.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from subscape import SubspaceClustering, WeightedSubspaces
from subscape.datasets import load_real
from subscape.ensemble import (
    CSPA,
    EMPCE,
    HBGF,
    HGPA,
    MCLA,
    MOEAPCE,
    WBPA,
    WSPA,
    ClusterBasedPCE,
    EvidenceAccumulation,
    generate,
)
from subscape.ensemble.em import deviations, meeting_alpha, row_statistics
from subscape.ensemble.voting import ballot, shared_mass
from subscape.ensemble.weighted_graphs import nearness
from subscape.finders import LAC
from subscape.measures import lac_weights, psi_projective
from subscape.measures.projective import nmi_table
from subscape.measures.stacked_clusters import similarities, stack

SIDES = {"of": "both", "o": "objects", "f": "features"}
TABLES = {
    "Iris": "iris", "Wine": "wine", "Glass": "glass", "Ecoli": "ecoli_pce", "Yeast": "yeast",
    "Segmentation": "segmentation", "Abalone": "abalone_pce", "Letter": "letter_pce",
    "Trace": "trace", "ControlChart": "controlchart",
}  # fmt: skip
PCE = ("MOEA", "EM", "CB", "FCB")
#: The check of the feature weights.
ONE = "one member's weights"
#: Other h for the weights of the classes: the smaller, the sharper.
SHARPER = (0.02, 0.002)
#: How many weight vectors of single members stand in for the mean of a group.
PICKS = 10


class Setting(NamedTuple):
    """What the paper leaves open about its ensembles."""

    scale: str = "std"
    """Columns as they are, scaled to [0, 1] ("minmax") or to a standard deviation of 1 ("std")."""
    low: float = 1 / 11
    high: float = 1.0
    """The range of LAC's h; its authors try 1/h from 1 to 11."""
    soft: str = "distance"
    """Soft members: by "distance" as LAC(assignment="soft"), or by the "posterior" of Domeniconi
    and Al-Razgan (2009)."""


class Effort(NamedTuple):
    """How much is run for one ensemble."""

    size: int = 200
    runs: int = 5
    generations: int = 200
    checks: bool = True
    classic: bool = True


# -- ensembles ------------------------------------------------------------------------------------


def classes(name: str, scale: str = "std") -> tuple[np.ndarray, SubspaceClustering]:
    """Table, reference classification with LAC's weights."""
    table, labels, _ = load_real(TABLES[name])
    X = np.asarray(table.to_numpy(), np.float64)
    width = {"minmax": np.ptp(X, axis=0), "std": X.std(axis=0), "none": np.ones(X.shape[1])}[scale]
    X = (X - X.min(axis=0)) / np.where(width > 0, width, 1.0)
    y = np.unique(next(iter(labels.values())), return_inverse=True)[1]
    return X, SubspaceClustering.from_labels(y, weights=lac_weights(X, y, h=0.2, scale=None))


def member(k: int) -> LAC:
    """LAC as published, a single start."""
    return LAC(k, n_init=1, init="random", objective="lac", scale=None)


def drawn(X: np.ndarray, k: int, size: int, seed: int, setting: Setting) -> list[Any]:
    """The members of one ensemble."""
    vary = {"h": (setting.low, setting.high)}
    found = list(generate(X, member(k), size, vary=vary, random_state=seed))
    return by_posterior(X, found) if setting.soft == "posterior" else found


def by_posterior(X: np.ndarray, members: list[Any]) -> list[Any]:
    """The soft members with the shares of Domeniconi and Al-Razgan, much softer ones."""
    return [
        m if m.is_hard else SubspaceClustering(nearness(X, stack([m])).T, m.subspaces)
        for m in members
    ]


# -- methods --------------------------------------------------------------------------------------


def projective(k: int, seed: int, generations: int) -> dict[str, Any]:
    """The paper's four, with our defaults."""
    return {
        "MOEA": MOEAPCE(k, random_state=seed, max_iter=generations),
        "EM": EMPCE(k, random_state=seed),
        "CB": ClusterBasedPCE(k, random_state=seed),
        "FCB": ClusterBasedPCE(k, distance="fast", random_state=seed),
    }


def methods(k: int, seed: int, generations: int, rows: int) -> dict[str, Any]:
    """Name -> consensus method; "printed" ones share rows (eq. 12) and use eq. 22.

    Those of "one vote" group once, as published, and don't go on to come nearer to the ensemble.
    """
    once: dict[str, Any] = {"metaclustering": "kmedoids", "refine": False, "random_state": seed}
    printed: dict[str, Any] = {"assignment": "auto", "feature_rule": "paper"} | once
    found = projective(k, seed, generations) | {
        "EM alpha 2": EMPCE(k, alpha=2.0, random_state=seed),
        "EM printed": EMPCE(k, alpha=2.0, assignment="soft", random_state=seed),
        "CB one vote": ClusterBasedPCE(k, **once),
        "FCB one vote": ClusterBasedPCE(k, distance="fast", **once),
        "CB printed": ClusterBasedPCE(k, **printed),
        "FCB printed": ClusterBasedPCE(k, distance="fast", **printed),
        "CSPA": CSPA(k, random_state=seed),
        "HGPA": HGPA(k, random_state=seed),
        "MCLA": MCLA(k, random_state=seed),
        "HBGF": HBGF(k, random_state=seed),
        "EAC": EvidenceAccumulation(k),
        "WSPA": WSPA(k, random_state=seed),
        "WBPA": WBPA(k, random_state=seed),
    }
    if importlib.util.find_spec("pymetis") is None:
        return found
    if rows <= 2500:  # METIS wants all pairs of rows for CSPA
        found["CSPA (METIS)"] = CSPA(k, partitioner="metis", random_state=seed)
    found["HBGF (METIS)"] = HBGF(k, partitioner="metis", random_state=seed)
    return found


# -- figures --------------------------------------------------------------------------------------


class Judge:
    """NMI with the classes and with the members, all consensus clusterings at once."""

    def __init__(self, members: list[Any], reference: SubspaceClustering) -> None:
        self.members, self.goal = members, [reference]
        self.hard = np.array([m.is_hard for m in members])
        self.with_goal = {s: nmi_table(members, self.goal, on)[:, 0] for s, on in SIDES.items()}
        self.pairs = {s: nmi_table(members, members, on) for s, on in SIDES.items()}

    def among(self, side: str) -> float:
        """Mean over the pairs of members."""
        return float(self.pairs[side][np.triu_indices(len(self.members), 1)].mean())

    def figures(self, found: list[Any]) -> list[dict[str, Any]]:
        """NMI, gain and resemblance of every clustering, on every side."""
        made: list[dict[str, Any]] = [{"nmi": {}, "theta": {}, "upsilon": {}} for _ in found]
        for side, on in SIDES.items():
            own = nmi_table(found, self.goal, on)[:, 0]
            near, mean = nmi_table(found, self.members, on), self.with_goal[side]
            among = self.among(side)
            for i, one in enumerate(made):
                one["nmi"][side] = float(own[i])
                one["theta"][side] = float(own[i] - mean.mean())
                one["upsilon"][side] = float(near[i].mean() / among)
                if side == "f":
                    one["upsilon"]["f literal"] = self._literal(found[i], near[i])
        return made

    def _literal(self, found: Any, near: np.ndarray) -> float:
        """Upsilon_f if |D| becomes |F| in NMI_of, and not the number of clusters."""
        sizes = np.array([m.n_clusters for m in self.members])
        p, k = found.n_features, np.full(len(sizes), found.n_clusters)
        one, other = np.triu_indices(len(sizes), 1)
        pairs = literal(self.pairs["f"][one, other], sizes[one], sizes[other], p)
        return float(literal(near, k, sizes, p).mean() / pairs.mean())


def literal(nmi: np.ndarray, a: np.ndarray, b: np.ndarray, p: int) -> np.ndarray:
    """NMI_f of clusterings of a and b clusters with sizes as shares of p features."""
    log_a, log_b = np.log(a), np.log(b)
    information = nmi * np.sqrt(log_a * log_b) - log_a - log_b + 2 * np.log(p)
    return np.asarray(information / (np.sqrt(a * b) / p * np.log(p)))


def one_ensemble(name: str, seed: int, setting: Setting, effort: Effort) -> dict[str, Any]:
    """All figures of one ensemble, ready for JSON."""
    X, reference = classes(name, setting.scale)
    k, truth = reference.n_clusters, reference.labels()
    start = time.process_time()
    members = drawn(X, k, effort.size, seed, setting)
    made = time.process_time() - start
    judge = Judge(members, reference)
    tried, seconds = [], []
    for run in range(effort.runs):
        built = (methods if effort.classic else _bare)(
            k, 1000 * seed + run, effort.generations, len(X)
        )
        for method, estimator in built.items():
            if run and method in ("MOEA", "EAC", "CB", "FCB"):
                continue  # the first is slow, the others aren't random
            start = time.process_time()
            fitted = estimator.fit(members, X)
            seconds.append(time.process_time() - start)
            tried.append((method, fitted.clustering_))
    record: dict[str, Any] = {
        "rows": len(X), "features": X.shape[1], "k": k, "made": made,
        "members": {s: float(v.mean()) for s, v in judge.with_goal.items()},
        "hard members": {s: float(v[judge.hard].mean()) for s, v in judge.with_goal.items()},
        "soft members": {s: float(v[~judge.hard].mean()) for s, v in judge.with_goal.items()},
        "self f": float(nmi_table([reference], [reference], "features")[0, 0]),
        "members ari": float(np.mean([adjusted_rand_score(truth, m.labels()) for m in members])),
        "meeting alpha": _meeting(members), "methods": {}, "checks": {},
    }  # fmt: skip
    figures = judge.figures([found for _, found in tried])
    for (method, found), figure, second in zip(tried, figures, seconds, strict=True):
        figure |= {
            "ari": float(adjusted_rand_score(truth, found.labels())),
            "clusters": found.n_clusters,
            "seconds": second,
        }
        if method not in record["methods"]:
            figure["psi"] = float(psi_projective(found, members) / len(members))
        record["methods"].setdefault(method, []).append(figure)
    firsts = {method: found for method, found in reversed(tried) if method in PCE}
    record["sharper"] = {str(h): _sharper(X, judge, firsts, h) for h in SHARPER}
    if effort.classic:
        record["em objective"] = objective_of_cb(members, firsts["CB"], alpha=2.0)
    if effort.checks:
        record["checks"] = checks(X, judge, seed, effort.generations)
        record["checks"][ONE] = picked(judge, firsts, seed)
        record["preferred"] = objective_of_cb(members, firsts["CB"], EMPCE().alpha)
    return record


def _sharper(X: np.ndarray, judge: Judge, found: dict[str, Any], h: float) -> dict[str, float]:
    """Theta_f where the classes have the weights of another h, and their NMI_f with themselves."""
    labels = judge.goal[0].labels()
    weights = lac_weights(X, labels, h=h, scale=None)
    goal = [SubspaceClustering.from_labels(labels, weights=weights)]
    table = nmi_table([*goal, *found.values(), *judge.members], goal, "features")[:, 0]
    own, members = table[1 : 1 + len(found)], table[1 + len(found) :].mean()
    return {"self": float(table[0])} | {
        m: float(v - members) for m, v in zip(found, own, strict=True)
    }


def objective_of_cb(members: list[Any], found: Any, alpha: float) -> float:
    """EM-PCE's objective at the rows of CB's consensus, over what EM-PCE reaches."""
    clusters = stack(members)
    known = row_statistics(ballot(clusters), clusters.weights, np.arange(found.n_rows))
    labels = found.labels()
    own = [known.weights[labels == c].sum(axis=0) / known.totals[labels == c].sum()
           for c in np.unique(labels)]  # fmt: skip
    costs = deviations(known, np.array(own))
    reached = EMPCE(len(own), alpha=alpha, random_state=0).fit(members).objective_
    return float((shared_mass(costs, alpha) ** alpha * costs).sum() / reached)


def _bare(k: int, seed: int, generations: int, rows: int) -> dict[str, Any]:
    return projective(k, seed, generations)


def _meeting(members: list[Any]) -> float:
    clusters = stack(members)
    rows = np.arange(members[0].n_rows)
    return meeting_alpha(row_statistics(ballot(clusters), clusters.weights, rows))


def checks(X: np.ndarray, judge: Judge, seed: int, generations: int) -> dict[str, Any]:
    """The same with one thing changed: what a difference from print may come from."""
    k = judge.goal[0].n_clusters
    found: dict[str, Any] = {}
    others = {
        "much softer members": by_posterior(X, judge.members),
        "hard members": [m for m in judge.members if m.is_hard],
    }
    for what, members in others.items():
        made = [e.fit(members, X).clustering_ for e in projective(k, seed, generations).values()]
        found[what] = dict(zip(PCE, Judge(members, judge.goal[0]).figures(made), strict=True))
    shared = {
        "MOEA": MOEAPCE(k, assignment="soft", random_state=seed, max_iter=generations),
        "EM": EMPCE(k, alpha=1.1, assignment="soft", random_state=seed),
        "CB": ClusterBasedPCE(k, assignment="soft", alpha=1.5, random_state=seed),
        "FCB": ClusterBasedPCE(k, assignment="soft", alpha=1.5, distance="fast", random_state=seed),
    }
    made = [e.fit(judge.members, X).clustering_ for e in shared.values()]
    found["rows shared"] = dict(zip(shared, judge.figures(made), strict=True))
    return found


def picked(judge: Judge, found: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same rows, with the weights of the cluster most like them in a member drawn for each."""
    rng = np.random.default_rng(seed)
    clusters = stack(judge.members)
    figures = {}
    for method, consensus in found.items():
        alike = similarities(stack([consensus]), clusters, "objects")
        made = []
        for _ in range(PICKS):
            drawn_from = rng.integers(len(judge.members), size=len(alike))
            chosen = [
                clusters.starts[m] + row[clusters.starts[m] : clusters.starts[m + 1]].argmax()
                for m, row in zip(drawn_from, alike, strict=True)
            ]
            spaces = WeightedSubspaces(clusters.weights[chosen])
            made.append(SubspaceClustering(consensus.members, spaces))
        ones = judge.figures(made)
        figures[method] = {
            part: {s: float(np.mean([f[part][s] for f in ones])) for s in ones[0][part]}
            for part in ("nmi", "theta", "upsilon")
        }
    return figures
