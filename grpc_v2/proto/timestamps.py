"""Convert timestamps and durations of the protocol to milliseconds and back.

The methods of the protobuf classes are not used, because they reject timestamps outside the years 1 to 9999, and
durations of more than 10,000 years.
"""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp


def timestamp_ms(timestamp: Timestamp) -> int:
    """Return milliseconds since the epoch, rounded down."""
    return timestamp.seconds * 1000 + timestamp.nanos // 1_000_000


def set_timestamp(timestamp: Timestamp, ms: int) -> None:
    """Set a timestamp from milliseconds since the epoch."""
    timestamp.seconds, rest = divmod(ms, 1000)
    timestamp.nanos = rest * 1_000_000


def duration_ms(duration: Duration) -> int:
    """Return milliseconds, rounded towards zero."""
    nanos = duration.nanos
    return duration.seconds * 1000 + (nanos // 1_000_000 if nanos >= 0 else -(-nanos // 1_000_000))


def set_duration(duration: Duration, ms: int) -> None:
    """Set a duration from milliseconds (>= 0)."""
    duration.seconds, rest = divmod(ms, 1000)
    duration.nanos = rest * 1_000_000
