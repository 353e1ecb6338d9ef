"""Ordered pops: one batch of a queue at a time; redelivery starts at the first unacknowledged message."""

from engine_harness import EngineHarness, bodies, messages_of
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.consume import PopMessage, PopResult

DAY_MS = 24 * 3_600_000


def filled(harness: EngineHarness, count: int = 6) -> None:
    harness.topic("A")
    for n in range(count):
        harness.send("A", b"%d" % n)


def take(harness: EngineHarness, count: int = 3, attempt: str | None = None, invisible_ms: int = 10_000) -> list[bytes]:
    messages = harness.popped("A", order=True, count=count, attempt=attempt, invisible_ms=invisible_ms)
    return bodies(messages)


def ack(harness: EngineHarness, index: int) -> object:
    message = harness.last_pop.messages[index]
    return harness.ack("A", harness.receipt(message)).outcome


def test_an_ordered_batch_in_flight_blocks_its_queue_except_for_its_attempt(harness: EngineHarness) -> None:
    """While a batch is in flight no other pop reads the queue; the same attempt gets the same batch, counted once."""
    filled(harness)
    assert take(harness, attempt="x") == [b"0", b"1", b"2"]
    assert (harness.last_pop.revive_qid, harness.last_pop.order_count_info) == (999, "0 0 0")
    assert harness.broker.offsets.query("G", "A", 0) == 0
    assert messages_of(harness.pop("A", order=True)) == []
    assert take(harness, attempt="x") == [b"0", b"1", b"2"]
    assert harness.last_pop.order_count_info == "0 0 0"


def test_an_ordered_queue_is_unblocked_when_its_whole_batch_is_acknowledged(harness: EngineHarness) -> None:
    """The committed offset is at the first unacknowledged message; the last acknowledgement unblocks the queue."""
    filled(harness)
    take(harness)
    ack(harness, 1)
    assert harness.broker.offsets.query("G", "A", 0) == 0
    ack(harness, 0)
    assert harness.broker.offsets.query("G", "A", 0) == 2
    assert messages_of(harness.pop("A", order=True)) == []
    ack(harness, 2)
    assert take(harness) == [b"3", b"4", b"5"]


def test_an_expired_ordered_batch_restarts_at_the_first_unacknowledged_message(harness: EngineHarness) -> None:
    """The next batch starts at the committed offset and may include messages that were not in the last one (5.3.3)."""
    filled(harness)
    take(harness)
    ack(harness, 0)
    ack(harness, 1)
    harness.advance(10_001)
    assert take(harness) == [b"2", b"3", b"4"]
    assert harness.last_pop.order_count_info == "0 qo0%2 1;0 0 0"
    harness.advance(10_001)
    assert take(harness) == [b"2", b"3", b"4"]
    assert harness.last_pop.order_count_info == "0 qo0%2 2;0 qo0%3 1;0 qo0%4 1;0 0 1"


def test_a_waiting_ordered_pop_is_woken_when_its_queue_is_unblocked(harness: EngineHarness) -> None:
    """The last acknowledgement of a batch wakes a waiting pop at once; so does the end of the invisible duration."""
    filled(harness)
    take(harness, invisible_ms=3000)
    expiring = harness.pop("A", order=True, poll_ms=20_000, count=3)
    harness.advance(2999)
    assert expiring.outcome is None
    harness.advance(1)
    assert isinstance(expiring.outcome, PopResult)
    assert bodies(expiring.outcome.messages) == [b"0", b"1", b"2"]
    harness.last_pop = expiring.outcome
    waiting = harness.pop("A", order=True, poll_ms=20_000, count=3)
    for index in range(3):
        assert waiting.outcome is None
        ack(harness, index)
    assert isinstance(waiting.outcome, PopResult)
    assert bodies(waiting.outcome.messages) == [b"3", b"4", b"5"]


def test_a_pop_woken_by_a_timer_gets_its_response_before_the_pop_that_it_wakes(harness: EngineHarness) -> None:
    """A delayed message arrives when a queue is unblocked: the woken pop reads first, then it wakes another pop."""
    harness.topic("A", queues=2)
    harness.send("A", b"delayed", queue=1, DELAY="2")
    for body in (b"0", b"1"):
        harness.send("A", body)
    take(harness, 1, invisible_ms=5000)
    for count in (1, 2):
        harness.pop("A", order=True, poll_ms=20_000, count=count)
    harness.advance(5000)
    answered = [entry.subject for entry in harness.engine.journal if isinstance(entry.outcome, PopResult)]
    assert [pop.max_msg_nums for pop in answered[1:] if isinstance(pop, PopMessage)] == [1, 2]


def test_a_changed_ordered_handle_keeps_its_pop_time_and_blocks_the_queue_longer(harness: EngineHarness) -> None:
    """A changed handle keeps its pop time, from which its invisible duration counts; other messages keep theirs."""
    filled(harness, 2)
    take(harness, count=2)
    harness.advance(1000)
    receipt = harness.receipt(harness.last_pop.messages[1])
    changed = harness.change("A", receipt, 20_000)
    assert (changed.pop_time, changed.invisible_ms) == (receipt.pop_time, 21_000)
    harness.advance(15_000)
    assert messages_of(harness.pop("A", order=True)) == []
    harness.advance(5001)
    assert take(harness) == [b"0", b"1"]


def test_an_invisible_duration_change_before_the_group_offset_has_no_effect(harness: EngineHarness) -> None:
    """A change of an earlier message returns zeros; a change of the message at the offset takes effect."""
    filled(harness, 3)
    take(harness, count=1)
    passed = harness.receipt(harness.last_pop.messages[0])
    harness.ack("A", passed)
    take(harness, count=1)
    current = harness.receipt(harness.last_pop.messages[0])
    harness.advance(1000)
    done = harness.change("A", passed, 20_000)
    assert (done.pop_time, done.invisible_ms, done.revive_qid) == (0, 0, 0)
    changed = harness.change("A", current, 20_000)
    assert (changed.pop_time, changed.invisible_ms, changed.revive_qid) == (current.pop_time, 21_000, 999)
    harness.advance(19_999)
    assert messages_of(harness.pop("A", order=True)) == []
    harness.advance(2)
    assert take(harness, count=1) == [b"1"]


def test_a_stale_ordered_ack_has_no_effect_and_one_outside_the_batch_is_rejected(harness: EngineHarness) -> None:
    """A stale handle and one below the committed offset have no effect; an offset outside the batch is rejected."""
    filled(harness)
    take(harness, count=2, invisible_ms=1000)
    stale = harness.receipt(harness.last_pop.messages[0])
    harness.advance(1001)
    take(harness, count=2)
    assert not isinstance(harness.ack("A", stale).outcome, EngineError)
    assert harness.broker.offsets.query("G", "A", 0) == 0
    current = harness.receipt(harness.last_pop.messages[0])
    current.queue_offset = 5
    refused = harness.ack("A", current).outcome
    assert isinstance(refused, EngineError)
    assert (refused.code, (refused.remark or "").split(", /")[0]) == (
        13,
        "offset is illegal, key:A@G@0, old:0, commit:5, next:-1",
    )


def test_an_ordered_batch_older_than_a_day_is_redelivered_as_if_new(harness: EngineHarness) -> None:
    """After a day the batch is redelivered as if for the first time, and its handles acknowledge by offset alone."""
    filled(harness, 2)
    take(harness, count=2, invisible_ms=1_000)
    old = harness.receipt(harness.last_pop.messages[0])
    harness.advance(DAY_MS)
    take(harness, count=2, invisible_ms=1_000)
    assert harness.last_pop.order_count_info == "0 qo0%0 1;0 qo0%1 1;0 0 1"
    harness.advance(DAY_MS + 1)
    take(harness, count=2, invisible_ms=2 * DAY_MS)
    assert harness.last_pop.order_count_info == "0 0 0"
    harness.advance(DAY_MS + 1)
    assert not isinstance(harness.ack("A", old).outcome, EngineError)
    assert harness.broker.offsets.query("G", "A", 0) == 1


def test_a_queue_that_is_removed_and_added_again_has_no_ordered_batch_in_flight(harness: EngineHarness) -> None:
    harness.topic("A", 2)
    harness.send("A", b"x", queue=1)
    assert take(harness, invisible_ms=3_600_000) == [b"x"]
    assert take(harness) == []
    harness.topic("A", 1)
    harness.topic("A", 2)
    assert take(harness) == [b"x"]
    assert harness.last_pop.order_count_info == "0 1 0"
