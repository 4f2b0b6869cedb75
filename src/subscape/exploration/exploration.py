"""The main job: from a table to a study of all its honest groupings."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from subscape.core.checks import check_n_jobs
from subscape.core.errors import SubscapeError
from subscape.files.leftovers import remove_leftovers
from subscape.parallel.seeds import seed_sequence
from subscape.runs.store import Run, RunStore, Task, run_all
from subscape.tables.table import Table
from subscape.validation.criteria import SIGNIFICANCE_LEVEL
from subscape.validation.max_statistic import NullMaxima

from .assembly import AssessedView, assemble
from .assess import (
    ViewStability,
    chance_maxima,
    resampling_tasks,
    row_samples,
    view_stability,
)
from .candidates import Candidate, climbed, fitting_scorer, groupings, row_distances, scored
from .competition import merged_ideas
from .followups import MOST_TOGETHER, rest_entries, together_entries
from .ideas import (
    IdeaView,
    can_have_classes,
    can_have_shapes,
    find_classes,
    returned,
    shapes_view,
)
from .journal import Journal
from .known import known_groupings
from .plan import Entry, Plan, check_plan, make_plan, seed_of
from .preparation import Prepared, prepare
from .progress import Progress
from .rows import check_rows, searched_rows
from .scorers import GroupingScorers
from .separation import GroupingScorer, project_out
from .steadiness import replace_unstable_views
from .study import Study, as_table
from .views import Consensus, consensus_of, group, ranked

#: Of the time allowed, this share may go by before a further rung is admitted; the rest is for
#: tests against chance and on samples.
SEARCH_SHARE = 0.5
#: Views that are taken out of the table per round, to look for others in what is left.
ROOTS = 3
#: Runs per view, of different finders, that are repeated on samples.
FINDERS_PER_VIEW = 2
#: Candidates whose rows are put where they are described best.
MOST_CLIMBED = 12
#: Extra seeds for the finders of the best views.
EXTRA_SEEDS = 2


def explore(
    X: Any,
    *,
    effort: str = "normal",
    time: float | None = None,
    given: Any = None,
    truth: Any = None,
    roles: Mapping[str, str] | None = None,
    search_rows: int = 20_000,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Callable[[Any], Any] | bool | None = None,
) -> Study:
    """Find every honest grouping of a table.

    Many finders search the table in many ways. Results that are the same are merged, those that
    chance would also give are marked, and what is left is ranked: the views. Each cluster is
    explained by the features that tell it.

    Parameters
    ----------
    X : array, data frame, AnnData, Table or path
        Anything that :meth:`subscape.Table.read` takes.
    effort : {"quick", "normal", "thorough"}
        How much is tried.
    time : float, optional
        Seconds after which no further part of the plan is begun.
    given : labels, clustering or list of them, optional
        Groupings that are known and shall not be found again.
    truth : labels, clustering, mapping from name to labels, or list of them, optional
        Groupings to compare with afterwards; the search never sees them. They and the given ones
        are joined to the table by the names of the rows if both have them, else by order.
    roles : mapping from column name to role, optional
        "numeric", "nominal", "date", "id", "label" or "ignore", instead of what is detected.
    search_rows : int, default=20000
        With more rows, the search is done on a sample of this size; all rows are then put into
        the clusters found.
    folder : path, optional
        Where finished runs, decisions and results are kept, so that the work can be resumed.
    resume : bool, default=False
        Go on with the exploration in ``folder``; its plan must be the same.
    n_jobs : int, optional
        Parallel processes (joblib). The study doesn't depend on it.
    random_state : int, default=0
        Seed; the same seed gives the same study.
    progress : callable, True or None
        Called with a :class:`subscape.parallel.progress.Step`; True shows a bar.

    Returns
    -------
    Study
        ``print(study)`` says the answer in words. ``study[1]`` is the first :class:`View`:
        its ``labels``, ``clustering`` (rows and features), ``descriptions`` and ``facts`` (what
        tells each cluster), ``p_value``, ``stability`` and ``at(n_clusters)`` (coarser levels).
        ``study.significant_views`` are those better than chance, ``study.between_views`` says how
        much they share. ``study.to_frame()`` and ``study.to_records()`` have a line per cluster,
        ``study.predict(X_new)`` puts new rows into the clusters, ``study.save(folder)`` and
        ``study.write_anndata(adata)`` keep it.

    See Also
    --------
    subscape.load_study : Read a study from its folder again.
    subscape.report.write_report : The page of a study.
    subscape.validation.significance : Hold one finder's result against chance.
    subscape.finders : The finders by themselves.

    Examples
    --------
    >>> import subscape
    >>> from subscape.datasets import planted_views
    >>> X, truths = planted_views(300, 8, n_clusters=(3, 2), random_state=0)
    >>> study = subscape.explore(X, effort="quick")
    >>> sorted(view.n_clusters for view in study.views[:2])
    [2, 3]
    >>> study[1].labels.shape, len(study[1].descriptions) == study[1].n_clusters
    ((300,), True)
    """
    table = as_table(X)
    if roles:
        table = table.with_roles(roles)
    if search_rows < 10:
        raise SubscapeError(f"search_rows must be at least 10, got {search_rows}")
    check_n_jobs(n_jobs)
    seed_sequence(random_state)
    job = Exploration(
        table, effort=effort, time=time, given=given, truth=truth, search_rows=search_rows,
        folder=folder, resume=resume, n_jobs=n_jobs, random_state=random_state, progress=progress,
    )  # fmt: skip
    return job.run()


class Exploration:
    """One exploration: its table, its plan, and what it has found so far.

    Parameters
    ----------
    table : Table
    effort, time, given, truth, search_rows, folder, resume, n_jobs, random_state, progress
        See :func:`explore`.
    plan : callable
        Makes the plan, called as :func:`make_plan`; its result must depend on nothing else.
    """

    def __init__(
        self,
        table: Table,
        *,
        effort: str = "normal",
        time: float | None = None,
        given: Any = None,
        truth: Any = None,
        search_rows: int = 20_000,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: Any = None,
        plan: Callable[..., Plan] = make_plan,
    ) -> None:
        check_rows(table)
        self.began = clock.monotonic()
        self.table = table
        self.time = time
        self.n_jobs = n_jobs
        self.given = known_groupings(given, table.n_rows, "given", table.row_names)
        self.truth = known_groupings(truth, table.n_rows, "truth", table.row_names)
        self.seed = (
            int(random_state)
            if isinstance(random_state, (int, np.integer))
            else int(seed_sequence(random_state).generate_state(1)[0] >> 1)
        )
        self.rows = searched_rows(table.shape, search_rows, self.seed)
        #: The rows that are searched; all else is learned from them.
        self.searched = table if len(self.rows) == table.n_rows else table.take(self.rows)
        self.ready: Prepared = prepare(self.searched)
        self.X = np.ascontiguousarray(self.ready.X)
        self.X.flags.writeable = False
        self.plan: Plan = plan(
            *self.X.shape, len(self.ready.numeric), effort=effort, seed=self.seed
        )
        self.folder = None if folder is None else Path(folder)
        self.store: RunStore | None = None
        journal = None
        if self.folder is not None:
            check_plan(self.folder, self.plan, table, self.given, len(self.rows), resume)
            remove_leftovers(self.folder)
            self.store = RunStore(self.folder)
            journal = self.folder / "decisions.jsonl"
        self.journal = Journal(journal)
        self.progress = Progress(progress, time)
        #: The scorer that fits what was found so far, one of all that there are.
        self.scorer = GroupingScorer(self.X, self.ready.few_valued)
        self.scorers = GroupingScorers(self.scorer)
        #: The table in its principal directions, where these are fewer than its columns.
        self.Z = self.scorer.Z if self.scorer.Z.shape[1] < self.X.shape[1] else self.X
        self.Z.flags.writeable = False
        self.runs: list[Run] = []
        self.tasks: dict[str, Task] = {}
        self.candidates: list[Candidate] = []
        #: Candidates, what groups of them agree on, and the views among these, at the last moment
        #: when all were known.
        self._known: tuple[list[Candidate], list[Consensus], list[Consensus]]
        self._known = self.candidates, [], []
        #: What chance gives, and the other ideas of a group that were tried, once that is known.
        self.chance: NullMaxima | None = None
        self.ideas: list[str] = []

    # -- the phases --

    def run(self) -> Study:
        """Search, test, and put the study together; on Ctrl-C, what there is until then."""
        try:
            return self.complete()
        except KeyboardInterrupt:
            raise Interrupted(self.provisional()) from None

    def complete(self) -> Study:
        """The same, with Ctrl-C left to the caller."""
        self.search()
        if self.scorer is self.scorers.directions:
            self.candidates = climbed(self.candidates, self.scorer, MOST_CLIMBED)
        study = assemble(self, self.tested(self.views()), provisional=False)
        self._keep(study)
        return study

    def provisional(self) -> Study:
        """What is known by now, put together without any further search or test."""
        self.candidates, _, views = self._known
        study = assemble(self, [AssessedView(view) for view in views], provisional=True)
        self._keep(study)
        return study

    def search(self) -> None:
        """All rungs of the plan, then the winners again, then what is left without them."""
        for rung in self.plan.rungs:
            if not self._admitted(rung.name):
                return
            self._perform(rung.name, [self._task(entry) for entry in rung.entries])
        if self._admitted("winners"):
            self._perform("winners", self._winners())
        taken_out: set[str] = set()
        for number in range(self.plan.rounds):
            name = f"rest {number + 1}"
            if not self._admitted(name):
                return
            before = {view.members[0].name for view in self.views()}
            roots = self.journal.decide(f"roots of {name}", lambda: self._roots(taken_out))
            taken_out.update(roots)
            tasks = self._rest_tasks(roots, number)
            if not tasks:
                return
            self._perform(name, tasks)
            self._perform(f"together {number + 1}", self._together(number))
            after = {view.members[0].name for view in self.views()}
            if self.journal.decide(f"end after {name}", lambda a=after, b=before: not a - b):
                return

    def views(self) -> list[Consensus]:
        """The views so far, ranked."""
        candidates, _, views = self._known
        if candidates is not self.candidates:
            groups = group(self.candidates, row_distances(self.candidates))
            known = [labels[self.rows] for labels in self.given.values()]
            found = [consensus_of(self.candidates, places, self.scorer) for places in groups]
            views = ranked(found, self.scorer, known)
            self._known = self.candidates, found, views
        return views

    def tested(self, views: list[Consensus]) -> list[AssessedView]:
        """The views with their p-values, stability and replication."""
        few_valued = self.ready.few_valued
        chance = chance_maxima(
            self.X if len(few_valued) else self.Z,
            self.plan,
            self.journal,
            self.progress,
            self.n_jobs,
            self._in_time,
            few_valued,
            boxes=self.scorer is self.scorers.boxes,
            scores=[view.score for view in views],
        )
        self.chance = chance
        again = self._again(views)
        outcome = [AssessedView(v, chance, each) for v, each in zip(views, again, strict=True)]
        outcome = replace_unstable_views(outcome, self._known[1], chance, self._again)
        return self._with_ideas(outcome, chance)

    def _with_ideas(self, outcome: list[AssessedView], chance: NullMaxima) -> list[AssessedView]:
        """The views among those of other ideas of a group: classes in levels, and shapes."""
        if not self.journal.decide("other ideas", self._in_time):
            return outcome
        if self.scorer is self.scorers.boxes and any(
            one.p_value <= SIGNIFICANCE_LEVEL for one in outcome
        ):
            # Boxes make valleys and levels of their own in the columns they are narrow in.
            return outcome
        found = self._ideas()
        n_ideas = 1 + len(found)
        outcome = [replace(one, n_ideas=n_ideas) for one in outcome]
        few_valued = len(self.ready.few_valued) / self.X.shape[1]
        samples = row_samples(len(self.X), self.plan.effort, self.plan.seed)
        for idea in found:
            if idea is None:
                continue
            memberships = np.array([idea.labels == k for k in range(idea.n_groups)])
            view = Consensus(
                members=[], places=[], memberships=memberships, labels=idea.labels,
                row_confidence=np.ones(len(self.X)), score=idea.score, gain=idea.score,
                entropy=float("nan"), basis=np.linalg.qr(idea.basis)[0],
            )  # fmt: skip
            again = returned(idea, self.X, samples)
            steady = ViewStability(
                again.stability, again.clusters, again.replication, tuple(again.samples)
            )
            new = AssessedView(view, chance, steady, idea, n_ideas, idea.note)
            outcome = merged_ideas(outcome, new, self.X, few_valued, self.plan.seed)
        return outcome

    def _ideas(self) -> list[IdeaView | None]:
        """Other ideas of a group that this table allows, each searched and tested."""
        n_tables, seed = self.plan.n_null, self.plan.seed
        found = []
        self.ideas = []
        self.progress.tell("classes in levels", "chance", 0, n_tables)
        if can_have_classes(self.searched, self.ready):
            self.ideas.append("classes")
            found.append(find_classes(self.searched, self.ready, n_tables=n_tables, seed=seed))
        if can_have_shapes(self.ready):
            self.ideas.append("shapes")
            found.append(
                shapes_view(
                    self.ready,
                    n_tables=n_tables,
                    seed=seed,
                    tell=lambda done, most: self.progress.tell(
                        "groups of any shape", "chance", done, most
                    ),
                )
            )
        return found

    # -- the steps of a phase --

    def _task(self, entry: Entry) -> Task:
        return Task(
            entry.make(),
            self.Z if entry.columns == "directions" else self.X,
            columns=self.ready.numeric if entry.columns == "numeric" else None,
            seed=entry.seed,
            note={"title": entry.title()},
        )

    def _perform(self, name: str, tasks: Sequence[Task]) -> None:
        runs = self._run(name, tasks)
        for task, run in zip(tasks, runs, strict=True):
            self.tasks.setdefault(run.id, task)
        self.runs += runs
        found = groupings(self.runs)
        self.scorer = fitting_scorer(found, self.scorers)
        self.candidates = scored(found, self.scorer)
        # Also so that whoever stops the search need not wait for them.
        self.progress.views = len(self.views())

    def _run(self, name: str, tasks: Sequence[Task]) -> list[Run]:
        return run_all(tasks, self.store, self.n_jobs, self.progress.rung(name))

    def _admitted(self, name: str) -> bool:
        return bool(self.journal.decide(f"admit {name}", lambda: self._in_time(SEARCH_SHARE)))

    def _in_time(self, share: float = 1.0) -> bool:
        return self.time is None or clock.monotonic() - self.began < share * self.time

    def _winners(self) -> list[Task]:
        """Finders of the best views, with other seeds."""
        names = self.journal.decide(
            "winners", lambda: [view.members[0].name for view in self.views()[:ROOTS]]
        )
        again = []
        for place, name in enumerate(names):
            task = self.tasks[name.partition("#")[0]]
            if hasattr(task.finder, "random_state"):
                again += [
                    replace(task, seed=seed_of(self.seed, 3, place, extra))
                    for extra in range(EXTRA_SEEDS)
                ]
        return again

    def _roots(self, taken_out: set[str]) -> list[str]:
        fresh = [f"given {name}" for name in self.given if f"given {name}" not in taken_out]
        fresh += [
            view.members[0].name for view in self.views() if view.members[0].name not in taken_out
        ]
        return fresh[:ROOTS]

    def _rest_tasks(self, roots: Sequence[str], number: int) -> list[Task]:
        named = {candidate.name: candidate for candidate in self.candidates}
        tasks = []
        for place, name in enumerate(roots):
            if name.startswith("given "):
                basis, title = self.scorer(self.given[name[6:]][self.rows]).basis, name
            else:
                basis, title = named[name].basis, named[name].title
            if self.Z is not self.X:
                basis = np.linalg.qr(self.scorer.directions.T @ basis)[0]
            if basis.shape[1] >= self.Z.shape[1]:
                continue
            rest = project_out(self.Z, basis)
            rest.flags.writeable = False
            for entry in rest_entries(self.seed, number, place, len(self.X)):
                note = {"title": f"{entry.title()} without {title}"}
                tasks.append(Task(entry.make(), rest, seed=entry.seed, note=note))
        return tasks

    def _together(self, number: int) -> list[Task]:
        """Several views at once, with the numbers of clusters found so far and a little more."""
        sizes = self.journal.decide(
            f"sizes for together {number + 1}",
            lambda: [len(view.memberships) for view in self.views()[:MOST_TOGETHER]],
        )
        entries = together_entries(sizes, self.seed, number, self.Z.shape)
        return [self._task(entry) for entry in entries]

    def _best_tasks(self, views: Sequence[Consensus]) -> list[Task]:
        """The runs behind the views: for each the best, and the best of another finder."""
        names: dict[str, None] = {}
        for view in views:
            finders: set[str] = set()
            for member in view.members:
                if member.finder not in finders and len(finders) < FINDERS_PER_VIEW:
                    finders.add(member.finder)
                    names.setdefault(member.run.id)
        return [self.tasks[name] for name in names]

    def _again(self, views: Sequence[Consensus]) -> list[ViewStability]:
        """How the views come back on samples of the rows."""
        repeated = resampling_tasks(
            self._best_tasks(views), len(self.X), self.plan.effort, self.plan.seed
        )
        runs = iter(self._run("samples", [task for tasks in repeated for task in tasks]))
        samples = [[next(runs) for _ in tasks] for tasks in repeated]
        return [view_stability(view, samples, self.Z) for view in views]

    def _keep(self, study: Study) -> None:
        if self.folder is not None:
            study.save(self.folder)


class Interrupted(KeyboardInterrupt):
    """The exploration was stopped; ``study`` is what there was until then."""

    def __init__(self, study: Study) -> None:
        super().__init__("stopped; what was found so far is marked provisional")
        self.study = study
