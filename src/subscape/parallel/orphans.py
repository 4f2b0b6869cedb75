"""Worker processes that end when the process that started them does, however that came about."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

#: Seconds between two looks at whether the parent still lives.
LOOK = 0.5
#: Exit code of a worker whose parent is gone; nobody is left to read it.
ORPHANED = 1


class Parent(NamedTuple):
    """Who waits for the results of a worker."""

    pid: int
    host: str
    #: Whether the main thread does: it lasts as long as its process.
    in_main_thread: bool

    @classmethod
    def here(cls) -> Parent:
        """This process."""
        is_main = threading.current_thread() is threading.main_thread()
        return cls(os.getpid(), socket.gethostname(), is_main)


class _Watched:
    """The parent that this process is tied to already."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pid: int | None = None


_watched = _Watched()


def end_with(parent: Parent) -> None:
    """End this process when its parent does; called in a worker, before it does anything.

    Nothing happens in the parent itself, nor in a process that another one has started: whoever
    has is answerable for it.
    """
    if parent.pid == os.getpid() or _watched.pid == parent.pid:
        return
    with _watched.lock:
        if _watched.pid == parent.pid:
            return
        if os.getppid() != parent.pid:
            if parent.host == socket.gethostname() and not _lives(parent.pid):
                os._exit(ORPHANED)
            return
        _watched.pid = parent.pid
    if sys.platform == "linux" and parent.in_main_thread:
        # At once, and also while a compiled function keeps the interpreter. It is the end of the
        # thread that counts, hence only for one that lasts.
        _ask_for_signal()
    watch = _wait_on_windows if sys.platform == "win32" else _wait
    threading.Thread(target=watch, args=(parent.pid,), name="parent", daemon=True).start()


def _lives(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # a signal 0 would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _ask_for_signal() -> None:
    set_parent_death_signal = 1
    with suppress(OSError, AttributeError):  # a C library without it: the thread looks
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL), 0, 0, 0)


def _wait(pid: int) -> None:
    # A process whose parent is gone gets another one.
    while os.getppid() == pid:
        time.sleep(LOOK)
    os._exit(ORPHANED)


def _wait_on_windows(pid: int) -> None:
    # There the number of the parent stays as it was.
    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - no such name elsewhere
    may_wait, forever = 0x00100000, 0xFFFFFFFF
    handle = kernel.OpenProcess(may_wait, False, pid)
    if handle:
        kernel.WaitForSingleObject(handle, forever)
    os._exit(ORPHANED)
