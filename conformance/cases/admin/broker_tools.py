"""Requests of administrators' tools that do not concern topics, groups or messages."""

from rocketmq_testkit.remoting.request.request_code import OF_CONTROLLERS_AND_CONTAINERS, RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...worlds.remoting import Remoting


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def controllers_and_containers_are_others(t: Remoting) -> None:
    """Brokers and name servers do not support the request codes of controllers and broker containers."""
    for code in sorted(OF_CONTROLLERS_AND_CONTAINERS):
        t.see(f"broker, {code:d}", t.ask(code, {}), 3)
        t.see(f"name server, {code:d}", t.ask(code, {}, to=t.namesrv), 3)


@remoting_case("AdminBrokerProcessor.getBrokerEpochCache")
def a_broker_without_a_controller_has_no_epochs(t: Remoting) -> None:
    """A request for the epoch cache is rejected by a broker without controller."""
    t.see("epochs", t.ask(RequestCode.GET_BROKER_EPOCH_CACHE, {}), 1)


@remoting_case("AdminBrokerProcessor.resetMasterFlushOffset")
def the_place_of_a_master_is_a_slaves_to_reset(t: Remoting) -> None:
    """A master accepts RESET_MASTER_FLUSH_OFFSET without effect, because only slaves reset it."""
    t.see("reset", t.ask(RequestCode.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": 4}), 0)
    t.see("no place", t.ask(RequestCode.RESET_MASTER_FLUSH_OFFSET, {}), 0)


@remoting_case("AdminBrokerProcessor.cleanUnusedTopic")
def queues_of_topics_that_are_there_are_not_cleaned(t: Remoting) -> None:
    """CLEAN_UNUSED_TOPIC deletes only queues of unknown topics; queues of existing topics are kept."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.see("cleaned", t.ask(RequestCode.CLEAN_UNUSED_TOPIC, {}), 0)
    t.see("still there", t.pull(topic, group))


@remoting_case("MessageRequestModeManager.encode", alone=True)
def modes_of_requests_are_told(t: Remoting) -> None:
    """GET_ALL_MESSAGE_REQUEST_MODE returns the modes by topic and group as they were set."""
    first, second, group, other = t.topic(), t.topic(), t.group(), t.group()
    t.see("none", t.ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, {}), 0)
    for topic, who, mode, share in ((first, group, "POP", 3), (first, other, "PULL", 0), (second, group, "POP", -1)):
        body = {"topic": topic, "consumerGroup": who, "mode": mode, "popShareQueueNum": share}
        t.see("set", t.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, {}, dumps(body)), 0)
    t.see("told", t.ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, {}), 0)


@remoting_case("AdminBrokerProcessor.exportRocksDBConfigToJson")
def tables_that_lie_in_files_are_not_exported(t: Remoting) -> None:
    """A broker with file-based tables accepts an export of RocksDB tables as a no-op. An unknown table is an error."""
    for kinds in ("topics", "topics;subscriptionGroups;consumerOffsets;", " Topics ", "", ";"):
        t.see(f"<{kinds}>", t.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {"configType": kinds}), 0)
    t.see("unknown", t.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {"configType": "topics;others"}), 1)
    t.see("none", t.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, {}), 1)


@remoting_case("AdminBrokerProcessor.checkRocksdbCqWriteProgress")
def a_check_of_queues_in_a_database_is_begun(t: Remoting) -> None:
    """CHECK_ROCKSDB_CQ_WRITE_PROGRESS always returns that the check has started; its results go to a log."""
    topic = t.topic(queues=1)
    for label, ext in (("all", {}), ("of a topic", {"topic": topic}), ("since", {"checkStoreTime": 5, "topic": ""})):
        t.see(label, t.ask(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, ext), 0)
