"""Settings matter: the published finders give many results over their grids."""

from __future__ import annotations

from pathlib import Path

import pytest
import sensitivity
from sensitivity import GRIDS, distinct, settings, tables

from subscape.finders.catalogue import find, of_role

DOCS = Path(sensitivity.__file__).parents[1] / "docs"
TABLES = tables(quick=True)
#: Least numbers of different results as published, on boxes and on flats.
LEAST = {
    "DOC": (4, 3), "FastDOC": (4, 2), "MineClus": (3, 2), "MAFIA": (3, 4), "HARP": (4, 6),
    "PROCLUS": (6, 6), "CASH": (5, 5), "COPAC": (5, 5), "ERiC": (3, 5), "FourC": (3, 5),
    "LMCLUS": (2, 5),
}  # fmt: skip


def test_every_finder_that_refines_has_a_grid():
    refining = [
        name for name, entry in of_role("finder").items()
        if "refine" in entry.load()._get_param_names()
        # Not measured yet.
        and not entry.home.endswith("selfexpression")
    ]  # fmt: skip
    assert sorted(GRIDS) == sorted(refining) == sorted(LEAST)
    for name in GRIDS:
        # The paper has all of them.
        assert find(name).load().as_published(**settings(name)[0])


@pytest.mark.parametrize("name", GRIDS)
def test_published_finders_listen_to_their_settings(name):
    found = [distinct(name, TABLES[table], published=True) for table in ("boxes", "flats")]
    assert found[0] >= LEAST[name][0] and found[1] >= LEAST[name][1], found


@pytest.mark.parametrize("name", GRIDS)
def test_the_pages_say_how_many_results_settings_give(name):
    stem = {"FastDOC": "doc"}.get(name, name.lower())
    assert "different results" in (DOCS / "finders" / f"{stem}.md").read_text()
