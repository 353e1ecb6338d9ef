"""Delay levels: delayed messages are stored in SCHEDULE_TOPIC_XXXX, one queue per level, until their time is over.

`through(*BROKER)` runs a test once with each protocol client in BROKER; the fixture `e` is this client.
"""

import pytest
from protocol_client import BrokerProtocolClient
from protocol_clients import ALL, BROKER, protocol_client, through
from rocketmq_testkit.emulator.config import ConfigError
from virtual_brokers import START_MS

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
LEVELS_S = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
OWN = "1s 2m 3h 1d"


@pytest.fixture
def delayed(e: BrokerProtocolClient) -> BrokerProtocolClient:
    """Return a protocol client with a topic, 2 s after the start.

    The broker checks its delay levels at this instant: for the first time after 1 s, and then every 100 ms.
    """
    e.topic(queues=3)
    e.advance(2_000)
    return e


def delivered_bodies(e: BrokerProtocolClient, queue: int = 0, topic: str = "T") -> list[bytes]:
    """Return the bodies of the messages that were delivered to a queue."""
    return [each.body for each in e.records(topic, queue)]


@through(*BROKER)
@pytest.mark.parametrize(("level", "seconds"), list(enumerate(LEVELS_S, 1)))
def test_a_delayed_message_is_delivered_once_when_its_levels_time_is_over(
    delayed: BrokerProtocolClient, level: int, seconds: int
) -> None:
    assert delayed.put(DELAY=str(level)).ok
    delayed.advance(seconds * 1000 - 1)
    assert delivered_bodies(delayed) == []
    delayed.advance(1)
    assert delivered_bodies(delayed) == [b"0"]
    delayed.advance(8_000_000)
    assert delivered_bodies(delayed) == [b"0"]


@through(*BROKER, message_delay_level=OWN)
@pytest.mark.parametrize(
    ("level", "taken", "seconds"), [(1, 1, 1), (2, 2, 120), (3, 3, 10_800), (4, 4, 86_400), (9, 4, 86_400)]
)
def test_message_delay_level_sets_the_number_and_times_of_levels(
    delayed: BrokerProtocolClient, level: int, taken: int, seconds: int
) -> None:
    """messageDelayLevel sets the number of delay levels and their times; a higher level counts as the last one."""
    delayed.put(DELAY=str(level))
    assert [each.property_map()["DELAY"] for each in delayed.records(SCHEDULE, taken - 1)] == [str(taken)]
    delayed.advance(seconds * 1000 - 1)
    assert delivered_bodies(delayed) == []
    delayed.advance(1)
    assert delivered_bodies(delayed) == [b"0"]


@through(*BROKER, message_delay_level="+2s 03s 0s -5s")
@pytest.mark.parametrize(("level", "due_ms"), [(1, 2_000), (2, 3_000), (3, 0), (4, -5_000)])
def test_times_of_delay_levels_may_have_a_sign_and_leading_zeros(
    delayed: BrokerProtocolClient, level: int, due_ms: int
) -> None:
    """Times of delay levels may have a sign and leading zeros. A time of 0 or less delivers the message at once."""
    sent_ms = delayed.now_ms
    delayed.put(DELAY=str(level))
    queue = delayed.broker.store.queue(SCHEDULE, level - 1)
    assert queue is not None
    assert list(queue.tags_codes) == [sent_ms + due_ms]
    if due_ms > 0:
        delayed.advance(due_ms - 1)
        assert delivered_bodies(delayed) == []
        delayed.advance(1)
    delayed.advance(0)
    assert delivered_bodies(delayed) == [b"0"]


BEYOND = "106751991168d"
"""A time in ms that overflows a 64-bit number and becomes negative."""
MANY = " ".join(["1m", "1h", "1d", BEYOND, "106751991167d", *["2s"] * 15])


@through(*BROKER, message_delay_level=MANY)
@pytest.mark.parametrize(
    ("level", "taken", "seconds"),
    [(1, 1, 60), (2, 2, 3_600), (3, 3, 86_400), (4, 4, 0), (5, 5, 0), (18, 18, 2), (20, 20, 2), (21, 20, 2)],
)
def test_there_may_be_more_than_eighteen_levels(
    delayed: BrokerProtocolClient, level: int, taken: int, seconds: int
) -> None:
    """There may be more than eighteen delay levels, in all four units.

    A level whose time, or whose delivery time, overflows 64 bits delivers at once.
    """
    delayed.put(DELAY=str(level))
    assert [each.property_map()["DELAY"] for each in delayed.records(SCHEDULE, taken - 1)] == [str(taken)]
    if seconds:
        delayed.advance(seconds * 1000 - 1)
        assert delivered_bodies(delayed) == []
        delayed.advance(1)
    delayed.advance(0)
    assert delivered_bodies(delayed) == [b"0"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1",
        "s",
        "5x",
        "1S",
        "1.5s",
        "1s,5s",
        "1s 5",
        "1s x5m",
        "1s 5 s",
        "1s  5s",
        " 1s",
        "--1s",
        "+s",
        "-",
        "9223372036854775808s",
    ],
)
def test_a_broker_with_an_invalid_message_delay_level_does_not_start(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="messageDelayLevel="):
        protocol_client(name, message_delay_level=text)


@through(*BROKER)
@pytest.mark.parametrize("level", [19, 99, 2**31 - 1])
def test_a_delay_level_above_the_last_is_stored_as_the_last(delayed: BrokerProtocolClient, level: int) -> None:
    assert delayed.put(DELAY=str(level)).ok
    (message,) = delayed.records(SCHEDULE, 17)
    assert message.property_map()["DELAY"] == "18"


@through(*BROKER)
@pytest.mark.parametrize("level", ["0", "-1", "-99", str(-(2**31))])
def test_a_delay_level_of_0_or_less_delivers_at_once(delayed: BrokerProtocolClient, level: str) -> None:
    """A delay level of 0 or less delivers the message at once; the message keeps the property."""
    assert delayed.put(DELAY=level).ok
    (message,) = delayed.records("T")
    assert message.property_map()["DELAY"] == level
    assert "REAL_TOPIC" not in message.property_map()


@through(*BROKER)
def test_a_delayed_message_is_stored_in_the_queue_of_its_level(delayed: BrokerProtocolClient) -> None:
    """A delayed message is stored in the queue of its level, with all its properties and its real topic and queue.

    The send returns the offset of that queue.
    """
    sent = delayed.put(b"0", tag="A", keys="k", queue=2, DELAY="4", color="red")
    (message,) = delayed.records(SCHEDULE, 3)
    assert (sent.offset, sent.place, sent.recall) == (0, message.physical_offset, "")
    known = {"REAL_TOPIC": "T", "REAL_QID": "2", "DELAY": "4", "TAGS": "A", "KEYS": "k", "color": "red"}
    assert message.property_map().items() >= known.items()
    delayed.advance(30_000)
    (delivered,) = delayed.records("T", 2)
    assert delivered.property_map() == message.property_map()
    assert (delivered.born_timestamp, delivered.reconsume_times) == (START_MS + 2_000, 0)
    assert delivered.store_timestamp == START_MS + 32_000


@through(*BROKER)
def test_messages_of_one_delay_level_are_delivered_in_the_order_of_sending(delayed: BrokerProtocolClient) -> None:
    for number in range(6):
        delayed.put(b"%d" % number, DELAY="2")
        delayed.advance(700)
    delayed.advance(5_000)
    assert delivered_bodies(delayed) == [b"0", b"1", b"2", b"3", b"4", b"5"]


@through(*BROKER)
def test_a_message_of_a_shorter_delay_level_is_delivered_first(delayed: BrokerProtocolClient) -> None:
    """A message of a shorter delay level is delivered first, though it was sent later."""
    for level, body in (("3", b"ten"), ("2", b"five"), ("1", b"one"), ("0", b"now")):
        delayed.put(body, DELAY=level)
    delayed.advance(10_000)
    assert delivered_bodies(delayed) == [b"now", b"one", b"five", b"ten"]


@through(*BROKER)
def test_a_delay_level_takes_precedence_over_timer_properties(delayed: BrokerProtocolClient) -> None:
    """A delay level takes precedence over timer properties, which are removed from the message."""
    sent = delayed.put(DELAY="1", TIMER_DELAY_MS="60000", TIMER_DELAY_SEC="60", deliver_ms=delayed.now_ms + 60_000)
    assert sent.recall == ""
    delayed.advance(1_000)
    (message,) = delayed.records("T")
    assert not [name for name in message.property_map() if name.startswith("TIMER_")]


@through(*BROKER)
def test_a_delayed_message_of_a_deleted_topic_is_delivered_to_its_queue(delayed: BrokerProtocolClient) -> None:
    """A delayed message of a deleted topic is delivered to that topic's queue; the topic stays unknown."""
    delayed.put(DELAY="1")
    delayed.delete_topic("T")
    delayed.advance(1_000)
    assert delivered_bodies(delayed) == [b"0"]
    assert delayed.broker.topics.find("T") is None


@through(*BROKER)
def test_a_delayed_message_wakes_waiting_consumers_on_delivery(delayed: BrokerProtocolClient) -> None:
    """A delayed message wakes a waiting pull and a waiting pop on delivery, not on send."""
    delayed.heartbeat("puller")
    pull, pop = delayed.pull(0, suspend_ms=15_000), delayed.pop(group="P", poll_ms=15_000)
    delayed.put(DELAY="2")
    delayed.advance(4_999)
    assert pull.response is pop.response is None
    delayed.advance(1)
    for response in (pull.response, pop.response):
        assert response is not None
        assert response.bodies == [b"0"]


@through(*BROKER)
def test_a_delayed_message_is_invisible_until_it_is_delivered(delayed: BrokerProtocolClient) -> None:
    """A delayed message is invisible to consumers and to consume statistics until it is delivered."""
    delayed.put(DELAY="3")
    delayed.advance(9_999)
    assert delayed.bodies() == []
    assert delayed.consume_statistics().get(0, (0, 0))[0] == 0


@through(*BROKER)
def test_a_delayed_ordered_message_is_delivered_behind_messages_sent_meanwhile(delayed: BrokerProtocolClient) -> None:
    """A delayed ordered message is delivered to its queue, behind messages that were sent meanwhile.

    It keeps its message group.
    """
    delayed.put(b"later", message_group="g", queue=1, DELAY="2")
    delayed.put(b"now", message_group="g", queue=1)
    delayed.advance(5_000)
    assert delivered_bodies(delayed, 1) == [b"now", b"later"]
    assert [each.property_map()["__SHARDINGKEY"] for each in delayed.records("T", 1)] == ["g", "g"]


@through(*BROKER)
def test_a_batch_with_a_delay_level_is_rejected(delayed: BrokerProtocolClient) -> None:
    """A batch with a delay level is rejected. It is accepted with a level of 0 or less.

    A delay level of a message inside a batch has no effect.
    """
    before = delayed.state()
    refused = delayed.send_batch_with_properties((b"a", {}), (b"b", {}), DELAY="1")
    assert refused.code == 13
    assert refused.remark.startswith("the message is illegal, maybe msg body or properties length not matched.")
    assert delayed.state() == before
    assert delayed.send_batch_with_properties((b"a", {"DELAY": "1"}), (b"b", {})).ok
    assert delayed.send_batch_with_properties((b"c", {}), (b"d", {}), DELAY="0").ok
    assert delayed.send_batch_with_properties((b"e", {}), DELAY="-1").ok
    assert delivered_bodies(delayed) == [b"a", b"b", b"c", b"d", b"e"]


@through(*BROKER)
def test_a_half_message_with_a_level_is_lost(delayed: BrokerProtocolClient) -> None:
    """A half message with a delay level is lost: it loses its real topic, so that its commit delivers nothing."""
    sent = delayed.put(half=True, DELAY="1")
    (message,) = delayed.records(SCHEDULE)
    assert message.property_map()["REAL_TOPIC"] == "RMQ_SYS_TRANS_HALF_TOPIC"
    response = delayed.end(sent, 8)
    assert response is not None
    assert response.ok
    delayed.advance(120_000)
    assert delivered_bodies(delayed) == []


@through(*BROKER)
def test_an_unacknowledged_delayed_message_is_delayed_by_its_level_again(delayed: BrokerProtocolClient) -> None:
    """An unacknowledged delayed message is delayed by its level again, after its invisible duration and its revival."""
    delayed.put(DELAY="2")
    delayed.advance(5_000)
    assert delayed.bodies(invisible_ms=2_000) == [b"0"]
    delayed.advance(2_000 + 2_000 + 4_900)
    assert delayed.bodies() == []
    delayed.advance(2_100)
    assert delayed.bodies() == [b"0"]
