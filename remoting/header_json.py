"""The JSON header: read what every client writes, write what every client reads.

Seen from clients: any key order, white space, a trailing newline, absent ext fields, ext fields that are numbers or
booleans, explicit nulls. Written: compact, keys sorted, nulls left out, ext fields always texts.
Source: RemotingSerializable, RemotingCommand (5.3.3); what the broker takes besides valid JSON was tried on 5.3.3.
"""

import json
from typing import Any

import orjson

from . import lenient_json
from .command import RemotingCommand
from .errors import ProtocolError


def loads(header: bytes) -> dict[str, Any]:
    """The members of a header. Raises ProtocolError when it is no JSON object."""
    try:
        members = orjson.loads(header)
    except orjson.JSONDecodeError:
        members = _loads_leniently(header)
    if members.__class__ is not dict:
        raise ProtocolError(f"header is not a JSON object: {header[:40]!r}")
    found: dict[str, Any] = members
    return found


def decode(header: bytes, body: bytes = b"") -> RemotingCommand:
    """The command of a header and its body. Raises ProtocolError."""
    members = loads(header)
    ext = members.get("extFields")
    remark = members.get("remark")
    return RemotingCommand(
        integer(members.get("code")),
        text(members.get("language")) or "JAVA",
        integer(members.get("version")),
        integer(members.get("opaque")),
        integer(members.get("flag")),
        None if remark is None else text(remark),
        None if ext is None else ext_fields(ext),
        body,
    )


def encode(command: RemotingCommand) -> bytes:
    """The header of a command, members in upstream's order."""
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
    """The ext fields as texts; nulls are left out. Raises ProtocolError when they are no object."""
    if value.__class__ is not dict:
        raise ProtocolError(f"extFields is not a JSON object: {str(value)[:40]}")
    return {
        name: found
        for name, item in value.items()
        if (found := item if item.__class__ is str else text(item)) is not None
    }


def text(value: Any) -> str | None:
    """What Java reads where a text is expected: `true` for a boolean, `12.5` for a number, None for null."""
    if isinstance(value, str):
        return value
    if value is None or value != value:  # NaN reads as null
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def integer(value: Any) -> int:
    """What Java reads where an int is expected: 0 for null, wrapped to 32 bits. Raises ProtocolError for text."""
    try:
        number = int(value or 0)
    except (ValueError, TypeError, OverflowError):
        raise ProtocolError(f"header has {str(value)[:40]!r} where a number belongs") from None
    return number if -0x80000000 <= number <= 0x7FFFFFFF else (number + 0x80000000) % 0x100000000 - 0x80000000


def _loads_leniently(header: bytes) -> Any:
    # Raw control characters, NaN, a byte order mark, lone surrogates, single quotes and more pass upstream.
    try:
        text_of_header = header.decode("utf-8-sig")
        try:
            found = json.loads(text_of_header, strict=False)
        except ValueError:
            found = lenient_json.loads(text_of_header)
    except ValueError:
        raise ProtocolError(f"header is not JSON: {header[:40]!r}") from None
    except RecursionError:
        raise ProtocolError("header is nested too deeply") from None
    return _without_surrogates(found)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
