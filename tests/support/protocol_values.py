"""Requests and responses of a protocol client, in terms that both protocols have. Times are in ms."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

NOTHING = ("", "NO_MESSAGE_IN_QUEUE", "no new message", "no match message")
"""Remarks of responses to a pop without messages."""


@dataclass(frozen=True)
class PopRequest:
    """A pop. `queue` -1 is any queue, `begin` the start of a new group: the first message (0) or the end (1)."""

    topic: str = "T"
    group: str = "G"
    client: str = "consumer"
    count: int = 32
    _: KW_ONLY
    invisible_ms: int = 10_000
    poll_ms: int = 0
    order: bool = False
    attempt: str | None = None
    expression: str = "*"
    kind: str = "TAG"
    queue: int = -1
    begin: int = 1


@dataclass(frozen=True)
class NewMessage:
    """A message to send; the fields are the parameters of `ProtocolClient.start_send`."""

    body: bytes
    topic: str
    id: str
    tag: str
    _: KW_ONLY
    keys: str
    message_group: str
    queue: int
    deliver_ms: int | None
    half: bool
    immune_s: int | None
    own_properties: dict[str, str]

    @property
    def properties(self) -> dict[str, str]:
        """All properties, as remoting clients write them for the fields of gRPC clients."""
        known = {
            "UNIQ_KEY": self.id,
            "TAGS": self.tag,
            "KEYS": self.keys,
            "__SHARDINGKEY": self.message_group,
            "TIMER_DELIVER_MS": "" if self.deliver_ms is None else str(self.deliver_ms),
            "TRAN_MSG": "true" if self.half else "",
            "PGROUP": self.topic if self.half else "",
            "CHECK_IMMUNITY_TIME_IN_SECONDS": "" if self.immune_s is None else str(self.immune_s),
        }
        return {name: value for name, value in known.items() if value} | self.own_properties

    @property
    def flags(self) -> int:
        """The sysFlag of a remoting send."""
        return 4 if self.half else 0


@dataclass(frozen=True)
class Taken:
    """A received message. `attempt` starts at 0; queue and offset are those of the topic that stores the message."""

    body: bytes
    handle: str
    attempt: int
    queue_id: int
    _: KW_ONLY
    offset: int
    message_id: str
    tag: str
    keys: tuple[str, ...]
    place: int = -1
    """Commit log offset."""


@dataclass(frozen=True)
class Answer:
    """Response to a request, with code and remark of the client's protocol."""

    ok: bool
    code: int
    remark: str
    messages: list[Taken] = field(default_factory=list)
    _: KW_ONLY
    handle: str = ""
    number: int = 0
    suggests: int = 0
    """Id of the broker to pull from next."""

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages."""
        return [each.body for each in self.messages]


@dataclass(frozen=True)
class Sent:
    """Result of a send.

    `offset` is the queue offset in the topic that stores the message, `place` the commit log offset.
    """

    ok: bool
    code: int
    remark: str
    id: str = ""
    _: KW_ONLY
    offset: int = -1
    place: int = -1
    recall: str = ""


@dataclass(frozen=True)
class Route:
    """A broker name in a route: its numbers of readable and writable queues, and the ids of its brokers."""

    readable: int
    writable: int
    ids: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class TransactionCheck:
    """A transaction check that a producer received. `sent` identifies the transaction, `times` counts the checks."""

    body: bytes
    times: int
    sent: Sent


class Waiting(Protocol):
    """A request that may wait."""

    @property
    def response(self) -> Answer | None:
        """The response, None while the request waits."""


class Sending(Protocol):
    """A send that may wait."""

    @property
    def sent(self) -> Sent | None:
        """The result of the send, None while it waits."""


def handles(messages: Iterable[Taken]) -> list[str]:
    """Return the receipt handles of messages."""
    return [each.handle for each in messages]


def attempt_in_order(counts: str | None, queue_id: int, offset: int) -> int:
    """Return the number of earlier deliveries of an ordered message, from orderCountInfo."""
    if not counts:
        return 0
    table = {key: int(count) for _, key, count in (part.split(" ") for part in counts.split(";"))}
    return table.get(f"qo{queue_id}%{offset}", 0)
