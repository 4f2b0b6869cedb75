"""Ctrl-C, and SIGTERM alike, answered soon, also while a long computation goes on."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

#: Seconds that the main thread has to stop what it does.
PATIENCE = 0.4
#: Keeps the process that tidies up after workers from saying so.
QUIET = "ignore:resource_tracker"
#: Signals that ask for an end; SIGTERM is what a batch system or a shutdown sends.
ENDING = (signal.SIGINT, signal.SIGTERM)


class PromptStop:
    """While this context lasts, Ctrl-C or SIGTERM ends the work within a moment.

    Python raises KeyboardInterrupt between two of its own steps, so that a single call of a
    compiled function may hold it back for as long as it likes; and raised within a callback of such
    a function it is lost. The signal itself is never held back: it writes a byte into a socket, on
    which a thread listens. If the main thread has not left the context soon after, the thread calls
    ``end`` in its place and leaves the process.

    Parameters
    ----------
    end : callable
        Writes down what is known. Called in another thread, or not at all; in the first case the
        main thread never gets out of the context.
    """

    def __init__(self, end: Callable[[], Any]) -> None:
        self._end = end
        self._heard = threading.Event()
        self._left = threading.Event()
        self._turn = threading.Lock()
        self._is_active = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> PromptStop:
        # Signals are for the main thread only; and a job in the background ignores Ctrl-C.
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        ):
            return self
        self._is_active = True
        self._asked = os.environ.get("PYTHONWARNINGS")
        os.environ["PYTHONWARNINGS"] = f"{self._asked},{QUIET}" if self._asked else QUIET
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _interrupt)
        self._fd_before = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        self._hook_before = threading.excepthook
        threading.excepthook = self._unless_stopped
        self._unraisable_before = sys.unraisablehook
        sys.unraisablehook = self._unless_interrupted
        threading.Thread(target=self._listen, name="prompt stop", daemon=True).start()
        return self

    def __exit__(self, *details: object) -> None:
        if not self._is_active:
            return
        if not self._turn.acquire(blocking=False):
            threading.Event().wait()  # the other thread is ending the process
        self._left.set()
        if self._asked is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = self._asked
        if len(details) > 1 and isinstance(details[1], KeyboardInterrupt):
            self._heard.set()  # it is the end: the hook stays
        else:
            threading.excepthook = self._hook_before
            sys.unraisablehook = self._unraisable_before
        signal.set_wakeup_fd(self._fd_before)
        for number, before in self._before.items():
            signal.signal(number, before)
        self._mouth.close()

    def _listen(self) -> None:
        with self._ear:
            while received := self._ear.recv(64):
                heard = [number for number in self._before if number in received]
                if heard:
                    _asked_by.number = heard[0]
                    break
            else:
                return
        self._heard.set()
        if self._left.wait(PATIENCE) or not self._turn.acquire(blocking=False):
            return
        try:
            self._end()
        except BaseException as error:
            print(f"Error: {error}", file=sys.stderr)
        finally:
            leave()

    def _unless_stopped(self, failure: threading.ExceptHookArgs) -> None:
        """Threads whose work is taken away under their hands need not tell."""
        if not self._heard.wait(0.1):
            self._hook_before(failure)

    def _unless_interrupted(self, failure: Any) -> None:
        """An interruption that arises in a callback is lost there: the other thread sees to it."""
        if failure.exc_type is not KeyboardInterrupt:
            self._unraisable_before(failure)


class _AskedBy:
    """The signal that asked for the end."""

    number: int = signal.SIGINT


_asked_by = _AskedBy()


def _interrupt(number: int, frame: Any) -> NoReturn:
    _asked_by.number = number
    raise KeyboardInterrupt


def leave() -> NoReturn:
    """End this process and the workers it has, without waiting for anything."""
    pools = sys.modules.get("joblib.externals.loky.reusable_executor")
    workers = getattr(getattr(pools, "_executor", None), "_processes", None) or {}
    for pid in list(workers):
        with suppress(OSError):  # gone already
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(128 + _asked_by.number)
