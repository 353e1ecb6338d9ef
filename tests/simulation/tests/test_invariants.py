"""Tests of the invariants: if the engine has one planted defect, one of the short schedules of CI fails.

The schedules run from number 0 until one fails.
"""

from collections.abc import Callable, Mapping

import pytest
import short_schedules
from rocketmq_testkit.emulator.gate.journal import Journal
from rocketmq_testkit.emulator.group.offset_table import OffsetTable
from rocketmq_testkit.emulator.pop.check_point import Ack, CheckPoint
from rocketmq_testkit.emulator.pop.consumer_order_info import GroupQueue, OrderInfoTable
from rocketmq_testkit.emulator.pop.pop_retry_writer import PopRetryWriter
from rocketmq_testkit.emulator.pop.revive_service import ReviveQueue, ReviveService
from rocketmq_testkit.emulator.store.flush import FlushPosition
from rocketmq_testkit.emulator.store.message_store import MessageStore

SCHEDULES = 2_000
"""Number of short schedules that run in CI."""
Plant = Callable[[pytest.MonkeyPatch], None]


def a_power_loss_loses_messages_whose_flush_was_confirmed(patch: pytest.MonkeyPatch) -> None:
    def flushed_later(self: FlushPosition, now_ms: int, end: int) -> int:
        self.catch_up(now_ms, end)
        return self._flushed

    patch.setattr(FlushPosition, "flushed", flushed_later)


def a_slave_does_not_store_messages_with_tags(patch: pytest.MonkeyPatch) -> None:
    replicate = MessageStore.replicate

    def of_all_others(self: MessageStore, record: bytes, tags_code: int) -> None:
        if not tags_code:
            replicate(self, record, tags_code)

    patch.setattr(MessageStore, "replicate", of_all_others)


def an_unacknowledged_message_is_not_redelivered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PopRetryWriter, "put", lambda *_, **__: True)


def an_ordered_group_gets_messages_while_a_batch_is_in_flight(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OrderInfoTable, "blocks", lambda *_: False)


def a_handle_of_an_earlier_ordered_batch_is_accepted(patch: pytest.MonkeyPatch) -> None:
    acknowledge = OrderInfoTable.acknowledge

    def of_any_batch(self: OrderInfoTable, group_queue: GroupQueue, pop_time: int, offset: int) -> int:
        newest = [info.pop_time for key, info in self.batches() if key == group_queue]
        return acknowledge(self, group_queue, (*newest, pop_time)[0], offset)

    patch.setattr(OrderInfoTable, "acknowledge", of_any_batch)


def a_handle_acknowledges_the_check_point_that_replaced_its_own(patch: pytest.MonkeyPatch) -> None:
    """The old handle of a message whose invisible duration was changed acknowledges the new check point as well."""

    def acknowledge(self: ReviveService, queue: ReviveQueue, ack: Ack) -> bool:
        def concerns(point: CheckPoint) -> bool:
            return (point.topic, point.group, point.queue_id) == (ack.topic, ack.group, ack.queue_id)

        found = [point for each in self._queues.values() for point in each.points.values() if concerns(point)]
        for point in found:
            for offset in ack.offsets:
                point.acknowledge(offset)
        return bool(found)

    patch.setattr(ReviveService, "_acknowledge", acknowledge)


def an_offset_is_committed_beyond_the_end(patch: pytest.MonkeyPatch) -> None:
    commit = OffsetTable.commit

    def too_far(  # noqa: PLR0917 - replaces a method that is called by position
        self: OffsetTable, group: str, topic: str, queue_id: int, offset: int
    ) -> None:
        commit(self, group, topic, queue_id, offset + 1)

    patch.setattr(OffsetTable, "commit", too_far)


def the_journal_grows_without_a_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Journal, "_drop", lambda _self: None)


DEFECTS: Mapping[Plant, str] = {
    a_power_loss_loses_messages_whose_flush_was_confirmed: "with loss of power",
    a_slave_does_not_store_messages_with_tags: "slave 1 of broker-a ends at",
    an_unacknowledged_message_is_not_redelivered: "lost by",
    an_ordered_group_gets_messages_while_a_batch_is_in_flight: "is hidden from all but",
    a_handle_of_an_earlier_ordered_batch_is_accepted: "is committed at",
    a_handle_acknowledges_the_check_point_that_replaced_its_own: "lost by",
    an_offset_is_committed_beyond_the_end: "is committed at",
    the_journal_grows_without_a_bound: "a journal beyond its bound",
}
"""Each defect, with a part of the error that its violation must have."""


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda plant: plant.__name__)
def test_a_defect_that_breaks_an_invariant_is_found(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)

    found = next(((number, error) for number in range(SCHEDULES) if (error := short_schedules.failure(number))), None)

    assert found is not None
    assert found[1].startswith("Violation: ")
    assert DEFECTS[plant] in found[1]
