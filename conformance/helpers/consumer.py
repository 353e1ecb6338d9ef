"""Consumers of cases that receive through the gRPC proxy: a client of a group, and its topic."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ..clients.contradiction import Contradiction
from ..clients.grpc_response import Received
from ..context.grpc import GrpcContext

_SHORTEST_WAIT_SECONDS = 5.2
"""The shortest long poll of a proxy, plus some margin."""


@dataclass(frozen=True, slots=True)
class GrpcConsumer:
    """A client whose settings the server knows, with its group and topic: the context's calls bound to these three."""

    t: GrpcContext
    topic: str
    group: str
    client: str

    def with_topic(self, topic: str) -> "GrpcConsumer":
        """Return the same client and group with another topic."""
        return replace(self, topic=topic)

    def with_group(self, group: str) -> "GrpcConsumer":
        """Return the same client with another group."""
        return replace(self, group=group)

    def with_client(self, client: str) -> "GrpcConsumer":
        """Return another client with the same group and topic."""
        return replace(self, client=client)

    def message(self, body: bytes | str = b"hello", **more: Any) -> pb.Message:
        """Build a message of the topic; `more`: see `GrpcContext.message`."""
        return self.t.message(self.topic, body, **more)

    # --- receiving

    def receive(self, **more: Any) -> Received:
        """Receive and wait for the end of the response; `more`: see `GrpcContext.receive`."""
        return self.start_receive(**more)()

    def start_receive(self, **more: Any) -> Callable[[], Received]:
        """Start a receive: `await_s`, the long polling timeout, is by default 5 s, `deadline` 10 s; None omits one."""
        times = {"await_s": 5, "deadline": 10}
        return self.t.start_receive(self.topic, self.group, client=self.client, **{**times, **more})

    def receive_nothing(self, **more: Any) -> Received:
        """Run a receive with the shortest long poll, 5 s, that must not return messages."""
        return self.received_within(**more)

    def received_within(self, *, seconds: float = _SHORTEST_WAIT_SECONDS, **more: Any) -> Received:
        """Return the result of a receive after `seconds` of the deployment's time; `more`: see `start_receive`."""
        pending = self.start_receive(**more)
        self.t.wait(seconds)
        return pending()

    def received_at_last(self, *, seconds: float = 20) -> Received:
        """Receive repeatedly; returns the first result with a message. Raises Contradiction if none has one."""

        def look() -> Received | None:
            received = self.received_within()
            return received if received.messages else None

        received = self.t.until(look, seconds)
        if received is None:
            raise Contradiction(f"nothing was received within {seconds:g} s")
        return received

    def take(self, **more: Any) -> pb.Message:
        """Receive one available message."""
        return self.t.take(self.topic, self.group, client=self.client, **more)

    def handle(self, **more: Any) -> str:
        """Receive one available message, and return its receipt handle."""
        return self.take(**more).system_properties.receipt_handle

    # --- receipt handles

    def ack(self, *handles: str) -> Any:
        """Acknowledge by receipt handles."""
        return self.ack_entries(*(("id", each) for each in handles))

    def ack_entries(self, *entries: tuple[str, str]) -> Any:
        """Acknowledge by pairs of message id and receipt handle."""
        return self.t.ack(self.topic, self.group, *entries, client=self.client)

    def change(self, handle: str, invisible_s: float | None, **more: Any) -> Any:
        """Change the invisible duration of a message by its receipt handle; `more`: see `GrpcContext.change`."""
        return self.t.change(self.topic, self.group, handle, invisible_s, client=self.client, **more)

    def forward(self, handle: str, **more: Any) -> Any:
        """Forward a message to the dead letter queue by its receipt handle; `more`: see `GrpcContext.forward`."""
        return self.t.forward(self.topic, self.group, handle, client=self.client, **more)


def consumer_of(t: GrpcContext, topic: str, group: str, client_type: int = pb.SIMPLE_CONSUMER) -> GrpcConsumer:
    """Create a client of a group that reads a topic."""
    return GrpcConsumer(t, topic, group, t.consumer(group, {topic: "*"}, kind=client_type))


def consuming_in_order(t: GrpcContext, messages: int = 0, *, queues: int = 1, **config: Any) -> GrpcConsumer:
    """Create a FIFO topic with messages `m0`, `m1`, ... of one message group, and an ordered consumer of a group.

    `config`: of the group; see `CaseContext.group`.
    """
    consumer = consuming(t, kind="FIFO", queues=queues, consumeMessageOrderly=True, **config)
    t.sent(consumer.topic, messages, message_type=pb.FIFO, message_group="g")
    return consumer


def consuming(
    t: GrpcContext,
    messages: int = 0,
    *,
    kind: str = "NORMAL",
    queues: int = 1,
    client_type: int = pb.SIMPLE_CONSUMER,
    **config: Any,
) -> GrpcConsumer:
    """Create a topic of a kind with `messages` messages, and a consumer of a new group that reads it.

    `config`: of the group; see `CaseContext.group`.
    """
    consumer = consumer_of(t, t.topic(kind=kind, queues=queues), t.group(**config), client_type)
    t.sent(consumer.topic, messages)
    return consumer


def attempts(received: Received) -> list[list[Any]]:
    """Return the bodies of a receive, each with its delivery attempt."""
    return [[each.body, each.system_properties.delivery_attempt] for each in received.messages]
