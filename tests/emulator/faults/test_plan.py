"""The rules of an emulator: adding and removing them, their names, and their cost."""

import gc
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from fault_rules import WATCH, Rules, rule_spec
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.requests import DropRequest, Throttle
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse, Respond
from rocketmq_testkit.emulator.faults.kinds.services import StopRevive
from rocketmq_testkit.emulator.faults.kinds.upstream import UpstreamDefectFault
from rocketmq_testkit.emulator.faults.rule import RESERVED_NAMES, RuleSpec
from rocketmq_testkit.emulator.message.stored_record import pack_host

SEND = {"operation": "SendMessage"}


def _calls(work: Callable[[], object]) -> int:
    """Return the number of calls of Python and C functions that `work` causes."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # a collection could call callbacks of objects of other tests
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
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
        "how='closed': neither silent, close, reset nor a response code; did you mean close?",
    ),
    (lambda: rule_spec(Throttle(1, code="BUSY")), "code='BUSY': no request ends with this code"),
]


@pytest.mark.parametrize(("make", "text"), BAD, ids=[text[:30] for _, text in BAD])
def test_a_list_of_rules_is_added_completely_or_not_at_all(make: Callable[[], RuleSpec], text: str) -> None:
    """If one rule is rejected, the others are not added, their names stay free, and no rule acts."""
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


def test_the_name_of_a_rule_is_made_from_its_kind_of_fault_and_never_used_twice() -> None:
    """A name that a user has chosen is skipped; the name of a removed rule is not used again."""
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
    """A longer name is shortened in the error."""
    with pytest.raises(FaultError, match=r"^name=.{1,80}: not a text of 1 to 100 characters; use a name such as"):
        rule_spec(WATCH, name=name)


@pytest.mark.parametrize("name", RESERVED_NAMES)
def test_a_name_that_no_path_can_hold_is_rejected(name: str) -> None:
    """A rule of that name could not be shown or removed by its name over HTTP."""
    with pytest.raises(FaultError, match=rf"^name='{re.escape(name)}': not usable in paths of the control API; all"):
        rule_spec(WATCH, name=name)


QUEUES = 8
"""The number of queues of the topic T."""


@pytest.mark.pure
@through("remoting", "grpc")
def test_ten_thousand_rules_about_other_operations_cost_a_send_at_most_two_percent(e: ProtocolClient) -> None:
    """Rules are indexed by operation. Calls of functions are counted, because they are the same on each machine.

    A send is compared only with rules about sends and rules without an operation. The number of rules is limited.
    """
    e.topic()
    rules = Rules(e.engine)
    other = rule_spec(WATCH, operation="AckMessage", topic="T", tag="x")
    counts: dict[tuple[int, bool], int] = {}
    for others in (0, 1, 10_000):
        rules.plan.add([other] * (others - len(rules.plan)))
        for has_own in (False, True):
            own = [rules.add(WATCH), rules.add(WATCH, **SEND)] if has_own else []
            for _ in range(QUEUES):  # the first message of a queue is a new kind of event for statistics
                e.put()
            pack_host.cache_clear()  # an earlier test may have had a client with the same port
            counts[others, has_own] = _calls(e.put)
            for rule in own:
                rules.remove(rule)
    assert counts[10_000, False] == counts[1, False] <= counts[0, False] * 1.02, counts
    assert counts[10_000, True] == counts[1, True] > counts[1, False], counts
    with pytest.raises(FaultError, match=r"^20001 rules: at most 20000 are allowed; remove some$"):
        rules.plan.add([other] * 10_001)
    assert len(rules.plan) == 10_000


@pytest.mark.parametrize(
    "spec",
    [
        rule_spec(Respond("SYSTEM_BUSY"), topic="T"),
        rule_spec(StopRevive(), start="1s"),
        rule_spec(UpstreamDefectFault("route_cache"), topic="T"),
    ],
    ids=["of all operations", "of no request", "that waits for a request"],
)
def test_the_calls_to_add_and_remove_a_rule_do_not_grow_with_the_number_of_rules(spec: RuleSpec) -> None:
    """The operations and codes of rules with equal faults are checked once for all of them."""
    counts = []
    for number in (50, 500):
        plan = Rules(protocol_client("remoting").engine).plan
        plan.add([spec])
        counts.append((_calls(lambda: plan.add([spec] * number)) / number, _calls(plan.clear) / number))  # noqa: B023
    (add, remove), (add_with_many, remove_with_many) = counts
    assert add_with_many <= add <= 200, counts
    assert remove_with_many <= remove <= 100, counts


def test_nothing_is_added_if_the_rule_before_the_last_of_ten_thousand_is_wrong() -> None:
    """No rule is added, even if all rules before the wrong one were already checked."""
    e = protocol_client("remoting")
    e.topic()
    rules = Rules(e.engine)
    good = rule_spec(DropRequest(), **SEND)
    for wrong, text in (
        (rule_spec(WATCH, operation="SendMesage"), "rule 9999: operation='SendMesage': "),
        (rule_spec(WATCH, name="twice"), "rule 9999: name='twice': "),
    ):
        with pytest.raises(FaultError) as caught:
            rules.plan.add([rule_spec(WATCH, name="twice"), *[good] * 9_997, wrong, good])
        assert str(caught.value).startswith(text)
        assert (len(rules.plan), e.put().ok) == (0, True)
    assert rules.add(DropRequest()).name == "drop_request"


@through("remoting", "grpc")
def test_a_send_without_rules_calls_no_function_of_faults(e: ProtocolClient) -> None:
    """After the last rule is removed, a send makes the same calls as before the first one."""
    e.topic()
    e.put()
    called: list[str] = []

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        if (
            event == "call"
            and "/emulator/faults/" in frame.f_code.co_filename
            and "/tests/" not in frame.f_code.co_filename
        ):
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
