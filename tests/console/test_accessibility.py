"""The console with a keyboard and a screen reader. `test_pictures.py` checks every view with axe-core."""

import pytest
from console_browser import DESKTOP, Browser
from console_shop import Shop
from rocketmq_testkit.fixtures import Emulator


@pytest.fixture
def restored(browser: Browser) -> Browser:
    """The browser. After the test it has the size and the colors of a desktop again."""
    browser.resize(DESKTOP)
    browser.scheme("light")
    return browser


def test_keyboard_reaches_and_uses_everything(restored: Browser, quiet: Emulator) -> None:
    """Tab reaches the link to the content, the bar, the views and the filter in this order; Enter activates them."""
    restored.open(quiet.control)
    reached = []
    for _ in range(24):
        restored.press("TAB")
        reached.append(restored.script("return document.activeElement.textContent.trim() || document.activeElement.id"))
    assert reached[0] == "Skip to content"
    wanted = ["+1 m", "Next event", "Reset", "Overview", "Topics", "Requests", "filter"]
    assert [each for each in reached if each in wanted][: len(wanted)] == wanted
    restored.script("document.querySelector('#views a[data-view=groups]').focus()")
    restored.press("ENTER")
    restored.until(lambda: restored.driver.title.startswith("Groups"))
    restored.until(lambda: restored.script("return document.activeElement.id") == "main")
    restored.script("document.getElementById('reset').focus()")
    restored.press("ENTER")
    restored.until(lambda: restored.script("return document.activeElement.value") == "no")
    restored.press("ESCAPE")
    restored.until(lambda: not restored.all("dialog[open]"))
    assert len(quiet.messages("orders")) == 1


def test_focus_stays_where_it_is_while_rows_change(restored: Browser, shop: Shop) -> None:
    """A link that has the focus keeps it when its row changes, and when rows are added above."""
    restored.open(shop.emulator.control, "topics")
    restored.script("document.querySelector('table[aria-label=Topics] tbody a').focus()")
    shop.emulator.topics["orders"].send("one more")
    restored.until(lambda: "13" in restored.rows("Topics")[0])
    restored.until(lambda: restored.script("return document.activeElement.textContent") == "orders")


def test_changes_of_the_connection_are_announced(restored: Browser, quiet: Emulator) -> None:
    """The state of the connection and notices are live regions, and failures are alerts."""
    restored.open(quiet.control, "topics")
    assert restored.all("#live")[0].get_attribute("role") == "status"
    assert restored.all("#notices")[0].get_attribute("aria-live") == "polite"
    restored.click("Create topic")
    restored.until(lambda: restored.all("#notices [role=alert]"))
