"""Tables that several tests look at."""

from __future__ import annotations

import numpy as np

from subscape.tables.columns import Column
from subscape.tables.table import Table

NAN = np.nan


def mixed() -> Table:
    """Numbers, text, dates, a label and an id, with something missing in each kind."""
    schema = (
        Column("who", "id", "text", ("ann", "bob", "cyd", "dan")),
        Column("age"),
        Column("colour", "nominal", "text", ("blue", "green", "red")),
        Column("born", "date", "date"),
        Column("height"),
        Column("group", "label", "text", ("x", "y")),
    )
    X = np.array([[31.0, 1.7], [NAN, 1.6], [55.0, 1.8], [40.0, 1.9]])
    others = {
        "who": np.arange(4, dtype=np.int32),
        "colour": np.array([2, 0, -1, 2], dtype=np.int32),
        "born": np.array([0.0, NAN, 1.0, 19000.0]),
        "group": np.array([1, 0, 1, -1], dtype=np.int32),
    }
    return Table(schema, X, others)
