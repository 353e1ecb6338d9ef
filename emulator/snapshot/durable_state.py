"""Durable state: the data of a broker and of an engine that survive a graceful stop, from which the next run starts.

All other data are in memory only, in upstream and in the emulator: connections, waiting requests, queue locks, pending
resets, counts of in-flight messages, commits and rollbacks without an op message, route changes by administrators.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Annotated, Any

from ..auth.user_table import User
from ..config import BrokerConfig, EmulationConfig, NamesrvConfig
from ..filter import filter_table as filter_data
from ..history.history_state import HistoryState
from ..kernel.value_class import frozen_value, value
from ..operations.groups import GroupConfig, SetMessageRequestMode
from ..operations.topics import QueueMapping, TopicConfig
from ..pop.consumer_order_info import GroupQueue, OrderInfo
from ..pop.pop_kv_records import PopRecord
from ..schedule.timer_state import TimerState
from ..store.consume_queue import ConsumeQueue
from ..store.shared_segment import SharedSegment

BigInt = Annotated[int, 1024]
"""An integer that Java code never sees: the seed is any integer, the state of a random stream has 64 unsigned bits."""
Version = tuple[int, int]
"""The version of a table: number of changes, and time of the last change (ms)."""


@frozen_value
class ServiceState:
    """State of a broker's services, without its store and its tables of topics, groups and offsets."""

    orders: Mapping[GroupQueue, OrderInfo] = field(default_factory=dict)
    """Ordered batches in flight, by (topic, group, queue id)."""
    delay_offsets: Mapping[int, int] = field(default_factory=dict)
    """The offset of the next message to deliver, by delay level."""
    timer: TimerState = field(default_factory=TimerState)
    filters: Mapping[filter_data.TopicGroup, filter_data.FilterData] = field(default_factory=dict)


@value
class LogState:
    """The commit log: the bytes of each file, and the time at which each but the last became full (ms), by number."""

    segment_bytes: int
    segments: dict[int, bytearray] = field(default_factory=lambda: {0: bytearray()})
    full: dict[int, int] = field(default_factory=dict)
    last_store_timestamp: int = 0
    _: KW_ONLY
    store_ports: set[int] = field(default_factory=set)
    """The ports that ids of the messages may contain, see `Broker.store_ports`. Files of older versions have none."""
    shared: Mapping[int, SharedSegment] = field(default_factory=dict)
    """The first bytes of files, if other engines share them; `segments` has the bytes after them."""

    @property
    def is_empty(self) -> bool:
        """True if no message was ever stored."""
        return not self.shared and self.segments == {0: b""}  # the first file may have been deleted

    def parts(self, number: int) -> list[tuple[bytearray, int]]:
        """Return the buffers of a file, each with the number of its bytes that belong to the file."""
        own, shared = self.segments[number], self.shared.get(number)
        return [*([] if shared is None else shared.parts()), (own, len(own))]


@value
class BrokerState:
    """The durable state of a broker. Offsets are by (group, topic) and queue id."""

    config: BrokerConfig
    log: LogState
    topics: dict[str, TopicConfig]
    topics_version: Version
    _: KW_ONLY
    groups: dict[str, GroupConfig]
    groups_version: Version
    forbidden: dict[str, set[str]]
    offsets: dict[tuple[str, str], dict[int, int]]
    queues: list[ConsumeQueue]
    request_modes: list[SetMessageRequestMode]
    pop_records: list[PopRecord]
    services: ServiceState
    mappings: dict[str, QueueMapping] = field(default_factory=dict)
    """Queue mappings of static topics."""
    mappings_version: Version = (0, 0)
    users: dict[str, User] = field(default_factory=dict)
    memories: dict[str, Any] = field(default_factory=dict)
    """Of a fork: state that a stop would lose, by the name of the service. Not in snapshots."""
    common_end: int = 0
    """Of a slave in a fork: the offset up to which its log is known to equal its master's. Not in snapshots."""
    skew_ms: int = 0
    """Of a fork: the difference between the broker's clock and that of the engine. Not in snapshots."""


@value
class EngineState:
    """The durable state of an engine.

    `streams` are the states of the random streams drawn from so far. `kv_config` holds the name server's values by
    namespace and key. `extras` belongs to upper layers, by section and key. The state is not a copy: its objects belong
    to the engine from which it was made, or to the one that starts from it.
    """

    now_ms: int = 0
    seed: BigInt = 0
    streams: dict[str, BigInt] = field(default_factory=dict)
    emulation: EmulationConfig = field(default_factory=EmulationConfig)
    _: KW_ONLY
    namesrv: NamesrvConfig = field(default_factory=NamesrvConfig)
    kv_config: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: list[BrokerState] = field(default_factory=list)
    extras: dict[str, dict[str, str]] = field(default_factory=dict)
    defects: dict[str, int] = field(default_factory=dict)
    """Of a fork: the number of rules that keep a defect of upstream switched on, by its name. Not in snapshots."""
    history: HistoryState | None = None
    """Of a fork: the history that it continues. Not in snapshots."""
