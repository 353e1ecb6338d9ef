"""Ordered pops: one batch of a queue at a time; redelivery starts at the first unacknowledged message."""

from engine_world import World, bodies, messages_of
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.consume import PopMessage, PopResult

DAY_MS = 24 * 3_600_000


def filled(world: World, count: int = 6) -> None:
    world.topic("A")
    for n in range(count):
        world.send("A", b"%d" % n)


def take(world: World, count: int = 3, attempt: str | None = None, invisible_ms: int = 10_000) -> list[bytes]:
    messages = world.popped("A", order=True, count=count, attempt=attempt, invisible_ms=invisible_ms)
    return bodies(messages)


def ack(world: World, index: int) -> object:
    message = world.last_pop.messages[index]
    return world.ack("A", world.receipt(message)).outcome


def test_an_ordered_batch_in_flight_blocks_its_queue_except_for_its_attempt(world: World) -> None:
    """While a batch is in flight no other pop reads the queue; the same attempt gets the same batch, counted once."""
    filled(world)
    assert take(world, attempt="x") == [b"0", b"1", b"2"]
    assert (world.last_pop.revive_qid, world.last_pop.order_count_info) == (999, "0 0 0")
    assert world.broker.offsets.query("G", "A", 0) == 0
    assert messages_of(world.pop("A", order=True)) == []
    assert take(world, attempt="x") == [b"0", b"1", b"2"]
    assert world.last_pop.order_count_info == "0 0 0"


def test_an_ordered_queue_is_unblocked_when_its_whole_batch_is_acknowledged(world: World) -> None:
    """The committed offset is at the first unacknowledged message; the last acknowledgement unblocks the queue."""
    filled(world)
    take(world)
    ack(world, 1)
    assert world.broker.offsets.query("G", "A", 0) == 0
    ack(world, 0)
    assert world.broker.offsets.query("G", "A", 0) == 2
    assert messages_of(world.pop("A", order=True)) == []
    ack(world, 2)
    assert take(world) == [b"3", b"4", b"5"]


def test_an_expired_ordered_batch_restarts_at_the_first_unacknowledged_message(world: World) -> None:
    """The next batch starts at the committed offset and may include messages that were not in the last one (5.3.3)."""
    filled(world)
    take(world)
    ack(world, 0)
    ack(world, 1)
    world.advance(10_001)
    assert take(world) == [b"2", b"3", b"4"]
    assert world.last_pop.order_count_info == "0 qo0%2 1;0 0 0"
    world.advance(10_001)
    assert take(world) == [b"2", b"3", b"4"]
    assert world.last_pop.order_count_info == "0 qo0%2 2;0 qo0%3 1;0 qo0%4 1;0 0 1"


def test_a_waiting_ordered_pop_is_woken_when_its_queue_is_unblocked(world: World) -> None:
    """The last acknowledgement of a batch wakes a waiting pop at once; so does the end of the invisible duration."""
    filled(world)
    take(world, invisible_ms=3000)
    expiring = world.pop("A", order=True, poll_ms=20_000, count=3)
    world.advance(2999)
    assert expiring.outcome is None
    world.advance(1)
    assert isinstance(expiring.outcome, PopResult)
    assert bodies(expiring.outcome.messages) == [b"0", b"1", b"2"]
    world.last_pop = expiring.outcome
    waiting = world.pop("A", order=True, poll_ms=20_000, count=3)
    for index in range(3):
        assert waiting.outcome is None
        ack(world, index)
    assert isinstance(waiting.outcome, PopResult)
    assert bodies(waiting.outcome.messages) == [b"3", b"4", b"5"]


def test_a_pop_woken_by_a_timer_gets_its_response_before_the_pop_that_it_wakes(world: World) -> None:
    """A delayed message arrives when a queue is unblocked: the woken pop reads first, then it wakes another pop."""
    world.topic("A", queues=2)
    world.send("A", b"delayed", queue=1, DELAY="2")
    for body in (b"0", b"1"):
        world.send("A", body)
    take(world, 1, invisible_ms=5000)
    for count in (1, 2):
        world.pop("A", order=True, poll_ms=20_000, count=count)
    world.advance(5000)
    answered = [entry.subject for entry in world.engine.journal if isinstance(entry.outcome, PopResult)]
    assert [pop.max_msg_nums for pop in answered[1:] if isinstance(pop, PopMessage)] == [1, 2]


def test_a_changed_ordered_handle_keeps_its_pop_time_and_blocks_the_queue_longer(world: World) -> None:
    """A changed handle keeps its pop time, from which its invisible duration counts; other messages keep theirs."""
    filled(world, 2)
    take(world, count=2)
    world.advance(1000)
    receipt = world.receipt(world.last_pop.messages[1])
    changed = world.change("A", receipt, 20_000)
    assert (changed.pop_time, changed.invisible_ms) == (receipt.pop_time, 21_000)
    world.advance(15_000)
    assert messages_of(world.pop("A", order=True)) == []
    world.advance(5001)
    assert take(world) == [b"0", b"1"]


def test_an_invisible_duration_change_before_the_group_offset_has_no_effect(world: World) -> None:
    """A change of an earlier message returns zeros; a change of the message at the offset takes effect."""
    filled(world, 3)
    take(world, count=1)
    passed = world.receipt(world.last_pop.messages[0])
    world.ack("A", passed)
    take(world, count=1)
    current = world.receipt(world.last_pop.messages[0])
    world.advance(1000)
    done = world.change("A", passed, 20_000)
    assert (done.pop_time, done.invisible_ms, done.revive_qid) == (0, 0, 0)
    changed = world.change("A", current, 20_000)
    assert (changed.pop_time, changed.invisible_ms, changed.revive_qid) == (current.pop_time, 21_000, 999)
    world.advance(19_999)
    assert messages_of(world.pop("A", order=True)) == []
    world.advance(2)
    assert take(world, count=1) == [b"1"]


def test_a_stale_ordered_ack_has_no_effect_and_one_outside_the_batch_is_rejected(world: World) -> None:
    """A stale handle and one below the committed offset have no effect; an offset outside the batch is rejected."""
    filled(world)
    take(world, count=2, invisible_ms=1000)
    stale = world.receipt(world.last_pop.messages[0])
    world.advance(1001)
    take(world, count=2)
    assert not isinstance(world.ack("A", stale).outcome, EngineError)
    assert world.broker.offsets.query("G", "A", 0) == 0
    current = world.receipt(world.last_pop.messages[0])
    current.queue_offset = 5
    refused = world.ack("A", current).outcome
    assert isinstance(refused, EngineError)
    assert (refused.code, (refused.remark or "").split(", /")[0]) == (
        13,
        "offset is illegal, key:A@G@0, old:0, commit:5, next:-1",
    )


def test_an_ordered_batch_older_than_a_day_is_redelivered_as_if_new(world: World) -> None:
    """After a day the batch is redelivered as if for the first time, and its handles acknowledge by offset alone."""
    filled(world, 2)
    take(world, count=2, invisible_ms=1_000)
    old = world.receipt(world.last_pop.messages[0])
    world.advance(DAY_MS)
    take(world, count=2, invisible_ms=1_000)
    assert world.last_pop.order_count_info == "0 qo0%0 1;0 qo0%1 1;0 0 1"
    world.advance(DAY_MS + 1)
    take(world, count=2, invisible_ms=2 * DAY_MS)
    assert world.last_pop.order_count_info == "0 0 0"
    world.advance(DAY_MS + 1)
    assert not isinstance(world.ack("A", old).outcome, EngineError)
    assert world.broker.offsets.query("G", "A", 0) == 1


def test_a_queue_that_is_removed_and_added_again_has_no_ordered_batch_in_flight(world: World) -> None:
    world.topic("A", 2)
    world.send("A", b"x", queue=1)
    assert take(world, invisible_ms=3_600_000) == [b"x"]
    assert take(world) == []
    world.topic("A", 1)
    world.topic("A", 2)
    assert take(world) == [b"x"]
    assert world.last_pop.order_count_info == "0 1 0"
