"""What the drivers of Python SDKs have in common: reading commands, scripts of listeners, measuring."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from rocketmq_testkit.conformance.drivers.python_common.command import Command, Refusal
from rocketmq_testkit.conformance.drivers.python_common.line import Driver, Script
from rocketmq_testkit.conformance.drivers.python_common.load import drain, send_many


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
        (lambda command: command.table("x"), {"x": {"a": "1"}}),
        (lambda command: command.list_of("x"), {"x": [1]}),
        (lambda command: command.handles(), {}),
        (lambda command: command.handles(), {"h": ["1"]}),
    ],
)
def test_missing_and_wrong_fields_are_refused(read: Callable[[Command], Any], fields: dict[str, Any]) -> None:
    """A field that is needed and not there, or of another type, is a BadCommand."""
    with pytest.raises(Refusal) as caught:
        read(Command(fields))
    assert caught.value.kind == "BadCommand"


def test_null_is_the_same_as_absent() -> None:
    """A field that is null takes the default, as one that is not there."""
    command = Command({"x": None})
    assert not command.has("x")
    assert command.text("x", "default") == "default"
    assert command.data("x", None) is None
    assert command.texts("x") == []
    assert command.pairs("x") == {}


def test_handles_are_one_or_many() -> None:
    """The field h is a number or a list of numbers."""
    assert Command({"h": 3}).handles() == [3]
    assert Command({"h": [3, 4]}).handles() == [3, 4]


def _script(**fields: Any) -> Script:
    return Script.of(Command(fields))


def test_a_script_fails_the_first_attempts() -> None:
    """The first n attempts of a named message fail, others never do."""
    script = _script(fail={"a": 2})
    answers = [script.answer({"id": "1", "attempt": n}, b"a") for n in (1, 2, 3)]
    assert answers == [False, False, True]
    assert script.answer({"id": "2", "attempt": 1}, b"b")
    assert script.calls == 4


def test_a_script_counts_where_the_sdk_does_not() -> None:
    """An SDK that shows every attempt as the first is counted for."""
    script = _script(fail={"a": 2})
    assert [script.answer({"id": "1", "attempt": 1}, b"a") for _ in range(3)] == [False, False, True]


def test_a_script_believes_an_attempt_that_another_consumer_began() -> None:
    """What earlier consumers of the group failed counts as well."""
    assert _script(fail={"a": 2}).answer({"id": "1", "attempt": 3}, b"a")


def _replies(read: int, count: int) -> list[dict[str, Any]]:
    with os.fdopen(read) as lines:
        return [json.loads(lines.readline()) for _ in range(count)]


def test_events_are_lines_of_their_own() -> None:
    """A listener's event tells the answer that the SDK gets; a quiet one tells nothing and is counted."""
    read, write = os.pipe()
    driver = Driver({}, write)
    quiet = _script(quiet=True)
    assert driver.listen("c", quiet, {}, b"a")
    assert not driver.listen("c", _script(fail={"a": 1}), {"id": "1", "attempt": 1}, b"a")
    os.close(write)
    (event,) = _replies(read, 1)
    assert (event["ev"], event["of"], event["ok"], event["msg"]["id"]) == ("msg", "c", False, "1")
    assert quiet.calls == 1


def test_names_and_handles_are_the_drivers_own() -> None:
    """A name belongs to one object until it is taken; a handle leads to its message for good."""
    read, write = os.pipe()
    driver = Driver({}, write)
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
    """After a failed start the same name can be used again."""
    read, write = os.pipe()
    driver = Driver({}, write)

    def fail() -> str:
        raise OSError("no broker")

    with pytest.raises(OSError, match="no broker"):
        driver.make(Command({"as": "a"}), fail)
    driver.make(Command({"as": "a"}), lambda: "client")
    os.close(read)
    os.close(write)


def test_load_numbers_every_message_once() -> None:
    """Each body and key is sent once, by however many threads, and failures are counted."""
    sent: list[tuple[bytes, list[str] | None]] = []

    def send(body: bytes, keys: list[str] | None) -> None:
        sent.append((body, keys))
        if body.endswith(b"-7"):
            raise ValueError("seven")

    reply = send_many(Command({"count": 50, "threads": 4, "size": 20, "keys_prefix": "k"}), send)
    assert sorted(keys[0] for _, keys in sent if keys) == sorted(f"k{n}" for n in range(50))
    assert {len(body) for body, _ in sent} == {20}
    assert (reply["count"], reply["errors"], reply["first_error"]) == (50, 1, "seven")


def test_draining_ends_when_there_is_nothing_more() -> None:
    """A receive that finds nothing ends it, and what was not acknowledged is an error."""
    batches = iter([(3, 0), (2, 1), (0, 0)])
    reply = drain(Command({"count": 100}), lambda: next(batches))
    assert (reply["count"], reply["errors"]) == (4, 1)
