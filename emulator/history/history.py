"""The history of an engine: everything recorded about its past, in bounded memory.

It belongs to the engine, so it survives the crash of a broker. Snapshots do not contain it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from ..kernel.scheduler import Scheduler
from .client_commits import ClientCommits
from .deleted_groups import DeletedGroups, GroupDeletion
from .delivery_record import BY_SLAVE, IN_ORDER, DeliveryEntry, DeliveryRecord
from .events import (
    BrokerEvent,
    BrokerEventKind,
    LostMessage,
    MoveKind,
    OffsetMove,
    RecordedEvent,
    RefusedRequest,
    RuleFiring,
    Trim,
    TrimReason,
)
from .last_subscriptions import LastSubscriptions
from .lost_messages import lost_messages
from .offset_moves import GroupQueue, OffsetMoves
from .record_keys import RecordKeys
from .seen_clients import SeenClients
from .short_text import TEXT_MAX
from .written_runs import written_runs

if TYPE_CHECKING:
    from .history_state import HistoryState

REFUSED_MAX = FIRINGS_MAX = 1_000
"""The maximum number of refused requests, and of firings of rules; the oldest are dropped."""
LOST_MAX = 4_096
"""The maximum number of lost messages."""
OF_BROKER_MAX = 64
"""The maximum number of deletions, and of starts and ends, of each broker."""
E = TypeVar("E")


class History:
    """The records of an engine. Every reader returns events in the order of their times.

    `delivery_record_max_entries` limits the delivery record; 0 keeps none. `is_continued`: the engine starts from a
    snapshot, which has no history of its messages. `before`: the history that a fork continues.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        delivery_record_max_entries: int,
        *,
        is_continued: bool = False,
        before: "HistoryState | None" = None,
    ) -> None:
        self.scheduler = scheduler
        self._missing_until_ms = scheduler.now_ms if is_continued else None
        self.record = DeliveryRecord(delivery_record_max_entries, RecordKeys())
        self.commits = ClientCommits()
        self.clients = SeenClients()
        self.deleted_groups = DeletedGroups()
        self.subscriptions = LastSubscriptions()
        self.offset_moves = OffsetMoves()
        self._refused: deque[RefusedRequest] = deque(maxlen=REFUSED_MAX)
        self._lost: deque[LostMessage] = deque(maxlen=LOST_MAX)
        self._firings: deque[RuleFiring] = deque(maxlen=FIRINGS_MAX)
        self._trims: dict[str, deque[Trim]] = {}
        self._broker_events: dict[str, deque[BrokerEvent]] = {}
        if before is not None:
            self._continue(before)

    def fork_state(self) -> "HistoryState":
        """Return the history that a fork continues: equal records, independent of this engine's."""
        from .history_state import HistoryState

        own = HistoryState(
            record=self.record,
            commits=self.commits,
            clients=self.clients,
            deleted_groups=self.deleted_groups,
            subscriptions=self.subscriptions,
            offset_moves=self.offset_moves,
            missing_until_ms=self._missing_until_ms,
            refused=self._refused,
            lost=self._lost,
            firings=self._firings,
            trims=self._trims,
            broker_events=self._broker_events,
        )
        return own.copy()

    def at(self, scheduler: Scheduler) -> "History":
        """Return a copy as of now, for readers with another scheduler. It shares the full chunks of deliveries."""
        made = History(scheduler, self.record.max_entries, before=self.fork_state())
        made.clients = self.clients.copy(with_connections=True)
        return made

    def _continue(self, before: "HistoryState") -> None:
        """Continue the history of another engine, but not its delivery record if the size of this one differs."""
        if before.record.max_entries == self.record.max_entries:
            self.record, self._missing_until_ms = before.record, before.missing_until_ms
        self.commits, self.clients, self.offset_moves = before.commits, before.clients, before.offset_moves
        self.deleted_groups, self.subscriptions = before.deleted_groups, before.subscriptions
        self._refused, self._lost, self._firings = before.refused, before.lost, before.firings
        self._trims, self._broker_events = dict(before.trims), dict(before.broker_events)

    def of(self, node: str, topic: str, queue_id: int, queue_offset: int) -> list[RecordedEvent]:
        """Return the recorded deliveries and acknowledgements of a stored message, by the name of its broker.

        A POPPED event of a message that the proxy did not write is left out; its SKIPPED or NOT_WRITTEN event is not.
        A place is used again after a crash that lost its message, and after a deletion of its topic: events before the
        message was stored belong to an earlier one.
        """
        runs = written_runs(self.record.of((node, topic, queue_id), queue_offset))
        return self._events(run for run in runs if run.first <= queue_offset < run.first + run.length)

    def in_queue(self, node: str, topic: str, queue_id: int) -> list[RecordedEvent]:
        """Return the recorded deliveries and acknowledgements of all messages of a queue, as `of` does for one."""
        return self._events(written_runs(self.record.of((node, topic, queue_id))))

    def _events(self, runs: Iterable[DeliveryEntry]) -> list[RecordedEvent]:
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

        An engine that started from a snapshot has dropped those before its start. If the record is off, returns now.
        """
        record = self.record
        if not record.is_on:
            return self.scheduler.now_ms
        return record.since_ms if record.dropped else self._missing_until_ms

    def client_of(self, channel: str) -> str | None:
        """Return the client id of a connection, also of a closed one; None if it never registered."""
        return self.clients.of(channel)

    def refused(self, topic: str | None = None, group: str | None = None) -> Sequence[RefusedRequest]:
        """Return the refused requests: all, or those for a topic or a group."""
        return [each for each in self._refused if topic in (None, each.topic) and group in (None, each.group)]

    def moves(self, node: str, group: str, topic: str, queue_id: int) -> Sequence[OffsetMove]:
        """Return the changes of a group's offset in a queue that no delivery explains."""
        return self.offset_moves.of(group, (node, topic, queue_id))

    def lost(self) -> Sequence[LostMessage]:
        """Return the messages that crashes removed."""
        return list(self._lost)

    def trims(self, broker: str) -> Sequence[Trim]:
        """Return the deletions of the oldest messages of a broker."""
        return list(self._trims.get(broker, ()))

    def firings(self) -> Sequence[RuleFiring]:
        """Return the rules of faults that acted."""
        return list(self._firings)

    def broker_events(self, broker: str) -> Sequence[BrokerEvent]:
        """Return the starts, stops and crashes of a broker by name. The name of a slave is followed by `:` and its id.

        Each start of an engine begins with STARTED.
        """
        return list(self._broker_events.get(broker, ()))

    # writers

    def note_refused(self, request: RefusedRequest) -> None:
        """Append a refused request."""
        self._refused.append(request)

    def note_move(  # noqa: PLR0917 - the fields of a move
        self, node: str, kind: MoveKind, group: str, topic: str, queue_id: int, before: int | None, after: int
    ) -> None:
        """Append a change of a group's offset. The connection of the client that requested it is set later."""
        queue = (node, topic, queue_id)
        move = OffsetMove(self.scheduler.now_ms, kind, before, after, channel="")
        if self.offset_moves.note(group, queue, move):
            self.commits.moved(group, queue, None if kind is MoveKind.FIRST else after)

    def name_moves(self, node: str, channel: str) -> list[tuple[GroupQueue, OffsetMove]]:
        """Set the connection of the client whose request caused the moves noted at this instant. Returns them."""
        return self.offset_moves.name(node, channel, self.scheduler.now_ms)

    def note_deleted_group(self, broker: str, group: str) -> None:
        """Record the deletion of a group."""
        self.deleted_groups.note(group, GroupDeletion(self.scheduler.now_ms, broker))
        self.subscriptions.forget(group)

    def note_lost(self, broker: str, records: Iterable[bytes]) -> None:
        """Append the messages that a crash removes from a broker's log: of very many, the oldest."""
        now_ms = self.scheduler.now_ms
        self._lost.extend(islice(lost_messages(now_ms, broker, records), LOST_MAX))

    def note_trim(self, broker: str, reason: TrimReason, before: int, after: int) -> None:
        """Append a deletion of a broker's oldest messages."""
        _of_broker(self._trims, broker).append(Trim(self.scheduler.now_ms, reason, before, after))

    def note_firing(self, *, rule: str, operation: str, channel: str, effect: str, message_ids: Iterable[str]) -> None:
        """Append a rule of faults that acted."""
        ids = tuple(each[:TEXT_MAX] for each in message_ids)
        self._firings.append(
            RuleFiring(self.scheduler.now_ms, rule, operation, channel, effect=effect, message_ids=ids)
        )

    def note_broker_event(self, broker: str, kind: BrokerEventKind, *, power_loss: bool = False) -> None:
        """Append a start or an end of a broker's run."""
        event = BrokerEvent(self.scheduler.now_ms, kind, power_loss)
        _of_broker(self._broker_events, broker).append(event)


def _of_broker(events: dict[str, deque[E]], broker: str) -> deque[E]:
    return events.setdefault(broker, deque(maxlen=OF_BROKER_MAX))
