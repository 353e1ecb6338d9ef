"""In random runs each message is acknowledged, in flight, or unread, for each table in which pops are stored.

The model has the messages that its clients acknowledged in time. It has neither check points nor records.
"""

from typing import Any

from engine_harness import EngineHarness, make_harness
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import TABLES, look
from rocketmq_testkit.emulator.inspection.messages import MessageWithCopies
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.message.stored_record import property_map

INVISIBLE_MS = 20_000
GROUP = "G"


class Model:
    """Clients of one group: the receipts that they hold, and the messages that they have acknowledged."""

    def __init__(self, harness: EngineHarness, *, order: bool) -> None:
        self.harness = harness
        self.order = order
        self.sent: list[str] = []
        self.receipts: dict[str, tuple[Receipt, int]] = {}
        self.acknowledged: set[str] = set()
        self.kept = look(harness)
        """An inspection that is used after each step, and so reads only what has changed since."""

    def send(self, number: int) -> None:
        self.sent.append(f"7F0000010A2B18B4AAC2{len(self.sent):012X}")
        self.harness.send("A", b"m", queue=0, UNIQ_KEY=self.sent[-1])

    def pop(self, number: int) -> None:
        popped = self.harness.popped(
            "A", count=1 + number % 3, invisible_ms=INVISIBLE_MS, order=self.order, attempt=str(number)
        )
        for message in popped:
            until_ms = self.harness.now_ms + INVISIBLE_MS
            name = property_map(message.record)["UNIQ_KEY"]
            self.receipts[name] = self.harness.receipt(message), until_ms
            if self.order:  # a pop with the same attempt id returns the whole batch again
                self.acknowledged.discard(name)

    def acknowledge(self, number: int) -> None:
        if (held := self._held(number)) is not None:
            name, receipt, _ = held
            self.harness.ack("A", receipt)
            self.acknowledged.add(name)
            del self.receipts[name]

    def change(self, number: int) -> None:
        if (held := self._held(number)) is not None:
            name, receipt, _ = held
            changed = self.harness.change("A", receipt, 10_000)
            self.receipts[name] = changed, self.harness.now_ms + 10_000

    def advance(self, number: int) -> None:
        self.harness.advance((10, 900, 4_000, 9_000, 26_000)[number % 5])

    def restart(self, number: int) -> None:
        self.harness.engine.restart(self.harness.broker)

    def _held(self, number: int) -> tuple[str, Receipt, int] | None:
        held = [(name, *each) for name, each in self.receipts.items() if each[1] > self.harness.now_ms]
        return held[number % len(held)] if held else None

    def check(self) -> None:
        inspection = look(self.harness)
        assert self.kept.receipts() == inspection.receipts()
        in_flight = [message_of(inspection.at(view.place)).message_id for view in inspection.receipts(GROUP)]
        assert len(in_flight) == len(set(in_flight))
        for name in self.sent:
            (message,) = inspection.find(name)
            newest = message.copies[-1].place
            queue = inspection.queue(newest.broker, newest.topic, newest.queue_id)
            assert queue is not None
            progress = queue.groups.get(GROUP)
            unread = progress is None or newest.queue_offset >= progress.position
            if name in self.acknowledged:
                assert name not in in_flight
            else:
                assert (name in in_flight) or unread, f"{name} is neither in flight nor unread"


def message_of(found: MessageWithCopies | None) -> MessageWithCopies:
    assert found is not None
    return found


STEPS = (
    Model.send,
    Model.send,
    Model.pop,
    Model.pop,
    Model.acknowledge,
    Model.acknowledge,
    Model.change,
    Model.advance,
)


@settings(max_examples=100, deadline=None)
@given(
    table=st.sampled_from(sorted(TABLES)),
    order=st.booleans(),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1_000)), max_size=30),
)
def test_each_message_is_acknowledged_in_flight_or_unread(table: str, order: bool, steps: list[Any]) -> None:
    harness = make_harness(**TABLES[table][0])
    harness.topic("A")
    model = Model(harness, order=order)
    for step, number in steps:
        step(model, number)
        model.check()
