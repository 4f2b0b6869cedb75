"""The numbers that the page's scripts draw from."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.format_labels import harmless

if TYPE_CHECKING:
    from subscape.studies.study import Study, View

#: Rows that a page holds at most.
MOST_ROWS = 5000
#: Coordinates are stored in so many steps.
STEPS = 65535


def shown_rows(study: Study) -> NDArray[np.intp]:
    """Positions within ``study.shown_rows`` of the rows that the page holds."""
    number = len(study.shown_rows)
    if number <= MOST_ROWS:
        return np.arange(number)
    return np.linspace(0, number - 1, MOST_ROWS).astype(np.intp)


def payload(study: Study, *, embed_ids: bool = False) -> dict[str, Any]:
    """Rows, labels, places and tables of pairs, packed.

    Cells of the label file are made harmless here, so that no script needs to know how.
    """
    from .drawings import tree

    kept = shown_rows(study)
    rows = np.asarray(study.shown_rows)[kept]
    named = embed_ids and study.row_names is not None
    names = study.row_names or ()
    drawn = tree(study)
    return {
        "total": study.shape[0],
        "rows": rows.tolist(),
        "ids": [names[i] for i in rows] if named else None,
        "cells": [harmless(names[i]) for i in rows] if named else None,
        "views": [_view(view, kept, rows) for view in study.views],
        "pairs": _pairs(study),
        "matrix": _packed(drawn.matrix, np.uint8) if drawn else None,
        "results": [[r.title, r.view, r.n_clusters] for r in drawn.results] if drawn else [],
    }


def script_json(value: Any) -> str:
    """JSON that is safe inside ``<script>`` and the same for the same value.

    >>> script_json({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _view(view: View, kept: NDArray[np.intp], rows: NDArray[np.intp]) -> dict[str, Any]:
    coordinates = np.asarray(view.coordinates, dtype=np.float64)[kept]
    return {
        "number": view.number,
        "k": view.n_clusters,
        "labels": _packed(view.labels[rows] + 1, np.uint16),
        "sure": _packed(np.rint(100 * np.nan_to_num(view.row_confidence[rows])), np.uint8),
        "x": _packed(_steps(coordinates[:, 0]), np.uint16),
        "y": _packed(_steps(coordinates[:, 1]), np.uint16),
        "several": _several(view, rows),
    }


def _several(view: View, rows: NDArray[np.intp]) -> list[list[Any]]:
    """Rows in more than one cluster: their place on the page, and the clusters."""
    members = view.clustering.memberships[:, rows].astype(bool).tocsc()
    counts = np.diff(members.indptr)
    return [
        [int(i), sorted(members.indices[members.indptr[i] : members.indptr[i + 1]].tolist())]
        for i in np.flatnonzero(counts > 1)
    ]


def _steps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values as steps between the smallest and the largest."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(len(values), STEPS // 2, dtype=np.float64)
    low, high = values[finite].min(), values[finite].max()
    middle = np.where(finite, values, (low + high) / 2)
    if high <= low:
        return np.full(len(values), STEPS // 2, dtype=np.float64)
    return np.rint((middle - low) / (high - low) * STEPS)


def _packed(values: NDArray[Any], kind: Any) -> str:
    little = np.dtype(kind).newbyteorder("<")
    limited = np.clip(values, 0, np.iinfo(kind).max)
    return base64.b64encode(limited.astype(little).tobytes()).decode()


def _pairs(study: Study) -> dict[str, list[list[int]]]:
    """For every two views, rows that any two of their clusters share; the last are in none."""
    tables = {}
    members = [_with_none(view) for view in study.views]
    for i in range(len(members)):
        for j in range(i + 1, len(members)):
            shared = (members[i] @ members[j].T).toarray()
            tables[f"{i + 1}-{j + 1}"] = shared.astype(int).tolist()
    return tables


def _with_none(view: View) -> Any:
    from scipy import sparse

    members = view.clustering.memberships.astype(bool).astype(np.int64)
    none = np.asarray(members.sum(axis=0)).ravel() == 0
    return sparse.csr_array(sparse.vstack([members, none[None, :].astype(np.int64)]))
