"""The code still computes what is written down in record.json.

The cases run in a process of their own, with the routines of OpenBLAS and NumPy that all x86-64
processors have, so that the record is the same on each of them.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from subscape.finders.catalogue import of_role

_PLACE = Path(__file__).with_name("record.py")
_SPEC = importlib.util.spec_from_file_location("golden_record", _PLACE)
record = importlib.util.module_from_spec(_SPEC)
sys.modules["golden_record"] = record
_SPEC.loader.exec_module(record)

KNOWN = record.recorded()


def group(name: str) -> str:
    """The first two parts of a case's name, or one part where the cases are quick."""
    first, second, *_ = name.split("/")
    return first if first in QUICK else f"{first}/{second}"


#: Families whose cases are one test together.
QUICK = {
    "tables",
    "nulls",
    "measures",
    "scores",
    "chance",
    "adco",
    "prototypes",
    "ensemble",
    "core",
}
GROUPS = sorted({group(name) for name in KNOWN})


def test_every_case_is_recorded():
    """A new case needs a record, and no case may vanish."""
    assert set(record.CASES) == set(KNOWN)


def test_every_finder_has_a_case():
    """Of the catalogue; only baselines are not ours to hold on to."""
    recorded = {part for name in KNOWN for part in re.split("[/ ]", name)}
    ours = of_role("finder", "views", "alternative", "consensus")
    assert set(ours) - recorded == set(), "add a case to tests/golden/record.py, and record it"


@pytest.fixture(scope="module")
def golden():
    """A process that compares cases with the record; see record.py."""
    with subprocess.Popen(
        [sys.executable, str(_PLACE), "--answer"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        process.stdin.close()


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the record is that of x86-64 processors with OpenBLAS",
)
@pytest.mark.parametrize("family", GROUPS)
def test_same_as_recorded(family, golden):
    """Every case of a family gives what it gave."""
    names = [name for name in KNOWN if group(name) == family]
    print(json.dumps(names), file=golden.stdin, flush=True)
    found = json.loads(golden.stdout.readline())
    assert not found, "\n".join(found[:40])
