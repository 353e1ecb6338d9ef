"""Faults of requests and pushes over both protocols, in virtual time."""

from typing import Any

import pytest
from fault_rules import Rules
from grpc_harness import a_message, a_send
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import protocol_client, through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection
from rocketmq_testkit.emulator.faults.kinds.requests import (
    DelayPush,
    DelayRequest,
    DropPush,
    DropRequest,
    DuplicatePush,
    DuplicateRequest,
    Throttle,
)
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse

SEND = {"operation": "SendMessage"}
CHECK = {"operation": "CheckTransactionState"}


@through("remoting", "grpc")
@pytest.mark.parametrize(("how", "ends"), [("silent", []), ("close", ["close"]), ("reset", ["reset"])])
def test_drop_request_stores_nothing_and_sends_no_response(e: ProtocolClient, how: str, ends: list[str]) -> None:
    """The parameter `how` also closes or resets the connection."""
    e.topic()
    Rules(e.engine).add(DropRequest(how), times=1, **SEND)
    if isinstance(e, RemotingProtocolClient):
        peer = e.peer()
        assert peer.exchange(*send_request("T", b"x", born_ms=e.now_ms)) == []
        assert peer.socket.ends == ends
    else:
        assert isinstance(e, GrpcProtocolClient)
        call = e.harness.client().start("SendMessage", a_send(a_message()))
        assert (call.finished, call.control.actions) == (False, ends)
    assert e.message_counts() == {"broker-a": 0}
    assert e.put().ok
    assert e.message_counts() == {"broker-a": 1}


@through("remoting", "grpc")
def test_a_message_whose_acknowledgement_is_lost_is_redelivered(e: ProtocolClient) -> None:
    """The consumer gets the message again after its invisible duration."""
    e.topic()
    rule = Rules(e.engine).add(DropRequest(), operation="AckMessage", times=1)
    e.send(b"1")
    (message,) = e.take()
    if isinstance(e, RemotingProtocolClient):
        with pytest.raises(ValueError, match="unpack"):
            e.ack(message.handle)
    else:
        with pytest.raises(AssertionError):
            e.ack(message.handle)
    e.advance(20_000)
    (again,) = e.take()
    assert (again.body, again.attempt, rule.fired) == (b"1", 1, 1)
    assert e.ack(again.handle).ok


@through("remoting", "grpc")
def test_delay_request_executes_the_request_later(e: ProtocolClient) -> None:
    """The message is stored at the end of the delay, and the response follows at once."""
    e.topic()
    Rules(e.engine).add(DelayRequest("2s"), times=1, **SEND)
    sending = e.start_send(b"late")
    e.put(b"early")
    e.advance(1_999)
    assert (sending.sent, e.message_counts()) == (None, {"broker-a": 1})
    e.advance(1)
    assert sending.sent is not None
    assert [record.body for record in e.records("T")] == [b"early", b"late"]


def test_a_delayed_send_is_stored_even_if_its_client_has_cancelled_the_call() -> None:
    e = protocol_client("grpc")
    assert isinstance(e, GrpcProtocolClient)
    e.topic()
    Rules(e.engine).add(DelayRequest("2s"), **SEND)
    call = e.harness.client().start("SendMessage", a_send(a_message()))
    call.cancel()
    e.advance(2_000)
    assert (e.message_counts(), call.sent) == ({"broker-a": 1}, [])


@through("remoting", "grpc")
def test_a_delayed_pop_still_waits_for_messages(e: ProtocolClient) -> None:
    """The long polling of the pop starts after the delay, when the broker executes it."""
    e.topic()
    Rules(e.engine).add(DelayRequest("1s"), operation="PopMessage", times=1)
    waiting = e.pop(poll_ms=10_000)
    e.advance(1_000)
    assert waiting.response is None
    e.put(b"1")
    assert waiting.response is not None
    assert waiting.response.bodies == [b"1"]


LATER: list[tuple[list[Any], int, bool]] = [
    ([DelayRequest("2s"), DropResponse()], 1, False),
    ([DelayRequest("2s"), DropRequest()], 0, False),
    ([Throttle(per_second=0.5, burst=1), DropRequest()], 0, False),
    ([DelayRequest("1s"), DelayRequest("1s")], 1, True),
    ([DelayRequest("2s"), DuplicateRequest(2)], 3, True),
    ([DuplicateRequest(2), DelayRequest("2s")], 3, True),
    ([DuplicateRequest(2), DropRequest()], 2, False),
    ([DelayRequest("2s"), CloseConnection()], 0, False),
]
"""Faults of one request in the order of their rules, number of stored messages, True if the client gets a response."""


@through("remoting", "grpc")
@pytest.mark.parametrize(("faults", "stored", "responds"), LATER, ids=str)
def test_later_rules_act_on_a_request_that_a_rule_has_delayed(
    e: ProtocolClient, faults: list[Any], stored: int, responds: bool
) -> None:
    """Each rule fires once. Copies of a request match no rule, and are stored together with the request."""
    e.topic()
    rules = Rules(e.engine)
    throttled = isinstance(faults[0], Throttle)
    if throttled:
        rules.add(faults[0], operation="SendMessage")
        e.put()
    added = [rules.add(fault, operation="SendMessage", times=1, phase=_phase(fault)) for fault in faults[throttled:]]
    sending = e.start_send()
    e.advance(1_999)
    assert sending.sent is None
    e.advance(1)
    assert [rule.fired for rule in added] == [1] * len(added)
    assert (e.message_counts(), sending.sent is not None) == ({"broker-a": stored + throttled}, responds)


def _phase(fault: Any) -> str | None:
    return "request" if isinstance(fault, CloseConnection) else None


@through("remoting", "grpc")
def test_a_rule_that_is_removed_during_a_delay_does_not_act(e: ProtocolClient) -> None:
    """A rule that is added during the delay does not act either, because the request arrived before it."""
    e.topic()
    rules = Rules(e.engine)
    rules.add(DelayRequest("2s"), **SEND)
    removed = rules.add(DropRequest(), **SEND)
    sending = e.start_send()
    rules.remove(removed)
    added = rules.add(DropRequest(), optional=True, **SEND)
    e.advance(2_000)
    assert sending.sent is not None
    assert (e.message_counts(), removed.fired, added.matched) == ({"broker-a": 1}, 0, 0)


@through("remoting", "grpc")
def test_the_end_of_its_rule_passes_a_delayed_request_to_the_later_rules(e: ProtocolClient) -> None:
    """The request is executed at once, unless a later rule drops it."""
    e.topic()
    rules = Rules(e.engine)
    delay = rules.add(DelayRequest("1h"), **SEND)
    drop = rules.add(DropRequest(), times=1, **SEND)
    first, second = e.start_send(), e.start_send()
    rules.remove(delay)
    assert (first.sent, drop.fired) == (None, 1)
    assert second.sent is not None
    assert e.message_counts() == {"broker-a": 1}


@through("remoting", "grpc")
@pytest.mark.parametrize("copies", [1, 3])
def test_duplicate_request_stores_copies_and_responds_once(e: ProtocolClient, copies: int) -> None:
    """Each copy is a message of its own, with the properties that the client sent."""
    e.topic()
    rule = Rules(e.engine).add(DuplicateRequest(copies), **SEND)
    sent = e.put(b"x", tag="a", color="red")
    assert (sent.offset, rule.matched, e.message_counts()) == (0, 1, {"broker-a": 1 + copies})
    records = e.records("T")
    assert len({record.properties.replace("\x02", ";") for record in records}) == 1
    responded = [each for each in e.engine.journal if each.event == "responded" and each.label != "direct"]
    assert len(responded) == 1 + copies, "the broker executed each"


@through("remoting", "grpc")
def test_a_duplicated_acknowledgement_has_no_further_effect(e: ProtocolClient) -> None:
    """The client gets the response to the first one."""
    e.topic()
    rule = Rules(e.engine).add(DuplicateRequest(), operation="AckMessage")
    e.send(b"1")
    (message,) = e.take()
    assert e.ack(message.handle).ok
    assert rule.fired == 1
    e.advance(60_000)
    assert e.bodies() == []


@through("remoting", "grpc")
def test_messages_of_the_copy_of_a_pop_reach_no_client(e: ProtocolClient) -> None:
    """Each pop takes one message. That of the copy is visible again after its invisible duration, undelivered."""
    e.topic()
    Rules(e.engine).add(DuplicateRequest(), operation="PopMessage", times=1)
    e.send(b"1", b"2")
    assert e.bodies(count=1) == [b"1"]
    assert e.bodies() == []
    entries = [each for each in e.engine.journal if each.event == "responded" and hasattr(each.outcome, "pop_time")]
    assert [each.outcome.msg_offset_info for each in entries[:2]] == ["0 0 0", ""]  # type: ignore[union-attr]  # of pops
    e.advance(20_000)
    assert sorted(e.bodies()) == [b"1", b"2"]


@through("remoting", "grpc")
def test_a_copy_of_a_request_matches_no_rule(e: ProtocolClient) -> None:
    """It matches neither rules for requests nor rules for responses, even while the request itself waits."""
    e.topic()
    rules = Rules(e.engine)
    rules.add(DuplicateRequest(), operation="PopMessage", times=1)
    responses = rules.add(DropResponse(), operation="PopMessage", optional=True, after=5)
    waiting = e.pop(poll_ms=5_000)
    e.put(b"1")
    assert waiting.response is not None
    assert (waiting.response.bodies, responses.matched) == ([b"1"], 1)


@through("remoting", "grpc")
def test_throttle_executes_requests_at_its_rate_and_the_others_wait(e: ProtocolClient) -> None:
    """Two requests are executed at once, then one each 100 ms; after a pause two at once again."""
    e.topic()
    Rules(e.engine).add(Throttle(per_second=10, burst=2), **SEND)

    def stored() -> int:
        return e.message_counts()["broker-a"]

    for _ in range(5):
        e.start_send()
    counts = [stored()]
    for _ in range(4):
        e.advance(100)
        counts.append(stored())
    assert counts == [2, 3, 4, 5, 5]
    e.advance(10_000)
    for _ in range(3):
        e.start_send()
    assert stored() == 7
    e.advance(100)
    assert stored() == 8


@through("remoting", "grpc")
def test_throttle_with_a_code_rejects_requests_above_the_rate(e: ProtocolClient) -> None:
    """A rejected request does not count for the rate. The remark of the response is that of the rule."""
    e.topic()
    name, number = {"remoting": ("SYSTEM_BUSY", 2), "grpc": ("INTERNAL_SERVER_ERROR", 50001)}[e.name]
    Rules(e.engine).add(Throttle(per_second=10, code=name, remark="wait"), **SEND)

    def code() -> tuple[int, str]:
        sent = e.start_send().sent
        assert sent is not None
        return (0, "") if sent.ok else (sent.code, sent.remark)

    stored, refused = (0, ""), (number, "wait")
    assert [code() for _ in range(3)] == [stored, refused, refused]
    e.advance(100)
    assert [code() for _ in range(2)] == [stored, refused]


@pytest.mark.parametrize("protocol", ["remoting", "grpc"])
def test_a_code_of_throttle_must_be_one_of_the_request(protocol: str) -> None:
    """Adding a rule with a code of the other protocol raises FaultError."""
    rules = Rules(protocol_client("remoting").engine)
    other = {"remoting": "TOO_MANY_REQUESTS", "grpc": "SYSTEM_BUSY"}[protocol]
    with pytest.raises(FaultError, match=f"^code='{other}': "):
        rules.add(Throttle(1, code=other), protocol=protocol, **SEND)


def _half(e: ProtocolClient) -> None:
    e.topic(kind="TRANSACTION")
    e.register_producer("producer")
    e.put(b"half", half=True, immune_s=1)


@through("remoting", "grpc")
def test_a_lost_transaction_check_is_repeated_by_the_next_one(e: ProtocolClient) -> None:
    """The producer gets the second check, whose number includes the lost one."""
    rule = Rules(e.engine).add(DropPush(), times=1, **CHECK)
    _half(e)
    while not rule.fired:
        e.advance(1_000)
    assert e.transaction_checks("producer") == []
    e.advance(90_000)
    assert e.transaction_checks("producer")[0].times == 2
    pushed = [each for each in e.engine.journal if each.event in ("pushed", "faulted")]
    assert [each.event for each in pushed][:2] == ["faulted", "pushed"]


@through("remoting", "grpc")
def test_a_delayed_transaction_check_arrives_later(e: ProtocolClient) -> None:
    """The check arrives once, at the end of its delay or when the rule is removed."""
    rules = Rules(e.engine)
    rule = rules.add(DelayPush("10s"), times=2, **CHECK)
    _half(e)
    while not rule.fired:
        e.advance(1_000)
    e.advance(9_000)
    assert e.transaction_checks("producer") == []
    e.advance(1_000)
    assert len(e.transaction_checks("producer")) == 1
    while rule.fired < 2:
        e.advance(1_000)
    assert e.transaction_checks("producer") == []
    rules.remove(rule)
    assert len(e.transaction_checks("producer")) == 1


@through("remoting", "grpc")
def test_a_duplicated_transaction_check_arrives_several_times(e: ProtocolClient) -> None:
    """All copies are about the same check."""
    rule = Rules(e.engine).add(DuplicatePush(2), times=1, **CHECK)
    _half(e)
    while not rule.fired:
        e.advance(1_000)
    assert [each.times for each in e.transaction_checks("producer")] == [1, 1, 1]


@through("remoting", "grpc")
def test_later_rules_act_on_a_check_that_a_rule_has_delayed(e: ProtocolClient) -> None:
    """The copies arrive together with the check, and a rule that was added later drops one of them."""
    rules = Rules(e.engine)
    delay = rules.add(DelayPush("10s"), times=1, **CHECK)
    rules.add(DuplicatePush(2), times=1, **CHECK)
    dropped = rules.add(DropPush(), nth=2, **CHECK)
    _half(e)
    while not delay.fired:
        e.advance(1_000)
    e.advance(9_000)
    assert e.transaction_checks("producer") == []
    e.advance(1_000)
    assert [each.times for each in e.transaction_checks("producer")] == [1, 1]
    assert dropped.fired == 1


def test_a_lost_change_of_a_group_is_not_repeated() -> None:
    """The members of the group get no notification of a new member, and get that of the next change."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    e.heartbeat("one")
    e.pushes("one")
    rule = Rules(e.engine).add(DropPush(), operation="NotifyConsumerIdsChanged", group="G", client="one", times=1)
    e.heartbeat("two")
    assert (e.pushes("one"), rule.fired) == ([], 1)
    e.heartbeat("three")
    assert [each.code for each in e.pushes("one")] == [40]


def test_pushes_to_a_closed_connection_are_dropped_when_their_time_comes() -> None:
    """A producer that has disconnected gets no delayed check, and no error occurs."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    rule = Rules(e.engine).add(DelayPush("10s"), times=1, **CHECK)
    _half(e)
    while not rule.fired:
        e.advance(1_000)
    e.peer("producer").connection.closed()
    e.advance(10_000)
    assert e.transaction_checks("producer") == []


@through("remoting")
def test_a_rule_about_all_pushes_does_not_match_the_close_of_an_idle_connection(e: BrokerProtocolClient) -> None:
    """A rule without operation drops pushes to clients; the close is housekeeping of the broker."""
    assert isinstance(e, RemotingProtocolClient)
    rule = Rules(e.engine).add(DropPush(), optional=True)
    e.heartbeat("one")
    e.advance(300_000)
    assert e.peer("one").socket.ends == ["close"]
    assert {each.operation for each in rule.events} == {"NotifyConsumerIdsChanged"}


@pytest.mark.parametrize("operation", ["SendMessage", "POP_MESSAGE"])
@pytest.mark.parametrize("fault", [DropPush(), DelayPush("1s"), DuplicatePush()], ids=str)
def test_faults_of_pushes_act_on_no_request(operation: str, fault: Any) -> None:
    """The error of a rule about a request names the phase of the fault."""
    with pytest.raises(FaultError, match=r"is no push, and \w+ acts in the phase 'push'$"):
        Rules(protocol_client("remoting").engine).add(fault, operation=operation)
