"""Measures explanations of one message in crowded emulators.

    python bench/explaining.py

prints the processor time of explanations of one message for one group, in situations that are large in one respect:
groups, members, messages in flight, retries, topics, and timed messages. The first explanation reads all that clients
hold. A later one reads only what has changed since: nothing, or one more message and one more pop. The exit code
is 1 if a later one takes more than 10 ms. The garbage of the set-up is collected before.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from looking import unique_key
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import PopMessage
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from world import START_MS

LIMIT_MS = 10.0
LOOKS = 11
HOUR_MS = 3_600_000


@dataclass
class Crowd:
    """An engine with a topic of four queues and one message of interest."""

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
        send = SendMessage("P", "orders", queue, b"tea", own, ("10.0.0.1", 1), self.now_ms)
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
    """50,000 messages of the topic wait for their time."""
    crowd = Crowd.create()
    crowd.member("billing", "c")
    crowd.send(0)
    for number in range(1, 50_001):
        crowd.send(number, TIMER_DELIVER_MS=str(crowd.now_ms + HOUR_MS))
    return crowd, "billing"


SITUATIONS: dict[str, Callable[[], tuple[Crowd, str]]] = {
    "2,000 groups of the topic": groups,
    "2,000 members of the group": members,
    "100,000 messages in flight": in_flight,
    "20,000 retries of the group": retries,
    "10,000 topics": topics,
    "50,000 timed messages": timed,
}


@dataclass(frozen=True)
class Row:
    """The milliseconds of the first explanation, of those that follow without and after a change, and the verdict."""

    name: str
    first: float
    following: float
    after_change: float
    reason: Reason


def measure(name: str, build: Callable[[], tuple[Crowd, str]]) -> Row:
    """Explain message 0 for the group."""
    crowd, group = build()
    engine = crowd.engine
    look = Inspection(engine, NoSurroundings())
    explainer = Explainer(look, engine.history, lambda: engine.scheduler.now_ms)
    gc.collect()
    gc.freeze()
    reasons = []

    def explained() -> float:
        began = time.process_time()
        (family,) = look.find(unique_key(0))
        reasons.append(explainer.explain(family, unique_key(0), group).reason)
        return 1000 * (time.process_time() - began)

    first = explained()
    for _ in range(3):
        explained()  # the third search builds an index
    following = [explained() for _ in range(LOOKS)]
    changed = []
    for number in range(LOOKS):
        crowd.send(1_000_000 + number, queue=1)
        crowd.pop("audit", 1, queue=1)
        changed.append(explained())
    return Row(name, first, statistics.median(following), statistics.median(changed), reasons[0])


def main() -> int:
    """Measure and print; return exit code 1 if an explanation takes too long."""
    rows = [measure(name, build) for name, build in SITUATIONS.items()]
    print(
        "| situation | verdict | first, ms | next ones, ms | after a change, ms |", "|---|---|---:|---:|---:|", sep="\n"
    )
    for row in rows:
        print(f"| {row.name} | {row.reason} | {row.first:.2f} | {row.following:.2f} | {row.after_change:.2f} |")
    return 0 if all(max(row.following, row.after_change) <= LIMIT_MS for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
