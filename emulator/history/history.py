"""The history of an engine: everything recorded about its past, in bounded memory.

It belongs to the engine, so it survives the crash of a broker. Snapshots do not contain it.
"""

from collections.abc import Sequence

from .events import BrokerEvent, Firing, LostMessage, OffsetMove, RecordedEvent, RefusedRequest, Trim


class History:
    """The records of an engine. Every reader returns events in the order of their times."""

    def of(self, node: str, topic: str, queue_id: int, queue_offset: int) -> list[RecordedEvent]:
        """Return the recorded deliveries and acknowledgements of a stored message, by the name of its broker."""
        raise NotImplementedError

    def complete_since_ms(self) -> int | None:
        """Return the time of the oldest delivery record if older ones were dropped, else None."""
        raise NotImplementedError

    def client_of(self, channel: str) -> str | None:
        """Return the client id of a connection, also of a closed one; None if it never registered."""
        raise NotImplementedError

    def refused(self, topic: str | None = None, group: str | None = None) -> Sequence[RefusedRequest]:
        """Return the refused requests: all, or those for a topic or a group."""
        raise NotImplementedError

    def moves(self, node: str, group: str, topic: str, queue_id: int) -> Sequence[OffsetMove]:
        """Return the changes of a group's offset in a queue that no delivery explains."""
        raise NotImplementedError

    def lost(self) -> Sequence[LostMessage]:
        """Return the messages that crashes removed."""
        raise NotImplementedError

    def trims(self, broker: str) -> Sequence[Trim]:
        """Return the deletions of the oldest messages of a broker."""
        raise NotImplementedError

    def firings(self) -> Sequence[Firing]:
        """Return the rules of faults that acted."""
        raise NotImplementedError

    def broker_events(self, broker: str) -> Sequence[BrokerEvent]:
        """Return the starts, stops and crashes of a broker by name."""
        raise NotImplementedError
