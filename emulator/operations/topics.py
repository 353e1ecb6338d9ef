"""Topics of a broker."""

from dataclasses import field

from ..value import value
from .base import Operation, Result


@value
class TopicConfig:
    """Configuration of a topic. `perm` bits: 4 read, 2 write, 1 inherit. Source: TopicConfig (5.3.3)."""

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
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


@value
class TopicResult(Result):
    """One topic."""

    config: TopicConfig


@value
class GetAllTopics(Operation):
    """All topics of a broker."""


@value
class TopicsResult(Result):
    """Topics by name, with the version of the table (number of changes, ms of the last one)."""

    topics: dict[str, TopicConfig]
    version_counter: int
    version_timestamp: int


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
