"""Sets of broker settings, each shared by many cases, because a broker start takes longer than most cases.

A case depends on some keys of its set. The other keys do not affect it.
"""

from collections.abc import Mapping

NO_AUTO_CREATE: Mapping[str, str] = {
    "autoCreateTopicEnable": "false",
    "autoCreateSubscriptionGroup": "false",
    "configBlackList": "defaultQueryMaxNum;slaveTimeout",
    "recallMessageEnable": "false",
    "rejectTransactionMessage": "true",
    "popPollingSize": "1",
}
"""A broker that creates no topics or groups automatically, and rejects recalls, transactions and waiting pops."""

CHANGED_KEYS: Mapping[str, str] = {
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
"""A broker with other values than the defaults of many keys."""

FURTHER_CHANGED_KEYS: Mapping[str, str] = {
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
"""Another broker, for cases that keys of CHANGED_KEYS would affect."""

_AUTH, _PROXY = "org.apache.rocketmq.auth", "org.apache.rocketmq.proxy.auth"
ACL_STORED_ONLY: Mapping[str, str] = {
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
}
"""A broker that stores users and permissions but checks neither."""

ACL_ENFORCED: Mapping[str, str] = {
    **ACL_STORED_ONLY,
    "authenticationEnabled": "true",
    "authenticationWhitelist": "31, 30",
    "authorizationEnabled": "true",
    "authorizationWhitelist": "32,1",
    "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
    "proxy.authenticationEnabled": "true",
    "proxy.authenticationMetadataProvider": f"{_PROXY}.ProxyAuthenticationMetadataProvider",
    "proxy.authenticationWhitelist": "apache.rocketmq.v2.QueryAssignmentRequest",
    "proxy.authorizationEnabled": "true",
    "proxy.authorizationMetadataProvider": f"{_PROXY}.ProxyAuthorizationMetadataProvider",
    "proxy.authorizationWhitelist": "apache.rocketmq.v2.EndTransactionRequest",
}
"""A broker and a proxy that authenticate and authorize every request except those on their whitelists."""

ACL_CACHED: Mapping[str, str] = {
    **ACL_ENFORCED,
    "authenticationStrategy": f"{_AUTH}.authentication.strategy.StatefulAuthenticationStrategy",
    "authorizationStrategy": f"{_AUTH}.authorization.strategy.StatefulAuthorizationStrategy",
    "statefulAuthenticationCacheExpiredSecond": "3",
    "statefulAuthorizationCacheExpiredSecond": "3",
}
"""ACL_ENFORCED with stateful strategies, which cache their decisions for three seconds."""


def shared_settings(settings: Mapping[str, str], *keys: str) -> Mapping[str, str]:
    """Return the shared set `settings` for a case that depends on `keys`. Raises KeyError if it lacks one of them."""
    for key in keys:
        settings[key]
    return settings
