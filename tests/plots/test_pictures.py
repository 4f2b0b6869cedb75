"""Pictures are what they were: see ``tests/plots/pictures.py``."""

from __future__ import annotations

import json

import pytest
from tests.plots import pictures

KNOWN = json.loads(pictures.KNOWN.read_text(encoding="utf-8"))


def test_every_picture_is_written_down():
    assert list(KNOWN) == list(pictures.CASES)


@pytest.mark.parametrize("name", pictures.CASES)
def test_pictures_are_what_they_were(name):
    assert pictures.differences(KNOWN[name], pictures.made(name)) == []


def test_differences_are_found():
    known = {"a": [1.0, {"b": None}], "c": "x", "d": [0.0]}
    assert (
        pictures.differences(known, {"a": [1.0 + 1e-7, {"b": None}], "c": "x", "d": [1e-10]}) == []
    )
    for now, places in (
        ({"a": [1.0 + 1e-5, {"b": 2}], "c": "y", "d": [1e-8]}, ["/a/0", "/a/1/b", "/c", "/d/0"]),
        ({"a": [1.0], "c": "x", "d": [0.0]}, ["/a"]),
        ({"a": [True, {"b": None}], "c": "x", "d": [0.0]}, []),
        ({"c": "x"}, [""]),
    ):
        assert [each.partition(":")[0] for each in pictures.differences(known, now)] == places
