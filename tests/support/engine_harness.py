"""A broker in virtual time with short methods for operations."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from pull_operation import pull_of
from rocketmq_testkit.conformance.clients.receipt_handles import popped_receipt
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.receipt import Receipt, real_topic
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    PopMessage,
    PoppedMessage,
    PopResult,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

AnyResult = TypeVar("AnyResult", bound=Result)
START_MS = 1_700_000_000_000


@dataclass
class EngineHarness:
    """Test harness: one engine and its first broker, with a short method for each request. Times are in ms."""

    engine: Engine
    broker: Broker
    channels: dict[str, DirectChannel] = field(default_factory=dict)

    @property
    def now_ms(self) -> int:
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        self.engine.scheduler.advance_to(self.now_ms + ms)

    def ask(self, kind: type[AnyResult], operation: Operation, node: Node | None = None) -> AnyResult:
        """Return the result of the broker, or of another node, which must be of type `kind`."""
        result = self.engine.execute(node or self.broker, operation)
        assert isinstance(result, kind)
        return result

    def topic(self, name: str, queues: int = 1, perm: int = 6) -> str:
        self.engine.execute(self.broker, CreateTopic(TopicConfig(name, queues, queues, perm)))
        return name

    def send(self, topic: str, body: bytes = b"m", *, queue: int = 0, **properties: str) -> SendResult:
        result = self.engine.execute(
            self.broker,
            SendMessage("PG", topic, queue, body, dict(properties), ("10.0.0.1", 5000), self.now_ms),
        )
        assert isinstance(result, SendResult)
        return result

    def pull(
        self,
        topic: str,
        offset: int = 0,
        *,
        queue: int = 0,
        group: str = "G",
        count: int = 32,
        suspend_ms: int | None = None,
        expression: str = "*",
        kind: str = "TAG",
    ) -> DirectCall:
        pull = pull_of(
            group,
            topic,
            queue=queue,
            offset=offset,
            count=count,
            suspend_ms=suspend_ms,
            expression=expression,
            kind=kind,
        )
        return self.engine.submit(self.broker, pull)

    def pop(  # noqa: PLR0913 - the fields of a pop
        self,
        topic: str,
        *,
        group: str = "G",
        queue: int = -1,
        count: int = 32,
        invisible_ms: int = 10_000,
        poll_ms: int = 0,
        order: bool = False,
        attempt: str | None = None,
        expression: str = "*",
        kind: str = "TAG",
    ) -> DirectCall:
        return self.engine.submit(
            self.broker,
            PopMessage(
                group,
                topic,
                queue_id=queue,
                max_msg_nums=count,
                invisible_ms=invisible_ms,
                poll_ms=poll_ms,
                born_ms=self.now_ms,
                exp_type=kind,
                exp=expression,
                order=order,
                attempt_id=attempt,
            ),
        )

    def popped(self, topic: str, **options: Any) -> list[PoppedMessage]:
        """Return the messages of a pop that does not wait."""
        outcome = self.pop(topic, **options).outcome
        assert isinstance(outcome, PopResult), outcome
        self.last_pop = outcome
        return outcome.messages

    def receipt(self, message: PoppedMessage) -> Receipt:
        return popped_receipt(self.last_pop, message, self.broker.name)

    def ack(self, topic: str, receipt: Receipt, group: str = "G") -> DirectCall:
        return self.engine.submit(
            self.broker,
            AckMessage(
                group,
                real_topic(topic, group, receipt.topic_digit),
                receipt.queue_id,
                receipt.text(),
                receipt.queue_offset,
            ),
        )

    def change(self, topic: str, receipt: Receipt, invisible_ms: int, group: str = "G") -> Receipt:
        """Change the invisible duration and return the new receipt."""
        outcome = self.engine.execute(
            self.broker,
            ChangeInvisibleTime(
                group,
                real_topic(topic, group, receipt.topic_digit),
                receipt.queue_id,
                receipt.text(),
                receipt.queue_offset,
                invisible_ms,
            ),
        )
        assert isinstance(outcome, ChangeInvisibleResult)
        start = receipt.start_offset if outcome.revive_qid == 999 else receipt.queue_offset
        place = (receipt.topic_digit, receipt.broker_name, receipt.queue_id, receipt.queue_offset)
        return Receipt(start, outcome.pop_time, outcome.invisible_ms, outcome.revive_qid, *place)

    def heartbeat(
        self,
        client_id: str,
        group: str = "G",
        topics: dict[str, str] | None = None,
        *,
        version: int = 1,
        model: str = "CLUSTERING",
        fingerprint: int = 0,
        without_sub: bool = False,
    ) -> DirectCall:
        channel = self.channels.setdefault(client_id, DirectChannel(client_id, ("10.0.0.9", 4000)))
        subscriptions = [
            SubscriptionData(topic, expression, sub_version=version) for topic, expression in (topics or {}).items()
        ]
        data = ConsumerData(group, message_model=model, subscriptions=subscriptions)
        return self.engine.submit(
            self.broker, Heartbeat(client_id, [], [data], fingerprint, without_sub=without_sub), channel
        )


def refused(call: DirectCall) -> EngineError:
    """Return the error of a rejected call."""
    assert isinstance(call.outcome, EngineError), call.outcome
    return call.outcome


def messages_of(call: DirectCall) -> list[PoppedMessage]:
    """Return the messages of a completed pop."""
    assert isinstance(call.outcome, PopResult), call.outcome
    return call.outcome.messages


def bodies(messages: list[PoppedMessage]) -> list[bytes]:
    """Return the bodies of popped messages."""
    return [decode(message.record).body for message in messages]


def make_harness(seed: int = 1, **keys: object) -> EngineHarness:
    """Create a harness with changed keys, given by attribute name of the broker or emulation configuration."""
    config, emulation = BrokerConfig(), EmulationConfig()
    for name, value in keys.items():
        setattr(config if hasattr(config, name) else emulation, name, value)
    engine = Engine(brokers=[config], emulation=emulation, seed=seed, now_ms=START_MS)
    return EngineHarness(engine, engine.brokers[0])
