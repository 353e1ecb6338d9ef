"""Order: a queue has one batch in flight per group; older clients keep order by queue locks."""

import pytest
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import handles
from rocketmq_testkit.emulator.kernel.random_streams import RandomStreams
from rocketmq_testkit.emulator.operations.groups import DeleteGroup
from rocketmq_testkit.emulator.operations.offsets import ResetOffset

RETRY, DEAD = "%RETRY%G_T", "%DLQ%G"


def ordered(e: ProtocolClient, count: int = 6) -> None:
    """Create a queue with messages of one message group."""
    e.fifo()
    e.send(*(b"%d" % number for number in range(count)), message_group="g")


@through(*ALL)
def test_an_ordered_batch_in_flight_blocks_its_queue(e: ProtocolClient) -> None:
    """A batch in flight blocks its queue for all consumers of the group, including its own.

    Other groups are unaffected.
    """
    ordered(e)
    e.group("H", consume_message_orderly=True)
    assert e.bodies(order=True, client="one", count=2) == [b"0", b"1"]
    assert e.bodies(order=True, client="one") == e.bodies(order=True, client="two") == []
    assert e.bodies(order=True, group="H", count=1) == [b"0"]


@through(*ALL)
def test_an_ordered_batch_blocks_its_own_queue_only(e: ProtocolClient) -> None:
    e.fifo(queues=3)
    for queue in range(3):
        e.store(b"%d" % queue, b"%d" % (queue + 10), queue=queue)
    taken = [e.take(order=True, count=1) for _ in range(4)]
    assert sorted(each.queue_id for messages in taken for each in messages) == [0, 1, 2]
    assert taken[3] == []


@through(*ALL)
def test_the_offset_of_an_ordered_group_is_its_first_unacknowledged_message(e: ProtocolClient) -> None:
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
def test_one_request_acknowledges_a_whole_ordered_batch(e: ProtocolClient) -> None:
    ordered(e)
    e.ack(*handles(e.take(order=True, count=4)))
    assert e.committed() == 4
    assert e.bodies(order=True) == [b"4", b"5"]


@through(*ALL)
def test_an_ordered_batch_is_redelivered_from_its_first_unacknowledged_message(e: ProtocolClient) -> None:
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
def test_each_redelivery_of_an_ordered_batch_counts_an_attempt(e: ProtocolClient) -> None:
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
def test_attempts_of_a_growing_ordered_batch_are_counted_per_message(e: ProtocolClient, third: list[int]) -> None:
    """The broker counts attempts per message of a growing batch.

    The proxy shows the attempt of the queue only, which is that of the newest message.
    """
    ordered(e, 3)
    for count in (1, 2):
        e.take(order=True, count=count)
        e.advance(10_001)
    assert [each.attempt for each in e.take(order=True)] == third


@through(*ALL)
def test_an_ordered_pop_with_the_same_attempt_id_returns_the_same_batch(e: ProtocolClient) -> None:
    """A repeated ordered pop with the same attempt id returns the same batch without counting an attempt."""
    ordered(e)
    assert e.bodies(order=True, count=3, attempt="a") == [b"0", b"1", b"2"]
    e.advance(1_000)
    assert e.bodies(order=True, count=3, attempt="b") == []
    again = e.take(order=True, count=3, attempt="a")
    assert [(each.body, each.attempt) for each in again] == [(b"0", 0), (b"1", 0), (b"2", 0)]


@through(*ALL)
def test_an_ordered_batch_blocks_until_its_longest_invisible_duration_ends(e: ProtocolClient) -> None:
    ordered(e, 2)
    _, second = handles(e.take(order=True))
    assert e.change(second, 30_000).ok
    e.advance(29_999)
    assert e.bodies(order=True) == []
    e.advance(1)
    assert e.bodies(order=True) == [b"0", b"1"]


@through(*ALL)
def test_a_shorter_duration_of_a_whole_ordered_batch_frees_its_queue(e: ProtocolClient) -> None:
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
def test_the_handle_of_an_earlier_ordered_batch_acknowledges_nothing(e: ProtocolClient) -> None:
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
def test_ordered_consumption_never_skips_a_message_of_a_message_group(e: ProtocolClient, seed: int) -> None:
    """Ordered consumption never skips a message of a message group, whichever consumption fails, repeats or is late."""
    draw = RandomStreams(seed).stream("order")
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
def test_a_message_forwarded_to_the_dlq_frees_its_ordered_queue(e: GrpcProtocolClient) -> None:
    """A message that is forwarded to the dead letter queue counts as acknowledged and frees its ordered queue."""
    ordered(e, 2)
    (first,) = e.take(order=True, count=1)
    assert e.bodies(order=True) == []
    assert e.forward_by_handle(first.handle).ok
    assert [record.body for record in e.records(DEAD)] == [b"0"]
    assert e.bodies(order=True) == [b"1"]
    assert e.committed() == 1


@through("grpc")
def test_the_proxy_forwards_a_message_with_too_many_attempts_to_the_dlq(e: GrpcProtocolClient) -> None:
    """The proxy forwards a message with too many attempts to the dead letter queue instead of returning it."""
    e.fill_topic(1)
    e.group("G", retry_max_times=0)
    assert e.bodies() == [b"0"]
    e.advance(15_000)
    assert e.bodies() == []
    assert [record.body for record in e.records(DEAD)] == [b"0"]


@through(*BROKER)
def test_a_pop_without_order_is_not_blocked(e: BrokerProtocolClient) -> None:
    """A pop without order is not blocked by an ordered batch and reads from the offset of the group."""
    ordered(e, 2)
    e.take(order=True)
    assert e.bodies() == [b"0", b"1"]


@through(*ALL)
def test_a_recreated_topic_is_not_blocked_by_ordered_batches_of_the_deleted_one(e: ProtocolClient) -> None:
    ordered(e, 2)
    e.take(order=True, invisible_ms=60_000)
    e.delete_topic("T")
    e.topic("T", kind="FIFO")
    assert e.broker.orders.dump_on_crash() == {}
    e.send(b"new", message_group="g")
    assert e.bodies(order=True) == [b"new"]


@through(*ALL)
def test_a_recreated_group_is_not_blocked_by_ordered_batches_of_the_deleted_one(e: ProtocolClient) -> None:
    ordered(e, 2)
    e.take(order=True, invisible_ms=60_000)
    e.engine.execute(e.broker, DeleteGroup("G", True))
    assert e.broker.orders.dump_on_crash() == {}
    e.group("G", consume_message_orderly=True)
    assert e.bodies(order=True) == [b"0", b"1"]


@through(*ALL)
def test_an_offset_reset_unblocks_an_ordered_queue(e: ProtocolClient) -> None:
    """An offset reset unblocks an ordered queue, and the group reads from the new offset."""
    ordered(e, 4)
    e.take(order=True, invisible_ms=60_000)
    e.engine.execute(e.broker, ResetOffset("G", "T", 0, 0, offset=2))
    assert e.bodies(order=True) == [b"2", b"3"]


@through(*ALL)
def test_a_queue_that_was_removed_and_added_again_is_not_blocked(e: ProtocolClient) -> None:
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
def test_an_ordered_batch_expires_after_a_day(e: ProtocolClient, idle_ms: int, attempt: int) -> None:
    """An ordered batch expires after a day; its messages are then returned as first attempts."""
    ordered(e, 1)
    e.take(order=True)
    e.advance(idle_ms)
    assert [each.attempt for each in e.take(order=True)] == [attempt]


@through(*BROKER)
def test_an_unregistered_consumers_ordered_batch_keeps_its_queue_blocked(e: BrokerProtocolClient) -> None:
    """An unregistered consumer's ordered batch keeps its queue blocked until its invisible duration ends."""
    ordered(e, 2)
    e.heartbeat("one")
    e.heartbeat("two")
    assert e.bodies(order=True, client="one") == [b"0", b"1"]
    e.unregister_consumer("one")
    assert e.bodies(order=True, client="two") == []
    e.advance(10_000)
    assert e.bodies(order=True, client="two") == [b"0", b"1"]


@through(*ALL)
@pytest.mark.parametrize(("wakes", "after_ms"), [(True, 10_000), (False, 14_000)])
def test_a_freed_ordered_queue_wakes_a_waiting_pop_if_enabled(e: ProtocolClient, wakes: bool, after_ms: int) -> None:
    """With enableNotifyAfterPopOrderLockRelease a freed ordered queue wakes a waiting pop.

    Without it the pop finds the message at its deadline.
    """
    e.configure(enableNotifyAfterPopOrderLockRelease=str(wakes).lower())
    ordered(e, 1)
    e.take(order=True, invisible_ms=10_000)
    waiting = e.pop(order=True, poll_ms=14_000)
    e.advance(after_ms - 1)
    assert waiting.response is None
    e.advance(1)
    assert waiting.response is not None
    assert waiting.response.bodies == [b"0"]


@through(*ALL)
def test_disabling_the_wake_on_lock_release_applies_to_batches_in_flight(e: ProtocolClient) -> None:
    """Disabling enableNotifyAfterPopOrderLockRelease also applies to ordered batches that are already in flight."""
    ordered(e, 1)
    e.take(order=True, invisible_ms=10_000)
    waiting = e.pop(order=True, poll_ms=14_000)
    e.configure(enableNotifyAfterPopOrderLockRelease="false")
    e.advance(13_999)
    assert waiting.response is None


@through(*BROKER)
def test_a_queue_lock_is_granted_to_one_client(e: BrokerProtocolClient) -> None:
    """A queue lock is granted to one client; a request for several queues is granted the free ones."""
    e.topic(queues=3)
    assert e.lock("a", 0, 1) == [0, 1]
    assert e.lock("b", 0, 1, 2) == [2]
    assert e.lock("a", 0, 1, 2) == [0, 1]


@through(*BROKER)
def test_only_the_holder_of_a_queue_lock_can_release_it(e: BrokerProtocolClient) -> None:
    """Only the client that holds a queue lock can release it; then another client can lock the queue."""
    e.topic()
    assert e.lock("a", 0) == [0]
    e.unlock("b", 0)
    assert e.lock("b", 0) == []
    e.unlock("a", 0)
    assert e.lock("b", 0) == [0]


@through(*BROKER)
def test_a_queue_lock_expires_60_s_after_its_last_renewal(e: BrokerProtocolClient) -> None:
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
