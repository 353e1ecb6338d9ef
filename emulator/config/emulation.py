"""Keys of the emulator itself: its own limits, and the deliberate differences from upstream.

A difference that a client can see must have a key with upstream's behavior as its default. Such a key is in this file,
in the gRPC configuration, or among the keys that simulate failures of one broker (`broker.ON_DEMAND`).
The profile `fast` of the fixtures sets such keys, the profile `faithful` sets none.
"""

from dataclasses import dataclass

from .keys import Config, key


@dataclass
class EmulationConfig(Config):
    """The emulator as a whole, across brokers."""

    store_max_bytes: int = key(
        512 * 1024 * 1024,
        "Stored bytes of a broker; above it the oldest segments are dropped, as upstream's clean-up does.",
        unit="bytes",
        low=1024 * 1024,
    )
    journal_max_entries: int = key(100_000, "Entries that the journal holds; the oldest are dropped.", low=0)
    journal_max_bytes: int = key(
        64 * 1024 * 1024,
        "Memory that the entries of the journal take, by an estimate; the oldest are dropped.",
        unit="bytes",
        low=0,
    )
    topic_queue_nums_max: int = key(
        16_384,
        "Read or write queues of a topic, and of a group's retry topic; a request for more is refused. Upstream accepts"
        " up to 2147483647, and its views of such a topic run out of memory.",
        low=1,
        high=0x7FFFFFFF,
    )
    pull_hold_check_interval: int = key(
        5000, "Upstream looks at waiting pulls this often; 1 ends each at its own instant.", unit="ms", low=1
    )
    delay_level_check_interval: int = key(
        100,
        "Upstream looks at the head of each delay level this often; 1 delivers at the exact instant.",
        unit="ms",
        low=1,
    )
    empty_queue_offset_zero: bool = key(
        False, "A group without offset on an empty, never trimmed queue is told offset 0 instead of 'not found'."
    )
    retry_topic_on_route_query: bool = key(
        False,
        "A route query for the retry topic of a consumer group creates the topic. Upstream creates it with the first "
        "heartbeat, and a remoting SDK that asked before then reads it up to 50 s later.",
    )
    wake_poll_on_redelivery: bool = key(False, "A message that becomes visible again wakes waiting pops.")
