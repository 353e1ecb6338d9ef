"""Parsing of whole numbers as in Java."""

from collections.abc import Callable

import pytest
from rocketmq_testkit.emulator.kernel.java_numbers import parse_integer, parse_long


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-0", 0), ("+7", 7), ("007", 7), ("-12", -12), ("0" * 9000 + "1", 1), ("٣", 3)],
)
def test_numbers_with_signs_and_leading_zeros_are_parsed(text: str, value: int) -> None:
    assert (parse_integer(text), parse_long(text)) == (value, value)


@pytest.mark.parametrize(
    ("parse", "last"), [(parse_integer, 2**31 - 1), (parse_long, 2**63 - 1)], ids=["Integer", "Long"]
)
def test_both_ends_of_javas_range_are_accepted_and_numbers_beyond_rejected(
    parse: Callable[[str], int], last: int
) -> None:
    assert (parse(str(last)), parse(str(-last - 1))) == (last, -last - 1)
    for beyond in (last + 1, -last - 2):
        with pytest.raises(ValueError, match=f'^For input string: "{beyond}"$'):
            parse(str(beyond))


@pytest.mark.parametrize("text", ["", "x", "1.5", " 1", "1 ", "0x1", "--1", "1" * 9000], ids=lambda text: text[:5])
def test_a_text_that_is_not_a_number_is_rejected_with_javas_message(text: str) -> None:
    """A text that is not a number is rejected with Java's message, even with thousands of digits."""
    with pytest.raises(ValueError) as refusal:
        parse_long(text)
    assert str(refusal.value) == f'For input string: "{text}"'
