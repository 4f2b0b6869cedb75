"""The guide pages: every finder has one, and what they link to is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GUIDES = [*DOCS.glob("finders/*.md"), *DOCS.glob("alternatives/*.md")]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page):
    targets = [t for t in LINK.findall(page.read_text()) if not t.startswith("http")]
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guides_have_a_picture_that_can_be_drawn_again(page):
    text = page.read_text()
    assert f"images/{page.stem}.png" in text
    assert f'    "{page.stem}": ' in (DOCS / "pictures.py").read_text()
    assert "doi.org/10." in text


def test_every_finder_has_a_guide():
    from subscape.finders.catalogue import of_role

    names = of_role("finder", "views", "alternative")
    stems = {page.stem.replace("_", "") for page in GUIDES}
    assert {name.lower() for name in names} - stems - {"fastdoc"} == set()


def test_the_page_of_all_finders_is_up_to_date():
    spec = importlib.util.spec_from_file_location("docs_catalogue", DOCS / "catalogue.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text() == made.page(), "run: python docs/catalogue.py"
