"""Parse and compute numbers by Java's rules: upstream parses the values of message properties with them."""

import re
from math import copysign

_WHOLE = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?)", re.ASCII)
_HEX_DOUBLE = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]++\.?|[0-9a-fA-F]*+\.[0-9a-fA-F]++)[pP][+-]?\d++)[fFdD]?", re.ASCII)
LONG_MIN = -0x8000000000000000
_DIGITS = 19
"""A 64-bit number has at most this many digits."""
_INT_DIGITS = 10
"""A 32-bit number has at most this many digits."""
TRIMMED = "".join(map(chr, range(0x21)))
"""The characters that String.trim removes."""


def parse_integer(text: str) -> int:
    """Parse as Integer.valueOf does. Raises ValueError if the text is not a 32-bit number."""
    if len(text) < _INT_DIGITS and text.isdecimal():
        return int(text)
    value = int(text) if len(text) <= _DIGITS and text.isdecimal() else _whole(text)
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise _no_number(text)


def parse_long(text: str) -> int:
    """Parse as Long.valueOf does. Raises ValueError if the text is not a 64-bit number."""
    if len(text) < _DIGITS and text.isdecimal():
        return int(text)  # the usual case: every number with fewer digits fits
    value = int(text) if len(text) <= _DIGITS and text.isdecimal() else _whole(text)
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise _no_number(text)


def long_sum(one: int, other: int) -> int:
    """Add two longs; the sum wraps around on overflow."""
    return (one + other + 0x8000000000000000) % 0x10000000000000000 - 0x8000000000000000


def integer_sum(one: int, other: int) -> int:
    """Add two ints; the sum wraps around on overflow."""
    return (one + other + 0x80000000) % 0x100000000 - 0x80000000


def parse_double(text: str) -> float:
    """Parse as Double.valueOf does: surrounding blanks, NaN, Infinity and hexadecimal are legal. Raises ValueError."""
    trimmed = text.strip(TRIMMED)
    if _DOUBLE.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
    hexadecimal = _HEX_DOUBLE.fullmatch(trimmed)
    if hexadecimal:
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return copysign(float("inf"), -1.0 if trimmed[0] == "-" else 1.0)
    raise ValueError("empty String" if not trimmed else f'For input string: "{text}"')


def parse_boolean(text: str) -> bool:
    """Parse as Boolean.valueOf does: "true" in any case is True, everything else is False."""
    return text.lower() == "true"


def compare_doubles(left: float, right: float) -> int:
    """Compare as Double.compareTo does: NaN equals itself and is greater than all others, -0.0 is less than 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    left_rank, right_rank = _rank(left), _rank(right)
    return (left_rank > right_rank) - (left_rank < right_rank)


def _rank(value: float) -> int:
    if value != value:
        return 2
    return -1 if value == 0.0 and copysign(1.0, value) < 0 else 0


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise _no_number(text)
    negative, digits = text[0] == "-", text.lstrip("+-").lstrip("0")
    if len(digits) > _DIGITS:  # raise Java's text instead of Python's, which refuses thousands of digits
        raise _no_number(text)
    value = int(digits or "0")
    return -value if negative else value


def _no_number(text: str) -> ValueError:
    return ValueError(f'For input string: "{text}"')
