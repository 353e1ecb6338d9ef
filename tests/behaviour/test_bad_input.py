"""What nobody should ask: upstream's code and remark, and nothing has changed."""

from typing import Any

import pytest
from entrance import BrokerEntrance, Entrance, handles
from entrances import ALL, BROKER, through
from grpc_texts import NO_TOPIC_CONFIG, PROXY_EXCEPTION, group_characters, short_handle
from rocketmq_testkit.conformance.helpers.handles import forged

ABNORMAL = (50001, "ack failed: status is abnormal")
TOO_SHORT = "java.lang.IllegalArgumentException: getBrokerName fail, extraInfoStrs length "
NO_NUMBER = 'For input string: "{}". NumberFormatException.'
Said = tuple[int, str]

TORN: dict[str, tuple[Said, Said]] = {
    "garbage": ((1, f"{TOO_SHORT}1"), (50001, short_handle(1))),
    "0 1": ((1, f"{TOO_SHORT}2"), (50001, short_handle(2))),
    "0 1 10000 0 0": ((1, f"{TOO_SHORT}5"), (50001, short_handle(5))),
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
"""A handle -> what broker and proxy say of it."""

PLACES: dict[str, tuple[dict[str, object], Said, Said]] = {
    "queue": ({"queue": 9}, (13, "queueId[9] is illegal, topic:[T]"), ABNORMAL),
    "negative queue": ({"queue": -1}, (13, "queueId[-1] is illegal, topic:[T]"), ABNORMAL),
    "offset": ({"offset": 9}, (208, ""), ABNORMAL),
    "negative offset": ({"offset": -1}, (208, ""), ABNORMAL),
    "retry topic": ({"digit": 1}, (17, "topic[%RETRY%G_T] not exist"), ABNORMAL),
    "second retry topic": ({"digit": 2}, (17, "topic[%RETRY%G+T] not exist"), ABNORMAL),
}
"""What is wrong with a handle that names a place, and what is said of it."""


@pytest.fixture
def handle(e: Entrance) -> str:
    """Of the first of three messages that were taken."""
    e.filled(3)
    return e.take()[0].handle


@through(*ALL)
@pytest.mark.parametrize("text", TORN)
def test_a_torn_handle_acknowledges_nothing(e: Entrance, handle: str, text: str) -> None:
    """Too short, or with something else than numbers in it."""
    before = e.state()
    answer = e.ack(text)
    assert e.says(answer, *TORN[text]), answer
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("text", ["garbage", "0 1", "0 1 10000 2147483648 0 broker-a 0 0"])
def test_a_torn_handle_changes_nothing(e: Entrance, handle: str, text: str) -> None:
    """The broker reads the revive queue first."""
    before = e.state()
    answer = e.change(text, 1_000)
    assert not answer.ok
    assert answer.code == (50001 if e.proxied else 1)
    assert answer.handle == ""
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("what", PLACES)
def test_a_place_that_does_not_exist_is_not_acknowledged(e: Entrance, handle: str, what: str) -> None:
    """Queues, offsets and retry topics."""
    changes, broker, proxy = PLACES[what]
    before = e.state()
    answer = e.ack(forged(handle, **changes))
    assert e.says(answer, broker, proxy), answer
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("what", PLACES)
def test_a_place_that_does_not_exist_is_not_changed(e: Entrance, handle: str, what: str) -> None:
    """The end of a queue, where no message is, among them."""
    changes, broker, _ = PLACES[what]
    before = e.state()
    for new in (changes, changes | {"offset": 3}) if "offset" in changes else (changes,):
        answer = e.change(forged(handle, **new), 1_000)
        assert not answer.ok
        assert e.proxied or (answer.code, answer.remark.startswith(broker[1])) == (broker[0], True)
        assert answer.handle == ""
    assert e.state() == before


@through(*ALL)
def test_a_handle_of_another_topic(e: Entrance, handle: str) -> None:
    """Is refused where that topic has no such place, or does not exist."""
    e.topic("U")
    before = e.state()
    last = forged(handle, offset=2)
    assert e.says(e.ack(last, topic="U"), (208, "offset is illegal, key:U@0, commit:2, store:0~0"), ABNORMAL)
    assert e.says(e.ack(last, topic="none"), (17, "topic[none] not exist"), ABNORMAL)
    assert e.state() == before


@through(*BROKER)
def test_a_batch_passes_over_what_does_not_exist(e: Entrance, handle: str) -> None:
    """It succeeds and does nothing."""
    before = e.state()
    places = [forged(handle, offset=9), forged(handle, offset=40), forged(handle, digit=1), forged(handle, digit=2)]
    assert e.ack(*places).ok
    assert e.ack(*places, topic="none").ok
    assert e.state() == before


@through(*ALL)
@pytest.mark.parametrize("ahead_ms", [1, 3_600_000, 300_000_000, 4_000_000_000_000_000])
def test_a_handle_of_the_future_has_no_effect(e: Entrance, handle: str, ahead_ms: int) -> None:
    """It is no error, however far; the message comes back."""
    assert e.ack(forged(handle, popped=e.now_ms + ahead_ms)).ok
    e.advance(20_000)
    assert e.bodies() == [b"0", b"1", b"2"]


@through(*ALL)
@pytest.mark.parametrize("what", ["stale", "outside", "nothing"])
def test_handles_of_other_batches_in_order(e: Entrance, what: str) -> None:
    """An old one does nothing, one of a message that is not out is refused, one below the offset is done with."""
    e.fifo()
    e.send(*(b"%d" % number for number in range(4)), message_group="g")
    first, second = handles(e.take(order=True, count=2))
    e.ack(first)
    before = e.state()
    if what == "outside":
        answer = e.ack(forged(second, offset=3))
        assert e.says(answer, (13, "offset is illegal, key:T@G@0, old:1, commit:3, next:-1"), ABNORMAL), answer
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
def test_a_proxy_takes_nothing_for_an_absurd_time(e: Entrance, invisible_ms: int, text: str) -> None:
    """10 s to 12 h."""
    e.filled(3)
    before = e.state()
    answer = e.pop(invisible_ms=invisible_ms).answer
    assert answer is not None
    assert (answer.code, answer.remark) == (40011, text)
    assert e.state() == before


@through("grpc")
@pytest.mark.parametrize(
    ("invisible_ms", "text"),
    [
        (-1, "the invisibleTime is too small. min is 0"),
        (43_200_001, "the invisibleTime is too large. max is 43200000"),
    ],
)
def test_a_proxy_changes_nothing_to_an_absurd_time(e: Entrance, handle: str, invisible_ms: int, text: str) -> None:
    """0 to 12 h."""
    before = e.state()
    answer = e.change(handle, invisible_ms)
    assert (answer.code, answer.remark, answer.handle) == (40011, text, "")
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("invisible_ms", [0, -1, -(10**15), -(2**63), 2**63 - 1])
def test_the_broker_takes_any_time_below_nothing(e: BrokerEntrance, invisible_ms: int) -> None:
    """The message comes back as soon as one with none does; one whose end is too large for a number counts as such."""
    e.filled(1)
    assert e.bodies(invisible_ms=invisible_ms) == [b"0"]
    e.advance(4_000)
    assert e.bodies() == [b"0"]


@through(*BROKER)
def test_a_change_beyond_the_timer_is_refused(e: BrokerEntrance, handle: str) -> None:
    """More than three days cannot be stored; the old handle still counts."""
    before = e.state()
    answer = e.change(handle, 300_000_000)
    assert (answer.code, answer.handle) == (1, "")
    assert e.state() == before
    assert e.ack(handle).ok
    e.advance(20_000)
    assert e.bodies() == [b"1", b"2"]


BAD_POPS: dict[str, tuple[dict[str, Any], Said, Said]] = {
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
def test_a_pop_that_is_refused_takes_nothing(e: Entrance, what: str) -> None:
    """With the code of what is wrong with it."""
    options, broker, proxy = BAD_POPS[what]
    e.group()
    e.filled(3)
    e.topic("W", perm=2)
    before = e.state()
    answer = e.pop(**options, poll_ms=5_000).answer
    assert answer is not None
    assert e.says(answer, broker, proxy), answer
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
def test_absurd_numbers_are_refused_by_the_broker(
    e: BrokerEntrance, options: dict[str, int], code: int, remark: str
) -> None:
    """Of messages and of queues."""
    e.group()
    e.filled(3)
    before = e.state()
    answer = e.pop_one_queue(options.get("queue", -1), count=options.get("count", 32)).answer
    assert answer is not None
    assert answer.code == code
    assert answer.remark.startswith(remark)
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
def test_a_forged_change_ends_no_pop(e: BrokerEntrance, changes: dict[str, object], copies: int) -> None:
    """Its copy comes besides that of the pop; in order, where no revive queue is, or elsewhere, it has none."""
    e.filled(1)
    (message,) = e.take(invisible_ms=16_000)
    assert e.change(forged(message.handle, **changes), 2_000).ok
    e.advance(30_000)
    assert [record.body for record in e.records("%RETRY%G_T")] == [b"0"] * copies


@through("grpc")
@pytest.mark.parametrize(("count", "given"), [(33, 32), (2**31 - 1, 32)])
def test_a_proxy_cuts_absurd_numbers(e: Entrance, count: int, given: int) -> None:
    """Without a word."""
    e.filled(40)
    assert len(e.take(count=count)) == given


@through(*BROKER)
def test_a_negative_queue_is_any(e: BrokerEntrance) -> None:
    """However negative."""
    e.topic(queues=2)
    e.store(b"0", queue=1)
    answer = e.pop_one_queue(-5).answer
    assert answer is not None
    assert answer.bodies == [b"0"]


@through(*BROKER)
def test_a_negative_poll_does_not_wait(e: BrokerEntrance) -> None:
    """It is answered as one that does not want to; so is one whose deadline is too large for a number."""
    e.topic()
    answer = e.pop(poll_ms=-1).answer
    assert answer is not None
    assert (answer.code, answer.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    for poll_ms in (2**63 - 1, -(2**63)):
        wrapped = e.pop(poll_ms=poll_ms).answer
        assert wrapped is not None
        assert (wrapped.code, wrapped.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    absurd = e.pop(poll_ms=10**15).answer
    assert absurd is None
    e.send(b"0")
    assert e.state()["waiting"] == (0, 0, 0)
