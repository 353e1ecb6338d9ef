"""Configuration and runtime info of a broker, as administrators read and change them."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.broker_config import change, read_settings
from ...helpers.settings import NO_AUTO_CREATE, shared_settings

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


@remoting_case("AdminBrokerProcessor.getBrokerConfig")
def the_broker_config_is_returned_as_properties_text(t: RemotingContext) -> None:
    """GET_BROKER_CONFIG returns the configuration as properties text."""
    response = t.request(RequestCode.GET_BROKER_CONFIG, {})
    t.note("response", [response.code, response.remark, sorted(response.fields)])
    t.note(
        "settings",
        read_settings(
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
def settings_have_defaults(t: RemotingContext) -> None:
    """GET_BROKER_CONFIG also returns settings with default values."""
    t.note("settings", read_settings(t, *DEFAULTS.split()))


@remoting_case(
    "SendMessageProcessor.sendMessage, TopicConfigManager.init",
    settings={"traceOn": "false", "regionId": "elsewhere", "msgTraceTopicName": "traces_of_my_own"},
)
def send_responses_and_messages_have_region_and_trace_switch(t: RemotingContext) -> None:
    """Responses to sends and stored messages have the broker's region and trace switch.

    The trace topic is configurable.
    """
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic), 0)
    [message] = t.stored(topic).messages
    t.note("stored", {name: message.properties.get(name) for name in ("TRACE_ON", "MSG_REGION")})
    t.note("popped", t.pop(topic, t.group()).without("popTime", "startOffsetInfo"))
    t.note("topic of traces", t.config_of("traces_of_my_own"), 0)
    t.note("sent to it", t.send("traces_of_my_own").without("queueOffset"), 0)
    t.note("usual topic of traces", t.config_of("RMQ_SYS_TRACE_TOPIC").code)


@remoting_case("AdminBrokerProcessor.getBrokerRuntimeInfo")
def runtime_info_has_the_entries_that_admin_tools_read(t: RemotingContext) -> None:
    """The broker's runtime info is a table of strings that administrators' tools read by name."""
    table = t.runtime_info()
    texts = ("brokerVersion", "brokerVersionDesc", "brokerActive", "msgPutTotalTodayMorning", "EndTransactionQueueSize")
    t.note("texts", {name: table.get(name) for name in texts})
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
    t.note("names", [name for name in names if name in table])


@remoting_case("AdminBrokerProcessor.updateBrokerConfig")
def some_settings_cannot_be_changed(t: RemotingContext) -> None:
    """The configuration path and the list of fixed settings cannot be changed."""
    for name in ("brokerConfigPath", "rocketmqHome", "configBlackList"):
        t.note(name, change(t, f"{name}=/x\n"), 16)


@remoting_case("AdminBrokerProcessor.initConfigBlackList", settings=shared_settings(NO_AUTO_CREATE, "configBlackList"))
def changing_settings_in_config_black_list_is_rejected(t: RemotingContext) -> None:
    """Settings in configBlackList, separated by semicolons, cannot be changed.

    One of them rejects the whole request.
    """
    for name in ("defaultQueryMaxNum", "slaveTimeout", "brokerConfigPath"):
        t.note(name, change(t, f"defaultReadQueueNums=1\n{name}=31\nshortPollingTimeMills=1001\n"), 16)
    t.note(
        "settings", read_settings(t, "configBlackList", "defaultQueryMaxNum", "slaveTimeout", "shortPollingTimeMills")
    )


@remoting_case("AdminBrokerProcessor.updateBrokerConfig", tidy=True)
def settings_can_be_changed(t: RemotingContext) -> None:
    """A changed setting takes effect at once and is returned."""
    topic = t.new()
    t.note("changed", change(t, "autoCreateTopicEnable=false\nmaxMessageSize=1024\n"), 0)
    t.note("settings", read_settings(t, "autoCreateTopicEnable", "maxMessageSize"))
    t.note("topic is not created", t.send(topic).code)
    t.note("changed back", change(t, "autoCreateTopicEnable=true\n"), 0)
    t.note("topic is created", t.send(topic).code)
    change(t, "maxMessageSize=4194304\n")


@remoting_case("Configuration.update", tidy=True)
def unknown_settings_are_ignored(t: RemotingContext) -> None:
    """Unknown settings, malformed text and values of a wrong type are ignored without an error."""
    t.note("unknown", change(t, "noSuchSetting=1\n"))
    t.note("garbage", change(t, "garbage"))
    t.note("nothing", change(t, b""))
    t.note("wrong kind", change(t, "maxMessageSize=large\nautoCreateTopicEnable=false\n"))
    t.note("settings", read_settings(t, "noSuchSetting", "maxMessageSize", "autoCreateTopicEnable"))
    t.note("comment and blanks", change(t, "# maxMessageSize=1\n  traceOn =  false \n"))
    t.note("settings then", read_settings(t, "maxMessageSize", "traceOn"))
    change(t, "traceOn=true\nautoCreateTopicEnable=true\n")


@remoting_case("MixAll.string2Properties", tidy=True)
def settings_are_read_as_java_properties(t: RemotingContext) -> None:
    """A colon or a blank may replace the equals sign, lines may continue, and a malformed escape is an error."""
    text = "traceOn : false\nautoCreateTopicEnable \\\n  fa\\u006cse\nmaxMessage\\\n   Size:1\\\n024"
    t.note("changed", change(t, text), 0)
    t.note("settings", read_settings(t, "traceOn", "autoCreateTopicEnable", "maxMessageSize"))
    t.note("malformed", change(t, "traceOn=true\n# \\u00g0\nregionId=\\u00g0\n"), 1)
    t.note("settings then", read_settings(t, "traceOn", "regionId"))
    change(t, "traceOn=true\nautoCreateTopicEnable=true\nmaxMessageSize=4194304\n")


@remoting_case("BrokerController.registerBrokerAll", tidy=True)
def a_read_only_broker_registers_topics_without_write_permission(t: RemotingContext) -> None:
    """The topics of a broker without write permission are registered without the write bit."""
    topic, other = t.topic(queues=1), t.topic(queues=1, perm=2)
    t.note("before", t.route(topic), 0)
    t.note("changed", change(t, "brokerPermission=4\n"), 0)
    t.note("after", t.route(topic), 0)
    t.note("write only topic", t.route(other), 0)
    t.note("sent", t.send(topic).code)
    change(t, "brokerPermission=6\n")


@remoting_case("AdminBrokerProcessor.prepareRuntimeInfo, DefaultMessageStore.getRuntimeInfo")
def runtime_info_has_a_fixed_set_of_names(t: RemotingContext) -> None:
    """The runtime info has these names, apart from those that include a path or a delay level."""
    t.note("names", sorted(name for name in t.runtime_info() if "_" not in name))
