"""Read the JSON text of bodies, and make upstream's error responses to invalid bodies."""

import json
import re
from typing import Any

import orjson
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

from ..wire import json_bounds, json_numbers, lenient_json

SYNTAX_ERROR = (
    "com.alibaba.fastjson.JSONException: syntax error, expect {, actual error, pos 0, fastjson-version 1.2.83"
)

_INEXACT = re.compile(rb"[:\[,]\s*-?(?:\d{20}|\d+[.eE])")
_PACKAGES = {"HeartbeatData": "heartbeat", "SubscriptionGroupConfig": "subscription"}


def null_body(upstream: str, variable: str) -> str:
    """Return the remark for a missing body that the handler dereferences.

    `upstream` names the class of the body and the getter that the handler calls first, such as
    `HeartbeatData.getClientID`; `variable` is the handler's variable.
    """
    class_name, _, getter = upstream.partition(".")
    package = _PACKAGES.get(class_name, "body")
    return (
        f'java.lang.NullPointerException: Cannot invoke "org.apache.rocketmq.remoting.protocol.{package}.'
        f'{class_name}.{getter}()" because "{variable}" is null'
    )


def null_list(variable: str) -> str:
    """Return the remark for a body without the list that its handler iterates."""
    return f'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because "{variable}" is null'


def loads(body: bytes) -> Any:
    """Parse a JSON text. Returns None for bytes that are not UTF-8.

    orjson reads ordinary texts. It turns fractions and integers beyond 64 bits into floats. Texts with such numbers
    therefore go to the standard library, which keeps all digits: fractions become Decimal.

    Raises SYSTEM_ERROR for a text that fastjson does not accept either, and for an excessively large text.
    """
    if (violation := json_bounds.limit_violation(body)) is not None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"the request has a body of {violation}")
    try:
        if len(body) <= json_bounds.ORJSON_BYTES_MAX and _INEXACT.search(body) is None:
            return orjson.loads(body)
        return json.loads(
            body.decode(),
            parse_int=json_numbers.whole_number,
            parse_float=json_numbers.fraction,
            parse_constant=json_numbers.constant,
        )
    except (ValueError, RecursionError):
        try:
            return lenient_json.loads(body.decode("utf-8"))
        except UnicodeDecodeError:
            return None
        except ValueError:
            raise EngineError(ResponseCode.SYSTEM_ERROR, SYNTAX_ERROR) from None
