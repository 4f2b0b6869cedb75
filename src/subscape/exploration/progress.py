"""What an exploration tells while it runs: the phase, the run, how many views so far, time left."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

from subscape.core.errors import count
from subscape.parallel.progress import Step


def is_watched() -> bool:
    """Whether somebody sees what is printed: Python runs interactively, in a terminal or notebook.

    A script in a terminal counts as well; a pipe, a file or a test does not.
    """
    import sys

    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
            return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


class QuietLine:
    """One line that is written over and over, and gone at the end.

    Parameters
    ----------
    every : float
        Seconds between two versions of it.
    """

    def __init__(self, every: float = 0.5) -> None:
        self.every = every
        self._last = 0.0
        self._width = 0

    def __call__(self, step: Step) -> None:
        import sys

        now = clock.monotonic()
        if now - self._last < self.every:
            return
        self._last = now
        total = "" if step.total is None else f"/{step.total}"
        text = f"{step.seconds:.0f} s  {step.message} ({step.done}{total})"[:100]
        sys.stderr.write(f"\r{text.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(text)

    def __del__(self) -> None:
        import sys

        # The stream may be gone when Python ends.
        if self._width and getattr(sys, "stderr", None) is not None:
            sys.stderr.write(f"\r{' ' * self._width}\r")
            sys.stderr.flush()


class Progress:
    """Passes the steps of every phase on, with the views so far and the time left.

    Parameters
    ----------
    report : callable, bool or None
        Called with a :class:`subscape.parallel.progress.Step`; True shows a bar, None a quiet line
        where somebody watches: in a terminal or a notebook; False shows nothing.
    time : float or None
        Seconds allowed in all.
    """

    def __init__(self, report: Callable[[Step], Any] | bool | None, time: float | None) -> None:
        self.report: Callable[[Step], Any] | None
        if report is None:
            self.report = QuietLine() if is_watched() else None
        else:
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
