"""Failed messages: sent back by commit log offset, retried after a delay, and moved to the dead letter queue."""

from dataclasses import replace

import pytest
from entrance import BrokerEntrance, Entrance
from entrance_grpc import GrpcEntrance
from entrances import ALL, BROKER, through
from rocketmq_testkit.emulator.message.stored_record import offset_message_id
from rocketmq_testkit.emulator.operations import RetryPolicy

RETRY, DLQ, SCHEDULE, COPIES = "%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX", "%RETRY%G_T"
WAITS_S = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
"""Delay in seconds after the first, second, ... failure of a message."""
LEVELS_S = [1, 5, *WAITS_S]


def failed(e: Entrance) -> int:
    """Store a message of `T`, create group `G` and return the commit log offset of the message.

    The time is then a whole second, at which delay levels are checked.
    """
    e.group()
    e.topic()
    e.advance(2_000)
    sent = e.put(b"bad", tag="A", keys="k", color="red")
    return e.records("T")[0].physical_offset if sent.place < 0 else sent.place


# Messages that are sent back to the broker.


@through(*BROKER)
def test_a_message_waits_longer_each_time_and_is_dead_at_last(e: BrokerEntrance) -> None:
    """Delays grow from level 3 to 18 with each failure, and then the message moves to the dead letter queue.

    This takes seventeen deliveries and 4 h 45 m 40 s.
    """
    place, begin = failed(e), e.now_ms
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
def test_a_level_of_its_own(e: BrokerEntrance, level: int, taken: int) -> None:
    """A send-back with a delay level uses that level, or the last level if it is higher."""
    assert e.send_back(failed(e), level).ok
    (waiting,) = e.records(SCHEDULE, taken - 1)
    assert waiting.property_map()["DELAY"] == str(taken)
    e.advance(LEVELS_S[taken - 1] * 1000 - 1)
    assert e.records(RETRY) == []
    e.advance(1)
    assert [each.body for each in e.records(RETRY)] == [b"bad"]


@through(*BROKER)
@pytest.mark.parametrize("most", [0, 1, 2, 16])
@pytest.mark.parametrize("who", ["request", "group"])
def test_as_often_as_is_allowed(e: BrokerEntrance, most: int, who: str) -> None:
    """A message moves to the dead letter queue after the retries of the request, or else of the group."""
    e.group(retry_max_times=most if who == "group" else 3)
    e.topic()
    place = e.put().place
    for tried in range(most):
        assert e.send_back(place, 1, most=most if who == "request" else None).ok
        e.advance(2_000)
        assert e.records(DLQ) == []
        place = e.records(RETRY)[tried].physical_offset
    assert e.send_back(place, 1, most=most if who == "request" else None).ok
    e.advance(10_000)
    assert (len(e.records(RETRY)), len(e.records(DLQ))) == (most, 1)


@through(*BROKER)
@pytest.mark.parametrize(("level", "most", "of_group"), [(-1, None, 16), (-99, 5, 16), (3, 0, 16), (0, -1, 0)])
def test_dead_at_once(e: BrokerEntrance, level: int, most: int | None, of_group: int) -> None:
    """A negative delay level or exhausted retries move the message to the dead letter queue at once."""
    place = failed(e)
    e.group(retry_max_times=of_group)
    assert e.send_back(place, level, most=most).ok
    assert [each.body for each in e.records(DLQ)] == [b"bad"]
    assert e.state()["timers"] == []


@through(*BROKER)
def test_what_a_copy_says(e: BrokerEntrance) -> None:
    """A retried message keeps its fields and names its first topic and id; later copies name the same origin."""
    place = failed(e)
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
def test_what_a_dead_letter_says(e: BrokerEntrance) -> None:
    """A dead letter keeps all fields, names its first topic and id, and is stored without delay."""
    place = failed(e)
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
def test_a_dead_letter_after_tries_still_knows_its_first_topic(e: BrokerEntrance) -> None:
    """A dead letter of a retried message names its first topic, its first id and the queue of the retry topic."""
    place = failed(e)
    origin = offset_message_id(e.broker.store.store_host, place)
    e.send_back(place, 1)
    e.advance(2_000)
    assert e.send_back(e.records(RETRY)[0].physical_offset, most=1).ok
    (dead,) = e.records(DLQ)
    known = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "REAL_TOPIC": RETRY, "REAL_QID": "0", "DELAY": "0"}
    assert dead.property_map().items() >= known.items()
    assert dead.reconsume_times == 2


@through(*BROKER)
def test_a_dead_letter_can_be_sent_back(e: BrokerEntrance) -> None:
    """A dead letter can be sent back, to the retry topic of the requesting group, with one attempt more."""
    e.send_back(failed(e), -1)
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
def test_a_group_without_retry_queues_loses_the_message(e: BrokerEntrance, queues: int) -> None:
    """A send-back of a group without retry queues succeeds but stores nothing, even for an offset without message."""
    place = failed(e)
    e.group(retry_queue_nums=queues)
    before = e.state()
    assert e.send_back(place, 1).ok
    assert e.send_back(place, -1).ok
    assert e.send_back(1 << 40).ok
    assert e.state() == before


@through(*BROKER)
def test_a_retry_topic_has_the_queues_of_its_group(e: BrokerEntrance) -> None:
    """A retry topic has as many queues as its group configures, and copies go to any of them.

    A send-back of an unknown group creates the group.
    """
    place = failed(e)
    e.group("H", retry_queue_nums=3)
    for _ in range(30):
        assert e.send_back(place, 1, group="H").ok
    assert e.send_back(place, 1, group="new").ok
    e.advance(2_000)
    assert all(e.records("%RETRY%H", queue) for queue in range(3))
    assert e.broker.topics.get("%RETRY%new").read_queue_nums == 1
    assert e.broker.groups.find("new") is not None


@through(*BROKER)
def test_a_group_that_may_not_consume_may_send_back(e: BrokerEntrance) -> None:
    """A send-back of a group with consumption disabled is accepted."""
    place = failed(e)
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
def test_a_send_to_a_retry_topic_may_be_one_too_many(
    e: BrokerEntrance, times: int, most: int | None, of_group: int, dead: bool
) -> None:
    """A send to a retry topic may count one attempt more than a send-back before it becomes a dead letter.

    A dead letter is not delayed, even if it has a delay level.
    """
    e.group(retry_max_times=of_group)
    assert e.again(b"bad", times=times, most=most, DELAY="2", RETRY_TOPIC="T").ok
    e.advance(7_000)
    (found,) = e.records(DLQ if dead else RETRY)
    assert (found.body, found.reconsume_times) == (b"bad", times)
    assert found.property_map()["DELAY"] == ("-1" if dead else "2")
    assert e.records(RETRY if dead else DLQ) == []


@through(*BROKER)
def test_a_send_to_a_retry_topic_waits_for_its_level(e: BrokerEntrance) -> None:
    """A send to a retry topic is delayed by its delay level."""
    e.group()
    e.advance(2_000)
    assert e.again(b"bad", times=1, DELAY="4").ok
    e.advance(29_999)
    assert e.records(RETRY) == []
    e.advance(1)
    assert [each.body for each in e.records(RETRY)] == [b"bad"]


@through(*BROKER)
def test_a_group_in_order_has_no_second_try_there(e: BrokerEntrance) -> None:
    """While a client of the group holds a queue lock, each send to the retry topic becomes a dead letter."""
    e.fifo()
    assert e.lock("a", 0) == [0]
    assert e.again(b"locked", times=1).ok
    e.unlock("a", 0)
    assert e.again(b"free", times=1).ok
    assert [each.body for each in e.records(DLQ)] == [b"locked"]
    assert [each.body for each in e.records(RETRY)] == [b"free"]


@through(*BROKER)
def test_a_send_to_a_retry_topic_makes_the_group(e: BrokerEntrance) -> None:
    """A send to the retry topic of an unknown group creates the group."""
    e.topic("T")
    assert e.again(group="new").ok
    assert e.broker.groups.find("new") is not None


@through(*BROKER, auto_create_subscription_group=False)
def test_an_unknown_group_may_be_refused(e: BrokerEntrance) -> None:
    """With autoCreateSubscriptionGroup=false a send-back or retry send of an unknown group is rejected."""
    place = failed(e)
    before = e.state()
    for answer in (e.send_back(place, 1, group="new"), e.again(group="new")):
        assert answer.code == 26
        assert answer.remark.startswith("subscription group not exist, new \nSee ")
    assert {**e.state(), "topics": None} == {**before, "topics": None}


# Pop clients and gRPC clients.


@through(*ALL)
def test_a_popped_message_is_failed_by_a_change_of_its_time(e: Entrance) -> None:
    """A failed message is redelivered 2 to 4 s after its changed invisible duration, each time as the next attempt."""
    e.filled(1)
    for attempt, seconds in enumerate((10, 30, 60)):
        (message,) = e.take(invisible_ms=60_000)
        assert (message.body, message.attempt) == (b"0", attempt)
        assert e.change(message.handle, seconds * 1000).ok
        e.advance(seconds * 1000 + 1_999)
        assert e.bodies() == []
        e.advance(2_001)
    assert [each.attempt for each in e.take()] == [3]


@through(*BROKER)
def test_a_broker_never_buries_what_is_popped(e: Entrance) -> None:
    """The broker redelivers a popped message without limit and moves none to the dead letter queue."""
    e.group(retry_max_times=1)
    e.filled(1)
    for attempt in range(5):
        (message,) = e.take()
        assert message.attempt == attempt
        e.change(message.handle, 0)
        e.advance(4_000)
    assert e.records(DLQ) == []


@through("grpc")
@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_proxy_buries_what_came_too_often(e: Entrance, most: int) -> None:
    """The proxy delivers a message once more than the group retries, then moves it to the dead letter queue."""
    e.group(retry_max_times=most)
    e.filled(1)
    for attempt in range(most + 1):
        (message,) = e.take()
        assert message.attempt == attempt
        e.change(message.handle, 0)
        e.advance(4_000)
    assert e.bodies() == []
    (dead,) = e.records(DLQ)
    assert (dead.body, dead.reconsume_times) == (b"0", most + 2)
    assert {"RETRY_TOPIC": COPIES, "DELAY": "0", "WAIT": "false"}.items() <= dead.property_map().items()
    e.advance(60_000)
    assert e.bodies() == []


@through("grpc")
def test_a_proxy_buries_after_seventeen_deliveries(e: Entrance) -> None:
    """By default the proxy moves a message to the dead letter queue after seventeen deliveries (sixteen retries).

    Only queue 0 of that topic is used.
    """
    e.group()
    e.filled(1)
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
def test_a_proxy_buries_what_must_not_be_tried(e: GrpcEntrance, most: int) -> None:
    """With retryMaxTimes=-1 the proxy moves each message to the dead letter queue at once.

    The maximum of 32-bit numbers has the same effect, because one attempt more overflows.
    """
    e.group(retry_max_times=most)
    e.filled(1)
    assert e.settings().backoff_policy.max_attempts == (-(2**31) if most > 0 else 0)
    assert e.bodies() == []
    assert [each.body for each in e.records(DLQ)] == [b"0"]


@through(*ALL)
def test_a_message_that_is_given_up(e: Entrance) -> None:
    """A message forwarded to the dead letter queue is stored there as the next attempt and is not redelivered."""
    place = failed(e)
    (message,) = e.take()
    assert message.place == place
    assert e.give_up(message).ok
    (dead,) = e.records(DLQ)
    origin = offset_message_id(e.broker.store.store_host, place)
    known = {"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": origin, "WAIT": "false", "DELAY": "0", "color": "red"}
    assert dead.property_map().items() >= known.items()
    assert (dead.body, dead.reconsume_times) == (b"bad", 1)
    e.advance(30_000)
    assert e.bodies() == []
    assert e.records(COPIES) == []


@through(*ALL)
def test_a_dead_letter_is_read_like_any_message(e: Entrance) -> None:
    """Another group receives a dead letter with all sender fields and with the attempt counted that failed last."""
    failed(e)
    e.give_up(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert (dead.body, dead.tag, dead.keys, dead.attempt) == (b"bad", "A", ("k",), 1)
    assert e.ack(dead.handle, topic=DLQ, group="R").ok
    e.advance(30_000)
    assert e.bodies(DLQ, group="R") == []


@through(*ALL)
def test_a_dead_letter_that_fails_dies_in_the_queue_of_its_reader(e: Entrance) -> None:
    """A dead letter that fails again moves to the dead letter queue of its reader's group and names its first topic."""
    failed(e)
    e.give_up(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert e.give_up(dead, topic=DLQ, group="R").ok
    (again,) = e.records("%DLQ%R")
    assert (again.body, again.reconsume_times, again.property_map()["RETRY_TOPIC"]) == (b"bad", 2, "T")


@through(*ALL)
def test_a_dead_letter_that_fails_comes_again(e: Entrance) -> None:
    """A dead letter that is not acknowledged is redelivered to its reader's group, with one attempt more."""
    failed(e)
    e.give_up(e.take()[0])
    (dead,) = e.take(DLQ, group="R")
    assert e.change(dead.handle, 1_000, topic=DLQ, group="R").ok
    e.advance(5_000)
    (again,) = e.take(DLQ, group="R")
    assert (again.body, again.attempt) == (b"bad", 2)
    assert len(e.records(DLQ)) == 1


@through(*ALL)
def test_a_group_without_retry_queues_has_no_dead_letters(e: Entrance) -> None:
    """A message that a group without retry queues forwards to the dead letter queue is lost.

    The request succeeds nevertheless. Redelivery after a changed invisible duration still works.
    """
    e.group(retry_queue_nums=0)
    e.filled(2)
    first, second = e.take()
    assert e.give_up(first).ok
    assert e.change(second.handle, 0).ok
    e.advance(5_000)
    assert e.bodies() == [b"1"]
    assert e.records(DLQ) == []


@through(*ALL)
def test_each_time_that_a_message_is_given_up_is_a_dead_letter(e: Entrance) -> None:
    """A message that is forwarded to the dead letter queue twice is stored there twice."""
    failed(e)
    (message,) = e.take()
    for _ in range(2):
        assert e.give_up(message).ok
    assert len(e.records(DLQ)) == 2


@through(*ALL)
def test_a_message_whose_time_was_changed_is_given_up(e: Entrance) -> None:
    """A message can be forwarded to the dead letter queue with the handle of a changed invisible duration."""
    e.filled(3)
    *_, last = e.take()
    changed = e.change(last.handle, 30_000)
    assert e.give_up(replace(last, handle=changed.handle)).ok
    assert [each.body for each in e.records(DLQ)] == [b"2"]


@through("grpc")
@pytest.mark.parametrize(("after_ms", "again"), [(11_000, []), (15_000, [b"0"])])
def test_what_is_expired_is_given_up_all_the_same(e: GrpcEntrance, after_ms: int, again: list[bytes]) -> None:
    """A message can be forwarded to the dead letter queue with an expired handle.

    If its revive queue was processed by then, the message is also redelivered.
    """
    e.filled(1)
    (message,) = e.take()
    e.advance(after_ms)
    assert e.give_up(message).ok
    e.advance(5_000)
    assert len(e.records(DLQ)) == 1
    assert e.bodies() == again


@through("grpc")
@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (RetryPolicy(), [1.0, 5.0, *map(float, WAITS_S)]),
        (RetryPolicy(next_ms=[500, 20_000]), [0.5, 20.0]),
        (RetryPolicy(next_ms=[]), []),
    ],
)
def test_a_consumer_is_told_how_long_to_wait(e: GrpcEntrance, policy: RetryPolicy, told: list[float]) -> None:
    """A gRPC consumer's settings contain the retry intervals of its group, or of the delay levels by default."""
    e.topic()
    e.group(retry_policy=policy, retry_max_times=4)
    backoff = e.settings().backoff_policy
    assert backoff.max_attempts == 5
    assert [each.ToMilliseconds() / 1000 for each in backoff.customized_backoff.next] == told


@through("grpc")
def test_a_consumer_is_told_to_wait_longer_and_longer(e: GrpcEntrance) -> None:
    """A gRPC consumer's settings contain the exponential retry policy of its group."""
    e.topic()
    e.group(retry_policy=RetryPolicy("EXPONENTIAL", None, 2_000, 60_000, 3))
    backoff = e.settings().backoff_policy
    exponential = backoff.exponential_backoff
    assert backoff.max_attempts == 17
    assert (exponential.initial.seconds, exponential.max.seconds, exponential.multiplier) == (2, 60, 3)


@through(*ALL)
def test_other_groups_hear_nothing_of_a_failure(e: Entrance) -> None:
    """Retries and dead letters of a group are not delivered to other groups."""
    e.filled(2)
    first, second = e.take()
    assert e.bodies(group="H", invisible_ms=600_000) == [b"0", b"1"]
    e.change(first.handle, 0)
    e.give_up(second)
    e.advance(10_000)
    assert e.bodies(group="H") == []
    assert e.bodies() == [b"0"]
    assert e.records("%DLQ%H") == []
