"""Damage small valid files of every format at random, and count what reading them ends in.

Run by hand:  python benchmarks/fuzz_readers.py --minutes 10 [--seed 1] [--format parquet ...]

An error that is not ours, or a read that takes longer than a few seconds, is printed with what is
needed to see it again, and makes the script end with 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter

import numpy as np

from subscape.testing.damage import KINDS, damaged, outcome, specimens

#: Reading a damaged file may not take longer than this, in seconds; h5ad starts a process first.
SLOW = 5.0


def main() -> int:
    """Read damaged files until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--format", action="append", dest="formats")
    options = parser.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    files = specimens(options.formats)
    counts: Counter[tuple[str, str]] = Counter()
    longest: Counter[str] = Counter()
    faults = 0
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        turn = 0
        while time.monotonic() < end:
            specimen = files[turn % len(files)]
            turn += 1
            if specimen.name.endswith("h5ad") and rng.random() > 0.02 and len(files) > 1:
                continue
            content = specimen.content
            steps = []
            for _ in range(int(rng.integers(1, 4))):
                kind = KINDS[int(rng.integers(len(KINDS)))]
                step = (kind, float(rng.random()), float(rng.random()), int(rng.integers(1, 256)))
                steps.append(step)
                content = damaged(content, *step) or b"\0"
            began = time.monotonic()
            try:
                ended = outcome(specimen, content, folder)
            except Exception as error:
                ended = f"FAULT {type(error).__name__}"
                faults += 1
                print(f"{specimen.name} {steps}: {error!r}", flush=True)
            took = time.monotonic() - began
            longest[specimen.name] = max(longest[specimen.name], round(took, 2))
            if took > SLOW:
                faults += 1
                print(f"{specimen.name} {steps}: took {took:.1f} s", flush=True)
            counts[specimen.name, ended] += 1
    print(f"seed {seed}, {sum(counts.values())} files, {faults} faults")
    for name in sorted({name for name, _ in counts}):
        ends = ", ".join(f"{n} {end}" for (file, end), n in sorted(counts.items()) if file == name)
        print(f"  {name:14} {ends}; longest {longest[name]} s")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
