"""Deliveries and acknowledgements in the history of an engine, for requests of both protocols and direct ones."""

from typing import Any

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from fault_rules import Rules
from grpc_protocol_client import GrpcProtocolClient, GrpcWaiting
from protocol_client import ProtocolClient
from protocol_clients import protocol_client
from pull_operation import pull_of
from remoting_protocol_client import RemotingProtocolClient, RemotingWaiting
from rocketmq_testkit.emulator.client.consumption import holding_topic
from rocketmq_testkit.emulator.client.popped_messages import RECEIVE
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import StallFrame
from rocketmq_testkit.emulator.faults.kinds.deliveries import DeliverToSecondConsumer
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse, DropResponse
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.message.names import HALF_TOPIC
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import (
    RENEWAL,
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    PopMessage,
    PopResult,
    PullResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack
from rocketmq_testkit.emulator.operations.topics import CreateStaticTopic, QueueMapping, QueuePart, TopicConfig

INVISIBLE_MS = 10_000
POPPED, PULLED, ACKNOWLEDGED = RecordKind.POPPED, RecordKind.PULLED, RecordKind.ACKNOWLEDGED
COMMITTED, RETURNED = RecordKind.COMMITTED, RecordKind.RETURNED
SKIPPED, NOT_WRITTEN = RecordKind.SKIPPED, RecordKind.NOT_WRITTEN


def kinds(engine: Engine, offset: int = 0, topic: str = "T") -> list[RecordKind]:
    """Return the kinds of the events of a message in queue 0."""
    return [event.kind for event in engine.history.of("broker-a", topic, 0, offset)]


class Consumer:
    """A consumer of group G at an engine with topic T."""

    def __init__(self, count: int = 3, name: str = "c", harness: EngineHarness | None = None) -> None:
        self.harness = harness or make_harness()
        if harness is None:
            self.harness.topic("T")
        for _ in range(count):
            self.harness.send("T")
        self.history = self.harness.engine.history
        self.channel = DirectChannel(f"channel of {name}")
        self.ask(Heartbeat(name, [], [ConsumerData("G", subscriptions=[SubscriptionData("T")])]))

    def ask(self, operation: Operation, label: str = "direct") -> DirectCall:
        call = DirectCall(self.channel)
        call.label = label
        self.harness.engine.gate.submit(self.harness.broker, call, operation)
        return call

    def pop(self, count: int = 32) -> PopResult:
        outcome = self.ask(PopMessage("G", "T", queue_id=-1, max_msg_nums=count, invisible_ms=INVISIBLE_MS)).outcome
        assert isinstance(outcome, PopResult), outcome
        return outcome

    def pull(self, offset: int, *, commit: int | None = None) -> None:
        self.ask(pull_of("G", "T", offset=offset, count=2, commit=commit))

    def commit(self, offset: int) -> None:
        self.ask(UpdateConsumerOffset("G", "T", 0, offset))

    def acknowledge(self, popped: PopResult, offset: int, label: str = "direct") -> None:
        self.ask(AckMessage("G", "T", 0, handle(popped, offset), offset), label)

    def events(self, offset: int = 0) -> list[tuple[RecordKind, int, int]]:
        """Return (kind, first offset, number of messages) of the events of a message."""
        return [(each.kind, each.first, each.count) for each in self.history.of("broker-a", "T", 0, offset)]


def small_harness(entries: int) -> tuple[Engine, Broker]:
    """Return an engine whose record has few entries, and its broker with topic T."""
    harness = make_harness(delivery_record_max_entries=entries)
    harness.topic("T")
    return harness.engine, harness.broker


def handle(popped: PopResult, offset: int = 0) -> str:
    start = popped.messages[0].start_offset
    return f"{start} {popped.pop_time} {popped.invisible_ms} {popped.revive_qid} 0 broker-a 0 {offset}"


def filled(name: str, count: int = 3, **keys: Any) -> ProtocolClient:
    """Return a protocol client of a topic with messages."""
    e = protocol_client(name, **keys)
    e.topic()
    e.group()
    e.fill_topic(count)
    return e


@pytest.mark.parametrize("name", ["engine", "remoting", "grpc"])
def test_a_received_message_is_delivered_and_acknowledged_once(name: str) -> None:
    """The record of the pop has its invisible duration, and the record of the acknowledgement its client."""
    e = filled(name)
    taken = e.take(count=3, invisible_ms=20_000)
    e.advance(5)
    assert e.ack(taken[1].handle).ok
    popped, acknowledged = e.engine.history.of("broker-a", "T", 0, 1)
    assert (popped.kind, popped.group, popped.first, popped.count, popped.hold_ms) == (POPPED, "G", 0, 3, 20_000)
    assert (acknowledged.kind, acknowledged.first, acknowledged.count) == (ACKNOWLEDGED, 1, 1)
    assert acknowledged.at_ms - popped.at_ms == 5
    assert kinds(e.engine, 2) == [POPPED]


@pytest.mark.parametrize("name", ["remoting", "grpc"])
def test_message_of_a_lost_response_is_not_delivered(name: str) -> None:
    """A rule drops the response, so the history has no delivery."""
    e = filled(name)
    Rules(e.engine).add(DropResponse(), operation="PopMessage", times=1)
    e.pop()
    assert kinds(e.engine) == []


@pytest.mark.parametrize("name", ["remoting", "grpc"])
def test_message_of_a_delayed_response_is_delivered_when_the_response_is_written(name: str) -> None:
    e = filled(name)
    Rules(e.engine).add(DelayResponse("250ms"), operation="PopMessage", times=1)
    began = e.now_ms
    e.pop()
    assert kinds(e.engine) == []
    e.advance(249)
    assert kinds(e.engine) == []
    e.advance(1)
    (popped,) = e.engine.history.of("broker-a", "T", 0, 0)
    assert (popped.kind, popped.at_ms - began) == (POPPED, 250)


@pytest.mark.parametrize("name", ["remoting", "grpc"])
def test_message_of_a_delayed_response_is_not_delivered_if_the_client_has_left(name: str) -> None:
    """The client has disconnected when the delay ends, so the response is discarded."""
    e = filled(name)
    Rules(e.engine).add(DelayResponse("250ms"), operation="PopMessage", times=1)
    waiting = e.pop()
    if isinstance(waiting, RemotingWaiting):
        waiting.disconnect()
    else:
        assert isinstance(waiting, GrpcWaiting)
        waiting.cancel()
    e.advance(300)
    assert kinds(e.engine) == []


def test_message_of_a_closed_connection_is_not_delivered() -> None:
    """A pop that the broker completes although its connection is closed hides the message, but no client gets it."""
    consumer = Consumer()
    consumer.channel.active = False
    call = DirectCall(consumer.channel)
    call.active = False
    consumer.harness.engine.gate.submit(
        consumer.harness.broker, call, PopMessage("G", "T", queue_id=-1, max_msg_nums=2, invisible_ms=INVISIBLE_MS)
    )
    assert consumer.events() == [(NOT_WRITTEN, 0, 2)]
    assert consumer.history.of("broker-a", "T", 0, 0)[0].hold_ms == INVISIBLE_MS
    assert consumer.events(2) == []


def test_message_of_a_cancelled_receive_is_not_delivered() -> None:
    """The pop of a cancelled receive gets a message, which stays invisible, as in upstream."""
    e = filled("grpc", 0)
    assert isinstance(e, GrpcProtocolClient)
    e.harness.config.end_polls_on_cancel = False
    e.harness.config.pop_with_notify_threshold = -1
    waiting = e.pop(poll_ms=20_000)
    assert isinstance(waiting, GrpcWaiting)
    waiting.cancel()
    e.put()
    assert kinds(e.engine) == [NOT_WRITTEN]


def test_message_filtered_by_the_proxy_is_not_delivered() -> None:
    """A tag with the same hash passes the broker. The proxy acknowledges the message, and the client never gets it."""
    e = filled("grpc", 0)
    for tag in ("BB", "Aa", "BB", "Aa"):
        e.put(tag=tag)
    assert len(e.take(expression="BB")) == 2
    assert [kinds(e.engine, offset) for offset in range(4)] == [[POPPED], [SKIPPED], [POPPED], [SKIPPED]]


def test_messages_that_the_proxy_filtered_from_a_delayed_response_are_not_delivered() -> None:
    """The proxy filters before the delay; the other messages are delivered after it."""
    e = filled("grpc", 0)
    Rules(e.engine).add(DelayResponse("250ms"), operation="PopMessage", times=1)
    e.put(tag="BB")
    e.put(tag="Aa")
    e.pop(expression="BB")
    e.advance(250)
    assert [kinds(e.engine, offset) for offset in (0, 1)] == [[POPPED], [SKIPPED]]


def test_pulled_messages_are_delivered_and_acknowledged_by_a_commit_beyond_them() -> None:
    """A commit acknowledges the messages since the last one; a repeated commit acknowledges no message."""
    consumer = Consumer(count=5)
    consumer.pull(0)
    consumer.pull(2, commit=2)
    consumer.pull(4, commit=2)
    assert [consumer.events(offset) for offset in range(3)] == [
        [(PULLED, 0, 2), (COMMITTED, 0, 2)],
        [(PULLED, 0, 2), (COMMITTED, 0, 2)],
        [(PULLED, 2, 2)],
    ]
    consumer.commit(5)
    consumer.commit(5)
    assert [consumer.events(offset)[1:] for offset in (0, 2, 4)] == [[(COMMITTED, 0, 2)], *[[(COMMITTED, 2, 3)]] * 2]


def test_commit_by_another_member_acknowledges_messages_that_its_predecessor_pulled() -> None:
    """The new owner of a queue first commits its start offset, which acknowledges no message, and then a higher one."""
    consumer = Consumer(count=4)
    consumer.pull(0)
    consumer.commit(1)
    other = Consumer(count=0, name="other", harness=consumer.harness)
    other.pull(1, commit=1)
    other.commit(3)
    assert consumer.events(2) == [(PULLED, 1, 2), (COMMITTED, 1, 2)]
    assert consumer.history.of("broker-a", "T", 0, 2)[1].channel == "channel of other"


def test_first_commit_of_a_group_that_read_nothing_acknowledges_nothing() -> None:
    """A starting client commits the offset at which it begins, which does not acknowledge the messages before it."""
    consumer = Consumer()
    consumer.commit(2)
    assert [consumer.events(offset) for offset in range(3)] == [[], [], []]


def test_offset_of_a_pop_is_no_acknowledgement() -> None:
    """When it delivers popped messages, the broker itself commits the offset of the queue."""
    consumer = Consumer()
    consumer.harness.broker.config.enable_pop_buffer_merge = False
    consumer.pop(2)
    assert consumer.harness.broker.offsets.query("G", "T", 0) == 2
    assert consumer.events() == [(POPPED, 0, 2)]


def test_refused_acknowledgement_is_recorded_as_refused() -> None:
    """The receipt handle is malformed. Rejected requests about messages that do not exist are not recorded."""
    consumer = Consumer()
    consumer.pop()
    consumer.ask(AckMessage("G", "T", 0, "malformed", 1))
    consumer.ask(AckMessage("G", "T", 0, "malformed", 5))
    consumer.ask(AckMessage("G", "missing", 0, "malformed", 0))
    assert consumer.events(1) == [(POPPED, 0, 3), (RecordKind.REFUSED_ACKNOWLEDGEMENT, 1, 1)]
    assert len(consumer.history.record) == 2


def test_acknowledgement_of_an_expired_receipt_is_recorded_as_refused() -> None:
    """The proxy rejects the acknowledgement before it becomes an operation."""
    e = filled("grpc")
    (taken, *_) = e.take(count=1, invisible_ms=INVISIBLE_MS)
    e.advance(INVISIBLE_MS + 1)
    assert not e.ack(taken.handle).ok
    assert kinds(e.engine) == [POPPED, RecordKind.REFUSED_ACKNOWLEDGEMENT]
    (refused,) = e.engine.history.refused(group="G")
    assert (refused.topic, refused.label, refused.code) == ("T", "AckMessage", "INVALID_RECEIPT_HANDLE")


def test_batch_acknowledgement_is_recorded_by_runs_within_the_queue() -> None:
    """Bits beyond the end of the queue are ignored."""
    consumer = Consumer()
    popped = consumer.pop()
    bits = bit_set(0b101 | 1 << 100_000)
    entry = BatchAck("G", "T", "0", 0, 0, popped.revive_qid, popped.pop_time, INVISIBLE_MS, bits)
    consumer.ask(BatchAckMessage([entry]))
    assert [consumer.events(offset)[1:] for offset in range(3)] == [[(ACKNOWLEDGED, 0, 1)], [], [(ACKNOWLEDGED, 2, 1)]]
    assert len(consumer.history.record) == 3


@pytest.mark.parametrize(("label", "kind"), [("direct", RETURNED), (RENEWAL, RecordKind.RENEWED)])
def test_changed_invisible_duration_is_recorded_with_the_new_duration(label: str, kind: RecordKind) -> None:
    """A change by the client is recorded as a return of the message, a change by the proxy as a renewal."""
    consumer = Consumer()
    popped = consumer.pop()
    consumer.ask(ChangeInvisibleTime("G", "T", 0, handle(popped), 0, 30_000), label)
    assert consumer.events()[1:] == [(kind, 0, 1)]
    assert consumer.history.of("broker-a", "T", 0, 0)[1].hold_ms == 30_000


def test_message_sent_back_is_recorded_at_its_queue_and_offset() -> None:
    """The request names the message by its physical offset."""
    consumer = Consumer()
    consumer.pull(0)
    record = consumer.harness.broker.store.record("T", 0, 1)
    assert record is not None
    consumer.ask(SendMessageBack("G", decode(record).physical_offset, 3))
    assert consumer.events(1) == [(PULLED, 0, 2), (RecordKind.SENT_BACK, 1, 1)]
    assert consumer.events(0) == [(PULLED, 0, 2)]


def test_in_queue_returns_the_events_of_all_messages_of_a_queue() -> None:
    """Messages of a pop whose response was not written have no event."""
    consumer = Consumer()
    popped = consumer.pop()
    consumer.acknowledge(popped, 1, RECEIVE)
    found = [(each.kind, each.first, each.count) for each in consumer.history.in_queue("broker-a", "T", 0)]
    assert found == [(POPPED, 0, 1), (POPPED, 2, 1), (SKIPPED, 1, 1)]


def test_history_of_a_crashed_broker_remains() -> None:
    """The history belongs to the engine. The crash closes the client's connection, and its name is still known."""
    consumer = Consumer()
    consumer.pop()
    consumer.harness.engine.crash()
    assert consumer.events() == [(POPPED, 0, 3)]
    assert consumer.history.client_of("channel of c") == "c"
    assert consumer.history.client_of("channel of nobody") is None


def test_pulled_message_of_a_closed_connection_is_not_delivered() -> None:
    """The connection closes while the broker executes the pull."""
    consumer = Consumer()
    call = DirectCall(consumer.channel)
    call.active = False
    pull = pull_of("G", "T", count=2)
    consumer.harness.engine.gate.submit(consumer.harness.broker, call, pull)
    assert isinstance(call.outcome, PullResult)
    assert (len(call.outcome.records), consumer.events()) == (2, [])


def test_messages_filtered_by_the_broker_are_no_part_of_a_run() -> None:
    """A pull by tag is recorded as runs of one message each here, because other messages are between them."""
    consumer = Consumer(count=0)
    for tag in "abab":
        consumer.harness.send("T", TAGS=tag)
    consumer.ask(pull_of("G", "T", expression="a"))
    assert [consumer.events(offset) for offset in range(4)] == [[(PULLED, 0, 1)], [], [(PULLED, 2, 1)], []]


def test_redelivered_message_is_recorded_at_its_place_in_the_retry_topic() -> None:
    consumer = Consumer(count=1)
    consumer.pop()
    consumer.harness.advance(INVISIBLE_MS + 5_000)
    popped = consumer.pop()
    (message,) = popped.messages
    topic = holding_topic("T", "G", message.topic_digit)
    assert topic != "T"
    (event,) = consumer.history.of("broker-a", topic, message.queue_id, message.queue_offset)
    assert (event.kind, event.group) == (POPPED, "G")


@pytest.mark.parametrize(
    ("how", "expected"),
    [(8, [RecordKind.COMMITTED_TRANSACTION]), (12, [RecordKind.ROLLED_BACK]), (0, [])],
    ids=["commit", "rollback", "unknown"],
)
@pytest.mark.parametrize("name", ["remoting", "grpc"])
def test_end_of_a_transaction_is_recorded_at_its_half_message(name: str, how: int, expected: list[RecordKind]) -> None:
    """An end with the state "unknown" is recorded neither as commit nor as rollback."""
    e = protocol_client(name)
    e.topic(kind="TRANSACTION")
    sent = e.put(half=True)
    e.end(sent, how)
    assert kinds(e.engine, topic=HALF_TOPIC) == expected


def test_delivery_of_a_slave_is_recorded_under_the_name_of_its_master() -> None:
    """The record is marked as a delivery of a slave."""
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE", slave_read_enable=True)]
    engine = Engine(brokers=configs, now_ms=START_MS)
    harness = EngineHarness(engine, engine.brokers[0])
    harness.topic("T")
    engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    harness.advance(80_000)
    harness.send("T")
    pull = pull_of("G", "T", count=2)
    for broker in engine.brokers:
        engine.execute(broker, pull)
    assert [each.by_slave for each in engine.history.of("broker-a", "T", 0, 0)] == [False, True]


def test_record_of_an_ordered_pop_is_marked() -> None:
    consumer = Consumer()
    consumer.ask(PopMessage("G", "T", queue_id=0, max_msg_nums=1, invisible_ms=INVISIBLE_MS, order=True))
    consumer.ask(PopMessage("H", "T", queue_id=0, max_msg_nums=1, invisible_ms=INVISIBLE_MS))
    assert [(each.group, each.in_order) for each in consumer.history.of("broker-a", "T", 0, 0)] == [
        ("G", True),
        ("H", False),
    ]


def test_pull_of_a_static_topic_is_recorded_at_the_broker_that_stores_the_message() -> None:
    """The queue was moved: clients pull at broker-b, and the first messages are stored at broker-a in another queue."""
    e = protocol_client("engine", brokers=2)
    first, second = e.masters
    e.topic("T", queues=4, on=["broker-a"])
    e.engine.execute(first, SendMessage("P", "T", 3, b"m", {}, ("10.0.0.1", 1), e.now_ms))
    parts = [QueuePart(0, 3, "broker-a", 0, start_offset=0, end_offset=1), QueuePart(1, 0, "broker-b", 100)]
    mapping = QueueMapping("T", 1, "broker-b", 1, queues={0: parts})
    e.engine.execute(second, CreateStaticTopic(TopicConfig("T", 4, 4), mapping, force=False))
    e.group()
    result = e.engine.execute(second, pull_of("G", "T", count=2))
    assert isinstance(result, PullResult)
    assert (len(result.records), result.forwarded) == (1, True)
    assert [each.kind for each in e.engine.history.of("broker-a", "T", 3, 0)] == [PULLED]
    assert e.engine.history.of("broker-b", "T", 0, 0) == []


def test_history_has_the_time_since_which_it_is_complete() -> None:
    """None means since the start; after drops it is the time of the oldest record, or now if there is no record."""
    consumer = Consumer(count=12, harness=EngineHarness(*small_harness(8)))
    assert consumer.history.complete_since_ms() is None
    times = []
    for offset in range(12):
        consumer.harness.advance(1)
        times.append(consumer.harness.now_ms)
        consumer.pull(offset)
    assert consumer.history.complete_since_ms() == times[4]
    assert consumer.events(3) == []
    without = Consumer(count=1, harness=EngineHarness(*small_harness(0)))
    without.pull(0)
    assert (without.history.complete_since_ms(), without.events()) == (without.harness.now_ms, [])


def test_history_of_an_engine_from_a_snapshot_is_complete_since_its_start() -> None:
    """A snapshot contains no history."""
    consumer = Consumer()
    consumer.pop()
    consumer.harness.advance(500)
    engine = Engine(state=consumer.harness.engine.state())
    assert engine.history.of("broker-a", "T", 0, 0) == []
    assert engine.history.complete_since_ms() == consumer.harness.now_ms


@pytest.mark.parametrize("leaves", [True, False])
def test_message_of_a_stalled_response_is_delivered_with_the_last_bytes(*, leaves: bool) -> None:
    """If the client disconnects during the pause (`leaves`), the rest is never written, and there is no delivery."""
    e = filled("remoting")
    Rules(e.engine).add(StallFrame(duration="250ms", at=20), operation="PopMessage", times=1)
    waiting = e.pop()
    assert isinstance(waiting, RemotingWaiting)
    e.advance(249)
    assert kinds(e.engine) == []
    if leaves:
        waiting.disconnect()
    e.advance(1)
    assert kinds(e.engine) == ([] if leaves else [POPPED])


def test_renewal_is_listed_at_the_time_of_the_last_one() -> None:
    """The record is that of the first renewal, and older than events between the renewals."""
    consumer = Consumer(count=1)
    popped = consumer.pop()
    renewal = ChangeInvisibleTime("G", "T", 0, handle(popped), 0, 30_000)
    consumer.ask(renewal, RENEWAL)
    consumer.harness.advance(1)
    consumer.pull(0)
    consumer.harness.advance(1)
    consumer.ask(renewal, RENEWAL)
    assert [kind for kind, _, _ in consumer.events()] == [POPPED, PULLED, RecordKind.RENEWED]


def test_message_that_a_rule_makes_visible_has_no_return_by_its_client() -> None:
    """The message is still in flight to the client, which did not return it."""
    e = filled("remoting", 1)
    Rules(e.engine).add(DeliverToSecondConsumer(), operation="PopMessage", times=1)
    e.pop()
    e.advance(100)
    assert kinds(e.engine) == [POPPED]


def test_message_that_a_rule_sends_back_has_no_send_back_by_its_client() -> None:
    """A rule that makes a pulled message visible to another consumer sends it back."""
    e = filled("remoting", 1)
    assert isinstance(e, RemotingProtocolClient)
    Rules(e.engine).add(DeliverToSecondConsumer(), operation="PullMessage", times=1)
    e.pull(0)
    e.advance(100)
    assert kinds(e.engine) == [PULLED]
    assert e.broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 0) == 1


def test_message_that_the_proxy_moves_to_the_dead_letter_queue_is_skipped() -> None:
    """The proxy moves a message that was delivered too often; the client neither sent it back nor acknowledged it."""
    e = protocol_client("grpc")
    e.topic()
    e.group(retry_max_times=0)
    e.put()
    e.take(invisible_ms=INVISIBLE_MS)
    e.advance(INVISIBLE_MS + 5_000)
    assert e.take() == []
    topic = holding_topic("T", "G", 1)
    assert kinds(e.engine) == [POPPED]
    assert kinds(e.engine, topic=topic) == [SKIPPED]


def test_change_after_its_ordered_batch_has_ended_is_no_return() -> None:
    """The broker accepts the request, but changes no duration."""
    consumer = Consumer()
    outcome = consumer.ask(
        PopMessage("G", "T", queue_id=0, max_msg_nums=1, invisible_ms=INVISIBLE_MS, order=True)
    ).outcome
    assert isinstance(outcome, PopResult)
    consumer.acknowledge(outcome, 0)
    changed = consumer.ask(ChangeInvisibleTime("G", "T", 0, handle(outcome), 0, 30_000)).outcome
    assert isinstance(changed, ChangeInvisibleResult)
    assert consumer.events() == [(POPPED, 0, 1), (ACKNOWLEDGED, 0, 1)]


def test_commit_while_a_reset_is_pending_acknowledges_nothing() -> None:
    """The broker accepts the request and ignores it."""
    consumer = Consumer()
    consumer.pull(0)
    consumer.harness.engine.execute(consumer.harness.broker, ResetOffset("G", "T", 0, 0, offset=1))
    consumer.commit(2)
    assert consumer.events() == [(PULLED, 0, 2)]


def test_commit_in_a_static_topic_leaves_no_record_at_the_logical_queue() -> None:
    """The commit has an offset of the logical queue, but messages are recorded at their physical queues."""
    harness = make_harness()
    part = QueuePart(0, 1, "broker-a", 0)
    mapping = QueueMapping("T", 1, "broker-a", 1, queues={0: [part]})
    harness.engine.execute(harness.broker, CreateStaticTopic(TopicConfig("T", 2, 2), mapping, force=False))
    consumer = Consumer(count=3, harness=harness)
    consumer.pull(0)
    consumer.commit(2)
    assert consumer.events() == []
    assert [each.kind for each in consumer.history.of("broker-a", "T", 1, 0)] == [PULLED]
