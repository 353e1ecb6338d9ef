"""Measures explanations of one message in crowded emulators.

    python bench/explaining.py

prints the processor time of explanations of one message for one group, in situations that are large in one respect:
groups, members, messages in flight, acknowledgements, retries, topics, delayed, timed and half messages, and locks.

An explanation at once after the last message searches the log for the id of the message, because the emulator had no
idle moment to index it; its time grows with the log. The others come after the indexing: the first one of an emulator,
those that follow no change, and those that follow one more message and one more pop. The column `history` is the
history of the message. The exit code is 1 if one of them takes more than 10 ms, except the one at once. The garbage of
the set-up is collected before.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from bench_harness import BORN_HOST, START_MS
from looking import unique_key
from rocketmq_testkit.conformance.clients.receipt_handles import popped_receipt
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.explanation.timeline import history_of
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.operations.clients import (
    ConsumerData,
    Heartbeat,
    LockBatchMq,
    MessageQueue,
    SubscriptionData,
)
from rocketmq_testkit.emulator.operations.consume import (
    FLAG_SUBSCRIPTION,
    AckMessage,
    PopMessage,
    PopResult,
    PullMessage,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

LIMIT_MS = 10.0
LOOKS = 11
"""Number of explanations of which a row shows the median."""
HOUR_MS = 3_600_000


@dataclass
class Crowd:
    """An engine with the topic `orders` of four queues. Message 0 is the one that is explained."""

    engine: Engine

    @classmethod
    def create(cls) -> "Crowd":
        """Create the engine and the topic."""
        made = cls(Engine(emulation=EmulationConfig(store_max_bytes=1 << 30), now_ms=START_MS))
        made.topic("orders")
        return made

    def topic(self, name: str) -> None:
        """Create a topic."""
        self.engine.execute(self.engine.brokers[0], CreateTopic(TopicConfig(name, 4, 4)))

    def send(self, number: int, queue: int = 0, **properties: str) -> None:
        """Send a message."""
        own = {"UNIQ_KEY": unique_key(number), **properties}
        send = SendMessage("P", "orders", queue, b"tea", own, BORN_HOST, self.now_ms)
        self.engine.submit(self.engine.brokers[0], send)

    def member(self, group: str, client: str) -> DirectChannel:
        """Register a consumer."""
        channel = DirectChannel(client, ("10.0.0.9", 4000))
        data = ConsumerData(group, subscriptions=[SubscriptionData("orders", sub_version=1)])
        self.engine.submit(self.engine.brokers[0], Heartbeat(client, [], [data]), channel)
        return channel

    def pop(
        self,
        group: str,
        count: int,
        channel: DirectChannel | None = None,
        invisible_ms: int = HOUR_MS,
        *,
        queue: int = 0,
    ) -> None:
        """Pop from a queue."""
        pop = PopMessage(group, "orders", queue, count, invisible_ms, 0, self.now_ms, 0, "TAG", "*")
        self.engine.submit(self.engine.brokers[0], pop, channel)

    def commit(self, group: str, offset: int) -> None:
        """Commit an offset of queue 0."""
        self.engine.submit(self.engine.brokers[0], UpdateConsumerOffset(group, "orders", 0, offset))

    @property
    def now_ms(self) -> int:
        return self.engine.scheduler.now_ms


def groups() -> tuple[Crowd, str]:
    """2,000 groups with a member each have read the queue."""
    crowd = Crowd.create()
    for number in range(100):
        crowd.send(number)
    for number in range(2_000):
        crowd.member(f"g{number}", f"c{number}")
        crowd.commit(f"g{number}", number % 100)
    return crowd, "g7"


def members() -> tuple[Crowd, str]:
    """A group has 2,000 members."""
    crowd = Crowd.create()
    crowd.send(0)
    for number in range(2_000):
        crowd.member("billing", f"c{number}")
    return crowd, "billing"


def in_flight() -> tuple[Crowd, str]:
    """100,000 messages of the queue are in flight, and the next one waits."""
    crowd = Crowd.create()
    channel = crowd.member("billing", "c")
    for number in range(1, 100_001):
        crowd.send(number)
    for _ in range(100_000 // 32):
        crowd.pop("billing", 32, channel)
    crowd.send(0)
    return crowd, "billing"


def single_pops() -> tuple[Crowd, str]:
    """50,000 messages of the queue were popped one at a time, and the first is explained."""
    crowd = Crowd.create()
    channel = crowd.member("billing", "c")
    for number in range(50_000):
        crowd.send(number)
    for _ in range(50_000):
        crowd.pop("billing", 1, channel)
    return crowd, "billing"


def in_buffer() -> tuple[Crowd, str]:
    """20,000 messages are in flight in the merge buffer, popped one at a time, and the first is explained."""
    crowd = Crowd.create()
    for broker in crowd.engine.brokers:
        broker.config.enable_pop_buffer_merge = True
    channel = crowd.member("billing", "c")
    for number in range(20_000):
        crowd.send(number)
    for _ in range(20_000):
        crowd.pop("billing", 1, channel)
    return crowd, "billing"


def acknowledgements() -> tuple[Crowd, str]:
    """50,000 messages were acknowledged before their invisible duration ended, and the first is explained."""
    crowd = Crowd.create()
    channel = crowd.member("billing", "c")
    for number in range(50_000):
        crowd.send(number)
    for _ in range(50_000 // 32 + 1):
        pop = PopMessage("billing", "orders", 0, 32, HOUR_MS, 0, crowd.now_ms, 0, "TAG", "*")
        popped = crowd.engine.submit(crowd.engine.brokers[0], pop, channel).outcome
        assert isinstance(popped, PopResult)
        for message in popped.messages:
            receipt = popped_receipt(popped, message, "broker-a")
            acknowledge = AckMessage("billing", "orders", 0, receipt.text(), receipt.queue_offset)
            crowd.engine.submit(crowd.engine.brokers[0], acknowledge, channel)
    return crowd, "billing"


def pulled() -> tuple[Crowd, str]:
    """32,000 messages were pulled and not committed, and the first is explained."""
    crowd = Crowd.create()
    channel = crowd.member("billing", "c")
    for number in range(32_000):
        crowd.send(number)
    for offset in range(0, 32_000, 32):
        pull = PullMessage("billing", "orders", 0, offset, 32, FLAG_SUBSCRIPTION, 0, 0, 0, "*", "TAG")
        crowd.engine.submit(crowd.engine.brokers[0], pull, channel)
    return crowd, "billing"


def retries() -> tuple[Crowd, str]:
    """20,000 messages of the group were delivered, expired, and wait for their retry."""
    crowd = Crowd.create()
    channel = crowd.member("billing", "c")
    for number in range(20_000):
        crowd.send(number)
    for _ in range(20_000 // 32):
        crowd.pop("billing", 32, channel, invisible_ms=1_000)
    crowd.engine.scheduler.advance_to(crowd.now_ms + 60_000)
    return crowd, "billing"


def topics() -> tuple[Crowd, str]:
    """There are 10,000 topics."""
    crowd = Crowd.create()
    crowd.send(0)
    crowd.member("billing", "c")
    for number in range(10_000):
        crowd.topic(f"t{number}")
    return crowd, "billing"


def timed() -> tuple[Crowd, str]:
    """50,000 messages of the topic wait for their time, and the first is explained."""
    crowd = Crowd.create()
    crowd.member("billing", "c")
    for number in range(50_000):
        crowd.send(number, TIMER_DELIVER_MS=str(crowd.now_ms + HOUR_MS))
    return crowd, "billing"


def delayed() -> tuple[Crowd, str]:
    """50,000 messages of the topic wait in a delay level, and the first is explained."""
    crowd = Crowd.create()
    crowd.member("billing", "c")
    for number in range(50_000):
        crowd.send(number, DELAY="17")  # one hour
    return crowd, "billing"


def half() -> tuple[Crowd, str]:
    """5,000 half messages of the topic are not decided, and the first is explained."""
    crowd = Crowd.create()
    crowd.member("billing", "c")
    for number in range(5_000):
        crowd.send(number, TRAN_MSG="true", PGROUP="P", CHECK_IMMUNITY_TIME_IN_SECONDS="9999")
    return crowd, "billing"


def locks() -> tuple[Crowd, str]:
    """2,000 groups have locked eight queues of the topic each, and a message of a locked queue is explained."""
    crowd = Crowd.create()
    crowd.send(0)
    for number in range(2_000):
        channel = crowd.member(f"g{number}", f"c{number}")
        lock = LockBatchMq(
            f"g{number}", f"c{number}", [MessageQueue("orders", "broker-a", queue) for queue in range(8)]
        )
        crowd.engine.submit(crowd.engine.brokers[0], lock, channel)
    return crowd, "g7"


SITUATIONS: dict[str, Callable[[], tuple[Crowd, str]]] = {
    "2,000 groups of the topic": groups,
    "2,000 members of the group": members,
    "100,000 messages in flight": in_flight,
    "50,000 messages popped singly": single_pops,
    "20,000 messages in the merge buffer": in_buffer,
    "50,000 acknowledged messages": acknowledgements,
    "32,000 pulled messages": pulled,
    "20,000 retries of the group": retries,
    "10,000 topics": topics,
    "50,000 timed messages": timed,
    "50,000 delayed messages": delayed,
    "5,000 half messages": half,
    "16,000 locked queues": locks,
}
"""Name -> function that returns the engine and the group for which message 0 is explained."""


@dataclass(frozen=True)
class Row:
    """The milliseconds of explanations and of the history, and the verdict."""

    name: str
    at_once: float
    first: float
    following: float
    _: KW_ONLY
    after_change: float
    history: float
    reason: Reason

    @property
    def slowest(self) -> float:
        """The milliseconds that the bound limits."""
        return max(self.first, self.following, self.after_change, self.history)


def measure(name: str, build: Callable[[], tuple[Crowd, str]]) -> Row:
    """Explain message 0 for the group."""
    crowd, group = build()
    engine = crowd.engine
    gc.collect()
    gc.freeze()
    reasons = []

    def explained(look: Inspection) -> float:
        explainer = Explainer(look, engine.history, lambda: engine.scheduler.now_ms)
        began = time.process_time()
        (message,) = look.find(unique_key(0))
        reasons.append(explainer.explain(message, unique_key(0), group).reason)
        return 1000 * (time.process_time() - began)

    at_once = explained(Inspection(engine, NoSurroundings()))
    look = Inspection(engine, NoSurroundings())
    while look.extend_index():
        pass
    first = explained(look)
    following = [explained(look) for _ in range(LOOKS)]
    changed = []
    for number in range(LOOKS):
        crowd.send(1_000_000 + number, queue=1)
        crowd.pop("audit", 1, queue=1)
        changed.append(explained(look))
    began = time.process_time()
    assert history_of(look.find(unique_key(0))[0], look, engine.history).steps
    history = 1000 * (time.process_time() - began)
    return Row(
        name,
        at_once,
        first,
        statistics.median(following),
        after_change=statistics.median(changed),
        history=history,
        reason=reasons[0],
    )


def main() -> int:
    """Measure and print; return exit code 1 if an explanation takes too long."""
    rows = [measure(name, build) for name, build in SITUATIONS.items()]
    print(
        "| situation | verdict | at once, ms | first, ms | next, ms | after a change, ms | history, ms | at most, ms |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        times = " | ".join(f"{ms:.2f}" for ms in (row.at_once, row.first, row.following, row.after_change, row.history))
        print(f"| {row.name} | {row.reason} | {times} | {LIMIT_MS:g} |")
    return 0 if all(row.slowest <= LIMIT_MS for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
