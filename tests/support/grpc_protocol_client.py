"""A protocol client that calls the gRPC services, without a transport."""

from typing import Any

from grpc_harness import (
    Client,
    GrpcHarness,
    MemoryCall,
    Received,
    Stream,
    a_change,
    a_forward,
    a_message,
    a_receive,
    a_send,
    an_ack,
    subscribing,
)
from protocol_client import ProtocolClient
from protocol_values import NOTHING, Answer, NewMessage, PopRequest, Route, Sent, Taken, TransactionCheck
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from virtual_brokers import Setup

OK = 20_000
_ENDS = {0: pb.TRANSACTION_RESOLUTION_UNSPECIFIED, 8: pb.COMMIT, 12: pb.ROLLBACK}
_ENDPOINTS = grpc_requests.endpoints("127.0.0.1:8081")
_READ = (pb.READ, pb.READ_WRITE)
_WRITE = (pb.WRITE, pb.READ_WRITE)
_KINDS = {"TAG": pb.TAG, "SQL92": pb.SQL}


class GrpcProtocolClient(ProtocolClient):
    """Upstream's proxy with its brokers. A receive waits at least 5 s, at the broker that it names."""

    name = "grpc"
    proxied = True

    def __init__(self, setup: Setup) -> None:
        self.harness = GrpcHarness(*setup.brokers, emulation=setup.emulation, seed=setup.seed, proxy=setup.proxy)
        self.harness.config.end_polls_on_cancel = True
        super().__init__(self.harness.engine)
        self._clients: dict[tuple[str, str, str], Client] = {}
        self._streams: dict[str, Stream] = {}
        self._seen: dict[str, int] = {}
        self.streams: dict[str, Stream] = {}
        """Telemetry streams of consumers, by client."""

    def _consumer(self, client: str, group: str, topic: str) -> Client:
        if (client, group, topic) not in self._clients:
            made = self._clients[client, group, topic] = self.harness.client(f"{client}-{group}-{topic}")
            made.send_settings(subscribing(group, topic))
        return self._clients[client, group, topic]

    def start_pop(self, pop: PopRequest) -> "GrpcWaiting":
        found = self.broker.groups.find(pop.group)
        assert pop.order == (found is not None and found.consume_message_orderly), "order is the group's"
        request = a_receive(
            pop.topic,
            pop.group,
            batch=pop.count,
            invisible_ms=pop.invisible_ms,
            poll_ms=pop.poll_ms,
            expression=pop.expression,
            filter_type=_KINDS[pop.kind],
            broker=self.broker.name,
            attempt_id=pop.attempt,
        )
        return GrpcWaiting(self._consumer(pop.client, pop.group, pop.topic).receive(request))

    def take(self, topic: str = "T", **options: Any) -> list[Taken]:
        """Receive what is available now. A waiting receive is cancelled at once, so that no time passes."""
        waiting = self.start_pop(PopRequest(topic, **options))
        if waiting.response is None:
            waiting.cancel()
            return []
        assert waiting.response.ok or waiting.response.remark in NOTHING, waiting.response
        return waiting.response.messages

    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        response = self._consumer("consumer", group, topic).ask(
            "AckMessage", an_ack(*handles, topic=topic, group=group)
        )
        status = response.entries[0].status if len(handles) == 1 and response.entries else response.status
        return _answer(status)

    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        request = a_change(handle, invisible_ms, topic, group)
        response = self._consumer("consumer", group, topic).ask("ChangeInvisibleDuration", request)
        return Answer(
            response.status.code == OK, response.status.code, response.status.message, handle=response.receipt_handle
        )

    def send_message(self, message: NewMessage) -> "GrpcSending":
        system: dict[str, object] = {"message_id": message.id, "keys": message.keys.split()}
        kind = pb.TRANSACTION if message.half else None
        known = {"tag": message.tag, "message_group": message.message_group, "message_type": kind}
        system |= {name: value for name, value in known.items() if value}
        times = {"deliver_ms": message.deliver_ms, "recovery_s": message.immune_s}
        made = a_message(message.topic, message.body, user=message.own_properties, **times, **system)
        return GrpcSending(self.harness.client("producer").start("SendMessage", a_send(made)), message.id)

    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        return [self.put(body, topic=topic, **more) for body in bodies]

    def route(self, topic: str = "T") -> dict[str, Route]:
        response = self.harness.client("producer").ask("QueryRoute", grpc_requests.route(topic, _ENDPOINTS))
        assert response.status.code in (OK, pb.TOPIC_NOT_FOUND), response.status
        found: dict[str, list[Any]] = {}
        for queue in response.message_queues:
            found.setdefault(queue.broker.name, []).append(queue)
        return {name: _route(queues) for name, queues in found.items()}

    def assigned_queues(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        response = self.harness.client(client).ask(
            "QueryAssignment", grpc_requests.assignment(topic, group, _ENDPOINTS)
        )
        assert response.status.code in (OK, pb.TOPIC_NOT_FOUND), response.status
        queues = [each.message_queue for each in response.assignments]
        return sorted((queue.broker.name, queue.id) for queue in queues)

    def send_batch(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        messages = [
            a_message(topic, body, user=properties, message_id=f"ID{next(self._names)}") for body, properties in parts
        ]
        response = self.harness.client("producer").ask("SendMessage", a_send(*messages))
        if response.status.code != OK:
            return Sent(False, response.status.code, response.status.message)
        last = response.entries[-1]
        return Sent(True, OK, "", last.message_id, offset=last.offset)

    def start_end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> "GrpcEnding":
        source = pb.SOURCE_SERVER_CHECK if checked else pb.SOURCE_CLIENT
        request = grpc_requests.end(topic, sent.id, _ENDS[how], source=source)
        return GrpcEnding(self.harness.client("producer").start("EndTransaction", request))

    def recall(self, handle: str, topic: str = "T") -> Answer:
        response = self.harness.client("producer").ask("RecallMessage", grpc_requests.recall(topic, handle))
        return Answer(
            response.status.code == OK, response.status.code, response.status.message, handle=response.message_id
        )

    def register_producer(self, client: str, topic: str = "T") -> None:
        self._streams[client] = self.harness.client(client).send_settings(grpc_requests.publishing(topic))
        self._seen[client] = 0

    def unregister_producer(self, client: str, topic: str = "T") -> None:
        self.harness.client(client).ask("NotifyClientTermination", grpc_requests.termination())

    def heartbeat(self, client: str, group: str = "G", topic: str = "T") -> None:
        asking = self.harness.client(client)
        if client not in self.streams:
            self.streams[client] = asking.send_settings(subscribing(group, topic))
        assert asking.ask("Heartbeat", grpc_requests.heartbeat(group)).status.code == OK

    def unregister_consumer(self, client: str, group: str = "G") -> None:
        asked = grpc_requests.termination(group)
        assert self.harness.client(client).ask("NotifyClientTermination", asked).status.code == OK

    def transaction_checks(self, client: str) -> list[TransactionCheck]:
        commands = self._streams[client].commands
        new = commands[self._seen[client] :]
        self._seen[client] = len(commands)
        kind = "recover_orphaned_transaction_command"
        return [_transaction_check(each.recover_orphaned_transaction_command) for each in new if each.HasField(kind)]

    def forward_to_dlq(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        request = a_forward(message.handle, topic, group)
        return _answer(self._consumer("consumer", group, topic).ask("ForwardMessageToDeadLetterQueue", request).status)

    def forward_by_handle(self, handle: str) -> Answer:
        """Forward a message of `T` to the dead letter queue of group `G` by a forged handle."""
        response = self._consumer("consumer", "G", "T").ask("ForwardMessageToDeadLetterQueue", a_forward(handle))
        return _answer(response.status)

    def settings(self, group: str = "G", topic: str = "T") -> pb.Settings:
        """Return the settings that a new consumer receives."""
        (command,) = self.harness.client(f"told-{group}").send_settings(subscribing(group, topic)).commands
        return command.settings


class GrpcWaiting:
    """A receive."""

    def __init__(self, received: Received) -> None:
        self._received = received

    def cancel(self) -> None:
        """Cancel the receive."""
        self._received.call.cancel()

    @property
    def response(self) -> Answer | None:
        """The response, once the stream has ended."""
        received = self._received
        if not received.call.finished:
            return None
        assert received.call.status == 0, (received.call.status, received.call.text)
        status = received.status
        return Answer(
            status.code == OK, status.code, status.message, [_taken(message) for message in received.messages]
        )


class GrpcSending:
    """A send of a message with an id."""

    def __init__(self, call: MemoryCall, message_id: str) -> None:
        self._call = call
        self._message_id = message_id

    @property
    def sent(self) -> Sent | None:
        """The only entry of the response.

        After an error, the result has the id that the producer chose, because the message may be stored nevertheless.
        """
        response = _response(self._call)
        if response is None:
            return None
        if response.status.code != OK:
            return Sent(False, response.status.code, response.status.message, self._message_id)
        (entry,) = response.entries
        return Sent(True, OK, "", entry.message_id, offset=entry.offset, recall=entry.recall_handle)


class GrpcEnding:
    """An end of a transaction."""

    def __init__(self, call: MemoryCall) -> None:
        self._call = call

    @property
    def response(self) -> Answer | None:
        """The status of the response."""
        response = _response(self._call)
        return None if response is None else _answer(response.status)


def _response(call: MemoryCall) -> Any:
    """Return the response of a unary call, None while it waits."""
    if not call.finished:
        return None
    assert call.status == 0, (call.status, call.text)
    response = call.rpc.response()
    response.ParseFromString(call.sent[0])
    return response


def _route(queues: list[Any]) -> Route:
    """Return the route of a broker name from its queues; each of its broker ids has all queues."""
    ids = sorted({queue.broker.id for queue in queues})
    ones = [queue.permission for queue in queues if queue.broker.id == ids[0]]
    readable, writable = (sum(each in which for each in ones) for which in (_READ, _WRITE))
    return Route(readable, writable, tuple(ids))


def _answer(status: pb.Status) -> Answer:
    return Answer(status.code == OK, status.code, status.message)


def _taken(message: pb.Message) -> Taken:
    system = message.system_properties
    return Taken(
        message.body,
        system.receipt_handle,
        system.delivery_attempt - 1,
        system.queue_id,
        offset=system.queue_offset,
        message_id=system.message_id,
        tag=system.tag,
        keys=tuple(system.keys),
        place=int(system.receipt_handle.split(" ")[8]),
    )


def _transaction_check(check: sv.RecoverOrphanedTransactionCommand) -> TransactionCheck:
    times = int(check.message.user_properties["TRANSACTION_CHECK_TIMES"])
    return TransactionCheck(check.message.body, times, Sent(True, OK, "", check.transaction_id))
