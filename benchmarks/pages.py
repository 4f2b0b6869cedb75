"""The pages that the benchmarks write, read back: their tables and the numbers in their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


class Page:
    """A Markdown page.

    >>> page = Page("| finder | ratio |\\n|---|---|\\n| CLIQUE | 15.9x |\\n\\nRight: 9 of 10.")
    >>> page.number("ratio", finder="CLIQUE"), page.text(r"Right: (\\S+) of")
    (15.9, 9.0)
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.rows = list(_rows(text))

    @classmethod
    def read(cls, path: Path) -> Page | None:
        return cls(path.read_text(encoding="utf-8")) if path.exists() else None

    def find(self, **cells: str) -> Iterator[dict[str, str]]:
        """Rows of all tables that have these cells; ``title`` is the heading above a table.

        Underscores of a name stand for spaces.
        """
        wanted = {name.replace("_", " "): value for name, value in cells.items()}
        for row in self.rows:
            if all(row.get(name) == value for name, value in wanted.items()):
                yield row

    def number(self, column: str, **cells: str) -> float | None:
        """The first number in a column of the first such row; None if there is none."""
        for row in self.find(**cells):
            if column in row:
                return first_number(row[column])
        return None

    def numbers(self, column: str, **cells: str) -> list[float]:
        """The numbers in a column of all such rows."""
        found = [first_number(row[column]) for row in self.find(**cells) if column in row]
        return [number for number in found if number is not None]

    def text(self, pattern: str) -> float | None:
        """The number that the first group of a pattern matches in the text."""
        found = re.search(pattern, self._text)
        return None if found is None else first_number(found.group(1))

    def line(self, start: str) -> str:
        """The first line with a start, or nothing."""
        return next((line for line in self._text.splitlines() if line.startswith(start)), "")


class Sections:
    """A page whose sections are measured one by one; those not measured anew stay as they were.

    Parameters
    ----------
    path : Path or None
        Written after every line; None writes nothing.
    head : sequence of str
        The lines above the first section.
    titles : sequence of str
        The headings of all sections, in the order of the page.
    """

    def __init__(self, path: Path | None, head: Sequence[str], titles: Sequence[str]) -> None:
        self._path, self._head, self._titles = path, list(head), list(titles)
        old = path.read_text(encoding="utf-8") if path is not None and path.exists() else ""
        self._bodies = {
            title: body
            for title, body in (part.split("\n", 1) for part in ("\n" + old).split("\n## ")[1:])
            if title in self._titles
        }

    def measure(self, title: str, lines: Iterable[str], when: str = "") -> None:
        """Write a section anew, line by line."""
        new = [when, ""] if when else []
        for line in lines:
            print(line, flush=True)
            new.append(line)
            self._bodies[title] = "\n" + "\n".join(new).strip("\n") + "\n"
            if self._path is not None:
                self._path.write_text(str(self), encoding="utf-8")

    def __str__(self) -> str:
        parts = ["\n".join(self._head).rstrip("\n") + "\n"]
        parts += [
            f"\n## {title}\n{self._bodies[title].rstrip()}\n"
            for title in self._titles
            if title in self._bodies
        ]
        return "".join(parts)


def first_number(cell: str) -> float | None:
    """The first number of a cell; None of one that says why there is none.

    >>> first_number("> 13x"), first_number("1,000 MB"), first_number("not finished after 60 s")
    (13.0, 1000.0, None)
    """
    if cell.startswith("not "):
        return None
    found = NUMBER.search(cell)
    return None if found is None else float(found.group().replace(",", ""))


def _rows(text: str) -> Iterator[dict[str, str]]:
    header: list[str] | None = None
    title = ""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            header = None
            title = line.lstrip("# ") if line.startswith("#") else title
            continue
        cells = [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if re.fullmatch(r"\|[\s:|-]+\|", following.strip()):
            header = cells
        elif header is not None and not re.fullmatch(r"[\s:|-]+", line):
            yield {"title": title, **dict(zip(header, cells, strict=False))}
