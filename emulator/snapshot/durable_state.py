"""What an orderly stop leaves, which is what the next start begins from: of one broker, and of a whole engine.

What is not here is in memory only, upstream's and ours: connections, what waits for messages, queue locks, resets that
nobody has taken, counts of what is out, ends of transactions not yet noted, what administrators changed in routes.
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
"""A number that no Java code sees: the seed is any number, and a stream of chance has an unsigned one of 64 bits."""
Version = tuple[int, int]
"""Of a table: how often it was changed, and when it was last (ms)."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What a run of a broker leaves to the next one, beside its store and its tables of topics, groups and offsets."""

    orders: Mapping[Place, OrderInfo] = field(default_factory=dict)
    delay_offsets: Mapping[int, int] = field(default_factory=dict)
    timer: TimerRemains = field(default_factory=TimerRemains)
    filters: Mapping[filter_data.Place, filter_data.FilterData] = field(default_factory=dict)


@dataclass(slots=True)
class LogState:
    """The commit log: the bytes of each file by its number, and when each but the last was full (ms)."""

    segment_bytes: int
    segments: dict[int, bytearray] = field(default_factory=lambda: {0: bytearray()})
    full: dict[int, int] = field(default_factory=dict)
    last_store_timestamp: int = 0


@dataclass(slots=True)
class BrokerState:
    """What a broker leaves. Offsets are by (group, topic) and queue id."""

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
    """Of static topics."""
    mappings_version: Version = (0, 0)
    users: dict[str, User] = field(default_factory=dict)


@dataclass(slots=True)
class EngineState:
    """What an engine leaves. `streams` are those of chance, as far as they were drawn from; `values` are the name
    server's by namespace and key; `extras` is of the layers above, by section and key.

    It is not a copy: what it holds belongs to the engine that it comes from or goes to.
    """

    now_ms: int = 0
    seed: Wide = 0
    streams: dict[str, Wide] = field(default_factory=dict)
    emulation: EmulationConfig = field(default_factory=EmulationConfig)
    namesrv: NamesrvConfig = field(default_factory=NamesrvConfig)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: list[BrokerState] = field(default_factory=list)
    extras: dict[str, dict[str, str]] = field(default_factory=dict)
