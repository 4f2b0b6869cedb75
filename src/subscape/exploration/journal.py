"""Decisions of an exploration, written down before they take effect, and replayed on resume."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from subscape.core.errors import FileFormatError


def _not_through_links(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


class Journal:
    """A list of decisions, each one line of a file that is synced before going on.

    Parameters
    ----------
    path : path or None
        None keeps the decisions in memory only.

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.decide("stop", lambda: 3)
    3
    >>> journal.decide("stop", lambda: 4)  # decided already
    3
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._made: dict[str, Any] = {}
        self._refuse_link()
        if self.path is not None and self.path.exists():
            self._read()

    def _refuse_link(self) -> None:
        """Refuse a path that leads elsewhere: what is written goes into the study's folder only."""
        if self.path is not None and self.path.is_symlink():
            raise FileFormatError(
                f"{self.path} is a link to another file, which would be overwritten; remove the "
                "link, or choose another folder"
            )

    def _read(self) -> None:
        path = self.path or Path()
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                self._made[entry["decision"]] = entry["outcome"]
            except (ValueError, KeyError, TypeError, RecursionError):
                raise FileFormatError(
                    f"line {number} of {path} is no decision; the study can't be resumed"
                ) from None
        if len(whole) < len(text):
            # A line that was being written when the power went: it never took effect.
            with open(path, "r+b", opener=_not_through_links) as stream:
                stream.truncate(len(whole))
                os.fsync(stream.fileno())

    def __contains__(self, decision: str) -> bool:
        return decision in self._made

    def decide(self, decision: str, make: Any) -> Any:
        """The outcome of a decision: as written down earlier, or made now and written down."""
        if decision not in self._made:
            outcome = make()
            if self.path is not None:
                line = json.dumps({"decision": decision, "outcome": outcome}) + "\n"
                self._refuse_link()
                with open(self.path, "ab", opener=_not_through_links) as stream:
                    stream.write(line.encode())
                    stream.flush()
                    os.fsync(stream.fileno())
            # What was written is what is read on resume: lists for tuples, text for keys.
            self._made[decision] = json.loads(json.dumps(outcome))
        return self._made[decision]
