"""The console with 100,000 messages and 1,000 clients: the time of its updates, and the size of its page."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from console_browser import Browser
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client.connection import RemotingClient

MESSAGES, CLIENTS, GROUPS = 100_000, 1_000, 20
UPDATES = 20
VIEWS = ("", "topics", "messages", "topic/orders", "groups", "clients", "scheduled", "journal")
SPENT_MS_MAX = 500.0
"""Limit of the processor time of an update, of the emulator and the page together.

It is five times what an update takes, so that only work that grows with the messages or clients exceeds it.
"""
ELEMENTS_MAX = 2_000
"""The most elements of a page, whatever the emulator holds."""


@pytest.fixture(scope="module")
def busy() -> Iterator[Emulator]:
    with ExitStack() as stack:
        emulator = stack.enter_context(Emulator(topics=["orders::8", "parcels::8"], time="frozen", call_timeout="10m"))
        host = emulator._host
        assert host is not None

        def fill() -> None:
            for number in range(MESSAGES):
                topic = "orders" if number % 2 else "parcels"
                host.direct.send(topic, b'{"order": %d}' % number, tag="tea", keys=[str(number)])

        host.event_loop.call(fill, 600)
        for number in range(CLIENTS):
            client = stack.enter_context(closing(RemotingClient(emulator.broker)))
            group, topic = f"group-{number % GROUPS}", "orders" if number % 2 else "parcels"
            assert client.request(*heartbeat_request(f"client-{number}", groups={group: {topic: "*"}})).code == 0
        yield emulator


@pytest.mark.parametrize(
    "view", ["", "topics", "messages", "topic/orders", "groups", "clients", "scheduled", "journal"]
)
def test_an_update_with_many_messages_and_clients_draws_few_rows(
    browser: Browser, busy: Emulator, view: str, tell_figure: Callable[[str], None]
) -> None:
    """The log states the time of an update, from the event of the stream to the changed page."""
    browser.open(busy.control, view)
    browser.measures()
    found: list[float] = []
    begin = time.process_time() * 1000 + browser.busy_ms()
    while len(found) < UPDATES:
        busy.topics["orders"].send("one more")
        found += browser.until(browser.measures)
    spent = (time.process_time() * 1000 + browser.busy_ms() - begin) / len(found)
    p95 = sorted(found)[int(len(found) * 0.95) - 1]
    elements = browser.script("return document.querySelectorAll('*').length")
    tell_figure(
        f"console, view {view or 'overview'}: p95 {p95:.0f} ms of {len(found)} updates, {spent:.0f} ms of processor "
        f"time each, {elements} elements"
    )
    assert elements < ELEMENTS_MAX
    assert spent <= SPENT_MS_MAX


def test_filter_finds_one_of_many_messages(browser: Browser, busy: Emulator) -> None:
    """A filter that selects one of 100,000 messages finds it; its updates read the new messages only."""
    browser.open(busy.control, "messages")
    browser.filter("key:777")
    browser.until(lambda: len(browser.rows("Messages")) == 15)
    browser.filter("key:77777 tag:tea")
    browser.until(lambda: len(browser.rows("Messages")) == 1)
    assert '"order": 77777' in browser.rows("Messages")[0]
    busy.topics["orders"].send("found as well", keys=["77777"], tag="tea")
    browser.until(lambda: "found as well" in browser.rows("Messages")[0])


def test_first_search_of_failures_in_a_long_journal_is_made_in_parts(
    browser: Browser, busy: Emulator, tell_figure: Callable[[str], None]
) -> None:
    """The only failure is older than all other lines: the page finds it after several short updates."""
    host = busy._host
    assert host is not None
    busy.journal.clear()
    with closing(RemotingClient(busy.broker)) as client:
        assert client.request(*pop_request("orders", "no group", queue=0)).code != 0

    def fill() -> None:
        for number in range(50_000):
            host.direct.send("orders", b"{}", tag="tea", keys=[str(number)])

    host.event_loop.call(fill, 600)
    browser.open(busy.control, "journal")
    browser.until(lambda: browser.rows("Failures"))
    found = browser.measures()
    tell_figure(
        f"console, first search of failures in 50,000 lines: {len(found)} updates of {max(found):.0f} ms at most"
    )
    assert len(found) > 1
