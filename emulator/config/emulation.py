"""Keys of the emulator itself: limits of its memory, and deliberate differences from upstream.

A difference that a client can see must have a key with upstream's behavior as its default. Such a key is in this file,
in the gRPC configuration, or among the keys that simulate failures of one broker (`broker.FAULT_KEYS`). Limits are the
exception: by default they bound the memory of the emulator, also where upstream has no such limit.
The profile `fast` of the fixtures sets such keys, the profile `faithful` sets none.
"""

from dataclasses import dataclass

from .keys import Config, key


@dataclass(repr=False, eq=False, kw_only=True)
class EmulationConfig(Config):
    """Keys that upstream does not have, the same for all brokers; `storeMaxBytes` limits each broker separately."""

    store_max_bytes: int = key(
        512 * 1024 * 1024,
        "Maximum size of a broker's commit log; above it the oldest segments (upstream: files of the commit log) are"
        " deleted, as by upstream's clean-up.",
        unit="bytes",
        low=1024 * 1024,
    )
    journal_max_entries: int = key(
        100_000, "Maximum number of entries of the journal; the oldest are discarded.", low=0
    )
    journal_max_bytes: int = key(
        64 * 1024 * 1024,
        "Maximum memory of the journal's entries, as estimated; the oldest are discarded.",
        unit="bytes",
        low=0,
    )
    delivery_record_max_entries: int = key(
        65_536,
        "Maximum number of records of deliveries and acknowledgements, 32 bytes each, which `explain` and `history`"
        " read; the oldest are discarded. 0 keeps none.",
        low=0,
        high=0x7FFFFFFF,
    )
    topic_queue_nums_max: int = key(
        16_384,
        "Maximum number of read or write queues of a topic, and of a group's retry topic; a request for more is"
        " rejected. Upstream accepts up to 2147483647, but runs out of memory when it lists the queues of such a"
        " topic.",
        low=1,
        high=0x7FFFFFFF,
    )
    pull_hold_check_interval: int = key(
        5000,
        "Interval at which waiting pulls are checked for their timeout, as by upstream; 1 ends each pull at its"
        " exact instant.",
        unit="ms",
        low=1,
    )
    delay_level_check_interval: int = key(
        100,
        "Interval at which the head of each delay level is checked, as by upstream; 1 delivers each message at its"
        " exact instant.",
        unit="ms",
        low=1,
    )
    empty_queue_offset_zero: bool = key(
        False,
        "A query for the committed offset of a group that has none returns 0 instead of QUERY_NOT_FOUND, if the queue"
        " has never stored a message.",
    )
    retry_topic_on_route_query: bool = key(
        False,
        "A route query for the retry topic of a consumer group creates the topic. Upstream creates it at the first"
        " heartbeat, so a remoting SDK that queries earlier reads the topic up to 50 s late.",
    )
    wake_poll_on_redelivery: bool = key(False, "A message that becomes visible again wakes waiting pops.")
