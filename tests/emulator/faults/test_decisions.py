"""Decisions of rules: several rules for one request, delayed and waiting requests, and bugs in rules."""

from typing import Any

import pytest
from fault_rules import WATCH, Rules
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest, Throttle
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse, DropResponse, Respond

SEND = {"operation": "SendMessage"}


@through("remoting", "grpc")
def test_rules_of_general_and_single_operations_act_in_the_order_of_adding(e: ProtocolClient) -> None:
    """After the first rule that delays or drops a request, later rules do not match it."""
    e.topic()
    rules = Rules(e.engine)
    passing = rules.add(WATCH)
    first = rules.add(DropRequest(), **SEND)
    second = rules.add(DropRequest())
    assert e.start_send().sent is None
    assert (passing.fired, first.fired, second.fired) == (1, 1, 0)
    rules.remove(first)
    assert e.start_send().sent is None
    assert (passing.fired, first.fired, second.fired) == (2, 1, 1)


@through("remoting", "grpc")
def test_two_rules_on_one_response_act_one_after_the_other(e: ProtocolClient) -> None:
    """Two delays add up; a rule that drops the response also drops a delayed one."""
    e.topic()
    rules = Rules(e.engine)
    delays = [rules.add(DelayResponse(f"{ms}ms"), **SEND) for ms in (100, 50)]
    sending = e.start_send()
    e.advance(149)
    assert sending.sent is None
    e.advance(1)
    assert sending.sent is not None
    assert [rule.fired for rule in delays] == [1, 1]
    rules.add(DropResponse(), **SEND)
    sending = e.start_send()
    e.advance(1_000)
    assert sending.sent is None


@through("remoting", "grpc")
def test_a_rule_for_requests_and_one_for_responses_act_on_one_request(e: ProtocolClient) -> None:
    """The request is delayed, and so is its response."""
    e.topic()
    rules = Rules(e.engine)
    rules.add(DelayRequest("100ms"), **SEND)
    rules.add(DelayResponse("100ms"), **SEND)
    sending = e.start_send()
    e.advance(100)
    assert (e.message_counts(), sending.sent) == ({"broker-a": 1}, None)
    e.advance(100)
    assert sending.sent is not None


@through("remoting", "grpc")
@pytest.mark.parametrize("fault", [DelayRequest("1h"), DelayResponse("1h"), Throttle(0.001)], ids=str)
def test_the_removal_of_a_rule_releases_the_requests_or_responses_that_it_delays(e: ProtocolClient, fault: Any) -> None:
    """They continue at once, in the order in which their delays would have ended."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(fault, **SEND)
    sendings = [e.start_send(body) for body in (b"1", b"2", b"3")]
    assert sendings[-1].sent is None
    rules.remove(rule)
    assert all(sending.sent is not None and sending.sent.ok for sending in sendings)
    assert [record.body for record in e.records("T")] == [b"1", b"2", b"3"]
    e.advance(7_200_000)
    assert e.message_counts() == {"broker-a": 3}


def test_a_delayed_request_is_executed_although_its_connection_has_closed() -> None:
    """The broker stores the message after its producer has disconnected; the response is discarded."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    Rules(e.engine).add(DelayRequest("1s"), **SEND)
    sending = e.start_send()
    sending._peer.connection.closed()  # type: ignore[attr-defined]  # of a remoting client
    e.advance(1_000)
    assert (e.message_counts(), sending.sent) == ({"broker-a": 1}, None)


@through("remoting", "grpc")
@pytest.mark.parametrize("kill", [False, True])
def test_a_delayed_request_is_lost_when_the_broker_stops(e: ProtocolClient, kill: bool) -> None:
    """A delayed request is in the memory of the process, so the broker does not execute it after its next start."""
    e.topic()
    e.put(b"stored")
    rules = Rules(e.engine)
    rule = rules.add(DelayRequest("10s"), **SEND)
    e.start_send(b"held")
    e.stop_broker(kill=kill)
    e.start_broker()
    e.advance(20_000)
    rules.remove(rule)
    assert [record.body for record in e.records("T")] == [b"stored"]


def test_a_rule_for_requests_does_not_act_on_a_pull_that_waits_already() -> None:
    """A rule for responses that is added while the pull waits acts on it."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    parked = e.pull(0, suspend_ms=20_000)
    rules = Rules(e.engine)
    request = rules.add(DropRequest(), operation="PullMessage")
    response = rules.add(DropResponse(), operation="PullMessage")
    e.put()
    e.advance(5_000)
    assert parked.response is None
    assert (request.matched, response.fired) == (0, 1)


@through("remoting", "grpc")
def test_a_rule_for_responses_acts_on_a_pop_that_waits_already(e: ProtocolClient) -> None:
    """The response to the pop is lost; its message is redelivered after its invisible duration."""
    e.topic()
    parked = e.pop(poll_ms=10_000)
    rules = Rules(e.engine)
    rule = rules.add(DropResponse(), operation="PopMessage", times=1)
    e.put(b"1")
    e.advance(1_000)
    assert (parked.response, rule.fired) == (None, 1)
    e.advance(20_000)
    assert e.bodies() == [b"1"]


def test_oneway_requests_match_rules_for_requests_and_not_rules_for_responses() -> None:
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    rules = Rules(e.engine)
    response = rules.add(DropResponse("close"), **SEND)
    request = rules.add(DropRequest(), times=1, **SEND)
    from rocketmq_testkit.conformance.clients.remoting_sends import send_request

    peer = e.peer()
    for _ in range(2):
        assert peer.exchange(*send_request("T", b"x", born_ms=e.now_ms), flag=2) == []
    assert (request.fired, response.matched, e.message_counts(), peer.socket.ends) == (1, 0, {"broker-a": 1}, [])
    refused = rules.add(Respond("SYSTEM_BUSY"), **SEND)
    assert peer.exchange(*send_request("T", b"x", born_ms=e.now_ms), flag=2) == []
    assert (refused.fired, e.message_counts()) == (1, {"broker-a": 1})


def test_an_exception_of_the_rules_is_reported_and_the_request_is_executed() -> None:
    """The client gets its response."""
    from rocketmq_testkit.emulator.engine import Engine

    found: list[BaseException] = []
    engine = Engine(report_bug=found.append)
    assert engine.gate is not None

    class Broken:
        def takes(self, *_given: object) -> bool:
            raise ZeroDivisionError

        transform = drops = takes

    from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

    engine.gate.use_rules(Broken())  # type: ignore[arg-type]  # it always raises
    engine.execute(engine.brokers[0], CreateTopic(TopicConfig("T", 1, 1)))
    assert [type(each) for each in found] == [ZeroDivisionError] * 2


def test_a_rule_stores_its_last_firings() -> None:
    """Each firing has time, operation, channel and message ids; the oldest are dropped."""
    e = protocol_client("remoting")
    e.topic()
    rule = Rules(e.engine).add(WATCH, **SEND)
    e.advance(5)
    e.send(*(b"x" for _ in range(101)))
    assert (rule.fired, len(rule.events)) == (101, 100)
    last = rule.events[-1]
    assert (last.now_ms, last.operation, last.message_ids) == (e.now_ms, "SendMessage", ("ID101",))
    assert last.channel.startswith("remoting-")
