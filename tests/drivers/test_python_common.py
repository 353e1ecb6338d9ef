"""Shared code of the Python drivers: commands, scripts of listeners, responses to checks, events, bulk messages."""

import base64
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from rocketmq_testkit.conformance.drivers.python_common.command import Command, Refusal
from rocketmq_testkit.conformance.drivers.python_common.line import DriverLoop
from rocketmq_testkit.conformance.drivers.python_common.load import drain, send_many
from rocketmq_testkit.conformance.drivers.python_common.script import Answers, Script


@pytest.mark.parametrize(
    ("read", "fields"),
    [
        (lambda command: command.text("x"), {}),
        (lambda command: command.text("x"), {"x": 1}),
        (lambda command: command.number("x"), {"x": "1"}),
        (lambda command: command.number("x"), {"x": True}),
        (lambda command: command.flag("x"), {"x": 1}),
        (lambda command: command.data("x"), {"x": "no base64!"}),
        (lambda command: command.texts("x"), {"x": ["a", 1]}),
        (lambda command: command.pairs("x"), {"x": {"a": 1}}),
        (lambda command: command.counts("x"), {"x": {"a": "1"}}),
        (lambda command: command.counts("x"), {"x": {"a": True}}),
        (lambda command: command.table("x"), {"x": {"a": "1"}}),
        (lambda command: command.list_of("x"), {"x": [1]}),
        (lambda command: command.handles(), {}),
        (lambda command: command.handles(), {"h": ["1"]}),
    ],
)
def test_missing_and_wrong_fields_are_refused(read: Callable[[Command], Any], fields: dict[str, Any]) -> None:
    """A missing field or one of another type is refused as BadCommand."""
    with pytest.raises(Refusal) as caught:
        read(Command(fields))
    assert caught.value.kind == "BadCommand"


def test_null_is_the_same_as_absent() -> None:
    """A field that is null has the default value, like a missing field."""
    command = Command({"x": None})
    assert not command.has("x")
    assert command.text("x", "default") == "default"
    assert command.data("x", None) is None
    assert command.texts("x") == []
    assert command.pairs("x") == {}


def test_the_field_h_is_one_handle_or_a_list() -> None:
    """The field h is a number or a list of numbers."""
    assert Command({"h": 3}).handles() == [3]
    assert Command({"h": [3, 4]}).handles() == [3, 4]


def _script(**fields: Any) -> Script:
    return Script.of(Command(fields))


def test_a_script_fails_the_first_attempts() -> None:
    """The first n attempts of a named message fail; other messages never fail."""
    script = _script(fail={"a": 2})
    responses = [script.act({"id": "1", "attempt": n}, b"a") for n in (1, 2, 3)]
    assert responses == ["fail", "fail", "success"]
    assert script.act({"id": "2", "attempt": 1}, b"b") == "success"
    assert script.calls == 4


def test_a_script_counts_attempts_if_the_sdk_does_not() -> None:
    """A script counts attempts itself if the SDK shows every attempt as the first."""
    script = _script(fail={"a": 2})
    assert [script.act({"id": "1", "attempt": 1}, b"a") for _ in range(3)] == ["fail", "fail", "success"]


def test_a_script_counts_attempts_of_an_earlier_consumer() -> None:
    """The attempt number of the SDK includes attempts of earlier consumers of the group, and so does the script."""
    assert _script(fail={"a": 2}).act({"id": "1", "attempt": 3}, b"a") == "success"


def test_a_script_throws_before_it_fails() -> None:
    """If both outcomes apply to a body, `throw` applies to the first attempts, and `fail` to the rest of its number."""
    script = _script(fail={"a": 2}, throw={"a": 1})
    assert [script.act({"id": "1", "attempt": n}, b"a") for n in (1, 2, 3)] == ["throw", "fail", "success"]


def test_a_star_stands_for_the_bodies_that_are_not_named() -> None:
    """A named body fails as often as its own number says, even zero; all others as often as that of the star."""
    script = _script(fail={"*": 1, "a": 0})
    assert [script.act({"id": text, "attempt": 1}, text.encode()) for text in "abc"] == ["success", "fail", "fail"]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        ("COMMIT", ["COMMIT", "COMMIT", "COMMIT"]),
        (["UNKNOWN", "ROLLBACK"], ["UNKNOWN", "ROLLBACK", "ROLLBACK"]),
        ({"a": "ROLLBACK", "*": "COMMIT"}, ["ROLLBACK", "ROLLBACK", "ROLLBACK"]),
        ({"a": ["UNKNOWN", "COMMIT"]}, ["UNKNOWN", "COMMIT", "COMMIT"]),
        ({"*": "COMMIT"}, ["COMMIT", "COMMIT", "COMMIT"]),
        ({"b": "COMMIT"}, ["UNKNOWN", "UNKNOWN", "UNKNOWN"]),
    ],
)
def test_checks_are_answered_by_one_state_a_list_or_a_map_by_body(check: Any, wanted: list[str]) -> None:
    """One state answers all checks; a list answers them in order and repeats its last item; a map answers by body."""
    responses = Answers(check)
    assert [responses.next(_base64("a")) for _ in range(3)] == list(zip(wanted, (1, 2, 3), strict=True))


def test_checks_of_two_bodies_are_counted_separately() -> None:
    """Each of two bodies gets the list of answers from its start."""
    responses = Answers(["UNKNOWN", "COMMIT"])
    assert [responses.next(_base64(text))[0] for text in "abab"] == ["UNKNOWN", "UNKNOWN", "COMMIT", "COMMIT"]


@pytest.mark.parametrize("check", ["PERHAPS", [], ["COMMIT", "PERHAPS"], {"a": "PERHAPS"}, 7])
def test_an_answer_that_is_no_transaction_state_is_refused(check: Any) -> None:
    """A producer with an unknown state as answer is refused."""
    with pytest.raises(Refusal, match="COMMIT, ROLLBACK, UNKNOWN"):
        Answers(check)


def test_the_event_of_a_check_has_answer_counts_and_transaction_id() -> None:
    """The event of a check has the answer, the driver's and the broker's count of checks, and the transaction id."""
    read, write = os.pipe()
    driver = DriverLoop({}, write)
    message = {"body": _base64("a"), "props": {"TRANSACTION_CHECK_TIMES": "4", "__transactionId__": "t1"}}
    assert driver.checked("p", Answers("ROLLBACK"), message) == "ROLLBACK"
    os.close(write)
    (event,) = _replies(read, 1)
    expected = {"ev": "check", "of": "p", "n": 1, "times": 4, "transaction": "t1", "answer": "ROLLBACK", "msg": message}
    assert {name: value for name, value in event.items() if name != "t"} == expected


def _replies(read: int, count: int) -> list[dict[str, Any]]:
    with os.fdopen(read) as lines:
        return [json.loads(lines.readline()) for _ in range(count)]


def test_events_of_a_listener_are_lines_unless_it_is_quiet() -> None:
    """A listener reports its call and its outcome, each in a line; a quiet listener only counts its calls."""
    read, write = os.pipe()
    driver = DriverLoop({}, write)
    quiet = _script(quiet=True)
    assert driver.listen("c", quiet, {}, b"a") == "success"
    message = {"id": "1", "attempt": 1}
    assert driver.listen("c", _script(throw={"a": 1}, begin=True), message, b"a") == "throw"
    os.close(write)
    begun, event = _replies(read, 2)
    assert event == {"ev": "msg", "of": "c", "t": event["t"], "ok": False, "did": "throw", "msg": message}
    assert begun == {"ev": "begin", "of": "c", "t": event["t"], "msg": message}
    assert quiet.calls == 1


def test_a_name_has_one_object_and_a_handle_one_message() -> None:
    """A name belongs to one object until `take` removes it; a handle refers to its message permanently."""
    read, write = os.pipe()
    driver = DriverLoop({}, write)
    named = Command({"as": "a", "on": "a"})
    driver.make(named, lambda: "client")
    with pytest.raises(Refusal, match="already"):
        driver.make(named, lambda: "other")
    assert driver.on(named, str) == "client"
    with pytest.raises(Refusal, match="not a client"):
        driver.on(named, int)
    assert driver.take(named) == "client"
    with pytest.raises(Refusal, match="no object"):
        driver.on(named, str)
    handle = driver.keep("message")
    assert driver.kept(Command({"h": [handle, handle]})) == ["message", "message"]
    with pytest.raises(Refusal, match="never given out"):
        driver.kept(Command({"h": handle + 1}))
    os.close(read)
    os.close(write)


def test_a_client_that_cannot_be_made_leaves_its_name_free() -> None:
    """After a failed start the name can be used again."""
    read, write = os.pipe()
    driver = DriverLoop({}, write)

    def fail() -> str:
        raise OSError("no broker")

    with pytest.raises(OSError, match="no broker"):
        driver.make(Command({"as": "a"}), fail)
    driver.make(Command({"as": "a"}), lambda: "client")
    os.close(read)
    os.close(write)


def test_a_bulk_send_sends_each_number_once() -> None:
    """Several threads send each body and key once, and count failures."""
    sent: list[tuple[bytes, list[str] | None]] = []

    def send(body: bytes, keys: list[str] | None) -> None:
        sent.append((body, keys))
        if body.endswith(b"-7"):
            raise ValueError("seven")

    reply = send_many(Command({"count": 50, "threads": 4, "size": 20, "keys_prefix": "k"}), send)
    assert sorted(keys[0] for _, keys in sent if keys) == sorted(f"k{n}" for n in range(50))
    assert {len(body) for body, _ in sent} == {20}
    assert (reply["count"], reply["errors"], reply["first_error"]) == (50, 1, "seven")


def test_a_drain_ends_at_a_receive_without_messages() -> None:
    """A receive without messages ends a drain, and a missing acknowledgement counts as error."""
    batches = iter([(3, 0), (2, 1), (0, 0)])
    reply = drain(Command({"count": 100}), lambda: next(batches))
    assert (reply["count"], reply["errors"]) == (4, 1)
