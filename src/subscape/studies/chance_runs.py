"""The reduced portfolio on tables without groups, each one kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.parallel import Shared, in_order

from .journal import Journal
from .portfolio import NUMBERS, Plan, seed_of
from .progress import Progress
from .trust import Chance, chance_entries, null_score

#: Tables between two looks at the clock; always this many are made.
BATCH = 10
#: Numbers of clusters tried there.
MOST_NUMBERS = 5


def chance_maxima(
    X: NDArray[np.float64],
    plan: Plan,
    journal: Journal,
    progress: Progress,
    n_jobs: int | None,
    in_time: Callable[[], bool],
    few_valued: NDArray[np.intp] | None = None,
    *,
    boxes: bool = False,
) -> Chance:
    """What the best result scores on tables like ``X`` that have no groups.

    ``few_valued`` are columns as for :class:`Judge`; with ``boxes``, results are
    judged as such, and finders of boxes join in.
    """
    numbers = [k for k in NUMBERS[plan.effort][:MOST_NUMBERS] if k <= max(2, len(X) // 5)]
    entries = chance_entries(numbers, X.shape[1], boxes=boxes)
    table = Shared(X)
    scores: list[Any] = []
    for start in range(0, plan.n_null, BATCH):
        if start and not journal.decide(f"null tables from {start}", in_time):
            break
        places = range(start, min(start + BATCH, plan.n_null))
        todo = [i for i in places if f"null {i}" not in journal]
        calls = [(table, entries, seed_of(plan.seed, 13, i), few_valued, boxes) for i in todo]
        found = in_order(null_score, calls, n_jobs, what="table without groups")
        for i, score in zip(todo, found, strict=True):
            outcome = list(score) if np.isfinite(score).all() else None
            journal.decide(f"null {i}", lambda outcome=outcome: outcome)
            progress.tell("tables without groups", "chance", i + 1, plan.n_null)
        done = [journal.decide(f"null {i}", list) for i in places]
        # Tables on which no finder worked say nothing.
        scores += [score for score in done if score is not None]
    return Chance(tuple(s[0] for s in scores), tuple(s[1] for s in scores))
