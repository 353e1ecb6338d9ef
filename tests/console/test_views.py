"""Every view: its content, and the links to it."""

from functools import partial

import pytest
from console_browser import Browser
from console_shop import Shop
from rocketmq_testkit.fixtures import Emulator

NAMES = (
    "Overview", "Topics", "Messages", "Groups", "Clients", "In flight", "Scheduled", "Faults", "Brokers", "Journal",
    "Metrics", "Requests",
)  # fmt: skip


@pytest.mark.parametrize(
    ("view", "texts"),
    [
        ("topics", ["orders", "payments", "DELAY", "warehouse", "1 dead letter", "3 in flight"]),
        ("topic/orders", ["Queues", "broker-b", "committed", "reads", "Send a message", '"order": 1011']),
        ("messages", ['"order": 1011', "key 1000", "delayed", "in flight", "the message of payments is delayed"]),
        ("groups", ["warehouse", "1 dead letter", "members disagree on orders", "billing"]),
        ("group/warehouse", ["packer-1", "packer-2", "tea", "members disagree", "Explanation", "Reset offset"]),
        ("group/billing", ["teller", "broker-b queue 1", "offset 2", "in 55 s"]),
        ("clients", ["packer-1", "packer-2", "teller", "PYTHON", "remoting"]),
        ("receipts", ["billing", "teller", "in 55 s"]),
        ("scheduled", ["delay level", "pop", "in 55 s", "2026-01-31 12:01:24.000"]),
        ("faults", ["respond", "New rule", "How often"]),
        ("brokers", ["broker-a", "broker-b", "ASYNC_MASTER", "up"]),
        ("journal", ["rule respond", "SendMessage", "PopMessage", "lines written"]),
        ("metrics", ["rocketmq_", "node_id"]),
        ("requests", ["POST /v1/clock/advance", "Send request"]),
    ],
)
def test_view_shows_its_content(browser: Browser, shown: Shop, view: str, texts: list[str]) -> None:
    """The view shows each of the listed texts."""
    browser.open(shown.emulator.control, view)
    for text in texts:
        browser.shows(text)


def test_navigation_opens_every_view(browser: Browser, shown: Shop) -> None:
    """Each link opens its view, is marked as the current one, and sets the title."""
    browser.open(shown.emulator.control)
    assert tuple(each.text for each in browser.all("#views a")) == NAMES
    for name in NAMES:
        browser.click(name)
        browser.until(partial(_is_open, browser, name))
        browser.until(lambda: browser.all("main section"))


def _is_open(browser: Browser, name: str) -> bool:
    is_current = browser.text('#views a[aria-current="page"]') == name
    return is_current and browser.driver.title == f"{name} - RocketMQ emulator"


def test_message_shows_body_history_and_verdicts(browser: Browser, shop: Shop) -> None:
    """A list links to the page of a message, which has its body in each form, its timeline, and all verdicts."""
    browser.open(shop.emulator.control, "messages")
    [link] = [each for each in browser.all("td.message a") if "key 1000" in each.find_element("xpath", "../..").text]
    link.click()
    browser.until(lambda: browser.all(".timeline li"))
    browser.shows('"item": "green tea"')
    assert [each.text for each in browser.all(".tabs button")] == ["JSON", "Text", "Hex"]
    browser.click("Text")
    browser.shows('{"order": 1000, "item": "green tea", "count": 1}')
    browser.click("Hex")
    browser.shows("7b 22 6f 72 64 65 72")
    browser.click("JSON")
    browser.shows('"item": "green tea"')
    verdicts = browser.until(lambda: [each.text for each in browser.all(".verdict h3")])
    assert verdicts == ["billing in flight", "warehouse dead"]
    assert "sent" in browser.text(".timeline")
    assert "dead" in browser.text('table[aria-label="Copies"]')
    assert "shop" in browser.text('table[aria-label="Properties"]')
    shop.emulator.clock.advance("2m", wait=None)
    browser.until(lambda: len(browser.all(".timeline li")) > 2)


def test_filter_restricts_metrics_and_requests(browser: Browser, shown: Shop) -> None:
    """The filter of the page also applies to the lists of metrics and of requests."""
    browser.open(shown.emulator.control, "metrics")
    browser.filter("rocketmq_messages_in_total")
    browser.until(lambda: browser.rows("Metrics") and all("messages_in" in each for each in browser.rows("Metrics")))
    browser.filter("no-such-metric")
    browser.shows("No metric matches the filter.")
    browser.go("requests")
    browser.shows("No request matches the filter.")
    browser.filter("clock/advance")
    select = browser.field("Request")
    names = browser.until(lambda: [each.text for each in select.find_elements("tag name", "option")])
    assert len(names) == 3
    assert all("clock/advance" in each for each in names)
    browser.filter(" ")
    browser.until(lambda: len(select.find_elements("tag name", "option")) > 60)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dead_letters_are_red(browser: Browser, shown: Shop, scheme: str) -> None:
    """The number of dead letters is red on a red background in each color scheme; other numbers are not."""
    browser.scheme(scheme)
    browser.open(shown.emulator.control, "topics")
    colors = browser.until(lambda: browser.script(COLORS_OF_CHIPS))
    browser.scheme("light")
    assert [text for text, *shades in colors if all(_is_red(each) for each in shades)] == ["1 dead letter"]
    assert len(colors) > 1


COLORS_OF_CHIPS = """return [...document.querySelectorAll('main .chip')].map((each) => [
  each.textContent,
  ...['color', 'backgroundColor'].map((name) => getComputedStyle(each)[name].match(/[0-9.]+/g).slice(0, 3).map(Number))
])"""


def _is_red(color: list[float]) -> bool:
    red, green, blue = color
    return red - max(green, blue) >= 25


def test_binary_and_unknown_messages_are_shown(browser: Browser, quiet: Emulator) -> None:
    """A body that is no text is shown as hex digits only; the page of an unknown message explains it."""
    sent = quiet.topics["orders"].send(bytes(range(256)))
    browser.open(quiet.control, f"message/{sent.message_id}")
    browser.shows("f0 f1 f2")
    assert [each.text for each in browser.all(".tabs button")] == ["Hex"]
    browser.go("message/no-such-key")
    browser.shows("never received")
    browser.go("message/1000")
    browser.shows("2 messages have this key")


def test_long_lists_have_pages(browser: Browser, quiet: Emulator) -> None:
    """A list of messages shows 15 rows at a time, and its buttons move through the others."""
    for number in range(40):
        quiet.topics["orders"].send(f"order {number}")
    browser.open(quiet.control, "topic/orders")
    caption = "Messages of orders"
    browser.until(lambda: "order 39" in browser.rows(caption)[0])
    assert len(browser.rows(caption)) == 15
    browser.click("Older")
    browser.until(lambda: "order 24" in browser.rows(caption)[0])
    browser.shows("16-30 of ")
    browser.click("Older")
    browser.until(lambda: len(browser.rows(caption)) == 11)
    browser.click("Newer")
    browser.until(lambda: "order 24" in browser.rows(caption)[0])


def test_buttons_lead_to_no_page_behind_the_found_rows(browser: Browser, quiet: Emulator) -> None:
    """The last page has no next one, also if the emulator has not read all rows. A further row has one."""
    browser.open(quiet.control, "scheduled")
    assert [browser.script(DISABLED_OF_PAGER, total) for total in (2_000, 2_001)] == [[False, True], [False, False]]


DISABLED_OF_PAGER = """const [total] = arguments; return import("/console/web/parts.js").then(({ pager }) => {
  const pages = pager(() => {});
  pages.show({ rows: Array(50).fill({}), offset: 1950, total, complete: false });
  return [...pages.element.querySelectorAll("button")].map((each) => each.disabled);
})"""


@pytest.mark.parametrize(
    ("complete", "at_most", "text"),
    [
        (True, False, "1-2 of 7"),
        (False, False, "1-2 of 7 or more"),
        (True, True, "1-2 of at most 7"),
        (False, True, "1-2 of about 7"),
    ],
)
def test_page_of_a_list_says_how_exact_its_number_is(
    browser: Browser, quiet: Emulator, *, complete: bool, at_most: bool, text: str
) -> None:
    """The number may leave out rows that were not read, and count rows that are not shown."""
    browser.open(quiet.control, "scheduled")
    assert browser.script(RANGE_OF_PAGER, complete, at_most) == text


RANGE_OF_PAGER = """const [complete, atMost] = arguments; return import("/console/web/parts.js").then(({ pager }) => {
  const pages = pager(() => {});
  pages.show({ rows: [{}, {}], offset: 0, total: 7, complete, at_most: atMost });
  return pages.element.querySelector(".range").textContent;
})"""


def test_journal_shows_the_fields_of_a_line_and_follows(browser: Browser, quiet: Emulator) -> None:
    """A line can be opened to show all its fields. Without `Follow` new lines do not appear."""
    browser.open(quiet.control, "journal")
    browser.click("Fields of line 0")
    browser.shows("CreateTopic")
    browser.until(lambda: "topic_name" in browser.text("details pre"))
    browser.click("Follow")
    lines = browser.rows("Lines")
    revision = browser.script("return document.getElementById('main').dataset.revision")
    quiet.topics["orders"].send("unseen")
    browser.until(lambda: browser.script("return document.getElementById('main').dataset.revision") != revision)
    assert browser.rows("Lines") == lines
    browser.click("Follow")
    browser.until(lambda: len(browser.rows("Lines")) == len(lines) + 1)


def test_group_is_shown_whatever_the_names_of_others(browser: Browser, quiet: Emulator) -> None:
    """The page finds a group among many whose names contain its own, and a group of the broker."""
    for number in range(201):
        quiet.group(f"a-pay-{number}")
    quiet.group("pay")
    browser.open(quiet.control, "group/pay")
    browser.shows("0 members, lag 0")
    browser.go("group/TOOLS_CONSUMER")
    browser.shows("0 members, lag 0")
