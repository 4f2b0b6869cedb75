"""What is tried on a table: finders, their parameters and seeds, in rungs from cheap to dear.

The plan is a function of the table's shape, the effort and the seed alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core.errors import FileFormatError, SubscapeError
from subscape.files.atomic import write_text_atomically
from subscape.finders.catalogue import EFFORTS, find, tried_in
from subscape.runs.identity import environment, fingerprint
from subscape.tables.table import Table

from .clouds import CloudSearch
from .parted_tables import PartedTable

#: Finders that need a number of clusters try these.
NUMBERS = {"quick": (2, 3, 4, 5, 6), "normal": (2, 3, 4, 5, 6, 8), "thorough": tuple(range(2, 13))}
#: The ladder of numbers of clusters of the quick search ends here, also in tables without groups.
MOST_CLUSTERS = {"quick": 15, "normal": 29, "thorough": 40}
#: The rungs, in the order in which they are run; the catalogue says which finders each has.
RUNGS = ("clouds", "views", "axis-aligned", "boxes", "oriented")
#: Numbers of clusters per view for searches of several views at once.
VIEWS = {
    "quick": ((2, 2), (3, 3), (4, 3), (3, 3, 3)),
    "normal": ((2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4), (3, 3, 3), (4, 3, 2), (5, 4, 3)),
    "thorough": (
        (2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4), (5, 3), (5, 4), (6, 4), (2, 2, 2),
        (3, 2, 2), (3, 3, 2), (3, 3, 3), (4, 3, 2), (4, 4, 3), (5, 4, 3), (6, 4, 3), (4, 4, 3, 2),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One run of the plan.

    Attributes
    ----------
    finder : str
        Name of the estimator's class.
    parameters : dict
    seed : int
    columns : {"all", "numeric", "directions"}
        The columns it sees. Oriented finders see only numbers; finders that don't care how the
        table is turned see its principal directions, which are fewer where the table is wide.
    """

    finder: str
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    columns: str = "all"

    def make(self) -> Any:
        """The estimator."""
        if self.finder == CloudSearch.__name__:
            return CloudSearch(**_listed(self.parameters))
        return find(self.finder).make(**_listed(self.parameters))

    def title(self) -> str:
        """Name and parameters in one line."""
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.finder}({inside})"


@dataclass(frozen=True)
class Rung:
    """Runs that are done together before anything is decided.

    Attributes
    ----------
    name : str
    entries : tuple of Entry
    only_boxes : bool
        Whether they are done only if boxes describe the table best so far: these finders look for
        nothing else.
    """

    name: str
    entries: tuple[Entry, ...]
    only_boxes: bool = False


@dataclass(frozen=True)
class Plan:
    """What will be tried.

    Attributes
    ----------
    effort : str
    seed : int
    shape : tuple of int
        Rows and columns that are searched.
    rungs : tuple of Rung
    rounds : int
        How often, after these, each strong grouping is taken out of the table and the rest is
        searched for another one.
    n_null : int
        Tables without groups, like this one otherwise, to which the results are compared.
    not_run : tuple of (str, str)
        Finders that this effort would have, but a table of this shape has not: name, and which
        tables they are for.
    """

    effort: str
    seed: int
    shape: tuple[int, int]
    rungs: tuple[Rung, ...]
    rounds: int
    n_null: int
    not_run: tuple[tuple[str, str], ...] = ()

    @property
    def n_runs(self) -> int:
        """Runs of all rungs."""
        return sum(len(rung.entries) for rung in self.rungs)

    def not_run_in_words(self) -> str:
        """The finders that are not run, each with the tables that it is for.

        >>> make_plan(5000, 12, 12).not_run_in_words()[:40]
        'HDBSCAN (for 3,000 rows at most, because'
        """
        return "; ".join(f"{name} ({why})" for name, why in self.not_run)

    def to_json(self) -> str:
        """The plan as text; equal plans give equal text."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def make_plan(
    n_rows: int, n_columns: int, n_numeric: int, *, effort: str = "normal", seed: int = 0
) -> Plan:
    """Plan of the runs for a table of this shape.

    Parameters
    ----------
    n_rows, n_columns : int
        Rows and columns searched.
    n_numeric : int
        How many of the columns are numbers.
    effort : {"quick", "normal", "thorough"}
    seed : int

    Returns
    -------
    Plan
        Rungs of runs, in the order in which they are run.

    See Also
    --------
    explore : Does what is planned.
    subscape.finders.catalogue.Trial : What the catalogue says about it.

    Examples
    --------
    >>> plan = make_plan(500, 12, 12, effort="quick")
    >>> [rung.name for rung in plan.rungs]
    ['clouds', 'views', 'axis-aligned', 'boxes']
    >>> plan == make_plan(500, 12, 12, effort="quick")
    True
    """
    if effort not in EFFORTS:
        raise SubscapeError(f"effort is one of {', '.join(EFFORTS)}, not {effort!r}")
    numbers = [k for k in NUMBERS[effort] if k <= max(2, n_rows // 5)]
    views = [
        list(each) for each in VIEWS[effort] if len(each) < n_columns and max(each) <= n_rows // 5
    ]
    shape = n_rows, n_columns, n_numeric
    rungs = []
    place = 0
    for name in RUNGS:
        entries = tried_entries(name, numbers, shape, effort=effort, views=views)
        if name == "clouds":
            # The quick search; with more effort from other starts, too.
            searches = {"quick": 1, "normal": 2, "thorough": 4}[effort]
            entries = [Entry("CloudSearch", {"most": MOST_CLUSTERS[effort]})] * searches + entries
        seeded = []
        for entry in entries:
            seeded.append(_seeded(entry, seed, place))
            place += 1
        if seeded:
            rungs.append(Rung(name, tuple(seeded), only_boxes=name == "boxes"))
    return Plan(
        effort=effort,
        seed=int(seed),
        shape=(n_rows, n_columns),
        rungs=tuple(rungs),
        rounds={"quick": 3, "normal": 3, "thorough": 4}[effort],
        n_null={"quick": 20, "normal": 40, "thorough": 99}[effort],
        not_run=_not_run(shape, effort),
    )


def seed_of(seed: int, *place: int) -> int:
    """An independent seed for a place in the plan."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1)[0] >> 1)


def _seeded(entry: Entry, seed: int, place: int) -> Entry:
    return Entry(entry.finder, entry.parameters, seed_of(seed, place), entry.columns)


def tried_entries(
    rung: str,
    numbers: Sequence[int],
    shape: tuple[int, int, int],
    *,
    effort: str = "normal",
    views: Sequence[Sequence[int]] = (),
) -> list[Entry]:
    """The runs of the finders that the catalogue has for a rung.

    Parameters
    ----------
    rung : str
        See :class:`subscape.finders.catalogue.Trial`.
    numbers : sequence of int
        Numbers of clusters to try.
    shape : tuple of int
        Rows, columns, and columns of numbers.
    effort : str
    views : sequence of sequences of int
        Numbers of clusters of several views at once.

    Examples
    --------
    >>> [e.title() for e in tried_entries("boxes", [2, 3], (500, 12, 12), effort="quick")]
    ['MineClus(overlap=True, max_candidates=2000)', 'LAC(n_clusters=2)', 'LAC(n_clusters=3)']
    """
    n_rows, n_columns, n_numeric = shape
    entries = []
    for entry, trial in tried_in(rung):
        seen = n_numeric if trial.columns == "numeric" else n_columns
        if not trial.suits(effort, n_rows, seen):
            continue
        # Directions that help no view are noise, which is one more cluster of its own.
        tried = [[*each, 1] for each in views] if entry.role == "views" else numbers
        entries += [
            Entry(entry.name, settings, columns=trial.columns)
            for settings in trial.settings(tried, n_rows)
        ]
    return entries


def _not_run(shape: tuple[int, int, int], effort: str) -> tuple[tuple[str, str], ...]:
    n_rows, n_columns, n_numeric = shape
    run: set[str] = set()
    others: dict[str, str] = {}
    for name in RUNGS:
        for entry, trial in tried_in(name):
            seen = n_numeric if trial.columns == "numeric" else n_columns
            if trial.suits(effort, n_rows, seen):
                run.add(entry.name)
            elif effort in trial.efforts:
                others[entry.name] = trial.unsuited(n_rows, seen)
    return tuple((name, why) for name, why in others.items() if name not in run)


def several_views(numbers: Sequence[int]) -> Entry:
    """A search for views of these numbers of clusters at once, with room for noise."""
    entry, trial = next(each for each in tried_in("views") if each[1].numbers)
    [settings] = trial.settings([[*numbers, 1]], 0)
    return Entry(entry.name, settings, columns=trial.columns)


def _listed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with tuples where a plan that was read from a file has lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


# -- the plan of a study in its folder, and whether an exploration may go on there -----------------


NAME = "plan.json"

#: What a difference in each part of the identity is called.
PARTS = {
    "table": "the table has changed",
    "given": "the given groupings have changed",
    "plan": "effort, seed or shape have changed",
    "version": "it was made by another version of Subscape",
    "kernels": "it was made with other kernels",
    "rows": "another number of rows is searched",
}


def check_plan(
    folder: Path,
    plan: Plan,
    table: Table | PartedTable,
    given: Mapping[str, NDArray[Any]],
    n_searched: int,
    resume: bool,
) -> None:
    """Write the plan into the folder, or see that the one that is there is the same."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    now = {
        "table": fingerprint_of(table),
        "given": {name: fingerprint(labels) for name, labels in given.items()},
        "rows": n_searched,
        "plan": json.loads(json.dumps(asdict(plan))),
        **environment(),
    }
    if not path.exists():
        leftovers = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
        # --check wrote that one.
        leftovers = [name for name in leftovers if name != "columns.csv"]
        if leftovers and not resume:
            raise SubscapeError(
                f"the folder {folder} is not empty ({', '.join(sorted(leftovers)[:3])}); choose "
                "another one, so that nothing is mixed up"
            )
        text = json.dumps(now, indent=1, sort_keys=True) + "\n"
        write_text_atomically(path, text)
        return
    if not resume:
        raise SubscapeError(
            f"the folder {folder} holds a study already; resume it (--resume), or choose another"
        )
    try:
        before = json.loads(path.read_text())
        changed = [words for part, words in PARTS.items() if before[part] != now[part]]
    except (ValueError, KeyError, TypeError):
        raise FileFormatError(
            f"{path} is not the plan of a study: it is damaged; remove it and resume, with the "
            "same table and options"
        ) from None
    if changed:
        raise SubscapeError(
            f"the study in {folder} can't be resumed: {', and '.join(changed)}; choose another "
            "folder for a new study"
        )


def fingerprint_of(table: Table | PartedTable) -> str:
    """A short name of all contents of a table."""
    if isinstance(table, PartedTable):
        return table.fingerprint
    numbers = table.X.toarray() if sparse.issparse(table.X) else table.X
    parts = [fingerprint(np.asarray(numbers), table.numeric_names)]
    for column in table.schema:
        if column.name in table.others:
            parts.append(fingerprint(np.asarray(table.others[column.name])))
            parts.append(json.dumps([column.name, column.role, column.levels]))
    if table.row_names is not None:
        parts.append(json.dumps(table.row_names))
    import hashlib

    return hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()
