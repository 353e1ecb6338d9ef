"""What an onlooker sees of a broker: requests with their answers, messages that appear in queues, time that passes.

Plain values, not the engine's classes: the oracle is fed with these, and a test can falsify them.
"""

from typing import NamedTuple

Place = tuple[str, int]
"""(topic as the broker stores it, queue id)"""


class Stored(NamedTuple):
    """A message appeared in a queue."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    unique_key: str
    tag: str | None
    attempt: int
    born_ms: int
    store_ms: int
    delay_level: int
    first_pop_ms: int | None
    physical: int
    """Where it lies in the commit log, which all topics share."""
    keys: str | None = None
    color: str | None = None
    """A property of the user's."""


class Sent(NamedTuple):
    """A send was accepted; `due_ms` is when a delayed message shall appear, None for one that is there at once."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    delay_level: int
    due_ms: int | None
    physical: int = -1
    """Where it lies in the commit log, also while it waits for its time."""


class Handle(NamedTuple):
    """What identifies one delivery of one message by a pop, as a receipt handle has it."""

    group: str
    topic: str
    """The topic itself or the pop retry topic."""
    queue_id: int
    offset: int
    start_offset: int
    pop_time: int
    invisible_ms: int
    revive_qid: int
    broker: str

    @property
    def place(self) -> Place:
        """The queue that the message was popped from."""
        return (self.topic, self.queue_id)

    @property
    def hidden_until(self) -> int:
        """When the invisible time ends."""
        return self.pop_time + self.invisible_ms


class Delivery(NamedTuple):
    """One message of an answer; `handle` is None for pulls, `again` is the order count of an ordered pop."""

    topic: str
    queue_id: int
    offset: int
    message_id: str
    attempt: int
    handle: Handle | None = None
    again: int = 0


class Popped(NamedTuple):
    """A pop was answered; `waited`: it had been parked."""

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
    """A pop waits."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    queue_id: int
    order: bool
    deadline: int


class Acked(NamedTuple):
    """An acknowledgement was answered; `order` as the handle says."""

    now: int
    handle: Handle
    order: bool
    code: str
    batch: bool = False
    """It was one of several in a request, whose answer says nothing of it."""


class Hidden(NamedTuple):
    """The invisible time of a message was changed; `new` is the handle that the answer makes, None if refused."""

    now: int
    handle: Handle
    order: bool
    invisible_ms: int
    code: str
    new: Handle | None


class NotifyParked(NamedTuple):
    """A notification request waits."""

    now: int
    call: int
    client: str
    group: str
    topic: str
    deadline: int


class Notified(NamedTuple):
    """A notification request was answered."""

    now: int
    call: int
    group: str
    topic: str
    has_message: bool
    waited: bool
    deadline: int


class Pulled(NamedTuple):
    """A pull was answered."""

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
    """A pull waits until at least `deadline`."""

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
    """A server side reset was accepted; `offsets` by queue id, `others` where the other queues stand then."""

    now: int
    group: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int], ...] = ()


class OffsetSeen(NamedTuple):
    """A query of a committed offset was answered; None: there is none."""

    now: int
    group: str
    topic: str
    queue_id: int
    offset: int | None


class RangeSeen(NamedTuple):
    """The extent of a queue was asked for."""

    now: int
    topic: str
    queue_id: int
    low: int
    high: int


class OffsetsSeen(NamedTuple):
    """Committed offsets at the end of a step, those that are others than at the end of the last; -1 for none."""

    now: int
    offsets: tuple[tuple[str, Place, int], ...]


class RangesSeen(NamedTuple):
    """Lowest offset and end of queues at the end of a step, of those where they are others than before."""

    now: int
    ranges: tuple[tuple[Place, int, int], ...]


class SentBack(NamedTuple):
    """A consumer gave a message back; it shall come again after a delay, or become a dead letter."""

    now: int
    group: str
    message_id: str
    attempt: int
    level: int
    most: int
    code: str = "SUCCESS"
    original: int = -1
    """Where the message lies in the commit log; -1 where the broker has just shown it."""
    physical: int = -1
    """Where lies what was stored then."""


class Beat(NamedTuple):
    """A heartbeat was answered."""

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
    """The members of a group were asked for."""

    now: int
    group: str
    clients: tuple[str, ...]


class Locked(NamedTuple):
    """Queue locks were asked for."""

    now: int
    group: str
    client: str
    asked: tuple[Place, ...]
    granted: tuple[Place, ...]


class Unlocked(NamedTuple):
    """Queue locks were given back."""

    now: int
    group: str
    client: str
    queues: tuple[Place, ...]


class TimedSent(NamedTuple):
    """A send with a time of its own was answered; `due_ms` is that time, `code` SUCCESS or why not."""

    now: int
    topic: str
    queue_id: int
    offset: int
    message_id: str
    due_ms: int
    code: str
    physical: int = -1
    """Where it lies in the commit log, also while it waits for its time."""


class TakenBack(NamedTuple):
    """Somebody asked to take a timed message back.

    By its recall handle, naming `topic`, or by a delete mark that names the message in `topic` and is due at
    `due_ms`; `home` is the topic that the message was sent to.
    """

    now: int
    topic: str
    home: str
    message_id: str
    due_ms: int
    by_handle: bool
    code: str


class HalfStored(NamedTuple):
    """A half message appeared in the half topic; `times` is how often it was checked, `immunity` what it asked for."""

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
    """An end of a transaction was answered, NO_ANSWER by silence; `right`: by its group and with its own offset."""

    now: int
    message_id: str
    half_offset: int
    decision: str
    right: bool
    from_check: bool
    code: str


class Checked(NamedTuple):
    """A producer was asked what became of a half message."""

    now: int
    client: str
    topic: str
    message_id: str
    half_offset: int
    times: int


class Crashed(NamedTuple):
    """The broker died and went on with what was written; `positions` are the groups' offsets then, -1 for none.

    One that was taken down has died when it was, and has died once more when it comes back, after `away_ms`.
    """

    now: int
    positions: tuple[tuple[str, Place, int], ...]
    away_ms: int = 0


class Told(NamedTuple):
    """An administrator told the broker to delete files of its log."""

    now: int


class Deleted(NamedTuple):
    """Files of the commit log were deleted since the last observation: it begins at `low`, and ends at `high`."""

    now: int
    low: int
    high: int


class StepEnded(NamedTuple):
    """A step is over: everything that was due up to now has happened."""

    now: int


class Drained(NamedTuple):
    """Everybody consumed until nothing came any more."""

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
    | TakenBack
    | HalfStored
    | Prepared
    | Ended
    | Checked
    | Crashed
    | Told
    | Deleted
    | StepEnded
    | Drained
)
