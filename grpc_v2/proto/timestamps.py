"""Timestamps and durations of the protocol as milliseconds and back.

Own arithmetic, because the classes' own methods refuse what is out of their calendar's range.
"""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp


def timestamp_ms(timestamp: Timestamp) -> int:
    """Milliseconds since the epoch, rounded down."""
    return timestamp.seconds * 1000 + timestamp.nanos // 1_000_000


def set_timestamp(timestamp: Timestamp, ms: int) -> None:
    """Write milliseconds since the epoch."""
    timestamp.seconds, rest = divmod(ms, 1000)
    timestamp.nanos = rest * 1_000_000


def duration_ms(duration: Duration) -> int:
    """Milliseconds, rounded towards zero."""
    nanos = duration.nanos
    return duration.seconds * 1000 + (nanos // 1_000_000 if nanos >= 0 else -(-nanos // 1_000_000))


def set_duration(duration: Duration, ms: int) -> None:
    """Write milliseconds (>= 0)."""
    duration.seconds, rest = divmod(ms, 1000)
    duration.nanos = rest * 1_000_000
