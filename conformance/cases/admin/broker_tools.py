"""Requests of administrators' tools that do not concern topics, groups or messages."""

from rocketmq_testkit.remoting.processors.unserved import UnservedReason, codes_with
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def controller_and_container_request_codes_are_unsupported(t: RemotingContext) -> None:
    """Brokers and name servers do not support the request codes of controllers and broker containers."""
    for code in sorted(codes_with(UnservedReason.OTHER_PROGRAM)):
        t.note(f"broker, {code:d}", t.request(code, {}), 3)
        t.note(f"name server, {code:d}", t.request(code, {}, to=t.namesrv), 3)


@remoting_case("AdminBrokerProcessor.getBrokerEpochCache")
def a_broker_without_a_controller_has_no_epochs(t: RemotingContext) -> None:
    """A request for the epoch cache is rejected by a broker without controller."""
    t.note("epochs", t.request(RequestCode.GET_BROKER_EPOCH_CACHE, {}), 1)


@remoting_case("AdminBrokerProcessor.resetMasterFlushOffset")
def resetting_the_master_flush_offset_has_no_effect_on_a_master(t: RemotingContext) -> None:
    """A master accepts RESET_MASTER_FLUSH_OFFSET without effect, because only slaves reset it."""
    t.note("reset", t.request(RequestCode.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": 4}), 0)
    t.note("no place", t.request(RequestCode.RESET_MASTER_FLUSH_OFFSET, {}), 0)


@remoting_case("AdminBrokerProcessor.cleanUnusedTopic")
def cleaning_unused_topics_keeps_queues_of_existing_topics(t: RemotingContext) -> None:
    """CLEAN_UNUSED_TOPIC deletes only queues of unknown topics; queues of existing topics are kept."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.note("cleaned", t.request(RequestCode.CLEAN_UNUSED_TOPIC, {}), 0)
    t.note("still there", t.pull(topic, group))


@remoting_case("MessageRequestModeManager.encode", alone=True)
def message_request_modes_are_listed_by_topic_and_group(t: RemotingContext) -> None:
    """GET_ALL_MESSAGE_REQUEST_MODE returns the modes by topic and group as they were set."""
    first, second, group, other = t.topic(), t.topic(), t.group(), t.group()
    t.note("none", t.request(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, {}), 0)
    for topic, who, mode, share in ((first, group, "POP", 3), (first, other, "PULL", 0), (second, group, "POP", -1)):
        body = {"topic": topic, "consumerGroup": who, "mode": mode, "popShareQueueNum": share}
        t.note("set", t.request(RequestCode.SET_MESSAGE_REQUEST_MODE, {}, dumps(body)), 0)
    t.note("modes", t.request(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, {}), 0)


@remoting_case("AdminBrokerProcessor.exportRocksDBConfigToJson")
def a_rocksdb_export_has_no_effect_with_file_based_tables(t: RemotingContext) -> None:
    """A broker with file-based tables accepts an export of RocksDB tables as a no-op. An unknown table is an error."""
    for kinds in ("topics", "topics;subscriptionGroups;consumerOffsets;", " Topics ", "", ";"):
        t.note(f"<{kinds}>", t.request(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {"configType": kinds}), 0)
    t.note("unknown", t.request(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {"configType": "topics;others"}), 1)
    t.note("none", t.request(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {}), 1)


@remoting_case("AdminBrokerProcessor.checkRocksdbCqWriteProgress")
def a_rocksdb_consume_queue_check_only_reports_its_start(t: RemotingContext) -> None:
    """CHECK_ROCKSDB_CQ_WRITE_PROGRESS always returns that the check has started; its results go to a log."""
    topic = t.topic(queues=1)
    for label, ext in (("all", {}), ("of a topic", {"topic": topic}), ("since", {"checkStoreTime": 5, "topic": ""})):
        t.note(label, t.request(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, ext), 0)
