"""Every view in both color schemes and at two widths: it has a picture, and no violation that axe-core finds.

All pictures are written to `.reports/console/`. With the environment variable CONSOLE_PICTURES, those of the
documentation are written to `docs/pictures/` as well (`make console-pictures`).
"""

import os
from pathlib import Path

import pytest
from console_browser import DESKTOP, PHONE, Browser
from console_shop import VIEWS, Shop

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / ".reports" / "console"
DOCS = ROOT / "docs" / "pictures"
OF_DOCS = {
    "": "console-overview",
    "message/1000": "console-message",
    "group/warehouse": "console-group",
    "faults": "console-faults",
}
"""View -> name of its picture in docs/console.md, which has the width of a desktop and light colors."""
LOOKS = {"desktop": (DESKTOP, "light"), "dark": (DESKTOP, "dark"), "phone": (PHONE, "light")}
LEAST_BYTES = 10_000
"""Lower bound of the size of a picture; that of an empty page is smaller."""


@pytest.mark.parametrize("name", LOOKS)
def test_every_view_is_usable_and_has_its_picture(browser: Browser, shown: Shop, axe: str, name: str) -> None:
    """No view is empty, is wider than the window, or has a serious or critical violation that axe-core finds.

    axe-core checks contrasts, names, roles, labels and the order of headings.
    """
    size, scheme = LOOKS[name]
    browser.resize(size)
    browser.scheme(scheme)
    browser.open(shown.emulator.control)
    bytes_of, widths, violations = {}, {}, {}
    for view in VIEWS:
        browser.go(view)
        browser.until(lambda: browser.all("main section"))
        browser.until(lambda: "Reading" not in browser.text())
        file = REPORTS / f"{name}-{view.replace('/', '-') or 'overview'}.png"
        browser.picture(file, whole=True)
        bytes_of[view] = file.stat().st_size
        if name == "desktop" and view in OF_DOCS and os.environ.get("CONSOLE_PICTURES"):
            browser.picture(DOCS / f"{OF_DOCS[view]}.png")
        widths[view] = browser.script("return document.documentElement.scrollWidth")
        violations[view] = browser.axe(axe)
    browser.resize(DESKTOP)
    browser.scheme("light")
    assert {view: each for view, each in violations.items() if each} == {}
    assert widths == dict.fromkeys(VIEWS, size[0])
    assert [view for view, each in bytes_of.items() if each < LEAST_BYTES] == []


def test_pictures_of_the_page_exist() -> None:
    """docs/console.md shows exactly the pictures that this file makes."""
    page = (ROOT / "docs" / "console.md").read_text()
    for each in OF_DOCS.values():
        assert f"(pictures/{each}.png)" in page
        assert (DOCS / f"{each}.png").stat().st_size > LEAST_BYTES
    assert {each.stem for each in DOCS.glob("console-*.png")} == set(OF_DOCS.values())
