"""Threads of BLAS are lowered for a while, and put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

SCRIPT = """
import json, threading
from subscape.parallel.threads import _blas_libraries, one_blas_thread

def now():
    return [library.num_threads for library in _blas_libraries()]

seen = [now()]
with one_blas_thread():
    seen.append(now())
    with one_blas_thread():
        seen.append(now())
    seen.append(now())
seen.append(now())
try:
    with one_blas_thread():
        raise KeyError
except KeyError:
    seen.append(now())
inside, go_on = threading.Event(), threading.Event()

def stay():
    with one_blas_thread():
        inside.set()
        go_on.wait(60)

thread = threading.Thread(target=stay)
thread.start()
inside.wait(60)
with one_blas_thread():
    pass
seen.append(now())
go_on.set()
thread.join()
with one_blas_thread():
    pass
seen.append(now())
print(json.dumps([sorted(set(each)) for each in seen]))
"""


def test_the_first_in_lowers_and_the_last_out_puts_back():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    before, first, second, between, after, failed, others, last = json.loads(done.stdout)
    assert first == second == between == others == [1]
    # A process that is held to one core gets one thread, whatever it asks for.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    assert before == after == failed == last == [min(2, cores)]
