"""Pop, acknowledge, change of the invisible duration and redelivery, in virtual time."""

from typing import Any

import pytest
from engine_harness import EngineHarness, bodies, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleTime,
    Notification,
    NotificationResult,
    PeekMessage,
    PollingInfo,
    PollingInfoResult,
    PopMessage,
    PopResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig

RETRY = "%RETRY%G_A"


def filled(harness: EngineHarness, count: int = 3, queues: int = 1, topic: str = "A") -> str:
    harness.topic(topic, queues)
    for n in range(count):
        harness.send(topic, b"%d" % n, queue=n % queues, TAGS="t")
    return topic


def test_a_pop_reads_every_queue_once_from_a_random_start(harness: EngineHarness) -> None:
    """One pop reads every queue once, in ascending order with wrap-around, and lists offsets in record order."""
    filled(harness, 12, 4)
    messages = harness.popped("A")
    order = list(dict.fromkeys(message.queue_id for message in messages))
    assert sorted(order) == [0, 1, 2, 3]
    assert order == [(order[0] + step) % 4 for step in range(4)]
    listed = [
        (int(queue), int(offset))
        for _, queue, offsets in (part.split(" ") for part in harness.last_pop.msg_offset_info.split(";"))
        for offset in offsets.split(",")
    ]
    assert listed == [(m.queue_id, m.queue_offset) for m in messages]
    assert {_first_queue(seed) for seed in range(20)} == {0, 1, 2, 3}


def _first_queue(seed: int) -> int:
    harness = make_harness(seed=seed)
    filled(harness, 4, 4)
    return harness.popped("A", count=1)[0].queue_id


def test_a_popped_message_is_hidden_from_its_own_group_only(harness: EngineHarness) -> None:
    """A popped message is hidden from other clients of the group; another group receives it."""
    filled(harness)
    assert len(harness.popped("A")) == 3
    assert harness.popped("A") == []
    assert len(harness.popped("A", group="H")) == 3


def test_only_unacknowledged_messages_are_redelivered_through_the_retry_topic(harness: EngineHarness) -> None:
    """After the invisible duration only unacknowledged messages are redelivered, as attempt 2 of the retry topic."""
    filled(harness)
    messages = harness.popped("A")
    harness.ack("A", harness.receipt(messages[1]))
    harness.advance(30_000)
    again = harness.popped("A")
    assert sorted(bodies(again)) == [b"0", b"2"]
    assert {(m.topic_digit, m.queue_id, m.reconsume_times) for m in again} == {(1, 0, 1)}
    record = decode(again[0].record)
    found = record.property_map()
    assert record.topic == "A"
    assert found["POP_CK"].split(" ")[4:] == ["1", "broker-a", "0", "0"]
    assert found["1ST_POP_TIME"] == str(harness.now_ms - 30_000)
    assert found["TAGS"] == "t"


def test_redelivery_follows_two_to_four_seconds_after_the_invisible_duration(harness: EngineHarness) -> None:
    """A copy is stored more than 2 s and less than 4 s after the invisible duration ends (observed: 2.0 to 3.9 s)."""
    filled(harness, 1)
    harness.popped("A", invisible_ms=10_000)
    harness.advance(12_000)
    assert harness.broker.store.max_offset(RETRY, 0) == 0
    harness.advance(1_900)
    assert harness.broker.store.max_offset(RETRY, 0) == 1


def test_each_redelivery_of_a_popped_message_raises_its_reconsume_times(harness: EngineHarness) -> None:
    """An unacknowledged message is redelivered again and again, because a pop has no retry limit at the broker."""
    filled(harness, 1)
    for attempt in range(5):
        (message,) = harness.popped("A", invisible_ms=1000)
        assert message.reconsume_times == attempt
        assert message.queue_offset == max(attempt - 1, 0)
        harness.advance(10_000)


def test_an_ack_after_the_invisible_duration_counts_until_the_message_is_revived(harness: EngineHarness) -> None:
    """An acknowledgement within the 2 s of slack suppresses the redelivery; a later one has no effect."""
    filled(harness, 2)
    early, late = harness.popped("A", invisible_ms=4000)
    early_receipt, late_receipt = harness.receipt(early), harness.receipt(late)
    harness.advance(5000)
    assert harness.ack("A", early_receipt).outcome is not None
    harness.advance(10_000)
    harness.ack("A", late_receipt)
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"1"]


def test_after_an_invisible_duration_change_only_the_new_handle_acknowledges(harness: EngineHarness) -> None:
    """After a change the message is redelivered at the new time, and only the new handle acknowledges it."""
    filled(harness, 2)
    first, second = harness.popped("A", invisible_ms=10_000)
    old_first, old_second = harness.receipt(first), harness.receipt(second)
    harness.change("A", old_first, 30_000)
    new_second = harness.change("A", old_second, 30_000)
    harness.ack("A", old_first)
    harness.ack("A", new_second)
    harness.advance(25_000)
    assert harness.popped("A") == []
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"0"]


def test_an_invisible_duration_change_after_an_ack_redelivers_the_message(harness: EngineHarness) -> None:
    """A change of an acknowledged message redelivers it, because upstream does not store that it was acknowledged."""
    filled(harness, 1)
    (message,) = harness.popped("A")
    receipt = harness.receipt(message)
    harness.ack("A", receipt)
    harness.change("A", receipt, 2000)
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"0"]


@pytest.mark.parametrize(("invisible_ms", "place"), [(5000, 0), (10_000, 2), (12_000, 2), (20_000, 2)])
def test_an_invisible_duration_change_in_the_instant_of_the_pop_loses_no_message(
    harness: EngineHarness, invisible_ms: int, place: int
) -> None:
    """Even in the millisecond of the pop the new check point gets another key than the check point of the batch."""
    filled(harness)
    first = harness.popped("A", invisible_ms=10_000)[0]
    harness.change("A", harness.receipt(first), invisible_ms)
    came = []
    for _ in range(30):
        harness.advance(1000)
        came += bodies(harness.popped("A", invisible_ms=3_600_000))
    others = [b"1", b"2"]
    assert came == [*others[:place], b"0", *others[place:]]


def test_a_pop_that_may_wait_reads_past_800_nonmatching_messages(harness: EngineHarness) -> None:
    """A read examines 800 units; a pop that may wait reads again at once (observed), others report the rest."""
    harness.topic("A")
    for _ in range(2000):
        harness.send("A", TAGS="no")
    harness.send("A", b"match", TAGS="yes")
    outcome = harness.pop("A", expression="yes").outcome
    assert isinstance(outcome, PopResult)
    assert (outcome.code, outcome.rest_num) == (ResponseCode.POLLING_TIMEOUT, 1201)
    assert harness.broker.offsets.query("G", "A", 0) == 800
    outcome = harness.pop("A", expression="yes", poll_ms=6000).outcome
    assert isinstance(outcome, PopResult)
    assert bodies(outcome.messages) == [b"match"]
    assert outcome.start_offset_info == "0 0 1600"
    assert harness.pop("A", expression="yes", poll_ms=6000).outcome is None


def test_a_pop_of_zero_messages_waits_until_its_deadline(harness: EngineHarness) -> None:
    """A pop of zero messages gets an empty response at its deadline, although there are messages."""
    filled(harness)
    waiting = harness.pop("A", count=0, poll_ms=6000)
    assert waiting.outcome is None
    harness.advance(6000)
    assert isinstance(waiting.outcome, PopResult)
    assert waiting.outcome.code is ResponseCode.POLLING_TIMEOUT


def test_a_pop_of_a_negative_number_of_messages_is_rejected(harness: EngineHarness) -> None:
    """A pop of a negative number of messages fails with "Illegal Capacity"."""
    filled(harness)
    refused = harness.pop("A", count=-1).outcome
    assert isinstance(refused, EngineError)
    assert refused.remark == "java.lang.IllegalArgumentException: Illegal Capacity: -1"


def test_a_batch_ack_acknowledges_each_set_bit_and_an_empty_one_is_rejected(harness: EngineHarness) -> None:
    """Bits address the offsets from the start offset on; offsets outside the queue are skipped."""
    filled(harness, 3)
    harness.popped("A")
    pop = harness.last_pop
    ack = BatchAck("G", "A", "0", 0, 0, pop.revive_qid, pop.pop_time, pop.invisible_ms, bit_set(0b1101 | 1 << 40))
    harness.engine.execute(harness.broker, BatchAckMessage([ack]))
    harness.advance(30_000)
    assert bodies(harness.popped("A")) == [b"1"]
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(harness.broker, BatchAckMessage([]))
    assert refused.value.code == ResponseCode.NO_MESSAGE


def test_a_batch_ack_ignores_millions_of_bits_beyond_the_queue(harness: EngineHarness) -> None:
    """A forged batch with millions of bits acknowledges the existing messages and takes no noticeable time."""
    filled(harness, 3)
    harness.popped("A")
    pop = harness.last_pop
    for start in (0, -(1 << 62), 1 << 62):
        ack = BatchAck("G", "A", "0", start, 0, pop.revive_qid, pop.pop_time, pop.invisible_ms, b"\xff" * 1_000_000)
        harness.engine.execute(harness.broker, BatchAckMessage([ack]))
    harness.advance(30_000)
    assert harness.popped("A") == []


def test_check_points_and_acks_are_messages_of_the_revive_topic(harness: EngineHarness) -> None:
    """Check points and acknowledgements can be counted and read in the revive topic."""
    filled(harness, 2)
    (message, _) = harness.popped("A", invisible_ms=6000)
    harness.ack("A", harness.receipt(message))
    harness.advance(8000)
    topic = "rmq_sys_REVIVE_LOG_DefaultCluster"
    stored = [
        decode(record)
        for queue in range(8)
        for offset in range(harness.broker.store.max_offset(topic, queue))
        if (record := harness.broker.store.record(topic, queue, offset))
    ]
    assert [record.property_map()["TAGS"] for record in stored] == ["ck", "ack"]
    pop_time = harness.last_pop.pop_time
    assert stored[0].body == (
        b'{"bm":0,"bn":"broker-a","c":"G","d":[0,1],"it":6000,"n":2,"pt":%d,"q":0,"reviveTime":%d,"ro":0,"so":0,"t":"A"}'
        % (pop_time, pop_time + 6000)
    )
    assert stored[1].body == b'{"ao":0,"bn":"broker-a","c":"G","pt":%d,"q":0,"so":0,"t":"A"}' % pop_time


def _digits(harness: EngineHarness, *topics: str) -> list[int]:
    """Send 1000 messages to each topic and pop 1000 single messages; return the topic digit of each."""
    for topic in topics:
        filled(harness, 1000, topic=topic)
    return [harness.popped("A", count=1)[0].topic_digit for _ in range(1000)]


def test_one_pop_in_five_reads_the_retry_topic_first(harness: EngineHarness) -> None:
    """About one pop in five reads the retry topic before the others (observed: 18 %)."""
    digits = _digits(harness, "A", RETRY)
    assert set(digits) == {0, 1}
    assert 170 <= digits.count(1) <= 230


def test_with_v2_enabled_a_pop_reads_the_v1_or_the_v2_retry_topic_at_random() -> None:
    """With enableRetryTopicV2 a pop that reads retry topics first reads the v1 topic in one of two cases."""
    harness = make_harness(enable_retry_topic_v2=True, pop_from_retry_probability=100)
    filled(harness, 1000)
    while harness.popped("A", invisible_ms=1000):
        pass
    harness.advance(10_000)
    digits = _digits(harness, RETRY)
    assert set(digits) == {1, 2}
    assert 450 <= digits.count(1) <= 550


def test_a_waiting_pop_is_woken_only_by_messages_of_its_queue_and_tag(harness: EngineHarness) -> None:
    """A waiting pop is woken only for its own queues and tags, and otherwise ends exactly at its deadline."""
    harness.topic("A", 2)
    any_queue = harness.pop("A", poll_ms=5000)
    other_queue = harness.pop("A", queue=0, poll_ms=5000)
    other_tag = harness.pop("A", group="H", poll_ms=5000, expression="x")
    harness.advance(1000)
    harness.send("A", b"now", queue=1, TAGS="y")
    assert isinstance(any_queue.outcome, PopResult)
    assert bodies(any_queue.outcome.messages) == [b"now"]
    harness.advance(3999)
    assert other_queue.outcome is None
    assert other_tag.outcome is None
    harness.advance(1)
    for call in (other_queue, other_tag):
        assert isinstance(call.outcome, PopResult)
        assert call.outcome.code == ResponseCode.POLLING_TIMEOUT


def test_one_message_wakes_one_pop_of_each_group(harness: EngineHarness) -> None:
    """One message wakes one pop of each group, the one with the earliest deadline."""
    harness.topic("A")
    late = harness.pop("A", poll_ms=9000)
    early = harness.pop("A", poll_ms=5000)
    other = harness.pop("A", group="H", poll_ms=9000)
    harness.send("A")
    assert early.outcome is not None
    assert late.outcome is None
    assert other.outcome is not None


def test_a_pop_that_leaves_messages_wakes_the_next_waiting_pop(harness: EngineHarness) -> None:
    """A pop that leaves messages in the queue wakes the next waiting pop, also with 500 of them."""
    harness.topic("A")
    calls = [harness.pop("A", count=1, poll_ms=10_000, expression="x") for _ in range(500)]
    for _ in range(500):
        harness.broker.store.arrivals, arrivals = [], harness.broker.store.arrivals
        harness.send("A", TAGS="x")
        harness.broker.store.arrivals = arrivals
    assert all(call.outcome is None for call in calls)
    harness.broker.pops.polling.wake("A", "G", -1)
    assert all(call.outcome is not None for call in calls)


def test_pops_beyond_the_polling_size_return_polling_full(harness: EngineHarness) -> None:
    """Pops beyond popPollingSize + 1 waiting ones return POLLING_FULL at once (seen on 5.3.3)."""
    harness = make_harness(pop_polling_size=1)
    harness.topic("A")
    calls = [harness.pop("A", poll_ms=5000) for _ in range(5)]
    codes = [call.outcome.code if isinstance(call.outcome, PopResult) else None for call in calls]
    assert codes == [None, None, 209, 209, 209]
    info = harness.engine.execute(harness.broker, PollingInfo("G", "A", -1))
    assert isinstance(info, PollingInfoResult)
    assert info.polling_num == 2


def test_a_v1_retry_message_wakes_pops_only_with_wake_poll_on_redelivery(harness: EngineHarness) -> None:
    """A v1 retry message does not end a poll before its deadline, unless `wakePollOnRedelivery` is set."""
    for wake, expected in ((False, None), (True, PopResult)):
        harness = make_harness(wake_poll_on_redelivery=wake)
        filled(harness, 1)
        harness.popped("A", invisible_ms=1000)
        call = harness.pop("A", poll_ms=12_000)
        harness.advance(6000)
        assert (call.outcome is None) == (expected is None)
        harness.advance(6000)
        assert isinstance(call.outcome, PopResult)
        assert bodies(call.outcome.messages) == [b"0"]


def test_a_message_in_a_v2_retry_topic_wakes_a_waiting_pop() -> None:
    """With enableRetryTopicV2 the retry topic is %RETRY%group+topic (digit 2), and its messages wake waiting pops."""
    harness = make_harness(enable_retry_topic_v2=True, retrieve_message_from_pop_retry_topic_v1=False)
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    call = harness.pop("A", poll_ms=12_000)
    harness.advance(6000)
    assert isinstance(call.outcome, PopResult)
    assert call.outcome.messages[0].topic_digit == 2
    assert harness.broker.topics.find("%RETRY%G+A") is not None


def test_an_invalid_pop_is_rejected_with_upstreams_code_and_text(harness: EngineHarness) -> None:
    """Each invalid request returns upstream's code and text, and changes nothing."""
    filled(harness)
    harness.topic("W", perm=2)
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("off", consume_enable=False)))

    def refused(**options: Any) -> tuple[int, str]:
        given: dict[str, Any] = {
            "consumer_group": "G",
            "topic": "A",
            "queue_id": -1,
            "max_msg_nums": 1,
            "invisible_ms": 1000,
        }
        given |= {"poll_ms": 0, "born_ms": 0, "init_mode": 0} | options
        outcome = harness.engine.submit(harness.broker, PopMessage(**given)).outcome
        assert isinstance(outcome, EngineError)
        return outcome.code, outcome.remark or ""

    assert refused(max_msg_nums=33) == (29, "the broker[127.0.0.1] pop message's num is greater than 32")
    assert refused(born_ms=harness.now_ms - 5000) == (210, "the broker[127.0.0.1] pop message is timeout too much")
    assert refused(topic="none")[0] == 17
    assert refused(topic="W") == (16, "the topic[W] peeking message is forbidden")
    assert refused(queue_id=1)[0] == 29
    assert refused(consumer_group="a b")[0] == 26
    assert refused(consumer_group="off") == (16, "subscription group no permission, off")
    assert refused(exp="||") == (23, "parse the consumer's subscription failed")
    assert len(harness.popped("A")) == 3


@pytest.mark.parametrize(
    ("extra_info", "queue", "offset", "code", "text"),
    [
        ("a b", 0, 0, 1, "getBrokerName fail, extraInfoStrs length 2"),
        ("0 1 1 0 0 ", 0, 0, 1, "getBrokerName fail, extraInfoStrs length 5"),
        ("   ", 0, 0, 1, "getBrokerName fail, extraInfoStrs length 0"),
        ("0 x 1 0 0 broker-a 0 0", 0, 0, 1, 'For input string: "x"'),
        ("0 1 1 0 0 broker-a 0 0", 9, 0, 13, "queueId[9] is illegal, topic:[A]"),
        ("0 1 1 0 0 broker-a 0 9", 0, 9, 208, "offset is illegal, key:A@0, commit:9, store:0~3"),
    ],
)
def test_an_ack_with_a_malformed_handle_or_an_illegal_position_is_rejected(
    harness: EngineHarness, extra_info: str, queue: int, offset: int, *, code: int, text: str
) -> None:
    """A malformed handle or a position outside the queue is rejected; the messages stay in flight."""
    filled(harness)
    harness.popped("A")
    outcome = harness.engine.submit(harness.broker, AckMessage("G", "A", queue, extra_info, offset)).outcome
    assert isinstance(outcome, EngineError)
    assert outcome.code == code
    assert text in (outcome.remark or "")
    harness.advance(30_000)
    assert len(harness.popped("A")) == 3


def test_an_ack_with_a_wrong_pop_time_or_revive_queue_succeeds_without_effect(harness: EngineHarness) -> None:
    """The broker checks neither the pop time nor the revive queue of a handle (seen on 5.3.3)."""
    filled(harness, 1)
    (message,) = harness.popped("A")
    for forged in (
        "0 1 10000 0 0 broker-a 0 0",
        harness.receipt(message).text().replace(" 0 0 broker", " 77 0 broker"),
    ):
        harness.engine.execute(harness.broker, AckMessage("G", "A", 0, forged, 0))
    harness.advance(30_000)
    assert len(harness.popped("A")) == 1


def test_an_invisible_duration_change_beyond_the_queue_returns_no_message(harness: EngineHarness) -> None:
    """A change at the end offset of the queue, where no message is, returns NO_MESSAGE."""
    filled(harness, 1)
    harness.popped("A")
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(harness.broker, ChangeInvisibleTime("G", "A", 0, "0 1 1 0 0 broker-a 0 1", 1, 1000))
    assert (refused.value.code, refused.value.remark) == (208, None)


def test_a_notification_waits_for_a_message_and_a_peek_takes_none(harness: EngineHarness) -> None:
    """A notification is answered when a message exists or arrives; a peek puts no message in flight."""
    harness.topic("A")
    call = harness.engine.submit(harness.broker, Notification("G", "A", -1, 3000, 0))
    assert call.outcome is None
    harness.send("A")
    assert call.outcome == NotificationResult(True)
    peeked = harness.engine.execute(harness.broker, PeekMessage("G", "A", -1, 5))
    assert isinstance(peeked, PopResult)
    assert (len(peeked.messages), peeked.pop_time) == (1, 0)
    assert len(harness.popped("A")) == 1
    call = harness.engine.submit(harness.broker, Notification("G", "A", -1, 3000, 0))
    harness.advance(3000)
    assert call.outcome == NotificationResult(False)


def test_messages_left_by_a_pop_wake_only_notifications_that_replace_pops(harness: EngineHarness) -> None:
    """Messages left by one pop wake notifications by which the proxy replaces pops, but not those of clients."""
    filled(harness, 2)
    harness.popped("A", invisible_ms=1000)
    plain, instead = (
        harness.engine.submit(harness.broker, Notification("G", "A", -1, 20_000, 0, for_pop=each))
        for each in (False, True)
    )
    harness.advance(6000)
    assert (plain.outcome, instead.outcome) == (None, None)
    assert len(harness.popped("A", count=1)) == 1
    assert (plain.outcome, instead.outcome) == (None, NotificationResult(True))


def test_a_new_group_starts_at_offset_0_while_the_queue_has_its_first_message(harness: EngineHarness) -> None:
    """Init mode MAX on a queue that still has its first message means offset 0, and so does an empty queue."""
    filled(harness)
    assert len(harness.popped("A", group="new")) == 3
    harness.topic("B")
    pop = PopMessage("G", "B", queue_id=-1, max_msg_nums=32, invisible_ms=10_000, init_mode=1)
    harness.engine.submit(harness.broker, pop)
    harness.send("B")
    harness.send("B")
    assert len(harness.popped("B")) == 2


def test_a_malformed_message_in_the_revive_topic_is_ignored(harness: EngineHarness) -> None:
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    for tag in ("ck", "ack", "bAck"):
        for body in (b"", b"{", b"[]", b"{}", b'{"t":1}', b'{"d":["x"],"t":"A","c":"G","bn":"b","q":0}'):
            harness.send("rmq_sys_REVIVE_LOG_DefaultCluster", body or b" ", TAGS=tag)
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"0"]


def test_a_check_point_beyond_the_timer_limit_holds_back_the_group_offset(harness: EngineHarness) -> None:
    """With an invisible duration over three days the group's offset waits until the timer accepts the check point."""
    filled(harness, 2)
    day = 86_400_000
    assert bodies(harness.popped("A", count=1, invisible_ms=4 * day)) == [b"0"]
    (message,) = harness.popped("A")
    assert harness.broker.offsets.query("G", "A", 0) == 0
    with pytest.raises(EngineError) as refused:
        harness.change("A", harness.receipt(message), 4 * day)
    assert refused.value.code == 1
    harness.advance(70_000)
    assert bodies(harness.popped("A", invisible_ms=5 * day)) == [b"1"]
    harness.advance(day)
    assert harness.broker.offsets.query("G", "A", 0) == 2
    harness.advance(3 * day + 4000)
    assert bodies(harness.popped("A")) == [b"0"]


def test_after_an_offset_reset_the_end_of_a_waiting_notification_of_the_queue_delivers(harness: EngineHarness) -> None:
    """An offset reset wakes no request. The end of a wait for its queue delivers, those of other queues do not."""
    harness.topic("A", 2)
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    harness.send("A", queue=0)
    harness.broker.offsets.commit("G", "A", 0, 1)
    waits = [
        harness.engine.submit(harness.broker, Notification("G", "A", queue, 20_000, harness.now_ms)) for queue in (0, 1)
    ]
    assert [wait.outcome for wait in waits] == [None, None]
    assert list(harness.broker.notifications.delivering_poll_ends()) == []
    harness.broker.offsets.commit("G", "A", 0, 0)
    assert len(list(harness.broker.notifications.delivering_poll_ends())) == 1
    waits[0].active = False
    assert list(harness.broker.notifications.delivering_poll_ends()) == []
