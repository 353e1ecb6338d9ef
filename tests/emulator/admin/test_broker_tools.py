"""Requests of admin tools: counters by topic and group, tables, and features that an emulated broker lacks."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import GetBrokerConfig, TextResult
from rocketmq_testkit.emulator.operations.groups import (
    BrokerConsumeStatsResult,
    ConsumeStatsResult,
    DeleteGroup,
    GetBrokerConsumeStats,
    GetConsumeStats,
    SetMessageRequestMode,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessageBack
from rocketmq_testkit.emulator.operations.tools import (
    BrokerStatsResult,
    CleanUnusedTopic,
    ColdDataFlowCtrResult,
    ExportConfigToJson,
    GetAllMessageRequestMode,
    GetColdDataFlowCtrInfo,
    MessageRequestModesResult,
    RemoveColdDataFlowCtrConfig,
    SetCommitLogReadMode,
    UpdateColdDataFlowCtrConfig,
    ViewBrokerStats,
)
from rocketmq_testkit.emulator.operations.topics import DeleteTopic, GetTopicStats, TopicStatsResult

SAMPLED_MS = 10_000
"""Interval at which a broker samples its counters for sums and averages of the last minute."""


def _minute(harness: EngineHarness, name: str, key: str) -> tuple[int, float]:
    """Return the sum of the last minute and its average per counted event, such as one pull of several messages."""
    found = harness.ask(BrokerStatsResult, ViewBrokerStats(name, key)).minute
    return found.sum, found.avgpt


def _is_unknown(harness: EngineHarness, name: str | None, key: str | None) -> bool:
    error = refused(harness.engine.submit(harness.broker, ViewBrokerStats(name, key)))
    return error.code == ResponseCode.SYSTEM_ERROR and "not exist" in str(error.remark)


def test_broker_stats_count_sends_pulls_pops_and_send_backs(harness: EngineHarness) -> None:
    """Sends, pulls, pops and send-backs are counted by name and key; a name without a count is an error."""
    harness.topic("A")
    for _ in range(3):
        sent = harness.send("A", b"12345")
    harness.pull("A")
    harness.popped("A", group="P")
    assert harness.ask(Done, SendMessageBack("G", sent.physical_offset, 18, "A", None)) == Done()
    harness.advance(SAMPLED_MS)
    assert _minute(harness, "TOPIC_PUT_NUMS", "A") == (3, 1.0)
    assert _minute(harness, "GROUP_GET_NUMS", "A@G") == (3, 3.0)
    assert _minute(harness, "GROUP_GET_NUMS", "A@P") == (3, 3.0)
    assert _minute(harness, "SNDBCK_PUT_NUMS", "A@G") == (1, 1.0)
    put, got = _minute(harness, "TOPIC_PUT_SIZE", "A"), _minute(harness, "GROUP_GET_SIZE", "A@G")
    assert put[0] == got[0] == 3 * put[1]
    assert _minute(harness, "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "DefaultCluster") == (3, 0.0)
    assert _minute(harness, "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC", "DefaultCluster") == (6, 0.0)
    assert harness.ask(TopicStatsResult, GetTopicStats("A")).put_tps == 0.3
    for name in ("TOPIC_PUT_NUMS", "GROUP_GET_NUMS", "BROKER_PUT_NUMS", "X", None):
        assert _is_unknown(harness, name, "B")
        assert _is_unknown(harness, name, None)


def test_broker_stats_are_deleted_with_their_topic_and_group_and_at_a_restart(harness: EngineHarness) -> None:
    """Counters are deleted with their topic (including those of its groups), with their group, and at a restart."""
    for topic in ("A", "B", "C"):
        harness.topic(topic)
        harness.send(topic)
        harness.pull(topic)
    harness.ask(Done, DeleteTopic("A"))
    assert _is_unknown(harness, "TOPIC_PUT_NUMS", "A")
    assert _is_unknown(harness, "GROUP_GET_NUMS", "A@G")
    assert _minute(harness, "GROUP_GET_NUMS", "B@G") == (0, 0.0)
    harness.ask(Done, DeleteGroup("G"))
    assert _is_unknown(harness, "GROUP_GET_NUMS", "B@G")
    assert _minute(harness, "TOPIC_PUT_NUMS", "B") == (0, 0.0)
    harness.broker.stop()
    harness.broker.start()
    assert _is_unknown(harness, "TOPIC_PUT_NUMS", "B")


@pytest.mark.parametrize(("each", "known_as"), [(False, "%LMQ%"), (True, "%LMQ%x")])
def test_lmqs_are_counted_together_unless_lmq_stats_are_enabled(each: bool, known_as: str) -> None:
    """LMQs are counted together, or one by one with `enableLmqStats`."""
    harness = make_harness(enable_lmq=True, enable_multi_dispatch=True, enable_lmq_stats=each)
    harness.topic("A")
    harness.send("A", INNER_MULTI_DISPATCH="%LMQ%x")
    harness.pull("%LMQ%x", group="%LMQ%x")
    harness.advance(SAMPLED_MS)
    assert _minute(harness, "GROUP_GET_NUMS", f"{known_as}@{known_as}") == (1, 1.0)
    assert _minute(harness, "TOPIC_PUT_NUMS", "A") == (1, 1.0)


def test_consume_stats_of_all_groups_cover_topics_with_offsets(harness: EngineHarness) -> None:
    """Consume stats of all groups cover topics with offsets, but no deleted topics and no pull offsets.

    With `only_ordered` they omit unordered topics.
    """
    harness.topic("A", queues=2)
    harness.topic("B")
    for topic in ("A", "B"):
        harness.send(topic)
        harness.pull(topic)
        harness.ask(Done, UpdateConsumerOffset("G", topic, 0, 1))
    harness.pull("A", offset=1)

    def consume_stats(**fields: bool) -> dict[str, list[ConsumeStatsResult]]:
        return harness.ask(BrokerConsumeStatsResult, GetBrokerConsumeStats(**fields)).groups

    assert [len(stats.offsets) for stats in consume_stats()["G"]] == [2, 1]
    assert all(each.pull_offset == 0 for stats in consume_stats()["G"] for each in stats.offsets.values())
    assert consume_stats()["TOOLS_CONSUMER"] == []
    assert consume_stats(only_ordered=True)["G"] == []
    harness.ask(Done, DeleteTopic("B"))
    assert [len(stats.offsets) for stats in consume_stats()["G"]] == [2]


def test_the_consume_tps_of_a_group_is_the_sum_over_its_topics(harness: EngineHarness) -> None:
    """The rate of a group is the sum over its topics, in messages per second of the last minute."""
    for topic in ("A", "B"):
        harness.topic(topic)
        harness.send(topic)
        harness.pull(topic)
        harness.ask(Done, UpdateConsumerOffset("G", topic, 0, 1))
    harness.advance(SAMPLED_MS)
    assert harness.ask(ConsumeStatsResult, GetConsumeStats("G")).consume_tps == 0.2
    harness.advance(7 * SAMPLED_MS)
    assert harness.ask(ConsumeStatsResult, GetConsumeStats("G")).consume_tps == 0.0


def test_a_cleanup_deletes_only_the_queues_of_deleted_topics(harness: EngineHarness) -> None:
    """A cleanup deletes the queues of deleted topics; other queues and system topics stay."""
    harness.topic("A")
    harness.topic("B")
    for topic in ("A", "B"):
        harness.send(topic)
    harness.broker.topics.delete("B")
    harness.ask(Done, CleanUnusedTopic())
    assert {topic for topic, _ in harness.broker.store.queues} == {"A"}


def test_message_request_modes_are_returned_in_the_order_first_set(harness: EngineHarness) -> None:
    harness.topic("A")
    modes = [SetMessageRequestMode("A", "G", "POP", 4), SetMessageRequestMode("A", "H", "PULL", 0)]
    for mode in (*modes, modes[0]):
        harness.ask(Done, mode)
    assert harness.ask(MessageRequestModesResult, GetAllMessageRequestMode()).modes == modes


def test_numeric_cold_read_limits_are_kept_until_the_broker_stops(harness: EngineHarness) -> None:
    """Cold-read limits that are numbers are kept until the broker stops; other values are ignored."""
    harness.ask(Done, UpdateColdDataFlowCtrConfig({"G": "5", "H": "many", "I": "-7", "J": "9"}))
    harness.ask(Done, RemoveColdDataFlowCtrConfig("I"))
    harness.ask(Done, RemoveColdDataFlowCtrConfig("nobody"))
    limits = harness.ask(ColdDataFlowCtrResult, GetColdDataFlowCtrInfo())
    assert limits == ColdDataFlowCtrResult({"G": 5, "J": 9}, 3_145_728, 104_857_600, {}, all_reads=0)
    harness.broker.stop()
    harness.broker.start()
    assert harness.ask(ColdDataFlowCtrResult, GetColdDataFlowCtrInfo()).thresholds == {}


def test_set_commit_log_read_mode_changes_data_read_ahead_enable(harness: EngineHarness) -> None:
    """A request changes dataReadAheadEnable; an invalid mode is rejected and changes nothing."""
    harness.ask(Done, SetCommitLogReadMode("1"))
    for mode in ("2", "", "x", None):
        refused(harness.engine.submit(harness.broker, SetCommitLogReadMode(mode)))
    assert "dataReadAheadEnable=false\n" in harness.ask(TextResult, GetBrokerConfig()).text


@pytest.mark.parametrize("types", ["", ";", "topics", " TOPICS;consumerOffsets;subscriptionGroups;"])
def test_a_config_export_succeeds_without_a_result(harness: EngineHarness, types: str) -> None:
    """An export succeeds without a result: upstream exports tables from RocksDB, and the emulator has none there."""
    assert harness.ask(Done, ExportConfigToJson(types)).remark == "export done."
