"""Are p-values valid that stop drawing tables without groups as soon as the answer is clear?

    python benchmarks/sequential.py [--quick] [--runs 1000]

The rule is that of ``explore`` itself (``chance_maxima``: batches of tables, an end after enough
that reach the score or once none will, more where p is close to the level, a fitted tail beyond the
largest). Only the search is replaced, by numbers from a known law: the score of a table is the
largest of so many draws, and the table that is tested is one like all others. So p should be
uniform, or larger: the share of runs with p at most so much is given for several laws. By chance it
differs by two standard errors (in brackets) now and then. Writes benchmarks/results/sequential.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from subscape.exploration import assess
from subscape.exploration.journal import Journal
from subscape.exploration.plan import make_plan
from subscape.exploration.progress import Progress

LEVELS = (0.01, 0.05, 0.1, 0.2, 0.5)
EFFORTS = ("quick", "normal")
RESULTS = Path(__file__).parent / "results" / "sequential.md"

Law = Callable[[np.random.Generator], tuple[float, float]]


def of_one(draw: Callable[[np.random.Generator], float]) -> Law:
    """A law of tables with one score: nothing is known of the gain over one normal distribution."""
    return lambda rng: (float(draw(rng)), -np.inf)


def two_scores(rng: np.random.Generator) -> tuple[float, float]:
    """Two scores that go together, as that over one hump and that over one normal distribution."""
    common, *own = rng.normal(size=(3, 20))
    first, second = (float((common + each).max()) for each in own)
    return first, second


LAWS: dict[str, Law] = {
    "Gumbel": of_one(lambda rng: rng.gumbel()),
    "largest of 20 normal": of_one(lambda rng: rng.normal(size=20).max()),
    "largest of 20 exponential": of_one(lambda rng: rng.exponential(size=20).max()),
    "uniform": of_one(lambda rng: rng.random()),
    "0 in two of three, else exponential": of_one(
        lambda rng: rng.exponential() if rng.random() < 1 / 3 else 0.0
    ),
    "largest of 20 of Student's, 5 degrees": of_one(lambda rng: rng.standard_t(5, size=20).max()),
    "two scores, normal": two_scores,
}


def sequential(law: Law, effort: str, seed: int) -> tuple[float, int]:
    """The p-value of a table from a law, and the number of tables that were drawn for it."""

    def search(table: Any, drawn: int, *rest: Any) -> assess.NullScores:
        score, normal = law(np.random.default_rng([drawn, 1]))
        return assess.NullScores(score, score, normal)

    score, normal = law(np.random.default_rng([seed, 2]))
    plan = replace(make_plan(40, 2, 2, effort=effort), seed=seed)
    usual, assess._null_score = assess._null_score, search
    try:
        maxima = assess.chance_maxima(
            np.zeros((40, 2)), plan, Journal(None), Progress(False, None), 1, lambda: True,
            np.array([0]), scores=[(score, normal)],
        )  # fmt: skip
    finally:
        assess._null_score = usual
    return maxima.p_value(score, normal), len(maxima.maxima)


def main() -> None:
    """Test so many tables of each law at each effort."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 tables of two laws")
    parser.add_argument("--runs", type=int, default=1000)
    args = parser.parse_args()
    runs = 100 if args.quick else args.runs
    header = " | ".join(f"p <= {level:g}" for level in LEVELS)
    lines = [
        f"| law of the scores | effort | {header} | tables drawn |",
        "|---|---|" + "---:|" * (len(LEVELS) + 1),
    ]
    print(*lines, sep="\n")
    for name, law in list(LAWS.items())[: 2 if args.quick else None]:
        for effort in EFFORTS:
            found = [sequential(law, effort, seed) for seed in range(runs)]
            p_values = np.array([p for p, _ in found])
            shares = " | ".join(
                f"{(p_values <= level).mean():.3f} (± {np.sqrt(level * (1 - level) / runs):.3f})"
                for level in LEVELS
            )
            drawn = np.mean([number for _, number in found])
            lines.append(f"| {name} | {effort} | {shares} | {drawn:.0f} |")
            print(lines[-1], flush=True)
    if not args.quick:
        text = [
            "# P-values that stop as soon as the answer is clear",
            "",
            f"`python benchmarks/sequential.py`: {runs:,} tables without groups of each law, "
            "tested by explore's own rule. Share of them with a p-value of at most so much (± a "
            "standard error).",
            "",
            *lines,
            "",
        ]
        RESULTS.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
