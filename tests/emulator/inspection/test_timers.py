"""Delayed and timed messages are listed with the times of their delivery."""

from engine_harness import EngineHarness, make_harness
from inspected import look
from operation_counts import executed_lines
from rocketmq_testkit.emulator.history.events import TrimReason
from rocketmq_testkit.emulator.operations.send import RecallMessage


def test_timed_and_delayed_messages_are_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    start_ms = harness.now_ms
    harness.send("A", UNIQ_KEY="timed", TIMER_DELIVER_MS=str(start_ms + 20_000))
    harness.send("A", UNIQ_KEY="delayed", DELAY="3")
    found = [(view.message_id, view.topic, view.due_ms, view.kind, view.level) for view in look(harness).timers()]
    assert found == [("delayed", "A", start_ms + 10_000, "level", 3), ("timed", "A", start_ms + 20_000, "wheel", None)]
    harness.advance(11_000)
    assert [view.message_id for view in look(harness).timers()] == ["timed"]
    harness.advance(10_000)
    assert look(harness).timers() == []


def test_message_is_delivered_at_its_due_time(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 12_345))
    (view,) = look(harness).timers()
    harness.advance(view.due_ms - harness.now_ms - 1)
    assert harness.broker.store.max_offset("A", 0) == 0
    harness.advance(1)
    assert harness.broker.store.max_offset("A", 0) == 1


def test_message_that_the_timer_stores_again_is_listed_with_its_own_time() -> None:
    harness = make_harness(timer_roll_window_slot=10)
    harness.topic("A")
    harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 100_000))
    (view,) = look(harness).timers()
    assert view.due_ms == harness.now_ms + 100_000


def test_recalled_message_is_not_listed() -> None:
    harness = make_harness(recall_message_enable=True)
    harness.topic("A")
    sent = harness.send("A", UNIQ_KEY="timed", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    assert sent.recall_handle is not None
    harness.engine.execute(harness.broker, RecallMessage("A", sent.recall_handle))
    assert look(harness).timers() == []
    (found,) = look(harness).find("timed")
    assert len(found.copies) == 2  # the message and the delete mark
    assert look(harness).copies("A") == []


def test_message_waits_for_its_time_until_it_is_delivered_or_recalled() -> None:
    harness = make_harness(recall_message_enable=True)
    harness.topic("A")
    inspection = look(harness)
    due_ms = harness.now_ms + 20_000
    sent = {key: harness.send("A", UNIQ_KEY=key, TIMER_DELIVER_MS=str(due_ms)) for key in ("kept", "recalled")}
    places = {key: inspection.find(key)[0].copies[0].place for key in sent}
    assert [inspection.waits_for_time(place) for place in places.values()] == [True, True]
    handle = sent["recalled"].recall_handle
    assert handle is not None
    harness.engine.execute(harness.broker, RecallMessage("A", handle))
    assert {key: inspection.waits_for_time(place) for key, place in places.items()} == {"kept": True, "recalled": False}
    harness.advance(21_000)
    assert [inspection.waits_for_time(place) for place in places.values()] == [False, False]


def test_check_points_of_pops_are_not_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A")
    harness.popped("A", invisible_ms=30_000)
    assert look(harness).timers() == []


def test_timers_read_in_steps_are_those_at_the_first_step(harness: EngineHarness) -> None:
    """Messages that are delivered or sent during the steps do not change the list."""
    harness.topic("A")
    for number in range(3):
        harness.send("A", UNIQ_KEY=f"timed-{number}", TIMER_DELIVER_MS=str(harness.now_ms + 20_000 - number))
        harness.send("A", UNIQ_KEY=f"delayed-{number}", DELAY=f"{number + 1}")
    expected = look(harness).timers()
    assert len(expected) == 6
    steps = look(harness).timers_in_steps()
    assert next(steps) is None
    harness.advance(60_000)
    harness.send("A", UNIQ_KEY="later", DELAY="5")
    assert [view for view in steps if view is not None] == expected


def test_work_of_a_step_does_not_grow_with_the_timers() -> None:
    def most_lines(count: int) -> int:
        harness = make_harness()
        harness.topic("A")
        for number in range(count):
            harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 20_000 + number))
            harness.send("A", DELAY="18")
        steps, found = look(harness).timers_in_steps(), list[object]()
        # There is one step for each message, and one for each view.
        lines = [executed_lines(lambda: found.append(next(steps))) for _ in range(4 * count)]
        assert sum(view is not None for view in found) == 2 * count
        return max(lines)

    assert most_lines(300) <= most_lines(30) + 20


def test_timed_message_whose_file_was_deleted_is_not_listed() -> None:
    """The timer still waits for the message's time, but its record was deleted."""
    harness = make_harness(mapped_file_size_commit_log=150 * 1024, max_message_size=16 * 1024)
    harness.topic("A")
    harness.send("A", UNIQ_KEY="early", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    for _ in range(20):
        harness.send("A", bytes(10_000))
    harness.send("A", UNIQ_KEY="late", TIMER_DELIVER_MS=str(harness.now_ms + 30_000))
    assert [view.message_id for view in look(harness).timers()] == ["early", "late"]
    harness.broker.store.delete_oldest_files(1, TrimReason.LIMIT)
    assert [view.message_id for view in look(harness).timers()] == ["late"]
    found = {each.message_id for each in look(harness).messages("A")}
    assert "early" not in found
    assert "late" in found


def test_messages_are_listed_after_the_files_of_all_timed_messages_were_deleted() -> None:
    harness = make_harness(mapped_file_size_commit_log=150 * 1024, max_message_size=16 * 1024)
    harness.topic("A")
    harness.send("A", UNIQ_KEY="early", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    for _ in range(20):
        harness.send("A", bytes(10_000))
    harness.broker.store.delete_oldest_files(1, TrimReason.LIMIT)
    assert look(harness).timers() == []
    assert 0 < len(look(harness).messages("A")) == len(look(harness).copies("A")) < 20
