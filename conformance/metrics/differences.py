"""Differences between the metrics of the emulator and those of a real broker after the same traffic, with the reasons.

A value that is not determined depends on the moment of the scrape or on the speed of the machine.
"""

import re
from collections.abc import Mapping

DELIBERATE: Mapping[str, str] = {
    "rocketmq_pop_buffer_scan_time_consume_milliseconds_.*": "upstream scans the merge buffer each 5 ms; the "
    "emulator only schedules scans that find something, and they take no time",
    "rocketmq_storage_size_bytes": "upstream reports the used bytes of the machine's disk; the emulator "
    "reports the bytes of the commit log",
    "rocketmq_timer_enqueue_.*": "upstream moves messages into the timer wheel some milliseconds after their storage; "
    "the emulator does so at once",
    "rocketmq_(topic|consumer_group)_create_execution_time_milliseconds_(sum|bucket)": "operations take no time in the "
    "emulator",
}
"""Values that differ on purpose: a pattern of names, and the reason."""
NOT_DETERMINED: Mapping[str, str] = {
    ".*_latency_milliseconds": "ages at the moment of the scrape",
    "rocketmq_storage_message_reserve_time_milliseconds": "an age at the moment of the scrape",
    "rocketmq_storage_flush_behind_bytes": "the moment of the last flush",
    "rocketmq_delay_message_latency_seconds_sum": "the milliseconds between a message's creation and its arrival",
    "rocketmq_rpc_latency_milliseconds_(sum|bucket)": "the speed of the machine",
    "rocketmq_finish_message_latency_milliseconds_(sum|bucket)": "the speed of the machine",
}
"""Values that are compared by name and labels only: a pattern of names, and what they depend on."""
POLLED = "get_max_offset"
"""The request that the traffic repeats while it waits; the number of its responses is not determined."""
EARLY = re.compile("rocketmq_(timer_(dequeue_lag|message_snapshot|enqueue_total)|timing_messages)")
"""Values that are not determined just after a send: messages are still on their way into the timer wheel."""


def reason(name: str, moment: str) -> str | None:
    """Return the reason why the values of a name are not compared; None if they must be equal."""
    for pattern, why in [*DELIBERATE.items(), *NOT_DETERMINED.items()]:
        if re.fullmatch(pattern, name):
            return why
    if moment == "middle" and EARLY.fullmatch(name):
        return "messages are on their way into the timer wheel"
    return None
