"""Pages that are made: the landing page, which finder to take, and the tables of contents."""

from __future__ import annotations

import html
import json
from pathlib import Path

from reference import guide_of

from subscape.finders.catalogue import Entry, of_role

ROOT = Path(__file__).parents[2]
TRACK = ROOT / "benchmarks" / "results" / "track.jsonl"

#: Role -> what somebody wants who needs it.
WISHES = {
    "finder": "one grouping",
    "views": "several groupings at once",
    "alternative": "something else than is known",
    "consensus": "one answer from many results",
}
#: Kind of subspaces -> how the groups are.
KINDS = {
    "axis": "each group in features of its own",
    "weighted": "features matter more or less",
    "oriented": "along lines, planes, directions",
    "cocluster": "rows and columns together",
    "rows": "all features count",
}


def write(source: Path) -> None:
    """Write them into the folder of the site's sources."""
    (source / "docs" / "which.md").write_text(which_page())
    (source / "docs" / "coverage.md").write_text(coverage_page())
    (source / "docs" / "tracking.md").write_text(tracking_page(source / "docs"))
    (source / "index.md").write_text(index_page())
    for name, title, lines in contents(source):
        (source / name).write_text(f"# {title}\n\n{lines}")


# -- the landing page ------------------------------------------------------------------------------


def index_page() -> str:
    """What a stranger sees first."""
    return """---
html_theme.sidebar_secondary.remove: true
---

# Subscape

**You have a wide table. What groups are in it, in which features, and can you believe them?**

```console
$ pip install subscape
$ subscape explore data.csv
```

![The page of a study: the answer in words, then a card for each grouping](docs/images/page.png)

Different groups of rows hang together in different features, and every algorithm and every parameter gives
another answer. Subscape searches the table in many ways, recognises which results are the same, discards what a table
without groups would also give, merges the rest, and explains every cluster by its features.

::::{grid} 1 2 3 3
:gutter: 3

:::{grid-item-card} Get started
:link: docs/start
:link-type: doc
Ten minutes, from a table to an answer.
:::
:::{grid-item-card} Which finder?
:link: docs/which
:link-type: doc
A picture of all of them.
:::
:::{grid-item-card} Gallery
:link: gallery/index
:link-type: doc
Examples that ran when this was built.
:::
:::{grid-item-card} Tutorials
:link: tutorials
:link-type: doc
Four longer walks.
:::
:::{grid-item-card} User guide
:link: guide
:link-type: doc
When to use what, and when not.
:::
:::{grid-item-card} API reference
:link: reference/index
:link-type: doc
Every public name.
:::
::::

```{toctree}
:hidden:

Get started <docs/start>
docs/which
guide
tutorials
gallery/index
API <reference/index>
project
```
"""


# -- which finder? ---------------------------------------------------------------------------------


def which_page() -> str:
    """The decision as a picture and as text."""
    parts = [
        "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n# Which finder?\n\nFrom left to right: what do you want, how are the groups, do you know how many there are? "
        "The picture is made of [the catalogue](catalogue.md), which has costs, papers and the rest. If you don't want "
        "to choose at all, [explore](explore.md) tries many of them and tells you what they agree on.\n\n"
        '<div class="which">\n' + picture() + "\n</div>\n"
    ]
    for wish, groups in decisions().items():
        parts.append(f"\n## {wish[0].upper()}{wish[1:]}\n")
        for (kind, known), entries in groups.items():
            number = f", {known}" if known else ""
            parts.append(f"\n**{kind[0].upper()}{kind[1:]}{number}:**\n")
            parts += [f"- {linked(entry)}: {entry.sentence}{abilities(entry)}" for entry in entries]
    return "\n".join(parts) + "\n"


def decisions() -> dict[str, dict[tuple[str, str], list[Entry]]]:
    """Wish -> kind and whether the number is known -> finders."""
    tree: dict[str, dict[tuple[str, str], list[Entry]]] = {}
    for role, wish in WISHES.items():
        for entry in of_role(role).values():
            if role == "finder":
                known = "you know how many" if entry.needs_k else "their number is found"
            elif role == "views":
                known = "you know how many" if entry.needs_k else "their numbers are found"
            else:
                known = ""
            branch = (KINDS[entry.kind], known)
            tree.setdefault(wish, {}).setdefault(branch, []).append(entry)
    order = list(KINDS.values())
    return {
        wish: dict(
            sorted(groups.items(), key=lambda group: (order.index(group[0][0]), group[0][1]))
        )
        for wish, groups in tree.items()
    }


def linked(entry: Entry) -> str:
    """Its name, with a link to its guide, or to its page of the reference."""
    return f"[{entry.name}](/{target(entry)})"


def target(entry: Entry) -> str:
    """The page about an entry."""
    guide = guide_of(entry.name)
    if guide:
        return f"{guide}.md"
    home = "ensemble" if entry.role == "consensus" else "finders"
    return f"reference/subscape.{home}.{entry.name}.rst"


def abilities(entry: Entry) -> str:
    """What it can do beyond its kind."""
    words = {
        "overlapping": "groups may share rows", "missing": "takes gaps", "sparse": "takes sparse tables",
        "nominal": "takes levels", "predict": "predicts",
    }  # fmt: skip
    said = [word for tag, word in words.items() if getattr(entry, tag)]
    return f" ({', '.join(said)})" if said else ""


def picture() -> str:
    """The tree as an SVG, with links."""
    line, gap, columns = 22, 12, (0, 250, 510, 705)
    shapes: list[str] = []
    y = 10
    middles: list[tuple[int, str, list[tuple[int, str, str, list[Entry]]]]] = []
    for wish, groups in decisions().items():
        branches = []
        for (kind, known), entries in groups.items():
            height = line * -(-len(entries) // 3)
            branches.append((y + height // 2, kind, known, entries))
            for place, entry in enumerate(entries):
                x = columns[3] + 12 + 160 * (place % 3)
                at = y + line * (place // 3) + 15
                link = "../" + target(entry).removesuffix(".md").removesuffix(".rst") + ".html"
                name = html.escape(entry.name)
                shapes.append(
                    f'<a href="{link}"><text x="{x}" y="{at}" font-size="13">{name}</text></a>'
                )
            y += max(height, line) + gap
        middles.append((sum(b[0] for b in branches) // len(branches), wish, branches))
        y += gap
    height = y
    for middle, wish, branches in middles:
        shapes.append(_box(columns[0], middle, 230, wish, bold=True))
        for at, kind, known, _ in branches:
            shapes.append(_edge(columns[0] + 230, middle, columns[1], at))
            shapes.append(_box(columns[1], at, 240, kind))
            end = columns[1] + 240
            if known:
                shapes.append(_edge(end, at, columns[2], at))
                shapes.append(_box(columns[2], at, 172, known))
                end = columns[2] + 172
            shapes.append(_edge(end, at, columns[3], at))
    return (
        f'<svg viewBox="0 0 1190 {height}" role="img" aria-label="Which finder to take">'
        + "".join(shapes)
        + "</svg>"
    )


def _box(x: int, middle: int, width: int, text: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<rect x="{x}" y="{middle - 13}" width="{width}" height="26" rx="6"/>'
        f'<text x="{x + 9}" y="{middle + 4}" font-size="12.5"{weight}>{html.escape(text)}</text>'
    )


def _edge(x: int, y: int, to_x: int, to_y: int) -> str:
    half = (x + to_x) // 2
    return f'<path d="M{x} {y} C{half} {y} {half} {to_y} {to_x} {to_y}"/>'


# -- how much the tests cover ----------------------------------------------------------------------


def coverage_page() -> str:
    """Shares of lines that the tests run, by package, and the floors below which CI fails."""
    kept = json.loads((ROOT / ".ci" / "coverage.json").read_text())
    packages = {path.parent.name for path in (ROOT / "src" / "subscape").glob("*/__init__.py")}
    floors = {name: kept.get(name, {}).get("floor", "–") for name in sorted(packages | {*kept})}
    lines = [
        "# What the tests cover\n",
        "`make coverage` counts the lines that the tests run, package by package, and fails where a package is below its "
        "floor; `.ci/run --full` does so too. `python .ci/coverage.py --write` takes what was counted as the new floors. "
        "`subscape` are the modules that lie in no package."
        + (" A dash: no floor has been set yet." if "–" in floors.values() else "")
        + "\n",
        "| package | floor, per cent of lines |",
        "|---|---:|",
    ]
    lines += [f"| `{name}` | {floor} |" for name, floor in floors.items()]
    return "\n".join(lines) + "\n"


# -- how fast, commit by commit --------------------------------------------------------------------


def tracking_page(folder: Path) -> str:
    """Curves of the ratios that benchmarks/track.py has kept."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kept = [json.loads(line) for line in TRACK.read_text().splitlines() if line.strip()]
    names = list(dict.fromkeys(name for each in kept for name in each["ratios"]))
    rows = -(-len(names) // 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(9, 1.9 * rows), layout="constrained", squeeze=False
    )
    commits = [each["commit"] for each in kept]
    for ax, name in zip(axes.flat, names, strict=False):
        ax.plot(
            range(len(kept)), [each["ratios"].get(name) for each in kept], marker="o", markersize=4
        )
        ax.set_title(name, fontsize="small")
        ax.set_ylim(bottom=0)
        ax.set_xticks(range(len(kept)), commits, rotation=30, fontsize="x-small")
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    figure.savefig(folder / "tracking.png", dpi=90)
    plt.close(figure)
    head = "| commit | date | " + " | ".join(names) + " |\n|---|---|" + "---:|" * len(names)
    lines = [
        f"| {each['commit']} | {each['date']} | "
        + " | ".join(str(each["ratios"].get(n, "")) for n in names)
        + " |"
        for each in kept
    ]
    return (
        "# How fast, commit by commit\n\nProcessor time as a multiple of a fixed piece of NumPy work, timed beside it: "
        "`python benchmarks/track.py` adds the commit that is checked out, or an older one. "
        "Compare only along a curve: what the work counts for differs between machines.\n\n"
        "![A curve per case over the commits](tracking.png)\n\n" + "\n".join([head, *lines]) + "\n"
    )


# -- tables of contents ----------------------------------------------------------------------------


def contents(source: Path) -> list[tuple[str, str, str]]:
    """Files, titles and lines of the pages that list others."""

    def tree(caption: str, pages: list[str]) -> str:
        listed = "\n".join(pages)
        return f"## {caption}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n\n"

    def all_of(pattern: str) -> list[str]:
        return sorted(
            path.relative_to(source).with_suffix("").as_posix() for path in source.glob(pattern)
        )

    placed = {
        "Explore a table": ["docs/explore", "docs/page", "docs/cli"],
        "Tables and files": [
            "docs/table",
            "docs/formats",
            "docs/files",
            "docs/datasets",
            "docs/scale",
        ],
        "Find": ["docs/catalogue", *all_of("docs/finders/*.md")],
        "Several clusterings of one table": all_of("docs/alternatives/*.md"),
        "Compare": all_of("docs/measures/*.md"),
        "Validate": all_of("docs/validation/*.md"),
        "Combine": ["docs/ensemble"],
        "Extend": ["docs/plugins"],
    }
    project = {
        "What it rests on": ["docs/papers", "benchmarks/RESULTS", "docs/tracking", "docs/coverage"],
        "The project": [
            "CHANGELOG", "CONTRIBUTING", "docs/architecture", "docs/project/governance", "docs/project/deprecation",
            "docs/project/releasing", "CODE_OF_CONDUCT", "SECURITY", "docs/decisions/README",
        ],
    }  # fmt: skip
    named = {page for pages in (*placed.values(), *project.values()) for page in pages}
    own = {
        "docs/start",
        "docs/which",
        "index",
        "README",
        *all_of("docs/tutorials/*"),
        *all_of("docs/decisions/*.md"),
    }
    rest = [page for page in all_of("docs/**/*.md") if page not in named | own]
    placed["More"] = [page for page in rest if (source / f"{page}.md").exists()]
    guide = "".join(tree(caption, pages) for caption, pages in placed.items() if pages)
    rows = "".join(tree(caption, pages) for caption, pages in project.items())
    decisions = [page for page in all_of("docs/decisions/*.md") if not page.endswith("README")]
    results = all_of("benchmarks/results/*.md")
    hidden = "\n".join([*decisions, *results, "README"])
    rows += f"```{{toctree}}\n:hidden:\n\n{hidden}\n```\n"
    walks = "\n".join(all_of("docs/tutorials/*.md"))
    return [
        ("guide.md", "User guide", guide),
        ("project.md", "Project", rows),
        (
            "tutorials.md",
            "Tutorials",
            "Each of them is a notebook in Markdown, and was executed when this was built.\n\n"
            f"```{{toctree}}\n:maxdepth: 1\n\n{walks}\n```\n",
        ),
    ]
