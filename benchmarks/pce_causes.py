"""Why a figure may lie on the other side of 0 (Theta) or 1 (Upsilon) than in print.

Every difference is put down to the first cause that passes its check, or is called unexplained. A
check is a measurement on the same ensembles with one thing changed (pce_ensembles.checks). A sign
counts as explained only where the printed one appears under that change, or where ours is within
chance of it; whatever else speaks for a cause explains in part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from pce_ensembles import ONE, PCE, SIDES
from pce_tables import PRINTED, Records, Results, changed, mean, per_ensemble, printed

#: Less in common with itself than this, and the classes have no features to find.
NOTHING = 0.02
SOFTER = "much softer members"
NAMES = {"theta": "Theta", "upsilon": "Upsilon"}


class Cell(NamedTuple):
    """A figure of Table 3 or 4 that lies on the other side than the printed one."""

    part: str
    name: str
    method: str
    side: str
    ours: float
    error: float
    """Standard error over the ensembles; NaN for a single one."""
    number: int
    theirs: float

    @property
    def middle(self) -> float:
        return PRINTED[self.part][1]

    def agrees(self, value: float) -> bool:
        """Whether a value lies on the side of the printed one."""
        return (value - self.middle) * (self.theirs - self.middle) > 0

    def __str__(self) -> str:
        form = "+.3f" if self.part == "theta" else ".3f"
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        return (f"{self.name} {self.method} {NAMES[self.part]}_{self.side} "
                f"{format(self.ours, form)}{error} ({format(self.theirs, form)})")  # fmt: skip


def differences(results: Results, part: str, called: Callable[[str], str] = str) -> Iterator[Cell]:
    """Figures with another sign than in print."""
    for name, records in results.items():
        for side in SIDES:
            for method in PCE:
                values = per_ensemble(records, called(method), part, side)
                number = len(values)
                error = values.std(ddof=1) / np.sqrt(number) if number > 1 else float("nan")
                cell = Cell(part, name, method, side, float(values.mean()), float(error), number,
                            printed(part, name, method, side))  # fmt: skip
                if (cell.ours - cell.middle) * (cell.theirs - cell.middle) < 0:
                    yield cell


class InPart(str):
    """Evidence for a cause under which the printed sign does not appear."""

    __slots__ = ()


# -- causes ---------------------------------------------------------------------------------------


def checked(records: Records, what: str, cell: Cell) -> float | None:
    """The figure of a cell with one thing changed."""
    return changed(records, what, cell.method, cell.part, cell.side)


def by_chance(cell: Cell, records: Records) -> str | None:
    if abs(cell.ours - cell.middle) < 2 * cell.error:
        return "less than two standard errors"
    return None


def at_the_border(cell: Cell, records: Records) -> str | None:
    error = cell.error * np.sqrt(cell.number / 20)
    if abs(cell.theirs - cell.middle) < 2 * error:
        return f"{cell.theirs:.3f} is within two standard errors of {cell.middle:g}"
    return None


def nothing_to_find(cell: Cell, records: Records) -> str | None:
    itself = float(np.mean([r["self f"] for r in records]))
    if (cell.part, cell.side) == ("theta", "f") and itself < NOTHING:
        return InPart(f"the classes have {itself:.4f} with themselves")
    return None


def averaged(cell: Cell, records: Records) -> str | None:
    value = checked(records, ONE, cell) if cell.side == "f" else None
    if value is None:
        return None
    text = f"{value:.3f} with the weights of one member"
    if cell.agrees(value):
        return text
    return InPart(text) if abs(value - cell.middle) <= abs(cell.ours - cell.middle) / 2 else None


def another_reading(cell: Cell, records: Records) -> str | None:
    if (cell.part, cell.side) != ("upsilon", "f"):
        return None
    value = mean(records, cell.method, "upsilon", "f literal")
    text = f"{value:.3f} with features counted instead of clusters"
    if cell.agrees(value):
        return text
    return InPart(text) if abs(value - 1) < NOTHING else None


def softer(cell: Cell, records: Records) -> str | None:
    value = checked(records, SOFTER, cell)
    if cell.part == "theta" and cell.side != "f" and value is not None and cell.agrees(value):
        return f"{value:+.3f} with much softer members"
    return None


def harder(cell: Cell, records: Records) -> str | None:
    rows = cell.part == "upsilon" and cell.side != "f"
    value = checked(records, "hard members", cell) if rows else None
    if value is not None and cell.agrees(value):
        return f"{value:.3f} with the hard members alone"
    return None


def shared(cell: Cell, records: Records) -> str | None:
    value = checked(records, "rows shared", cell) if cell.part == "upsilon" else None
    if value is None or not cell.agrees(value):
        return None
    gain = checked(records, "rows shared", cell._replace(part="theta"))
    return f"{value:.3f} with rows shared, where Theta_{cell.side} is {gain:+.3f}"


def with_their_alpha(cell: Cell, records: Records) -> str | None:
    if cell.method != "EM":
        return None
    value = mean(records, "EM alpha 2", cell.part, cell.side)
    if not cell.agrees(value):
        return None
    gain = mean(records, "EM alpha 2", "theta", cell.side)
    return f"{value:.3f} with alpha = 2, where Theta_{cell.side} is {gain:+.3f}"


def preferred(cell: Cell, records: Records) -> str | None:
    ratios = [r["preferred"] for r in records if "preferred" in r]
    if (cell.method, cell.part) != ("EM", "theta") or not ratios or np.mean(ratios) <= 1:
        return None
    gain = mean(records, "CB", "theta", cell.side)
    return (f"its objective is {np.mean(ratios):.3f} times as high at the rows of CB, where "
            f"Theta_{cell.side} is {gain:+.3f}")  # fmt: skip


class Cause(NamedTuple):
    """A reason, what it is in words, and the check that a cell must pass."""

    title: str
    text: str
    check: Callable[[Cell, Records], str | None]
    change: str | None = ""
    """What was changed; "" if nothing, None for what explains a difference only in part."""


CAUSES = (
    Cause(
        "chance",
        "The figure is within two standard errors of the place where the sign changes.",
        by_chance,
    ),
    Cause(
        "no features to find",
        "NMI_f is derived like NMI_of, as the paper says: all clusters have the same size, and it "
        "measures how sharp and how different the weights are. The weights of the classes (LAC's, "
        f"h = 0.2) are so flat that the classes have less than {NOTHING:g} in common with "
        "*themselves*. No consensus could gain what is printed; Theta_f is a few thousandths to "
        "either side, and the printed NMI_f must be another one.",
        nothing_to_find,
    ),
    Cause(
        "weights are averaged",
        "The weights of a consensus are a mean of many (MOEA-PCE's have noise added), and the "
        "information in a mean is at most the (weighted) mean of the information, which is convex. "
        "So a consensus of one cluster of every member can't have more NMI_f than its members "
        "have. Checked with the same rows and, "
        "for each cluster, the weights of the cluster most like it in one member: that gives the "
        "printed sign or takes away half of the difference, so that it isn't the groups that are "
        "wrong. This is why ours are low; why printed ones are not, it doesn't say: eq. 22 "
        "flattens the weights still more.",
        averaged,
        ONE,
    ),
    Cause(
        "how soft the members are",
        "Theta is the gain over the members, and rises when they get worse; how bad they are is "
        "left open, as the paper doesn't say how it softens half of LAC's hard clusterings. If "
        "rows are shared as in another paper of one of its authors (Domeniconi and Al-Razgan "
        "2009), much more evenly, soft members have next to no NMI_o with the classes, and the "
        "sign is the printed one.",
        softer,
        SOFTER,
    ),
    Cause(
        "soft members are unlike each other",
        "Two soft members resemble each other less than a hard consensus resembles either, which "
        "lifts Upsilon. With the hard members alone the sign is the printed one.",
        harder,
        "hard members",
    ),
    Cause(
        "NMI_f read otherwise",
        "If the number of rows in NMI_of becomes the number of features in NMI_f, and not that of "
        f"clusters, a constant is added and Upsilon_f has the printed sign or is within {NOTHING:g}"
        " of 1 whatever the consensus. The printed Upsilon_f is near 1, too, but Theta_f keeps the "
        "sign it has.",
        another_reading,
        None,
    ),
    Cause(
        "alpha of EM-PCE",
        "With the paper's alpha = 2 the sign is the printed one, but Theta isn't.",
        with_their_alpha,
        None,
    ),
    Cause(
        "rows go to one cluster",
        "A hard consensus resembles the members more than one whose rows are shared. With shared "
        "rows (CB and FCB: eq. 12 with alpha = 1.5; EM: alpha = 1.1; MOEA: soft) the sign is the "
        "printed one, but Theta then falls far below what is printed: no consensus of ours has "
        "both.",
        shared,
        None,
    ),
    Cause(
        "EM-PCE's objective prefers it",
        "The search is not stuck: the published objective, at our alpha, is lower at the groups "
        "that EM-PCE finds than at those of CB, which have the printed sign. It looks at rows "
        "through the feature weights of their clusters only.",
        preferred,
        None,
    ),
    Cause(
        "print is at the border",
        "The printed figure lies within two standard errors (our spread, 20 ensembles) of the "
        "place where the sign changes, so that its sign says little. Ours is elsewhere all the "
        "same.",
        at_the_border,
        None,
    ),
)
UNEXPLAINED = "unexplained"


IN_PART = "in part: "


def explained(results: Results, cells: list[Cell]) -> dict[str, list[tuple[Cell, str]]]:
    """Cause -> its cells, each with the evidence."""
    titles = [cause.title for cause in CAUSES]
    found: dict[str, list[tuple[Cell, str]]] = {
        title: [] for title in (*titles, *(IN_PART + title for title in titles), UNEXPLAINED)
    }
    for cell in cells:
        for cause in CAUSES:
            evidence = cause.check(cell, results[cell.name])
            if evidence is not None:
                whole = mends(results, cause.change, cell.part, cell.side)
                whole = whole and not isinstance(evidence, InPart)
                found[cause.title if whole else IN_PART + cause.title].append((cell, evidence))
                break
        else:
            found[UNEXPLAINED].append((cell, ""))
    return {title: given for title, given in found.items() if given}


def mends(results: Results, change: str | None, part: str, side: str) -> bool:
    """Whether a change leaves at most half of the other signs of the whole column."""
    if not change:
        return change is not None
    before, after = others(results, change, part, side)
    return after <= before / 2


def others(results: Results, change: str, part: str, side: str) -> tuple[int, int]:
    """Other signs in a column before and after a change, on the ensembles where it was run."""
    before = after = 0
    for name, records in results.items():
        ran = [r for r in records if change in r["checks"]]
        for method in PCE:
            value = changed(ran, change, method, part, side)
            theirs, middle = printed(part, name, method, side), PRINTED[part][1]
            if value is not None and theirs != middle:
                ours = mean(ran, method, part, side)
                before += (ours - middle) * (theirs - middle) <= 0
                after += (value - middle) * (theirs - middle) <= 0
    return before, after
