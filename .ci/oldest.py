"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

``python .ci/oldest.py > oldest.txt && pip install --constraint oldest.txt …``. Needs nothing beyond
Python 3.11.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: What users have beside Subscape, and what the tests need; the linters may be of any age.
EXTRAS = ("report", "graph", "pareto", "anndata", "dask", "gpu", "excel", "test")
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*>=\s*([^,;\s]+)$")


def oldest(project: Path = PROJECT) -> dict[str, str]:
    """Name -> oldest version, of the dependencies and of the extras."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = list(declared["dependencies"])
    for extra in EXTRAS:
        wanted += declared["optional-dependencies"][extra]
    found = {}
    for requirement in wanted:
        if requirement.startswith("subscape["):
            continue
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise SystemExit(f"{project.name}: {requirement!r} names no oldest version (>=)")
        found[match[1]] = match[2]
    return found


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}=={version}\n" for name, version in oldest().items()))
