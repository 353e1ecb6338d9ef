"""The JSON header: read the form of every client, write a form that every client reads.

Accepted: any key order, white space, a trailing newline, absent ext fields, numbers or booleans as ext fields, explicit
nulls. Written: compact, keys sorted, nulls omitted, ext fields always strings.
Source: RemotingSerializable, RemotingCommand (5.3.3). Input that the broker accepts besides valid JSON was tried on
5.3.3.
"""

import json
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import orjson
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_types import java_text

from . import json_bounds, json_numbers, json_values, lenient_json
from .command import LANGUAGES, RemotingCommand
from .errors import ProtocolError

_KINDS = {
    "code": "Int",
    "extFields": "dict",
    "flag": "Int",
    "language": "enum",
    "opaque": "Int",
    "remark": "str",
    "serializeTypeCurrentRPC": "enum",
    "version": "Int",
}
_USUAL_BYTES = json_bounds.STRUCTURAL_CHARACTERS_MAX
"""A header of at most this length is within all bounds of `json_bounds`, so that they need no further check."""
_LANGUAGE_CODE = "org.apache.rocketmq.remoting.protocol.LanguageCode"
_LANGUAGES = frozenset(LANGUAGES)
_BEYOND_INT = 1 << 31
_usual_members = itemgetter("code", "opaque", "flag", "extFields", "version", "language")

Head = tuple[int, int, int, Mapping[str, Any], int, str, str | None]
"""(code, opaque, flag, ext fields, version, language, remark) of a frame, with the values of ext fields as sent."""


def loads(header: bytes) -> dict[str, Any]:
    """Return the members of a header. Raises ProtocolError if it is no JSON object, or if it exceeds `json_bounds`."""
    try:
        members = orjson.loads(header) if len(header) <= _USUAL_BYTES else _loads_long(header)
    except orjson.JSONDecodeError:
        members = _loads_leniently(header)
    if members.__class__ is not dict:
        raise ProtocolError(f"header is not a JSON object: {header[:40]!r}")
    found: dict[str, Any] = members
    return found


def read_head(header: bytes) -> Head:
    """Read the header of a frame that a server received. Raises ProtocolError.

    It runs for every request, so it reads the usual form of all members at once.
    """
    members: Any
    try:
        members = orjson.loads(header) if len(header) <= _USUAL_BYTES else None
        code, opaque, flag, ext, version, language_name = _usual_members(members)
    except (ValueError, KeyError, TypeError):  # no JSON, a member is missing, no object
        return _read_unusual_head(loads(header))
    if (
        not (code.__class__ is opaque.__class__ is flag.__class__ is version.__class__ is int)
        or not 0 <= code | opaque | flag | version < _BEYOND_INT
        or ext.__class__ is not dict
        or language_name.__class__ is not str
        or language_name not in _LANGUAGES
    ):
        return _read_unusual_head(members)
    remark = members.get("remark")
    if remark is not None and remark.__class__ is not str:
        remark = text(remark)
    return code, opaque, flag, ext, version, language_name, remark


def _read_unusual_head(members: Mapping[str, Any]) -> Head:
    """Read the members of a header, of which one is missing or does not have its usual form."""
    get = members.get
    code, opaque, flag, ext = get("code"), get("opaque"), get("flag", 0), get("extFields")
    version, language_name, remark = get("version", 0), get("language"), get("remark")
    if (
        not (code.__class__ is opaque.__class__ is flag.__class__ is version.__class__ is int)
        or not 0 <= code | opaque | flag | version < _BEYOND_INT
    ):
        code, opaque = integer(members, "code"), integer(members, "opaque")
        flag, version = integer(members, "flag"), integer(members, "version")
    if ext.__class__ is not dict:
        ext = {} if ext is None else ext_fields(ext)
    if language_name.__class__ is not str or language_name not in _LANGUAGES:
        language_name = language(members)
    if remark is not None and remark.__class__ is not str:
        remark = text(remark)
    return code, opaque, flag, ext, version, language_name, remark


def decode(header: bytes, body: bytes = b"") -> RemotingCommand:
    """Decode a header, together with its body. Raises ProtocolError."""
    members = loads(header)
    ext = members.get("extFields")
    remark = members.get("remark")
    return RemotingCommand(
        integer(members, "code"),
        language(members),
        integer(members, "version"),
        integer(members, "opaque"),
        integer(members, "flag"),
        None if remark is None else text(remark),
        None if ext is None else ext_fields(ext),
        body,
    )


def encode(command: RemotingCommand) -> bytes:
    """Encode the header of a command, with members in upstream's order."""
    members: dict[str, Any] = {"code": command.code}
    if command.ext_fields is not None:
        members["extFields"] = command.ext_fields
    members["flag"] = command.flag
    members["language"] = command.language
    members["opaque"] = command.opaque
    if command.remark is not None:
        members["remark"] = command.remark
    members["serializeTypeCurrentRPC"] = "JSON"
    members["version"] = command.version
    return orjson.dumps(members)


def ext_fields(value: Any) -> dict[str, str]:
    """Convert ext fields to strings and omit nulls. Raises ProtocolError if they are not an object."""
    if value.__class__ is not dict:
        raise ProtocolError(f"extFields is not a JSON object: {str(value)[:40]}")
    return {
        name: found
        for name, item in value.items()
        if (found := item if item.__class__ is str else text(item)) is not None
    }


def text(value: Any) -> str | None:
    """Convert a value as Java does for a string field: `true` for a boolean, `12.5` for a number, None for null."""
    if isinstance(value, str):
        return value
    if value is None or value != value:  # NaN reads as null
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        try:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        except RecursionError:
            raise ProtocolError("header is nested too deeply") from None
    return str(value)


def integer(members: Mapping[str, Any], name: str) -> int:
    """Read an int as Java does: 0 for null. Raises ProtocolError if it does not fit; upstream closes the connection."""
    value = members.get(name)
    if json_values.is_read_fast(members, name, _KINDS):
        value = json_values.fast_read(value, json_values.INT_BITS)
    try:
        return (None if value is None else json_values.integer(value, name)) or 0
    except EngineError:
        raise ProtocolError(f"header has {str(value)[:40]!r} where a 32-bit number belongs") from None


def language(members: Mapping[str, Any]) -> str:
    """Return the client's language: JAVA if absent, "" for null and for an unknown name. Raises ProtocolError."""
    given = members.get("language", "JAVA")
    try:
        return "" if given is None else json_values.enum_name(given, LANGUAGES, _LANGUAGE_CODE) or ""
    except EngineError as refusal:
        raise ProtocolError(refusal.remark or "") from None


def _loads_long(header: bytes) -> Any:
    """Parse a header that may exceed `json_bounds`. Raises ProtocolError if it does."""
    if (violation := json_bounds.limit_violation(header)) is not None:
        raise ProtocolError(f"header of {violation}")
    return orjson.loads(header) if len(header) <= json_bounds.ORJSON_BYTES_MAX else _loads_leniently(header)


def _loads_leniently(header: bytes) -> Any:
    # Upstream accepts raw control characters, NaN, a byte order mark, lone surrogates, single quotes and more.
    try:
        text_of_header = header.decode("utf-8-sig")
        try:
            found = json.loads(text_of_header, strict=False, parse_int=json_numbers.whole_number)
        except ValueError:
            found = lenient_json.loads(text_of_header)
        return _java_texts(found)
    except ValueError:
        raise ProtocolError(f"header is not JSON: {header[:40]!r}") from None
    except RecursionError:
        raise ProtocolError("header is nested too deeply") from None


def _java_texts(value: Any) -> Any:
    if isinstance(value, str):
        return java_text(value)
    if isinstance(value, dict):
        return {_java_texts(name): _java_texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_java_texts(item) for item in value]
    return value
