"""Acknowledgement and revive: redelivery of popped messages that are not acknowledged, its time and its fields."""

import pytest
from grpc_texts import EXPIRED
from protocol_client import ProtocolClient
from protocol_clients import ALL, through
from protocol_values import handles
from rocketmq_testkit.conformance.clients.receipt_handles import forged, handle_fields

RETRY = "%RETRY%G_T"


def copies(e: ProtocolClient) -> list[bytes]:
    """Return the bodies of the messages that were redelivered to group G."""
    return [record.body for record in e.records(RETRY)]


@through(*ALL)
def test_an_acknowledged_message_is_not_redelivered(e: ProtocolClient) -> None:
    """An acknowledged message is not redelivered.

    The others of its pop are redelivered once, through the retry topic.
    """
    e.fill_topic(3)
    _, second, _ = e.take()
    assert e.ack(second.handle).ok
    e.advance(60_000)
    assert copies(e) == [b"0", b"2"]
    assert e.bodies() == [b"0", b"2"]


@through(*ALL)
def test_one_request_acknowledges_messages_of_several_pops_and_queues(e: ProtocolClient) -> None:
    """One request acknowledges messages of several pops, of several queues, and of both normal and retry topics."""
    e.topic(queues=2)
    e.store(b"a", b"b", queue=0)
    e.store(b"c", b"d", queue=1)
    e.take(count=1)
    e.advance(15_000)
    taken = [*e.take(count=2), *e.take()]
    assert {handle_fields(each.handle)["digit"] for each in taken} == {"0", "1"}
    kept = next(each for each in taken if handle_fields(each.handle)["digit"] == "0")
    assert e.ack(*(each.handle for each in taken if each is not kept)).ok
    e.advance(15_000)
    assert e.bodies() == [kept.body]


@through(*ALL)
def test_the_order_of_acknowledgements_does_not_matter(e: ProtocolClient) -> None:
    """Messages of a pop can be acknowledged last first, in one request or in several."""
    e.fill_topic(5)
    one, two, three, four, _ = handles(e.take())
    assert e.ack(four, two).ok
    assert e.ack(three).ok
    assert e.ack(one).ok
    e.advance(20_000)
    assert e.bodies() == [b"4"]


@through(*ALL)
def test_an_acknowledgement_may_be_repeated(e: ProtocolClient) -> None:
    """A repeated acknowledgement succeeds each time and has no effect on other messages."""
    e.fill_topic(2)
    first, _ = e.take()
    for _ in range(3):
        assert e.ack(first.handle).ok
    assert e.ack(first.handle, first.handle).ok
    e.advance(20_000)
    assert e.bodies() == [b"1"]


@through(*ALL)
@pytest.mark.parametrize("wait_ms", [10_000, 12_500, 60_000])
def test_a_message_is_redelivered_2_to_4_s_after_its_invisible_duration(e: ProtocolClient, wait_ms: int) -> None:
    e.fill_topic(1)
    e.take(invisible_ms=wait_ms)
    e.advance(wait_ms + 2_000)
    assert copies(e) == []
    e.advance(2_000)
    assert copies(e) == [b"0"]


@through(*ALL)
def test_a_redelivered_message_keeps_its_id_tag_and_keys(e: ProtocolClient) -> None:
    """A redelivered message keeps its id, tag and keys.

    It counts one attempt more and has an offset of the retry topic.
    """
    e.topic()
    e.send(b"body", tag="red", keys="k", user="value")
    (first,) = e.take()
    popped_ms = e.now_ms
    e.advance(15_000)
    (again,) = e.take()
    assert (again.body, again.message_id, again.tag, again.keys) == (b"body", first.message_id, "red", ("k",))
    assert (first.attempt, again.attempt) == (0, 1)
    found = handle_fields(again.handle)
    assert (found["digit"], found["queue"], found["offset"]) == ("1", "0", "0")
    (record,) = e.records(RETRY)
    known = record.property_map()
    assert (record.reconsume_times, known["user"], known["1ST_POP_TIME"]) == (1, "value", str(popped_ms))
    assert record.born_timestamp == e.records("T")[0].born_timestamp


@through(*ALL)
def test_the_attempt_grows_with_each_redelivery(e: ProtocolClient) -> None:
    """The attempt grows with each redelivery of an unacknowledged message; the time of its first pop stays."""
    e.fill_topic(1)
    popped_ms = e.now_ms
    attempts = []
    for _ in range(5):
        (message,) = e.take()
        attempts.append(message.attempt)
        e.advance(15_000)
    assert attempts == [0, 1, 2, 3, 4]
    assert {record.property_map()["1ST_POP_TIME"] for record in e.records(RETRY)} == {str(popped_ms)}


@through(*ALL)
def test_the_message_whose_invisible_duration_ends_first_is_redelivered_first(e: ProtocolClient) -> None:
    """The message whose invisible duration ends first is redelivered first, regardless of the order of pops."""
    e.fill_topic(3)
    for seconds in (30, 20, 10):
        e.take(count=1, invisible_ms=1_000 * seconds)
    e.advance(40_000)
    assert copies(e) == [b"2", b"1", b"0"]


@through(*ALL)
def test_messages_of_one_pop_are_redelivered_in_offset_order(e: ProtocolClient) -> None:
    e.fill_topic(6)
    e.take()
    e.advance(15_000)
    assert copies(e) == [b"0", b"1", b"2", b"3", b"4", b"5"]


@through("engine", "remoting")
@pytest.mark.parametrize(("late_ms", "back"), [(-1, []), (0, []), (1_500, []), (6_000, [b"0"])])
def test_a_late_ack_prevents_redelivery_until_the_message_is_in_the_retry_topic(
    e: ProtocolClient, late_ms: int, back: list[bytes]
) -> None:
    """The broker accepts a late acknowledgement; it prevents redelivery until the message is in the retry topic."""
    e.fill_topic(1)
    (message,) = e.take()
    e.advance(10_000 + late_ms)
    assert e.ack(message.handle).ok
    e.advance(20_000)
    assert e.bodies() == back


@through("grpc")
def test_the_proxy_rejects_an_ack_with_an_expired_handle(e: ProtocolClient) -> None:
    """The proxy rejects a handle from the millisecond in which it expires, and the message is redelivered."""
    e.fill_topic(1)
    (message,) = e.take()
    e.advance(10_000)
    response = e.ack(message.handle)
    assert (response.code, response.remark) == (40013, EXPIRED)
    e.advance(10_000)
    assert e.bodies() == [b"0"]


@through(*ALL)
def test_a_handle_acknowledges_its_own_delivery_only(e: ProtocolClient) -> None:
    """A handle of the first attempt does not acknowledge the second attempt."""
    e.fill_topic(1)
    (first,) = e.take(invisible_ms=60_000)
    changed = e.change(first.handle, 1_000)
    assert changed.ok
    e.advance(6_000)
    (again,) = e.take()
    assert e.ack(first.handle).ok
    e.advance(15_000)
    (third,) = e.take()
    assert (again.attempt, third.attempt) == (1, 2)


@through(*ALL)
def test_another_groups_handle_has_no_effect(e: ProtocolClient) -> None:
    """An acknowledgement with a handle of another group succeeds without effect."""
    e.fill_topic(1)
    (mine,) = e.take(group="G")
    e.advance(1)
    (theirs,) = e.take(group="H")
    assert e.ack(theirs.handle, group="G").ok
    assert e.ack(mine.handle, group="H").ok
    e.advance(15_000)
    assert e.bodies(group="G") == e.bodies(group="H") == [b"0"]


@through(*ALL)
@pytest.mark.parametrize(
    "changes", [{"popped": 1_700_000_000_001}, {"start": 7}, {"revive": 77}, {"broker": "nobody"}], ids=str
)
def test_an_ack_whose_handle_matches_no_check_point_has_no_effect(
    e: ProtocolClient, changes: dict[str, object]
) -> None:
    """An acknowledgement whose handle matches no check point succeeds, and the message is redelivered."""
    e.fill_topic(1)
    (message,) = e.take()
    assert e.ack(forged(message.handle, **changes)).ok
    e.advance(20_000)
    assert e.bodies() == [b"0"]


@through(*ALL)
def test_acks_and_redelivery_leave_the_groups_offset_unchanged(e: ProtocolClient) -> None:
    """Acknowledgements and redelivery leave the offset of a group in the topic unchanged.

    The retry topic has its own.
    """
    e.fill_topic(3)
    e.ack(*handles(e.take()))
    assert e.committed() == 3
    e.advance(20_000)
    assert e.committed() == 3
    e.send(b"3")
    e.take()
    e.advance(15_000)
    assert (e.committed(), e.committed(RETRY)) == (4, 0)
    e.take()
    assert (e.committed(), e.committed(RETRY)) == (4, 1)


@through(*ALL)
def test_messages_of_a_deleted_topic_are_not_redelivered(e: ProtocolClient) -> None:
    """Revive skips the check points of a deleted topic and redelivers the messages of other topics."""
    e.fill_topic(1)
    e.fill_topic(1, "U")
    e.take()
    e.take("U")
    e.delete_topic("T")
    e.advance(20_000)
    assert copies(e) == []
    assert e.bodies("U") == [b"0"]


@through(*ALL)
def test_a_crash_loses_no_stored_acknowledgement(e: ProtocolClient) -> None:
    """A broker crash loses no stored acknowledgement.

    Unacknowledged messages and offsets that were written to a file survive as well.
    """
    e.fill_topic(2)
    first, _ = e.take(invisible_ms=30_000)
    assert e.ack(first.handle).ok
    e.advance(15_000)
    e.engine.crash(e.broker, power_loss=False)
    assert e.committed() == 2
    assert e.bodies() == []
    e.advance(25_000)
    assert e.bodies() == [b"1"]


@through(*ALL, enable_pop_buffer_merge=True)
def test_a_crash_loses_the_check_points_in_the_merge_buffer(e: ProtocolClient) -> None:
    """A crash loses the check points in the merge buffer: the group receives the messages again as first attempts."""
    e.fill_topic(2)
    e.take()
    e.engine.crash(e.broker, power_loss=False)
    again = e.take()
    assert [(each.body, each.attempt) for each in again] == [(b"0", 0), (b"1", 0)]
