"""Texts of Java exceptions that clients of 5.3.3 get for invalid input, because the proxy does not handle them.

Upstream appends the exception's class and its first stack frame. Texts that only a defect causes are returned while
that defect is on.
"""

PROXY_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "
"""Prefix of everything that upstream throws as a ProxyException."""


def exception_text(text: str, name: str, frame: str) -> str:
    """Return the proxy's text for an exception that it did not expect."""
    return f"{text}. {name}. {frame}"


def unknown_enum(type_name: str, value: str) -> str:
    """Return the text for an unknown enum constant, without a stack frame, as in gRPC status descriptions."""
    return f"No enum constant {type_name}.{value}"


def unknown_enum_with_frame(type_name: str, value: str) -> str:
    """Return the text for an unknown enum constant."""
    return exception_text(
        unknown_enum(type_name, value), "IllegalArgumentException", "java.base/java.lang.Enum.valueOf(Enum.java:273)"
    )


def unknown_topic() -> str:
    """Return the text for a topic that no broker has: a receive, or a send to a retry topic or dead letter queue."""
    return exception_text(
        'Cannot invoke "org.apache.rocketmq.common.TopicConfig.getPerm()" because "topicConfig" is null',
        "NullPointerException",
        "org.apache.rocketmq.proxy.service.route.LocalTopicRouteService.toTopicRouteData"
        "(LocalTopicRouteService.java:83)",
    )


def short_handle(fields: int) -> str:
    """Return the text for a receipt handle of fewer than eight fields."""
    return exception_text(
        f"Parse failed, dataList size {fields}",
        "IllegalArgumentException",
        "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)",
    )


def not_a_number(text: str) -> str:
    """Return the text for a field of a receipt handle that is not a number."""
    return exception_text(
        f'For input string: "{text}"',
        "NumberFormatException",
        "java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)",
    )


def negative_batch(size: int) -> str:
    """Return the text for a receive with a negative batch size."""
    return exception_text(
        f"Illegal Capacity: {size}",
        "IllegalArgumentException",
        "java.base/java.util.ArrayList.<init>(ArrayList.java:160)",
    )


def no_settings() -> str:
    """Return the text for a receive of a client whose settings the proxy does not have."""
    return exception_text(
        'Cannot invoke "apache.rocketmq.v2.Settings.getSubscription()" because "settings" is null',
        "NullPointerException",
        "org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity.receiveMessage"
        "(ReceiveMessageActivity.java:63)",
    )


def no_channel() -> str:
    """Return the text for a request of a client without a telemetry stream, or of one that left meanwhile."""
    return exception_text(
        'Cannot invoke "io.netty.channel.Channel.id()" because "this.channel" is null',
        "NullPointerException",
        "org.apache.rocketmq.proxy.common.ReceiptHandleGroupKey.getChannelId(ReceiptHandleGroupKey.java:34)",
    )


def no_deadline(*, long_polling_timeout: bool) -> str:
    """Return the text for a receive without a gRPC deadline, which depends on its long polling timeout, if any."""
    line = 82 if long_polling_timeout else 73
    return exception_text(
        'Cannot invoke "java.lang.Long.longValue()" because "timeRemaining" is null',
        "NullPointerException",
        f"org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity.receiveMessage"
        f"(ReceiveMessageActivity.java:{line})",
    )
