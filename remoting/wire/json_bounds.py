"""Limits of the JSON that clients send.

A text is rejected before it is parsed if it is longer than any client sends, or if it has so many values that parsing
would take many times the memory of the frame. Upstream limits only the frame; beyond that, its heap is the limit.
"""

ASCII_BYTES_MAX = 4 * 1024 * 1024
"""Maximum length of an ASCII JSON text, in bytes."""
OTHER_BYTES_MAX = 1024 * 1024
"""Maximum length of other JSON texts, in bytes. One rare character makes Python use four bytes per character."""
STRUCTURAL_CHARACTERS_MAX = 100_000
"""Maximum number of the structural characters `{ [ : ,` (RFC 8259) in a text.

Each precedes a value, which takes 50 to 200 bytes.
"""
ORJSON_BYTES_MAX = 1024 * 1024
"""Longer texts go to the standard library, because orjson reserves twelve times the length before it parses."""
_STRUCTURAL_CHARACTERS = (b",", b":", b"[", b"{")


def limit_violation(data: bytes) -> str | None:
    """Return why a text is too large, as the end of a sentence. None if it is within the limits."""
    limit = ASCII_BYTES_MAX if len(data) <= OTHER_BYTES_MAX or data.isascii() else OTHER_BYTES_MAX
    if len(data) > limit:
        return f"{len(data)} bytes of JSON, the limit is {limit}"
    if (
        len(data) > STRUCTURAL_CHARACTERS_MAX
        and (count := sum(map(data.count, _STRUCTURAL_CHARACTERS))) > STRUCTURAL_CHARACTERS_MAX
    ):
        return f"JSON of {count} opening brackets, colons and commas, the limit is {STRUCTURAL_CHARACTERS_MAX}"
    return None
