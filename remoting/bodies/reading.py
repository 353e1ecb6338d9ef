"""Reading JSON bodies of requests, with the answers that upstream gives to bad ones."""

from typing import Any

import orjson
from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.emulator.errors import EngineError

from .. import lenient_json

SYNTAX_ERROR = (
    "com.alibaba.fastjson.JSONException: syntax error, expect {, actual error, pos 0, fastjson-version 1.2.83"
)

_PACKAGES = {"HeartbeatData": "heartbeat", "SubscriptionGroupConfig": "subscription"}


def json_object(body: bytes, upstream: str, variable: str = "requestBody") -> dict[str, Any]:
    """The members of a body.

    Upstream's handler calls a getter on what it read, so without a body it fails there: `upstream` is that getter
    (`HeartbeatData.getClientID`), `variable` the name of its variable. Errors: SYSTEM_ERROR for a missing body and for
    one that is no JSON object.
    """
    found = loads(body) if body else None
    if found is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, null_body(upstream, variable))
    if not isinstance(found, dict):
        raise EngineError(ResponseCode.SYSTEM_ERROR, SYNTAX_ERROR)
    return found


def null_body(upstream: str, variable: str) -> str:
    """The remark for a request whose handler misses the body."""
    class_name, _, getter = upstream.partition(".")
    package = _PACKAGES.get(class_name, "body")
    return (
        f'java.lang.NullPointerException: Cannot invoke "org.apache.rocketmq.remoting.protocol.{package}.'
        f'{class_name}.{getter}()" because "{variable}" is null'
    )


def null_list(variable: str) -> str:
    """The remark for a request whose body lacks the list that its handler walks."""
    return f'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because "{variable}" is null'


def loads(body: bytes) -> Any:
    """The value of a JSON text; what orjson finds too free is tried with a reader that takes what fastjson takes."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return lenient_json.loads(body.decode("utf-8", "replace"))
        except ValueError:
            raise EngineError(ResponseCode.SYSTEM_ERROR, SYNTAX_ERROR) from None


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; anything else reads as an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any, default: str = "") -> str:
    """A text; numbers are taken as their text, null as the default."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list):
        return default
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def optional_text(value: Any) -> str | None:
    """A text or None."""
    return None if value is None else text(value)


def integer(value: Any, default: int = 0) -> int:
    """A number, also one written as text; what is none reads as the default."""
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        return default


def boolean(value: Any, default: bool = False) -> bool:
    """A truth value, also one written as text or number."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.strip().lower() in ("true", "1")
    return default if value is None else bool(value)


def enum_name(value: Any, names: tuple[str, ...], default: str) -> str:
    """An enum member given by name or by ordinal; an unknown one reads as the default."""
    if isinstance(value, str) and value in names:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    return default


def text_map(value: Any) -> dict[str, str]:
    """An object of texts; nulls are left out."""
    if not isinstance(value, dict):
        return {}
    return {name: text(item) for name, item in value.items() if item is not None}
