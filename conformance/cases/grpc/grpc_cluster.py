"""The proxy in cluster mode (proxyMode=CLUSTER), which serves all brokers and embeds none."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import CHECKING, GrpcContext
from ...deployment.target import Capability
from ...helpers.consumer import GrpcConsumer, consumer_of
from .grpc_transaction import checks

OTHER = "broker-b"
CLUSTER = {"second-broker.brokerName": OTHER, "proxy.proxyMode": "CLUSTER"}
RESTART = {Capability.ADMIN, Capability.RESTART}


def _on_both(t: GrpcContext, *, kind: str = "NORMAL", queues: int = 1) -> str:
    return t.topic(name=t.topic(kind=kind, queues=queues), kind=kind, queues=queues, to=t.second_broker)


def _ends(t: GrpcContext, topic: str) -> list[int]:
    """Return the number of messages in the topic's first queue on the first and the second broker."""
    fields = {"topic": topic, "queueId": 0}
    return [
        int(t.request(RequestCode.GET_MAX_OFFSET, fields, to=each)["offset"]) for each in (t.broker, t.second_broker)
    ]


def _reading(t: GrpcContext, messages: int = 0) -> GrpcConsumer:
    """Create a consumer of a topic on both brokers. The first stores messages `m0` ..., the second `other 0` ..."""
    consumer = consumer_of(t, _on_both(t), t.group())
    for number in range(messages):
        t.store(consumer.topic, f"m{number}")
        fields = t.send_fields(consumer.topic)
        response = t.request(RequestCode.SEND_MESSAGE, fields, f"other {number}".encode(), to=t.second_broker)
        t.require(response.code == 0, f"a message was not stored: {response}")
    return consumer


@grpc_case("ClusterTopicRouteService.getTopicRouteForProxy", settings=CLUSTER)
def a_route_has_the_queues_of_all_brokers(t: GrpcContext) -> None:
    """Each queue of a route names its broker, and all queues have the proxy's endpoints."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.topic(name=topic, kind="NORMAL", queues=2, to=t.second_broker)
    response = t.route(topic)
    queues = sorted(response.message_queues, key=lambda each: (each.broker.name, each.id))
    t.note("queues", [[each.broker.name, each.id, each.broker.id] for each in queues])
    t.note("of the proxy", all(each.broker.endpoints == t.endpoints() for each in queues))
    only = t.topic(kind="NORMAL", queues=1, to=t.second_broker)
    t.note("on the second only", t.route(only), pb.OK)


@grpc_case("ClusterTopicRouteService.getTopicRouteForProxy", settings=CLUSTER)
def an_assignment_has_one_queue_per_broker(t: GrpcContext) -> None:
    """An assignment has one message queue per broker, which stands for all queues of that broker."""
    topic, group = _on_both(t, queues=3), t.group()
    t.consumer(group, {topic: "*"}, kind=pb.PUSH_CONSUMER)
    found = [each.message_queue for each in t.assignment(topic, group).assignments]
    t.note("assigned", sorted([each.broker.name, each.id] for each in found))


@grpc_case("MessageQueueSelector.selectOne", settings=CLUSTER)
def sends_without_a_message_group_alternate_between_brokers(t: GrpcContext) -> None:
    """Messages without a message group alternate between brokers; those of one group use one queue of one broker."""
    topic, ordered = _on_both(t), _on_both(t, kind="FIFO")
    t.sent(topic, 8)
    t.note("without a group", _ends(t, topic))
    t.sent(ordered, 8, message_type=pb.FIFO, message_group="g")
    t.note("of one group", sorted(_ends(t, ordered)))


@grpc_case("ReceiveMessageQueueSelector.select", settings=CLUSTER)
def a_receive_returns_messages_of_the_named_broker(t: GrpcContext) -> None:
    """A receive returns messages of the broker that its queue names. An unknown broker name means any broker."""
    consumer = _reading(t, 2)
    t.note("of the first", consumer.receive().bodies)
    t.note("of the second", consumer.receive(broker=OTHER).bodies)
    t.note("of an unknown one", consumer.received_within(broker="elsewhere"))


@grpc_case("ReceiveMessageQueueSelector.select", settings=CLUSTER)
def a_receive_without_a_broker_name_uses_any_broker(t: GrpcContext) -> None:
    """A receive without a broker name uses any broker; repeated receives return all messages."""
    consumer = _reading(t, 1)
    came: set[bytes] = set()

    def all_came() -> bool:
        came.update(consumer.receive(broker="").bodies)
        return len(came) == 2

    t.until(all_came, 90)
    t.note("came", sorted(came))


@grpc_case("ReceiptHandle.decode", settings=CLUSTER)
def acks_changes_and_forwards_go_to_the_broker_of_the_handle(t: GrpcContext) -> None:
    """Messages of the second broker are acknowledged, changed and forwarded to the dead letter queue on that broker."""
    consumer = _reading(t, 3)
    [one, two, three] = consumer.receive(broker=OTHER).handles
    t.note("acknowledged", consumer.ack(one), pb.OK)
    t.note("changed", consumer.change(two, 20).status, pb.OK)
    t.note("forwarded", consumer.forward(three), pb.OK)
    dead = f"%DLQ%{consumer.group}"
    t.until(lambda: _ends(t, dead) != [0, 0], 10)
    t.note("dead letters", _ends(t, dead))


@grpc_case("AckMessageActivity.ackMessage", settings=CLUSTER)
def a_handle_of_an_unknown_broker_cannot_be_used(t: GrpcContext) -> None:
    """A handle of an unknown broker cannot be used, and its message is redelivered."""
    consumer = _reading(t, 1)
    fields = consumer.handle(invisible_s=10).split(" ")
    odd = " ".join("elsewhere" if each == t.broker_name else each for each in fields)
    t.require(odd != " ".join(fields), f"the handle does not name its broker: {fields}")
    t.note("acknowledged", consumer.ack(odd))
    t.note("changed", consumer.change(odd, 20))
    t.note("forwarded", consumer.forward(odd))
    t.note("came again", consumer.received_at_last(seconds=30).bodies)


@grpc_case("RecallMessageActivity.recallMessage", settings=CLUSTER)
def a_recall_is_sent_to_the_broker_in_its_handle(t: GrpcContext) -> None:
    """A recall is sent to the broker that its handle names; an unknown broker is rejected."""
    topic = _on_both(t, kind="DELAY")
    at = t.now_ms() + 60_000
    sends = [t.send(_timed(t, topic, at)) for _ in range(2)]
    handles = sorted((each.entries[0].recall_handle for each in sends), key=_broker_of)
    t.note("brokers", [_broker_of(each) for each in handles])
    t.note("first", t.recall(topic, handles[0]).status, pb.OK)
    t.note("second", t.recall(topic, handles[1]).status, pb.OK)
    t.note("unknown broker", t.recall(topic, _of_broker(handles[0], "elsewhere")))


def _timed(t: GrpcContext, topic: str, at_ms: int) -> pb.Message:
    return t.message(topic, message_type=pb.DELAY, deliver_ms=at_ms)


def _parts_of(handle: str) -> list[str]:
    """Return the fields of a recall handle: version, topic, broker, delivery time and unique key."""
    return urlsafe_b64decode(handle + "=" * (-len(handle) % 4)).decode().split(" ")


def _broker_of(handle: str) -> str:
    return _parts_of(handle)[2]


def _of_broker(handle: str, broker: str) -> str:
    """Return a recall handle with another broker."""
    parts = _parts_of(handle)
    return urlsafe_b64encode(" ".join([*parts[:2], broker, *parts[3:]]).encode()).decode()


@grpc_case("ClusterTransactionService.genEndTransactionRequestHeader", settings={**CLUSTER, **CHECKING})
def each_transaction_ends_on_the_broker_of_its_half_message(t: GrpcContext) -> None:
    """Half messages alternate between the brokers, and each is committed or rolled back on its own broker."""
    topic = _on_both(t, kind="TRANSACTION")
    client = t.producer(topic)
    messages = [t.message(topic, f"m{number}", message_type=pb.TRANSACTION) for number in range(4)]
    sends = [t.send(each, client=client).entries[0] for each in messages]
    for number, entry in enumerate(sends):
        end = t.end_transaction(
            topic,
            entry.transaction_id,
            pb.COMMIT if number < 2 else pb.ROLLBACK,
            message_id=entry.message_id,
            client=client,
        )
        t.note(f"ended {number}", end, pb.OK)
    t.until(lambda: sum(_ends(t, topic)) == 2, 10)
    t.note("stored", _ends(t, topic))


@grpc_case("ClusterTransactionService.scanProducerHeartBeat", settings={**CLUSTER, **CHECKING})
def a_producer_receives_transaction_checks_of_all_brokers(t: GrpcContext) -> None:
    """The producer receives the checks of both brokers on its telemetry stream."""
    topic = _on_both(t, kind="TRANSACTION")
    client = t.new("client")
    stream = t.open(client, t.publishing(topic))
    stream.command()  # the response to the settings
    for number in range(2):
        t.send(t.message(topic, f"m{number}", message_type=pb.TRANSACTION), client=client)
    asked: set[str] = set()

    def both_asked() -> bool:
        asked.update(each.message.body.decode() for each in checks(t, stream, seconds=5))
        return len(asked) == 2

    t.until(both_asked, 120)
    t.note("asked for", sorted(asked))


@grpc_case("ClusterTopicRouteService.getTopicRouteForProxy", needs=RESTART, settings=CLUSTER, alone=True)
def sends_and_receives_use_the_other_broker_while_one_is_stopped(t: GrpcContext) -> None:
    """Messages of a stopped broker cannot be acknowledged until its restart.

    Receives and sends use the other broker.
    """
    consumer = _reading(t, 2)
    [handle] = consumer.receive(max_messages=1, invisible_s=300).handles

    def brokers() -> list[str]:
        return sorted({each.broker.name for each in t.route(consumer.topic).message_queues})

    with t.stopped():
        t.note("acknowledged", consumer.ack(handle), pb.INVALID_RECEIPT_HANDLE)
        t.until(lambda: brokers() == [OTHER], 60)  # the proxy caches a route for 20 s
        t.note("route then", brokers())
        t.note("received", consumer.receive().bodies)
        t.note("sent then", [each.status.code for each in t.sent(consumer.topic, 4)])
    t.until(lambda: consumer.ack(handle).status.code == pb.OK, 90)
    t.until(lambda: len(brokers()) > 1, 60)
    t.note("acknowledged in the end", consumer.ack(handle), pb.OK)
    t.note("received in the end", consumer.receive().bodies)
