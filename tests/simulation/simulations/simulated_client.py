"""A simulated client, with the functions by which clients build receipt handles and parse texts of pop responses."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from observations import Handle
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.operations.consume import BatchAck, PoppedMessage, PopResult, bit_set


class ClientChannel(DirectChannel):
    """A channel whose client handles a push at once."""

    def __init__(self, client: "Client") -> None:
        super().__init__(f"{client.name}.{client.connections}", ("10.0.0.1", 4000 + client.connections))
        self._client = client

    def push(self, effect: Effect) -> None:
        """Pass the push to the client."""
        self._client.on_push(self._client, effect)


@dataclass(eq=False)
class Client:
    """A client of one group on one connection, with its state."""

    name: str
    group: str
    tags: tuple[str, ...] = ()
    sql: bool = False
    """True if it subscribes to its tags with an SQL92 expression."""
    channel: DirectChannel = field(init=False)
    _: KW_ONLY
    handles: list[Handle] = field(default_factory=list)
    pulled: list[tuple[str, int, int, str]] = field(default_factory=list)
    """Messages that it may send back: (message id, attempt, physical offset, topic)."""
    attempt: int = 0
    """Number of its attempts to pop in order."""
    connections: int = 0
    """Number of its connections so far, the current one included."""
    on_push: "Callable[[Client, Effect], None]" = lambda client, effect: None

    def __post_init__(self) -> None:
        self.connect()

    @property
    def expression(self) -> str:
        """The subscription expression."""
        if self.expression_type == "SQL92":
            return f"TAGS IS NOT NULL AND TAGS IN ({', '.join(map(repr, self.tags))})"
        return " || ".join(self.tags) or "*"

    @property
    def expression_type(self) -> str:
        """The type of the expression."""
        return "SQL92" if self.sql and self.tags else "TAG"

    def connect(self) -> None:
        """Reconnect; the client keeps its state."""
        self.connections += 1
        self.channel = ClientChannel(self)


def handle_of(group: str, topic: str, message: PoppedMessage, result: PopResult, *, broker: str) -> Handle:
    """Return the handle of a message that a pop of `topic` returned."""
    sign = ("", "_", "+")[message.topic_digit]
    return Handle(
        group,
        f"%RETRY%{group}{sign}{topic}" if sign else topic,
        message.queue_id,
        message.queue_offset,
        message.start_offset,
        result.pop_time,
        result.invisible_ms,
        result.revive_qid,
        broker,
    )


def batch_entry(handle: Handle, topic: str, bits: int) -> BatchAck:
    """Return the entry of a batch acknowledgement: `bits` are the offsets after the start offset of the handle."""
    return BatchAck(
        handle.group,
        topic,
        digit(handle),
        handle.start_offset,
        handle.queue_id,
        handle.revive_qid,
        handle.pop_time,
        handle.invisible_ms,
        bit_set(bits),
    )


def receipt(handle: Handle) -> str:
    """Return the text of a handle, as clients build it."""
    return (
        f"{handle.start_offset} {handle.pop_time} {handle.invisible_ms} {handle.revive_qid} {digit(handle)} "
        f"{handle.broker} {handle.queue_id} {handle.offset}"
    )


def digit(handle: Handle) -> str:
    """Return the topic digit of a handle: 0 for the topic itself, 1 and 2 for its retry topics."""
    if not handle.topic.startswith("%RETRY%"):
        return "0"
    return "2" if "+" in handle.topic else "1"


def order_counts(text: str | None) -> dict[tuple[int, int], int]:
    """Parse orderCountInfo (`0 qo<queue>%<offset> <count>;...`); return counts by (queue id, offset)."""
    counts = {}
    for entry in (text or "").split(";"):
        if " qo" in entry:
            _, place, count = entry.split(" ")
            queue_id, _, offset = place[2:].partition("%")
            counts[int(queue_id), int(offset)] = int(count)
    return counts
