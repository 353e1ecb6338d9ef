"""Texts of clients stay texts: no body, name, key, property, client id or group becomes markup."""

import pytest
from console_browser import Browser
from console_shop import HOSTILE, Shop, add_hostile_texts

VIEWS = (
    "", "topics", "topic/orders", "messages", "groups", "group/warehouse", "clients", "receipts", "scheduled", "faults",
    "brokers", "journal", "metrics",
)  # fmt: skip
HARMLESS = "return [window.hurt ?? 0, document.querySelectorAll('img[src=x], svg, main script, b, u, i').length]"


def test_hostile_texts_are_shown_as_text(browser: Browser, shop: Shop) -> None:
    """Every view shows hostile texts literally, without an element made from them, and violates no security policy."""
    add_hostile_texts(shop)
    browser.open(shop.emulator.control)
    shown = ""
    for view in VIEWS:
        browser.go(view)
        shown += browser.text()
        assert browser.script(HARMLESS) == [0, 0], view
    for text in (HOSTILE, "<b>tag</b>", "<i>key</i>", f"client {HOSTILE}"):
        assert text in shown
    browser.go(f"message/{shop.emulator.messages('orders')[-1].message_id}")
    browser.shows("<u>name</u>")
    browser.click("Text")
    browser.shows(HOSTILE)
    assert browser.script(HARMLESS) == [0, 0]


@pytest.mark.parametrize("view", ["topic", "message", "group", "no-such-view"])
def test_hostile_address_is_shown_as_text(browser: Browser, shown: Shop, view: str) -> None:
    """A link with markup in its hash, which another site could contain, shows the markup as text."""
    browser.open(shown.emulator.control, f"{view}/%3Cimg%20src%3Dx%20onerror%3D%22window.hurt%3D1%22%3E")
    browser.until(lambda: browser.all("main section"))
    assert browser.script(HARMLESS) == [0, 0]


def test_markup_from_text_is_forbidden_by_the_policy(browser: Browser, shown: Shop) -> None:
    """The security policy makes the browser reject a script that assigns a text to innerHTML."""
    browser.open(shown.emulator.control)
    for attempt in ("document.body.innerHTML = '<p>'", "document.body.setAttribute('onclick', 'window.hurt = 9')"):
        assert browser.script(f"try {{ {attempt}; return false }} catch (error) {{ return true }}")
    browser.logged()
