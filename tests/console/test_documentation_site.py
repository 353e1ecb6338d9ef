"""The documentation site in a browser: no page is wider than a phone, and the tables of the reference fit a desktop.

`scripts/stages.py console` builds the site unless `make docs` has built it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console_browser import DESKTOP, PHONE, Browser

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
REFERENCE = ("config-keys", "request-codes", "rpcs", "spark-options", "behavior/pop")
READ = (*REFERENCE, "index", "fixtures", "control-api", "fault-kinds", "glossary", "zh/index", "zh/java")
BEYOND = """
const [width] = arguments;
const scrolls = (node) => node && node !== document.body
    && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
const ends = (node) => {
    const box = node.getBoundingClientRect();
    const text = getComputedStyle(node).overflowX === 'visible' ? box.left + node.scrollWidth : 0;
    return box.width ? Math.max(box.right, text) : 0;
};
return [...document.querySelectorAll('body *')]
    .filter((node) => ends(node) > width + 1 && !scrolls(node.parentElement))
    .map((node) => `${node.tagName} ends at ${Math.round(ends(node))}: ${node.textContent.trim().slice(0, 60)}`);
"""
"""Elements that end, or whose text ends, beyond the width of the window, except in an element that scrolls."""
WIDE = """
return [...document.querySelectorAll('article table')]
    .filter((table) => table.scrollWidth > table.clientWidth + 1)
    .map((table) => `${table.scrollWidth} > ${table.clientWidth}: ${table.rows[0].textContent.trim()}`);
"""
"""Tables whose last columns are visible only after scrolling."""


@pytest.fixture
def reader(chromium: Browser) -> Iterator[Browser]:
    """The browser without scripts: the layout needs none, and a page loads faster without its search."""
    chromium.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    yield chromium
    chromium.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.resize(DESKTOP)


def beyond(reader: Browser, page: Path) -> list[str]:
    """Return the elements of a page that are wider than a phone."""
    reader.resize(PHONE)
    reader.driver.get(page.as_uri())
    found: list[str] = reader.script(BEYOND, PHONE[0])
    return found


@pytest.mark.parametrize("name", READ)
def test_a_page_is_no_wider_than_a_phone(reader: Browser, name: str) -> None:
    """Only code and tables scroll sideways, each by itself."""
    assert beyond(reader, SITE / f"{name}.html") == []


def test_a_page_that_is_wider_than_a_phone_is_found(reader: Browser, tmp_path: Path) -> None:
    page = tmp_path / "wide.html"
    page.write_text(f"<!doctype html><meta name=viewport content='width=device-width'><p>{'wide' * 50}</p>")
    assert beyond(reader, page) != []


@pytest.mark.parametrize("name", REFERENCE)
def test_tables_of_the_reference_fit_a_desktop(reader: Browser, name: str) -> None:
    """The meaning of a key or a code is visible beside it, without scrolling."""
    reader.resize(DESKTOP)
    reader.driver.get((SITE / f"{name}.html").as_uri())
    assert reader.script("return document.querySelectorAll('article table').length") > 0
    assert reader.script(WIDE) == []
