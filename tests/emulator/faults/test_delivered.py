"""Reading and replacing the messages in the outcome of a pop or a pull, for faults of deliveries."""

from dataclasses import replace

from engine_harness import EngineHarness
from rocketmq_testkit.emulator.faults.delivered import delivered, delivering, undelivered
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.consume import PopResult, PullResult, PullStatus


def _pop(harness: EngineHarness) -> PopResult:
    harness.topic("T", 2)
    for queue in (0, 0, 1):
        harness.send("T", b"%d" % queue, queue=queue)
    outcome = harness.pop("T").outcome
    assert isinstance(outcome, PopResult)
    return outcome


def test_an_unchanged_pop_stays_as_it_is(harness: EngineHarness) -> None:
    """If no message is replaced, the lists of offsets are those of the broker."""
    outcome = _pop(harness)
    assert delivering(outcome, delivered(outcome)) == outcome


def test_the_lists_of_offsets_of_a_pop_follow_its_messages(harness: EngineHarness) -> None:
    """An offset is listed as often as its message is delivered, a queue without messages not at all."""
    outcome = _pop(harness)
    entries = sorted(delivered(outcome), key=lambda entry: (entry[1].queue_id, entry[1].queue_offset))
    changed = delivering(outcome, [entries[1], entries[1], entries[0]])
    assert isinstance(changed, PopResult)
    assert changed.msg_offset_info == "0 0 1,1,0"
    assert changed.start_offset_info == "0 0 0"
    assert [each.queue_offset for each in changed.messages] == [1, 1, 0]


def test_a_pop_without_its_messages_equals_an_empty_pop(harness: EngineHarness) -> None:
    """The outcome has the code of an empty pop, and no lists of offsets."""
    found = undelivered(_pop(harness))
    assert isinstance(found, PopResult)
    assert (found.code, found.messages) == (ResponseCode.POLLING_TIMEOUT, [])
    assert (found.msg_offset_info, found.start_offset_info, found.remark) == ("", "", None)


def test_a_pull_keeps_its_offsets_beside_its_records(harness: EngineHarness) -> None:
    """A pull without its messages has the code of a pull whose messages were filtered out, and its next offset."""
    _pop(harness)
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    first, second = delivered(outcome)
    changed = delivering(outcome, [second, first, first])
    assert isinstance(changed, PullResult)
    assert list(changed.records) == [second[0], first[0], first[0]]
    assert [offset for _record, offset in delivered(changed)] == [1, 0, 0]
    empty = undelivered(replace(outcome, offsets=()))
    assert isinstance(empty, PullResult)
    assert (empty.code, empty.status) == (ResponseCode.PULL_RETRY_IMMEDIATELY, PullStatus.NO_MATCHED_MESSAGE)
    assert (empty.next_begin_offset, list(empty.records)) == (2, [])


def test_outcomes_of_other_operations_have_no_messages_and_are_unchanged() -> None:
    error = EngineError(ResponseCode.SYSTEM_ERROR, "broken")
    assert delivered(error) == []
    assert undelivered(error) is error
    assert delivering(error, []) is error
