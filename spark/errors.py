"""What can go wrong, each with one text that names the option, or the topic and queue."""


class RocketMQError(Exception):
    """Base of the errors of this package."""


class OptionError(RocketMQError, ValueError):
    """An option is missing, unknown, of a wrong form, or contradicts another one; nothing was moved."""


class SchemaError(RocketMQError, ValueError):
    """A column is unknown or of a type that it cannot have; nothing was moved."""


class RowError(RocketMQError, ValueError):
    """A row cannot become a message; nothing of its Arrow batch was sent."""


class ClusterError(RocketMQError):
    """A name server or broker cannot be reached, has no route, or refuses; the text says which and why."""


class DataLossError(RocketMQError):
    """Messages that should be read are not there any more. The option failOnDataLoss=false goes on without them."""


class RecordError(RocketMQError):
    """A broker answered with bytes that are not stored messages."""


class SendError(RocketMQError):
    """Messages were not acknowledged after all retries; the task fails and Spark may run it again."""


INSTALL_SPARK = "the extra `spark`: pip install '/path/to/rocketmq-testkit[spark]'"
"""How a command's error ends that misses a package."""
