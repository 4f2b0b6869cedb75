"""The code still computes what is written down in record.json.

The cases run in a process of their own, with the routines of OpenBLAS and NumPy that all x86-64
processors have, so that the record is the same on each of them. With other versions of NumPy, SciPy
and scikit-learn than the record was made with, some places are free; record.py names them.
"""

from __future__ import annotations

import fnmatch
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
    "parameters",
    "commands",
    "defaults",
    "testing",
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


def test_only_named_places_are_free_with_other_versions(monkeypatch):
    case = "studies/nested/all"
    free = (case, r"views\[\d+\]\.cluster_p_values\[\d+\]", "a reason")
    monkeypatch.setattr(record, "BY_VERSION", (free,))
    then = {"views": [{"p_value": 0.1, "cluster_p_values": [0.1, 0.2], "labels": "9x2 ab"}]}
    now = {"views": [{"p_value": 0.1, "cluster_p_values": [0.1, 0.3], "labels": "9x2 ab"}]}
    other = {"views": [{"p_value": 0.1, "cluster_p_values": [0.1, 0.3], "labels": "9x2 cd"}]}
    longer = {"views": [{"p_value": 0.1, "cluster_p_values": [0.1, 0.3, 0.2], "labels": "9x2 ab"}]}
    monkeypatch.setattr(record, "other_versions", lambda: False)
    assert len(record.faults(case, then, now)) == 1
    monkeypatch.setattr(record, "other_versions", lambda: True)
    assert record.faults(case, then, now) == []
    assert len(record.faults(case, then, other)) == 1
    assert len(record.faults(case, then, longer)) == 1
    assert len(record.faults("studies/plain/all", then, now)) == 1


def test_free_places_keep_their_type_and_shape(monkeypatch):
    monkeypatch.setattr(record, "other_versions", lambda: True)
    case = "alternatives/MAXIMUS/views/other"
    assert record.faults(case, {"labels_": "240 ab"}, {"labels_": "240 cd"}) == []
    for wrong in ("239 ab", 240, None):
        assert len(record.faults(case, {"labels_": "240 ab"}, {"labels_": wrong})) == 1
    assert record.faults(case, {"labels_": "240 ab"}, {"error": "ValueError"}) == [
        "error: new", "labels_: gone",
    ]  # fmt: skip


def test_every_free_place_is_one_of_a_case():
    for cases, _, why in record.BY_VERSION:
        assert why
        assert [name for name in KNOWN if fnmatch.fnmatchcase(name, cases)]


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
