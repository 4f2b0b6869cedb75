"""What a signal does to the main thread, to hooks and to workers, with signals sent to oneself."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from subscape.parallel import interruption
from subscape.parallel.interruption import ENDING, QUIET, PromptStop


class Left(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def heard():
    """Signals are heard, also where this runs in the background, which ignores them."""
    before = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def process(monkeypatch):
    """A process that has workers, and notes what is killed and how it ends."""
    made = SimpleNamespace(killed=[], ended=[], done=threading.Event())

    def kill(pid, number):
        made.killed.append((pid, number))
        if pid == 8:
            raise ProcessLookupError

    def end(code):
        made.ended.append(code)
        made.done.set()
        raise Left

    system = SimpleNamespace(environ=os.environ, kill=kill, _exit=end)
    monkeypatch.setattr(interruption, "os", system)
    monkeypatch.setattr(interruption._asked_by, "number", signal.SIGINT)
    return made


def test_leaving_kills_the_workers_first(process, monkeypatch):
    pool = SimpleNamespace(_executor=SimpleNamespace(_processes={7: None, 8: None, 9: None}))
    name = "joblib.externals.loky.reusable_executor"
    monkeypatch.setitem(sys.modules, name, pool)
    with pytest.raises(Left):
        interruption.leave()
    assert process.killed == [(pid, signal.SIGKILL) for pid in (7, 8, 9)]
    assert process.ended == [128 + signal.SIGINT]
    interruption._asked_by.number = signal.SIGTERM
    for none in (SimpleNamespace(_executor=None), SimpleNamespace()):
        monkeypatch.setitem(sys.modules, name, none)
        with pytest.raises(Left):
            interruption.leave()
    assert process.ended[1:] == [128 + signal.SIGTERM] * 2 and len(process.killed) == 3


@pytest.mark.parametrize("before", [None, "error"])
def test_everything_is_put_back(monkeypatch, before):
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    if before:
        monkeypatch.setenv("PYTHONWARNINGS", before)
    handlers = [signal.getsignal(number) for number in ENDING]
    hooks = (threading.excepthook, sys.unraisablehook)
    with PromptStop(lambda: None):
        assert os.environ["PYTHONWARNINGS"] == (f"error,{QUIET}" if before else QUIET)
        assert [signal.getsignal(number) for number in ENDING] == [interruption._interrupt] * 2
        assert threading.excepthook is not hooks[0] and sys.unraisablehook is not hooks[1]
        wakeup = signal.set_wakeup_fd(-1)
        assert wakeup >= 0
        signal.set_wakeup_fd(wakeup)
    assert os.environ.get("PYTHONWARNINGS") == before
    assert [signal.getsignal(number) for number in ENDING] == handlers
    assert (threading.excepthook, sys.unraisablehook) == hooks
    assert signal.set_wakeup_fd(-1) == -1


def test_many_signals_at_once_say_nothing(monkeypatch, capfd):
    """The pipe that wakes the listener is full, long after the first one was heard."""
    stop = PromptStop(lambda: None)
    monkeypatch.setattr(stop, "_listen", lambda: None)
    with stop:
        try:
            while True:
                stop._mouth.send(bytes(65536))
        except BlockingIOError:
            pass
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1.0)
    assert capfd.readouterr().err == ""
    stop._ear.close()


def test_what_ignores_signals_goes_on_doing_so():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with PromptStop(lambda: None):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is interruption._interrupt
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with PromptStop(lambda: None):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hear_no_signals():
    seen = []

    def inside():
        with PromptStop(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("number", ENDING)
def test_a_main_thread_that_leaves_soon_ends_by_itself(process, monkeypatch, number):
    monkeypatch.setattr(interruption, "PATIENCE", 5.0)
    ended = []
    stop = PromptStop(lambda: ended.append(1))
    hook = threading.excepthook
    with pytest.raises(KeyboardInterrupt), stop:
        os.kill(os.getpid(), number)
        time.sleep(5.0)
    assert interruption._asked_by.number == number
    assert not ended and not process.ended
    # It is the end: what threads still say is not told.
    assert threading.excepthook == stop._unless_stopped
    threading.excepthook, sys.unraisablehook = hook, stop._unraisable_before


def test_a_main_thread_that_does_not_leave_is_ended(process, monkeypatch, capsys):
    monkeypatch.setattr(interruption, "PATIENCE", 0.05)
    ended = []

    def end():
        ended.append(threading.current_thread() is not threading.main_thread())
        raise ValueError("disk full")

    stop = PromptStop(end)
    stop.__enter__()
    hooks = stop._hook_before, stop._unraisable_before
    try:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)
        except KeyboardInterrupt:
            pass  # lost in a callback, say
        assert process.done.wait(5.0)
        assert ended == [True] and process.ended == [128 + signal.SIGTERM]
        assert capsys.readouterr().err == "Error: disk full\n"
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        for key, before in stop._before.items():
            signal.signal(key, before)
        signal.set_wakeup_fd(stop._fd_before)
        stop._mouth.close()
        os.environ.pop("PYTHONWARNINGS", None)
        if stop._asked is not None:
            os.environ["PYTHONWARNINGS"] = stop._asked


def test_failures_are_told_unless_the_end_was_asked_for(monkeypatch):
    stop = PromptStop(lambda: None)
    told, lost = [], []
    stop._hook_before, stop._unraisable_before = told.append, lost.append
    stop._unless_stopped("failure")
    stop._unless_interrupted(SimpleNamespace(exc_type=ValueError))
    stop._unless_interrupted(SimpleNamespace(exc_type=KeyboardInterrupt))
    assert told == ["failure"] and [each.exc_type for each in lost] == [ValueError]
    stop._heard.set()
    stop._unless_stopped("another")
    assert told == ["failure"]
