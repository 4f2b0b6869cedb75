"""The page of a study: one file that opens anywhere, without a network."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from subscape.exploration.verdict import interval_words
from subscape.files.atomic import write_atomically
from subscape.version import __version__

from .drawings import payload, script_json
from .palette import palette_css

if TYPE_CHECKING:
    from subscape.exploration.study import Study

#: Features of the browser that the page may use; scripts and styles are added by their hashes.
POLICY = (
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    "script-src {script}; style-src {style}"
)


def write_report(study: Study, path: str | os.PathLike[str], *, embed_ids: bool = False) -> Path:
    """Write the page of a study; a page that is there is replaced once the new one is complete.

    Parameters
    ----------
    study : Study
    path : path
        The file, by custom ``report.html``.
    embed_ids : bool, default=False
        Whether the names of the shown rows may stand in the page. Without it nobody who gets the
        page learns them.

    Returns
    -------
    Path

    See Also
    --------
    write_figures : The pictures by themselves.
    subscape.explore : Makes a study.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from subscape.report import write_report
    >>> from subscape.testing.studies import empty_study
    >>> path = write_report(empty_study(), Path(tempfile.mkdtemp(), "report.html"))
    >>> "No grouping better than chance" in path.read_text(encoding="utf-8")
    True
    """
    text = render(study, embed_ids=embed_ids).encode()

    def write(stream: BinaryIO) -> None:
        stream.write(text)

    return write_atomically(path, write, force=True)


def render(study: Study, *, embed_ids: bool = False) -> str:
    """The text of the page; the same for the same study.

    Parameters
    ----------
    study : Study
    embed_ids : bool, default=False
        As in :func:`write_report`.

    Returns
    -------
    str
        HTML that asks for nothing else: pictures, styles, scripts and numbers are in it.

    See Also
    --------
    write_report : Writes it to a file.

    Examples
    --------
    >>> from subscape.report import render
    >>> from subscape.testing.studies import empty_study
    >>> render(empty_study()).startswith("<!doctype html>")
    True
    """
    from .template_context import template_context

    style = palette_css() + _part("style.css")
    script = "".join(
        _part(name) for name in ("page.js", "selection.js", "pictures.js", "tables.js")
    )
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    template = _environment().get_template("page.html")
    return str(
        template.render(
            **template_context(study),
            policy=policy,
            style=_verbatim(style),
            script=_verbatim(script),
            data=_verbatim(script_json(payload(study, embed_ids=embed_ids))),
            has_ids=embed_ids and study.row_names is not None,
            version=__version__,
        )
    )


def make_ready() -> None:
    """Load now what a page needs, templates compiled, so that the first page does not wait for it.

    >>> from subscape.report.page import make_ready
    >>> make_ready()
    """
    from . import template_context  # noqa: F401

    environment = _environment()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)


def _part(name: str) -> str:
    return files("subscape.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a content-security policy names an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _verbatim(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from . import wording

    environment = Environment(
        loader=PackageLoader("subscape.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        chance=wording.chance,
        compared=wording.compared,
        interval=interval_words,
        share=wording.share,
        number=wording.number,
        short=wording.short,
        grouped=wording.grouped,
        coordinate=wording.coordinate,
    )
    environment.globals.update(count=wording.count)
    return environment
