"""Inspection of a harness in virtual time, and messages in every state."""

from typing import Any

from engine_harness import EngineHarness
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.operations.send import SendMessageBack

STATES = ("stored", "delayed", "timed", "half", "discarded", "retry", "dead")
"""The states of copies, in the order in which `in_every_state` sends the messages."""
_HOUR_MS = 3_600_000
BUFFERED: dict[str, Any] = {"enable_pop_buffer_merge": True}
KV: dict[str, Any] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "log": ({}, "log"),
    "buffer": (BUFFERED, "buffer"),
    "kv": (KV, "kv"),
    "kv-cache": (BUFFERED | KV, "kv"),
}
"""Variant -> keys by which a broker keeps popped messages in another table, and the name of that table."""


def look(harness: EngineHarness) -> Inspection:
    """Return the inspection of a harness without servers."""
    return Inspection(harness.engine, NoSurroundings())


def in_every_state(harness: EngineHarness) -> dict[str, str]:
    """Send a message of topic A into each state; return the ids by state. Group H has the retry and the dead letter."""
    harness.topic("A")
    ids = {state: f"7F0000010A2B18B4AAC2{index:012X}" for index, state in enumerate(STATES)}
    start_ms = harness.now_ms
    harness.send("A", b"stored", UNIQ_KEY=ids["stored"], KEYS="k1 k2", TAGS="a")
    harness.send("A", b"delayed", UNIQ_KEY=ids["delayed"], DELAY="17")
    harness.send("A", b"timed", UNIQ_KEY=ids["timed"], TIMER_DELIVER_MS=str(start_ms + 2 * _HOUR_MS))
    harness.send("A", b"half", UNIQ_KEY=ids["half"], TRAN_MSG="true", PGROUP="P", CHECK_IMMUNITY_TIME_IN_SECONDS="9999")
    harness.broker.topics.create_internal(names.TRANS_CHECK_MAX_TIME_TOPIC, 1)
    harness.send(
        "A", b"discarded", UNIQ_KEY=ids["discarded"], TRAN_MSG="true", PGROUP="P", TRANSACTION_CHECK_TIMES="99"
    )
    harness.advance(1)
    for state, level in (("retry", 1), ("dead", -1)):
        sent = harness.send("A", state.encode(), UNIQ_KEY=ids[state])
        harness.engine.execute(harness.broker, SendMessageBack("H", sent.physical_offset, level, origin_topic="A"))
    harness.advance(60_000)
    return ids
