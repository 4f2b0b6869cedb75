"""Looking for the best views: many short starts, the better half goes on, then escapes.

Nr-Kmeans' steps end in the nearest local optimum, and with three views hardly one start in twenty
ends in the best one. Three things help, in this order: starts in directions that are independent of
each other, successive halving over many starts, and moves that take one or two views of the best
solution apart and let the steps put them together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Watch
from subscape.finders.views.independence import Components, components_by_depth
from subscape.parallel.seeds import child_seed

from .kernel import far_rows
from .rotation import Bases, outside
from .rows import Rows, rows_of
from .steps import Solution, iterate

Values = NDArray[np.floating]
Table = TypeVar("Table", bound=Values | Rows)
Table_co = TypeVar("Table_co", bound=Values | Rows, covariant=True)

#: Rows that the search looks at, in all and per cluster; the solution then settles on all rows.
SEARCH_ROWS, SEARCH_ROWS_PER_CLUSTER = 2000, 100
#: Starts that are begun before the time is looked at.
AT_A_TIME = 1000
#: Steps of a start before the worse half is given up; doubled in every round.
SHORT = 3
#: Of every so many starts one is in random directions instead of independent ones.
RANDOM_EVERY = 4
#: Dimensions of a view at a random start.
MOST_START_DIMS = 50
#: Rounds of escapes, however often they succeed.
MOST_ROUNDS = 20
#: Share of the total scatter that counts as an improvement.
IMPROVEMENT = 1e-7
#: Share of the total scatter below which a direction separates nothing.
NOTHING = 1e-10


class ViewSearch(NamedTuple, Generic[Table_co]):
    """What is looked for, and in which table."""

    X: Table_co
    sizes: tuple[int, ...]
    noise: bool
    least: float
    max_iter: int

    @staticmethod
    def of(X: Table, sizes: Sequence[int], noise: bool, max_iter: int = 300) -> ViewSearch[Table]:
        return ViewSearch(X, tuple(sizes), noise, NOTHING * rows_of(X).square, max_iter)

    def run(self, start: Start, max_iter: int | None = None, turning: bool = True) -> Solution:
        steps = self.max_iter if max_iter is None else min(max_iter, self.max_iter)
        return iterate(self.X, *start, self.noise, self.least, steps, turning)

    @property
    def scatter(self) -> float:
        return self.least / NOTHING


#: Starts and escapes look at rows in memory.
SearchTask = ViewSearch[Values]


class Start(NamedTuple):
    """Where the steps begin; centres lie in the full space."""

    bases: Bases
    centres: tuple[FloatArray, ...]

    @classmethod
    def at(cls, solution: Solution) -> Start:
        return cls(solution.bases, solution.groups.centres)


def search(
    task: ViewSearch[Any],
    sample: FloatArray,
    n_init: int,
    n_escapes: int,
    seed: np.random.SeedSequence,
    watch: Watch,
    n_jobs: int | None = None,
    known: Sequence[Start] = (),
    components: Sequence[Components] | None = None,
) -> Solution:
    """The best views found; the same bits for any ``n_jobs``.

    Parameters
    ----------
    task : ViewSearch
    sample : (at most n, p) array
        The rows to search, in float64: in lower precision another path might be taken.
    n_init : int
        Starts, besides the ``known`` ones.
    n_escapes : int
        Rounds of escapes that must fail before the search ends.
    seed, watch, n_jobs : as everywhere
    known : sequence of Start
        Starts that are tried as well.
    components : sequence of Components, optional
        Independent components to start from; by default those of the sample.
    """
    of_starts, of_escapes = seed.spawn(2)
    small = ViewSearch.of(sample, task.sizes, task.noise, task.max_iter)
    best = halving(small, n_init, of_starts, watch, n_jobs, known, components)
    best = escape(small, best, n_escapes, np.random.default_rng(of_escapes), watch)
    same = len(sample) == task.X.shape[0] and task.X.dtype == sample.dtype
    return best if same else task.run(Start.at(best))


def sampled_rows(n_rows: int, number: int, seed: np.random.SeedSequence) -> IndexArray:
    """The rows to search, in order."""
    return np.sort(np.random.default_rng(seed).choice(n_rows, number, replace=False))


# -- starts ----------------------------------------------------------------------------------------


def halving(
    task: SearchTask,
    n_init: int,
    seed: np.random.SeedSequence,
    watch: Watch,
    n_jobs: int | None,
    known: Sequence[Start] = (),
    components: Sequence[Components] | None = None,
) -> Solution:
    """Run many starts for a few steps each; the better half goes on for twice as many."""
    if components is None:
        components = components_by_depth(task.X) if n_init else []

    def begin(index: int) -> Solution | None:
        if index > 0 and watch.out_of_time():
            return None
        if index >= n_init:
            return task.run(known[index - n_init], SHORT)
        rng = np.random.default_rng(child_seed(seed, index))
        if index % RANDOM_EVERY == RANDOM_EVERY - 1:
            return task.run(random_start(task, rng), SHORT)
        return task.run(independent_start(task, components[index % len(components)], rng), SHORT)

    total = n_init + len(known)
    pool: list[Solution] = []
    for first in range(0, total, AT_A_TIME):
        if first and watch.out_of_time():
            break
        numbers = range(first, min(first + AT_A_TIME, total))
        pool += [each for each in in_threads(begin, numbers, n_jobs) if each is not None]
    steps = SHORT
    while len(pool) > 1:
        pool = sorted(pool, key=lambda each: each.objective)[: max(1, len(pool) // 2)]
        steps *= 2
        limit = steps if len(pool) > 1 else None
        pool = in_threads(lambda each, limit=limit: go_on(task, each, limit), pool, n_jobs)
        watch.step("starts", total - len(pool), total)
    watch.step("starts", total, total)
    return go_on(task, pool[0], None)


def go_on(task: SearchTask, solution: Solution, limit: int | None) -> Solution:
    if solution.converged or solution.n_lost:
        return solution
    more = task.run(Start.at(solution), limit)
    return more._replace(n_iter=solution.n_iter + more.n_iter)


def in_threads(function: Callable, items: Sequence, n_jobs: int | None) -> list:
    """The results for all items, in their order."""
    if len(items) < 2 or effective_n_jobs(n_jobs) == 1:
        return [function(item) for item in items]
    return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(function)(item) for item in items)


def random_start(task: SearchTask, rng: np.random.Generator) -> Start:
    """Random directions in equal parts, the noise space having its part too."""
    views, p = len(task.sizes), task.X.shape[1]
    parts = views + task.noise
    widths = np.full(parts, p // parts)
    widths[rng.permutation(parts)[: p % parts]] += 1
    widths = np.minimum(widths, MOST_START_DIMS) if task.noise else widths
    widths = np.maximum(widths[:views], 1)
    turned = np.linalg.qr(rng.normal(size=(p, min(p, int(widths.sum())))))[0]
    return seeded(task, np.split(turned, np.cumsum(widths)[:-1], axis=1), rng)


def independent_start(task: SearchTask, components: Components, rng: np.random.Generator) -> Start:
    """Groups of dependent components, dealt to the views at random, the clearest ones first."""
    views = len(task.sizes)
    shape = components.shape if rng.random() < 0.5 else np.abs(components.shape)
    most = sum(size - 1 for size in task.sizes)
    clearest = np.argsort(-shape, kind="stable")[:most]
    groups = [group[np.isin(group, clearest)] for group in components.groups]
    groups = sorted((g for g in groups if len(g)), key=lambda g: -shape[g].max())
    if len(groups) < views:
        groups = [np.array([i]) for i in clearest]
    if len(groups) < views:
        return random_start(task, rng)
    taken = groups[: rng.integers(views, len(groups) + 1)]
    dealt: list[list[int]] = [[] for _ in task.sizes]
    order = rng.permutation(views)
    for turn, group in enumerate(rng.permutation(len(taken))):
        view = order[turn] if turn < views else rng.integers(views)
        dealt[view].extend(taken[group].tolist())
    columns = np.concatenate([np.array(each, dtype=np.intp) for each in dealt])
    turned = np.linalg.qr(components.directions[:, columns])[0]
    ends = np.cumsum([len(each) for each in dealt])[:-1]
    return seeded(task, np.split(turned, ends, axis=1), rng)


def seeded(task: SearchTask, bases: Sequence[FloatArray], rng: np.random.Generator) -> Start:
    """A start in these directions, with k-means++ seeds in every view."""
    bases = shared_out(bases, rng) if not task.noise else bases
    centres = [
        seeds(task.X, basis, size, rng) for basis, size in zip(bases, task.sizes, strict=True)
    ]
    return Start(tuple(bases), tuple(centres))


def shared_out(bases: Sequence[FloatArray], rng: np.random.Generator) -> list[FloatArray]:
    """The bases and, dealt to them at random, the directions that are in none of them."""
    used = np.concatenate(bases, axis=1)
    p, n_used = used.shape
    rest = np.linalg.qr(np.concatenate([used, rng.normal(size=(p, p - n_used))], axis=1))[0]
    owner = rng.integers(len(bases), size=p - n_used)
    free = rest[:, n_used:]
    return [np.concatenate([b, free[:, owner == j]], axis=1) for j, b in enumerate(bases)]


def seeds(X: Values, basis: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """k rows, far from each other inside a view, by greedy k-means++."""
    inside = np.asarray(X @ basis.astype(X.dtype), dtype=np.float64)
    first = int(rng.integers(len(X)))
    found = far_rows(inside, k, first, rng.random((k - 1, 2 + int(np.log(k)))))
    # Where all rows lie in places that are taken, any others do.
    if len(found) < k:
        found = np.append(found, rng.integers(len(X), size=k - len(found)))
    return np.asarray(X[found], dtype=np.float64)


# -- escapes ---------------------------------------------------------------------------------------


def escape(
    task: SearchTask, best: Solution, patience: int, rng: np.random.Generator, watch: Watch
) -> Solution:
    """Take views apart and let the steps put them together, as long as that helps."""
    failed = 0
    for _ in range(MOST_ROUNDS):
        if failed >= patience:
            break
        failed += 1
        for change in moves(task):
            if watch.out_of_time():
                return best
            tried = task.run(change(best, rng))
            gain = tried.explained - best.explained > IMPROVEMENT * task.scatter
            if tried.n_lost < best.n_lost or (tried.n_lost == best.n_lost and gain):
                best, failed = tried._replace(n_iter=best.n_iter + tried.n_iter), 0
        watch.step("escapes", patience - failed, patience)
    return best


Move = Callable[[Solution, np.random.Generator], Start]


def moves(task: SearchTask) -> Iterator[Move]:
    """Every escape once: the views' numbers of clusters change places, one view is seeded anew, a
    centre jumps, two views start again outside the others."""
    views = range(len(task.sizes))
    for a in views:
        for b in range(a):
            if task.sizes[a] != task.sizes[b]:
                yield partial(exchanged, task, a, b)
    for j in views:
        yield partial(seeded_anew, task, j)
    for a in views:
        for b in range(a):
            yield partial(taken_apart, task, a, b)
    for j in views:
        yield partial(jumped, task, j)


def reseeded(
    task: SearchTask,
    best: Solution,
    which: Sequence[int],
    bases: Sequence[FloatArray],
    rng: np.random.Generator,
) -> Start:
    """New k-means++ seeds for these views, in these bases."""
    centres = list(best.groups.centres)
    for j in which:
        centres[j] = seeds(task.X, bases[j], task.sizes[j], rng)
    return Start(tuple(bases), tuple(centres))


def seeded_anew(task: SearchTask, j: int, best: Solution, rng: np.random.Generator) -> Start:
    """One view is looked for again where it is."""
    return reseeded(task, best, (j,), best.bases, rng)


def exchanged(task: SearchTask, a: int, b: int, best: Solution, rng: np.random.Generator) -> Start:
    """Two views change their subspaces: each is looked for where the other was."""
    bases = list(best.bases)
    bases[a], bases[b] = bases[b], bases[a]
    return reseeded(task, best, (a, b), bases, rng)


def taken_apart(
    task: SearchTask, a: int, b: int, best: Solution, rng: np.random.Generator
) -> Start:
    """Two views start again in random directions that the other views leave free."""
    others = [basis for j, basis in enumerate(best.bases) if j not in (a, b)]
    p = task.X.shape[1]
    free = p - sum(basis.shape[1] for basis in others)
    width = min(free // (2 + task.noise), MOST_START_DIMS) if task.noise else free // 2
    if width == 0:
        return exchanged(task, a, b, best, rng)
    n_first, n_both = width, 2 * width if task.noise else free
    turned = np.linalg.qr(outside(rng.normal(size=(n_both, p)), others).T)[0]
    bases = list(best.bases)
    bases[a], bases[b] = turned[:, :n_first], turned[:, n_first:]
    return reseeded(task, best, (a, b), bases, rng)


def jumped(task: SearchTask, j: int, best: Solution, rng: np.random.Generator) -> Start:
    """One centre of a view jumps to a row: a cluster dissolves, another is split."""
    centres = list(best.groups.centres)
    moved = centres[j].copy()
    moved[rng.integers(len(moved))] = task.X[rng.integers(len(task.X))]
    centres[j] = moved
    return Start(best.bases, tuple(centres))
