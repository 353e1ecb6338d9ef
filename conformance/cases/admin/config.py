"""Configuration and runtime info of a broker, as administrators read and change them."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import STRICT, with_keys
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting
from ..cluster.key_values import settings_of

DEFAULTS = """
    accessMessageInMemoryMaxRatio allowRecallWhenBrokerNotWriteable broadcastOffsetExpireMaxSecond
    broadcastOffsetExpireSecond brokerTopicEnable channelExpiredTimeout cleanResourceInterval
    clearRetryTopicWhenDeleteTopic clusterTopicEnable defaultMessageRequestMode defaultPopShareQueueNum
    defaultQueryMaxNum deleteFileBatchMax deleteWhen enableBroadcastOffsetStore enableCompaction enableCreateSysGroup
    enableMixedMessageType enablePopBatchAck enablePopBufferMerge enablePopMessageThreshold filterDataCleanTimeSpan
    filterSupportRetry flushCommitLogLeastPages flushCommitLogThoroughInterval flushConsumerOffsetInterval
    flushDelayOffsetInterval flushDiskType flushIntervalCommitLog inSyncReplicas initPopOffsetByCheckMsgInMem
    litePullMessageEnable maxFilterMessageSize maxMsgsNumBatch maxPopPollingSize maxTransferBytesOnMessageInMemory
    maxTransferCountOnMessageInMemory msgTraceTopicName notifyConsumerIdsChangedEnable offsetCheckInSlave
    popCkMaxBufferSize popCkOffsetMaxQueueSize popCkStayBufferTime popCkStayBufferTimeOut popConsumerKVServiceEnable
    popConsumerKVServiceInit popInflightMessageThreshold popLongPollingForceNotifyInterval popPollingSize
    popResponseReturnActualRetryTopic popReviveMaxAttemptTimes realTimeNotifyConsumerChange rejectPullConsumerEnable
    rejectTransactionMessage retrieveMessageFromPopRetryTopicV1 serverLoadBalancerEnable shortPollingTimeMills
    skipWhenCKRePutReachMaxTimes slaveReadEnable slaveTimeout startAcceptSendRequestTimeStamp storeReplyMessageEnable
    subscriptionExpiredTimeout timerCongestNumEachSlot timerFlushIntervalMs timerRollWindowSlot timerWheelEnable
    transactionCheckInterval transactionOpBatchInterval transactionOpMsgMaxSize useServerSideResetOffset
"""
"""Settings with default values, in addition to those of the first case."""


def change(t: Remoting, text: str | bytes) -> Answer:
    """Change settings with a properties text."""
    return t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, text.encode() if isinstance(text, str) else text)


def told(t: Remoting, *names: str) -> dict[str, str | None]:
    """Return some settings of the broker's configuration."""
    settings = settings_of(t.ask(RequestCode.GET_BROKER_CONFIG, {}).body)
    return {name: settings.get(name) for name in names}


@remoting_case("AdminBrokerProcessor.getBrokerConfig")
def a_broker_tells_its_settings(t: Remoting) -> None:
    """GET_BROKER_CONFIG returns the configuration as properties text."""
    answer = t.ask(RequestCode.GET_BROKER_CONFIG, {})
    t.see("answer", [answer.code, answer.remark, sorted(answer.fields)])
    t.see(
        "settings",
        told(
            t,
            "brokerName",
            "brokerClusterName",
            "brokerId",
            "brokerRole",
            "brokerPermission",
            "regionId",
            "traceOn",
            "autoCreateTopicEnable",
            "autoCreateSubscriptionGroup",
            "defaultTopicQueueNums",
            "enablePropertyFilter",
            "recallMessageEnable",
            "maxMessageSize",
            "messageDelayLevel",
            "transactionTimeOut",
            "transactionCheckMax",
            "timerPrecisionMs",
            "timerMaxDelaySec",
            "reviveQueueNum",
            "enableRetryTopicV2",
            "popFromRetryProbability",
            "longPollingEnable",
            "fileReservedTime",
        ),
    )


@remoting_case("AdminBrokerProcessor.getBrokerConfig", alone=True)
def settings_have_defaults(t: Remoting) -> None:
    """GET_BROKER_CONFIG also returns settings with default values."""
    t.see("settings", told(t, *DEFAULTS.split()))


@remoting_case(
    "SendMessageProcessor.sendMessage, TopicConfigManager.init",
    settings={"traceOn": "false", "regionId": "elsewhere", "msgTraceTopicName": "traces_of_my_own"},
)
def a_message_says_where_and_whether_to_trace(t: Remoting) -> None:
    """Responses to sends and stored messages have the broker's region and trace switch.

    The trace topic is configurable.
    """
    topic = t.topic(queues=1)
    t.see("sent", t.send(topic), 0)
    [message] = t.stored(topic).messages
    t.see("stored", {name: message.properties.get(name) for name in ("TRACE_ON", "MSG_REGION")})
    t.see("popped", t.pop(topic, t.group()).without("popTime", "startOffsetInfo"))
    t.see("topic of traces", t.config_of("traces_of_my_own"), 0)
    t.see("sent to it", t.send("traces_of_my_own").without("queueOffset"), 0)
    t.see("usual topic of traces", t.config_of("RMQ_SYS_TRACE_TOPIC").code)


@remoting_case("AdminBrokerProcessor.getBrokerRuntimeInfo")
def a_broker_tells_its_state(t: Remoting) -> None:
    """The broker's runtime info is a table of strings that administrators' tools read by name."""
    table = t.runtime_info()
    texts = ("brokerVersion", "brokerVersionDesc", "brokerActive", "msgPutTotalTodayMorning", "EndTransactionQueueSize")
    t.see("texts", {name: table.get(name) for name in texts})
    names = (
        "bootTimestamp",
        "commitLogMaxOffset",
        "commitLogMinOffset",
        "dispatchBehindBytes",
        "earliestMessageTimeStamp",
        "getFoundTps",
        "getMissTps",
        "getTotalTps",
        "getTransferredTps",
        "msgGetTotalTodayNow",
        "msgGetTotalYesterdayMorning",
        "msgPutTotalTodayNow",
        "msgPutTotalYesterdayMorning",
        "pageCacheLockTimeMills",
        "pullThreadPoolQueueSize",
        "putMessageAverageSize",
        "putTps",
        "runtime",
        "sendThreadPoolQueueSize",
        "startAcceptSendRequestTimeStamp",
        "timerCongestNum",
        "timerEnqueueTps",
        "timerReadBehind",
    )
    t.see("names", [name for name in names if name in table])


@remoting_case("AdminBrokerProcessor.updateBrokerConfig")
def some_settings_cannot_be_changed(t: Remoting) -> None:
    """The configuration path and the list of fixed settings cannot be changed."""
    for name in ("brokerConfigPath", "rocketmqHome", "configBlackList"):
        t.see(name, change(t, f"{name}=/x\n"), 16)


@remoting_case("AdminBrokerProcessor.initConfigBlackList", settings=with_keys(STRICT, "configBlackList"))
def a_broker_may_fix_more_settings(t: Remoting) -> None:
    """Settings in configBlackList, separated by semicolons, cannot be changed.

    One of them rejects the whole request.
    """
    for name in ("defaultQueryMaxNum", "slaveTimeout", "brokerConfigPath"):
        t.see(name, change(t, f"defaultReadQueueNums=1\n{name}=31\nshortPollingTimeMills=1001\n"), 16)
    t.see("told", told(t, "configBlackList", "defaultQueryMaxNum", "slaveTimeout", "shortPollingTimeMills"))


@remoting_case("AdminBrokerProcessor.updateBrokerConfig", tidy=True)
def settings_can_be_changed(t: Remoting) -> None:
    """A changed setting takes effect at once and is returned."""
    topic = t.new()
    t.see("changed", change(t, "autoCreateTopicEnable=false\nmaxMessageSize=1024\n"), 0)
    t.see("told", told(t, "autoCreateTopicEnable", "maxMessageSize"))
    t.see("topic is not created", t.send(topic).code)
    t.see("changed back", change(t, "autoCreateTopicEnable=true\n"), 0)
    t.see("topic is created", t.send(topic).code)
    change(t, "maxMessageSize=4194304\n")


@remoting_case("Configuration.update", tidy=True)
def unknown_settings_are_ignored(t: Remoting) -> None:
    """Unknown settings, malformed text and values of a wrong type are ignored without an error."""
    t.see("unknown", change(t, "noSuchSetting=1\n"))
    t.see("garbage", change(t, "garbage"))
    t.see("nothing", change(t, b""))
    t.see("wrong kind", change(t, "maxMessageSize=large\nautoCreateTopicEnable=false\n"))
    t.see("told", told(t, "noSuchSetting", "maxMessageSize", "autoCreateTopicEnable"))
    t.see("comment and blanks", change(t, "# maxMessageSize=1\n  traceOn =  false \n"))
    t.see("told then", told(t, "maxMessageSize", "traceOn"))
    change(t, "traceOn=true\nautoCreateTopicEnable=true\n")


@remoting_case("BrokerController.registerBrokerAll", tidy=True)
def a_brokers_permission_is_in_its_routes(t: Remoting) -> None:
    """The topics of a broker without write permission are registered without the write bit."""
    topic, other = t.topic(queues=1), t.topic(queues=1, perm=2)
    t.see("before", t.route(topic), 0)
    t.see("changed", change(t, "brokerPermission=4\n"), 0)
    t.see("after", t.route(topic), 0)
    t.see("write only topic", t.route(other), 0)
    t.see("sent", t.send(topic).code)
    change(t, "brokerPermission=6\n")


@remoting_case("AdminBrokerProcessor.prepareRuntimeInfo, DefaultMessageStore.getRuntimeInfo")
def the_state_of_a_broker_has_names(t: Remoting) -> None:
    """The runtime info has these names, apart from those that include a path or a delay level."""
    t.see("names", sorted(name for name in t.runtime_info() if "_" not in name))
