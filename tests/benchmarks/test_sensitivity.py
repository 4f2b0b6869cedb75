"""Settings matter: the published finders give many results over their grids."""

from __future__ import annotations

from pathlib import Path

import pytest
import sensitivity
from sensitivity import GRIDS, PAGE_NAMES, distinct, settings, tables

from subscape.finders.catalogue import find, of_role

DOCS = Path(sensitivity.__file__).parents[1] / "docs"
DATA = tables(quick=True)
#: Least numbers of different results as published, on boxes and on flats.
LEAST = {
    "DOC": (4, 3), "FastDOC": (4, 2), "MineClus": (3, 2), "MAFIA": (3, 4), "HARP": (4, 6),
    "PROCLUS": (6, 6), "CLIQUE": (5, 5), "DiSH": (3, 5), "P3C": (4, 3), "PreDeCon": (5, 7),
    "SSPC": (6, 6), "SUBCLU": (5, 5), "LAC": (6, 6), "EWKM": (6, 6), "SparseKMeans": (5, 5),
    "KFlats": (6, 6), "ORCLUS": (6, 6), "SubKMeans": (3, 3), "SSC": (5, 5), "EnSC": (5, 5),
    "LSR": (5, 4), "TSC": (5, 5), "HDDC": (5, 5), "MFA": (6, 6), "MPPCA": (6, 6),
    "ChengChurch": (3, 3), "CASH": (5, 5), "COPAC": (5, 5), "ERiC": (3, 5), "FourC": (3, 5),
    # Boxes of three dimensions hold no lines and planes: nothing is found, whatever the setting.
    "LMCLUS": (1, 6),
}  # fmt: skip


#: They want counts and categories, which the tables are not, or have no paper.
ELSEWHERE = {"ITCC", "LatentClasses", "DensityTree", "Leiden"}


def test_every_finder_has_a_grid():
    assert set(GRIDS) == set(LEAST) == set(of_role("finder")) - ELSEWHERE
    for name in GRIDS:
        # The paper has all of them.
        assert find(name).load().as_published(**settings(name)[0])


@pytest.mark.parametrize("name", GRIDS)
def test_published_finders_listen_to_their_settings(name):
    found = [distinct(name, DATA[table], published=True) for table in ("boxes", "flats")]
    assert found[0] >= LEAST[name][0] and found[1] >= LEAST[name][1], found


MEASURED = sensitivity.measured()


def test_all_finders_are_measured():
    assert set(MEASURED) == set(GRIDS)


@pytest.mark.parametrize("name", MEASURED)
def test_the_pages_say_how_many_results_settings_give(name):
    stem = PAGE_NAMES.get(name, name.lower())
    assert sensitivity.note(name, MEASURED[name]) in (DOCS / "finders" / f"{stem}.md").read_text()


def test_where_the_default_gives_one_result_for_all_settings_it_is_said():
    row = {"boxes": (6, 2), "flats": (6, 1), "noise": (1, 1)}
    assert "On flats the default leads all settings to one result." in words("CASH", row)
    one = {"boxes": (6, 1), "flats": (6, 1), "noise": (1, 1)}
    assert words("CASH", one).endswith("By default all settings lead to one result.")
    assert "one result" not in words("CASH", {"boxes": (6, 2), "flats": (6, 6), "noise": (1, 1)})


def words(name, row):
    return " ".join(sensitivity.note(name, row).split())
