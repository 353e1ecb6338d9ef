"""Java properties text, the body of configuration requests. Source: MixAll.string2Properties (5.3.3)."""

import re
from collections.abc import Iterator

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_types import from_utf16, java_text
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

BYTES_MAX = 1024 * 1024
"""Maximum size of the text, in bytes. Upstream limits only the frame."""

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"([^\\=: \t\f]*+(?:\\.[^\\=: \t\f]*+)*+)[ \t\f]*+(?:[=:][ \t\f]*+)?", re.DOTALL)
"""The key of a logical line, and its separator: `=` or `:` with blanks around it, or blanks alone."""
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}


def read_properties(body: bytes) -> dict[str, str]:
    """Parse keys and values as java.util.Properties.load does.

    A line without a separator is a key with an empty value. Upstream reads the UTF-8 bytes as ISO 8859-1, so only
    escapes such as `\\u00e9` stand for characters outside ASCII.
    Raises SYSTEM_ERROR for a malformed escape, and for a text of more than BYTES_MAX.
    """
    if len(body) > BYTES_MAX:
        remark = f"the request has {len(body)} bytes of keys, the limit is {BYTES_MAX}"
        raise EngineError(ResponseCode.SYSTEM_ERROR, remark)
    text = body if body.isascii() else body.decode("utf-8", "replace").encode()
    found: dict[str, str] = {}
    for line in _logical_lines(text.decode("latin-1")):
        separated = _KEY.match(line)
        assert separated is not None  # each part of the pattern may be empty
        found[_unescaped(separated[1])] = _unescaped(line[separated.end() :])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines that are neither blank nor a comment. A line that ends with a single backslash continues."""
    held: list[str] = []
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        if not held and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            if len(line) > 1:
                held.append(line[:-1])
            continue
        held.append(line)
        yield "".join(held)
        held.clear()
    if held:
        yield "".join(held)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return java_text(from_utf16(_ESCAPE.sub(_character, text)))


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    if escape[2] == "u":
        raise EngineError(ResponseCode.SYSTEM_ERROR, "string2Properties error")
    return _CONTROLS.get(escape[2], escape[2])
