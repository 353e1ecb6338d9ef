"""Bounds of the JSON that clients send.

A text is refused before it is read if it is long beyond anything a client sends, or if it consists of so many values
that reading them would take many times the memory of the frame. Upstream has the frame's limit only, and a heap.
"""

ASCII_BYTES_MAX = 4 * 1024 * 1024
"""Longest JSON text of ASCII characters that is read, in bytes."""
OTHER_BYTES_MAX = 1024 * 1024
"""Longest other JSON text, in bytes: one rare character makes Python store four bytes for each character."""
MARKS_MAX = 100_000
"""Largest number of the characters `{ [ : ,` in a text: each announces a value, which takes 50 to 200 bytes."""
ORJSON_BYTES_MAX = 1024 * 1024
"""Longer texts are for the standard library: orjson reserves twelve times the text before it begins."""
_MARKS = (b",", b":", b"[", b"{")


def excess(data: bytes) -> str | None:
    """The reason why a text is too large to be read, as the end of a sentence. None if it is not."""
    limit = ASCII_BYTES_MAX if len(data) <= OTHER_BYTES_MAX or data.isascii() else OTHER_BYTES_MAX
    if len(data) > limit:
        return f"{len(data)} bytes of JSON, the limit is {limit}"
    if len(data) > MARKS_MAX and (marks := sum(map(data.count, _MARKS))) > MARKS_MAX:
        return f"JSON of {marks} opening brackets, colons and commas, the limit is {MARKS_MAX}"
    return None
