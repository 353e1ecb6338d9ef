"""Topics of a broker."""

from dataclasses import KW_ONLY, field

from ..kernel.java_types import Int
from ..kernel.value_class import value
from .base import Operation, Result


@value
class TopicConfig:
    """Configuration of a topic. `perm` bits: 4 read, 2 write, 1 inherit. Source: TopicConfig (5.3.3)."""

    topic_name: str
    read_queue_nums: Int = 16
    write_queue_nums: Int = 16
    perm: Int = 6
    _: KW_ONLY
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


@value
class CreateTopic(Operation):
    """Create or change a topic.

    `attributes` are changes of the current attributes, such as `{"+message.type": "FIFO", "-x": ""}`; None: no change.
    The broker ignores `config.attributes`. Raises INVALID_PARAMETER (name, system topic, numbers of queues, and message
    type MIXED unless `enableMixedMessageType` is true), SYSTEM_ERROR (attributes).
    Source: CreateTopicRequestHeader.
    """

    config: TopicConfig
    attributes: dict[str, str] | None = None


@value
class CreateTopics(Operation):
    """Create or change several topics, each as CreateTopic does. Source: CreateTopicListRequestBody."""

    topics: list[CreateTopic]


@value
class DeleteTopic(Operation):
    """Delete a topic of the broker, its queues, its offsets and, as configured, its pop retry topics."""

    topic: str


@value
class GetTopicConfig(Operation):
    """Return the configuration of a topic. Raises TOPIC_NOT_EXIST."""

    topic: str
    with_mapping: bool = False


@value
class QueuePart:
    """One part of a logical queue: its range in a physical queue. Source: LogicQueueMappingItem (5.3.3).

    The part starts at the logical offset `logic_offset` (-1: not decided yet), which is offset `start_offset` of
    queue `queue_id` of the broker. It ends before `end_offset` of that queue (-1: not yet). `generation` grows from
    part to part. Times are in ms.
    """

    generation: Int
    queue_id: Int
    broker_name: str
    logic_offset: int
    _: KW_ONLY
    start_offset: int = 0
    end_offset: int = -1
    time_of_start: int = -1
    time_of_end: int = -1


@value
class QueueMapping:
    """The mapping of a static topic on one broker: the known parts of each logical queue, oldest first.

    The mapping with the larger `epoch` is newer. Source: TopicQueueMappingDetail (5.3.3).
    """

    topic: str
    total_queues: Int
    broker_name: str
    epoch: int
    _: KW_ONLY
    queues: dict[Int, list[QueuePart]] = field(default_factory=dict)
    scope: str = "__global__"
    dirty: bool = False

    def queues_led_here(self) -> dict[int, int]:
        """Return the logical queues whose last part is on this broker, with their physical queue ids."""
        return {
            number: parts[-1].queue_id
            for number, parts in self.queues.items()
            if parts and parts[-1].broker_name == self.broker_name
        }


@value
class CreateStaticTopic(Operation):
    """Create or change a topic and its mapping; None leaves the mapping unchanged.

    `force`: replace any existing mapping. Raises INVALID_PARAMETER (name), SYSTEM_ERROR (the mapping is no valid
    successor of the existing one). Source: AdminBrokerProcessor.updateAndCreateStaticTopic (5.3.3).
    """

    config: TopicConfig
    mapping: QueueMapping | None
    force: bool = False


@value
class TopicResult(Result):
    """A topic, with its mapping if it is static and the request asked for the mapping."""

    config: TopicConfig
    mapping: QueueMapping | None = None


@value
class GetAllTopics(Operation):
    """List all topics of a broker."""


@value
class TopicsResult(Result):
    """Topics and mappings by name, with the versions of the tables (number of changes, ms of the last one)."""

    topics: dict[str, TopicConfig]
    version_counter: int
    version_timestamp: int
    mappings: dict[str, QueueMapping]
    _: KW_ONLY
    mapping_version: tuple[int, int]


@value
class GetTopicStats(Operation):
    """Return the minimum and maximum offsets of a topic's queues. Raises TOPIC_NOT_EXIST."""

    topic: str


@value
class TopicOffset:
    """Offsets of one queue; `last_update_timestamp` is the store time of its last message, 0 for none."""

    min_offset: int
    max_offset: int
    last_update_timestamp: int


@value
class TopicStatsResult(Result):
    """Offsets of each read or write queue, by queue id."""

    topic: str
    broker_name: str
    offsets: dict[int, TopicOffset]
    put_tps: float = 0.0


@value
class GetBrokerTopicList(Operation):
    """List the system topics of a broker (GET_SYSTEM_TOPIC_LIST_FROM_BROKER)."""
