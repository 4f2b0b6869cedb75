"""What an exploration tells while it runs: the phase, the run, how many views so far, time left."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

from subscape.core.errors import count
from subscape.parallel.progress import Step


class Progress:
    """Passes the steps of every phase on, with the views so far and the time left.

    Parameters
    ----------
    report : callable, True or None
        Called with a :class:`subscape.parallel.progress.Step`; True shows a bar.
    time : float or None
        Seconds allowed in all.
    """

    def __init__(self, report: Callable[[Step], Any] | bool | None, time: float | None) -> None:
        self.report = self._bar if report is True else report or None
        self.time = time
        self.views = 0
        self._began = clock.monotonic()
        self._shown: Any = None

    def rung(self, name: str) -> Callable[[Step], None] | None:
        """A callback for the runs of one phase."""
        if self.report is None:
            return None

        def step(inner: Step) -> None:
            self.tell(name, inner.message, inner.done, inner.total)

        return step

    def tell(self, phase: str, what: str, done: int, total: int | None) -> None:
        """Report a step."""
        if self.report is None:
            return
        seconds = clock.monotonic() - self._began
        message = f"{phase}: {what}, {count(self.views, 'grouping')} so far"
        if self.time is not None:
            message += f", {max(self.time - seconds, 0):.0f} s left"
        self.report(Step("explore", message, done, total, seconds))

    def _bar(self, step: Step) -> None:
        if self._shown is None:
            from tqdm.auto import tqdm

            self._shown = tqdm(desc="explore", leave=False)
        self._shown.total = step.total
        self._shown.n = step.done
        self._shown.set_postfix_str(step.message)
