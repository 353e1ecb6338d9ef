"""Deletion of old, full log files: at an hour of the day, or on request."""

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import (
    CleanExpiredConsumeQueue,
    DeleteExpiredCommitLog,
    UpdateBrokerConfig,
)
from rocketmq_testkit.emulator.operations.offsets import GetMinOffset, OffsetResult
from rocketmq_testkit.emulator.operations.topics import GetTopicStats, TopicOffset, TopicStatsResult

HOUR_MS = 3_600_000
IN_A_FILE = 25


def filled(files: int, **keys: object) -> EngineHarness:
    """Create a harness with this number of full log files and one message in the last file."""
    sizes: dict[str, object] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 256 * 1024}
    harness = make_harness(1, **sizes, **keys)
    harness.topic("A")
    for _ in range(files * IN_A_FILE + 1):
        harness.send("A", b"x" * 10_000)
    return harness


def min_offset(harness: EngineHarness, topic: str = "A") -> int:
    """Return the first stored offset of queue 0."""
    return harness.ask(OffsetResult, GetMinOffset(topic, 0)).offset


def request_deletion(harness: EngineHarness) -> None:
    """Request the deletion of expired files."""
    harness.ask(Done, DeleteExpiredCommitLog())


def change(harness: EngineHarness, **keys: str) -> None:
    """Change configuration keys at run time."""
    harness.ask(Done, UpdateBrokerConfig(keys))


def scheduled_checks_ms(harness: EngineHarness) -> list[int]:
    """Return the times of the scheduled checks, in ms from the start."""
    scheduled = harness.engine.scheduler.scheduled()
    return [timer.due_ms - START_MS for timer in scheduled if timer.kind == "clean up"]


def test_requested_deletion_starts_one_minute_after_the_start() -> None:
    """After a request all full files that are old enough are deleted at the first check, one minute after the start.

    The last file stays regardless of its age.
    """
    harness = filled(3, file_reserved_time=0)
    request_deletion(harness)
    harness.advance(59_999)
    assert min_offset(harness) == 0
    harness.advance(1)
    assert min_offset(harness) == 3 * IN_A_FILE
    harness.advance(24 * HOUR_MS)
    assert min_offset(harness) == 3 * IN_A_FILE


def test_a_deletion_request_is_valid_for_twenty_checks() -> None:
    """A request is valid for twenty checks; files that expire later are not deleted until the next request."""
    harness = filled(1, delete_when="24", file_reserved_time=1)
    request_deletion(harness)
    harness.advance(60_000 + 20 * 10_000)
    assert scheduled_checks_ms(harness) == []
    change(harness, fileReservedTime="0")
    harness.advance(HOUR_MS)
    assert min_offset(harness) == 0
    request_deletion(harness)
    harness.advance(10_000)
    assert min_offset(harness) == IN_A_FILE


def test_only_files_older_than_file_reserved_time_are_deleted() -> None:
    """`fileReservedTime` counts from when a file became full, and the key is read at each check."""
    harness = filled(1, delete_when="24")
    request_deletion(harness)
    harness.advance(70_000)
    assert min_offset(harness) == 0
    change(harness, fileReservedTime="0")
    harness.advance(10_000)
    assert min_offset(harness) == IN_A_FILE


def test_files_older_than_72_hours_are_deleted_at_four_in_the_morning_by_default() -> None:
    """By default files are deleted at four in the morning (UTC) once they are 72 hours old."""
    harness = filled(2)
    four = (START_MS // (24 * HOUR_MS) + 1) * 24 * HOUR_MS + 4 * HOUR_MS - START_MS  # on the next day
    due = four + 3 * 24 * HOUR_MS
    (look,) = scheduled_checks_ms(harness)
    assert due <= look < due + 10_000
    harness.advance(look - 1)
    assert min_offset(harness) == 0
    harness.advance(1)
    assert min_offset(harness) == 2 * IN_A_FILE
    assert scheduled_checks_ms(harness) == []


@pytest.mark.parametrize(("hours", "hour"), [("22", 22), ("23", 23), ("00", 0), ("3;23", 23), (" 05 ; 01", 1)])
def test_the_first_check_in_a_configured_hour_deletes_expired_files(hours: str, hour: int) -> None:
    """The first check in one of the configured hours deletes expired files."""
    harness = filled(1, file_reserved_time=0, delete_when=hours)
    (look,) = scheduled_checks_ms(harness)
    harness.advance(look)
    assert min_offset(harness) == IN_A_FILE
    assert harness.now_ms // HOUR_MS % 24 == hour
    assert look >= 60_000
    assert look < 24 * HOUR_MS


def test_a_delete_when_hour_that_does_not_exist_schedules_no_check() -> None:
    """An hour that does not exist deletes no file, and no check is scheduled."""
    harness = filled(1, file_reserved_time=0, delete_when="24")
    assert scheduled_checks_ms(harness) == []
    change(harness, deleteWhen="22")
    assert scheduled_checks_ms(harness) == [60_000]


def test_a_check_deletes_at_most_delete_file_batch_max_files() -> None:
    """A check deletes at most `deleteFileBatchMax` files, the oldest first; the next checks delete the others."""
    harness = filled(5, file_reserved_time=0, delete_file_batch_max=2, clean_resource_interval=1000)
    request_deletion(harness)
    harness.advance(60_000)
    seen = [min_offset(harness)]
    for _ in range(3):
        harness.advance(1000)
        seen.append(min_offset(harness))
    assert seen == [2 * IN_A_FILE, 4 * IN_A_FILE, 5 * IN_A_FILE, 5 * IN_A_FILE]


def test_each_file_expires_according_to_its_own_age() -> None:
    harness = filled(1, file_reserved_time=1, delete_when=";".join(map(str, range(24))))
    harness.advance(30 * 60_000)
    for _ in range(IN_A_FILE):
        harness.send("A", b"x" * 10_000)
    harness.advance(31 * 60_000)
    assert min_offset(harness) == IN_A_FILE
    harness.advance(30 * 60_000)
    assert min_offset(harness) == 2 * IN_A_FILE


def test_a_broker_with_a_single_log_file_schedules_no_check() -> None:
    harness = filled(0, file_reserved_time=0, delete_when=";".join(map(str, range(24))))
    assert scheduled_checks_ms(harness) == []


def test_a_crash_discards_a_deletion_request_but_not_the_ages_of_files() -> None:
    """A crash deletes the request, but not the ages of files; checks start again after a minute."""
    harness = filled(2, file_reserved_time=0, delete_when="24")
    request_deletion(harness)
    harness.engine.crash(power_loss=False)
    harness.advance(120_000)
    assert min_offset(harness) == 0
    request_deletion(harness)
    harness.advance(10_000)
    assert min_offset(harness) == 2 * IN_A_FILE


def test_a_cleanup_request_removes_queues_without_messages() -> None:
    """A request removes queues without messages, which restart at 0.

    Queues with messages, queues that are still unused, and queues of system topics stay.
    """
    harness = make_harness(max_message_size=16 * 1024, mapped_file_size_commit_log=256 * 1024, file_reserved_time=0)
    for topic in ("A", "old", "both"):
        harness.topic(topic)
    for topic in ("old", "both"):
        for _ in range(3):
            harness.send(topic)
    harness.popped("old", count=1)  # its check point is in a system topic
    for _ in range(60):
        harness.send("A", b"x" * 10_000)
    harness.send("both")
    harness.ask(Done, CleanExpiredConsumeQueue())
    assert harness.broker.store.max_offset("old", 0) == 3
    request_deletion(harness)
    harness.advance(60_000)
    assert (min_offset(harness, "old"), min_offset(harness, "both")) == (3, 3)
    revive = {place: queue.first for place, queue in harness.broker.store.queues.items() if queue.is_drained}
    assert revive.pop(("old", 0)) == 3
    assert {topic.partition("_")[0] for topic, _ in revive} == {"rmq"}
    harness.ask(Done, CleanExpiredConsumeQueue())
    assert (min_offset(harness, "old"), harness.broker.store.max_offset("old", 0)) == (0, 0)
    assert (min_offset(harness, "both"), harness.broker.store.max_offset("both", 0)) == (3, 4)
    assert min_offset(harness) > 0
    assert {place: harness.broker.store.queues[place].first for place in revive} == revive
    assert harness.send("old").queue_offset == 0


def test_topic_stats_of_a_queue_whose_messages_are_deleted_have_the_update_time_minus_1() -> None:
    """Queue 0 keeps its offsets; queue 1, which never had a message, has the update time 0."""
    harness = filled(1, file_reserved_time=0)
    harness.topic("gone", 2)
    harness.send("gone", queue=0)
    while len(harness.broker.store.log.files()[0]) < 3:
        harness.send("A", b"x" * 10_000)
    request_deletion(harness)
    harness.advance(60_000)
    stats = harness.ask(TopicStatsResult, GetTopicStats("gone"))
    assert stats.offsets == {0: TopicOffset(1, 1, -1), 1: TopicOffset(0, 0, 0)}
