"""Check points and acknowledgements of pops: their JSON bodies, and the merge keys by which they match.

Both are stored as timed messages. The timer delivers them to the topic `rmq_sys_REVIVE_LOG_<cluster>`: a check point
one second before the invisible duration ends, an acknowledgement at its end.
Source: PopCheckPoint, AckMsg, BatchAckMsg, PopBufferMergeService (5.3.3).
"""

import json
from dataclasses import field
from functools import lru_cache, partial
from typing import Any

from ..kernel.java_numbers import long_sum, parse_integer
from ..kernel.java_types import fits, java_text
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.value_class import value

CK_TAG = "ck"
ACK_TAG = "ack"
BATCH_ACK_TAG = "bAck"
"""The tags of messages in the revive topic: a check point, an acknowledgement of one message or of several."""
ACK_TIME_INTERVAL_MS = 1000
"""A check point becomes readable this long before its invisible duration ends (PopAckConstants.ackTimeInterval)."""

RE_PUT_INTERVALS_S = (10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Seconds added to the invisible duration each time a copy cannot be stored; the last value repeats."""
_UNREADABLE_TIMES = 127
"""How often a copy could not be stored if `rp` is not a whole number (PopCheckPoint.parseRePutTimes)."""
_TEXT = 0
_BYTE = 8
_INT = 32
_LONG = 64
"""Types of members of a body: a text, or a whole number of so many bits."""
_ACK = {"t": _TEXT, "c": _TEXT, "q": _INT, "so": _LONG, "pt": _LONG}
_POINT = _ACK | {"bn": _TEXT, "it": _LONG, "bm": _INT}
"""The members that a body must have, and their types."""

MergeKey = tuple[str, str, int, int, int, str]
"""(topic, group, queue id, start offset, pop time, broker name)"""


@mypyc_attr(allow_interpreted_subclasses=True)
@value
class CheckPoint:
    """Check point: the messages that one pop took from one queue; bit i of `bits` is set if message i is acknowledged.

    Message i has the queue offset `start_offset` + `diffs[i]`. A check point has at most 32 messages. `pop_time` is in
    ms since the epoch. `re_put_times`: how often a copy of its message could not be stored. `revive_offset`: its offset
    in its revive queue, once it was read from there.
    """

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int
    invisible_ms: int
    broker_name: str
    diffs: list[int] = field(default_factory=list)
    bits: int = 0
    re_put_times: int = 0
    revive_offset: int = 0

    @property
    def revive_ms(self) -> int:
        """End of the invisible duration (ms since the epoch)."""
        return long_sum(self.pop_time, self.invisible_ms)

    def merge_key(self) -> MergeKey:
        """Return the key that an acknowledgement must have to match this check point."""
        return (self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker_name)

    def acknowledge(self, offset: int) -> None:
        """Set the bit of a queue offset; ignore an offset that does not belong to this check point."""
        try:
            self.bits |= 1 << self.diffs.index(offset - self.start_offset)
        except ValueError:
            return

    def unacknowledged(self) -> list[int]:
        """Return the queue offsets whose bit is not set."""
        return [self.start_offset + diff for index, diff in enumerate(self.diffs) if not self.bits >> index & 1]

    def acknowledged(self) -> list[int]:
        """Return the queue offsets whose bit is set."""
        return [self.start_offset + diff for index, diff in enumerate(self.diffs) if self.bits >> index & 1]

    @property
    def is_last_attempt(self) -> bool:
        """True if it was stored again once for each interval of RE_PUT_INTERVALS_S (skipWhenCKRePutReachMaxTimes)."""
        return self.re_put_times >= len(RE_PUT_INTERVALS_S)

    def retry_of(self, offset: int) -> "CheckPoint":
        """Return the check point that retries one message later, after its copy could not be stored."""
        interval_s = RE_PUT_INTERVALS_S[min(self.re_put_times, len(RE_PUT_INTERVALS_S) - 1)]
        return CheckPoint(
            self.topic,
            self.group,
            self.queue_id,
            offset,
            self.pop_time,
            long_sum(self.invisible_ms, interval_s * 1000),
            self.broker_name,
            [0],
            re_put_times=self.re_put_times + 1,
        )

    def to_json(self) -> bytes:
        """Encode the body, with its keys in upstream's order."""
        diffs = self.diffs
        offsets = ",".join(map(str, diffs)) if diffs != [0] else "0"
        again = f'"rp":"{self.re_put_times}",' if self.re_put_times else ""
        return (
            f'{{"bm":{self.bits},"bn":{_quoted(self.broker_name)},"c":{_quoted(self.group)},"d":[{offsets}],'
            f'"it":{self.invisible_ms:d},"n":{len(diffs)},"pt":{self.pop_time:d},"q":{self.queue_id:d},'
            f'"reviveTime":{self.revive_ms},"ro":0,{again}"so":{self.start_offset:d},"t":{_quoted(self.topic)}}}'
        ).encode()

    @staticmethod
    def from_json(body: bytes, revive_offset: int) -> "CheckPoint":
        """Decode a body. Raises ValueError for any other content.

        `d` has the differences of the offsets from the start offset. The older form has only their number, `n`, and its
        offsets are consecutive.
        """
        data = _load(body, _POINT)
        return CheckPoint(
            data["t"],
            data["c"],
            data["q"],
            data["so"],
            data["pt"],
            data["it"],
            data["bn"],
            _whole_numbers(data.get("d") or list(range(_byte(data.get("n")))), _INT),
            data["bm"],
            _times(data.get("rp")),
            revive_offset,
        )


@value
class Ack:
    """Acknowledged queue offsets of one check point. Upstream's merge buffer stores batches without a broker name."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int
    broker_name: str | None
    offsets: list[int]

    def merge_key(self, broker_name: str = "") -> MergeKey:
        """Return the key of the check point that this belongs to; `broker_name` replaces a missing broker name."""
        name = self.broker_name or broker_name
        return (self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, name)

    def to_json(self, *, batch: bool) -> bytes:
        """Encode the body of an `ack` (one offset) or of a `bAck`.

        In a `bAck` the offsets are in `aol`, and `ao` is -1, or 0 if the merge buffer wrote it.
        """
        if not batch and self.broker_name is not None:  # as in nearly all acknowledgements
            return (
                f'{{"ao":{self.offsets[0]},"bn":{_quoted(self.broker_name)},"c":{_quoted(self.group)},'
                f'"pt":{self.pop_time:d},"q":{self.queue_id:d},"so":{self.start_offset:d},"t":{_quoted(self.topic)}}}'
            ).encode()
        not_set = -1 if self.broker_name is not None else 0
        body: dict[str, object] = {"ao": not_set if batch else self.offsets[0]}
        if batch:
            body["aol"] = self.offsets
        if self.broker_name is not None:
            body["bn"] = self.broker_name
        body |= {
            "c": self.group,
            "pt": self.pop_time,
            "q": self.queue_id,
            "so": self.start_offset,
            "t": self.topic,
        }
        return _dump(body)

    @staticmethod
    def from_json(body: bytes) -> "Ack":
        """Decode the body of an `ack` or `bAck`. Raises ValueError for any other content."""
        data = _load(body, _ACK)
        broker_name = data.get("bn")
        if broker_name is not None:
            broker_name = _text(broker_name, "bn")
        offsets = _whole_numbers(data["aol"] if data.get("aol") is not None else [data.get("ao")], _LONG)
        return Ack(data["t"], data["c"], data["q"], data["so"], data["pt"], broker_name, offsets)


def _load(body: bytes, wanted: dict[str, int]) -> dict[str, Any]:
    """Decode a JSON object and check these members and their types; clients can send anything to the revive topic."""
    try:
        data = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not an object")
    for name, kind in wanted.items():
        member = data.get(name)
        if kind == _TEXT:
            data[name] = _text(member, name)
        elif not isinstance(member, int) or not fits(member, kind):
            raise ValueError(f"{name} is no whole number of {kind} bits")
    return data


def _text(member: object, name: str) -> str:
    if not isinstance(member, str):
        raise ValueError(f"{name} is no text")
    return java_text(member)


def _byte(number: object) -> int:
    if number is None:
        return 0
    if not isinstance(number, int | float | str):
        raise ValueError("n is no number")
    try:
        found = int(number)
    except OverflowError:
        raise ValueError("n is infinite") from None
    if not fits(found, _BYTE):
        raise ValueError(f"{found} is no byte")
    return found


def _times(number: object) -> int:
    """Return how often a copy could not be stored, at least 0.

    Upstream has a text here, into which fastjson turns any value. A negative number makes upstream fail later.
    """
    if number is None:
        return 0
    try:
        return max(parse_integer(str(number)), 0)
    except (ValueError, RecursionError):
        return _UNREADABLE_TIMES


_WHOLE = frozenset((int, bool))
"""The types of whole numbers of a JSON document; Java reads true as 1."""


def _whole_numbers(values: object, bits: int) -> list[int]:
    if not isinstance(values, list) or not set(map(type, values)) <= _WHOLE:
        raise ValueError("offsets are no list of whole numbers")
    if values and not (fits(min(values), bits) and fits(max(values), bits)):
        raise ValueError(f"an offset has more than {bits} bits")
    return values


_quoted_short = lru_cache(maxsize=1024)(partial(json.dumps, ensure_ascii=False))
_SHORT = 256
"""The longest name (characters) whose JSON text is cached. Only a hostile client sends longer ones."""


def _quoted(text: str) -> str:
    """Return a name as a JSON string with quotes."""
    return _quoted_short(text) if len(text) <= _SHORT else json.dumps(text, ensure_ascii=False)


def _dump(body: dict[str, object]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
