"""A lost connection: the page says so, connects again by itself, and shows the new state."""

import pytest
from console_browser import Browser
from console_shop import open_quiet_shop
from rocketmq_testkit.fixtures import Emulator

TOKEN = "of-this-run"


def test_lost_connection_comes_back(browser: Browser) -> None:
    """While the emulator is stopped, the dot is red. The page shows a new emulator on its port without a reload."""
    with open_quiet_shop() as first:
        port = int(first.control.rpartition(":")[2])
        browser.open(first.control)
        browser.script("window.kept = true")
    browser.shows("Connection lost", "#live")
    browser.click("+1 m")
    browser.noticed("the emulator does not respond")
    with Emulator(topics=["parcels"], control_port=port) as second:
        browser.shows("Live", "#live")
        browser.until(lambda: browser.rows("Topics")[0].startswith("parcels"))
        second.topics["parcels"].send("after the loss")
        browser.until(lambda: "after the loss" in browser.rows("Newest messages")[0])
        assert browser.script("return window.kept")


def test_reset_keeps_the_page_live(browser: Browser, quiet: Emulator) -> None:
    """A reset by another client of the emulator empties the lists of the open page."""
    browser.open(quiet.control, "messages")
    browser.until(lambda: browser.rows("Messages"))
    quiet.reset()
    browser.shows("No message was sent yet.")
    quiet.topics["orders"].send("after the reset")
    browser.until(lambda: "after the reset" in browser.rows("Messages")[0])


def test_hidden_page_closes_its_stream(browser: Browser, quiet: Emulator) -> None:
    """A hidden page closes its stream of changes, and a page that is visible again opens it."""
    browser.open(quiet.control)
    hide = "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
    dispatch = "document.dispatchEvent(new Event('visibilitychange'))"
    browser.script(hide + dispatch, True)
    browser.shows("Paused", "#live")
    quiet.topics["orders"].send("while hidden")
    browser.script(hide + dispatch, False)
    browser.shows("Live", "#live")
    browser.until(lambda: "while hidden" in browser.rows("Newest messages")[0])


@pytest.mark.parametrize("way", ["form", "query"])
def test_token_opens_the_console(browser: Browser, way: str) -> None:
    """A token, typed once or given in the address once, opens the page; a cookie that scripts cannot read keeps it."""
    with open_quiet_shop(control_token=TOKEN) as guarded:
        browser.driver.get(guarded.control)
        browser.shows("started with a token")
        if way == "form":
            browser.fill("Token", "wrong")
            browser.click("Open the console")
            browser.shows("This is not the token.")
            browser.fill("Token", TOKEN)
            browser.click("Open the console")
        else:
            browser.driver.get(f"{guarded.control}/?token={TOKEN}")
        browser.until_read()
        assert TOKEN not in browser.driver.current_url
        assert browser.script("return document.cookie") == ""
        browser.shows("orders")
        browser.click("Next event")
        browser.noticed("delay level")
        browser.driver.get(guarded.control)
        browser.until_read()
        browser.driver.delete_all_cookies()
        browser.logged()
