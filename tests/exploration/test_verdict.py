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
    first = "No grouping better than chance: what the search found here it also finds in tables "
    assert text.startswith(f"{first}like this one that have no groups. What was searched: ")
    assert empty_study().verdict.startswith(first)
    assert "come back" not in text


def test_what_is_claimed_is_counted():
    text = planted_study(100).verdict
    assert text.startswith("Three ways to group the rows, into 4, 3 and 2 clusters")


def test_a_steadier_version_is_named_beside_a_claim_that_does_not_come_back():
    first, second, _ = planted_study(100).views
    views = (replace(first, stability=0.4), replace(second, p_value=0.02, stability=0.95))
    text = planted_study(100, views=views).verdict
    assert "but it does not come back reliably" in text
    assert (
        "View 2, into 3 clusters, does come back, but chance could give it, too (p = 0.02)." in text
    )
