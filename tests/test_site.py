"""The site: every public name has its page, every finder its example, and links are checked."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

import subscape
from subscape.finders.catalogue import of_role

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site():
    """The modules that make the site."""
    sys.path.insert(0, str(DOCS / "site"))
    try:
        yield {
            name: importlib.import_module(name)
            for name in ("reference", "examples", "links", "made_pages")
        }
    finally:
        sys.path.remove(str(DOCS / "site"))


def test_every_public_name_has_a_page_of_the_reference(site, tmp_path):
    site["reference"].write(tmp_path / "reference")
    written = {path.stem for path in (tmp_path / "reference").glob("*.rst")}
    for name in ("", *(f".{name}" for name in subscape._SUBMODULES)):
        module = importlib.import_module(f"subscape{name}")
        for public in getattr(module, "__all__", ()):
            if public.startswith("__") or public in subscape._SUBMODULES:
                continue
            assert f"{module.__name__}.{public}" in written
            assert getattr(module, public) is not None


def test_every_name_of_the_reference_says_what_it_is(site):
    silent = [
        name
        for name, value in site["reference"].everything().items()
        if callable(value) and not (value.__doc__ or "").strip()
    ]
    assert silent == []


def callables(public):
    """Name, function and text of whatever can be called: functions, and methods of classes.

    What a class has from elsewhere, such as scikit-learn, is documented there.
    """
    for name, value in public.items():
        if inspect.isfunction(value):
            yield name, value, inspect.getdoc(value) or ""
        for member in dir(value) if inspect.isclass(value) else ():
            found = getattr(value, member)
            function = (
                inspect.unwrap(getattr(found, "__func__", found)) if callable(found) else None
            )
            ours = inspect.isfunction(function) and function.__module__.startswith("subscape")
            if ours and not member.startswith("_"):
                yield f"{name}.{member}", function, inspect.getdoc(found) or ""


def silent_on_what_comes_back(public):
    """Those that return something, by their annotation, and have no section that says what."""
    nothing = (None, "None", "NoReturn", inspect.Signature.empty)
    return [
        name
        for name, function, text in callables(public)
        if inspect.signature(function).return_annotation not in nothing
        and not re.search(r"^(Returns|Yields)\n-----", text, re.MULTILINE)
    ]


def test_whatever_returns_something_says_what(site):
    public = site["reference"].everything()
    assert len(list(callables(public))) > 500
    silent = silent_on_what_comes_back(public)
    assert silent == []


def see_also(value):
    """What the section *See Also* of a text names, or None if there is no such section."""
    found = re.search(r"^See Also\n-+\n(.+?)(?=\n\n|\Z)", inspect.getdoc(value) or "", re.M | re.S)
    return found and re.findall(r"^([\w.]+)(?: :|$)", found[1], re.MULTILINE)


def is_there(name, beside):
    """Whether there is something of this name, by its full path or in the same package."""
    package, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(package or beside.rpartition(".")[0]), last)
    except ImportError:
        return False


def test_public_names_say_what_to_see_next(site):
    public = {
        name: value
        for name, value in site["reference"].everything().items()
        if inspect.isfunction(value)
        or (inspect.isclass(value) and not issubclass(value, BaseException))
    }
    assert len(public) > 250
    assert [name for name, value in public.items() if not see_also(value)] == []
    gone = [(name, other) for name, value in public.items() for other in see_also(value)
            if not is_there(other, name)]  # fmt: skip
    assert gone == []


def test_a_text_without_the_section_would_be_seen():
    class Result:
        def told(self) -> int:
            """Tell.

            Returns
            -------
            int
            """

        def untold(self) -> int:
            """Returns a number."""

        def quiet(self) -> None:
            """Return nothing."""

    for method in (Result.told, Result.untold, Result.quiet):
        method.__module__ = "subscape"
    assert silent_on_what_comes_back({"Result": Result}) == ["Result.untold"]


def test_every_finder_has_an_example_and_there_are_at_least_thirty(site, tmp_path):
    site["examples"].write(tmp_path / "gallery")
    made = {path.stem for path in (tmp_path / "gallery").rglob("*.py")}
    entries = of_role("finder", "views", "alternative", "consensus")
    assert {name.lower() for name in entries} <= made
    by_hand = {path.stem for path in (DOCS / "gallery").rglob("*.py")}
    assert by_hand <= made
    assert len([path for path in (DOCS / "gallery" / "1_stories").glob("*.py")]) == 6
    assert len(made) >= 30
    for path in (tmp_path / "gallery").rglob("*.py"):
        compile(path.read_text(), str(path), "exec")


def test_every_finder_is_in_the_picture_and_in_the_text(site):
    page = site["made_pages"].which_page()
    for name in of_role("finder", "views", "alternative", "consensus"):
        assert f">{name}</text>" in page
        assert f"[{name}](/" in page


def test_get_started_runs():
    found = doctest.testfile(
        str(DOCS / "start.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert found.attempted >= 15
    assert found.failed == 0


def test_speeds_are_curves_over_commits(site, tmp_path):
    page = site["made_pages"].tracking_page(tmp_path)
    kept = [json.loads(line) for line in site["made_pages"].TRACK.read_text().splitlines()]
    assert len(kept) >= 5
    # A line is added by its commit, in whatever order they are timed.
    assert [each["at"] for each in kept] == sorted(each["at"] for each in kept)
    assert re.findall(r"^\| ([0-9a-f]{7,}) \|", page, re.M) == [each["commit"] for each in kept]
    assert (tmp_path / "tracking.png").stat().st_size > 10_000


def test_links_that_lead_nowhere_are_found(site, tmp_path):
    (tmp_path / "there.html").write_text('<h1 id="top">x</h1><a href="index.html">back</a>')
    (tmp_path / "index.html").write_text(
        '<a href="there.html#top">fine</a><a href="there.html#bottom">no</a>'
        '<a href="https://example.org/">elsewhere</a><img src="gone.png">'
        '<script src="https://example.org/far.js"></script>'
    )
    assert site["links"].problems(tmp_path) == [
        "index.html loads https://example.org/far.js from elsewhere",
        "index.html links to gone.png, which is not there",
        "index.html links to there.html#bottom, where there is no #bottom",
    ]


def test_tutorials_are_notebooks_that_are_executed():
    walks = sorted((DOCS / "tutorials").glob("*.md"))
    assert len(walks) == 4
    for walk in walks:
        text = walk.read_text()
        assert "file_format: mystnb" in text
        assert text.count("```{code-cell} python") >= 5
