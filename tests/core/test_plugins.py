"""Finders and measures of other packages, added by entry points."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

from subscape.cli.main import cli
from subscape.core import plugins as plugin_module
from subscape.core.errors import SubscapeError
from subscape.core.plugins import PluginWarning
from subscape.exploration import make_plan
from subscape.finders import catalogue
from subscape.measures import registry
from subscape.testing import check_finder

CODE = """
    import numpy as np
    from subscape.core.clustering import SubspaceClustering
    from subscape.finders.base import Found, SubspaceFinder
    from subscape.finders.catalogue import Entry, Trial
    from subscape.measures import label_error
    from subscape.measures.registry import EVERY_KIND, Measure

    class StrangerHalves(SubspaceFinder):
        _kind = "axis"

        def _find(self, X, seed, watch):
            labels = (X[:, 0] > np.median(X[:, 0])).astype(np.int64)
            return Found(SubspaceClustering.from_labels(labels, n_features=X.shape[1]))

    FINDER = Entry(
        name="StrangerHalves", home="stranger_package", role="finder", kind="axis",
        sentence="two halves along the first feature", cost="n", doi="10.0000/none",
        reference="A. Stranger. Halves, 2026", random=False, published=None,
        trials=(Trial("axis-aligned", 9, width=(2, 50)),),
    )

    def stranger_distance(a, b):
        return label_error(a, b) / 2

    MEASURE = Measure(
        "stranger_distance", stranger_distance, "rows", True, 0, 0.5, EVERY_KIND, frozenset(),
        "half the label error",
    )
    NEITHER = 42
    LOUD = Entry(
        name="proclus", home="stranger_package", role="finder", kind="axis", sentence="",
        cost="", doi="", reference="",
    )
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package that adds these entry points; ours forget it afterwards."""

    def install(**groups):
        (tmp_path / "stranger_package.py").write_text(textwrap.dedent(CODE))
        about = tmp_path / "stranger_package-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: stranger-package\nVersion: 1.0\n"
        )
        lines = []
        for group, points in groups.items():
            lines += [f"[subscape.{group}]", *(f"{name} = {at}" for name, at in points.items())]
        (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(tmp_path)
        plugin_module._loaded.cache_clear()

    yield install
    plugin_module._loaded.cache_clear()
    sys.modules.pop("stranger_package", None)


def test_a_finder_is_found_listed_and_run(installed, tmp_path):
    installed(finders={"StrangerHalves": "stranger_package:FINDER"})
    assert catalogue.find("strangerhalves").load().__name__ == "StrangerHalves"
    assert "StrangerHalves" in catalogue.of_role("finder")
    assert "StrangerHalves" in catalogue.select(random=False, role="finder")
    assert "StrangerHalves" not in catalogue.CATALOGUE
    entry = catalogue.entry_of(catalogue.find("StrangerHalves").load())
    assert entry.sentence == "two halves along the first feature"

    table = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    np.savetxt(table, rng.normal(size=(20, 3)), delimiter=",", header="a,b,c", comments="")
    listed = CliRunner().invoke(cli, ["fit", "--list"])
    assert "StrangerHalves" in listed.output
    run = CliRunner().invoke(
        cli, ["fit", "strangerhalves", str(table), "-o", str(tmp_path / "found.subscape")]
    )
    assert run.exit_code == 0, run.output
    assert (tmp_path / "found.subscape").exists()


def test_explore_tries_a_finder_that_says_when(installed):
    def tried(n_columns):
        plan = make_plan(300, n_columns, n_columns, effort="quick")
        return {rung.name for rung in plan.rungs for e in rung.entries if "Stranger" in e.finder}

    assert tried(12) == set()
    installed(finders={"StrangerHalves": "stranger_package:FINDER"})
    assert tried(12) == {"axis-aligned"}
    assert tried(51) == set()


def test_a_finder_of_another_package_can_be_checked_by_our_suite(installed):
    installed(finders={"StrangerHalves": "stranger_package:FINDER"})
    made = catalogue.find("StrangerHalves").make()
    # Equal values on both sides of a median depend on the order of the rows: the suite sees more
    # of a finder than that it runs.
    check_finder(made)


def test_a_measure_is_found_listed_and_used(installed, tmp_path):
    installed(measures={"stranger_distance": "stranger_package:MEASURE"})
    assert registry.find("stranger_distance").high == 0.5
    assert "stranger_distance" not in registry.MEASURES
    for name, labels in {"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]}.items():
        (tmp_path / f"{name}.csv").write_text("label\n" + "\n".join(map(str, labels)) + "\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    listed = CliRunner().invoke(cli, ["compare", "--list"])
    assert "half the label error" in listed.output
    told = CliRunner().invoke(cli, ["compare", *files, "--measure", "stranger-distance"])
    assert told.exit_code == 0, told.output
    assert "stranger_distance  0.125" in told.output
    every = CliRunner().invoke(cli, ["compare", *files, "--measure", "all"])
    assert "stranger_distance" in every.output


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("stranger_package:NOTHING", "can't be loaded: AttributeError"),
        ("no_such_module_at_all:X", "can't be loaded: ModuleNotFoundError"),
        ("stranger_package:NEITHER", "leads to a int and not to a .*Entry"),
        ("stranger_package:LOUD", "the name proclus is taken"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_word(installed, at, why):
    installed(finders={"Odd": at})
    with pytest.warns(PluginWarning, match=rf"Odd of stranger-package .* is left out: .*{why}"):
        known = catalogue.everything()
    assert set(known) == set(catalogue.CATALOGUE)
    # Once is enough.
    assert catalogue.find("PROCLUS").home.startswith("subscape.")


def test_tags_that_do_not_exist_are_refused():
    with pytest.raises(SubscapeError, match=r"have no tag 'fast'; they have .*needs_k"):
        catalogue.select(fast=True)


@pytest.mark.parametrize(
    "tag", ["overlapping", "missing", "sparse", "predict", "random", "needs_k"]
)
def test_tags_part_the_catalogue(tag):
    yes, no = (set(catalogue.select(**{tag: value})) for value in (True, False))
    assert yes | no == set(catalogue.everything())
    assert yes
    assert no
    assert not yes & no


def test_several_roles_kinds_and_needs_can_be_asked_for():
    several = catalogue.select(role=("finder", "views"))
    assert several.keys() == catalogue.of_role("finder", "views").keys()
    assert catalogue.select(needs="k") == catalogue.select(needs_k=True)
    assert catalogue.select(takes="given").keys() >= catalogue.of_role("alternative").keys()
