"""What defaults gain stands in the docstrings, with the figures of the page."""

from __future__ import annotations

from pathlib import Path

import published
import pytest
from pages import Page
from published import CASES, Gain, sentence

from subscape.finders.catalogue import CATALOGUE, find

PAGE = Page.read(Path(published.__file__).parent / "results" / "published.md")


def test_all_that_is_measured_has_a_paper():
    assert all(CATALOGUE[name].published is not None for name in CASES)
    assert {row["method"] for row in PAGE.rows} == set(CASES)


def test_whoever_does_otherwise_by_default_says_what_that_gains():
    for name, entry in CATALOGUE.items():
        if entry.published is None or entry.role == "baseline":
            continue
        cls = entry.load()
        otherwise = cls.as_published().get_params() != cls().get_params()
        assert not otherwise or name in CASES, name


@pytest.mark.parametrize("name", CASES)
def test_docstrings_have_the_figures_of_the_page(name):
    one, other = (PAGE.number(column, method=name) for column in ("as published", "default"))
    section = find(name).load().__doc__.partition("Differences from the paper")[2]
    said = " ".join(section.split())
    assert sentence(Gain(name, one, other)) in said


def test_settings_are_those_that_the_paper_has():
    for name, (_, told, ours) in CASES.items():
        cls = find(name).load()
        assert cls.as_published(**told)
        assert set(ours) <= set(cls().get_params())
