"""Files of the log that are deleted: who goes on where, and what becomes of what was out."""

from entrance import BrokerEntrance, Entrance
from entrances import ALL, BROKER, through
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog

SIZES: dict[str, object] = {
    "max_message_size": 16 * 1024,
    "mapped_file_size_commit_log": 256 * 1024,
    "delete_when": "24",  # an hour that never comes
    "file_reserved_time": 0,
}
FILLER = b"x" * 10_000
IN_A_FILE = 25
MOVED = 21


def fill(e: Entrance, files: int = 1, topic: str = "T", **options: str) -> None:
    """So many full files, and one message in the last."""
    e.send(*(b"%d %s" % (number, FILLER) for number in range(files * IN_A_FILE + 1)), topic=topic, **options)


def delete(e: Entrance) -> None:
    """The broker is told to delete full files, which it does at its next look, a minute after its start."""
    e.engine.ask(e.broker, DeleteExpiredCommitLog())
    e.advance(60_000)
    assert first(e) == IN_A_FILE


def first(e: Entrance) -> int:
    """The first offset that queue 0 holds."""
    return e.broker.store.min_offset("T", 0)


def numbers(bodies: list[bytes]) -> list[int]:
    return [int(body.split()[0]) for body in bodies]


@through(*ALL, **SIZES)
def test_who_is_behind_goes_on_at_the_first_that_is_left(e: Entrance) -> None:
    """A group that has read two, and what comes then."""
    e.topic()
    fill(e)
    e.ack(*(each.handle for each in e.take(count=2)))
    delete(e)
    e.send(b"26 then")
    assert numbers(e.bodies()) == [25, 26]
    assert e.committed() == 27


@through(*ALL, **SIZES)
def test_what_was_out_does_not_come_back(e: Entrance) -> None:
    """Nobody has it any more; what lies behind it and is out, does."""
    e.topic()
    fill(e)
    gone = e.take(count=IN_A_FILE, invisible_ms=90_000)
    kept = e.take(invisible_ms=90_000)
    assert numbers([each.body for each in (*gone, *kept)]) == list(range(26))
    delete(e)
    e.advance(60_000)
    assert numbers(e.bodies()) == [25]
    assert [numbers([each.body]) for each in e.records("%RETRY%G_T")] == [[25]]


@through(*ALL, **SIZES)
def test_a_batch_in_order_is_over_with_its_time(e: Entrance) -> None:
    """Until then the queue is blocked, for nobody can acknowledge what is gone; the group goes on behind."""
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
def test_a_pull_is_told_where_the_queue_begins(e: BrokerEntrance) -> None:
    """Whatever it asked for of what is gone; at the first offset that is left it finds messages."""
    e.topic()
    fill(e)
    delete(e)
    for offset in (0, 7, IN_A_FILE - 1):
        moved = e.pull(offset).answer
        assert moved is not None
        assert (moved.code, moved.number, moved.messages) == (MOVED, IN_A_FILE, [])
    found = e.pull(IN_A_FILE).answer
    assert found is not None
    assert (numbers(found.bodies), found.number) == ([25], 26)


@through(*BROKER, **SIZES)
def test_progress_counts_from_where_the_group_is(e: BrokerEntrance) -> None:
    """Administrators see the end of the queue and the offset that the group has, also where that is gone."""
    e.topic()
    fill(e)
    e.ack(*(each.handle for each in e.take(count=2)))
    delete(e)
    assert e.progress() == {0: (26, 2)}
