"""The snapshot file: an engine's state as a stream of bytes. Equal states give equal bytes.

    magic        8 bytes  89 52 4D 51 53 4E 50 0A
    version      u32      1
    frames       kind (4 letters), length (u64), check (u32), content (`length` bytes), check (u32)

Numbers are big-endian. A check is the CRC-32 of everything before it, from the magic on. The frames are, in this order:

    ENGN         JSON: time, seed, random streams, configuration, name server's values, number of brokers
    for each broker
      BRKR       JSON: configuration, tables, and the structure of its log and its queues (`snapshot_tables`)
      UNIT       units (entries) of all consume queues, one queue after the other: first all physical offsets (i64) of
                 the queue, then all sizes (i32), then all tags codes (i64)
      SEGM       the bytes of one file of the log; one frame per file, oldest first
    DONE         empty

The file contains no code. It is not compressed, because the output of gzip depends on its version.
"""

import json
import sys
from array import array
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from struct import Struct
from typing import Any
from zlib import crc32

from ..config import ConfigError
from ..kernel.errors import SqlError
from ..store.consume_queue import ConsumeQueue
from ..store.shared_column import SharedColumn
from .durable_state import BrokerState, EngineState
from .snapshot_checks import check_state
from .snapshot_tables import broker_from_json, broker_to_json, engine_from_json, engine_to_json

MAGIC = b"\x89RMQSNP\n"
VERSION = 1
"""The version of the format."""
ENGINE, BROKER, UNITS, SEGMENT, DONE = b"ENGN", b"BRKR", b"UNIT", b"SEGM", b"DONE"
_NUMBER = Struct(">I")
_HEAD = Struct(">4sQ")
_PIECE_BYTES = 1024 * 1024
SHOWN_CHARACTERS_MAX = 200
"""The most characters of an exception's text in the refusal of a file."""
WRITTEN_PIECE_BYTES = 128 * 1024
"""The size of a piece: one is made within a millisecond."""


_COPY_AGAIN = "copy the snapshot again, or save it once more"


class SnapshotError(ValueError):
    """The input is not a usable snapshot. The text has the reason (`wrong`) and the advice (`remedy`)."""

    def __init__(self, wrong: str, remedy: str) -> None:
        super().__init__(f"{wrong}; {remedy}")
        self.wrong = wrong
        self.remedy = remedy


def described(wrong: Exception) -> str:
    """Return an exception as a part of one sentence: printable and short, although a file may have chosen the text."""
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in str(wrong)[:SHOWN_CHARACTERS_MAX])
    return f"{type(wrong).__name__}: {text}"


def write_snapshot(state: EngineState, out: BufferedIOBase) -> None:
    """Write a state to `out` in one pass; `out` is neither flushed nor closed."""
    for piece in snapshot_pieces(state):
        out.write(piece)


def snapshot_pieces(state: EngineState) -> Iterator[bytes]:
    """Return a snapshot in pieces of at most WRITTEN_PIECE_BYTES.

    The engine may continue between the pieces: tables and units are encoded before this function returns. The log is
    not copied, because bytes once appended to a segment never change. The pieces may be made on another thread.
    """
    frames = [_json_frame(ENGINE, engine_to_json(state))]
    for broker in state.brokers:
        frames.append(_json_frame(BROKER, broker_to_json(broker)))
        frames.append(_Frame(UNITS, *((part, len(part)) for queue in broker.queues for part in _packed(queue))))
        frames += [_Frame(SEGMENT, *broker.log.parts(number)) for number in broker.log.segments]
    frames.append(_Frame(DONE))
    return _checked(frames)


def read_snapshot(source: BufferedIOBase) -> EngineState:
    """Read a state, in one pass to the end. Raises SnapshotError if it is incomplete, damaged or inconsistent."""
    frames = _Reader(source)
    try:
        state, brokers = engine_from_json(_parsed(frames.read(ENGINE)))
        state.brokers = [_read_broker(frames) for _ in range(brokers)]
        frames.read(DONE)
        check_state(state)
    except SnapshotError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, ConfigError, SqlError) as wrong:
        # The checksums are right, so the writer used another format.
        raise SnapshotError(
            f"it has content that this version cannot read ({described(wrong)})",
            "use the version of rocketmq-testkit that has written it",
        ) from None
    except RecursionError:
        raise SnapshotError(
            "its tables are nested too deeply", "use the version of rocketmq-testkit that has written it"
        ) from None
    frames.expect_end()
    return state


def _read_broker(frames: "_Reader") -> BrokerState:
    broker, counts = broker_from_json(_parsed(frames.read(BROKER)))
    units = memoryview(frames.read(UNITS))
    for queue, count in zip(broker.queues, counts, strict=True):
        units = _unpack(queue, count, units)
    if units:
        raise ValueError(f"{len(units)} bytes of units belong to no queue")
    for number in broker.log.segments:
        broker.log.segments[number] = frames.read(SEGMENT)
    return broker


# frames


class _Frame:
    """Kind and content of a frame: parts, each with the number of its bytes that count, because it may grow later."""

    def __init__(self, kind: bytes, *parts: tuple[bytes | bytearray | memoryview, int]) -> None:
        self.kind = kind
        self._parts = parts
        self.length = sum(length for _, length in parts)

    def pieces(self) -> Iterator[bytes]:
        """Yield the content. A slice copies; a view of a segment would keep the engine from appending to it."""
        for part, length in self._parts:
            for at in range(0, length, WRITTEN_PIECE_BYTES):
                yield bytes(part[at : min(at + WRITTEN_PIECE_BYTES, length)])


def _checked(frames: Iterable[_Frame]) -> Iterator[bytes]:
    """Yield the bytes of a file with these frames and their checks."""
    piece = MAGIC + _NUMBER.pack(VERSION)
    yield piece
    check = crc32(piece)
    for frame in frames:
        head = _HEAD.pack(frame.kind, frame.length)
        head += _NUMBER.pack(crc32(head, check))
        yield head
        check = crc32(head, check)
        for piece in frame.pieces():
            yield piece
            check = crc32(piece, check)
        end = _NUMBER.pack(check)
        yield end
        check = crc32(end, check)


class _Reader:
    """Reads a file frame by frame, and compares each checksum."""

    def __init__(self, source: BufferedIOBase) -> None:
        self._source = source
        self._check = 0
        magic = self._source.read(len(MAGIC))
        if magic != MAGIC:
            if MAGIC.startswith(magic):
                raise _cut_off()
            raise SnapshotError(
                f"it is no snapshot, since it begins with {magic!r}", "give a file that a snapshot was saved to"
            )
        self._check = crc32(magic)
        version = _NUMBER.unpack(self._take(_NUMBER.size))[0]
        if version > VERSION:
            raise SnapshotError(
                f"its format is version {version}, and versions up to {VERSION} are known here",
                "update rocketmq-testkit, or save the snapshot with an older one",
            )
        if version < 1:
            raise _damaged("version of the format")

    def read(self, wanted: bytes) -> bytearray:
        """Return the content of the next frame, which must be of this kind."""
        kind, length = _HEAD.unpack(self._take(_HEAD.size))
        self._compare("head of a section")
        if kind != wanted:
            raise ValueError(f"there is a section {kind.decode(errors='replace')} instead of {wanted.decode()}")
        content = self._take(length)
        self._compare(f"section {kind.decode()}")
        return content

    def expect_end(self) -> None:
        if self._source.read(1):
            raise SnapshotError("there are bytes after its end", "save the snapshot once more")

    def _compare(self, part: str) -> None:
        expected = self._check
        if _NUMBER.unpack(self._take(_NUMBER.size))[0] != expected:
            raise _damaged(part)

    def _take(self, size: int) -> bytearray:
        """Read `size` bytes in pieces, because a file may declare a length that it does not have."""
        data = bytearray()
        while len(data) < size:
            found = self._source.read(min(size - len(data), _PIECE_BYTES))
            if not found:
                raise _cut_off()
            data += found
        self._check = crc32(data, self._check)
        return data


def _cut_off() -> SnapshotError:
    return SnapshotError("it ends too early", _COPY_AGAIN)


def _damaged(part: str) -> SnapshotError:
    return SnapshotError(f"it is damaged (the {part} has a wrong checksum)", _COPY_AGAIN)


# contents


def _json_frame(kind: bytes, form: dict[str, Any]) -> _Frame:
    content = json.dumps(form, separators=(",", ":")).encode()
    return _Frame(kind, (content, len(content)))


def _parsed(content: bytearray) -> dict[str, Any]:
    form = json.loads(content)
    if not isinstance(form, dict):
        raise TypeError("a section is no object")
    return form


def _packed(queue: ConsumeQueue) -> Iterator[memoryview]:
    for column in (queue.physical, queue.sizes, queue.tags_codes):
        yield memoryview(_big_endian(column)).cast("B")


def _unpack(queue: ConsumeQueue, count: int, units: memoryview) -> memoryview:
    """Fill a queue from the first units; return the remaining bytes."""
    for column in (queue.physical, queue.sizes, queue.tags_codes):
        assert isinstance(column, array)  # the queue is new
        size = count * column.itemsize
        if len(units) < size:
            raise ValueError(f"there are too few units for queue {queue.queue_id} of {queue.topic}")
        column.frombytes(units[:size])
        units = units[size:]
        if sys.byteorder == "little":
            column.byteswap()
    return units


def _big_endian(column: "array[int] | SharedColumn") -> "array[int]":
    """Return a copy of a column in the byte order of the file."""
    turned = column[:]
    if sys.byteorder == "little":
        turned.byteswap()
    return turned
