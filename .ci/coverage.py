"""Compare what the tests covered with the floor of every package; ``--write`` renews the floors.

Run by ``make coverage`` after ``coverage combine``. Floors stand in .ci/coverage.json and may only
rise, or fall with a reason in the change that lowers them.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

KEPT = Path(__file__).with_name("coverage.json")


def measured() -> dict[str, dict[str, float]]:
    """Package -> share of its lines that ran, in per cent, and how many lines it has."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        # Tests also make packages of this name of their own, in folders that are gone by now.
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run([*command, "--include=src/subscape/*"], check=True)
        files = json.loads(report.read_text())["files"]
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, each in files.items():
        parts = Path(name.replace("\\", "/")).parts
        inside = parts[len(parts) - parts[::-1].index("subscape") :]
        package = inside[0] if len(inside) > 1 else "subscape"
        totals[package][0] += each["summary"]["covered_lines"]
        totals[package][1] += each["summary"]["num_statements"]
    return {
        package: {"share": 100 * covered / max(lines, 1), "lines": lines}
        for package, (covered, lines) in sorted(totals.items())
    }


def main() -> int:
    """Print a line per package; 1 if one is below its floor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="take what was measured as the floors")
    write = parser.parse_args().write
    found = measured()
    if write:
        floors = {package: {"floor": math.floor(each["share"])} for package, each in found.items()}
        KEPT.write_text(json.dumps(floors, indent=1) + "\n")
        return 0
    kept = json.loads(KEPT.read_text())
    low = []
    for package, each in found.items():
        floor = kept.get(package, {"floor": 0})["floor"]
        print(f"{package:12} {each['share']:6.1f} %, floor {floor}")
        if each["share"] < floor:
            low.append(package)
    if low:
        print(f"below their floors: {', '.join(low)}", file=sys.stderr)
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
