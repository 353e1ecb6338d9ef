"""Convert JSON values to the Java types of fields. Values that do not fit raise fastjson's exception.

A reader gets a value other than null and the field's name, which the exception quotes. None means that the field keeps
its default. Source: IntegerCodec, LongCodec, BooleanCodec, StringCodec, EnumDeserializer, TypeUtils (fastjson 1.2.83);
each class of values was sent to a 5.3.3 broker.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_numbers import parse_integer, parse_long
from rocketmq_testkit.emulator.kernel.java_types import fits, java_text, wrapped
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

_FASTJSON = "com.alibaba.fastjson.JSONException: "
_NO_VALUE = ("", "null", "NULL")
_ZERO_FRACTION = re.compile(r"\.0*\Z")
_SCALE_MAX = 100
"""The largest exponent of a fraction that fastjson truncates to a whole number. It rejects larger ones."""
INT_BITS: int = 32
LONG_BITS: int = 64
_DIGITS_OF_MAXIMUM = {INT_BITS: 10, LONG_BITS: 19}
"""The number of digits of the largest int and of the largest long. A number with fewer digits always fits."""
_SKIPPED_FIELDS_MAX = 16
_SCANNED = ("Int", "Long", "str", "bool")
_DEPTH_MAX = 200
_TRUE = frozenset(("true", "1", "y", "t"))
_FALSE = frozenset(("false", "0", "n", "f"))


def fastjson_error(text: str) -> EngineError:
    """Return the error response to a request whose body fastjson rejects."""
    return EngineError(ResponseCode.SYSTEM_ERROR, _FASTJSON + text)


def integer(value: Any, name: str) -> int | None:
    """Read a Java int. Fractions are truncated and wrap around; whole numbers that are too large are rejected."""
    try:
        if isinstance(value, str):
            bare = value.replace(",", "")
            return None if value in _NO_VALUE else parse_integer(_ZERO_FRACTION.sub("", bare, count=1))
        number, whole = _number(value)
    except ValueError:
        raise fastjson_error(f"parseInt error, field : {name}") from None
    if whole and not fits(number, 32):
        raise fastjson_error(f"parseInt error, field : {name}")
    return wrapped(number, 32)


def long(value: Any, name: str) -> int | None:
    """Read a Java long, by the rules of `integer`."""
    try:
        if isinstance(value, str):
            return None if value in _NO_VALUE else parse_long(value.replace(",", ""))
        number, whole = _number(value)
    except ValueError:
        raise fastjson_error(f"parseLong error, field : {name}") from None
    if whole and not fits(number, 64):
        raise fastjson_error(f"parseLong error, field : {name}")
    return wrapped(number, 64)


def fast_read(value: Any, bits: int) -> Any:
    """Read a number as fastjson's fast member reader does: some whole numbers that are too large wrap around.

    The fast reader gives up if the sign changes, and for an int also if one more digit makes the number smaller. It
    then leaves the value to the ordinary reader, which rejects it.
    """
    digits = value if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return value
    negative, digits = digits.startswith("-"), digits.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) < _DIGITS_OF_MAXIMUM[bits]:
        return value
    number = 0
    if bits == INT_BITS:
        for digit in digits:
            tenfold = wrapped(number * 10, bits)
            if tenfold < number:
                return value
            number = wrapped(tenfold + int(digit), bits)
    else:
        number = wrapped(int(digits[-64:]), bits)  # 2**64 divides 10**64, so earlier digits have no effect
    if number < 0:
        return -(1 << (bits - 1)) if negative and number == -(1 << (bits - 1)) and bits != INT_BITS else value
    return -number if negative else number


def is_read_fast(members: Mapping[str, Any], name: str, kinds: Mapping[str, str]) -> bool:
    """True if fastjson's fast reader reads a member.

    It does if the members before it are fields in the order of their names, and if fewer than 16 fields of the kinds
    `_SCANNED` are absent before it. `kinds` has the kind of each field. Source: JavaBeanDeserializer.deserialze.
    """
    names = iter(sorted(kinds))
    skipped = 0
    for member in members:
        for expected in names:
            if expected == member:
                break
            skipped += kinds[expected] in _SCANNED
        else:
            return False
        if skipped >= _SKIPPED_FIELDS_MAX:
            return False
        if member == name:
            return True
    return False


def boolean(value: Any, name: str) -> bool | None:
    """Read a Java boolean. Of all numbers, only 1 is true."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in _NO_VALUE:
            return None
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
    else:
        try:
            number, whole = _number(value)
        except ValueError:
            pass
        else:
            if not whole or fits(number, 32):
                return wrapped(number, 32) == 1
    raise fastjson_error(f"parseBoolean error, field : {name}")


def text(value: Any, name: str = "") -> str | None:  # noqa: ARG001  # every reader has the same arguments
    """Read a Java string. Other values become their JSON text."""
    return java_text(value if isinstance(value, str) else _json_text(value, 0))


def enum_name(value: Any, names: tuple[str, ...], java_class: str) -> str | None:
    """Return the name of an enum constant, given by name in any case or by ordinal. None for an unknown name."""
    if isinstance(value, str):
        return next((name for name in names if value in (name, name.lower()) or value.lower() == name.lower()), None)
    if isinstance(value, int) and not isinstance(value, bool):
        if not fits(value, 32):
            raise fastjson_error(text(value) or "")
        if 0 <= value < len(names):
            return names[value]
    raise fastjson_error(f"parse enum {java_class} error, value : {text(value)}")


def token_name(value: Any) -> str:
    """Return fastjson's name of the token with which a value begins."""
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: tuple[tuple[type, str], ...] = ((int, "int"), (str, "string"), (dict, "{"), (list, "["))
    return next((name for kind, name in kinds if isinstance(value, kind)), "float")


def _number(value: Any) -> tuple[int, bool]:
    """Truncate a JSON number or boolean to an int. The second value is True if it was written as a whole number."""
    if isinstance(value, int):
        return int(value), True
    if isinstance(value, float):
        if abs(value) >= 1 << 63:  # orjson returns floats for whole numbers beyond 64 bits
            raise ValueError("a whole number of too many digits")
        value = Decimal(repr(value))
    if not isinstance(value, Decimal) or not value.is_finite():
        raise ValueError("not a number")
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or (abs(exponent) > _SCALE_MAX and value):
        raise ValueError("beyond the scale that fastjson truncates")
    if exponent == 0 and value.copy_abs() >= 1 << 64:  # copy_abs() does not round to the context, unlike abs()
        raise ValueError("a whole number of too many digits")
    return (int(value) if value else 0), False


def _json_text(value: Any, depth: int) -> str:
    if depth > _DEPTH_MAX:
        raise fastjson_error("nested too deeply")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal | int | float):
        return str(value)
    if isinstance(value, dict):
        items = (
            f"{json.dumps(name, ensure_ascii=False)}:{_json_text(value[name], depth + 1)}" for name in sorted(value)
        )
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(_json_text(item, depth + 1) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)
