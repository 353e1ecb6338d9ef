"""What a name server knows, and the configuration and state of brokers.

Addresses are not here: an address depends on who asks, so the layer that owns the sockets adds it to a broker's name.
"""

from dataclasses import dataclass

from .base import Operation, Result


@dataclass(slots=True)
class BrokerMember:
    """A broker name and the ids that serve it (0 = master)."""

    cluster: str
    broker_name: str
    broker_ids: list[int]


@dataclass(slots=True)
class QueueRoute:
    """Queues of a topic on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int


@dataclass(slots=True)
class GetRouteInfo(Operation):
    """Where a topic lives. Errors: TOPIC_NOT_EXIST. Source: ClientRequestProcessor (5.3.3)."""

    topic: str | None


@dataclass(slots=True)
class RouteResult(Result):
    """Brokers and queues of a topic; `message_type` is the topic attribute (`NORMAL` when absent)."""

    brokers: list[BrokerMember]
    queues: list[QueueRoute]
    order_topic_conf: str | None = None
    message_type: str = "NORMAL"


@dataclass(slots=True)
class GetBrokerClusterInfo(Operation):
    """All brokers."""


@dataclass(slots=True)
class ClusterInfoResult(Result):
    """All brokers by name, clusters with their broker names."""

    brokers: dict[str, BrokerMember]
    clusters: dict[str, list[str]]


@dataclass(slots=True)
class GetNamesrvTopicList(Operation):
    """Topics of the name server: all, those of one `cluster`, or the `system` ones."""

    cluster: str | None = None
    system: bool = False


@dataclass(slots=True)
class TopicListResult(Result):
    """Names of topics; `broker` names one broker where the answer carries an address."""

    topics: list[str]
    broker: BrokerMember | None = None


@dataclass(slots=True)
class DeleteTopicInNamesrv(Operation):
    """Forget a topic in the name server."""

    topic: str
    cluster: str | None = None


@dataclass(slots=True)
class PutKvConfig(Operation):
    """Store a value of the name server."""

    namespace: str
    key: str
    value: str | None


@dataclass(slots=True)
class GetKvConfig(Operation):
    """Errors: QUERY_NOT_FOUND."""

    namespace: str
    key: str


@dataclass(slots=True)
class KvResult(Result):
    """One value."""

    value: str


@dataclass(slots=True)
class DeleteKvConfig(Operation):
    """Forget a value of the name server."""

    namespace: str
    key: str


@dataclass(slots=True)
class GetKvListByNamespace(Operation):
    """Errors: QUERY_NOT_FOUND."""

    namespace: str


@dataclass(slots=True)
class KvListResult(Result):
    """All values of a namespace."""

    table: dict[str, str]


@dataclass(slots=True)
class SetPermOfBroker(Operation):
    """Wipe (`add` False) or give back (`add` True) the write permission of all topics of a broker name."""

    broker_name: str
    add: bool


@dataclass(slots=True)
class PermOfBrokerResult(Result):
    """How many topics were changed."""

    topic_count: int


@dataclass(slots=True)
class GetNamesrvConfig(Operation):
    """The configuration of the name server as properties text."""


@dataclass(slots=True)
class UpdateNamesrvConfig(Operation):
    """Change keys of the name server. Errors: NO_PERMISSION (black list), SYSTEM_ERROR."""

    properties: dict[str, str]


@dataclass(slots=True)
class GetBrokerConfig(Operation):
    """The configuration of a broker as properties text."""


@dataclass(slots=True)
class TextResult(Result):
    """A text, with the version of what it describes (number of changes, ms of the last one)."""

    text: str
    version_counter: int = 0
    version_timestamp: int = 0


@dataclass(slots=True)
class UpdateBrokerConfig(Operation):
    """Change keys of a broker while it runs. Errors: NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, value)."""

    properties: dict[str, str]


@dataclass(slots=True)
class GetBrokerRuntimeInfo(Operation):
    """Counters and state of a broker."""


@dataclass(slots=True)
class RuntimeInfoResult(Result):
    """Upstream's keys and texts. Source: AdminBrokerProcessor.prepareRuntimeInfo (5.3.3)."""

    table: dict[str, str]
