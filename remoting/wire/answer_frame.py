"""Frames of answers. Every answer is JSON, also to a client whose requests are binary, as the broker does it.

Seen on 5.3.3: members in the order code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC, version.
"""

from collections.abc import Mapping
from struct import Struct

import orjson

from .command import VERSION_5_3_3

NOT_SET = "not set any response code"
"""Remark of the answers whose handler upstream sets neither code nor remark; the code then is SUCCESS."""

HEAD = Struct(">II")

TAIL = f'"serializeTypeCurrentRPC":"JSON","version":{VERSION_5_3_3}}}'


def answer(
    opaque: int, code: int = 0, remark: str | None = None, ext: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """The frame of an answer. Ext fields None are left out, `{}` is written."""
    fields = "" if ext is None else f'"extFields":{orjson.dumps(ext).decode()},'
    note = "" if remark is None else f'"remark":{quoted(remark)},'
    header = f'{{"code":{code:d},{fields}"flag":1,"language":"JAVA","opaque":{opaque},{note}{TAIL}'.encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def found_answer(opaque: int, code: int, remark: str, fields: str, body: bytes) -> bytes:
    """The frame of an answer whose ext fields are already text: `"a":"1","b":"2"`; the remark needs no escape."""
    header = (
        f'{{"code":{int(code)},"extFields":{{{fields}}},"flag":1,"language":"JAVA","opaque":{opaque},'
        f'"remark":"{remark}",{TAIL}'
    ).encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def quoted(text: str) -> str:
    """A text as a JSON string, quotes included."""
    if text.isalnum():
        return f'"{text}"'
    return orjson.dumps(text).decode()
