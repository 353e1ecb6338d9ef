"""A counter and its snapshots for minute, hour and day."""

import pytest
from rocketmq_testkit.emulator.stats.broker_stats import TopicGroupTable
from rocketmq_testkit.emulator.stats.stats_item import EMPTY, StatsItem, StatsSnapshot

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def test_a_stats_item_has_no_snapshot_before_its_first_sample() -> None:
    """A counter has no snapshot before its first sample; samples come every ten seconds of the broker's run."""
    item = StatsItem(0, 4_000)
    item.add(6, 600, 4_000)
    assert item.snapshots(9_999) == [EMPTY, EMPTY, EMPTY]
    assert item.snapshots(10_000) == [StatsSnapshot(6, 0.6, 6.0), EMPTY, EMPTY]
    assert item.snapshots(10_000, size=True)[0] == StatsSnapshot(600, 60.0, 600.0)


def test_a_minute_snapshot_covers_seven_samples() -> None:
    """A minute has seven samples; counts before the first sample are in none of its figures."""
    item = StatsItem(0, 0)
    item.add(10, 0, 5_000)
    item.add(20, 0, 15_000)
    assert item.snapshots(20_000)[0] == StatsSnapshot(30, 1.5, 15.0)
    assert item.snapshots(69_999)[0] == StatsSnapshot(30, 0.5, 15.0)
    assert item.snapshots(70_000)[0] == StatsSnapshot(20, 20 / 60, 20.0)
    assert item.snapshots(80_000)[0] == EMPTY


@pytest.mark.parametrize(("span", "told_ms", "gone_ms"), [(1, 600_000, 7 * 600_000), (2, HOUR_MS, DAY_MS + HOUR_MS)])
def test_an_hour_is_sampled_every_ten_minutes_and_a_day_every_hour(span: int, told_ms: int, gone_ms: int) -> None:
    item = StatsItem(0, 0)
    item.add(3, 0, 1)
    assert item.snapshots(told_ms - 1)[span] == EMPTY
    assert item.snapshots(told_ms)[span] == StatsSnapshot(3, 3000 / told_ms, 3.0)
    assert item.snapshots(gone_ms - 1)[span].sum == 3
    assert item.snapshots(gone_ms)[span] == EMPTY


def test_querying_a_stats_item_does_not_change_its_snapshots() -> None:
    """A counter that is queried once after days returns the same as one that is queried continually."""
    asked, left_alone = StatsItem(0, 0), StatsItem(0, 0)
    for now in (1_000, 30_000, 2 * MINUTE_MS, HOUR_MS + 5, 3 * HOUR_MS):
        for item in (asked, left_alone):
            item.add(1, 7, now)
        asked.snapshots(now + 500)
    for now in (3 * HOUR_MS + 9_000, 3 * HOUR_MS + 40_000, 5 * HOUR_MS, 3 * DAY_MS):
        assert asked.snapshots(now) == left_alone.snapshots(now)
        assert asked.snapshots(now, size=True) == left_alone.snapshots(now, size=True)


def test_counts_with_zero_times_do_not_change_the_divisor_of_the_average() -> None:
    """Messages counted with `times=0` do not change the number of times by which the average is divided."""
    item = StatsItem(0, 0)
    item.add(1, 50, 0)
    item.add(3, 0, 0, times=0)
    assert item.snapshots(10_000)[0] == StatsSnapshot(4, 0.4, 4.0)


def test_deleting_a_group_keeps_the_items_of_other_groups_of_its_topics() -> None:
    """A topic without groups is removed; a topic with another group keeps that group's item."""
    table = TopicGroupTable[str]()
    table.make("orders", "billing", "1")
    table.make("orders", "shipping", "2")
    table.make("payments", "billing", "3")
    table.delete_group("billing")
    assert [table.find("orders", "shipping"), table.find("orders", "billing")] == ["2", None]
    table.delete_topic("payments")
    table.delete_group("shipping")
    table.delete_topic("orders")
    assert table.find("orders", "shipping") is None
