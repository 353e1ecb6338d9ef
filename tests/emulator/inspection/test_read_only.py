"""An inspection of everything changes no table of the engine, no random stream, and not the journal."""

from collections.abc import Callable
from typing import Any

import pytest
from all_tables import changes, held_by
from engine_harness import EngineHarness, make_harness
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from inspected import in_every_state, look
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, LockBatchMq, MessageQueue
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessageBack
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig

pytestmark = pytest.mark.pure
TOPICS, GROUPS = ("A", "B", "C"), ("G", "H")
KEYS: list[dict[str, Any]] = [
    {},
    {"enable_pop_buffer_merge": True},
    {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True},
    {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True, "enable_pop_buffer_merge": True},
    {"enable_lmq": True, "timer_roll_window_slot": 10, "delivery_record_max_entries": 0},
]
Step = Callable[[EngineHarness, int], object]


def look_at_everything(inspection: Inspection) -> None:
    """Call every method of an inspection, with existing and with unknown names."""
    topics = [*(topic.name for topic in inspection.topics()), "missing"]
    places = [Place("missing", "A", 0, 0, physical_offset=0), Place("broker-a", "A", 9, 9, physical_offset=1 << 40)]
    for topic in topics:
        places += [copy.place for copy in inspection.copies(topic)]
        for message in inspection.matching(topic, lambda copy: True):
            assert message in inspection.find(message.message_id)
        for message in inspection.messages(topic):
            assert message in inspection.find(message.message_id)
        for queue in inspection.queues(topic)[:3]:
            assert inspection.queue(queue.broker, topic, queue.queue_id) == queue
        for group in (*GROUPS, "missing"):
            inspection.assignments(group, topic)
    for place in places:
        inspection.at(place)
        inspection.replaced_by(place)
        inspection.is_held(place)
        inspection.at_offset(place.broker, place.topic, place.queue_id, place.queue_offset)
    inspection.receipts()
    for group in (*GROUPS, "missing"):
        inspection.group(group)
        inspection.receipts(group, places[-1])
    inspection.find("7F0000010A2B18B4AAC2000000000001")
    inspection.find("k0")
    inspection.of_deleted_topic("k0")
    inspection.nearest("k11")
    readers = ("groups", "locks", "timers", "half_messages", "polls", "connections", "rules", "configuration")
    for reader in readers:
        list(getattr(inspection, reader)())


def assert_looking_changes_nothing(harness: EngineHarness) -> None:
    inspection = look(harness)
    before = held_by(harness.engine)
    look_at_everything(inspection)
    assert changes(before, held_by(harness.engine)) == {}


def send(harness: EngineHarness, number: int) -> None:
    more: tuple[dict[str, str], ...] = (
        {},
        {"DELAY": "3"},
        {"TIMER_DELIVER_MS": str(harness.now_ms + 9_000)},
        {"KEYS": f"k{number % 3}"},
        HALF,
    )
    topic = TOPICS[number % 3]
    harness.send(topic, b"m", queue=0, **{"KEYS": "k", **more[number % 5]})


HALF = {"TRAN_MSG": "true", "PGROUP": "P"}


def pop(harness: EngineHarness, number: int) -> None:
    harness.pop(
        TOPICS[number % 3],
        group=GROUPS[number % 2],
        order=number % 7 == 0,
        poll_ms=20_000 * (number % 2),
        attempt=str(number),
    )


def acknowledge(harness: EngineHarness, number: int) -> None:
    popped = harness.popped("A", count=2, group="G", invisible_ms=30_000)
    if popped:
        harness.ack("A", harness.receipt(popped[0]))
        if number % 2:
            harness.change("A", harness.receipt(popped[-1]), 10_000)


def pull(harness: EngineHarness, number: int) -> None:
    channel = harness.channels.get(f"c{number % 3}", DirectChannel("other"))
    operation = pull_of(
        "G",
        TOPICS[number % 3],
        offset=number % 4,
        commit=number % 3 if number % 5 == 0 else None,
        suspend_ms=15_000 if number % 2 else None,
    )
    harness.engine.submit(harness.broker, operation, channel)


def heartbeat(harness: EngineHarness, number: int) -> None:
    harness.heartbeat(f"c{number % 3}", GROUPS[number % 2], dict.fromkeys(TOPICS[: number % 4], "a"), version=number)


def reset(harness: EngineHarness, number: int) -> None:
    harness.engine.submit(harness.broker, ResetOffset(GROUPS[number % 2], TOPICS[number % 3], 0, 0, offset=0))


def lock(harness: EngineHarness, number: int) -> None:
    queues = [MessageQueue("A", "broker-a", 0)]
    harness.engine.submit(harness.broker, LockBatchMq("G", f"c{number % 3}", queues))


def end(harness: EngineHarness, number: int) -> None:
    sent = harness.send("A", b"half", queue=0, **HALF)
    how = (8, 12)[number % 2]
    harness.engine.submit(
        harness.broker, EndTransaction("P", sent.queue_offset, sent.physical_offset, how, False, sent.msg_id)
    )


def send_back(harness: EngineHarness, number: int) -> None:
    sent = harness.send("A")
    operation = SendMessageBack("G", sent.physical_offset, number % 3 - 1, origin_topic="A")
    harness.engine.submit(harness.broker, operation)


def advance(harness: EngineHarness, number: int) -> None:
    harness.advance((1, 700, 5_000, 31_000, 90_000)[number % 5])


def stop(harness: EngineHarness, number: int) -> None:
    (harness.engine.crash, harness.engine.restart)[number % 2](harness.broker)


def delete(harness: EngineHarness, number: int) -> None:
    harness.engine.submit(harness.broker, DeleteTopic("B"))


def close(harness: EngineHarness, number: int) -> None:
    name = f"c{number % 3}"
    if name in harness.channels:
        harness.engine.submit(harness.broker, ChannelClosed(), harness.channels[name])


STEPS: list[Step] = [
    send, send, send, pop, pop, acknowledge, pull, heartbeat, heartbeat, reset, lock, end, send_back, advance, advance,
    stop, delete, close,
]  # fmt: skip


def new_harness(keys: dict[str, Any]) -> EngineHarness:
    harness = make_harness(**keys)
    for topic in TOPICS[:2]:
        harness.topic(topic, queues=2)
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"}))
    return harness


@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    keys=st.sampled_from(KEYS),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1_000)), max_size=25),
)
def test_looking_at_a_random_state_changes_nothing(keys: dict[str, Any], steps: list[tuple[Step, int]]) -> None:
    """A failure is not shrunk, which would take minutes: the paths of the changed values show the cause."""
    harness = new_harness(keys)
    for step, number in steps:
        step(harness, number)
    assert_looking_changes_nothing(harness)


@pytest.mark.parametrize("keys", KEYS)
def test_looking_at_messages_in_every_state_changes_nothing(keys: dict[str, Any]) -> None:
    harness = make_harness(**keys)
    in_every_state(harness)
    harness.heartbeat("c1", topics={"A": "*"})
    for step in STEPS[3:14]:
        step(harness, 1)
    assert_looking_changes_nothing(harness)


@pytest.mark.parametrize(
    "change",
    [
        lambda harness: harness.broker.store.note_empty_read("A", 7),
        lambda harness: harness.broker.offsets.take_reset("G", "A", 0),
        lambda harness: harness.broker.pop_buffer.drain(),
        lambda harness: harness.engine.random_streams.stream("pop").below(2),
        lambda harness: harness.engine.submit(harness.broker, ResetOffset("G", "A", 0)),
    ],
    ids=["empty read", "reset", "merge buffer", "random stream", "journal"],
)
def test_comparison_notices_each_kind_of_change(change: Callable[[EngineHarness], object]) -> None:
    harness = new_harness({"enable_pop_buffer_merge": True})
    harness.heartbeat("c1", topics={"A": "*"})
    send(harness, 0)
    harness.popped("A")
    reset(harness, 0)
    before = held_by(harness.engine)
    change(harness)
    assert changes(before, held_by(harness.engine)) != {}
