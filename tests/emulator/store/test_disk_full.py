"""A full disk: files are deleted early, sends are rejected, reads work, until there is space again."""

import pytest
from engine_harness import EngineHarness, bodies, make_harness, refused
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.offsets import GetMinOffset, OffsetResult
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    SendMessage,
    SendMessageBack,
    SendResult,
)

FIRST_LOOK_MS, LOOK_MS = 60_000, 10_000
FILE_BYTES = 256 * 1024
IN_A_FILE = 25
REASON = (
    "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
    "[CL:  0.95 CQ:  0.95 INDEX:  0.95], messages are put to the slave, message store has been shut down, etc."
)
SMALL: dict[str, object] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": FILE_BYTES}


def change(harness: EngineHarness, **keys: str) -> None:
    """Change configuration keys at run time."""
    harness.ask(Done, UpdateBrokerConfig(keys))


def accepts_sends(harness: EngineHarness, *, through_proxy: bool = False) -> bool:
    """Return True if a send is stored; False if it is rejected because of the disk."""
    operation = SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), harness.now_ms, through_proxy=through_proxy)
    call = harness.engine.submit(harness.broker, operation)
    if isinstance(call.outcome, SendResult):
        return True
    assert refused(call).code is ResponseCode.SERVICE_NOT_AVAILABLE
    return False


def full_harness(**keys: object) -> EngineHarness:
    """Create a harness whose disk was just found full, with a message in topic T."""
    harness = make_harness(1, disk_used_ratio=95, **keys)
    harness.topic("T")
    harness.send("T", b"before")
    harness.advance(FIRST_LOOK_MS)
    assert not accepts_sends(harness)
    return harness


def test_a_full_disk_rejects_sends_from_the_first_check_on() -> None:
    """From the first check on sends are rejected with the disk ratios, send-backs with the name of the code."""
    harness = make_harness(disk_used_ratio=95)
    harness.topic("T")
    place = harness.send("T").physical_offset
    harness.advance(FIRST_LOOK_MS - 1)
    assert accepts_sends(harness)
    harness.advance(1)
    for through_proxy in (False, True):
        assert not accepts_sends(harness, through_proxy=through_proxy)
    with pytest.raises(EngineError) as refusal:
        harness.send("T")
    assert refusal.value.remark == REASON
    back = refused(harness.engine.submit(harness.broker, SendMessageBack("G", place, 1, "T", None)))
    assert (back.code, back.remark) == (ResponseCode.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE")


def test_stored_messages_can_be_pulled_and_popped_with_a_full_disk() -> None:
    """Pulls and pops find stored messages, although a pop's check point has to wait for the disk."""
    harness = full_harness()
    pulled = harness.pull("T").outcome
    assert isinstance(pulled, PullResult)
    assert len(pulled.records) == 1
    assert bodies(harness.popped("T", invisible_ms=60_000)) == [b"before"]


def test_sends_are_accepted_again_at_the_next_check_with_free_space() -> None:
    """Sends are accepted again at the next check once the ratio is at most `diskSpaceCleanForciblyRatio`."""
    harness = full_harness()
    change(harness, diskUsedRatio="87")
    harness.advance(LOOK_MS)
    assert not accepts_sends(harness)
    change(harness, diskUsedRatio="85")
    harness.advance(LOOK_MS - 1)
    assert not accepts_sends(harness)
    harness.advance(1)
    assert accepts_sends(harness)


def test_the_warning_level_of_a_full_disk_is_limited_to_35_to_90_percent() -> None:
    """`diskSpaceWarningLevelRatio` sets the level; upstream limits it to 35..90."""
    harness = make_harness(disk_used_ratio=35, disk_space_warning_level_ratio=1)
    harness.topic("T")
    harness.advance(FIRST_LOOK_MS)
    assert accepts_sends(harness)
    change(harness, diskUsedRatio="36")
    harness.advance(LOOK_MS)
    assert not accepts_sends(harness)
    change(harness, diskSpaceWarningLevelRatio="99", diskUsedRatio="90")
    harness.advance(LOOK_MS)
    assert not accepts_sends(harness)
    change(harness, diskUsedRatio="80")
    harness.advance(LOOK_MS)
    assert accepts_sends(harness)
    change(harness, diskUsedRatio="91")
    harness.advance(LOOK_MS)
    assert not accepts_sends(harness)


def test_a_restarted_broker_with_a_full_disk_accepts_sends_for_a_minute() -> None:
    """A restarted broker accepts sends for a minute, until its first check."""
    harness = full_harness()
    harness.engine.restart(harness.broker)
    harness.advance(FIRST_LOOK_MS - 1)
    assert accepts_sends(harness)
    harness.advance(1)
    assert not accepts_sends(harness)


def fill(harness: EngineHarness, files: int) -> None:
    """Send messages that fill this number of log files."""
    for _ in range(files * IN_A_FILE):
        harness.send("T", b"x" * 10_000)


def min_offset(harness: EngineHarness) -> int:
    """Return the first stored offset."""
    return harness.ask(OffsetResult, GetMinOffset("T", 0)).offset


def test_a_disk_filled_by_sends_is_freed_by_deleting_ten_files() -> None:
    """Sends are accepted until a check; it deletes ten files of any age, and the next one finds space."""
    harness = make_harness(1, store_disk_bytes=16 * FILE_BYTES, **SMALL)
    harness.topic("T")
    harness.advance(FIRST_LOOK_MS)
    fill(harness, 15)
    harness.advance(LOOK_MS - 1)
    assert accepts_sends(harness)
    assert min_offset(harness) == 0
    harness.advance(1)
    assert not accepts_sends(harness)
    assert min_offset(harness) == 10 * IN_A_FILE
    harness.advance(LOOK_MS)
    assert accepts_sends(harness)
    assert min_offset(harness) == 10 * IN_A_FILE


def test_expired_files_are_deleted_early_and_young_files_when_space_is_short() -> None:
    """Above `diskMaxUsedSpaceRatio` old files go at any hour, above `diskSpaceCleanForciblyRatio` young ones too."""
    harness = make_harness(1, store_disk_bytes=100 * FILE_BYTES, file_reserved_time=1, **SMALL)
    harness.topic("T")
    fill(harness, 80)
    harness.advance(3_600_000 - 1)
    assert min_offset(harness) == 0
    harness.advance(LOOK_MS)
    assert min_offset(harness) == 10 * IN_A_FILE
    harness.advance(10 * LOOK_MS)
    assert min_offset(harness) == 10 * IN_A_FILE
    fill(harness, 20)
    harness.advance(LOOK_MS)
    assert accepts_sends(harness)
    assert min_offset(harness) == 20 * IN_A_FILE


def test_without_forced_cleanup_a_full_disk_stays_full_until_files_expire() -> None:
    """Without `cleanFileForciblyEnable` a full disk stays full until its files expire."""
    harness = make_harness(
        1, store_disk_bytes=16 * FILE_BYTES, clean_file_forcibly_enable=False, file_reserved_time=1, **SMALL
    )
    harness.topic("T")
    fill(harness, 15)
    harness.advance(3_600_000 - 1)
    assert not accepts_sends(harness)
    harness.advance(2 * LOOK_MS)
    assert accepts_sends(harness)


def test_a_delay_level_retries_with_a_full_disk_and_the_timer_loses_its_message() -> None:
    """A delay level retries until there is space; the timer retries only briefly and loses its message."""
    harness = make_harness(disk_used_ratio=95)
    harness.topic("T")
    harness.send("T", b"level", DELAY="5")
    harness.send("T", b"timer", TIMER_DELAY_SEC="90")
    harness.advance(FIRST_LOOK_MS + 40_000)
    assert harness.broker.store.max_offset("T", 0) == 0
    change(harness, diskUsedRatio="10")
    harness.advance(LOOK_MS + 1_000)
    assert harness.broker.store.max_offset("T", 0) == 1


def test_an_invisible_duration_change_with_a_full_disk_is_rejected() -> None:
    """The check point of a change cannot be stored, so the change is rejected and the old handle stays valid."""
    harness = make_harness(disk_used_ratio=95)
    harness.topic("T")
    harness.send("T")
    harness.advance(FIRST_LOOK_MS - 1)
    [message] = harness.popped("T", invisible_ms=60_000)
    harness.advance(1)
    with pytest.raises(EngineError) as refusal:
        harness.change("T", harness.receipt(message), 10_000)
    assert refusal.value.code is ResponseCode.SYSTEM_ERROR


def test_a_commit_with_a_full_disk_is_rejected() -> None:
    """A commit is rejected; the half message stays and is checked when there is space."""
    harness = make_harness(disk_used_ratio=95)
    harness.topic("T")
    half = harness.send("T", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="u")
    harness.advance(FIRST_LOOK_MS)
    end = EndTransaction("PG", half.queue_offset, half.physical_offset, 8, False, "u")
    refusal = refused(harness.engine.submit(harness.broker, end))
    assert (refusal.code, refusal.remark) == (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now.")


def test_a_recall_with_a_full_disk_is_rejected() -> None:
    """A recall is rejected, because its delete mark cannot be stored."""
    harness = make_harness(disk_used_ratio=95, recall_message_enable=True)
    harness.topic("T")
    sent = harness.send("T", TIMER_DELAY_SEC="600")
    assert sent.recall_handle is not None
    harness.advance(FIRST_LOOK_MS)
    refusal = refused(harness.engine.submit(harness.broker, RecallMessage("T", sent.recall_handle)))
    assert (refusal.code, refusal.remark) == (ResponseCode.SYSTEM_ERROR, "recall failed, execute error")
