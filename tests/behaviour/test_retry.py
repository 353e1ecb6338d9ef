"""Failed messages: sent back by commit log offset, retried after a delay, and moved to the dead letter queue."""

from dataclasses import replace

import pytest
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from rocketmq_testkit.emulator.message.stored_record import offset_message_id
from rocketmq_testkit.emulator.operations.groups import RetryPolicy

RETRY, DLQ, SCHEDULE, POP_RETRY = "%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX", "%RETRY%G_T"
WAITS_S = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
"""Delay in seconds after the first, second, ... failure of a message."""
LEVELS_S = [1, 5, *WAITS_S]


def stored_message(e: ProtocolClient) -> int:
    """Store a message of `T`, create group `G` and return the commit log offset of the message.

    The broker checks delay levels at the instant of the send, so that a delay lasts exactly as long as its level.
    """
    e.group()
    e.topic()
    e.advance(2_000)
    sent = e.put(b"bad", tag="A", keys="k", color="red")
    return e.records("T")[0].physical_offset if sent.place < 0 else sent.place


# Messages that are sent back to the broker.


@through(*BROKER)
def test_a_message_is_delayed_longer_each_time_and_then_moves_to_the_dlq(e: BrokerProtocolClient) -> None:
    """Delays grow from level 3 to 18 with each failure, and then the message moves to the dead letter queue.

    This takes seventeen deliveries and 4 h 45 m 40 s.
    """
    place, begin = stored_message(e), e.now_ms
    for times, seconds in enumerate(WAITS_S):
        assert e.send_back(place).ok
        waiting = e.records(SCHEDULE, 2 + times)[-1]
        assert waiting.property_map()["DELAY"] == str(3 + times)
        e.advance(seconds * 1000 - 1)
        assert len(e.records(RETRY)) == times
        e.advance(1)
        copy = e.records(RETRY)[times]
        assert copy.reconsume_times == times + 1
        place = copy.physical_offset
    assert e.records(DLQ) == []
    assert e.send_back(place).ok
    assert [each.reconsume_times for each in e.records(DLQ)] == [17]
    assert e.now_ms - begin == ((4 * 60 + 45) * 60 + 40) * 1000


@through(*BROKER)
@pytest.mark.parametrize(("level", "taken"), [(1, 1), (2, 2), (5, 5), (18, 18), (19, 18), (99, 18), (2**31 - 1, 18)])
def test_a_send_back_with_a_delay_level_uses_that_level(e: BrokerProtocolClient, level: int, taken: int) -> None:
    """A send-back with a delay level uses that level, or the last level if it is higher."""
    assert e.send_back(stored_message(e), level).ok
    (waiting,) = e.records(SCHEDULE, taken - 1)
    assert waiting.property_map()["DELAY"] == str(taken)
    e.advance(LEVELS_S[taken - 1] * 1000 - 1)
    assert e.records(RETRY) == []
    e.advance(1)
    assert [each.body for each in e.records(RETRY)] == [b"bad"]


@through(*BROKER)
@pytest.mark.parametrize("most", [0, 1, 2, 16])
@pytest.mark.parametrize("limit_of", ["request", "group"])
def test_a_message_moves_to_the_dlq_after_the_retry_limit_of_request_or_group(
    e: BrokerProtocolClient, most: int, limit_of: str
) -> None:
    """A message moves to the dead letter queue after the retry limit of the request, or of the group by default."""
    e.group(retry_max_times=most if limit_of == "group" else 3)
    e.topic()
    place = e.put().place
    for tried in range(most):
        assert e.send_back(place, 1, most=most if limit_of == "request" else None).ok
        e.advance(2_000)
        assert e.records(DLQ) == []
        place = e.records(RETRY)[tried].physical_offset
    assert e.send_back(place, 1, most=most if limit_of == "request" else None).ok
    e.advance(10_000)
    assert (len(e.records(RETRY)), len(e.records(DLQ))) == (most, 1)


@through(*BROKER)
@pytest.mark.parametrize(("level", "most", "of_group"), [(-1, None, 16), (-99, 5, 16), (3, 0, 16), (0, -1, 0)])
def test_a_negative_level_or_exhausted_retries_send_the_message_to_the_dlq(
    e: BrokerProtocolClient, level: int, most: int | None, of_group: int
) -> None:
    place = stored_message(e)
    e.group(retry_max_times=of_group)
    assert e.send_back(place, level, most=most).ok
    assert [each.body for each in e.records(DLQ)] == [b"bad"]
    assert e.state()["timers"] == []


@through(*BROKER)
def test_a_retried_message_keeps_its_fields_and_names_its_first_topic_and_id(e: BrokerProtocolClient) -> None:
    """A retried message keeps its fields and names its first topic and id; later copies name the same origin."""
    place = stored_message(e)
    (first,) = e.records("T")
    origin = offset_message_id(e.broker.store.store_host, place)
    known = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "WAIT": "false", "REAL_TOPIC": RETRY, "REAL_QID": "0"}
    for times in (1, 2):
        assert e.send_back(place, times).ok
        e.advance(LEVELS_S[times - 1] * 1000)
        copy = e.records(RETRY)[-1]
        assert copy.property_map() == first.property_map() | known | {"DELAY": str(times)}
        assert (copy.reconsume_times, copy.born_timestamp) == (times, first.born_timestamp)
        assert (copy.body, copy.born_host) == (first.body, first.born_host)
        place = copy.physical_offset


@through(*BROKER)
def test_a_dead_letter_keeps_its_fields_and_names_its_first_topic_and_id(e: BrokerProtocolClient) -> None:
    """A dead letter keeps all fields, names its first topic and id, and is stored without delay."""
    place = stored_message(e)
    (first,) = e.records("T")
    assert e.send_back(place, -1).ok
    (dead,) = e.records(DLQ)
    origin = offset_message_id(e.broker.store.store_host, place)
    new = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "WAIT": "false", "DELAY": "0"}
    assert dead.property_map() == first.property_map() | new
    assert (dead.body, dead.reconsume_times, dead.born_timestamp) == (b"bad", 1, first.born_timestamp)
    topic = e.broker.topics.get(DLQ)
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (1, 1, 6)


@through(*BROKER)
def test_a_dead_letter_of_a_retried_message_names_its_first_topic(e: BrokerProtocolClient) -> None:
    """A dead letter of a retried message names its first topic, its first id and the queue of the retry topic."""
    place = stored_message(e)
    origin = offset_message_id(e.broker.store.store_host, place)
    e.send_back(place, 1)
    e.advance(2_000)
    assert e.send_back(e.records(RETRY)[0].physical_offset, most=1).ok
    (dead,) = e.records(DLQ)
    known = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "REAL_TOPIC": RETRY, "REAL_QID": "0", "DELAY": "0"}
    assert dead.property_map().items() >= known.items()
    assert dead.reconsume_times == 2


@through(*BROKER)
def test_a_dead_letter_can_be_sent_back(e: BrokerProtocolClient) -> None:
    """A dead letter can be sent back, to the retry topic of the requesting group, with one attempt more."""
    e.send_back(stored_message(e), -1)
    (dead,) = e.take(DLQ, group="R")
    assert (dead.body, dead.attempt) == (b"bad", 1)
    for group in ("G", "R"):
        assert e.send_back(dead.place, 1, group=group).ok
    e.advance(2_000)
    for group in ("G", "R"):
        (copy,) = e.records(f"%RETRY%{group}")
        assert (copy.body, copy.reconsume_times, copy.property_map()["RETRY_TOPIC"]) == (b"bad", 2, "T")


@through(*BROKER)
@pytest.mark.parametrize("queues", [0, -1])
def test_a_send_back_of_a_group_without_retry_queues_stores_nothing(e: BrokerProtocolClient, queues: int) -> None:
    """A send-back of a group without retry queues succeeds but stores nothing, even for an offset without a message."""
    place = stored_message(e)
    e.group(retry_queue_nums=queues)
    before = e.state()
    assert e.send_back(place, 1).ok
    assert e.send_back(place, -1).ok
    assert e.send_back(1 << 40).ok
    assert e.state() == before


@through(*BROKER)
def test_a_retry_topic_has_as_many_queues_as_its_group_configures(e: BrokerProtocolClient) -> None:
    """A retry topic has as many queues as its group configures, and copies go to any of them.

    A send-back of an unknown group creates the group.
    """
    place = stored_message(e)
    e.group("H", retry_queue_nums=3)
    for _ in range(30):
        assert e.send_back(place, 1, group="H").ok
    assert e.send_back(place, 1, group="new").ok
    e.advance(2_000)
    assert all(e.records("%RETRY%H", queue) for queue in range(3))
    assert e.broker.topics.get("%RETRY%new").read_queue_nums == 1
    assert e.broker.groups.find("new") is not None


@through(*BROKER)
def test_a_send_back_of_a_disabled_group_is_accepted(e: BrokerProtocolClient) -> None:
    place = stored_message(e)
    e.group(consume_enable=False)
    assert e.send_back(place, 1).ok
    e.advance(2_000)
    assert len(e.records(RETRY)) == 1


# Clients that send to the retry topic themselves.


@through(*BROKER)
@pytest.mark.parametrize(
    ("times", "most", "of_group", "dead"),
    [(2, 2, 16, False), (3, 2, 16, True), (16, None, 16, False), (17, None, 16, True), (1, None, 0, True)],
)
def test_a_send_to_a_retry_topic_is_a_dead_letter_only_above_the_retry_limit(
    e: BrokerProtocolClient, times: int, most: int | None, of_group: int, *, dead: bool
) -> None:
    """A send to a retry topic becomes a dead letter if its reconsume times are above the retry limit.

    A message that is sent back becomes one already at the limit. A dead letter is not delayed, even if it has a delay
    level.
    """
    e.group(retry_max_times=of_group)
    assert e.send_to_retry_topic(b"bad", times=times, most=most, DELAY="2", RETRY_TOPIC="T").ok
    e.advance(7_000)
    (found,) = e.records(DLQ if dead else RETRY)
    assert (found.body, found.reconsume_times) == (b"bad", times)
    assert found.property_map()["DELAY"] == ("-1" if dead else "2")
    assert e.records(RETRY if dead else DLQ) == []


@through(*BROKER)
def test_a_send_to_a_retry_topic_is_delayed_by_its_level(e: BrokerProtocolClient) -> None:
    e.group()
    e.advance(2_000)
    assert e.send_to_retry_topic(b"bad", times=1, DELAY="4").ok
    e.advance(29_999)
    assert e.records(RETRY) == []
    e.advance(1)
    assert [each.body for each in e.records(RETRY)] == [b"bad"]


@through(*BROKER)
def test_a_send_to_the_retry_topic_of_a_locked_group_becomes_a_dead_letter(e: BrokerProtocolClient) -> None:
    """While a client of the group holds a queue lock, each send to the retry topic becomes a dead letter."""
    e.fifo()
    assert e.lock("a", 0) == [0]
    assert e.send_to_retry_topic(b"locked", times=1).ok
    e.unlock("a", 0)
    assert e.send_to_retry_topic(b"free", times=1).ok
    assert [each.body for each in e.records(DLQ)] == [b"locked"]
    assert [each.body for each in e.records(RETRY)] == [b"free"]


@through(*BROKER)
def test_a_send_to_the_retry_topic_of_an_unknown_group_creates_the_group(e: BrokerProtocolClient) -> None:
    e.topic("T")
    assert e.send_to_retry_topic(group="new").ok
    assert e.broker.groups.find("new") is not None


@through(*BROKER, auto_create_subscription_group=False)
def test_without_auto_creation_a_send_back_of_an_unknown_group_is_rejected(e: BrokerProtocolClient) -> None:
    """With autoCreateSubscriptionGroup=false a send-back or retry send of an unknown group is rejected."""
    place = stored_message(e)
    before = e.state()
    for response in (e.send_back(place, 1, group="new"), e.send_to_retry_topic(group="new")):
        assert response.code == 26
        assert response.remark.startswith("subscription group not exist, new \nSee ")
    assert {**e.state(), "topics": None} == {**before, "topics": None}


# Pop clients and gRPC clients.


@through(*ALL)
def test_a_failed_message_is_redelivered_after_its_changed_invisible_duration(e: ProtocolClient) -> None:
    """A failed message is redelivered 2 to 4 s after its changed invisible duration, each time as the next attempt."""
    e.fill_topic(1)
    for attempt, seconds in enumerate((10, 30, 60)):
        (message,) = e.take(invisible_ms=60_000)
        assert (message.body, message.attempt) == (b"0", attempt)
        assert e.change(message.handle, seconds * 1000).ok
        e.advance(seconds * 1000 + 1_999)
        assert e.bodies() == []
        e.advance(2_001)
    assert [each.attempt for each in e.take()] == [3]


@through(*BROKER)
def test_the_broker_never_moves_a_popped_message_to_the_dlq(e: ProtocolClient) -> None:
    """The broker redelivers a popped message without limit and moves none to the dead letter queue."""
    e.group(retry_max_times=1)
    e.fill_topic(1)
    for attempt in range(5):
        (message,) = e.take()
        assert message.attempt == attempt
        e.change(message.handle, 0)
        e.advance(4_000)
    assert e.records(DLQ) == []


@through("grpc")
@pytest.mark.parametrize("most", [0, 1, 2])
def test_the_proxy_moves_a_message_with_too_many_deliveries_to_the_dlq(e: ProtocolClient, most: int) -> None:
    """The proxy delivers a message once more than the group retries, then moves it to the dead letter queue."""
    e.group(retry_max_times=most)
    e.fill_topic(1)
    for attempt in range(most + 1):
        (message,) = e.take()
        assert message.attempt == attempt
        e.change(message.handle, 0)
        e.advance(4_000)
    assert e.bodies() == []
    (dead,) = e.records(DLQ)
    assert (dead.body, dead.reconsume_times) == (b"0", most + 2)
    assert {"RETRY_TOPIC": POP_RETRY, "DELAY": "0", "WAIT": "false"}.items() <= dead.property_map().items()
    e.advance(60_000)
    assert e.bodies() == []


@through("grpc")
def test_the_proxy_moves_a_message_to_the_dlq_after_seventeen_deliveries(e: ProtocolClient) -> None:
    """By default the proxy moves a message to the dead letter queue after seventeen deliveries (sixteen retries).

    The broker stores it in queue 0 of the dead letter queue's topic, and uses no other queue.
    """
    e.group()
    e.fill_topic(1)
    for attempt in range(17):
        (message,) = e.take()
        assert message.attempt == attempt
        e.change(message.handle, 0)
        e.advance(4_000)
        assert e.records(DLQ) == []
    assert e.bodies() == []
    e.advance(60_000)
    assert e.bodies() == []
    (dead,) = e.records(DLQ)
    assert (dead.body, dead.reconsume_times) == (b"0", 18)
    assert [queue.queue_id for queue in e.broker.store.queues_of(DLQ)] == [0]


@through("grpc")
@pytest.mark.parametrize("most", [2**31 - 1, -1])
def test_a_negative_or_overflowing_retry_limit_moves_messages_to_the_dlq_at_once(
    e: GrpcProtocolClient, most: int
) -> None:
    """With retryMaxTimes=-1 the proxy moves each message to the dead letter queue at once.

    The maximum of 32-bit numbers has the same effect, because one attempt more overflows.
    """
    e.group(retry_max_times=most)
    e.fill_topic(1)
    assert e.settings().backoff_policy.max_attempts == (-(2**31) if most > 0 else 0)
    assert e.bodies() == []
    assert [each.body for each in e.records(DLQ)] == [b"0"]


@through(*ALL)
def test_a_forwarded_message_is_stored_in_the_dlq_and_not_redelivered(e: ProtocolClient) -> None:
    """A message forwarded to the dead letter queue is stored there as the next attempt and is not redelivered."""
    place = stored_message(e)
    (message,) = e.take()
    assert message.place == place
    assert e.forward_to_dlq(message).ok
    (dead,) = e.records(DLQ)
    origin = offset_message_id(e.broker.store.store_host, place)
    known = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "WAIT": "false", "DELAY": "0", "color": "red"}
    assert dead.property_map().items() >= known.items()
    assert (dead.body, dead.reconsume_times) == (b"bad", 1)
    e.advance(30_000)
    assert e.bodies() == []
    assert e.records(POP_RETRY) == []


@through(*ALL)
def test_another_group_receives_a_dead_letter_with_all_sender_fields(e: ProtocolClient) -> None:
    """Another group receives a dead letter with all sender fields; its attempt includes the one that failed last."""
    stored_message(e)
    e.forward_to_dlq(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert (dead.body, dead.tag, dead.keys, dead.attempt) == (b"bad", "A", ("k",), 1)
    assert e.ack(dead.handle, topic=DLQ, group="R").ok
    e.advance(30_000)
    assert e.bodies(DLQ, group="R") == []


@through(*ALL)
def test_a_dead_letter_that_fails_again_moves_to_the_dlq_of_its_readers_group(e: ProtocolClient) -> None:
    """A dead letter that fails again moves to the dead letter queue of its reader's group and names its first topic."""
    stored_message(e)
    e.forward_to_dlq(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert e.forward_to_dlq(dead, topic=DLQ, group="R").ok
    (again,) = e.records("%DLQ%R")
    assert (again.body, again.reconsume_times, again.property_map()["RETRY_TOPIC"]) == (b"bad", 2, "T")


@through(*ALL)
def test_an_unacknowledged_dead_letter_is_redelivered_to_its_readers_group(e: ProtocolClient) -> None:
    """A dead letter that is not acknowledged is redelivered to its reader's group, with one attempt more."""
    stored_message(e)
    e.forward_to_dlq(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert e.change(dead.handle, 1_000, topic=DLQ, group="R").ok
    e.advance(5_000)
    (again,) = e.take(DLQ, group="R")
    assert (again.body, again.attempt) == (b"bad", 2)
    assert len(e.records(DLQ)) == 1


@through(*ALL)
def test_a_message_forwarded_by_a_group_without_retry_queues_is_lost(e: ProtocolClient) -> None:
    """A message that a group without retry queues forwards to the dead letter queue is lost.

    The request succeeds nevertheless. Redelivery after a changed invisible duration still works.
    """
    e.group(retry_queue_nums=0)
    e.fill_topic(2)
    first, second = e.take()
    assert e.forward_to_dlq(first).ok
    assert e.change(second.handle, 0).ok
    e.advance(5_000)
    assert e.bodies() == [b"1"]
    assert e.records(DLQ) == []


@through(*ALL)
def test_a_message_forwarded_to_the_dlq_twice_is_stored_there_twice(e: ProtocolClient) -> None:
    stored_message(e)
    (message,) = e.take()
    for _ in range(2):
        assert e.forward_to_dlq(message).ok
    assert len(e.records(DLQ)) == 2


@through(*ALL)
def test_a_message_can_be_forwarded_to_the_dlq_with_a_changed_handle(e: ProtocolClient) -> None:
    """The handle is the one that a change of the message's invisible duration returned."""
    e.fill_topic(3)
    *_, last = e.take()
    changed = e.change(last.handle, 30_000)
    assert e.forward_to_dlq(replace(last, handle=changed.handle)).ok
    assert [each.body for each in e.records(DLQ)] == [b"2"]


@through("grpc")
@pytest.mark.parametrize(("after_ms", "again"), [(11_000, []), (15_000, [b"0"])])
def test_a_message_can_be_forwarded_to_the_dlq_with_an_expired_handle(
    e: GrpcProtocolClient, after_ms: int, again: list[bytes]
) -> None:
    """A message can be forwarded to the dead letter queue with an expired handle.

    If the broker has revived the message by then, it also redelivers the message.
    """
    e.fill_topic(1)
    (message,) = e.take()
    e.advance(after_ms)
    assert e.forward_to_dlq(message).ok
    e.advance(5_000)
    assert len(e.records(DLQ)) == 1
    assert e.bodies() == again


@through("grpc")
@pytest.mark.parametrize(
    ("policy", "intervals_s"),
    [
        (RetryPolicy(), [1.0, 5.0, *map(float, WAITS_S)]),
        (RetryPolicy(next_ms=[500, 20_000]), [0.5, 20.0]),
        (RetryPolicy(next_ms=[]), []),
    ],
)
def test_a_grpc_consumers_settings_contain_the_retry_intervals_of_its_group(
    e: GrpcProtocolClient, policy: RetryPolicy, intervals_s: list[float]
) -> None:
    """A gRPC consumer's settings contain the retry intervals of its group, by default those of the delay levels."""
    e.topic()
    e.group(retry_policy=policy, retry_max_times=4)
    backoff = e.settings().backoff_policy
    assert backoff.max_attempts == 5
    assert [each.ToMilliseconds() / 1000 for each in backoff.customized_backoff.next] == intervals_s


@through("grpc")
def test_a_grpc_consumers_settings_contain_the_exponential_retry_policy(e: GrpcProtocolClient) -> None:
    e.topic()
    e.group(retry_policy=RetryPolicy("EXPONENTIAL", None, 2_000, 60_000, multiplier=3))
    backoff = e.settings().backoff_policy
    exponential = backoff.exponential_backoff
    assert backoff.max_attempts == 17
    assert (exponential.initial.seconds, exponential.max.seconds, exponential.multiplier) == (2, 60, 3)


@through(*ALL)
def test_retries_and_dead_letters_are_not_delivered_to_other_groups(e: ProtocolClient) -> None:
    e.fill_topic(2)
    first, second = e.take()
    assert e.bodies(group="H", invisible_ms=600_000) == [b"0", b"1"]
    e.change(first.handle, 0)
    e.forward_to_dlq(second)
    e.advance(10_000)
    assert e.bodies(group="H") == []
    assert e.bodies() == [b"0"]
    assert e.records("%DLQ%H") == []
