"""Errors of this package; each has one text that names the option, or the topic and queue."""


class RocketMQError(Exception):
    """Base of the errors of this package."""


class OptionError(RocketMQError, ValueError):
    """An option is missing, unknown, malformed, or contradicts another one; nothing was read or written."""


class SchemaError(RocketMQError, ValueError):
    """A column is unknown or has an unsupported type; nothing was read or written."""


class RowError(RocketMQError, ValueError):
    """A row cannot become a message; nothing of its Arrow batch was sent."""


class ClusterError(RocketMQError):
    """A name server or broker is unreachable, has no route, or rejects a request; the text says which and why."""


class DataLossError(RocketMQError):
    """Messages to read no longer exist. The option failOnDataLoss=false continues without them."""


class RecordError(RocketMQError):
    """A broker returned bytes that are not stored messages."""


class SendError(RocketMQError):
    """Messages were not acknowledged after all retries; the task fails and Spark may retry it."""


INSTALL_SPARK = "the extra `spark`: pip install '/path/to/rocketmq-testkit[spark]'"
"""End of a command's error text if a package is missing."""
