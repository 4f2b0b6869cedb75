"""Two sides of a comparison, and a ratio of them only where both did the same work.

A benchmark that is part of the suite calls :func:`record` for each of its goals; the numbers go to
``results/<benchmark>.json``, from where ``suite.py`` puts them into RESULTS.md.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
#: What numbers depend on, and those we compare ourselves with.
PACKAGES = ("subscape", "numpy", "scipy", "scikit-learn", "joblib")
PEERS = ("scikit-learn", "clustpy", "clusim", "genieclust", "pyclustering")


class NotComparable(ValueError):
    """The two sides of a ratio did different work."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Parameters
    ----------
    name : str
    seconds : float
        Or another amount of which less is better, the same on both sides.
    work : mapping
        What was done: rows, columns, clusters, iterations, precision, threads …
    error : float, optional
        How far the result is from the truth; 0 is best.
    """

    name: str
    seconds: float
    work: Mapping[str, Any] = field(default_factory=dict)
    error: float | None = None


def finder_work(
    finder: Any, table: tuple[int, int], named: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """The work of one of our finders: table, rows searched, variant, and parameters.

    Parameters
    ----------
    finder : estimator
    table : tuple
        Rows and columns.
    named : mapping
        The parameters that the other side names; the finder's values of them count.
    **more
        Whatever else was done, such as the number of starts.

    Examples
    --------
    >>> from subscape.finders import PROCLUS
    >>> made = PROCLUS.as_published(n_clusters=3, avg_dims=4)
    >>> work = finder_work(made, (100, 9), {"avg_dims": 4})
    >>> work["variant"], work["rows searched"], work["avg_dims"]
    ('as published', 100, 4)
    >>> finder_work(PROCLUS(3), (9000, 9), {})["rows searched"]
    2000
    """
    parameters = finder.get_params()
    own = {key: parameters.get(key, "not there") for key in named}
    return {
        "table": tuple(table),
        "threads": 1,
        "variant": variant(finder),
        "rows searched": rows_searched(finder, table[0]),
        **own,
        **more,
    }


def peer_work(table: tuple[int, int], named: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The work of a program that runs the published algorithm on all rows."""
    return {
        "table": tuple(table), "threads": 1, "variant": "as published",
        "rows searched": table[0], **named, **more,
    }  # fmt: skip


def variant(finder: Any) -> str:
    """Whether a finder has every switch as its paper has it."""
    from subscape.finders.catalogue import entry_of

    entry, given = entry_of(type(finder)), finder.get_params()
    for name, value in (entry.published or {}).items():
        # A parameter that is ours has one value in the paper; of others some values are ours.
        ours = entry.ours.get(name)
        if ours is not None and (given[name] in ours if ours else given[name] != value):
            return "default"
    return "as published"


def rows_searched(finder: Any, n_rows: int) -> int:
    """How many of so many rows a finder looks at in its search."""
    parameters = finder.get_params()
    if parameters.get("search_rows") is None:
        return n_rows
    most = parameters["search_rows"]
    if isinstance(most, str):
        # "auto": as PROCLUS does.
        most = max(2000, 200 * int(parameters.get("n_clusters") or 1))
    chooses = any(value == "auto" for value in parameters.values() if isinstance(value, str))
    # 4C, COPAC and ERiC choose settings on them, CASH too; all four refine on them.
    only_to_choose = not {"eps", "jitter"}.isdisjoint(parameters)
    only_to_choose = only_to_choose and not parameters.get("refine", True)
    return n_rows if only_to_choose and not chooses else min(n_rows, int(most))


def is_worse(error: float, other: float) -> bool:
    """Whether an error is larger than another one, in the three digits that pages have of them.

    >>> is_worse(0.9612, 0.9609), is_worse(0.962, 0.961)
    (False, True)
    """
    return round(error, 3) > round(other, 3)


@dataclass(frozen=True)
class Ratio:
    """How many times as long the second side took; a number only if the work was the same.

    >>> ours = Side("ours", 2.0, {"rows": 100})
    >>> print(Ratio(ours, Side("theirs", 9.0, {"rows": 100})))
    4.50
    >>> print(Ratio(ours, Side("theirs", 9.0, {"rows": 50})))
    not comparable: rows 100 and 50
    """

    ours: Side
    theirs: Side

    def differences(self) -> list[str]:
        """In what the work differed, or why the amounts say nothing; empty if nothing did."""
        a, b = self.ours, self.theirs
        found = []
        if not a.work or not b.work:
            found.append("nothing is said about the work of " + (b.name if a.work else a.name))
        else:
            for key in dict.fromkeys([*a.work, *b.work]):
                one, other = (side.work.get(key, "not said") for side in (a, b))
                if one != other:
                    found.append(f"{key} {one} and {other}")
        if (a.error is None) != (b.error is None):
            found.append("the quality of one side is not known")
        elif a.error is not None and b.error is not None and is_worse(a.error, b.error):
            found.append(f"ours is the worse result, error {a.error:.3g} and {b.error:.3g}")
        elif a.error is not None and b.error is not None and min(a.error, b.error) >= 1:
            found.append("neither side found anything")
        found += [
            f"{s.name} took {s.seconds} s" for s in (a, b) if not 0 < s.seconds < float("inf")
        ]
        return found

    @property
    def is_comparable(self) -> bool:
        return not self.differences()

    @property
    def value(self) -> float:
        """Theirs over ours: above 1 we are faster."""
        if not self.is_comparable:
            raise NotComparable(str(self))
        return self.theirs.seconds / self.ours.seconds

    def inverse(self) -> Ratio:
        """Ours over theirs, where the goal is not to be much slower than a yardstick."""
        return _Inverse(self.ours, self.theirs)

    def __str__(self) -> str:
        differences = self.differences()
        return "not comparable: " + "; ".join(differences) if differences else f"{self.value:.2f}"


class _Inverse(Ratio):
    @property
    def value(self) -> float:
        return 1 / super().value

    def inverse(self) -> Ratio:
        return Ratio(self.ours, self.theirs)


@dataclass(frozen=True)
class Goal:
    """A bound that a number must keep, such as ``Goal(">=", 20)``.

    >>> Goal.of(">= 20").is_met(31.0), Goal.of("<= 1.5").is_met(2.0)
    (True, False)
    """

    sign: str
    bound: float

    @classmethod
    def of(cls, text: str) -> Goal:
        sign, _, bound = text.partition(" ")
        if sign not in ("<=", ">="):
            raise ValueError(f"a goal begins with <= or >=, got {text!r}")
        return cls(sign, float(bound))

    def is_met(self, value: float) -> bool:
        return value <= self.bound if self.sign == "<=" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


def record(
    benchmark: str,
    key: str,
    measured: float | Ratio,
    *,
    quick: bool = False,
    work: Mapping[str, Any] | None = None,
) -> None:
    """Note what was measured for a goal of ``goals.py``; replaces an older number.

    Parameters
    ----------
    benchmark : str
        The name of the script, without ``.py``.
    key : str
        The goal's.
    measured : float or Ratio
        A ratio of different work is noted with its reason and without a number.
    quick : bool
        Measured at small sizes; such a number never replaces one of the full sizes.
    work : mapping, optional
        What was done, for a plain number.
    """
    path = RESULTS / f"{benchmark}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    if quick and key in known and not known[key]["quick"]:
        return
    entry: dict[str, Any] = {"quick": quick, "work": dict(work or {}), **circumstances()}
    if isinstance(measured, Ratio):
        entry["value"] = measured.value if measured.is_comparable else None
        entry["note"] = "" if measured.is_comparable else str(measured)
        entry["sides"] = [[s.name, s.seconds, s.error] for s in (measured.ours, measured.theirs)]
        entry["work"] = {**dict(measured.ours.work), **entry["work"]}
    else:
        entry["value"], entry["note"] = float(measured), ""
    RESULTS.mkdir(exist_ok=True)
    known[key] = entry
    path.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def circumstances() -> dict[str, str]:
    """When and where something is measured, and with which versions."""
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "machine": machine(),
        "versions": ", ".join(f"{name} {found}" for name, found in versions(PACKAGES).items()),
    }


def said_when() -> str:
    """When something is measured, on what, and how much other work there is; a sentence.

    >>> said_when().startswith("Measured 20")
    True
    """
    now, cores = circumstances(), os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        f"Measured {now['when']} UTC, {now['machine']}; {load:.1f} processes wanted the "
        f"{cores} cores when it began."
    )


def machine() -> str:
    """The processor, how many cores of it, and the memory."""
    name = platform.processor() or platform.machine()
    gigabytes = ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        gigabytes = f", {pages / 2**30:.0f} GB"
    except (OSError, ValueError):
        pass
    return f"{name}, {os.cpu_count()} cores{gigabytes}"


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Those packages that are installed, and Python itself."""
    found = {"Python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name == "subscape":
                import subscape

                found[name] = subscape.__version__
    return found


def peers() -> dict[str, str]:
    """Every peer with its version, or that it is missing."""
    import elki

    there = versions(PEERS)
    found = {name: there.get(name, "missing") for name in PEERS}
    found["ELKI"] = "there" if elki.available() else "missing"
    return found
