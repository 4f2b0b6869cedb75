"""Changing the numbers of views and clusters as long as the table is described by fewer bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray
from subscape.finders.base import Watch
from subscape.finders.views.independence import (
    Components,
    components_by_depth,
    independent_components,
)
from subscape.finders.views.nrkmeans.finish import trimmed
from subscape.finders.views.nrkmeans.kernel import settle
from subscape.finders.views.nrkmeans.rotation import Bases
from subscape.finders.views.nrkmeans.rows import group
from subscape.finders.views.nrkmeans.search import Start, ViewSearch, halving, search, seeds
from subscape.finders.views.nrkmeans.steps import Solution, iterate

from .code import ViewCode

#: Numbers of clusters tried beyond the best one so far.
LOOK_AHEAD = 2
#: k-means starts for each number of clusters in a candidate subspace, and the steps of each.
SEEDINGS, SEEDING_STEPS = 3, 20
#: Starts that look for two views inside one.
SPLIT_STARTS = 6
#: Steps accepted at most.
MOST_STEPS = 100
#: A component less odd than this looks normal: no clusters of it save bits.
ODD = 0.05
#: Bits that a step must save to be taken.
LEAST_SAVING = 1e-6


class GrowthState(NamedTuple):
    """Views, and the length of the description by them; no views at the beginning."""

    solution: Solution | None
    bits: float

    @property
    def bases(self) -> Bases:
        return () if self.solution is None else self.solution.bases

    @property
    def centres(self) -> tuple[FloatArray, ...]:
        return () if self.solution is None else self.solution.groups.centres

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(centre) for centre in self.centres)


class GrowthStep(NamedTuple):
    """An accepted change."""

    change: str
    n_clusters: tuple[int, ...]
    bits: float


class Proposal(NamedTuple):
    """A change and where the steps of Nr-Kmeans begin after it."""

    change: str
    start: Start


class Clusters(NamedTuple):
    """The best clustering of a candidate subspace."""

    gain: float
    basis: FloatArray
    centres: FloatArray


class Growth:
    """Grows views from nothing.

    Parameters
    ----------
    X : (n, p) array
        Centred, p < n.
    code : ViewCode
        Of the same table.
    max_views, max_clusters : int
    n_init, n_escapes : int
        For a final search with the numbers found.
    """

    def __init__(
        self,
        X: FloatArray,
        code: ViewCode,
        max_views: int,
        max_clusters: int,
        n_init: int,
        n_escapes: int,
    ) -> None:
        self.X, self.code = X, code
        self.max_views, self.max_clusters = max_views, max_clusters
        self.n_init, self.n_escapes = n_init, n_escapes
        self.none = ViewSearch.of(X, (), True)

    def run(
        self, seed: np.random.SeedSequence, watch: Watch, n_jobs: int | None
    ) -> tuple[GrowthState, list[GrowthStep]]:
        """The shortest description found, and the steps that led to it."""
        of_steps, of_search = seed.spawn(2)
        rng = np.random.default_rng(of_steps)
        state = GrowthState(None, self.code.plain)
        taken: list[GrowthStep] = []
        searched: set[tuple[int, ...]] = set()
        while len(taken) < MOST_STEPS:
            shorter = self.first_shorter(state, rng, watch)
            if shorter is None and state.bases and state.sizes not in searched:
                searched.add(state.sizes)
                shorter = self.searched(state, of_search, watch, n_jobs)
            if shorter is None:
                break
            change, state = shorter
            taken.append(GrowthStep(change, state.sizes, state.bits))
            watch.step(f"{change}: {state.sizes}", len(taken))
        watch.step("done", len(taken), len(taken))
        return state, taken

    def first_shorter(
        self, state: GrowthState, rng: np.random.Generator, watch: Watch
    ) -> tuple[str, GrowthState] | None:
        for proposal in self.proposals(state, rng):
            if watch.out_of_time():
                return None
            tried = self.evaluated(proposal.start)
            if tried is not None and tried.bits < state.bits - LEAST_SAVING:
                return proposal.change, tried
        return None

    def evaluated(self, start: Start) -> GrowthState | None:
        """Views after the steps of Nr-Kmeans from here; None if one got lost."""
        if not start.bases:
            return GrowthState(None, self.code.plain)
        task = self.none._replace(sizes=tuple(len(centre) for centre in start.centres))
        solution = task.run(start)
        if solution.n_lost:
            return None
        solution = trimmed(task, solution)
        if any((counts == 0).any() for counts in solution.groups.counts):
            return None
        return GrowthState(solution, self.code.total(solution))

    def searched(
        self, state: GrowthState, seed: np.random.SeedSequence, watch: Watch, n_jobs: int | None
    ) -> tuple[str, GrowthState] | None:
        """A full search with the same numbers of clusters, if it ends in something shorter."""
        task = self.none._replace(sizes=state.sizes)
        known = [Start(state.bases, state.centres)]
        best = search(task, self.X, self.n_init, self.n_escapes, seed, watch, n_jobs, known)
        tried = self.evaluated(Start.at(best)) if not best.n_lost else None
        better = tried is not None and tried.bits < state.bits - LEAST_SAVING
        return ("search", tried) if tried is not None and better else None

    # -- changes -----------------------------------------------------------------------------------

    def proposals(self, state: GrowthState, rng: np.random.Generator) -> Iterator[Proposal]:
        """All changes of a state, the most promising kinds first."""
        views = range(len(state.bases))
        if len(views) < self.max_views:
            yield from self.additions(state, rng)
        for j in views:
            if state.sizes[j] < self.max_clusters:
                yield Proposal("one cluster more", self.divided(state, j))
            if state.sizes[j] > 2:
                yield Proposal("one cluster less", self.united(state, j))
        for a in views:
            for b in range(a):
                yield Proposal("two views joined", self.joined(state, a, b))
        if len(views) < self.max_views:
            for j in views:
                yield from self.separations(state, j, rng)
        for j in views:
            yield Proposal("view dropped", changed(state, j))

    def additions(self, state: GrowthState, rng: np.random.Generator) -> Iterator[Proposal]:
        """New views in the noise space, the one that saves most first."""
        p = self.X.shape[1]
        noise = np.eye(p)
        if state.bases:
            used = np.concatenate(state.bases, axis=1)
            noise = np.linalg.qr(used, mode="complete")[0][:, used.shape[1] :]
        if noise.shape[1] == 0:
            return
        most = self.max_views - len(state.bases)
        inside = np.ascontiguousarray(self.X @ noise)
        sets = [self.candidates(noise, each, rng)[:most] for each in components_by_depth(inside)]
        sets.sort(key=lambda each: -sum(found.gain for found in each))
        # Independent views hardly disturb each other, so they may come together, or one by one.
        alone = [[found] for found in sets[0]] if len(sets[0]) > 1 else []
        for new in [*sets, *alone]:
            if new:
                start = with_views(Start(state.bases, state.centres), new)
                yield Proposal("views added" if len(new) > 1 else "view added", start)

    def separations(
        self, state: GrowthState, j: int, rng: np.random.Generator
    ) -> Iterator[Proposal]:
        """A view split into parts that are independent of each other."""
        if state.bases[j].shape[1] < 2:
            return
        inside = np.ascontiguousarray(self.X @ state.bases[j])
        components = independent_components(inside)
        if len(components.groups) < 2:
            single = [np.array([i]) for i in range(len(components.shape))]
            components = components._replace(groups=single)
        parts = self.candidates(state.bases[j], components, rng)
        rest = changed(state, j)
        if 2 <= len(parts) <= self.max_views - len(state.bases) + 1:
            yield Proposal("view split", with_views(rest, parts))
        for part in parts if len(parts) > 2 else ():
            others = np.concatenate([each.basis for each in parts if each is not part], axis=1)
            both = [part, self.best_number(np.linalg.qr(others)[0], rng)]
            yield Proposal("view split", with_views(rest, both))
        k = state.sizes[j]
        for fewer in range(2, math.isqrt(k) + 1):
            # The clusters may be the combinations of those of two views.
            task = ViewSearch.of(inside, (-(-k // fewer), fewer), False)
            seed = np.random.SeedSequence(int(rng.integers(2**62)))
            two = halving(task, SPLIT_STARTS, seed, Watch(), None)
            if not two.n_lost:
                bases = tuple(state.bases[j] @ basis for basis in two.bases)
                centres = group(self.X, two.labels, task.sizes).centres
                start = Start((*rest.bases, *bases), (*rest.centres, *centres))
                yield Proposal("view split", start)

    def candidates(
        self, space: FloatArray, components: Components, rng: np.random.Generator
    ) -> list[Clusters]:
        """Clusterings of the independent parts of a subspace that save bits, the best first."""
        found = [
            self.best_number(space @ np.linalg.qr(components.directions[:, each])[0], rng)
            for each in components.groups
            if len(each) > 1 or components.oddity[each[0]] > ODD
        ]
        return sorted((each for each in found if each.gain > 0), key=lambda each: -each.gain)

    def best_number(self, basis: FloatArray, rng: np.random.Generator) -> Clusters:
        """The clustering of a subspace that saves most bits, whatever its number of clusters."""
        inside = np.ascontiguousarray(self.X @ basis)
        whole = np.eye(basis.shape[1])
        best, best_k, k = Clusters(-np.inf, basis, np.zeros((0, len(basis)))), 1, 2
        while k <= min(best_k + LOOK_AHEAD, self.max_clusters):
            labels = settled(inside, [seeds(inside, whole, k, rng) for _ in range(SEEDINGS)])
            gain = self.code.gain(basis, labels, k)
            if gain > best.gain:
                best = Clusters(gain, basis, group(self.X, labels[:, None], (k,)).centres[0])
                best_k = k if gain > 0 else best_k
            k += 1
        return best

    def divided(self, state: GrowthState, j: int) -> Start:
        """The cluster with the largest scatter in the view is cut in two."""
        labels, basis = state.solution.labels[:, j], state.bases[j]  # type: ignore[union-attr]
        inside = self.X @ basis
        away = inside - (state.centres[j] @ basis)[labels]
        scatter = np.bincount(labels, np.square(away).sum(axis=1), minlength=state.sizes[j])
        widest = int(scatter.argmax())
        own = away[labels == widest]
        _, lengths, right = np.linalg.svd(own, full_matrices=False)
        reach = lengths[0] / np.sqrt(len(own)) * (basis @ right[0])
        centre = state.centres[j][widest]
        centres = np.concatenate(
            [np.delete(state.centres[j], widest, axis=0), [centre - reach, centre + reach]]
        )
        return changed(state, j, centres)

    def united(self, state: GrowthState, j: int) -> Start:
        """The two clusters that are cheapest to unite become one."""
        counts = state.solution.groups.counts[j].astype(float)  # type: ignore[union-attr]
        sums = state.centres[j] * counts[:, None]
        sums, counts = merged_pair(sums, counts, state.bases[j])
        return changed(state, j, sums / counts[:, None])

    def joined(self, state: GrowthState, a: int, b: int) -> Start:
        """Two views become one; its clusters are their combinations, united while that saves."""
        labels = state.solution.labels[:, [a, b]]  # type: ignore[union-attr]
        basis = np.concatenate([state.bases[a], state.bases[b]], axis=1)
        cells = labels[:, 0].astype(np.int32) * state.sizes[b] + labels[:, 1]
        _, cells = np.unique(cells, return_inverse=True)
        groups = group(self.X, cells.astype(np.int32)[:, None], (int(cells.max()) + 1,))
        counts = groups.counts[0].astype(float)
        sums = groups.centres[0] * counts[:, None]
        best, best_gain = None, -np.inf
        while len(counts) >= 2:
            gain = self.code.gain_of(basis, sums @ basis, counts.astype(np.int64))
            if gain > best_gain and len(counts) <= self.max_clusters:
                best, best_gain = sums / counts[:, None], gain
            sums, counts = merged_pair(sums, counts, basis)
        others = [j for j in range(len(state.bases)) if j not in (a, b)]
        rest = Start(tuple(state.bases[j] for j in others), tuple(state.centres[j] for j in others))
        if best is None:
            return rest
        return Start((*rest.bases, basis), (*rest.centres, best))


def settled(inside: FloatArray, starts: Sequence[FloatArray]) -> NDArray[np.int32]:
    """Labels of the best of some starts of k-means."""
    found = settle(inside, np.array(starts), SEEDING_STEPS)
    best, most = found.labels[0], -np.inf
    for start, labels, factor, emptied in zip(starts, *found, strict=True):
        explained = float(np.square(factor).sum())
        if emptied:
            # Clusters that lose their rows are given others.
            whole = np.eye(inside.shape[1])
            run = iterate(inside, (whole,), (start,), False, 0.0, SEEDING_STEPS, turning=False)
            labels, explained = run.labels[:, 0], run.explained
        if explained > most:
            best, most = labels, explained
    return np.ascontiguousarray(best)


def changed(state: GrowthState, j: int, centres: FloatArray | None = None) -> Start:
    """The state with other centres in view j, or without it."""
    if centres is not None:
        return Start(state.bases, (*state.centres[:j], centres, *state.centres[j + 1 :]))
    return Start(
        (*state.bases[:j], *state.bases[j + 1 :]), (*state.centres[:j], *state.centres[j + 1 :])
    )


def with_views(start: Start, new: Sequence[Clusters]) -> Start:
    """More views, their directions made orthogonal to each other, the first ones' least changed."""
    turned = np.linalg.qr(np.concatenate([each.basis for each in new], axis=1))[0]
    cuts = np.cumsum([each.basis.shape[1] for each in new])[:-1]
    bases = np.split(turned, cuts, axis=1)
    return Start((*start.bases, *bases), (*start.centres, *(each.centres for each in new)))


def merged_pair(
    sums: FloatArray, counts: FloatArray, basis: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Unite the two groups whose union raises the scatter inside least (Ward's rule)."""
    inside = (sums / counts[:, None]) @ basis
    apart = np.square(inside[:, None] - inside).sum(axis=2)
    cost = apart * counts[:, None] * counts / (counts[:, None] + counts)
    np.fill_diagonal(cost, np.inf)
    i, j = sorted(np.unravel_index(int(cost.argmin()), cost.shape))
    sums, counts = sums.copy(), counts.copy()
    sums[i] += sums[j]
    counts[i] += counts[j]
    return np.delete(sums, j, axis=0), np.delete(counts, j)
