"""Light message queues (LMQ): a message is also in the queues that its property INNER_MULTI_DISPATCH names.

Names of LMQs begin with `%LMQ%`.
"""

import pytest
from engine_harness import EngineHarness, bodies, make_harness, refused
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.groups import AssignmentResult, QueryAssignment
from rocketmq_testkit.emulator.operations.offsets import (
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import (
    CreateTopic,
    GetAllTopics,
    GetTopicConfig,
    TopicConfig,
    TopicResult,
    TopicsResult,
)
from rocketmq_testkit.emulator.topic.topic_table import PERM_READ, PERM_WRITE
from rocketmq_testkit.remoting.client import batch_body

A, B = "%LMQ%a", "%LMQ%b"


@pytest.fixture
def harness() -> EngineHarness:
    made = make_harness(enable_lmq=True, enable_multi_dispatch=True)
    made.topic("T", 2)
    return made


def send(harness: EngineHarness, names: str, body: bytes = b"m", topic: str = "T", **more: str) -> SendResult:
    return harness.send(topic, body, queue=0, INNER_MULTI_DISPATCH=names, **more)


def found(harness: EngineHarness, name: str, offset: int = 0) -> list[tuple[bytes, str | None]]:
    """Pull; return the body of each message, and its offsets in the LMQs that it names, separated by commas."""
    outcome = harness.pull(name, offset).outcome
    assert isinstance(outcome, PullResult), outcome
    records = [decode(each) for each in outcome.records]
    return [(each.body, each.property_map().get("INNER_MULTI_QUEUE_OFFSET")) for each in records]


def end(harness: EngineHarness, name: str) -> int:
    return harness.ask(OffsetResult, GetMaxOffset(name, 0)).offset


def start(harness: EngineHarness, name: str) -> int:
    return harness.ask(OffsetResult, GetMinOffset(name, 0)).offset


def test_a_message_is_in_each_lmq_that_it_names(harness: EngineHarness) -> None:
    """A message is in each LMQ that it names, with an offset in each; its record keeps its topic."""
    send(harness, f"{A},{B}", b"1")
    harness.send("T", b"2", queue=1, INNER_MULTI_DISPATCH=B)
    assert found(harness, A) == [(b"1", "0,0")]
    assert found(harness, B) == [(b"1", "0,0"), (b"2", "1")]
    assert found(harness, B, 1) == [(b"2", "1")]
    assert (end(harness, A), end(harness, B), end(harness, "T")) == (1, 2, 1)
    outcome = harness.pull(B, 1).outcome
    assert isinstance(outcome, PullResult)
    record = decode(outcome.records[0])
    assert (record.topic, record.queue_id, record.queue_offset) == ("T", 1, 0)


def test_by_default_inner_multi_dispatch_has_no_effect() -> None:
    """By default, without both keys, the property has no effect."""
    harness = make_harness()
    harness.topic("T")
    send(harness, A)
    assert found(harness, "T") == [(b"m", None)]
    assert refused(harness.pull(A)).code == ResponseCode.TOPIC_NOT_EXIST


def test_with_enable_lmq_alone_offsets_are_counted_but_nothing_is_queued() -> None:
    """With enableLmq alone offsets are counted but nothing is queued; later messages start at the count."""
    harness = make_harness(enable_lmq=True)
    harness.topic("T")
    send(harness, A)
    assert (found(harness, "T"), end(harness, A)) == ([(b"m", "0")], 0)
    harness.ask(Done, UpdateBrokerConfig({"enableMultiDispatch": "true"}))
    send(harness, A, b"later")
    assert (found(harness, A, 1), start(harness, A), end(harness, A)) == ([(b"later", "1")], 1, 2)


def test_an_lmq_named_twice_gets_the_message_once_but_counts_it_twice(harness: EngineHarness) -> None:
    """A queue named twice gets the message once but counts it twice, so the next offset is too high."""
    send(harness, f"{A},{A}", b"1")
    send(harness, A, b"2")
    assert (found(harness, A), end(harness, A)) == ([(b"1", "0,0"), (b"2", "2")], 2)


@pytest.mark.parametrize(
    ("names", "offsets", "ends"),
    [
        ("x", None, (0, 0)),
        (f"{A},x", "0,", (0, 0)),
        (f"x,{A}", ",0", (0, 0)),
        (f"{A}/1,{B}", "0,0", (0, 1)),
        (f"{A},,", "0", (1, 0)),
        (" ", None, (0, 0)),
    ],
)
def test_a_message_that_names_a_queue_that_is_no_lmq_is_in_no_lmq(
    harness: EngineHarness, names: str, offsets: str | None, ends: tuple[int, int]
) -> None:
    """If a name is not an LMQ, the message is in no LMQ.

    A name with a slash uses up an offset, but has no queue. The message is in the other queues that it names.
    """
    send(harness, names)
    assert found(harness, "T") == [(b"m", offsets)]
    assert (end(harness, A), end(harness, B)) == ends


@pytest.mark.parametrize("topic", ["%RETRY%T", "rmq_sys_T"])
def test_messages_of_retry_and_system_topics_are_in_no_lmq(harness: EngineHarness, topic: str) -> None:
    send(harness, A, topic=topic)
    assert (found(harness, topic), end(harness, A)) == ([(b"m", None)], 0)


def test_a_delayed_message_enters_its_lmq_at_its_delivery(harness: EngineHarness) -> None:
    """A message with a delay level or a timer enters the LMQ at its delivery."""
    send(harness, A, b"level", DELAY="1")
    send(harness, A, b"time", TIMER_DELAY_SEC="2")
    assert end(harness, A) == 0
    harness.advance(5000)  # ms: after both deliveries, of level 1 after 1 s and of the timer after 2 s
    assert [body for body, _ in found(harness, A)] == [b"level", b"time"]


def test_messages_of_a_batch_are_in_no_lmq(harness: EngineHarness) -> None:
    body = batch_body([(b"one", {"INNER_MULTI_DISPATCH": A}), (b"two", {})])
    harness.ask(SendResult, SendMessage("PG", "T", 0, body, {}, ("10.0.0.1", 5000), harness.now_ms, batch=True))
    assert (end(harness, "T"), end(harness, A)) == (2, 0)


def test_max_message_size_limits_the_whole_record_of_a_message_with_lmqs() -> None:
    """For a message with LMQs maxMessageSize limits the record instead of the body.

    A rejected message is not counted.
    """
    harness = make_harness(enable_lmq=True, enable_multi_dispatch=True, max_message_size=1000)
    harness.topic("T")
    harness.send("T", b"x" * 1000)
    with pytest.raises(EngineError) as too_large:
        send(harness, A, b"x" * 1000)
    assert too_large.value.code == ResponseCode.MESSAGE_ILLEGAL
    send(harness, A)
    assert found(harness, A) == [(b"m", "0")]


def test_an_lmq_needs_no_creation_and_is_not_listed(harness: EngineHarness) -> None:
    """An LMQ is an unlisted topic of one queue.

    Messages sent to it count their offsets from 0 for themselves. The queue stores no message whose offset is taken.
    """
    config = harness.ask(TopicResult, GetTopicConfig(A)).config
    assert (config.read_queue_nums, config.perm) == (1, PERM_READ | PERM_WRITE)
    assert A not in harness.ask(TopicsResult, GetAllTopics()).topics
    send(harness, A, b"1")
    send(harness, A, b"2")
    assert [harness.send(A, body).queue_offset for body in (b"a", b"b", b"c", b"d")] == [0, 1, 2, 3]
    assert [body for body, _ in found(harness, A)] == [b"1", b"2", b"a", b"d"]
    with pytest.raises(EngineError):
        harness.send(A, queue=1)


def test_an_lmq_has_a_route_only_if_an_administrator_creates_it(harness: EngineHarness) -> None:
    """An LMQ has a route only if an administrator creates it, which changes nothing at the broker."""
    send(harness, A)
    with pytest.raises(EngineError):
        harness.engine.execute(harness.engine.name_server, GetRouteInfo(A))
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig(A, 4, 4)))
    route = harness.ask(RouteResult, GetRouteInfo(A), harness.engine.name_server)
    assert [queue.read_queue_nums for queue in route.queues] == [4]
    assert harness.ask(TopicResult, GetTopicConfig(A)).config.read_queue_nums == 1


def test_a_waiting_pull_or_pop_of_an_lmq_is_woken(harness: EngineHarness) -> None:
    """A pull and a pop of an LMQ are woken by a message that names it."""
    pull, pop = harness.pull(A, suspend_ms=10_000), harness.pop(B, poll_ms=10_000)
    send(harness, f"{A},{B}")
    assert isinstance(pull.outcome, PullResult)
    assert len(pull.outcome.records) == 1
    assert pop.outcome is not None


def test_an_unacknowledged_message_of_an_lmq_is_redelivered(harness: EngineHarness) -> None:
    """An unacknowledged message popped from an LMQ is redelivered, an acknowledged one is not."""
    send(harness, A, b"1")
    send(harness, A, b"2")
    first, second = harness.popped(A)
    harness.ack(A, harness.receipt(second))
    harness.advance(60_000)  # ms: long after the invisible duration of 10 s
    assert bodies(harness.popped(A)) == [b"1"]
    assert first.queue_offset == 0


def test_an_lmq_is_assigned_without_a_route(harness: EngineHarness) -> None:
    """An LMQ is assigned without a route; a broadcasting client, which needs one, gets none."""
    harness.heartbeat("c", "G", {A: "*"})
    outcome = harness.ask(AssignmentResult, QueryAssignment(A, "G", "c", "AVG", message_model="CLUSTERING"))
    assert outcome.assignments is not None
    assert [each.queue.queue_id for each in outcome.assignments] == [0]
    outcome = harness.ask(AssignmentResult, QueryAssignment(A, "G", "c", "AVG", message_model="BROADCASTING"))
    assert outcome.assignments is None


def test_after_a_restart_an_lmq_counts_from_its_end(harness: EngineHarness) -> None:
    """After a restart an LMQ counts from its end, even if its count was ahead."""
    send(harness, f"{A},{A}")
    harness.engine.restart(harness.broker)
    send(harness, A, b"2")
    assert found(harness, A) == [(b"m", "0,0"), (b"2", "1")]


def test_a_slave_has_the_lmqs_of_its_master() -> None:
    """A slave's LMQs have as many entries as its master's."""
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")]
    for config in configs:
        config.enable_lmq = config.enable_multi_dispatch = True
    engine = Engine(brokers=configs)
    harness = EngineHarness(engine, engine.brokers[0])
    harness.topic("T")
    send(harness, f"{A},{B}")
    send(harness, A)
    for name, length in ((A, 2), (B, 1)):
        queue = engine.brokers[1].store.queue(name, 0)
        assert queue is not None
        assert queue.max_offset == length
