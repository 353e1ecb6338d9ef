"""Calls leave no reference cycles: their objects are freed at once, not when the garbage collector runs."""

from collections.abc import Callable
from itertools import count

import pytest
from garbage import ROUNDS, cyclic_garbage
from google.protobuf.message import Message
from grpc_harness import GrpcHarness, a_change, a_message, a_receive, a_send, an_ack
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import SERVICE

from tests.grpc_v2.transport.wire import Peer


class Caller:
    """A consumer of topic T that exchanges bytes with the server."""

    def __init__(self) -> None:
        harness = GrpcHarness(
            BrokerConfig(auto_create_topic_enable=False), emulation=EmulationConfig(journal_max_entries=5)
        )
        harness.topic()
        self._harness = harness
        self._stream = harness.consumer("c")
        self._peer = Peer(harness.service).greet()
        self._stream_ids = count(1, 2)

    def ask(self, name: str, request: Message, client_id: str = "c") -> list[bytes]:
        """Make a call that ends at once, and return the messages of its response."""
        return self.ended(self.begin(name, request, client_id))

    def begin(self, name: str, request: Message, client_id: str = "c") -> int:
        """Begin a call and return the id of its stream."""
        stream_id = next(self._stream_ids)
        headers = {"x_mq_client_id": client_id, "x_mq_language": "JAVA", "x_mq_client_version": "5.0.8"}
        headers["grpc_timeout"] = "30S"
        self._peer.feed(self._peer.request(stream_id, request.SerializeToString(), SERVICE + name, **headers))
        return stream_id

    def ended(self, stream_id: int) -> list[bytes]:
        """Return the messages of the response of a call that has ended."""
        self._peer.read()
        self._peer.frames.clear()
        response = self._peer.responses.pop(stream_id)
        assert response.ended
        return response.messages

    def wait(self) -> None:
        """Wait with two receives: a message ends the first one, and the second one ends empty."""
        waiting = self.begin("ReceiveMessage", a_receive())
        self.ask("SendMessage", a_send(a_message()))
        assert len(self.ended(waiting)) > 1
        waiting = self.begin("ReceiveMessage", a_receive())
        self._harness.advance(6_000)
        self.ended(waiting)

    def acknowledge(self) -> None:
        """Send a message, receive it, change its invisible duration, and acknowledge it."""
        self.ask("SendMessage", a_send(a_message()))
        parts = map(sv.ReceiveMessageResponse.FromString, self.ask("ReceiveMessage", a_receive(batch=1)))
        (message,) = (part.message for part in parts if part.HasField("message"))
        (data,) = self.ask("ChangeInvisibleDuration", a_change(message, 20_000))
        handle = sv.ChangeInvisibleDurationResponse.FromString(data).receipt_handle
        (data,) = self.ask("AckMessage", an_ack(handle))
        assert sv.AckMessageResponse.FromString(data).status.code == pb.OK


ROUTE = sv.QueryRouteRequest(topic=pb.Resource(name="T"))
MISSING = sv.QueryRouteRequest(topic=pb.Resource(name="missing"))
WORK: dict[str, Callable[[Caller], object]] = {
    "send": lambda caller: caller.ask("SendMessage", a_send(a_message())),
    "send to a topic with an illegal name": lambda caller: caller.ask("SendMessage", a_send(a_message("a b"))),
    "send to a missing topic": lambda caller: caller.ask("SendMessage", a_send(a_message("missing"))),
    "receive and acknowledgement": Caller.acknowledge,
    "receives that wait": Caller.wait,
    "receive of a missing topic": lambda caller: caller.ask("ReceiveMessage", a_receive("missing")),
    "acknowledgement of an illegal handle": lambda caller: caller.ask("AckMessage", an_ack("1 2")),
    "heartbeat": lambda caller: caller.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name="G"))),
    "route": lambda caller: caller.ask("QueryRoute", ROUTE),
    "route of a missing topic": lambda caller: caller.ask("QueryRoute", MISSING),
    "no client id": lambda caller: caller.ask("QueryRoute", ROUTE, ""),
    "unknown method": lambda caller: caller.ask("Missing", ROUTE),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_a_call_leaves_no_reference_cycles(work: Callable[[Caller], object]) -> None:
    """After many calls whose journal entries were dropped, the collector finds less than one object per call."""
    caller = Caller()
    assert cyclic_garbage(lambda: work(caller)) < ROUNDS
