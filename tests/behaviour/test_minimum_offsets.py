"""Deleted commit log files: the offset at which groups continue to read, and messages in flight."""

from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog

SIZES: dict[str, object] = {
    "max_message_size": 16 * 1024,
    "mapped_file_size_commit_log": 256 * 1024,
    "delete_when": "24",  # No hour of the day matches.
    "file_reserved_time": 0,
}
FILLER = b"x" * 10_000
MESSAGES_PER_FILE = 25
PULL_OFFSET_MOVED = 21


def fill(e: ProtocolClient, files: int = 1, topic: str = "T", **options: str) -> None:
    """Send enough messages to fill a number of log files and one message more."""
    e.send(*(b"%d %s" % (number, FILLER) for number in range(files * MESSAGES_PER_FILE + 1)), topic=topic, **options)


def delete(e: ProtocolClient) -> None:
    """Request the deletion of full log files; advance to the first check of files, 60 s after the broker's start."""
    e.engine.execute(e.broker, DeleteExpiredCommitLog())
    e.advance(60_000)
    assert first(e) == MESSAGES_PER_FILE


def first(e: ProtocolClient) -> int:
    """Return the first offset of queue 0."""
    return e.broker.store.min_offset("T", 0)


def numbers(bodies: list[bytes]) -> list[int]:
    return [int(body.split()[0]) for body in bodies]


@through(*ALL, **SIZES)
def test_a_group_whose_next_messages_are_deleted_continues_with_the_first_remaining_one(e: ProtocolClient) -> None:
    e.topic()
    fill(e)
    e.ack(*(each.handle for each in e.take(count=2)))
    delete(e)
    e.send(b"26 then")
    assert numbers(e.bodies()) == [25, 26]
    assert e.committed() == 27


@through(*ALL, **SIZES)
def test_deleted_messages_in_flight_are_not_redelivered(e: ProtocolClient) -> None:
    """Deleted messages in flight are not redelivered; remaining messages in flight are."""
    e.topic()
    fill(e)
    gone = e.take(count=MESSAGES_PER_FILE, invisible_ms=90_000)
    kept = e.take(invisible_ms=90_000)
    assert numbers([each.body for each in (*gone, *kept)]) == list(range(26))
    delete(e)
    e.advance(60_000)
    assert numbers(e.bodies()) == [25]
    assert [numbers([each.body]) for each in e.records("%RETRY%G_T")] == [[25]]


@through(*ALL, **SIZES)
def test_acks_of_an_ordered_batch_of_deleted_messages_do_not_unblock_its_queue(e: ProtocolClient) -> None:
    """An ordered batch of deleted messages blocks its queue until its invisible duration ends, acknowledged or not.

    The group then continues with the first remaining message.
    """
    e.fifo()
    fill(e, message_group="one")
    batch = e.take(count=2, order=True, invisible_ms=90_000)
    delete(e)
    for each in batch:
        e.ack(each.handle)
    assert e.bodies(order=True) == []
    e.advance(30_000)
    assert numbers(e.bodies(order=True)) == [25]


@through(*BROKER, **SIZES)
def test_a_pull_of_a_deleted_offset_returns_the_first_remaining_offset(e: BrokerProtocolClient) -> None:
    """A pull of a deleted offset returns PULL_OFFSET_MOVED and no messages; `number` is the first remaining offset."""
    e.topic()
    fill(e)
    delete(e)
    for offset in (0, 7, MESSAGES_PER_FILE - 1):
        moved = e.pull(offset).response
        assert moved is not None
        assert (moved.code, moved.number, moved.messages) == (PULL_OFFSET_MOVED, MESSAGES_PER_FILE, [])
    found = e.pull(MESSAGES_PER_FILE).response
    assert found is not None
    assert (numbers(found.bodies), found.number) == ([25], 26)


@through(*BROKER, **SIZES)
def test_consume_statistics_show_the_groups_offset_among_deleted_messages(e: BrokerProtocolClient) -> None:
    """Consume statistics show the end of the queue and the offset of the group, even if messages there were deleted."""
    e.topic()
    fill(e)
    e.ack(*(each.handle for each in e.take(count=2)))
    delete(e)
    assert e.consume_statistics() == {0: (26, 2)}
