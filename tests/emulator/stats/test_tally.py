"""Tallies: the number of their entries is bounded, and no event is lost."""

from collections import Counter
from functools import partial

import pytest
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.stats.broker_stats import BrokerStats
from rocketmq_testkit.emulator.stats.metric_counters import MetricCounters
from rocketmq_testkit.emulator.stats.response_counts import ResponseCounts
from rocketmq_testkit.emulator.stats.sent_messages import NORMAL, SentMessages
from rocketmq_testkit.emulator.stats.store_stats import StoreStats
from rocketmq_testkit.emulator.stats.tally import TALLIED_MAX, Tally

KINDS = 10 * TALLIED_MAX


def test_full_tally_is_settled_before_it_gets_another_kind() -> None:
    totals: Counter[int] = Counter()
    sizes: list[int] = []

    def settle() -> None:
        sizes.append(len(tally))
        totals.update(dict(tally.take()))

    tally: Tally[int] = Tally(settle)
    for _ in range(3):
        for kind in range(TALLIED_MAX):
            tally[kind] += 1
    assert not sizes
    assert len(tally) == TALLIED_MAX
    tally[TALLIED_MAX] += 1
    assert sizes == [TALLIED_MAX]
    assert dict(totals) == dict.fromkeys(range(TALLIED_MAX), 3)
    assert tally.take() == [(TALLIED_MAX, 1)]
    assert not tally


def test_tallies_of_a_broker_stay_bounded_within_a_second() -> None:
    """Many kinds of events before the next sample. All totals are right afterwards."""
    scheduler = Scheduler()
    store = StoreStats(scheduler, partial(BrokerStats, BrokerConfig(), scheduler))
    by_name = store.by_name
    for size in range(1, KINDS + 1):
        store.tally["orders", size] += 1
        store.count_read("orders", "warehouse", 2, size)
        store.count_acknowledgement("orders", f"group-{size}")
        store.count_check_point("orders", f"group-{size}")
        for each in (store.tally, by_name.acked_tally, by_name.checked_tally):
            assert len(each) <= TALLIED_MAX
    whole = sum(range(1, KINDS + 1))
    assert (store.puts, store.put_bytes, store.put, store.got) == (KINDS, whole, KINDS, 2 * KINDS)
    for name in ("BROKER_ACK_NUMS", "BROKER_CK_NUMS"):
        item = by_name.find(name, BrokerConfig().broker_cluster_name)
        assert item is not None
        assert item.messages == KINDS


@pytest.mark.parametrize("size", [1, KINDS])
def test_sends_of_many_sizes_are_all_counted(size: int) -> None:
    sent = SentMessages()
    for each in range(size):
        sent.tally["orders", NORMAL, each, each % 4] += 1
        assert len(sent.tally) <= TALLIED_MAX
    totals = sent.totals()["orders", NORMAL]
    assert (totals.messages, totals.bytes) == (size, sum(range(size)))
    assert sent.queues("orders") == {*range(min(size, 4))}


def test_reads_and_responses_of_many_kinds_are_all_counted() -> None:
    counters, responses = MetricCounters(), ResponseCounts()
    for size in range(KINDS):
        counters.count_out("orders", "warehouse", 1, size)
        responses.tally["SEND_MESSAGE", 0, size, False] += 1
        assert len(responses.tally) <= TALLIED_MAX
    assert counters.out["orders", "warehouse", None] == [KINDS, sum(range(KINDS))]
    assert responses.totals()["SEND_MESSAGE", 0, False].count == KINDS
