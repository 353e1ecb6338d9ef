"""Emulators for tests of the console, and texts that a page without escaping would run as markup."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest
from rocketmq_testkit.conformance.clients.remoting_sends import send_back_request, send_request
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client.connection import RemotingClient

START = "2026-01-31T12:00:00Z"
HOSTILE = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=2</script><svg onload='window.hurt=3'>"
"""A text that would run a script if it became markup."""

VIEWS = (
    "", "topics", "topic/orders", "messages", "message/1000", "groups", "group/warehouse", "clients", "receipts",
    "scheduled", "faults", "brokers", "journal", "metrics", "requests",
)  # fmt: skip
"""All views of the console. The view of one topic, message or group has an example of its name."""


@contextmanager
def open_quiet_shop(**options: object) -> Iterator[Emulator]:
    """Run an emulator with a delayed and a stored message, and no client that the clock would wait for."""
    with Emulator(
        topics=["orders::2", "payments:DELAY:1"],
        brokers=2,
        time="frozen",
        start_at=START,
        **options,  # type: ignore[arg-type]  # options of single tests
    ) as emulator:
        emulator.group("billing")
        emulator.topics["orders"].send('{"order": 1000}', tag="tea", keys=["1000"])
        emulator.topics["payments"].send("pay 1000", keys=["1000"], properties={"DELAY": "5"})
        yield emulator


@dataclass
class Shop:
    """The emulator, and a connection to its first broker."""

    emulator: Emulator
    client: RemotingClient

    def ask(self, request: RemotingRequest) -> int:
        """Send a request and return the code of the response."""
        return int(self.client.request(*request).code)


@contextmanager
def open_shop(**options: object) -> Iterator[Shop]:
    """Run an emulator with entries in every list of the console.

    It has orders, payments, two groups, members of one group with different subscriptions, and a dead letter.
    """
    with ExitStack() as stack:
        emulator = stack.enter_context(
            Emulator(
                topics=["orders::2", "payments:DELAY:1"],
                brokers=2,
                time="frozen",
                start_at=START,
                **options,  # type: ignore[arg-type]  # options of single tests
            )
        )
        shop = Shop(emulator, stack.enter_context(RemotingClient(emulator.broker)))
        for group in ("warehouse", "billing"):
            emulator.group(group)
            emulator.reset_offset(group, "orders", to="earliest")
        orders = emulator.topics["orders"]
        items = ("green tea", "black tea", "coffee", "cups")
        for number in range(12):
            body = f'{{"order": {1000 + number}, "item": "{items[number % 4]}", "count": {number + 1}}}'
            orders.send(
                body, tag=items[number % 4].split()[-1], keys=[str(1000 + number)], properties={"shop": "north"}
            )
            emulator.clock.advance("2s")
        emulator.topics["payments"].send("pay 1003", keys=["1003"], properties={"DELAY": "5"})
        for name, expression in (("packer-1", "*"), ("packer-2", "tea")):
            member = stack.enter_context(RemotingClient(emulator.broker))
            assert member.request(*heartbeat_request(name, groups={"warehouse": {"orders": expression}})).code == 0
        assert shop.ask(heartbeat_request("teller", groups={"billing": {"orders": "*"}})) == 0
        assert shop.ask(pop_request("orders", "billing", queue=0, max_messages=3)) == 0
        dead = next(iter(orders.messages))
        assert shop.ask(send_back_request("warehouse", dead.physical_offset, -1)) == 0
        emulator.faults.add(faults.respond("SYSTEM_BUSY", topic="payments", operation="SendMessage", times=1))
        assert shop.ask(send_request("payments", "pay 1004", born_ms=0)) != 0
        emulator.clock.advance("5s", wait=None)
        yield shop


def add_hostile_texts(shop: Shop) -> None:
    """Send texts with markup in every field that a client can choose."""
    shop.emulator.topics["orders"].send(
        HOSTILE, tag="<b>tag</b>", keys=["<i>key</i>"], properties={"<u>name</u>": HOSTILE, "__SHARDINGKEY": HOSTILE}
    )
    member = heartbeat_request(f"client {HOSTILE}", groups={"warehouse": {"orders": HOSTILE}}, producers=[HOSTILE])
    shop.ask(member)
    shop.ask(send_request(HOSTILE, "a hostile name", born_ms=0))
    shop.ask(pop_request(HOSTILE, HOSTILE))
