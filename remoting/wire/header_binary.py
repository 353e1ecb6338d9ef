"""The ROCKETMQ header: a binary encoding that Java clients use if they are configured for it.

Its `code` has 16 bits, so the codes of the pop family (2000xx) arrive truncated. Like the broker, the emulator treats
them as unknown codes. `frame_layout` declares the layout. Source: RocketMQSerializable (5.3.3).
"""

from struct import Struct
from struct import error as StructError

from .command import LANGUAGES, RemotingCommand
from .errors import ProtocolError

_HEAD = Struct(">hBhiii")  # includes the length of the remark
_SHORT = Struct(">H")
_INT = Struct(">i")
_FIELDS_MAX = 50_000
"""Maximum number of ext fields, because each takes far more memory than bytes of the frame. Upstream has no limit."""


def decode(header: bytes, body: bytes = b"") -> RemotingCommand:
    """Decode a header, together with its body. Raises ProtocolError."""
    size = len(header)
    if size < 21:
        raise ProtocolError(f"binary header of {size} bytes")
    code, language, version, opaque, flag, remark_length = _HEAD.unpack_from(header)
    at = 17 + remark_length
    if remark_length < 0 or at + 4 > size:
        raise ProtocolError(f"remark of {remark_length} bytes in a binary header of {size}")
    remark = header[17:at].decode("utf-8", "replace") if remark_length else None
    ext_length = _INT.unpack_from(header, at)[0]
    at += 4
    if at + ext_length > size:
        raise ProtocolError(f"ext fields of {ext_length} bytes in a binary header of {size}")
    return RemotingCommand(
        code,
        LANGUAGES[language] if language < len(LANGUAGES) else "OTHER",
        version,
        opaque,
        flag,
        remark,
        _ext_fields(header, at, at + ext_length) if ext_length > 0 else None,
        body,
        1,
    )


def encode(command: RemotingCommand) -> bytes:
    """Encode the header of a command. Only the low 16 bits of its code and version are kept."""
    remark = (command.remark or "").encode()
    ext = bytearray()
    for name, value in (command.ext_fields or {}).items():
        key, data = name.encode(), value.encode()
        ext += _SHORT.pack(len(key)) + key + _INT.pack(len(data)) + data
    language = LANGUAGES.index(command.language) if command.language in LANGUAGES else LANGUAGES.index("OTHER")
    head = _HEAD.pack(
        _signed_16(command.code),
        language,
        _signed_16(command.version),
        command.opaque,
        command.flag,
        len(remark),
    )
    return b"".join((head, remark, _INT.pack(len(ext)), ext))


def _ext_fields(header: bytes, at: int, end: int) -> dict[str, str]:
    fields = {}
    while at < end:
        try:
            (key_length,) = _SHORT.unpack_from(header, at)
            value_at = at + 2 + key_length + 4
            (value_length,) = _INT.unpack_from(header, value_at - 4)
        except StructError:
            raise ProtocolError("an ext field of a binary header is cut off") from None
        at = value_at + value_length
        if key_length > 0x7FFF or value_length < 0 or at > end:
            raise ProtocolError("an ext field of a binary header is longer than the header")
        if key_length and value_length:  # an empty value means null
            name = header[value_at - 4 - key_length : value_at - 4].decode("utf-8", "replace")
            fields[name] = header[value_at:at].decode("utf-8", "replace")
            if len(fields) > _FIELDS_MAX:
                raise ProtocolError(f"more than {_FIELDS_MAX} ext fields in a binary header")
    return fields


def _signed_16(value: int) -> int:
    return (value + 0x8000) % 0x10000 - 0x8000
