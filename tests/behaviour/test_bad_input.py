"""Invalid requests are rejected with upstream's code and remark and change nothing."""

from typing import Any

import pytest
from grpc_texts import NO_TOPIC_CONFIG, PROXY_EXCEPTION, group_characters, short_handle
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import handles
from rocketmq_testkit.conformance.clients.receipt_handles import forged

ABNORMAL = (50001, "ack failed: status is abnormal")
TOO_SHORT = "java.lang.IllegalArgumentException: getBrokerName fail, extraInfoStrs length "
NO_NUMBER = 'For input string: "{}". NumberFormatException.'
Error = tuple[int, str]
"""Code and beginning of the remark."""

MALFORMED: dict[str, tuple[Error, Error]] = {
    "garbage": ((1, f"{TOO_SHORT}1"), (50001, short_handle(1))),
    "0 1": ((1, f"{TOO_SHORT}2"), (50001, short_handle(2))),
    "0 1 10000 0 0": ((1, f"{TOO_SHORT}5"), (50001, short_handle(5))),
    "0 1 10000 0 0 ": ((1, f"{TOO_SHORT}5"), (50001, short_handle(5))),
    "x 1 10000 0 0 broker-a 0 0": (
        (1, 'java.lang.NumberFormatException: For input string: "x"'),
        (50001, NO_NUMBER.format("x")),
    ),
    "0 y 10000 0 0 broker-a 0 0": (
        (1, 'java.lang.NumberFormatException: For input string: "y"'),
        (50001, NO_NUMBER.format("y")),
    ),
    "0 9223372036854775808 1 0 0 broker-a 0 0": (
        (1, 'java.lang.NumberFormatException: For input string: "9223372036854775808"'),
        (50001, NO_NUMBER.format("9223372036854775808")),
    ),
    "0 1 10000 2147483648 0 broker-a 0 0": (
        (1, 'java.lang.NumberFormatException: For input string: "2147483648"'),
        (50001, NO_NUMBER.format("2147483648")),
    ),
}
"""Malformed handle -> code and remark of the broker, code and remark of the proxy."""

WRONG_PLACES: dict[str, tuple[dict[str, object], Error, Error]] = {
    "queue": ({"queue": 9}, (13, "queueId[9] is illegal, topic:[T]"), ABNORMAL),
    "negative queue": ({"queue": -1}, (13, "queueId[-1] is illegal, topic:[T]"), ABNORMAL),
    "offset": ({"offset": 9}, (208, ""), ABNORMAL),
    "negative offset": ({"offset": -1}, (208, ""), ABNORMAL),
    "retry topic": ({"digit": 1}, (17, "topic[%RETRY%G_T] not exist"), ABNORMAL),
    "second retry topic": ({"digit": 2}, (17, "topic[%RETRY%G+T] not exist"), ABNORMAL),
}
"""Error in a handle -> changed fields of a valid handle, error of the broker, error of the proxy."""


@pytest.fixture
def handle(e: ProtocolClient) -> str:
    """Return the handle of the first of three popped messages."""
    e.fill_topic(3)
    return e.take()[0].handle


@through(*ALL)
@pytest.mark.parametrize("text", MALFORMED)
def test_an_ack_with_a_malformed_handle_is_rejected(e: ProtocolClient, handle: str, text: str) -> None:
    """An acknowledgement with a handle that is too short or has a non-numeric field is rejected."""
    before = e.state()
    response = e.ack(text)
    assert e.is_error(response, *MALFORMED[text]), response
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("text", ["garbage", "0 1", "0 1 10000 0 0  ", "0 1 10000 2147483648 0 broker-a 0 0"])
def test_a_change_with_a_malformed_handle_is_rejected(e: ProtocolClient, handle: str, text: str) -> None:
    """A change of the invisible duration with a malformed handle is rejected.

    The broker reads its revive queue first.
    """
    before = e.state()
    response = e.change(text, 1_000)
    assert not response.ok
    assert response.code == (50001 if e.proxied else 1)
    assert response.handle == ""
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("what", WRONG_PLACES)
def test_an_ack_of_a_nonexistent_queue_offset_or_retry_topic_is_rejected(
    e: ProtocolClient, handle: str, what: str
) -> None:
    changes, broker, proxy = WRONG_PLACES[what]
    before = e.state()
    response = e.ack(forged(handle, **changes))
    assert e.is_error(response, broker, proxy), response
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("what", WRONG_PLACES)
def test_a_change_at_a_nonexistent_queue_offset_or_retry_topic_is_rejected(
    e: ProtocolClient, handle: str, what: str
) -> None:
    """A change of the invisible duration at a nonexistent queue, offset or retry topic is rejected.

    The offset at the end of a queue, where no message is stored yet, is rejected as well.
    """
    changes, broker, _ = WRONG_PLACES[what]
    before = e.state()
    for new in (changes, changes | {"offset": 3}) if "offset" in changes else (changes,):
        response = e.change(forged(handle, **new), 1_000)
        assert not response.ok
        assert e.proxied or (response.code, response.remark.startswith(broker[1])) == (broker[0], True)
        assert response.handle == ""
    assert e.state() == before


@through(*ALL)
def test_an_ack_under_another_topics_name_is_rejected(e: ProtocolClient, handle: str) -> None:
    """An acknowledgement under another topic's name is rejected if that topic does not exist or lacks the offset."""
    e.topic("U")
    before = e.state()
    last = forged(handle, offset=2)
    assert e.is_error(e.ack(last, topic="U"), (208, "offset is illegal, key:U@0, commit:2, store:0~0"), ABNORMAL)
    assert e.is_error(e.ack(last, topic="none"), (17, "topic[none] not exist"), ABNORMAL)
    assert e.state() == before


@through(*BROKER)
def test_a_batch_ack_of_nonexistent_offsets_or_topics_has_no_effect(e: ProtocolClient, handle: str) -> None:
    """A batch acknowledgement that names only nonexistent offsets or topics succeeds without effect."""
    before = e.state()
    places = [forged(handle, offset=9), forged(handle, offset=40), forged(handle, digit=1), forged(handle, digit=2)]
    assert e.ack(*places).ok
    assert e.ack(*places, topic="none").ok
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("ahead_ms", [1, 3_600_000, 300_000_000, 4_000_000_000_000_000])
def test_an_ack_with_a_pop_time_in_the_future_has_no_effect(e: ProtocolClient, handle: str, ahead_ms: int) -> None:
    """An acknowledgement whose handle has a pop time in the future succeeds without effect.

    The message is redelivered.
    """
    assert e.ack(forged(handle, popped=e.now_ms + ahead_ms)).ok
    e.advance(20_000)
    assert e.bodies() == [b"0", b"1", b"2"]


@through(*ALL)
@pytest.mark.parametrize("what", ["stale", "outside", "nothing"])
def test_an_ordered_ack_affects_only_the_batch_in_flight(e: ProtocolClient, what: str) -> None:
    """An ordered acknowledgement affects only the batch in flight.

    An older batch's handle has no effect, a message outside the batch is rejected, and an acknowledged one succeeds
    again.
    """
    e.fifo()
    e.send(*(b"%d" % number for number in range(4)), message_group="g")
    first, second = handles(e.take(order=True, count=2))
    e.ack(first)
    before = e.state()
    if what == "outside":
        response = e.ack(forged(second, offset=3))
        assert e.is_error(response, (13, "offset is illegal, key:T@G@0, old:1, commit:3, next:-1"), ABNORMAL), response
    else:
        assert e.ack(forged(second, popped=e.now_ms + 5) if what == "stale" else first).ok
    assert e.state() == before
    assert e.bodies(order=True) == []


@through("grpc")
@pytest.mark.parametrize(
    ("invisible_ms", "text"),
    [
        (-1, "the invisibleTime is too small. min is 10000"),
        (0, "the invisibleTime is too small. min is 10000"),
        (9_999, "the invisibleTime is too small. min is 10000"),
        (43_200_001, "the invisibleTime is too large. max is 43200000"),
        (10**15, "the invisibleTime is too large. max is 43200000"),
    ],
)
def test_the_proxy_rejects_a_receive_with_an_invisible_duration_out_of_range(
    e: ProtocolClient, invisible_ms: int, text: str
) -> None:
    """The proxy rejects a receive whose invisible duration is outside 10 s to 12 h; no message is popped."""
    e.fill_topic(3)
    before = e.state()
    response = e.pop(invisible_ms=invisible_ms).response
    assert response is not None
    assert (response.code, response.remark) == (40011, text)
    assert e.state() == before


@through("grpc")
@pytest.mark.parametrize(
    ("invisible_ms", "text"),
    [
        (-1, "the invisibleTime is too small. min is 0"),
        (43_200_001, "the invisibleTime is too large. max is 43200000"),
    ],
)
def test_the_proxy_rejects_a_change_to_an_invisible_duration_out_of_range(
    e: ProtocolClient, handle: str, invisible_ms: int, text: str
) -> None:
    """The proxy rejects a change of the invisible duration to a value outside 0 to 12 h."""
    before = e.state()
    response = e.change(handle, invisible_ms)
    assert (response.code, response.remark, response.handle) == (40011, text, "")
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("invisible_ms", [0, -1, -(10**15), -(2**63), 2**63 - 1])
def test_the_broker_accepts_a_zero_negative_or_overflowing_invisible_duration(
    e: BrokerProtocolClient, invisible_ms: int
) -> None:
    """The broker accepts a zero, negative or overflowing invisible duration: the message is redelivered within 4 s."""
    e.fill_topic(1)
    assert e.bodies(invisible_ms=invisible_ms) == [b"0"]
    e.advance(4_000)
    assert e.bodies() == [b"0"]


@through(*BROKER)
def test_a_change_to_more_than_three_days_is_rejected(e: BrokerProtocolClient, handle: str) -> None:
    """A change of the invisible duration to more than three days is rejected; the old handle stays valid."""
    before = e.state()
    response = e.change(handle, 300_000_000)
    assert (response.code, response.handle) == (1, "")
    assert e.state() == before
    assert e.ack(handle).ok
    e.advance(20_000)
    assert e.bodies() == [b"1", b"2"]


BAD_POPS: dict[str, tuple[dict[str, Any], Error, Error]] = {
    "unknown topic": ({"topic": "none"}, (17, "topic[none] not exist"), (50001, NO_TOPIC_CONFIG)),
    "group name": ({"group": "a b"}, (26, "subscription group [a b] does not exist"), (40003, group_characters("a b"))),
    "expression": (
        {"expression": "||"},
        (23, "parse the consumer's subscription failed"),
        (40010, "subString split error"),
    ),
    "no permission": (
        {"topic": "W"},
        (16, "the topic[W] peeking message is forbidden"),
        (40300, PROXY_EXCEPTION + "no readable queue"),
    ),
}


@through(*ALL)
@pytest.mark.parametrize("what", BAD_POPS)
def test_a_rejected_pop_takes_no_message(e: ProtocolClient, what: str) -> None:
    """A rejected pop returns the code of its error, does not wait and takes no message."""
    options, broker, proxy = BAD_POPS[what]
    e.group()
    e.fill_topic(3)
    e.topic("W", perm=2)
    before = e.state()
    response = e.pop(**options, poll_ms=5_000).response
    assert response is not None
    assert e.is_error(response, broker, proxy), response
    assert e.state() == before
    assert e.bodies() == [b"0", b"1", b"2"]


@through(*BROKER)
@pytest.mark.parametrize(
    ("options", "code", "remark"),
    [
        ({"count": 33}, 29, "the broker[127.0.0.1] pop message's num is greater than 32"),
        ({"count": 2**31 - 1}, 29, "the broker[127.0.0.1] pop message's num is greater than 32"),
        ({"count": -1}, 1, "java.lang.IllegalArgumentException"),
        ({"queue": 1}, 29, "queueId[1] is illegal, topic:[T]"),
        ({"queue": 2**31 - 1}, 29, "queueId[2147483647] is illegal, topic:[T]"),
    ],
)
def test_the_broker_rejects_a_pop_with_an_invalid_count_or_queue(
    e: BrokerProtocolClient, options: dict[str, int], code: int, remark: str
) -> None:
    e.group()
    e.fill_topic(3)
    before = e.state()
    response = e.pop_one_queue(options.get("queue", -1), count=options.get("count", 32)).response
    assert response is not None
    assert response.code == code
    assert response.remark.startswith(remark)
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize(
    ("changes", "copies"),
    [
        ({}, 1),
        ({"popped": 0}, 2),
        ({"popped": 2**63 - 1}, 2),
        ({"invisible": -1}, 2),
        ({"invisible": 2**63 - 1}, 2),
        ({"start": -1}, 2),
        ({"start": 5}, 2),
        ({"revive": -1}, 1),
        ({"revive": 8}, 1),
        ({"revive": 999}, 1),
        ({"broker": "elsewhere"}, 1),
    ],
)
def test_a_change_with_a_forged_handle_does_not_end_the_check_point_of_the_pop(
    e: BrokerProtocolClient, changes: dict[str, object], copies: int
) -> None:
    """A change with a forged handle creates a check point of its own and does not end that of the pop.

    If the handle names the ordered or a nonexistent revive queue, or another broker, no second copy is redelivered.
    """
    e.fill_topic(1)
    (message,) = e.take(invisible_ms=16_000)
    assert e.change(forged(message.handle, **changes), 2_000).ok
    e.advance(30_000)
    assert [record.body for record in e.records("%RETRY%G_T")] == [b"0"] * copies


@through("grpc")
@pytest.mark.parametrize(("count", "given"), [(33, 32), (2**31 - 1, 32)])
def test_the_proxy_reduces_a_message_count_above_32_to_32(e: ProtocolClient, count: int, given: int) -> None:
    e.fill_topic(40)
    assert len(e.take(count=count)) == given


@through(*BROKER)
def test_a_pop_of_a_negative_queue_reads_every_queue(e: BrokerProtocolClient) -> None:
    e.topic(queues=2)
    e.store(b"0", queue=1)
    response = e.pop_one_queue(-5).response
    assert response is not None
    assert response.bodies == [b"0"]


@through(*BROKER)
def test_a_pop_with_a_negative_poll_time_returns_at_once(e: BrokerProtocolClient) -> None:
    """A pop with a negative poll time returns at once; one whose deadline overflows 64 bits does so as well."""
    e.topic()
    response = e.pop(poll_ms=-1).response
    assert response is not None
    assert (response.code, response.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    for poll_ms in (2**63 - 1, -(2**63)):
        wrapped = e.pop(poll_ms=poll_ms).response
        assert wrapped is not None
        assert (wrapped.code, wrapped.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    absurd = e.pop(poll_ms=10**15).response
    assert absurd is None
    e.send(b"0")
    assert e.state()["waiting"] == (0, 0, 0)
