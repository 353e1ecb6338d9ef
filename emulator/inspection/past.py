"""Recorded deliveries of one message to one group, as far as the history has them."""

from collections import Counter
from collections.abc import Iterable

from ..history.events import RecordedEvent
from ..history.record_kind import RecordKind
from .engine_parts import EngineParts
from .places import Place

DELIVERIES = (RecordKind.PULLED, RecordKind.POPPED)
_CHANGES = (*DELIVERIES, RecordKind.RETURNED, RecordKind.RENEWED)


class PastOfMessage:
    """The events of one message that concern one group, the oldest first."""

    def __init__(self, events: Iterable[RecordedEvent]) -> None:
        self._events = list(events)

    @property
    def deliveries(self) -> int:
        """The number of recorded deliveries."""
        return sum(event.kind in DELIVERIES for event in self._events)

    @property
    def last_delivery(self) -> RecordedEvent | None:
        """The last recorded delivery; None if none is recorded."""
        return next((event for event in reversed(self._events) if event.kind in DELIVERIES), None)

    @property
    def was_returned(self) -> bool | None:
        """True if the client has changed the invisible duration since the last delivery; None without records."""
        last = next((event.kind for event in reversed(self._events) if event.kind in _CHANGES), None)
        return None if last is None else last is RecordKind.RETURNED


class Past:
    """Reads the history of an engine."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def of(self, place: Place, group: str) -> PastOfMessage:
        """Return the recorded events of a message and a group."""
        found = self._parts.history.of(place.broker, place.topic, place.queue_id, place.queue_offset)
        return PastOfMessage(event for event in found if event.group == group)

    def delivered(self, node: str, topic: str, queue_id: int) -> Counter[str] | None:
        """Return the number of recorded deliveries of a queue by group; None if older records were dropped."""
        history = self._parts.history
        if history.complete_since_ms() is not None:
            return None
        found: Counter[str] = Counter()
        for event in history.in_queue(node, topic, queue_id):
            if event.kind in DELIVERIES:
                found[event.group] += event.count
        return found
