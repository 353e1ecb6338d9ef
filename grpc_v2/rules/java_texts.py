"""Texts that clients of 5.3.3 see because an exception of the proxy reached them, for input that is merely wrong.

Upstream appends the exception's class and its first stack frame. What was only a defect is not here: see `deviations`.
"""

PROXY_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "
"""Prefix of everything that upstream throws as a ProxyException."""


def exception_text(text: str, name: str, frame: str) -> str:
    """How the proxy words an exception that it did not expect."""
    return f"{text}. {name}. {frame}"


def unknown_enum(type_name: str, value: str) -> str:
    """An enum has no constant of that name; without the frame, as gRPC status descriptions have it."""
    return f"No enum constant {type_name}.{value}"


def unknown_enum_with_frame(type_name: str, value: str) -> str:
    """An enum has no constant of that name."""
    return exception_text(
        unknown_enum(type_name, value), "IllegalArgumentException", "java.base/java.lang.Enum.valueOf(Enum.java:273)"
    )


def unknown_topic() -> str:
    """A send to a retry or dead letter topic, or a receive, of a topic that no broker has."""
    return exception_text(
        'Cannot invoke "org.apache.rocketmq.common.TopicConfig.getPerm()" because "topicConfig" is null',
        "NullPointerException",
        "org.apache.rocketmq.proxy.service.route.LocalTopicRouteService.toTopicRouteData"
        "(LocalTopicRouteService.java:83)",
    )


def short_handle(fields: int) -> str:
    """A receipt handle of fewer than eight fields."""
    return exception_text(
        f"Parse failed, dataList size {fields}",
        "IllegalArgumentException",
        "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)",
    )


def not_a_number(text: str) -> str:
    """A field of a receipt handle that should be a number."""
    return exception_text(
        f'For input string: "{text}"',
        "NumberFormatException",
        "java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)",
    )


def negative_batch(size: int) -> str:
    """A receive of a negative number of messages."""
    return exception_text(
        f"Illegal Capacity: {size}",
        "IllegalArgumentException",
        "java.base/java.util.ArrayList.<init>(ArrayList.java:160)",
    )


def departed_client() -> str:
    """A receive with auto_renew that finds messages when its client has left."""
    return exception_text(
        'Cannot invoke "io.netty.channel.Channel.id()" because "this.channel" is null',
        "NullPointerException",
        "org.apache.rocketmq.proxy.common.ReceiptHandleGroupKey.getChannelId(ReceiptHandleGroupKey.java:34)",
    )


def no_deadline(*, long_polling_timeout: bool) -> str:
    """A receive without a gRPC deadline."""
    line = 82 if long_polling_timeout else 73
    return exception_text(
        'Cannot invoke "java.lang.Long.longValue()" because "timeRemaining" is null',
        "NullPointerException",
        f"org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity.receiveMessage"
        f"(ReceiveMessageActivity.java:{line})",
    )
