"""The code still computes what is written down in record.json."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("family", GROUPS)
def test_same_as_recorded(family):
    """Every case of a family gives what it gave."""
    found = []
    for name in KNOWN:
        if group(name) == family:
            then, now = KNOWN[name], record.outcome(name)
            found += [f"{name}: {each}" for each in record.differences(then, now)]
    assert not found, "\n".join(found[:40])
