"""Write docs/catalogue.md, the page of all finders: ``python docs/catalogue.py``."""

from __future__ import annotations

import re
from pathlib import Path

from subscape.finders.catalogue import Entry, of_role

DOCS = Path(__file__).parent
PAGE = DOCS / "catalogue.md"

HEAD = """# All finders

Made from `subscape.finders.catalogue` by `python docs/catalogue.py`; change the entry there. Time
grows with rows n, features p, clusters k, dims of a cluster d, members m and all their clusters c.
*As published* are the parameters that `as_published()` sets: every switch as the paper has it (on
the command line: `subscape fit NAME data.csv --as-published`); a dash means that no switch differs.
What differs always is said in the docstring of each class.
"""

#: Role -> heading of its table.
HEADINGS = {
    "finder": "One clustering",
    "views": "Several clusterings at once",
    "alternative": "Alternatives to known clusterings",
    "consensus": "One clustering out of many",
    "baseline": "Baselines of scikit-learn",
}

WORDS = {
    "overlapping": "shares rows",
    "partitions": "no noise",
    "missing": "takes gaps",
    "sparse": "takes sparse tables",
    "predict": "predicts",
}


def page() -> str:
    """The whole text."""
    parts = [HEAD]
    for role, heading in HEADINGS.items():
        parts.append(f"\n## {heading}\n\n{table(role)}")
    return "".join(parts)


def table(role: str) -> str:
    """The entries of a role, one line each."""
    lines = [
        "| name | looks for | subspaces | needs | can | time | as published | paper |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in of_role(role).values():
        needs = ", ".join("number of clusters" if need == "k" else need for need in entry.needs)
        can = [word for name, word in WORDS.items() if getattr(entry, name)]
        cells = [
            linked(entry), entry.sentence, entry.kind, needs or "–",
            ", ".join([*can, *([] if entry.random else ["always the same"])]) or "–",
            entry.cost, published(entry), f"[{paper(entry)}](https://doi.org/{entry.doi})",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def linked(entry: Entry) -> str:
    """The name, with a link to its guide."""
    for guide in sorted([*DOCS.glob("finders/*.md"), *DOCS.glob("alternatives/*.md")]):
        if guide.stem.replace("_", "") in (entry.name.lower(), GUIDES.get(entry.name)):
            return f"[{entry.name}]({guide.relative_to(DOCS).as_posix()})"
    return f"[{entry.name}](ensemble.md)" if entry.role == "consensus" else entry.name


#: Finders that stand in the guide of another.
GUIDES = {"FastDOC": "doc"}


def published(entry: Entry) -> str:
    """Parameters of the paper's version."""
    if entry.published is None:
        return "no paper"
    return ", ".join(f"`{name}={value!r}`" for name, value in entry.published.items()) or "–"


def paper(entry: Entry) -> str:
    """First author and year."""
    authors = re.split(r"(?<![A-Z])\. ", entry.reference)[0]
    return f"{authors.split(',')[0].split(' and ')[0].split(' ')[-1]} {entry.reference[-4:]}"


if __name__ == "__main__":
    PAGE.write_text(page())
