"""Warnings kept instead of shown, apart by thread."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """A warning: its class and what it says.

    >>> str(Recorded(UserWarning, "careful"))
    'UserWarning: careful'
    """

    category: type[Warning]
    message: str

    def __str__(self) -> str:
        return f"{self.category.__name__}: {self.message}"


_LOCK = threading.Lock()
_LOCAL = threading.local()
_ACTIVE: list[set[Recorded]] = []
_OUTER: list[Any] = []


@contextmanager
def recorded_warnings() -> Iterator[set[Recorded]]:
    """Collect the warnings raised by this thread instead of showing them.

    ``warnings.catch_warnings`` changes the whole process, so that runs in parallel threads would
    take each other's warnings, or leave the filters changed behind. Here the first to come changes
    the filters, the last to go restores them, and every thread gets its own. The warnings of
    threads that a run starts are taken too while it is the only one.

    >>> import warnings
    >>> with recorded_warnings() as seen:
    ...     warnings.warn("careful", stacklevel=1)
    >>> [str(warning) for warning in seen]
    ['UserWarning: careful']
    """
    seen: set[Recorded] = set()
    with _LOCK:
        if not _ACTIVE:
            outer = warnings.catch_warnings()
            outer.__enter__()
            _OUTER.append(outer)
            warnings.simplefilter("always")
            warnings.showwarning = _note
        _ACTIVE.append(seen)
    before = getattr(_LOCAL, "seen", None)
    _LOCAL.seen = seen
    try:
        yield seen
    finally:
        _LOCAL.seen = before
        with _LOCK:
            _ACTIVE[:] = [other for other in _ACTIVE if other is not seen]
            if not _ACTIVE:
                _OUTER.pop().__exit__(None, None, None)


def _note(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
    seen = getattr(_LOCAL, "seen", None)
    if seen is None:
        active = list(_ACTIVE)
        seen = active[0] if len(active) == 1 else None
    if seen is not None:
        seen.add(Recorded(category, str(message)))
