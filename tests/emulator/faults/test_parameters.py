"""Checks of parameters of faults: accepted values, rejected values, and the JSON Schema of each check."""

from datetime import timedelta
from typing import Any

import pytest
from json_schema import is_valid
from rocketmq_testkit.emulator.faults.delay import Spread, SpreadCheck
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.services import SignedDurationCheck
from rocketmq_testkit.emulator.faults.parameters import (
    Code,
    DurationCheck,
    Flag,
    Number,
    OneOf,
    Optional,
    ParameterCheck,
    PositiveDurationCheck,
    Text,
    Whole,
    given,
)
from rocketmq_testkit.emulator.faults.presets.preset_parameters import BrokerNames
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

ACCEPTED: list[tuple[ParameterCheck, list[Any]]] = [
    (DurationCheck(), ["0ms", "500ms", "1.5s", "1h30m", " 2d "]),
    (SignedDurationCheck(), ["90s", "-90s"]),
    (SpreadCheck(), ["20ms", "20ms±10ms"]),
    (PositiveDurationCheck(), ["1ms", "0.5s", "0s1ms", "1h"]),
    (OneOf("close", "reset"), ["close", "reset"]),
    (Whole(1, 3), [1, 3]),
    (Whole(-1), [-1, 10**12]),
    (Number(0.5, 2), [0.5, 1, 2.0]),
    (Number(1), [1e9]),
    (Text("x"), ["a", " "]),
    (Flag(), [True, False]),
    (Code(), ["SYSTEM_BUSY", 2, 0, -1]),
    (BrokerNames(), [["broker-a"], ["broker-a", "broker-b:1"]]),
    (Optional(Whole(1)), [1]),
]
REFUSED: list[tuple[ParameterCheck, list[Any], str]] = [
    (DurationCheck(), ["", "5", "-1s", "1 hour", 5, None, True, []], "how="),
    (SignedDurationCheck(), ["", "-", "--1s", "+1s", 5], "how="),
    (SpreadCheck(), ["20ms±", "±10ms", "20ms-10ms", "1s±1s±1s", 20], ""),
    (PositiveDurationCheck(), ["0ms", "0h0m", "", 5, None], "how="),
    (OneOf("close", "reset"), ["Close", "", None, 1, ["close"]], "how="),
    (Whole(1, 3), [0, 4, "1", True, None], "how="),
    (Number(0.5, 2), [0.4, 2.1, "1", True, None], "how="),
    (Text("x"), ["", 5, None, ["x"]], "how="),
    (Flag(), [0, 1, "true", None], "how="),
    (Code(), ["", 1.5, True, None, []], "how="),
    (BrokerNames(), ["", [], [""], [5], 5, None], "how="),
    (Optional(Whole(1)), [0, "1"], "how="),
]


@pytest.mark.parametrize(("check", "values"), ACCEPTED, ids=lambda each: type(each).__name__)
def test_an_accepted_value_is_kept_unchanged_and_the_schema_allows_it(check: ParameterCheck, values: list[Any]) -> None:
    for value in values:
        assert check.plain("how", value) == value
        assert is_valid(value, check.schema()), value


@pytest.mark.parametrize(("check", "values", "start"), REFUSED, ids=lambda each: type(each).__name__)
def test_a_wrong_value_is_rejected_with_one_sentence_and_by_the_schema(
    check: ParameterCheck, values: list[Any], start: str
) -> None:
    """The sentence begins with parameter and value, and ends with a remedy."""
    for value in values:
        with pytest.raises(FaultError) as caught:
            check.plain("how", value)
        text = str(caught.value)
        assert text.startswith(start), text
        assert "; use " in text or "did you mean" in text or "there are" in text, text
        assert not is_valid(value, check.schema()), value


@pytest.mark.parametrize(
    ("check", "value", "plain"),
    [
        (DurationCheck(), timedelta(seconds=1.5), "1500ms"),
        (SignedDurationCheck(), timedelta(seconds=-2), "-2000ms"),
        (SpreadCheck(), "20ms+-10ms", "20ms±10ms"),
        (SpreadCheck(), "20ms +/- 10ms", "20ms±10ms"),
        (SpreadCheck(), timedelta(milliseconds=20), "20ms"),
        (Code(), ResponseCode.SYSTEM_BUSY, "SYSTEM_BUSY"),
        (BrokerNames(), "broker-a", ["broker-a"]),
        (BrokerNames(), ("broker-a",), ["broker-a"]),
        (Optional(Text("x")), None, None),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_python_value_is_converted_to_a_json_value(check: ParameterCheck, value: Any, plain: object) -> None:
    assert check.plain("how", value) == plain


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (50, "'50ms' or '50s'"),
        (0.2, "'0.2ms' or '0.2s'"),
        ("50", "'50ms' or '50s'"),
        ("50 msec", "'50ms'"),
        ("50MS", "'50ms'"),
        ("2 Hours", "'2h'"),
        ("1.5 minutes", "'1.5m'"),
        ("5 days.", "'5d'"),
        ("5 years", "'30s'"),
        ("soon", "'30s'"),
    ],
)
def test_the_error_of_a_wrong_duration_proposes_a_similar_one(value: object, remedy: str) -> None:
    with pytest.raises(FaultError) as caught:
        DurationCheck().plain("delay", value)
    assert str(caught.value).endswith(f"; use {remedy}")


def test_nan_is_rejected() -> None:
    with pytest.raises(FaultError, match=r"^how=nan: not a number of at least 1; use 1$"):
        Number(1).plain("how", float("nan"))


def test_a_spread_is_parsed_into_its_mean_and_half_of_its_range() -> None:
    assert Spread.of("20ms±10ms") == Spread("20ms", "10ms")
    assert Spread.of("20ms") == Spread("20ms", None)


@pytest.mark.parametrize(("value", "valid"), [({}, False), ({"a": None}, False), ({"a": 0}, True), ({"b": 1}, False)])
def test_a_member_other_than_null_is_given(value: object, valid: bool) -> None:
    assert is_valid(value, {"type": "object", **given("a")}) == valid
