"""Static topics: logical queues keep their numbers and offsets when they move to another broker."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import pytest
from engine_harness import START_MS, EngineHarness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.operations.consume import PullResult, PullStatus
from rocketmq_testkit.emulator.operations.offsets import (
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
    QueryConsumerOffset,
    SearchOffset,
    TimestampResult,
    UpdateConsumerOffset,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    DeleteTopic,
    GetAllTopics,
    GetTopicConfig,
    QueueMapping,
    QueuePart,
    TopicConfig,
    TopicResult,
    TopicsResult,
)
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot, write_snapshot
from rocketmq_testkit.emulator.static_topic.logical_pull import PulledPart
from rocketmq_testkit.emulator.static_topic.queue_mappings import QueueMappings

HERE, THERE = "broker-a", "broker-b"


@pytest.fixture
def harness() -> EngineHarness:
    engine = Engine(brokers=[BrokerConfig(), BrokerConfig(broker_name=THERE)], now_ms=START_MS)
    return EngineHarness(engine, engine.brokers[0])


def there(harness: EngineHarness) -> Broker:
    return harness.engine.brokers[1]


def create(
    harness: EngineHarness,
    parts: Mapping[int, Sequence[QueuePart]],
    *,
    queues: int = 4,
    epoch: int = 1,
    broker: Broker | None = None,
    force: bool = False,
) -> None:
    """Make topic T static: send a broker the parts of its logical queues."""
    node = broker or harness.broker
    mapping = QueueMapping("T", 2, node.name, epoch, queues={number: list(each) for number, each in parts.items()})
    harness.engine.execute(node, CreateStaticTopic(TopicConfig("T", queues, queues), mapping, force))


def crossed(harness: EngineHarness) -> None:
    """Map logical queue 0 to queue 1, and 1 to queue 0."""
    create(harness, {0: [QueuePart(0, 1, HERE, 0)], 1: [QueuePart(0, 0, HERE, 0)]})


def send(harness: EngineHarness, queue: int, body: bytes = b"m", broker: Broker | None = None) -> SendResult:
    operation = SendMessage("PG", "T", queue, body, {}, ("10.0.0.1", 5000), harness.now_ms)
    return harness.ask(SendResult, operation, broker)


def pull(harness: EngineHarness, queue: int, offset: int, broker: Broker | None = None) -> PullResult:
    return harness.ask(PullResult, pull_of("G", "T", queue=queue, offset=offset), broker)


def offset(harness: EngineHarness, operation: Operation, broker: Broker | None = None) -> int:
    return harness.ask(OffsetResult, operation, broker).offset


def moved(harness: EngineHarness) -> list[QueuePart]:
    """Create logical queue 0 with three messages on this broker, moved to the other one at offset 100.

    Both brokers get the mapping.
    """
    first = QueuePart(0, 0, HERE, 0)
    create(harness, {0: [first]}, queues=1)
    for number in range(3):
        send(harness, 0, b"%d" % number)
    parts = [QueuePart(0, 0, HERE, 0, start_offset=0, end_offset=3), QueuePart(1, 0, THERE, 100)]
    create(harness, {0: parts}, queues=1, epoch=2, broker=there(harness))
    create(harness, {0: parts}, queues=1, epoch=2)
    return parts


def test_clients_of_a_static_topic_see_only_logical_queue_numbers(harness: EngineHarness) -> None:
    """Producers and consumers see only logical queue numbers; administrators see the physical queues."""
    crossed(harness)
    sent = send(harness, 0, b"zero")
    assert (sent.queue_id, sent.queue_offset) == (0, 0)
    send(harness, 1, b"one")
    found = pull(harness, 0, 0)
    assert [decode(each).body for each in found.records] == [b"zero"]
    assert (found.offset_delta, found.next_begin_offset, found.max_offset) == (0, 1, 1)
    assert decode(found.records[0]).queue_id == 1
    assert offset(harness, GetMaxOffset("T", 1)) == 1
    assert harness.broker.store.max_offset("T", 1) == 1


def test_a_send_to_any_queue_goes_to_the_first_logical_queue(harness: EngineHarness) -> None:
    """A send to any queue goes to the first logical queue in the mapping, even if another broker leads that queue."""
    create(harness, {3: [QueuePart(0, 1, HERE, 0)], 2: [QueuePart(0, 2, HERE, 0)]})
    assert send(harness, -1).queue_id == 2


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (
            SendMessage("PG", "T", 7, b"", {}, ("10.0.0.1", 5000), 0),
            "T-7 does not exit in request process of current broker broker-a",
        ),
        (
            pull_of("G", "T", queue=7),
            "T-7 cannot find mapping item in request process of current broker broker-a",
        ),
        (GetMaxOffset("T", 7), "T-7 does not exit in request process of current broker broker-a"),
        (GetMinOffset("T", 7), "T-7 is not leader in broker broker-a, request code 31"),
        (SearchOffset("T", 7, 0), "T-7 does not exit in request process of current broker broker-a"),
        (GetEarliestStoreTime("T", 7), "T-7 does not exit in request process of current broker broker-a"),
        (QueryConsumerOffset("G", "T", 7), "T-7 does not exit in request process of current broker broker-a"),
        (UpdateConsumerOffset("G", "T", 7, 0), "T-7 does not exit in request process of current broker broker-a"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Operation) else "",
)
def test_requests_for_queues_that_the_broker_does_not_lead_are_rejected(
    harness: EngineHarness, operation: Operation, text: str
) -> None:
    """Requests for queues that this broker does not lead return NOT_LEADER_FOR_QUEUE."""
    crossed(harness)
    refusal = refused(harness.engine.submit(harness.broker, operation))
    assert (refusal.code, refusal.remark) == (ResponseCode.NOT_LEADER_FOR_QUEUE, text)


def test_a_pull_without_messages_waits_and_returns_logical_offsets(harness: EngineHarness) -> None:
    """A pull without messages waits, even beyond the end, and its response has logical offsets."""
    crossed(harness)
    send(harness, 0)
    ahead = harness.engine.submit(harness.broker, pull_of("G", "T", offset=1, suspend_ms=15_000))
    beyond = harness.engine.submit(harness.broker, pull_of("G", "T", offset=9, suspend_ms=15_000))
    assert ahead.outcome is beyond.outcome is None
    send(harness, 0, b"later")
    assert isinstance(ahead.outcome, PullResult)
    assert (ahead.outcome.next_begin_offset, ahead.outcome.offset_delta) == (2, 0)
    harness.advance(20_000)
    assert isinstance(beyond.outcome, PullResult)
    assert (beyond.outcome.code, beyond.outcome.next_begin_offset) == (ResponseCode.PULL_NOT_FOUND, 2)


def test_a_commit_for_a_logical_queue_is_stored_for_its_physical_queue(harness: EngineHarness) -> None:
    crossed(harness)
    send(harness, 0)
    harness.pull("T", group="G")
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "T", 0, 1))
    assert offset(harness, QueryConsumerOffset("G", "T", 0)) == 1
    assert harness.broker.offsets.query("G", "T", 1) == 1
    assert offset(harness, QueryConsumerOffset("H", "T", 0)) == 0


def test_offsets_of_a_part_start_at_its_logical_offset(harness: EngineHarness) -> None:
    create(harness, {0: [QueuePart(0, 0, HERE, 100)]})
    assert send(harness, 0).queue_offset == 100
    assert offset(harness, GetMaxOffset("T", 0)) == 101
    assert offset(harness, GetMinOffset("T", 0)) == 100
    found = pull(harness, 0, 100)
    assert (len(found.records), found.next_begin_offset, found.offset_delta) == (1, 101, 100)
    early = pull(harness, 0, 5)
    assert (early.code, early.next_begin_offset) == (ResponseCode.PULL_OFFSET_MOVED, 100)


def test_pulls_of_old_offsets_of_a_moved_queue_are_forwarded(harness: EngineHarness) -> None:
    """The new broker of a moved queue forwards pulls of old offsets to the old broker, then reads its own queue."""
    moved(harness)
    assert send(harness, 0, b"new", there(harness)).queue_offset == 100
    assert (
        refused(harness.engine.submit(harness.broker, GetMaxOffset("T", 0))).code == ResponseCode.NOT_LEADER_FOR_QUEUE
    )
    first = pull(harness, 0, 0, there(harness))
    assert [decode(each).body for each in first.records] == [b"0", b"1", b"2"]
    assert (first.next_begin_offset, first.max_offset, first.offset_delta) == (3, 100, 0)
    assert first.forwarded
    end = pull(harness, 0, 3, there(harness))
    assert (end.code, end.next_begin_offset) == (ResponseCode.PULL_RETRY_IMMEDIATELY, 100)
    last = pull(harness, 0, 100, there(harness))
    assert [decode(each).body for each in last.records] == [b"new"]
    assert (last.next_begin_offset, last.offset_delta) == (101, 100)


def test_offset_queries_of_a_moved_queue_cover_both_brokers(harness: EngineHarness) -> None:
    """Minimum, maximum, times and consumer offsets of a moved queue cover both brokers."""
    moved(harness)
    assert offset(harness, GetMinOffset("T", 0), there(harness)) == 0
    assert offset(harness, GetMaxOffset("T", 0), there(harness)) == 100
    assert offset(harness, SearchOffset("T", 0, 0), there(harness)) == 0
    assert harness.ask(TimestampResult, GetEarliestStoreTime("T", 0), there(harness)).timestamp == START_MS
    harness.advance(1000)
    send(harness, 0, b"new", there(harness))
    assert offset(harness, SearchOffset("T", 0, harness.now_ms), there(harness)) == 0  # as upstream, 0 is "not found"
    for committed in (2, 101):
        pull(harness, 0, committed, there(harness))
        harness.engine.execute(there(harness), UpdateConsumerOffset("G", "T", 0, committed))
        assert offset(harness, QueryConsumerOffset("G", "T", 0), there(harness)) == committed
    assert harness.broker.offsets.query("G", "T", 0) == 2
    assert there(harness).offsets.query("G", "T", 0) == 1
    nobody = refused(harness.engine.submit(there(harness), QueryConsumerOffset("H", "T", 0)))
    assert (nobody.code, nobody.remark) == (
        ResponseCode.QUERY_NOT_FOUND,
        "Not found, maybe this group consumer boot first",
    )


def test_a_part_on_a_stopped_broker_cannot_be_read_but_other_parts_can(harness: EngineHarness) -> None:
    moved(harness)
    send(harness, 0, b"new", there(harness))
    harness.engine.stop(harness.broker)
    with pytest.raises(EngineError):
        pull(harness, 0, 0, there(harness))
    assert len(pull(harness, 0, 100, there(harness)).records) == 1


def test_a_leader_without_a_decided_logical_offset_accepts_messages(harness: EngineHarness) -> None:
    """A new leader whose logical offset is not decided accepts messages, with offset -1."""
    create(harness, {0: [QueuePart(0, 0, HERE, 0), QueuePart(1, 0, THERE, -1)]}, queues=1, broker=there(harness))
    assert send(harness, 0, broker=there(harness)).queue_offset == -1


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([QueuePart(0, -1, HERE, 0)], "The field is illegal, should not be negative"),
        ([QueuePart(0, 0, HERE, -1), QueuePart(1, 0, HERE, 5)], "The non-latest item has negative logic offset"),
        ([QueuePart(1, 0, HERE, 0), QueuePart(1, 0, HERE, 5)], "The gen does not increase monotonically"),
        ([QueuePart(0, 0, HERE, 0, start_offset=5, end_offset=3)], "The endOffset is smaller than the start offset"),
        ([QueuePart(0, 0, HERE, 9), QueuePart(1, 0, HERE, 5)], "The base logic offset does not increase monotonically"),
        (
            [QueuePart(0, 0, HERE, 0, start_offset=0, end_offset=9), QueuePart(1, 0, HERE, 5)],
            "The max logic offset does not increase monotonically",
        ),
    ],
)
def test_a_mapping_with_inconsistent_parts_is_rejected(
    harness: EngineHarness, parts: list[QueuePart], text: str
) -> None:
    """Inconsistent parts are rejected; the topic is created nevertheless."""
    with pytest.raises(EngineError) as found:
        create(harness, {0: parts})
    assert (found.value.code, found.value.remark) == (ResponseCode.SYSTEM_ERROR, text)
    assert harness.ask(TopicResult, GetTopicConfig("T", with_mapping=True)).mapping is None


def test_a_mapping_of_an_older_or_conflicting_epoch_is_rejected_unless_forced(harness: EngineHarness) -> None:
    """A mapping of an older epoch, or of the same with other queues or leaders, is rejected; force skips this."""
    crossed(harness)
    for parts, epoch, text in (
        ({0: [QueuePart(0, 1, HERE, 0)]}, 0, "Can't accept data with small epoch 0 < 1"),
        ({0: [QueuePart(0, 1, HERE, 0)]}, 1, "Cannot accept equal epoch with null data"),
        (
            {0: [QueuePart(0, 3, HERE, 0)], 1: [QueuePart(0, 0, HERE, 0)]},
            1,
            "The new leader is different but epoch equal",
        ),
    ):
        with pytest.raises(EngineError) as found:
            create(harness, parts, epoch=epoch)
        assert found.value.remark == text
    create(harness, {0: [QueuePart(0, 3, HERE, 0)]}, epoch=0, force=True)
    assert send(harness, 0).queue_offset == 0
    assert harness.broker.store.max_offset("T", 3) == 1
    create(harness, {2: [QueuePart(0, 2, HERE, 0)]}, epoch=3)
    mapping = harness.ask(TopicResult, GetTopicConfig("T", with_mapping=True)).mapping
    assert mapping is not None
    assert (mapping.epoch, list(mapping.queues)) == (3, [0, 1, 2])


def test_a_route_names_the_leaders_of_logical_queues(harness: EngineHarness) -> None:
    """A route names the leaders of logical queues until the topic is deleted."""
    moved(harness)
    create(harness, {}, queues=0, epoch=3, force=True)
    route = harness.ask(RouteResult, GetRouteInfo("T"), harness.engine.name_server)
    assert route.mappings is not None
    assert {name: each.queues_led_here() for name, each in route.mappings.items()} == {HERE: {}, THERE: {0: 0}}
    table = harness.ask(TopicsResult, GetAllTopics())
    assert (list(table.mappings), table.mapping_version[0]) == (["T"], 3)
    harness.engine.execute(harness.broker, DeleteTopic("T"))
    assert harness.ask(TopicsResult, GetAllTopics()).mappings == {}


def test_static_topic_mappings_survive_a_restart(harness: EngineHarness) -> None:
    """After a restart the mappings are unchanged, because they are in a file."""
    crossed(harness)
    send(harness, 0)
    harness.engine.crash(harness.broker, power_loss=False)
    assert send(harness, 0).queue_offset == 1
    assert len(pull(harness, 0, 0).records) == 2


def test_a_snapshot_contains_static_topic_mappings(harness: EngineHarness) -> None:
    """An engine started from a snapshot has the mappings."""
    crossed(harness)
    send(harness, 0)
    out = BytesIO()
    write_snapshot(harness.engine.state(), out)
    engine = Engine(state=read_snapshot(BytesIO(out.getvalue())))
    later = EngineHarness(engine, engine.brokers[0])
    mapping = harness.broker.mappings.table["T"]
    assert later.broker.mappings.table["T"] == mapping
    assert later.broker.mappings.version_counter == 1
    assert send(later, 0).queue_offset == 1


def test_other_topics_are_unaffected_by_a_static_topic(harness: EngineHarness) -> None:
    crossed(harness)
    harness.topic("U")
    assert harness.send("U").queue_offset == 0
    outcome = harness.pull("U").outcome
    assert isinstance(outcome, PullResult)
    assert outcome.offset_delta is None


def test_a_search_by_time_ignores_a_last_part_without_decided_offset(harness: EngineHarness) -> None:
    """A search by time ignores the last part, whose first offset is not decided yet."""
    create(harness, {0: [QueuePart(0, 0, HERE, 0)]}, queues=1)
    times = []
    for _ in range(3):
        times.append(harness.now_ms)
        send(harness, 0)
        harness.advance(1000)
    first, open_end = QueuePart(0, 0, HERE, 0, start_offset=0, end_offset=3), QueuePart(1, 0, THERE, -1)
    create(harness, {0: [first, open_end]}, queues=2, epoch=2, broker=there(harness))
    assert [offset(harness, SearchOffset("T", 0, time), there(harness)) for time in times] == [0, 1, 2]


def test_restored_mappings_are_copied_and_do_not_change_with_later_updates(harness: EngineHarness) -> None:
    create(harness, {0: [QueuePart(0, 0, HERE, 0)]})
    left = dict(harness.broker.mappings.table)
    mappings = QueueMappings(harness.engine.scheduler, lambda: None)
    mappings.restore(left, (1, 1))
    mappings.delete("T")
    assert (list(left), list(mappings.table)) == (["T"], [])


def test_a_part_without_length_does_not_limit_the_next_offset() -> None:
    """The end of a part without length is not decided (LogicQueueMappingItem.checkIfEndOffsetDecided, 5.3.3)."""
    part = QueuePart(0, 0, HERE, 100, start_offset=0, end_offset=0)
    found = PullResult(ResponseCode.SUCCESS, PullStatus.FOUND, 3, 0, 3, [b"record"])
    assert PulledPart([part], part, 0).to_logical(found).next_begin_offset == 103


def test_a_new_queue_part_starts_at_0_without_end_or_times() -> None:
    """A new part starts at offset 0 of its queue and has neither end nor times (LogicQueueMappingItem, 5.3.3)."""
    assert QueuePart(0, 0, HERE, 0) == QueuePart(
        0, 0, HERE, 0, start_offset=0, end_offset=-1, time_of_start=-1, time_of_end=-1
    )
