"""Check points and acknowledgements as messages of the revive topic."""

import json

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.pop.check_point import Ack, CheckPoint
from rocketmq_testkit.emulator.pop.revive_log import ReviveLog
from stored import stored

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
