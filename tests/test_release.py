"""What a release consists of agrees with itself."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import subscape

ROOT = Path(__file__).parents[1]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def oldest_module():
    spec = importlib.util.spec_from_file_location("ci_oldest", ROOT / ".ci" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_version_citation_and_changelog_agree():
    citation = (ROOT / "CITATION.cff").read_text()
    stated = re.search(r"^version: (.+)$", citation, re.MULTILINE)[1]
    dated = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)[1]
    assert stated == subscape.__version__
    released = re.findall(
        r"^## \[([^\]]+)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert released[0] == ("Unreleased", "")
    assert released[1] == (stated, dated)


def test_the_recipe_asks_for_what_the_project_asks_for():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    assert f'version: "{subscape.__version__}"' in recipe
    wanted = {line.strip(" -") for line in recipe.splitlines() if line.startswith("    - ")}
    asked = {re.sub(r"\s*>=\s*", " >=", need) for need in project()["dependencies"]}
    assert asked <= wanted


def test_every_python_of_the_classifiers_is_in_the_matrix():
    named = {
        line.rsplit(" ", 1)[1]
        for line in project()["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    }
    matrix = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    tested = re.search(r"^ +python: \[(.+)\]$", matrix, re.MULTILINE)[1]
    assert named == {version.strip('" ') for version in tested.split(",")}
    assert min(named, key=lambda v: int(v[2:])) == project()["requires-python"].removeprefix(">=")


def test_the_oldest_versions_are_those_of_the_project():
    oldest = oldest_module().oldest()
    assert oldest["numpy"] == "2.0"
    assert oldest["dask"] == oldest["distributed"]
    assert len(oldest) >= len(project()["dependencies"]) + 8


def test_a_dependency_without_an_oldest_version_is_refused(tmp_path):
    loose = tmp_path / "pyproject.toml"
    loose.write_text('[project]\ndependencies = ["numpy"]\n')
    module = oldest_module()
    module.EXTRAS = ()
    with pytest.raises(SystemExit, match="'numpy' names no oldest version"):
        module.oldest(loose)


def test_the_users_extras_are_those_of_all():
    everything = project()["optional-dependencies"]["all"][0]
    assert set(re.search(r"\[(.+)\]", everything)[1].split(",")) == (
        set(oldest_module().EXTRAS) - {"test"}
    )
