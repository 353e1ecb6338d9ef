"""Recorded deliveries of one message to one group, as far as the history has them."""

from collections.abc import Iterable

from ..history.events import RecordedEvent
from ..history.history import History
from ..history.record_kind import RecordKind
from .engine_parts import EngineParts
from .places import Place

DELIVERIES = (RecordKind.PULLED, RecordKind.POPPED)
_CHANGES = (*DELIVERIES, RecordKind.RETURNED, RecordKind.RENEWED)


class PastOfMessage:
    """The events of one message that concern one group, the oldest first."""

    def __init__(self, events: Iterable[RecordedEvent]) -> None:
        self._events = list(events)

    def deliveries_before(self, at_ms: int) -> int:
        """Return the number of recorded deliveries before a time (ms)."""
        return sum(event.kind in DELIVERIES and event.at_ms < at_ms for event in self._events)

    @property
    def last_channel(self) -> str | None:
        """The connection of the last recorded delivery; None if none is recorded."""
        return next((event.channel for event in reversed(self._events) if event.kind in DELIVERIES), None)

    @property
    def was_returned(self) -> bool | None:
        """True if the client has changed the invisible duration since the last delivery; None without records."""
        last = next((event.kind for event in reversed(self._events) if event.kind in _CHANGES), None)
        return None if last is None else last is RecordKind.RETURNED


class Past:
    """Reads the history of an engine."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    @property
    def _history(self) -> History | None:
        return getattr(self._parts, "history", None)

    def of(self, place: Place, group: str) -> PastOfMessage:
        """Return the recorded events of a message and a group."""
        history = self._history
        if history is None:
            return PastOfMessage(())
        found = history.of(place.broker, place.topic, place.queue_id, place.queue_offset)
        return PastOfMessage(event for event in found if event.group == group)

    def delivered(self, queue: tuple[str, str, int], group: str, offsets: range) -> int | None:
        """Return the number of recorded deliveries of a queue (node, topic, id) to a group.

        None if records were dropped.
        """
        history = self._history
        if history is None or history.complete_since_ms() is not None:
            return None
        return sum(
            event.group == group and event.kind in DELIVERIES
            for offset in offsets
            for event in history.of(*queue, offset)
        )
