"""Messages of a topic are listed with all their copies: stored, delayed, timed, half, retried and dead ones."""

import pytest
from engine_harness import EngineHarness
from inspected import STATES, in_every_state, look
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.remoting.client import batch_body


def test_a_message_in_each_state_is_listed_once(harness: EngineHarness) -> None:
    ids = in_every_state(harness)
    inspection = look(harness)
    found = {
        (copy.state.value, message.message_id)
        for copy in inspection.copies("A")
        if (message := inspection.at(copy.place)) is not None
    }
    first_copies = {("stored", ids[state]) for state in ("retry", "dead")}
    assert found == {(state, ids[state]) for state in STATES} | first_copies
    assert len(inspection.copies("A")) == len(found)


def test_record_of_several_messages_is_listed_once(harness: EngineHarness) -> None:
    """A batch in a BatchCQ topic is one record with several queue entries; later messages are listed as well."""
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("T", 1, 1, 6), {"+queue.type": "BatchCQ"}))
    parts = batch_body([(b"one", {}), (b"two", {})])
    batch = SendMessage("PG", "T", 0, parts, {"UNIQ_KEY": "U"}, ("10.0.0.1", 5000), harness.now_ms, batch=True)
    harness.ask(SendResult, batch)
    harness.send("T", UNIQ_KEY="V")
    assert [copy.place.queue_offset for copy in look(harness).copies("T")] == [0, 2]
    assert {each.message_id for each in look(harness).messages("T")} == {"U", "V"}


@pytest.mark.parametrize("state", CopyState)
def test_messages_can_be_listed_for_one_state(harness: EngineHarness, state: CopyState) -> None:
    in_every_state(harness)
    everything = look(harness).copies("A")
    assert look(harness).copies("A", state) == [copy for copy in everything if copy.state is state] != []


def test_copies_are_listed_with_their_due_times_and_groups(harness: EngineHarness) -> None:
    in_every_state(harness)
    start = min(copy.stored_at_ms for copy in look(harness).copies("A"))
    due = {copy.state.value: copy.due_ms for copy in look(harness).copies("A")}
    assert (due["delayed"], due["timed"]) == (start + 3_600_000, start + 7_200_000)
    groups = {copy.state.value: copy.group for copy in look(harness).copies("A")}
    assert groups == dict.fromkeys(STATES) | {"retry": "H", "dead": "H"}


def test_delivered_delayed_messages_and_decided_half_messages_are_not_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", DELAY="1", UNIQ_KEY="delayed-1")
    harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 2_000), UNIQ_KEY="timed-1")
    harness.advance(5_000)
    assert [copy.state for copy in look(harness).copies("A")] == [CopyState.STORED, CopyState.STORED]
    (delayed,) = look(harness).find("delayed-1")
    (timed,) = look(harness).find("timed-1")
    assert [copy.state for copy in delayed.copies] == [CopyState.DELAYED, CopyState.STORED]
    assert [copy.state for copy in timed.copies] == [CopyState.TIMED, CopyState.STORED]


def test_messages_of_a_topic_equal_those_found_by_their_ids(harness: EngineHarness) -> None:
    """This includes decided, recalled and delivered messages of which only a system topic has a copy."""
    ids = set(in_every_state(harness).values())
    sent = harness.send("A", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="rolled-back")
    harness.engine.execute(
        harness.broker, EndTransaction("PG", sent.queue_offset, sent.physical_offset, 12, False, "rolled-back")
    )
    found = look(harness).messages("A")
    assert {each.message_id for each in found} == {*ids, "rolled-back"}
    assert [look(harness).find(each.message_id) for each in found] == [[each] for each in found]


def test_matching_messages_are_yielded_once(harness: EngineHarness) -> None:
    ids = in_every_state(harness)
    found = [message.message_id for message in look(harness).matching("A", lambda copy: b"half" not in copy.record)]
    assert sorted(found) == sorted(ids[state] for state in STATES if state != "half")
    assert list(look(harness).matching("B", lambda copy: True)) == []
