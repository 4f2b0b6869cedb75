"""Links within the site: every page and every place on it that a link names must be there."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at a tag."""
        given = {name: value for name, value in attrs if value}
        for name in ("id", "name"):
            if name in given:
                self.anchors.add(given[name])
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loads.add(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loads.add(given.get("href", ""))


def problems(site: Path, *, outside: bool = False) -> list[str]:
    """What is wrong with the links of a built site, one sentence each."""
    pages = {
        path: Page(path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts  # templates of the theme
    }
    found: list[str] = []
    elsewhere: set[str] = set()
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address in sorted(page.loads):
            if urllib.parse.urlsplit(address).scheme in ("http", "https") or address.startswith(
                "//"
            ):
                found.append(f"{name} loads {address} from elsewhere")
        for address in sorted(page.links | page.loads):
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or address.startswith("//"):
                elsewhere.add(address)
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            )
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                found.append(f"{name} links to {address}, which is not there")
            elif parts.fragment and target in pages:
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor not in pages[target].anchors:
                    found.append(f"{name} links to {address}, where there is no #{anchor}")
    if outside:
        found += [
            f"{address}: {why}" for address in sorted(elsewhere) if (why := _unreachable(address))
        ]
    return found


def _unreachable(address: str) -> str:
    if not address.startswith("http"):
        return ""
    request = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "link check"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return ""
    except urllib.error.HTTPError as error:
        return "" if error.code in (403, 405, 418, 429) else f"answers {error.code}"
    except (urllib.error.URLError, TimeoutError) as error:
        return str(error)
