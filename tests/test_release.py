"""What a release consists of agrees with itself."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
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


def test_a_python_that_is_too_old_is_told_so_before_anything_is_built():
    oldest = project()["requires-python"].removeprefix(">=")
    major, minor = map(int, oldest.split("."))
    # Newer Pythons come without setuptools; nothing of it may be called.
    code = f"""
import runpy, sys, types
sys.modules["setuptools"] = types.SimpleNamespace(Extension=None, setup=None)
sys.version_info = ({major}, {minor - 1}, 7, "final", 0)
runpy.run_path("setup.py")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    told = f"Subscape needs Python {oldest} or newer, and this is Python {major}.{minor - 1}.7"
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", told)


def test_what_is_built_with_needs_no_more_than_the_python_that_is_told():
    """Otherwise an old Python would be told of setuptools, and not of itself."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    oldest = project()["requires-python"].removeprefix(">=")
    for need in build:
        name, _, where = need.partition(";")
        if where.strip() != f"python_version >= '{oldest}'":
            assert (name, where.strip()) == ("setuptools", f"python_version < '{oldest}'")
