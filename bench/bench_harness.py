"""An emulator in virtual time, with methods for the requests that benchmarks repeat."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocketmq_testkit.conformance.clients.receipt_handles import popped_receipt
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.consume import (
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PopMessage,
    PopResult,
    PullMessage,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

BORN_HOST = ("10.0.0.1", 1)
"""Address of the producer, which stored messages contain."""
START_MS = 1_700_000_000_000
FAR_MS = 3_600_000
"""An invisible duration or long polling timeout that does not end during a measurement."""
BODY = b"x" * 64


@dataclass
class BenchHarness:
    """One emulator, and numbers for the names of its topics and groups."""

    engine: Engine
    names: Iterator[int] = field(default_factory=itertools.count)

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.engine.scheduler.now_ms

    def submit(self, operation: Operation, channel: DirectChannel | None = None) -> DirectCall:
        """Submit an operation."""
        return self.engine.submit(self.engine.brokers[0], operation, channel)

    def topic(self, name: str, queues: int = 1) -> str:
        """Create a topic."""
        self.submit(CreateTopic(TopicConfig(name, queues, queues)))
        return name

    def send(self, topic: str, count: int = 1) -> None:
        """Send messages to queue 0."""
        now = self.now_ms
        for _ in range(count):
            self.submit(SendMessage("P", topic, 0, BODY, {"UNIQ_KEY": "k"}, BORN_HOST, now))

    def sent(self, topic: str, **properties: str) -> SendResult:
        """Send a message to queue 0, and return the result with its offsets."""
        own = {"UNIQ_KEY": "k", **properties}
        stored = response(self.submit(SendMessage("P", topic, 0, BODY, own, BORN_HOST, self.now_ms)))
        assert isinstance(stored, SendResult)
        return stored

    def pop(
        self,
        topic: str,
        count: int = 1,
        *,
        group: str = "G",
        invisible_ms: int = FAR_MS,
        poll_ms: int = 0,
        channel: DirectChannel | None = None,
    ) -> DirectCall:
        """Pop from queue 0."""
        operation = PopMessage(group, topic, 0, count, invisible_ms, poll_ms, self.now_ms, 0, "TAG", "*")
        return self.submit(operation, channel)

    def receipts(self, topic: str, count: int) -> list[Receipt]:
        """Pop messages one by one and return their receipts."""
        found = []
        for _ in range(count):
            result = self.pop(topic).outcome
            assert isinstance(result, PopResult)
            assert len(result.messages) == 1
            found.append(popped_receipt(result, result.messages[0], self.engine.brokers[0].name))
        return found

    def pull(self, topic: str, offset: int, suspend_ms: int | None = None) -> DirectCall:
        """Pull 32 messages of queue 0. With `suspend_ms`, wait that long if there are none."""
        flags = FLAG_SUBSCRIPTION if suspend_ms is None else FLAG_SUBSCRIPTION | FLAG_SUSPEND
        return self.submit(PullMessage("G", topic, 0, offset, 32, flags, 0, suspend_ms or 0, 0, "*", "TAG"))


def response(call: DirectCall) -> Result:
    """Return the result of an operation. Raises AssertionError for an error."""
    assert isinstance(call.outcome, Result), call.outcome
    return call.outcome


def empty() -> BenchHarness:
    """Create an emulator without messages, with the topics `work` and, for many waiting pops, `crowd`."""
    emulation, broker = EmulationConfig(), BrokerConfig()
    emulation.store_max_bytes = 4 * 1024**3  # enough for all messages, so that none is deleted
    broker.recall_message_enable = broker.enable_property_filter = True
    harness = BenchHarness(Engine(brokers=[broker], emulation=emulation, now_ms=START_MS))
    harness.topic("work")
    harness.topic("crowd")
    return harness
