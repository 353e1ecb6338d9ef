"""Pop: the returned messages, their receipt handles, and the stored check points."""

import json

import pytest
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import handles
from rocketmq_testkit.conformance.clients.receipt_handles import handle_fields

REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"


def revive_log(e: ProtocolClient, tag: str) -> list[dict[str, object]]:
    """Return the check points (`ck`) or acknowledgements (`ack`, `bAck`) stored in the revive queues."""
    found = [record for queue in range(8) for record in e.records(REVIVE, queue)]
    return [json.loads(record.body) for record in found if record.property_map()["TAGS"] == tag]


@through(*ALL)
def test_a_pop_returns_messages_in_order_with_all_fields(e: ProtocolClient) -> None:
    """A pop returns messages in order, with body, tag, keys and id as sent."""
    e.topic()
    e.send(b"one", tag="red", keys="k1 k2")
    e.send(b"two", tag="blue")
    one, two = e.take()
    assert (one.body, one.tag, one.keys, one.message_id) == (b"one", "red", ("k1", "k2"), "ID1")
    assert (two.body, two.tag, two.keys, two.message_id) == (b"two", "blue", (), "ID2")
    assert (one.attempt, one.queue_id, one.offset, two.offset) == (0, 0, 0, 1)


@through(*ALL)
def test_a_popped_message_is_hidden_from_other_consumers_of_its_group(e: ProtocolClient) -> None:
    """A popped message is not returned to other consumers of the group; other groups receive it."""
    e.fill_topic(3)
    assert e.bodies(client="one", count=2) == [b"0", b"1"]
    assert e.bodies(client="two") == [b"2"]
    assert e.bodies(client="one") == []
    assert e.bodies(group="H") == [b"0", b"1", b"2"]


@through(*ALL)
def test_a_receipt_handle_holds_the_fields_that_acks_need(e: ProtocolClient) -> None:
    """A receipt handle holds the fields that acknowledgements need.

    These are the start of the read, pop time, invisible duration, revive queue, kind of topic, broker, queue and
    offset. The proxy adds the commit log offset of the message.
    """
    e.fill_topic(3)
    e.bodies(count=1)
    e.advance(250)
    _, last = e.take(invisible_ms=12_000)
    found = handle_fields(last.handle)
    assert 0 <= int(found.pop("revive")) < 8
    if e.name == "grpc":
        assert int(found.pop("log")) == e.records("T")[2].physical_offset
    assert found == {
        "start": "1",
        "popped": str(e.now_ms),
        "invisible": "12000",
        "digit": "0",
        "broker": "broker-a",
        "queue": "0",
        "offset": "2",
    }


@through(*ALL)
def test_pops_use_the_revive_queues_by_turns(e: ProtocolClient) -> None:
    """Pops use the eight revive queues by turns, also pops that find no message."""
    e.fill_topic(8)
    used = [handle_fields(e.take(count=1)[0].handle)["revive"] for _ in range(7)]
    e.take(group="H", count=1)
    used += [handle_fields(e.take(count=1)[0].handle)["revive"]]
    assert used == [str((int(used[0]) + step) % 8) for step in (*range(7), 8)]


@through(*ALL)
def test_a_pop_stores_one_check_point_per_queue(e: ProtocolClient) -> None:
    """A pop stores one check point per queue in a revive queue; it names every popped message of that queue."""
    e.topic(queues=2)
    e.store(b"a", b"b", b"c", queue=0)
    e.store(b"d", queue=1)
    assert sorted(e.bodies()) == [b"a", b"b", b"c", b"d"]
    now = e.now_ms
    e.advance(10_000)
    points = sorted(revive_log(e, "ck"), key=lambda each: str(each["q"]))
    assert [(each["t"], each["c"], each["q"], each["so"], each["n"], each["d"]) for each in points] == [
        ("T", "G", 0, 0, 3, [0, 1, 2]),
        ("T", "G", 1, 0, 1, [0]),
    ]
    assert {(each["pt"], each["it"], each["reviveTime"], each["bn"]) for each in points} == {
        (now, 10_000, now + 10_000, "broker-a")
    }


@through(*ALL)
def test_a_check_point_is_stored_in_the_revive_queue_of_its_handle(e: ProtocolClient) -> None:
    """A check point is stored in the revive queue of its handle, a second before the invisible duration ends."""
    e.fill_topic(1)
    (message,) = e.take()
    queue = int(handle_fields(message.handle)["revive"])
    e.advance(8_900)
    assert e.broker.store.max_offset(REVIVE, queue) == 0
    e.advance(1_200)
    assert [e.broker.store.max_offset(REVIVE, each) for each in range(8)] == [int(each == queue) for each in range(8)]


@through(*ALL)
def test_an_empty_pop_leaves_no_check_point(e: ProtocolClient) -> None:
    e.topic()
    assert e.bodies() == []
    e.advance(20_000)
    assert revive_log(e, "ck") == []


@through(*ALL)
def test_a_pop_moves_the_offset_of_its_group(e: ProtocolClient) -> None:
    """The pop moves the offset of its group; the acknowledgement does not."""
    e.fill_topic(5)
    e.take(count=3)
    assert e.committed() == 3
    e.take()
    assert e.committed() == 5


@through(*BROKER)
def test_a_pop_reads_queues_in_ascending_order_from_a_random_one(e: ProtocolClient) -> None:
    """A pop reads each queue once in ascending order, wrapping at the end, from a random first queue."""
    e.topic(queues=4)
    for queue in range(4):
        e.store(b"a", b"b", queue=queue)
    firsts = set()
    for number in range(40):
        order = list(dict.fromkeys(each.queue_id for each in e.take(group=f"G{number}")))
        assert order == [(order[0] + step) % 4 for step in range(4)]
        firsts.add(order[0])
    assert firsts == {0, 1, 2, 3}


@through("grpc")
def test_a_proxy_reads_all_queues_of_its_broker(e: ProtocolClient) -> None:
    """The proxy reads all queues of the broker, whichever queue the receive names."""
    e.topic(queues=4)
    for queue in range(4):
        e.store(b"%d" % queue, queue=queue)
    assert sorted(e.bodies()) == [b"0", b"1", b"2", b"3"]


@through(*ALL)
def test_a_pop_that_is_full_leaves_the_rest(e: ProtocolClient) -> None:
    """A pop returns at most the requested number of messages from all queues together and leaves the rest."""
    e.topic(queues=3)
    for queue in range(3):
        e.store(b"a", b"b", queue=queue)
    assert [len(e.take(count=4)), len(e.take(count=4)), len(e.take(count=4))] == [4, 2, 0]


@through(*ALL)
@pytest.mark.parametrize(("sent", "asked", "given"), [(40, 32, 32), (3, 32, 3), (40, 1, 1)])
def test_a_pop_returns_at_most_the_requested_number_and_32(
    e: ProtocolClient, sent: int, asked: int, given: int
) -> None:
    """A pop returns the available messages, limited by the requested number and 32."""
    e.fill_topic(sent)
    assert len(e.take(count=asked)) == given


@through(*ALL)
def test_a_pop_reads_at_most_256_kib_of_a_queue(e: ProtocolClient) -> None:
    """A pop reads at most 256 KiB of a queue, so that large messages come in smaller batches."""
    e.topic()
    e.send(*(bytes([number]) * 60_000 for number in range(10)))
    assert [len(e.take()) for _ in range(4)] == [4, 4, 2, 0]


@through(*ALL)
@pytest.mark.parametrize(
    ("expression", "kind", "wanted"),
    [
        ("*", "TAG", [b"0", b"1", b"2", b"3"]),
        ("red", "TAG", [b"0", b"3"]),
        ("red || blue", "TAG", [b"0", b"1", b"3"]),
        ("green", "TAG", []),
        ("a = 1", "SQL92", [b"0"]),
        ("a > 0 AND TAGS <> 'red'", "SQL92", [b"1"]),
        ("a IS NULL", "SQL92", [b"2", b"3"]),
    ],
)
def test_a_pop_with_an_expression_skips_other_messages_for_good(
    e: ProtocolClient, expression: str, kind: str, wanted: list[bytes]
) -> None:
    """A pop with an expression returns the matching messages and skips the others for good."""
    e.topic()
    e.send(b"0", tag="red", a="1")
    e.send(b"1", tag="blue", a="2")
    e.send(b"2")
    e.send(b"3", tag="red")
    assert e.bodies(expression=expression, kind=kind) == wanted
    assert e.committed() == 4
    assert e.bodies() == []


@through(*ALL)
def test_a_new_group_begins_at_the_first_message_of_a_queue_in_memory(e: ProtocolClient) -> None:
    """A new group that requests the end, as the proxy does, starts at the first message of a queue in memory."""
    e.fill_topic(3)
    assert e.bodies(group="new") == [b"0", b"1", b"2"]


@through(*ALL, init_pop_offset_by_check_msg_in_mem=False)
def test_without_the_memory_check_a_new_group_begins_at_the_last_message(e: ProtocolClient) -> None:
    """With initPopOffsetByCheckMsgInMem=false a new group that requests the end starts at the last message."""
    e.fill_topic(3)
    assert e.bodies(group="new") == [b"2"]


@through(*BROKER, init_pop_offset_by_check_msg_in_mem=False)
@pytest.mark.parametrize(("begin", "wanted"), [(0, [b"0", b"1", b"2"]), (1, [b"2"])])
def test_the_start_position_of_a_pop_applies_to_a_new_group_only(
    e: BrokerProtocolClient, begin: int, wanted: list[bytes]
) -> None:
    """The start position in a pop applies to a new group only; that of later pops has no effect."""
    e.fill_topic(3)
    response = e.pop_one_queue(0, begin=begin).response
    assert response is not None
    assert response.bodies == wanted
    e.send(b"3", b"4")
    again = e.pop_one_queue(0, begin=1 - begin).response
    assert again is not None
    assert again.bodies == [b"3", b"4"]


@through(*ALL)
def test_a_pop_of_an_empty_queue_initializes_the_offset_of_its_group(e: ProtocolClient) -> None:
    """A pop of an empty queue initializes the offset of its group, so that the group receives all later messages."""
    e.topic()
    assert e.bodies() == []
    e.send(b"0", b"1")
    assert e.bodies() == [b"0", b"1"]


@through(*ALL)
@pytest.mark.parametrize(("percent", "low", "high"), [(0, 0, 0), (20, 1, 14), (100, 30, 30)])
def test_the_retry_topic_comes_first_with_a_probability(e: ProtocolClient, percent: int, low: int, high: int) -> None:
    """A pop reads the retry topic first with a probability of popFromRetryProbability percent (upstream default 20)."""
    e.broker.config.pop_from_retry_probability = percent
    e.fill_topic(32)
    e.take()
    e.advance(15_000)
    e.store(*[b"new"] * 32)
    firsts = [handle_fields(e.take(count=1)[0].handle)["digit"] for _ in range(30)]
    assert low <= firsts.count("1") <= high


@through(*ALL)
def test_a_pop_that_is_not_full_also_reads_the_retry_topic(e: ProtocolClient) -> None:
    e.fill_topic(2)
    e.take()
    e.advance(15_000)
    e.send(b"new")
    assert sorted(e.bodies()) == [b"0", b"1", b"new"]


@through(*ALL)
@pytest.mark.parametrize(("v2", "topic", "digit"), [(False, "%RETRY%G_T", "1"), (True, "%RETRY%G+T", "2")])
def test_retry_topics_have_v1_names_or_v2_names_with_enable_retry_topic_v2(
    e: ProtocolClient, v2: bool, topic: str, digit: str
) -> None:
    """Retry topics have v1 names by default and v2 names with enableRetryTopicV2; clients see the original topic."""
    e.broker.config.enable_retry_topic_v2 = v2
    e.fill_topic(1)
    e.take()
    e.advance(15_000)
    assert [record.body for record in e.records(topic)] == [b"0"]
    seen = [message for _ in range(10) for message in e.take()]
    assert [(each.body, handle_fields(each.handle)["digit"]) for each in seen] == [(b"0", digit)]


@through(*ALL, enable_pop_message_threshold=True, pop_inflight_message_threshold=2)
def test_a_group_with_too_many_messages_in_flight_gets_no_more(e: ProtocolClient) -> None:
    """A pop returns no message of a queue if its group has more than popInflightMessageThreshold in flight there.

    An acknowledgement or a redelivery makes room again.
    """
    e.fill_topic(6)
    first = e.take(count=3)
    assert e.bodies() == []
    assert e.bodies(group="H", count=1) == [b"0"]
    e.ack(first[0].handle)
    assert e.bodies(count=1) == [b"3"]
    assert e.bodies() == []


@through(*ALL, enable_pop_buffer_merge=True)
def test_a_buffered_check_point_whose_messages_are_acknowledged_is_never_stored(e: ProtocolClient) -> None:
    """With enablePopBufferMerge a check point whose messages are all acknowledged in time is never stored."""
    e.fill_topic(2)
    for handle in handles(e.take()):
        assert e.ack(handle).ok
    e.advance(20_000)
    assert revive_log(e, "ck") == revive_log(e, "ack") == []
    assert e.committed() == 2
    assert e.bodies() == []


@through(*ALL, pop_consumer_kv_service_init=True, pop_consumer_kv_service_enable=True)
def test_with_pop_consumer_kv_service_a_pop_stores_no_check_point(e: ProtocolClient) -> None:
    """With popConsumerKVServiceEnable a pop stores no check point.

    A message is redelivered half a second after its invisible duration ends.
    """
    e.fill_topic(2)
    first, _ = e.take()
    assert e.ack(first.handle).ok
    e.advance(10_600)
    assert e.bodies() == [b"1"]
    assert revive_log(e, "ck") == []
