"""Delays of faults: durations with a range (`50ms±20ms`), and errors for contradictory delays."""

from typing import Any

import pytest
from json_schema import is_valid
from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import create
from rocketmq_testkit.emulator.faults.rule_form import read_rule
from rocketmq_testkit.emulator.faults.rule_schema import rule_schema

KINDS = ("delay_request", "delay_response", "delay_push")
SCHEMA = rule_schema(["SendMessage"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["50ms±20ms", "50ms +- 20ms", "50ms+/-20ms"])
def test_a_duration_with_a_range_equals_a_duration_and_a_jitter(kind: str, text: str) -> None:
    parts = {"duration": "50ms", "jitter": "20ms"}
    assert create(kind, {"duration": text}) == create(kind, parts)
    form = {"then": {kind: {"duration": text}}}
    assert read_rule(form).fault.parameters() == parts
    assert is_valid(form, SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("parameters", "sentence", "by_schema"),
    [
        (
            {"duration": "50ms±20ms", "jitter": "10ms"},
            "duration='50ms±20ms' and jitter='10ms': the duration has a jitter already; remove one of them",
            True,
        ),
        (
            {"duration": "50ms±soon"},
            "duration='50ms±soon': this is not a duration such as '500ms', '30s', '1h30m'",
            True,
        ),
        ({"duration": "50ms±80ms"}, "jitter='80ms': greater than duration='50ms', so that delays would be neg", False),
        ({"duration": "50ms", "distribution": "normal"}, "distribution='normal': without a jitter all delays", False),
        ({"duration": "0s"}, "d", False),
        ({"duration": "0.5ms"}, "d", False),
    ],
)
def test_a_contradictory_delay_is_rejected(
    kind: str, parameters: dict[str, Any], sentence: str, by_schema: bool
) -> None:
    """The schema rejects only contradictions without a comparison of durations (`by_schema`)."""
    with pytest.raises(FaultError) as caught:
        create(kind, parameters)
    assert str(caught.value).startswith(sentence)
    assert is_valid({"then": {kind: parameters}}, SCHEMA) != by_schema


@pytest.mark.parametrize(
    ("kind", "parameters", "name"),
    [
        ("stop_broker", {"broker": "broker-a", "duration": "0s"}, "duration"),
        ("stall_frame", {"duration": "0ms"}, "duration"),
        ("slave_lag", {"delay": "0h"}, "delay"),
        ("flap_broker", {"broker": "broker-a", "down": "0s"}, "down"),
        ("flap_broker", {"broker": "broker-a", "up": "0s"}, "up"),
    ],
)
def test_a_duration_below_a_millisecond_is_rejected(kind: str, parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(FaultError) as caught:
        create(kind, parameters)
    assert str(caught.value) == f"{name}={parameters[name]!r}: shorter than a millisecond; use '5s'"
    assert not is_valid({"then": {kind: parameters}}, SCHEMA)
