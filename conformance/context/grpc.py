"""The context of a gRPC case: the RPCs that SDKs call, with their important fields as arguments.

Other requests use `call(rpc, request)`. Arguments named `client` are client ids. The server knows a client once it has
opened a telemetry stream. The deployment is the running RocketMQ that the case uses.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.message import Message
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, TRANSACTION_GROUP
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ..clients import grpc_requests
from ..clients.grpc_client import GrpcClient, open_channel
from ..clients.grpc_response import Failure, Received
from ..clients.pending import ANSWER_SECONDS
from ..clients.remoting_consumption import pull_request
from ..clients.remoting_response import DecodedResponse
from ..deployment.target import Deployment, Tls
from .case_context import CaseContext

_SENT_AFTER_SECONDS = 0.05
"""Time after which grpcio's own threads are expected to have sent a call."""


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
"""Invalid topic names by descriptions, which are labels of notes; `blank` is the empty name."""
BAD_GROUPS: Mapping[str, str] = {
    "blank": "",
    "illegal characters": "a b",
    "256 characters": "g" * 256,
    "of the system": TRANSACTION_GROUP,
}
"""Invalid names of consumer groups by descriptions, which are labels of notes; `blank` is the empty name."""


class GrpcContext(CaseContext, GrpcClient):
    """A raw client of the gRPC protocol. Unary calls return the response message or a Failure."""

    def __init__(self, deployment: Deployment, token: str) -> None:
        CaseContext.__init__(self, deployment, token)
        access = deployment.access
        channel = open_channel(access.endpoint, None if access.tls is None else _channel_credentials(access.tls))
        GrpcClient.__init__(self, channel, credentials=access.credentials, hand_over=self._note_hand_over)
        self._handed_over = False
        """True if grpcio's threads may still have unsent calls."""

    def close(self) -> None:
        """Close streams, channel and connections."""
        GrpcClient.close(self)
        CaseContext.close(self)

    # --- calls

    def call(self, rpc: str, request: Message, **more: Any) -> Any:
        """Return the response of a unary RPC, or the Failure with which it ended; `more`: see `start_call`."""
        handed_over = self._handed_over
        response = super().call(rpc, request, **more)
        # This call has been answered; earlier calls may still be unsent.
        self._handed_over = handed_over
        return response

    def _note_hand_over(self) -> None:
        self._handed_over = True

    def note(self, label: str, value: Any, code: int | str | None = None) -> Any:
        """Note an observation; a response is noted by its status and fields."""
        shown = value.shown() if isinstance(value, Failure | Received) else value
        super().note(label, shown)
        if code is not None and (came := _status_code(value)) != code:
            self.contradictions.append(f"{label}: code {code} was expected, {came} was returned: {self.notes[-1][1]}")
        return value

    def settle(self) -> None:
        """Wait until the deployment has received everything that was sent so far."""
        if self._handed_over:
            self._handed_over = False
            time.sleep(_SENT_AFTER_SECONDS)
        super().settle()
        self.call("QueryRoute", grpc_requests.route(AUTO_CREATE_TOPIC))

    # --- routes

    def route(self, topic: str, endpoints: pb.Endpoints | None = None, **more: Any) -> Any:
        """Call QueryRoute."""
        return self.call("QueryRoute", grpc_requests.route(topic, endpoints or self.endpoints()), **more)

    def assignment(self, topic: str, group: str, endpoints: pb.Endpoints | None = None, **more: Any) -> Any:
        """Call QueryAssignment."""
        request = grpc_requests.assignment(topic, group, endpoints or self.endpoints())
        return self.call("QueryAssignment", request, **more)

    # --- clients

    def heartbeat(
        self, client: str | None, group: str | None = None, kind: int = pb.SIMPLE_CONSUMER, **more: Any
    ) -> Any:
        """Call Heartbeat; without a group the field is absent."""
        return self.call("Heartbeat", grpc_requests.heartbeat(group, kind), client=client, **more)

    def leave(self, client: str | None, group: str | None = None, **more: Any) -> Any:
        """Call NotifyClientTermination; without a group the field is absent."""
        return self.call("NotifyClientTermination", grpc_requests.termination(group), client=client, **more)

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
        response = self.heartbeat(client, group, kind)
        self.require(not isinstance(response, Failure) and response.status.code == pb.OK, f"no heartbeat: {response}")
        return client

    def _known(self, settings: pb.Settings, client: str | None) -> str:
        client = client or self.new("client")
        self.open(client, settings).command()
        return client

    def endpoints(self) -> pb.Endpoints:
        """The deployment's endpoint in the form of client requests."""
        return grpc_requests.endpoints(self.deployment.access.endpoint)

    def publishing(self, *topics: str) -> pb.Settings:
        """Build the settings of a producer."""
        return self._own(grpc_requests.publishing(*topics, max_body_size=4194304))

    def subscription(
        self, group: str, subscriptions: Mapping[str, str], *, kind: int = pb.SIMPLE_CONSUMER, **more: Any
    ) -> pb.Settings:
        """Build the settings of a consumer; `more`: see `grpc_requests.subscribing`."""
        return self._own(grpc_requests.subscribing(group, subscriptions, client_type=kind, **more))

    def _own(self, settings: pb.Settings) -> pb.Settings:
        settings.access_point.CopyFrom(self.endpoints())
        settings.user_agent.CopyFrom(pb.UA(language=pb.JAVA, version="5.2.0", platform="Linux", hostname="case"))
        return settings

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
        own: dict[str, Any] = {
            "message_id": self.message_id() if message_id is None else message_id,
            "born_host": "case",
            "born_timestamp": grpc_requests.timestamp(self.now_ms()),
            "message_type": pb.NORMAL,
        }
        return grpc_requests.message(topic, body, properties=properties, deliver_ms=deliver_ms, **{**own, **system})

    def send(self, *messages: pb.Message, client: str | None = "client", **more: Any) -> Any:
        """Call SendMessage."""
        response = self.call("SendMessage", sv.SendMessageRequest(messages=messages), client=client, **more)
        for entry in () if isinstance(response, Failure) else response.entries:
            self.placeholders.put(entry.recall_handle, "recall handle")
        return response

    def stored_in(self, topic: str, response: sv.SendMessageResponse, queue: int = 0) -> list[str] | DecodedResponse:
        """Pull the message at the offset in a send response from a queue of a system topic, such as half messages'.

        Return a list of its body, or the response of the pull if there is no message.
        """
        (entry,) = response.entries
        return self.request(*pull_request(topic, self.group(), queue, entry.offset, max_messages=1)).found

    def sent(self, topic: str, count: int = 1, **more: Any) -> list[Any]:
        """Send messages `m0`, `m1`, ..., all of which must be stored."""
        responses = [self.send(self.message(topic, f"m{number}", **more)) for number in range(count)]
        for response in responses:
            stored = not isinstance(response, Failure) and response.status.code == pb.OK
            self.require(stored, f"a message was not stored: {response}")
        return responses

    def receive_request(
        self,
        topic: str,
        group: str,
        *,
        invisible_s: float | None = 60,
        await_s: float | None = None,
        broker: str | None = None,
        **more: Any,
    ) -> sv.ReceiveMessageRequest:
        """Build a ReceiveMessageRequest; `more`: see `grpc_requests.receive`.

        `await_s`: long_polling_timeout; `broker`: name of a broker other than the first.
        """
        return grpc_requests.receive(
            topic,
            group,
            broker=self.broker_name if broker is None else broker,
            access_point=self.endpoints(),
            invisible_ms=None if invisible_s is None else invisible_s * 1000,
            poll_ms=None if await_s is None else await_s * 1000,
            **more,
        )

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

    def take(self, topic: str, group: str, **more: Any) -> pb.Message:
        """Receive one available message."""
        received = self.receive(topic, group, **{"await_s": 5, "deadline": 10, "max_messages": 1, **more})
        self.require(len(received.messages) == 1, f"no message was received: {received}")
        return received.messages[0]

    def ack(self, topic: str, group: str, *entries: tuple[str, str], client: str | None = "client") -> Any:
        """Call AckMessage with (message id, receipt handle) pairs."""
        return self.call("AckMessage", grpc_requests.ack(topic, group, *entries), client=client)

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
        invisible_ms = None if invisible_s is None else invisible_s * 1000
        request = grpc_requests.change(topic, group, handle, invisible_ms, message_id=message_id)
        return self.call("ChangeInvisibleDuration", request, client=client)

    def forward(
        self, topic: str, group: str, handle: str, *, client: str | None = "client", message_id: str = "id", **more: int
    ) -> Any:
        """Call ForwardMessageToDeadLetterQueue; `more`: `attempts` (default 1), `max_attempts` (default 17)."""
        attempts = {"attempts": 1, "max_attempts": 17, **more}
        request = grpc_requests.forward(topic, group, handle, message_id=message_id, **attempts)
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
        request = grpc_requests.end(topic, transaction_id, resolution, message_id=message_id, source=source)
        return self.start_call("EndTransaction", request, client=client, deadline=deadline)

    def recall(self, topic: str, handle: str, *, client: str | None = "client") -> Any:
        """Call RecallMessage."""
        return self.call("RecallMessage", grpc_requests.recall(topic, handle), client=client)


def _status_code(value: Any) -> Any:
    if isinstance(value, Failure):
        return value.grpc
    status = getattr(value, "status", value)
    return getattr(status, "code", None)


def _channel_credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(None if tls.ca is None else tls.ca.read_bytes())
