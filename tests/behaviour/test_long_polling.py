"""Long polling: requests that wait, the events that wake them, and their end without a message."""

import pytest
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import Waiting, handles


def bodies(waiting: Waiting) -> list[bytes] | None:
    """Return the bodies of a response, None while the request waits."""
    return None if waiting.response is None else waiting.response.bodies


@through(*ALL)
def test_a_message_wakes_a_waiting_pop(e: ProtocolClient) -> None:
    """A stored message wakes a waiting pop in the same millisecond, and the handle has that time as pop time."""
    e.topic()
    waiting = e.pop(poll_ms=15_000)
    e.advance(3_000)
    assert bodies(waiting) is None
    e.send(b"0")
    assert bodies(waiting) == [b"0"]
    assert waiting.response is not None
    assert waiting.response.messages[0].handle.split(" ")[1] == str(e.now_ms)


@through(*ALL)
def test_a_pop_that_finds_something_does_not_wait(e: ProtocolClient) -> None:
    """A pop that finds fewer messages than requested returns them without waiting."""
    e.fill_topic(1)
    assert bodies(e.pop(poll_ms=15_000, count=32)) == [b"0"]


@through(*ALL)
@pytest.mark.parametrize("poll_ms", [5_000, 12_345, 20_000])
def test_a_poll_ends_at_its_deadline(e: ProtocolClient, poll_ms: int) -> None:
    """A pop without messages ends exactly at its deadline with POLLING_TIMEOUT, at the proxy with MESSAGE_NOT_FOUND."""
    e.topic()
    waiting = e.pop(poll_ms=poll_ms)
    e.advance(poll_ms - 1)
    assert waiting.response is None
    e.advance(1)
    assert waiting.response is not None
    assert e.is_error(waiting.response, (210, "NO_MESSAGE_IN_QUEUE"), (40401, "no new message"))
    assert e.state()["waiting"] == (0, 0, 0)


@through(*ALL)
def test_one_message_wakes_one_pop_of_each_group(e: ProtocolClient) -> None:
    """One message wakes one pop of each group: the pop whose deadline is first."""
    e.topic()
    late = e.pop(client="late", poll_ms=15_000)
    early = e.pop(client="early", poll_ms=10_000)
    other = e.pop(group="H", poll_ms=15_000)
    e.send(b"0")
    assert (bodies(late), bodies(early), bodies(other)) == (None, [b"0"], [b"0"])


@through(*ALL)
def test_messages_that_a_woken_pop_leaves_wake_the_next_one(e: ProtocolClient) -> None:
    """Messages that a woken pop leaves wake the next one, so that all waiting pops share the backlog."""
    e.topic()
    waiting = [e.pop(client=str(number), count=1, poll_ms=15_000) for number in range(4)]
    e.send(b"0", b"1", b"2", b"3")
    assert [bodies(each) for each in waiting] == [[b"0"], [b"1"], [b"2"], [b"3"]]


@through(*ALL)
@pytest.mark.parametrize(("expression", "kind"), [("red", "TAG"), ("colour = 'red'", "SQL92")])
def test_only_a_matching_message_wakes_a_waiting_pop(e: ProtocolClient, expression: str, kind: str) -> None:
    """Only a message that matches the tag or SQL92 expression of a waiting pop wakes it; others are skipped."""
    e.topic()
    waiting = e.pop(poll_ms=15_000, expression=expression, kind=kind)
    for number in range(3):
        e.send(b"%d" % number, tag="blue", colour="blue")
        assert bodies(waiting) is None
    e.send(b"3", tag="red", colour="red")
    assert bodies(waiting) == [b"3"]
    assert e.committed() == 4


@through(*ALL)
def test_a_message_in_a_v1_retry_topic_wakes_no_waiting_pop(e: ProtocolClient) -> None:
    """A message in a retry topic of the first form (v1) does not wake a waiting pop.

    The pop finds it at its deadline.
    """
    e.fill_topic(1)
    e.take()
    waiting = e.pop(poll_ms=20_000)
    e.advance(19_999)
    assert len(e.records("%RETRY%G_T")) == 1
    assert bodies(waiting) is None
    e.advance(1)
    assert bodies(waiting) == [b"0"]


@through(*ALL, enable_retry_topic_v2=True, retrieve_message_from_pop_retry_topic_v1=False)
def test_with_enable_retry_topic_v2_a_redelivered_message_wakes_a_waiting_pop(e: ProtocolClient) -> None:
    """With enableRetryTopicV2 a redelivered message wakes a waiting pop, 2 to 4 s after its invisible duration."""
    e.fill_topic(1)
    e.take()
    waiting = e.pop(poll_ms=20_000)
    e.advance(12_000)
    assert bodies(waiting) is None
    e.advance(2_000)
    assert bodies(waiting) == [b"0"]


@through(*ALL, wake_poll_on_redelivery=True)
def test_with_wake_poll_on_redelivery_a_redelivered_message_wakes_a_pop(e: ProtocolClient) -> None:
    """With the emulator's key wakePollOnRedelivery a redelivered message wakes a waiting pop."""
    e.fill_topic(1)
    e.take()
    waiting = e.pop(poll_ms=20_000)
    e.advance(14_000)
    assert bodies(waiting) == [b"0"]


@through(*ALL, wake_poll_on_redelivery=True)
def test_with_wake_poll_on_redelivery_each_redelivery_wakes_a_pop(e: ProtocolClient) -> None:
    """With wakePollOnRedelivery each redelivery wakes a waiting pop, also that of a message of the retry topic."""
    e.fill_topic(1)
    e.take()
    for _ in range(3):
        waiting = e.pop(poll_ms=20_000)
        e.advance(15_000)
        assert bodies(waiting) == [b"0"]


@through(*ALL)
def test_the_last_ack_of_an_ordered_batch_wakes_a_waiting_pop(e: ProtocolClient) -> None:
    """The last acknowledgement of an ordered batch frees the queue and wakes a waiting pop; earlier ones do not."""
    e.fifo()
    e.send(b"0", b"1", b"2", message_group="g")
    first, second = handles(e.take(order=True, count=2))
    waiting = e.pop(order=True, poll_ms=8_000)
    e.ack(first)
    assert bodies(waiting) is None
    e.ack(second)
    assert bodies(waiting) == [b"2"]


@through(*ALL)
def test_the_expiry_of_an_ordered_batch_wakes_a_waiting_pop(e: ProtocolClient) -> None:
    """The end of the invisible duration of an ordered batch frees the queue and wakes a waiting pop."""
    e.fifo()
    e.send(b"0", b"1", message_group="g")
    e.take(order=True, invisible_ms=10_000)
    waiting = e.pop(order=True, poll_ms=20_000)
    e.advance(9_999)
    assert bodies(waiting) is None
    e.advance(1)
    assert bodies(waiting) == [b"0", b"1"]


@through(*ALL)
def test_a_message_in_a_blocked_ordered_queue_does_not_end_a_waiting_pop(e: ProtocolClient) -> None:
    """A message in a blocked ordered queue does not complete a waiting pop, which keeps waiting."""
    e.fifo()
    e.send(b"0", message_group="g")
    (taken,) = e.take(order=True)
    waiting = e.pop(order=True, poll_ms=20_000)
    e.send(b"1", message_group="g")
    assert bodies(waiting) is None
    e.ack(taken.handle)
    assert bodies(waiting) == [b"1"]


@through(*ALL, pop_polling_size=1)
def test_a_pop_beyond_pop_polling_size_is_rejected_with_polling_full(e: ProtocolClient) -> None:
    """A pop beyond the limit of waiting pops is rejected at once with POLLING_FULL.

    With popPollingSize=1, two pops may wait.
    """
    e.topic()
    waiting = [e.pop(client=str(number), poll_ms=10_000) for number in range(4)]
    assert [each.response is None for each in waiting] == [True, True, False, False]
    for each in waiting[2:]:
        assert each.response is not None
        assert e.is_error(each.response, (209, "NO_MESSAGE_IN_QUEUE"), (42900, "polling full"))
    e.send(b"0")
    assert bodies(waiting[0]) == [b"0"]


@through(*ALL, enable_pop_message_threshold=True, pop_inflight_message_threshold=1)
def test_an_ack_wakes_a_pop_that_waits_because_of_messages_in_flight(e: ProtocolClient) -> None:
    """An acknowledgement wakes a pop that waits because its group had too many messages of the queue in flight."""
    e.fill_topic(5)
    taken = e.take(count=2)
    waiting = e.pop(count=1, poll_ms=8_000)
    assert bodies(waiting) is None
    e.ack(taken[0].handle)
    assert bodies(waiting) == [b"2"]


@through(*ALL)
def test_waiting_pops_schedule_nothing_before_their_deadlines(e: ProtocolClient) -> None:
    e.topic()
    for number in range(300):
        e.pop(client=str(number % 10), poll_ms=15_000)
    waits = [each for each in e.engine.scheduler.scheduled() if each.kind in ("pop", "notification")]
    assert len(waits) == 300
    assert {each.due_ms for each in waits} == {e.now_ms + 15_000}
    e.advance(15_000)
    assert e.state()["waiting"] == (0, 0, 0)


@through(*BROKER)
def test_a_pop_of_one_queue_is_woken_by_messages_of_that_queue_only(e: BrokerProtocolClient) -> None:
    """A pop of one queue is woken by messages of that queue only, a pop of any queue by messages of all queues."""
    e.topic(queues=2)
    one, every = e.pop_one_queue(1, poll_ms=5_000), e.pop_one_queue(-1, poll_ms=5_000)
    assert (e.polling_number(1), e.polling_number(-1), e.polling_number(0)) == (1, 1, 0)
    e.store(b"0", queue=0)
    assert (bodies(one), bodies(every)) == (None, [b"0"])
    e.store(b"1", queue=1)
    assert bodies(one) == [b"1"]
    assert (e.polling_number(1), e.polling_number(-1)) == (0, 0)


@through(*BROKER)
def test_neither_a_rebalance_nor_a_reset_wakes_a_waiting_pop(e: BrokerProtocolClient) -> None:
    """Neither a rebalance nor an offset reset wakes a waiting pop; the pop finds the reset at its deadline."""
    e.fill_topic(1)
    e.take()
    waiting = e.pop(poll_ms=5_000)
    e.heartbeat("a")
    e.heartbeat("b")
    e.unregister_consumer("a")
    assert bodies(waiting) is None
    e.broker.offsets.reset("G", "T", 0, 0)
    e.advance(4_999)
    assert bodies(waiting) is None
    e.advance(1)
    assert bodies(waiting) == [b"0"]


@through(*BROKER)
def test_a_rebalance_does_not_end_a_held_pull(e: BrokerProtocolClient) -> None:
    """A rebalance does not end a waiting pull, which a message still wakes."""
    e.topic()
    e.heartbeat("a")
    held = e.pull(0, suspend_ms=15_000)
    e.heartbeat("b")
    e.unregister_consumer("b")
    e.advance(2_000)
    assert held.response is None
    e.send(b"0")
    assert bodies(held) == [b"0"]


@through(*ALL, pop_long_polling_force_notify_interval=3)
def test_every_third_message_wakes_a_pop_with_force_notify_interval_3(e: ProtocolClient) -> None:
    """With popLongPollingForceNotifyInterval=3, every third message wakes a waiting pop, even if it does not match.

    The pop then keeps waiting.
    """
    e.topic()
    e.send(b"0", tag="red")
    assert e.bodies() == [b"0"]
    e.advance(1_000)
    waiting = e.pop(expression="red", poll_ms=15_000)
    positions = []
    for _ in range(4):
        e.send(b"1", tag="blue")
        e.advance(1_000)
        positions.append(e.committed())
    assert positions == [1, 3, 3, 3]
    assert bodies(waiting) is None
    e.send(b"2", tag="red")
    assert bodies(waiting) == [b"2"]


@through(*BROKER)
def test_a_notification_reports_an_available_message_or_none_at_its_deadline(e: BrokerProtocolClient) -> None:
    """A notification reports an available message, at once or on arrival, or none at its deadline.

    It takes no message.
    """
    e.topic()
    timed_out, notified = e.notify(poll_ms=3_000), e.notify(poll_ms=8_000)
    e.advance(3_000)
    assert timed_out.response is not None
    assert (timed_out.response.number, notified.response) == (0, None)
    e.send(b"0")
    assert notified.response is not None
    assert notified.response.number == 1
    at_once = e.notify(poll_ms=3_000)
    assert at_once.response is not None
    assert at_once.response.number == 1
    assert e.bodies() == [b"0"]


@through(*BROKER)
def test_a_peek_returns_messages_without_taking_them(e: BrokerProtocolClient) -> None:
    e.fill_topic(3)
    assert e.peek(2).bodies == e.peek(2).bodies == [b"0", b"1"]
    assert e.bodies() == [b"0", b"1", b"2"]
    empty = e.peek()
    assert (empty.code, empty.remark) == (19, "NO_MESSAGE_IN_QUEUE")


@through(*BROKER)
def test_a_held_pull_ends_with_pull_not_found_at_its_deadline(e: BrokerProtocolClient) -> None:
    """A waiting pull ends at its deadline with PULL_NOT_FOUND and its next offset."""
    e.fill_topic(1)
    held = e.pull(1, suspend_ms=6_000)
    e.advance(5_999)
    assert held.response is None
    e.advance(5_001)
    assert held.response is not None
    assert (held.response.code, held.response.remark, held.response.number) == (19, "OFFSET_OVERFLOW_ONE", 1)


@through(*BROKER)
def test_a_held_pull_skips_a_message_that_does_not_match(e: BrokerProtocolClient) -> None:
    """A waiting pull skips a message that does not match, at its next check, and returns the next offset."""
    e.fill_topic(1)
    held = e.pull(1, suspend_ms=15_000, expression="red")
    e.send(b"1", tag="blue")
    assert held.response is None
    e.advance(5_000)
    assert held.response is not None
    assert (held.response.code, held.response.remark, held.response.number) == (20, "NO_MATCHED_MESSAGE", 2)


@through(*BROKER)
@pytest.mark.parametrize(("expression", "kind"), [("red", "TAG"), ("colour = 'red'", "SQL92")])
def test_only_a_matching_message_wakes_a_held_pull(e: BrokerProtocolClient, expression: str, kind: str) -> None:
    """Only a message that matches the tag or SQL92 expression of a waiting pull wakes it."""
    e.broker.config.enable_property_filter = True
    e.topic()
    held = e.pull(0, suspend_ms=15_000, expression=expression, kind=kind)
    e.send(b"0", tag="blue", colour="blue")
    assert held.response is None
    e.send(b"1", tag="red", colour="red")
    assert held.response is not None
    assert (held.response.bodies, held.response.number) == ([b"1"], 2)
