"""How the answer of explore changes when a threshold is halved or doubled.

    python benchmarks/thresholds.py                  all thresholds
    python benchmarks/thresholds.py --only VERSION   one of them; the page keeps the others
    python benchmarks/thresholds.py --quick          two of them, three tables, no page

Fifteen tables are explored at quick effort: nine with planted groups of every idea, at distances at
which not all are found, and six without any. A threshold is listed with what stands above it in its
module. The page says how many tables get another answer (other
sure views, or a first sure view whose groups differ), the mean AMI of the first sure view with the
planted groups, and the claims on tables without any. Writes benchmarks/results/thresholds.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from false_alarms import KINDS
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_mutual_info_score

import subscape

RESULTS = Path(__file__).parent / "results"
#: Where each threshold stands. Limits that only bound the work are not among them.
THRESHOLDS = (
    "validation.criteria.SIGNIFICANCE_LEVEL",
    "validation.criteria.STABLE",
    "validation.criteria.DISSOLVED",
    "validation.criteria.SMALLEST_SHARE",
    "validation.max_statistic.SURE",
    "validation.max_statistic.ENOUGH_REACHED",
    "validation.fitted_tails.REFUSED",
    "validation.unimodality.SURE",
    "validation.unimodality.SURE_VALLEY",
    "validation.valleys.BENT",
    "validation.classes.BETTER_ORDER",
    "exploration.assess.BETTER",
    "exploration.assess.MUCH_BETTER",
    "exploration.assess.CAME_BACK",
    "exploration.separation.MOST_VARIANCE",
    "exploration.separation.SMALLEST_SPREAD",
    "exploration.scorers.LEAD",
    "exploration.slices.MOST_SAVED",
    "exploration.select.LEAST_RATE",
    "exploration.select.LEAST_SHARE",
    "exploration.select.LEAST_NOVELTY",
    "exploration.select.SLACK",
    "exploration.views.SAME",
    "exploration.steadiness.MOST_NEW",
    "exploration.ideas.VERSION",
    "exploration.ideas.LEAST_LEVELLED",
    "exploration.shapes.REFINED",
    "exploration.shapes.LEAST_WIDTH",
    "exploration.shapes.SPLIT_WIDTH",
    "exploration.preparation.SKEWED",
    "exploration.preparation.GAIN_PER_ROW",
    "finders.density.gaps.BROKEN",
    "finders.density.gaps.FAR_OUT",
    "finders.density.valleys.NOISE",
    "finders.density.valleys.ALONG_CURVES",
    "finders.density.valleys.IN_CLOUDS",
)
QUICK = ("validation.criteria.SIGNIFICANCE_LEVEL", "exploration.shapes.SPLIT_WIDTH")
#: Twice a share cannot be more than this.
SHARES = (
    "STABLE", "DISSOLVED", "CAME_BACK", "MOST_VARIANCE", "MOST_SAVED", "LEAST_SHARE",
    "LEAST_NOVELTY", "VERSION", "REFINED", "SAME", "MOST_NEW", "LEAST_LEVELLED",
)  # fmt: skip


def _clouds(n_groups: int, apart: float) -> Callable[[np.random.Generator], Any]:
    def make(rng: np.random.Generator) -> Any:
        truth = np.arange(240) % n_groups
        middles = rng.normal(size=(n_groups, 6))
        middles *= apart / np.linalg.norm(middles, axis=1, keepdims=True)
        return middles[truth] + rng.normal(size=(240, 6)), truth

    return make


def _skewed(rng: np.random.Generator) -> Any:
    X, truth = _clouds(3, 4.0)(rng)
    return np.exp(0.5 * X), truth


def _small(rng: np.random.Generator) -> Any:
    truth = (np.arange(250) < 20).astype(int)
    return rng.normal(size=(250, 5)) + 7.0 * np.outer(truth, [1, 0, 0, 0, 0]), truth


def _boxes(rng: np.random.Generator) -> Any:
    truth = np.arange(240) % 3
    X = rng.uniform(size=(240, 8))
    for k in range(3):
        for j in (2 * k, 2 * k + 1):
            X[truth == k, j] = 0.5 + 0.03 * rng.normal(size=80)
    return X, truth


def _among_noise(X: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> Any:
    return np.c_[X, rng.normal(X.mean(), X.std(), (len(X), 4))], truth


def _moons(rng: np.random.Generator) -> Any:
    seed = int(rng.integers(1 << 30))
    return _among_noise(*make_moons(300, noise=0.08, random_state=seed), rng)


def _lines(rng: np.random.Generator) -> Any:
    truth = np.arange(300) % 3
    return np.c_[rng.uniform(0, 1, 300), 0.15 * truth + rng.normal(0, 0.01, 300)], truth


def _classes(rng: np.random.Generator) -> Any:
    import pandas as pd

    truth = np.arange(240) % 3
    shares = rng.dirichlet(np.full(3, 0.7), size=(10, 3))
    columns = {
        f"q{j}": [("a", "b", "c")[rng.choice(3, p=shares[j, k])] for k in truth] for j in range(10)
    }
    return pd.DataFrame(columns), truth


def _nested(rng: np.random.Generator) -> Any:
    truth = np.arange(360) % 6
    far, near = rng.normal(size=(2, 5)), rng.normal(size=(6, 5))
    far *= 14 / np.linalg.norm(far, axis=1, keepdims=True)
    near *= 4.5 / np.linalg.norm(near, axis=1, keepdims=True)
    return far[truth % 2] + near[truth] + rng.normal(size=(360, 5)), truth


GROUPS: dict[str, Callable[[np.random.Generator], Any]] = {
    "two clouds": _clouds(2, 2.2),
    "four clouds": _clouds(4, 3.0),
    "skewed clouds": _skewed,
    "a small group": _small,
    "boxes": _boxes,
    "moons among noise": _moons,
    "lines": _lines,
    "classes": _classes,
    "groups in groups": _nested,
}
WITHOUT = (
    "t, 3 degrees", "log-normal", "bent curve", "one-trait answers", "mixed, random levels",
    "gradient, unequal noise",
)  # fmt: skip
FEW = ("skewed clouds", "lines", "gradient, unequal noise")


def tables(few: bool, seed: int) -> Iterator[tuple[str, Any, np.ndarray | None]]:
    """Names, tables, and planted groups if there are any."""
    for number, (name, make) in enumerate(GROUPS.items()):
        if not few or name in FEW:
            yield name, *make(np.random.default_rng([seed, 61, number]))
    for number, name in enumerate(WITHOUT):
        if not few or name in FEW:
            yield name, KINDS[name](np.random.default_rng([seed, 62, number])), None


def answers(few: bool, seed: int) -> list[dict[str, Any]]:
    """The first sure view of every table, and how many there are."""
    told = []
    for name, table, truth in tables(few, seed):
        study = subscape.explore(table, effort="quick", random_state=seed, n_jobs=1)
        sure = study.significant_views
        labels = sure[0].labels if sure else np.zeros(study.shape[0], dtype=int)
        ami = None if truth is None else float(adjusted_mutual_info_score(truth, labels))
        told.append({"name": name, "sure": len(sure), "labels": labels.tolist(), "ami": ami})
    return told


def module_of(threshold: str) -> tuple[Any, str]:
    """The module in which a threshold stands, and its name there."""
    module, name = threshold.rsplit(".", 1)
    return import_module(f"subscape.{module}"), name


@contextmanager
def changed(threshold: str, value: float) -> Iterator[None]:
    """The threshold with another value, wherever it was imported."""
    module, name = module_of(threshold)
    old = getattr(module, name)
    places = [
        each
        for each in list(sys.modules.values())
        if _is_ours(each) and vars(each).get(name) is old and _is_it(each, module, name)
    ]
    for place in places:
        setattr(place, name, value)
    _forget()
    try:
        yield
    finally:
        for place in [each for each in list(sys.modules.values()) if _is_ours(each)]:
            if vars(place).get(name) is value:  # also where it was imported meanwhile
                setattr(place, name, old)
        _forget()


def _is_ours(module: Any) -> bool:
    return getattr(module, "__name__", "").startswith("subscape")


def _is_it(place: Any, module: Any, name: str) -> bool:
    """Whether a name is that of a module; two may have constants of the same name and value."""
    if place is module:
        return True
    text = Path(place.__file__).read_text(encoding="utf-8") if place.__file__ else ""
    return not re.search(rf"^(\w+, )*{name}\b.* = ", text, re.M)


def _forget() -> None:
    """Empty all caches: what was kept was computed with other thresholds."""
    from subscape.exploration import assess

    assess._MODELS.clear()
    for each in gc.get_objects():
        if type(each).__name__ == "_lru_cache_wrapper" and each.__module__.startswith("subscape"):
            each.cache_clear()


def variants(threshold: str) -> list[tuple[str, float]]:
    """Half and twice the value; of a share, and of what is left to one."""
    module, name = module_of(threshold)
    value = getattr(module, name)
    half, twice = value / 2, 2 * value
    if name in SHARES:
        twice = min(twice, (1 + value) / 2)
    if isinstance(value, int):
        half, twice = max(1, value // 2), 2 * value
    return [("half", half), ("twice", twice)]


def evidence(threshold: str) -> str:
    """What the comment above a threshold says."""
    module, name = module_of(threshold)
    lines = Path(module.__file__).read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if re.match(rf"(\w+, )*{name}\b.* = ", line))
    told: list[str] = []
    for line in lines[:at][::-1]:
        if line.startswith("#:"):
            told.insert(0, line[2:].strip())
        elif told or not re.match(r"[A-Z_]+\b.* = ", line):
            break  # of thresholds that stand together the first says what they are
    return " ".join(told)


def compared(known: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, Any]:
    """In how many tables the answer differs, how good it is, and how often chance is claimed."""
    differ = [
        a["name"]
        for a, b in zip(known, new, strict=True)
        if a["sure"] != b["sure"] or adjusted_mutual_info_score(a["labels"], b["labels"]) < 0.999
    ]
    amis = [each["ami"] for each in new if each["ami"] is not None]
    claims = sum(each["ami"] is None and each["sure"] > 0 for each in new)
    return {"differ": differ, "ami": float(np.mean(amis)), "claims": claims}


def page(found: dict[str, Any]) -> str:
    """The page of results."""
    start = found["as it is"]
    n_done = sum(threshold in found for threshold in THRESHOLDS)
    n_groups, n_without = len(GROUPS), len(WITHOUT)
    lines = [
        "# How the answer changes when a threshold is halved or doubled",
        "",
        f"`python benchmarks/thresholds.py --seed {found['seed']}`, quick effort: {n_groups} "
        f"tables with planted groups (not all of which can be found) and {n_without} without any. "
        "With all thresholds as they are, the mean AMI of the first sure view is "
        f"{start['ami']:.2f}, and {start['claims']} of the {n_without} are claimed. Shares are "
        "doubled up to half way to 1. *Other answers* are other numbers of sure views, or a first "
        f"one whose groups differ. {n_done} of {len(THRESHOLDS)} thresholds were tried.",
        "",
        "| threshold | value | tried | other answers | mean AMI | claimed without groups | "
        "what its module says |",
        "|---|---:|---:|---|---:|---:|---|",
    ]
    for threshold in THRESHOLDS:
        for told in found.get(threshold, []):
            others = ", ".join(told["differ"]) or "none"
            module, name = module_of(threshold)
            lines.append(
                f"| `{threshold}` | {getattr(module, name):.3g} | {told['value']:.3g} | "
                f"{len(told['differ'])}: {others} | {told['ami']:.2f} | {told['claims']} | "
                f"{evidence(threshold) if told['how'] == 'half' else ''} |"
            )
    return "\n".join([*lines, ""]).replace(": none |", " |")


def main() -> int:
    """Explore the tables with every threshold halved and doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="of a threshold; may repeat"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chosen = [
        each for each in (QUICK if args.quick else THRESHOLDS)
        if not args.only or any(f".{each}".endswith(f".{name}") for name in args.only)
    ]  # fmt: skip
    store = RESULTS / "thresholds.json"
    found: dict[str, Any] = {}
    if args.only and store.exists() and not args.quick:
        found = json.loads(store.read_text(encoding="utf-8"))
        if found["seed"] != args.seed:
            found = {}
    known = answers(args.quick, args.seed)
    start = compared(known, known)
    if "as it is" in found and found["as it is"] != start:
        parser.error("the answers are others than those of the page: run all thresholds again")
    found |= {"seed": args.seed, "as it is": start}
    print("as it is", start, flush=True)
    for threshold in chosen:
        found[threshold] = []
        for how, value in variants(threshold):
            with changed(threshold, value):
                told = compared(known, answers(args.quick, args.seed))
            found[threshold].append({"how": how, "value": value} | told)
            print(threshold, how, value, told, flush=True)
        if not args.quick:
            store.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            (RESULTS / "thresholds.md").write_text(page(found), encoding="utf-8")
    if args.quick and (start["claims"] or start["ami"] < 0.9):
        print("as it is, groups are missed or chance is claimed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
