"""Cold-read flow control: limits of each group and of all groups, and the counts, which restart every 5 s."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.tools import (
    ColdDataFlowCtrResult,
    GetColdDataFlowCtrInfo,
    UpdateColdDataFlowCtrConfig,
)

ALL_COLD: dict[str, Any] = {
    "cold_data_flow_control_enable": True,
    "access_message_in_memory_hot_ratio": 0,
    "cg_cold_read_threshold": 1,
}
ROUND_MS = 5_000


def make_cold_harness(**keys: Any) -> EngineHarness:
    """Create a harness with a push consumer and a topic of three messages, all of which are cold."""
    harness = make_harness(**{**ALL_COLD, **keys})
    harness.topic("T")
    for group in ("G", "H"):
        harness.heartbeat(f"client of {group}", group, {"T": "*"})
    for _ in range(3):
        harness.send("T", b"tea")
    return harness


def is_served(harness: EngineHarness, offset: int, group: str = "G") -> bool:
    """Pull one message; return False if the pull is rejected as a cold read."""
    call = harness.pull("T", offset, count=1, group=group)
    if isinstance(call.outcome, PullResult):
        return True
    refusal = refused(call)
    assert refusal.code is ResponseCode.SYSTEM_BUSY
    assert refusal.remark == "This consumer group is reading cold data. It has been flow control"
    return False


def info(harness: EngineHarness) -> ColdDataFlowCtrResult:
    return harness.ask(ColdDataFlowCtrResult, GetColdDataFlowCtrInfo())


def test_a_group_at_its_limit_is_rejected_until_the_next_round() -> None:
    harness = make_cold_harness()
    assert is_served(harness, 0)
    assert not is_served(harness, 1)
    harness.advance(ROUND_MS - 1)
    assert not is_served(harness, 1)
    harness.advance(1)
    assert is_served(harness, 1)


def test_cold_reads_are_not_counted_while_the_flow_control_is_off() -> None:
    harness = make_cold_harness(cold_data_flow_control_enable=False)
    assert is_served(harness, 0)
    assert is_served(harness, 1)
    assert info(harness).all_reads == 0


def test_hot_messages_are_neither_counted_nor_rejected() -> None:
    """With the default share the emulated log is far too short for cold data."""
    harness = make_cold_harness(access_message_in_memory_hot_ratio=26)
    assert is_served(harness, 0)
    assert is_served(harness, 1)
    assert info(harness).reads == {}


def test_messages_are_cold_beyond_the_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the message whose distance from the end exceeds the share is counted as cold, and only pulls of it wait."""
    harness = make_cold_harness(access_message_in_memory_hot_ratio=1)
    log = harness.broker.store.log
    size = log.max_offset // 3
    monkeypatch.setattr("rocketmq_testkit.emulator.pull.cold_data.MEMORY_BYTES", 2 * size * 100)
    assert is_served(harness, 0)
    assert info(harness).all_reads == size
    assert is_served(harness, 1)
    assert not is_served(harness, 0)


def test_the_limit_of_a_group_precedes_the_configuration() -> None:
    harness = make_cold_harness(cg_cold_read_threshold=10_000)
    harness.ask(Done, UpdateColdDataFlowCtrConfig({"G": "1"}))
    assert is_served(harness, 0)
    assert not is_served(harness, 1)
    assert is_served(harness, 0, "H")
    assert is_served(harness, 1, "H")


def test_groups_that_have_read_cold_data_share_the_limit_of_all() -> None:
    """A group that has not read cold data is served once more, because it is not in the table yet."""
    harness = make_cold_harness(cg_cold_read_threshold=10_000, global_cold_read_threshold=1)
    assert is_served(harness, 0)
    assert is_served(harness, 0, "H")
    assert not is_served(harness, 1)
    assert not is_served(harness, 1, "H")


def test_a_group_leaves_the_table_a_minute_after_its_last_cold_read() -> None:
    harness = make_cold_harness()
    assert is_served(harness, 0)
    read = info(harness)
    assert read.reads["G"].acc == read.all_reads > 0
    harness.advance(ROUND_MS)
    assert (info(harness).reads["G"].acc, info(harness).all_reads) == (0, 0)
    harness.advance(50_000)
    assert "G" in info(harness).reads
    harness.advance(ROUND_MS)
    assert info(harness).reads == {}


def test_a_waiting_pull_is_rejected_when_a_message_wakes_it() -> None:
    harness = make_cold_harness()
    assert is_served(harness, 0)
    call = harness.pull("T", 3, suspend_ms=15_000)
    assert call.outcome is None
    harness.send("T", b"new")
    assert refused(call).code is ResponseCode.SYSTEM_BUSY
