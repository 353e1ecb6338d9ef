"""A proxy in front of several brokers: the brokers that it queries, and its responses when one of them is stopped."""

from base64 import urlsafe_b64encode

import pytest
from grpc_harness import GrpcHarness, a_change, a_message, a_receive, a_send, an_ack, subscribing
from grpc_texts import PROXY_EXCEPTION
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.cluster import PutKvConfig, SetPermOfBroker
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

ENDPOINTS = pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host="127.0.0.1", port=8081)])


def make_harness(slaves: int = 0, **keys: object) -> GrpcHarness:
    """Return a harness with masters broker-a and broker-b, `slaves` slaves of each, and a topic of two queues.

    `keys` are configuration keys of the brokers, as attribute names.
    """
    masters = [BrokerConfig(broker_name=name) for name in ("broker-a", "broker-b")]
    copies = [
        BrokerConfig(broker_name=master.broker_name, broker_id=number, broker_role="SLAVE")
        for master in masters
        for number in range(1, slaves + 1)
    ]
    for config in masters:
        for name, value in keys.items():
            setattr(config, name, value)
    harness = GrpcHarness(*masters, *copies)
    harness.topic_everywhere(queues=2)
    return harness


@pytest.fixture
def harness() -> GrpcHarness:
    return make_harness()


def held(harness: GrpcHarness) -> list[int]:
    """Return the number of messages of the topic on each broker."""
    return [sum(queue.max_offset for queue in broker.store.queues_of("T")) for broker in harness.engine.brokers]


def sent(harness: GrpcHarness, count: int) -> list[int]:
    """Send messages and return the codes."""
    responses = [harness.client().ask("SendMessage", a_send(a_message())) for _ in range(count)]
    return [response.status.code for response in responses]


def test_sends_go_only_to_running_brokers(harness: GrpcHarness) -> None:
    """Sends go to running brokers. Without any, they fail as if the topic did not exist."""
    harness.engine.stop(harness.engine.brokers[1])
    assert sent(harness, 4) == [pb.OK] * 4
    assert held(harness) == [4, 0]
    harness.engine.start(harness.engine.brokers[1])
    sent(harness, 4)
    assert held(harness) == [6, 2]
    for broker in harness.engine.brokers:
        harness.engine.stop(broker)
    assert sent(harness, 1) == sent(GrpcHarness(), 1) == [pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE]


def test_sends_avoid_a_broker_whose_write_permission_was_wiped(harness: GrpcHarness) -> None:
    """Sends avoid a broker whose write permission was removed on the name server. Receives ignore it."""
    sent(harness, 4)
    harness.engine.execute(harness.engine.name_server, SetPermOfBroker("broker-a", add=False))
    sent(harness, 4)
    assert held(harness) == [2, 6]
    assert len(harness.client().receive(a_receive(queue_id=-1)).bodies) == 2
    harness.engine.execute(harness.engine.name_server, SetPermOfBroker("broker-b", add=False))
    assert sent(harness, 1) == [pb.FORBIDDEN]


def test_a_stopped_broker_is_in_neither_routes_nor_assignments(harness: GrpcHarness) -> None:
    """A broker that is down is in neither routes nor assignments. A slave alone is in routes only."""
    harness = make_harness(slaves=1)
    harness.engine.stop(harness.engine.brokers[1])
    topic = pb.Resource(name="T")
    route = harness.client().ask("QueryRoute", sv.QueryRouteRequest(topic=topic, endpoints=ENDPOINTS))
    assert {(queue.broker.name, queue.broker.id) for queue in route.message_queues} == {
        ("broker-a", 0),
        ("broker-a", 1),
        ("broker-b", 1),
    }
    asked = sv.QueryAssignmentRequest(topic=topic, group=pb.Resource(name="G"), endpoints=ENDPOINTS)
    assigned = harness.client().ask("QueryAssignment", asked)
    assert [item.message_queue.broker.name for item in assigned.assignments] == ["broker-a"]


def test_a_slave_without_its_master_delivers_no_messages() -> None:
    """A receive that names a broker whose master is stopped gets messages of other brokers.

    When the master runs again, the named broker serves it.
    """
    harness = make_harness(slaves=1)
    client = harness.client()
    for broker in (0, 1):
        harness.store(b"first of %d" % broker, broker=broker)
        harness.store(b"second of %d" % broker, broker=broker)
    before = client.receive(a_receive(broker="broker-b", queue_id=-1, batch=1, invisible_ms=300_000))
    assert before.bodies == [b"first of 1"]
    master, slave = harness.engine.brokers[1], harness.engine.broker("broker-b", 1)
    assert slave is not None
    harness.advance(70_000)  # until the slave has replicated the topic and the group
    harness.engine.stop(master)
    assert slave.store.max_offset("T", 0) == 2
    assert set(client.receive(a_receive(broker="broker-b", queue_id=-1)).bodies) == {b"first of 0", b"second of 0"}
    assert client.receive(a_receive(broker="broker-b", queue_id=-1, poll_ms=0)).bodies == []
    response = client.ask("AckMessage", an_ack(*before.messages))
    assert response.entries[0].status.code == pb.INVALID_RECEIPT_HANDLE
    assert client.ask("ChangeInvisibleDuration", a_change(before.messages[0], 60_000)).status.code == (
        pb.INVALID_RECEIPT_HANDLE
    )
    assert sent(harness, 2) == [pb.OK, pb.OK]
    assert slave.store.max_offset("T", 0) == 2
    harness.engine.start(master)
    assert client.ask("AckMessage", an_ack(*before.messages)).status.code == pb.OK
    assert client.receive(a_receive(broker="broker-b", queue_id=-1)).bodies == [b"second of 1"]
    assert harness.log == []


def test_a_group_that_should_read_from_a_slave_pops_from_the_master() -> None:
    """A group with `whichBrokerWhenConsumeSlowly` pops from the master, because pop responses suggest no slave."""
    harness = make_harness(slaves=1, slave_read_enable=True, access_message_in_memory_max_ratio=0)
    group = GroupConfig("G", broker_id=1, which_broker_when_consume_slowly=1)
    for broker in harness.engine.brokers[:2]:
        harness.engine.execute(broker, CreateGroup(group))
    harness.store(b"m", broker=1)
    harness.advance(70_000)
    received = harness.client().receive(a_receive(broker="broker-b", queue_id=-1))
    assert received.bodies == [b"m"]
    slave = harness.engine.broker("broker-b", 1)
    assert slave is not None
    assert slave.offsets.query("G", "T", 0) == -1


@pytest.mark.parametrize("threshold", [0, 10], ids=("pop", "notification"))
def test_a_receive_that_waits_on_a_broker_that_stops_gets_an_error(threshold: int) -> None:
    """A receive that waits on a broker that stops gets an error and can be repeated elsewhere.

    Receives on other brokers continue to wait.
    """
    harness = make_harness()
    harness.config.pop_with_notify_threshold = threshold
    here = harness.client("here").receive(a_receive(broker="broker-a", queue_id=-1, poll_ms=10_000))
    there = harness.client("there").receive(a_receive(broker="broker-b", queue_id=-1, poll_ms=10_000))
    harness.engine.stop(harness.engine.brokers[1])
    assert there.status.code == pb.INTERNAL_SERVER_ERROR
    assert there.status.message == PROXY_EXCEPTION + "the broker[broker-b] has stopped"
    assert not here.call.finished
    again = harness.client("there").receive(a_receive(broker="broker-b", queue_id=-1, poll_ms=10_000))
    harness.store(b"1")
    harness.store(b"2")
    assert sorted(here.bodies + again.bodies) == [b"1", b"2"]
    assert harness.log == []


def test_a_receive_from_all_brokers_ends_only_when_the_last_one_stops() -> None:
    harness = make_harness()
    harness.config.receive_from_all_brokers = True
    waiting = harness.client().receive(a_receive(broker="", queue_id=-1, poll_ms=10_000))
    harness.engine.stop(harness.engine.brokers[0])
    assert not waiting.call.finished
    harness.engine.stop(harness.engine.brokers[1])
    assert waiting.status.code == pb.INTERNAL_SERVER_ERROR


def test_a_message_can_be_acknowledged_only_on_its_broker(harness: GrpcHarness) -> None:
    """A message can be acknowledged only on its broker. If that is down, it is redelivered from there later."""
    harness.store(b"m", broker=1)
    received = harness.client().receive(a_receive(broker="broker-b", queue_id=-1))
    harness.engine.stop(harness.engine.brokers[1])
    response = harness.client().ask("AckMessage", an_ack(*received.messages))
    assert response.entries[0].status.code == pb.INVALID_RECEIPT_HANDLE
    harness.engine.start(harness.engine.brokers[1])
    harness.advance(20_000)
    assert harness.client().receive(a_receive(broker="broker-a", queue_id=-1)).bodies == []
    assert harness.client().receive(a_receive(broker="broker-b", queue_id=-1)).bodies == [b"m"]


def test_a_message_on_a_stopped_broker_is_redelivered_after_its_restart() -> None:
    """A message on a stopped broker is not renewed. It is redelivered after the broker has started again."""
    harness = make_harness()
    client = harness.client("consumer")
    client.send_settings(subscribing("G", "T", push=True))
    harness.store(b"m", broker=1)
    received = client.receive(a_receive(broker="broker-b", queue_id=-1, auto_renew=True))
    assert received.bodies == [b"m"]
    harness.engine.stop(harness.engine.brokers[1])
    for _ in range(20):
        harness.advance(30_000)
        client.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name="G")))
    harness.engine.start(harness.engine.brokers[1])
    harness.advance(10_000)
    assert harness.client("other").receive(a_receive(broker="broker-b", queue_id=-1)).bodies == [b"m"]
    assert harness.log == []


def test_a_send_that_no_slave_confirms_returns_slave_persistence_timeout() -> None:
    """A send that waits for slaves returns SLAVE_PERSISTENCE_TIMEOUT after slaveTimeout, and the message is stored."""
    harness = make_harness(broker_role="SYNC_MASTER", in_sync_replicas=2)
    call = harness.client().start("SendMessage", a_send(a_message()))
    assert not call.finished
    harness.advance(3_000)
    response = sv.SendMessageResponse.FromString(call.sent[0])
    assert response.entries[0].status.code == pb.SLAVE_PERSISTENCE_TIMEOUT
    assert sum(held(harness)) == 1
    assert sent(make_harness(slaves=1, broker_role="SYNC_MASTER", in_sync_replicas=2), 2) == [pb.OK, pb.OK]


def test_a_waiting_send_gets_an_error_when_its_broker_stops() -> None:
    """A waiting send gets an error when its broker stops, although the proxy continues."""
    harness = make_harness(broker_role="SYNC_MASTER", in_sync_replicas=2)
    call = harness.client().start("SendMessage", a_send(a_message()))
    for broker in harness.engine.brokers:
        harness.engine.stop(broker)
    response = sv.SendMessageResponse.FromString(call.sent[0])
    assert response.status.code == pb.INTERNAL_SERVER_ERROR


def test_acks_and_changes_are_applied_on_the_brokers_of_their_messages(harness: GrpcHarness) -> None:
    for broker in (0, 1):
        harness.store(b"done %d" % broker, broker=broker)
        harness.store(b"hidden %d" % broker, broker=broker)
    client = harness.client()
    taken = [
        message
        for name in ("broker-a", "broker-b")
        for message in client.receive(a_receive(broker=name, queue_id=-1)).messages
    ]
    assert sorted(message.body for message in taken) == [b"done 0", b"done 1", b"hidden 0", b"hidden 1"]

    acknowledged = client.ask("AckMessage", an_ack(*(each for each in taken if each.body.startswith(b"done"))))
    assert [entry.status.code for entry in acknowledged.entries] == [pb.OK, pb.OK]
    for message in taken:
        if message.body.startswith(b"hidden"):
            assert client.ask("ChangeInvisibleDuration", a_change(message, 60_000)).status.code == pb.OK

    def receive_from_both() -> list[bytes]:
        names = ("broker-a", "broker-b")
        return [
            body for name in names for body in client.receive(a_receive(broker=name, queue_id=-1, poll_ms=0)).bodies
        ]

    harness.advance(20_000)
    assert receive_from_both() == []
    harness.advance(50_000)
    assert receive_from_both() == [b"hidden 0", b"hidden 1"]


def test_a_handle_of_an_unknown_broker_is_invalid_with_several_brokers(harness: GrpcHarness) -> None:
    """A handle of an unknown broker is invalid with several brokers. With one broker, any name is accepted."""
    alone = GrpcHarness()
    alone.topic_everywhere(queues=1)
    for one, expected in ((harness, pb.INVALID_RECEIPT_HANDLE), (alone, pb.OK)):
        one.store(b"m")
        (message,) = one.client().receive(a_receive(queue_id=-1)).messages
        name = one.engine.brokers[0].name
        handle = message.system_properties.receipt_handle.replace(name, "broker-z")
        changed = one.client().ask("ChangeInvisibleDuration", a_change(handle, 10_000))
        (entry,) = one.client().ask("AckMessage", an_ack(handle)).entries
        assert (changed.status.code, entry.status.code) == (expected, expected)
        if expected != pb.OK:
            assert entry.status.message == PROXY_EXCEPTION + "cannot find broker broker-z"
            assert changed.status.message == entry.status.message


@pytest.mark.parametrize("brokers", [1, 2])
def test_the_proxy_refuses_a_malformed_recall_handle(brokers: int) -> None:
    """The proxy decodes the handle itself (ProducerProcessor.recallMessage, 5.3.3), also if brokers refuse recalls."""
    harness = GrpcHarness(*[BrokerConfig(broker_name=name) for name in ("broker-a", "broker-b")[:brokers]])
    harness.topic_everywhere("D", kind="DELAY")
    for text in ("", "!?", "v1", "v1 D broker-a 1", "v2 D broker-a 1 id"):
        handle = urlsafe_b64encode(text.encode()).decode() if text != "!?" else text
        request = sv.RecallMessageRequest(topic=pb.Resource(name="D"), recall_handle=handle)
        status = harness.client().ask("RecallMessage", request).status
        assert (status.code, status.message) == (
            pb.INTERNAL_SERVER_ERROR,
            PROXY_EXCEPTION + "recall handle is invalid",
        )


def test_sends_to_an_order_topic_go_only_to_its_configured_queues() -> None:
    """Sends to an order topic go only to the brokers and queues of its order configuration.

    Permissions do not matter.
    """
    harness = make_harness()
    harness.engine.name_server.config.order_message_enable = True
    names = harness.engine.name_server
    harness.engine.execute(names, PutKvConfig("ORDER_TOPIC_CONFIG", "T", "broker-b:1"))
    harness.engine.execute(names, SetPermOfBroker("broker-b", add=False))

    assert sent(harness, 4) == [pb.OK] * 4

    assert held(harness) == [0, 4]
    assert [queue.queue_id for queue in harness.engine.brokers[1].store.queues_of("T")] == [0]
    harness.engine.stop(harness.engine.brokers[1])
    assert sent(harness, 1) == [pb.FORBIDDEN]


def test_a_message_group_stays_in_one_queue(harness: GrpcHarness) -> None:
    """A message group stays in one queue of one broker. While that broker is stopped, the group uses another queue."""
    harness = make_harness()
    harness.topic_everywhere("F", queues=2, kind="FIFO")

    def send(count: int) -> list[tuple[str, int]]:
        for _ in range(count):
            message = a_message("F", message_group="g", message_type=pb.FIFO)
            assert harness.client().ask("SendMessage", a_send(message)).status.code == pb.OK
        found = [(broker.name, queue) for broker in harness.engine.brokers for queue in broker.store.queues_of("F")]
        return [(name, queue.queue_id) for name, queue in found if queue.max_offset]

    ((name, queue_id),) = send(3)
    home = next(broker for broker in harness.engine.brokers if broker.name == name)
    harness.engine.stop(home)
    assert len(send(3)) == 2
    harness.engine.start(home)
    assert len(send(3)) == 2
    assert home.store.max_offset("F", queue_id) == 6


@pytest.mark.parametrize("unreadable", [0, 1])
def test_a_broker_that_is_not_readable_is_left_out_of_assignments(unreadable: int) -> None:
    """A broker without read permission is omitted from assignments; the brokers after it are assigned."""
    harness = make_harness()
    broker = harness.engine.brokers[unreadable]
    harness.engine.execute(broker, CreateTopic(TopicConfig("T", 2, 2, 2)))
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name="T"), group=pb.Resource(name="G"), endpoints=ENDPOINTS)
    response = harness.client().ask("QueryAssignment", request)
    assert [each.message_queue.broker.name for each in response.assignments] == [
        each.name for each in harness.engine.brokers if each is not broker
    ]
