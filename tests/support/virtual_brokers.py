"""Brokers in virtual time: their set-up, and inspection of their data, both without a protocol."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.operations.clients import ConsumerListResult, GetConsumerListByGroup
from rocketmq_testkit.emulator.operations.cluster import (
    PutKvConfig,
    SetPermOfBroker,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

START_MS = 1_700_000_000_000

OF_CLIENTS = (TimerKind.GRPC_SETTINGS, TimerKind.CLIENT_HOUSEKEEPING, TimerKind.GRPC_SESSION)
"""Kinds of timers that exist only because a client is connected."""


@dataclass(frozen=True)
class Setup:
    """Configuration of brokers and proxy: brokers (masters first, then slaves), emulation, proxy and seed."""

    brokers: Sequence[BrokerConfig]
    emulation: EmulationConfig
    proxy: ProxyConfig
    seed: int = 1


class VirtualBrokers:
    """Brokers in virtual time (ms). Methods set up and inspect the broker in `broker`, at first `broker-a`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.broker = engine.brokers[0]
        self._names = count(1)
        self._turns = count()

    # Brokers.

    @property
    def masters(self) -> list[Broker]:
        """Master brokers, in the order of their names."""
        return [broker for broker in self.engine.brokers if broker.broker_id == 0]

    def at(self, broker_name: str, broker_id: int = 0) -> Self:
        """Return the same brokers and clients with another broker as `broker`."""
        there = copy(self)
        found = self.engine.broker(broker_name, broker_id)
        assert found is not None
        there.broker = found
        return there

    def stop_broker(self, *, kill: bool = False) -> None:
        """Stop the broker: gracefully, or as a crash with `kill=True`."""
        self.engine.stop(self.broker, kill=kill)

    def start_broker(self) -> None:
        """Start the broker again."""
        self.engine.start(self.broker)

    def wipe_write_permission(self, *, restore: bool = False) -> None:
        """Remove the write permission of the broker's topics from routes, or restore it with `restore=True`."""
        self.engine.execute(self.engine.name_server, SetPermOfBroker(self.broker.name, add=restore))

    def set_order_configuration(self, order: str, topic: str = "T") -> None:
        """Set the order configuration of a topic, such as `broker:queues;...`."""
        self.engine.execute(self.engine.name_server, UpdateNamesrvConfig({"orderMessageEnable": "true"}))
        self.engine.execute(self.engine.name_server, PutKvConfig("ORDER_TOPIC_CONFIG", topic, order))

    def message_counts(self, topic: str = "T") -> dict[str, int]:
        """Return the number of messages of a topic on each master."""
        return {
            broker.name: sum(queue.max_offset for queue in broker.store.queues_of(topic)) for broker in self.masters
        }

    # State of the brokers.

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        """Advance the virtual time."""
        self.engine.scheduler.advance_to(self.now_ms + ms)

    def topic(self, name: str = "T", queues: int = 1, kind: str = "", perm: int = 6, *, on: Sequence[str] = ()) -> str:
        """Create a topic on all masters, or on those in `on`. `kind` is its message type."""
        attributes = {"+message.type": kind} if kind else None
        for broker in self.masters:
            if not on or broker.name in on:
                self.engine.execute(broker, CreateTopic(TopicConfig(name, queues, queues, perm), attributes))
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic on all masters."""
        for broker in self.masters:
            self.engine.execute(broker, DeleteTopic(name))

    def group(self, name: str = "G", **fields: Any) -> str:
        """Create or change a group on all masters."""
        for broker in self.masters:
            self.engine.execute(broker, CreateGroup(GroupConfig(name, **fields)))
        return name

    def configure(self, **keys: str) -> None:
        """Change configuration keys of the running broker, by upstream's names."""
        self.engine.execute(self.broker, UpdateBrokerConfig(keys))

    def fifo(self, queues: int = 1, group: str = "G") -> None:
        """Create a topic `T` for ordered messages and a group that consumes in order."""
        self.topic("T", queues, "FIFO")
        self.group(group, consume_message_orderly=True)

    def store(self, *bodies: bytes, queue: int = 0, topic: str = "T", **properties: str) -> None:
        """Store messages in a given queue, which clients of a proxy cannot choose."""
        for body in bodies:
            unique = {"UNIQ_KEY": f"ID{next(self._names)}"}
            message = SendMessage("PG", topic, queue, body, unique | properties, ("10.0.0.9", 5000), self.now_ms)
            self.engine.execute(self.broker, message)

    def records(self, topic: str, queue: int = 0) -> list[Record]:
        """Return the records of a queue."""
        store = self.broker.store
        found = (store.record(topic, queue, at) for at in range(store.max_offset(topic, queue)))
        return [decode(record) for record in found if record is not None]

    def committed(self, topic: str = "T", group: str = "G", queue: int = 0) -> int:
        """Return the committed offset of a group."""
        return self.broker.offsets.query(group, topic, queue)

    def members(self, group: str = "G") -> list[str]:
        """Return the consumers of a group as listed by the broker, in the order of registration."""
        try:
            listed = self.engine.execute(self.broker, GetConsumerListByGroup(group))
        except EngineError:
            return []
        assert isinstance(listed, ConsumerListResult)
        return listed.client_ids

    def state(self) -> dict[str, object]:
        """Return everything that a request can change: stored data, offsets, waiting requests and timers."""
        broker = self.broker
        return {
            "end of the log": broker.store.log.max_offset,
            "topics": sorted(broker.topics.table),
            "groups": sorted(broker.groups.table),
            "offsets": {key: dict(table) for key, table in broker.offsets.committed.items()},
            "batches": broker.orders.dump_on_crash(),
            "buffered": len(broker.pop_buffer),
            "waiting": (broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)),
            "timers": [
                (each.due_ms, each.kind, each.owner)
                for each in self.engine.scheduler.scheduled()
                if each.kind not in OF_CLIENTS
            ],
        }
