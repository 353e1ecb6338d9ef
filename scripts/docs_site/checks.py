"""Checks of the built site: links, anchors, navigation, and that it loads nothing from elsewhere.

The checks read only HTML, so they apply to the output of any site generator.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

_NAVIGATION = re.compile(r"^nav:\n((?:[ -].*\n?)+)", re.MULTILINE)
_ENTRY = re.compile(r"- (?:[^:\n]+: )?(\S+\.md)$", re.MULTILINE)
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
"""Elements with a file that a browser loads without a click, and the attribute with its address."""
_RELATIONS = frozenset({"stylesheet", "icon", "preconnect", "preload", "modulepreload"})
"""Relations of `link` elements that load something."""
_WHOLE_SITE = frozenset({"404.html"})
"""Pages that a server shows at any path: their links begin with the address of the site."""


@dataclass
class Html(HTMLParser):
    """Links, loaded files and anchors of one page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes of one element."""
        found = {name: value for name, value in attrs if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        relations = set(found.get("rel", "stylesheet").split())
        if tag in _LOADED and _LOADED[tag] in found and relations & _RELATIONS:
            self.loaded.append(found[_LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield a sentence for each broken link or anchor, and for each file that would be loaded from elsewhere."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html")) if path.name not in _WHOLE_SITE}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address in page.loaded:
            if _is_elsewhere(address):
                yield f"{name}: loads {address} from elsewhere"
            elif not _target(path, address).is_file():
                yield f"{name}: loads {address}, which is not there"
        for address in page.links:
            if problem := _problem(path, address, pages):
                yield f"{name}: the link {address} {problem}"


def unlisted(configuration: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each page outside of the navigation, and for each entry without a page.

    `configuration`: text of mkdocs.yml; `names`: the pages of the site.
    """
    found = _NAVIGATION.search(configuration)
    listed = _ENTRY.findall(found[1]) if found else []
    yield from (
        f"{name}: in the navigation twice" for name in sorted({each for each in listed if listed.count(each) > 1})
    )
    yield from (f"{name}: not in the navigation of mkdocs.yml" for name in sorted(set(names) - set(listed)))
    yield from (f"{name}: in the navigation of mkdocs.yml, but no page" for name in sorted(set(listed) - set(names)))


def _read(path: Path) -> Html:
    page = Html()
    page.feed(path.read_text())
    page.close()
    return page


def _problem(path: Path, address: str, pages: Mapping[Path, Html]) -> str:
    if _is_elsewhere(address) or address.startswith(("mailto:", "javascript:")):
        return ""
    way, _, anchor = address.partition("#")
    target = _target(path, way) if way else path
    if not target.is_file():
        return "leads to no page"
    if anchor and target in pages and unquote(anchor) not in pages[target].anchors:
        return "leads to no heading"
    return ""


def _target(path: Path, way: str) -> Path:
    target = (path.parent / unquote(way.partition("?")[0])).resolve()
    return target / "index.html" if target.is_dir() else target


def _is_elsewhere(address: str) -> bool:
    return "://" in address or address.startswith("//")
