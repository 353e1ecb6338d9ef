"""The history of a fork: it has the events before the fork, and neither history gets later events of the other."""

from all_tables import held_by
from engine_harness import START_MS
from rocketmq_testkit.emulator.history.deleted_groups import GroupDeletion
from rocketmq_testkit.emulator.history.delivery_record import CHUNK_RECORDS, DeliveryRecord
from rocketmq_testkit.emulator.history.events import BrokerEventKind, MoveKind, RefusedRequest, TrimReason
from rocketmq_testkit.emulator.history.history import History
from rocketmq_testkit.emulator.history.last_subscriptions import LastSubscription
from rocketmq_testkit.emulator.history.record_keys import RecordKeys
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.history.seen_clients import SeenClient
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler

QUEUE, OTHER = ("broker-a", "A", 0), ("broker-a", "B", 0)
LINK = ("G", "c1")


def lived() -> History:
    """Return a history with an event of each kind."""
    history = History(Scheduler(START_MS), 65_536)
    history.record.append(RecordKind.POPPED, START_MS, QUEUE, LINK, 0, 3)
    history.record.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=7)
    history.commits.advance("G", QUEUE, 5, read_from=None)
    history.clients.note("channel", SeenClient("client", "JAVA", "V5_3_3", "10.0.0.1:1"))
    history.note_deleted_group("broker-a", "G")
    history.note_refused(
        RefusedRequest(
            START_MS,
            "broker-a",
            "c1",
            "l",
            operation="o",
            topic="A",
            group="G",
            message_id="",
            keys="",
            code="X",
            remark="r",
        )
    )
    history.subscriptions.note("G", "A", LastSubscription("a", "TAG"))
    history.note_move("broker-a", MoveKind.RESET, "G", "A", 0, 3, 1)
    history.note_trim("broker-a", TrimReason.LIMIT, 0, 100)
    history.note_firing(rule="r", operation="o", channel="c1", effect="e", message_ids=["m"])
    history.note_broker_event("broker-a", BrokerEventKind.STARTED)
    return history


def forked(parent: History, entries: int = 65_536) -> History:
    return History(Scheduler(START_MS + 1), entries, is_continued=True, before=parent.fork_state())


def test_a_fork_has_each_event_of_its_parent_and_adds_its_own() -> None:
    parent = lived()
    before = held_by(parent)
    child = forked(parent)
    assert child.complete_since_ms() is None
    assert child.of(*QUEUE, 1) == parent.of(*QUEUE, 1) != []
    assert child.client_of("channel") == "client"
    assert child.subscriptions.of("G", "A") == LastSubscription("a", "TAG")
    child.subscriptions.note("G", "A", LastSubscription("b", "TAG"))
    assert parent.subscriptions.of("G", "A") == LastSubscription("a", "TAG")
    assert child.deleted_groups.of("G") == parent.deleted_groups.of("G") == GroupDeletion(START_MS, "broker-a")
    assert [list(child.refused()), list(child.moves("broker-a", "G", "A", 0)), list(child.firings())] == [
        list(parent.refused()),
        list(parent.moves("broker-a", "G", "A", 0)),
        list(parent.firings()),
    ]
    assert [child.trims("broker-a"), child.broker_events("broker-a")] == [
        parent.trims("broker-a"),
        parent.broker_events("broker-a"),
    ]
    assert child.commits.advance("G", QUEUE, 7, read_from=None) == 1  # the offset of the reset
    child.record.append(RecordKind.POPPED, START_MS, OTHER, ("H", "c2"), 0)
    child.record.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=8)
    child.clients.note("channel", SeenClient("another", "JAVA", "V5_3_3", "10.0.0.1:1"))
    child.note_deleted_group("broker-b", "G")
    child.note_refused(child.refused()[0])
    child.note_move("broker-a", MoveKind.RESET, "G", "A", 0, 1, 4)
    child.note_trim("broker-a", TrimReason.LIMIT, 100, 200)
    child.note_firing(rule="r", operation="o", channel="c1", effect="e", message_ids=["m"])
    child.note_broker_event("broker-a", BrokerEventKind.CRASHED)
    assert held_by(parent) == before
    assert [event.hold_ms for event in child.of(*QUEUE, 1)] == [None, 8]


def test_a_renewal_in_a_shared_chunk_changes_one_history() -> None:
    """Parent and fork each copy the shared chunk before they change it."""
    parent = DeliveryRecord(65_536, RecordKeys())
    parent.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=1)
    for offset in range(CHUNK_RECORDS):
        parent.append(RecordKind.POPPED, START_MS, OTHER, LINK, offset)
    child = parent.fork()
    grandchild = child.fork()
    assert parent._chunks[0].data is child._chunks[0].data is grandchild._chunks[0].data
    child.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=2)
    parent.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=3)
    assert [[found.hold_ms for found in each.of(QUEUE)] for each in (parent, child, grandchild)] == [[3], [2], [1]]
    data = child._chunks[0].data
    child.renew(START_MS, QUEUE, LINK, offset=1, hold_ms=4)
    assert child._chunks[0].data is data


def test_records_of_many_chunks_are_equal_and_independent_in_a_fork() -> None:
    """Parent and fork drop their oldest chunks independently, and continue the numbers of their records."""
    parent = DeliveryRecord(4 * CHUNK_RECORDS, RecordKeys())
    for offset in range(5 * CHUNK_RECORDS + 10):
        parent.append(RecordKind.POPPED, START_MS, QUEUE, LINK, offset)
    child = parent.fork()
    assert (len(child), child.dropped, child.since_ms) == (len(parent), parent.dropped, parent.since_ms)
    assert child.of(QUEUE) == parent.of(QUEUE)
    before = parent.of(QUEUE)
    for offset in range(6 * CHUNK_RECORDS):
        child.append(RecordKind.POPPED, START_MS, (*OTHER[:2], offset % 70), LINK, offset)
    assert child.of(QUEUE) == []
    assert parent.of(QUEUE) == before


def test_a_fork_with_a_delivery_record_of_another_size_begins_a_new_one() -> None:
    """The fork's history has the time since which it is complete, and keeps the events that are no deliveries."""
    child = forked(lived(), entries=100)
    assert child.of(*QUEUE, 1) == []
    assert child.complete_since_ms() == START_MS + 1
    assert len(child.firings()) == 1


def test_a_fork_of_a_history_without_record_has_none() -> None:
    parent = History(Scheduler(START_MS), 0)
    child = forked(parent, entries=0)
    child.record.append(RecordKind.POPPED, START_MS, QUEUE, LINK, 0)
    assert child.of(*QUEUE, 0) == []
