"""The history of an engine: everything recorded about its past, in bounded memory.

It belongs to the engine, so it survives the crash of a broker. Snapshots do not contain it.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from ..kernel.scheduler import Scheduler
from .client_commits import ClientCommits
from .client_names import ClientNames
from .delivery_record import BY_SLAVE, IN_ORDER, DeliveryRecord, Record
from .events import BrokerEvent, Firing, LostMessage, OffsetMove, RecordedEvent, RefusedRequest, Trim
from .record_keys import RecordKeys
from .written_runs import written_runs


class History:
    """The records of an engine. Every reader returns events in the order of their times.

    `delivery_record_max_entries` limits the delivery record; 0 keeps none. `is_continued`: the engine starts from a
    snapshot, which has no history of its messages.
    """

    def __init__(self, scheduler: Scheduler, delivery_record_max_entries: int, *, is_continued: bool = False) -> None:
        self._scheduler = scheduler
        self._missing_until_ms = scheduler.now_ms if is_continued else None
        self.record = DeliveryRecord(delivery_record_max_entries, RecordKeys())
        self.commits = ClientCommits()
        self.clients = ClientNames()

    def of(self, node: str, topic: str, queue_id: int, queue_offset: int) -> list[RecordedEvent]:
        """Return the recorded deliveries and acknowledgements of a stored message, by the name of its broker.

        A POPPED event of a message that the proxy did not write is left out; its SKIPPED or NOT_WRITTEN event is not.
        """
        runs = written_runs(self.record.of((node, topic, queue_id), queue_offset))
        return self._events(run for run in runs if run.first <= queue_offset < run.first + run.length)

    def in_queue(self, node: str, topic: str, queue_id: int) -> list[RecordedEvent]:
        """Return the recorded deliveries and acknowledgements of all messages of a queue, as `of` does for one."""
        return self._events(written_runs(self.record.of((node, topic, queue_id))))

    def _events(self, runs: Iterable[Record]) -> list[RecordedEvent]:
        """Return the events of records. A renewal changes its record, so records are not always in order of time."""
        links, events = self.record.keys.links, []
        for run in sorted(runs, key=attrgetter("at_ms")):
            group, channel = links.key(run.link)
            flags = bool(run.flags & IN_ORDER), bool(run.flags & BY_SLAVE)
            events.append(
                RecordedEvent(
                    run.at_ms, run.kind, channel, group, run.first, run.length, run.hold_ms, *flags, run.number
                )
            )
        return events

    def complete_since_ms(self) -> int | None:
        """Return the time of the oldest delivery record if older ones were dropped, else None.

        An engine that started from a snapshot has dropped those before its start. With an empty record it is now.
        """
        record = self.record
        if not record.is_on:
            return self._scheduler.now_ms
        return record.since_ms if record.dropped else self._missing_until_ms

    def client_of(self, channel: str) -> str | None:
        """Return the client id of a connection, also of a closed one; None if it never registered."""
        return self.clients.of(channel)

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
