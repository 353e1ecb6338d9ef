"""Counters of a broker are found by upstream's names and keys."""

import pytest
from engine_harness import make_harness

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("QUEUE_PUT_NUMS", f"{SCHEDULE}@0"),
        ("QUEUE_PUT_SIZE", f"{SCHEDULE}@0"),
        ("QUEUE_GET_NUMS", f"{SCHEDULE}@0@SCHEDULE_CONSUMER"),
    ],
)
def test_counters_of_a_delay_level_are_found_by_number_and_size(name: str, key: str) -> None:
    harness = make_harness(enable_detail_stat=True)
    harness.topic("A")
    harness.send("A", DELAY="1")
    harness.advance(5_000)
    stats = harness.broker.store.stats.by_name
    assert stats.find(name, key) is not None
    assert stats.find(name.removesuffix("_NUMS").removesuffix("_SIZE"), key) is stats.find(name, key)
    assert stats.find(name, f"{SCHEDULE}@1") is None


@pytest.mark.parametrize(("key", "is_known"), [("0@A@G", True), ("1@A@G", False), ("0@A@H", False)])
def test_latency_of_a_group_is_known_for_queues_that_it_has_read(key: str, is_known: bool) -> None:
    harness = make_harness(enable_detail_stat=True)
    harness.topic("A", 2)
    harness.send("A", queue=0)
    harness.pull("A")
    assert (harness.broker.store.stats.by_name.find("GROUP_GET_LATENCY", key) is not None) is is_known
