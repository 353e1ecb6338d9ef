"""Texts of 5.3.3 that several tests expect, as observed on the wire."""

PROXY_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "
TOPIC_BLANK = "The specified topic is blank"
TOPIC_LONG = "The specified topic is longer than topic max length 127."
TOPIC_SYSTEM = "cannot access system topic"
GROUP_BLANK = "the specified group is blank"
GROUP_LONG = "the specified group is longer than group max length 255."
GROUP_SYSTEM = "cannot use system consumer group"
EXPIRED = PROXY_EXCEPTION + "receipt handle is expired"
NO_TOPIC_CONFIG = (
    'Cannot invoke "org.apache.rocketmq.common.TopicConfig.getPerm()" because "topicConfig" is null.'
    " NullPointerException. org.apache.rocketmq.proxy.service.route.LocalTopicRouteService.toTopicRouteData"
    "(LocalTopicRouteService.java:83)"
)


def topic_characters(name: str) -> str:
    return f"The specified topic[{name}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"


def group_characters(name: str) -> str:
    return f"the specified group[{name}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"


def no_route(topic: str) -> str:
    return (
        f"CODE: 17  DESC: No topic route info in name server for the topic: {topic}\n"
        "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
    )


def type_conflict(expected: str, actual: str) -> str:
    return (
        f"{PROXY_EXCEPTION}TopicMessageType validate failed, the expected type is {expected}, "
        f"but actual type is {actual}"
    )


def short_handle(fields: int) -> str:
    return (
        f"Parse failed, dataList size {fields}. IllegalArgumentException."
        " org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)"
    )


def unknown_language(value: str) -> str:
    return (
        f"No enum constant org.apache.rocketmq.remoting.protocol.LanguageCode.{value}."
        " IllegalArgumentException. java.base/java.lang.Enum.valueOf(Enum.java:273)"
    )


BAD_TOPICS = {
    "": (40002, TOPIC_BLANK),
    "  ": (40002, TOPIC_BLANK),
    "a b": (40002, topic_characters("a b")),
    "a.b": (40002, topic_characters("a.b")),
    "é": (40002, topic_characters("é")),
    "t" * 128: (40002, TOPIC_LONG),
    "TBW102": (40002, TOPIC_SYSTEM),
    "SCHEDULE_TOPIC_XXXX": (40002, TOPIC_SYSTEM),
    "rmq_sys_anything": (40002, TOPIC_SYSTEM),
    "broker-a": (40002, TOPIC_SYSTEM),
    "DefaultCluster": (40002, TOPIC_SYSTEM),
    "DefaultCluster_REPLY_TOPIC": (40002, TOPIC_SYSTEM),
}
"""Topic -> status of every RPC that names it."""

BAD_GROUPS = {
    "": (40003, GROUP_BLANK),
    "a b": (40003, group_characters("a b")),
    "g" * 256: (40003, GROUP_LONG),
    "CID_RMQ_SYS_X": (40003, GROUP_SYSTEM),
}
"""Group -> status of every RPC that names it."""
