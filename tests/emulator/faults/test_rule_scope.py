"""The scope of a rule: the classes of operations and the protocols on which it acts.

Errors about rules that can never match are in test_plan.py.
"""

from typing import Any

import pytest
from fault_rules import WATCH, rule_spec
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection, IgnorePings
from rocketmq_testkit.emulator.faults.kinds.deliveries import DuplicateDelivery
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush, DropRequest
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse, Respond
from rocketmq_testkit.emulator.faults.kinds.routes import HideRoute
from rocketmq_testkit.emulator.faults.rule_scope import Scopes
from rocketmq_testkit.fixtures.faults.vocabulary import vocabulary

BOTH = {"remoting", "grpc"}


@pytest.mark.parametrize(
    ("fault", "options", "kinds", "protocols"),
    [
        (WATCH, {}, {None}, BOTH),
        (WATCH, {"operation": "SendMessage"}, {"SendMessage"}, BOTH),
        (WATCH, {"operation": ["PULL_MESSAGE", "AckMessage"]}, {"PullMessage", "AckMessage"}, BOTH),
        (DuplicateDelivery(), {}, {"PopMessage", "PullMessage"}, BOTH),
        (DuplicateDelivery(), {"operation": ["PopMessage", "SendMessage"]}, {"PopMessage"}, BOTH),
        (Respond(status="UNAVAILABLE"), {}, {None}, {"grpc"}),
        (Respond("PULL_NOT_FOUND"), {"operation": "PullMessage"}, {"PullMessage"}, {"remoting"}),
        (Respond("PULL_NOT_FOUND"), {"operation": "SendMessage", "strict": False}, {"SendMessage"}, BOTH),
        (IgnorePings(), {}, {None}, {"grpc"}),
    ],
)
def test_the_scope_has_the_classes_and_protocols_of_fault_and_operations(
    fault: Fault, options: dict[str, Any], kinds: set[str | None], protocols: set[str]
) -> None:
    scope = Scopes(vocabulary()).of(rule_spec(fault, **options))
    assert {each and each.__name__ for each in scope.keys if not isinstance(each, str)} == kinds
    assert scope.protocols == protocols
    named = options.get("operation", [])
    assert scope.operations == ({named} if isinstance(named, str) else set(named))


def test_equal_faults_on_equal_operations_share_a_scope_and_others_do_not() -> None:
    """A scope depends on fault, operation, protocol and strictness, not on topic or occurrence."""
    scopes = Scopes(vocabulary())
    send = {"operation": "SendMessage"}
    first = scopes.of(rule_spec(DropResponse("close"), topic="a", **send))
    assert scopes.of(rule_spec(DropResponse("close"), topic="b", times=1, **send)) is first
    for fault, options in (
        (DropResponse("reset"), send),
        (DropResponse("close"), {}),
        (DropResponse("close"), {**send, "protocol": "grpc"}),
        (DropResponse("close"), {**send, "strict": False}),
        (WATCH, send),
    ):
        assert scopes.of(rule_spec(fault, **options)) is not first


@pytest.mark.parametrize(
    ("fault", "options", "refused"),
    [
        (DropRequest(), {"operation": "PopMessage"}, "use a fault that acts in the phase 'response'"),
        (
            DropRequest(),
            {"operation": ["ReceiveMessage", "Heartbeat"]},
            "use a fault that acts in the phase 'response'",
        ),
        (DropRequest(), {"operation": ["PopMessage", "AckMessage"]}, None),
        (DropRequest(), {"operation": "EndTransaction"}, None),
        (DropRequest(), {"operation": "CONSUMER_SEND_MSG_BACK"}, None),
        (DropRequest(), {}, None),
        (CloseConnection(), {"operation": "PullMessage"}, "add phase='response'"),
        (CloseConnection(), {"operation": "PullMessage", "phase": "response"}, None),
        (DropResponse(), {"operation": "ReceiveMessage"}, None),
        (DropResponse(), {"operation": "SendMessage"}, None),
        (DropResponse(), {"operation": "QueryMessage"}, "in this phase AckMessage, BatchAckMessage, ChangeInvisibleT"),
        (HideRoute(), {}, "choose another fault, or remove "),
        (DropPush(), {"operation": "NotifyConsumerIdsChanged"}, "in this phase CheckTransactionState, PushReplyMes"),
        (DropPush(), {"operation": "CheckTransactionState"}, None),
        (DropPush(), {}, None),
    ],
)
@pytest.mark.parametrize("criterion", [{"key": "k"}, {"tag": "t"}, {"property": {"a": "b"}}, {"body_matches": "x"}])
def test_a_criterion_about_messages_needs_an_operation_with_a_message_in_the_phase(
    fault: Fault, options: dict[str, Any], refused: str | None, criterion: dict[str, Any]
) -> None:
    spec = rule_spec(fault, **options, **criterion)
    if refused is None:
        assert Scopes(vocabulary()).of(spec).keys
        return
    with pytest.raises(FaultError) as caught:
        Scopes(vocabulary()).of(spec)
    assert str(caught.value).startswith(f"{next(iter(criterion))}=")
    assert f" no message in the phase {spec.phase.value!r}; {refused}" in str(caught.value)
