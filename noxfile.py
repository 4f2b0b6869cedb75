#!/usr/bin/env -S uv run --script
"""Sessions for those who work with nox; ``make`` has the same commands.

``nox`` runs the linters and the tests; ``nox -s docs`` builds the site, ``nox -s oldest`` tests
with the oldest dependencies.
"""
# /// script
# dependencies = ["nox"]
# ///

from __future__ import annotations

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, mypy and import-linter."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run all tests with the newest dependencies."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session(python=["3.11"], default=False)
def oldest(session: nox.Session) -> None:
    """Run all tests with the oldest dependencies."""
    constraints = f"{session.create_tmp()}/oldest.txt"
    with open(constraints, "w") as file:
        session.run("python", ".ci/oldest.py", stdout=file)
    session.install("--constraint", constraints, ".[test]")
    session.run("pytest", "-n", "auto", "tests", *session.posargs, env={"SCIPY_ARRAY_API": "1"})


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site into build/site/html."""
    session.install(".[docs]")
    session.run("python", "docs/site/build.py", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the source archive and the wheel into dist/."""
    session.install("build")
    session.run("python", "-m", "build", env={"SUBSCAPE_ABI3": "1"})


if __name__ == "__main__":
    nox.main()
