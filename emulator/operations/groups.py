"""Subscription groups of a broker, their progress and their assignments."""

from dataclasses import field

from ..kernel.java_types import Int
from ..kernel.value_class import value
from .base import Operation, Result
from .clients import MessageQueue, SubscriptionData


@value
class RetryPolicy:
    """When a failed message comes again.

    `kind` CUSTOMIZED: `next_ms` are the delays, None = the delay levels. EXPONENTIAL: `initial_ms` * `multiplier`^n,
    at most `max_ms`. Source: GroupRetryPolicy (5.3.3).
    """

    kind: str = "CUSTOMIZED"
    next_ms: list[int] | None = None
    initial_ms: int = 5_000
    max_ms: int = 7_200_000
    multiplier: int = 2


@value
class GroupConfig:
    """Configuration of a subscription group. Source: SubscriptionGroupConfig (5.3.3)."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
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
    """Create or change a group. The name is not checked, as upstream (5.3.3) does not check it here."""

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
    """A group, created with defaults where auto-creation is on. Errors: SUBSCRIPTION_GROUP_NOT_EXIST."""

    group: str


@value
class GroupResult(Result):
    """One group."""

    config: GroupConfig


@value
class GetAllGroups(Operation):
    """All groups of a broker."""


@value
class GroupsResult(Result):
    """Groups by name, with the version of the table (number of changes, ms of the last one)."""

    groups: dict[str, GroupConfig]
    version_counter: int
    version_timestamp: int


@value
class GetConsumeStats(Operation):
    """Progress of a group on a topic, or on all that it has offsets of (`topic` None), without those that a live group
    does not subscribe to; or on `topics`, whatever it subscribes to.
    """

    consumer_group: str
    topic: str | None = None
    topics: list[str] = field(default_factory=list)


@value
class OffsetWrapper:
    """Progress on one queue. `last_timestamp` is the store time of the message before `consumer_offset`, 0 for none."""

    broker_offset: int
    consumer_offset: int
    pull_offset: int
    last_timestamp: int


@value
class ConsumeStatsResult(Result):
    """Progress of a group by queue."""

    offsets: dict[MessageQueue, OffsetWrapper]
    consume_tps: float = 0.0


@value
class GetBrokerConsumeStats(Operation):
    """Progress of all groups of a broker; `only_ordered`: on topics that are ordered."""

    only_ordered: bool = False


@value
class BrokerConsumeStatsResult(Result):
    """Progress of each group, one entry a topic."""

    groups: dict[str, list[ConsumeStatsResult]]


@value
class QueryGroupsOfTopic(Operation):
    """Groups that subscribe to a topic or hold offsets on it (QUERY_TOPIC_CONSUME_BY_WHO)."""

    topic: str


@value
class GroupListResult(Result):
    """Names of groups."""

    groups: list[str]


@value
class QueryTopicsOfGroup(Operation):
    """Topics that a group holds offsets on (QUERY_TOPICS_BY_CONSUMER)."""

    group: str


@value
class QuerySubscription(Operation):
    """What a live group wants of a topic (QUERY_SUBSCRIPTION_BY_CONSUMER)."""

    group: str
    topic: str


@value
class SubscriptionResult(Result):
    """A group's subscription to a topic; None when no consumer of the group has told one."""

    group: str
    topic: str
    subscription: SubscriptionData | None


@value
class QueryConsumeTimeSpan(Operation):
    """How far back in time a group is on each queue of a topic. Errors: TOPIC_NOT_EXIST."""

    topic: str
    group: str


@value
class QueueTimeSpan:
    """Store times on one queue (ms, -1 for none): first and last message, the last that was consumed, the delay."""

    queue: MessageQueue
    min_timestamp: int
    max_timestamp: int
    consume_timestamp: int
    delay_time_ms: int


@value
class ConsumeTimeSpanResult(Result):
    """The time span of each queue."""

    spans: list[QueueTimeSpan]


@value
class CloneGroupOffset(Operation):
    """Copy a group's offsets of a topic to another group; `offline`: also of one that a live group does not want."""

    src_group: str
    dest_group: str
    topic: str
    offline: bool = False


@value
class SetMessageRequestMode(Operation):
    """Pull or pop for a group on a topic. `mode` is `PULL` or `POP`; `pop_share_queue_num` <= 0 shares all queues."""

    topic: str
    consumer_group: str
    mode: str
    pop_share_queue_num: Int


@value
class QueryAssignment(Operation):
    """Which queues a client shall consume (server-side load balancing)."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str
    message_model: str


@value
class MessageRequestMode:
    """One assigned queue and how to read it."""

    queue: MessageQueue
    mode: str


@value
class AssignmentResult(Result):
    """Assigned queues; None leaves the client's assignment as it is."""

    assignments: list[MessageRequestMode] | None


@value
class UpdateGroupForbidden(Operation):
    """Forbid a group to read a topic, or allow it; `readable` None only asks.

    Source: UpdateGroupForbiddenRequestHeader (5.3.3).
    """

    group: str
    topic: str
    readable: bool | None = None


@value
class GroupForbiddenResult(Result):
    """Whether a group may read a topic."""

    group: str
    topic: str
    readable: bool
