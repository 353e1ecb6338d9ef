"""Store statistics of a broker, and the time spans of its rates."""

from collections.abc import Callable
from functools import partial

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, dlq_topic
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult
from rocketmq_testkit.emulator.stats.broker_stats import BrokerStats
from rocketmq_testkit.emulator.stats.store_stats import DAY_MS, DayTotals, StoreStats

MIDNIGHT = 20_000 * DAY_MS


def store_stats(start_ms: int) -> Callable[[int], StoreStats]:
    """Create the counters of a broker that starts at a time. The result advances the clock and returns the counters."""
    scheduler = Scheduler(start_ms)
    stats = StoreStats(scheduler, partial(BrokerStats, BrokerConfig(), scheduler))

    def at(now_ms: int) -> StoreStats:
        scheduler.advance_to(now_ms)
        return stats

    return at


def test_a_rate_is_empty_until_its_time_span_is_sampled() -> None:
    """A rate compares the last sample with those 10, 60 and 600 s before; later counts are not included."""
    at = store_stats(0)
    at(500).count_stored("T", 5, 0)
    assert at(10_999).rates()["putTps"] == "  "
    assert at(11_000).rates()["putTps"] == "0.0  "
    at(11_500).count_stored("T", 30, 0)
    assert at(11_999).rates()["putTps"] == "0.0  "
    assert at(12_000).rates()["putTps"] == "3.0  "
    assert at(21_000).rates()["putTps"] == "3.0  "
    assert at(22_000).rates()["putTps"] == "0.0  "
    assert at(61_000).rates()["putTps"] == "0.0 0.5 "
    assert at(601_000).rates()["putTps"] == "0.0 0.0 0.05"


def test_rates_after_an_idle_time_use_the_count_that_was_current_then() -> None:
    """Samples missing during an idle time have the count that was current then."""
    at = store_stats(0)
    for now in (100, 700_000):
        at(now).count_stored("T", 600, 0)
    assert at(700_999).rates()["putTps"] == "0.0 0.0 0.0"
    assert at(701_000).rates()["putTps"] == "60.0 10.0 1.0"
    assert at(5_000_000).rates()["putTps"] == "0.0 0.0 0.0"


def test_reads_are_counted_as_found_missed_and_by_messages() -> None:
    """Reads are counted as found, missed, both together, and by messages."""
    at = store_stats(0)
    for messages in (4, 6, 0):
        at(1).count_read("T", "G", messages, 0)
    at(1_000).catch_up()
    rates = at(11_000).rates()
    assert (rates["getFoundTps"], rates["getMissTps"], rates["getTransferredTps"]) == ("0.0  ", "0.0  ", "0.0  ")
    at(11_001).count_read("T", "G", 20, 0)
    at(11_001).count_read("T", "G", 0, 0)
    rates = at(12_000).rates()
    assert (rates["getFoundTps"], rates["getMissTps"], rates["getTransferredTps"]) == ("0.1  ", "0.1  ", "2.0  ")
    assert rates["getTotalTps"] == "0.2 0.0 0.0"
    assert at(12_000).got == 30


@pytest.mark.parametrize(("days", "yesterday"), [(1, DayTotals()), (2, DayTotals(7, 2))])
def test_the_totals_at_midnight_are_kept_for_today_and_yesterday(days: int, yesterday: DayTotals) -> None:
    """At midnight today's totals become yesterday's, without a timer."""
    at = store_stats(MIDNIGHT - 5_000)
    at(MIDNIGHT - 1).count_stored("T", 7, 0)
    at(MIDNIGHT - 1).count_read("T", "G", 2, 0)
    stats = at(MIDNIGHT - 1)
    assert stats.today == DayTotals()
    at(MIDNIGHT + (days - 1) * DAY_MS).count_stored("T", 1, 0)
    assert (stats.today, stats.yesterday, stats.put) == (DayTotals(7, 2), yesterday, 8)


def test_system_topics_and_dead_letters_count_only_in_rates_and_sizes() -> None:
    at = store_stats(0)
    for topic in (SCHEDULE_TOPIC, "rmq_sys_X", dlq_topic("G"), "%RETRY%G", "T"):
        at(0).count_stored(topic, 1, 10)
    stats = at(0)
    assert (stats.puts, stats.put_bytes, stats.put) == (5, 50, 2)


def test_store_statistics_start_at_0_after_a_restart(harness: EngineHarness) -> None:
    """After a restart the counters start at 0, and the stored messages stay."""
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    harness.pull("A")
    assert _runtime_info(harness)["msgPutTotalTodayNow"] == "3"
    assert _runtime_info(harness)["msgGetTotalTodayNow"] == "3"
    harness.broker.stop()
    harness.broker.start()
    assert _runtime_info(harness)["msgPutTotalTodayNow"] == "0"
    harness.send("A")
    info = _runtime_info(harness)
    assert (info["msgPutTotalTodayNow"], info["putMessageTimesTotal"]) == ("1", "1")
    assert float(info["putMessageAverageSize"]) == float(info["putMessageSizeTotal"])


def _runtime_info(harness: EngineHarness) -> dict[str, str]:
    return harness.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table
