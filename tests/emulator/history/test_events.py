"""Events of the history that are no deliveries: rejected requests, lost and deleted messages, rules, broker runs."""

from collections.abc import Callable

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from fault_rules import Rules
from protocol_clients import protocol_client
from pull_operation import pull_of
from remoting_harness import Port
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.faults.kinds.requests import DropRequest
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse
from rocketmq_testkit.emulator.history.events import BrokerEventKind, RefusedRequest, TrimReason
from rocketmq_testkit.emulator.history.history import FIRINGS_MAX, LOST_MAX, OF_BROKER_MAX, REFUSED_MAX
from rocketmq_testkit.emulator.history.seen_clients import CONNECTIONS_MAX, SeenClient, SeenClients
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog
from rocketmq_testkit.emulator.operations.consume import AckMessage, Notification
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.remoting.client import batch_body

FILE: dict[str, object] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 256 * 1024}
IN_A_FILE = 25
HOUR_MS = 3_600_000


def a_send(topic: str = "missing", body: bytes = b"m", *, batch: bool = False, **properties: str) -> SendMessage:
    return SendMessage("PG", topic, 0, body, properties, ("10.0.0.1", 1), 0, batch=batch, default_topic="none")


def refusals(harness: EngineHarness, operation: Operation) -> list[RefusedRequest]:
    """Submit an operation of the connection `c`, and return the rejected requests in the history."""
    harness.engine.submit(harness.broker, operation, DirectChannel("c"))
    return list(harness.engine.history.refused())


# refused requests


def test_refused_send_is_noted_with_its_message() -> None:
    """The event has the client, the message's topic, id and keys, and the code and text of the rejection."""
    harness = make_harness(auto_create_topic_enable=False)
    harness.advance(7)
    (found,) = refusals(harness, a_send(UNIQ_KEY="id-1", KEYS="k1 k2"))
    assert (found.at_ms, found.node, found.channel, found.label) == (START_MS + 7, "broker-a", "c", "direct")
    assert (found.operation, found.topic, found.group) == ("SendMessage", "missing", "PG")
    assert (found.message_id, found.keys, found.code) == ("id-1", "k1 k2", "TOPIC_NOT_EXIST")
    assert "topic[missing] not exist" in found.remark
    assert harness.engine.history.refused(topic="missing") == [found] == harness.engine.history.refused(group="PG")
    assert harness.engine.history.refused(topic="T") == [] == harness.engine.history.refused(topic="missing", group="G")


def test_refused_batch_is_noted_with_its_first_message() -> None:
    """The first message stands for the whole batch. A malformed batch has no message."""
    harness = make_harness(auto_create_topic_enable=False)
    body = batch_body([(b"1", {"UNIQ_KEY": "first"}), (b"2", {"UNIQ_KEY": "second"})])
    refusals(harness, a_send(body=body, batch=True))
    found = refusals(harness, a_send(body=b"\xff\xff\xff", batch=True))
    assert [each.message_id for each in found] == ["first", ""]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (AckMessage("G", "T", 0, "malformed", 0), ("T", "G", "id-1")),
        (pull_of("G", "T", queue=9, count=1), ("T", "G", "")),
        (Notification("G", "missing", 0, 0, 0), ("missing", "G", "")),
    ],
    ids=["acknowledgement", "pull", "notification"],
)
def test_refused_request_of_a_consumer_names_topic_group_and_message(
    operation: Operation, expected: tuple[str, str, str]
) -> None:
    """The event of an acknowledgement has the id of the message at its queue and offset."""
    harness = make_harness()
    harness.topic("T")
    harness.send("T", UNIQ_KEY="id-1")
    (found,) = refusals(harness, operation)
    assert (found.topic, found.group, found.message_id) == expected


def test_parked_request_that_ends_with_an_error_is_refused() -> None:
    """While the pull waits, its topic is deleted or loses its read permission."""
    harness = make_harness()
    harness.topic("T")
    call = harness.pull("T", suspend_ms=15_000)
    assert call.outcome is None
    harness.topic("T", perm=2)
    harness.send("T")
    assert [each.code for each in harness.engine.history.refused()] == ["NO_PERMISSION"]


def test_request_that_a_protocol_layer_refuses_is_noted_by_its_fields() -> None:
    """A send over gRPC to a topic of another type does not become an operation; its fields have the message."""
    e = protocol_client("grpc")
    e.topic("T", kind="FIFO")
    sent = e.put()
    assert not sent.ok
    (found,) = e.engine.history.refused("T")
    assert (found.operation, found.node) == ("SendMessage", "proxy")
    assert (found.channel, found.code) == ("grpc:producer", "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE")
    assert found.message_id.startswith("ID")


def test_refused_requests_hold_no_secrets_and_are_bounded() -> None:
    """The number of rejected requests and the length of their texts are bounded."""
    harness = make_harness(auto_create_topic_enable=False)
    (found,) = refusals(harness, a_send(KEYS='{"password": "hush"}'))
    assert found.keys == "***"
    for number in range(REFUSED_MAX + 10):
        refusals(harness, a_send("t" * 100_000, UNIQ_KEY="u" * 100_000, KEYS=str(number)))
    held = harness.engine.history.refused()
    assert len(held) == REFUSED_MAX
    assert held[-1].keys == str(REFUSED_MAX + 9)
    assert max(len(text) for text in (held[-1].topic, held[-1].message_id, held[-1].remark)) == 200


# lost and deleted messages


def test_messages_of_a_power_loss_are_lost() -> None:
    """A power loss loses unflushed messages; a crash of the process alone loses no message."""
    harness = make_harness(flush_disk_type="ASYNC_FLUSH")
    harness.topic("T")
    harness.send("T", UNIQ_KEY="id-1", KEYS="k")
    harness.engine.crash(power_loss=False)
    assert harness.engine.history.lost() == []
    harness.advance(20_000)
    harness.send("T", UNIQ_KEY="id-2", KEYS="k")
    harness.engine.crash(power_loss=True)
    found = {(each.broker, each.topic, each.queue_id, each.queue_offset) for each in harness.engine.history.lost()}
    assert ("broker-a", "T", 0, 1) in found
    assert [each.message_id for each in harness.engine.history.lost()][-1] == "id-2"
    assert harness.engine.history.lost()[-1].at_ms == harness.now_ms


def test_lost_messages_are_bounded() -> None:
    """The history keeps the oldest lost messages of a crash, and drops them for those of later crashes."""
    harness = make_harness(flush_disk_type="ASYNC_FLUSH")
    harness.topic("T")
    for number in range(LOST_MAX + 10):
        harness.send("T", UNIQ_KEY=str(number))
    harness.engine.crash()
    lost = harness.engine.history.lost()
    assert len(lost) == LOST_MAX
    assert lost[0].queue_offset == 0


def filled(files: int, **keys: object) -> EngineHarness:
    harness = make_harness(1, **FILE, **keys)
    harness.topic("A")
    for _ in range(files * IN_A_FILE + 1):
        harness.send("A", b"x" * 10_000)
    return harness


def request_deletion(harness: EngineHarness) -> None:
    harness.engine.execute(harness.broker, DeleteExpiredCommitLog())
    harness.advance(60_000)


DELETIONS: dict[str, tuple[dict[str, object], Callable[[EngineHarness], None], TrimReason]] = {
    "the log reaches its maximum": ({"store_max_bytes": 1024 * 1024}, lambda _harness: None, TrimReason.LIMIT),
    "an administrator requests it": ({"file_reserved_time": 0}, request_deletion, TrimReason.REQUEST),
    "the messages are too old": (
        {"file_reserved_time": 1, "delete_when": "*"},
        lambda harness: harness.advance(30 * HOUR_MS),
        TrimReason.RETENTION,
    ),
    "the disk is full": ({"disk_used_ratio": 95}, lambda harness: harness.advance(60_000), TrimReason.DISK),
}


@pytest.mark.parametrize(("keys", "act", "reason"), DELETIONS.values(), ids=DELETIONS.keys())
def test_deletion_is_noted_with_its_reason(
    keys: dict[str, object], act: Callable[[EngineHarness], None], reason: TrimReason
) -> None:
    """The physical offsets have no gaps: each deletion begins at the end of the previous one."""
    if reason is TrimReason.RETENTION:
        keys = {**keys, "delete_when": ";".join(str(hour) for hour in range(24))}
    harness = filled(8, **keys)
    act(harness)
    trims = harness.engine.history.trims("broker-a")
    assert {each.reason for each in trims} == {reason}
    assert [each.before for each in trims] == [0, *(each.after for each in trims[:-1])]
    assert trims[-1].after == harness.broker.store.log.min_offset > 0
    assert len(trims) <= OF_BROKER_MAX


def test_deletion_by_size_after_a_requested_one_has_its_own_reason() -> None:
    """A requested deletion is not the reason of a later one."""
    harness = filled(3, file_reserved_time=0, store_max_bytes=2 * 1024 * 1024)
    request_deletion(harness)
    harness.broker.config.file_reserved_time = 72
    for _ in range(10 * IN_A_FILE):
        harness.send("A", b"x" * 10_000)
    reasons = [each.reason for each in harness.engine.history.trims("broker-a")]
    assert (reasons[0], set(reasons[1:])) == (TrimReason.REQUEST, {TrimReason.LIMIT})


# rules of faults


def test_firing_of_a_rule_remains_in_the_history_after_its_removal() -> None:
    """The event has the messages of the request or response on which the rule acted."""
    e = protocol_client("remoting")
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(DropRequest(), operation="SendMessage", name="lost-sends")
    e.start_send()
    rules.remove(rule)
    (found,) = e.engine.history.firings()
    assert (found.rule, found.operation, found.effect) == ("lost-sends", "SendMessage", "drop_request")
    assert found.message_ids == ("ID1",)
    e.put()
    rules.add(DropResponse(), operation="PopMessage")
    e.group()
    e.pop()
    assert (e.engine.history.firings()[-1].effect, e.engine.history.firings()[-1].message_ids) == (
        "drop_response",
        ("ID2",),
    )


def test_firings_are_bounded() -> None:
    """The newest firings remain, with message ids of limited length."""
    history = make_harness().engine.history
    for number in range(FIRINGS_MAX + 1):
        history.note_firing(rule=str(number), operation="o", channel="c", effect="e", message_ids=["i" * 5_000])
    firings = history.firings()
    assert (len(firings), firings[0].rule, len(firings[0].message_ids[0])) == (FIRINGS_MAX, "1", 200)


# brokers and clients


def test_runs_of_a_broker_are_noted() -> None:
    """Each start, stop and crash of a broker is an event; those of a slave have its name and id."""
    engine = Engine(brokers=[BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")], now_ms=START_MS)
    master, slave = engine.brokers
    steps: list[Callable[[Broker], None]] = [
        lambda broker: engine.crash(broker, power_loss=True),
        engine.restart,
        lambda broker: engine.stop(broker, kill=True),
        engine.start,
        engine.stop,
        engine.stop,
        engine.start,
    ]
    for number, step in enumerate(steps, 1):
        engine.scheduler.advance_to(START_MS + number)
        step(master)
    started, kinds = BrokerEventKind.STARTED, BrokerEventKind
    events = [(each.at_ms - START_MS, each.kind) for each in engine.history.broker_events("broker-a")]
    assert events == [
        (0, started),
        (1, kinds.CRASHED),
        (2, kinds.RESTARTED),
        (3, kinds.KILLED),
        (4, started),
        (5, kinds.STOPPED),
        (7, started),
    ]
    assert [each.power_loss for each in engine.history.broker_events("broker-a")][:3] == [False, True, False]
    engine.stop(slave)
    assert [each.kind for each in engine.history.broker_events("broker-a:1")] == [started, kinds.STOPPED]
    for _ in range(OF_BROKER_MAX):
        engine.restart(master)
    assert len(engine.history.broker_events("broker-a")) == OF_BROKER_MAX


def test_name_of_a_client_remains_after_its_connection() -> None:
    """The id of a gRPC client is part of its channel id; a remoting client registers its id by a heartbeat."""
    engine = protocol_client("remoting").engine
    port = Port(engine)
    peer = port.peer()
    peer.ask(34, body=b'{"clientID":"c1","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}')
    channel = peer.channel.channel_id
    peer.connection.closed()
    assert engine.history.client_of(channel) == "c1"
    assert engine.history.client_of("grpc:c2") == "c2"
    assert engine.history.client_of("other") is None


def test_client_that_leaves_before_its_first_heartbeat_is_known() -> None:
    """A producer may send one message and unregister without heartbeat; the SDK of a registered client stays known."""
    engine = protocol_client("remoting").engine
    port = Port(engine)
    peer = port.peer()
    peer.ask(35, {"clientID": "p1", "producerGroup": "P"})
    channel = peer.channel.channel_id
    seen = engine.history.clients.on(channel)
    assert seen is not None
    assert (seen.client, seen.sdk, seen.left_ms) == ("p1", "", None)
    peer.connection.closed()
    left = engine.history.clients.named("p1")
    assert left is not None
    assert left.left_ms == engine.scheduler.now_ms

    other = port.peer()
    other.ask(34, body=b'{"clientID":"c1","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}')
    other.ask(35, {"clientID": "c1", "producerGroup": "P"})
    registered = engine.history.clients.named("c1")
    assert registered is not None
    assert registered.sdk.startswith("JAVA V")


def test_clients_are_bounded() -> None:
    """The oldest clients are removed, and texts of clients are cut at a limit."""
    clients = SeenClients()
    for number in range(CONNECTIONS_MAX + 3):
        clients.note(str(number), SeenClient("n" * 100_000, "JAVA", "V5_3_3", "10.0.0.1:1"))
    assert [clients.of(str(number)) is None for number in range(5)] == [True, True, True, False, False]
    assert len(clients.of("3") or "") == 255
