"""JSON bodies of requests."""

import json


def dumps(value: object) -> bytes:
    """The compact UTF-8 text of a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
