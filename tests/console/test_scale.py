"""The console with 100,000 messages and 1,000 clients: the time of its updates, and the size of its page.

`tests/fixtures/console/test_work.py` limits the work of each response by counting executed lines. The environment
variable CONSOLE_UPDATES sets the number of measured updates of each view, such as 100 for `bench/README.md`.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from console_browser import Browser
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.emulator.message.message import MessageToStore
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client.connection import RemotingClient

MESSAGES, CLIENTS, GROUPS, QUEUES = 100_000, 1_000, 20, 8
JOURNALED = MESSAGES // 2
"""Messages whose sends are lines of the journal. The others are stored without a request, which takes less time."""
BATCH = 1_000
UPDATES = int(os.environ.get("CONSOLE_UPDATES", "4"))
VIEWS = ("", "topics", "messages", "topic/orders", "groups", "clients", "scheduled", "journal")
SPENT_MS_MAX = 500.0
"""Limit of the processor time of an update, of the emulator and the page together.

An update takes a fifth of it, so that only work that grows with the messages or clients exceeds it.
"""
ELEMENTS_MAX = 2_000
"""Limit of the elements of a page, independent of the number of messages and clients."""


@pytest.fixture(scope="module")
def busy() -> Iterator[Emulator]:
    """An emulator with many messages and clients, whose journal has one failure, before all sends."""
    with ExitStack() as stack:
        emulator = stack.enter_context(Emulator(topics=["orders::8", "parcels::8"], time="frozen", call_timeout="10m"))
        host = emulator._host
        assert host is not None

        def store() -> None:
            [broker] = host.direct.masters()
            for first in range(0, MESSAGES - JOURNALED, BATCH):
                parts = [(0, b"{}", b"TAGS\x01tea\x02") for _ in range(BATCH)]
                queue = MessageToStore("parcels", first // BATCH % QUEUES, b"", {}, 0, broker.store.store_host)
                broker.store.append_batch(parts, queue)

        def send() -> None:
            for number in range(MESSAGES - JOURNALED, MESSAGES):
                topic = "orders" if number % 2 else "parcels"
                host.direct.send(topic, b'{"order": %d}' % number, tag="tea", keys=[str(number)])

        stack.callback(lambda: emulator.clients)  # wait until the emulator has noticed that all clients are gone
        host.event_loop.call(store, 600)
        with closing(RemotingClient(emulator.broker)) as client:
            assert client.request(*pop_request("orders", "no group", queue=0)).code != 0
        host.event_loop.call(send, 600)
        for number in range(CLIENTS):
            client = stack.enter_context(closing(RemotingClient(emulator.broker)))
            group, topic = f"group-{number % GROUPS}", "orders" if number % 2 else "parcels"
            assert client.request(*heartbeat_request(f"client-{number}", groups={group: {topic: "*"}})).code == 0
        yield emulator


def test_first_search_of_failures_in_a_long_journal_is_made_in_parts(
    browser: Browser, busy: Emulator, tell_figure: Callable[[str], None]
) -> None:
    """The page finds the only failure, which is older than 50,000 other lines, after several short updates."""
    browser.open(busy.control, "journal")
    browser.until(lambda: browser.rows("Failures"))
    found = browser.measures()
    tell_figure(
        f"console, first search of failures in {JOURNALED:,} lines: {len(found)} updates of {max(found):.0f} ms at most"
    )
    assert len(found) > 1


@pytest.mark.parametrize("view", VIEWS)
def test_an_update_with_many_messages_and_clients_draws_few_rows(
    browser: Browser, busy: Emulator, view: str, tell_figure: Callable[[str], None]
) -> None:
    """An update changes few elements. The figure is its time, from the event of the stream to the changed page."""
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
    """A filter finds the only match of 100,000 messages, and its updates read only the new messages."""
    browser.open(busy.control, "messages")
    browser.filter("key:777")
    browser.until(lambda: len(browser.rows("Messages")) == 15)
    browser.filter("key:77777 tag:tea")
    browser.until(lambda: len(browser.rows("Messages")) == 1)
    assert '"order": 77777' in browser.rows("Messages")[0]
    busy.topics["orders"].send("found as well", keys=["77777"], tag="tea")
    browser.until(lambda: "found as well" in browser.rows("Messages")[0])
