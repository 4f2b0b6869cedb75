"""Run sp-repo-review; a check may fail if docs/project/releasing.md gives the reason."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "project" / "releasing.md"


def main() -> int:
    """Print what passes and what not; 1 if the page and the checks differ."""
    command = [Path(sys.executable).parent / "repo-review", "--format", "json", str(ROOT)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    checks = answer.get("repo-review", answer)["checks"]
    applicable = {name: check for name, check in checks.items() if check["result"] is not None}
    failed = {name for name, check in applicable.items() if check["result"] is False}
    named = set(re.findall(r"^\| ([A-Z]+\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    print(f"sp-repo-review: {len(applicable) - len(failed)} of {len(applicable)} checks pass")
    for name in sorted(failed - named):
        print(f"{name} fails: mend it, or say why in {PAGE.name}")
    for name in sorted(named - failed):
        print(f"{name} passes; take it out of {PAGE.name}")
    return int(failed != named)


if __name__ == "__main__":
    sys.exit(main())
