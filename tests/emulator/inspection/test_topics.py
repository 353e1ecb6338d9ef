"""Topics are listed with type, permission and queues."""

from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig


def test_topic_of_two_clusters_is_listed_with_brokers_and_clusters() -> None:
    brokers = [BrokerConfig(broker_name=f"broker-{name}", broker_cluster_name=f"cluster-{name}") for name in "ab"]
    engine = Engine(brokers=brokers)
    for broker, queues in zip(engine.brokers, (2, 3), strict=True):
        engine.execute(broker, CreateTopic(TopicConfig("A", queues, queues, 4), {"+message.type": "FIFO"}))
    found = {topic.name: topic for topic in Inspection(engine, NoSurroundings()).topics()}
    topic = found["A"]
    assert (topic.type, topic.perm, topic.queues, topic.compacted, topic.system) == ("FIFO", 4, 5, False, False)
    assert (topic.brokers, topic.clusters) == (("broker-a", "broker-b"), ("cluster-a", "cluster-b"))
    assert found["SCHEDULE_TOPIC_XXXX"].system


def test_compacted_topic_is_marked_and_its_messages_have_no_replacement_before_the_compaction(
    harness: EngineHarness,
) -> None:
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"}))
    assert {topic.name for topic in look(harness).topics() if topic.compacted} == {"C"}
    harness.send("C", KEYS="k")
    harness.send("C", KEYS="k")
    (first,) = [copy.place for copy in look(harness).copies("C") if copy.place.queue_offset == 0]
    assert look(harness).replaced_by(first) is None


def test_a_message_that_compaction_removes_has_the_later_message_with_its_key_as_replacement() -> None:
    harness = make_harness(compaction_cq_mapped_file_size=460, compaction_schedule_internal=60_000)
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"}))
    for number in range(24):
        harness.send("C", KEYS=f"k{number % 4}")
    harness.advance(200_000)
    replaced = {copy.place.queue_offset: look(harness).replaced_by(copy.place) for copy in look(harness).copies("C")}
    read, offset = set[int](), 0
    while isinstance(outcome := harness.pull("C", offset).outcome, PullResult) and outcome.offsets:
        read.update(outcome.offsets)
        offset = outcome.next_begin_offset
    assert {offset for offset, by in replaced.items() if by is None} == read
    assert {by - offset for offset, by in replaced.items() if by is not None} == {4}
