"""Requests to the name server, and requests for the configuration and state of brokers.

An address depends on the client, so the layer that owns the sockets adds it to results. Only a fault sets one here.
"""

from dataclasses import KW_ONLY, replace

from ..kernel.errors import FAQ, EngineError
from ..kernel.masking import masked_lines, masked_mapping
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from .base import Operation, Result
from .topics import QueueMapping


@value
class BrokerMember:
    """A broker name and its broker ids (0 = master).

    `address`: the `host:port` that a fault puts into responses for these brokers; None means their own addresses.
    """

    cluster: str
    broker_name: str
    broker_ids: list[int]
    address: str | None = None


@value
class QueueRoute:
    """The queues of a topic under one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    _: KW_ONLY
    topic_sys_flag: int


@value
class GetRouteInfo(Operation):
    """Query the route of a topic. Raises TOPIC_NOT_EXIST. Source: ClientRequestProcessor (5.3.3)."""

    topic: str | None


@value
class RouteResult(Result):
    """Brokers and queues of a topic; `message_type` is the topic attribute (`NORMAL` if absent)."""

    brokers: list[BrokerMember]
    queues: list[QueueRoute]
    order_topic_conf: str | None = None
    message_type: str = "NORMAL"
    _: KW_ONLY
    mappings: dict[str, QueueMapping] | None = None
    """The queue mappings of a static topic, by broker name."""


def no_route(topic: str) -> EngineError:
    """Build the error for a topic without a route (ClientRequestProcessor, 5.3.3)."""
    return EngineError(
        ResponseCode.TOPIC_NOT_EXIST, f"No topic route info in name server for the topic: {topic}\n{FAQ}"
    )


@value
class GetBrokerClusterInfo(Operation):
    """List all brokers."""


@value
class ClusterInfoResult(Result):
    """All brokers by name, and the broker names of each cluster."""

    brokers: dict[str, BrokerMember]
    clusters: dict[str, list[str]]


@value
class GetNamesrvTopicList(Operation):
    """List topics of the name server: all, those of one `cluster`, or the `system` topics."""

    cluster: str | None = None
    system: bool = False


@value
class GetUnitTopicList(Operation):
    """List topics of the name server whose system flag has all bits of `has` and none of `lacks` (TopicSysFlag)."""

    has: int
    lacks: int = 0


@value
class TopicListResult(Result):
    """Names of topics; `broker` is set where the response contains the address of a broker."""

    topics: list[str]
    broker: BrokerMember | None = None


@value
class DeleteTopicInNamesrv(Operation):
    """Delete a topic from the name server's table, in one `cluster` or in all."""

    topic: str
    cluster: str | None = None


@value
class PutKvConfig(Operation):
    """Store a key-value pair in the name server."""

    namespace: str
    key: str
    value: str | None


@value
class GetKvConfig(Operation):
    """Return a value of the name server. Raises QUERY_NOT_FOUND."""

    namespace: str
    key: str


@value
class KvResult(Result):
    """A value of the name server."""

    value: str


@value
class DeleteKvConfig(Operation):
    """Delete a key-value pair of the name server."""

    namespace: str
    key: str


@value
class GetKvListByNamespace(Operation):
    """List the key-value pairs of a namespace. Raises QUERY_NOT_FOUND."""

    namespace: str


@value
class KvListResult(Result):
    """All key-value pairs of a namespace."""

    table: dict[str, str]


@value
class SetPermOfBroker(Operation):
    """Remove (`add` False) or restore (`add` True) the write permission of all topics of a broker name."""

    broker_name: str
    add: bool


@value
class PermOfBrokerResult(Result):
    """The number of topics that were changed."""

    topic_count: int


@value
class GetNamesrvConfig(Operation):
    """Return the configuration of the name server as properties text."""


@value
class UpdateNamesrvConfig(Operation):
    """Change keys of the name server. Raises NO_PERMISSION (black list), SYSTEM_ERROR."""

    properties: dict[str, str]

    def journaled(self) -> Operation:
        """Return a copy whose secret values are masked."""
        return replace(self, properties=masked_mapping(self.properties))


@value
class GetBrokerConfig(Operation):
    """Return the configuration of a broker as properties text."""


@value
class TextResult(Result):
    """A text, with the version of the data that it describes (number of changes, ms of the last one)."""

    text: str
    version_counter: int = 0
    version_timestamp: int = 0

    def journaled(self) -> Result:
        """Return a copy whose secret values are masked."""
        return replace(self, text=masked_lines(self.text))


@value
class UpdateBrokerConfig(Operation):
    """Change keys of a running broker. Raises NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, value)."""

    properties: dict[str, str]

    def journaled(self) -> Operation:
        """Return a copy whose secret values are masked."""
        return replace(self, properties=masked_mapping(self.properties))


@value
class DeleteExpiredCommitLog(Operation):
    """Delete full files of the commit log that have expired, at any hour of the day."""


@value
class CleanExpiredConsumeQueue(Operation):
    """Delete consume queues without any remaining message."""


@value
class GetBrokerRuntimeInfo(Operation):
    """Return counters and state of a broker."""


@value
class GetBrokerHaStatus(Operation):
    """Return the replication state of a broker: a master's slaves, or a slave's master."""


@value
class FollowerState:
    """A slave as known to its master: broker name and id, and the end of the slave's log."""

    broker_name: str
    broker_id: int
    acknowledged_offset: int


@value
class HaStatusResult(Result):
    """The end of the broker's own log, and a master's connected slaves or the name of a slave's master.

    `master_name` is None on a master, and empty on a slave without connection. `last_ms`: time of the last received
    record.
    """

    max_offset: int
    followers: list[FollowerState]
    master_name: str | None
    last_ms: int


@value
class RuntimeInfoResult(Result):
    """Runtime info with upstream's keys and texts. Source: AdminBrokerProcessor.prepareRuntimeInfo (5.3.3)."""

    table: dict[str, str]
