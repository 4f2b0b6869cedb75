"""The first sentence of a study."""

from __future__ import annotations

from dataclasses import replace

from subscape.testing.studies import empty_study, planted_study


def unclaimed(stability):
    study = planted_study(100)
    views = tuple(replace(view, p_value=0.4, stability=stability) for view in study.views)
    return planted_study(100, views=views)


def test_a_grouping_that_comes_back_but_cannot_be_claimed_is_named():
    text = unclaimed(0.9).verdict
    assert text.startswith("No grouping better than chance")
    assert "View 1, into 4 clusters, does come back" in text
    assert "a mere gradient" in text


def test_nothing_more_is_said_where_nothing_comes_back():
    text = unclaimed(0.4).verdict
    assert text == empty_study().verdict
    assert text.endswith("that have no groups.")


def test_what_is_claimed_is_counted():
    text = planted_study(100).verdict
    assert text.startswith("Three ways to group the rows, into 4, 3 and 2 clusters")
