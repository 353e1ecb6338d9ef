"""Deliveries: messages in flight of pops and pulls, and the ways in which clients complete them."""

import pytest
from engine_harness import EngineHarness, make_harness, messages_of
from pull_operation import pull_of
from rocketmq_testkit.emulator.client import popped_messages, queue_uses
from rocketmq_testkit.emulator.client.consumer_kind import JumpWait, kind_of
from rocketmq_testkit.emulator.client.deliveries import InFlight, Way
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ACTIVELY,
    BROADCASTING,
    CLUSTERING,
    PASSIVELY,
    ChannelClosed,
    ConsumerData,
    Heartbeat,
    SubscriptionData,
)
from rocketmq_testkit.emulator.operations.consume import (
    RENEWAL,
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleTime,
    PopMessage,
    PopResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessageBack

INVISIBLE_MS = 10_000
PUSH = kind_of(PASSIVELY, CLUSTERING)


class Consumer:
    """A consumer of group G that subscribes to topic T."""

    def __init__(self, harness: EngineHarness, name: str = "c", kind: str = PASSIVELY, model: str = CLUSTERING) -> None:
        self.harness = harness
        self.channel = DirectChannel(f"channel of {name}")
        self.ask(Heartbeat(name, [], [ConsumerData("G", kind, model, subscriptions=[SubscriptionData("T")])]))

    def ask(self, operation: Operation) -> DirectCall:
        return self.harness.engine.submit(self.harness.broker, operation, self.channel)

    def pop(self, count: int = 32, poll_ms: int = 0) -> PopResult:
        outcome = self.ask(
            PopMessage("G", "T", queue_id=-1, max_msg_nums=count, invisible_ms=INVISIBLE_MS, poll_ms=poll_ms)
        ).outcome
        assert isinstance(outcome, PopResult), outcome
        return outcome

    def pull(self, offset: int = 0, *, commit: int | None = None, topic: str = "T") -> DirectCall:
        return self.ask(pull_of("G", topic, offset=offset, commit=commit, suspend_ms=15_000))


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness()
    harness.topic("T")
    return harness


@pytest.fixture
def consumer(harness: EngineHarness) -> Consumer:
    return Consumer(harness)


def in_flight(harness: EngineHarness) -> list[InFlight]:
    return sorted(harness.engine.deliveries.in_flight(), key=lambda message: (message.topic, message.offset))


def offsets(harness: EngineHarness) -> list[int]:
    return [message.offset for message in in_flight(harness)]


def handle(popped: PopResult, offset: int = 0) -> str:
    """Return the receipt handle of a message of queue 0."""
    start = popped.messages[0].start_offset
    return f"{start} {popped.pop_time} {popped.invisible_ms} {popped.revive_qid} 0 broker-a 0 {offset}"


def change(popped: PopResult, invisible_ms: int) -> ChangeInvisibleTime:
    return ChangeInvisibleTime("G", "T", 0, handle(popped), 0, invisible_ms)


def labeled(consumer: Consumer, label: str, operation: Operation) -> None:
    """Submit an operation with the label of a protocol."""
    call = DirectCall(consumer.channel)
    call.label = label
    consumer.harness.engine.gate.submit(consumer.harness.broker, call, operation)


# popped messages


def test_a_popped_message_is_in_flight_with_its_client(harness: EngineHarness, consumer: Consumer) -> None:
    """Each popped message is in flight with client, group, time of the pop, and end of the invisible duration."""
    harness.send("T")
    harness.send("T")
    consumer.pop()
    first, second = in_flight(harness)
    assert (first.way, first.node, first.group, first.topic, first.queue_id) == (Way.POP, "broker-a", "G", "T", 0)
    assert (first.offset, second.offset) == (0, 1)
    assert (first.client.client_id, first.kind) == ("c", PUSH)
    assert (first.since_ms, first.until_ms) == (harness.now_ms, harness.now_ms + INVISIBLE_MS)
    assert first.number == second.number == harness.engine.deliveries.last_number


def test_an_acknowledged_message_is_not_in_flight(harness: EngineHarness, consumer: Consumer) -> None:
    """An acknowledgement by any client completes its message and no other."""
    harness.send("T")
    harness.send("T")
    popped = consumer.pop()
    Consumer(harness, "other").ask(AckMessage("G", "T", 0, handle(popped, 1), 1))
    assert offsets(harness) == [0]


@pytest.mark.parametrize("refused", [True, False], ids=["rejected by a pool", "rejected by the broker"])
def test_a_rejected_acknowledgement_completes_its_message(
    harness: EngineHarness, consumer: Consumer, refused: bool
) -> None:
    """An acknowledgement that fails still completes its message, because its client may never repeat it."""
    harness.send("T")
    popped = consumer.pop()
    if refused:
        busy = EngineError(ResponseCode.SYSTEM_BUSY, "busy")
        acknowledgement = AckMessage("G", "T", 0, handle(popped), 0)
        harness.engine.gate.refuse(harness.broker, DirectCall(consumer.channel), acknowledgement, busy)
    else:
        outcome = consumer.ask(AckMessage("G", "T", 0, "no handle", 0)).outcome
        assert isinstance(outcome, EngineError)
    assert in_flight(harness) == []


def test_a_rejected_pop_puts_nothing_in_flight(harness: EngineHarness, consumer: Consumer) -> None:
    """A pop that a thread pool rejects changes nothing."""
    harness.send("T")
    busy = EngineError(ResponseCode.SYSTEM_BUSY, "busy")
    pop = PopMessage("G", "T", queue_id=-1, max_msg_nums=32, invisible_ms=INVISIBLE_MS)
    harness.engine.gate.refuse(harness.broker, DirectCall(consumer.channel), pop, busy)
    assert in_flight(harness) == []
    assert not harness.engine.deliveries.has_requested(consumer.channel.channel_id, ("broker-a", "G", "T"), 0)


def test_a_message_is_in_flight_until_its_invisible_duration_ends(harness: EngineHarness, consumer: Consumer) -> None:
    """When its invisible duration ends, a message is no longer in flight; its redelivery is a new message in flight."""
    harness.send("T")
    consumer.pop()
    harness.advance(INVISIBLE_MS - 1)
    assert offsets(harness) == [0]
    harness.advance(1)
    assert in_flight(harness) == []
    harness.advance(5_000)
    consumer.pop()
    assert [(message.topic, message.offset) for message in in_flight(harness)] == [("%RETRY%G_T", 0)]


def test_a_renewal_extends_the_time_in_flight(harness: EngineHarness, consumer: Consumer) -> None:
    """The proxy's renewal extends the time of one message; a renewal that fails does not."""
    harness.send("T")
    harness.send("T")
    popped = consumer.pop()
    harness.advance(4_000)
    labeled(consumer, RENEWAL, ChangeInvisibleTime("G", "T", 0, handle(popped, 1), 9, 60_000))
    labeled(consumer, RENEWAL, change(popped, 60_000))
    first, second = in_flight(harness)
    assert first.until_ms == harness.now_ms + 60_000
    assert second.until_ms == harness.now_ms - 4_000 + INVISIBLE_MS
    assert first.since_ms == second.since_ms == harness.now_ms - 4_000


def test_a_renewal_of_a_completed_message_is_ignored(harness: EngineHarness, consumer: Consumer) -> None:
    """A renewal after the acknowledgement puts no message in flight."""
    harness.send("T")
    popped = consumer.pop()
    consumer.ask(AckMessage("G", "T", 0, handle(popped), 0))
    labeled(consumer, RENEWAL, change(popped, 60_000))
    assert in_flight(harness) == []


def test_a_client_that_changes_the_invisible_duration_completes_its_message(
    harness: EngineHarness, consumer: Consumer
) -> None:
    """A change that is no renewal by the proxy completes the message: its consumption failed, to be retried later."""
    harness.send("T")
    popped = consumer.pop()
    labeled(consumer, "CHANGE_MESSAGE_INVISIBLETIME", change(popped, 60_000))
    assert in_flight(harness) == []


@pytest.mark.parametrize("octets", [1, 10], ids=["short bit set", "bit set longer than all messages in flight"])
def test_a_batch_acknowledgement_completes_the_messages_of_its_bits(
    harness: EngineHarness, consumer: Consumer, octets: int
) -> None:
    """Each bit of a batch acknowledgement completes one message; bits without a message in flight have no effect."""
    for _ in range(3):
        harness.send("T")
    popped = consumer.pop()
    bits = bit_set(0b101).ljust(octets, b"\x80")
    queue_id, receipt = 0, (popped.revive_qid, popped.pop_time, popped.invisible_ms)
    consumer.ask(BatchAckMessage([BatchAck("G", "T", "0", 0, queue_id, *receipt, bits)]))
    assert offsets(harness) == [1]
    consumer.ask(BatchAckMessage(None))
    assert offsets(harness) == [1]


def test_a_batch_acknowledgement_of_a_retry_names_the_topic_by_its_digit(
    harness: EngineHarness, consumer: Consumer
) -> None:
    """Acknowledgements of redelivered messages name the original topic and the digit of the retry topic."""
    harness.send("T")
    consumer.pop()
    harness.advance(INVISIBLE_MS + 5_000)
    popped = consumer.pop()
    assert len(in_flight(harness)) == 1
    receipt = (popped.revive_qid, popped.pop_time, popped.invisible_ms)
    consumer.ask(BatchAckMessage([BatchAck("G", "T", "1", 0, 0, *receipt, bit_set(1))]))
    assert in_flight(harness) == []


def test_a_later_receive_of_the_client_is_noted(harness: EngineHarness, consumer: Consumer) -> None:
    """A message is marked when its client receives again, and gets messages or waits; an empty response is ignored."""
    harness.send("T")
    consumer.pop()
    consumer.pop()
    assert [message.received_again for message in in_flight(harness)] == [False]
    consumer.ask(PopMessage("G", "T", queue_id=-1, max_msg_nums=32, invisible_ms=INVISIBLE_MS, poll_ms=20_000))
    assert [message.received_again for message in in_flight(harness)] == [True]
    harness.send("T")
    assert [message.received_again for message in in_flight(harness)] == [True, False]


@pytest.mark.parametrize(
    ("consume_type", "waits"),
    [
        (PASSIVELY, [JumpWait.UNTIL_DONE, JumpWait.UNTIL_DONE]),
        (ACTIVELY, [JumpWait.BRIEF, JumpWait.NONE]),
    ],
    ids=["push consumer", "simple consumer"],
)
def test_a_jump_no_longer_waits_for_a_popped_message_of_a_simple_consumer_that_receives_again(
    harness: EngineHarness, consume_type: str, waits: list[JumpWait]
) -> None:
    """`waits` has the wait before and after a second receive: a jump waits for a push consumer until it is done."""
    consumer = Consumer(harness, kind=consume_type)
    harness.send("T")
    consumer.pop()
    before = [message.jump_wait for message in in_flight(harness)]
    consumer.ask(PopMessage("G", "T", queue_id=-1, max_msg_nums=32, invisible_ms=INVISIBLE_MS, poll_ms=20_000))
    assert [*before, *(message.jump_wait for message in in_flight(harness))] == waits


def test_a_jump_waits_for_a_pulled_message_only_of_a_push_consumer(harness: EngineHarness, consumer: Consumer) -> None:
    """A push consumer commits its offset soon; a pull consumer may keep pulled messages for any time."""
    harness.send("T")
    consumer.pull()
    assert [message.jump_wait for message in in_flight(harness)] == [JumpWait.UNTIL_DONE]
    Consumer(harness, kind=ACTIVELY)
    assert [message.jump_wait for message in in_flight(harness)] == [JumpWait.NONE]


# clients


def test_messages_of_a_disconnected_client_are_not_in_flight(harness: EngineHarness, consumer: Consumer) -> None:
    """Only messages of connected members are in flight; those of a client that reconnects are in flight again."""
    harness.send("T")
    consumer.pop()
    consumer.channel.active = False
    assert in_flight(harness) == []
    consumer.channel.active = True
    assert offsets(harness) == [0]
    consumer.ask(ChannelClosed())
    assert in_flight(harness) == []


def test_messages_of_an_unregistered_client_are_not_in_flight(harness: EngineHarness) -> None:
    """Messages of a client that never registered, such as a test, are never in flight."""
    harness.send("T")
    assert len(messages_of(harness.pop("T"))) == 1
    harness.pull("T")
    assert in_flight(harness) == []


def test_a_restart_of_the_broker_ends_all_registrations(harness: EngineHarness, consumer: Consumer) -> None:
    """After a restart no client is registered, so no message is in flight."""
    harness.send("T")
    consumer.pop()
    harness.engine.restart(harness.broker)
    assert in_flight(harness) == []


# pulled messages


def test_a_pulled_message_is_in_flight_until_its_offset_is_committed(
    harness: EngineHarness, consumer: Consumer
) -> None:
    """A committed offset above a pulled message completes it, even if another client commits."""
    harness.send("T")
    harness.send("T")
    consumer.pull()
    first, second = in_flight(harness)
    assert (first.way, first.until_ms, first.since_ms, first.client.client_id) == (Way.PULL, None, harness.now_ms, "c")
    assert (first.offset, second.offset) == (0, 1)
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "T", 0, 1))
    assert offsets(harness) == [1]
    consumer.pull(2, commit=2)
    assert in_flight(harness) == []


def test_a_message_that_was_sent_back_is_not_in_flight(harness: EngineHarness, consumer: Consumer) -> None:
    """A client completes a message by sending it back, before any offset is committed."""
    sent = [harness.send("T") for _ in range(3)]
    consumer.pull()
    consumer.ask(SendMessageBack("G", sent[1].physical_offset, 0))
    assert offsets(harness) == [0, 2]
    consumer.ask(SendMessageBack("G", sent[0].physical_offset, 0))
    consumer.ask(SendMessageBack("G", sent[2].physical_offset, 0))
    assert in_flight(harness) == []


def test_one_message_of_a_pull_can_be_sent_back(harness: EngineHarness, consumer: Consumer) -> None:
    """A send-back completes its message in any of several pulls, and no message of another client."""
    sent = []
    for offset in range(3):
        sent.append(harness.send("T"))
        consumer.pull(offset)
    Consumer(harness, "other").ask(SendMessageBack("G", sent[0].physical_offset, 0))
    consumer.ask(SendMessageBack("G", sent[1].physical_offset, 0))
    assert offsets(harness) == [0, 2]


def test_a_failed_send_back_completes_nothing(harness: EngineHarness, consumer: Consumer) -> None:
    """A send-back that the broker rejects, or of an offset without a message, changes nothing."""
    sent = harness.send("T")
    consumer.pull()
    consumer.ask(SendMessageBack("unknown group", sent.physical_offset, 0))
    consumer.ask(SendMessageBack("G", sent.physical_offset + 1, 0))
    assert offsets(harness) == [0]


def test_a_message_that_two_clients_pulled_belongs_to_the_later_one(harness: EngineHarness, consumer: Consumer) -> None:
    """After a rebalance the new owner of a queue pulls the uncommitted messages again, and they are in flight to it."""
    harness.send("T")
    consumer.pull()
    Consumer(harness, "new owner").pull()
    assert [message.client.client_id for message in in_flight(harness)] == ["new owner"]


@pytest.mark.parametrize("kind", [PASSIVELY, ACTIVELY])
def test_pulls_of_broadcasting_consumers_are_never_in_flight(harness: EngineHarness, kind: str) -> None:
    """Brokers do not learn the progress of a broadcasting consumer."""
    consumer = Consumer(harness, kind=kind, model=BROADCASTING)
    harness.send("T")
    consumer.pull()
    assert in_flight(harness) == []


# bounded memory


def test_only_the_newest_pulls_of_a_queue_are_kept(
    harness: EngineHarness, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that commits no offsets takes bounded memory: its oldest pulls are dropped."""
    monkeypatch.setattr(queue_uses, "PULLS_MOST", 2)
    for offset in range(3):
        harness.send("T")
        consumer.pull(offset)
    assert offsets(harness) == [1, 2]


def test_expired_and_unregistered_messages_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pops of clients that never acknowledge take bounded memory, even if no caller reads the deliveries."""
    monkeypatch.setattr(popped_messages, "FIRST_SWEEP", 10)
    harness = make_harness()
    harness.topic("T")
    consumer = Consumer(harness)
    for _ in range(50):
        harness.send("T")
        consumer.pop()
        harness.send("T")
        harness.pop("T")
        harness.advance(INVISIBLE_MS)
    assert len(harness.engine.deliveries._popped._held) <= 11


def test_queues_of_unregistered_clients_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Used queues of clients that are not registered take bounded memory; those of members stay."""
    monkeypatch.setattr(queue_uses, "FIRST_SWEEP", 10)
    harness = make_harness()
    harness.topic("T")
    consumer = Consumer(harness)
    consumer.pull()
    for number in range(50):
        pull = pull_of("G", "T")
        harness.engine.submit(harness.broker, pull, DirectChannel(f"stranger {number}"))
    assert len(harness.engine.deliveries._queues._clients) <= 11
    assert harness.engine.deliveries.has_requested(consumer.channel.channel_id, ("broker-a", "G", "T"), 0)
