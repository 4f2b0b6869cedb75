"""Workers end with the process that started them, however that ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from subscape.parallel.orphans import Parent, end_with

#: As the issue asks for.
SECONDS = 5.0

FRAME = """
import os, sys, threading, time
from pathlib import Path
from subscape.parallel.local import finished

def busy(folder):
    Path(folder, str(os.getpid())).touch()
    {busy}

def main():
    list(finished(busy, [(sys.argv[1],)] * 2, 2))

if __name__ == "__main__":
    {start}
"""
SPIN = "while True: pass"
#: Keeps the interpreter for itself, so that no other thread of the worker gets a turn.
STUCK = "sum(range(10**12))"
THREAD = "threading.Thread(target=main).start(); time.sleep(600)"


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "busy", "start"),
    [
        (signal.SIGKILL, SPIN, "main()"),
        (signal.SIGKILL, STUCK, "main()"),
        (signal.SIGTERM, SPIN, "main()"),
        (signal.SIGKILL, SPIN, THREAD),
    ],
)
def test_no_worker_outlives_its_parent(tmp_path, number, busy, start):
    script = tmp_path / "script.py"
    script.write_text(FRAME.format(busy=busy, start=start))
    marks = tmp_path / "marks"
    marks.mkdir()
    process = subprocess.Popen([sys.executable, script, marks], stderr=subprocess.DEVNULL)
    workers: list[int] = []
    try:
        until = time.monotonic() + 60
        while len(workers) < 2 and time.monotonic() < until:
            time.sleep(0.1)
            workers = [int(path.name) for path in marks.iterdir()]
        assert len(workers) == 2 and process.pid not in workers
        time.sleep(0.2)
        process.send_signal(number)
        process.wait(10)
        until = time.monotonic() + SECONDS
        while not all(map(is_gone, workers)) and time.monotonic() < until:
            time.sleep(0.05)
        assert [pid for pid in workers if not is_gone(pid)] == []
    finally:
        process.kill()
        for pid in workers:
            if not is_gone(pid):
                os.kill(pid, signal.SIGKILL)


def test_whoever_is_no_worker_of_ours_is_left_alone():
    end_with(Parent.here())
    end_with(Parent(os.getppid() + 2**22, "another host", True))
    end_with(Parent(1, Parent.here().host, True))
