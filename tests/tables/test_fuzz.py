"""Damaged files of every format: they are read or refused in a sentence, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subscape.testing.damage import KINDS, damaged, outcome, specimens

SPECIMENS = {s.name: s for s in specimens()}
#: A child process looks through these, which takes its time.
SLOW = {"t.h5ad": 12}


def test_whole_files_are_read(tmp_path):
    for specimen in SPECIMENS.values():
        assert outcome(specimen, specimen.content, tmp_path) == "read", specimen.name


@pytest.mark.parametrize("name", sorted(SPECIMENS))
def test_damaged_files_are_read_or_refused(tmp_path, name):
    specimen = SPECIMENS[name]
    seen = set()

    @settings(
        max_examples=SLOW.get(name, 60),
        suppress_health_check=list(HealthCheck),
        deadline=None,
        database=None,
    )
    @given(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 1), st.integers(1, 255))
    def damage(kind, place, other, value):
        seen.add(outcome(specimen, damaged(specimen.content, kind, place, other, value), tmp_path))

    damage()
    assert "refused" in seen


@pytest.mark.parametrize("name", ["c.subscape", "t.npy", "t.zst", "t.gz", "t.zip"])
def test_every_single_byte(tmp_path, name):
    """Short binary files, each byte of their first part wrong once."""
    specimen = SPECIMENS[name]
    n = min(len(specimen.content), 300)
    ends = [
        outcome(specimen, damaged(specimen.content, "flip", i / len(specimen.content), 0), tmp_path)
        for i in range(n)
    ]
    assert ends.count("refused") > n // 10
