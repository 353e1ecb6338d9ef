"""Settings of brokers that serve the cases of several keys: to start one costs more than most cases.

What one key of a set does is not seen by the cases of the others.
"""

from collections.abc import Mapping

STRICT: Mapping[str, str] = {
    "autoCreateTopicEnable": "false",
    "autoCreateSubscriptionGroup": "false",
    "configBlackList": "defaultQueryMaxNum;slaveTimeout",
    "recallMessageEnable": "false",
    "rejectTransactionMessage": "true",
    "popPollingSize": "1",
}
"""A broker that makes and allows little."""

VARIED: Mapping[str, str] = {
    "enableMixedMessageType": "true",
    "filterDataCleanTimeSpan": "1000",
    "filterSupportRetry": "true",
    "maxFilterMessageSize": "200",
    "popFromRetryProbability": "100",
    "realTimeNotifyConsumerChange": "false",
    "serverLoadBalancerEnable": "false",
    "subscriptionExpiredTimeout": "20000",
    "timerMaxDelaySec": "5",
}
"""A broker that does many things otherwise than by default."""

ODD: Mapping[str, str] = {
    "accessMessageInMemoryMaxRatio": "0",
    "brokerRole": "SYNC_MASTER",
    "defaultMessageRequestMode": "POP",
    "enableNotifyAfterPopOrderLockRelease": "false",
    "enablePropertyFilter": "false",
    "initPopOffsetByCheckMsgInMem": "false",
    "popFromRetryProbability": "0",
    "popLongPollingForceNotifyInterval": "3",
    "popResponseReturnActualRetryTopic": "true",
    "timerPrecisionMs": "200",
}
"""Another one."""


def with_keys(settings: Mapping[str, str], *keys: str) -> Mapping[str, str]:
    """A set, for a case of some of its keys. Errors: KeyError."""
    for key in keys:
        settings[key]
    return settings
