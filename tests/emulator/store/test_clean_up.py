"""Full files of the log are deleted when they are old: at an hour of the day, or when the broker is told to."""

import pytest
from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.operations import (
    CleanExpiredConsumeQueue,
    DeleteExpiredCommitLog,
    Done,
    GetMinOffset,
    OffsetResult,
    UpdateBrokerConfig,
)

HOUR_MS = 3_600_000
IN_A_FILE = 25


def filled(files: int, **keys: object) -> World:
    """A world of so many full files, and one message in the last."""
    sizes: dict[str, object] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 256 * 1024}
    world = make_world(1, **sizes, **keys)
    world.topic("A")
    for _ in range(files * IN_A_FILE + 1):
        world.send("A", b"x" * 10_000)
    return world


def first(world: World, topic: str = "A") -> int:
    """The first offset that queue 0 holds."""
    return world.ask(OffsetResult, GetMinOffset(topic, 0)).offset


def told(world: World) -> None:
    """The broker is told to delete files."""
    world.ask(Done, DeleteExpiredCommitLog())


def change(world: World, **keys: str) -> None:
    """Change keys while it runs."""
    world.ask(Done, UpdateBrokerConfig(keys))


def looks(world: World) -> list[int]:
    """When the next looks are, in ms from the start."""
    scheduled = world.engine.scheduler.scheduled()
    return [timer.due_ms - START_MS for timer in scheduled if timer.kind == "clean up"]


def test_files_are_deleted_when_told_from_a_minute_after_the_start() -> None:
    """All full files that are old enough go at the first look, the last one stays whatever its age is."""
    world = filled(3, file_reserved_time=0)
    told(world)
    world.advance(59_999)
    assert first(world) == 0
    world.advance(1)
    assert first(world) == 3 * IN_A_FILE
    world.advance(24 * HOUR_MS)
    assert first(world) == 3 * IN_A_FILE


def test_an_order_holds_for_twenty_looks() -> None:
    """What becomes old enough after the twentieth is not deleted before the broker is told again."""
    world = filled(1, delete_when="24", file_reserved_time=1)
    told(world)
    world.advance(60_000 + 20 * 10_000)
    assert looks(world) == []
    change(world, fileReservedTime="0")
    world.advance(HOUR_MS)
    assert first(world) == 0
    told(world)
    world.advance(10_000)
    assert first(world) == IN_A_FILE


def test_files_must_be_old_enough() -> None:
    """`fileReservedTime` counts from when a file was full, and is read anew at each look."""
    world = filled(1, delete_when="24")
    told(world)
    world.advance(70_000)
    assert first(world) == 0
    change(world, fileReservedTime="0")
    world.advance(10_000)
    assert first(world) == IN_A_FILE


def test_old_files_are_deleted_at_the_hour() -> None:
    """By default at four in the morning (UTC), when they are 72 hours old."""
    world = filled(2)
    four = (START_MS // (24 * HOUR_MS) + 1) * 24 * HOUR_MS + 4 * HOUR_MS - START_MS  # on the next day
    due = four + 3 * 24 * HOUR_MS
    (look,) = looks(world)
    assert due <= look < due + 10_000
    world.advance(look - 1)
    assert first(world) == 0
    world.advance(1)
    assert first(world) == 2 * IN_A_FILE
    assert looks(world) == []


@pytest.mark.parametrize(("hours", "hour"), [("22", 22), ("23", 23), ("00", 0), ("3;23", 23), (" 05 ; 01", 1)])
def test_the_hours_of_the_day_can_be_told(hours: str, hour: int) -> None:
    """One or several; the first look that falls into one of them deletes."""
    world = filled(1, file_reserved_time=0, delete_when=hours)
    (look,) = looks(world)
    world.advance(look)
    assert first(world) == IN_A_FILE
    assert world.now_ms // HOUR_MS % 24 == hour
    assert look >= 60_000
    assert look < 24 * HOUR_MS


def test_an_hour_that_never_comes_deletes_nothing() -> None:
    """And nothing is scheduled for it."""
    world = filled(1, file_reserved_time=0, delete_when="24")
    assert looks(world) == []
    change(world, deleteWhen="22")
    assert looks(world) == [60_000]


def test_a_look_deletes_so_many() -> None:
    """Of more files than `deleteFileBatchMax` the oldest go first, the others at the next looks."""
    world = filled(5, file_reserved_time=0, delete_file_batch_max=2, clean_resource_interval=1000)
    told(world)
    world.advance(60_000)
    seen = [first(world)]
    for _ in range(3):
        world.advance(1000)
        seen.append(first(world))
    assert seen == [2 * IN_A_FILE, 4 * IN_A_FILE, 5 * IN_A_FILE, 5 * IN_A_FILE]


def test_a_file_that_is_full_later_is_deleted_later() -> None:
    """Each has an age of its own."""
    world = filled(1, file_reserved_time=1, delete_when=";".join(map(str, range(24))))
    world.advance(30 * 60_000)
    for _ in range(IN_A_FILE):
        world.send("A", b"x" * 10_000)
    world.advance(31 * 60_000)
    assert first(world) == IN_A_FILE
    world.advance(30 * 60_000)
    assert first(world) == 2 * IN_A_FILE


def test_nothing_is_looked_for_where_nothing_can_be_found() -> None:
    """A broker whose log is one file schedules no look."""
    world = filled(0, file_reserved_time=0, delete_when=";".join(map(str, range(24))))
    assert looks(world) == []


def test_a_crash_keeps_what_is_left_and_looks_again_after_a_minute() -> None:
    """What was told is forgotten, the ages of files are not."""
    world = filled(2, file_reserved_time=0, delete_when="24")
    told(world)
    world.engine.crash(power_loss=False)
    world.advance(120_000)
    assert first(world) == 0
    told(world)
    world.advance(10_000)
    assert first(world) == 2 * IN_A_FILE


def test_queues_without_messages_are_forgotten_when_told() -> None:
    """They begin again at 0; one that still holds a message, one that is empty yet and those of the broker stay."""
    world = make_world(max_message_size=16 * 1024, mapped_file_size_commit_log=256 * 1024, file_reserved_time=0)
    for topic in ("A", "old", "both"):
        world.topic(topic)
    for topic in ("old", "both"):
        for _ in range(3):
            world.send(topic)
    world.popped("old", count=1)  # with a check point in a topic of the broker
    for _ in range(60):
        world.send("A", b"x" * 10_000)
    world.send("both")
    world.ask(Done, CleanExpiredConsumeQueue())
    assert world.broker.store.max_offset("old", 0) == 3
    told(world)
    world.advance(60_000)
    assert (first(world, "old"), first(world, "both")) == (3, 3)
    revive = {place: queue.first for place, queue in world.broker.store.queues.items() if queue.is_spent}
    assert revive.pop(("old", 0)) == 3
    assert {topic.partition("_")[0] for topic, _ in revive} == {"rmq"}
    world.ask(Done, CleanExpiredConsumeQueue())
    assert (first(world, "old"), world.broker.store.max_offset("old", 0)) == (0, 0)
    assert (first(world, "both"), world.broker.store.max_offset("both", 0)) == (3, 4)
    assert first(world) > 0
    assert {place: world.broker.store.queues[place].first for place in revive} == revive
    assert world.send("old").queue_offset == 0
