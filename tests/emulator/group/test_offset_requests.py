"""Requests for offsets: queries and commits of groups, the slowest offsets of a topic, and their errors."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.groups import GetGroup
from rocketmq_testkit.emulator.operations.offsets import (
    AllOffsetsResult,
    CorrectionOffsetResult,
    GetAllConsumerOffset,
    OffsetResult,
    QueryConsumerOffset,
    QueryCorrectionOffset,
    ResetOffset,
    UpdateConsumerOffset,
)


@pytest.mark.parametrize(
    ("operation", "code", "remark"),
    [
        (UpdateConsumerOffset("none", "A", 0, 1), ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group none not exist!"),
        (UpdateConsumerOffset("G", "none", 0, 1), ResponseCode.TOPIC_NOT_EXIST, "Topic none not exist!"),
        (UpdateConsumerOffset("G", "A", None, 1), ResponseCode.INVALID_PARAMETER, "QueueId is null, topic is A"),
        (UpdateConsumerOffset("G", "A", 0, None), ResponseCode.INVALID_PARAMETER, "Offset is null, topic is A"),
    ],
)
def test_a_commit_for_an_unknown_group_or_topic_or_without_a_field_is_rejected(
    harness: EngineHarness, operation: UpdateConsumerOffset, code: ResponseCode, remark: str
) -> None:
    harness.topic("A")
    harness.engine.execute(harness.broker, GetGroup("G"))
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(harness.broker, operation)
    assert (refused.value.code, refused.value.remark) == (code, remark)
    assert harness.ask(AllOffsetsResult, GetAllConsumerOffset()).offsets == {}


def test_a_commit_during_a_pending_reset_has_no_effect_and_says_so(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.engine.execute(harness.broker, GetGroup("G"))
    for _ in range(5):
        harness.send("A")
    commit = UpdateConsumerOffset("G", "A", 0, 4)
    assert harness.ask(Done, commit).remark is None
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0, 0, offset=1))
    assert harness.ask(Done, commit).remark == "Offset has been previously reset"
    assert harness.broker.offsets.committed["G", "A"] == {0: 1}


@pytest.mark.parametrize(
    ("zero", "remark"), [(False, "Not found, do not set to zero, maybe this group boot first"), (None, None)]
)
def test_a_query_of_a_new_group_returns_0_unless_the_request_excludes_it(
    harness: EngineHarness, zero: bool | None, remark: str | None
) -> None:
    harness.topic("A")
    harness.send("A")
    asked = harness.engine.submit(harness.broker, QueryConsumerOffset("G", "A", 0, zero)).outcome
    if remark is None:
        assert asked == OffsetResult(0)
    else:
        assert isinstance(asked, EngineError)
        assert (asked.code, asked.remark) == (ResponseCode.QUERY_NOT_FOUND, remark)


def test_a_correction_offset_query_fails_or_returns_the_maximum_for_an_offset_below_the_queue(
    harness: EngineHarness,
) -> None:
    """The offset of the compared group is below the start: the maximum if another group's counts, else an error."""
    harness.topic("T", 2)
    for group, queue, offset in (("G", 0, -1), ("H", 0, 4)):
        harness.broker.groups.find_or_create(group)
        harness.engine.execute(harness.broker, UpdateConsumerOffset(group, "T", queue, offset))
    query = QueryCorrectionOffset("T", "G", [])
    assert harness.ask(CorrectionOffsetResult, query).offsets == {0: 2**63 - 1}
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "T", 1, -1))
    with pytest.raises(EngineError, match="NullPointerException"):
        harness.engine.execute(harness.broker, query)


def test_a_correction_offset_query_returns_the_slowest_offset_of_each_queue(harness: EngineHarness) -> None:
    """The slowest offset ignores offsets below the start of a queue; offsets of excluded groups are deleted."""
    harness.topic("T", 2)
    for group, queue, offset in (("slow", 0, 2), ("quick", 0, 5), ("quick", 1, 4), ("gone", 0, 0)):
        harness.broker.groups.find_or_create(group)
        harness.engine.execute(harness.broker, UpdateConsumerOffset(group, "T", queue, offset))
    found = harness.ask(AllOffsetsResult, GetAllConsumerOffset()).offsets
    assert found == {("slow", "T"): {0: 2}, ("quick", "T"): {0: 5, 1: 4}, ("gone", "T"): {0: 0}}

    def slowest(compared: str, *left_out: str) -> dict[int, int]:
        return harness.ask(CorrectionOffsetResult, QueryCorrectionOffset("T", compared, list(left_out))).offsets

    assert slowest("nobody") == {0: 0, 1: 4}
    assert slowest("slow", "gone") == {0: 2, 1: 4}
    assert ("gone", "T") not in harness.ask(AllOffsetsResult, GetAllConsumerOffset()).offsets


@pytest.mark.parametrize(("zero", "code"), [(False, ResponseCode.QUERY_NOT_FOUND), (True, None)])
def test_a_new_group_has_no_offset_in_an_empty_queue_unless_configured(zero: bool, code: ResponseCode | None) -> None:
    """A new group has no offset in an empty queue, as upstream, or 0 with `emptyQueueOffsetZero`."""
    harness = make_harness(empty_queue_offset_zero=zero)
    harness.topic("A")
    asked = harness.engine.submit(harness.broker, QueryConsumerOffset("G", "A", 0)).outcome
    assert asked == OffsetResult(0) if code is None else isinstance(asked, EngineError) and asked.code is code
    harness.send("A")
    assert harness.ask(OffsetResult, QueryConsumerOffset("G", "A", 0)).offset == 0
