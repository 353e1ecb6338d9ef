"""The world of a gRPC case: the RPCs that SDKs call, with their important fields as arguments.

Other requests use `call(rpc, request)`. A client is a client id. The server knows a client once it has opened a
telemetry stream.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, TRANSACTION_GROUP
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import SERVICE
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..targets.target import Place
from .answer import Answer
from .authorization import authorization
from .grpc_answer import Failure, Received, duration, failure_of, timestamp
from .session import Session
from .world import ANSWER_SECONDS, World

_RPCS = {rpc.name: rpc for rpc in RPCS}
_TAKEN_UP_SECONDS = 0.05
"""Time after which a call is sent: grpcio sends it from its own threads."""


CHECKING: Mapping[str, str] = {"transactionCheckInterval": "3000", "transactionTimeOut": "1000"}
"""Settings of a broker that checks half messages after a few seconds."""
BAD_TOPICS: Mapping[str, str] = {
    "blank": "",
    "white space": "  ",
    "illegal characters": "a b",
    "a dot": "a.b",
    "128 characters": "t" * 128,
    "of the system": AUTO_CREATE_TOPIC,
}
"""Invalid topic names, by what is wrong with them."""
BAD_GROUPS: Mapping[str, str] = {
    "blank": "",
    "illegal characters": "a b",
    "256 characters": "g" * 256,
    "of the system": TRANSACTION_GROUP,
}
"""Invalid consumer group names, by what is wrong with them."""


class Grpc(World):
    """A raw client of the gRPC protocol. Unary calls return the response message or a Failure."""

    def __init__(self, place: Place, token: str) -> None:
        super().__init__(place, token)
        self.channel = self._channel()
        self._sessions: list[Session] = []
        self._handed_over = False
        """True if grpcio's threads may still have unsent calls."""

    def close(self) -> None:
        """Close streams, channel and connections."""
        for session in self._sessions:
            session.cancel()
        self.channel.close()
        super().close()

    def _channel(self) -> grpc.Channel:
        options = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
        ]
        access = self.place.access
        if access.tls is None:
            return grpc.insecure_channel(access.endpoint, options=options)
        roots = None if access.tls.ca is None else access.tls.ca.read_bytes()
        return grpc.secure_channel(access.endpoint, grpc.ssl_channel_credentials(roots), options=options)

    # --- calls

    def metadata(self, client: str | None, **headers: str | None) -> list[tuple[str, str]]:
        """Return the headers of a call; the keyword `x_mq_language=None` removes one."""
        values: dict[str, str | None] = {
            "x-mq-client-id": client,
            "x-mq-language": "JAVA",
            "x-mq-client-version": "5.2.0",
            "x-mq-protocol": "v2",
            **self._signed(),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return [(name, value) for name, value in values.items() if value is not None]

    def _signed(self) -> dict[str, str]:
        credentials = self.place.access.credentials
        return {} if credentials is None else authorization(credentials)

    def call(
        self,
        rpc: str,
        request: Message,
        *,
        client: str | None = "client",
        deadline: float | None = ANSWER_SECONDS,
        **headers: str | None,
    ) -> Any:
        """Return the response of a unary RPC, or the Failure with which it ended."""
        handed_over = self._handed_over
        answer = self.start_call(rpc, request, client=client, deadline=deadline, **headers)()
        # This call has been answered; earlier calls may still be unsent.
        self._handed_over = handed_over
        return answer

    def start_call(
        self,
        rpc: str,
        request: Message,
        *,
        client: str | None = "client",
        deadline: float | None = ANSWER_SECONDS,
        **headers: str | None,
    ) -> Callable[[], Any]:
        """Start a unary RPC; returns a function that waits for its response, or the Failure with which it ended."""
        self._hand_over()
        method = self.channel.unary_unary(
            SERVICE + rpc,
            request_serializer=type(request).SerializeToString,
            response_deserializer=_RPCS[rpc].response.FromString,  # type: ignore[attr-defined]  # a message class
        )
        metadata = self.metadata(client, **headers)
        future = method.future(request, timeout=deadline, metadata=metadata, wait_for_ready=True)

        def answer() -> Any:
            try:
                return future.result()
            except grpc.RpcError as error:
                return failure_of(error)

        return answer

    def _hand_over(self) -> None:
        self._handed_over = True

    def see(self, label: str, value: Any, code: int | str | None = None) -> Any:
        """Note an observation; a response is noted by its status and fields."""
        shown = value.shown() if isinstance(value, Failure | Received) else value
        super().see(label, shown)
        if code is not None and (came := _status_code(value)) != code:
            self.contradictions.append(f"{label}: code {code} is stated, {came} came: {self.notes[-1][1]}")
        return value

    def settle(self) -> None:
        """Wait until the deployment has received everything that was sent so far."""
        if self._handed_over:
            self._handed_over = False
            time.sleep(_TAKEN_UP_SECONDS)
        super().settle()
        self.call("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=AUTO_CREATE_TOPIC)))

    # --- routes

    def route(self, topic: str, endpoints: pb.Endpoints | None = None, **more: Any) -> Any:
        """Call QueryRoute."""
        request = sv.QueryRouteRequest(topic=pb.Resource(name=topic), endpoints=endpoints or self.endpoints())
        return self.call("QueryRoute", request, **more)

    def assignment(self, topic: str, group: str, endpoints: pb.Endpoints | None = None, **more: Any) -> Any:
        """Call QueryAssignment."""
        request = sv.QueryAssignmentRequest(
            topic=pb.Resource(name=topic), group=pb.Resource(name=group), endpoints=endpoints or self.endpoints()
        )
        return self.call("QueryAssignment", request, **more)

    # --- clients

    def heartbeat(
        self, client: str | None, group: str | None = None, kind: int = pb.SIMPLE_CONSUMER, **more: Any
    ) -> Any:
        """Call Heartbeat; without a group the field is absent."""
        request = sv.HeartbeatRequest(client_type=kind)  # type: ignore[arg-type]  # an enum's value
        if group is not None:
            request.group.name = group
        return self.call("Heartbeat", request, client=client, **more)

    def leave(self, client: str | None, group: str | None = None, **more: Any) -> Any:
        """Call NotifyClientTermination; without a group the field is absent."""
        request = sv.NotifyClientTerminationRequest()
        if group is not None:
            request.group.name = group
        return self.call("NotifyClientTermination", request, client=client, **more)

    def open(self, client: str, settings: pb.Settings | None = None, **headers: str | None) -> Session:
        """Open a telemetry stream; `settings`, if given, are its first command."""
        session = Session(self.channel, client, self.metadata(client, **headers), self._hand_over)
        self._sessions.append(session)
        if settings is not None:
            session.settings(settings)
        return session

    def producer(self, *topics: str, client: str | None = None) -> str:
        """Create a client id whose producer settings the server knows."""
        return self._known(self.publishing(*topics), client)

    def consumer(
        self,
        group: str,
        subscriptions: Mapping[str, str],
        *,
        client: str | None = None,
        kind: int = pb.SIMPLE_CONSUMER,
        **more: Any,
    ) -> str:
        """Create a client id whose consumer settings the server knows, and which has sent a heartbeat."""
        client = self._known(self.subscription(group, subscriptions, kind=kind, **more), client)
        beat = sv.HeartbeatRequest(group=pb.Resource(name=group), client_type=kind)  # type: ignore[arg-type]  # an enum
        answer = self.call("Heartbeat", beat, client=client)
        self.require(not isinstance(answer, Failure) and answer.status.code == pb.OK, f"no heartbeat: {answer}")
        return client

    def _known(self, settings: pb.Settings, client: str | None) -> str:
        client = client or self.new("client")
        self.open(client, settings).command()
        return client

    def endpoints(self) -> pb.Endpoints:
        """The deployment's endpoint in the form of client requests."""
        host, _, port = self.place.access.endpoint.rpartition(":")
        return pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host=host, port=int(port))])

    def publishing(self, *topics: str) -> pb.Settings:
        """Build the settings of a producer."""
        return pb.Settings(
            client_type=pb.PRODUCER,
            access_point=self.endpoints(),
            request_timeout=Duration(seconds=3),
            publishing=pb.Publishing(topics=[pb.Resource(name=topic) for topic in topics], max_body_size=4194304),
            user_agent=pb.UA(language=pb.JAVA, version="5.2.0", platform="Linux", hostname="case"),
        )

    def subscription(
        self,
        group: str,
        subscriptions: Mapping[str, str],
        *,
        kind: int = pb.SIMPLE_CONSUMER,
        filter_type: int = pb.TAG,
        **fields: Any,
    ) -> pb.Settings:
        """Build the settings of a consumer; `fields`: of Subscription."""
        entries = [
            pb.SubscriptionEntry(
                topic=pb.Resource(name=topic),
                expression=pb.FilterExpression(type=filter_type, expression=expression),  # type: ignore[arg-type]  # enum
            )
            for topic, expression in subscriptions.items()
        ]
        return pb.Settings(
            client_type=kind,  # type: ignore[arg-type]  # an enum's value
            access_point=self.endpoints(),
            request_timeout=Duration(seconds=3),
            subscription=pb.Subscription(group=pb.Resource(name=group), subscriptions=entries, **fields),
            user_agent=pb.UA(language=pb.JAVA, version="5.2.0", platform="Linux", hostname="case"),
        )

    # --- messages

    def message(
        self,
        topic: str,
        body: bytes | str = b"hello",
        *,
        message_id: str | None = None,
        properties: Mapping[str, str] | None = None,
        deliver_ms: int | None = None,
        **system: Any,
    ) -> pb.Message:
        """Build a message as SDKs do; `system`: fields of SystemProperties such as tag, keys, message_group."""
        parts = pb.SystemProperties(
            message_id=self.message_id() if message_id is None else message_id,
            born_host="case",
            **{"message_type": pb.NORMAL, **system},
        )
        parts.born_timestamp.FromMilliseconds(self.now_ms())
        if deliver_ms is not None:
            parts.delivery_timestamp.CopyFrom(timestamp(deliver_ms))
        return pb.Message(
            topic=pb.Resource(name=topic),
            body=body.encode() if isinstance(body, str) else body,
            user_properties=dict(properties or {}),
            system_properties=parts,
        )

    def send(self, *messages: pb.Message, client: str | None = "client", **more: Any) -> Any:
        """Call SendMessage."""
        answer = self.call("SendMessage", sv.SendMessageRequest(messages=messages), client=client, **more)
        for entry in () if isinstance(answer, Failure) else answer.entries:
            self.placeholders.put(entry.recall_handle, "recall handle")
        return answer

    def put_into(self, topic: str, answer: sv.SendMessageResponse, queue: int = 0) -> list[str] | Answer:
        """Return the body stored in a system queue at the offset that a send response reports."""
        (entry,) = answer.entries
        fields = self.pull_fields(topic, self.group(), queue, entry.offset, max_messages=1)
        return self.ask(RequestCode.PULL_MESSAGE, fields).found

    def sent(self, topic: str, count: int = 1, **more: Any) -> list[Any]:
        """Send messages `m0`, `m1`, ..., all of which must be stored."""
        answers = [self.send(self.message(topic, f"m{number}", **more)) for number in range(count)]
        for answer in answers:
            stored = not isinstance(answer, Failure) and answer.status.code == pb.OK
            self.require(stored, f"a message was not stored: {answer}")
        return answers

    def receive_request(
        self,
        topic: str,
        group: str,
        *,
        max_messages: int = 32,
        invisible_s: float | None = 60,
        await_s: float | None = None,
        expression: str = "*",
        filter_type: int = pb.TAG,
        auto_renew: bool = False,
        queue_id: int = -1,
        broker: str | None = None,
        **fields: Any,
    ) -> sv.ReceiveMessageRequest:
        """Build a ReceiveMessageRequest.

        `await_s`: long_polling_timeout; `broker`: name of a broker other than the first.
        """
        request = sv.ReceiveMessageRequest(
            group=pb.Resource(name=group),
            message_queue=pb.MessageQueue(
                topic=pb.Resource(name=topic),
                id=queue_id,
                permission=pb.READ_WRITE,
                broker=pb.Broker(name=self.broker_name if broker is None else broker, id=0, endpoints=self.endpoints()),
            ),
            filter_expression=pb.FilterExpression(type=filter_type, expression=expression),  # type: ignore[arg-type]  # enum
            batch_size=max_messages,
            auto_renew=auto_renew,
            **fields,
        )
        if invisible_s is not None:
            request.invisible_duration.CopyFrom(duration(invisible_s))
        if await_s is not None:
            request.long_polling_timeout.CopyFrom(duration(await_s))
        return request

    def receive(
        self, topic: str, group: str, *, client: str | None = "client", deadline: float | None = None, **more: Any
    ) -> Received:
        """Receive and wait for the end of the response; see `receive_request`.

        `deadline`: in seconds, sent to the server.
        """
        return self.start_receive(topic, group, client=client, deadline=deadline, **more)()

    def start_receive(
        self, topic: str, group: str, *, client: str | None = "client", deadline: float | None = None, **more: Any
    ) -> Callable[[], Received]:
        """Start a receive; returns a function that waits for its end and returns the result. See `receive_request`."""
        headers = {name: more.pop(name) for name in [*more] if name.startswith(("x_mq_", "authorization"))}
        request = self.receive_request(topic, group, **more)
        return self.start_receiving(request, client=client, deadline=deadline, **headers)

    def start_receiving(
        self,
        request: sv.ReceiveMessageRequest,
        *,
        client: str | None = "client",
        deadline: float | None = None,
        **headers: str | None,
    ) -> Callable[[], Received]:
        """Start a receive with a given request."""
        stream = self.open_receive(request, client=client, deadline=deadline, **headers)
        received = Received()

        def read() -> None:
            try:
                for part in stream:
                    received.parts.append(part.WhichOneof("content") or "")
                    if part.HasField("status"):
                        received.status = part.status
                    elif part.HasField("message"):
                        received.messages.append(part.message)
                    elif part.HasField("delivery_timestamp"):
                        received.delivered_ms = part.delivery_timestamp.ToMilliseconds()
            except grpc.RpcError as error:
                received.failure = failure_of(error)

        reader = threading.Thread(target=read, name="receive", daemon=True)
        reader.start()

        def collect() -> Received:
            reader.join(ANSWER_SECONDS + 10)
            self.require(not reader.is_alive(), "a receive has not ended")
            return received

        return collect

    def open_receive(
        self, request: sv.ReceiveMessageRequest, *, client: str | None, deadline: float | None, **headers: str | None
    ) -> Any:
        """Open the call of a receive: an iterable of its responses that can be canceled."""
        method = self.channel.unary_stream(
            _RPCS["ReceiveMessage"].path,
            request_serializer=sv.ReceiveMessageRequest.SerializeToString,
            response_deserializer=sv.ReceiveMessageResponse.FromString,
        )
        self._hand_over()
        return method(request, timeout=deadline, metadata=self.metadata(client, **headers), wait_for_ready=True)

    def receive_nothing(self, topic: str, group: str, *, seconds: float = 5.2, **more: Any) -> Received:
        """Receive with the shortest long poll, 5 s, and let `seconds` pass, in which no message must arrive."""
        pending = self.start_receive(topic, group, **{"await_s": 5, "deadline": 10, **more})
        self.wait(seconds)
        return pending()

    def take(self, topic: str, group: str, **more: Any) -> pb.Message:
        """Receive one available message."""
        received = self.receive(topic, group, **{"await_s": 5, "deadline": 10, "max_messages": 1, **more})
        self.require(len(received.messages) == 1, f"no message was received: {received}")
        return received.messages[0]

    def ack(self, topic: str, group: str, *entries: tuple[str, str], client: str | None = "client") -> Any:
        """Call AckMessage with (message id, receipt handle) pairs."""
        parts = [sv.AckMessageEntry(message_id=id_, receipt_handle=handle) for id_, handle in entries]
        request = sv.AckMessageRequest(group=pb.Resource(name=group), topic=pb.Resource(name=topic), entries=parts)
        return self.call("AckMessage", request, client=client)

    def change(
        self,
        topic: str,
        group: str,
        handle: str,
        invisible_s: float | None,
        *,
        message_id: str = "id",
        client: str | None = "client",
    ) -> Any:
        """Call ChangeInvisibleDuration."""
        request = sv.ChangeInvisibleDurationRequest(
            group=pb.Resource(name=group), topic=pb.Resource(name=topic), receipt_handle=handle, message_id=message_id
        )
        if invisible_s is not None:
            request.invisible_duration.CopyFrom(duration(invisible_s))
        return self.call("ChangeInvisibleDuration", request, client=client)

    def forward(
        self,
        topic: str,
        group: str,
        handle: str,
        *,
        message_id: str = "id",
        attempts: int = 1,
        most: int = 17,
        client: str | None = "client",
    ) -> Any:
        """Call ForwardMessageToDeadLetterQueue."""
        request = sv.ForwardMessageToDeadLetterQueueRequest(
            group=pb.Resource(name=group),
            topic=pb.Resource(name=topic),
            receipt_handle=handle,
            message_id=message_id,
            delivery_attempt=attempts,
            max_delivery_attempts=most,
        )
        return self.call("ForwardMessageToDeadLetterQueue", request, client=client)

    # --- transactions and timed messages

    def end_transaction(self, topic: str, transaction_id: str, resolution: int = pb.COMMIT, **more: Any) -> Any:
        """Call EndTransaction. `more`: see `start_end`."""
        return self.start_end(topic, transaction_id, resolution, **more)()

    def start_end(
        self,
        topic: str,
        transaction_id: str,
        resolution: int = pb.COMMIT,
        *,
        message_id: str | None = None,
        source: int = pb.SOURCE_CLIENT,
        client: str | None = "client",
        deadline: float | None = ANSWER_SECONDS,
    ) -> Callable[[], Any]:
        """Start an EndTransaction; see `start_call`."""
        request = sv.EndTransactionRequest(
            topic=pb.Resource(name=topic),
            message_id=transaction_id if message_id is None else message_id,
            transaction_id=transaction_id,
            resolution=resolution,  # type: ignore[arg-type]  # an enum's value
            source=source,  # type: ignore[arg-type]  # an enum's value
        )
        return self.start_call("EndTransaction", request, client=client, deadline=deadline)

    def recall(self, topic: str, handle: str, *, client: str | None = "client") -> Any:
        """Call RecallMessage."""
        request = sv.RecallMessageRequest(topic=pb.Resource(name=topic), recall_handle=handle)
        return self.call("RecallMessage", request, client=client)


def _status_code(value: Any) -> Any:
    if isinstance(value, Failure):
        return value.grpc
    status = getattr(value, "status", value)
    return getattr(status, "code", None)
