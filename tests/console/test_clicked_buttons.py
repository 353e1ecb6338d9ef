"""No button of the console is left out by the tests: they run before this one, in the same browser."""

from console_browser import Browser
from console_shop import VIEWS, Shop

KNOWN = 30
"""There are more buttons than this."""


def test_every_button_was_clicked(browser: Browser, shown: Shop) -> None:
    """The buttons that each view has, by a query of its elements, are those that tests have clicked."""
    browser.open(shown.emulator.control)
    offered: set[str] = set()
    for view in VIEWS:
        browser.go(view)
        browser.until(lambda: browser.all("main section"))
        browser.until(lambda: "Reading" not in browser.text())
        offered |= browser.buttons()
    assert len(offered) > KNOWN
    assert offered - browser.clicked == set()
