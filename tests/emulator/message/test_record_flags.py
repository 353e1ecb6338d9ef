"""The bits of a stored message's system flag that the broker sets."""

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator.message.stored_record import Record, decode, is_readable, unpack_host
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.message_queries import MessagesResult, QueryMessage
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.remoting.client import batch_body


def stored(harness: EngineHarness) -> list[Record]:
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    return [decode(record) for record in outcome.records]


@pytest.mark.parametrize("claimed", [0x10, 0x20, 0x30])
@pytest.mark.parametrize("sender", ["10.0.0.1", "::1"])
def test_host_bits_match_the_stored_addresses_whatever_flag_the_sender_sets(
    harness: EngineHarness, claimed: int, sender: str
) -> None:
    """The host bits match the stored addresses regardless of the sender's flag, so every record can be decoded."""
    harness.topic("T")
    sent = SendMessage("PG", "T", 0, b"x", {}, (sender, 5), harness.now_ms, sys_flag=claimed | 0x100)
    harness.ask(SendResult, sent)
    [record] = stored(harness)
    assert (unpack_host(record.born_host), record.body) == ((sender, 5), b"x")
    assert record.sys_flag == 0x100 | (0x10 if sender == "::1" else 0)
    assert [message.queue_offset for message in harness.popped("T")] == [0]


def test_messages_have_the_multi_tag_bit_while_their_topic_is_multi_tag(harness: EngineHarness) -> None:
    """Messages of a topic have the multi-tag bit while its filter type is MULTI_TAG."""
    for kind in ("MULTI_TAG", "SINGLE_TAG"):
        harness.engine.execute(harness.broker, CreateTopic(TopicConfig("T", 1, 1, 6, topic_filter_type=kind)))
        harness.send("T")
    assert [record.sys_flag for record in stored(harness)] == [0x2, 0]


def test_with_the_defect_a_message_with_a_false_host_flag_is_in_the_log_and_in_no_queue(harness: EngineHarness) -> None:
    """No pull and no query by key finds the message; a message with the true flag of an IPv6 client is stored."""
    harness.engine.defects.enable("unreadable_host_flag")
    harness.topic("T")
    for sender, flag in (("10.0.0.1", 0x10), ("10.0.0.1", 0x20), ("::1", 0x10)):
        sent = SendMessage("PG", "T", 0, b"x", {"KEYS": "k"}, (sender, 5), harness.now_ms, sys_flag=flag)
        harness.ask(SendResult, sent)
        harness.advance(1)
    [record] = stored(harness)
    assert unpack_host(record.born_host)[0] == "::1"
    assert [is_readable(each) for _, each in harness.broker.store.log.records_from(0)] == [False, False, True]
    assert harness.broker.store.log.record_at(0) is None
    assert len(harness.ask(MessagesResult, QueryMessage("T", "k", 9, 0, end_timestamp=harness.now_ms + 1)).records) == 1
    runtime_info = harness.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table
    assert runtime_info["earliestMessageTimeStamp"] == str(record.store_timestamp)
    harness.engine.crash(power_loss=False)
    assert [record.body for record in stored(harness)] == [b"x"]


@pytest.mark.parametrize("alone", [True, False])
def test_with_the_defect_a_batch_with_a_false_host_flag_is_in_no_queue(harness: EngineHarness, alone: bool) -> None:
    """Each message of the batch gets the flag of the request."""
    harness.engine.defects.enable("unreadable_host_flag")
    harness.topic("T")
    body = batch_body([(b"one", {}), (b"two", {})][: 1 if alone else 2])
    harness.ask(
        SendResult, SendMessage("PG", "T", 0, body, {}, ("10.0.0.1", 5), harness.now_ms, sys_flag=0x30, batch=True)
    )
    assert harness.broker.store.max_offset("T", 0) == 0
