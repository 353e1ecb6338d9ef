"""The first screen: its order, the bar, the filter, and live updates."""

from console_browser import Browser
from console_shop import Shop
from rocketmq_testkit.fixtures import Emulator

HEADINGS = ["Topics", "Messages, newest first", "Due next", "Journal"]


def test_the_first_screen_has_topics_messages_events_and_journal(browser: Browser, shown: Shop) -> None:
    """Topics, messages, due events and the journal are in this order, with lag, dead letters, verdicts and causes."""
    browser.open(shown.emulator.control)
    assert [each.text for each in browser.all("main h2")] == HEADINGS
    topics = browser.rows("Topics")
    assert topics[0].startswith("orders")
    assert "1 dead letter" in topics[0]
    assert "lag" in topics[0]
    messages = browser.rows("Newest messages")
    assert "delayed" in messages[0]
    assert '"order": 1011' in messages[1]
    assert "key 1011" in messages[1]
    assert any("in flight" in each for each in messages)
    assert "delay level" in "".join(browser.rows("Due next"))
    [busy] = [each for each in browser.rows("Newest failures") if "SYSTEM_BUSY" in each or "respond" in each][:1]
    assert busy
    assert browser.all(".chip.bad")


def test_buttons_of_the_bar_copy_addresses(browser: Browser, shown: Shop) -> None:
    """Each address has a button that copies it to the clipboard."""
    browser.open(shown.emulator.control)
    running = shown.emulator
    addresses = {
        "namesrv": running.namesrv, "endpoint": running.endpoint, "broker": running.broker, "control": running.control
    }  # fmt: skip
    for name, value in addresses.items():
        browser.click(f"Copy {name} {value}")
        browser.noticed(f"Copied {name} {value}")


def test_buttons_of_the_bar_move_the_clock(browser: Browser, quiet: Emulator) -> None:
    """`+1 m` and `Next event` advance the clock, and the page shows the new time and the fired event."""
    browser.open(quiet.control)
    before = quiet.clock.now_ms
    browser.click("Next event")
    browser.until(lambda: quiet.clock.now_ms > before)
    browser.click("+1 m")
    browser.shows("12:0", "#time")
    browser.until(lambda: quiet.clock.now_ms >= before + 60_000)
    browser.shows(f"{quiet.clock.now:%H:%M:%S}", "#time")
    browser.shows("frozen", "#time")


def test_reset_asks_first(browser: Browser, quiet: Emulator) -> None:
    """`Reset` opens a dialog: `No` changes nothing, and `Yes` empties the emulator."""
    browser.open(quiet.control)
    browser.click("Reset")
    browser.confirm("No")
    assert len(quiet.messages("orders")) == 1
    browser.click("Reset")
    browser.confirm("Yes")
    browser.noticed("was reset")
    browser.shows("No message was sent yet.")
    assert quiet.messages("orders") == []


def test_new_messages_appear_without_a_reload(browser: Browser, shop: Shop) -> None:
    """A message that a client sends appears at the top, and unchanged rows keep their element."""
    browser.open(shop.emulator.control)
    browser.script("document.querySelector('table[aria-label=Topics] tbody tr:last-child').dataset.mark = 'kept'")
    shop.emulator.topics["orders"].send("a new order", keys=["2000"])
    browser.until(lambda: "a new order" in browser.rows("Newest messages")[0])
    assert browser.all("[data-mark=kept]")


def test_one_filter_restricts_every_list(browser: Browser, shown: Shop) -> None:
    """The filter applies to topics, messages, events and journal; an empty filter shows everything again."""
    browser.open(shown.emulator.control)
    browser.filter("key:1003")
    browser.shows("No topic matches the filter.")
    browser.until(lambda: len(browser.rows("Newest messages")) == 2)
    assert all("1003" in each for each in browser.rows("Newest messages"))
    browser.filter("payments")
    browser.until(lambda: [each.split()[0] for each in browser.rows("Topics")] == ["payments"])
    browser.filter("nothing-has-this-text")
    browser.shows("No message matches the filter.")
    browser.shows("No line matches the filter.")
    browser.filter(" ")
    browser.until(lambda: len(browser.rows("Topics")) == 2)
