"""The rules of an emulator: add, remove, their names, several rules on one request, and their cost."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from fault_rules import WATCH, Rules, rule_spec
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest, Throttle
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse, DropResponse, Respond
from rocketmq_testkit.emulator.faults.rule import RuleSpec

SEND = {"operation": "SendMessage"}


def _calls(work: Callable[[], object]) -> int:
    """Return the number of calls of Python and C functions."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def _names(rules: Rules) -> list[str]:
    return [rule.name for rule in rules.plan]


BAD: list[tuple[Callable[[], RuleSpec], str]] = [
    (lambda: rule_spec(WATCH, name="taken"), "name='taken': a rule has this name already"),
    (lambda: rule_spec(WATCH, operation="SendMesage"), "operation='SendMesage': there is no such operation; did you"),
    (lambda: rule_spec(WATCH, operation="CheckTransactionState"), "operation='CheckTransactionState': is a push"),
    (lambda: rule_spec(WATCH, operation="UpdateOffset"), "operation='UpdateOffset': the emulator never carries"),
    (lambda: rule_spec(Respond("TOO_BUSY"), **SEND), "code='TOO_BUSY': SEND_BATCH_MESSAGE"),
    (lambda: rule_spec(Respond("TOO_BUSY")), "code='TOO_BUSY': no request ends with this code; did you mean"),
    (lambda: rule_spec(Respond("TOO_BUSY"), strict=False), "code='TOO_BUSY': there is no such code; did you mean"),
    (lambda: rule_spec(Respond(status="GONE"), strict=False), "status='GONE': there is no such status; there are"),
    (lambda: rule_spec(Respond(status="ABORTED"), operation="PullMessage"), "status='ABORTED': "),
    (
        lambda: rule_spec(DropResponse("closed")),
        "how='closed': neither silent, close, reset nor a response code; did",
    ),
    (lambda: rule_spec(Throttle(1, code="BUSY")), "code='BUSY': no request ends with this code"),
]


@pytest.mark.parametrize(("make", "text"), BAD, ids=[text[:30] for _, text in BAD])
def test_rules_are_added_all_or_none(make: Callable[[], RuleSpec], text: str) -> None:
    """If one is refused, the others are not added, no name is used up, and nothing acts."""
    e = protocol_client("remoting")
    e.topic()
    rules = Rules(e.engine)
    rules.add(WATCH, name="taken")
    with pytest.raises(FaultError) as caught:
        rules.plan.add([rule_spec(DropRequest()), rule_spec(DropRequest(), name="mine"), make()])
    assert str(caught.value).startswith(f"rule 3: {text}"), str(caught.value)
    assert _names(rules) == ["taken"]
    assert e.put().ok
    assert rules.add(DropRequest()).name == "drop_request"


def test_names_are_made_from_the_kind_and_never_given_twice() -> None:
    """A name that a user has chosen is skipped; a removed rule's name is not given again."""
    rules = Rules(protocol_client("remoting").engine)
    rules.add(WATCH, name="throttle-2")
    assert [rules.add(WATCH).name for _ in range(2)] == ["throttle", "throttle-3"]
    rules.plan.remove("throttle-3")
    assert rules.add(WATCH).name == "throttle-4"
    with pytest.raises(FaultError, match=r"^rule='throttle-3': there is no such rule; did you mean throttle"):
        rules.plan.remove("throttle-3")
    assert [rule.name for rule in rules.plan.clear()] == ["throttle-2", "throttle", "throttle-4"]
    assert (len(rules.plan), rules.plan.clear()) == (0, [])


@pytest.mark.parametrize("name", ["", "x" * 101, 5])
def test_a_name_is_a_text_of_limited_length(name: Any) -> None:
    """A longer one is shortened in the error."""
    with pytest.raises(FaultError, match=r"^name='.{0,100}': not a text of 1 to 100 characters; use a name such as"):
        rule_spec(WATCH, name=name)


def test_more_rules_than_allowed_are_refused() -> None:
    """The limit is on all rules of the emulator."""
    rules = Rules(protocol_client("remoting").engine)
    rules.plan.add([rule_spec(WATCH, operation="PullMessage")] * 20_000)
    with pytest.raises(FaultError, match=r"^20001 rules: at most 20000 are allowed; remove some$"):
        rules.add(WATCH)


def test_ten_thousand_rules_about_other_operations_cost_a_send_at_most_two_percent() -> None:
    """Rules are indexed by operation. Calls of functions are counted, because they are the same on each machine."""
    counts = []
    for number in (0, 1, 10_000):
        e = protocol_client("remoting")
        e.topic()
        rules = Rules(e.engine)
        rules.plan.add([rule_spec(WATCH, operation="PullMessage", topic="T", tag="x")] * number)
        e.put()
        counts.append(_calls(e.put))
    without, with_one, with_many = counts
    assert with_many == with_one
    assert with_many <= without * 1.02, counts


def test_ten_thousand_rules_about_other_operations_cost_nothing_beside_general_and_own_rules() -> None:
    """The candidates of a send are its own rules and the general ones."""
    counts = []
    for number in (1, 10_000):
        e = protocol_client("remoting")
        e.topic()
        rules = Rules(e.engine)
        rules.add(WATCH)
        rules.plan.add([rule_spec(WATCH, operation="PullMessage")] * number)
        rules.add(WATCH, **SEND)
        e.put()
        counts.append(_calls(e.put))
    assert counts[0] == counts[1]


def test_a_send_without_rules_calls_no_function_of_faults() -> None:
    """After the last rule is removed, a send makes the same calls as before the first one."""
    e = protocol_client("remoting")
    e.topic()
    e.put()
    called: list[str] = []

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and "faults" in frame.f_code.co_filename and "/tests/" not in frame.f_code.co_filename:
            called.append(frame.f_code.co_qualname)

    rules = Rules(e.engine)
    e.put()
    before = _calls(e.put)
    assert _calls(e.put) == before
    rule = rules.add(WATCH, **SEND)
    assert _calls(e.put) > before
    rules.remove(rule)
    assert _calls(e.put) == before
    sys.setprofile(watch)
    try:
        e.put()
    finally:
        sys.setprofile(None)
    assert called == []


@through("remoting", "grpc")
def test_rules_of_general_and_single_operations_act_in_the_order_of_adding(e: ProtocolClient) -> None:
    """The first rule that takes a request over ends its way; later ones do not see it."""
    e.topic()
    rules = Rules(e.engine)
    passing = rules.add(WATCH)
    first = rules.add(DropRequest(), **SEND)
    second = rules.add(DropRequest())
    assert e.begin().sent is None
    assert (passing.fired, first.fired, second.fired) == (1, 1, 0)
    rules.remove(first)
    assert e.begin().sent is None
    assert (passing.fired, first.fired, second.fired) == (2, 1, 1)


@through("remoting", "grpc")
def test_two_rules_on_one_response_act_one_after_the_other(e: ProtocolClient) -> None:
    """The delays add up; a loss after a delay is a loss."""
    e.topic()
    rules = Rules(e.engine)
    delays = [rules.add(DelayResponse(f"{ms}ms"), **SEND) for ms in (100, 50)]
    sending = e.begin()
    e.advance(149)
    assert sending.sent is None
    e.advance(1)
    assert sending.sent is not None
    assert [rule.fired for rule in delays] == [1, 1]
    rules.add(DropResponse(), **SEND)
    sending = e.begin()
    e.advance(1_000)
    assert sending.sent is None


@through("remoting", "grpc")
def test_a_rule_for_requests_and_one_for_responses_act_on_one_request(e: ProtocolClient) -> None:
    """The request is late, and its response as well."""
    e.topic()
    rules = Rules(e.engine)
    rules.add(DelayRequest("100ms"), **SEND)
    rules.add(DelayResponse("100ms"), **SEND)
    sending = e.begin()
    e.advance(100)
    assert (e.held(), sending.sent) == ({"broker-a": 1}, None)
    e.advance(100)
    assert sending.sent is not None


@through("remoting", "grpc")
@pytest.mark.parametrize("fault", [DelayRequest("1h"), DelayResponse("1h"), Throttle(0.001)], ids=str)
def test_a_removed_rule_lets_through_what_it_holds_back(e: ProtocolClient, fault: Any) -> None:
    """Requests and responses go on at once, in the order of their time."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(fault, **SEND)
    sendings = [e.begin(body) for body in (b"1", b"2", b"3")]
    assert sendings[-1].sent is None
    rules.remove(rule)
    assert all(sending.sent is not None and sending.sent.ok for sending in sendings)
    assert [record.body for record in e.records("T")] == [b"1", b"2", b"3"]
    e.advance(7_200_000)
    assert e.held() == {"broker-a": 3}


def test_a_request_that_is_held_back_when_its_connection_closes_is_carried_out() -> None:
    """The broker stores the message after its producer has gone; the response to it goes nowhere."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    Rules(e.engine).add(DelayRequest("1s"), **SEND)
    sending = e.begin()
    sending._peer.connection.closed()  # type: ignore[attr-defined]  # of a remoting client
    e.advance(1_000)
    assert (e.held(), sending.sent) == ({"broker-a": 1}, None)


@through("remoting", "grpc")
@pytest.mark.parametrize("kill", [False, True])
def test_a_request_that_is_held_back_when_the_broker_stops_is_lost(e: ProtocolClient, kill: bool) -> None:
    """It was in the memory of the process, so the next run does not carry it out."""
    e.topic()
    e.put(b"stored")
    rules = Rules(e.engine)
    rule = rules.add(DelayRequest("10s"), **SEND)
    e.begin(b"held")
    e.down(kill=kill)
    e.up()
    e.advance(20_000)
    rules.remove(rule)
    assert [record.body for record in e.records("T")] == [b"stored"]


def test_a_waiting_pull_keeps_the_rules_of_its_arrival_for_requests() -> None:
    """A rule for requests does not act on a pull that waits already; one for responses does."""
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
def test_a_waiting_pop_is_subject_to_a_rule_for_responses_that_is_added_later(e: ProtocolClient) -> None:
    """Its response is lost when a message arrives; the message comes back after its invisible duration."""
    e.topic()
    parked = e.pop(poll_ms=10_000)
    rules = Rules(e.engine)
    rule = rules.add(DropResponse(), operation="PopMessage", times=1)
    e.put(b"1")
    e.advance(1_000)
    assert (parked.response, rule.fired) == (None, 1)
    e.advance(20_000)
    assert e.bodies() == [b"1"]


def test_oneway_requests_obey_rules_for_requests_only() -> None:
    """There is no response that a rule could change, so the request does not match."""
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
    assert (request.fired, response.matched, e.held(), peer.socket.ends) == (1, 0, {"broker-a": 1}, [])
    refused = rules.add(Respond("SYSTEM_BUSY"), **SEND)
    assert peer.exchange(*send_request("T", b"x", born_ms=e.now_ms), flag=2) == []
    assert (refused.fired, e.held()) == (1, {"broker-a": 1})


def test_a_rule_with_a_bug_is_reported_and_the_request_carried_out() -> None:
    """A failure in the rules themselves does not cost the client its response."""
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


def test_a_rule_remembers_its_last_firings() -> None:
    """Each has time, operation, channel and message ids; the oldest are dropped."""
    e = protocol_client("remoting")
    e.topic()
    rule = Rules(e.engine).add(WATCH, **SEND)
    e.advance(5)
    e.send(*(b"x" for _ in range(101)))
    assert (rule.fired, len(rule.events)) == (101, 100)
    last = rule.events[-1]
    assert (last.now_ms, last.operation, last.message_ids) == (e.now_ms, "SendMessage", ("ID101",))
    assert last.channel.startswith("remoting-")
