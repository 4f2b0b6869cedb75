"""The main job: from a table to a study of all its honest groupings."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.checks import check_n_jobs
from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.files.leftovers import remove_leftovers
from subscape.parallel.distributed import active_client
from subscape.parallel.local import processes_kept
from subscape.parallel.seeds import seed_sequence
from subscape.parallel.threads import one_thread
from subscape.runs.store import Run, RunStore, Task, run_all
from subscape.tables.table import Table
from subscape.validation.criteria import SIGNIFICANCE_LEVEL
from subscape.validation.fitted_tails import largest
from subscape.validation.max_statistic import NullMaxima
from subscape.validation.valleys import is_bent

from .assembly import AssessedView, assemble
from .assess import (
    NullScores,
    ViewStability,
    best_scores,
    came_back,
    chance_maxima,
    compared_rows,
    resampling_tasks,
    row_samples,
    seen_curve,
    view_stability,
)
from .boxes import BoxScorer
from .candidates import (
    Candidate,
    Compared,
    climbed,
    fitting_scorer,
    groupings,
    row_distances,
    scored,
)
from .clouds import CloudSearch, ladder
from .competition import are_pieces, merged_ideas
from .followups import MOST_TOGETHER, rest_entries, together_entries
from .ideas import (
    VERSION,
    IdeaView,
    can_have_classes,
    can_have_shapes,
    find_classes,
    is_version,
    line_view,
    returned,
    shapes_view,
)
from .information import novelty
from .journal import Journal
from .known_groupings import known_groupings
from .nested import Split, find_splits, split_again, steady_splits, undone
from .parted_tables import PartedTable, is_parted
from .plan import MOST_CLUSTERS, Entry, Plan, check_plan, make_plan, seed_of
from .preparation import Prepared, prepare
from .progress import Progress
from .rows import check_rows, searched_rows
from .scorers import GroupingScorers
from .separation import GroupingScorer, Separation, project_out
from .slices import is_sliced
from .steadiness import replace_unstable_views
from .study import Study, as_table
from .views import Consensus, consensus_of, group, ranked

#: Of the time allowed, this share may go by before further runs are admitted; the rest is for
#: tests against chance, on samples, and by other ideas of a group, each up to such a share.
SEARCH_SHARE = 0.5
CHANCE_SHARE = 0.75
LAST_SHARE = 0.9
#: No run of a finder that can be told how long it may take takes a larger share than this.
RUN_SHARE = 1 / 12
#: Runs between two looks at the clock; always this many are made.
AT_ONCE = 4
#: Views that are taken out of the table per round, to look for others in what is left.
ROOTS = 3
#: Runs per view, of different finders, that are repeated on samples.
FINDERS_PER_VIEW = 2
#: Views within whose clusters groups are looked for.
MOST_NESTED = {"quick": 1, "normal": 3, "thorough": 12}
#: Ideas of a group, as they are called while they are looked for.
WORDS = {"classes": "classes in levels", "shapes": "groups of any shape"}
#: Where all cores may be used, tables of fewer cells are searched in this process for so long.
FEW_CELLS = 300_000
SECONDS_ALONE = 2.0
#: Candidates whose rows are put where they are described best.
MOST_CLIMBED = 12


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
    on_update: Callable[[Study], Any] | None = None,
) -> Study:
    """Find every honest grouping of a table.

    Many finders search the table in many ways. Results that are the same are merged, those that
    chance would also give are marked, and what is left is ranked: the views. Each cluster is
    explained by the features that tell it.

    Parameters
    ----------
    X : array, data frame, AnnData, Table or path
        Anything that :meth:`subscape.Table.read` takes. A folder of Parquet files, a Dask array or
        data frame, another lazy table and a URL are not read into memory: their columns are
        numbers, and where a Dask client is connected its workers read them.
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
        Parallel processes (joblib). The study doesn't depend on it. With -1 as many as there are
        cores, but none while a small table is done in a few seconds without.
    random_state : int, default=0
        Seed; the same seed gives the same study.
    progress : callable, bool or None
        Called with a :class:`subscape.parallel.progress.Step`; True shows a bar. By default a quiet
        line in terminals and notebooks; False turns it off.

    on_update : callable, optional
        Called with a provisional :class:`Study` as soon as there is one, and again as certainty
        grows: after the first look, after the search, and when the views are held against chance.
        What is still to come is its ``settings["to_come"]``.

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
    table = PartedTable.of(X) if is_parted(X) else as_table(X)
    if roles:
        table = table.with_roles(roles)
    if search_rows < 10:
        raise SubscapeError(f"search_rows must be at least 10, got {search_rows}")
    check_n_jobs(n_jobs)
    seed_sequence(random_state)
    job = Exploration(
        table, effort=effort, time=time, given=given, truth=truth, search_rows=search_rows,
        folder=folder, resume=resume, n_jobs=n_jobs, random_state=random_state, progress=progress,
        on_update=on_update,
    )  # fmt: skip
    return job.run()


class Exploration:
    """One exploration: its table, its plan, and what it has found so far.

    Parameters
    ----------
    table : Table or PartedTable
    effort, time, given, truth, search_rows, folder, resume, n_jobs, random_state, progress,
    on_update
        See :func:`explore`.
    plan : callable
        Makes the plan, called as :func:`make_plan`; its result must depend on nothing else.

    See Also
    --------
    explore : Runs one from beginning to end.
    Study : What it ends in.
    """

    def __init__(
        self,
        table: Table | PartedTable,
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
        on_update: Callable[[Study], Any] | None = None,
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
        whole = isinstance(table, Table) and len(self.rows) == table.n_rows
        self.searched: Table = table if whole else table.take(self.rows)  # type: ignore[assignment]
        self.ready: Prepared = prepare(self.searched)
        self.X = np.ascontiguousarray(self.ready.X)
        self.X.flags.writeable = False
        self.plan: Plan = plan(
            *self.X.shape, len(self.ready.numeric), effort=effort, seed=self.seed
        )
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
        self._agreed: dict[tuple[int, ...], Consensus] = {}
        #: How far candidates lie apart, as far as that was asked.
        self.compared_pairs: Compared = {}
        #: What chance gives, and the other ideas of a group that were tried, once that is known.
        self.chance: NullMaxima | None = None
        self._comparing: GroupingScorer | None = None
        self._reached: NullScores | None = None
        self.ideas: list[str] = []
        #: What there was no time for.
        self.left_out: list[str] = []
        #: How often it was asked whether there is time for more runs.
        self._asked = 0
        self._on_update = on_update
        #: What a provisional study still lacks.
        self.to_come = ""
        self.folder = None if folder is None else Path(folder)
        self.store: RunStore | None = None
        journal = None
        if self.folder is not None:
            check_plan(self.folder, self.plan, table, self.given, len(self.rows), resume)
            remove_leftovers(self.folder)
            self.store = RunStore(self.folder)
            journal = self.folder / "decisions.jsonl"
        self.journal = Journal(journal)

    # -- the phases --

    def run(self) -> Study:
        """Search, test, and put the study together; on Ctrl-C, what there is until then.

        Returns
        -------
        Study
        """
        try:
            return self.complete()
        except KeyboardInterrupt:
            raise Interrupted(self.provisional()) from None

    def complete(self) -> Study:
        """The same, with Ctrl-C left to the caller.

        Returns
        -------
        Study
        """
        # Hundreds of small fits: threads of BLAS would wait for each other most of the time.
        with one_thread(), processes_kept():
            self.search()
            if self.scorer is self.scorers.directions:
                self.candidates = climbed(self.candidates, self.scorer, MOST_CLIMBED)
            self._update("tables without groups, samples of the rows")
            study = assemble(self, self.tested(self.views()), provisional=False)
            self._keep(study)
        return study

    def provisional(self) -> Study:
        """What is known by now, put together without any further search or test.

        Returns
        -------
        Study
            Marked as provisional.
        """
        study = assemble(self, [AssessedView(view) for view in self.views()], provisional=True)
        self._keep(study)
        return study

    def _update(self, to_come: str, outcome: Sequence[AssessedView] | None = None) -> None:
        """Hand on what is known by now."""
        if self._on_update is None:
            return
        known = [AssessedView(view) for view in self.views()] if outcome is None else outcome
        self.to_come = to_come
        try:
            self._on_update(assemble(self, known, provisional=True))
        finally:
            self.to_come = ""

    def search(self) -> None:
        """All rungs of the plan, then what is left without what they found."""
        for rung in self.plan.rungs:
            # Without the first one nothing would be known, however little time there is.
            if not self._admitted(rung.name) and rung is not self.plan.rungs[0]:
                self.leave_out("further searches")
                return
            if rung.only_boxes and self.scorer is not self.scorers.boxes:
                continue
            self._perform(rung.name, [self._task(entry) for entry in rung.entries])
            if rung is self.plan.rungs[0]:
                self._update("further searches, tables without groups, samples of the rows")
        taken_out: set[str] = set()
        for number in range(self.plan.rounds):
            name = f"rest {number + 1}"
            if not self._admitted(name):
                self.leave_out("further searches")
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
        """The views so far, ranked.

        Returns
        -------
        list of Consensus
        """
        candidates, _, views = self._known
        if candidates is not self.candidates:
            groups = group(self.candidates, row_distances(self.candidates, self.compared_pairs))
            known = [labels[self.rows] for labels in self.given.values()]
            found = [self._consensus(places) for places in groups]
            if self.scorer is self.scorers.directions:
                all_labels = [one.labels for one in found]
                found = [one for one in found if not is_sliced(self.scorer, one.labels, all_labels)]
            views = ranked(found, self.scorer, known)
            self._known = self.candidates, found, views
        return views

    def _consensus(self, places: list[int]) -> Consensus:
        """What some candidates agree on; the same ones are asked after every step of the search."""
        members = [self.candidates[i] for i in places]
        # What is kept holds the clusterings, so that no other ones get their numbers.
        key = (id(self.scorer), *(id(member.clustering) for member in members))
        if key not in self._agreed:
            self._agreed[key] = consensus_of(self.candidates, places, self.scorer)
        return replace(self._agreed[key], members=members, places=places)

    def tested(self, views: list[Consensus]) -> list[AssessedView]:
        """The views with their p-values, stability and replication.

        Parameters
        ----------
        views : list of Consensus

        Returns
        -------
        list of AssessedView
        """
        few_valued = self.ready.few_valued
        views = [self._as_compared(view) for view in views]
        found = [self._as_compared(one) for one in self._known[1]]
        chance = chance_maxima(
            self.X if len(few_valued) else self.Z,
            self.plan,
            self.journal,
            self.progress,
            self.jobs,
            partial(self._in_time, CHANCE_SHARE),
            few_valued,
            boxes=self.scorer is self.scorers.boxes,
            scores=[(view.score, view.normal_score) for view in [*views, *_clearest(found)]],
            basis=self._where_seen(views),
            n_ideas=self._n_ideas,
        )
        views = self._claimable_first(views, found, chance)
        self.chance = chance
        tested = [AssessedView(view, chance) for view in views]
        self._update("samples of the rows, other ideas of a group", tested)
        again = self._again(views)
        outcome = [AssessedView(v, chance, each) for v, each in zip(views, again, strict=True)]
        outcome = replace_unstable_views(outcome, self._known[1], chance, self._again)
        return self._with_nested(self._with_ideas(outcome, chance))

    def _as_compared(self, view: Consensus) -> Consensus:
        """A view with the scores by which it is held against chance."""
        return self._as_chance_searches(self._on_compared_rows(view))

    def _claimable_first(
        self, views: list[Consensus], found: Sequence[Consensus], chance: NullMaxima
    ) -> list[Consensus]:
        """The views, chosen among what chance doesn't give wherever there is such.

        Tables without groups say how far the best of *all* groupings gets by chance, so that the
        p-value of any grouping that was found is valid, whichever is chosen in the end. The
        grouping that describes most may be one that chance gives, too, while another version of
        it is not.
        """

        def p_value(view: Consensus) -> float:
            return self._n_ideas * chance.p_value(view.score, view.normal_score)

        if all(p_value(view) <= SIGNIFICANCE_LEVEL for view in views):
            return views
        sure = [one for one in found if p_value(one) <= SIGNIFICANCE_LEVEL]
        known = [labels[self.rows] for labels in self.given.values()]
        chosen = [self._as_compared(view) for view in ranked(sure, self.scorer, known)]
        chosen = [view for view in chosen if p_value(view) <= SIGNIFICANCE_LEVEL]
        rest = [
            view for view in views if not any(is_version(view.labels, one.labels) for one in chosen)
        ]
        return [*chosen, *rest] if self._lies_along_no_other_curve(chosen, chance) else views

    def _lies_along_no_other_curve(self, views: Sequence[Consensus], chance: NullMaxima) -> bool:
        """Whether tables along a curve were drawn if the clearest view lies along one."""
        basis = self._where_seen(views)
        if basis is None or chance.curve_maxima:
            return True
        numbers = ladder(len(self.compared_rows), MOST_CLUSTERS[self.plan.effort])
        table = (self.X if len(self.ready.few_valued) else self.Z)[self.compared_rows]
        return not self.journal.decide(
            "curve of a surer view", lambda: seen_curve(table, basis, numbers, self.plan.seed)
        )

    @cached_property
    def _n_ideas(self) -> int:
        """Ideas of a group that are tried on this table if clouds or boxes are sure."""
        classes = can_have_classes(self.searched, self.ready)
        return 1 + int(classes) + int(can_have_shapes(self.ready))

    def _where_seen(self, views: Sequence[Consensus]) -> FloatArray | None:
        """Where the clearest view is seen, in the columns that tables without groups are like."""
        if not views or self.scorer is not self.scorers.directions:
            return None
        basis = views[0].basis
        if not len(self.ready.few_valued) and self.Z is not self.X:
            basis = np.linalg.qr(self.scorer.directions.T @ basis)[0]
        return basis

    def _as_chance_searches(self, view: Consensus) -> Consensus:
        """A view with no larger score than the search reached that tables without groups get.

        Other finders may reach farther, but they would do so there, too.
        """
        if self.scorer is not self.scorers.directions:
            return view
        if self._reached is None:
            few_valued = self.ready.few_valued
            table = (self.X if len(few_valued) else self.Z)[self.compared_rows]
            numbers = ladder(len(table), MOST_CLUSTERS[self.plan.effort])
            seed = seed_of(self.plan.seed, 17)
            self._reached = best_scores(table, seed, few_valued, numbers=numbers)
        return replace(
            view,
            score=min(view.score, self._reached.score),
            normal_score=min(view.normal_score, self._reached.normal),
        )

    def _on_compared_rows(self, view: Consensus) -> Consensus:
        """A view with its score on the rows on which tables without groups are drawn."""
        rows = self.compared_rows
        if len(rows) == len(self.X):
            return view
        told = self.compared(view.labels, view.memberships)
        return replace(
            view,
            score=min(view.score, told.score),
            normal_score=min(view.normal_score, told.normal_score),
        )

    def compared(self, labels: NDArray[Any], memberships: BoolArray | None = None) -> Separation:
        """How clearly a grouping stands out on the rows that tables without groups have.

        Parameters
        ----------
        labels : int array of shape (n_rows,)
        memberships : bool array of shape (n_clusters, n_rows), optional

        Returns
        -------
        Separation
        """
        rows = self.compared_rows
        if len(rows) == len(self.X):
            return self.scorer(labels, memberships)
        boxes = self.scorer is self.scorers.boxes
        if self._comparing is None or isinstance(self._comparing, BoxScorer) != boxes:
            scorer = GroupingScorer(self.X[rows], self.ready.few_valued)
            self._comparing = BoxScorer(scorer) if boxes else scorer
        inside = None if memberships is None else memberships[:, rows]
        return self._comparing(labels[rows], inside)

    @property
    def compared_rows(self) -> IndexArray:
        """Rows, among those searched, on which views and tables without groups are compared."""
        boxes = self.scorer is self.scorers.boxes
        return compared_rows(len(self.X), self.plan.effort, boxes)

    def _with_ideas(self, outcome: list[AssessedView], chance: NullMaxima) -> list[AssessedView]:
        """The views among those of other ideas of a group: classes in levels, and shapes."""
        if not self.journal.decide("other ideas", partial(self._in_time, LAST_SHARE)):
            self.leave_out("other ideas of a group")
            return outcome
        if self.scorer is self.scorers.boxes and any(
            one.p_value <= SIGNIFICANCE_LEVEL for one in outcome
        ):
            # Boxes make valleys and levels of their own in the columns they are narrow in.
            return outcome
        found = self._ideas(outcome)
        self._by_line(outcome, found)
        n_ideas = 1 + len(found)
        outcome = [replace(one, n_ideas=n_ideas) for one in outcome]
        few_valued = self._share_of_levels()
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
            self.progress.tell(WORDS.get(idea.idea, idea.idea), "samples", 0, len(samples))
            steady = returned(idea, self.X, samples)
            new = AssessedView(view, chance, steady, idea, n_ideas, idea.note)
            outcome = merged_ideas(outcome, new, self.X, few_valued)
        return outcome

    def _share_of_levels(self) -> float:
        """Share of the features searched that hold few values; a feature may have many columns."""
        origin = self.ready.origin
        return len(np.unique(origin[self.ready.few_valued])) / len(np.unique(origin))

    def _with_nested(self, outcome: list[AssessedView]) -> list[AssessedView]:
        """The views, with clusters of the sure ones replaced by groups that they hold."""
        sure = [one for one in outcome if one.p_value <= SIGNIFICANCE_LEVEL]
        if self.scorer is not self.scorers.directions:
            return outcome
        for place, one in enumerate(sure[: MOST_NESTED[self.plan.effort]]):
            if one.idea is not None and one.idea.idea == "classes":
                continue
            in_time = partial(self._in_time, LAST_SHARE)
            if not self.journal.decide(f"groups within view {place + 1}", in_time):
                self.leave_out("groups within groups")
                break
            others = [each.view.basis for each in sure if each is not one]
            others += [self.scorer(labels[self.rows]).basis for labels in self.given.values()]
            finer = self._nested(one, others, f"view {place + 1}")
            if finer is not None:
                finer = self._clearer(finer, outcome)
                # What the finer view tells is not listed again as something unsure.
                outcome = [
                    finer if each is one else each
                    for each in outcome
                    if each in sure or not is_version(each.view.labels, finer.view.labels)
                ]
        return outcome

    def _clearer(self, finer: AssessedView, outcome: Sequence[AssessedView]) -> AssessedView:
        """A view of groups within groups, or clouds that describe the same rows better.

        Clouds were taken for pieces of groups of any shape; these hold groups, so they are not.
        """
        gain = self.scorer(finer.view.labels).over_normal
        for one in outcome:
            sure = one.are_pieces and replace(one, are_pieces=False).p_value <= SIGNIFICANCE_LEVEL
            if sure and self.scorer(one.view.labels).over_normal > gain:
                return replace(one, are_pieces=False, note=f"clouds; {finer.note}")
        return finer

    def _nested(
        self, one: AssessedView, others: Sequence[FloatArray], name: str
    ) -> AssessedView | None:
        """A view with the groups within its clusters; None if there are none.

        What other views tell is left out: it crosses the clusters, and is not within them.
        """
        few_valued = self.ready.few_valued
        seed = seed_of(self.plan.seed, 19)
        table = self.X if len(few_valued) else self.Z
        if others:
            if table is not self.X:
                others = [self.scorer.directions.T @ basis for basis in others]
            told = np.linalg.qr(np.column_stack(others))[0]
            if told.shape[1] >= table.shape[1]:
                return None
            table = project_out(table, told)
        before = one.view.labels

        def chance(
            part: FloatArray,
            few: IndexArray,
            numbers: Sequence[int],
            scores: tuple[float, float],
            seen: FloatArray,
            which: str,
        ) -> NullMaxima:
            return chance_maxima(
                part, self.plan, self.journal, self.progress, self.jobs,
                partial(self._in_time, LAST_SHARE), few, scores=[scores], numbers=numbers,
                basis=seen, where=f"{name} {which}",
            )  # fmt: skip

        shape = one.idea is not None and one.idea.idea == "shapes" and one.view.basis.shape[1] > 1
        where = one.view.basis if shape and table.shape[1] == self.X.shape[1] else None
        labels, splits = find_splits(
            table, before, few_valued, self.plan.effort, seed, chance, where
        )
        if not splits:
            return None
        finer = self._with_splits(one, table, labels, splits)
        lasting = steady_splits(splits, labels, one.again, finer.again)
        if len(lasting) == len(splits):
            return finer
        labels = undone(labels, [split for split in splits if split not in lasting])
        return self._with_splits(one, table, labels, lasting) if lasting else None

    def _with_splits(
        self, one: AssessedView, table: FloatArray, labels: IntArray, splits: Sequence[Split]
    ) -> AssessedView:
        """A view with some of its clusters split."""
        few_valued = self.ready.few_valued
        seed = seed_of(self.plan.seed, 19)
        bases = [split.basis for split in splits]
        if table is not self.X:
            bases = [self.scorer.directions @ basis for basis in bases]
        basis = np.linalg.qr(np.column_stack([one.view.basis, *bases]))[0]
        parts = [
            f"the group of {len(split.rows)} rows is {split.n_groups} "
            f"(p {'<' if split.p_value < 0.001 else '='} {max(split.p_value, 0.001):.2g})"
            for split in splits
        ]
        known = {}
        if one.again is not None:
            known = {
                rows.tobytes(): found for rows, found in (*one.again.halves, *one.again.samples)
            }

        def again(rows: IndexArray) -> IntArray:
            found = known.get(np.asarray(rows, dtype=np.intp).tobytes())
            if found is None:
                found = np.zeros(len(rows), dtype=np.int64)
            return split_again(table, rows, found, splits, few_valued, seed)

        p_value = max([one.p_value, *(split.p_value for split in splits)]) / one.n_ideas
        intervals = [split.interval for split in splits if split.interval is not None]
        if one.interval is not None:
            intervals.append(one.interval)
        idea = IdeaView(
            idea="nested", labels=labels, score=one.view.score, p_value=p_value, maxima=(),
            columns=np.arange(self.X.shape[1]), basis=basis,
            finders=("CloudSearch",) if one.idea is None else (*one.idea.finders, "CloudSearch"),
            note=f"groups within groups: {'; '.join(parts)}", again=again,
            gain=lambda given: self.scorer(given).gain, n_tables=one.n_tables,
            interval=largest(*intervals).times(1 / one.n_ideas) if intervals else None,
        )  # fmt: skip
        samples = row_samples(len(self.X), self.plan.effort, self.plan.seed)
        view = replace(
            one.view, memberships=np.array([labels == k for k in range(idea.n_groups)]),
            labels=labels, row_confidence=np.ones(len(self.X)), basis=basis,
        )  # fmt: skip
        steady = returned(idea, self.X, samples)
        return AssessedView(view, one.chance, steady, idea, one.n_ideas, idea.note)

    def _ideas(self, outcome: Sequence[AssessedView]) -> list[IdeaView | None]:
        """Other ideas of a group that this table allows, each searched and tested."""
        n_tables, seed = self.plan.n_null, self.plan.seed
        found = []
        self.ideas = []
        self.progress.tell(WORDS["classes"], "chance", 0, n_tables)
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
                        WORDS["shapes"], "chance", done, most
                    ),
                    is_known=lambda labels: self._is_told(labels, outcome),
                )
            )
        return found

    def _by_line(self, outcome: list[AssessedView], found: list[IdeaView | None]) -> None:
        """Where nothing is sure, a valley along a line is looked for, too.

        Not where rows lie along a ring or a bent curve: its bends are dense, seen from the side.
        """
        if self.chance is not None and self.chance.curve_maxima:
            seen = str(self.journal.decide("curve", lambda: None))
            if "ring" in seen or is_bent(self.X):
                return
        sure = [one.p_value <= SIGNIFICANCE_LEVEL for one in outcome]
        sure += [
            idea is not None and (1 + len(found)) * idea.p_value <= SIGNIFICANCE_LEVEL
            for idea in found
        ]
        if not any(sure):
            self.ideas.append("a valley along a line")
            found.append(line_view(self.ready, seed=self.plan.seed))

    def _is_told(self, labels: IntArray, outcome: Sequence[AssessedView]) -> bool:
        """Whether groups of any shape are told by clouds that are sure, and no pieces of them."""
        n_groups = len(np.unique(labels[labels >= 0]))
        return n_groups < 2 or any(
            one.p_value <= SIGNIFICANCE_LEVEL / 3
            and novelty(labels, one.view.labels) <= VERSION
            and not are_pieces(one.view, n_groups, self.X)
            for one in outcome
        )

    # -- the steps of a phase --

    def _task(self, entry: Entry) -> Task:
        finder = entry.make()
        few_valued = self.ready.few_valued
        if isinstance(finder, CloudSearch):
            finder.set_params(few_valued=tuple(few_valued.tolist()))
        if self.time is not None and "max_time" in finder.get_params():
            finder.set_params(max_time=RUN_SHARE * self.time)
        turned = entry.columns == "directions" or (
            isinstance(finder, CloudSearch) and not len(few_valued)
        )
        return Task(
            finder,
            self.Z if turned else self.X,
            columns=self.ready.numeric if entry.columns == "numeric" else None,
            seed=entry.seed,
            note={"title": entry.title()},
        )

    def _perform(self, name: str, tasks: Sequence[Task]) -> None:
        runs = self._run(name, tasks, SEARCH_SHARE)
        for task, run in zip(tasks, runs, strict=self.time is None):
            self.tasks.setdefault(run.id, task)
        self.runs += runs
        found = groupings(self.runs)
        self.scorer = fitting_scorer(found, self.scorers)
        self.candidates = scored(found, self.scorer)
        self.progress.views = len(self._known[2])

    def _run(self, name: str, tasks: Sequence[Task], share: float = LAST_SHARE) -> list[Run]:
        """The runs of all tasks, or of as many as are begun before such a share of the time."""
        if self.time is None:
            # Rungs have the cheap finders first; side by side, the long ones are begun first.
            step = 1 if self.jobs in (None, 1) else -1
            return run_all(tasks[::step], self.store, self.jobs, self.progress.rung(name))[::step]
        runs: list[Run] = []
        for first in range(0, len(tasks), AT_ONCE):
            if first and not self._goes_on(name, share):
                break
            part = tasks[first : first + AT_ONCE]
            runs += run_all(part, self.store, self.jobs, self.progress.rung(name))
        return runs

    def _goes_on(self, name: str, share: float) -> bool:
        """Whether there is time for more runs; each time that is asked it is another decision."""
        self._asked += 1
        decision = f"more runs of {name} ({self._asked})"
        goes_on = bool(self.journal.decide(decision, partial(self._in_time, share)))
        if not goes_on:
            self.leave_out("samples of the rows" if name == "samples" else "further searches")
        return goes_on

    def leave_out(self, words: str) -> None:
        """Note what there was no time for."""
        if words not in self.left_out:
            self.left_out.append(words)

    @property
    def jobs(self) -> int | None:
        """As many jobs as were asked for; of "as many as there are", one as long as it is enough.

        To start processes takes longer than most explorations of a small table.
        """
        few = self.X.size < FEW_CELLS and clock.monotonic() - self.began < SECONDS_ALONE
        if self.n_jobs is not None and self.n_jobs < 0 and few and active_client() is None:
            return 1
        return self.n_jobs

    def _admitted(self, name: str) -> bool:
        return bool(self.journal.decide(f"admit {name}", lambda: self._in_time(SEARCH_SHARE)))

    def _in_time(self, share: float = 1.0) -> bool:
        return self.time is None or clock.monotonic() - self.began < share * self.time

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
            for entry in rest_entries(self.seed, number, place, self.plan.effort):
                note = {"title": f"{entry.title()} without {title}"}
                tasks.append(Task(entry.make(), rest, seed=entry.seed, note=note))
        return tasks

    def _together(self, number: int) -> list[Task]:
        """Several views at once, with the numbers of clusters found so far and a little more."""
        sizes = self.journal.decide(
            f"sizes for together {number + 1}",
            lambda: [len(view.memberships) for view in self.views()[:MOST_TOGETHER]],
        )
        asked = {tuple(k[:-1]) for task in self.tasks.values() if (k := _views_of(task))}
        entries = together_entries(sizes, self.seed, number, self.Z.shape, asked)
        return [self._task(entry) for entry in entries]

    def _best_tasks(self, views: Sequence[Consensus]) -> list[tuple[Task, list[Consensus]]]:
        """The runs behind the views, and for which: the best of each, then of other finders."""
        # Many runs find the same groups. Not the last bit of a score says which is repeated: it is
        # the quick search, and of others the one that was planned first.
        planned = {run.id: place for place, run in reversed(list(enumerate(self.runs)))}

        def clearest(member: Candidate) -> tuple[float, bool, int]:
            quick = member.finder == CloudSearch.__name__
            return -round(member.score, 9), not quick, planned.get(member.run.id, 0)

        best: list[list[str]] = []
        for view in views:
            by_finder: dict[str, str] = {}
            for member in sorted(view.members, key=clearest):
                by_finder.setdefault(member.finder, member.run.id)
            best.append(list(by_finder.values())[:FINDERS_PER_VIEW])
        asked: dict[str, list[Consensus]] = {}
        for rank in range(FINDERS_PER_VIEW):
            for view, names in zip(views, best, strict=True):
                for name in names[rank : rank + 1]:
                    asked.setdefault(name, []).append(view)
        return [(self.tasks[name], theirs) for name, theirs in asked.items()]

    def _again(self, views: Sequence[Consensus]) -> list[ViewStability]:
        """How the views come back on samples of the rows."""
        best = self._best_tasks(views)
        repeated = resampling_tasks(
            [task for task, _ in best], len(self.X), self.plan.effort, self.plan.seed
        )
        samples: list[list[Run]] = [[] for _ in repeated]
        for place, (_, theirs) in enumerate(best):
            if place and self.time is not None and not self._goes_on("samples", LAST_SHARE):
                break
            # Another finder is asked on the samples on which a view did not come back.
            missing = [
                s for s, runs in enumerate(samples) if not all(came_back(v, runs) for v in theirs)
            ]
            runs = self._run("samples", [repeated[s][place] for s in missing]) if missing else []
            for s, run in zip(missing, runs, strict=self.time is None):
                samples[s].append(run)
        # The first ones are the halves; where time ran out, the last ones were not searched.
        samples = [runs for s, runs in enumerate(samples) if runs or s < 2 or not best]
        return [view_stability(view, samples, self.Z) for view in views]

    def _keep(self, study: Study) -> None:
        if self.folder is not None:
            study.save(self.folder)


def _clearest(found: Sequence[Consensus]) -> list[Consensus]:
    """The groupings with the largest scores, over one hump and over one normal distribution."""
    if not found:
        return []
    best = {id(max(found, key=key)): max(found, key=key) for key in (_score, _normal_score)}
    return list(best.values())


def _views_of(task: Task) -> Sequence[int]:
    """The numbers of clusters of the views that a run asked for, if it asked for several."""
    asked = getattr(task.finder, "n_clusters", None)
    return asked if isinstance(asked, (list, tuple)) else ()


def _score(view: Consensus) -> float:
    return view.score


def _normal_score(view: Consensus) -> float:
    return view.normal_score


class Interrupted(KeyboardInterrupt):
    """The exploration was stopped; ``study`` is what there was until then."""

    def __init__(self, study: Study) -> None:
        super().__init__("stopped; what was found so far is marked provisional")
        self.study = study
