"""Messages in flight are listed with group, client, end and attempt, for each table in which pops are stored."""

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import TABLES, look
from operation_counts import executed_lines
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.inspection.receipts import ReceiptView
from rocketmq_testkit.emulator.operations.consume import RENEWAL, ChangeInvisibleTime, PopMessage
from rocketmq_testkit.emulator.pop.check_point import CheckPoint
from rocketmq_testkit.emulator.pop.pop_positions import FIRST_CLEANING, PopPositions
from rocketmq_testkit.emulator.schedule.timer_state import Slot


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> tuple[EngineHarness, str]:
    keys, table = TABLES[request.param]
    harness = make_harness(**keys)
    harness.topic("A")
    return harness, table


def held(harness: EngineHarness, group: str | None = None) -> list[tuple[int, int]]:
    """Return (offset, remaining invisible duration in ms) of the messages in flight."""
    return sorted(
        (view.place.queue_offset, (view.until_ms or 0) - harness.now_ms) for view in look(harness).receipts(group)
    )


def test_popped_messages_are_in_flight_until_acknowledged(table: tuple[EngineHarness, str]) -> None:
    harness, expected = table
    for _ in range(3):
        harness.send("A")
    popped = harness.popped("A", invisible_ms=30_000)
    assert held(harness) == held(harness, "G") == [(0, 30_000), (1, 30_000), (2, 30_000)]
    assert held(harness, "other") == []
    assert {view.table for view in look(harness).receipts()} == {expected}
    harness.ack("A", harness.receipt(popped[1]))
    assert [offset for offset, _ in held(harness)] == [0, 2]
    harness.advance(2_000)
    harness.ack("A", harness.receipt(popped[0]))
    assert held(harness) == [(2, 28_000)]
    harness.advance(26_500)  # the broker may have read the check point, whose duration has not ended
    assert held(harness) == [(2, 1_500)]
    harness.ack("A", harness.receipt(popped[2]))
    assert held(harness) == []


def test_messages_are_in_flight_until_they_are_redelivered(table: tuple[EngineHarness, str]) -> None:
    harness, _ = table
    harness.send("A")
    harness.popped("A", invisible_ms=10_000)
    while not [copy for copy in look(harness).copies("A") if copy.retry]:
        assert [offset for offset, _ in held(harness)] == [0]
        harness.advance(100)
    assert held(harness) == []
    harness.popped("A", invisible_ms=10_000)
    (view,) = look(harness).receipts()
    assert (view.attempt, view.place.topic) == (2, "%RETRY%G_A")


def test_message_with_a_changed_duration_is_listed_as_returned_with_its_new_end(
    table: tuple[EngineHarness, str],
) -> None:
    harness, _ = table
    harness.send("A")
    (popped,) = harness.popped("A", invisible_ms=10_000)
    harness.advance(3_000)
    harness.change("A", harness.receipt(popped), 20_000)
    (view,) = look(harness).receipts()
    assert view.until_ms == harness.now_ms + 20_000
    assert view.returned


def test_message_in_flight_is_listed_with_its_client(table: tuple[EngineHarness, str]) -> None:
    harness, _ = table
    harness.send("A")
    pop = PopMessage(
        "G", "A", queue_id=0, max_msg_nums=32, invisible_ms=30_000, born_ms=harness.now_ms, exp_type="TAG", exp="*"
    )
    harness.engine.execute(harness.broker, pop, DirectChannel("channel-of-c1"))
    assert [view.channel for view in look(harness).receipts()] == ["channel-of-c1"]


def test_ordered_batch_is_in_flight_until_its_end() -> None:
    harness = make_harness()
    harness.topic("A")
    harness.send("A")
    harness.send("A")

    def views() -> list[ReceiptView]:
        return look(harness).receipts()

    popped = harness.popped("A", order=True, invisible_ms=10_000, attempt="one")
    assert [(view.table, view.attempt) for view in views()] == [("order", 1), ("order", 1)]
    harness.ack("A", harness.receipt(popped[0]))
    assert [view.place.queue_offset for view in views()] == [1]
    harness.change("A", harness.receipt(popped[1]), 5_000)
    (view,) = views()
    assert (view.until_ms, view.returned) == (harness.now_ms + 5_000, True)
    harness.advance(5_000)
    assert views() == []
    harness.popped("A", order=True, invisible_ms=10_000, attempt="two")
    assert [view.attempt for view in views()] == [2]


def test_pulled_message_is_in_flight_until_its_offset_is_committed() -> None:
    harness = make_harness()
    harness.topic("A")
    harness.send("A")
    harness.heartbeat("c1", topics={"A": "*"})
    channel = harness.channels["c1"]
    harness.engine.execute(harness.broker, pull_of("G", "A"), channel)
    (view,) = look(harness).receipts()
    assert (view.channel, view.until_ms, view.table) == ("c1", None, "pull")
    harness.broker.offsets.commit("G", "A", 0, 1)
    assert look(harness).receipts() == []


def test_receipts_of_one_place_are_those_of_its_group_and_offset(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.topic("B")
    for topic in ("A", "B"):
        harness.send(topic)
        harness.popped(topic)
    inspection = look(harness)
    views = inspection.receipts()
    assert len(views) == 2
    assert [inspection.receipts(place=view.place) for view in views] == [[view] for view in views]
    assert inspection.receipts("other", views[0].place) == []


def test_garbage_in_the_revive_topic_is_ignored(harness: EngineHarness) -> None:
    topic = f"rmq_sys_REVIVE_LOG_{harness.broker.config.broker_cluster_name}"
    for tag in ("ck", "ack"):
        harness.send(topic, b"{}", TAGS=tag, TIMER_DELIVER_MS=str(harness.now_ms + 10_000))
    assert look(harness).receipts() == []


def test_renewal_by_the_proxy_is_no_return(table: tuple[EngineHarness, str]) -> None:
    harness, _ = table
    harness.send("A")
    (popped,) = harness.popped("A", invisible_ms=10_000)
    receipt = harness.receipt(popped)
    harness.advance(1_000)
    call = DirectCall(DirectChannel("c"))
    call.label = RENEWAL
    operation = ChangeInvisibleTime("G", "A", 0, receipt.text(), 0, 60_000)
    harness.engine.gate.submit(harness.broker, call, operation)
    (view,) = look(harness).receipts()
    assert (view.until_ms, view.returned) == (harness.now_ms + 60_000, False)
    assert view.popped_ms == harness.now_ms - 1_000


def test_second_delivery_of_a_pulled_message_is_counted(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A")
    harness.heartbeat("c1", topics={"A": "*"})
    for _ in range(2):
        pull = pull_of("G", "A")
        harness.engine.execute(harness.broker, pull, harness.channels["c1"])
        harness.advance(100)
    assert [view.attempt for view in look(harness).receipts()] == [2]


def test_inspection_with_cached_check_points_notices_their_loss_in_a_crash() -> None:
    """After the crash other messages are stored at the same physical offsets."""
    harness = make_harness(flush_disk_type="ASYNC_FLUSH")
    harness.topic("A")
    for _ in range(4):
        harness.send("A")
    kept = look(harness)
    for invisible_ms in (600_000, 300_000):
        harness.popped("A", count=2, invisible_ms=invisible_ms)
        assert kept.receipts() == look(harness).receipts() != []
    harness.engine.crash()
    assert kept.receipts() == look(harness).receipts()
    for _ in range(4):
        harness.send("A")
    harness.popped("A", count=1, invisible_ms=500_000)
    assert kept.receipts() == look(harness).receipts() != []
    harness.advance(700_000)
    assert kept.receipts() == look(harness).receipts()


def test_waiting_check_points_are_decoded_once() -> None:
    """After one more pop an inspection decodes one check point, even if many wait."""

    def lines(pops: int) -> int:
        harness = make_harness()
        harness.topic("A")
        kept = look(harness)
        for _ in range(pops + 1):
            harness.send("A")
        for _ in range(pops):
            harness.popped("A", count=1, invisible_ms=600_000)
        assert len(kept.receipts("other")) == 0  # decodes the check points of all groups
        harness.popped("A", count=1, invisible_ms=600_000)
        return executed_lines(lambda: kept.receipts("other"))

    few, many = lines(5), lines(100)
    assert many - few < 95 * 10, (few, many)


def test_timer_slot_that_was_used_again_is_decoded_again() -> None:
    harness = make_harness()
    harness.topic("A")
    harness.send("A")
    harness.popped("A", invisible_ms=600_000)
    kept = look(harness)
    assert len(kept.receipts()) == 1
    slots = harness.broker.timers.slots
    for due_ms in list(slots):
        slots[due_ms] = Slot()
    harness.advance(1)
    assert kept.receipts() == look(harness).receipts() == []


@pytest.mark.parametrize("counts", [(1, 1), (32, 3)])
def test_first_look_at_one_message_decodes_only_the_check_points_of_its_offset(counts: tuple[int, int]) -> None:
    """The work does not grow with other waiting check points, acknowledgements and timed messages."""
    popped_at_once, acknowledged = counts

    def lines(pops: int) -> int:
        harness = make_harness()
        harness.topic("A")
        for _ in range(pops * popped_at_once):
            harness.send("A")
            harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 900_000))
        for _ in range(pops):
            popped = harness.popped("A", count=popped_at_once, invisible_ms=600_000)
            if popped_at_once > 1:
                for each in popped[:acknowledged]:
                    harness.ack("A", harness.receipt(each))
        wanted = look(harness).at_offset("broker-a", "A", 0, popped_at_once - 1)
        assert wanted is not None
        place = wanted.copies[0].place
        first = look(harness)
        found: list[ReceiptView] = []
        count = executed_lines(lambda: found.extend(first.receipts("G", place)))
        assert [view.place for view in found] == [place]
        return count

    few, many = lines(3), lines(30)
    records = 27 * (1 + acknowledged if popped_at_once > 1 else 1)
    assert many <= few + 5 * records, (few, many)  # 5 lines compare one delivery record; decoding it takes 60


def test_look_at_one_message_agrees_with_the_look_at_all(table: tuple[EngineHarness, str]) -> None:
    """They agree after a change of the duration, after a restart, and with a check point that a client has sent."""
    harness, _ = table
    harness.topic("B")
    for topic in ("A", "B"):
        for _ in range(4):
            harness.send(topic)

    def agree() -> list[ReceiptView]:
        views = look(harness).receipts()
        for message in (*look(harness).messages("A"), *look(harness).messages("B")):
            place = message.copies[0].place
            assert look(harness).receipts("G", place) == [view for view in views if view.place == place]
        return views

    harness.popped("B", invisible_ms=500_000)
    first, second, *_ = harness.popped("A", invisible_ms=600_000)
    assert len(agree()) == 8
    harness.ack("A", harness.receipt(first))
    harness.change("A", harness.receipt(second), 400_000)
    assert len(agree()) == 7
    harness.engine.restart()
    assert agree()  # cached KV records that the broker does not read at its start are lost
    harness.send("A")
    harness.popped("A", count=1, invisible_ms=300_000)
    assert agree()
    of_pops, due_ms = f"rmq_sys_REVIVE_LOG_{harness.broker.config.broker_cluster_name}", harness.now_ms + 800_000
    forged = CheckPoint("A", "G", 0, 0, harness.now_ms + 1, 800_000, "broker-a", [0])
    harness.send(of_pops, forged.to_json(), TAGS="ck", TIMER_DELIVER_MS=str(due_ms))
    assert 0 in {view.place.queue_offset for view in agree() if view.place.topic == "A"}


def test_positions_of_dropped_records_are_removed() -> None:
    harness = make_harness()
    positions = PopPositions(harness.broker.store)
    queue = ("A", "G", 0)
    for number in range(FIRST_CLEANING):
        positions.note_ack(queue, number, -FIRST_CLEANING + number)  # before the first record of the log
    assert positions.count == FIRST_CLEANING
    positions.note_ack(queue, 5, 7)
    assert positions.count == 1
    assert list(positions.queues[queue].acks.starting_at(5)) == [7]
