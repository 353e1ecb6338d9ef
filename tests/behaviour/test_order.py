"""Order: a queue has one batch in flight per group; older clients keep order by queue locks."""

import pytest
from entrance import BrokerEntrance, Entrance, handles
from entrance_grpc import GrpcEntrance
from entrances import ALL, BROKER, through
from rocketmq_testkit.emulator.kernel.random_streams import Chance
from rocketmq_testkit.emulator.operations import DeleteGroup, ResetOffset

RETRY, DEAD = "%RETRY%G_T", "%DLQ%G"


def ordered(e: Entrance, count: int = 6) -> None:
    """Create a queue with messages of one message group."""
    e.fifo()
    e.send(*(b"%d" % number for number in range(count)), message_group="g")


@through(*ALL)
def test_a_batch_blocks_its_queue(e: Entrance) -> None:
    """A batch in flight blocks its queue for all consumers of the group, including its own.

    Other groups are unaffected.
    """
    ordered(e)
    e.group("H", consume_message_orderly=True)
    assert e.bodies(order=True, client="one", count=2) == [b"0", b"1"]
    assert e.bodies(order=True, client="one") == e.bodies(order=True, client="two") == []
    assert e.bodies(order=True, group="H", count=1) == [b"0"]


@through(*ALL)
def test_queues_are_blocked_one_by_one(e: Entrance) -> None:
    """An ordered batch blocks its own queue only."""
    e.fifo(queues=3)
    for queue in range(3):
        e.store(b"%d" % queue, b"%d" % (queue + 10), queue=queue)
    taken = [e.take(order=True, count=1) for _ in range(4)]
    assert sorted(each.queue_id for messages in taken for each in messages) == [0, 1, 2]
    assert taken[3] == []


@through(*ALL)
def test_an_ordered_group_is_where_its_first_open_message_is(e: Entrance) -> None:
    """The offset of an ordered group is its first unacknowledged message, for any order of acknowledgements.

    The last acknowledgement of the batch frees the queue.
    """
    ordered(e)
    first, second, third = handles(e.take(order=True, count=3))
    assert e.committed() == 0
    e.ack(second)
    assert e.committed() == 0
    e.ack(first)
    assert e.committed() == 2
    assert e.bodies(order=True) == []
    e.ack(third)
    assert e.committed() == 3
    assert e.bodies(order=True) == [b"3", b"4", b"5"]


@through(*ALL)
def test_a_batch_can_be_acknowledged_at_once(e: Entrance) -> None:
    """One request acknowledges a whole ordered batch."""
    ordered(e)
    e.ack(*handles(e.take(order=True, count=4)))
    assert e.committed() == 4
    assert e.bodies(order=True) == [b"4", b"5"]


@through(*ALL)
def test_what_was_not_acknowledged_comes_again_first(e: Entrance) -> None:
    """Redelivery of an ordered batch starts at its first unacknowledged message and includes all later ones.

    Acknowledged messages behind it and new messages are returned as well; no copy is written to the retry topic.
    """
    ordered(e, 4)
    first, _, third = handles(e.take(order=True, count=3))
    e.ack(first)
    e.ack(third)
    e.advance(10_000)
    assert e.bodies(order=True) == [b"1", b"2", b"3"]
    assert e.records(RETRY) == []


@through(*ALL)
def test_attempts_of_a_batch_are_counted(e: Entrance) -> None:
    """The broker counts an attempt for each redelivery of the same ordered batch."""
    ordered(e, 2)
    seen = []
    for _ in range(3):
        seen.append([each.attempt for each in e.take(order=True)])
        e.advance(10_001)
    assert seen == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("e", "third"),
    [(("engine", {}), [2, 1, 0]), (("remoting", {}), [2, 1, 0]), (("grpc", {}), [0, 0, 0])],
    ids=["engine", "remoting", "grpc"],
    indirect=["e"],
)
def test_attempts_of_growing_batches_are_counted(e: Entrance, third: list[int]) -> None:
    """The broker counts attempts per message of a growing batch.

    The proxy shows the attempt of the queue only, which is that of the newest message.
    """
    ordered(e, 3)
    for count in (1, 2):
        e.take(order=True, count=count)
        e.advance(10_001)
    assert [each.attempt for each in e.take(order=True)] == third


@through(*ALL)
def test_the_same_attempt_gets_the_same_batch(e: Entrance) -> None:
    """A repeated ordered pop with the same attempt id returns the same batch without counting an attempt."""
    ordered(e)
    assert e.bodies(order=True, count=3, attempt="a") == [b"0", b"1", b"2"]
    e.advance(1_000)
    assert e.bodies(order=True, count=3, attempt="b") == []
    again = e.take(order=True, count=3, attempt="a")
    assert [(each.body, each.attempt) for each in again] == [(b"0", 0), (b"1", 0), (b"2", 0)]


@through(*ALL)
def test_one_message_that_is_hidden_longer_keeps_the_queue(e: Entrance) -> None:
    """An ordered batch blocks its queue until the longest invisible duration of its messages ends."""
    ordered(e, 2)
    _, second = handles(e.take(order=True))
    assert e.change(second, 30_000).ok
    e.advance(29_999)
    assert e.bodies(order=True) == []
    e.advance(1)
    assert e.bodies(order=True) == [b"0", b"1"]


@through(*ALL)
def test_all_messages_hidden_shorter_free_the_queue(e: Entrance) -> None:
    """A shorter invisible duration of all messages of an ordered batch frees its queue earlier.

    Clients change it so when consumption fails.
    """
    ordered(e, 2)
    for handle in handles(e.take(order=True, invisible_ms=60_000)):
        assert e.change(handle, 1_000).ok
    e.advance(999)
    assert e.bodies(order=True) == []
    e.advance(1)
    assert e.bodies(order=True) == [b"0", b"1"]


@through(*ALL)
def test_an_old_handle_does_nothing_to_a_new_batch(e: Entrance) -> None:
    """An acknowledgement with the handle of an earlier ordered batch succeeds without affecting the batch in flight."""
    ordered(e, 2)
    (old,) = e.take(order=True, count=1)
    e.advance(5_000)
    assert e.change(old.handle, 1).ok
    e.advance(1_000)
    e.take(order=True, count=1)
    assert e.ack(old.handle).ok
    assert e.committed() == 0
    assert e.bodies(order=True) == []


@through(*ALL)
@pytest.mark.parametrize("seed", range(3))
def test_no_message_group_overtakes_itself(e: Entrance, seed: int) -> None:
    """Ordered consumption never skips a message of a message group, whichever consumption fails, repeats or is late."""
    draw = Chance(seed).stream("order")
    e.fifo(queues=4)
    left = {f"g{number}": [f"g{number}:{turn}" for turn in range(6)] for number in range(5)}
    for turn in range(6):
        for name in left:
            e.send(f"{name}:{turn}".encode(), message_group=name)
    for _ in range(400):
        for message in e.take(order=True, count=1 + draw.below(4)):
            text = message.body.decode()
            name = text.split(":")[0]
            if text not in left[name]:
                continue  # It was acknowledged earlier, behind a message that was not.
            if draw.below(3):
                assert left[name][0] == text
                assert e.ack(message.handle).ok
                left[name].pop(0)
            else:
                break
        e.advance(1_000 * draw.below(12))
        if not any(left.values()):
            break
    assert not any(left.values())


@through("grpc")
def test_a_message_that_is_given_up_lets_the_next_one_through(e: GrpcEntrance) -> None:
    """A message that is forwarded to the dead letter queue counts as acknowledged and frees its ordered queue."""
    ordered(e, 2)
    (first,) = e.take(order=True, count=1)
    assert e.bodies(order=True) == []
    assert e.forward(first.handle).ok
    assert [record.body for record in e.records(DEAD)] == [b"0"]
    assert e.bodies(order=True) == [b"1"]
    assert e.committed() == 1


@through("grpc")
def test_a_message_with_too_many_attempts_is_given_up_by_the_proxy(e: GrpcEntrance) -> None:
    """The proxy forwards a message with too many attempts to the dead letter queue instead of returning it."""
    e.filled(1)
    e.group("G", retry_max_times=0)
    assert e.bodies() == [b"0"]
    e.advance(15_000)
    assert e.bodies() == []
    assert [record.body for record in e.records(DEAD)] == [b"0"]


@through(*BROKER)
def test_a_pop_without_order_is_not_blocked(e: BrokerEntrance) -> None:
    """A pop without order is not blocked by an ordered batch and reads from the offset of the group."""
    ordered(e, 2)
    e.take(order=True)
    assert e.bodies() == [b"0", b"1"]


@through(*ALL)
def test_a_deleted_topic_leaves_no_block_behind(e: Entrance) -> None:
    """A recreated topic is not blocked by ordered batches of the deleted one."""
    ordered(e, 2)
    e.take(order=True, invisible_ms=60_000)
    e.delete_topic("T")
    e.topic("T", kind="FIFO")
    assert e.broker.orders.written() == {}
    e.send(b"new", message_group="g")
    assert e.bodies(order=True) == [b"new"]


@through(*ALL)
def test_a_deleted_group_leaves_no_block_behind(e: Entrance) -> None:
    """A recreated group is not blocked by ordered batches of the deleted one."""
    ordered(e, 2)
    e.take(order=True, invisible_ms=60_000)
    e.engine.ask(e.broker, DeleteGroup("G", True))
    assert e.broker.orders.written() == {}
    e.group("G", consume_message_orderly=True)
    assert e.bodies(order=True) == [b"0", b"1"]


@through(*ALL)
def test_a_reset_lifts_the_block(e: Entrance) -> None:
    """An offset reset unblocks an ordered queue, and the group reads from the new offset."""
    ordered(e, 4)
    e.take(order=True, invisible_ms=60_000)
    e.engine.ask(e.broker, ResetOffset("G", "T", 0, 0, 2))
    assert e.bodies(order=True) == [b"2", b"3"]


@through(*ALL)
def test_a_queue_that_is_gone_leaves_no_block_behind(e: Entrance) -> None:
    """A queue that was removed from a topic and added again is not blocked; other queues stay blocked."""
    e.fifo(queues=2)
    for queue in range(2):
        e.store(b"%d" % queue, queue=queue)
    assert len(e.take(order=True, invisible_ms=60_000)) == 2
    e.topic("T", 1, "")
    e.topic("T", 2, "")
    assert e.bodies(order=True) == [b"1"]


@through(*ALL)
@pytest.mark.parametrize(("idle_ms", "attempt"), [(24 * 3_600_000, 1), (24 * 3_600_000 + 1, 0)])
def test_a_batch_is_forgotten_after_a_day(e: Entrance, idle_ms: int, attempt: int) -> None:
    """An ordered batch expires after a day; its messages are then returned as first attempts."""
    ordered(e, 1)
    e.take(order=True)
    e.advance(idle_ms)
    assert [each.attempt for each in e.take(order=True)] == [attempt]


@through(*BROKER)
def test_a_consumer_that_leaves_keeps_its_batch(e: BrokerEntrance) -> None:
    """An unregistered consumer's ordered batch keeps its queue blocked until its invisible duration ends."""
    ordered(e, 2)
    e.beat("one")
    e.beat("two")
    assert e.bodies(order=True, client="one") == [b"0", b"1"]
    e.leave("one")
    assert e.bodies(order=True, client="two") == []
    e.advance(10_000)
    assert e.bodies(order=True, client="two") == [b"0", b"1"]


@through(*ALL)
@pytest.mark.parametrize(("wakes", "after_ms"), [(True, 10_000), (False, 14_000)])
def test_a_queue_that_becomes_free_wakes_who_waits(e: Entrance, wakes: bool, after_ms: int) -> None:
    """With enableNotifyAfterPopOrderLockRelease a freed ordered queue wakes a waiting pop.

    Without it the pop finds the message at its deadline.
    """
    e.configure(enableNotifyAfterPopOrderLockRelease=str(wakes).lower())
    ordered(e, 1)
    e.take(order=True, invisible_ms=10_000)
    waiting = e.pop(order=True, poll_ms=14_000)
    e.advance(after_ms - 1)
    assert waiting.answer is None
    e.advance(1)
    assert waiting.answer is not None
    assert waiting.answer.bodies == [b"0"]


@through(*ALL)
def test_nobody_is_told_of_a_queue_once_that_is_switched_off(e: Entrance) -> None:
    """Disabling enableNotifyAfterPopOrderLockRelease also applies to ordered batches that are already in flight."""
    ordered(e, 1)
    e.take(order=True, invisible_ms=10_000)
    waiting = e.pop(order=True, poll_ms=14_000)
    e.configure(enableNotifyAfterPopOrderLockRelease="false")
    e.advance(13_999)
    assert waiting.answer is None


@through(*BROKER)
def test_a_queue_is_locked_by_one_client(e: BrokerEntrance) -> None:
    """A queue lock is granted to one client; a request for several queues is granted the free ones."""
    e.topic(queues=3)
    assert e.lock("a", 0, 1) == [0, 1]
    assert e.lock("b", 0, 1, 2) == [2]
    assert e.lock("a", 0, 1, 2) == [0, 1]


@through(*BROKER)
def test_a_lock_is_handed_over_when_it_is_given_back(e: BrokerEntrance) -> None:
    """Only the client that holds a queue lock can release it; then another client can lock the queue."""
    e.topic()
    assert e.lock("a", 0) == [0]
    e.unlock("b", 0)
    assert e.lock("b", 0) == []
    e.unlock("a", 0)
    assert e.lock("b", 0) == [0]


@through(*BROKER)
def test_a_lock_runs_out_a_minute_after_its_last_renewal(e: BrokerEntrance) -> None:
    """A queue lock expires 60 s after its last renewal and is then granted to the next client."""
    e.topic()
    e.lock("a", 0)
    e.advance(40_000)
    assert e.lock("a", 0) == [0]
    e.advance(60_000)
    assert e.lock("b", 0) == []
    e.advance(1)
    assert e.lock("b", 0) == [0]
    assert e.lock("a", 0) == []
