"""Encode response frames. Their headers are always JSON, as in upstream, even for a client that sends binary headers.

Seen on 5.3.3: members in the order code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC, version.
"""

from collections.abc import Mapping
from struct import Struct

import orjson

from .command import VERSION_5_3_3

NOT_SET = "not set any response code"
"""The remark of a response for which upstream's handler sets only a code. Source: createResponseCommand."""

EMPTY_EXT = '"extFields":{},'
HEAD = Struct(">II")

TAIL = f'"serializeTypeCurrentRPC":"JSON","version":{VERSION_5_3_3}}}'


def encode_response(  # noqa: PLR0917  # called for each response: keywords would cost it time
    opaque: int, code: int = 0, remark: str | None = None, ext: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """Encode a response. `ext=None` omits the ext fields, `{}` is written as such."""
    fields = "" if ext is None else f'"extFields":{orjson.dumps(ext).decode()},'
    note = "" if remark is None else f'"remark":{quoted(remark)},'
    header = f'{{"code":{code:d},{fields}"flag":1,"language":"JAVA","opaque":{opaque},{note}{TAIL}'.encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def encode_success(opaque: int, ext_text: str = "", body: bytes = b"") -> bytes:
    """Encode a success response without remark. `ext_text`: empty, or JSON text in the form of `EMPTY_EXT`."""
    header = f'{{"code":0,{ext_text}"flag":1,"language":"JAVA","opaque":{opaque},{TAIL}'.encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def encode_read_response(  # noqa: PLR0917  # called for each response: keywords would cost it time
    opaque: int, code: int, remark: str, fields: str, body: bytes
) -> bytes:
    """Encode the response to a pull, pop or peek. `fields`: the ext fields as JSON text, `"a":"1","b":"2"`.

    The remark must need no escaping.
    """
    header = (
        f'{{"code":{int(code)},"extFields":{{{fields}}},"flag":1,"language":"JAVA","opaque":{opaque},'
        f'"remark":"{remark}",{TAIL}'
    ).encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def quoted(text: str) -> str:
    """Return a text as a JSON string with quotes."""
    if text.isalnum():
        return f'"{text}"'
    return orjson.dumps(text).decode()
