"""The plan of a study in its folder, and whether an exploration may go on there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core import Table
from subscape.core.atomic import write_text_atomically
from subscape.core.errors import FileFormatError, SubscapeError
from subscape.validation.run_identity import environment, fingerprint

from .portfolio import Plan

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
    table: Table,
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
        raise FileFormatError(f"{path} is not the plan of a study") from None
    if changed:
        raise SubscapeError(
            f"the study in {folder} can't be resumed: {', and '.join(changed)}; choose another "
            "folder for a new study"
        )


def fingerprint_of(table: Table) -> str:
    """A short name of all contents of a table."""
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
