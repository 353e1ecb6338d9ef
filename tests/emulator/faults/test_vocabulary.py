"""Names of requests in rules, and the codes that the response to each request can have."""

from typing import Any

import pytest
from fault_rules import WATCH, Rules, rule_spec
from protocol_clients import protocol_client
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse, Respond
from rocketmq_testkit.emulator.faults.rule import RunningRule
from rocketmq_testkit.fixtures.faults.vocabulary import vocabulary


@pytest.mark.parametrize("name", vocabulary().names())
def test_each_listed_name_can_be_used_in_a_rule(name: str) -> None:
    """Each name selects at least one operation or effect."""
    assert vocabulary().classes(name)


@pytest.mark.parametrize(
    ("name", "remoting", "grpc"),
    [
        ("SendMessage", 1, 1),
        ("SEND_MESSAGE_V2", 1, 0),
        ("SEND_MESSAGE", 0, 0),
        ("PopMessage", 1, 1),
        ("POP_MESSAGE", 1, 0),
        ("ReceiveMessage", 0, 1),
        ("AckMessage", 1, 1),
        ("ACK_MESSAGE", 1, 0),
        ("ChangeInvisibleTime", 1, 1),
        ("ChangeInvisibleDuration", 0, 1),
        (["POP_MESSAGE", "ReceiveMessage"], 1, 1),
    ],
)
def test_a_name_selects_requests_of_its_protocols(name: str | list[str], remoting: int, grpc: int) -> None:
    """Names of engine operations select both protocols, request codes and RPCs only their own."""
    for client, expected in (("remoting", remoting), ("grpc", grpc)):
        e = protocol_client(client)
        e.topic()
        rule = Rules(e.engine).add(WATCH, operation=name)
        e.put()
        (message,) = e.take()
        e.change(message.handle, 20_000)
        e.ack(message.handle)
        assert (rule.matched > 0) == expected, client


PROTOCOLS = [
    (Respond("SYSTEM_BUSY"), {}, {"remoting"}),
    (Respond("TOO_MANY_REQUESTS"), {}, {"grpc"}),
    (Respond("SYSTEM_BUSY"), {"operation": "SendMessage"}, {"remoting"}),
    (Respond("MESSAGE_BODY_TOO_LARGE"), {"operation": "SendMessage"}, {"grpc"}),
    (Respond(40300), {"operation": "SendMessage"}, {"grpc"}),
    (Respond(status="UNAVAILABLE"), {"operation": "SendMessage"}, {"grpc"}),
    (Respond(9999), {"operation": "SendMessage", "strict": False}, {"remoting", "grpc"}),
    (Respond("PULL_NOT_FOUND"), {"operation": "SendMessage", "strict": False}, {"remoting", "grpc"}),
    (DropResponse(), {"operation": "SendMessage"}, {"remoting", "grpc"}),
    (DropResponse("SYSTEM_ERROR"), {"operation": "SendMessage"}, {"remoting"}),
    (WATCH, {"protocol": "grpc"}, {"remoting", "grpc"}),
]


@pytest.mark.parametrize(("fault", "options", "protocols"), PROTOCOLS)
def test_a_rule_acts_in_the_protocols_that_have_its_code(fault: object, options: dict, protocols: set[str]) -> None:  # type: ignore[type-arg]
    """A code that only one protocol has limits the rule to it."""
    rule: RunningRule = Rules(protocol_client("remoting").engine).add(fault, **options)  # type: ignore[arg-type]
    assert rule.protocols == protocols


@pytest.mark.parametrize(
    ("fault", "options", "text"),
    [
        (Respond("PULL_NOT_FOUND"), {"operation": "SEND_MESSAGE_V2"}, "SEND_MESSAGE_V2 never ends with this code"),
        (Respond(9999), {"operation": "SEND_MESSAGE_V2"}, "code=9999: SEND_MESSAGE_V2 never ends with this code"),
        (Respond("SYSTEM_BUSY"), {"protocol": "grpc"}, "no request ends with this code; there are"),
        (DropResponse("PULL_NOT_FOUND"), {"operation": "SEND_MESSAGE_V2"}, "how='PULL_NOT_FOUND': SEND_MESSAGE_V2"),
    ],
)
def test_a_code_that_the_request_never_gets_is_rejected_with_the_possible_ones(
    fault: object, options: dict[str, str], text: str
) -> None:
    """The error ends with the remedy: another code, or `strict=False`."""
    with pytest.raises(FaultError) as caught:
        Rules(protocol_client("remoting").engine).plan.add([rule_spec(fault, **options)])  # type: ignore[arg-type]
    assert text in str(caught.value)
    assert str(caught.value).endswith("; choose one of them, or let the rule accept any code (option strict: false)")


@pytest.mark.parametrize(
    "options", [{"operation": "PullMessage"}, {"protocol": "remoting"}, {"protocol": "remoting", "strict": False}]
)
def test_a_grpc_status_of_remoting_requests_is_rejected_with_the_parameter_to_use(options: dict[str, Any]) -> None:
    with pytest.raises(FaultError) as caught:
        Rules(protocol_client("remoting").engine).add(Respond(status="UNAVAILABLE"), **options)
    assert str(caught.value) == (
        "status='UNAVAILABLE': requests of remoting end with a response code, and have no gRPC status; use code= in "
        "place of status=, such as code='SYSTEM_BUSY'"
    )


@pytest.mark.parametrize(
    ("language", "hint"),
    [("python", ""), ("Java", ""), ("NODE*", ""), ("pyton", "; did you mean PYTHON?"), ("COBOL*", "; there are CPP,")],
)
def test_a_language_is_that_of_an_sdk_in_any_case(language: str, hint: str) -> None:
    rules = Rules(protocol_client("remoting").engine)
    if not hint:
        rules.add(Respond("SYSTEM_BUSY"), language=language)
        return
    with pytest.raises(FaultError) as caught:
        rules.add(Respond("SYSTEM_BUSY"), language=language)
    assert str(caught.value).startswith(f"language={language!r}: there is no such language{hint}")
