"""Calls of the gRPC services as an entrance, without a transport."""

from typing import Any

from entrance import NOTHING, Answer, Entrance, Taken
from grpc_world import (
    Client,
    GrpcWorld,
    Received,
    a_change,
    a_forward,
    a_message,
    a_receive,
    a_send,
    an_ack,
    subscribing,
)
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

OK = 20_000
_KINDS = {"TAG": pb.TAG, "SQL92": pb.SQL}


class GrpcEntrance(Entrance):
    """Upstream's proxy with its broker. A receive always waits, for 5 s at least."""

    name = "grpc"
    proxied = True

    def __init__(self, config: BrokerConfig, emulation: EmulationConfig, seed: int = 1) -> None:
        self.world = GrpcWorld(config, emulation=emulation, seed=seed)
        self.world.config.end_polls_on_cancel = True
        super().__init__(self.world.engine)
        self._clients: dict[tuple[str, str, str], Client] = {}

    def _consumer(self, client: str, group: str, topic: str) -> Client:
        if (client, group, topic) not in self._clients:
            made = self._clients[client, group, topic] = self.world.client(f"{client}-{group}-{topic}")
            made.settle(subscribing(group, topic))
        return self._clients[client, group, topic]

    def send(
        self,
        *bodies: bytes,
        topic: str = "T",
        tag: str = "",
        keys: str = "",
        message_group: str = "",
        **properties: str,
    ) -> None:
        for body in bodies:
            system: dict[str, object] = {"message_id": f"ID{next(self._names)}", "keys": keys.split()}
            known = {"tag": tag, "message_group": message_group}
            system |= {name: value for name, value in known.items() if value}
            message = a_message(topic, body, user=properties, **system)
            answer = self.world.client("producer").ask("SendMessage", a_send(message))
            assert answer.status.code == OK, answer

    def pop(
        self,
        topic: str = "T",
        *,
        group: str = "G",
        client: str = "consumer",
        count: int = 32,
        invisible_ms: int = 10_000,
        poll_ms: int = 0,
        order: bool = False,
        attempt: str | None = None,
        expression: str = "*",
        kind: str = "TAG",
    ) -> "GrpcWaiting":
        found = self.broker.groups.find(group)
        assert order == (found is not None and found.consume_message_orderly), "order is the group's"
        request = a_receive(
            topic,
            group,
            batch=count,
            invisible_ms=invisible_ms,
            poll_ms=poll_ms,
            expression=expression,
            kind=_KINDS[kind],
            attempt_id=attempt,
        )
        return GrpcWaiting(self._consumer(client, group, topic).receive(request))

    def take(self, topic: str = "T", **options: Any) -> list[Taken]:
        """A receive that waits is given up at once, so that no time passes."""
        waiting = self.pop(topic, **options)
        if waiting.answer is None:
            waiting.cancel()
            return []
        assert waiting.answer.ok or waiting.answer.remark in NOTHING, waiting.answer
        return waiting.answer.messages

    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        answer = self._consumer("consumer", group, topic).ask("AckMessage", an_ack(*handles, topic=topic, group=group))
        status = answer.entries[0].status if len(handles) == 1 and answer.entries else answer.status
        return _answer(status)

    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        request = a_change(handle, invisible_ms, topic, group)
        answer = self._consumer("consumer", group, topic).ask("ChangeInvisibleDuration", request)
        return Answer(answer.status.code == OK, answer.status.code, answer.status.message, handle=answer.receipt_handle)

    def forward(self, handle: str) -> Answer:
        """Give a message of `T` up for group `G`."""
        answer = self._consumer("consumer", "G", "T").ask("ForwardMessageToDeadLetterQueue", a_forward(handle))
        return _answer(answer.status)


class GrpcWaiting:
    """A receive."""

    def __init__(self, received: Received) -> None:
        self._received = received

    def cancel(self) -> None:
        """Give it up."""
        self._received.call.cancel()

    @property
    def answer(self) -> Answer | None:
        """All frames, once the stream has ended."""
        received = self._received
        if not received.call.finished:
            return None
        assert received.call.status == 0, (received.call.status, received.call.text)
        status = received.status
        return Answer(
            status.code == OK, status.code, status.message, [_taken(message) for message in received.messages]
        )


def _answer(status: pb.Status) -> Answer:
    return Answer(status.code == OK, status.code, status.message)


def _taken(message: pb.Message) -> Taken:
    system = message.system_properties
    return Taken(
        message.body,
        system.receipt_handle,
        system.delivery_attempt - 1,
        system.queue_id,
        system.queue_offset,
        system.message_id,
        system.tag,
        tuple(system.keys),
    )
