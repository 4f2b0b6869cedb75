"""Records, such as the clusters of a result, as text and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any


def number(value: float, digits: int = 4) -> str:
    """A number as a table shows it; nothing for what is unknown.

    >>> number(0.123456), number(1234567.8), number(3.0), number(float("nan"))
    ('0.1235', '1234568', '3', '')
    """
    if value is None or math.isnan(value):
        return ""
    if float(value).is_integer() or abs(value) >= 10**digits:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def write_records(path: str, records: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Write records as CSV; text that a spreadsheet would take for a formula is made harmless."""
    from subscape.core.atomic import write_text_atomically
    from subscape.core.format_labels import harmless

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if records:
        writer.writerow([harmless(str(name)) for name in records[0]])
    for record in records:
        writer.writerow(
            [harmless(item) if isinstance(item, str) else _blank(item) for item in record.values()]
        )
    write_text_atomically(path, buffer.getvalue(), force=force)


def _blank(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
