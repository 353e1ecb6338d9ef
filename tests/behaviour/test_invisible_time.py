"""A change of the invisible duration: the broker stores a new check point, then acknowledges the old one."""

import pytest
from grpc_texts import EXPIRED
from protocol_client import ProtocolClient
from protocol_clients import ALL, BROKER, through
from rocketmq_testkit.conformance.clients.receipt_handles import handle_fields

RETRY = "%RETRY%G_T"


@through(*ALL)
@pytest.mark.parametrize("new_ms", [1_000, 5_000, 60_000, 3_600_000])
def test_the_new_invisible_duration_counts_from_the_change(e: ProtocolClient, new_ms: int) -> None:
    """The new invisible duration starts at the change: the message is redelivered once, 2 to 4 s after its end.

    This holds for shorter and longer durations.
    """
    e.fill_topic(1)
    (message,) = e.take(invisible_ms=30_000)
    e.advance(4_000)
    assert e.change(message.handle, new_ms).ok
    e.advance(new_ms + 2_000)
    assert e.records(RETRY) == []
    e.advance(2_000)
    assert len(e.records(RETRY)) == 1
    e.advance(60_000)
    assert len(e.records(RETRY)) == 1


@through(*ALL)
def test_a_changed_handle_starts_at_the_message_and_the_time_of_the_change(e: ProtocolClient) -> None:
    """A new receipt handle starts at the message itself, at the time of the change, in the same revive queue."""
    e.fill_topic(3)
    *_, last = e.take()
    e.advance(1_000)
    old, new = handle_fields(last.handle), handle_fields(e.change(last.handle, 20_000).handle)
    changed = {"start": "2", "popped": str(e.now_ms), "invisible": "20000"}
    assert {name: new[name] for name in old} == old | changed


@through(*ALL)
def test_after_a_change_only_the_new_handle_acknowledges(e: ProtocolClient) -> None:
    """After a change only the new receipt handle acknowledges the message; the old handle has no effect."""
    e.fill_topic(2)
    first, second = e.take()
    e.advance(1_000)
    new_first, new_second = (e.change(each.handle, 9_500).handle for each in (first, second))
    assert e.ack(first.handle).ok
    assert e.ack(new_second).ok
    assert new_first != first.handle
    e.advance(20_000)
    assert e.bodies() == [b"0"]


@through(*ALL)
def test_an_invisible_duration_can_be_changed_repeatedly(e: ProtocolClient) -> None:
    """The invisible duration can be changed repeatedly, each time with the newest handle, as a renewing client does."""
    e.fill_topic(1)
    (message,) = e.take()
    handle = message.handle
    for _ in range(10):
        e.advance(8_000)
        response = e.change(handle, 10_000)
        assert response.ok
        handle = response.handle
    assert e.records(RETRY) == []
    assert e.ack(handle).ok
    e.advance(30_000)
    assert e.records(RETRY) == []


@through(*ALL)
def test_a_change_to_an_invisible_duration_of_0_redelivers_within_4_s(e: ProtocolClient) -> None:
    """A change to an invisible duration of 0 redelivers the message 2 to 4 s later."""
    e.fill_topic(1)
    (message,) = e.take()
    assert e.change(message.handle, 0).ok
    e.advance(4_000)
    assert e.bodies() == [b"0"]


@through(*BROKER)
def test_the_broker_accepts_a_change_to_a_negative_invisible_duration(e: ProtocolClient) -> None:
    """The broker accepts a negative invisible duration and redelivers the message within 4 s."""
    e.fill_topic(1)
    (message,) = e.take()
    assert e.change(message.handle, -5).ok
    e.advance(4_000)
    assert e.bodies() == [b"0"]


@through(*ALL)
def test_a_change_after_the_acknowledgement_redelivers_the_message(e: ProtocolClient) -> None:
    """A change after the acknowledgement redelivers the message. Each accepted change is a check point of its own."""
    e.fill_topic(1)
    (message,) = e.take()
    assert e.ack(message.handle).ok
    e.advance(1_000)
    assert e.change(message.handle, 1_000).ok
    e.advance(5_000)
    assert [(each.body, each.attempt) for each in e.take()] == [(b"0", 1)]


@through(*ALL)
def test_two_changes_with_one_handle_redeliver_two_copies(e: ProtocolClient) -> None:
    """Two changes with one handle redeliver two copies, although the first change replaced the handle."""
    e.fill_topic(1)
    (message,) = e.take()
    for _ in range(2):
        e.advance(1_000)
        assert e.change(message.handle, 1_000).ok
    e.advance(6_000)
    assert e.bodies() == [b"0", b"0"]


@through(*BROKER)
def test_the_broker_accepts_a_change_with_an_expired_handle(e: ProtocolClient) -> None:
    """The broker accepts a change with an expired handle.

    If the message was already redelivered, a second copy follows.
    """
    e.fill_topic(1)
    (message,) = e.take()
    e.advance(15_000)
    assert e.change(message.handle, 1_000).ok
    e.advance(5_000)
    assert e.bodies() == [b"0", b"0"]


@through("grpc")
def test_the_proxy_rejects_a_change_with_an_expired_handle(e: ProtocolClient) -> None:
    """The proxy rejects a change with an expired handle by a code of its own."""
    e.fill_topic(1)
    (message,) = e.take()
    e.advance(10_000)
    before = e.state()
    response = e.change(message.handle, 1_000)
    assert (response.code, response.remark, response.handle) == (40013, EXPIRED, "")
    assert e.state() == before


@through(*ALL)
def test_the_duration_of_a_redelivered_message_can_be_changed(e: ProtocolClient) -> None:
    """The invisible duration of a redelivered message can be changed; its new handle still names the retry topic."""
    e.fill_topic(1)
    e.take()
    e.advance(15_000)
    (again,) = e.take()
    e.advance(1_000)
    new = e.change(again.handle, 20_000)
    assert handle_fields(new.handle)["digit"] == "1"
    e.advance(15_000)
    assert e.bodies() == []
    e.advance(10_000)
    assert [(each.body, each.attempt) for each in e.take()] == [(b"0", 2)]


@through(*ALL)
def test_a_change_of_an_ordered_message_keeps_its_pop_time(e: ProtocolClient) -> None:
    """A change for an ordered message keeps its pop time and blocks the queue until the new duration ends.

    No copy is written to the retry topic.
    """
    e.fifo()
    e.send(b"0", message_group="g")
    (message,) = e.take(order=True)
    e.advance(4_000)
    response = e.change(message.handle, 20_000)
    old, new = handle_fields(message.handle), handle_fields(response.handle)
    assert (new["popped"], new["invisible"], new["revive"]) == (old["popped"], "24000", "999")
    e.advance(19_999)
    assert e.bodies(order=True) == []
    e.advance(1)
    assert e.bodies(order=True) == [b"0"]
    assert e.records(RETRY) == []


@through(*ALL)
def test_a_change_with_the_handle_of_an_earlier_ordered_batch_has_no_effect(e: ProtocolClient) -> None:
    """A change with the handle of an earlier ordered batch does not affect the batch in flight."""
    e.fifo()
    e.send(b"0", message_group="g")
    (old,) = e.take(order=True, invisible_ms=60_000)
    assert e.change(old.handle, 1_000).ok
    e.advance(1_001)
    (current,) = e.take(order=True, invisible_ms=10_000)
    assert e.change(old.handle, 40_000).ok
    e.advance(10_001)
    assert e.bodies(order=True) == [b"0"]
    assert current.attempt == 1
