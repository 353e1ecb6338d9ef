"""Markdown pages of the site, with links that lead to other pages of it.

A forge shows the same files, so their links are relative to the file. Each link is translated: to the page of the site
that shows the target or, if no page does, to the path of the file as text. A link whose text is a file name that ends
with `.md` shows the title of that page instead.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs"
OUTSIDE: Mapping[str, str] = {
    "README.md": "index.md",
    "README.zh-CN.md": "zh/index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "speed.md",
    "examples/orders/README.md": "example-orders.md",
    "examples/pipelines/README.md": "example-pipelines.md",
    "conformance/drivers/PROTOCOL.md": "driver-protocol.md",
}
"""Pages outside of docs/, and their names on the site."""
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


class BrokenLink(Exception):
    """A link of a page leads to no page of the site and to no file of the repository."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `name`: its path on the site. `source`: the file from which its links are relative."""

    name: str
    source: str
    text: str

    @property
    def title(self) -> str:
        """The text of the first heading, which stands for the page in links that show a file's name."""
        found = _TITLE.search(self.text)
        return found[1] if found else self.name


def written(root: Path = ROOT) -> Iterator[Page]:
    """Yield the pages that people write, and the generated ones that are committed."""
    for path in sorted((root / DOCS).rglob("*.md")):
        name = path.relative_to(root / DOCS).as_posix()
        yield Page(name, f"{DOCS}/{name}", path.read_text())
    for source, name in OUTSIDE.items():
        yield Page(name, source, (root / source).read_text())


def generated(pages: Mapping[str, str]) -> Iterator[Page]:
    """Yield pages that exist on the site alone, from their texts by name; their links are relative to docs/."""
    for name, text in pages.items():
        yield Page(name, f"{DOCS}/{name}", text)


def joined(*groups: Iterable[Page]) -> dict[str, Page]:
    """Pages by their names; a page of a later group replaces one of an earlier group."""
    return {page.name: page for group in groups for page in group}


def linked(pages: Mapping[str, Page], root: Path = ROOT) -> dict[str, str]:
    """The texts of pages by name, with links translated. Raises BrokenLink."""
    by_source = {page.source: page for page in pages.values()}
    return {name: _translated(page, by_source, root) for name, page in pages.items()}


def _translated(page: Page, by_source: Mapping[str, Page], root: Path) -> str:
    def translate(found: re.Match[str]) -> str:
        picture, text, target = found[1], found[2], found[3]
        path, hash_, anchor = target.partition("#")
        if not path or "://" in path:
            return found[0]
        source = os.path.normpath(PurePosixPath(page.source).parent / path)
        if source in by_source:
            way = os.path.relpath(by_source[source].name, PurePosixPath(page.name).parent)
            shown = by_source[source].title if text.strip("`").endswith(".md") else text
            return f"{picture}[{shown}]({way}{hash_}{anchor})"
        if not (root / source).exists():
            raise BrokenLink(f"{page.source}: the link {target} leads to no page and no file")
        if picture:
            name = source.removeprefix("docs/") if source.startswith("docs/") else Path(source).name
            return f"![{text}]({os.path.relpath(name, PurePosixPath(page.name).parent)})"
        return f"`{source}`" if text.strip("`") in source else f"{text} (`{source}`)"

    parts = _FENCE.split(page.text)
    return "".join(part if number % 2 else _LINK.sub(translate, part) for number, part in enumerate(parts))
