"""Values are checked against the declared Java types of their fields."""

from typing import Any, Literal

import pytest
from rocketmq_testkit.emulator.config import BrokerConfig, ConfigError
from rocketmq_testkit.emulator.kernel.java_types import Int, JavaTypeError, check, check_fields, java_text, wrapped
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig, RetryPolicy
from rocketmq_testkit.emulator.operations.topics import QueueMapping, QueuePart

FITTING: list[tuple[Any, Any]] = [
    (5, int), (2**63 - 1, int), (2**31 - 1, Int), (None, int | None), ("\U0001f600", str), (True, bool), (1, float),
    ({"a": 1}, dict[str, int]), ([1, 2], list[int]), ({1}, set[int]), (frozenset({"a"}), frozenset[str]),
    (("a", 1), tuple[str, int]), ((1, 2, 3), tuple[int, ...]), (b"x", bytes), ("PULL", Literal["PULL", "POP"]),
    ([RetryPolicy()], list[RetryPolicy]), (object(), Any),
]  # fmt: skip
WRONG: list[tuple[Any, Any, str]] = [
    (2**63, int, "value=9223372036854775808: expected a whole number of 64 bits"),
    (2**31, Int, "value=2147483648: expected a whole number of 32 bits"),
    (10**5000, int, "value=a number of 16610 bits: expected a whole number of 64 bits"),
    (True, int, "value=True: expected a whole number of 64 bits"),
    (1.0, int, "value=1.0: expected a whole number of 64 bits"),
    (None, int, "value=None: expected a whole number of 64 bits"),
    ("\ud800", str, "value='\\ud800': expected text without half of a surrogate pair"),
    (5, str | None, "value=5: expected text"),
    (1, bool, "value=1: expected bool"),
    ({"a": "b"}, dict[str, int], "value['a']='b': expected a whole number of 64 bits"),
    ({1: 1}, dict[str, int], "a key of value=1: expected text"),
    ([1, "x"], list[int], "an item of value='x': expected a whole number of 64 bits"),
    ("ab", list[str], "value='ab': expected a list"),
    ((1,), tuple[str, int], "value=a tuple: expected 2 values"),
    ("x", Literal["PULL", "POP"], "value='x': expected one of PULL, POP"),
    ({}, GroupConfig, "value=a dict: expected a GroupConfig"),
]


@pytest.mark.parametrize(("value", "hint"), FITTING)
def test_a_value_of_the_declared_type_raises_no_error(value: Any, hint: Any) -> None:
    check(value, hint)


@pytest.mark.parametrize(("value", "hint", "text"), WRONG, ids=range(len(WRONG)))
def test_a_value_of_another_type_is_rejected_with_field_value_and_expected_type(
    value: Any, hint: Any, text: str
) -> None:
    with pytest.raises(JavaTypeError) as wrong:
        check(value, hint)
    assert str(wrong.value) == text


def test_values_inside_an_operation_are_checked_at_any_depth() -> None:
    check_fields(CreateGroup(GroupConfig("g")))
    with pytest.raises(JavaTypeError, match=r"^config\.retry_max_times=2147483648: expected a whole number of 32 bits"):
        check_fields(CreateGroup(GroupConfig("g", retry_max_times=2**31)))
    part = QueuePart(0, 2**31, "b", 0)
    with pytest.raises(JavaTypeError, match="queue_id=2147483648"):
        check_fields(QueueMapping("t", 1, "b", 0, queues={0: [part]}))


def test_texts_are_encoded_and_integers_wrapped_as_in_java() -> None:
    assert java_text("a\ud800\U0001f600\ufffd") == "a?\U0001f600\ufffd"
    assert [wrapped(number, 32) for number in (2**31, -(2**31) - 1, 2**32 + 5, -7)] == [-(2**31), 2**31 - 1, 5, -7]


@pytest.mark.parametrize("text", [str(2**63), str(-(2**63) - 1), "9" * 4000, "9" * 5000])
def test_a_key_rejects_numbers_beyond_64_bits_and_unpaired_surrogates(text: str) -> None:
    """The value of a key is at most a 64-bit number, even if the key declares no range."""
    with pytest.raises(ConfigError, match=r"^timerCongestNumEachSlot="):
        BrokerConfig().set("timerCongestNumEachSlot", text)
    with pytest.raises(ConfigError, match="half of a surrogate pair"):
        BrokerConfig().set("regionId", "\ud800")
