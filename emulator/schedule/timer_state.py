"""The state of the timer: its slots, the messages in them, and the state that a run leaves to the next run.

This module is never compiled: snapshots check its values by their declared types, which a compiled module loses.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import NamedTuple

from ..kernel.value_class import value
from ..message import properties as props
from ..operations.timers import TimerMetric


@value
class WrittenMetrics:
    """The timer metrics as of the last write of their file, which survive a crash.

    `topics` has the number of waiting messages by topic, `version` the number of changes of these numbers.
    """

    topics: dict[str, TimerMetric] = field(default_factory=dict)
    version: int = 0


@value
class WheelProgress:
    """Progress of the wheel: messages read from its topic (`taken`), and units written to its log."""

    taken: int = 0
    units: int = 0


def delete_key(real_topic: str, unique_key: str) -> str:
    """Return the key by which a delete mark names its target (TimerMessageStore.buildDeleteKey)."""
    return f"{real_topic}+{unique_key}"


class SlotMessage(NamedTuple):
    """A message in a slot.

    `offset` is its offset in the timer topic, `enqueue_ms` the text of its property TIMER_ENQUEUE_MS. `is_rolled`: it
    waits here only to be put into the wheel again, because its own time is beyond the wheel's window.

    A tuple, so that a snapshot of many slots copies references instead of making a list of each message.
    """

    offset: int
    enqueue_ms: str
    is_rolled: bool


@value
class Slot:
    """The messages of a slot in order of arrival, and the keys of the recalled ones."""

    waiting: list[SlotMessage] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    number: int = 0
    """Number of messages minus delete marks, as upstream counts the load of a slot."""

    def is_recalled(self, waiting: SlotMessage, properties: Mapping[str, str]) -> bool:
        """Return True if a waiting message was recalled; one that is rolled here cannot be recalled in this slot."""
        if not self.deleted or waiting.is_rolled:
            return False
        unique_key = properties.get(props.UNIQ_KEY)
        return unique_key is not None and delete_key(properties.get(props.REAL_TOPIC, ""), unique_key) in self.deleted


@value
class WaitingMessage:
    """A message in the timer wheel. The record is decoded by the caller, if it needs it."""

    stored: bytes
    slot: Slot
    entry: SlotMessage

    def is_recalled(self, properties: Mapping[str, str]) -> bool:
        """Return True if the message, with these properties, was recalled and will not be delivered."""
        return self.slot.is_recalled(self.entry, properties)


@value
class FollowedTimer:
    """The timer check point of a master, as its slave last read it (TimerCheckPointResult without the log).

    `read_ms`: all slots before this time are read. `taken`: number of messages read from the timer's topic. `version`:
    number of writes of the master's file, the last of them at `changed_ms`. Before the first check of the slave both
    times are None. Times are ms since the epoch.
    """

    read_ms: int | None = None
    taken: int = 0
    version: int = 0
    changed_ms: int | None = None


@value
class TimerState:
    """The state that a run of a timer leaves to the next run.

    `slots` has the contents of each slot that is not read yet, by the start of the slot (ms since the epoch).
    `version` is the number of writes of the file with the progress. On a slave, `followed` is the master's timer.
    """

    slots: dict[int, Slot] = field(default_factory=dict)
    progress: WheelProgress = field(default_factory=WheelProgress)
    version: int = 0
    metrics: WrittenMetrics = field(default_factory=WrittenMetrics)
    _: KW_ONLY
    followed: FollowedTimer = field(default_factory=FollowedTimer)
    first_held_back: int | None = None
    """First offset of the timer topic that is kept out of the wheel: by `timerStopEnqueue`, or because the defect
    `timer_topic_stops_timer` has stopped the timer there; None if none is."""
