"""Server-initiated notifications and requests to clients. Each channel encodes them in its own protocol."""

from collections.abc import Mapping
from dataclasses import KW_ONLY

from ..kernel.value_class import value


class Effect:
    """Base class of everything that the broker sends to a client without being a response."""

    __slots__ = ()


@value
class NotifyConsumerIdsChanged(Effect):
    """Notify a client that the members of a consumer group changed, so that it rebalances. Oneway, code 40."""

    consumer_group: str


@value
class CheckTransactionState(Effect):
    """Request the state of a half message's transaction from a member of its producer group. Oneway, code 39.

    `record` has the real topic and queue id; `topic` is the half topic. The offsets are those of the copy that the
    broker appends to the half topic before each check.
    """

    record: bytes
    topic: str
    tran_state_table_offset: int
    commit_log_offset: int
    _: KW_ONLY
    msg_id: str
    transaction_id: str
    offset_msg_id: str
    broker_name: str


@value
class ResetConsumerOffset(Effect):
    """Reset a consumer's offsets of a topic, by queue id. Oneway, code 220.

    `as_list`: encode the offsets in the form that C++ clients read. Source: ResetOffsetBody, ResetOffsetBodyForC.
    """

    group: str
    topic: str
    timestamp: int
    broker_name: str
    _: KW_ONLY
    offsets: Mapping[int, int]
    as_list: bool = False


@value
class CloseExpiredConnection(Effect):
    """Close the connection, because its client stopped sending heartbeats."""


class ServerRequest(Effect):
    """Base class of requests to a client. `ticket` (1 and up) correlates the client's response with the request."""

    __slots__ = ()

    ticket: int


@value
class RequestRunningInfo(ServerRequest):
    """Request a consumer's running info: code 307, forwarded as an administrator sent it."""

    ext_fields: Mapping[str, str]
    ticket: int


@value
class RequestDirectConsumption(ServerRequest):
    """Request that a consumer's listener processes a stored record: code 309."""

    ext_fields: Mapping[str, str]
    record: bytes
    ticket: int


@value
class RequestConsumerStatus(ServerRequest):
    """Request a consumer's offsets of a topic: code 221."""

    ext_fields: Mapping[str, str]
    ticket: int


@value
class PushReplyMessage(ServerRequest):
    """Push a reply message to the client that sent the request. Code 326; `ticket` correlates the client's response.

    The fields are those of the reply's header, except the properties, hosts and times that the broker sets.
    Source: ReplyMessageRequestHeader (5.3.3).
    """

    producer_group: str
    topic: str
    queue_id: int
    body: bytes
    _: KW_ONLY
    properties: str
    sys_flag: int
    flag: int
    born_timestamp: int
    born_host: tuple[str, int]
    store_host: tuple[str, int]
    store_timestamp: int
    reconsume_times: int
    unit_mode: bool
    default_topic: str
    default_topic_queue_nums: int
    ticket: int = 0
