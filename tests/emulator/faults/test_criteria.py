"""Criteria of rules: matching and other requests for each, and errors for wrong criteria."""

from typing import Any

import pytest
from fault_rules import WATCH, Rules, rule_spec
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.emulator.faults.criteria import Criteria, is_one
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.connections import RefuseConnection
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush, DropRequest
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse

SEND = {"operation": "SendMessage"}
MATCHES: dict[str, list[Any]] = {
    "operation": ["SendMessage", ["PullMessage", "SendMessage"]],
    "topic": ["T", "*", "T*", ["U", "T"], ["U*", "*T"]],
    "group": ["T", ["G", "T"]],
    "broker": ["broker-a", "broker-*", ["namesrv", "broker-a"]],
    "address": ["10.0.0.7", "10.*"],
    "tag": ["red", "r*d", ["green", "red"]],
    "key": ["k1", "k2", "k*"],
    "property": [{"color": "blue"}, {"color": "blue", "size": "4"}, {"color": "b*e", "size": "*"}],
    "body_matches": ["order-4", "^order", "2$", "(?i)ORDER", "base64:ZGVyLTQ="],
    "where": [lambda send: send.topic == "T", lambda send: len(send.body) == 8],
    "phase": ["request"],
    "start": ["0ms"],
    "end": ["1ms"],
}
MISSES: dict[str, list[Any]] = {
    "operation": ["PullMessage", "SEND_REPLY_MESSAGE"],
    "topic": ["t", "TT", "?", "U*", ["U", "V"], "[T]"],
    "group": ["G", "PG"],
    "broker": ["namesrv", "name*"],
    "address": ["10.0.0.8", "127.*"],
    "tag": ["Red", "re"],
    "key": ["k", "k1 k2", "k3"],
    "property": [{"color": "red"}, {"color": "blue", "size": "5"}, {"shape": "*"}, {"color": "b?ue"}],
    "body_matches": ["order-43", "^42", "base64:T1JERVI="],
    "where": [lambda send: send.topic == "U", lambda send: None],
    "start": ["1ms", "1h"],
}


def _cases(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}-{number}")
        for name, values in table.items()
        for number, value in enumerate(values)
    ]


def _matched(e: ProtocolClient, name: str, value: Any) -> int:
    e.topic()
    rule = Rules(e.engine).add(WATCH, **{**SEND, name: value})
    e.put(b"order-42", tag="red", keys="k1 k2", color="blue", size="4")
    return rule.matched


@pytest.mark.parametrize("client", ["remoting", "grpc"])
@pytest.mark.parametrize(("name", "value"), _cases(MATCHES))
def test_a_send_matches_the_criterion(client: str, name: str, value: Any) -> None:
    """The send has each value in one of the forms of the criterion."""
    if name == "group" and client == "grpc":
        value = [*([value] if isinstance(value, str) else value), "PRODUCER*", "*"]
    assert _matched(protocol_client(client), name, value) == 1


@pytest.mark.parametrize("client", ["remoting", "grpc"])
@pytest.mark.parametrize(("name", "value"), _cases(MISSES))
def test_a_send_does_not_match_the_criterion(client: str, name: str, value: Any) -> None:
    """A text must match as a whole, with * as the only wildcard."""
    assert _matched(protocol_client(client), name, value) == 0


def test_a_rule_about_one_protocol_does_not_match_the_other() -> None:
    for name in ("remoting", "grpc"):
        e = protocol_client(name)
        e.topic()
        rules = Rules(e.engine)
        found = {protocol: rules.add(WATCH, protocol=protocol, **SEND) for protocol in ("remoting", "grpc")}
        e.put()
        assert {protocol: rule.matched for protocol, rule in found.items()} == {
            "remoting": int(name == "remoting"),
            "grpc": int(name == "grpc"),
        }


def test_direct_calls_of_tests_match_no_rule() -> None:
    """Rules act only on requests of clients."""
    e = protocol_client("engine")
    e.topic()
    rule = Rules(e.engine).add(DropRequest())
    e.put()
    assert rule.matched == 0


def test_a_remoting_client_id_is_that_of_the_heartbeat() -> None:
    """A connection has the client ids that registered on it; before its heartbeat it has none."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(WATCH, client="client-*", operation="GetMaxOffset")
    beats = rules.add(WATCH, client="client-1", operation="Heartbeat")
    peer = e.peer("someone")
    asked = (30, {"topic": "T", "queueId": 0})
    assert peer.ask(*asked).code == 0
    assert rule.matched == 0
    peer.exchange(*heartbeat_request("client-1", groups={"G": {"T": "*"}}))
    peer.received()
    assert beats.matched == 1
    assert peer.ask(*asked).code == 0
    assert rule.matched == 1
    assert e.peer("other").ask(*asked).code == 0
    assert rule.matched == 1, "another connection"


@pytest.mark.parametrize("operation", ["SendMessage", "ReceiveMessage"])
def test_a_grpc_client_id_is_that_of_the_header(operation: str) -> None:
    """A gRPC client needs no heartbeat, because each RPC has its id."""
    e = protocol_client("grpc")
    e.topic()
    rules = Rules(e.engine)
    client = {"SendMessage": "producer", "ReceiveMessage": "consumer*"}[operation]
    rule, other = (rules.add(WATCH, client=each, operation=operation) for each in (client, "x"))
    e.put()
    e.take()
    assert (rule.matched > 0, other.matched) == (True, 0)


@pytest.mark.parametrize(
    ("criteria", "matches"),
    [
        ({"language": "JAVA"}, True),
        ({"language": "GO"}, False),
        ({"version": "5.3.*"}, True),
        ({"version": "5.3"}, True),
        ({"version": ["4.9", "5"]}, True),
        ({"version": "5.3.30"}, False),
        ({"version": "4.*"}, False),
    ],
)
def test_language_and_version_of_a_remoting_client_match_those_of_the_request_header(
    criteria: dict[str, str], matches: bool
) -> None:
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    rule = Rules(e.engine).add(WATCH, operation="GetMaxOffset", **criteria)
    e.peer().ask(30, {"topic": "T", "queueId": 0}, language="JAVA", version=479)
    assert (rule.matched == 1) is matches


def test_language_and_version_of_a_grpc_client_match_those_of_the_metadata() -> None:
    e = protocol_client("grpc")
    assert isinstance(e, GrpcProtocolClient)
    e.topic()
    rules = Rules(e.engine)
    asked = [{"language": "JAVA"}, {"version": "5.0.8"}, {"language": "PYTHON"}, {"version": "5.1*"}]
    found = [rules.add(WATCH, **SEND, **each) for each in asked]
    e.put()
    assert [rule.matched for rule in found] == [1, 1, 0, 0]


@through("remoting", "grpc")
def test_a_function_where_that_raises_matches_nothing_and_is_reported(e: ProtocolClient) -> None:
    """The request is executed, and the rule has the error."""
    e.topic()
    rule = Rules(e.engine).add(DropRequest(), where=lambda send: send.missing, **SEND)
    assert e.put().ok
    assert (rule.matched, rule.failure) == (0, "AttributeError: 'SendMessage' object has no attribute 'missing'")


@pytest.mark.parametrize(
    ("fault", "given"),
    [
        (RefuseConnection(), {"topic": "T"}),
        (RefuseConnection(), {"operation": "SendMessage"}),
        (RefuseConnection(), {"client": "c"}),
        (DropPush(), {"language": "JAVA"}),
        (DropPush(), {"version": "5*"}),
    ],
)
def test_a_criterion_that_the_phase_does_not_know_is_rejected(fault: Fault, given: dict[str, str]) -> None:
    """The error has the criterion, the phase of the rule, and the criteria that are known in that phase."""
    (name,) = given
    with pytest.raises(FaultError, match=rf"^{name}='.*': not known in the phase '(connect|push)'; there are address"):
        rule_spec(fault, **given)


@pytest.mark.parametrize("pattern", ["(", "", "a" * 1001, "base64:%", "base64:YQ", "base64:", 5])
def test_a_wrong_pattern_for_bodies_is_rejected(pattern: Any) -> None:
    """Regular expressions and base64 are checked when the rule is created."""
    with pytest.raises(FaultError, match=r"^body_matches=.*; use 'order-42', or 'base64:' and the bytes$"):
        Criteria(body_matches=pattern)


def test_a_body_is_searched_up_to_a_limit() -> None:
    """A regular expression is matched with the first 64 KiB, base64 with the whole body."""
    for pattern, found in (("needle", 0), ("base64:bmVlZGxl", 1)):
        e = protocol_client("remoting")
        e.topic()
        rule = Rules(e.engine).add(WATCH, body_matches=pattern, **SEND)
        e.put(bytes(65_536) + b"needle")
        assert rule.matched == found


def test_a_criterion_of_none_matches_each_text() -> None:
    assert is_one("x", None)
    assert not is_one("x", ["y"])


def test_a_response_rule_without_message_matches_no_criterion_about_messages() -> None:
    """The response to an empty pop has no messages."""
    e = protocol_client("remoting")
    e.topic()
    rules = Rules(e.engine)
    tagged, every = (
        rules.add(DropResponse(), operation="PopMessage", tag="*"),
        rules.add(DropResponse(), operation="PopMessage", optional=True),
    )
    assert e.pop().response is None
    assert (tagged.matched, every.matched) == (0, 1)
