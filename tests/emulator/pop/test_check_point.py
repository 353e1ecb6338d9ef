"""Check points and acknowledgements as messages of the revive topic."""

import json
from typing import Any

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.operations.consume import BatchAck, BatchAckMessage, bit_set
from rocketmq_testkit.emulator.pop.check_point import Ack, CheckPoint
from rocketmq_testkit.emulator.pop.revive_log import ReviveLog
from stored import filled, stored, stored_bodies

REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"
BODY = {"c": "G", "pt": 7, "q": 1, "so": 5, "t": "T"}


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness()


def written(harness: EngineHarness, ack: Ack, *, batch: bool) -> tuple[str, str, dict[str, object]]:
    """Store an acknowledgement; return tag, key and decoded body of its message."""
    log = ReviveLog("DefaultCluster", harness.broker.store, harness.broker.timers)
    assert log.write_ack(ack, 0, harness.now_ms, harness.now_ms, batch=batch)
    (record,) = stored(harness, REVIVE)
    properties = record.property_map()
    return properties["TAGS"], properties["UNIQ_KEY"], json.loads(record.body)


@pytest.mark.parametrize(
    ("broker", "batch", "tag", "key", "body"),
    [
        ("b", False, "ack", "T@1@5@G@7@b@ack", {"ao": 5, "bn": "b"}),
        ("b", True, "bAck", "T@1@-1@G@7@b@ack", {"ao": -1, "aol": [5, 6], "bn": "b"}),
        (None, False, "ack", "T@1@[5, 6]@G@7@ack", {"ao": 5}),
        (None, True, "bAck", "T@1@[5, 6]@G@7@bAck", {"ao": 0, "aol": [5, 6]}),
    ],
)
def test_an_acknowledgement_is_stored_with_its_key(
    harness: EngineHarness, broker: str | None, batch: bool, tag: str, *, key: str, body: dict[str, object]
) -> None:
    """The key has the offsets and ends with the tag; acknowledgements of the merge buffer have no broker name."""
    ack = Ack("T", "G", 1, 5, 7, broker, [5, 6])
    assert written(harness, ack, batch=batch) == (tag, key, BODY | body)


def test_a_check_point_is_stored_with_its_key(harness: EngineHarness) -> None:
    """A check point is readable one second before its invisible duration ends."""
    point = CheckPoint("T", "G", 1, 5, harness.now_ms, 10_000, "b", [0, 1])
    assert ReviveLog("DefaultCluster", harness.broker.store, harness.broker.timers).write_check_point(point, 0)
    assert stored(harness, REVIVE) == []
    harness.advance(9_000)
    (record,) = stored(harness, REVIVE)
    properties = record.property_map()
    assert (properties["TAGS"], properties["UNIQ_KEY"]) == ("ck", f"T@1@5@G@{START_MS}@b@ck")
    assert record.body == point.to_json()


@pytest.mark.parametrize("bits", [0b10, 0b11])
def test_each_entry_of_a_batch_acknowledgement_is_stored_as_a_batch(bits: int) -> None:
    """An entry is a `bAck` even if it acknowledges one offset (AckMessageProcessor.appendAck)."""
    harness = make_harness()
    filled(harness, 2)
    harness.popped("A", invisible_ms=1000)
    pop = harness.last_pop
    entry = BatchAck("G", "A", "0", 0, 0, pop.revive_qid, pop.pop_time, pop.invisible_ms, bit_set(bits))
    harness.engine.execute(harness.broker, BatchAckMessage([entry]))
    harness.advance(1000)
    _point, record = stored(harness, REVIVE, pop.revive_qid)
    body = json.loads(record.body)
    key = f"A@0@-1@G@{pop.pop_time}@{harness.broker.name}@ack"
    assert (record.property_map()["TAGS"], record.property_map()["UNIQ_KEY"]) == ("bAck", key)
    assert (body["ao"], body["aol"]) == (-1, [offset for offset in (0, 1) if bits >> offset & 1])


POINT = BODY | {"bm": 0, "bn": "b", "d": [0, 1], "it": 9, "n": 2}
ACK = BODY | {"ao": 5, "bn": "b"}
DEEP = b"[" * 100_000
WRONG_MEMBERS: list[dict[str, Any]] = [
    *({name: []} for name in ("t", "c", "q", "so", "pt")),
    *({name: 1 << 63} for name in ("q", "so", "pt")),
    {"q": 1 << 31},
    {"bn": {}},
]
WRONG_COUNTS: list[Any] = [[1], {}, float("inf"), float("nan"), "x", 128]

MALFORMED = {
    "deep list": DEEP,
    "deep object": b'{"t":' + DEEP,
    "no UTF-8": b"\xff",
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "long number": b'{"so": ' + b"9" * 5_000 + b"}",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_body_that_is_no_json_object_is_rejected(body: bytes) -> None:
    """Both decoders raise ValueError for each malformed body, so that the broker ignores its message."""
    with pytest.raises(ValueError):
        CheckPoint.from_json(body, 0)
    with pytest.raises(ValueError):
        Ack.from_json(body)


@pytest.mark.parametrize(
    "members",
    [
        *WRONG_MEMBERS,
        *({"d": None, "n": count} for count in WRONG_COUNTS),
        *({"d": offsets} for offsets in ([1 << 31], ["0"], [[0]], "0")),
        *({"it": duration} for duration in (None, 1 << 63)),
        {"bm": 1 << 31},
    ],
    ids=str,
)
def test_a_check_point_with_a_member_of_a_wrong_type_is_rejected(members: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        CheckPoint.from_json(json.dumps(POINT | members).encode(), 0)


@pytest.mark.parametrize("members", [*WRONG_MEMBERS, {"ao": 1 << 63}, {"ao": []}, {"aol": [1 << 63]}], ids=str)
def test_an_acknowledgement_with_a_member_of_a_wrong_type_is_rejected(members: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Ack.from_json(json.dumps(ACK | members).encode())


@pytest.mark.parametrize(
    ("text", "times"), [(None, 0), ("3", 3), (3, 3), ("-5", 0), ("", 127), ("x", 127), ([1], 127), (1 << 31, 127)]
)
def test_an_unreadable_number_of_failed_copies_counts_as_127(text: object, times: int) -> None:
    """Upstream reads a text that is not a number as 127 (PopCheckPoint.parseRePutTimes)."""
    assert CheckPoint.from_json(json.dumps(POINT | {"rp": text}).encode(), 0).re_put_times == times


@pytest.mark.parametrize("members", [{"rp": [1]}, {"rp": "-100"}, {"bn": "\ud800"}, {"d": None, "n": [1]}], ids=str)
def test_a_forged_check_point_does_not_stop_its_revive_queue(members: dict[str, object]) -> None:
    """The broker still redelivers the message of a later check point in the revive queue of a forged one."""
    harness = make_harness(revive_queue_num=1)
    filled(harness, 1)
    body = json.dumps(POINT | {"t": "A", "q": 0, "so": 0, "pt": harness.now_ms, "it": 1000} | members).encode()
    harness.send(REVIVE, body, TAGS="ck", TIMER_DELIVER_MS=str(harness.now_ms + 500))
    harness.popped("A", invisible_ms=10_000)
    harness.advance(60_000)
    assert b"0" in stored_bodies(harness, "%RETRY%G_A")
