"""Kill explorations at random moments: what lingers, what is left over, what a resume gives.

    python benchmarks/kills.py [--kills 20] [--signal KILL ...] [--seed 0] [--quick]

An exploration with two worker processes is started, its main process is sent a signal at a random
moment, and it is resumed. Counted are processes of ours that live on five seconds later, studies
whose files differ by a byte from those of an undisturbed one, and files that do not belong to it.
Linux only: processes are found in /proc by the session that they were started in.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from subscape.datasets import planted_views

#: As promised.
SECONDS = 5.0
#: What tells how long things took is never the same twice: times of runs, and pages that show them.
NOT_COMPARED = ("timings.json", "report.html")


def living(session: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            state, _, _, own = (place / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(place.name))
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Content of every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def unlike(whole: dict[str, bytes], resumed: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Files that differ or are missing, and files too many."""
    compared = [n for n in whole if n not in NOT_COMPARED and not n.startswith("runs/")]
    other = [name for name in compared if resumed.get(name) != whole[name]]
    return other, sorted(set(resumed) - set(whole))


def main() -> int:
    """Kill, look, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20, help="by each signal")
    parser.add_argument("--signal", action="append", choices=["KILL", "TERM", "INT"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one kill by each signal")
    options = parser.parse_args()
    kills = 1 if options.quick else options.kills
    rng = np.random.default_rng(options.seed)
    X, _ = planted_views(90, 4, n_clusters=(2, 2), random_state=0)
    faults = 0
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch, "table.csv")
        np.savetxt(table, X, delimiter=",", header="a,b,c,d", comments="", fmt="%.4f")

        def command(folder: Path, *more: str) -> list[str]:
            return [sys.executable, "-m", "subscape", "explore", str(table), "-o", str(folder),
                    "--effort", "quick", "--jobs", "2", *more]  # fmt: skip

        whole = Path(scratch, "whole")
        subprocess.run(command(whole), check=True, capture_output=True)
        expected = files(whole)
        print(
            "| signal | kills | during the work | processes after 5 s | other bytes | left over |"
        )
        print("|---|---:|---:|---:|---:|---:|", flush=True)
        for name in options.signal or ["KILL", "TERM", "INT"]:
            lingering = other = left = during = 0
            for turn in range(kills):
                folder = Path(scratch, f"{name}{turn}")
                # A process that a shell started in the background would not hear of Ctrl-C.
                process = subprocess.Popen(
                    command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                )  # fmt: skip
                # By what is written, not by the clock: others may use the machine.
                written = int(rng.integers(0, len(expected)))
                while process.poll() is None and len(list(folder.rglob("*"))) < written:
                    time.sleep(0.005)
                time.sleep(float(rng.uniform(0, 0.2)))
                during += process.poll() is None
                process.send_signal(getattr(signal, f"SIG{name}"))
                until = time.monotonic() + SECONDS
                while living(process.pid) and time.monotonic() < until:
                    process.poll()
                    time.sleep(0.05)
                late = living(process.pid)
                for pid in late:
                    os.kill(pid, signal.SIGKILL)
                process.wait()
                again = ["--resume"] if folder.is_dir() else []
                subprocess.run(command(folder, *again), check=True, capture_output=True)
                differing, more = unlike(expected, files(folder))
                if late or differing or more:
                    print(f"  {name} {turn}: {late} {differing} {more}", flush=True)
                lingering, other, left = (
                    lingering + len(late),
                    other + bool(differing),
                    left + len(more),
                )
            faults += lingering + other + left
            print(
                f"| SIG{name} | {kills} | {during} | {lingering} | {other} | {left} |", flush=True
            )
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
