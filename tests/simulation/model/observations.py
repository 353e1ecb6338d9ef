"""Observations of a broker: requests with their responses, messages that are stored in queues, and passing time.

They are plain values and use none of the engine's classes. The oracle checks them, and its tests alter them. Times
(`now`, `deadline` and fields that end in `_ms`) are ms since the epoch, except the durations `invisible_ms` and
`away_ms`. `call` is the number of a request, `client` the id of its connection or, for queue locks, the client's name.
`asked` is the maximum number of messages that a pull or pop requests. `low` and `high` are the minimum and the maximum
offset of a queue, so `high` is the offset of the next message. `deadline` is the end of a wait, and `waited` is True if
there was one.
"""

from typing import NamedTuple

Place = tuple[str, int]
"""(topic as stored, queue id)"""


class Stored(NamedTuple):
    """A message was stored in a queue."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    unique_key: str
    tag: str | None
    attempt: int
    """0 for the first delivery."""
    born_ms: int
    store_ms: int
    delay_level: int
    first_pop_ms: int | None
    """None if it is no retry of a popped message."""
    physical: int
    """Offset in the commit log, which all topics share."""
    keys: str | None = None
    color: str | None = None
    """A user property."""


class Sent(NamedTuple):
    """A send was accepted; `due_ms` is the deliver time of a delayed message, None if it is stored at once."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    delay_level: int
    due_ms: int | None
    physical: int = -1
    """Offset in the commit log, also of a message that still waits."""


class Handle(NamedTuple):
    """Identity of one delivery of one message by a pop, as in a receipt handle."""

    group: str
    topic: str
    """The topic itself or its pop retry topic."""
    queue_id: int
    offset: int
    start_offset: int
    pop_time: int
    invisible_ms: int
    revive_qid: int
    broker: str

    @property
    def place(self) -> Place:
        """The queue from which the message was popped."""
        return (self.topic, self.queue_id)

    @property
    def hidden_until(self) -> int:
        """End of the invisible duration (ms since the epoch)."""
        return self.pop_time + self.invisible_ms


class Delivery(NamedTuple):
    """One delivered message; `handle` is None for pulls, `again` is its number of redeliveries by ordered pops."""

    topic: str
    queue_id: int
    offset: int
    message_id: str
    attempt: int
    handle: Handle | None = None
    again: int = 0


class Popped(NamedTuple):
    """A pop got a response; `rest` is the number of messages that the response reports as left."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    queue_id: int
    asked: int
    invisible_ms: int
    deadline: int
    order: bool
    attempt_id: str | None
    waited: bool
    code: str
    rest: int
    messages: tuple[Delivery, ...]


class PopParked(NamedTuple):
    """A pop was parked."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    queue_id: int
    order: bool
    deadline: int


class Acked(NamedTuple):
    """An acknowledgement got a response; `order` is True for an ordered handle."""

    now: int
    handle: Handle
    order: bool
    code: str
    batch: bool = False
    """True if the request had several acknowledgements; its `code` says nothing about each of them."""


class Hidden(NamedTuple):
    """A change of an invisible duration got a response; `new` is the handle in it, None if the change was rejected."""

    now: int
    handle: Handle
    order: bool
    invisible_ms: int
    code: str
    new: Handle | None


class NotifyParked(NamedTuple):
    """A notification request was parked."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    deadline: int


class Notified(NamedTuple):
    """A notification request got a response."""

    now: int
    call: int
    group: str
    topic: str
    has_message: bool
    waited: bool
    deadline: int


class Pulled(NamedTuple):
    """A pull got a response."""

    now: int
    call: int
    group: str
    topic: str
    queue_id: int
    asked_offset: int
    asked: int
    waited: bool
    deadline: int | None
    code: str
    next_offset: int
    low: int
    high: int
    messages: tuple[Delivery, ...]


class PullHeld(NamedTuple):
    """A pull was parked until at least `deadline`."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    queue_id: int
    asked_offset: int
    deadline: int


class Committed(NamedTuple):
    """A commit of an offset was accepted."""

    now: int
    group: str
    topic: str
    queue_id: int
    offset: int


class Reset(NamedTuple):
    """A reset of offsets by the broker was accepted.

    `offsets` has (queue id, new offset); `others` has the same for the other queues of the topic after the reset.
    """

    now: int
    group: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int], ...] = ()


class OffsetSeen(NamedTuple):
    """A query of a committed offset got a response; `offset` is None if there is none."""

    now: int
    group: str
    topic: str
    queue_id: int
    offset: int | None


class RangeSeen(NamedTuple):
    """Minimum and maximum offset of a queue were queried."""

    now: int
    topic: str
    queue_id: int
    low: int
    high: int


class OffsetsSeen(NamedTuple):
    """Committed offsets that changed in a step: (group, queue, offset), with -1 if there is none."""

    now: int
    offsets: tuple[tuple[str, Place, int], ...]


class RangesSeen(NamedTuple):
    """Minimum and maximum offsets of queues that changed in a step: (queue, minimum, maximum)."""

    now: int
    ranges: tuple[tuple[Place, int, int], ...]


class SentBack(NamedTuple):
    """A consumer sent a message back, to be redelivered after a delay or moved to the dead letter queue.

    `level` is the delay level: 0 leaves it to the broker, -1 means the dead letter queue. `most` is the retry limit.
    """

    now: int
    group: str
    message_id: str
    attempt: int
    level: int
    most: int
    code: str = "SUCCESS"
    original: int = -1
    """Physical offset of the message; -1 if the broker has just delivered it."""
    physical: int = -1
    """Physical offset of the copy stored by the broker."""


class Beat(NamedTuple):
    """A heartbeat got a response."""

    now: int
    client: str
    group: str


class Left(NamedTuple):
    """A client unregistered (`closed` False) or its connection was closed."""

    now: int
    client: str
    group: str
    closed: bool


class MembersSeen(NamedTuple):
    """The members of a group were queried."""

    now: int
    group: str
    clients: tuple[str, ...]


class Locked(NamedTuple):
    """A client requested the locks of the queues `asked`; the response says that it holds those of `granted`."""

    now: int
    group: str
    client: str
    asked: tuple[Place, ...]
    granted: tuple[Place, ...]


class Unlocked(NamedTuple):
    """Queue locks were released."""

    now: int
    group: str
    client: str
    queues: tuple[Place, ...]


class TimedSent(NamedTuple):
    """A send of a timed message got a response; `due_ms` is its deliver time, `code` is SUCCESS or the error."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    due_ms: int
    code: str
    physical: int = -1
    """Offset in the commit log, also of a message that still waits."""


class Recalled(NamedTuple):
    """A recall of a timed message got a response.

    It was requested with a recall handle and `topic`, or with a delete mark: a timed message with TIMER_DEL_UNIQKEY,
    which names the recalled message in `topic`, and is due at `due_ms`. `home` is the topic to which the recalled
    message was sent.
    """

    now: int
    topic: str
    home: str
    message_id: str
    due_ms: int
    by_handle: bool
    code: str


class HalfStored(NamedTuple):
    """A half message was stored in the half topic.

    `times` is its check count, `immunity` its property CHECK_IMMUNITY_TIME_IN_SECONDS.
    """

    now: int
    offset: int
    topic: str
    message_id: str
    born_ms: int
    times: int
    immunity: str | None
    physical: int


class Prepared(NamedTuple):
    """The send of a half message was accepted."""

    now: int
    topic: str
    message_id: str
    half_offset: int


class Ended(NamedTuple):
    """An end of a transaction got a response; the code is NO_ANSWER if there was no response.

    `right` is True if the request has the message's own group and offset.
    """

    now: int
    message_id: str
    half_offset: int
    decision: str
    """commit, rollback or unknown."""
    right: bool
    from_check: bool
    code: str


class Checked(NamedTuple):
    """A producer received a check of a half message; `times` is the number of checks with this one."""

    now: int
    client: str
    topic: str
    message_id: str
    half_offset: int
    times: int


class Crashed(NamedTuple):
    """The broker crashed or stopped, and continues with its written state.

    `positions` are the groups' offsets after that: (group, queue, offset), with -1 if there is none. A stop is one
    observation. The later start is another one, and `away_ms` is the time between them.
    """

    now: int
    positions: tuple[tuple[str, Place, int], ...]
    away_ms: int = 0


class DeletionRequested(NamedTuple):
    """An administrator requested the deletion of log files."""

    now: int


class Deleted(NamedTuple):
    """Files of the commit log were deleted since the last observation: it now starts at `low` and ends at `high`."""

    now: int
    low: int
    high: int


class StepEnded(NamedTuple):
    """A step ended: everything due so far has happened."""

    now: int


class Drained(NamedTuple):
    """All groups consumed until no message was left."""

    now: int


Observation = (
    Stored
    | Sent
    | Popped
    | PopParked
    | Acked
    | Hidden
    | NotifyParked
    | Notified
    | Pulled
    | PullHeld
    | Committed
    | Reset
    | OffsetSeen
    | RangeSeen
    | OffsetsSeen
    | RangesSeen
    | SentBack
    | Beat
    | Left
    | MembersSeen
    | Locked
    | Unlocked
    | TimedSent
    | Recalled
    | HalfStored
    | Prepared
    | Ended
    | Checked
    | Crashed
    | DeletionRequested
    | Deleted
    | StepEnded
    | Drained
)
