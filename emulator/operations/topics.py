"""Topics of a broker."""

from dataclasses import field

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
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


@value
class CreateTopic(Operation):
    """Create or change a topic. `attributes` are changes: `{"+message.type": "FIFO", "-x": ""}`; None leaves them.

    Errors: INVALID_PARAMETER (name, system topic), SYSTEM_ERROR (attributes). Source: CreateTopicRequestHeader.
    """

    config: TopicConfig
    attributes: dict[str, str] | None = None


@value
class CreateTopics(Operation):
    """Create or change several topics, each as CreateTopic does. Source: CreateTopicListRequestBody."""

    topics: list[CreateTopic]


@value
class DeleteTopic(Operation):
    """Delete a topic of the broker, its queues, its offsets and its pop retry topics."""

    topic: str


@value
class GetTopicConfig(Operation):
    """Errors: TOPIC_NOT_EXIST."""

    topic: str
    with_mapping: bool = False


@value
class QueuePart:
    """Where a part of a logical queue lies. Source: LogicQueueMappingItem (5.3.3).

    Its first offset is `logic_offset` (-1: not decided yet), which is `start_offset` in the queue `queue_id` of the
    broker; it ends before `end_offset` there (-1: not yet). `generation` rises from part to part. Times are in ms.
    """

    generation: Int
    queue_id: Int
    broker_name: str
    logic_offset: int
    start_offset: int = 0
    end_offset: int = -1
    time_of_start: int = -1
    time_of_end: int = -1


@value
class QueueMapping:
    """What one broker has of a static topic: the parts of each logical queue that it knows, oldest first.

    `epoch` says which of two is newer. Source: TopicQueueMappingDetail (5.3.3).
    """

    topic: str
    total_queues: Int
    broker_name: str
    epoch: int
    queues: dict[Int, list[QueuePart]] = field(default_factory=dict)
    scope: str = "__global__"
    dirty: bool = False

    def led(self) -> dict[int, int]:
        """Logical queues whose last part lies at this broker, with the number that it has there."""
        return {
            number: parts[-1].queue_id
            for number, parts in self.queues.items()
            if parts and parts[-1].broker_name == self.broker_name
        }


@value
class CreateStaticTopic(Operation):
    """Create or change a topic and its mapping, which is left alone where None.

    `force`: over whatever is there. Errors: INVALID_PARAMETER (name), SYSTEM_ERROR (a mapping that cannot follow on the
    one before). Source: AdminBrokerProcessor.updateAndCreateStaticTopic (5.3.3).
    """

    config: TopicConfig
    mapping: QueueMapping | None
    force: bool = False


@value
class TopicResult(Result):
    """One topic, with its mapping where it is a static one and that was asked for."""

    config: TopicConfig
    mapping: QueueMapping | None = None


@value
class GetAllTopics(Operation):
    """All topics of a broker."""


@value
class TopicsResult(Result):
    """Topics and mappings by name, with the versions of the tables (number of changes, ms of the last one)."""

    topics: dict[str, TopicConfig]
    version_counter: int
    version_timestamp: int
    mappings: dict[str, QueueMapping]
    mapping_version: tuple[int, int]


@value
class GetTopicStats(Operation):
    """Errors: TOPIC_NOT_EXIST."""

    topic: str


@value
class TopicOffset:
    """Extent of one queue; `last_update_timestamp` is the store time of its last message, 0 for none."""

    min_offset: int
    max_offset: int
    last_update_timestamp: int


@value
class TopicStatsResult(Result):
    """Extent of each write queue, by queue id."""

    topic: str
    broker_name: str
    offsets: dict[int, TopicOffset]
    put_tps: float = 0.0


@value
class GetBrokerTopicList(Operation):
    """The system topics of a broker (GET_SYSTEM_TOPIC_LIST_FROM_BROKER)."""
