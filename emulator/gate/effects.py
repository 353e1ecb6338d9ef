"""What a broker tells clients unasked. A channel turns an effect into its protocol."""

from collections.abc import Mapping

from ..kernel.value_class import value


class Effect:
    """Base of everything that goes out without being an answer."""

    __slots__ = ()


@value
class NotifyConsumerIdsChanged(Effect):
    """The members of a consumer group changed: rebalance. Oneway, code 40."""

    consumer_group: str


@value
class CheckTransactionState(Effect):
    """A producer of the group shall say what became of a half message. Oneway, code 39.

    `record` has the real topic and queue id; the offsets are those of the re-put half message.
    """

    record: bytes
    topic: str
    tran_state_table_offset: int
    commit_log_offset: int
    msg_id: str
    transaction_id: str
    offset_msg_id: str
    broker_name: str


@value
class ResetConsumerOffset(Effect):
    """A consumer shall go on from other offsets of a topic, by queue id. Oneway, code 220.

    `as_list`: written as C++ clients read it. Source: ResetOffsetBody, ResetOffsetBodyForC.
    """

    group: str
    topic: str
    timestamp: int
    broker_name: str
    offsets: Mapping[int, int]
    as_list: bool = False


@value
class CloseConnection(Effect):
    """The connection is to be closed, because its client says nothing any more."""


class Question(Effect):
    """Base of what a client answers. The answer comes back under the ticket, a number from 1 up."""

    __slots__ = ()

    ticket: int


@value
class AskRunningInfo(Question):
    """A consumer shall say how it is doing: code 307, passed on as an administrator sent it."""

    ext_fields: Mapping[str, str]
    ticket: int


@value
class AskToConsume(Question):
    """A consumer's listener shall be called with a stored record: code 309."""

    ext_fields: Mapping[str, str]
    record: bytes
    ticket: int


@value
class AskConsumerStatus(Question):
    """A consumer shall say where it is on a topic: code 221."""

    ext_fields: Mapping[str, str]
    ticket: int


@value
class PushReplyMessage(Question):
    """The reply of a request, pushed to the client that asked. Code 326; the answer comes back under the ticket."""

    producer_group: str
    topic: str
    queue_id: int
    body: bytes
    properties: str
    sys_flag: int
    flag: int
    born_timestamp: int
    born_host: tuple[str, int]
    store_host: tuple[str, int]
    store_timestamp: int
    ticket: int = 0
