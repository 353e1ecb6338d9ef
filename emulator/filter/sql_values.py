"""Java values in SQL92 filters, and the comparison of values of different types.

A property is always a text. Upstream converts it to the class of the other operand, a number or a Boolean. A text that
is not such a number ends the evaluation of the whole expression, and the message does not match.
Source: ComparisonExpression.__compare (5.3.3).
"""

from collections.abc import Callable, Sequence
from enum import Enum

from ..kernel.java_numbers import compare_doubles, parse_boolean, parse_double, parse_integer, parse_long
from ..message.properties import string_hash

Number = bool | int | float
"""A value that is neither a text nor null. A Boolean is a number, as in Python."""
Known = Number | str
"""A value that is not null."""
Value = Known | None
"""The value of an expression; None is SQL's unknown (null)."""


class JavaType(Enum):
    """The Java type of an expression's value, known before its evaluation."""

    NULL = "null"
    BOOLEAN = "Boolean"
    INTEGER = "Integer"
    LONG = "Long"
    DOUBLE = "Double"
    STRING = "String"


NUMBERS = (JavaType.INTEGER, JavaType.LONG, JavaType.DOUBLE)

PARSERS: dict[JavaType, Callable[[str], Number]] = {
    JavaType.INTEGER: parse_integer,
    JavaType.LONG: parse_long,
    JavaType.DOUBLE: parse_double,
    JavaType.BOOLEAN: parse_boolean,
}


def compare(left: Known, left_type: JavaType, right: Known, right_type: JavaType) -> int:
    """Compare two values: returns a number below, equal to or above 0 if left is less, equal or greater.

    Returns -1 for a Boolean and a number, which cannot be compared. Raises ValueError (upstream: NumberFormatException)
    for a text that is not a number. Raises TypeError (ClassCastException) for a Boolean on the left of a text: there
    upstream casts the Boolean to a String, instead of converting the text.
    """
    if isinstance(left, str):
        if isinstance(right, str):
            return (left > right) - (left < right)
        return compare(PARSERS[right_type](left), right_type, right, right_type)
    if isinstance(right, str):
        if left_type is JavaType.BOOLEAN:
            raise TypeError("a Boolean is no String")
        return compare(left, left_type, PARSERS[left_type](right), left_type)
    if left_type is not right_type and JavaType.BOOLEAN in (left_type, right_type):
        return -1
    if JavaType.DOUBLE in (left_type, right_type):
        return compare_doubles(float(left), float(right))
    return (left > right) - (left < right)


def number_text(value: float, java_type: JavaType) -> str:
    """Format a number of a literal as Java prints it: `1.0E10` for the Double 1e10. NaN is not allowed."""
    if java_type is not JavaType.DOUBLE:
        return str(value)
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return repr(float(value))
    digits, _, exponent = repr(float(value)).partition("e")
    if not exponent:  # Python prints numbers from 1e-4 to 1e16 without exponent
        shortest = next(text for text in (f"{value:.{n}e}" for n in range(18)) if float(text) == value)
        digits, _, exponent = shortest.partition("e")
    if "." not in digits:
        digits += ".0"
    return f"{digits}E{int(exponent)}"


def hash_set_order(texts: Sequence[str]) -> list[str]:
    """Return texts in the iteration order of a HashSet made of them. Source: HashMap (OpenJDK 17)."""
    slots = 16
    while slots < int(len(texts) / 0.75) + 1:
        slots *= 2

    def slot(text: str) -> int:
        value = string_hash(text) & 0xFFFFFFFF
        return (value ^ value >> 16) & (slots - 1)

    return sorted(dict.fromkeys(texts), key=slot)
