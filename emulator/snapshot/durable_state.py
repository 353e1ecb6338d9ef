"""Durable state: the data of a broker and of an engine that survive a graceful stop, from which the next run starts.

All other data are in memory only, in upstream and in the emulator: connections, waiting requests, queue locks, pending
resets, counts of in-flight messages, ends of transactions not yet written, route changes by administrators.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from ..auth.user_table import User
from ..config import BrokerConfig, EmulationConfig, NamesrvConfig
from ..filter import filter_table as filter_data
from ..operations import GroupConfig, QueueMapping, SetMessageRequestMode, TopicConfig
from ..pop.consumer_order_info import OrderInfo, Place
from ..pop.pop_kv_records import PopRecord
from ..schedule.timer_service import TimerRemains
from ..store.consume_queue import ConsumeQueue

Wide = Annotated[int, 1024]
"""An integer that Java code never sees: the seed is any integer, the state of a random stream has 64 unsigned bits."""
Version = tuple[int, int]
"""The version of a table: number of changes, and time of the last change (ms)."""


@dataclass(frozen=True, slots=True)
class Remains:
    """State of a broker's services, without its store and its tables of topics, groups and offsets."""

    orders: Mapping[Place, OrderInfo] = field(default_factory=dict)
    delay_offsets: Mapping[int, int] = field(default_factory=dict)
    timer: TimerRemains = field(default_factory=TimerRemains)
    filters: Mapping[filter_data.Place, filter_data.FilterData] = field(default_factory=dict)


@dataclass(slots=True)
class LogState:
    """The commit log: the bytes of each file by number, and the time at which each but the last became full (ms)."""

    segment_bytes: int
    segments: dict[int, bytearray] = field(default_factory=lambda: {0: bytearray()})
    full: dict[int, int] = field(default_factory=dict)
    last_store_timestamp: int = 0


@dataclass(slots=True)
class BrokerState:
    """The durable state of a broker. Offsets are by (group, topic) and queue id."""

    config: BrokerConfig
    log: LogState
    topics: dict[str, TopicConfig]
    topics_version: Version
    groups: dict[str, GroupConfig]
    groups_version: Version
    forbidden: dict[str, set[str]]
    offsets: dict[tuple[str, str], dict[int, int]]
    queues: list[ConsumeQueue]
    request_modes: list[SetMessageRequestMode]
    pop_records: list[PopRecord]
    remains: Remains
    mappings: dict[str, QueueMapping] = field(default_factory=dict)
    """Queue mappings of static topics."""
    mappings_version: Version = (0, 0)
    users: dict[str, User] = field(default_factory=dict)


@dataclass(slots=True)
class EngineState:
    """The durable state of an engine.

    `streams` are the states of the random streams drawn from so far. `values` are the name server's values by namespace
    and key. `extras` belongs to upper layers, by section and key. The state is not a copy: its objects belong to the
    engine that it comes from or goes to.
    """

    now_ms: int = 0
    seed: Wide = 0
    streams: dict[str, Wide] = field(default_factory=dict)
    emulation: EmulationConfig = field(default_factory=EmulationConfig)
    namesrv: NamesrvConfig = field(default_factory=NamesrvConfig)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: list[BrokerState] = field(default_factory=list)
    extras: dict[str, dict[str, str]] = field(default_factory=dict)
