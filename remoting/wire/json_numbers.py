"""Numbers in JSON texts, with all their digits: an int for a whole number, a Decimal for one with a fraction."""

import re
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"([+-]?[0-9]+)(\.[0-9]*)?([eE][+-]?[0-9]+)?[LSBFD]?")
_DIGITS_OF_INT = 64


def whole_number(digits: str) -> int | Decimal:
    """A whole number. Python refuses to read, or to print, an int of thousands of digits; a Decimal has no limit."""
    return int(digits) if len(digits) <= _DIGITS_OF_INT else Decimal(digits)


def fraction(digits: str) -> Decimal:
    """A number with a fraction or an exponent."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal("Infinity")


def constant(name: str) -> Decimal | None:
    """The value of `NaN`, which fastjson reads as null, and of `Infinity`."""
    return None if name == "NaN" else Decimal(name)


def number(word: str) -> int | Decimal:
    """A number as fastjson reads it: with a plus sign, leading zeros or a suffix, too. Raises ValueError."""
    found = _NUMBER.fullmatch(word)
    if found is None:
        raise ValueError(f"{word[:40]} is not a number")
    digits, decimals, exponent = found.groups()
    return fraction(digits + (decimals or "") + (exponent or "")) if decimals or exponent else whole_number(digits)
