"""Damage small valid files of every format at random, and count what reading them ends in.

    python benchmarks/fuzz_readers.py --minutes 10 [--seed 1] [--format parquet ...]
    python benchmarks/fuzz_readers.py --files 5000

Every format is a target of its own (``--format``; ``--list`` names them): tables, clusterings, and
the files of a study. Files crafted to lie (sizes, depth, bombs, endless lines) come first.
An error that is not ours, a read that computes or waits for longer than a few seconds, and more
than a gigabyte of memory are printed with what is needed to see it again, and make the script end
with 1.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from subscape.testing.damage import KINDS, Specimen, crafted, damaged, outcome, specimens

#: Seconds that reading one file may compute, and that it may take on a machine with other work.
SLOW, STUCK = 5.0, 60.0
#: Bytes of memory that this process, or one that it starts, may take.
MOST_MEMORY = 1e9
#: A process of its own looks through these first; one in so many turns is taken.
COSTLY = {"t.h5ad": 25}


class Tally:
    """What became of the files."""

    def __init__(self) -> None:
        self.ends: Counter[tuple[str, str]] = Counter()
        self.longest: Counter[str] = Counter()
        self.faults = 0

    def read(self, file: Specimen, content: bytes, folder: str, how: object) -> None:
        """Read one file, and note how it ends."""
        began, computed = time.monotonic(), _computed()
        try:
            ended = outcome(file, content, folder)
        except (Exception, RecursionError, MemoryError) as error:
            ended = f"FAULT {type(error).__name__}"
            self._fault(f"{file.name} {how}: {error!r}")
        took, computed = time.monotonic() - began, _computed() - computed
        if computed > SLOW or took > STUCK:
            self._fault(f"{file.name} {how}: computed {computed:.1f} s, took {took:.1f} s")
        self.longest[file.name] = max(self.longest[file.name], round(computed, 2))
        self.ends[file.name, ended] += 1

    def read_apart(self, file: Specimen, folder: str) -> None:
        """Read one file in a process of its own, so that its memory is known."""
        child = os.fork()
        if child == 0:
            tally = Tally()
            tally.read(file, file.content, folder, "crafted")
            sys.stdout.flush()
            os._exit(0 if tally.faults else 1 + ((file.name, "refused") in tally.ends))
        _, status, used = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        self.faults += code == 0
        if code < 0:
            self._fault(f"{file.name} crafted: ended by signal {-code}")
        if used.ru_maxrss * 1024 > MOST_MEMORY:
            self._fault(f"{file.name} crafted: took {used.ru_maxrss / 1e3:.0f} MB")
        self.ends[file.name, {1: "read", 2: "refused"}.get(code, "FAULT")] += 1
        self.longest[file.name] = round(used.ru_utime + used.ru_stime, 2)

    def _fault(self, words: str) -> None:
        self.faults += 1
        print(words, flush=True)

    def tell(self, seed: int) -> int:
        """Print it all; 1 if anything is wrong."""
        peak = max(
            resource.getrusage(who).ru_maxrss * 1024
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        if peak > MOST_MEMORY:
            self._fault(f"memory: {peak / 1e6:.0f} MB")
        total = sum(self.ends.values())
        print(f"seed {seed}, {total} files, {self.faults} faults, at most {peak / 1e6:.0f} MB")
        for name in sorted({name for name, _ in self.ends}):
            own = [f"{n} {end}" for (file, end), n in sorted(self.ends.items()) if file == name]
            print(f"  {name:14} {', '.join(own)}; longest {self.longest[name]} s")
        return int(self.faults > 0)


def _computed() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    """Read damaged files until the time, or the number, is reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, help="how long; 1 unless --files is given")
    parser.add_argument("--files", type=int, help="how many damaged files")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--format", action="append", dest="formats")
    parser.add_argument("--list", action="store_true", help="name the formats")
    options = parser.parse_args()
    files = specimens(options.formats)
    if options.list:
        print(*(Path(file.name).suffix[1:] for file in files), sep="\n")
        return 0
    seed = int(time.time()) if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    minutes = options.minutes or (1.0 if options.files is None else 1e9)
    end = time.monotonic() + 60 * minutes
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for file in [] if options.formats else crafted():
            tally.read_apart(file, folder)
        left, turn = options.files or sys.maxsize, 0
        while time.monotonic() < end and left:
            file = files[turn % len(files)]
            turn += 1
            if len(files) > 1 and turn // len(files) % COSTLY.get(file.name, 1):
                continue
            left -= 1
            content, steps = file.content, []
            for _ in range(int(rng.integers(1, 4))):
                kind = KINDS[int(rng.integers(len(KINDS)))]
                step = (kind, float(rng.random()), float(rng.random()), int(rng.integers(1, 256)))
                steps.append(step)
                content = damaged(content, *step) or b"\0"
            tally.read(file, content, folder, steps)
    return tally.tell(seed)


if __name__ == "__main__":
    sys.exit(main())
