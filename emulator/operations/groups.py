"""Subscription groups of a broker, their consumption progress and their assignments."""

from dataclasses import KW_ONLY, field

from ..kernel.java_types import Int
from ..kernel.value_class import value
from .base import Operation, Result
from .clients import MessageQueue, SubscriptionData


@value
class RetryPolicy:
    """The delays before a failed message is redelivered.

    `kind` CUSTOMIZED: `next_ms` are the delays, None = the delay levels. EXPONENTIAL: `initial_ms` * `multiplier`^n
    after n retries, at most `max_ms`. Source: GroupRetryPolicy (5.3.3).
    """

    kind: str = "CUSTOMIZED"
    next_ms: list[int] | None = None
    initial_ms: int = 5_000
    max_ms: int = 7_200_000
    _: KW_ONLY
    multiplier: int = 2


@value
class GroupConfig:
    """Configuration of a subscription group. Source: SubscriptionGroupConfig (5.3.3)."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    _: KW_ONLY
    consume_message_orderly: bool = False
    retry_queue_nums: Int = 1
    retry_max_times: Int = 16
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: Int = 0
    consume_timeout_minute: Int = 15
    attributes: dict[str, str] = field(default_factory=dict)


@value
class CreateGroup(Operation):
    """Create or change a group. The name is not validated here, as in upstream (5.3.3)."""

    config: GroupConfig


@value
class CreateGroups(Operation):
    """Create or change several groups, each as CreateGroup does. Source: SubscriptionGroupList."""

    groups: list[CreateGroup]


@value
class DeleteGroup(Operation):
    """Delete a group, and its offsets if `clean_offset`."""

    group: str
    clean_offset: bool = False


@value
class GetGroup(Operation):
    """Return a group, created with defaults if auto-creation is on. Raises SUBSCRIPTION_GROUP_NOT_EXIST."""

    group: str


@value
class GroupResult(Result):
    """One group."""

    config: GroupConfig


@value
class GetAllGroups(Operation):
    """List all groups of a broker."""


@value
class GroupsResult(Result):
    """Groups by name, with the version of the table (number of changes, ms of the last one)."""

    groups: dict[str, GroupConfig]
    version_counter: int
    version_timestamp: int


@value
class GetConsumeStats(Operation):
    """Return a group's consumption progress on `topics`; without them on `topic`, or on all topics with its offsets.

    If `topics` is empty, topics to which a connected group does not subscribe are left out, even `topic` itself.
    Topics that do not exist are always left out.
    """

    consumer_group: str
    topic: str | None = None
    topics: list[str] = field(default_factory=list)


@value
class OffsetWrapper:
    """Progress on one queue: its maximum offset, the committed offset of the group, and the next offset that it pulls.

    `last_timestamp` is the store time (ms) of the message before `consumer_offset`, 0 for none.
    """

    broker_offset: int
    consumer_offset: int
    pull_offset: int
    last_timestamp: int


@value
class ConsumeStatsResult(Result):
    """Consumption progress of a group, by queue."""

    offsets: dict[MessageQueue, OffsetWrapper]
    consume_tps: float = 0.0


@value
class GetBrokerConsumeStats(Operation):
    """Return the consumption progress of all groups of a broker; `only_ordered`: only on ordered topics."""

    only_ordered: bool = False


@value
class BrokerConsumeStatsResult(Result):
    """Consumption progress of each group, with one entry per topic."""

    groups: dict[str, list[ConsumeStatsResult]]


@value
class QueryGroupsOfTopic(Operation):
    """List groups that subscribe to a topic or hold offsets on it (QUERY_TOPIC_CONSUME_BY_WHO)."""

    topic: str


@value
class GroupListResult(Result):
    """Names of groups."""

    groups: list[str]


@value
class QueryTopicsOfGroup(Operation):
    """List topics on which a group holds offsets (QUERY_TOPICS_BY_CONSUMER)."""

    group: str


@value
class QuerySubscription(Operation):
    """Return a connected group's subscription to a topic (QUERY_SUBSCRIPTION_BY_CONSUMER)."""

    group: str
    topic: str


@value
class SubscriptionResult(Result):
    """A group's subscription to a topic; None if no consumer of the group has sent one."""

    group: str
    topic: str
    subscription: SubscriptionData | None


@value
class QueryConsumeTimeSpan(Operation):
    """Return the consumption delay of a group on each queue of a topic, as store times. Raises TOPIC_NOT_EXIST."""

    topic: str
    group: str


@value
class QueueTimeSpan:
    """Store times on one queue (ms, -1 for none): first, last and last consumed message, and the consumption delay."""

    queue: MessageQueue
    min_timestamp: int
    max_timestamp: int
    consume_timestamp: int
    _: KW_ONLY
    delay_time_ms: int


@value
class ConsumeTimeSpanResult(Result):
    """The store times of each queue."""

    spans: list[QueueTimeSpan]


@value
class CloneGroupOffset(Operation):
    """Copy a group's offsets of a topic to another group.

    `offline`: copy them even if the source group is connected and does not subscribe to the topic.
    """

    src_group: str
    dest_group: str
    topic: str
    offline: bool = False


@value
class SetMessageRequestMode(Operation):
    """Set the request mode of a group on a topic: `PULL` or `POP`. `pop_share_queue_num` <= 0 shares all queues."""

    topic: str
    consumer_group: str
    mode: str
    pop_share_queue_num: Int


@value
class QueryAssignment(Operation):
    """Return the queues assigned to a client (server-side load balancing)."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str
    _: KW_ONLY
    message_model: str


@value
class MessageRequestMode:
    """An assigned queue and its request mode."""

    queue: MessageQueue
    mode: str


@value
class AssignmentResult(Result):
    """Assigned queues; None means that the client keeps its assignment."""

    assignments: list[MessageRequestMode] | None


@value
class UpdateGroupForbidden(Operation):
    """Forbid or allow a group to read a topic; `readable` None only queries the current state.

    Source: UpdateGroupForbiddenRequestHeader (5.3.3).
    """

    group: str
    topic: str
    readable: bool | None = None


@value
class GroupForbiddenResult(Result):
    """`readable` is True if the group may read the topic."""

    group: str
    topic: str
    readable: bool
