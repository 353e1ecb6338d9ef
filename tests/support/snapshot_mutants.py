"""Snapshots with valid checksums whose frames and tables were changed."""

import json
import random
from collections.abc import Iterator
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

from harness_with_data import harness_with_data
from rocketmq_testkit.emulator.snapshot.snapshot_file import MAGIC, VERSION
from snapshot_files import saved

WAYS = ("removed", "doubled", "moved", "replaced")
"""Changes of a value in a list or an object. A value outside of a list cannot be doubled and is replaced."""
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 1.5, 2**31, 2**63, -(2**63) - 1, 10**30, "", "x", "5", "\ud800", [], {}, [1], ["x"],
    "a\nb; c", "x" * 5000, [None], {"a": 1}, {"5": "x"}, [[1, 2], [3]],
]  # fmt: skip
Frame = tuple[bytes, bytes]
SNAPSHOT = saved(harness_with_data().engine)


def frames(data: bytes) -> list[Frame]:
    """Return the kinds and contents of a file's frames."""
    found, at = [], len(MAGIC) + 4
    while at < len(data):
        kind, length = unpack_from(">4sQ", data, at)
        found.append((kind, data[at + 16 : at + 16 + length]))
        at += 16 + length + 4
    return found


def built(parts: list[Frame], lengths: dict[int, int] | None = None) -> bytes:
    """Build a file of frames with valid checksums; `lengths` replaces frame lengths by index."""
    data = bytearray(MAGIC + pack(">I", VERSION))
    for place, (kind, content) in enumerate(parts):
        data += pack(">4sQ", kind, (lengths or {}).get(place, len(content)))
        data += pack(">I", crc32(data))
        data += content
        data += pack(">I", crc32(data))
    return bytes(data)


PARTS = frames(SNAPSHOT)


def mutant(chance: random.Random, way: str | None = None) -> bytes:
    """Return the file with one to three values of its tables changed in this way, by default in any."""
    parts = list(PARTS)
    for _ in range(chance.randint(1, 3)):
        place = chance.choice([at for at, (kind, _) in enumerate(parts) if kind in (b"ENGN", b"BRKR")])
        form = json.loads(parts[place][1])
        spots = list(_spots(form))
        holder, key = chance.choice(spots)
        chosen = way or chance.choice(WAYS)
        if chosen == "removed":
            del holder[key]
        elif chosen == "doubled" and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif chosen == "moved":
            other, other_key = chance.choice(spots)
            holder[key] = json.loads(json.dumps(other[other_key])) if other_key in _keys(other) else None
        else:
            holder[key] = chance.choice(VALUES)
        parts[place] = (parts[place][0], json.dumps(form).encode())
    return built(parts)


def _spots(form: Any) -> Iterator[tuple[Any, Any]]:
    for key in _keys(form):
        yield form, key
        yield from _spots(form[key])


def _keys(form: Any) -> list[Any]:
    return list(form) if isinstance(form, dict) else list(range(len(form))) if isinstance(form, list) else []
