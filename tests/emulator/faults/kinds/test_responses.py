"""Faults of responses over both protocols, in virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from fault_rules import Rules
from grpc_harness import GrpcHarness, MemoryCall, a_message, a_receive, a_send, an_ack
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from remoting_harness import Peer
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest
from rocketmq_testkit.emulator.faults.kinds.responses import (
    DelayResponse,
    DropResponse,
    DuplicateResponse,
    OversizedRemark,
    ReorderResponses,
    Respond,
    WrongOpaque,
)
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

SEND = {"operation": "SendMessage"}
CODES = {"remoting": ("SYSTEM_BUSY", 2), "grpc": ("TOO_MANY_REQUESTS", 42900)}


def _peer(e: ProtocolClient) -> Peer:
    assert isinstance(e, RemotingProtocolClient)
    return e.peer("producer")


def _send(e: ProtocolClient, body: bytes = b"x") -> MemoryCall:
    """Start a send of a gRPC client."""
    assert isinstance(e, GrpcProtocolClient)
    return e.harness.client("producer").start("SendMessage", a_send(a_message("T", body)))


def _ends(e: ProtocolClient) -> list[str]:
    """Send one message; return the ends of the connection by the server, "close" or "reset", empty if it stays open."""
    if e.name == "remoting":
        peer = _peer(e)
        assert peer.exchange(*send_request("T", b"x", born_ms=e.now_ms)) == []
        return peer.socket.ends
    call = _send(e)
    assert not call.sent
    return call.control.actions


@through("remoting", "grpc")
def test_respond_rejects_the_request_with_the_code_and_does_not_execute_it(e: ProtocolClient) -> None:
    """The response has the code and the remark of the rule."""
    e.topic()
    name, number = CODES[e.name]
    Rules(e.engine).add(Respond(name, remark="flow limit"), times=1, **SEND)
    sent = e.start_send().sent
    assert sent is not None
    assert (sent.code, sent.remark, e.message_counts()) == (number, "flow limit", {"broker-a": 0})
    assert e.put().ok


@through("remoting", "grpc")
def test_respond_rejects_a_pop_before_messages_are_popped(e: ProtocolClient) -> None:
    """The next pop gets the messages at once. A receive from several brokers gets one response."""
    e.topic()
    name, number = CODES[e.name]
    rule = Rules(e.engine).add(Respond(name, remark="flow limit"), times=1, operation=["PopMessage", "ReceiveMessage"])
    e.send(b"1")
    response = e.pop(poll_ms=5_000).response
    assert response is not None
    assert (response.code, response.remark, rule.fired) == (number, "flow limit", 1)
    assert e.bodies() == [b"1"]


def test_respond_ends_a_call_with_a_status_of_grpc() -> None:
    """The call ends with the status and without a message, even if it is a receive."""
    e = protocol_client("grpc")
    assert isinstance(e, GrpcProtocolClient)
    e.topic()
    rules = Rules(e.engine)
    rules.add(Respond(status="UNAVAILABLE", remark="gone"), operation=["SendMessage", "ReceiveMessage"])
    call = _send(e)
    assert (call.status, call.text, call.sent) == (14, "gone", [])
    received = e.harness.client("consumer").receive(a_receive())
    assert (received.call.status, received.call.text, received.call.sent) == (14, "gone", [])
    assert e.message_counts() == {"broker-a": 0}


@pytest.mark.parametrize(
    ("given", "text"),
    [({}, "code=None and status=None: "), ({"code": 1, "status": 2}, "code=1 and status=2: ")],
)
def test_respond_needs_exactly_one_of_code_and_status(given: dict[str, Any], text: str) -> None:
    """The error names an example with `code` and one with `status`."""
    with pytest.raises(FaultError, match=f"^{text}a response has exactly one of them; use respond"):
        Respond(**given)


@through("remoting", "grpc")
def test_delay_response_stores_at_once_and_responds_later(e: ProtocolClient) -> None:
    """The message is stored at once, and the response is sent at the end of the delay."""
    e.topic()
    Rules(e.engine).add(DelayResponse("200ms"), **SEND)
    sending = e.start_send()
    e.advance(199)
    assert (sending.sent, e.message_counts()) == (None, {"broker-a": 1})
    e.advance(1)
    assert sending.sent is not None
    assert sending.sent.ok


@pytest.mark.parametrize(("distribution", "low", "high"), [("uniform", 100, 300), ("normal", 0, 700)])
def test_delays_with_jitter_are_drawn_from_the_seed(distribution: str, low: int, high: int) -> None:
    """Two runs have the same delays, between the bounds and different from each other."""
    runs = []
    for _ in range(2):
        e = protocol_client("remoting", seed=5)
        e.topic()
        Rules(e.engine).add(DelayResponse("200ms", jitter="100ms", distribution=distribution), **SEND)
        delays = []
        for _ in range(20):
            start, sending = e.now_ms, e.start_send()
            while sending.sent is None:
                e.advance(1)
            delays.append(e.now_ms - start)
        runs.append(delays)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 10
    assert low <= min(runs[0]) <= max(runs[0]) <= high


def test_a_delay_in_proportion_to_the_size_of_the_response() -> None:
    """A pull of 10,000 bytes at 10,000 bytes per second takes more than a second, an empty one almost nothing."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    Rules(e.engine).add(DelayResponse(bytes_per_second=10_000), operation="PullMessage")
    small = e.pull(0)
    e.advance(100)
    assert small.response is not None
    e.send(bytes(10_000))
    large = e.pull(0)
    e.advance(1_000)
    assert large.response is None
    e.advance(100)
    assert large.response is not None


@through("remoting", "grpc")
@pytest.mark.parametrize(("how", "ends"), [("silent", []), ("close", ["close"]), ("reset", ["reset"])])
def test_drop_response_stores_the_message_and_loses_the_response(e: ProtocolClient, how: str, ends: list[str]) -> None:
    """The parameter `how` also closes or resets the connection."""
    e.topic()
    rule = Rules(e.engine).add(DropResponse(how), times=1, **SEND)
    assert _ends(e) == ends
    assert (e.message_counts(), rule.fired) == ({"broker-a": 1}, 1)
    assert e.put().ok


@through("remoting", "grpc")
def test_drop_response_can_send_a_rejection_in_place_of_the_response(e: ProtocolClient) -> None:
    """The client gets an error code, although the message is stored."""
    e.topic()
    name, number = {"remoting": ("SYSTEM_ERROR", 1), "grpc": ("INTERNAL_SERVER_ERROR", 50001)}[e.name]
    Rules(e.engine).add(DropResponse(name), **SEND)
    sent = e.start_send().sent
    assert sent is not None
    assert (sent.code, e.message_counts()) == (number, {"broker-a": 1})


@through("remoting", "grpc")
def test_a_lost_delivery_is_no_delivery_in_the_journal_and_in_the_model(e: ProtocolClient) -> None:
    """The message is invisible for its duration; its next delivery is the first one that a client gets."""
    e.topic()
    rule = Rules(e.engine).add(DropResponse(), operation="PopMessage", times=1, name="lossy")
    e.send(b"1")
    assert e.pop().response is None
    *_, fault, entry = e.engine.journal
    assert (fault.event, fault.outcome.rule, rule.fired) == ("faulted", "lossy", 1)  # type: ignore[union-attr]  # a rule
    assert (entry.event, entry.outcome.msg_offset_info) == ("responded", "")  # type: ignore[union-attr]  # of a pop
    assert list(e.engine.deliveries.in_flight()) == []
    assert e.bodies() == []
    e.advance(20_000)
    assert e.bodies() == [b"1"]


def test_duplicate_response_sends_equal_frames_to_a_remoting_client() -> None:
    """All frames have the opaque of the request."""
    e = protocol_client("remoting")
    e.topic()
    Rules(e.engine).add(DuplicateResponse(copies=2), **SEND)
    frames = _peer(e).exchange(*send_request("T", b"x", born_ms=e.now_ms))
    assert len(frames) == 3
    assert frames[0] == frames[1] == frames[2]
    assert e.message_counts() == {"broker-a": 1}


def test_duplicate_response_repeats_the_messages_of_a_grpc_response() -> None:
    """The call ends once, after the repeated messages."""
    e = protocol_client("grpc")
    e.topic()
    Rules(e.engine).add(DuplicateResponse(), operation=["SendMessage", "ReceiveMessage"])
    call = _send(e)
    assert (len(call.sent), call.sent[0] == call.sent[1], call.status) == (2, True, 0)
    assert isinstance(e, GrpcProtocolClient)
    received = e.harness.client("consumer").receive(a_receive())
    parts = ["status", "message", "delivery_timestamp"]
    assert (received.kinds, received.call.status) == (parts * 2, 0)


@through("remoting", "grpc")
def test_reorder_responses_sends_the_second_response_before_the_first(e: ProtocolClient) -> None:
    """The third response waits for the fourth in the same way."""
    e.topic()
    Rules(e.engine).add(ReorderResponses(), **SEND)
    if e.name == "remoting":
        peer = _peer(e)
        exchanges = [peer.exchange(*send_request("T", b"x", born_ms=e.now_ms)) for _ in range(4)]
        assert [[frame.opaque for frame in each] for each in exchanges] == [[], [2, 1], [], [4, 3]]
        return
    first = _send(e)
    assert not first.finished
    second = _send(e)
    assert (first.finished, second.finished) == (True, True)
    assert not _send(e).finished


@through("remoting", "grpc")
@pytest.mark.parametrize("end", ["time", "removal"])
def test_a_held_response_is_sent_after_its_longest_time_or_when_the_rule_is_removed(
    e: ProtocolClient, end: str
) -> None:
    """The response is sent once, even if the other event happens later."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(ReorderResponses(at_most="2s"), **SEND)
    sending = e.start_send()
    e.advance(1_999)
    assert sending.sent is None
    if end == "time":
        e.advance(1)
    rules.remove(rule)
    assert sending.sent is not None
    e.advance(5_000)


def test_wrong_opaque_responds_to_a_request_that_was_never_sent() -> None:
    """The body and the other members of the header are those of the response."""
    e = protocol_client("remoting")
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(WrongOpaque(), times=1, **SEND)
    peer = _peer(e)
    (wrong,), (right,) = (peer.exchange(*send_request("T", b"x", born_ms=e.now_ms)) for _ in range(2))
    assert (wrong.opaque, right.opaque, rule.fired) == (0x3FFF_0001, 2, 1)
    assert (wrong.code, set(wrong.ext_fields or ())) == (right.code, set(right.ext_fields or ()))


@through("remoting", "grpc")
def test_oversized_remark_has_the_wanted_length(e: ProtocolClient) -> None:
    """The code and the result of the response do not change."""
    e.topic()
    Rules(e.engine).add(OversizedRemark(100_000), **SEND)
    if e.name == "remoting":
        (frame,) = _peer(e).exchange(*send_request("T", b"x", born_ms=e.now_ms))
        assert (frame.code, len(frame.remark or "")) == (0, 100_000)
        return
    response = sv.SendMessageResponse.FromString(_send(e).sent[0])
    assert (response.status.code, len(response.status.message)) == (pb.OK, 100_000)


def _receiving(brokers: int = 2) -> tuple[GrpcHarness, Rules]:
    harness = GrpcHarness(*(BrokerConfig(broker_name=f"broker-{letter}") for letter in "abc"[:brokers]))
    harness.topic_everywhere()
    return harness, Rules(harness.engine)


@pytest.mark.parametrize("threshold", [0, 1_000])
def test_a_receive_of_several_pops_has_one_response_for_a_rule(threshold: int) -> None:
    """The rule fires once, on the outcome that ends the receive; earlier empty pops and notifications do not match."""
    harness, rules = _receiving()
    harness.config.receive_from_all_brokers = True
    harness.config.pop_with_notify_threshold = threshold
    consumer = harness.consumer()
    rule = rules.add(DelayResponse("100ms"), operation="ReceiveMessage")
    general = rules.add(DelayResponse("100ms"), client="consumer-1", optional=True)
    received = consumer.receive(a_receive(poll_ms=10_000))
    assert (rule.fired, general.fired) == (0, 0)
    harness.advance(1_000)
    harness.store(b"1", broker=1)
    assert (received.call.finished, rule.fired, general.fired) == (False, 1, 1)
    harness.advance(200)
    assert received.call.finished
    assert received.bodies == [b"1"]
    received = consumer.receive(a_receive(poll_ms=10_000))
    harness.advance(20_000)
    assert (received.call.finished, received.status.code, rule.fired) == (True, pb.MESSAGE_NOT_FOUND, 2)


@pytest.mark.parametrize("status", [True, False])
def test_a_rejected_receive_of_several_brokers_ends_on_all_of_them(status: bool) -> None:
    """Messages that arrive later are delivered to other receives."""
    harness, rules = _receiving()
    harness.config.receive_from_all_brokers = True
    fault = Respond(status="UNAVAILABLE") if status else Respond("TOO_MANY_REQUESTS", remark="flow limit")
    rule = rules.add(fault, operation="ReceiveMessage", nth=2)
    received = harness.consumer().receive(a_receive(poll_ms=10_000))
    assert (received.call.finished, rule.fired) == (True, 1)
    harness.store(b"1")
    harness.store(b"2", broker=1)
    got = [
        harness.consumer().receive(a_receive(poll_ms=10_000, broker=name)).bodies for name in ("broker-a", "broker-b")
    ]
    assert sorted(body for bodies in got for body in bodies) == [b"1", b"2"]


def test_an_rpc_of_several_operations_gets_one_rejection() -> None:
    """A request with two acknowledgements is rejected: it has one response, which matches a rule for responses once."""
    harness, rules = _receiving(1)
    harness.store(b"1")
    harness.store(b"2")
    consumer = harness.consumer()
    handles = consumer.receive(a_receive(invisible_ms=600_000)).handles
    refusal = rules.add(Respond("INTERNAL_SERVER_ERROR"), operation="AckMessage")
    response = consumer.ask("AckMessage", an_ack(*handles))
    assert (response.status.code, refusal.matched) == (pb.INTERNAL_SERVER_ERROR, 2)
    rules.remove(refusal)
    duplicated = rules.add(DuplicateResponse(), operation="AckMessage")
    call = consumer.start("AckMessage", an_ack(*handles))
    assert (len(call.sent), duplicated.fired) == (2, 1)


ENDED = {
    "drop_request": DropRequest(),
    "close_connection": CloseConnection(),
    "respond": {"remoting": Respond("SYSTEM_ERROR"), "grpc": Respond("INTERNAL_SERVER_ERROR")},
    "status": {"grpc": Respond(status="UNAVAILABLE")},
    "drop_response": DropResponse(),
    "delay_request": DelayRequest("1ms"),
}
ONE_THREAD: dict[str, Callable[[], ProtocolClient]] = {
    "remoting": partial(protocol_client, "remoting", end_transaction_thread_pool_nums=1, request_times="transaction=1"),
    "grpc": partial(protocol_client, "grpc", grpc_transaction_thread_pool_nums=1, grpc_request_times="transaction=1"),
}
"""Clients of a broker or proxy with one thread for ends of transactions."""


@pytest.mark.parametrize("fault", ENDED)
@pytest.mark.parametrize("client", ["remoting", "grpc"])
def test_a_pool_thread_is_free_again_after_a_request_that_a_rule_ends(client: str, fault: str) -> None:
    """The pool has one thread for ends of transactions; after the fault, the next end is executed on it."""
    made: Any = ENDED[fault]
    if isinstance(made, dict):
        made = made.get(client, DropRequest())
    e = ONE_THREAD[client]()
    e.topic(kind="TRANSACTION")
    rule = Rules(e.engine).add(made, operation="EndTransaction", times=1)
    first, second = (e.put(b"half", half=True) for _ in range(2))
    e.start_end(first, 8)
    e.advance(10)
    assert rule.fired == 1
    waiting = e.start_end(second, 8)
    e.advance(10)
    assert e.name == "remoting" or waiting.response is not None
    assert len(e.records("T")) == (2 if fault in ("drop_response", "delay_request") else 1)
