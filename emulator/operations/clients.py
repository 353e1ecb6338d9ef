"""Connected clients: heartbeats, members of groups, queue locks, requests to clients."""

from dataclasses import KW_ONLY, field
from typing import Annotated, NamedTuple

from ..kernel.value_class import value
from .base import SHARED, Operation, Result

PASSIVELY = "CONSUME_PASSIVELY"
"""The consume type of push consumers, whose SDK requests messages and calls a listener of the application."""
ACTIVELY = "CONSUME_ACTIVELY"
"""The consume type of pull and simple consumers, whose application decides when to request messages."""
CLUSTERING = "CLUSTERING"
"""The message model in which each message goes to one member of a group."""
BROADCASTING = "BROADCASTING"
"""The message model in which each message goes to every member. Clients keep their offsets themselves."""


class MessageQueue(NamedTuple):
    """A queue of a topic on a broker."""

    topic: str
    broker_name: str
    queue_id: int


@value
class SubscriptionData:
    """A consumer's subscription to a topic. `sub_version` grows with each change (ms or ns, the client's choice)."""

    topic: str
    sub_string: str = "*"
    expression_type: str = "TAG"
    tags: frozenset[str] = frozenset()
    codes: frozenset[int] = frozenset()
    sub_version: int = 0
    class_filter_mode: bool = False


@value
class ConsumerData:
    """A consumer in a heartbeat. The three modes are upstream's enum names."""

    group: str
    consume_type: str = PASSIVELY
    message_model: str = CLUSTERING
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    _: KW_ONLY
    subscriptions: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


@value
class Heartbeat(Operation):
    """A client's heartbeat: registers its producers and consumers. Source: HeartbeatData (5.3.3).

    `fingerprint` 0 means heartbeat V1. `without_sub`: a heartbeat V2 that omits the subscriptions, which then stay.
    `through_proxy`: the gRPC proxy registers the client, which creates neither groups nor retry topics.
    """

    client_id: str
    producer_groups: list[str]
    consumers: list[ConsumerData]
    fingerprint: int = 0
    _: KW_ONLY
    without_sub: bool = False
    language: str = "JAVA"
    version: int = 0
    through_proxy: bool = False


@value
class HeartbeatResult(Result):
    """`is_sub_change` requests that a client with heartbeat V2 sends its subscriptions again."""

    is_sub_change: bool


@value
class UnregisterClient(Operation):
    """Unregister a client from a producer group, a consumer group or both; None means no such group."""

    client_id: str
    producer_group: str | None = None
    consumer_group: str | None = None


@value
class ChannelClosed(Operation):
    """The connection of a channel is closed."""


@value
class DropInactiveRequests(Operation):
    """Drop the waiting requests of the call's channel whose own calls are no longer active, to make room for others."""


@value
class GetConsumerListByGroup(Operation):
    """List the client ids of a group. Raises SYSTEM_ERROR if there is none."""

    consumer_group: str


@value
class ConsumerListResult(Result):
    """Client ids, in the order in which they joined."""

    client_ids: Annotated[list[str], SHARED]


@value
class LockBatchMq(Operation):
    """Lock queues for an orderly consumer (60 s, renewed by each call). Source: LockBatchRequestBody."""

    consumer_group: str
    client_id: str
    queues: list[MessageQueue]


@value
class LockBatchResult(Result):
    """The queues whose locks the client now holds."""

    queues: list[MessageQueue]


@value
class UnlockBatchMq(Operation):
    """Release a client's queue locks; those of other clients stay."""

    consumer_group: str
    client_id: str
    queues: list[MessageQueue]


@value
class CheckClientConfig(Operation):
    """Check whether the broker accepts a subscription. Raises SUBSCRIPTION_PARSE_FAILED, SYSTEM_ERROR (SQL92 is off).

    `has_expression`: False if the client omitted the expression, which differs from an empty one.
    """

    client_id: str
    group: str
    subscription: SubscriptionData
    has_expression: bool = True


@value
class GetConsumerConnectionList(Operation):
    """List connections and subscriptions of a consumer group. Raises CONSUMER_NOT_ONLINE."""

    consumer_group: str


@value
class GetProducerConnectionList(Operation):
    """List connections of a producer group. Raises SYSTEM_ERROR if there is none."""

    producer_group: str


@value
class GetAllProducerInfo(Operation):
    """List connections of all producer groups."""


@value
class ClientConnection:
    """One connected client."""

    client_id: str
    address: tuple[str, int]
    language: str
    version: int
    _: KW_ONLY
    last_update_ms: int


@value
class ConsumerConnectionResult(Result):
    """Connections, subscriptions and modes of a consumer group."""

    connections: list[ClientConnection]
    subscriptions: dict[str, SubscriptionData]
    consume_type: str
    message_model: str
    _: KW_ONLY
    consume_from_where: str


@value
class ProducerConnectionResult(Result):
    """Connections of a producer group."""

    connections: list[ClientConnection]


@value
class AllProducersResult(Result):
    """Connections by producer group."""

    groups: dict[str, list[ClientConnection]]


@value
class GetConsumerRunningInfo(Operation):
    """Request the running info of a connected consumer. `ext_fields` are forwarded to the client unchanged.

    Raises SYSTEM_ERROR (not online, too old), CONSUME_MSG_TIMEOUT. Source: GetConsumerRunningInfoRequestHeader.
    """

    consumer_group: str
    client_id: str | None
    ext_fields: dict[str, str]


@value
class ConsumeMessageDirectly(Operation):
    """Request that a connected consumer's listener processes a stored message. `message_id` is the broker's own.

    Raises the errors of GetConsumerRunningInfo, and SYSTEM_ERROR (no such message).
    Source: ConsumeMessageDirectlyResultRequestHeader.
    """

    consumer_group: str
    client_id: str | None
    message_id: str | None
    topic: str | None
    _: KW_ONLY
    ext_fields: dict[str, str]


@value
class ClientResponse(Result):
    """A client's response to a request of the broker, unchanged."""

    code: int
    remark: str | None
    ext_fields: dict[str, str] | None
    body: bytes


@value
class GetConsumerStatus(Operation):
    """Request the offsets of a group's connected consumers on a topic; `client_id` None or blank means all of them.

    Raises SYSTEM_ERROR (no consumer connected, too old). Source: GetConsumerStatusRequestHeader.
    """

    topic: str
    group: str
    client_id: str | None = None


@value
class ConsumerStatusResult(Result):
    """The bodies of the clients' responses, by client id."""

    responses: dict[str, bytes]
