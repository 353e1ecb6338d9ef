"""Parse numbers in JSON texts with all their digits: whole numbers as int, numbers with a fraction as Decimal."""

import re
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"([+-]?[0-9]+)(\.[0-9]*)?([eE][+-]?[0-9]+)?[LSBFD]?")
_DIGITS_OF_INT = 64


def whole_number(digits: str) -> int | Decimal:
    """Parse a whole number. A long one becomes a Decimal, because Python limits the digits of an int in text."""
    return int(digits) if len(digits) <= _DIGITS_OF_INT else Decimal(digits)


def fraction(digits: str) -> Decimal:
    """Parse a number with a fraction or an exponent."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal("Infinity")


def constant(name: str) -> Decimal | None:
    """Parse `NaN`, which fastjson reads as null, or `Infinity`."""
    return None if name == "NaN" else Decimal(name)


def number(word: str) -> int | Decimal:
    """Parse a number as fastjson does. A plus sign, leading zeros and a suffix are allowed. Raises ValueError."""
    found = _NUMBER.fullmatch(word)
    if found is None:
        raise ValueError(f"{word[:40]} is not a number")
    digits, decimals, exponent = found.groups()
    return fraction(digits + (decimals or "") + (exponent or "")) if decimals or exponent else whole_number(digits)
