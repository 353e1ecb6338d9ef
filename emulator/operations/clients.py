"""Who is connected: heartbeats, memberships, queue locks."""

from dataclasses import field
from typing import NamedTuple

from ..kernel.value_class import value
from .base import Operation, Result


class MessageQueue(NamedTuple):
    """A queue of a topic on a broker."""

    topic: str
    broker_name: str
    queue_id: int


@value
class SubscriptionData:
    """What a consumer wants of a topic. `sub_version` grows with each change (ms or ns, the client's choice)."""

    topic: str
    sub_string: str = "*"
    expression_type: str = "TAG"
    tags: frozenset[str] = frozenset()
    codes: frozenset[int] = frozenset()
    sub_version: int = 0
    class_filter_mode: bool = False


@value
class ConsumerData:
    """A consumer of a heartbeat. The three modes are upstream's enum names."""

    group: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    subscriptions: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


@value
class Heartbeat(Operation):
    """A client says who it is. `fingerprint` 0 is heartbeat V1. Source: HeartbeatData (5.3.3).

    `through_proxy`: the gRPC proxy registers the client, which creates neither groups nor retry topics.
    """

    client_id: str
    producer_groups: list[str]
    consumers: list[ConsumerData]
    fingerprint: int = 0
    without_sub: bool = False
    language: str = "JAVA"
    version: int = 0
    through_proxy: bool = False


@value
class HeartbeatResult(Result):
    """`is_sub_change` asks a V2 client to send its subscriptions again."""

    is_sub_change: bool


@value
class UnregisterClient(Operation):
    """A client leaves groups; an absent group is left alone."""

    client_id: str
    producer_group: str | None = None
    consumer_group: str | None = None


@value
class ChannelClosed(Operation):
    """The connection behind a channel is gone."""


@value
class ForgetWaiting(Operation):
    """Requests of this channel wait whose calls are not active any more: they make room for others."""


@value
class GetConsumerListByGroup(Operation):
    """Client ids of a group. Errors: SYSTEM_ERROR when there is none."""

    consumer_group: str


@value
class ConsumerListResult(Result):
    """Client ids, in the order in which they joined."""

    client_ids: list[str]


@value
class LockBatchMq(Operation):
    """Lock queues for an orderly consumer (60 s, renewed by each call). Source: LockBatchRequestBody."""

    consumer_group: str
    client_id: str
    queues: list[MessageQueue]


@value
class LockBatchResult(Result):
    """The queues that the client now holds."""

    queues: list[MessageQueue]


@value
class UnlockBatchMq(Operation):
    """Give locks back; those of other clients stay."""

    consumer_group: str
    client_id: str
    queues: list[MessageQueue]


@value
class CheckClientConfig(Operation):
    """Would the broker accept this subscription? Errors: SUBSCRIPTION_PARSE_FAILED, SYSTEM_ERROR (SQL92 is off).

    `has_expression`: False where the client has left its expression out, which is another thing than an empty one.
    """

    client_id: str
    group: str
    subscription: SubscriptionData
    has_expression: bool = True


@value
class GetConsumerConnectionList(Operation):
    """Connections and subscriptions of a consumer group. Errors: CONSUMER_NOT_ONLINE."""

    consumer_group: str


@value
class GetProducerConnectionList(Operation):
    """Connections of a producer group. Errors: SYSTEM_ERROR when there is none."""

    producer_group: str


@value
class GetAllProducerInfo(Operation):
    """Connections of all producer groups."""


@value
class ClientConnection:
    """One connected client."""

    client_id: str
    address: tuple[str, int]
    language: str
    version: int
    last_update_ms: int


@value
class ConsumerConnectionResult(Result):
    """A consumer group as the broker sees it."""

    connections: list[ClientConnection]
    subscriptions: dict[str, SubscriptionData]
    consume_type: str
    message_model: str
    consume_from_where: str


@value
class ProducerConnectionResult(Result):
    """A producer group as the broker sees it."""

    connections: list[ClientConnection]


@value
class AllProducersResult(Result):
    """Connections by producer group."""

    groups: dict[str, list[ClientConnection]]


@value
class GetConsumerRunningInfo(Operation):
    """How a live consumer is doing, in its own words. `ext_fields` go to the client as they are.

    Errors: SYSTEM_ERROR (not online, too old), CONSUME_MSG_TIMEOUT. Source: GetConsumerRunningInfoRequestHeader.
    """

    consumer_group: str
    client_id: str | None
    ext_fields: dict[str, str]


@value
class ConsumeMessageDirectly(Operation):
    """Have a live consumer's listener called with a stored message. `message_id` is the broker's own.

    Errors: as of GetConsumerRunningInfo, SYSTEM_ERROR (no such message).
    Source: ConsumeMessageDirectlyResultRequestHeader.
    """

    consumer_group: str
    client_id: str | None
    message_id: str | None
    topic: str | None
    ext_fields: dict[str, str]


@value
class ClientAnswer(Result):
    """What a client has answered, as it came."""

    code: int
    remark: str | None
    ext_fields: dict[str, str] | None
    body: bytes


@value
class GetConsumerStatus(Operation):
    """Where the live consumers of a group are on a topic; `client_id` None or blank means all of them.

    Errors: SYSTEM_ERROR (nobody there, too old). Source: GetConsumerStatusRequestHeader.
    """

    topic: str
    group: str
    client_id: str | None = None


@value
class ConsumerStatusResult(Result):
    """The bodies that clients answered with, by client id."""

    answers: dict[str, bytes]
