"""How many different results do the settings of a finder give, as published and by default?

    python benchmarks/sensitivity.py             all finders
    python benchmarks/sensitivity.py --quick     smaller tables
    python benchmarks/sensitivity.py --pages     also write the counts into docs/finders
    python benchmarks/sensitivity.py SSPC LAC    only these, the others stay in the page
    python benchmarks/sensitivity.py --notes     nothing is run, the pages say what is measured

Writes benchmarks/results/sensitivity.md. Every finder runs with each setting of its grid on three
generated tables (boxes, flats, noise); results are the same if rows and subspaces are. ITCC and
LatentClasses, which want counts and categories, have no place on such tables.
"""

from __future__ import annotations

import argparse
import os
import textwrap
import warnings
from itertools import product
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from pages import Page

from subscape.datasets import planted_axes, planted_oriented
from subscape.finders.catalogue import find

RESULTS = Path(__file__).parent / "results"
PAGES = Path(__file__).parents[1] / "docs" / "finders"

#: The parameters that a paper leaves to its user, with the values to try.
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "DOC": {"width": (0.03, 0.06, 0.12), "alpha": (0.08, 0.16)},
    "FastDOC": {"width": (0.03, 0.06, 0.12), "alpha": (0.08, 0.16)},
    "MineClus": {"width": (0.03, 0.06, 0.12), "beta": (0.15, 0.3)},
    "MAFIA": {"alpha": (1.2, 1.5, 2.0), "beta": (0.25, 0.5)},
    "HARP": {"n_clusters": (2, 3, 4, 5, 6, 7, 8, 9)},
    "PROCLUS": {"n_clusters": (2, 3, 4), "avg_dims": (2, 3)},
    "CLIQUE": {"n_bins": (5, 10), "density_threshold": (0.02, 0.05, 0.1)},
    "DiSH": {"eps": (0.03, 0.06, 0.12), "min_samples": (10, 20)},
    "P3C": {"poisson_threshold": (1e-20, 1e-4, 1e-2), "alpha": (0.001, 0.01)},
    "PreDeCon": {"eps": (0.3, 0.6, 1.2), "min_samples": (5, 10), "delta": (0.01, 0.05)},
    "SSPC": {"n_clusters": (2, 3, 4), "max_variance": (0.3, 0.6)},
    "SUBCLU": {"eps": (0.03, 0.06, 0.12), "min_samples": (10, 20)},
    "LAC": {"n_clusters": (2, 3, 4), "h": (0.2, 1.0)},
    "EWKM": {"n_clusters": (2, 3, 4), "gamma": (0.5, 2.0)},
    "SparseKMeans": {"n_clusters": (2, 3, 4), "bound": (1.2, 1.8)},
    "CASH": {"min_samples": (20, 40), "jitter": (0.05, 0.1, 0.2)},
    "COPAC": {"n_neighbors": (12, 24), "eps": (0.05, 0.1, 0.2)},
    "ERiC": {"n_neighbors": (12, 24), "eps": (0.05, 0.1, 0.2)},
    "FourC": {"eps": (0.1, 0.2, 0.4), "min_samples": (4, 8)},
    "LMCLUS": {"max_dim": (1, 2), "sensitivity": (1.5, 3.0, 6.0)},
    "KFlats": {"n_clusters": (2, 3, 4), "flat_dim": (1, 2)},
    "ORCLUS": {"n_clusters": (2, 3, 4), "subspace_dim": (1, 2)},
    "SubKMeans": {"n_clusters": (2, 3, 4)},
    "SSC": {"n_clusters": (2, 3, 4), "n_nonzero": (2, 4)},
    "EnSC": {"n_clusters": (2, 3, 4), "l1_ratio": (0.5, 0.9)},
    "LSR": {"n_clusters": (2, 3, 4), "ridge": (0.01, 1.0)},
    "TSC": {"n_clusters": (2, 3, 4), "n_neighbors": (5, 20)},
    "HDDC": {"n_clusters": (2, 3, 4), "threshold": (0.05, 0.3)},
    "MFA": {"n_clusters": (2, 3, 4), "flat_dim": (1, 2)},
    "MPPCA": {"n_clusters": (2, 3, 4), "flat_dim": (1, 2)},
    "ChengChurch": {"n_clusters": (2, 4), "delta": (0.005, 0.01, 0.02)},
}


#: Pages that are not called like their finder.
PAGE_NAMES = {"FastDOC": "doc", "ChengChurch": "cheng_church"}


#: The generated tables.
TABLES = ("boxes", "flats", "noise")


def tables(quick: bool) -> dict[str, Any]:
    """Boxes, flats, and nothing at all."""
    n = 120 if quick else 300
    flats = ((1, n // 3), (2, n // 2), (1, n // 4))
    return {
        "boxes": planted_axes(n, 6, n_clusters=3, dims=3, noise=0.1, random_state=0).X,
        "flats": planted_oriented(4, flats, noise=0.05, random_state=1).X,
        "noise": np.random.default_rng(2).uniform(size=(n, 5)),
    }


def settings(name: str) -> list[dict[str, Any]]:
    """All combinations of a finder's grid."""
    grid = GRIDS[name]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def distinct(name: str, X: Any, published: bool) -> int:
    """Number of different clusterings over the grid of a finder."""
    cls, found = find(name).load(), []
    for setting in settings(name):
        finder = cls.as_published(**setting) if published else cls(**setting)
        known = finder.get_params()
        usual = {"random_state": 0, "max_time": 10.0}
        finder.set_params(**{key: usual[key] for key in usual if key in known})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clustering = finder.fit(X).clustering_
        if not any(clustering.isclose(other, atol=1e-6) for other in found):
            found.append(clustering)
    return len(found)


def page(found: dict[str, dict[str, tuple[int, int]]]) -> str:
    """A table in Markdown."""
    names = next(iter(found.values()))
    lines = [
        "# Different results over the settings of a finder", "",
        "Settings, and how many different clusterings they give: *as published* / by default. A 1 "
        "by default says that all settings lead to one result.", "",
        f"| finder | grid | settings | {' | '.join(names)} |",
        "|---" * (3 + len(names)) + "|",
    ]  # fmt: skip
    for name, row in found.items():
        grid = "; ".join(f"`{key}` {', '.join(map(str, v))}" for key, v in GRIDS[name].items())
        cells = " | ".join(f"{paper} / {ours}" for paper, ours in row.values())
        lines.append(f"| {name} | {grid} | {len(settings(name))} | {cells} |")
    return "\n".join(lines) + "\n"


def measured() -> dict[str, dict[str, tuple[int, int]]]:
    """The counts that stand in the page."""
    path = RESULTS / "sensitivity.md"
    rows = Page.read(path).rows if path.exists() else []
    return {
        row["finder"]: {table: _pair(row[table]) for table in TABLES if table in row}
        for row in rows
    }


def _pair(cell: str) -> tuple[int, int]:
    paper, _, ours = cell.partition(" / ")
    return int(paper), int(ours)


def kept(found: dict[str, dict[str, tuple[int, int]]]) -> dict[str, dict[str, tuple[int, int]]]:
    """The counts of a run, and of the other finders those that stand in the page."""
    told = measured()
    return {name: (told | found)[name] for name in GRIDS if name in found or name in told}


def note(name: str, row: dict[str, tuple[int, int]]) -> str:
    """What the page of a finder says about its settings."""
    grid = " and ".join(f"`{key}`" for key in GRIDS[name])
    paper, ours = ([str(pair[i]) for pair in row.values()] for i in (0, 1))
    text = (
        f"{len(settings(name))} settings of {grid} give {', '.join(paper)} different results on "
        f"generated {', '.join(row)} as published, and {', '.join(ours)} by default "
        "(`benchmarks/sensitivity.py`)."
    )
    alike = [table for table, (many, one) in row.items() if one == 1 and many > 1]
    if max(pair[1] for pair in row.values()) == 1:
        text += " By default all settings lead to one result."
    elif alike:
        text += f" On {' and '.join(alike)} the default leads all settings to one result."
    return "\n".join(textwrap.wrap(f"**{name}:** {text}", 103))


def write_notes(found: dict[str, dict[str, tuple[int, int]]]) -> None:
    """Put the notes into the pages of the finders, in place of those that are there."""
    for name, row in found.items():
        path = PAGES / f"{PAGE_NAMES.get(name, name.lower())}.md"
        start, end = f"<!-- settings of {name} -->\n", f"<!-- end of {name} -->\n"
        text = path.read_text()
        if start not in text:
            # Before the reference, the last paragraph.
            body, _, last = text.rstrip("\n").rpartition("\n\n")
            text = f"{body}\n\n{start}{end}\n{last}\n"
        before, _, rest = text.partition(start)
        path.write_text(f"{before}{start}{note(name, row)}\n{end}{rest.partition(end)[2]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="finders; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    parser.add_argument("--pages", action="store_true", help="also write the pages of the finders")
    parser.add_argument("--notes", action="store_true", help="run nothing, write the pages")
    chosen = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if chosen.notes:
        write_notes(measured())
        return
    data = tables(chosen.quick)
    for name in chosen.names or GRIDS:
        row = {
            table: (distinct(name, X, True), distinct(name, X, False)) for table, X in data.items()
        }
        print(note(name, row), flush=True)
        if chosen.pages:
            write_notes({name: row})
        text = page(kept({name: row}))
        (RESULTS / "sensitivity.md").write_text(text)


if __name__ == "__main__":
    main()
