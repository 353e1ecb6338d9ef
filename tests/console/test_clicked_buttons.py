"""The tests of this folder click every button of the console. They run before this test, in the same browser."""

from console_browser import Browser
from console_shop import VIEWS, Shop

KNOWN = 30
"""A lower bound for the number of buttons."""


def test_every_button_was_clicked(browser: Browser, shown: Shop) -> None:
    """The tests have clicked every button that a query of the elements of each view finds."""
    browser.open(shown.emulator.control)
    offered: set[str] = set()
    for view in VIEWS:
        browser.go(view)
        browser.until(lambda: browser.all("main section"))
        browser.until(lambda: "Reading" not in browser.text())
        offered |= browser.buttons()
    assert len(offered) > KNOWN
    assert offered - browser.clicked == set()
